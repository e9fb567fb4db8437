"""A studio for tests: in this process behind a test client, or as a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import shoal
from browser import FLAGS, need_browser
from shoal.report.risks import THRESHOLDS
from shoal.studio.texts import all_texts

PORT = 4711
SOURCE = Path(shoal.__file__).resolve().parents[1]


def client_of(folder: Path, **settings: Any) -> Any:
    """A client that came in by the token; use it as a context."""
    from starlette.testclient import TestClient

    from shoal.studio.app import make_app
    from shoal.studio.security import Keys
    from shoal.studio.session import Session

    keys = Keys(PORT)
    app = make_app(Session(folder), keys, **settings)
    base = f"http://127.0.0.1:{PORT}{keys.path}"
    client = TestClient(app, base_url=base, raise_server_exceptions=False)
    client.keys, client.studio = keys, app.studio
    return client


def enter(client: Any) -> Any:
    """Come in, as the address of the terminal does."""
    answer = client.get(f"/?token={client.keys.token}", follow_redirects=False)
    assert answer.status_code == 303
    client.cookies.set(client.keys.cookie_name, client.keys.cookie)
    client.headers["origin"] = f"http://127.0.0.1:{PORT}"
    client.headers["x-csrf-token"] = client.keys.csrf
    return client


def wait_for(holds: Any, seconds: float = 60.0) -> Any:
    """What `holds` gives, once it is true."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := holds():
            return found
        time.sleep(0.05)
    raise AssertionError("waited in vain")


def looked_at(client: Any, name: str) -> dict[str, Any]:
    """Choose a table, and wait until it was read."""
    client.post("/data/choose", data={"name": name})

    def done() -> Any:
        client.get("/data/reading")
        return client.studio.session.look or client.studio.session.state.get("problem")

    wait_for(done)
    return client.studio.session.look


class Running:
    """A studio in a process of its own."""

    def __init__(self, folder: Path, *more: str, opened: str = "") -> None:
        self.folder = folder
        quiet = () if opened else ("--no-open",)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "shoal", "studio", *quiet, *more], cwd=folder,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(SOURCE),
                 "BROWSER": opened},
        )  # fmt: skip
        self.said = ""
        assert self.process.stdout is not None
        while "open http" not in self.said:
            line = self.process.stdout.readline()
            assert line, self.said
            self.said += line
        found = re.search(r"open ((http://127\.0\.0\.1:(\d+)/\S+)/\?token=\S+)", self.said)
        assert found is not None
        self.address, self.base, self.port = found[1], found[2], int(found[3])

    def end(self, how: int = signal.SIGINT) -> str:
        """Stop it; gives all that it printed."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        said, _ = self.process.communicate(timeout=20)
        return self.said + said


@contextmanager
def running(folder: Path, *more: str, opened: str = "") -> Iterator[Running]:
    studio = Running(folder, *more, opened=opened)
    try:
        yield studio
    finally:
        if studio.process.poll() is None:
            studio.end(signal.SIGKILL)


@contextmanager
def surfing(width: int = 1280, dark: bool = False) -> Iterator[tuple[Any, list[str]]]:
    """A page of a real browser, and every address that it asked for."""
    from playwright.sync_api import sync_playwright

    asked: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=need_browser(), args=FLAGS)
        try:
            look: Any = "dark" if dark else "light"
            room = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=look, accept_downloads=True
            )
            page = room.new_page()
            room.on("request", lambda request: asked.append(request.url))
            yield page, asked
        finally:
            browser.close()


UNEXPLAINED = """() => {
  const apart = 'textarea, select, pre, code, bdi, svg, script, template, .term, .hidden, .number,'
    + ' .head, h1, h2, h3, .preview, [hidden]';
  const said = (one) => one && one.querySelector('.term [role=tooltip]');
  const explained = (node) => {
    const block = node.closest('td, th, p, li, dd, figcaption, caption, summary, label, button');
    if (!block) return false;
    if (said(block)) return true;
    const means = block.closest('[data-means]');
    if (means && document.getElementById(means.dataset.means)) return true;
    const cell = block.closest('td, th');
    if (!cell) return false;
    const table = cell.closest('table');
    return said(cell.parentElement.cells[0]) || said(table.caption)
      || said(table.tHead && table.tHead.rows[0].cells[cell.cellIndex]);
  };
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (/\\d/.test(node.data) && !node.parentElement.closest(apart)
        && !explained(node.parentElement)) found.push(node.data.trim().slice(0, 80));
  }
  return found;
}"""
"""Texts with a number whose meaning is not one hover or focus away: in the same block, at the
head of its row or column or table, or named by `data-means`. Values of the table itself, names
and pictures (which have a text of their own) are apart."""


def _texts(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    else:
        for one in part.values():
            yield from _texts(one)


SENTENCE = 6
"""So many words say themselves what they count."""
_LABELS = [
    *_texts(all_texts()),
    *(limit.why for limit in THRESHOLDS),
    *map("Reader {}".format, "1234"),
]
"""Texts that name or explain a field themselves."""


def unexplained(page: Any) -> list[str]:
    """Numbers of a page without a meaning nearby."""
    found: list[str] = page.evaluate(UNEXPLAINED)
    short = [one for one in found if len(one.split()) < SENTENCE]
    return [one for one in short if not any(said.startswith(one) for said in _LABELS)]


def stayed_home(asked: list[str], port: int) -> bool:
    """Whether every request went to the studio, and nowhere else."""
    assert asked
    return all(url.startswith(f"http://127.0.0.1:{port}/") for url in asked)


def children_of(pid: int) -> list[int]:
    """Processes that a process started and that are still there (Linux)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found
