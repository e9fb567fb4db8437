"""The models against their slow twins, the kernel against the models."""

from __future__ import annotations

import dataclasses
import doctest
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive_models as naive
from columns import about, encoded_table, sensitive_column, sensitive_of
from model_examples import (
    EVERY_MODEL,
    EXAMPLES,
    NUMBERS,
    RECORDS_ONLY,
    ROWS,
    WHOLE,
    applicable,
    kernel_verdicts,
    make_example,
    one_class,
)
from shoal.errors import InfeasibleError, PolicyError
from shoal.kernels import rules as kernel
from shoal.model_settings import MODEL_OPTIONS, MODEL_SETTINGS, READINGS
from shoal.models import (
    KE,
    MODELS,
    AlphaK,
    BasicBeta,
    DeltaDisclosure,
    DistinctL,
    EnhancedBeta,
    EntropyL,
    FrequencyL,
    KAnonymity,
    RecursiveL,
    TCloseness,
    UniqueDistinctL,
    build_models,
    check_eligible,
    closeness,
    histograms,
    largest_l,
    needs_sensitive,
    rules_for,
    sizes_only,
    table_histograms,
    union_closed,
    whole_table_only,
)
from shoal.models.exact import at_most, limited
from shoal.models.likeness import Likeness
from shoal.policy import Policy

# --- the vectorised models against the definitions ---------------------------------------


@settings(max_examples=400, deadline=None)
@given(EXAMPLES, EVERY_MODEL)
def test_holds_is_the_definition(example, model):
    assume(not (model.name == "t-closeness" and example.table.person is not None))
    for s, classes in applicable(model, example):
        expected = naive.holds(model, example.naive_classes(s), classes.ordered)
        assert model.holds(classes).tolist() == expected


@settings(max_examples=200, deadline=None)
@given(EXAMPLES, st.builds(KE, WHOLE, st.integers(0, 26).map(lambda n: Fraction(n, 4))))
def test_the_twin_of_spread_reads_numbers_behind_codes(example, model):
    column = sensitive_of(example.table)[1]
    persons = example.table.person if example.table.person is not None else range(example.table.n)
    coded = [[] for _ in range(example.ids.max() + 1)]
    for e, person, code in zip(example.ids, persons, column.codes.tolist(), strict=True):
        coded[e].append((person, code))
    by_code = naive.holds(model, coded, True, list(NUMBERS))
    assert by_code == naive.holds(model, coded, True, dict(enumerate(NUMBERS[:-1].tolist())))
    assert by_code == model.holds(example.histograms()[1]).tolist()


@settings(max_examples=300, deadline=None)
@given(EXAMPLES, EVERY_MODEL)
def test_level_is_the_strictest_that_holds(example, model):
    assume(not (model.name == "t-closeness" and example.table.person is not None))
    for s, classes in applicable(model, example):
        reached = model.level(classes)
        expected = naive.level(model, example.naive_classes(s), classes.ordered)
        if isinstance(reached, int):
            assert reached == expected
            continue
        if reached is None:  # no parameter would do
            assert isinstance(model, EnhancedBeta | DeltaDisclosure) and math.isinf(expected)
            continue
        expected = Fraction(expected)
        assert abs(reached - expected) < 2e-6
        if isinstance(model, TCloseness | AlphaK | Likeness):
            assert Fraction(str(reached)) >= expected
        json.dumps(reached)


@settings(max_examples=300, deadline=None)
@given(EXAMPLES, EVERY_MODEL)
def test_a_model_holds_at_the_level_it_reports(example, model):
    for _, classes in applicable(model, example):
        reached = model.level(classes)
        holds = model.holds(classes).all()
        if isinstance(model, TCloseness):
            assert TCloseness.of(reached).holds(classes).all()
            assert not holds or reached <= float(model.t) + 1e-6
        elif isinstance(model, Likeness):
            assert not holds or reached <= float(getattr(model, model.option)) + 2e-6
            if reached:  # 0 is no parameter: nothing gains, so any will do
                assert type(model).of(reached).holds(classes).all()
        elif isinstance(model, AlphaK):
            assert AlphaK.of(reached, 1).holds(classes).all()
        elif isinstance(model, EntropyL):
            assert EntropyL.of(reached).holds(classes).all()
            assert holds == (reached >= model.l)
        elif model.option == "l" and reached:
            at_level = dataclasses.replace(model, l=reached)
            assert at_level.holds(classes).all()
            assert not holds or reached >= model.l


