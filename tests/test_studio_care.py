"""What a fresh look at the studio found, and must not come back; without a server."""

from __future__ import annotations

import asyncio
import re
import stat
from itertools import product

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

import httpx

from command import people
from shoal.errors import InputError, PolicyError
from shoal.policy import Policy
from shoal.studio.app import make_app
from shoal.studio.desk import AskDesk
from shoal.studio.jobs import Jobs
from shoal.studio.security import Keys
from shoal.studio.session import Session, write_json
from studio import PORT, client_of, enter, looked_at, wait_for

CITIES = ("Paris", "Lyon", "Rome", "Oslo")
SICK = ("flu", "hiv", "cold")


def table(name="name"):
    rows = (f"P{i:03d},{20 + i % 30},{CITIES[i % 4]},{SICK[i % 3]}\n" for i in range(60))
    return f"{name},age,city,disease\n" + "".join(rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("studio")
    people(found / "people.csv")
    (found / "p.csv").write_text(table())
    (found / "q.csv").write_text(table("x").replace("P0", "Q0"))
    return found


@pytest.fixture(scope="module")
def shared(folder):
    with client_of(folder) as found:
        yield enter(found)


@pytest.fixture
def client(shared):
    shared.studio.jobs.cancel_all()
    shared.studio.session.start_anew()
    return shared


def brought(client, content, name="u.csv"):
    answer = client.post("/data/upload", content=content, headers={"x-file-name": name})
    assert answer.status_code == 200
    return wait_for(lambda: client.get("/data/reading") and client.studio.session.look)


def with_roles(client, name="p.csv"):
    assert looked_at(client, name)
    roles = {"role-0": "identifier", "role-1": "qi", "role-2": "qi", "role-3": "sensitive"}
    client.post("/columns", data={**roles, "stay": "1"})


def ended(client, job):
    def found():
        now = client.studio.jobs.get(job.id)
        return None if now.state == "running" else now

    return wait_for(found, 120)


def released(client, k="3"):
    client.post("/protection", data={"k": k, "stay": "1"})
    client.post("/explore/start", data={"method": "mondrian"})
    job = ended(client, client.studio.jobs.all("release")[-1])
    assert job.state == "done", job.error
    return job


def chosen(client, job):
    client.post("/explore/choose", data={"run": job.id})
    report = ended(client, client.studio.jobs.of(job.id, "report"))
    assert report.state == "done", report.error
    return report


# Tables


def test_a_file_that_is_brought_again_is_read_again(client):
    first = brought(client, b"name,age\nOLD,1\nOLD,2\n")
    assert first["rows"] == 2
    again = brought(client, b"name,age\nNEW,1\nNEW,2\nNEW,3\n")
    assert again["rows"] == 3
    assert again["preview"][0][0] == "NEW"


def test_two_uploads_of_one_name_do_not_mix(tmp_path):
    keys = Keys(PORT)
    app = make_app(Session(tmp_path), keys)
    drafts = set()

    async def parts(letter, count):
        yield b"a,b\n"
        for _ in range(count):
            yield f"{letter},1\n".encode() * 1000
            for path in (tmp_path / ".shoal-studio" / "uploads").glob(".*.part"):
                drafts.add((path.name, stat.S_IMODE(path.stat().st_mode)))
            await asyncio.sleep(0.001)

    async def both():
        headers = {"origin": f"http://127.0.0.1:{PORT}", "x-csrf-token": keys.csrf,
                   "x-file-name": "u.csv"}  # fmt: skip
        transport = httpx.ASGITransport(app=app)
        base = f"http://127.0.0.1:{PORT}{keys.path}"
        cookies = {keys.cookie_name: keys.cookie}
        async with httpx.AsyncClient(
            transport=transport, base_url=base, cookies=cookies, headers=headers
        ) as client:
            answers = await asyncio.gather(
                client.post("/data/upload", content=parts("A", 30)),
                client.post("/data/upload", content=parts("B", 20)),
            )
        await app.studio.closed()
        return answers

    assert [answer.status_code for answer in asyncio.run(both())] == [200, 200]
    kept = (tmp_path / ".shoal-studio" / "uploads" / "u.csv").read_bytes()
    assert (kept.count(b"A,1"), kept.count(b"B,1")) in {(30_000, 0), (0, 20_000)}
    assert len(drafts) == 2
    assert {mode for _, mode in drafts} == {0o600}


@pytest.mark.parametrize("role", ["none", "weight", "person"])
def test_another_role_shows_no_private_cell(client, role):
    with_roles(client)
    for place, cell in ((0, "P000"), (3, "hiv")):
        client.post("/columns", data={f"role-{place}": role, "stay": "1"})
        assert cell not in client.get("/data").text
    client.post("/columns", data={"role-0": "none", "role-3": "plain", "stay": "1"})
    assert "hiv" not in client.get("/data").text  # it looked sensitive at first
    client.post("/data/show", data={"column": "3"})
    assert "hiv" in client.get("/data").text


def test_what_was_decided_about_a_table_is_not_said_of_the_next(client):
    with_roles(client)
    client.post("/columns/missing", data={"missing": "flu, Rome"})
    wait_for(lambda: client.get("/data/reading") and client.studio.session.look)
    assert "flu" in client.studio.session.policy.missing
    job = released(client)
    with_roles(client, "q.csv")
    assert client.studio.session.policy.missing == ("",)
    assert client.studio.jobs.all() == []
    assert client.post("/explore/choose", data={"run": job.id}).status_code == 422
    assert client.get(f"/download/{job.id}/release").status_code == 404
    with_roles(client, "p.csv")
    assert [one.id for one in client.studio.jobs.all("release")] == [job.id]


def test_read_it_again_means_the_same_file(client, folder):
    (folder / "twin.csv").write_bytes(b"name\n\xff\n")
    brought(client, b"name,disease\nA,1\nB,2\n", "twin.csv")
    looked_at(client, "twin.csv")
    page = client.get("/data").text
    assert re.search(r'name="uploaded" value="(\w+)"', page)[1] == "no"
    (folder / "twin.csv").unlink()


# Runs


def test_a_run_is_forgotten_with_its_report(client):
    with_roles(client)
    job = released(client)
    report = chosen(client, job)
    for path in report.folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    client.post("/explore/delete", data={"run": job.id})
    assert list(client.studio.jobs.folder.iterdir()) == []


def test_attacks_know_the_trees_of_groups(client):
    with_roles(client)
    data = {"column": "1", "way": "groups", "groups": "FR: Paris | Lyon\nX: Rome | Oslo",
            "other": "rest"}  # fmt: skip
    assert client.post("/hierarchies", data=data).status_code == 200
    job = released(client)
    client.post("/explore/choose", data={"run": job.id})
    client.post("/risk/attack")
    attack = ended(client, client.studio.jobs.of(job.id, "attack"))
    assert attack.state == "done", attack.error
    assert attack.result["attacks"]


def test_folders_within_a_run_that_was_lost_go_too(tmp_path):
    session = Session(tmp_path)
    run = session.folder / "runs" / "0001"
    (run / "half").mkdir(parents=True)
    write_json(run / "job.json", {"kind": "release", "begun": 0})
    Jobs(session)
    assert [path.name for path in run.iterdir()] == ["job.json"]


def test_what_a_killed_server_left_halfway_is_removed(tmp_path):
    session = Session(tmp_path)
    halves = [session.folder / name for name in (
        "uploads/.x.part", "uploads/u.csv.part", "trees/draft-1.csv", "draft.toml",
        ".state.json.17", "open.html",
    )]  # fmt: skip
    whole = [session.folder / name for name in ("uploads/u.csv", "trees/column-1.csv")]
    for path in (*halves, *whole):
        path.write_text("SECRET")
    Session(tmp_path).lock()
    assert [path for path in halves if path.exists()] == []
    assert all(path.exists() for path in whole)


# Odd numbers


@pytest.mark.parametrize("digits", ["9" * 5000, "1" * 300, "99999999999999999999", "\u0661"])
def test_odd_numbers_are_no_error_of_ours(client, digits):
    with_roles(client)
    for path in (f"/hierarchies?column={digits}", f"/explore/classes?page={digits}",
                 f"/download/{digits}/release"):  # fmt: skip
        assert client.get(path).status_code in {200, 404}
    for path, data in (
        ("/explore/delete", {"run": digits}), ("/data/show", {"column": digits}),
        ("/explore/choose", {"k": digits}), ("/explore/choose", {"run": digits}),
        ("/hierarchies", {"column": digits, "way": "flat"}),
        ("/hierarchies", {"column": "0", "way": "suggest", "levels": digits}),
        ("/hierarchies", {"column": "0", "way": "intervals", "widths": digits}),
        ("/protection", {"k": digits}), ("/explore/start", {"time": digits}),
    ):  # fmt: skip
        answer = client.post(path, data=data, follow_redirects=False)
        assert answer.status_code in {303, 422}, (path, answer.status_code)
        assert client.get("/data").status_code == 200
        assert client.get("/protection").status_code == 200
    client.studio.jobs.cancel_all()


def test_what_is_no_number_is_not_kept(client):
    with_roles(client)
    before = client.studio.session.version
    fields = ("k", "l", "t", "alpha", "beta", "delta", "e", "c")
    for field, given in product((*fields, "threshold"), ("nan", "inf", "-inf", "1e308")):
        assert client.post("/protection", data={"k": "3", field: given}).status_code == 422
        if given != "1e308":
            with pytest.raises(PolicyError):
                Policy.parse(qi=["a"], sensitive=["s"], **{field: float(given)})
    for field in fields:
        toml = f'qi = ["age"]\nsensitive = ["disease"]\n{field} = nan\n'
        assert client.post("/protection/policy", data={"toml": toml}).status_code == 422
    toml = f'qi = ["age"]\nk = {"9" * 5000}\n'
    assert client.post("/protection/policy", data={"toml": toml}).status_code == 422
    assert client.studio.session.version == before


@pytest.mark.parametrize("method", ["", "x" * 100])
def test_an_unknown_method_is_not_kept(client, method):
    with_roles(client)
    toml = f'qi = ["age"]\nk = 3\nmethod = "{method}"\n'
    assert client.post("/protection/policy", data={"toml": toml}).status_code == 422
    if method:
        data = {"k": "3", "method": method}
        assert client.post("/explore/choose", data=data).status_code == 422


# Tabs that are behind


def test_every_change_says_which_page_it_saw(client):
    with_roles(client)
    old = {"version": "0" * 16}
    before = client.studio.session.version
    assert client.post("/protection/preset", data={**old, "preset": "public"}).status_code == 409
    assert client.post("/columns/missing", data={**old, "missing": "x"}).status_code == 409
    assert client.post("/data/show", data={"look": "0" * 16, "column": "0"}).status_code == 409
    assert client.studio.session.version == before
    assert client.studio.session.shown == set()
    now = re.search(r'name="look" value="(\w+)"', client.get("/data").text)[1]
    client.post("/data/show", data={"look": now, "column": "0"})
    assert client.studio.session.shown == {"name"}
    for path, part in (("/protection", "preset"), ("/columns", "missing")):
        page = client.get(path).text
        version = rf'<span id="{part}-version"( hidden)?><input type="hidden" name="version" '
        assert re.search(rf'{version}value="{before}"', page)


def test_a_tree_of_a_tab_that_is_behind_is_not_kept(client, monkeypatch):
    with_roles(client)
    asked, drafts = client.studio.desk.ask, []

    async def meanwhile(what, **given):
        if what == "tree":
            drafts.append(given["spec"])
            client.studio.session.change(k=len(drafts) + 40)
        return await asked(what, **given)

    monkeypatch.setattr(client.studio.desk, "ask", meanwhile)
    arx = "".join(f"{city};*\n" for city in CITIES)
    for _ in range(2):
        data = {"column": "1", "way": "tree", "arx": arx}
        assert client.post("/hierarchies", data=data).status_code == 409
    assert client.studio.session.policy.hierarchy == {}
    assert len(set(drafts)) == 2
    assert list((client.studio.session.folder / "trees").iterdir()) == []


# Trees


def test_the_tree_that_is_shown_is_the_one_in_use(client, folder):
    rows = "".join(f"{20 + i % 30},{('Paris', 'paris', 'Rome')[i % 3]},x\n" for i in range(60))
    (folder / "case.csv").write_text(f"age,city,disease\n{rows}")
    assert looked_at(client, "case.csv")
    client.post("/columns", data={"role-0": "qi", "role-1": "qi", "stay": "1"})
    arx = "Paris;East;*\nparis;east;*\nRome;East;*\n"
    client.post("/hierarchies", data={"column": "1", "way": "tree", "arx": arx})
    page = client.get("/hierarchies?column=1").text
    nodes = re.findall(r"<summary><bdi>(\w+)</bdi> <small>(\d+)</small>", page)
    assert sorted(nodes) == [("East", "2"), ("east", "1")]


def test_a_tree_that_is_too_long_for_the_editor_is_not_cut_in_it(client, folder):
    rows = "".join(f"{i % 40},c{i:05d}\n" for i in range(2500))
    (folder / "long.csv").write_text(f"age,code\n{rows}")
    assert looked_at(client, "long.csv")
    client.post("/columns", data={"role-0": "qi", "role-1": "qi", "stay": "1"})
    lacking = client.post("/hierarchies", data={"column": "1", "way": "tree", "arx": "x;*\n"})
    assert "2,500 values of the column" in lacking.text
    data = {"column": "1", "way": "tree", "arx": "c00000;all;*\n", "complete": "yes"}
    assert client.post("/hierarchies", data=data).status_code == 200
    client.post("/hierarchies", data={"column": "1", "way": "prefixes", "keep": "3"})
    page = client.get("/hierarchies?column=1").text
    assert "The first 600 of 2,500 values are listed" in page
    assert "has 2,500 values, more than this box can hold" in page
    assert re.search(r'<textarea id="arx"[^>]*></textarea>', page)
    counts = re.findall(r"<small>([\d,]+)</small></summary>", page)
    assert "2,500" in counts
    assert "1,000" in counts


# The process that reads


def test_ending_the_reader_ends_nobody_elses_question(tmp_path):
    (tmp_path / "p.csv").write_text(table())

    async def both():
        desk = AskDesk()

        async def unique(name):
            try:
                found = await desk.ask("unique", path=str(tmp_path / "p.csv"), missing=[""],
                                       encoding="utf-8", qi=[name], person=None)  # fmt: skip
            except InputError:
                return None
            return found["now"]["classes"]

        first = asyncio.create_task(unique("age"))
        await asyncio.sleep(0.05)
        desk.close()
        others = [asyncio.create_task(unique(name)) for name in ("city", "name", "disease")]
        found = await asyncio.gather(first, *others)
        waiting = asyncio.create_task(unique("age"))
        await asyncio.sleep(0)
        waiting.cancel()  # nobody takes its answer for another one's
        await asyncio.gather(waiting, return_exceptions=True)
        found.append(await unique("city"))
        await desk.closed()
        return found

    found = asyncio.run(both())
    assert found[1:] == [4, 60, 3, 4]
    assert found[0] in {None, 30}


def test_an_answer_beyond_all_reason_is_an_error_that_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.studio.desk.LONGEST_ANSWER", 4096)
    (tmp_path / "p.csv").write_text("a,b\n" + "".join(f"{i},{i % 3}\n" for i in range(2000)))
    (tmp_path / "s.toml").write_text('qi = ["a", "b"]\nk = 2\n')
    asked = {"path": str(tmp_path / "p.csv"), "policy": str(tmp_path / "s.toml")}

    async def three():
        desk = AskDesk()
        with pytest.raises(InputError):
            await desk.ask("values", **asked, column="a")
        found = [await desk.ask("values", **asked, column="b") for _ in range(2)]
        await desk.closed()
        return found

    assert [found["distinct"] for found in asyncio.run(three())] == [3, 3]


def test_a_small_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    import gzip

    from shoal.studio.workers.bounds import check_unpacked
    from shoal.studio.workers.desk import Desk

    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"a,b\n" + b"1,2\n" * (1 << 20))
    check_unpacked(path)
    monkeypatch.setattr("shoal.studio.workers.bounds.MOST_UNPACKED", 1 << 20)
    with pytest.raises(InputError, match=r"^bomb.csv.gz: unpacks to more than 1 MB"):
        Desk().look(str(path), [""], "utf-8")
    broken = tmp_path / "broken.csv.gz"
    broken.write_bytes(path.read_bytes()[:-100])
    monkeypatch.setattr("shoal.studio.workers.bounds.MOST_UNPACKED", 1 << 22)
    check_unpacked(broken)  # the reader says what is wrong with it


