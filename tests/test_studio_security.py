"""Who may talk to the studio, and what its answers carry; without a server."""

from __future__ import annotations

import stat

import pytest

pytest.importorskip("starlette")

from command import people
from shoal.errors import OutputError
from shoal.studio.app import CHANGES, PAGES
from shoal.studio.security import HEADERS
from shoal.studio.session import FOLDER, Session
from studio import PORT, client_of, enter

HERE = f"127.0.0.1:{PORT}"


@pytest.fixture
def client(tmp_path):
    people(tmp_path / "people.csv")
    with client_of(tmp_path, upload_limit=1000) as found:
        yield found


@pytest.fixture
def inside(client):
    return enter(client)


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1", f"127.0.0.1:{PORT + 1}", f"evil.example:{PORT}", "localhost",
     f"127.0.0.1:{PORT}.evil.example", f"[::1]:{PORT}", f"0.0.0.0:{PORT}", ""],
)  # fmt: skip
def test_other_hosts_are_misdirected(inside, host):
    for path in ("/data", "/static/studio.css", "/nothing"):
        assert inside.get(path, headers={"host": host}).status_code == 421


def test_both_names_of_this_machine_are_ours(inside):
    assert inside.get("/data", headers={"host": HERE}).status_code == 200
    named = inside.get(
        "/data", headers={"host": f"localhost:{PORT}", "origin": f"http://localhost:{PORT}"}
    )
    assert named.status_code == 200


def test_nobody_comes_in_without_the_cookie(client):
    for path in ("/", "/data", "/static/htmx.min.js", "/download/0001/record", "/columns/unique"):
        assert client.get(path).status_code == 403
    assert client.get("/?token=wrong").status_code == 403


def test_the_token_is_used_once_and_becomes_a_strict_cookie(client):
    token = client.keys.token
    answer = client.get(f"/?token={token}", follow_redirects=False)
    assert answer.status_code == 303
    assert token not in answer.headers["location"]
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert token.lower() not in cookie
    client.cookies.clear()
    assert client.get(f"/?token={token}").status_code == 403


def test_the_cookie_is_for_a_path_that_no_other_port_knows(client):
    answer = client.get(f"/?token={client.keys.token}", follow_redirects=False)
    assert f"Path={client.keys.path};" in answer.headers["set-cookie"]
    assert answer.headers["location"] == f"{client.keys.path}/data"
    assert len(client.keys.room) >= 32
    cookie = {"cookie": f"{client.keys.cookie_name}={client.keys.cookie}"}
    for path in ("/", "/data", "/wrong/data", f"{client.keys.path}x/data"):
        assert client.get(f"http://{HERE}{path}", headers=cookie).status_code == 403
    assert client.get("/data", headers=cookie).status_code == 200


def test_the_door_opens_from_the_file_that_the_browser_was_given(client):
    cross = {"sec-fetch-site": "cross-site"}
    assert client.get("/?token=wrong", headers=cross).status_code == 403
    answer = client.get(f"/?token={client.keys.token}", headers=cross)
    assert answer.status_code == 200
    assert f'url={client.keys.path}/data"' in answer.text
    assert client.keys.cookie in answer.headers["set-cookie"]
    assert client.get("/data", headers=cross).status_code == 403
    assert client.get("/?token=again", headers=cross).status_code == 403


@pytest.mark.parametrize(
    "other",
    ['x={"a":"b c"}', "theme=a b", "_xsrf=2|ab|cd", "n\xe9=1", "k=[1,2]; ", "flag", "a=b=c"],
)
def test_cookies_of_other_programs_lock_nobody_out(client, other):
    ours = f"{client.keys.cookie_name}={client.keys.cookie}"
    tossed = f"{client.keys.cookie_name}=bad"
    for header in (
        f"{other}; {ours}",
        f"{ours}; {other}",
        f"{tossed}; {ours}",
        f"{ours}; {tossed}",
    ):
        headers = {"cookie": header.encode("latin-1")}
        assert client.get("/static/icon.svg", headers=headers).status_code == 200
    headers = {"cookie": f"{other}; {tossed}".encode("latin-1")}
    assert client.get("/static/icon.svg", headers=headers).status_code == 403


