"""Several readers of one release: every reader's models first, then the loss (paper 003)."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import naive_butterfly as naive
import naive_models
import shoal
from columns import columns_of, encoded_table, qi_column
from guarantees import fails_as_a_whole
from random_tables import _column, quasi_identifier
from shoal.encoding.codebook import SPAN, TREE
from shoal.encoding.table import Partition, Recoding
from shoal.errors import InfeasibleError, NotFoundError, PolicyError
from shoal.kernels.butterfly.units import best_groups, cheapest_groups, new_walk, units_of
from shoal.methods.butterfly.body import body_first
from shoal.methods.butterfly.division import division_of
from shoal.methods.butterfly.wings import ButterflyInputs, group_wings
from shoal.methods.papers import butterfly as paper
from shoal.metrics.loss import gcp
from shoal.models import KAnonymity, View, models_of

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")

MODELS = [{}, {}, {}, {"l": 2}, {"l": 2, "l_reading": "distinct"}, {"alpha": 0.7}, {"t": 0.5}]
OPTIONS = [
    {},
    {"strategy": "paper"},
    {"inner": "mondrian"},
    {"strategy": "best", "inner": "mondrian", "refine": True},
    {"refine": True},
    {"refine": False},
    {"inner": "topdown"},
]


@st.composite
def shared_tables(draw, most=30):
    """A table of two to five attributes, and two to four readers that know some of them."""
    n = draw(st.integers(2, most))
    names = [f"q{i}" for i in range(draw(st.integers(2, 5)))]
    columns, about = {}, {"kind": {}, "hierarchy": {}}
    for name in names:
        columns[name], told = draw(quasi_identifier(n))
        for setting, value in told.items():
            about[setting][name] = value
    columns["disease"] = draw(_column(n, "stuvw"[: draw(st.integers(2, 5))], False))
    if draw(st.booleans()):
        columns = {name: cells * 3 for name, cells in columns.items()}
    sets = st.lists(st.sampled_from(names), min_size=1, unique=True)
    readers = {
        f"r{i}": {"qi": draw(sets), "k": draw(st.integers(1, 4))}
        for i in range(draw(st.integers(2, 4)))
    }
    known = {name for reader in readers.values() for name in reader["qi"]}
    told = {s: {n: v for n, v in of.items() if n in known} for s, of in about.items()}
    return _typed(columns), {**told, "reader": readers}


def _typed(columns):
    text = [name for name, cells in columns.items() if any(isinstance(c, str) for c in cells)]
    return pa.table(
        {
            name: pa.array(cells, pa.string() if name in text else pa.int64())
            for name, cells in columns.items()
        }
    )


def rows_of(release):
    names = release.data.column_names
    columns = [release.data.column(name).to_pylist() for name in names]
    return [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]


def assert_every_reader_is_safe(release, readers, asked, together):
    """From the released cells alone: no model of Shoal's is asked."""
    rows = [{**row, "number": i} for i, row in enumerate(rows_of(release))]
    values = sorted({row["disease"] for row in rows})
    for reader in readers.values():
        found = naive.classes(rows, reader["qi"]).values()
        assert min(map(len, found)) >= reader["k"], reader
        models = models_of(shoal.Policy.parse(**{"k": reader["k"], **asked}))
        told = [[(r["number"], values.index(r["disease"])) for r in c] for c in found]
        for model in models:
            assert all(naive_models.holds(model, told, False)), (model, reader)
    union = sorted({name for reader in readers.values() for name in reader["qi"]})
    assert min(map(len, naive.classes(rows, union).values())) >= (together or 1)


