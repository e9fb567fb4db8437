"""The package on other Pythons: installed as a user does, imported, its demo run, a few tests.

``make smoke`` takes the oldest and the newest Python of this machine besides the one that
runs all tests. Wheels come from the registries that pip knows; where they have none for the
newest Python, the next one is taken.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOMES = [
    ("/usr/bin", "python3.*"),
    ("/usr/local/bin", "python3.*"),
    ("/opt/python", "*/bin/python3"),
    ("~/.pyenv/versions", "*/bin/python3"),
    ("~/.local/share/uv/python", "*/bin/python3"),
]
"""Where interpreters lie: those of the system, of manylinux, pyenv and uv."""
TESTS = ["test_architecture.py", "test_methods.py", "test_hierarchy.py", "test_anatomy.py"]
ASK = "import sys; v = sys.version_info; print(v[0], v[1], v.releaselevel, sys.implementation.name)"
IMPORT = """
import importlib, pkgutil, shoal
for module in pkgutil.walk_packages(shoal.__path__, "shoal."):
    if not module.name.endswith("__main__") and not module.name.startswith("shoal.sklearn"):
        importlib.import_module(module.name)
try:
    import shoal.sklearn
except ImportError as error:  # the only room that needs an extra to be looked at, and says so
    assert "pip install 'shoal[sklearn]'" in str(error)
assert "site-packages" in shoal.__file__, shoal.__file__
"""

Version = tuple[int, int]


def oldest_allowed() -> Version:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    major, minor = re.search(r'requires-python = ">=(\d+)\.(\d+)"', text).groups()
    return int(major), int(minor)


def interpreters() -> dict[Version, Path]:
    """One released CPython of each version that the package allows."""
    found: dict[Version, Path] = {}
    for home, pattern in HOMES:
        for path in sorted(Path(home).expanduser().glob(pattern)):
            if re.fullmatch(r"python3(\.\d+)?", path.name) and (version := version_of(path)):
                found.setdefault(version, path)
    return {version: found[version] for version in sorted(found) if version >= oldest_allowed()}


def version_of(python: Path) -> Version | None:
    try:
        asked = subprocess.run(
            [python, "-c", ASK], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if asked.returncode or asked.stdout.split()[2:] != ["final", "cpython"]:
        return None
    major, minor = asked.stdout.split()[:2]
    return int(major), int(minor)


class StepError(Exception):
    """A step did not succeed; the message is what it wrote."""


def run(*command: object, cwd: Path = ROOT) -> None:
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        raise StepError(f"{' '.join(map(str, command))}\n{done.stdout}")


def installed(version: Version, python: Path) -> Path:
    """The interpreter of an environment that has the package as it is now, not a link to it."""
    home = ROOT / ".venv-smoke-{}.{}".format(*version)
    inside, stamp = home / "bin" / "python", home / ".installed"
    pip = [inside, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    needs, source = digest([ROOT / "pyproject.toml"]), digest((ROOT / "src").rglob("*.py"))
    known = stamp.read_text(encoding="utf-8").split() if stamp.exists() else []
    before = [*known, "", ""]
    if before[0] != needs:
        run(python, "-m", "venv", "--clear", home)
        run(*pip, "--only-binary=:all:", ".[studio]", "pytest", "hypothesis")
    elif before[1] != source:  # else its compiled kernels are worth keeping
        run(*pip, "--no-deps", "--force-reinstall", ".")
    stamp.write_text(f"{needs} {source}", encoding="utf-8")
    return inside


def digest(files: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for file in sorted(files):
        found.update(file.read_bytes())
    return found.hexdigest()


def try_out(python: Path) -> None:
    """Import every module, run the demo, run the tests that are quick everywhere."""
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-c", IMPORT, cwd=Path(folder))
        run(python.with_name("shoal"), "demo", cwd=Path(folder))
    tests = [ROOT / "tests" / name for name in TESTS]
    run(python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests)


def smoke(choices: Iterator[tuple[Version, Path]]) -> str | None:
    """Try the first choice that can be installed; what is wrong with it, or None."""
    for version, python in choices:
        name, started = "{}.{}".format(*version), time.monotonic()
        try:
            inside = installed(version, python)
        except StepError as error:
            say(f"{name}: cannot be installed here, skipped", str(error).splitlines()[-1])
            continue
        try:
            try_out(inside)
        except StepError as error:
            return f"{name}: {error}"
        say(f"{name}: imports, demo and tests pass ({time.monotonic() - started:.0f} s)")
        return None
    return None


def say(*words: str) -> None:
    sys.stdout.write(f"smoke: {': '.join(words)}\n")
    sys.stdout.flush()


def main() -> int:
    here = sys.version_info[:2]
    found = interpreters()
    older = [item for item in found.items() if item[0] < here]
    newer = [item for item in reversed(found.items()) if item[0] > here]
    for words, choices in (("older", older), ("newer", newer)):
        if not choices:
            say(f"no {words} Python than {here[0]}.{here[1]} is installed here: skipped")
    with ThreadPoolExecutor() as pool:
        problems = [p for p in pool.map(smoke, map(iter, (older, newer))) if p]
    for problem in problems:
        say(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
