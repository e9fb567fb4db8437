"""`shoal sql` where data lives: checks in five systems' SQL, views in DuckDB and PostgreSQL."""

from __future__ import annotations

import os
import sqlite3
from datetime import date, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import shoal
from command import shoal as run
from postgres import PASSWORD, need_postgres, running
from shoal.errors import OutputError, PolicyError
from shoal.io.addresses import address_of
from shoal.io.databases.connecting import connected
from shoal.io.write import decoded
from shoal.recipient.script import check_script, view_script
from sql_checks import COLUMNS, assert_finds_what_breaks, broken, rows

pytestmark = [
    pytest.mark.xdist_group("postgres"),
    pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning"),
]


@pytest.fixture(scope="module")
def server():
    need_postgres()
    with running() as started:
        yield started


def table():
    return pa.table(dict(zip(COLUMNS, map(list, zip(*rows(), strict=True)), strict=True)))


def test_classes_by_hand_are_some_and_not_all():
    small, alike = broken(3, 2)
    assert len(small) == 4
    assert 0 < len(alike) < 8


# --- checks


def test_duckdb_runs_its_check():
    with duckdb.connect() as connection:
        connection.register("people", table())
        assert_finds_what_breaks(lambda sql: connection.execute(sql).fetchall(), "duckdb")


def test_sqlite_runs_the_check_of_duckdb():
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE people(age, "Zip code", "the ""best""", ill, "order")')
    connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", rows())
    assert_finds_what_breaks(lambda sql: connection.execute(sql).fetchall(), "duckdb")


def asking(url):
    """Statements run in a PostgreSQL."""

    def ask(sql):
        with connected(address_of(url)) as database, database.stream(sql) as reader:
            return list(zip(*(column.to_pylist() for column in reader.read_all()), strict=True))

    return ask


def put(url, records):
    address = address_of(url)
    with connected(address, writing=True) as database:
        database.execute(f'DROP TABLE IF EXISTS "{address.table}"')
        database.ingest(address.table, records.to_reader(), new=True)
        database.commit()


def test_postgresql_runs_its_check(server):
    url = server.url("?table=people")
    put(url, table())
    assert_finds_what_breaks(asking(url), "postgresql")
    assert_finds_what_breaks(asking(url), "postgresql", "public.people")


@pytest.mark.parametrize("dialect", ["snowflake", "bigquery", "postgresql", "spark", "duckdb"])
def test_each_check_is_of_its_dialect(dialect):
    """Read as that dialect by a parser of its own, and run as what it was read as."""
    try:
        import sqlglot
    except ImportError:
        if os.environ.get("CI"):
            pytest.fail("in CI sqlglot must be there: it is in the extra dev")
        pytest.skip("sqlglot is not installed")
    with duckdb.connect() as connection:
        connection.register("people", table())

        def ask(sql):
            read = "postgres" if dialect == "postgresql" else dialect
            (statement,) = sqlglot.parse(sql, read=read)
            named = {one.name for one in statement.find_all(sqlglot.exp.Column)}
            assert named <= set(COLUMNS)
            return connection.execute(statement.sql("duckdb")).fetchall()

        assert_finds_what_breaks(ask, dialect)


def test_names_that_bigquery_cannot_have():
    for name in ("a`b", "a\\b"):
        with pytest.raises(PolicyError, match="no such name"):
            check_script("t", [name], k=2, dialect="bigquery")
    assert "`a``b`" in check_script("t", ["a`b"], k=2, dialect="spark")


def test_an_address_says_the_table_and_the_dialect(server):
    words = ["--check", "k=2", "--qi", "age"]
    told = run("sql", server.url("?table=public.people"), *words)
    assert told.code == 0, told
    assert 'FROM "public"."people"' in told.out
    assert PASSWORD not in told.out
    assert 'FROM "people"' in run("sql", "sqlite:///x.db?table=people", *words).out
    spark = run("sql", "duckdb:///x.db?table=people", *words, "--dialect", "spark")
    assert "FROM `people`" in spark.out
    assert "expected a table" in run("sql", "sqlite:///x.db?query=SELECT 1", *words).err


# --- views


