"""Tables of databases: real PostgreSQL, SQLite and DuckDB; whole releases or none; no secrets."""

from __future__ import annotations

import hashlib
import json
import stat
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from command import shoal as run
from postgres import PASSWORD, USER, need_postgres, running
from shoal.errors import InputError, OutputError, PolicyError, VerificationError
from shoal.io.addresses import address_of, without_credentials
from shoal.io.databases import MANIFESTS, read_batches, read_database
from shoal.io.databases.adbc import PostgreSQL, SQLite
from shoal.io.databases.connecting import connected
from shoal.io.databases.rows import hash_of_rows
from shoal.io.write import decoded

pytestmark = pytest.mark.xdist_group("postgres")  # one server, on one worker

QI = ["age", "gender", "education"]
ASKED = {"qi": QI, "sensitive": "occupation", "rest": "drop", "k": 5, "method": "hilbert"}


@pytest.fixture(scope="module")
def server():
    need_postgres()
    with running() as started:
        yield started


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The working folder, where records of releases go."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("ci", "ends"), [("true", pytest.fail), ("", pytest.skip)])
def test_without_a_server_ci_fails_and_a_users_machine_skips(monkeypatch, ci, ends):
    monkeypatch.setattr("postgres.PLACES", ())
    monkeypatch.setenv("CI", ci)
    with pytest.raises(ends.Exception, match="no initdb in /usr/lib/postgresql"):
        need_postgres()


@pytest.fixture(params=["postgresql", "sqlite", "duckdb"])
def url(request, here):
    """A function that gives the address of a table in an empty database."""
    if request.param == "postgresql":
        server = request.getfixturevalue("server")
        clear(server.url("?table=x"))
        return lambda name: server.url(f"?table={name}")
    return lambda name: f"{request.param}:///{here}/own.db?table={name}"


def clear(url):
    with connected(address_of(url), writing=True) as database:
        database.execute("DROP SCHEMA public CASCADE")
        database.execute("CREATE SCHEMA public")
        database.commit()


def put(url, table):
    address = address_of(url)
    with connected(address, writing=True) as database:
        database.ingest(address.table, table.to_reader(), new=True)
        database.commit()


def execute(url, *statements):
    with connected(address_of(url), writing=True) as database:
        for sql in statements:
            database.execute(sql)
        database.commit()


def tables(url):
    """Names of all tables of a database."""
    sql = {
        "postgresql": "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'",
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
        "duckdb": "SELECT table_name FROM information_schema.tables",
    }[address_of(url).scheme]
    with connected(address_of(url)) as database, database.stream(sql) as reader:
        return sorted(reader.read_all().column(0).to_pylist())


@pytest.fixture(scope="module")
def people():
    return decoded(shoal.datasets.census(600, seed=3))


def cells(table):
    return sorted(map(str, table.to_pylist()))


def test_a_table_comes_as_it_is(url, people):
    put(url("people"), people)
    found = read_database(address_of(url("people")))
    assert found.column_names == people.column_names
    assert cells(found) == cells(people)


def test_a_release_of_a_database_is_that_of_the_table(url, people):
    put(url("people"), people)
    found = shoal.anonymize(url("people"), **ASKED, seed=1)
    assert found.verification.ok
    assert cells(found.table) == cells(shoal.anonymize(people, **ASKED, seed=1).table)


def test_a_query_is_read(url, people):
    put(url("people"), people)
    query = "SELECT age + 1 AS older FROM people WHERE age >= 30 -- those"
    address = address_of(url("people").replace("table=people", f"query={query}"))
    expected = sorted(age + 1 for age in people.column("age").to_pylist() if age >= 30)
    assert sorted(read_database(address).column("older").to_pylist()) == expected


