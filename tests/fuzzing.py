"""Random cases; each can be replayed by its number.

``make test`` runs the same few every time, so that what fails fails again.
``SHOAL_FUZZ_SECONDS`` is a budget for each fuzzer, of new cases (``make fuzz SECONDS=600``),
``SHOAL_FUZZ_CASE`` one case to run again, alone. A case draws everything from the
`random.Random` it is given, so its number is all that a report needs.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import secrets
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from command import Result

LIMIT = 300
"""Seconds after which a case hangs; the first ones compile, `best` for more than a minute."""

USUAL = 250
"""Cases of `make test`: some ten seconds."""

MARKER = "Zq9Xw4Kv7"
"""Begins every cell of identifier, person and text sensitive columns, and occurs nowhere
else: it is longer than what is random in names of temporary files."""
FOLDED = MARKER.casefold()

Case = Callable[[random.Random, Path], str]
"""One case in an empty folder; what came of it, in a word, to be counted."""


def fuzz(case: Case, usual: int = USUAL) -> dict[str, int]:
    """Run the usual cases, or new ones until the budget is spent; how often each came out how."""
    met: dict[str, int] = {}
    for number in _numbers(usual):
        with tempfile.TemporaryDirectory(prefix="shoal-fuzz-") as folder, _limited(number):
            try:
                outcome = case(random.Random(number), Path(folder))
            except BaseException as error:
                print(f"{type(error).__name__}; replay by SHOAL_FUZZ_CASE={number}")
                raise
        met[outcome] = met.get(outcome, 0) + 1
    print(f"fuzz: {sum(met.values()):,} cases: {met}")
    return met


def _numbers(usual: int) -> Iterator[int]:
    if replayed := os.environ.get("SHOAL_FUZZ_CASE"):
        yield int(replayed)
        return
    seconds = os.environ.get("SHOAL_FUZZ_SECONDS")
    if not seconds:
        yield from range(usual)
        return
    end = time.monotonic() + float(seconds)
    number = secrets.randbits(40)
    print(f"fuzz: cases from {number} on")
    while True:
        yield number
        number += 1
        if time.monotonic() > end:
            return


@contextlib.contextmanager
def _limited(number: int) -> Iterator[None]:
    """An error where a case takes too long; it comes as soon as Python is reached."""

    def stop(signal_number: int, frame: object) -> None:
        raise TimeoutError(f"fuzz case {number} took more than {LIMIT} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def shows_marker(text: str | bytes) -> bool:
    """Whether a text shows a cell that no text may show."""
    if isinstance(text, bytes):
        return FOLDED.encode() in text.lower()
    return FOLDED in text.casefold()


def assert_well_behaved(
    done: Result, codes: tuple[int, ...] = (0, 1, 2, 3, 4, 5), *, names_may_be_cells: bool = False
) -> None:
    """The code is a documented one, an error is one line, and no cell is shown."""
    code, out, err = done
    assert code in codes, done
    # On a busy machine a line says every ten seconds how far the work is.
    said = (line for line in err.splitlines() if " so far" not in line)
    errors = [line for line in said if not line.startswith("note: ")]
    if code in (2, 3, 4):
        assert len(errors) == 1, done
        assert errors[0].startswith("shoal: "), done
        assert out == "" or set(json.loads(out)) == {"error"}, done  # with --json
        assert "error of Shoal's own" not in err, done
    assert "Traceback" not in err, done
    assert not shows_marker(err), done
    # The first record of a file that lost its header is what `inspect` has for names.
    assert names_may_be_cells or not shows_marker(out), done