@settings(deadline=None)
@given(EXAMPLES)
def test_closeness_with_persons_compares_with_the_persons_of_the_table(example):
    assume(example.table.person is not None)
    for s, classes in enumerate(example.histograms()):
        groups = example.naive_classes(s)
        table = [record for group in groups for record in group]
        for t in (Fraction(0), Fraction(1, 4), Fraction(1, 2)):
            expected = [naive.distance(g, table, classes.ordered) <= t for g in groups]
            assert TCloseness(t).holds(classes).tolist() == expected


@settings(deadline=None)
@given(EXAMPLES, EVERY_MODEL)
def test_no_smaller_class_than_declared_satisfies(example, model):
    for _, classes in applicable(model, example):
        assert (classes.sizes[model.holds(classes)] >= model.smallest_class).all()


@settings(deadline=None)
@given(RECORDS_ONLY)
def test_closeness_beyond_int64_is_the_same(example):
    for classes in example.histograms():
        narrow = closeness._distances(classes)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(closeness, "INT64_SAFE", 0)
            wide = closeness._distances(classes)
        assert wide[0].dtype == object
        assert [a.tolist() for a in wide] == [a.tolist() for a in narrow]


@given(st.lists(st.integers(0, 2**40), min_size=1), st.fractions(0, 1))
def test_at_most_is_exact(wholes, ratio):
    whole = np.array(wholes, dtype=np.int64)
    edge = np.array([w * ratio.numerator // ratio.denominator for w in wholes], dtype=np.int64)
    for amount in (edge, edge + 1):
        expected = [int(a) <= ratio * int(w) for a, w in zip(amount, whole, strict=True)]
        assert at_most(amount, ratio, whole).tolist() == expected
        assert at_most(amount.astype(object), ratio, whole.astype(object)).tolist() == expected


# --- union -------------------------------------------------------------------------------


@settings(max_examples=400, deadline=None)
@given(EXAMPLES, EVERY_MODEL, st.data())
def test_union_of_two_passing_classes_passes(example, model, data):
    persons = example.table.person is not None
    assume(union_closed([model], persons))
    for s, classes in applicable(model, example):
        passing = np.flatnonzero(model.holds(classes))
        if len(passing) < 2:
            continue
        first, second = data.draw(st.lists(st.sampled_from(passing), min_size=2, max_size=2))
        merged = np.where(example.ids == second, first, example.ids)
        merged = np.unique(merged, return_inverse=True)[1]
        union = table_histograms(example.table, merged)[s]
        member = np.flatnonzero(example.ids == first)[0]
        assert model.holds(union)[merged[member]]


def test_union_with_persons_can_lose_frequency_l():
    ids = np.array([0, 0, 1, 1])
    person, codes = np.array([0, 1, 0, 1]), np.array([0, 1, 1, 0])
    apart = histograms(ids, codes, 2, person=person)
    together = histograms(ids * 0, codes, 2, person=person)
    assert FrequencyL(2).holds(apart).all()
    assert not FrequencyL(2).holds(together).any()
    assert not union_closed([KAnonymity(2), FrequencyL(2)], persons=True)
    assert union_closed([KAnonymity(2), FrequencyL(2)], persons=False)
    assert union_closed([KAnonymity(2), DistinctL(2)], persons=True)


# --- the kernel --------------------------------------------------------------------------


def assert_kernel_agrees(example, models):
    rules = rules_for(example.table.codebook, models)
    expected = np.ones(example.ids.max() + 1, dtype=bool)
    near_tie = np.zeros_like(expected)
    for model in models:
        # one group cannot see the leftovers of the others
        alone = FrequencyL(model.l) if not model.local else model
        for _, classes in applicable(alone, example):
            passed = alone.holds(classes)
            expected &= passed
            if isinstance(model, EntropyL):
                uniform = classes.largest * classes.distinct == classes.mass
                a_little_more = EntropyL(model.l + Fraction(1, 10**6))
                near_tie |= passed & ~uniform & ~a_little_more.holds(classes)
    got = np.array(list(kernel_verdicts(rules, example)))
    assert not (got & ~expected).any(), "the kernel accepted what a model refuses"
    assert ((got == expected) | near_tie).all()


@settings(max_examples=600, deadline=None)
@given(EXAMPLES, EVERY_MODEL, st.integers(0, 1))
def test_kernel_decides_as_the_model_does(example, model, column):
    """One model on one column: most classes are near its limit, one way or the other."""
    assume(column == 1 or not isinstance(model, KE))
    example.table = about(example.table, sensitive_of(example.table)[column])
    assert_kernel_agrees(example, [model])


@settings(max_examples=200, deadline=None)
@given(EXAMPLES, st.lists(EVERY_MODEL, min_size=1, max_size=3))
def test_kernel_decides_as_several_models_do(example, models):
    assert_kernel_agrees(example, models)


def test_kernel_accepts_the_uniform_tie_of_entropy():
    example = make_example([(0, i % 3, 0, i) for i in range(9)], False)
    table = about(example.table, sensitive_of(example.table)[0])
    rules = rules_for(table.codebook, [EntropyL.of(3)])
    histogram = np.array([3, 3, 3, 0, 0])
    assert kernel.holds(rules, 9, histogram, np.array([2, 0, 1]), 3)
    histogram = np.array([4, 3, 2, 0, 0])
    assert not kernel.holds(rules, 9, histogram, np.array([2, 0, 1]), 3)


@settings(deadline=None)
@given(st.lists(st.integers(1, 60), min_size=2, max_size=8))
def test_kernel_is_sharp_about_entropy(counts):
    classes = one_class(*counts)
    histogram = np.array(counts)
    codes = np.repeat(np.arange(len(counts)), counts).astype(np.int32)
    column = sensitive_column("s", "categorical", codes, [""] * len(counts), False)
    table = encoded_table(len(codes), (), (column,))
    reached = Fraction(str(EntropyL.of(1).level(classes)))
    for step, expected in ((Fraction(-3, 10**6), True), (Fraction(3, 10**6), False)):
        if reached + step >= 1:
            rules = rules_for(table.codebook, [EntropyL(reached + step)])
            touched = np.arange(len(counts))
            assert kernel.holds(rules, len(codes), histogram, touched, len(counts)) == expected


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("model", [TCloseness.of("0.25"), AlphaK.of("0.6", 1), FrequencyL(2)])
def test_kernel_does_not_overflow(model, ordered):
    """Tables of 10**12 records: beyond int64 products, never beyond the truth."""
    big = 10**12
    codes = np.array([0, 1, 2], dtype=np.int32)
    column = sensitive_column("s", "ordinal", codes, list("abc"), ordered)
    rules = rules_for(encoded_table(3, (), (column,)).codebook, [model])
    if isinstance(model, AlphaK):
        big = 10**9  # the contract of the kernel: n * 10**9 stays within int64
    table = np.array([big, big, big])
    rules = rules._replace(total=table, x=np.where(rules.kind == kernel.CLOSE, 3.0 * big, rules.x))
    for counts in ([big, big, big], [big // 2, 0, big // 2], [big, 0, 0], [1, 1, 1], [5, 1, 1]):
        histogram = np.array(counts, dtype=np.int64)
        touched = np.flatnonzero(histogram)
        sizes = np.array([histogram.sum()])
        one = dataclasses.replace(
            histograms(np.zeros(len(touched), dtype=int), touched, 3, ordered=ordered),
            sizes=sizes,
            counts=histogram[touched],
            table=table,
        )
        got = kernel.holds(rules, int(sizes[0]), histogram, touched, len(touched))
        assert got == model.holds(one)[0]


def test_long_fractions_are_rounded_to_the_strict_side():
    assert limited(Fraction("0.2")) == (1, 5)
    for ratio in (
        Fraction(1, 3) + Fraction(1, 10**15),
        Fraction(10**12),
        Fraction("7.123456789012"),
    ):
        numerator, denominator = limited(ratio)
        assert max(numerator, denominator) <= 10**9
        assert ratio * Fraction(9, 10) < Fraction(numerator, denominator) <= ratio or ratio > 10**9


def test_rules_layout():
    example = make_example([(0, 0, 0, 0), (0, 1, 1, 1), (0, 2, 4, 1)], False)
    rules = rules_for(example.table.codebook, build_models(k=2, l=3, t=0.5, alpha=0.5, e=2))
    assert rules.smallest == 3
    assert rules.start.tolist() == [0, 5, 10]
    assert rules.total.tolist() == [1, 1, 1, 0, 0, 1, 1, 0, 0, 1]
    assert rules.ordered.tolist() == [False, True]
    spread = rules.kind == kernel.SPREAD
    assert rules.column[spread].tolist() == [1], "(k,e) looks at numeric columns only"
    assert (rules.column[rules.kind == kernel.FREQUENCY] == [0, 1]).all()


# --- histograms --------------------------------------------------------------------------


@settings(deadline=None)
@given(EXAMPLES)
def test_histograms_count(example):
    for s, classes in enumerate(example.histograms()):
        column = sensitive_of(example.table)[s]
        groups = example.naive_classes(s)
        assert classes.sizes.tolist() == [naive.size(g) for g in groups]
        for e, group in enumerate(groups):
            part = slice(classes.offsets[e], classes.offsets[e + 1])
            values = classes.values[part]
            assert (np.diff(values) > 0).all()
            expected = sorted(naive.counts(group).values())
            assert sorted(classes.counts[part].tolist()) == expected
            assert set(values) == set(column.codes[example.ids == e])
        assert classes.largest.tolist() == [naive.descending(g)[0] for g in groups]
    assert sizes_only(example.ids, person=example.table.person).sizes.tolist() == [
        naive.size(g) for g in example.naive_classes(0)
    ]


@settings(deadline=None)
@given(ROWS, st.booleans())
def test_histograms_of_a_huge_domain_sort_by_keys(rows, persons):
    example = make_example(rows, persons)
    codes = example.table.sensitive_codes[0]
    small = histograms(example.ids, codes, 5, person=example.table.person)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.models.counting.PACKED", 1)
        large = histograms(example.ids, codes, 5, person=example.table.person)
    for field in ("sizes", "offsets", "values", "counts"):
        assert getattr(small, field).tolist() == getattr(large, field).tolist()


def test_an_empty_table_satisfies_everything_and_reaches_nothing():
    nothing = np.zeros(0, dtype=np.int64)
    classes = histograms(nothing, nothing, 0, numbers=np.zeros(0))
    ordered = histograms(nothing, nothing, 0, ordered=True)
    assert histograms(nothing, nothing, 0, person=nothing).classes == 0
    models = build_models(k=2, l=2, t=0.1, alpha=0.5, e=1)
    for model in models:
        assert model.holds(classes).tolist() == []
        assert model.level(classes) is None
    for model in (EntropyL.of(2), RecursiveL.of(1, 2), DistinctL(2), UniqueDistinctL(2)):
        assert model.holds(classes).tolist() == []
        assert model.level(classes) is None
    assert TCloseness.of(0.1).holds(ordered).tolist() == []
    check_eligible(encoded_table(0, (), ()).codebook, [KAnonymity(5)])


def test_gaps_in_class_ids_are_a_mistake():
    with pytest.raises(ValueError, match="some class is empty"):
        histograms(np.array([0, 2]), np.array([0, 0]), 1)


def test_models_about_values_refuse_sizes_only():
    with pytest.raises(ValueError, match="without a sensitive column"):
        FrequencyL(2).holds(sizes_only(np.array([0, 0])))


# --- particular cases --------------------------------------------------------------------


def test_entropy_at_ties():
    assert EntropyL.of(4).holds(one_class(2, 2, 2, 2)).all()
    dyadic = one_class(4, 1, 1, 1, 1)  # two bits, not uniform
    assert EntropyL.of(4).holds(dyadic).all()
    assert EntropyL.of(4).level(dyadic) == 4.0
    assert not EntropyL.of("4.0000000001").holds(dyadic).any()
    assert EntropyL.of(4).holds(one_class(40000, 10000, 10000, 10000, 10000)).all()
    nearly = one_class(40001, 10000, 10000, 10000, 10000)
    assert not EntropyL.of(4).holds(nearly).any()


def test_many_ties_are_decided_quickly():
    ids = np.repeat(np.arange(2000), 8)
    codes = np.tile([0, 0, 0, 0, 1, 2, 3, 4], 2000)
    assert EntropyL.of(4).holds(histograms(ids, codes, 5)).all()


def test_recursive_needs_l_values():
    assert not RecursiveL.of(100, 3).holds(one_class(5, 5)).any()
    # r = 3, 2, 1: 3 < c * (2 + 1) needs c above 1
    assert not RecursiveL.of(1, 2).holds(one_class(3, 2, 1)).any()
    assert RecursiveL.of("1.01", 2).holds(one_class(3, 2, 1)).all()


def test_unique_allows_the_unavoidable_leftover_only():
    ids = np.array([0, 0, 0, 1, 1, 1, 1])  # sizes 3 and 4, N = 7
    codes = np.array([0, 1, 2, 0, 1, 2, 3])
    classes = histograms(ids, codes, 4)
    assert UniqueDistinctL(3).holds(classes).all()
    assert UniqueDistinctL(3).finding(classes).facts == {"residual_classes": 1}
    two_odd = histograms(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2]), 3)
    assert UniqueDistinctL(2).holds(two_odd).tolist() == [False, False]
    assert UniqueDistinctL(2).level(two_odd) == 3
    # never at the price of frequency l
    assert not UniqueDistinctL(2).holds(one_class(3, 2)).any()
    assert whole_table_only([KAnonymity(2), UniqueDistinctL(2)]) == (UniqueDistinctL(2),)


def test_one_person_is_no_crowd():
    classes = histograms(
        np.zeros(4, int), np.arange(4), 4, person=np.zeros(4, int), numbers=np.arange(4.0)
    )
    assert not KAnonymity(2).holds(classes).any()
    models = (DistinctL(2), EntropyL.of(2), RecursiveL.of(3, 2), FrequencyL(2), KE.of(1, 2))
    for model in models:
        assert not model.holds(classes).any(), model


def test_closeness_of_a_single_value_is_zero():
    for ordered in (False, True):
        classes = histograms(np.array([0, 0, 1]), np.zeros(3, int), 1, ordered=ordered)
        assert TCloseness.of(0).holds(classes).all()
        assert TCloseness.of(0).level(classes) == 0


def test_closeness_leaves_out_values_that_do_not_occur():
    ids, codes = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2])
    dense = histograms(ids, codes, 3, ordered=True)
    gaps = histograms(ids, codes * 3 + 1, 9, ordered=True)
    assert TCloseness.of(0).level(dense) == TCloseness.of(0).level(gaps) == 0.25


