"""The studio in a real browser: the whole way, by mouse and by keyboard, and what goes wrong."""

from __future__ import annotations

import os
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright")

import shoal
from browser import axe_faults
from shared_data import DATA
from shoal.cli.demo import _people
from shoal.io.write import write_table
from shoal.studio.session import FOLDER
from studio import children_of, running, stayed_home, surfing, unexplained, wait_for

pytestmark = pytest.mark.xdist_group("studio")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("studio")
    write_table(_people(), found / "people.csv")
    return found


def fits(page, width):
    return page.evaluate("document.documentElement.scrollWidth") <= width


def healthy(page, width=1280):
    """Nothing that axe minds, nothing wider than the window."""
    page.wait_for_function("() => !document.querySelector('.spin')")
    assert axe_faults(page) == []
    assert fits(page, width)
    assert unexplained(page) == []


def onward(page):
    page.wait_for_selector(".onward a")
    page.click(".onward a")


def to_protection(page, studio):
    page.goto(studio.address)
    page.wait_for_selector("#preview")
    onward(page)
    page.wait_for_selector("#unique strong")
    onward(page)
    onward(page)
    page.wait_for_selector("#check .promises")


def start_long_run(page):
    page.select_option("select[name=method]", "best")
    page.select_option("select[name=effort]", "max")
    page.fill("input[name=time]", "120s")
    page.click("button.main")
    page.wait_for_selector(".run.running")


def jobs_of(studio):
    """Processes of the studio that work on a run."""
    return [
        pid for pid in children_of(studio.process.pid)
        if b"workers.run" in _command(pid)
    ]  # fmt: skip


def _command(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return b""


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.heavy)])
def test_the_whole_way_from_a_file_to_a_verified_release(folder, tmp_path, width):
    with (
        running(folder, "people.csv") as studio,
        surfing(width, dark=width == 390) as (page, asked),
    ):
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(studio.address)
        assert "token" not in page.url
        page.wait_for_selector("#preview")
        healthy(page, width)
        onward(page)
        page.wait_for_selector("#unique strong")
        healthy(page, width)
        before = page.inner_text("#unique strong")
        page.select_option("select[name=role-1]", "none")
        page.wait_for_function(
            "t => document.querySelector('#unique strong').innerText != t", arg=before
        )
        page.select_option("select[name=role-1]", "qi")
        page.wait_for_function(
            "t => document.querySelector('#unique strong').innerText == t", arg=before
        )
        onward(page)
        page.click(".list a >> nth=3")
        page.click("button[value=suggest]")
        page.wait_for_selector(".tree li")
        healthy(page, width)
        onward(page)
        page.wait_for_selector("#check .promises")
        healthy(page, width)
        page.click("button[value=contract]")
        page.wait_for_selector("#check >> text=12 or more records")
        onward(page)
        page.select_option("select[name=method]", "hilbert")
        page.click("button.main")
        page.wait_for_selector(".run.done", timeout=90_000)
        page.click(".run button:has-text('Choose')")
        page.wait_for_selector("#classes table")
        healthy(page, width)
        onward(page)
        page.wait_for_selector(".report section", timeout=90_000)
        healthy(page, width)
        onward(page)
        page.wait_for_selector(".headline.holds >> text=Verified.")
        healthy(page, width)
        for name in ("release.csv", "release.csv.manifest.json"):
            with page.expect_download() as saved:
                page.click(f"a.button:text-is('{name}')")
            saved.value.save_as(tmp_path / name)
        found = shoal.verify(tmp_path / "release.csv")
        assert found.ok
        assert {check.asked for check in found.checks} >= {"k = 12"}
        assert errors == []
        assert stayed_home(asked, studio.port)
        said = studio.end()
        assert "deleted" in said
        assert not (folder / FOLDER).exists()


