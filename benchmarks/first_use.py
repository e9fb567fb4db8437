"""The first minute: what a first command on a machine takes, and the same command again.

Every first command has a home of its own with nothing in it. Seconds are by the clock, so
that they mean something only on a quiet machine: the load at the beginning is in the table.
``python -m benchmarks first_use --clone`` also times ``make demo`` in a fresh clone, with a
fresh environment. `docs/first-minute.md` quotes the table: ``python -m benchmarks.quote``.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.data import SHARED
from benchmarks.keeping import Table

ROOT = Path(__file__).resolve().parents[1]
ADULT_QI = "age,workclass,education,marital-status,race,sex,native-country"
LAST_OF_THE_DEMO = "shoal verify"
"""On the last line that the demo shows before it prepares the default method."""
SHORT = {
    "import shoal": ("-c", "import shoal"),
    "shoal --help": ("-m", "shoal", "--help"),
    "shoal inspect": ("-m", "shoal", "inspect", "{adult}"),
    "shoal verify": ("-m", "shoal", "verify", "{released}"),
}


def environment(home: Path) -> dict[str, str]:
    """That of a user with this home and nothing in it."""
    kept = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    source = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH"))))
    return {**kept, "HOME": str(home), "PYTHONPATH": source, "PYTHONUNBUFFERED": "1"}


def timed(words: tuple[str, ...], home: Path, until: str = "") -> tuple[float, float, float]:
    """Seconds until a line is shown, and until the end; CPU seconds of all processes."""
    home.mkdir(parents=True, exist_ok=True)
    begun, spent = time.perf_counter(), _child_cpu()
    process = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=environment(home), cwd=home,
    )  # fmt: skip
    shown = 0.0
    assert process.stdout is not None
    for line in process.stdout:
        if until and until in line and not shown:
            shown = time.perf_counter() - begun
    if process.wait():
        raise SystemExit(f"{' '.join(words)}: ended with {process.returncode}")
    return shown, time.perf_counter() - begun, _child_cpu() - spent


def _child_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _both(wall: float, cpu: float) -> str:
    return f"{wall:.2f} ({cpu:.1f})"


def demo(table: Table, folder: Path) -> None:
    shown, whole, cpu = timed(("-m", "shoal", "demo"), folder, LAST_OF_THE_DEMO)
    again, _, cpu_again = timed(("-m", "shoal", "demo"), folder, LAST_OF_THE_DEMO)
    table.add("`shoal demo`: the result is on the screen", f"{shown:.2f}", _both(again, cpu_again))
    table.add("`shoal demo`: `best` is prepared, too", _both(whole, cpu), "")


def anonymize(table: Table, folder: Path, adult: Path, name: str, *more: str) -> Path:
    """A first release of a method and a second one, of Adult."""
    released = folder / "released.csv"
    words = ("-m", "shoal", "anonymize", str(adult), "-o", str(released), "--quiet")
    words += ("--qi", ADULT_QI, "--rest", "drop", "-k", "10", "--seed", "1", *more)
    first, second = (timed(words, folder)[1:] for _ in range(2))
    table.add(name, _both(*first), _both(*second))
    table.add(f"{name}: compiling", f"{first[0] - second[0]:.2f}", "")
    return released


def clone(table: Table, folder: Path) -> None:
    """`make demo` of what is committed, in a fresh clone."""
    target, home = folder / "clone", folder / "home"
    home.mkdir()
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(target)], check=True)
    begun, spent = time.perf_counter(), _child_cpu()
    clean = {k: v for k, v in environment(home).items() if k != "PYTHONPATH"}
    subprocess.run(["make", "demo"], cwd=target, env=clean, check=True, stdout=subprocess.DEVNULL)
    all_of_it = _both(time.perf_counter() - begun, _child_cpu() - spent)
    table.add("`make demo`, everything: environment, installation, demo, `best` prepared",
              all_of_it, "")  # fmt: skip


def main() -> None:
    adult = Path(os.environ.get("SHOAL_DATA", SHARED)) / "adult.csv"
    table = Table("first_use", "The first minute", ["command", "first", "second"])
    load = f"{os.getloadavg()[0]:.1f}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "--clone" in sys.argv:
            clone(table, folder)
        demo(table, folder / "demo")
        if adult.exists():
            adult_k = "Adult (30,162 rows), 7 QIs, k = 10"
            anonymize(table, folder / "best", adult, f"`shoal anonymize`, {adult_k}, the default")
            released = anonymize(
                table, folder / "hilbert", adult, "the same by `hilbert`", "--method", "hilbert"
            )
        else:
            adult = released = folder / "demo" / "shoal-demo" / "release.csv"
        for said, words in SHORT.items():
            asked = tuple(word.format(adult=adult, released=released) for word in words)
            runs = [timed(asked, folder / "best")[1:] for _ in range(2)]
            table.add(f"`{said}`", *(_both(*run) for run in runs))
        table.add("load of the machine at the beginning", load, "")
    table.show()


if __name__ == "__main__":
    main()