def test_a_release_is_written_with_its_manifest_and_verified(url, people, here):
    made = shoal.anonymize(people, **ASKED, out=url("release"))
    assert tables(url("release")) == ["release", MANIFESTS]
    assert cells(read_database(address_of(url("release")))) == cells(decoded(made.table))
    found = shoal.verify(url("release"))
    assert found.ok
    assert found.records == 600
    record = here / "release.record.json"
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert json.loads(record.read_text())["release"]["file"] == "release"
    assert run("verify", url("release")).code == 0


def test_a_release_replaces_the_earlier_one(url, people):
    shoal.anonymize(people, **ASKED, out=url("release"))
    shoal.anonymize(people.slice(0, 300), **ASKED, out=url("release"))
    assert tables(url("release")) == ["release", MANIFESTS]
    assert shoal.verify(url("release")).records == 300


def test_a_changed_release_is_found_out(url, people):
    shoal.anonymize(people, **ASKED, out=url("release"))
    execute(url("release"), "UPDATE release SET occupation = 'spy'")
    found = shoal.verify(url("release"))
    assert not found.ok
    assert "SHA-256 of its rows differs" in found.mismatches[0]
    assert run("verify", url("release")).code == 1


def test_two_tables_of_anatomy(url, people):
    asked = {**ASKED, "method": "anatomy", "l": 3}
    asked.pop("k")
    shoal.anonymize(people, **asked, out=url("release"))
    assert tables(url("release")) == ["release", "release_sensitive", MANIFESTS]
    assert shoal.verify(url("release")).ok
    shoal.anonymize(people, **ASKED, out=url("release"))  # the second table goes with the first
    assert tables(url("release")) == ["release", MANIFESTS]


def test_no_table_but_a_release_is_replaced(url, people):
    put(url("people"), people)
    for source in (people, url("people")):
        with pytest.raises((OutputError, PolicyError)):
            shoal.anonymize(source, **ASKED, out=url("people"))
    assert tables(url("people")) == ["people"]
    assert cells(read_database(address_of(url("people")))) == cells(people)


def test_what_fails_at_the_end_leaves_nothing(url, people, here, monkeypatch):
    shoal.anonymize(people, **ASKED, out=url("release"))
    before = read_database(address_of(url("release"))), Path("release.record.json").read_bytes()

    def fail(*_):
        raise OutputError("no")

    monkeypatch.setattr("shoal.io.databases.publishing._keep", fail)
    with pytest.raises(OutputError):
        shoal.anonymize(people.slice(0, 300), **ASKED, out=url("release"))
    with pytest.raises(OutputError):
        shoal.anonymize(people, **ASKED, out=url("other"))
    assert tables(url("release")) == ["release", MANIFESTS]
    assert cells(read_database(address_of(url("release")))) == cells(before[0])
    assert Path("release.record.json").read_bytes() == before[1]
    assert not Path("other.record.json").exists()
    assert not list(here.glob(".*"))


def test_a_database_that_was_made_for_nothing_goes(here, people, monkeypatch):
    monkeypatch.setattr("shoal.io.databases.publishing._keep", lambda *_: 1 / 0)
    for scheme in ("sqlite", "duckdb"):
        with pytest.raises(OutputError):
            shoal.anonymize(people, **ASKED, out=f"{scheme}:///new.db?table=release")
    assert list(here.iterdir()) == []


def test_larger_than_memory_from_database_to_database(url, people):
    put(url("people"), people)
    made = shoal.anonymize(url("people"), **ASKED, engine="duckdb", out=url("release"), seed=1)
    found = shoal.verify(url("release"))
    assert found.ok
    in_memory = shoal.anonymize(url("people"), **ASKED, engine="memory", seed=1)
    assert cells(read_database(address_of(url("release")))) == cells(decoded(in_memory.table))
    made.close()


def test_the_same_release_again_from_its_record(url, people, here):
    put(url("people"), people)
    words = ["--qi", "age,gender,education", "--rest", "drop", "-k", "5", "--method", "hilbert"]
    assert run("anonymize", url("people"), "-o", url("release"), *words, "-q").code == 0
    again = run("reproduce", "release.record.json", url("people"), "-o", url("again"))
    assert again.code == 0, again.err
    assert cells(read_database(address_of(url("again")))) == cells(
        read_database(address_of(url("release")))
    )