def test_by_keyboard_alone(folder, tmp_path):
    """From the file to the release without a mouse: every step, choices, a run, the download."""
    with running(folder, "people.csv") as studio, surfing() as (page, asked):
        page.goto(studio.address)
        page.wait_for_selector("#preview")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")

        def walk_to(selector):
            """By Tab, from wherever the focus is; round once if need be."""
            for _ in range(400):
                if page.evaluate("s => document.activeElement.matches(s)", selector):
                    assert page.evaluate("document.activeElement.matches(':focus-visible')")
                    return
                page.keyboard.press("Tab")
            raise AssertionError(f"the keyboard never came to {selector}")

        def press(selector, leads_to=""):
            walk_to(selector)
            page.keyboard.press("Enter")
            if leads_to:
                page.wait_for_url(f"**/{leads_to}")

        press(".onward a", "columns")
        page.wait_for_selector("#unique strong")
        walk_to("select[name=role-2]")
        before = page.inner_text("#unique strong")
        page.keyboard.press("n")  # "Names a person"
        page.wait_for_function(
            "t => document.querySelector('#unique strong').innerText != t", arg=before
        )
        page.wait_for_timeout(1200)  # else "nk" is searched
        page.keyboard.press("k")  # "Known to others" again
        page.wait_for_function(
            "t => document.querySelector('#unique strong').innerText == t", arg=before
        )
        page.wait_for_selector(".onward a")
        press(".onward a", "hierarchies")
        press(".list a[href$='column=3']", "hierarchies?column=3")
        press("button[value=suggest]")
        page.wait_for_selector(".tree li")
        press(".onward a", "protection")
        page.wait_for_selector("#check .promises")
        walk_to("#check button.term")
        assert page.locator("button.term:focus [role=tooltip]").is_visible()
        press("button[value=contract]")
        page.wait_for_selector("#check >> text=12 or more records")
        walk_to("#f-l")
        page.keyboard.press("Control+a")
        page.keyboard.type("2")
        page.keyboard.press("Tab")
        page.wait_for_selector("#check >> text=1/2")
        page.wait_for_selector(".onward a")
        press(".onward a", "explore")
        walk_to("select[name=method]")
        page.keyboard.type("hil")
        press("#start button.main")
        page.wait_for_selector(".run.done", timeout=90_000)
        press("button[id^=choose-]")
        page.wait_for_selector("#classes table")
        walk_to("#live tbody th .term")
        page.wait_for_selector("details.change summary", timeout=90_000)
        assert page.evaluate("document.activeElement.matches('#live tbody th .term')"), (
            "the focus stays where it is while the page is renewed"
        )
        press("details.change summary")
        assert page.locator("details.change[open] table").first.is_visible()
        walk_to("#search")
        page.keyboard.type("Female")
        page.wait_for_selector("#classes table")
        press(".onward a", "risk")
        page.wait_for_selector(".report section", timeout=90_000)
        walk_to(".report th .term")
        assert page.locator(".report .term:focus [role=tooltip]").is_visible()
        press(".onward a", "release")
        page.wait_for_selector(".headline.holds >> text=Verified.")
        walk_to("a.button[href$='/release']")
        with page.expect_download() as saved:
            page.keyboard.press("Enter")
        saved.value.save_as(tmp_path / "release.csv")
        assert (tmp_path / "release.csv").stat().st_size > 10_000
        press("button[data-copy=command]")
        assert stayed_home(asked, studio.port)


def test_a_program_on_another_port_never_gets_the_cookie(folder):
    heard = []

    class Other(BaseHTTPRequestHandler):
        def do_GET(self):
            heard.append((self.path, self.headers.get("Cookie") or ""))
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            script = b'<script>if (location.pathname == "/") location = "/again"</script>'
            self.wfile.write(script)

        def log_message(self, *_):
            pass

    with (
        ThreadingHTTPServer(("127.0.0.1", 0), Other) as other,
        running(folder, opened="true %s"),
        surfing() as (page, _),
    ):
        threading.Thread(target=other.serve_forever, daemon=True).start()
        opener = folder / FOLDER / "open.html"
        wait_for(opener.exists)
        page.goto(opener.as_uri())  # as the browser is started
        page.wait_for_url("**/data")
        page.wait_for_selector("#file")
        assert "token" not in page.url
        assert not opener.exists()
        assert page.context.cookies(page.url)
        page.goto(f"http://127.0.0.1:{other.server_port}/")
        page.wait_for_url("**/again")
        other.shutdown()
    assert [path for path, _ in heard if "favicon" not in path] == ["/", "/again"]
    assert {cookie for _, cookie in heard} == {""}


def test_a_cancelled_run_is_gone_at_once(folder):
    with running(folder, "people.csv") as studio, surfing() as (page, asked):
        to_protection(page, studio)
        onward(page)
        start_long_run(page)
        (pid,) = wait_for(lambda: jobs_of(studio))
        page.reload()  # in the middle
        page.wait_for_selector(".run.running")
        other = page.context.new_page()  # another tab sees the same
        other.goto(f"{studio.base}/explore")
        other.wait_for_selector(".run.running")
        page.click(".run button:has-text('Cancel')")
        page.wait_for_selector(".run.cancelled")
        assert gone(pid)  # before the page says so
        assert jobs_of(studio) == []
        other.wait_for_selector(".run.cancelled")
        assert not list((folder / FOLDER / "runs" / "0001").glob("release*"))
        assert stayed_home(asked, studio.port)