# What is shown


@pytest.mark.parametrize("mark", ["\u202e", "\U000e0041"])
def test_marks_that_cannot_be_seen_are_shown_by_number(client, folder, mark):
    rows = "".join(f"{20 + i % 30},{CITIES[i % 4]},{SICK[i % 3]},p{i}\n" for i in range(60))
    (folder / "marks.csv").write_text(
        f"age{mark},city,disease{mark},person{mark}\n{rows}", encoding="utf-8"
    )
    assert looked_at(client, "marks.csv")
    roles = {"role-0": "qi", "role-1": "qi", "role-2": "sensitive", "role-3": "person"}
    client.post("/columns", data={**roles, "stay": "1"})
    client.post("/protection", data={"k": "3", "l": "2", "stay": "1"})
    for path in ("/data", "/columns", "/columns/unique", "/hierarchies", "/protection",
                 "/protection/check", "/explore"):  # fmt: skip
        assert mark not in client.get(path).text, path
    toml = re.search(r'<textarea id="toml"[^>]*>(.*?)</textarea>', client.get("/protection").text,
                     re.DOTALL)[1]  # fmt: skip
    before = client.studio.session.policy.qi
    client.post("/protection/policy", data={"toml": toml.replace("&#34;", '"')})
    assert client.studio.session.policy.qi == before


def test_no_page_says_where_the_files_lie(client, folder):
    page = client.studio.page("data.html", problem=f"{folder}/x.csv: odd", **{
        "tables": [], "uploads": [], "look": None, "hidden": set(), "shown": set(), "read_as": {},
        "is_text": False, "reading": False, "folder": "", "uploaded": False, "look_version": "",
    })  # fmt: skip
    assert b"x.csv: odd" in page.body
    assert str(folder).encode() not in page.body


def test_sections_of_the_report_hide_nothing():
    from shoal.studio.seen import marked

    assert marked("<p>a\u202eb\U000e0041\n\tc</p>") == "<p>a⟨U+202E⟩b⟨U+E0041⟩\n\tc</p>"