# Secrets


def test_no_password_reaches_anything(server, people, here):
    clear(server.url("?table=x"))
    put(server.url("?table=people"), people)
    source, target = server.url("?table=people"), server.url("?table=release")
    words = ["--qi", "age,gender,education", "--rest", "drop", "-k", "5", "--method", "hilbert"]
    said = ""
    for args in (
        ["anonymize", source, "-o", target, *words],
        ["anonymize", source, f"--out={target}", *words, "--json"],
        ["anonymize", source, "-o", "release.csv", *words],
        ["anonymize", source, "-o", source, *words],
        ["anonymize", source, "--propose", "-k", "5", "-o", server.url("?table=second")],
        ["anonymize", source, *words, "--dry-run"],
        ["inspect", source],
        ["policy", "init", source],
        ["verify", target],
        ["verify", source],
        ["risk", source, "--qi", "age,gender"],
        ["hierarchy", "suggest", source, "--column", "country"],
        ["inspect", source.replace("postgresql", "mysql")],
        ["inspect", source.replace("127.0.0.1", "no.such.host.invalid")],
        ["inspect", source.replace("?table", "?tabel")],
        ["inspect", f"postgresql://{USER}:{PASSWORD}/x@127.0.0.1/db?table=t"],
        ["inspect", f"postgresql://{USER}:{PASSWORD}?x@127.0.0.1/db?table=t"],
        ["inspect", f"postgresql://{USER}:{PASSWORD}#x@127.0.0.1/db?table=t"],
        ["inspect", server.url("?table=none")],
        ["inspect", server.url("?query=SELECT nothing")],
        ["inspect", server.url("?table=people", user="nobody")],
    ):
        result = run(*args)
        said += f"{args[0]}: {result.code}\n{result.out}{result.err}"
    kept = "".join(path.read_text() for path in here.iterdir())
    manifests = str(read_database(address_of(server.url(f"?table={MANIFESTS}"))).to_pylist())
    for where in (said, kept, manifests):
        assert PASSWORD not in where
        assert f"{USER}:" not in where
    assert "release" in manifests
    assert json.loads(Path("release.record.json").read_text())["command"][2].startswith(
        "postgresql://127.0.0.1:"
    )


@pytest.mark.parametrize(
    "words",
    [
        ["query", "ADDRESS", "SELECT COUNT(*) FROM release"],
        ["expand", "ADDRESS"],
        ["report", "ADDRESS"],
        ["sign", "ADDRESS", "--key", "ADDRESS"],
        ["attack", "ADDRESS", "--secret", "pay"],
        ["join-check", "ADDRESS", "ADDRESS"],
        ["sql", "ADDRESS"],
        ["risk", "people.csv", "--qi", "age", "--population", "ADDRESS"],
        ["verify", "ADDRESS", "--manifest", "ADDRESS"],
        ["anonymize", "people.csv", "--policy", "ADDRESS"],
    ],
    ids=lambda words: words[0],
)
def test_a_command_for_files_names_no_password(words, here):
    """Nor one with the characters that end a password elsewhere."""
    Path("people.csv").write_text("age,pay\n1,2\n3,4\n")
    for address in (
        "postgresql://me:Hush@host/db?table=t",
        "postgresql://me:Hu@Hush/x@host/db?table=t",
        "postgres://me:a Hush b@host/db?table=t",
        "postgresql://host/db?table=t&password=Hush",
        "sqlite://me:Hush@x.db?table=t",
    ):
        told = run(*[address if word == "ADDRESS" else word for word in words])
        assert told.code != 0
        assert "Hush" not in told.out + told.err


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:Pass%2Fw0rd@host/db?table=t", "postgresql://me:Pass/w0rd@host/db?table=t",
        "postgresql://me:12?Pass@host/db?table=t", "postgresql://me:Pass@h/db?table=t&password=Pass",
        "postgresql://h/db?password=Pass&query=SELECT 1", "mysql://me:Pass@h/db", "postgresql://me:Pass",
    ],
)  # fmt: skip
def test_addresses_show_no_secret(address):
    assert "Pass" not in str(without_credentials(["anonymize", address, f"--out={address}"]))
    try:
        found = address_of(address)
    except InputError as error:
        assert "Pass" not in str(error)
    else:
        assert "Pass" not in f"{found} {found!r} {found.name}"
        assert "Pass" in found.reach


