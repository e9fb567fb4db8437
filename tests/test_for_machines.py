"""What scripts rely on: JSON for errors, exit codes, interrupts, connections of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import shoal
from command import shoal as command
from shoal.kernels.threads import on_threads

COMMANDS = {
    "anonymize": ("anonymize", "no.csv", "-o", "out.csv", "--qi", "a", "-k", "2"),
    "verify": ("verify", "no.csv"),
    "inspect": ("inspect", "no.csv"),
    "compare": ("compare", "no.csv", "--qi", "a", "-k", "2"),
    "query": ("query", "no.csv", "select count(*)"),
    "join-check": ("join-check", "no.csv", "nor.csv"),
    "reproduce": ("reproduce", "no.json", "no.csv", "-o", "out.csv"),
    "policy show": ("policy", "show", "no.toml"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_errors_are_json_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    silent = command(*COMMANDS[name])
    assert silent.out == ""
    told = command(*COMMANDS[name], "--json")
    error = json.loads(told.out)["error"]
    assert (told.code, told.err) == (silent.code, silent.err)
    assert error["exit_code"] == told.code
    assert f"shoal: {error['message']}\n" == told.err
    assert error["type"].endswith("Error")


def test_usage_errors_are_json_too() -> None:
    told = command("verify", "--json", "--no-such-option")
    assert json.loads(told.out)["error"]["type"] == "UsageError"
    assert told.code == 2


@pytest.mark.parametrize("tampered", [b"", b"\xff\xfe\x00", b"age,s\n1\n", b"age,s\n1,nowhere\n"])
def test_a_tampered_file_exits_with_one(tmp_path: Path, tampered: bytes) -> None:
    table = pa.table({"age": [1, 1, 2, 2], "s": ["low", "high", "low", "high"]})
    given = {"qi": "age", "sensitive": "s", "order": {"s": ["low", "high"]}, "t": 0.1}
    path = shoal.anonymize(table, **given, method="hilbert").write(tmp_path / "r.csv")
    path.write_bytes(tampered)
    told = command("verify", path, "--json")
    assert told.code == 1, told


def test_the_order_of_published_values_is_published_and_checked(tmp_path: Path) -> None:
    """In the order of the texts the distance is 0.25, in the declared one 0.375."""
    order = ["never", "low", "mid", "high"]
    ages = [1] * 4 + [2] * 4
    ills = ["low"] * 4 + ["mid", "mid", "high", "high"]
    table = pa.table({"age": ages, "s": ills})
    given = {"qi": "age", "sensitive": "s", "order": {"s": order}}
    exact = shoal.anonymize(table, **given, t=0.38, k=4, method="mondrian")
    assert [check.reached for check in exact.verification.checks] == [4, 0.375]
    path = exact.write(tmp_path / "r.csv")
    assert exact.manifest["orders"] == {"s": [2, 0, 1]}  # of high, low, mid
    found = shoal.verify(path)
    assert found.ok
    assert found.checks == exact.verification.checks
    claims = Path(f"{path}.manifest.json")
    manifest = json.loads(claims.read_text("utf-8"))
    for wrong in ([0, 1], [1, 2, 3], [0, 1, 2], [1, 1, 0]):
        manifest["orders"]["s"] = wrong
        claims.write_text(json.dumps(manifest), "utf-8")
        assert command("verify", path).code == 1
    manifest["orders"]["s"] = ["low", "mid", "high"]
    claims.write_text(json.dumps(manifest), "utf-8")
    assert command("verify", path).code == 2
    del manifest["orders"]
    claims.write_text(json.dumps(manifest), "utf-8")
    assert not shoal.verify(path).complete


def test_a_release_in_a_connection_of_the_callers_own() -> None:
    connection = duckdb.connect()
    connection.execute("create table t as select i % 10 as age from range(100) r(i)")
    release = shoal.anonymize(connection.table("t"), qi="age", k=5, method="hilbert")
    connection.register("r", release)
    assert connection.execute("select count(*) from r").fetchone() == (100,)


def test_an_interrupt_passes_through_threads() -> None:
    def stop(number: int) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        on_threads(stop, range(4))


LOST = """
import ctypes, os, signal, sys, time
from shoal import cli

def work(*args, **settings):
    # as LLVM calls back while kernels are compiled: what is raised there goes nowhere
    @ctypes.CFUNCTYPE(None)
    def callback():
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass
    callback()
    for _ in range(600):
        time.sleep(0.05)

cli.cli.main = work
cli.run()
"""


def test_ctrl_c_is_not_swallowed_in_a_callback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOST], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 130, done
    assert done.stderr.strip().endswith("shoal: stopped; nothing was kept or changed")