def test_spread_of_missing_values():
    numbers = np.array([1.0, 4.0, np.nan])
    classes = histograms(np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 2, 2]), 3, numbers=numbers)
    assert KE.of(1, 3).holds(classes).tolist() == [True, False]
    assert KE.of(1, 0).holds(classes).tolist() == [True, True]
    assert KE.of(1, 3).level(classes) == 0
    assert not KE.of(1, 1).applies(one_class(1, 1))
    with pytest.raises(PolicyError, match="numeric sensitive column"):
        KE.of(1, 1).holds(one_class(1, 1))


def test_huge_parameters_fail_without_overflow():
    classes = one_class(2, 2)
    example = make_example([(0, 0, 0, 0), (0, 1, 1, 1)], False)
    huge = 10**30
    models = [
        KAnonymity(huge),
        FrequencyL(huge),
        DistinctL(huge),
        UniqueDistinctL(huge),
        EntropyL.of(huge),
        RecursiveL.of(1, huge),
        AlphaK.of(Fraction(1, huge), 1),
    ]
    for model in models:
        assert not model.holds(classes).any()
        rules = rules_for(example.table.codebook, [model])
        assert not kernel.holds(rules, 2, np.ones(10, np.int64), np.array([0, 1, 5, 6]), 4)


# --- names, parameters, messages ---------------------------------------------------------