def test_a_path_is_no_address():
    with pytest.raises(InputError, match="loses a slash"):
        shoal.inspect(Path("postgresql://me:secret@host/db?table=t"))


# What goes wrong on the server's side


def test_wrong_password_missing_table_nobody_there(server, people):
    clear(server.url("?table=x"))
    cases = {
        server.url("?table=none"): "no such table",
        server.url("?table=none.people"): "no such table",
        server.url("?query=SELECT nothing"): "does not understand the query",
        server.url("?table=t", password="wrong"): "refuses this user or password",
        server.url("?table=t").replace("/postgres?", "/none?"): "no such database",
        server.url("?table=t").replace(str(server.port), "1"): "is the server running",
    }
    for address, words in cases.items():
        with pytest.raises(InputError, match=words):
            shoal.inspect(address)
        if "query" not in address and "table=none" not in address:
            with pytest.raises(OutputError, match=words):
                shoal.anonymize(people, **ASKED, out=address)


def test_a_user_who_may_not_write(server, people):
    clear(server.url("?table=x"))
    execute(
        server.url("?table=x"), "DROP ROLE IF EXISTS guest",
        "CREATE ROLE guest LOGIN PASSWORD 'guest'", "GRANT USAGE ON SCHEMA public TO guest",
    )  # fmt: skip
    with pytest.raises(OutputError, match="may not do that"):
        shoal.anonymize(
            people, **ASKED, out=server.url("?table=release", user="guest", password="guest")
        )
    assert tables(server.url("?table=x")) == []


def test_a_full_disk_leaves_nothing(server, people):
    """A trigger at the last step reports what a server reports whose disk is full."""
    clear(server.url("?table=x"))
    shoal.anonymize(people, **ASKED, out=server.url("?table=release"))
    full = (
        "CREATE FUNCTION full_disk() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION 'no space: Xq7 cell' USING ERRCODE = '53100'; END $$"
    )
    when = (
        "CREATE EVENT TRIGGER full_disk ON ddl_command_end WHEN TAG IN ('ALTER TABLE') "
        "EXECUTE FUNCTION full_disk()"
    )
    execute(server.url("?table=x"), full, when)
    try:
        with pytest.raises(OutputError, match="disk of the server is full") as refused:
            shoal.anonymize(people.slice(0, 300), **ASKED, out=server.url("?table=release"))
        assert "Xq7" not in str(refused.value)
    finally:
        execute(server.url("?table=x"), "DROP EVENT TRIGGER full_disk")
    assert tables(server.url("?table=x")) == ["release", MANIFESTS]
    assert shoal.verify(server.url("?table=release")).records == 600


def test_a_really_full_disk(server, people):
    """A tablespace on a file system of one megabyte."""
    clear(server.url("?table=x"))
    with small_disk(server) as place:
        at_once(server, f"CREATE TABLESPACE small LOCATION '{place}'")
        execute(server.url("?table=x"), f"ALTER ROLE {USER} SET default_tablespace = small")
        try:
            many = decoded(shoal.datasets.census(30_000, seed=1))
            with pytest.raises(OutputError, match="disk of the server is full"):
                shoal.anonymize(many, **ASKED, out=server.url("?table=release"))
            assert tables(server.url("?table=x")) == []
        finally:
            execute(server.url("?table=x"), f"ALTER ROLE {USER} RESET default_tablespace")
            at_once(server, "DROP TABLESPACE small")