def test_the_token_of_a_form_is_a_field_of_it_and_in_no_address(inside):
    import re

    for path in ("/data", "/columns", "/protection"):
        assert not re.search(r'(action|href|src)="[^"]*csrf', inside.get(path).text)
    form = f'action="{inside.keys.path}/data/choose"'
    field = f'<input type="hidden" name="csrf" value="{inside.keys.csrf}">'
    assert re.search(re.escape(form) + "[^>]*>" + re.escape(field), inside.get("/data").text)
    del inside.headers["x-csrf-token"]
    asked = {"name": "people.csv"}
    for wrong in ({}, {"csrf": "wrong"}, {"csrf": ""}):
        assert inside.post("/data/choose", data={**wrong, **asked}).status_code == 403
    by_address = inside.post(f"/data/choose?csrf={inside.keys.csrf}", data=asked)
    assert by_address.status_code == 403
    assert inside.studio.session.table is None
    right = inside.post(
        "/data/choose", data={"version": "", "csrf": inside.keys.csrf, **asked},
        follow_redirects=False,
    )  # fmt: skip
    assert right.status_code == 303
    assert inside.studio.session.table is not None


def test_a_cookie_of_another_studio_is_none(client):
    client.cookies.set(f"shoal-studio-{PORT}", "guessed")
    assert client.get("/data").status_code == 403
    client.cookies.set(f"shoal-studio-{PORT + 1}", client.keys.cookie)
    assert client.get("/data").status_code == 403


@pytest.mark.parametrize("path", sorted({*CHANGES, "/delete"}))
def test_changes_need_origin_site_and_token(inside, path):
    ours = {"origin": f"http://{HERE}", "x-csrf-token": inside.keys.csrf}

    def code(**headers):
        inside.headers.pop("origin", None)
        inside.headers.pop("x-csrf-token", None)
        return inside.post(path, headers=headers, follow_redirects=False).status_code

    assert code(**{**ours, "x-csrf-token": "wrong"}) == 403
    assert code(origin=ours["origin"]) == 403
    assert code(**{"x-csrf-token": ours["x-csrf-token"]}) == 403
    assert code(**{**ours, "origin": "http://evil.example"}) == 403
    assert code(**{**ours, "origin": "null"}) == 403
    assert code(**{**ours, "origin": f"https://{HERE}"}) == 403
    assert code(**{**ours, "origin": f"http://localhost:{PORT}"}) == 403  # not the host asked
    for site in ("cross-site", "same-site", "strange"):
        assert code(**{**ours, "sec-fetch-site": site}) == 403
        assert code(**{**ours, "origin": "null", "sec-fetch-site": site}) == 403
    assert code(**{**ours, "sec-fetch-site": "same-origin"}) != 403
    assert code(**{**ours, "origin": "null", "sec-fetch-site": "same-origin"}) != 403


@pytest.mark.parametrize("path", sorted(PAGES))
def test_pages_are_not_for_other_sites(inside, path):
    for site in ("cross-site", "same-site"):
        assert inside.get(path, headers={"sec-fetch-site": site}).status_code == 403
    assert inside.get(path, headers={"origin": "http://evil.example"}).status_code == 403


def test_a_page_changes_nothing(inside):
    for path in CHANGES:
        assert inside.get(path, follow_redirects=False).status_code in {200, 303, 405}
    assert inside.studio.jobs.all() == []
    assert inside.studio.session.table is None


