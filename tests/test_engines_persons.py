"""Persons of several records in ranges: kept whole, counted once, the same bytes by all engines."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from engine_tables import ROLES, patients
from shoal.encoding.marks import same_person, words_of_persons
from shoal.engines.duckdb import engine as duckdb_engine
from shoal.engines.duckdb import persons as duckdb_persons
from shoal.engines.duckdb import publishing
from shoal.engines.ranges.persons import home_of, numbered, staged_words, words_in
from shoal.errors import ShoalError
from shoal.io import batches
from shoal.io.write import write_table
from shoal.methods.best.method import Best
from shoal.methods.bsgi import BSGI
from shoal.methods.hilbert import Hilbert
from shoal.verification.record import persons_of

PERSONS = {**ROLES, "identifier": (), "person": "name"}


@pytest.fixture
def short_ranges(monkeypatch):
    """Ranges so short that a small table has many."""
    for method, records in ((Hilbert, 90), (BSGI, 110), (Best, 130)):
        monkeypatch.setattr(method, "by_range", records)


def released(source, out: Path, **asked) -> str:
    release = shoal.anonymize(source, out=out, seed=5, **{**PERSONS, **asked})
    assert release.verification.ok
    release.close()
    return hashlib.sha256(out.read_bytes()).hexdigest()


def classes_of(out: Path) -> list[list[tuple[int, str]]]:
    """Persons and diseases of every class, told by the released file and the record alone."""
    table, person = pq.read_table(out), persons_of(Path(f"{out}.record.json"), out)
    assert person is not None
    found = defaultdict(list)
    columns = [table.column(name).to_pylist() for name in ("age", "town", "degree", "disease")]
    for who, row in zip(person.tolist(), zip(*columns, strict=True), strict=True):
        found[row[:3]].append((who, row[3]))
    return list(found.values())


ASKED = [
    {"method": "hilbert", "k": 5},
    {"method": "hilbert", "l": 2},
    {"method": "hilbert", "k": 4, "l": 2, "l_reading": "distinct"},
    {"method": "bsgi", "l": 2},
    {"method": "best", "k": 4, "effort": "instant", "bound": False},
    {"method": "hilbert", "k": 3, "t": 0.45},
]


def enough(group: list[tuple[int, str]], asked: dict) -> bool:
    """Whether a class keeps k and l, counting everybody once: a slow twin of the models."""
    people = {who for who, _ in group}
    holders = defaultdict(set)
    for who, value in group:
        holders[value].add(who)
    most = max(map(len, holders.values()))
    l = asked.get("l", 1)  # noqa: E741
    diverse = len(holders) >= l if "l_reading" in asked else l * most <= len(people)
    return len(people) >= asked.get("k", 1) and diverse


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_engines_give_the_same_bytes_with_persons(asked, short_ranges, tmp_path):
    write_table(patients(), tmp_path / "in.parquet")
    source = tmp_path / "in.parquet"
    by_memory = released(source, tmp_path / "m.parquet", engine="memory", **asked)
    by_duckdb = released(source, tmp_path / "d.parquet", engine="duckdb", **asked)
    for out in ("m", "d"):
        groups = classes_of(tmp_path / f"{out}.parquet")
        assert sum(map(len, groups)) == 600
        assert all(enough(group, asked) for group in groups)
    assert by_memory == by_duckdb
    told, known = [], []
    for engine in "md":
        path = tmp_path / f"{engine}.parquet"
        claims = json.loads(Path(f"{path}.manifest.json").read_text())
        for own in ("generation", "release"):
            claims.pop(own)
        claims["notices"] = [n for n in claims["notices"] if "not worked out" not in n]
        told.append(claims)
        known.append(json.loads(Path(f"{path}.record.json").read_text()))
        assert shoal.verify(path, record=f"{path}.record.json").ok
    assert told[0] == told[1]
    assert known[0]["risk_before"] == known[1]["risk_before"]
    if "t" not in asked:
        assert known[1]["method"]["ranges"] > 2


def told(*arguments, **asked):
    """The release, or which error says that there is none."""
    try:
        return released(*arguments, **asked)
    except ShoalError as error:
        return type(error)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_nothing_but_seed_and_content_decides(data, short_ranges, tmp_path_factory):
    folder = tmp_path_factory.mktemp("same")
    table = patients(
        data.draw(st.integers(150, 500)), data.draw(st.integers(0, 99)),
        data.draw(st.sampled_from([1, 2, 6])),
    )  # fmt: skip
    asked = data.draw(st.sampled_from(ASKED[:4]))
    expected = told(table, folder / "m.csv", engine="memory", **asked)
    order = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(table.num_rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "ROWS", data.draw(st.integers(1, 200)))
        patch.setattr(publishing, "STRETCH", data.draw(st.integers(1, 300)))
        patch.setattr(duckdb_engine, "ROOM", data.draw(st.sampled_from([0, 3000, 10**7])))
        patch.setattr(duckdb_persons, "PART", data.draw(st.integers(20, 1000)))
        memory = data.draw(st.sampled_from(["400MB", "2GB"]))  # less refuses ranges that grew
        shuffled = table.take(pa.array(order))
        found = told(shuffled, folder / "d.csv", engine="duckdb", memory=memory, **asked)
    assert found == expected


def test_the_verification_counts_persons_in_the_written_file(short_ranges, tmp_path):
    """A release in which one person makes a class of k records is found out."""
    release = shoal.anonymize(
        patients(), engine="duckdb", temp=str(tmp_path), k=5, seed=5, method="hilbert", **PERSONS
    )
    assert release.verify().ok
    people = release.people
    pq.write_table(pa.table({"person": np.zeros(600, dtype=np.int32)}), people)
    found = release.verify()
    assert not found.ok
    assert found.checks[0].reached == 1
    pq.write_table(pa.table({"person": np.arange(599, dtype=np.int32)}), people)
    with pytest.raises(ShoalError):
        release.verify()
    release.close()


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(st.sampled_from([None, "", "?", "a", "b", "ab", "b\0", "é"]), min_size=1),
    missing=st.sampled_from([(), ("",), ("", "?")]),
    seed=st.integers(0, 99),
)
def test_words_say_who_it_is(names, missing, seed):
    words = words_of_persons(pa.chunked_array([pa.array(names, pa.string())]), missing)
    assert np.array_equal(words_in(staged_words(words)), words)
    assert np.array_equal(words_in(staged_words(words)[1:]), words[:, 1:])
    person, same = numbered(words), same_person(words)
    who = [None if name in missing else name for name in names]
    rng = np.random.default_rng(seed)
    bucket = rng.integers(0, 9, len(names)).astype(np.uint16)
    home, order = home_of(person, words[0], bucket, seed), rng.permutation(len(names))
    again = home_of(numbered(words[:, order]), words[0, order], bucket[order], seed)
    assert np.array_equal(again, home[order])
    for i, one in enumerate(who):
        lie = [b for b, other in zip(bucket, who, strict=True) if one == other]
        assert home[i] in lie
        for j, other in enumerate(who):
            assert (one == other) == (person[i] == person[j])
            assert (one == other) == bool((same[:, i] == same[:, j]).all())
            assert one != other or home[i] == home[j]
    assert sorted(set(person.tolist())) == list(range(len(set(who))))
