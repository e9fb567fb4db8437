"""What the pages show and do, step by step; without a server, with real workers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

pytest.importorskip("starlette")

import shoal
from command import people
from shoal.studio.session import FOLDER, Session
from shoal.studio.steps.columns import with_role
from shoal.studio.texts import all_texts
from studio import SOURCE, client_of, enter, looked_at, wait_for

NASTY = (
    "name,age,city,disease\n"
    + '"<script>alert(1)</script>",30,"=HYPERLINK(""http://x"",""y"")",flu\n'
    + f'{"x" * 10_000},31,"\u202egnirts",cold\n'
    + '"<img src=x onerror=alert(2)>",32,"@SUM(1)",flu\n'
    + "".join(f"n{i},{30 + i % 9},c{i % 3},{['flu', 'cold', 'gout'][i % 3]}\n" for i in range(60))
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("studio")
    people(found / "people.csv")
    return found


@pytest.fixture(scope="module")
def shared(folder):
    """One studio for all tests: the process that reads tables takes a second to start."""
    with client_of(folder) as found:
        yield enter(found)


@pytest.fixture
def client(shared):
    shared.studio.jobs.cancel_all()
    shared.studio.session.start_anew()
    return shared


@pytest.fixture
def tmp_path(folder):
    return folder


def ready(client, name="people.csv"):
    """A table that was read, with the proposed roles."""
    look = looked_at(client, name)
    assert look, client.studio.session.state.get("problem")
    return look


def released(client, **how):
    """A finished run."""
    client.post("/explore/start", data={"method": "hilbert", **how})
    job = wait_for(
        lambda: next((j for j in client.studio.jobs.all("release")[-1:] if not j.running), None),
        120,
    )
    assert job.state == "done", job.error
    return job


def test_steps_say_what_is_missing(client):
    page = client.get("/data").text
    assert "choose a table" in page
    assert re.search(r"<button type=\"button\" disabled[^>]*>Next: Columns", page)
    assert f'href="{client.keys.path}/columns"' not in page
    ready(client)
    assert f'href="{client.keys.path}/columns"' in client.get("/data").text


def test_private_cells_are_masked_until_shown(client, tmp_path):
    (tmp_path / "own.csv").write_text(
        "name,age,disease\n" + "".join(f"Ada{i} Secretson,{20 + i % 40},gout\n" for i in range(90))
    )
    look = ready(client, "own.csv")
    roles = {column["name"]: column["role"] for column in look["columns"]}
    assert roles["name"] == "identifier"
    assert roles["disease"] == "sensitive"
    page = client.get("/data").text
    assert "Secretson" not in page
    assert "gout" not in page
    assert "••••" in page
    client.post("/data/show", data={"column": "0"})
    page = client.get("/data").text
    assert "Secretson" in page
    assert "gout" not in page
    client.post("/data/show", data={"column": "0"})
    assert "Secretson" not in client.get("/data").text
    assert client.studio.session.shown == set()


def test_a_table_full_of_traps_is_shown_harmlessly(client, tmp_path):
    (tmp_path / "nasty.csv").write_text(NASTY, encoding="utf-8")
    look = ready(client, "nasty.csv")
    for place in range(len(look["columns"])):
        client.post("/data/show", data={"column": str(place)})
    page = client.get("/data").text
    assert "<script>alert" not in page
    assert "<img src" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "x" * 100 not in page
    assert "\u202e" not in page
    assert "⟨U+202E⟩" in page
    assert len(page) < 300_000


def test_names_of_columns_are_no_markup_either(client, tmp_path):
    rows = "".join(f"{20 + i % 30},{i % 4}\n" for i in range(60))
    (tmp_path / "odd.csv").write_text(f'"<b>age</b>\u202e","""x"" y"\n{rows}', encoding="utf-8")
    ready(client, "odd.csv")
    for path in ("/data", "/columns", "/columns/unique", "/hierarchies", "/protection"):
        page = client.get(path).text
        assert "<b>age" not in page
        assert "\u202e" not in page


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("ragged.csv", b"a,b\n1,2\n1,2,3\n", "line 3"),
        ("latin.csv", "a,b\n1,Zo\xeb\n".encode("latin-1"), "for example Encoding latin-1"),
        ("empty.csv", b"", "is empty"),
        ("bare.csv", b"a,b\n", "no records"),
        ("twice.csv", b"a,a\n1,2\n", "twice"),
        ("broken.csv.gz", b"no gzip", "gzip"),
        ("broken.parquet", b"no parquet", "Parquet"),
        ("broken.jsonl", b'{"a": 1}\n{"a"\n', "line 2"),
        ("broken.arrow", b"no arrow", "Arrow"),
        ("nameless.csv", b"a,\n1,2\n", "no name"),
    ],
)  # fmt: skip
def test_bad_files_are_explained_with_the_place(client, tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    looked_at(client, name)
    page = client.get("/data").text
    assert said in page
    assert str(tmp_path) not in page
    assert "the table cannot be read as it is" in page


def test_another_encoding_mends_it(client, tmp_path):
    rows = "".join(f"{20 + i % 30},Zo\xeb\n" for i in range(40))
    (tmp_path / "latin.csv").write_bytes(f"age,city\n{rows}".encode("latin-1"))
    looked_at(client, "latin.csv")
    client.post("/data/choose", data={"name": "latin.csv", "encoding": "latin-1"})
    wait_for(lambda: client.studio.session.look)
    assert client.studio.session.policy.encoding == "iso8859-1"


def test_marks_that_the_file_does_not_tell_are_given(client, tmp_path):
    """One column of everything at first; then cells, and decimals behind a comma."""
    rows = "".join(
        f"{20 + i % 30}~{i % 7},{i % 10}25~{['flu', 'cold'][i % 2]}\n" for i in range(60)
    )
    (tmp_path / "marks.csv").write_text("age~pay~disease\n" + rows)
    looked_at(client, "marks.csv")
    marks = {"delimiter": "~", "decimal": ","}
    client.post("/data/choose", data={"name": "marks.csv", **marks})
    look = wait_for(lambda: client.get("/data/reading") and client.studio.session.look)
    assert [column["name"] for column in look["columns"]] == ["age", "pay", "disease"]
    assert [column["kind"] for column in look["columns"]][:2] == ["numeric", "numeric"]
    page = client.get("/data").text
    assert '<option value="~" selected>' in page
    policy = client.studio.session.policy
    assert (policy.delimiter, policy.decimal) == ("~", ",")
    client.post("/columns", data={"role-0": "qi", "role-1": "qi", "role-2": "sensitive"})
    assert "unique" in client.get("/columns/unique").text
    client.post("/protection", data={"k": "3", "stay": "1"})
    assert "Possible" in client.get("/protection/check").text
    assert released(client).result["records"] == 60


def test_a_role_changes_the_number_of_unique_people(client):
    look = ready(client)
    before = client.get("/columns/unique").text
    names = [column["name"] for column in look["columns"]]
    place = names.index(client.studio.session.policy.qi[0])
    after = client.post("/columns", data={f"role-{place}": "none"}, headers={"hx-request": "true"})
    number = r"<strong>([\d,]+) of"
    expected = shoal.inspect(str(client.studio.session.table)).unique
    assert int(re.search(number, before)[1].replace(",", "")) == expected
    assert re.search(number, before)[1] != re.search(number, after.text)[1]
    assert names[place] not in client.studio.session.policy.qi
    assert 'hx-swap-oob="innerHTML"' in after.text


@pytest.mark.parametrize(
    "role", ["qi", "sensitive", "identifier", "plain", "person", "weight", "none"]
)
def test_any_role_follows_any_other(role):
    full = {
        "qi": ["a", "b"], "sensitive": ["s"], "identifier": ["n"], "person": "p", "k": 3, "l": 2,
        "weight_column": "w", "hierarchy": {"a": "flat"}, "coarsen": {"a": 1},
        "exempt": {"s": ["x"]}, "reader": {"r": {"qi": ["a"]}, "q": {"qi": ["b"]}},
    }  # fmt: skip
    for name in ("a", "b", "s", "n", "p", "w", "new"):
        settings = with_role(full, name, role)
        if role == "qi" and "reader" in settings:
            settings.pop("reader")  # a new one is known to nobody yet
        shoal.Policy.parse(**settings)


def test_a_tab_that_is_behind_changes_nothing(client):
    ready(client)
    version = client.studio.session.version
    client.post("/protection", data={"k": "7", "version": version})
    assert client.studio.session.policy.k == 7
    late = client.post("/protection", data={"k": "2", "version": version})
    assert late.status_code == 409
    assert "another tab" in late.text
    assert client.studio.session.policy.k == 7


def test_presets_follow_thresholds(client):
    ready(client)
    for name, k in (("public", 20), ("contract", 12), ("internal", 5)):
        client.post("/protection/preset", data={"preset": name})
        assert client.studio.session.policy.k == k
        assert f"every class has {k} or more" in client.get("/protection/check").text


def test_what_is_wrong_is_said_beside_the_field(client):
    ready(client)
    answer = client.post("/protection", data={"k": "many"})
    assert answer.status_code == 422
    assert re.search(r'id="wrong-k">k: expected a number', answer.text)
    infeasible = client.post(
        "/protection", data={"k": "5", "l": "1000"}, headers={"hx-request": "1"}
    )
    assert "Not possible." in infeasible.text
    assert "no release can keep this promise" in client.get("/protection").text


def test_trees_are_used_only_if_they_cover_the_column(client):
    ready(client)
    policy = client.studio.session.policy
    place = str(policy.qi.index("age") if "age" in policy.qi else 0)
    name = policy.qi[int(place)]
    lacking = client.post(
        "/hierarchies", data={"column": place, "way": "tree", "arx": "1;*\n2;*\n"}
    )
    assert lacking.status_code == 422
    assert "are not in the tree" in lacking.text
    assert name not in client.studio.session.policy.hierarchy
    data = {"column": place, "way": "tree", "arx": "1;low;*\n2;low;*\n", "complete": "yes"}
    assert client.post("/hierarchies", data=data).status_code == 200
    assert name in client.studio.session.policy.hierarchy
    for way in ("suggest", "flat", "none"):
        client.post("/hierarchies", data={"column": place, "way": way})
    assert name not in client.studio.session.policy.hierarchy
    wrong = client.post(
        "/hierarchies", data={"column": place, "way": "groups", "groups": "nonsense"}
    )
    assert "line 1" in wrong.text


def test_command_and_python_make_the_same_release(client, tmp_path):
    ready(client)
    client.post("/hierarchies", data={"column": "0", "way": "suggest"})
    client.post("/protection", data={"k": "5"})
    job = released(client)
    client.post("/explore/choose", data={"run": job.id})
    page = client.get("/release").text
    release = client.get(f"/download/{job.id}/release").content
    again = tmp_path / "again"
    again.mkdir()
    packed = client.get(f"/download/{job.id}/policy")
    if packed.headers["content-type"] == "application/zip":
        (again / "policy.zip").write_bytes(packed.content)
        subprocess.run(
            [sys.executable, "-m", "zipfile", "-e", "policy.zip", "."], cwd=again, check=True
        )
    else:
        (again / "shoal.toml").write_bytes(packed.content)
    (again / "people.csv").write_bytes((tmp_path / "people.csv").read_bytes())

    def shown(name):
        from html import unescape

        return unescape(re.search(rf'<pre id="{name}"[^>]*>(.*?)</pre>', page, re.DOTALL)[1])

    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    words = shown("command").split()
    assert words[:2] == ["shoal", "anonymize"]
    subprocess.run(
        [sys.executable, "-m", *words], cwd=again, check=True, env=env, capture_output=True
    )
    assert (again / "release.csv").read_bytes() == release
    for path in again.glob("release*"):
        path.unlink()
    subprocess.run([sys.executable, "-c", shown("python")], cwd=again, check=True, env=env,
                   capture_output=True)  # fmt: skip
    assert (again / "release.csv").read_bytes() == release
    (again / "r.csv").write_bytes(release)
    manifest = json.loads(client.get(f"/download/{job.id}/manifest").content)
    assert shoal.verify(again / "r.csv", manifest).holds
    assert job.result["seed"] not in json.dumps(manifest)


def test_a_session_goes_on_in_another_server(client, tmp_path):
    ready(client)
    client.post("/protection", data={"k": "5"})
    job = released(client)
    client.post("/explore/choose", data={"run": job.id})
    other = client_of(tmp_path)
    with other:
        enter(other)
        assert other.studio.session.policy.k == 5
        assert "Verified." in other.get("/release").text
        other.post("/delete")
        assert other.studio.jobs.all() == []
        assert "choose a table" in other.get("/data").text
        kept = {path.name for path in (tmp_path / FOLDER).rglob("*") if path.is_file()}
        assert kept <= {"README.txt", "lock"}
        Session(tmp_path).delete()
        assert not (tmp_path / FOLDER).exists()
    Session(tmp_path)


def test_a_cancelled_run_leaves_no_file_and_no_process(client):
    from studio import children_of

    ready(client)
    client.post("/explore/start", data={"method": "best", "effort": "max", "time": "60s"})
    job = client.studio.jobs.all("release")[0]
    process = client.studio.jobs.processes[job.id]
    client.post("/explore/cancel", data={"run": job.id})
    assert process.poll() is not None
    assert children_of(process.pid) == []
    found = client.studio.jobs.get(job.id)
    assert found.state == "cancelled"
    assert not list(found.folder.glob("release*"))
    assert client.post("/explore/choose", data={"run": job.id}).status_code == 422


def test_a_run_that_is_killed_says_so(client):
    ready(client)
    client.post("/explore/start", data={"method": "best", "effort": "max", "time": "60s"})
    job = client.studio.jobs.all("release")[0]
    client.studio.jobs.processes[job.id].kill()
    wait_for(lambda: client.studio.jobs.get(job.id).state == "failed")
    assert "Start it again" in client.get("/explore").text


def test_every_text_is_used_with_the_values_it_names():
    def leaves(table):
        for value in table.values():
            yield from leaves(value) if isinstance(value, dict) else [value]

    for line in leaves(all_texts()):
        assert isinstance(line, str)
        line.replace("{a,b}", "").format_map(dict.fromkeys(re.findall(r"{(\w+)}", line), 1))


def test_the_server_itself_opens_no_table():
    script = (
        "import sys, shoal.studio.app\n"
        "heavy = {'pyarrow', 'numba', 'duckdb', 'altair', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          env={"PYTHONPATH": str(SOURCE)}, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
