"""Methods side by side: every row verified, refusals as rows, the files and the picture."""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

import csv
import json
import sys
from itertools import pairwise
from unittest import mock

import pytest

import shoal as package
from command import ROLES, SECRET, assert_refused, people, shoal
from shoal.engines.memory.canonical import canonical
from shoal.engines.memory.partition import partition
from shoal.errors import InputError, OutputError, PolicyError
from shoal.explore.compare import compare
from shoal.explore.comparison import BOUND, Comparison, Row
from shoal.metrics.queries import count_queries
from shoal.plan import Plan
from shoal.report.charts.frontier import LABEL_GAP, MEASURES, _apart, frontier
from shoal.report.charts.theme import ENDINGS, save

SETTINGS = {"qi": ["age", "gender", "education"], "sensitive": "occupation"}
QUALITY = ("gcp", "dm", "c_avg", "cube_divergence", "query_median", "query_p95")
MEASURED = ("seconds", *QUALITY, "groups")


@pytest.fixture(scope="module")
def census():
    return package.datasets.census(3000)


@pytest.fixture(scope="module")
def found(census):
    return compare(census, ["hilbert", "mondrian"], k=[5, 50], queries=200, **SETTINGS)


# The grid


def test_a_bound_is_a_row_that_no_release_is_below(census):
    few = census.slice(0, 300)
    found = compare(few, ["hilbert", "best"], k=[3, 6], queries=20, bound=True, **SETTINGS)
    bounds = {row.k: row.gcp for row in found.rows if row.method == BOUND}
    assert bounds.keys() == {3, 6}
    assert all(0 < bounds[row.k] <= row.gcp for row in found.rows)
    assert found.rows[-1].method == BOUND
    assert frontier(found).to_dict()["title"]


def test_rows_are_methods_then_k_then_l(census):
    grid = compare(census, "mondrian", k=[5, 10], l=[2, 3], queries=10, **SETTINGS)
    assert [(r.method, r.k, r.l) for r in grid.rows] == [
        ("mondrian", 5, 2), ("mondrian", 5, 3), ("mondrian", 10, 2), ("mondrian", 10, 3),
    ]  # fmt: skip
    assert all(row.ok for row in grid.rows)


def test_numbers_are_those_of_the_release(census, found):
    for row in found.rows:
        release = package.anonymize(census, method=row.method, k=row.k, **SETTINGS, rest="plain")
        assert row.gcp == pytest.approx(release.loss.gcp)
        assert row.dm == release.loss.dm
        assert row.c_avg == pytest.approx(release.loss.c_avg)
        assert row.groups == release.verification.classes
        assert all(getattr(row, name) is not None for name in MEASURED)


def test_stronger_promises_cost_more(found):
    for method in ("hilbert", "mondrian"):
        weak, strong = (row for row in found.rows if row.method == method)
        for name in ("gcp", "dm", "cube_divergence", "query_median"):
            assert getattr(weak, name) < getattr(strong, name), name


def test_one_value_needs_no_list_and_the_policy_gives_the_rest(census):
    grid = compare(census, "hilbert", policy=package.Policy.parse(**SETTINGS, k=7), queries=5)
    assert [(r.k, r.l, r.ok) for r in grid.rows] == [(7, None, True)]


def test_all_methods_by_default(census):
    from shoal.methods import METHODS

    grid = compare(census.slice(0, 300), l=2, queries=5, **SETTINGS)
    assert [row.method for row in grid.rows] == list(METHODS)


def test_options_of_a_method(census):
    grid = compare(
        census, ["hilbert", "hilbert:fast", "hilbert:fast=false", "mondrian:relaxed=true"], k=10,
        queries=5, **SETTINGS,
    )  # fmt: skip
    plain, fast, slow, relaxed = (row.gcp for row in grid.rows)
    assert plain == slow <= fast
    assert relaxed is not None
    shared = compare(
        census, ["hilbert", "mondrian"], k=10, option={"fast": True}, queries=5, **SETTINGS
    )
    assert [row.ok for row in shared.rows] == [True, True]
    assert shared.rows[0].gcp == fast


def test_a_refusal_is_a_row(census):
    grid = compare(census, ["mondrian", "anatomy"], k=10, l=[2, 900], queries=5, **SETTINGS)
    assert [row.ok for row in grid.rows] == [True, False, False, False]
    assert "900" in grid.rows[1].reason  # infeasible: too few values
    assert "anatomy" in grid.rows[2].reason  # refuses k
    assert all(getattr(grid.rows[2], name) is None for name in MEASURED)
    assert "anatomy" in repr(grid)
    assert grid.rows[2].reason in repr(grid)


def test_anatomy_answers_from_exact_values(census):
    grid = compare(census, ["mondrian", "anatomy"], l=3, queries=200, **SETTINGS)
    anatomy = grid.rows[1]
    assert anatomy.ok
    assert anatomy.gcp == 0
    assert anatomy.cube_divergence is not None
    release = package.anonymize(census, method="anatomy", l=3, **SETTINGS, rest="plain")
    assert (anatomy.dm, anatomy.c_avg) == (release.loss.dm, release.loss.c_avg)
    assert anatomy.groups == len(census) // 3


