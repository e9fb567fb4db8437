"""Several readers of one release: what a policy may say, and what verification shows."""

from __future__ import annotations

import csv
import itertools
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from command import SECRET, assert_refused
from command import shoal as command
from random_tables import microdata
from shoal.errors import PolicyError, VerificationError
from shoal.io.write import sha256_of
from shoal.models import TOGETHER, KAnonymity, models_of, views_of
from shoal.policy import Policy, Reader
from shoal.verification.check import check_release, published_names

BOTH = {"insurer": ["age", "zip"], "employer": ["note", "age"]}
CLI = ("--identifier", "name", "--method", "hilbert", "--sensitive", "disease")
READERS = ("--reader", "insurer=age,zip", "--reader", "employer=note,age")


def smallest(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> int:
    """Records in the smallest class of these columns."""
    return min(Counter(tuple(row[name] for name in names) for row in rows).values())


def cells(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# --- what a policy may say ---------------------------------------------------------------


def test_a_reader_is_a_list_a_name_or_a_table() -> None:
    policy = Policy.parse(
        reader={"a": ["age", "zip"], "b": "job", "c": {"qi": ["zip"], "k": 7}}, k=3
    )
    assert policy.reader == {
        "a": Reader(qi=("age", "zip")),
        "b": Reader(qi=("job",)),
        "c": Reader(qi=("zip",), k=7),
    }
    assert policy.qi == ("age", "zip", "job")  # in the order in which readers name them
    assert Policy.parse(reader={"a": Reader(qi=("age",), k=2)}, k=3).reader["a"].k == 2


def test_quasi_identifiers_given_beside_readers_keep_their_order() -> None:
    policy = Policy.parse(reader=BOTH, qi=["zip", "note", "age"], k=3)
    assert policy.qi == ("zip", "note", "age")


TOML = """
k = 20
collusion_k = 2
[reader]
insurer = ["age", "vehicle", "postcode"]
employer = { qi = ["occupation", "age", "postcode"], k = 5 }
"""


def test_toml_says_the_same_as_python(tmp_path: Path) -> None:
    path = tmp_path / "shoal.toml"
    path.write_text(TOML, encoding="utf-8")
    loaded = Policy.load(path)
    assert loaded.settings() == Policy.parse(
        reader={
            "insurer": ["age", "vehicle", "postcode"],
            "employer": {"qi": ["occupation", "age", "postcode"], "k": 5},
        },
        k=20,
        collusion_k=2,
    ).settings()  # fmt: skip
    loaded.save(path)
    assert Policy.load(path) == loaded


def test_views_are_one_a_reader_and_one_of_all_together() -> None:
    policy = Policy.parse(
        reader={"a": ["age"], "b": {"qi": ["zip"], "k": 7}},
        k=3,
        l=2,
        sensitive="disease",
        collusion_k=2,
    )
    a, b, both = views_of(policy)
    assert (a.name, a.qi, a.models[0]) == ("a", ("age",), KAnonymity(3))
    assert (b.name, b.qi, b.models[0]) == ("b", ("zip",), KAnonymity(7))
    assert [str(model) for model in a.models[1:]] == ["l = 2 (frequency)"]
    assert (both.name, both.qi, both.models) == (TOGETHER, ("age", "zip"), (KAnonymity(2),))
    assert models_of(policy)[0] == KAnonymity(7)  # what satisfies every one of them


def test_without_readers_there_is_one_view_without_a_name() -> None:
    (view,) = views_of(Policy.parse(qi=["age"], k=3))
    assert (view.name, view.qi, view.models) == (None, ("age",), (KAnonymity(3),))


def test_readers_can_be_added_to_those_of_a_file() -> None:
    policy = Policy.parse(reader=BOTH, k=3)
    assert policy.override(reader={"third": ["sex"]}).qi == ("age", "zip", "note", "sex")
    assert policy.override(reader={"insurer": ["age"]}).qi == ("age", "note")
    assert policy.override(k=4).qi == policy.qi


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"reader": BOTH, "qi": ["age", "zip", "note", "sex"]}, "qi: 'sex' is known to no reader"),
        ({"reader": BOTH, "qi": ["age", "zip"]}, "reader.employer: 'note' is not in qi"),
        ({"qi": ["age"], "collusion_k": 2}, "collusion_k: expected with readers only"),
        ({"reader": {"a": []}}, "reader.a.qi: expected one or more quasi-identifiers"),
        ({"reader": {"a": ["age", "age"]}}, "reader.a.qi: expected one or more"),
        ({"reader": {"a": {"k": 3}}}, "reader.a.qi: expected, and not given"),
        ({"reader": {"a": 5}}, "reader.a: expected"),
        ({"reader": ["age"]}, "reader: expected dictionary"),
        ({"reader": {"a": {"qi": ["age"], "l": 3}}}, "unknown setting 'reader.a.l'"),
        ({"reader": {"a": {"qi": ["age"], "k": "3"}}}, "reader.a.k: expected integer"),
        ({"reader": BOTH, "sensitive": "age"}, "column 'age': expected one role"),
    ],
)
def test_what_a_policy_may_not_say(given: dict[str, Any], says: str) -> None:
    with pytest.raises(PolicyError) as error:
        Policy.parse(k=3, **given)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "given",
    [
        {"reader": {"a": {"qi": ["age"], "k": 0}}},
        {"reader": {"a": ["age"]}, "collusion_k": 0},
        {"reader": {TOGETHER: ["age"]}, "collusion_k": 2},
    ],
)
def test_what_views_refuse(given: dict[str, Any]) -> None:
    with pytest.raises(PolicyError):
        views_of(Policy.parse(k=3, **given))


