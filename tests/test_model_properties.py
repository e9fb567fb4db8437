"""What models declare of themselves is true, and nobody else needs to know their class."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive_models as naive
import shoal
from columns import about, sensitive_of
from model_examples import EVERY_MODEL, EXAMPLES, applicable, kernel_verdicts, one_class
from shoal.models import MODELS, TableModels, rules_for, satisfied_classes


@settings(max_examples=300, deadline=None)
@given(EXAMPLES, EVERY_MODEL)
def test_no_class_satisfies_beyond_what_is_declared(example, model):
    for s, classes in applicable(model, example):
        counts = np.bincount(example.table.sensitive_codes[s], minlength=classes.domain)
        shares = model.largest_shares(counts, classes.ordered, moving=False)
        assert len(shares) == classes.domain
        if model.about_sensitive and example.table.person is None:
            anywhere = model.largest_shares(counts, classes.ordered, moving=True)
            assert all(a <= b for a, b in zip(shares, anywhere, strict=True))
            assert max(anywhere) <= model.cap
            for e in np.flatnonzero(model.holds(classes)):
                part = slice(classes.offsets[e], classes.offsets[e + 1])
                assert classes.distinct[e] >= max(model.distinct_asked, model.values_by_cap)
                for value, count in zip(classes.values[part], classes.counts[part], strict=True):
                    assert int(count) <= shares[value] * int(classes.sizes[e])


@settings(max_examples=300, deadline=None)
@given(EXAMPLES, EVERY_MODEL)
def test_size_and_cap_say_it_all_where_a_model_says_so(example, model):
    assume(model.size_and_cap and model.local)
    for _, classes in applicable(model, example):
        large = classes.sizes >= max(model.k_asked or 1, 1)
        rare = [
            r <= model.cap * n
            for r, n in zip(classes.largest.tolist(), classes.sizes.tolist(), strict=True)
        ]
        assert model.holds(classes).tolist() == (large & rare).tolist()


@given(EVERY_MODEL, st.integers(0, 3))
def test_enough_different_values_satisfy(model, more):
    known = model.values_enough is not None
    assert known != (model.compares_with_table or model.needs_numbers)
    assume(known)
    values = max(model.values_enough, model.smallest_class) + more
    assert model.values_enough >= max(model.distinct_asked, model.values_by_cap)
    if model.local:
        assert model.holds(one_class(*[1] * values)).all()


@settings(max_examples=300, deadline=None)
@given(EXAMPLES, EVERY_MODEL, EVERY_MODEL)
def test_what_another_model_implies_holds(example, model, other):
    assert model.implied_by(model)
    if model.implied_by(other):
        for _, classes in applicable(other, example):
            assert (model.holds(classes) | ~other.holds(classes)).all()


@settings(max_examples=300, deadline=None)
@given(EXAMPLES, EVERY_MODEL)
def test_exact_rules_are_never_stricter(example, model):
    assume(model.exact_rules and model.local)
    if not model.applies(example.histograms()[0]):
        example.table = about(example.table, *sensitive_of(example.table)[1:])
    expected = satisfied_classes(example.table, [model], example.ids).tolist()
    assert list(kernel_verdicts(rules_for(example.table.codebook, [model]), example)) == expected


@settings(max_examples=200, deadline=None)
@given(EXAMPLES, st.lists(EVERY_MODEL, max_size=3), st.data())
def test_satisfied_asks_every_model_in_every_column(example, models, data):
    persons = example.table.person is not None
    assume(not (persons and any(m.compares_with_table for m in models)))
    expected = np.ones(example.ids.max() + 1, dtype=bool)
    for model in models:
        for s, classes in applicable(model, example):
            expected &= naive.holds(model, example.naive_classes(s), classes.ordered)
    assert satisfied_classes(example.table, models, example.ids).tolist() == expected.tolist()
    rows = np.array(data.draw(st.permutations(range(example.table.n))))
    asked = TableModels(example.table, models)
    assert asked.satisfied(rows, example.ids[rows]).tolist() == expected.tolist()
    if all(m.local for m in models):
        some = np.flatnonzero(example.ids == 0)
        assert asked.satisfied_by(some) == expected[0]


def test_nobody_but_the_models_asks_of_what_class_a_model_is():
    kinds = {model.__name__ for model in MODELS.values()}
    source = Path(shoal.__file__).parent
    for path in source.rglob("*.py"):
        if path.parent.name == "models":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                named = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                assert not named & (kinds | {"READINGS", "MODELS"}), path
