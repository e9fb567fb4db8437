"""`shoal hierarchy suggest`: trees from data that read well and work at once."""

from __future__ import annotations

import csv
import json
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from command import assert_refused, people, shoal
from random_tables import WORDS, microdata
from shoal.errors import InputError, PolicyError
from shoal.explore.suggestion import suggest
from shoal.hierarchy import Hierarchy
from shoal.hierarchy.suggest import (
    tree_of_codes,
    tree_of_dates,
    tree_of_groups,
    tree_of_numbers,
    usual_levels,
)
from shoal.io.write import write_table

QUICK = settings(max_examples=60, deadline=None)
FRUIT = ["apple", "cherry", "pear", "plum"]
ROOTS = ["beet", "carrot", "parsnip", "radish"]
GRAIN = ["barley", "oats", "rye", "wheat"]
KINDS = [FRUIT, ROOTS, GRAIN]


def harvest(n=1200, seed=0, **more):
    """Crops of three kinds; month and tool tell them apart, the farmer's illness does not."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    crop = [KINDS[k][rng.integers(0, 4)] for k in kind]
    table = {
        "farmer": [f"farmer{i}" for i in range(n)],
        "crop": crop,
        "month": kind * 3 + rng.integers(0, 4, n),
        "tool": [["ladder", "spade", "scythe"][k if rng.random() < 0.9 else 0] for k in kind],
        "disease": [f"s{i}" for i in rng.integers(0, 5, n)],
    }
    return pa.table({**table, **more})


# Groups of categories


def test_crops_of_one_kind_are_one_group():
    found = suggest(harvest(), "crop", levels=3)
    assert found.compared == ("month", "tool")  # neither the names nor the illness
    groups, index = found.tree.generalize(1)
    members = {frozenset(np.array(found.tree.leaves)[index == g]) for g in range(len(groups))}
    assert members == {frozenset(kind) for kind in KINDS}
    assert "{apple,cherry,pear,plum}" in groups


def test_named_roles_and_quasi_identifiers_decide_what_is_compared():
    table = harvest()
    assert suggest(table, "crop", qi=["crop", "tool"]).compared == ("tool",)
    assert suggest(table, "crop", sensitive="tool").compared == ("month",)
    assert suggest(table, "crop", identifier=["month"]).compared == ("tool",)


def test_a_sensitive_column_does_not_shape_the_tree():
    table = harvest()
    telling = harvest(disease=[f"s{len(crop)}" for crop in table["crop"].to_pylist()])
    one, other = (suggest(t, "crop", sensitive="disease").tree for t in (table, telling))
    assert one == other


@pytest.mark.parametrize("role", ["sensitive", "identifier"])
def test_a_column_with_another_role_gets_no_tree(role):
    with pytest.raises(PolicyError, match=f"'crop' is {role} in the policy"):
        suggest(harvest(), "crop", **{role: ["crop"]})


@QUICK
@given(st.data())
def test_groups_are_a_tree_over_all_values_with_labels_of_their_own(data):
    texts = data.draw(st.lists(st.sampled_from(WORDS) | st.text(max_size=9), min_size=1,
                               max_size=25, unique=True))  # fmt: skip
    counts = np.array([data.draw(st.integers(1, 99)) for _ in texts])
    rows = np.array([[data.draw(st.integers(0, 5)), 0] for _ in texts], dtype=np.float64)
    levels = data.draw(st.integers(2, 5))
    tree = tree_of_groups(texts, counts, rows, levels)
    assert sorted(tree.leaves) == sorted(texts)
    assert tree.levels <= levels
    assert tree.root == "*"
    sizes = [len(tree.generalize(level)[0]) for level in range(tree.levels)]
    assert sizes == sorted(sizes, reverse=True)
    for label, (low, high) in tree.spans.items():
        if label.startswith("{") and label.endswith("}") and label not in texts:
            assert all(leaf in label.replace('""', '"') for leaf in tree.leaves[low : high + 1])


def test_a_long_label_names_the_most_frequent_members():
    texts = [f"a long name of {i}" for i in range(5)] + ["zz", "zy", "zx", "zw"]
    counts = np.array([1, 2, 90, 4, 5, 6, 7, 8, 9])
    rows = np.array([[0.0]] * 5 + [[9.0]] * 2 + [[30.0]] * 2)
    labels = tree_of_groups(texts, counts, rows, 3).generalize(1)[0]
    assert "{zy,zz}" in labels
    assert any(label.startswith("a long name of 2 and ") for label in labels)
    assert not any(label.startswith("{a long") for label in labels)


def test_no_group_takes_all_but_a_few_odd_values():
    rows = np.array([[float(i)] for i in range(10)] + [[100.0], [300.0]])
    labels, index = tree_of_groups(list("abcdefghijkl"), np.ones(12, int), rows, 3).generalize(1)
    assert len(labels) == 3
    assert np.bincount(index).max() <= 7


def test_rare_values_of_a_large_domain_join_the_most_similar(monkeypatch):
    monkeypatch.setattr("shoal.hierarchy.suggest.CLUSTERED", 4)
    rows = np.array([[0.0], [1.0], [50.0], [51.0], [0.4], [50.2]])
    tree = tree_of_groups(list("abcdef"), np.array([9, 9, 9, 9, 1, 1]), rows, 3)
    assert sorted(tree.generalize(1)[0]) == ["{a,b,e}", "{c,d,f}"]


# Intervals, periods, prefixes


def test_ages_get_round_bounds():
    ages = list(range(17, 91))
    counts = np.array([max(1, 900 - 12 * abs(a - 35)) for a in ages])
    tree = tree_of_numbers([str(a) for a in ages], np.array(ages), counts, 4)
    fine, coarse = tree.generalize(1)[0], tree.generalize(2)[0]
    assert 5 <= len(fine) <= 9
    assert 2 <= len(coarse) <= 3
    assert {json.loads(label)[0] % 5 for label in fine} == {0}
    assert {json.loads(label)[0] % 10 for label in coarse[1:]} == {0}


@QUICK
@given(
    st.lists(st.integers(-(10**9), 10**9) | st.integers(0, 30), min_size=1, max_size=60,
             unique=True),
    st.integers(0, 4),
    st.integers(2, 6),
)  # fmt: skip
def test_intervals_nest_and_cover_all_numbers(numbers, digits, levels):
    texts = [format(Decimal(number).scaleb(-digits), "f") for number in numbers]
    amounts = np.array([float(text) for text in texts]) if digits else np.array(numbers)
    tree = tree_of_numbers(texts, amounts, np.ones(len(texts), dtype=np.int64), levels)
    assert sorted(tree.leaves) == sorted(texts)
    assert tree.levels <= levels
    assert len(tree.generalize(tree.height)[0]) == 1


def test_one_frequent_number_does_not_take_all_bounds():
    gains = np.array([0, *range(1000, 50_000, 500)])
    counts = np.array([27_000, *[20] * (len(gains) - 1)])
    tree = tree_of_numbers([str(g) for g in gains], gains, counts, 4)
    assert len(tree.generalize(1)[0]) >= 5


def test_dates_get_periods_that_divide_them():
    days = [f"{2015 + i // 12}-{i % 12 + 1:02d}-{d:02d}" for i in range(60) for d in (3, 17, 28)]
    tree = tree_of_dates(days, 4)
    assert tree.generalize(2)[0] == [str(year) for year in range(2015, 2020)]
    assert tree.levels == 4
    assert tree_of_dates(["2024-01-01", "2024-01-02"], 4) == Hierarchy.flat(
        ["2024-01-01", "2024-01-02"]
    )


def test_codes_get_prefixes():
    codes = [f"{i:05d}" for i in range(100, 2100, 7)]
    tree = tree_of_codes(codes, 4)
    assert tree.levels >= 3
    assert all(label.endswith("*") for label in tree.generalize(1)[0])
    table = pa.table({"plz": codes, "age": list(range(len(codes)))})
    assert suggest(table, "plz", kind={"plz": "categorical"}).tree == tree


@pytest.mark.parametrize(("values", "levels"), [(2, 2), (3, 2), (12, 3), (9000, 4)])
def test_usual_levels_are_few(values, levels):
    assert usual_levels(values) == levels


# Any table, and the command


@QUICK
@given(microdata(most=40), st.none() | st.integers(2, 5))
def test_every_column_of_random_tables_gets_a_tree_that_can_be_used(source_and_settings, levels):
    source, given_settings = source_and_settings
    name = given_settings["qi"][0]
    asked = {"qi": given_settings["qi"], "kind": given_settings["kind"]}
    try:
        tree = suggest(source, name, levels=levels, **asked).tree
    except (InputError, PolicyError) as error:
        assert "missing" in str(error) or "no other column" in str(error) or "date" in str(error)
        reject()
    present = {str(v) for v in source[name].to_pylist() if v is not None}
    assert set(tree.leaves) == present
    with TemporaryDirectory() as folder:
        tree.to_arx_csv(Path(folder) / "tree.csv")
        assert Hierarchy.from_arx_csv(Path(folder) / "tree.csv") == tree


@pytest.fixture
def farm(tmp_path, monkeypatch):
    write_table(harvest(), tmp_path / "harvest.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_suggested_trees_go_through_anonymize_and_verify(farm):
    for column in ("crop", "month"):
        done = shoal("hierarchy", "suggest", "harvest.csv", "--column", column,
                     "-o", f"{column}.csv", "--sensitive", "disease")  # fmt: skip
        assert done.code == 0
        assert f"--hierarchy {column}={column}.csv" in done.out
    done = shoal("anonymize", "harvest.csv", "-o", "out.csv",
                 "--rest", "plain", "--qi", "crop,month,tool", "-k", "9",
                 "--identifier", "farmer", "--sensitive", "disease", "-l", "2",
                 "--hierarchy", "crop=crop.csv", "--hierarchy", "month=month.csv")  # fmt: skip
    assert done.code == 0, done.err
    assert shoal("verify", "out.csv").code == 0
    with (farm / "out.csv").open(newline="") as file:
        crops = {row["crop"] for row in csv.DictReader(file)}
    assert crops <= set(Hierarchy.from_arx_csv(farm / "crop.csv").spans)


def test_without_a_file_the_tree_is_printed_and_the_columns_are_said(farm):
    done = shoal("hierarchy", "suggest", "harvest.csv", "--column", "crop", "--levels", "3")
    assert done.err == "note: values compared by month, tool; --qi names others\n"
    rows = [tuple(row) for row in csv.reader(done.out.splitlines(), delimiter=";")]
    assert Hierarchy.from_rows(rows) == suggest("harvest.csv", "crop", levels=3).tree
    quiet = shoal("hierarchy", "suggest", "harvest.csv", "--column", "crop", "--qi", "tool")
    assert quiet.err == ""


def test_json_holds_the_tree_and_what_it_was_made_from(farm):
    done = shoal("hierarchy", "suggest", "harvest.csv", "--column", "crop", "--json", "-q")
    found = json.loads(done.out)
    assert (found["column"], found["kind"]) == ("crop", "categorical")
    assert found["compared"] == ["month", "tool"]
    assert Hierarchy.from_rows(found["rows"]).levels == found["levels"]
    assert done.err == ""


def test_a_policy_says_what_to_compare_by(farm):
    (farm / "shoal.toml").write_text(
        'qi = ["crop", "tool"]\nsensitive = ["disease"]\nk = 5\nl = 2\n'
    )
    asked = ("hierarchy", "suggest", "harvest.csv", "--policy", "shoal.toml")
    assert json.loads(shoal(*asked, "--column", "crop", "--json").out)["compared"] == ["tool"]
    assert "'disease' is sensitive" in shoal(*asked, "--column", "disease").err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--column", "nothing"], ("no column 'nothing'", "columns")),
        (["--column", "age", "--levels", "1"], ("at least 2", "got 1")),
        (["--column", "name", "--identifier", "name"], ("'name' is identifier",)),
        (["--column", "note", "--qi", "note"], ("no other column",)),
        (["--column", "note", "--kind", "note=numeric"], ("expected finite numbers",)),
        (["--column", "age", "-o", "out.csv"], ("exists already",)),
        (["--column", "age", "-o", "people.csv"], ("would replace the table",)),
        (["--column", "age", "-o", "no/tree.csv"], ("no directory",)),
        ([], ("--column",)),
    ],
)
def test_refusals_are_one_kind_line(tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    people(tmp_path / "people.csv")
    assert_refused(tmp_path, "hierarchy", "suggest", "people.csv", *arguments, says=says)
