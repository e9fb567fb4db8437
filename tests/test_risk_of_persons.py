"""Where the policy counts persons, risks and thresholds do too: rows of one person are no crowd."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pytest

import shoal
from command import shoal as command
from shoal.errors import PolicyError
from shoal.report import report
from shoal.risks import risk

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")

PERSONS, VISITS = 10, 60
ROLES = {"qi": ["age"], "person": "person", "sensitive": "ill", "k": 2, "method": "hilbert"}


def visits() -> pa.Table:
    """Ten persons with sixty rows each."""
    draw = np.random.default_rng(1)
    return pa.table(
        {
            "person": np.repeat(np.arange(PERSONS), VISITS),
            "age": np.repeat(np.arange(PERSONS) * 3 + 20, VISITS),
            "ill": draw.choice(["a", "b", "c"], PERSONS * VISITS).tolist(),
        }
    )


def fewest(release: shoal.Release) -> int:
    """Persons of the smallest class, counted slowly."""
    classes: dict[str, set[int]] = {}
    for row in release.table.to_pylist():
        classes.setdefault(row["age"], set()).add(row["pid"])
    return min(map(len, classes.values()))


def test_with_pseudonyms_persons_are_counted(tmp_path: Path) -> None:
    release = shoal.anonymize(visits(), person_as="pid", **ROLES)
    least = fewest(release)
    assert least < 12
    assert release.manifest["risk"]["highest"] == pytest.approx(1 / least)
    release.write(tmp_path / "r.csv")
    for data in (release, tmp_path / "r.csv"):
        found = risk(data, threshold="ema")
        assert not found.ok
        assert found.attacker("prosecutor").largest == 1 / least
        assert found.counted == "persons" and found.records == PERSONS * VISITS
    assert command("risk", tmp_path / "r.csv", "--threshold", "ema").code == 1
    assert shoal.verify(tmp_path / "r.csv").ok
    for made in (report(tmp_path / "r.csv"), release.report()):
        assert made.to_dict()["risk"]["after"][0]["smallest_class"] == least
        assert f"at most 1 in {least}" in made.to_markdown()


def test_a_manifest_that_counts_rows_as_persons_is_refuted(tmp_path: Path) -> None:
    shoal.anonymize(visits(), person_as="pid", **ROLES).write(tmp_path / "r.csv")
    path = tmp_path / "r.csv.manifest.json"
    claims = json.loads(path.read_text("utf-8"))
    claims["risk"]["highest"] = 1 / VISITS
    path.write_text(json.dumps(claims), "utf-8")
    assert any("risk: highest" in line for line in shoal.verify(tmp_path / "r.csv").mismatches)


def test_without_pseudonyms_no_threshold_is_judged_by_rows(tmp_path: Path) -> None:
    release = shoal.anonymize(visits(), **ROLES)
    assert release.manifest["risk"] == {"highest": 0.5, "counted": "persons"}
    pcsv.write_csv(visits(), tmp_path / "people.csv")
    release.write(tmp_path / "r.csv")
    assert shoal.verify(tmp_path / "r.csv").holds
    with pytest.raises(PolicyError, match="persons"):
        risk(tmp_path / "r.csv", threshold="ema")
    assert command("risk", tmp_path / "r.csv", "--threshold", "ema").code == 2
    assert "who are not published" in repr(risk(tmp_path / "r.csv"))
    assert not risk(release, threshold="ema").ok  # it knows who is one
    public = report(tmp_path / "r.csv")
    text = public.to_markdown()
    assert "Thresholds met" not in text and "no threshold is judged" in text
    assert public.to_dict()["risk"]["promised_class"] == 2
    record = tmp_path / "r.csv.record.json"
    own = report(tmp_path / "r.csv", record=record, original=tmp_path / "people.csv").to_dict()
    assert 2 <= own["risk"]["after"][0]["smallest_class"] <= PERSONS
    assert own["risk"]["before"]["smallest_class"] == 1
