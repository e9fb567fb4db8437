"""Releases that count persons can be checked: by pseudonyms, or by the private record."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from command import shoal as command
from shoal.encoding.pseudonyms import numbered_persons
from shoal.errors import InputError, PolicyError

SETTINGS = {
    "qi": ["age"], "sensitive": "ill", "person": "who", "k": 3, "l": 2, "method": "hilbert"
}  # fmt: skip


def visits(n: int = 150, seed: int = 2) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "who": [f"Xq7-{code}" for code in rng.integers(0, 70, n)],
            "age": rng.integers(20, 60, n),
            "ill": np.array(["flu", "gout", "cold", "ague"])[rng.integers(0, 4, n)],
        }
    )


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=30))
def test_numbers_are_of_persons_within_a_class(rows):
    classes, keys = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    number = numbered_persons(classes, keys)
    persons = defaultdict(set)
    for c, key, given_ in zip(classes, keys, number, strict=True):
        persons[c].add((int(key), int(given_)))
    for pairs in persons.values():
        by_key = sorted(pairs)
        assert [given_ for _, given_ in by_key] == list(range(1, len(by_key) + 1))
        assert len({key for key, _ in by_key}) == len(by_key)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_pseudonyms_let_everybody_check(tmp_path: Path, ending: str) -> None:
    release = shoal.anonymize(visits(), person_as="patient", **SETTINGS)
    path = release.write(tmp_path / f"r.{ending}")
    found = shoal.verify(path)
    assert found.ok, found
    inside = [check.reached for check in release.verification.checks]
    assert [check.reached for check in found.checks] == inside
    assert "Xq7" not in Path(f"{path}.manifest.json").read_text("utf-8")
    persons = defaultdict(set)
    for row in release.table.to_pylist():
        persons[row["age"]].add(row["patient"])
    assert all(len(numbers) >= 3 for numbers in persons.values())
    assert all(numbers == set(range(1, len(numbers) + 1)) for numbers in persons.values())
    assert release.verification.checks[0].reached == min(map(len, persons.values()))


def test_a_release_in_which_one_person_is_many_is_refuted(tmp_path: Path) -> None:
    from shoal.io.write import sha256_of, write_table

    release = shoal.anonymize(visits(), person_as="patient", **SETTINGS)
    path = release.write(tmp_path / "r.parquet")
    at = release.table.column_names.index("patient")
    alone = release.table.set_column(at, "patient", pa.array([1] * release.table.num_rows))
    write_table(alone, path)
    claims = Path(f"{path}.manifest.json")
    manifest = json.loads(claims.read_text("utf-8"))
    manifest["release"]["sha256"] = sha256_of(path)
    claims.write_text(json.dumps(manifest), "utf-8")
    assert not shoal.verify(path).holds


def test_pseudonyms_depend_on_the_seed_and_not_on_the_order_of_rows() -> None:
    table = visits()
    one = shoal.anonymize(table, person_as="patient", seed=1, **SETTINGS)
    shuffled = table.take(np.random.default_rng(0).permutation(table.num_rows))
    again = shoal.anonymize(shuffled, person_as="patient", seed=1, **SETTINGS)
    assert again.table.equals(one.table)
    # in every class another order than that of the names, for some seed
    whole = {**SETTINGS, "k": 60}
    orders = {
        tuple(shoal.anonymize(table, person_as="p", seed=s, **whole).table["p"].to_pylist())
        for s in range(4)
    }
    assert len(orders) == 4


def test_pseudonyms_that_cannot_be() -> None:
    with pytest.raises(PolicyError, match="person_as"):
        shoal.anonymize(visits(), qi="age", k=2, person_as="p", rest="plain")
    with pytest.raises(PolicyError, match="another column"):
        shoal.anonymize(visits(), person_as="ill", **SETTINGS)
    readers = {**SETTINGS, "reader": {"a": ["age"]}, "person_as": "p"}
    with pytest.raises(PolicyError, match="readers"):
        shoal.anonymize(visits(), **readers)


@pytest.mark.parametrize("more", [{}, {"t": 0.9}])
def test_the_record_lets_its_owner_check(tmp_path: Path, more: dict) -> None:
    release = shoal.anonymize(visits(), **SETTINGS, **more)
    path = release.write(tmp_path / "r.csv")
    record = Path(f"{path}.record.json")
    assert command("verify", path).code == 5
    assert command("verify", path, "--record", record).code == 0
    found = shoal.verify(path, record=record)
    assert found.ok
    assert found.checks == release.verification.checks
    assert "Xq7" not in record.read_text("utf-8").split('"command"')[0]
    assert record.stat().st_mode & 0o077 == 0


def test_a_record_of_another_release_is_refused(tmp_path: Path) -> None:
    one = shoal.anonymize(visits(), **SETTINGS).write(tmp_path / "a.csv")
    two = shoal.anonymize(visits(seed=9), **SETTINGS).write(tmp_path / "b.csv")
    with pytest.raises(InputError, match="is not of the release"):
        shoal.verify(one, record=f"{two}.record.json")
    record = Path(f"{one}.record.json")
    damaged = json.loads(record.read_text("utf-8"))
    damaged["persons"] = "AAAA"
    record.write_text(json.dumps(damaged), "utf-8")
    with pytest.raises(InputError, match="damaged"):
        shoal.verify(one, record=record)