def test_registry():
    assert list(MODELS) == [
        "k-anonymity",
        "frequency-l",
        "distinct-l",
        "entropy-l",
        "recursive-l",
        "unique-l",
        "m-invariance",
        "(alpha,k)",
        "t-closeness",
        "beta-likeness",
        "basic-beta-likeness",
        "delta-disclosure",
        "(k,e)",
    ]
    for name, model in MODELS.items():
        assert model.name == name
        assert model.summary and len(model.summary) < 80
        assert model.option in {"k", "l", "m", "t", "alpha", "beta", "delta", "e"}
    readings = [model.reading for model in MODELS.values() if model.option == "l"]
    assert readings == list(READINGS) == ["frequency", "distinct", "entropy", "recursive", "unique"]


def test_settings_ask_for_every_model_and_are_options_and_policy_fields():
    options = {model.option for model in MODELS.values()}
    assert options <= set(MODEL_SETTINGS) == set(MODEL_OPTIONS)
    fields = list(Policy.model_fields)
    first = fields.index("k")
    assert tuple(fields[first : first + len(MODEL_SETTINGS)]) == MODEL_SETTINGS
    with pytest.raises(TypeError, match="unexpected settings z"):
        build_models(k=2, z=3)


@given(EVERY_MODEL)
def test_parameters_survive_a_manifest(model):
    again = MODELS[model.name].of(**json.loads(json.dumps(model.parameters())))
    assert again == model
    assert hash(again) == hash(model)


