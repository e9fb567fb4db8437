"""The command line as its users meet it: exit codes, streams, files, lists."""

from __future__ import annotations

import csv
import itertools
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from command import HEADER, ROLES, SECRET, Result, people, rows, shoal, shoal_process

FORMATS = [
    "out.csv", "out.csv.gz", "out.parquet", "out.pq", "out.feather", "out.arrow", "out.ipc",
    "out.jsonl", "out.jsonl.gz", "out.ndjson",
]  # fmt: skip


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return people(tmp_path / "people.csv")


@pytest.fixture
def release(tmp_path: Path, table: Path) -> Path:
    """A release with k = 4 and l = 2."""
    out = tmp_path / "out.csv"
    done = shoal("anonymize", table, "-o", out, *ROLES, "-k", 4, "-l", 2)
    assert done.code == 0, done
    return out


def cells(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def manifest_of(path: Path) -> dict[str, Any]:
    text = path.with_name(path.name + ".manifest.json").read_text(encoding="utf-8")
    manifest: dict[str, Any] = json.loads(text)
    return manifest


# --- anonymize ------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_verifies(tmp_path: Path, table: Path, name: str) -> None:
    out = tmp_path / name
    done = shoal("anonymize", table, "-o", out, *ROLES, "-k", 4, "-l", 2)
    assert done.code == 0, done
    assert {path.name for path in tmp_path.iterdir()} == {
        "people.csv", name, f"{name}.manifest.json", f"{name}.record.json",
    }  # fmt: skip
    verified = shoal("verify", out)
    assert (verified.code, verified.err) == (0, "")
    assert "verified: 40 records" in verified.out


def test_every_format_can_be_the_input(tmp_path: Path, table: Path) -> None:
    first = tmp_path / "first.csv"
    assert shoal("anonymize", table, "-o", first, *ROLES, "-k", 4).code == 0
    for name in FORMATS:
        copy = tmp_path / f"copy-{name}"
        assert (
            shoal("anonymize", table, "-o", copy, "--rest", "plain", "--qi", "note", "-k", 1).code
            == 0
        )
        out = tmp_path / "again.csv"
        assert shoal("anonymize", copy, "-o", out, *ROLES, "-k", 4).code == 0
        assert out.read_bytes() == first.read_bytes(), name


def test_tsv_is_separated_by_tabs(tmp_path: Path) -> None:
    text = "\n".join([HEADER, *rows()]).replace(",", "\t")
    (tmp_path / "people.tsv").write_text(text, encoding="utf-8")
    out = tmp_path / "out.tsv"
    assert shoal("anonymize", tmp_path / "people.tsv", "-o", out, *ROLES, "-k", 4).code == 0
    assert out.read_text(encoding="utf-8").splitlines()[0] == "age\tzip\tdisease\tnote"
    assert shoal("verify", out).code == 0


def test_streams(tmp_path: Path, table: Path) -> None:
    """Results on stdout, notices on stderr; the files are named."""
    out = tmp_path / "out.csv"
    asked = ("anonymize", table, "-o", out, *ROLES, "--kind", "zip=numeric", "-k", 4)
    done = shoal(*asked)
    assert "40 records" in done.out
    assert str(out) in done.out
    assert f"{out}.manifest.json" in done.out
    assert done.err == "note: published as is, having no role: note\n"
    knowingly = shoal(*asked, "--plain", "note")
    assert (knowingly.code, knowingly.err) == (0, "")


def test_quiet_prints_nothing(tmp_path: Path, table: Path) -> None:
    out = tmp_path / "out.csv"
    arguments = ("anonymize", table, "-o", out, *ROLES, "-k", 4, "--keep-order", "--quiet")
    assert shoal(*arguments) == Result(0, "", "")
    assert shoal("verify", out, "-q") == Result(0, "", "")


def test_in_a_process_of_its_own(tmp_path: Path, table: Path) -> None:
    """Nothing that a library prints or warns of reaches the streams."""
    out = tmp_path / "out.csv"
    arguments = ("anonymize", table, "-o", out, *ROLES, "-k", 4, "-l", 2, "--quiet")
    assert shoal_process(*arguments, cwd=tmp_path) == Result(0, "", "")
    verified = shoal_process("verify", "out.csv", cwd=tmp_path)
    assert (verified.code, verified.err) == (0, "")


def test_json_is_one_document(tmp_path: Path, table: Path) -> None:
    out = tmp_path / "out.csv"
    done = shoal("anonymize", table, "-o", out, *ROLES, "-k", 4, "--json")
    assert done.code == 0
    document = json.loads(done.out)
    assert document["models"][0]["holds"] is True
    assert document["loss"] == manifest_of(out)["loss"]
    verified = json.loads(shoal("verify", out, "--json").out)
    assert verified["ok"] is True
    assert verified["smallest_class"] >= 4


def test_json_tells_what_was_written(tmp_path: Path, table: Path) -> None:
    out = tmp_path / "out.csv"
    done = shoal("anonymize", table, "-o", out, *ROLES, "-k", 4, "--json")
    assert json.loads(done.out) == manifest_of(out)


def test_no_secret_is_printed(tmp_path: Path, table: Path) -> None:
    """Neither the streams nor the manifest hold a cell of a sensitive or identifier column."""
    out = tmp_path / "out.csv"
    policy = tmp_path / "p.toml"
    values = ", ".join(f'"{SECRET}ill{i}"' for i in range(5))
    policy.write_text(f"[order]\ndisease = [{values}]\n", encoding="utf-8")
    for more in (["-l", 2], ["-t", "0.5"], ["--policy", policy, "-t", "0.5"], ["--keep-order"]):
        for form in ([], ["--json"]):
            done = shoal("anonymize", table, "-o", out, *ROLES, "-k", 4, *more, *form)
            assert done.code == 0, done
            assert SECRET not in done.out + done.err
            assert SECRET not in json.dumps(manifest_of(out))
            verified = shoal("verify", out, *form)
            assert SECRET not in verified.out + verified.err


def test_progress_shows_no_secret(
    tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shoal.cli import output

    reports: list[str] = []

    class Terminal:
        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> int:
            reports.append(text)
            return len(text)

        def flush(self) -> None: ...

    monkeypatch.setattr("shoal.watching.PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with output.progress_bar(quiet=False) as report:
        from shoal import anonymize

        settings: dict[str, Any] = {"qi": ["age"], "identifier": "name", "sensitive": "disease"}
        made = anonymize(table, **settings, k=4, l=2, progress=report, rest="plain")
        made.write(tmp_path / "out.csv", None, lambda done, total: report("write", done, total))
    assert reports
    assert SECRET not in "".join(reports)


def test_identifiers_never_reach_the_output(tmp_path: Path, table: Path) -> None:
    out = tmp_path / "out.csv"
    for role in ("--identifier", "--person"):
        roles = (role, "name", "--qi", "age,zip", "--sensitive", "disease")
        for name in ("out.csv", "out.jsonl"):
            out = tmp_path / name
            assert (
                shoal("anonymize", table, "-o", out, "--rest", "plain", *roles, "-k", 4).code == 0
            )
            assert f"{SECRET}name" not in out.read_text(encoding="utf-8")
            assert '"name"' not in out.read_text(encoding="utf-8")


def test_canonical_order_does_not_depend_on_the_input(tmp_path: Path) -> None:
    """Strict Mondrian makes the same classes of shuffled rows: the files are equal."""
    lines = rows(200)
    made = []
    for number in range(3):
        source, out = tmp_path / f"{number}.csv", tmp_path / f"out{number}.csv"
        source.write_text("\n".join([HEADER, *lines]), encoding="utf-8")
        arguments = ("-k", 5, "-l", 2, "--method", "mondrian", "--quiet")
        assert (
            shoal("anonymize", source, "-o", out, *ROLES, "--rest", "plain", *arguments).code == 0
        )
        made.append(out.read_bytes())
        random.Random(number).shuffle(lines)
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("method", ["mondrian", "hilbert"])
def test_classes_lie_together_and_are_sorted(tmp_path: Path, method: str) -> None:
    """Which of two equal records joins which class may depend on the input; the order may not."""
    lines = rows(200)
    random.Random(3).shuffle(lines)
    source, out = tmp_path / "a.csv", tmp_path / "out.csv"
    source.write_text("\n".join([HEADER, *lines]), encoding="utf-8")
    arguments = ("-k", 5, "--method", method, "--quiet")
    assert shoal("anonymize", source, "-o", out, *ROLES, "--rest", "plain", *arguments).code == 0
    records = [tuple(row.values()) for row in cells(out)]
    classes = [list(group) for _, group in itertools.groupby(records, key=lambda row: row[:2])]
    assert len(classes) == len({row[:2] for row in records})
    assert all(group == sorted(group) for group in classes)
    assert [group[0][:2] for group in classes] == sorted(group[0][:2] for group in classes)


def test_keep_order_warns(tmp_path: Path, table: Path) -> None:
    out = tmp_path / "out.csv"
    done = shoal("anonymize", table, "-o", out, *ROLES, "-k", 4, "--keep-order")
    assert "order" in done.err
    manifest = manifest_of(out)
    assert manifest["release"]["order"] == "input"
    assert any("order" in notice for notice in manifest["notices"])
    assert [row["disease"] for row in cells(out)] == [f"{SECRET}ill{i % 5}" for i in range(40)]
    assert shoal("verify", out).code == 0


def test_bounds_layout(tmp_path: Path, table: Path) -> None:
    out = tmp_path / "out.csv"
    arguments = ("-k", 4, "--layout", "bounds", "--kind", "zip=categorical")
    assert shoal("anonymize", table, "-o", out, *ROLES, "--rest", "plain", *arguments).code == 0
    for row in cells(out):
        assert list(row) == ["age_min", "age_max", "zip", "disease", "note"]
        assert int(row["age_min"]) <= int(row["age_max"])
    assert manifest_of(out)["release"]["qi"] == ["age_min", "age_max", "zip"]
    assert shoal("verify", out).code == 0


def test_csv_safe(tmp_path: Path) -> None:
    source = tmp_path / "odd.csv"
    formulas = ["=1+1", "+x", "-x", "@x", "-5", "plain"]
    lines = [f"{i // 6},{formulas[i % 6]}" for i in range(24)]
    source.write_text("\n".join(["age,note", *lines]), encoding="utf-8")
    out = tmp_path / "out.csv"
    assert (
        shoal(
            "anonymize", source, "-o", out, "--rest", "plain", "--qi", "age", "-k", 2, "--csv-safe"
        ).code
        == 0
    )
    assert {row["note"] for row in cells(out)} == {"'=1+1", "'+x", "'-x", "'@x", "-5", "plain"}
    assert shoal("verify", out).code == 0
    assert (
        shoal("anonymize", source, "-o", out, "--rest", "plain", "--qi", "age", "-k", 2).code == 0
    )
    assert {row["note"] for row in cells(out)} == set(formulas)


def test_release_replaces_the_old_one(tmp_path: Path, release: Path, table: Path) -> None:
    before = release.read_bytes()
    assert shoal("anonymize", table, "-o", release, *ROLES, "-k", 20).code == 0
    assert release.read_bytes() != before
    assert manifest_of(release)["policy"]["k"] == 20
    assert shoal("verify", release).code == 0


def test_manifest_elsewhere(tmp_path: Path, table: Path) -> None:
    out, proof = tmp_path / "out.csv", tmp_path / "proof.json"
    assert shoal("anonymize", table, "-o", out, *ROLES, "-k", 4, "--manifest", proof).code == 0
    assert not (tmp_path / "out.csv.manifest.json").exists()
    assert shoal("verify", out).code == 2
    assert shoal("verify", out, "--manifest", proof).code == 0


def test_relative_names(tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "zip.csv").write_text(
        "".join(f"{1000 + i};{'low' if i < 4 else 'high'};*\n" for i in range(7)), encoding="utf-8"
    )
    arguments = ("-k", 10, "--hierarchy", "zip=zip.csv")
    assert (
        shoal(
            "anonymize", "people.csv", "-o", "out.csv", *ROLES, "--rest", "plain", *arguments
        ).code
        == 0
    )
    known = {"low", "high", "*", *(str(1000 + i) for i in range(7))}
    assert {row["zip"] for row in cells(tmp_path / "out.csv")} <= known
    assert shoal("verify", "out.csv").code == 0


def test_methods_and_options(tmp_path: Path, table: Path) -> None:
    out = tmp_path / "out.csv"
    for method, option in (("hilbert", "fast=true"), ("mondrian", "relaxed=true")):
        arguments = ("-k", 4, "--method", method, "--option", option, "--weight", "age=2")
        assert shoal("anonymize", table, "-o", out, *ROLES, "--rest", "plain", *arguments).code == 0
        manifest = manifest_of(out)
        assert manifest["method"]["name"] == method
        assert manifest["method"]["options"][option.split("=")[0]] is True
        assert manifest["policy"]["weight"] == {"age": 2}


def test_missing_texts(tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text("age,zip\n" + "?,1\n3,2\nNA,3\n,4\n" * 5, encoding="utf-8")
    out = tmp_path / "out.csv"
    arguments = ("--qi", "age", "-k", 5, "--missing", "?", "--missing", "NA")
    assert shoal("anonymize", source, "-o", out, "--rest", "plain", *arguments).code == 0
    assert {row["age"] for row in cells(out)} == {"", "3"}
    assert shoal("verify", out).code == 0


# --- policy files ---------------------------------------------------------------------


def test_options_override_the_policy(tmp_path: Path, table: Path) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "zip.csv").write_text(
        "".join(f"{1000 + i};{'low' if i < 4 else 'high'};*\n" for i in range(7)), encoding="utf-8"
    )
    policy = folder / "shoal.toml"
    policy.write_text(
        'identifier = "name"\nqi = ["age", "zip"]\nsensitive = "disease"\nrest = "plain"\n'
        "k = 4\nl = 2\n"
        'method = "mondrian"\n[hierarchy]\nzip = "zip.csv"\n[weight]\nage = 3\n',
        encoding="utf-8",
    )
    out = tmp_path / "out.csv"
    assert shoal("anonymize", table, "-o", out, "--policy", policy).code == 0
    assert manifest_of(out)["policy"]["k"] == 4
    more = ("-k", 9, "--weight", "zip=2", "--qi", "age,zip,note")
    assert shoal("anonymize", table, "-o", out, "--policy", policy, *more).code == 0
    settings = manifest_of(out)["policy"]
    assert (settings["k"], settings["l"]) == (9, 2)
    assert settings["weight"] == {"age": 3, "zip": 2}
    assert settings["qi"] == ["age", "zip", "note"]
    assert shoal("verify", out).code == 0


# --- verify ---------------------------------------------------------------------------


def without_one_row(release: Path) -> None:
    """Remove the first record, whose class of at least four shrinks."""
    lines = release.read_text(encoding="utf-8").splitlines(keepends=True)
    release.write_text("".join([lines[0], *lines[2:]]), encoding="utf-8")


def test_changed_release_is_not_the_one_of_the_manifest(release: Path) -> None:
    without_one_row(release)
    result = shoal("verify", release)
    assert (result.code, result.err) == (1, "")
    assert "SHA-256" in result.out


def test_verify_without_a_manifest(tmp_path: Path, release: Path) -> None:
    (tmp_path / "out.csv.manifest.json").unlink()
    roles = ("--qi", "age,zip", "--sensitive", "disease")
    assert shoal("verify", release, *roles, "-k", 4, "-l", 2).code == 0
    smallest = json.loads(shoal("verify", release, *roles, "-k", 4, "--json").out)["smallest_class"]
    failed = shoal("verify", release, *roles, "-k", smallest + 1)
    assert failed.code == 1
    assert "FAILED" in failed.out
    document = json.loads(shoal("verify", release, *roles, "-k", smallest + 1, "--json").out)
    assert document["ok"] is False
    assert SECRET not in failed.out + failed.err + json.dumps(document)


def test_removed_row_breaks_a_class(tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    source.write_text("age\n" + "1\n2\n3\n" * 4, encoding="utf-8")
    out = tmp_path / "out.csv"
    assert (
        shoal("anonymize", source, "-o", out, "--rest", "plain", "--qi", "age", "-k", 4).code == 0
    )
    assert shoal("verify", out, "--qi", "age", "-k", 4).code == 0
    without_one_row(out)
    assert shoal("verify", out, "--qi", "age", "-k", 4).code == 1
    assert shoal("verify", out, "--qi", "age", "-k", 4, "--quiet") == Result(1, "", "")


def test_manifest_and_models_together(release: Path) -> None:
    manifest = f"{release}.manifest.json"
    assert shoal("verify", release, "--manifest", manifest, "-k", 2).code == 2


# --- lists and help -------------------------------------------------------------------


@pytest.mark.parametrize("command", ["methods", "models"])
def test_lists(command: str) -> None:
    listed = shoal(command)
    assert (listed.code, listed.err) == (0, "")
    document = json.loads(shoal(command, "--json").out)
    assert document
    said = " ".join(listed.out.split())  # summaries wrap within their column
    for entry in document:
        assert entry["name"] in said
        assert entry["summary"] in said


def test_baselines_are_listed_apart() -> None:
    entries = json.loads(shoal("methods", "--json").out)
    said = " ".join(shoal("methods").out.split())
    ours, _, compared = said.partition("To compare with:")
    assert compared
    for entry in entries:
        assert entry["summary"] in (compared if entry["baseline"] else ours)
        assert entry["summary"] not in (ours if entry["baseline"] else compared)


def test_lists_name_everything() -> None:
    from shoal.methods import METHODS
    from shoal.models import MODELS

    named = {entry["name"] for entry in json.loads(shoal("methods", "--json").out)}
    assert named == set(METHODS)
    named = {entry["name"] for entry in json.loads(shoal("models", "--json").out)}
    assert named == set(MODELS)


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("-h",), ("anonymize", "--help"), ("verify", "--help"), ("--version",)],
)
def test_help(arguments: tuple[str, ...]) -> None:
    result = shoal(*arguments)
    assert (result.code, result.err) == (0, "")
    assert "shoal" in result.out


HEAVY = ("numpy", "numba", "pyarrow", "duckdb", "pandas", "polars", "rich", "pydantic")


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['shoal', '--help']\n"
        "from shoal.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    assert "anonymize" in done.stdout


def test_bad_usage_is_found_before_anything_heavy_is_loaded(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['shoal', 'anonymize', 'a.csv', '-o', 'b.csv', '-k', 'x']\n"
        "from shoal.cli import main\n"
        "try: main()\n"
        "except SystemExit as stop: print(stop.code)\n"
        "print([name for name in ('numpy', 'pyarrow') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "2\n[]\n"


def test_closed_pipe(tmp_path: Path) -> None:
    """``shoal models | head -0`` ends without a traceback."""
    script = Path(sys.executable).with_name("shoal")
    done = subprocess.run(
        f"{script} models | head -c 0", shell=True, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr


def test_an_error_of_our_own_shows_no_cell(
    monkeypatch, capsys, tmp_path: Path, table: Path
) -> None:
    """Arrow's messages quote cells: whatever escapes is told by its name alone."""
    from shoal.cli import main

    def broken(*_: object) -> None:
        raise pa.ArrowInvalid(f"could not convert {SECRET}")

    monkeypatch.setattr("shoal.engines.memory.engine.encode", broken)
    monkeypatch.delenv("SHOAL_DEBUG", raising=False)
    arguments = ["anonymize", table, "-o", tmp_path / "out.csv", *ROLES, "-k", 2]
    monkeypatch.setattr(sys, "argv", ["shoal", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    shown = capsys.readouterr().err
    assert stop.value.code == 2
    assert SECRET not in shown
    assert len(shown.splitlines()) == 1
    assert "ArrowInvalid" in shown
