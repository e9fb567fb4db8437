"""Marks that turn or hide text, sent by every field of every form: no page ever has one."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("starlette")

from shoal.studio.app import CHANGES, PAGES
from shoal.studio.seen import HIDING
from studio import client_of, enter, looked_at, wait_for

MARKS = "5\u202e\u2066s%\u200b"
NOT_POSTED = {"csrf", "version", "look"}
"""Without these nothing is looked at."""
OTHERWISE = {"/data/upload"}
"""Takes no form: the body is the file."""
PLACES = ("/data", "/columns", "/columns/unique", "/hierarchies?column=1", "/protection",
          "/protection/check", "/explore", "/explore/runs", "/explore/classes", "/risk",
          "/risk/parts", "/release")  # fmt: skip


class Forms(HTMLParser):
    """The forms of a page: where each goes, and what it sends if nobody changes anything."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[list[str]]]] = []
        self.form: list[list[str]] | None = None
        self.field: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        has = dict(attrs)
        if tag == "form":
            self.form = []
            self.found.append((has.get("action") or has.get("hx-get"), self.form))
        if self.form is None or (tag != "option" and not has.get("name")):
            return
        if tag == "option":
            if self.field is not None and (not self.field[1] or "selected" in has):
                self.field[1] = has.get("value") or ""
        elif tag in {"input", "button", "select", "textarea"}:
            self.field = [has["name"], has.get("value") or ""]
            self.form.append(self.field)

    def handle_data(self, data: str) -> None:
        if self.lasttag == "textarea" and self.field is not None:
            self.field[1] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.form = None


def forms_of(page: str) -> list[tuple[str, list[list[str]]]]:
    parser = Forms()
    parser.feed(page)
    return parser.found


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A studio in which every step has something to show."""
    folder = tmp_path_factory.mktemp("studio")
    rows = "".join(
        f"P{i:03d},{20 + i % 30},{('Paris', 'Lyon', 'Rome', 'Oslo')[i % 4]},"
        f"{('flu', 'hiv', 'cold')[i % 3]}\n"
        for i in range(60)
    )
    (folder / "p.csv").write_text(f"name,age,city,disease\n{rows}")
    with client_of(folder) as found:
        enter(found)
        assert looked_at(found, "p.csv")
        roles = {"role-0": "identifier", "role-1": "qi", "role-2": "qi", "role-3": "sensitive"}
        found.post("/columns", data={**roles, "stay": "1"})
        groups = "FR: Paris | Lyon\nX: Rome | Oslo"
        found.post("/hierarchies", data={"column": "1", "way": "groups", "groups": groups})
        found.post("/protection", data={"k": "3", "l": "2", "stay": "1"})
        found.post("/explore/start", data={"method": "mondrian"})
        jobs = found.studio.jobs
        wait_for(lambda: [job for job in jobs.all("release") if job.state == "done"], 120)
        found.post("/explore/choose", data={"run": jobs.all("release")[0].id})
        wait_for(lambda: [job for job in jobs.all("report") if job.state == "done"], 120)
        yield found


OURS = {"version", "csrf", "look_version", "loop.index0", "one.id", "run.id", "compared.id",
        "one.name", "column[0]", "key", "one", "run.share",
        "'yes' if uploaded else 'no'"}  # fmt: skip
"""What templates put into fields as it is: numbers, and names of our own."""


def test_every_field_is_filled_with_what_can_be_seen():
    room = files("shoal.studio").joinpath("templates")
    seen = 0
    for page in room.iterdir():
        for tag in re.findall(r"<(?:input|button|select|option|textarea)\b[^>]*>",
                              page.read_text("utf-8"), re.DOTALL):  # fmt: skip
            for value in re.findall(r'value="[^"]*?{{ (.*?) }}', tag):
                seen += 1
                assert value.endswith("|formed") or value in OURS, (page.name, value)
    assert seen > 40


def assert_plain(page: Any, told: object) -> None:
    assert page.status_code < 500, told
    assert not HIDING.search(page.text), told


def test_no_field_of_any_form_brings_a_mark_onto_a_page(client, monkeypatch):
    session, jobs = client.studio.session, client.studio.jobs
    forms = {}
    for place in PLACES:
        page = client.get(place)
        assert_plain(page, place)
        for action, fields in forms_of(page.text):
            path = action.removeprefix(client.studio.keys.path)
            forms[path, tuple(name for name, _ in fields)] = fields
    posted = {path for path, _ in forms}
    assert set(CHANGES) - posted <= OTHERWISE | {
        "/explore/cancel",
        "/risk/report",
    }  # nothing runs, and the report is there
    assert posted - set(CHANGES) <= {*PAGES, "/delete"}
    begun: list[Any] = []
    monkeypatch.setattr(jobs, "start", lambda *words, **more: begun.append((words, more)))
    monkeypatch.setattr(jobs, "delete", jobs.get)
    policy, state = session.policy, dict(session.state)
    tried = 0
    for (path, _), fields in forms.items():
        if path == "/delete":
            continue
        for name in dict.fromkeys(name for name, _ in fields if name not in NOT_POSTED):
            for value in (MARKS, f"{dict(fields)[name]}{MARKS}"):
                sent = {key: value if key == name else now for key, now in fields
                        if key not in NOT_POSTED}  # fmt: skip
                if path in CHANGES:
                    answer = client.post(path, data=sent)
                else:
                    answer = client.get(f"{path}?{name}={quote(value)}")
                assert_plain(answer, (path, name))
                tried += 1
                if session.policy != policy or session.state != state:
                    for place in ("/protection", "/explore", "/columns"):
                        assert_plain(client.get(place), (path, name, place))
                    session.policy = policy
                    session.remember(**{**dict.fromkeys(session.state), **state})
                    looked_again(client)
    assert tried > 100


def looked_again(client: Any) -> None:
    """A change of what means missing has the table read anew."""
    if client.studio.session.look is None:
        client.get("/data")
        wait_for(lambda: client.studio.session.look, 60)


@pytest.mark.parametrize("field", ["threshold", "max_suppressed", "time", "k"])
def test_a_policy_as_text_brings_no_mark_into_a_field(client, field):
    """What forms refuse can come by the policy's text, or its file."""
    for value in (MARKS, "5%\u202e", "30s\u202e", "\u202eema", "0.2\u2066"):
        toml = f'qi = ["age"]\nk = 3\n{field} = "{value}"\n'
        if field == "k":
            toml = f'qi = ["age"]\nk = "{value}"\n'
        assert_plain(client.post("/protection/policy", data={"toml": toml}), (field, value))
        for place in PLACES:
            assert_plain(client.get(place), (field, value, place))
