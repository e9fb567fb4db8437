"""Stars instead of intervals, and values coarsened to a level of their tree first."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pyarrow import csv

import shoal
from command import shoal as command
from conformance import released
from random_tables import microdata
from shoal.encoding.encode import encode
from shoal.encoding.recode import recode
from shoal.encoding.table import Domain, Partition, Recoding
from shoal.errors import InfeasibleError, PolicyError, ShoalWarning
from shoal.metrics.coverage import covered
from shoal.metrics.loss import gcp

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
TREE = {"school": ["9th", "10th"], "college": ["Bachelor", "Master"]}
PEOPLE = pa.table(
    {
        "age": [20, 20, 31, 31, 45, 45],
        "degree": ["9th", "10th", "10th", "Bachelor", "Master", "Master"],
        "disease": ["flu", "cold", "flu", "gout", "gout", "cold"],
    }
)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_cell_is_exact_or_a_star(data):
    table, roles = data.draw(microdata())
    method = data.draw(st.sampled_from(["hilbert", "mondrian", "topdown", "idistance"]))
    k = data.draw(st.integers(1, 3))
    chosen = {**roles, "recoding": "suppress", "keep_order": True}
    release = released(table, method, {"k": k}, ["disease"], **chosen)
    rows = list(zip(*(release.data.column(q).to_pylist() for q in roles["qi"]), strict=True))
    sizes = defaultdict(int)
    for row in rows:
        sizes[row] += 1
    assert min(sizes.values()) >= k
    stars = 0
    for name, published in zip(roles["qi"], zip(*rows, strict=True), strict=True):
        for cell, original in zip(published, table.column(name).to_pylist(), strict=True):
            plain = None if original in {None, ""} else str(original)
            assert cell in {plain, "*"}
            stars += cell == "*"
    assert release.loss.stars == stars
    own_stars = any("*" in table.column(q).to_pylist() for q in roles["qi"])
    if not own_stars:  # all weights are 1: the loss is the share of stars
        assert release.loss.gcp == pytest.approx(stars / (len(rows) * len(roles["qi"])))


def test_a_group_without_stars_loses_nothing_and_others_everything():
    release = shoal.anonymize(
        PEOPLE, qi=["age", "degree"], sensitive="disease", k=2, method="mondrian",
        recoding="suppress", rest="plain",
    )  # fmt: skip
    assert set(release.data.column("degree").to_pylist()) == {"*", "Master"}
    assert release.loss.ncp == {"age": 0, "degree": pytest.approx(4 / 6)}
    assert (release.loss.stars, release.loss.suppressed_tuples) == (4, 4)
    assert release.manifest["method"]["recoding"] == "suppress"


def test_bounds_of_a_suppressed_number_are_missing():
    release = shoal.anonymize(
        PEOPLE,
        qi=["age"],
        k=3,
        method="hilbert",
        recoding="suppress",
        layout="bounds",
        rest="plain",
    )
    assert release.data.column("age_min").to_pylist() == [None] * 6


def test_values_are_coarsened_to_a_level_before_anything_else():
    release = shoal.anonymize(
        PEOPLE, qi=["degree"], k=2, hierarchy={"degree": {"tree": TREE}}, coarsen={"degree": 1},
        method="hilbert", rest="plain",
    )  # fmt: skip
    assert sorted(release.data.column("degree").to_pylist()) == ["college"] * 3 + ["school"] * 3
    assert release.loss.gcp == pytest.approx(2 / 4)  # a node costs its leaves of all leaves
    assert release.manifest["policy"]["coarsen"] == {"degree": 1}


@settings(max_examples=100, deadline=None)
@given(cells=st.lists(st.sampled_from(["a", "b", "c", "d", "e", None]), min_size=1, max_size=20),
       level=st.integers(0, 3), data=st.data())  # fmt: skip
def test_coarsening_and_mixing_loses_as_the_tree_says(cells, level, data):
    tree = {"root1": {"x": ["a", "b"], "y": ["c"]}, "root2": {"z": ["d", "e"]}}
    spec = {"q": {"tree": tree, "root": "any"}}
    ids = data.draw(st.lists(st.integers(0, 3), min_size=len(cells), max_size=len(cells)))
    assume(any(cell is not None for cell in cells))
    source = pa.table({"q": pa.array(cells, pa.string())})
    policy = shoal.Policy.parse(qi=["q"], hierarchy=spec, coarsen={"q": level}, k=1)
    table = encode(source, policy)
    partition = Partition.from_group_ids(np.array(ids))
    recoding = Recoding.single(partition, 1)
    paths = {"a": "xr", "b": "xr", "c": "yr", "d": "zs", "e": "zs"}
    present = {c for c in cells if c is not None}
    size = len(set(cells))

    def node(value, depth):  # the node of a value: itself, its letters from the leaf up, the root
        return [value, *paths[value], "any"][depth]

    expected = 0.0
    for g in set(ids):
        group = {c for c, i in zip(cells, ids, strict=True) if i == g}
        count = ids.count(g)
        nodes = {None if c is None else node(c, level) for c in group}
        if group == {None}:
            continue
        if None in nodes:
            expected += count
            continue
        meets = next(d for d in range(level, 4) if len({node(c, d) for c in group}) == 1)
        if len(nodes) > 1 and level == 2:  # directly below the root: a flat tree, released as "*"
            expected += count
            continue
        one = next(iter(group))
        leaves = sum(node(c, meets) == node(one, meets) for c in present)
        expected += count * (leaves / size if leaves > 1 else 0)
    assert gcp(table, recoding) == pytest.approx(expected / len(cells))


def test_a_coarser_domain_is_published_block_by_block():
    policy = shoal.Policy.parse(
        qi=["age", "degree", "disease"], hierarchy={"degree": {"tree": TREE}}, k=1
    )
    table = encode(PEOPLE, policy)
    starts = {"age": [0, 2], "degree": [0, 2], "disease": [0]}
    domains = tuple(Domain.of_starts(np.array(starts[c.name]), c.size) for c in table.qi)
    whole = Partition.from_group_ids(np.array([0, 0, 1, 2, 3, 3]))
    recoding = Recoding.single(whole, 3, domains)
    columns = recode(table, recoding)
    published = [[c.texts[i] for i in c.index] for c in columns]
    assert published[0] == ["[20,31]"] * 4 + ["45"] * 2
    assert len(set(published[1])) == 2
    assert set(published[2]) == {"*"}  # all of the domain says nothing
    ages, degrees = 4 / 6 * (11 / 25), 2 / 4
    assert gcp(table, recoding) == pytest.approx((ages + degrees + 1) / 3)
    covers = covered(table, recoding).covers
    assert [int(c.width[g]) for c in covers for g in (0, 3)] == [2, 1, 2, 2, 3, 3]


def test_what_cannot_be_coarsened_says_why():
    with pytest.raises(PolicyError, match="expected a hierarchy of 'age' to climb; got none"):
        shoal.Policy.parse(qi=["age"], coarsen={"age": 1})
    with pytest.raises(PolicyError, match="expected a level from 0 to 2"):
        shoal.anonymize(
            PEOPLE,
            qi=["degree"],
            k=2,
            hierarchy={"degree": {"tree": TREE}},
            coarsen={"degree": 3},
            rest="plain",
        )


def test_a_method_says_which_recoding_it_can_do():
    with pytest.raises(PolicyError, match="anatomy: expected recoding generalise; got suppress"):
        shoal.anonymize(
            PEOPLE,
            qi=["age"],
            sensitive="disease",
            l=2,
            method="anatomy",
            recoding="suppress",
            rest="plain",
        )


def test_stars_and_levels_on_the_command_line(table, out):
    path = table.parent / "tree.csv"
    path.write_text("9th;school;*\n10th;school;*\nBachelor;college;*\nMaster;college;*\n")
    source = table.parent / "degrees.csv"
    csv.write_csv(PEOPLE, source)
    done = command(
        "anonymize", source, "-o", out,
        "--rest", "plain", "--qi", "age,degree", "--sensitive", "disease", "-k", 3,
        "--hierarchy", f"degree={path}", "--coarsen", "degree=1", "--recoding", "suppress",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert sorted(line.rsplit(",", 1)[0] for line in out.read_text().splitlines()[1:]) == [
        "*,college", "*,college", "*,college", "*,school", "*,school", "*,school",
    ]  # fmt: skip


ALL_DISTINCT = pa.table(
    {"id": list(range(100)), "born": list(range(1900, 2000)), "disease": ["flu", "cold"] * 50}
)


@pytest.mark.parametrize("method", ["tp", "tp+", "hilbert", "mondrian"])
def test_who_is_alone_with_everything_is_said_before_the_work(method):
    with pytest.warns(ShoalWarning, match="will lose nearly everything; coarsen the wide.*hilbert"):
        release = shoal.anonymize(
            ALL_DISTINCT, qi=["id", "born"], sensitive="disease", l=2, method=method,
            recoding="suppress", rest="plain",
        )  # fmt: skip
    assert any("nearly everything" in line for line in release.record["notices"])


def test_the_warning_is_a_notice_on_the_command_line(tmp_path, out):
    source = tmp_path / "distinct.csv"
    csv.write_csv(ALL_DISTINCT, source)
    arguments = ["--qi", "id,born", "--sensitive", "disease", "-l", 2, "--method", "tp"]
    done = command("anonymize", source, "-o", out, "--rest", "plain", *arguments)
    assert done.code == 0
    assert done.err.count("suppression will lose nearly everything") == 1
    assert (
        "nearly everything"
        not in command("anonymize", source, "-o", out, "--rest", "plain", *arguments, "-q").err
    )


def test_generalising_warns_of_nothing(recwarn):
    shoal.anonymize(ALL_DISTINCT, qi=["id", "born"], sensitive="disease", l=2, rest="plain")
    assert not [w for w in recwarn if issubclass(w.category, ShoalWarning)]


@pytest.mark.parametrize("method", ["tp", "tp+", "cover", "optimal", "attributes"])
def test_a_k_above_the_number_of_records_is_refused_before_the_work(method):
    with pytest.raises(InfeasibleError, match="the table has 6 records"):
        shoal.anonymize(PEOPLE, qi=["age"], k=7, method=method, rest="plain")
