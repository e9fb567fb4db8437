"""Anatomy: two tables, from which no sensitive value can be pinned on anybody."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InfeasibleError, InputError, PolicyError, VerificationError
from shoal.io.write import write_table
from shoal.methods.anatomy import draw


def naive_draw(counts, diversity):
    """How many groups and leftovers: one from each of the l largest buckets, while there are l."""
    left = Counter(counts)
    groups = 0
    while len(left) >= diversity:
        for value, _ in sorted(left.items(), key=lambda item: (-item[1], item[0]))[:diversity]:
            left[value] -= 1
            if not left[value]:
                del left[value]
        groups += 1
    return groups, sum(left.values())


@settings(max_examples=200, deadline=None)
@given(
    codes=st.lists(st.integers(0, 7), min_size=1, max_size=60),
    diversity=st.integers(1, 5),
    seed=st.integers(0, 3),
)
def test_groups_have_different_values_and_all_records(codes, diversity, seed):
    codes = np.array(codes, dtype=np.int32)
    counts = Counter(codes.tolist())
    diversity = min(diversity, len(codes) // max(counts.values()))  # more is not possible
    groups, residual = draw(codes, 8, diversity, seed)
    members = defaultdict(list)
    for group, code in zip(groups.tolist(), codes.tolist(), strict=True):
        members[group].append(code)
    for values in members.values():
        assert len(values) >= diversity
        assert len(set(values)) == len(values)
    assert (len(members), residual) == naive_draw(counts, diversity)
    assert residual < diversity


def release(n=500, **settings_):
    table = shoal.datasets.census(n)
    roles = {"qi": ["age", "gender", "country"], "sensitive": "occupation", "method": "anatomy"}
    return table, shoal.anonymize(table, **{**roles, "l": 4, **settings_}, rest="plain")


def test_the_first_table_has_no_sensitive_values_and_exact_quasi_identifiers():
    table, anatomy = release()
    assert "occupation" not in anatomy.data.column_names
    published = Counter(
        zip(*(map(str, anatomy.data[c].to_pylist()) for c in anatomy.qi), strict=True)
    )
    original = Counter(zip(*(map(str, table[c].to_pylist()) for c in anatomy.qi), strict=True))
    assert published == original
    counts = anatomy.sensitive_table.group_by("occupation").aggregate([("count", "sum")])
    assert dict(
        zip(counts["occupation"].to_pylist(), counts["count_sum"].to_pylist(), strict=True)
    ) == Counter(table["occupation"].to_pylist())


@pytest.mark.parametrize("reading", ["frequency", "distinct", "entropy", "unique"])
def test_every_reading_of_l_is_verified_from_the_two_files_alone(tmp_path, reading):
    _, anatomy = release(l_reading=reading)
    path = anatomy.write(tmp_path / "r.csv.gz")
    assert (tmp_path / "r.sensitive.csv.gz").exists()
    assert shoal.verify(path).ok
    (tmp_path / "r.csv.gz.manifest.json").unlink()
    alone = {"sensitive": "occupation", "sensitive_table": tmp_path / "r.sensitive.csv.gz"}
    assert shoal.verify(path, **alone, l=4, l_reading=reading).ok
    assert not shoal.verify(path, **alone, l=6).ok


def test_neither_file_can_be_exchanged(tmp_path):
    _, anatomy = release()
    path = anatomy.write(tmp_path / "r.csv")
    other = tmp_path / "r.sensitive.csv"
    lines = other.read_text().splitlines()
    other.write_text("\n".join(lines[:-1]) + "\n")
    with pytest.raises(VerificationError, match="SHA-256"):
        shoal.verify(path)
    with pytest.raises(VerificationError, match="disagree"):
        shoal.verify(path, sensitive="occupation", sensitive_table=other, l=4)


def test_order_and_numbers_say_nothing_about_who_has_what():
    """Swapping sensitive values between records of one group changes nothing published."""
    table = pa.table({"age": [1, 2, 3, 4], "disease": ["a", "b", "a", "b"]})
    swapped = pa.table({"age": [1, 2, 3, 4], "disease": ["b", "a", "b", "a"]})
    seen = set()
    for seed in range(20):
        for source in (table, swapped):
            r = shoal.anonymize(
                source,
                qi=["age"],
                sensitive="disease",
                l=2,
                method="anatomy",
                seed=seed,
                rest="plain",
            )
            seen.add((str(r.data.to_pylist()), str(r.sensitive_table.to_pylist())))
    rows = defaultdict(set)
    for first, second in seen:
        rows[first].add(second)
    assert all(len(second) == 1 for second in rows.values())


def test_what_anatomy_cannot_promise_it_refuses():
    with pytest.raises(PolicyError, match="k = 3"):
        release(k=3)
    with pytest.raises(PolicyError, match="one sensitive column"):
        release(sensitive=["occupation", "salary"])
    with pytest.raises(PolicyError, match="'group'"):
        table = shoal.datasets.census(50).append_column("group", pa.array(range(50)))
        shoal.anonymize(
            table, qi=["age"], sensitive="occupation", l=2, method="anatomy", rest="plain"
        )
    with pytest.raises(InfeasibleError):
        release(l=100)
    assert "not protected" in release()[1].manifest["notices"][0]


def test_the_second_table_never_takes_the_place_of_the_input(tmp_path):
    source = tmp_path / "r.sensitive.csv"
    write_table(shoal.datasets.census(200), source)
    before = source.read_bytes()
    roles = {"qi": ["age"], "sensitive": "occupation", "l": 2, "method": "anatomy"}
    with pytest.raises(PolicyError, match="the output is the input"):
        shoal.anonymize(source, **roles, rest="plain").write(tmp_path / "r.csv")
    assert source.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [source.name]


def test_a_manifest_that_points_elsewhere_is_refused(tmp_path):
    _, anatomy = release()
    path = anatomy.write(tmp_path / "r.csv")
    manifest = tmp_path / "r.csv.manifest.json"
    manifest.write_text(manifest.read_text().replace("r.sensitive.csv", "../r.sensitive.csv"))
    with pytest.raises(InputError, match="sensitive table"):
        shoal.verify(path)


def test_two_tables_promise_no_k_and_the_first_no_sensitive_value():
    raw = pa.table({"age": range(12), "s": list("abcdef") * 2, "group": [1] * 6 + [2] * 6})
    values = pa.table({"group": [1] * 6 + [2] * 6, "s": list("abcdef") * 2, "count": [1] * 12})
    roles = {"qi": ["age"], "sensitive": ["s"], "sensitive_table": values}
    with pytest.raises(PolicyError, match="l-diversity only; got k = 5"):
        shoal.verify(raw.drop_columns(["s"]), **roles, k=5)
    with pytest.raises(VerificationError, match="publishes the sensitive column 's'"):
        shoal.verify(raw, **roles, l=2)
    assert shoal.verify(raw.drop_columns(["s"]), **roles, l=2).ok


@pytest.mark.parametrize(("c", "least"), [(2, 2), (1, 3), (0.5, 4), (0.4, 4)])
def test_recursive_diversity_needs_more_values_where_c_is_small(c: float, least: int) -> None:
    """Found by the fuzzer: groups of l values broke (c, l) with c <= 1, and no release came."""
    table = pa.table({"age": list(range(60)), "ill": [f"d{i % 10}" for i in range(60)]})
    release = shoal.anonymize(
        table, qi="age", sensitive="ill", l=2, c=c, l_reading="recursive", method="anatomy"
    )
    assert release.verify().ok
    assert release.record["method"]["l"] == least


def test_recursive_diversity_that_no_group_has_is_refused() -> None:
    table = pa.table({"age": list(range(6)), "ill": ["a", "b"] * 3})
    with pytest.raises(InfeasibleError):
        shoal.anonymize(
            table, qi="age", sensitive="ill", l=2, c=0.5, l_reading="recursive", method="anatomy"
        )
