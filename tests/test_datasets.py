"""Data sets: the papers' examples cell by cell, and the census generator."""

import hashlib
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from shoal import datasets
from shoal.datasets import DATASETS, census, census_hierarchies
from shoal.datasets import frequencies as tables
from shoal.errors import InputError

# Table 1 of paper 004
DOMAIN = {
    "age": 79,
    "gender": 2,
    "education": 17,
    "marital": 6,
    "race": 9,
    "workclass": 10,
    "country": 83,
    "occupation": 50,
    "salary": 50,
}
LEVELS = {"gender": 2, "marital": 3, "race": 2, "workclass": 4, "country": 3}


@pytest.fixture(scope="module")
def people():
    return census(200_000, seed=1)


def digest(table):
    """SHA-256 of the cells as text, whatever the encoding of the columns."""
    lines = (",".join(map(str, row.values())) for row in table.to_pylist())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


# The papers' examples


@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [
        ("hospital", 10, ["name", "age", "gender", "education", "disease"]),
        ("disease", 7, ["name", "gender", "postcode", "age", "disease"]),
        ("traffic-accidents", 4, ["occupation", "age", "vehicle", "postcode", "faulty"]),
        ("ages-weights", 12, ["age", "weight", "disease"]),
        ("xray", 4, ["first", "last", "age", "race"]),
        ("census", 10_000, list(DOMAIN)),
    ],
)
def test_registry(name, rows, columns):
    table = DATASETS[name]()
    assert isinstance(table, pa.Table)
    assert (table.num_rows, table.column_names) == (rows, columns)
    assert not any(column.null_count for column in table.columns)


def test_registry_is_complete():
    public = {name.replace("_", "-") for name in datasets.__all__}
    assert set(DATASETS) == public - {"DATASETS", "census-hierarchies"}


def test_hospital_has_the_groups_of_the_paper():
    """Section 5.2's example: QI-groups {1,2}, {3}, {4}, {5,6,7,8}, {9,10}."""
    rows = datasets.hospital().to_pylist()
    groups = Counter((row["age"], row["gender"], row["education"]) for row in rows)
    assert list(groups.values()) == [2, 1, 1, 4, 2]
    removed = [row["disease"] for row in rows[:4]]
    assert removed == ["HIV", "HIV", "pneumonia", "bronchitis"]


def test_disease_has_the_buckets_of_the_paper():
    diseases = datasets.disease()["disease"].to_pylist()
    buckets = {d: [i for i, v in enumerate(diseases, 1) if v == d] for d in diseases}
    assert buckets == {"Cancer": [1, 4], "Flu": [3, 5], "Obesity": [2, 6, 7]}


def test_ages_weights_obeys_the_statements_of_the_paper():
    rows = datasets.ages_weights().to_pylist()
    first = rows[:4]  # 1-D values 22..31: "Age 35-45 and Weight 50-65"
    assert (min(r["age"] for r in first), max(r["age"] for r in first)) == (35, 45)
    assert (min(r["weight"] for r in first), max(r["weight"] for r in first)) == (50, 65)
    assert Counter(r["disease"] for r in first)["pneumonia"] == 1
    left = [r for r in rows if r["age"] <= 55]
    assert Counter(r["disease"] for r in left)["gastritis"] == 3
    assert len(left) == 6
    assert all(r["age"] >= 55 for r in rows if r["disease"] == "Alzheimer's")
    values = (22, 24, 30, 31, 33, 35, 40, 42, 55, 56, 61, 63)
    at = dict(zip(values, rows, strict=True))
    for group in ((22, 24, 31), (30, 35, 56), (33, 40, 42), (55, 61, 63)):  # Figure 1(c)
        assert len({at[value]["disease"] for value in group}) == 3
    # both ranges are 35 wide: "the normalized ranges for both dimensions are the same"
    assert {max(r[c] for r in rows) - min(r[c] for r in rows) for c in ("age", "weight")} == {35}