def test_a_line_of_the_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "shoal.toml"
    path.write_text('k = 3\n[reader]\ninsurer = ["age"]\nemployer = []\n', encoding="utf-8")
    with pytest.raises(PolicyError, match=r"line 4: reader\.employer"):
        Policy.load(path)


# --- the command line --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--reader", "a"), "--reader: expected NAME=A,B"),
        (("--reader", "a="), "reader.a.qi: expected one or more"),
        (("--reader", "=age"), "--reader: expected NAME=A,B"),
        (("--reader", "a=age", "--reader", "a=zip"), "got 'a' twice"),
        (("--reader", "a=age,nope"), "no column 'nope'"),
        (("--reader", "a=age", "--reader-k", "b=3"), "--reader-k: expected the name of a --reader"),
        (("--reader", "a=age", "--reader-k", "a=x"), "--reader-k: expected NAME=K"),
        (("--reader", "a=age", "--reader-k", "a=0"), "k: expected a whole number of at least 1"),
        (("--reader", "a=age", "--qi", "zip"), "'zip' is known to no reader"),
        (("--qi", "age", "--collusion-k", "2"), "collusion_k: expected with readers only"),
        (("--reader", "a=age", "--collusion-k", "0"), "k: expected a whole number of at least 1"),
    ],
)
def test_what_the_command_refuses(
    tmp_path: Path, table: Path, out: Path, options: tuple[str, ...], says: str
) -> None:
    assert_refused(
        tmp_path, "anonymize", table, "-o", out,
        "--rest", "plain", *CLI, "-k", 4, *options, says=(says,)
    )  # fmt: skip


def test_the_command_makes_and_verifies_a_release(table: Path, out: Path) -> None:
    done = command(
        "anonymize", table, "-o", out,
        "--rest", "plain", *CLI, *READERS, "-k", 4, "--reader-k", "employer=6",
        "--collusion-k", 2,
    )  # fmt: skip
    assert done.code == 0, done
    shown = command("verify", out)
    assert (shown.code, shown.err) == (0, "")
    for line in ("insurer: k = 4: holds", "employer: k = 6: holds", f"{TOGETHER}: k = 2: holds"):
        assert line in done.out
        assert line in shown.out
    rows = cells(out)
    assert smallest(rows, ["age", "zip"]) >= 4
    assert smallest(rows, ["note", "age"]) >= 6


def test_the_manifest_lists_what_each_reader_has_reached(table: Path, out: Path) -> None:
    assert (
        command("anonymize", table, "-o", out, "--rest", "plain", *CLI, *READERS, "-k", 4).code == 0
    )
    manifest = json.loads(out.with_name("out.csv.manifest.json").read_text("utf-8"))
    rows = cells(out)
    reached = {model["reader"]: model["reached"] for model in manifest["models"]}
    assert reached == {name: smallest(rows, known) for name, known in BOTH.items()}
    assert manifest["policy"]["reader"] == {name: {"qi": known} for name, known in BOTH.items()}
    assert SECRET not in json.dumps(manifest)


def test_verify_takes_readers_from_a_policy(tmp_path: Path, table: Path, out: Path) -> None:
    assert (
        command("anonymize", table, "-o", out, "--rest", "plain", *CLI, *READERS, "-k", 4).code == 0
    )
    path = tmp_path / "shoal.toml"
    path.write_text('k = 41\n[reader]\ninsurer = ["age", "zip"]\n', encoding="utf-8")
    shown = command("verify", out, "--policy", path)
    assert shown.code == 1
    assert "insurer: k = 41: fails" in shown.out


def changed(path: Path, column: str, row: int, text: str) -> None:
    """Change one cell of a release, and let its manifest say that this is the file."""
    rows = cells(path)
    rows[row][column] = text
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    proof = path.with_name(path.name + ".manifest.json")
    manifest = json.loads(proof.read_text("utf-8"))
    manifest["release"]["sha256"] = sha256_of(path)
    proof.write_text(json.dumps(manifest), encoding="utf-8")


