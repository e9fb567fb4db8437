"""``python -m shoal.warm``: compile kernels ahead, by several processes, into the shared cache.

A command that finds kernels missing starts the same in the background (`in_background`): the
helpers begin with the dearest, while the run itself compiles what it meets first. Nothing is
compiled twice (`kernels/compiling/sharing.py`): what one of them has compiled the others load.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

__all__ = ["compile_missing", "in_background", "main", "record", "ship", "usual"]

WORTH_A_PROCESS = 4
"""Kernels to compile, from which on a second process saves more than it costs."""
PAUSE = 0.2
"""Seconds between two looks at what is done."""
Told = Callable[[int, int, float], None]
HOME = Path(__file__).resolve().parents[1]
"""The folder that the package lies in."""
METHODS = ("best", "hilbert", "mondrian")
"""Methods whose kernels are known ahead: the default, and the quick ones."""
KINDS = ("", "trees", "orders", "normal")
"""What only some releases want: those of tables with trees, with orders, and of more effort."""
RECORDED = """
import json, tempfile
from pathlib import Path
import shoal
from shoal.kernels.compiling import store, wanted
qi = ["age", "gender", "education", "marital", "country"]
asked, kind = {"rest": "drop", "seed": 1, **SETTINGS}, KIND
best, few = asked["method"] == "best", shoal.datasets.census(601)  # groups of l leave one over
if kind == "":
    # Long tables with sets have no bound over cells, so that it is none of what all want.
    shoal.anonymize(few, qi=qi, k=5, bound=False, **asked)
    # What only longer tables want, and sensitive columns that no model is about.
    more = {**asked, "l": None, **({"effort": "instant"} if best else {})}
    people = shoal.datasets.census(20_000)
    shoal.anonymize(people, qi=[*qi, "race", "workclass"], k=10, **more)
with tempfile.TemporaryDirectory() as folder:
    files = {name: str(Path(folder) / f"{name}.csv") for name in ("marital", "country")}
    for name, file in files.items():
        shoal.datasets.census_hierarchies()[name].to_arx_csv(Path(file))
    ordered = {name: "ordinal" for name in ("gender", "marital", "country")}
    effort = {"effort": "normal"} if best and kind == "normal" else {}
    if kind in ("trees", "normal"):
        shoal.anonymize(few, qi=qi, k=5, hierarchy=files, **effort, **asked)
    if kind in ("orders", "normal"):
        shoal.anonymize(few, qi=qi, k=5, kind=ordered, **effort, **asked)
    if kind == "normal":
        shoal.anonymize(few, qi=qi, k=5, **effort, **asked)
print(json.dumps(wanted.noted(store.USED)))
"""
"""Releases by a process of its own, which says what kernels they used."""


def usual(method: str, sensitive: bool, kind: str = "") -> str:
    """The name, in the list of wanted kernels, of a release by a method: one of `KINDS`."""
    return " ".join(filter(None, (method, "l" if sensitive else "k", kind)))


def helper(names: Sequence[str], folder: str) -> subprocess.Popen[bytes]:
    """A process that compiles what nobody else in the folder's run has taken."""
    quiet = subprocess.DEVNULL
    return subprocess.Popen(
        ours("--share", folder, *names), stdin=quiet, stdout=quiet, stderr=quiet,
        cwd=HOME, env=environment(),
    )  # fmt: skip


def ours(*words: str) -> list[str]:
    """The command of this module, with the Python that runs."""
    return [sys.executable, "-m", "shoal.warm", *words]


def environment(**more: str) -> dict[str, str]:
    """That of this process, such that another finds the same modules and the same cache.

    It starts in our own folder: Python looks for modules where it starts, and elsewhere
    somebody else's could lie.
    """
    paths = [str(HOME), *(str(Path(path).resolve()) for path in sys.path if path)]
    cache = os.environ.get("NUMBA_CACHE_DIR")
    kept = {"NUMBA_CACHE_DIR": str(Path(cache).resolve())} if cache else {}
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **kept, **more}


@contextmanager
def helpers(names: Sequence[str], count: int) -> Iterator[tuple[str, list[Any]]]:
    """So many processes and the folder they share; those that still run at the end are ended."""
    with tempfile.TemporaryDirectory(prefix="shoal-share-") as folder:
        running = [helper(names, folder) for _ in range(count)]
        try:
            yield folder, running
        finally:
            for process in running:
                with suppress(OSError):
                    process.terminate()
            for process in running:
                process.wait()