def release():
    """Numbers, categories, dates and a missing value, generalised; one column as it is."""
    people = decoded(shoal.datasets.census(400, seed=3))
    days = [date(2024, 1, 1) + timedelta(days=7 * n % 365) for n in range(400)]
    genders = [None if n % 50 == 0 else text for n, text in enumerate(people["gender"].to_pylist())]
    made = pa.table(
        {
            "age": people["age"],
            "gender": pa.array(genders),
            "seen": pa.array(days),
            "Wage's": people["salary"].cast(pa.float64()),
        }
    )
    return shoal.anonymize(
        made, qi=["age", "gender", "seen"], plain="Wage's", k=5, seed=1, method="hilbert"
    )


QUESTIONS = [
    "SELECT sum(age_low), sum(age_high), sum(age_mid), count(*) FROM VIEW",
    "SELECT min(seen_low), max(seen_high), min(seen_mid), max(seen_mid) FROM VIEW",
    "SELECT sum(weight_in(age, 30, 40) * weight_of(gender_values, 'Female')) FROM VIEW",
    "SELECT sum(weight_in(seen, DATE '2024-03-01', DATE '2024-05-31')) FROM VIEW",
    'SELECT sum("Wage\'s"), count(gender) FROM VIEW',
]


def answers(ask, view):
    return [
        [round(cell, 6) if isinstance(cell, float) else cell for row in rows for cell in row]
        for rows in (ask(question.replace("VIEW", view)) for question in QUESTIONS)
    ]


@pytest.fixture
def by_file(tmp_path):
    """What the view of the release's file says, in DuckDB."""
    path = release().write(tmp_path / "r.csv")
    with duckdb.connect() as connection:
        connection.execute(view_script(path))
        found = answers(lambda sql: connection.execute(sql).fetchall(), "release")
    asked = "SELECT count(*) FROM r WHERE age BETWEEN 30 AND 40 AND gender = 'Female'"
    assert found[2][0] == pytest.approx(shoal.query(path, asked).expected)
    asked = "SELECT count(*) FROM r WHERE seen BETWEEN DATE '2024-03-01' AND DATE '2024-05-31'"
    assert found[3][0] == pytest.approx(shoal.query(path, asked).expected)
    return found


def test_a_view_of_a_release_in_duckdb(tmp_path, by_file, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = f"duckdb:///{tmp_path}/it's.duckdb?table=release"
    release().write(place)
    told = run("sql", place)
    assert told.code == 0, told
    with duckdb.connect() as connection:
        connection.execute(told.out)
        assert answers(lambda sql: connection.execute(sql).fetchall(), "release") == by_file


def test_a_view_of_a_release_in_postgresql(server, tmp_path, by_file, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = server.url("?table=release")
    release().write(place)
    told = run("sql", place)
    assert told.code == 0, told
    assert PASSWORD not in told.out
    for _ in range(2):  # again over what is there
        assert server.psql(told.out).returncode == 0
        ask = asking(server.url("?table=x"))
        assert answers(ask, "release_view") == by_file
    assert shoal.verify(place).ok
    with pytest.raises(OutputError, match="such as views"):
        release().write(place)


def test_numbers_of_a_file_are_numbers_and_codes_are_not(tmp_path):
    made = pa.table(
        {
            "age": list(range(20, 60)),
            "code": [f"{n:03d}" for n in range(40)],
            "whole": pa.array([None, *range(39)]),
            "pay": [n + 0.5 for n in range(40)],
        }
    )
    kept = ["code", "whole", "pay"]
    path = shoal.anonymize(made, qi="age", plain=kept, k=5, seed=1).write(tmp_path / "r.csv")
    with duckdb.connect() as connection:
        connection.execute(view_script(path))
        asked = "SELECT sum(whole), sum(pay), max(code), typeof(any_value(whole)) FROM release"
        assert connection.execute(asked).fetchall() == [(741, 800.0, "039", "BIGINT")]


def test_a_view_of_what_has_no_words_for_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = f"sqlite:///{tmp_path}/own.db?table=release"
    release().write(place)
    told = run("sql", place)
    assert told.code != 0
    assert "`shoal expand`" in told.err
    assert run("expand", place, "-o", "plain.csv", "--as", "bounds").code == 0
    assert "age_low" in Path("plain.csv").read_text().splitlines()[0]