def test_a_killed_server_loses_the_running_job_only(folder):
    with running(folder, "people.csv") as studio, surfing() as (page, asked):
        to_protection(page, studio)
        page.fill("#f-k", "7")
        page.press("#f-k", "Tab")
        page.wait_for_selector("#check >> text=7 or more records")
        onward(page)
        start_long_run(page)
        (pid,) = wait_for(lambda: jobs_of(studio))
        workers = children_of(studio.process.pid)
        studio.end(signal.SIGKILL)
        wait_for(lambda: all(map(gone, [*workers, pid])), 5.0)
        assert (folder / FOLDER / "shoal.toml").exists()
    with running(folder, "people.csv") as studio, surfing() as (page, asked):
        page.goto(studio.address)
        page.click(".steps a:has-text('Explore')")
        page.wait_for_selector(".run.lost >> text=Start it again")
        page.goto(f"{studio.base}/protection")
        assert page.input_value("#f-k") == "7"
        assert stayed_home(asked, studio.port)
        studio.end()


@pytest.mark.heavy
def test_a_click_on_the_frontier_chooses(folder):
    with running(folder, "people.csv") as studio, surfing() as (page, asked):
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        to_protection(page, studio)
        onward(page)
        page.select_option("select[name=method]", "mondrian")
        page.click("button.main")
        page.wait_for_selector(".run.done", timeout=90_000)
        page.click("button:has-text('Measure half')")
        page.wait_for_selector("polyline.line", timeout=90_000)
        page.locator(".frontier a[aria-label^='Choose run'] circle").click()
        page.wait_for_selector(".run.picked")
        point = page.locator(".frontier a[aria-label^='Take k = 20 by hilbert']")
        point.focus()
        page.keyboard.press("Enter")
        page.wait_for_selector(
            "select[name=method] option[selected]:text-is('hilbert')", state="attached"
        )
        page.goto(f"{studio.base}/protection")
        assert page.input_value("#f-k") == "20"
        page.goto(f"{studio.base}/release")
        page.click("button[data-copy=command]")
        page.wait_for_selector("button:text-is('Copied')")
        copied = page.evaluate("() => navigator.clipboard.readText()")
        assert copied.startswith("shoal anonymize people.csv")
        page.goto(f"{studio.base}/explore")
        page.wait_for_selector("details.change", state="attached", timeout=90_000)
        page.locator("details.change summary").first.click()
        healthy(page)
        assert stayed_home(asked, studio.port)


@pytest.mark.heavy
def test_two_tabs_do_not_overwrite_each_other(folder):
    with running(folder, "people.csv") as studio, surfing() as (page, _):
        to_protection(page, studio)
        other = page.context.new_page()
        other.goto(f"{studio.base}/protection")
        other.wait_for_selector("#check .promises")
        page.fill("#f-k", "9")
        page.press("#f-k", "Tab")
        page.wait_for_selector("#check >> text=9 or more records")
        other.fill("#f-k", "3")
        other.press("#f-k", "Tab")
        other.wait_for_selector("#problem >> text=another tab")
        assert other.input_value("#f-k") == "9"


@pytest.mark.heavy
def test_a_file_is_brought_by_the_browser(folder, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("a,b\n1,2\n1,2,3\n")
    good = tmp_path / "brought.csv"
    good.write_bytes((folder / "people.csv").read_bytes())
    with running(folder) as studio, surfing() as (page, asked):
        page.goto(studio.address)
        page.set_input_files("#file", bad)
        page.wait_for_selector("#problem >> text=line 3")
        page.set_input_files("#file", good)
        page.wait_for_selector("#preview")
        assert "brought.csv" in page.inner_text(".brand")
        assert stayed_home(asked, studio.port)


@pytest.mark.heavy
@pytest.mark.skipif(not (DATA / "adult.csv").exists(), reason=f"no adult.csv at {DATA}")
def test_adult_from_a_file_to_a_verified_release(tmp_path):
    (tmp_path / "adult.csv").write_bytes((DATA / "adult.csv").read_bytes())
    with running(tmp_path, "adult.csv") as studio, surfing() as (page, asked):
        to_protection(page, studio)
        page.click("button[value=contract]")
        page.wait_for_selector("#check .promises")
        onward(page)
        page.click("button.main")
        page.wait_for_selector(".run.done", timeout=300_000)
        page.click(".run button:has-text('Choose')")
        page.goto(f"{studio.base}/release")
        page.wait_for_selector(".headline.holds >> text=Verified.")
        assert stayed_home(asked, studio.port)