def test_one_cell_breaks_one_reader_and_verify_says_whose(table: Path, out: Path) -> None:
    assert (
        command("anonymize", table, "-o", out, "--rest", "plain", *CLI, *READERS, "-k", 4).code == 0
    )
    changed(out, "zip", 0, "9999")
    shown = command("verify", out)
    assert shown.code == 1
    assert "FAILED" in shown.out
    assert "insurer: k = 4: fails in" in shown.out
    assert "employer: k = 4: holds" in shown.out  # does not know the changed column
    assert TOGETHER not in shown.out
    assert SECRET not in shown.out
    found = json.loads(command("verify", out, "--json").out)
    assert [(m["reader"], m["holds"]) for m in found["models"]] == [
        ("insurer", False), ("employer", True),
    ]  # fmt: skip


# --- verification from the text ----------------------------------------------------------


def wings() -> pa.Table:
    """Two classes for each reader, four of one record for both: a butterfly of one body."""
    return pa.table({"left": ["a", "a", "b", "b"], "right": ["x", "y", "x", "y"]})


def test_each_reader_holds_and_the_union_does_not() -> None:
    readers = {"one": ["left"], "two": ["right"]}
    alone = Policy.parse(reader=readers, k=2)
    found = check_release(wings(), alone.qi, models_of(alone), alone)
    assert [(c.reader, c.reached, c.holds) for c in found.checks] == [
        ("one", 2, True), ("two", 2, True),
    ]  # fmt: skip
    assert found.classes == 4
    together = alone.override(collusion_k=2)
    found = check_release(wings(), together.qi, models_of(together), together)
    assert [(c.reader, c.reached, c.holds) for c in found.checks][2] == (TOGETHER, 1, False)
    with pytest.raises(VerificationError, match=f"{TOGETHER}: k = 2: fails in 4 classes"):
        found.raise_if_failed()
    assert not shoal.verify(wings(), policy=together).ok
    assert shoal.verify(wings(), policy=alone).ok


def test_models_about_sensitive_values_hold_for_each_reader() -> None:
    table = wings().append_column("ill", pa.array(["s", "s", "t", "u"]))
    policy = Policy.parse(
        reader={"one": ["left"], "two": ["right"]}, k=2, l=2, sensitive="ill"
    )  # fmt: skip
    found = shoal.verify(table, policy=policy)
    holds = {(c.reader, c.column): c.holds for c in found.checks}
    assert not holds["one", "ill"]  # class a has but one value
    assert holds["two", "ill"]


def test_bounds_are_read_back_from_the_file(tmp_path: Path) -> None:
    release = shoal.anonymize(
        shoal.datasets.census(300),
        reader={"a": ["age", "gender"], "b": {"qi": ["age", "education"], "k": 7}},
        k=4,
        layout="bounds",
        method="hilbert",
        rest="plain",
    )
    path = release.write(tmp_path / "release.csv")
    rows = cells(path)
    assert "age_min" in rows[0]
    found = shoal.verify(path)
    for check, other, k in zip(found.checks, ("gender", "education"), (4, 7), strict=True):
        names = published_names(["age", other], list(rows[0]))
        assert names[:2] == ["age_min", "age_max"]
        assert check.reached == smallest(rows, names)
        assert check.holds
        assert check.reached >= k
    changed(path, "age_min", 0, "-1")
    assert not shoal.verify(path).ok


def test_persons_are_counted_for_each_reader() -> None:
    people = shoal.datasets.census(200).append_column("who", pa.array([i // 2 for i in range(200)]))
    release = shoal.anonymize(
        people,
        reader={"a": ["age"], "b": ["gender"]},
        person="who",
        k=3,
        method="hilbert",
        rest="plain",
    )
    assert [check.reader for check in release.verification.checks] == ["a", "b"]
    assert release.verify().ok


# --- on random tables --------------------------------------------------------------------


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(microdata(most=25), st.data())
def test_every_reader_is_satisfied_in_the_text(
    case: tuple[pa.Table, dict[str, Any]], data: st.DataObject
) -> None:
    table, about = case
    qi = about.pop("qi")
    sets = [list(c) for r in range(1, len(qi) + 1) for c in itertools.combinations(qi, r)]
    chosen = data.draw(st.lists(st.sampled_from(sets), min_size=1, max_size=4))
    union = {name for known in chosen for name in known}
    ks = [data.draw(st.integers(1, min(5, table.num_rows))) for _ in chosen]
    readers = {
        f"r{i}": {"qi": known, "k": k} for i, (known, k) in enumerate(zip(chosen, ks, strict=True))
    }
    about["hierarchy"] = {n: tree for n, tree in about["hierarchy"].items() if n in union}
    method = data.draw(st.sampled_from(["hilbert", "mondrian"]))
    release = shoal.anonymize(table, reader=readers, method=method, **about, rest="plain")
    rows = release.table.to_pylist()
    for known, k in zip(chosen, ks, strict=True):
        assert smallest(rows, known) >= k
    reached = {c.reader: c.reached for c in release.verification.checks if c.column is None}
    assert reached == {name: smallest(rows, r["qi"]) for name, r in readers.items()}
