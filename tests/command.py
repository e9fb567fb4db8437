"""Run the ``shoal`` command in a test, and state what a refused run must look like."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

SECRET = "Xq7"
"""Begins every cell of the sensitive and identifier columns below, and nothing else."""
HEADER = "name,age,zip,disease,note"
OLD_RELEASE = b"the release of last year\n"
OLD_MANIFEST = b"the manifest of last year\n"


class Result(NamedTuple):
    code: int
    out: str
    err: str


def shoal(*args: object) -> Result:
    """Run the command in this process; an error without a message of its own propagates."""
    from shoal.cli import main

    out, err = io.StringIO(), io.StringIO()
    argv = ["shoal", *map(str, args)]
    with (
        mock.patch.object(sys, "argv", argv),
        mock.patch.dict(os.environ, SHOAL_DEBUG="1"),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
    return Result(code, out.getvalue(), err.getvalue())


def shoal_process(*args: object, **options: Any) -> Result:
    """Run the command in a process of its own, exactly as a user does."""
    command = [str(Path(sys.executable).with_name("shoal")), *map(str, args)]
    environment = {**os.environ, "SHOAL_DEBUG": "1", **options.pop("env", {})}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, env=environment,
        **options,
    )  # fmt: skip
    return Result(done.returncode, done.stdout, done.stderr)


def rows(count: int = 40) -> list[str]:
    """CSV rows of `HEADER`: names and diseases are secrets, five diseases in turn."""
    return [
        f"{SECRET}name{i},{20 + i % 30},{1000 + i % 7},{SECRET}ill{i % 5},n{i % 3}"
        for i in range(count)
    ]


def people(path: Path, count: int = 40) -> Path:
    """Write a table about people whose names and diseases must never be printed."""
    path.write_text("\n".join([HEADER, *rows(count)]) + "\n", encoding="utf-8")
    return path


ROLES = ("--rest", "plain", "--identifier", "name", "--qi", "age,zip", "--sensitive", "disease")


def files_below(directory: Path) -> dict[str, bytes | None]:
    """Every file below a directory and what it holds."""
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None
        for path in sorted(directory.rglob("*"))
    }


def assert_refused(
    directory: Path,
    *args: object,
    code: int = 2,
    says: tuple[str, ...] = (),
    run: Any = shoal,
) -> str:
    """Assert one line of error and an untouched directory; give back the line.

    A release of last year lies in the directory as ``out.csv``, with its
    manifest: whatever goes wrong, they stay as they are.
    """
    (directory / "out.csv").write_bytes(OLD_RELEASE)
    (directory / "out.csv.manifest.json").write_bytes(OLD_MANIFEST)
    before = files_below(directory)
    result = run(*args)
    assert result.code == code, result
    assert result.out == ""
    assert result.err.startswith("shoal: ")
    assert result.err.endswith("\n")
    assert len(result.err.splitlines()) == 1, result.err
    for part in says:
        assert part in result.err, result.err
    assert SECRET not in result.err
    assert files_below(directory) == before
    return result.err


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path