def test_decimals_are_taken_as_written():
    assert TCloseness.of(0.1) == TCloseness.of("0.1") == TCloseness(Fraction(1, 10))
    assert AlphaK.of(np.float64(0.3), np.int64(4)) == AlphaK(Fraction(3, 10), 4)
    # 0.3 as a binary float is below 3/10: it would refuse this class
    assert AlphaK.of(0.3, 1).holds(one_class(3, 3, 3, 1)).all()


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (KAnonymity(10), "k = 10"),
        (FrequencyL(3), "l = 3 (frequency)"),
        (DistinctL(3), "l = 3 (distinct)"),
        (EntropyL.of(2.5), "l = 2.5 (entropy)"),
        (RecursiveL.of("0.5", 3), "l = 3 (recursive, c = 0.5)"),
        (UniqueDistinctL(3), "l = 3 (unique distinct)"),
        (AlphaK.of(0.2, 5), "alpha = 0.2, k = 5"),
        (TCloseness.of("1/3"), "t = 1/3"),
        (KE.of(5, 1000), "k = 5, e = 1000"),
        (EnhancedBeta.of(1.5), "beta = 1.5 (enhanced)"),
        (BasicBeta.of(2), "beta = 2 (basic)"),
        (DeltaDisclosure.of("0.7"), "delta = 0.7"),
    ],
)
def test_as_people_write_it(model, text):
    assert str(model) == text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k: expected a whole number of at least 1; got 0"),
        ({"k": "ten"}, "k: expected a whole number of at least 1; got ten"),
        ({"k": True}, "k: expected a whole number of at least 1; got True"),
        ({"k": 2.5}, "k: expected a whole number of at least 1; got 2.5"),
        ({"l": 0}, "l: expected a whole number of at least 1; got 0"),
        ({"l": 0.5, "l_reading": "entropy"}, "l: expected a number of at least 1; got 0.5"),
        ({"l": math.nan, "l_reading": "entropy"}, "l: expected a number of at least 1; got nan"),
        ({"t": 1.5}, "t: expected a number from 0 to 1; got 1.5"),
        ({"t": -0.1}, "t: expected a number from 0 to 1; got -0.1"),
        ({"beta": 0}, "beta: expected a number above 0; got 0"),
        ({"delta": -1}, "delta: expected a number above 0; got -1"),
        (
            {"beta": 1, "beta_reading": "strict"},
            "beta_reading: expected one of enhanced, basic; got strict",
        ),
        ({"k": 2, "alpha": 0}, "alpha: expected a number above 0 and at most 1; got 0"),
        ({"k": 2, "alpha": "1/0"}, "alpha: expected a number above 0 and at most 1; got 1/0"),
        ({"k": 2, "e": -1}, "e: expected a number of at least 0; got -1"),
        ({"alpha": 0.5}, "alpha: expected together with k; got alpha alone"),
        ({"e": 5}, "e: expected together with k; got e alone"),
        ({"c": 5}, "c: expected together with l (recursive l-diversity); got c alone"),
        (
            {"l": 2, "l_reading": "recursive"},
            "c: expected a number above 0 for recursive l-diversity; got none",
        ),
        (
            {"l": 2, "l_reading": "recursive", "c": 0},
            "c: expected a number above 0; got 0",
        ),
        (
            {"l": 2, "c": 2},
            "c: expected with l_reading = recursive only; got l_reading = frequency",
        ),
        (
            {"l": 2, "l_reading": "best"},
            "l_reading: expected one of frequency, distinct, entropy, recursive, unique; got best",
        ),
        (
            {},
            "no privacy model: give at least one of k, l, m, t, beta, delta, alpha and k, e and k",
        ),
    ],
)
def test_build_models_refuses(options, message):
    with pytest.raises(PolicyError) as caught:
        build_models(**options)
    assert str(caught.value) == message


