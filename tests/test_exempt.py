"""Values that are not sensitive: what models mean then, in every class and for every method."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive_exempt as naive
import shoal
from columns import about, sensitive_of
from command import shoal as command
from model_examples import EVERY_MODEL, EXAMPLES, kernel_verdicts
from shoal.encoding.exempt import as_one, told_apart
from shoal.errors import InfeasibleError, PolicyError
from shoal.models import FrequencyL, rules_for, satisfied_classes, table_histograms

NIU = "Not in universe"


def survey(n: int = 240, seed: int = 5) -> pa.Table:
    """Half of the records say of an occupation that there is none."""
    rng = np.random.default_rng(seed)
    jobs = np.array(["nurse", "clerk", "smith", "cook", "guard"])[rng.integers(0, 5, n)]
    return pa.table(
        {
            "age": rng.integers(18, 60, n),
            "zip": rng.integers(0, 30, n),
            "job": np.where(rng.random(n) < 0.55, NIU, jobs),
        }
    )


SETTINGS = {"qi": ["age", "zip"], "sensitive": "job", "exempt": {"job": [NIU]}, "seed": 3}


@settings(max_examples=300, deadline=None)
@given(EXAMPLES, EVERY_MODEL, st.sets(st.integers(0, 4)))
def test_models_and_kernels_agree_with_the_slow_twin(example, model, exempt):
    assume(model.takes_exempt)
    column = sensitive_of(example.table)[0]
    mask = np.isin(np.arange(column.size), list(exempt))
    example.table = about(example.table, column.changed(exempt=mask))
    expected = naive.holds(model, example.naive_classes(0), exempt)
    assert satisfied_classes(example.table, [model], example.ids).tolist() == expected
    if model.local:
        rules = rules_for(example.table.codebook, [model])
        verdicts = list(kernel_verdicts(rules, example))
        assert all(e or not v for v, e in zip(verdicts, expected, strict=True))
        assert verdicts == expected or not model.exact_rules


@settings(max_examples=200, deadline=None)
@given(EXAMPLES, st.sets(st.integers(0, 4)), st.integers(1, 4))
def test_no_value_is_inferred_above_its_share_and_codes_told_apart_say_the_same(
    example, exempt, most
):
    column = sensitive_of(example.table)[0]
    mask = np.isin(np.arange(column.size), list(exempt))
    example.table = about(example.table, column.changed(exempt=mask))
    (classes,) = table_histograms(example.table, example.ids)
    held = FrequencyL(most).holds(classes)
    for safe, records in zip(held, example.naive_classes(0), strict=True):
        persons = {person for person, _ in records}
        counted = Counter(value for _, value in set(records) if value not in exempt)
        if safe:
            assert all(most * count <= len(persons) for count in counted.values())
    ((codes, size),) = told_apart(example.table)
    assert codes.max() < size
    if example.table.person is None:
        told = about(example.table, replace_codes(column, codes, size))
        assert satisfied_classes(told, [FrequencyL(most)], example.ids).tolist() == held.tolist()
    ((merged, _),) = as_one(example.table)
    assert len(np.unique(merged[mask[column.codes]])) <= 1


def replace_codes(column, codes, size):
    labels = [str(code) for code in range(size)]
    return column.changed(codes=codes.astype(np.int32), labels=labels, exempt=None)


@pytest.mark.parametrize("method", ["hilbert", "bsgi", "mondrian", "best", "tp"])
@pytest.mark.parametrize(
    "asked", [{"l": 3}, {"l": 3, "l_reading": "distinct"}, {"alpha": 0.3, "k": 4}]
)
def test_releases_hold_from_their_text(tmp_path: Path, method: str, asked: dict) -> None:
    extra = {"effort": "instant"} if method == "best" else {}
    release = shoal.anonymize(survey(), method=method, **asked, **extra, **SETTINGS)
    classes = defaultdict(list)
    for row in release.table.to_pylist():
        classes[row["age"], row["zip"]].append(row["job"])
    for jobs in classes.values():
        counted = Counter(job for job in jobs if job != NIU)
        if not counted:
            continue
        if "l_reading" in asked:
            assert len(set(jobs)) >= 3
        else:
            assert max(counted.values()) <= asked.get("alpha", 1 / 3) * len(jobs) + 1e-12
    found = shoal.verify(release.write(tmp_path / "r.csv"))
    assert found.ok, found
    assert release.manifest["policy"]["exempt"] == {"job": [NIU]}
    if release.bound is not None:
        assert release.bound.loss <= release.loss.gcp + 1e-9


def test_without_the_exemption_the_message_offers_ways_on(tmp_path: Path) -> None:
    plain = {name: value for name, value in SETTINGS.items() if name != "exempt"}
    with pytest.raises(InfeasibleError) as refused:
        shoal.anonymize(survey(), l=3, **plain)
    said = str(refused.value)
    assert "the largest possible l is 1" in said
    assert "l_reading = distinct" in said
    assert "exempt = {job = [...]}" in said
    assert NIU not in said
    release = shoal.anonymize(survey(), l=3, method="hilbert", **SETTINGS)
    path = release.write(tmp_path / "r.csv")
    claims = Path(f"{path}.manifest.json")
    manifest = json.loads(claims.read_text("utf-8"))
    del manifest["policy"]["exempt"]
    claims.write_text(json.dumps(manifest), "utf-8")
    assert not shoal.verify(path).holds  # the exemption, and nothing else, makes it hold


@pytest.mark.parametrize(
    "asked",
    [
        {"l": 2, "l_reading": "entropy"},
        {"l": 2, "l_reading": "recursive", "c": 2},
        {"t": 0.3},
        {"l": 2, "method": "blind"},
    ],
)
def test_what_has_no_safe_meaning_is_refused(asked: dict) -> None:
    with pytest.raises(PolicyError, match="exempt"):
        shoal.anonymize(survey(), **asked, **SETTINGS)


@pytest.mark.parametrize(
    ("exempt", "says"),
    [
        ({"job": ["Nurse of ships"]}, "no value"),
        ({"age": ["3"]}, "sensitive"),
        ({"job": []}, "one"),
    ],
)
def test_exemptions_that_cannot_be(exempt: dict, says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        shoal.anonymize(survey(), l=2, **{**SETTINGS, "exempt": exempt})


def test_missing_values_can_be_exempt(tmp_path: Path) -> None:
    table = survey()
    jobs = ["?" if job == NIU else job for job in table["job"].to_pylist()]
    table = table.set_column(2, "job", pa.array(jobs))
    given_ = {**SETTINGS, "exempt": {"job": "?"}, "missing": ["?"]}
    release = shoal.anonymize(table, l=3, method="hilbert", **given_)
    assert shoal.verify(release.write(tmp_path / "r.csv")).ok


def test_on_the_command_line(tmp_path: Path) -> None:
    from shoal.io.write import write_table

    write_table(survey(), tmp_path / "t.csv")
    asked = ("--qi", "age,zip", "--sensitive", "job", "-l", "3", "--exempt", f"job={NIU}")
    out = tmp_path / "r.csv"
    done = command("anonymize", tmp_path / "t.csv", "-o", out, *asked, "--method", "hilbert")
    assert done.code == 0, done.err
    assert command("verify", out).code == 0
    assert command("verify", out, *asked).code == 0
    assert command("verify", out, *asked[:-2]).code == 1


def test_a_sensitive_column_without_a_model_is_a_warning_with_numbers() -> None:
    table = survey()
    with pytest.warns(shoal.errors.ShoalWarning, match="no model is about") as warned:
        release = shoal.anonymize(
            table, qi=["age", "zip"], sensitive="job", k=3, method="hilbert", seed=1
        )
    classes = defaultdict(list)
    for row in release.table.to_pylist():
        classes[row["age"], row["zip"]].append(row["job"])
    known = sum(len(jobs) for jobs in classes.values() if len(set(jobs)) == 1)
    line = f"{known:,} of {table.num_rows:,} records are in classes with one job"
    assert any(line in str(w.message) for w in warned)
    assert any(line in notice for notice in release.manifest["notices"])
    assert replace(release, unprotected=()).manifest["notices"] != release.manifest["notices"]