def at_once(server, sql):
    """What must not be part of a transaction."""
    import adbc_driver_postgresql.dbapi as driver

    with driver.connect(server.url(), autocommit=True) as connection:
        connection.execute(sql).close()


@contextmanager
def small_disk(server):
    place = server.data.parent / "small"
    place.mkdir(exist_ok=True)
    owner = f"uid={server.data.stat().st_uid},gid={server.data.stat().st_gid},mode=0700"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size=1m,{owner}", "tmpfs", place],
        check=False, capture_output=True,
    )  # fmt: skip
    if mounted.returncode:
        pytest.skip("no file system can be mounted here; a trigger stands for it above")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def test_a_server_that_dies_while_it_is_read(server):
    big = "?query=SELECT i AS age, repeat('x', 200) AS note FROM generate_series(1, 3000000) AS i"
    batches = read_batches(address_of(server.url(big)), ["age", "note"])
    assert next(batches).num_rows > 0
    server.kill()
    try:
        with pytest.raises(InputError, match=r"connection was lost|was shut down|driver reports"):
            list(batches)
    finally:
        restart(server)


def test_a_server_that_dies_while_it_is_written(server, people, here, monkeypatch):
    clear(server.url("?table=x"))
    shoal.anonymize(people, **ASKED, out=server.url("?table=release"))
    record = Path("release.record.json").read_bytes()
    keep = sys.modules["shoal.io.databases.publishing"]._keep

    def die(*args):
        keep(*args)
        server.kill()
        until_gone(server)

    monkeypatch.setattr("shoal.io.databases.publishing._keep", die)
    try:
        with pytest.raises(OutputError):
            shoal.anonymize(people.slice(0, 300), **ASKED, out=server.url("?table=release"))
    finally:
        restart(server)
    assert tables(server.url("?table=x")) == ["release", MANIFESTS]
    assert shoal.verify(server.url("?table=release")).records == 600
    assert Path("release.record.json").read_bytes() == record


def restart(server):
    until_gone(server)
    server.start()


def until_gone(server):
    for _ in range(100):
        if not (server.data / "postmaster.pid").exists():
            return
        time.sleep(0.1)


def test_an_answer_that_is_lost_keeps_the_record(server, people, here, monkeypatch):
    """The server commits, and dies before it can say so."""
    clear(server.url("?table=x"))
    commit = PostgreSQL.commit

    def lost(self):
        commit(self)
        raise ConnectionError

    monkeypatch.setattr(PostgreSQL, "commit", lost)
    with pytest.raises(OutputError, match="its record is kept as"):
        shoal.anonymize(people, **ASKED, out=server.url("?table=release"))
    (record,) = here.glob("release.*.record.json")
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert json.loads(record.read_text())["release"]["records"] == 600
    assert shoal.verify(server.url("?table=release")).ok