def test_build_models_order():
    models = build_models(k="3", l=2, l_reading="recursive", c=1.5, t=0.2, alpha=0.5, e=10)
    assert models == (
        KAnonymity(3),
        RecursiveL(Fraction(3, 2), 2),
        AlphaK(Fraction(1, 2), 3),
        TCloseness(Fraction(1, 5)),
        KE(3, Fraction(10)),
    )
    assert needs_sensitive(models)
    assert not needs_sensitive(build_models(k=2))


# --- eligibility -------------------------------------------------------------------------


def disease_table(*diseases, person=None, numbers=None):
    labels = sorted({d for d in diseases if d is not None}) + [None] * (None in diseases)
    codes = np.array([labels.index(d) for d in diseases], dtype=np.int32)
    kind = "categorical" if numbers is None else "numeric"
    column = sensitive_column("disease", kind, codes, labels, numbers is not None, numbers)
    return encoded_table(len(diseases), (), (column,), person)


FLU = ("flu",) * 31 + tuple("abc" * 23)


@pytest.mark.parametrize(
    ("model", "table", "message"),
    [
        (
            KAnonymity(10),
            disease_table(*"abcdefg"),
            "no 10-anonymous release exists: the table has 7 records; the largest possible k is 7",
        ),
        (
            KAnonymity(3),
            disease_table(*"abcd", person=np.array([0, 0, 1, 1], np.int32)),
            "no release satisfies k = 3: every class needs 3 persons; the table has 2",
        ),
        (
            FrequencyL(4),
            disease_table(*FLU),
            "no 4-diverse release exists: one value is 31.0% of the records (column disease), "
            "more than 1/4; the largest possible l is 3; l_reading = distinct lets values be "
            "frequent, and allows up to 4"
            "; if that value is not sensitive, exempt it: exempt = {disease = [...]}",
        ),
        (
            UniqueDistinctL(2),
            disease_table(None, None, "a"),
            "no 2-diverse release exists: a missing value is 66.7% of the records "
            "(column disease), more than 1/2; the largest possible l is 1; l_reading = "
            "distinct lets values be frequent, and allows up to 2"
            "; if that value is not sensitive, exempt it: exempt = {disease = [...]}",
        ),
        (
            DistinctL(5),
            disease_table(*FLU),
            "no distinct 5-diverse release exists: column disease has 4 distinct values "
            "in 100 records; the largest possible l is 4",
        ),
        (
            EntropyL.of(3),
            disease_table(*"aab"),
            "no entropy 3-diverse release exists: column disease as a whole is not; "
            "the largest possible l is 1.88988",
        ),
        (
            RecursiveL.of(2, 3),
            disease_table(*"aaaabc"),
            "no recursive (2, 3)-diverse release exists: column disease as a whole is not; "
            "the largest possible l with c = 2 is 1",
        ),
        (
            AlphaK.of(0.3, 2),
            disease_table(*FLU),
            "no (0.3, 2)-anonymous release exists: one value is 31.0% of the records "
            "(column disease), more than 0.3; the smallest possible alpha is 0.31"
            "; if that value is not sensitive, exempt it: exempt = {disease = [...]}",
        ),
        (
            AlphaK.of(1, 4),
            disease_table(*"abc"),
            "no (1, 4)-anonymous release exists: the table has 3 records; "
            "the largest possible k is 3",
        ),
        (
            KE.of(2, 7),
            disease_table(*"abc", numbers=np.array([1.0, 3.5, 2.0])),
            "no (k, e)-anonymous release with k = 2, e = 7 exists: column disease spans 2.5 "
            "in the whole table; the largest possible e is 2.5",
        ),
        (
            KE.of(4, 1),
            disease_table(*"abc", numbers=np.array([1.0, 3.5, 2.0])),
            "no (k, e)-anonymous release with k = 4, e = 1 exists: the table has 3 records; "
            "the largest possible k is 3",
        ),
    ],
)
def test_ineligible_tables_are_refused_with_the_best_possible(model, table, message):
    with pytest.raises(InfeasibleError) as caught:
        check_eligible(table.codebook, [model])
    assert str(caught.value) == message
    assert caught.value.exit_code == 3


