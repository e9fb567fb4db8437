"""Bad input: places that a release cannot or must not be written to, and disks that run full.

Every run below starts with last year's release in place of the output, and
with secrets in the sensitive and identifier columns: `assert_refused` holds
that the line shows none of them and that not a byte in the directory changed.
"""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path
from typing import Any

import pytest

import shoal as library
from command import (
    OLD_MANIFEST,
    OLD_RELEASE,
    ROLES,
    SECRET,
    Result,
    assert_refused,
    files_below,
    people,
    shoal,
    shoal_process,
    written,
)

# --- the output -----------------------------------------------------------------------


def test_output_equal_to_input(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.csv").symlink_to(table)
    (tmp_path / "hard.csv").hardlink_to(table)
    for name in ("people.csv", "sub/../people.csv", table, "link.csv", "hard.csv"):
        assert_refused(
            tmp_path, "anonymize", table, "-o", name, *ROLES, "-k", 2, says=("is the input",)
        )
    assert_refused(
        tmp_path, "anonymize", "link.csv", "-o", table, *ROLES, "-k", 2, says=("is the input",)
    )


def test_manifest_in_place_of_another_file(tmp_path: Path, table: Path, out: Path) -> None:
    for name in (table, out):
        assert_refused(
            tmp_path, "anonymize", table, "-o", out, *ROLES, "-k", 2, "--manifest", name,
            says=("manifest",),
        )  # fmt: skip


def test_unwritable_output(tmp_path: Path, table: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for name in ("folder.csv", "absent/out.csv", "people.csv/out.csv"):
        assert_refused(tmp_path, "anonymize", table, "-o", tmp_path / name, *ROLES, "-k", 2)
        manifest = ("--manifest", tmp_path / name)
        assert_refused(
            tmp_path, "anonymize", table, "-o", tmp_path / "new.csv", *ROLES, "-k", 2, *manifest
        )


def test_output_name_that_no_system_accepts(tmp_path: Path, table: Path) -> None:
    long = tmp_path / ("x" * 300 + ".csv")
    assert_refused(tmp_path, "anonymize", table, "-o", long, *ROLES, "-k", 2)


def test_name_too_long_beside_the_temporary_part(tmp_path: Path, table: Path) -> None:
    name = "x" * 245 + ".csv"
    assert_refused(
        tmp_path, "anonymize", table, "-o", tmp_path / name, "--manifest", tmp_path / "m.json",
        "--no-record", *ROLES, "-k", 2, "-l", 2, says=("cannot be written",),
    )  # fmt: skip


def test_output_in_a_read_only_file_system(tmp_path: Path, table: Path) -> None:
    target = Path("/proc/out.csv")
    if not target.parent.is_dir():
        pytest.skip("no /proc here")
    assert_refused(
        tmp_path,
        "anonymize",
        table,
        "-o",
        target,
        *ROLES,
        "-k",
        2,
        "-l",
        2,
        says=("cannot be written",),
    )


@pytest.mark.parametrize("name", ["out", "out.xls", "out.parquet.gz", "out.gz", "out.csv.zip"])
def test_unknown_output_ending(tmp_path: Path, table: Path, name: str) -> None:
    assert_refused(
        tmp_path, "anonymize", table, "-o", tmp_path / name, *ROLES, "-k", 2, says=(".parquet",)
    )


OUTPUTS = ["out.csv", "out.csv.gz", "out.parquet", "out.feather", "out.jsonl", "out.jsonl.gz"]


# Names stay in these releases, so that no compression brings them under the limit.
LARGE = ("--qi", "age,zip", "--plain", "name,note,disease", "-k", 2, "--method", "hilbert")


@pytest.fixture(scope="module", autouse=True)
def kernels_are_cached(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The same release without a limit: what meets the limit is the release, not numba's cache."""
    table = people(tmp_path_factory.mktemp("first") / "people.csv", 40_000)
    library.anonymize(table, qi=["age", "zip"], k=2, method="hilbert", rest="plain")


def assert_nothing_lost(directory: Path, target: Path, run: Any, says: str) -> None:
    table = people(directory / "people.csv", 40_000)
    written(target, OLD_RELEASE)
    written(target.with_name(target.name + ".manifest.json"), OLD_MANIFEST)
    before = files_below(directory)
    result = run("anonymize", table, "-o", target, *LARGE)
    assert result.code == 2, result
    errors = [line for line in result.err.splitlines() if not line.startswith("note: ")]
    assert len(errors) == 1, result.err
    assert says in errors[0]
    assert SECRET not in result.err + result.out
    assert files_below(directory) == before


def limit_file_size() -> None:
    """Let the system refuse to write beyond a size, as a quota does."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))


@pytest.fixture
def small_files() -> Any:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def run(*args: object) -> Result:
        limit_file_size()
        try:
            return shoal(*args)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    return run


@pytest.mark.parametrize("name", OUTPUTS)
def test_file_size_limit_while_writing(tmp_path: Path, name: str, small_files: Any) -> None:
    assert_nothing_lost(tmp_path, tmp_path / name, small_files, "File too large")


def test_file_size_limit_in_a_process_of_its_own(tmp_path: Path) -> None:
    def run(*args: object) -> Result:
        return shoal_process(*args, preexec_fn=limit_file_size)

    assert_nothing_lost(tmp_path, tmp_path / "out.csv", run, "File too large")


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Any:
    """A file system of 64 kB, if this machine lets us mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("cannot mount a tmpfs here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("name", OUTPUTS)
def test_disk_full_while_writing(tmp_path: Path, tiny_disk: Path, name: str) -> None:
    assert_nothing_lost(tmp_path, tiny_disk / name, shoal, "No space left on device")


# --- as a user sees it ----------------------------------------------------------------


def test_in_a_process_of_its_own(tmp_path: Path, table: Path, out: Path) -> None:
    absent = tmp_path / "absent.csv"
    refusal = ("anonymize", absent, "-o", out, *ROLES, "-k", 2)
    assert_refused(tmp_path, *refusal, run=shoal_process)
    infeasible = ("anonymize", table, "-o", out, *ROLES, "-k", 50)
    assert_refused(tmp_path, *infeasible, code=3, run=shoal_process)