# The census


def test_census_schema(people):
    assert people.column_names == list(DOMAIN)
    for name, size in DOMAIN.items():
        assert len(people[name].unique()) == size, name
        kind = people.schema.field(name).type
        if name in ("age", "education", "salary"):
            assert kind == pa.int32()
        else:
            assert kind == pa.dictionary(pa.int32(), pa.string())


def test_census_does_not_change():
    """A new numpy, platform or refactoring must not change what papers and benchmarks cite."""
    assert digest(census(1000)) == (
        "89958cbe7d2f636ae5c5334bdc8c2d4dd75809854cd18e0fda1e0e0bd6e8409b"
    )
    assert digest(census(70_000, seed=7).slice(69_000)) == (
        "b1d196aec87b16facdf7638c8b77620d5bc46cc73a96d8d65ee23f4bd7db1ecc"
    )


def test_census_prefix_and_seed(people):
    assert census(1_000, seed=1).equals(people.slice(0, 1_000))
    assert census(66_000, seed=1).equals(people.slice(0, 66_000))
    assert not census(1_000, seed=2).equals(people.slice(0, 1_000))
    assert census(0).num_rows == 0
    assert census(np.int64(3)).num_rows == 3


@pytest.mark.parametrize("bad", [{"n": -1}, {"n": 2.5}, {"n": True}, {"n": 5, "seed": -1}])
def test_census_arguments(bad):
    with pytest.raises(InputError, match="must be a non-negative integer"):
        census(**bad)


@pytest.mark.parametrize(("column", "most"), [("occupation", 13), ("salary", 20)])
@pytest.mark.parametrize("n", [500, 200_000])
def test_census_can_be_diverse(column, most, n, people):
    """The papers go up to l = 13 on occupation."""
    counts = pc.value_counts(people.slice(0, n)[column])
    assert most * max(count.as_py() for count in counts.field("counts")) <= n


def test_census_is_skewed_and_correlated(people):
    frame = people.to_pandas()
    assert 0.80 < (frame["country"] == "United States").mean() < 0.92
    assert (frame["race"] == "White").mean() > 0.6
    assert frame["education"].corr(frame["salary"]) > 0.4
    assert frame["age"].corr(frame["salary"]) > 0.15
    young = frame["age"] < 22
    assert (frame.loc[young, "marital"] == "Never married").mean() > 0.85
    assert (frame.loc[young, "education"] == 17).mean() < 0.001
    nurses = frame["occupation"] == "Registered nurse"
    assert (frame.loc[nurses, "gender"] == "Female").mean() > 0.8
    assert (frame.loc[frame["country"] == "Japan", "race"] == "Japanese").mean() > 0.5
    police = frame["occupation"] == "Police officer"
    assert frame.loc[police, "workclass"].str.contains("government").mean() > 0.5


def test_census_has_many_unique_people(people):
    """Like the real census: most quasi-identifier tuples occur once."""
    sizes = people.group_by(list(DOMAIN)[:7]).aggregate([([], "count_all")])["count_all"]
    assert pc.sum(pc.equal(sizes, 1)).as_py() > 0.5 * len(sizes)


def test_census_weights_are_usable():
    """Positive rows, and small enough that integer arithmetic cannot overflow."""
    for name in tables.__all__:
        if name.endswith("_weights"):
            weights = getattr(tables, name)()
            assert weights.min() >= 0 and weights.sum(axis=1).min() > 0, name
            assert int(weights.sum(axis=1).max()) * 65_536 < 2**62, name
    assert sum(int(points.max()) for points in tables.pay_scores()) < tables.PAY_SCORES


def test_census_hierarchies(people):
    trees = census_hierarchies()
    assert {name: tree.levels for name, tree in trees.items()} == LEVELS
    for name, tree in trees.items():
        assert set(tree.leaves) == set(people[name].unique().to_pylist())
        assert tree.root == "*"