@contextmanager
def in_background(names: Sequence[str], spare: int = 1) -> Iterator[list[Any]]:
    """Compile what a run will want while it begins; gives the kernels that are missing."""
    from shoal.kernels.compiling import sharing
    from shoal.kernels.compiling.wanted import missing

    open_ends = missing(*names)
    free = (os.cpu_count() or 1) - spare
    count = min(free, len(open_ends) // WORTH_A_PROCESS)
    if count <= 0 or not can_be_kept():
        yield open_ends
        return
    with (
        helpers(names, count) as (folder, running),
        sharing.shared(sharing.Run(folder, running, missing(*names[:1]))),
    ):
        yield open_ends


def can_be_kept() -> bool:
    """Whether there is a folder for what helpers compile; else they would do it in vain."""
    from shoal.kernels.compiling.folders import own_folder

    return own_folder() is not None


def compile_missing(
    names: Sequence[str] = (), told: Told | None = None, processes: int | None = None
) -> int:
    """Compile all that is wanted and not there yet; how many kernels that were."""
    from shoal.kernels.compiling.wanted import Left, missing

    left = Left(missing(*names))
    total = left.total
    count = min(processes or os.cpu_count() or 1, max(1, total // WORTH_A_PROCESS))
    if total == 0 or not can_be_kept():
        return 0
    with helpers(names, count) as (_, running):
        while any(process.poll() is None for process in running):
            time.sleep(PAUSE)
            if told is not None:
                told(*left.look())
    return total - len(missing(*names))


def compile_shared(names: Sequence[str], folder: str) -> None:
    """What one helper does: for each name in turn the dearest kernels first."""
    from shoal.kernels.compiling.sharing import Share, compile_once, shared
    from shoal.kernels.compiling.wanted import dearest_first, listed, missing

    with shared(Share(folder)) as share:
        for name in names or listed():
            for each in dearest_first(missing(name)):
                compile_once(each, share)


def record() -> dict[str, int]:
    """Make small releases, note the kernels they use, and write the list of wanted ones."""
    from shoal.kernels.compiling import wanted

    found: dict[str, Any] = {}
    for method in METHODS:
        for more in ({}, {"sensitive": "occupation", "l": 3}):
            known: list[Any] = []
            for kind in KINDS:
                rows = [
                    row for row in used_by({"method": method, **more}, kind) if row not in known
                ]
                known += rows
                if rows:
                    found[usual(method, bool(more), kind)] = rows
            say(f"noted {usual(method, bool(more))}")
    wanted.write(found)
    return {name: len(rows) for name, rows in found.items()}


def used_by(settings: dict[str, Any], kind: str) -> list[Any]:
    """The kernels that releases of one kind use, by a process of its own."""
    script = RECORDED.replace("SETTINGS", repr(settings)).replace("KIND", repr(kind))
    with tempfile.TemporaryDirectory() as empty:  # kernels inside others are met there only
        done = subprocess.run(
            [sys.executable, "-c", script], check=True, stdout=subprocess.PIPE, text=True,
            cwd=HOME, env=environment(NUMBA_CACHE_DIR=empty),
        )  # fmt: skip
    rows: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return rows


def ship(levels: Sequence[str], names: Sequence[str] = ()) -> Path:
    """Compile for common processors into the package itself, for a wheel to carry."""
    from shoal.kernels.compiling.store import LEVELS, SHIPPED, SUFFIX

    for level in levels:
        if level not in LEVELS:
            raise SystemExit(f"--ship: expected one of {', '.join(LEVELS)}; got {level}")
        with tempfile.TemporaryDirectory() as folder:
            target = {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": ""}
            asked = environment(NUMBA_CACHE_DIR=folder, SHOAL_NOTHING_SHIPPED="1", **target)
            subprocess.run(ours(*names), check=True, cwd=HOME, env=asked)
            SHIPPED.mkdir(exist_ok=True)
            for file in Path(folder).rglob(f"*{SUFFIX}"):
                (SHIPPED / file.name).write_bytes(file.read_bytes())
    return SHIPPED


def main(words: Sequence[str] | None = None) -> None:
    """Entry point of ``python -m shoal.warm``; `shoal warm` is the same with a bar."""
    from argparse import ArgumentParser

    parser = ArgumentParser("python -m shoal.warm", description="Compile kernels ahead.")
    parser.add_argument("names", nargs="*", help="releases, as 'hilbert k'; all that are known")
    parser.add_argument("--share", help="compile what nobody has taken in this folder")
    parser.add_argument("--record", action="store_true", help="write the list of wanted kernels")
    parser.add_argument("--ship", help="compile into the package, for these levels: A,B")
    parser.add_argument("--processes", type=int)
    asked = parser.parse_args(words)
    if asked.share:
        compile_shared(asked.names, asked.share)
    elif asked.record:
        for name, count in record().items():
            say(f"{name}: {count} kernels")
    elif asked.ship:
        say(f"compiled into {ship(asked.ship.split(','), asked.names)}")
    else:
        done = compile_missing(asked.names, processes=asked.processes)
        say(f"{done} kernels compiled")


def say(line: str) -> None:
    """A line on stderr: stdout belongs to results."""
    sys.stderr.write(f"shoal.warm: {line}\n")


if __name__ == "__main__":
    main()