def test_points_instead_of_the_cube(census):
    """``kl="points"`` is the divergence of paper 000; that of anatomy follows from its groups."""
    from shoal.encoding.encode import encode
    from shoal.metrics.divergence import kl_divergence
    from shoal.metrics.queries import anatomy_divergence

    grid = compare(census, ["hilbert", "anatomy"], l=2, queries=5, kl="points", **SETTINGS)
    assert [row.cube_divergence for row in grid.rows] == [None, None]
    assert "point KL" in grid.headings()
    assert "point KL of occupation, " in grid.summary()
    assert frontier(grid, "kl").to_dict()["title"]["text"] == "KL divergence of the points by l"
    groups = {}
    for name in ("hilbert", "anatomy"):
        plan = Plan.of(package.Policy.parse(**SETTINGS, l=2, method=name))
        table = encode(census, plan.policy)
        table = canonical(table, plan.seed).table
        groups[name] = partition(table, plan)
    hilbert, anatomy = (row.point_divergence for row in grid.rows)
    assert hilbert == kl_divergence(table, groups["hilbert"].recoding)
    apart = groups["anatomy"].separated
    # All three quasi-identifiers at once are level 3 of the cube.
    assert anatomy == anatomy_divergence(table, apart, 3) == anatomy_divergence(table, apart, None)
    assert min(hilbert, anatomy) > 0


def test_without_a_sensitive_column_there_is_no_kl(census):
    grid = compare(census, "hilbert", k=5, qi=["age"], queries=5)
    assert grid.rows[0].cube_divergence is None
    assert "cube KL" not in grid.headings()
    assert grid.level == 1  # one attribute has no level 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"methods": "nosuch"}, "method: expected one of"),
        ({"qi": ["nosuch"]}, "no column 'nosuch'"),
        ({"option": {"nosuch": 1}}, "option 'nosuch': no method here has it"),
        ({"queries": 0}, "queries: expected"),
        ({"kl": "squares"}, "kl: expected one of cube, points"),
        ({"max_loss": 0.1, "k": None}, "max_loss: expected none"),
    ],
)
def test_what_is_wrong_with_all_is_an_error(census, settings, message):
    with pytest.raises(PolicyError, match=message):
        compare(census, **{"methods": "hilbert", "k": 5, **SETTINGS, **settings})


def test_progress_ends_with_the_grid(census):
    seen = []
    compare(census, ["hilbert"], k=[5, 10], queries=5, **SETTINGS,
            progress=lambda *step: seen.append(step))  # fmt: skip
    assert seen[0] == ("read", 0, 1)
    assert seen[-1] == ("done", 2, 2)
    assert ("hilbert k=10", 1, 2) in seen


# Out


def test_files_hold_every_row(found, tmp_path):
    rows = list(csv.DictReader(found.write(tmp_path / "grid.csv").open(encoding="utf-8")))
    assert [row["method"] for row in rows] == [row.method for row in found.rows]
    assert float(rows[0]["gcp"]) == found.rows[0].gcp
    plain = json.loads(found.write(tmp_path / "grid.json").read_text("utf-8"))
    assert plain == json.loads(json.dumps(found.to_dict()))
    assert plain["rows"][1]["cube_divergence"] == found.rows[1].cube_divergence
    assert plain["kl"] == "cube"
    page = found.write(tmp_path / "grid.md").read_text("utf-8").splitlines()
    assert page[0].startswith("| method | k | seconds | loss |")
    assert {line.count("|") for line in page[: 2 + len(found.rows)]} == {page[0].count("|")}


def test_text_is_aligned(found):
    lines = repr(found).splitlines()[2:]
    assert len({len(line) for line in lines}) == 1
    assert "3,000 records" in repr(found)


def test_markdown_of_a_refusal_keeps_its_columns():
    grid = Comparison(
        (Row("a", 5, None, 0.1, 0.2, 3, 1.0, None, 0.1, 0.2, 4), Row("b", 5, reason="x | y")),
        10, ("q",), None, 1, 5, 0.1,
    )  # fmt: skip
    rows = [line for line in grid.to_markdown().splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in rows}) == 1
    assert "x / y" in rows[-1]


def test_strange_targets_are_refused(found, tmp_path):
    with pytest.raises(OutputError, match=r"ends in .csv, .json, .md"):
        found.write(tmp_path / "grid.xlsx")
    with pytest.raises(OutputError, match="there is no directory"):
        found.write(tmp_path / "none" / "grid.csv")


# The picture


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("ending", ENDINGS)
def test_pictures_are_written(found, tmp_path, measure, ending):
    target = save(frontier(found, measure), tmp_path / f"frontier{ending}")
    content = target.read_bytes()
    if ending == ".png":
        assert content.startswith(b"\x89PNG")
    else:
        assert b"mondrian" in content
        assert b"cdn.jsdelivr" not in content  # nothing is fetched when it is opened
    assert list(tmp_path.iterdir()) == [target]


