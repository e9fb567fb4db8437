"""The studio as a process: where it listens, what it prints, what is left when it ends."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

import httpx

from command import SECRET, people
from shoal.errors import OutputError
from shoal.studio.jobs import Jobs
from shoal.studio.session import FOLDER, Session, write_json
from studio import SOURCE, Running, running, wait_for

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


@pytest.fixture
def folder(tmp_path):
    people(tmp_path / "people.csv")
    return tmp_path


def client_for(studio: Running):
    """A client of another process, which came in by the address that was printed."""
    client = httpx.Client(base_url=studio.base, timeout=30)
    page = client.get(studio.address, follow_redirects=True)
    token = page.text.split('data-csrf="')[1].split('"')[0]
    client.headers.update({"origin": f"http://127.0.0.1:{studio.port}", "x-csrf-token": token})
    return client


@LINUX
def test_it_listens_on_this_machine_alone(folder):
    with running(folder) as studio:
        wanted = f":{studio.port:04X}"
        lines = [*Path("/proc/net/tcp").read_text().splitlines()[1:],
                 *Path("/proc/net/tcp6").read_text().splitlines()[1:]]  # fmt: skip
        heard = [f[1] for f in map(str.split, lines) if f[1].endswith(wanted) and f[3] == "0A"]
        assert heard == [f"0100007F{wanted}"]


def test_nothing_of_the_table_is_printed_and_ctrl_c_deletes_all(folder):
    with running(folder, "people.csv") as studio:
        client = client_for(studio)
        wait_for(lambda: "The first rows" in client.get("/data").text)
        client.post("/explore/start", data={"method": "hilbert"})
        wait_for(lambda: "run done" in client.get("/explore").text, 90)
        client.get("/nothing", params={"q": f"{SECRET}1"})
        said = studio.end(signal.SIGINT)
        assert SECRET not in said
        assert len(said.splitlines()) == 3
        assert not (folder / FOLDER).exists()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_however_it_is_ended_it_deletes_all(folder, how):
    with running(folder, "people.csv") as studio:
        client = client_for(studio)
        client.post("/data/upload", content=b"a,b\n1,2\n", headers={"x-file-name": "u.csv"})
        assert (folder / FOLDER / "uploads" / "u.csv").exists()
        assert "everything was deleted" in studio.end(how)
        assert not (folder / FOLDER).exists()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_what_is_kept_goes_on(folder, how):
    with running(folder, "people.csv", "--keep") as studio:
        client = client_for(studio)
        wait_for(lambda: "The first rows" in client.get("/data").text)
        client.post("/protection", data={"k": "4"})
        assert "the session is in" in studio.end(how)
    again = Session(folder)
    assert again.policy.k == 4
    assert again.look is not None


@pytest.mark.parametrize("keep", [False, True])
def test_it_ends_by_itself_where_nobody_comes(folder, keep):
    script = (
        "from pathlib import Path; from shoal.studio.serve import serve\n"
        f"print(serve(Path(), idle=0.5, open_browser=False, keep={keep}, say=lambda a: None))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, timeout=60,
        env={"PYTHONPATH": str(SOURCE)}, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == str(not keep)  # whether it was deleted
    assert (folder / FOLDER).is_dir() == keep


@LINUX
def test_the_secret_is_on_no_command_line(folder):
    told = folder / "told.txt"
    script = folder / "browser.sh"
    script.write_text(
        f"#!/bin/sh\ntr '\\0' ' ' < /proc/$$/cmdline > {told}.new\nmv {told}.new {told}\n"
    )
    script.chmod(0o700)
    with running(folder, opened=f"{script} %s") as studio:
        line = wait_for(lambda: told.exists() and told.read_text())
        token = studio.address.rpartition("=")[2]
        opener = folder / FOLDER / "open.html"
        assert opener.as_uri() in line
        assert token not in line
        assert studio.base.rpartition("/")[2] not in line
        assert stat.S_IMODE(opener.stat().st_mode) == 0o600
        assert studio.address in opener.read_text()
        client_for(studio)
        assert not opener.exists()


def test_what_cannot_be_deleted_is_said(tmp_path, monkeypatch):
    session = Session(tmp_path)
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
    with pytest.raises(OutputError, match="could not be deleted"):
        session.delete()
    with pytest.raises(OutputError, match="could not be deleted"):
        session.start_anew()


def test_half_a_release_is_none(folder):
    session = Session(folder)
    run = session.folder / "runs" / "0001"
    run.mkdir()
    write_json(run / "job.json", {"kind": "release", "begun": 0})
    (run / ".release.csv.tmp").write_text("half")
    (run / "release.csv").write_text("half")
    (job,) = Jobs(session).all()
    assert job.state == "lost"
    assert sorted(path.name for path in run.iterdir()) == ["job.json"]


def test_a_second_studio_in_the_same_folder_is_refused(folder):
    with running(folder):
        done = subprocess.run(
            [sys.executable, "-m", "shoal", "studio", "--no-open"], cwd=folder, timeout=60,
            capture_output=True, text=True, env={"PYTHONPATH": str(SOURCE)}, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert "another studio" in done.stderr


def test_a_port_that_is_taken_is_said(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    with running(folder) as studio:
        done = subprocess.run(
            [sys.executable, "-m", "shoal", "studio", "--no-open", "--port", str(studio.port)],
            cwd=other, timeout=60, capture_output=True, text=True, check=False,
            env={"PYTHONPATH": str(SOURCE)},
        )  # fmt: skip
        assert done.returncode == 2
        assert "choose another with --port" in done.stderr
