"""The studio under a large table and many clients: bounded, on loopback, and heavy."""

from __future__ import annotations

import asyncio
import sys

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

from benchmarks.studio import PATHS, Server, load, memory, table

from command import people

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
]


@pytest.fixture
def server(tmp_path):
    people(tmp_path / "people.csv")
    found = Server(tmp_path, "people.csv")
    yield found
    found.process.kill()
    found.process.wait()


def test_a_large_upload_does_not_pass_through_memory(server, tmp_path_factory):
    large = tmp_path_factory.mktemp("large") / "large.csv"
    table(large, 300)
    with large.open("rb") as file:
        named = {"x-file-name": "large.csv"}
        answer = server.client.post("/data/upload", content=file, headers=named, timeout=600)
    assert answer.json()["go"].endswith("/data")
    assert "Reading the table" in server.client.get("/data").text  # the page answers meanwhile
    server.wait("The first rows")
    server.client.post("/explore/start", data={"method": "hilbert"})
    for path in PATHS:
        assert server.client.get(path).status_code == 200
    assert memory(server.process.pid, "VmHWM") < 300


def test_two_hundred_clients_for_a_minute(server):
    server.wait("The first rows")
    asyncio.run(load(server, 200, 5))  # warm: every client has been there once
    found = asyncio.run(load(server, 200, 60))
    assert found["errors"] == 0
    assert found["requests"] > 200
    assert found["memory_after_mb"] < found["memory_before_mb"] + 20