@pytest.mark.parametrize("path", ["/data", "/static/studio.js", "/nothing", "/data/choose"])
def test_every_answer_carries_the_headers(inside, path):
    for host in (HERE, "evil.example"):
        answer = inside.get(path, headers={"host": host})
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        assert "server" not in answer.headers
    policy = HEADERS["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy


def test_pages_keep_their_own_policy(inside):
    page = inside.get("/data").text
    for forbidden in (
        "<style",
        "style=",
        "<script>",
        "onclick=",
        "onchange=",
        "javascript:",
        "http://",
        "https://",
    ):
        assert forbidden not in page


def test_uploads_are_capped_whether_or_not_they_say_how_large_they_are(inside):
    name = {"x-file-name": "big.csv"}
    told = inside.post("/data/upload", content=b"a" * 2000, headers=name)
    assert told.status_code == 422
    streamed = inside.post("/data/upload", content=(b"a" * 100 for _ in range(20)), headers=name)
    assert streamed.status_code == 422
    assert list((inside.studio.session.folder / "uploads").iterdir()) == []
    assert inside.post("/data/upload", content=b"", headers=name).status_code == 422


@pytest.mark.parametrize(
    ("name", "kept"),
    [("../../etc/passwd.csv", "passwd.csv"), ("..\\..\\x.csv", "x.csv"), ("/a/b.csv", "b.csv"),
     ("a%2F..%2Fb.csv", "b.csv"), ("né <b>.csv", "né _b_.csv")],
)  # fmt: skip
def test_uploads_stay_in_their_folder(inside, name, kept):
    from urllib.parse import quote

    answer = inside.post(
        "/data/upload", content=b"a,b\n1,2\n", headers={"x-file-name": quote(name, safe="%")}
    )
    assert answer.status_code == 200
    found = list((inside.studio.session.folder / "uploads").iterdir())
    assert [path.name for path in found] == [kept]
    assert stat.S_IMODE(found[0].stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["", "x.exe", "x", "..", ".csv/", "/etc/passwd"])
def test_uploads_of_other_kinds_are_refused(inside, name):
    answer = inside.post("/data/upload", content=b"a\n1\n", headers={"x-file-name": name})
    assert answer.status_code == 422


@pytest.mark.parametrize("name", ["../secret.csv", "/etc/passwd", "link.csv", "sub/x.csv", "", "."])
def test_only_tables_of_the_start_folder_are_opened(tmp_path, name):
    outside, start = tmp_path / "secret.csv", tmp_path / "start"
    outside.write_text("a\n1\n")
    (start / "sub").mkdir(parents=True)
    (start / "sub" / "x.csv").write_text("a\n1\n")
    (start / "link.csv").symlink_to(outside)
    with client_of(start) as client:
        enter(client)
        assert client.post("/data/choose", data={"name": name}).status_code == 422
        assert client.studio.session.table is None


@pytest.mark.parametrize("run", ["0001", "%2e%2e", "0001%2f..%2f..", "x"])
@pytest.mark.parametrize("kind", ["release", "record", "job.json", "%2e%2e%2fstate.json"])
def test_downloads_are_those_of_a_run(inside, run, kind):
    assert inside.get(f"/download/{run}/{kind}").status_code == 404


def test_a_policy_names_no_file_elsewhere(inside):
    for spec in ("/etc/passwd", "../people.csv", "trees/../state.json", "trees/none.csv"):
        toml = f'qi = ["a"]\nk = 2\n[hierarchy]\na = "{spec}"\n'
        answer = inside.post("/protection/policy", data={"toml": toml})
        assert answer.status_code == 422
        assert "passwd" not in answer.text.replace("/etc/passwd", "")
    assert not inside.studio.session.policy_file.exists()


def test_large_forms_are_refused(inside):
    answer = inside.post("/data/choose", content=b"name=" + b"a" * (5 << 20))
    assert answer.status_code == 413


def test_an_error_of_our_own_tells_no_cell(inside, monkeypatch, capsys):
    def broken(*_):
        raise RuntimeError("Mrs Secret has a secret")

    monkeypatch.delenv("SHOAL_DEBUG", raising=False)
    monkeypatch.setattr("shoal.studio.session.Session.tables", broken)
    answer = inside.get("/data")
    assert answer.status_code == 500
    assert "Secret" not in answer.text + "".join(capsys.readouterr())


def test_the_folder_is_private_and_one_studio_works_in_it(tmp_path):
    first = Session(tmp_path)
    assert stat.S_IMODE((tmp_path / FOLDER).stat().st_mode) == 0o700
    first.remember(chosen="0001")
    assert stat.S_IMODE((tmp_path / FOLDER / "state.json").stat().st_mode) == 0o600
    first.lock()
    with pytest.raises(OutputError, match="another studio"):
        Session(tmp_path).lock()


def test_a_folder_that_is_not_ours_is_left_alone(tmp_path):
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "mine.txt").write_text("mine")
    with pytest.raises(OutputError, match="not the studio's"):
        Session(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / FOLDER).symlink_to(tmp_path)
    with pytest.raises(OutputError):
        Session(other)
    assert (tmp_path / FOLDER / "mine.txt").read_text() == "mine"
    assert [path.name for path in other.iterdir()] == [FOLDER]
