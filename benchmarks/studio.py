"""What the studio takes: dependencies, pages, times of requests, memory with a large table.

``python -m benchmarks.studio [MEGABYTES [CLIENTS [SECONDS]]]`` writes results/studio.json.
The load is bounded: so many clients, loopback only, so many seconds, then it ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import files
from pathlib import Path

import httpx

import shoal

RESULTS = Path(__file__).parent / "results" / "studio.json"
PACKAGES = ("starlette", "uvicorn", "jinja2", "markupsafe", "h11", "anyio", "idna")
PATHS = ("/data", "/columns", "/hierarchies", "/protection", "/explore", "/static/studio.css")


def memory(pid: int, field: str = "VmRSS") -> float:
    """Megabytes of a process."""
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(rf"{field}:\s+(\d+) kB", text)
    return int(found[1]) / 1024 if found else 0.0


class Server:
    """A studio in a process of its own, and a client that came in."""

    def __init__(self, folder: Path, *more: str) -> None:
        source = str(Path(shoal.__file__).resolve().parents[1])
        begun = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "shoal", "studio", "--no-open", *more], cwd=folder,
            stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": source},
        )  # fmt: skip
        assert self.process.stdout is not None
        line = ""
        while not line.startswith("open "):
            line = self.process.stdout.readline()
        self.started = time.perf_counter() - begun
        self.base = line.split()[1].partition("/?")[0]
        self.client = httpx.Client(base_url=self.base, timeout=60)
        begun = time.perf_counter()
        page = self.client.get(line.split()[1], follow_redirects=True)
        self.first = time.perf_counter() - begun
        token = re.search(r'data-csrf="([^"]+)"', page.text)
        assert token is not None
        self.client.headers.update(
            {"origin": self.base.rpartition("/")[0], "x-csrf-token": token[1]}
        )

    def wait(self, text: str, path: str = "/data") -> None:
        while text not in self.client.get(path).text:
            time.sleep(0.3)

    def times(self, path: str, count: int) -> list[float]:
        taken = []
        for _ in range(count):
            begun = time.perf_counter()
            assert self.client.get(path).status_code == 200
            taken.append(time.perf_counter() - begun)
        return taken


def table(path: Path, megabytes: int) -> None:
    """A census, over and over."""
    from shoal.io.write import write_table

    write_table(shoal.datasets.census(20_000), path)
    head, _, rows = path.read_bytes().partition(b"\n")
    with path.open("wb") as file:
        file.write(head + b"\n")
        while file.tell() < megabytes << 20:
            file.write(rows)


async def load(server: Server, clients: int, seconds: float) -> dict[str, float]:
    """Many clients at once; every answer must be a page."""
    until = time.perf_counter() + seconds
    taken: list[float] = []
    errors = 0
    cookies = dict(server.client.cookies)

    async def one(number: int) -> None:
        nonlocal errors
        async with httpx.AsyncClient(base_url=server.base, cookies=cookies, timeout=60) as client:
            turn = number
            while time.perf_counter() < until:
                begun = time.perf_counter()
                try:
                    answer = await client.get(PATHS[turn % len(PATHS)])
                    errors += answer.status_code != 200
                except httpx.HTTPError:
                    errors += 1
                taken.append(time.perf_counter() - begun)
                turn += 1

    before = memory(server.process.pid)
    await asyncio.gather(*(one(number) for number in range(clients)))
    return {
        "clients": clients, "seconds": seconds, "requests": len(taken), "errors": errors,
        "median_ms": round(1000 * statistics.median(taken), 1),
        "memory_before_mb": round(before, 1),
        "memory_after_mb": round(memory(server.process.pid), 1),
    }  # fmt: skip


def main(megabytes: int = 300, clients: int = 200, seconds: float = 60) -> None:
    found: dict[str, object] = {}
    sizes = {}
    for name in PACKAGES:
        sizes[name] = sum(
            path.stat().st_size
            for f in files(name) or ()
            if (path := Path(str(f.locate()))).is_file()
        )
    found["dependencies_mb"] = round(sum(sizes.values()) / (1 << 20), 2)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table(folder / "large.csv", megabytes)
        (folder / "work").mkdir()
        from shoal.cli.demo import _people
        from shoal.io.write import write_table

        write_table(_people(), folder / "work" / "people.csv")
        server = Server(folder / "work", "people.csv")
        try:
            found["start_s"], found["first_page_s"] = (
                round(server.started, 2),
                round(server.first, 3),
            )
            server.wait("The first rows")
            pages = {p: len(server.client.get(p).content) for p in PATHS}
            scripts = ("studio.css", "studio.js", "htmx.min.js", "icon.svg")
            static = sum(len(server.client.get(f"/static/{s}").content) for s in scripts)
            found["largest_page_kb"] = round((max(pages.values()) + static) / 1024, 1)
            found["demo_load"] = asyncio.run(load(server, clients, seconds))
            with (folder / "large.csv").open("rb") as file:
                begun = time.perf_counter()
                named = {"x-file-name": "large.csv"}
                server.client.post("/data/upload", content=file, headers=named, timeout=600)
                found["upload_s"] = round(time.perf_counter() - begun, 1)
            found["upload_mb"] = megabytes
            reading = server.times("/data", 60)
            found["median_ms_while_reading"] = round(1000 * statistics.median(reading), 1)
            server.wait("The first rows")
            server.client.post("/explore/start", data={"method": "hilbert"})
            taken = []
            for path in PATHS[:5]:
                taken += server.times(path, 40)
            page = server.client.get("/explore").text
            found["run_was_working"] = "run running" in page
            found["median_ms_while_running"] = round(1000 * statistics.median(taken), 1)
            found["slowest_ms_while_running"] = round(1000 * max(taken), 1)
            found["server_peak_mb"] = round(memory(server.process.pid, "VmHWM"), 1)
        finally:
            server.process.kill()
            server.process.wait()
    RESULTS.write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main(*(int(text) for text in sys.argv[1:]))
