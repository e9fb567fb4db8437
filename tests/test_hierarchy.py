"""Hierarchies: trees, their lowest common ancestors, builders, specs, errors."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared_data import DATA
from shoal.errors import HierarchyError, OutputError
from shoal.hierarchy import (
    Hierarchy,
    dates,
    groups,
    hierarchy_from_spec,
    intervals,
    prefixes,
)

COUNTRIES = {
    "Europe": ["Italy", "France", "Spain"],
    "America": {"North": ["US", "Canada"], "South": ["Brazil"]},
}
FILES = sorted(DATA.glob("hierarchies/*/*.csv"))


# The slow twin: walk the parents


def label_of(tree, lo, hi):
    """Label of the lowest common ancestor of the leaves lo..hi."""
    labels, index = tree.lca_labels([lo], [hi])
    return labels[index[0]]


def naive_lca(rows, lo, hi):
    """Label of, and number of leaves below, the lowest common ancestor of rows lo..hi."""
    if lo == hi:
        return rows[lo][0], 1
    for level in range(len(rows[0])):
        if len({row[level] for row in rows[lo : hi + 1]}) == 1:
            label = rows[lo][level]
            return label, sum(row[level] == label for row in rows)
    raise AssertionError("no common root")


def assert_agrees_with_twin(tree, pairs, extra=0):
    rows, climb = tree.to_rows(), tree.climb(extra)
    labels, index = tree.lca_labels([lo for lo, _ in pairs], [hi for _, hi in pairs])
    assert len(set(labels)) == len(labels)
    for (lo, hi), i in zip(pairs, index, strict=True):
        label, count = naive_lca(rows, lo, hi)
        assert labels[i] == label_of(tree, lo, hi) == label
        assert tree.spans[label][0] <= lo and hi <= tree.spans[label][1]
        if lo < hi:
            loss = 1.0 if label == "*" else count / (len(rows) + extra)
            assert climb[lo:hi].max() == loss


def assert_contiguous(tree):
    for level in range(tree.levels):
        labels, of_leaf = tree.generalize(level)
        assert len(set(labels)) == len(labels)
        assert set(np.diff(of_leaf).tolist()) <= {0, 1}
        assert [labels[i] for i in of_leaf] == [row[level] for row in tree.to_rows()]


labels_below = st.text(alphabet="abcxyz;,\"'\n\r é*", min_size=1, max_size=3)


@st.composite
def nested_trees(draw, depth=3):
    """A nested tree with distinct labels; leaves at different depths."""
    names = iter(range(10**6))

    def node(level):
        children = draw(st.integers(1, 4))
        if level == 0 or draw(st.booleans()):
            return [draw(labels_below) + str(next(names)) for _ in range(children)]
        return {draw(labels_below) + str(next(names)): node(level - 1) for _ in range(children)}

    return node(depth)


@st.composite
def trees_with_pairs(draw):
    tree = Hierarchy.from_tree(draw(nested_trees()))
    codes = st.integers(0, len(tree) - 1)
    pairs = draw(st.lists(st.tuples(codes, codes).map(sorted), min_size=1, max_size=20))
    return tree, pairs


@given(trees_with_pairs(), st.integers(0, 1))
def test_lca_agrees_with_walking_the_parents(case, extra):
    tree, pairs = case
    assert_contiguous(tree)
    assert_agrees_with_twin(tree, pairs, extra)


@given(nested_trees(), st.randoms(use_true_random=False))
def test_round_trip_through_rows(tree, random):
    tree = Hierarchy.from_tree(tree)
    assert Hierarchy.from_rows(tree.to_rows()) == tree
    shuffled = list(tree.to_rows())
    random.shuffle(shuffled)
    again = Hierarchy.from_rows(shuffled)
    assert_contiguous(again)
    assert sorted(again.to_rows()) == sorted(tree.to_rows())


@settings(max_examples=50)
@given(nested_trees())
def test_round_trip_through_a_file(tmp_path_factory, tree):
    path = tmp_path_factory.mktemp("hierarchy") / "tree.csv"
    tree = Hierarchy.from_tree(tree)
    tree.to_arx_csv(path)
    again = Hierarchy.from_arx_csv(path)
    assert again == tree
    assert again.digest() == tree.digest()
    assert hash(again) == hash(tree)


@given(trees_with_pairs())
def test_restricting_keeps_order_and_ancestors(case):
    tree, pairs = case
    kept = sorted({code for pair in pairs for code in pair})
    values = [tree.leaves[code] for code in kept]
    part = tree.restrict(values[::-1], "c")
    assert list(part.leaves) == values
    assert_contiguous(part)
    # every range of the part has the ancestor it had in the whole tree
    for i, lo in enumerate(kept):
        for j in range(i, len(kept)):
            assert label_of(part, i, j) == label_of(tree, lo, kept[j])


@pytest.mark.skipif(not FILES, reason=f"no hierarchy files in {DATA} (set SHOAL_DATA)")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_real_files(path, tmp_path):
    tree = Hierarchy.from_arx_csv(path)
    lines = [line for line in path.read_text("utf-8").splitlines() if line]
    assert {";".join(row) for row in tree.to_rows()} == set(lines)
    assert_contiguous(tree)
    rng = np.random.default_rng(0)
    pairs = np.sort(rng.integers(0, len(tree), (200, 2)), axis=1).tolist()
    assert_agrees_with_twin(tree, pairs)
    tree.to_arx_csv(tmp_path / "out.csv")
    assert Hierarchy.from_arx_csv(tmp_path / "out.csv") == tree


# Order, shape, access


def test_paper_004_figure_11():
    tree = Hierarchy.from_tree(
        {"Europe": ["Italy", "France", "Spain"], "America": ["US", "Canada"]}
    )
    code = tree.codes
    assert tree.climb()[code["Italy"] : code["France"]].max() == 3 / 5
    assert label_of(tree, code["Spain"], code["US"]) == "*"


def test_uneven_leaves_stay_themselves_near_the_leaf():
    tree = Hierarchy.from_tree(COUNTRIES)
    assert tree.to_rows()[0] == ("Italy", "Italy", "Europe", "*")
    assert tree.to_rows()[3] == ("US", "North", "America", "*")
    assert (tree.levels, tree.height, tree.root, len(tree)) == (4, 3, "*", 6)
    labels, of_leaf = tree.generalize(1)
    assert labels == ["Italy", "France", "Spain", "North", "South"]
    assert of_leaf.tolist() == [0, 1, 2, 3, 3, 4]
    assert tree.generalize(3)[0] == ["*"]
    with pytest.raises(HierarchyError, match="between 0 and 3, got 4"):
        tree.generalize(4)


def test_keys_without_children_and_other_scalars_are_leaves():
    tree = Hierarchy.from_tree({"a": [], "b": None, "c": "d", "e": [1, True, {"f": [2.5]}]}, "all")
    assert tree.leaves == ("a", "b", "d", "1", "true", "2.5")
    assert tree.root == "all"


def test_leaves_are_grouped_by_first_appearance():
    rows = [("b", "B", "*"), ("a", "A", "*"), ("c", "B", "*"), ("a", "A", "*")]
    assert Hierarchy.from_rows(rows).leaves == ("b", "c", "a")


@pytest.mark.parametrize(
    ("given_order", "natural"),
    [
        (["10", "9", "-1", "2.5"], ("-1", "2.5", "9", "10")),
        (["2024-02-01", "2023-12-31"], ("2023-12-31", "2024-02-01")),
        (["10", "9", "x"], ("10", "9", "x")),
    ],
)
def test_numbers_and_dates_are_in_natural_order(given_order, natural):
    assert Hierarchy.from_rows([(value, "*") for value in given_order]).leaves == natural


def test_equal_labels_on_a_path():
    tree = Hierarchy.from_rows([("White", "White", "*"), ("Pale", "White", "*"), ("x", "y", "*")])
    assert label_of(tree, 0, 0) == label_of(tree, 0, 1) == "White"
    assert tree.spans["White"] == (0, 1)
    assert tree.climb().tolist() == [2 / 3, 1.0]


def test_single_leaf():
    tree = Hierarchy.flat(["a"])
    assert tree.climb().shape == (0,)
    assert tree.lca_labels([0, 0], [0, 0])[0] == ["a"]
    labels, index = tree.lca_labels(np.zeros(0, int), np.zeros(0, int))
    assert labels == [] and index.shape == (0,)


def test_missing_counts_in_the_size_but_a_star_costs_one():
    rows = [("a", "A", "all"), ("b", "A", "all"), ("c", "C", "all")]
    assert Hierarchy.from_rows(rows).climb(extra=1).tolist() == [2 / 4, 3 / 4]
    starred = [(leaf, up, "*") for leaf, up, _ in rows]
    assert Hierarchy.from_rows(starred).climb(extra=1).tolist() == [2 / 4, 1.0]


@pytest.mark.parametrize(("lo", "hi"), [(0, 3), (-1, 0), (2, 1)])
def test_codes_outside_the_tree(lo, hi):
    with pytest.raises(IndexError, match="0 <= lo <= hi < 3"):
        Hierarchy.flat("abc").lca_labels([lo], [hi])


def test_many_ranges_at_once():
    tree = prefixes([f"{i:04d}" for i in range(10_000)])
    lo = np.random.default_rng(1).integers(0, 9_000, 100_000)
    hi = lo + np.random.default_rng(2).integers(0, 1_000, 100_000)
    labels, index = tree.lca_labels(lo, hi)
    for i in range(0, 100_000, 9_973):
        assert labels[index[i]] == naive_lca(tree.to_rows(), lo[i], hi[i])[0]


def test_travels_by_pickle_and_prints():
    tree = Hierarchy.from_tree(COUNTRIES, source="countries.csv")
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert repr(tree) == "Hierarchy('countries.csv', 6 leaves, 4 levels)"
    assert tree != "countries"


# What is not a tree


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "h is empty"),
        (["ab"], "expected at least a leaf and a root, got 1 label"),
        ([("a",)], r"h \(line 1\): expected at least a leaf and a root, got 1 label"),
        ([("a", "*"), ("b", "B", "*")], r"h \(line 2\): expected 2 labels .*, got 3"),
        ([("a", "", "*")], r"h \(line 1\): label 2 is empty"),
        (
            [("a", "A", "*"), ("a", "B", "*")],
            "h lists a leaf twice with different paths: lines 1 and 2",
        ),
        (
            [("a", "*"), ("b", "all")],
            r"h has two roots \(line 1, column 2: '\*'; line 2, column 2: a text of 3 characters\)",
        ),
        (
            [("a", "X", "A", "*"), ("b", "X", "B", "*")],
            r"h is not a tree: one label has two parents \(line 1, column 3: .*; line 2",
        ),
        (
            [("1", "1", "*"), ("2", "1", "*"), ("3", "2", "*")],
            r"one label \(a text of 1 character\) stands for two nodes, one of them in column 2",
        ),
    ],
)
def test_rows_that_are_no_tree(rows, message):
    with pytest.raises(HierarchyError, match=message) as error:
        Hierarchy.from_rows(rows, "h")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("tree", [{}, [], "Europe", 3, {"a": [None]}, {"a": ["x"], "b": ["x"]}])
def test_nested_data_that_is_no_tree(tree):
    with pytest.raises(HierarchyError, match="tree"):
        Hierarchy.from_tree(tree)


def test_values_that_are_not_covered():
    tree = Hierarchy.from_tree(COUNTRIES, source="countries.csv")
    with pytest.raises(HierarchyError) as error:
        tree.restrict(["Italy", *"gfedcba"], "country")
    assert str(error.value) == (
        "column 'country': 7 values are not in hierarchy countries.csv: texts of 1 character"
    )
    with pytest.raises(HierarchyError, match="1 value is not in"):
        tree.restrict(["Narnia"], "country")
    with pytest.raises(HierarchyError, match="has no values"):
        tree.restrict([], "country")


# Files


@pytest.mark.parametrize(
    "text",
    [
        "a;A;*\nb;A;*\n",
        "\ufeffa;A;*\r\nb;A;*\r\n",
        'a;A;*\n\n"b";"A";*\n',
        "a,A,*\nb,A,*",
    ],
    ids=["plain", "bom-crlf", "blank-quoted", "comma"],
)
def test_file_variants(tmp_path, text):
    path = tmp_path / "h.csv"
    path.write_bytes(text.encode())
    assert Hierarchy.from_arx_csv(path).to_rows() == (("a", "A", "*"), ("b", "A", "*"))


def test_commas_and_semicolons_inside_labels(tmp_path):
    path = tmp_path / "h.csv"
    path.write_text("Cooks, bakers;Food;*\n")
    assert Hierarchy.from_arx_csv(path).leaves == ("Cooks, bakers",)
    path.write_text('"x;y",Food,*\n')
    assert Hierarchy.from_arx_csv(path).leaves == ("x;y",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"a;\xff;*\n", r"is not UTF-8 \(byte 2\)"),
        (b'a;*\n"b;*\n', "not a well-formed CSV"),
        (b"a;A;*\n\n\nb;*\n", r"\(line 4\): expected 3 labels"),
    ],
)
def test_broken_files(tmp_path, content, message):
    path = tmp_path / "h.csv"
    path.write_bytes(content)
    with pytest.raises(HierarchyError, match=message) as error:
        Hierarchy.from_arx_csv(path)
    assert str(path) in str(error.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(HierarchyError, match="does not exist"):
        Hierarchy.from_arx_csv(tmp_path / "none.csv")
    with pytest.raises(HierarchyError, match="is a folder"):
        Hierarchy.from_arx_csv(tmp_path)
    with pytest.raises(HierarchyError, match="cannot be read"):
        Hierarchy.from_arx_csv(tmp_path / ("x" * 300))
    with pytest.raises(OutputError, match="cannot write"):
        Hierarchy.flat("ab").to_arx_csv(tmp_path / "none" / "out.csv")


# Builders


def paths(tree):
    return {row[0]: row[1:] for row in tree.to_rows()}


def test_intervals_of_integers_are_closed():
    tree = intervals(["5", "29", "30", "-3"], widths=[10, 20, 40])
    assert tree.leaves == ("-3", "5", "29", "30")
    assert paths(tree)["29"] == ("[20,29]", "[20,39]", "[0,39]", "*")
    assert paths(tree)["-3"] == ("[-10,-1]", "[-20,-1]", "[-40,-1]", "*")


def test_intervals_of_decimals_are_half_open():
    assert paths(intervals(["0.3", "2"], widths=[0.1, 1]))["0.3"] == ("[0.3,0.4)", "[0,1)", "*")
    assert paths(intervals(["20", "5"], widths=[2.5]))["5"] == ("[5,7.5)", "*")
    assert paths(intervals(["1e3", "5"], widths=[100], origin=50))["5"] == ("[-50,50)", "*")


def test_intervals_by_breaks():
    tree = intervals(["0", "17", "18", "120"], breaks=[0, 18, 65, 120])
    assert paths(tree) == {
        "0": ("[0,17]", "*"),
        "17": ("[0,17]", "*"),
        "18": ("[18,64]", "*"),
        "120": ("[65,120]", "*"),
    }
    assert paths(intervals(["1.5", "2"], breaks=[1, 2]))["2"] == ("[1,2]", "*")
    nested = intervals(["1", "7"], breaks=[[0, 5, 10, 20], [0, 10, 20]])
    assert paths(nested)["7"] == ("[5,9]", "[0,9]", "*")


@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=1, unique=True),
    st.integers(1, 50),
    st.integers(2, 5),
    st.integers(-20, 20),
)
def test_intervals_contain_their_values(numbers, width, factor, origin):
    tree = intervals(map(str, numbers), widths=[width, width * factor], origin=origin)
    for value, (fine, coarse, _) in paths(tree).items():
        for label, size in ((fine, width), (coarse, width * factor)):
            low, high = map(int, label[1:-1].split(","))
            assert low <= int(value) <= high and high - low + 1 == size
            assert (low - origin) % size == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either widths or breaks"),
        ({"widths": [1], "breaks": [1, 2]}, "either widths or breaks"),
        ({"widths": []}, "widths must be a list"),
        ({"widths": [0]}, "widths must be positive, got 0"),
        ({"widths": [10, 15]}, "15 is not a multiple of 10"),
        ({"widths": ["ten"]}, "expected a number, got 'ten'"),
        ({"breaks": [5]}, "at least two rising numbers, got 5"),
        ({"breaks": [[0, 5, 10], [0, 6]]}, "6 is not"),
        ({"breaks": [5, 6]}, "7 lies outside the breaks 5 to 6"),
    ],
)
def test_intervals_that_make_no_sense(options, message):
    with pytest.raises(HierarchyError, match=message):
        intervals(["5", "7"], **options)


def test_intervals_need_numbers():
    with pytest.raises(HierarchyError, match="expected numbers, got 'nan', a text of 1 character"):
        intervals(["1", "x", "nan"], widths=[10])
    with pytest.raises(HierarchyError, match="too large"):
        intervals(["1e999999"], widths=[1])


def test_prefixes_keep_the_length():
    tree = prefixes(["10077", "10076", "10120"])
    assert paths(tree)["10077"] == ("1007*", "100**", "10***", "1****", "*")
    assert label_of(tree, 0, 1) == "1007*"
    assert paths(prefixes(["10077"], keep=[3, 1]))["10077"] == ("100**", "1****", "*")
    assert paths(prefixes(["SW1A", "N1"]))["N1"] == ("N1", "N1", "N*", "*")
    with pytest.raises(HierarchyError, match="falling positive integers"):
        prefixes(["abc"], keep=[1, 2])


@given(st.lists(st.text(alphabet="01*", min_size=1, max_size=5), min_size=1))
def test_prefixes_always_form_a_tree(values):
    assert set(prefixes(values).leaves) == set(values)


def test_dates():
    tree = dates(["2024-03-05", "1999-12-31T23:59:00"])
    assert paths(tree)["2024-03-05"] == ("2024-03", "2024-Q1", "2024", "2020s", "*")
    assert tree.leaves[0] == "1999-12-31T23:59:00"
    assert paths(dates(["2024-11-05"], ["day", "quarter"]))["2024-11-05"][1] == "2024-Q4"


@pytest.mark.parametrize("value", ["2024-02-30", "2024-3-05", "5.3.2024", "2024-03-05x", ""])
def test_dates_need_iso(value):
    with pytest.raises(HierarchyError, match="expected dates as 2024-03-05"):
        dates(["2024-01-01", value])


@pytest.mark.parametrize("levels", [["week"], ["year", "month"], ["year", "year"], []])
def test_date_levels(levels):
    with pytest.raises(HierarchyError, match="levels must be"):
        dates(["2024-01-01"], levels)


def test_groups():
    tree = groups(["a", "c"], {"early": ["a", "b"], "late": ["c"]})
    assert paths(tree)["c"] == ("late", "*")
    assert paths(groups(["a", "z"], {"early": ["a"]}, other="rest"))["z"] == ("rest", "*")
    with pytest.raises(HierarchyError, match="7 values are in no group: texts of 1 character"):
        groups("abcdefgh", {"early": ["a"]})
    with pytest.raises(HierarchyError, match="group 'early' must be a list"):
        groups(["a"], {"early": "a"})
    with pytest.raises(HierarchyError, match="a leaf twice with different paths: 'a'"):
        groups(["a"], {"early": ["a"], "late": ["a"]})


# Specs


@pytest.mark.parametrize(
    ("spec", "values", "path"),
    [
        ("flat", ["x"], ("x", "*")),
        ("h.csv", ["x"], ("x", "X", "*")),
        ({"tree": {"X": ["x", "y"]}, "root": "any"}, ["x"], ("x", "X", "any")),
        ({"intervals": {"widths": [10]}}, ["7"], ("7", "[0,9]", "*")),
        ({"prefixes": {}}, ["ab"], ("ab", "a*", "*")),
        ({"dates": {"levels": ["year"]}}, ["2024-01-02"], ("2024-01-02", "2024", "*")),
        ({"groups": {"X": ["x", "y"]}}, ["x"], ("x", "X", "*")),
        ({"groups": {"X": ["y"]}, "other": "O"}, ["x"], ("x", "O", "*")),
        (Hierarchy.flat("xyz"), ["x"], ("x", "*")),
    ],
)
def test_specs(tmp_path, spec, values, path):
    (tmp_path / "h.csv").write_text("x;X;*\ny;X;*\n")
    tree = hierarchy_from_spec(spec, values, "c", tmp_path)
    assert tree.to_rows() == (path,)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("flatt", r"column 'c': hierarchy 'flatt' is no file in .*; expected \"flat\", the path"),
        (3, "tree, intervals, prefixes, dates, groups; got int"),
        ({}, "got a table with nothing"),
        ({"widths": [3]}, "got a table with 'widths'"),
        ({"tree": ["x"], "groups": {}}, "got a table with 'tree', 'groups'"),
        ({"tree": ["x"], "rot": "*"}, "unknown option 'rot'; allowed are tree, root"),
        ({"intervals": {"width": 3}}, "unknown option 'width'; allowed are widths, breaks, origin"),
        ({"intervals": [10]}, "expected a table with widths or breaks or origin, got list"),
        ({"groups": ["x"]}, "expected label = .*, got list"),
        (
            {"tree": ["y"]},
            "column 'c': 1 value is not in hierarchy tree of .*: a text of 1 c",
        ),
    ],
)
def test_specs_that_mean_nothing(tmp_path, spec, message):
    with pytest.raises(HierarchyError, match=message):
        hierarchy_from_spec(spec, ["x"], "c", tmp_path)


def test_a_column_without_values_needs_no_hierarchy():
    with pytest.raises(HierarchyError, match="'c' has no values"):
        hierarchy_from_spec("flat", [], "c", ".")