@settings(max_examples=150, deadline=None)
@given(
    shared_tables(),
    st.sampled_from(OPTIONS),
    st.sampled_from(MODELS),
    st.sampled_from([None, None, 1, 2, 3]),
    st.sampled_from([None, None, "suppress"]),
)
def test_every_reader_is_safe_and_nothing_more_is_lost_than_on_the_union(
    drawn, option, asked, together, recoding
):
    table, settings = drawn
    sensitive = {"sensitive": "disease", "collusion_k": together, "recoding": recoding, "k": 2}
    option = {"inner": "hilbert", **option}
    inner = {"inner": option["inner"]}
    settings["seed"] = 1  # the same draws for both
    try:
        release = shoal.anonymize(
            table, method="butterfly", option=option, **settings, **asked, **sensitive, rest="plain"
        )
        union = shoal.anonymize(
            table, method="union", option=inner, **settings, **asked, **sensitive, rest="plain"
        )
    except InfeasibleError:
        sizes = {2, together or 1, *(reader["k"] for reader in settings["reader"].values())}
        models = models_of(shoal.Policy.parse(**asked, k=max(sizes)))
        assert fails_as_a_whole(table, models, ["disease"])
        reject()
    for found in (release, union):
        assert_every_reader_is_safe(found, settings["reader"], asked, together)
    assert release.data.num_rows == table.num_rows
    assert release.loss.gcp <= union.loss.gcp + 1e-9