def test_a_full_disk_below_sqlite(here, people):
    """No file of that process may grow beyond some bytes, as on a full disk."""
    script = (
        "import resource, signal, shoal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "people = shoal.datasets.census(5000, seed=1)\n"
        f"made = shoal.anonymize(people, **{ASKED!r})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))\n"
        "try: made.write('sqlite:///full.db?table=release')\n"
        "except shoal.errors.OutputError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert "disk is full" in done.stdout
    assert list(here.iterdir()) == []


# What databases have


def test_types_that_only_postgresql_has(server):
    clear(server.url("?table=x"))
    execute(
        server.url("?table=x"),
        "CREATE TYPE mood AS ENUM ('low', 'high')",
        "CREATE TABLE odd (a numeric, b uuid, c timestamptz, d interval, e mood, f char(3))",
        "INSERT INTO odd VALUES (1.50, '00000000-0000-0000-0000-00000000000a', "
        "'2020-01-02 03:04:05+00', '1 day', 'low', 'ab')",
    )  # fmt: skip
    (row,) = read_database(address_of(server.url("?table=odd"))).to_pylist()
    row["c"] = row["c"].isoformat()
    assert row == {
        "a": "1.50", "b": "00000000-0000-0000-0000-00000000000a", "c": "2020-01-02T03:04:05+00:00",
        "d": "1 day", "e": "low", "f": "ab ",
    }  # fmt: skip


def test_columns_of_sqlite_that_mix_types(here):
    import sqlite3

    with sqlite3.connect("mixed.db") as database:
        database.execute("CREATE TABLE t (a, b)")
        rows = [(i, None) for i in range(70_000)] + [("many", "late")]
        database.executemany("INSERT INTO t VALUES (?, ?)", rows)
    found = read_database(address_of("sqlite:///mixed.db?table=t"))
    assert found.column("a").to_pylist() == [*map(str, range(70_000)), "many"]
    assert found.column("b").to_pylist()[-1] == "late"


def test_files_that_are_no_databases(here):
    Path("text.db").write_text("age,zip\n" * 500)
    for scheme in ("sqlite", "duckdb"):
        with pytest.raises(InputError, match="no such file"):
            shoal.inspect(f"{scheme}:///none.db?table=t")
        with pytest.raises(InputError, match="not a database of this kind"):
            shoal.inspect(f"{scheme}:///text.db?table=t")
    assert [path.name for path in here.iterdir()] == ["text.db"]


def test_a_table_without_a_manifest_is_not_verified(url, people):
    put(url("people"), people)
    with pytest.raises(InputError, match="no manifest"):
        shoal.verify(url("people"))
    assert not shoal.verify(url("people"), qi=QI, k=5).ok


def test_what_a_database_would_change_is_not_written(here, people, monkeypatch):
    """As if a rule of the database lost a record on its way in."""
    ingest = SQLite.ingest

    def losing(self, table, batches, new):
        ingest(self, table, batches, new)
        self.execute(f'DELETE FROM "{table}" WHERE rowid = 7')

    monkeypatch.setattr(SQLite, "ingest", losing)
    with pytest.raises(VerificationError, match="does not keep the records"):
        shoal.anonymize(people, **ASKED, out="sqlite:///own.db?table=release")
    assert list(here.iterdir()) == []


texts = st.none() | st.text(alphabet="ab,\"\n;'* é", max_size=4)


@given(st.lists(st.tuples(texts, st.none() | st.integers(-3, 3)), max_size=8), st.randoms())
def test_the_hash_of_rows_follows_its_definition(rows, random):
    table = pa.table(
        {
            "a": pa.array([a for a, _ in rows], pa.string()),
            "b": pa.array([b for _, b in rows], pa.int64()),
        }
    )
    expected = hashlib.sha256(b"a,b\n")
    for digest in sorted(hashlib.sha256(line(row)).digest() for row in rows):
        expected.update(digest)
    order = list(range(len(rows)))
    random.shuffle(order)
    shuffled = table.take(pa.array(order, pa.int64()))
    assert hash_of_rows(["a", "b"], table.to_batches()) == expected.hexdigest()
    assert hash_of_rows(["a", "b"], shuffled.to_batches(2)) == expected.hexdigest()


def line(row):
    """A row as `docs/formats.md` has it: quoted where needed, and where it is an empty text."""
    return b",".join(cell_of(cell) for cell in row)


def cell_of(cell):
    text = "" if cell is None else str(cell)
    quote = isinstance(cell, str) and (
        cell == "" or cell != cell.strip() or set(cell) & set(',"\n')
    )
    return ('"' + text.replace('"', '""') + '"' if quote else text).encode()


def test_recipients_ask_a_database_as_a_file(url, people, here):
    place = url("release")
    shoal.anonymize(people, **ASKED, seed=1).write(place)
    path = shoal.anonymize(people, **ASKED, seed=1).write("release.csv")
    sql = "SELECT avg(age) FROM r WHERE gender = 'Female'"
    assert shoal.query(place, sql).to_dict() == shoal.query(path, sql).to_dict()
    assert cells(shoal.expand(place, "bounds")) == cells(shoal.expand(path, "bounds"))
    told = run("query", place, sql)
    assert told.code == 0, told
    plain = url("plain")
    assert run("expand", place, "-o", plain, "--as", "midpoint").code == 0
    assert read_database(address_of(plain)).num_rows == 600
    assert "there is a table of that name" in run("expand", place, "-o", plain).err
    risk = run("risk", place, "--json")
    assert risk.code == 0, risk
    report = run("report", place, "--format", "md", "-o", "-")
    assert "Every promise holds" in report.out
    assert PASSWORD not in told.out + told.err + report.out + report.err


def test_a_second_table_is_found_in_the_database(url, people, here):
    release = shoal.anonymize(people, qi=QI, sensitive="occupation", rest="drop", l=2, seed=1,
                              method="anatomy")  # fmt: skip
    release.write(url("release"))
    drawn = shoal.expand(url("release"), "samples", samples=1, seed=1)
    assert sorted(drawn["occupation"].to_pylist()) == sorted(people["occupation"].to_pylist())


def test_releases_of_a_database_are_joined_as_files_are(url, people, here):
    sets = {"one": ["age", "gender"], "two": ["age", "education"]}
    for name, qi in sets.items():
        made = shoal.anonymize(people, qi=qi, k=3, rest="drop", keep_order=True, seed=1,
                               method="hilbert")  # fmt: skip
        made.write(url(name))
        made.write(f"{name}.csv")
    told = [run("join-check", a, b, "-k", "400", "--json") for a, b in (
        (url("one"), url("two")), ("one.csv", "two.csv"))]  # fmt: skip
    found = [json.loads(one.out) for one in told]
    assert [one.code for one in told] == [1, 1]
    for one in found:
        one.pop("releases")
    assert found[0] == found[1]
    assert PASSWORD not in told[0].out + told[0].err
    assert run("join-check", url("one"), url("none")).code == 2


def test_a_series_of_a_database_is_checked_as_files_are(url, people, here):
    for name in ("one", "two"):
        for place in (url(name), f"{name}.csv"):
            shoal.anonymize(people, qi=["age", "gender"], sensitive="occupation", rest="drop", k=4,
                            seed=1, method="hilbert").write(place)  # fmt: skip
    told = [run("series-check", a, b, "-k", "4", "--json") for a, b in (
        (url("one"), url("two")), ("one.csv", "two.csv"))]  # fmt: skip
    assert told[0].code == told[1].code, told
    found = [json.loads(one.out) for one in told]
    for one in found:
        one.pop("releases")
    assert found[0] == found[1]


def test_what_is_a_file_says_why(url, here):
    for words in (["sign", url("t"), "--key", "k.pem"], ["studio", url("t")],
                  ["report", "r.csv", "--original", url("t")]):  # fmt: skip
        told = run(*words)
        assert told.code == 2
        assert "expected a file, not a database: " in told.err
        assert PASSWORD not in told.err
        assert len(told.err.splitlines()) == 1


def test_a_release_goes_through_a_pipe_into_psql(server, people, here):
    """As the documentation has it; the password is PostgreSQL's own affair."""
    clear(server.url("?table=x"))
    put(server.url("?table=people"), people)
    execute(server.url("?table=x"), "CREATE TABLE released (age text, gender text)")
    made = subprocess.run(
        [sys.executable, "-m", "shoal", "anonymize", server.url("?table=people"), "-o", "-",
         "--qi", "age,gender", "--rest", "drop", "-k", "5", "--method", "hilbert", "--seed", "1"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    copied = server.psql(made.stdout, "-c", "\\copy released FROM STDIN CSV HEADER")
    assert copied.returncode == 0, copied.stderr
    found = read_database(address_of(server.url("?table=released")))
    again = shoal.anonymize(people, qi=["age", "gender"], rest="drop", k=5, seed=1,
                            method="hilbert")  # fmt: skip
    assert cells(found) == cells(decoded(again.table))