def test_eligible_tables_pass():
    models = (*build_models(k=10, l=3, t=0, alpha=0.31), UniqueDistinctL(3))
    check_eligible(disease_table(*FLU).codebook, models)


@settings(deadline=None)
@given(EXAMPLES, EVERY_MODEL)
def test_what_is_refused_has_no_release(example, model):
    """Whatever satisfies the model class by class is never called impossible."""
    if all(model.holds(classes).all() for _, classes in applicable(model, example)):
        check_eligible(example.table.codebook, [model])


def test_persons_with_several_values_are_not_refused_too_early():
    person = np.array([0, 1, 0, 1], np.int32)
    table = disease_table("a", "b", "b", "a", person=person)
    check_eligible(table.codebook, [FrequencyL(2), UniqueDistinctL(2), AlphaK.of("0.5", 2)])
    with pytest.raises(InfeasibleError):
        check_eligible(table.codebook, [FrequencyL(3)])
    with pytest.raises(InfeasibleError):
        check_eligible(table.codebook, [AlphaK.of("0.49", 2)])


def test_models_need_their_columns():
    nothing = encoded_table(3, (), ()).codebook
    for call in (check_eligible, rules_for):
        with pytest.raises(PolicyError, match="t-closeness: expected at least one sensitive"):
            call(nothing, [TCloseness.of(0.2)])
        with pytest.raises(PolicyError, match="expected a numeric sensitive column"):
            call(disease_table("a", "b").codebook, [KE.of(1, 1)])
        call(nothing, [KAnonymity(2)])


def test_largest_l():
    assert largest_l(np.array([31, 23, 23, 23])) == 3
    assert largest_l(np.array([5])) == 1
    assert largest_l(np.zeros(0, int)) == 0
    assert largest_l(np.array([2, 2]), size=9) == 4


def test_docs_examples_run():
    docs = Path(__file__).parents[1] / "docs" / "models.md"
    results = doctest.testfile(str(docs), module_relative=False)
    assert results.attempted > 10
    assert results.failed == 0
    text = docs.read_text()
    for name in MODELS:
        assert f"`{name}`" in text, f"{name} is not documented"