def test_axis_is_what_varies():
    rows = [Row("m", k, 3, 0.1, 0.1 * k, 1, 1.0, 0.1, 0.1, 0.1, 1) for k in (5, 10)]
    grid = Comparison(tuple(rows), 10, ("q",), "s", 1, 5, 0.1)
    assert "by k" in json.dumps(frontier(grid).to_dict())
    by_l = Comparison(
        tuple(Row("m", None, l, 1.0, 0.1) for l in (2, 3)), 10, ("q",), "s", 1, 5, 0.1
    )
    assert "by l" in json.dumps(frontier(by_l).to_dict())
    both = [Row("m", k, l, 0.1, 0.1) for k in (5, 10, 50) for l in (2, 3)]
    panels = frontier(Comparison(tuple(both), 10, ("q",), "s", 1, 5, 0.1)).to_dict()["hconcat"]
    assert [panel["title"]["text"] for panel in panels] == ["l = 2", "l = 3"]


def test_labels_keep_their_distance():
    assert _apart([10.0, 100.0]) == [10.0, 100.0]
    moved = _apart([50.0, 50.0, 51.0, 200.0])
    assert all(b - a >= LABEL_GAP - 1e-9 for a, b in pairwise(moved))
    assert sum(moved[:3]) == pytest.approx(151.0)  # around where they want to be


def test_nothing_to_draw_is_said():
    grid = Comparison((Row("m", 5, reason="no"),), 10, ("q",), None, 1, 5, 0.1)
    with pytest.raises(InputError, match="no release to draw"):
        frontier(grid)
    with pytest.raises(InputError, match="measure: expected one of gcp"):
        frontier(grid, "nosuch")


def test_a_missing_extra_names_itself(found):
    with (
        mock.patch.dict(sys.modules, {"altair": None}),
        pytest.raises(OutputError, match=r"pip install shoal\[report\]"),
    ):
        frontier(found)


# The command


def test_command_prints_and_writes(tmp_path):
    table = people(tmp_path / "in.csv", 200)
    result = shoal(
        "compare", table, *ROLES[4:], "--methods", "hilbert,mondrian", "-k", "5,10", "-l", "2",
        "--out", tmp_path / "grid.csv", "--picture", tmp_path / "grid.svg", "--queries", "20",
    )  # fmt: skip
    assert result.code == 0, result.err
    assert result.out.count("hilbert") == 2
    assert "wrote" in result.out
    assert SECRET not in result.out + result.err + (tmp_path / "grid.csv").read_text("utf-8")
    assert (tmp_path / "grid.svg").read_text("utf-8").startswith("<svg")


def test_command_as_json(tmp_path):
    table = people(tmp_path / "in.csv", 100)
    result = shoal("compare", table, "--qi", "age,zip", "-k", "5", "--methods", "hilbert,anatomy",
                   "--json", "--queries", "5", "--kl", "points")  # fmt: skip
    assert result.code == 0, result.err
    assert json.loads(result.out)["kl"] == "points"
    rows = json.loads(result.out)["rows"]
    assert [row["reason"] is None for row in rows] == [True, False]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["-k", "five"], "-k: expected numbers"),
        (["-k", "2.5"], "-k: expected whole numbers"),
        (["-k", "5", "--methods", "nosuch"], "method: expected one of"),
        (["-k", "5", "--out", "grid.xlsx"], "expected a name that ends in .csv"),
        (["-k", "5", "--picture", "grid.pdf"], "expected a name that ends in .svg"),
        (["-k", "5", "--level", "4"], "--level"),
        (["-k", "5", "--kl", "squares"], "--kl"),
    ],
)
def test_bad_usage_is_one_line(tmp_path, options, says):
    table = people(tmp_path / "in.csv")
    assert_refused(tmp_path, "compare", table, *ROLES[4:], *options, says=(says,))


def test_the_table_is_not_overwritten(tmp_path):
    table = people(tmp_path / "in.csv")
    assert_refused(
        tmp_path, "compare", table, *ROLES[4:], "-k", "5", "--out", table,
        says=("the output is the input",),
    )  # fmt: skip


def test_no_release_at_all_is_a_table_without_a_picture(tmp_path):
    table = people(tmp_path / "in.csv", 10)
    result = shoal("compare", table, "--qi", "age", "-k", "50", "--methods", "hilbert",
                   "--picture", tmp_path / "p.svg")  # fmt: skip
    assert result.code == 0
    assert "no release to draw" in result.err
    assert not (tmp_path / "p.svg").exists()


def test_queries_are_the_same_for_every_release(census):
    """The workload depends on the table and the seed, so errors compare like with like."""
    from shoal.encoding.encode import encode
    from shoal.encoding.table import Partition, Recoding

    table = encode(census, package.Policy.parse(**SETTINGS, k=2))
    whole = Recoding.single(Partition.whole(table.n), 3)
    assert count_queries(table, whole, seed=3) == count_queries(table, whole, seed=3)


def test_plain_columns_and_treated_ones_are_no_obstacle(census):
    asked = {"qi": ["age", "gender"], "sensitive": "occupation", "plain": ["salary"]}
    found = package.compare(census, ["hilbert"], k=[5], **asked, treat={"salary": "top:90%"})
    assert [row.ok for row in found.rows] == [True]