@settings(max_examples=60, deadline=None)
@given(shared_tables(most=20), st.data())
def test_readers_count_persons_where_they_are_declared(drawn, data):
    table, settings = drawn
    n = table.num_rows
    persons = data.draw(st.lists(st.integers(0, n // 2), min_size=n, max_size=n))
    table = table.append_column("who", pa.array(persons))
    asked = data.draw(st.sampled_from([{}, {"l": 2}]))
    try:
        release = shoal.anonymize(
            table, method="butterfly", person="who", sensitive="disease", **settings, **asked,
            collusion_k=data.draw(st.sampled_from([None, 2])), rest="plain",
        )  # fmt: skip
    except (InfeasibleError, NotFoundError) as error:
        assert isinstance(error, InfeasibleError) or asked
        reject()
    rows = rows_of(release)
    for row, person in zip(rows, release.persons, strict=True):
        row["who"] = person
    for reader in settings["reader"].values():
        for found in naive.classes(rows, reader["qi"]).values():
            assert len({row["who"] for row in found}) >= reader["k"]


FIGURE_2 = pa.table(
    {
        "A": ["a1", "a1", "a2", "a2", "a3", "a3"],
        "B": ["b"] * 6,
        "C": ["c1", "c2", "c1", "c3", "c2", "c3"],
    }
)
CUBE = pa.table({name: [i >> bit & 1 for i in range(8)] for bit, name in enumerate("CBA")})
PAIRS = {"ab": ["A", "B"], "bc": ["B", "C"], "ca": ["C", "A"]}


@pytest.mark.parametrize("strategy", ["body", "paper", "best"])
def test_example_2_is_a_butterfly_and_keeps_everything(strategy):
    readers = {"one": ["A", "B"], "two": ["B", "C"]}
    release = shoal.anonymize(
        FIGURE_2,
        reader=readers,
        k=2,
        method="butterfly",
        option={"strategy": strategy},
        rest="plain",
    )
    assert release.verification.ok
    assert release.loss.gcp == 0
    assert release.verification.class_sizes.max() == 1  # not 2-anonymous on ABC
    assert shoal.anonymize(FIGURE_2, reader=readers, k=2, method="union", rest="plain").loss.gcp > 0


def test_the_cube_of_table_4_needs_no_common_body():
    release = shoal.anonymize(CUBE, reader=PAIRS, k=2, method="butterfly", rest="plain")
    rows = rows_of(release)
    for known in PAIRS.values():
        assert set(Counter(tuple(r[c] for c in known) for r in rows).values()) == {2}
    assert len(naive.classes(rows, "ABC")) == 8  # every record alone on the whole
    assert release.loss.gcp == 0
    assert release.record["method"]["won"] == "layers"
    alone = shoal.anonymize(
        CUBE, reader=PAIRS, k=2, method="butterfly", option={"refine": False}, rest="plain"
    )
    assert alone.loss.gcp > 0  # Theorem 5's necessity is false: no super butterfly does it


def test_colluding_readers_see_pairs_at_least():
    readers = {"one": ["A", "B"], "two": ["B", "C"]}
    table = pa.concat_tables([FIGURE_2] * 4)
    release = shoal.anonymize(
        table, reader=readers, k=4, collusion_k=2, method="butterfly", rest="plain"
    )
    assert release.loss.gcp == 0
    assert min(map(len, naive.classes(rows_of(release), "ABC").values())) >= 2


def test_without_readers_both_are_the_inner_method():
    rng = np.random.default_rng(5)
    table = pa.table({c: rng.integers(0, 20, 200) for c in "xyz"})
    asked = {"qi": ["x", "y", "z"], "k": 5, "rest": "plain", "seed": 1}
    alone = shoal.anonymize(table, method="hilbert", **asked).loss.gcp
    for method in ("union", "butterfly"):
        inside = shoal.anonymize(table, method=method, option={"inner": "hilbert"}, **asked)
        assert inside.loss.gcp == alone


@pytest.mark.parametrize("method", ["union", "butterfly"])
def test_a_method_that_cannot_serve_inside_is_refused(method):
    table = pa.table({"x": [1, 2, 3, 4]})
    with pytest.raises(PolicyError, match="inner"):
        shoal.anonymize(
            table, qi=["x"], k=2, method=method, option={"inner": "anatomy"}, rest="plain"
        )


def test_many_alike_records_cost_the_papers_way_no_time():
    table = pa.table({"a": [1] * 60_000 + [2], "b": [1] * 60_001, "c": [1] * 60_000 + [7]})
    release = shoal.anonymize(
        table, reader={"one": ["a", "b"], "two": ["b", "c"]}, k=3, method="butterfly",
        option={"strategy": "paper"}, rest="plain",
    )  # fmt: skip
    assert release.verification.ok
    assert release.loss.gcp < 1e-4  # one group of three is mixed


def test_disjoint_readers_get_independent_wings():
    rng = np.random.default_rng(7)
    table = pa.table({c: rng.integers(0, 50, 400) for c in "abcd"})
    release = shoal.anonymize(
        table, reader={"one": ["a", "b"], "two": ["c", "d"]}, k=10, method="butterfly", rest="plain"
    )
    alone = [
        shoal.anonymize(table, qi=known, k=10, method="hilbert", rest="plain").loss.gcp
        for known in (["a", "b"], ["c", "d"])
    ]
    assert release.loss.gcp == pytest.approx(sum(alone) / 2)


# ---- fast and slow agree ----


def spanned(codes, size, weight=1.0):
    spots = np.linspace(0.0, 1.0, size) if size > 1 else np.zeros(size)
    labels = [str(i) for i in range(size)]
    column = np.asarray(codes, dtype=np.int32)
    return qi_column("", "ordinal", column, labels, SPAN, spots, spots, weight=weight)


@st.composite
def numbered(draw, least=2, most=24):
    """A table of four ordinal attributes with a few codes each."""
    n = draw(st.integers(least, most))
    sizes = [draw(st.integers(1, 6)) for _ in range(4)]
    cells = [draw(st.lists(st.integers(0, s - 1), min_size=n, max_size=n)) for s in sizes]
    columns = [spanned(codes, size) for codes, size in zip(cells, sizes, strict=True)]
    named = [c.changed(name=name) for c, name in zip(columns, "abcd", strict=True)]
    return encoded_table(n, tuple(named))


def views(k, other=None, together=None):
    found = [
        View("one", ("a", "b", "c"), (KAnonymity(k),)),
        View("two", ("b", "c", "d"), (KAnonymity(other or k),)),
    ]
    return [*found, View("both", tuple("abcd"), (KAnonymity(together),))] if together else found


@settings(max_examples=150, deadline=None)
@given(numbered(), st.integers(1, 4), st.integers(1, 4))
def test_body_first_agrees_with_its_twin(table, k, other):
    k, other = min(k, table.n), min(other, table.n)
    inputs = ButterflyInputs(table, division_of(table, views(k, other)))
    body = body_first(inputs)
    records = list(zip(*table.codes.tolist(), strict=True))
    spots = [c.position.tolist() for c in table.qi]
    wings = [
        (wing.attributes, wing.k, curve.tolist())
        for wing, curve in zip(inputs.division.wings, inputs.curves, strict=True)
    ]
    twin = naive.BodyFirst(records, spots, inputs.division.body, wings, max(k, other))
    slow, carried, _ = twin.solve()
    fast = np.split(body.order, body.offsets[1:-1])
    assert min(map(len, fast)) >= max(k, other)
    gone = set(carried)
    settled = [set(map(int, group)) - gone for group in fast]
    if slow:
        assert sorted(map(sorted, settled)) == sorted(map(sorted, slow))
    else:
        assert len(fast) == 1


@settings(max_examples=150, deadline=None)
@given(numbered(most=9), st.data())
def test_groups_of_units_are_the_cheapest(table, data):
    n = table.n
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    offsets = np.unique(np.minimum(np.cumsum([0, *sizes]), n))
    count = len(offsets) - 1
    nodes = np.cumsum(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    begin = np.array([int(np.argmax(nodes == node)) for node in nodes])
    smallest = min(int(np.diff(offsets)[nodes == node].sum()) for node in nodes)
    k = data.draw(st.integers(1, smallest))
    order = np.arange(n)
    units = units_of(table.costs, table.codes, order, offsets, begin)
    opt, first = np.empty(count + 1), np.zeros(count + 1, dtype=np.int64)
    cheapest_groups(table.costs, units, k, new_walk(table.costs), opt, first)
    _, begins = best_groups(table.costs, units, k)
    records = list(zip(*table.codes.tolist(), strict=True))
    spots = [c.position.tolist() for c in table.qi]

    def loss(a, b):
        return naive.ncp(spots, records[offsets[a] : offsets[b]], range(4))

    least = naive.cheapest_groups(np.diff(offsets).tolist(), nodes.tolist(), k, loss)
    assert opt[-1] == pytest.approx(least)
    groups = [*begins.tolist(), count]
    got = sum((offsets[b] - offsets[a]) * loss(a, b) for a, b in itertools.pairwise(groups))
    assert got == pytest.approx(least)


@settings(max_examples=80, deadline=None)
@given(st.integers(20, 400), st.integers(1, 3), st.integers(0, 10**6), st.booleans())
def test_lanes_find_the_same_optimum(n, heaviest, seed, trees):
    """The vector loops against the scalar ones, which are checked against the twin."""
    rng = np.random.default_rng(seed)
    columns = [spanned(rng.integers(0, s, n), s, weight=w) for s, w in ((9, 1.0), (3, 2.0))]
    if trees:
        climb = rng.choice([0.25, 0.5, 1.0], 7)
        columns.append(spanned(rng.integers(0, 8, n), 8).changed(form=TREE, climb=climb))
    table = encoded_table(n, tuple(columns))
    offsets = np.unique(np.minimum(np.cumsum([0, *rng.integers(1, heaviest + 1, n)]), n))
    count = len(offsets) - 1
    middle = int(rng.integers(0, count))
    begin = np.where(np.arange(count) < middle, 0, middle)
    units = units_of(table.costs, table.codes, np.arange(n), offsets, begin)
    sides = [int(side.sum()) for side in np.split(units.weight, [middle]) if len(side)]
    k = int(rng.integers(1, min(*sides, 60) + 1))
    opt, first = np.empty(count + 1), np.zeros(count + 1, dtype=np.int64)
    cheapest_groups(table.costs, units, k, new_walk(table.costs), opt, first)
    _, begins = best_groups(table.costs, units, k)
    groups = Partition(np.arange(n), np.append(offsets[begins], n))
    assert groups.sizes.min() >= k
    assert middle in begins
    lost = gcp(table, Recoding.single(groups, len(columns)))
    assert lost * n * table.costs.weight.sum() == pytest.approx(opt[-1], rel=1e-5, abs=1e-5)


@settings(max_examples=100, deadline=None)
@given(numbered(), st.integers(1, 4), st.sampled_from(["hilbert", "mondrian"]))
def test_theorem_4_never_rules_out_a_butterfly_that_pays(table, k, inner):
    inputs = ButterflyInputs(table, division_of(table, views(min(k, table.n))), inner)
    climb = paper._priced(inputs, *paper._grown(inputs, table))
    for v in range(len(inputs.division.wings)):
        bound = paper._Bound(inputs, v, climb)
        wing = paper._Builder(inputs, v, table, climb.tree)
        for node in range(climb.nodes - 1, -1, -1):
            begin, end = climb.range(node)
            assert bound.below(begin, end) <= wing.loss(begin, end) + 1e-9


@settings(max_examples=60, deadline=None)
@given(numbered(), st.integers(1, 5))
def test_nearest_neighbours_are_those_of_definition_3(table, k):
    inputs = ButterflyInputs(table, division_of(table, views(1)))
    climb = paper._priced(inputs, *paper._grown(inputs, table))
    bound = paper._Bound(inputs, 0, climb)
    wing = inputs.tables[0]
    spots = [c.position[c.codes] for c in columns_of(wing)]

    def distance(t, u):
        return sum(abs(s[t] - s[u]) for s in spots)

    for e, (a, b) in enumerate(zip(bound.offsets[:-1], bound.offsets[1:], strict=True)):
        members = climb.tree.order[a:b].tolist()
        assert bound.nearest[e, 0] == pytest.approx(naive.nearest(distance, members, 0))
    found = paper._nearest_in_table(wing, min(k, table.n))
    for t in range(table.n):
        near = sorted(distance(t, u) for u in range(table.n))
        assert found[t] <= near[min(k, table.n) - 1] + 1e-9


@settings(max_examples=80, deadline=None)
@given(numbered(least=4), st.integers(2, 4), st.integers(1, 3))
def test_units_stay_together_in_every_wing(table, k, together):
    k, together = min(k, table.n), min(together, table.n)
    division = division_of(table, views(k, together=together))
    if division is None:
        assert together >= k
        reject()
    inputs = ButterflyInputs(table, division)
    butterflies = group_wings(inputs, body_first(inputs))
    parts = [p.group_ids() for p in butterflies.recoding.partitions]
    whole = Counter(zip(*(p.tolist() for p in parts), strict=True))
    assert min(whole.values()) >= together
    for known in ((0, 1, 2), (1, 2, 3)):
        seen = Counter(zip(*(parts[a].tolist() for a in known), strict=True))
        assert min(seen.values()) >= k


def test_butterflies_lose_far_less_than_the_union_on_a_census():
    census = shoal.datasets.census(4000)
    ordinal = dict.fromkeys(["gender", "marital", "race", "workclass", "country"], "ordinal")
    readers = {
        "one": ["age", "country", "gender", "marital", "education"],
        "two": ["gender", "marital", "education", "workclass", "race"],
    }
    asked = {"reader": readers, "kind": ordinal, "k": 20}
    union = shoal.anonymize(census, method="union", **asked, rest="plain").loss.gcp
    paper = {"strategy": "paper", "inner": "hilbert"}
    bounds = [({"inner": "hilbert"}, 0.8), (paper, 1.0), ({"inner": "mondrian"}, 1.0)]
    for option, most in bounds:
        found = shoal.anonymize(census, method="butterfly", option=option, **asked, rest="plain")
        facts = found.record["method"]
        assert found.loss.gcp == pytest.approx(facts["losses"][facts["won"]], abs=1e-8)
        # of the same inner method; the record has eight digits of it
        assert found.loss.gcp <= most * facts["losses"]["union"] + 1e-8
    together = shoal.anonymize(census, method="butterfly", collusion_k=2, **asked, rest="plain")
    assert together.loss.gcp < union


def test_a_body_alone_is_a_partition_of_all_attributes():
    table = encoded_table(6, tuple(spanned([0, 0, 1, 1, 2, 2], 3) for _ in range(2)))
    named = [c.changed(name=n) for c, n in zip(columns_of(table), "ab", strict=True)]
    table = encoded_table(6, tuple(named))
    both = [View("x", ("a", "b"), (KAnonymity(2),)), View("y", ("a",), (KAnonymity(4),))]
    division = division_of(table, both)
    assert division is not None
    inputs = ButterflyInputs(table, division)
    recoding = group_wings(inputs, body_first(inputs)).recoding
    assert gcp(table, recoding) <= gcp(table, Recoding.single(Partition.whole(6), 2))
