"""Findings of parts are those of the whole: classes checked apart, then merged."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from model_examples import EVERY_MODEL, EXAMPLES, applicable, one_class
from shoal.models import (
    EntropyL,
    KAnonymity,
    UniqueDistinctL,
    known_sizes,
    sizes_only,
)
from shoal.verification.check import check_classes
from shoal.verification.result import Check, Verification


def parts_of(draw, classes):
    """The classes in some order, divided into parts; some of them may be empty."""
    order = np.array(draw(st.permutations(range(classes))), dtype=np.int64)
    cuts = sorted(draw(st.lists(st.integers(0, classes), max_size=4)))
    return np.split(order, cuts)


@settings(max_examples=600, deadline=None)
@given(EXAMPLES, EVERY_MODEL, st.data())
def test_findings_of_parts_merge_to_that_of_the_whole(example, model, data):
    for _, classes in applicable(model, example):
        whole = model.finding(classes)
        assert whole.failing == int((~model.holds(classes)).sum())
        assert whole.level == model.level(classes)
        parts = parts_of(data.draw, classes.classes)
        found = [model.finding(classes.take(part)) for part in parts]
        assert model.merge(found) == whole
        half = len(found) // 2 + 1  # merged parts merge again, in any order
        assert model.merge([model.merge(found[half:]), model.merge(found[:half])]) == whole


@settings(max_examples=300, deadline=None)
@given(EXAMPLES, st.lists(EVERY_MODEL, min_size=1, max_size=4, unique=True), st.data())
def test_checks_of_parts_merge_to_those_of_the_whole(example, models, data):
    names = [column.name for column in example.table.sensitive]
    columns = dict(zip(names, example.histograms(), strict=True))
    sizes = sizes_only(example.ids, person=example.table.person)

    def verification(chosen):
        some = {name: classes.take(chosen) for name, classes in columns.items()}
        checks = check_classes(models, sizes.take(chosen), some)
        return Verification(tuple(checks), np.bincount(example.ids)[chosen])

    whole = verification(np.arange(sizes.classes))
    assert whole.checks == tuple(check_classes(models, sizes, columns))
    merged = Verification.merge([verification(part) for part in parts_of(data.draw, sizes.classes)])
    assert merged.checks == whole.checks
    assert merged.to_dict() == whole.to_dict()
    assert sorted(merged.class_sizes) == sorted(whole.class_sizes)


@settings(deadline=None)
@given(EXAMPLES, st.data())
def test_a_part_of_the_classes_is_as_it_was(example, data):
    for classes in example.histograms():
        for part in parts_of(data.draw, classes.classes):
            taken = classes.take(part)
            assert taken.sizes.tolist() == classes.sizes[part].tolist()
            assert taken.total.tolist() == classes.total.tolist()
            if len(part):
                assert taken.largest.tolist() == classes.largest[part].tolist()
                assert taken.mass.tolist() == classes.mass[part].tolist()
                assert taken.distinct.tolist() == classes.distinct[part].tolist()


def test_a_tie_of_entropy_in_one_part_is_not_the_level_of_all():
    tie, less = one_class(4, 1, 1, 1, 1), one_class(5, 1, 1, 1, 1)
    model = EntropyL.of(4)
    found = [model.finding(tie), model.finding(less)]
    assert [f.level for f in found] == [4.0, model.level(less)]
    assert model.merge(found).level == model.level(less) < 4
    assert model.merge(found[:1]).level == 4.0


def test_leftovers_of_all_parts_count_together():
    model = UniqueDistinctL(3)
    part = model.finding(one_class(2, 1, 1, 1, 1, 1))  # of seven one is over
    assert (part.failing, part.level) == (0, 3)
    assert model.merge([part, part]).failing == 0  # two are over, as must be of fourteen
    three = model.merge([part, part, part])
    assert three.failing == 3  # 21 records could have been groups of three
    assert three.facts == {"residual_classes": 3}


def test_findings_of_another_model_are_a_mistake():
    strange = KAnonymity(2).finding(known_sizes(np.array([2, 3])))
    with pytest.raises(TypeError, match="expected a UniqueFinding"):
        UniqueDistinctL(2).merge([strange])
    checks = [Check.of(KAnonymity(k), None, strange) for k in (2, 3)]
    with pytest.raises(ValueError, match="one model on one column"):
        Check.merge(checks)


def test_what_cannot_be_checked_stays_unchecked_unless_it_fails():
    good = Check("k-anonymity", "k = 2", None, None, True, 0, unchecked="no persons")
    bad = dataclasses.replace(good, holds=False, failing_classes=2, unchecked=None)
    assert Check.merge([good, good]) == good
    assert Check.merge([good, bad, bad]) == dataclasses.replace(bad, failing_classes=4)


def test_the_manifest_says_how_many_classes_took_in_residual_records():
    table = pa.table({"age": list(range(20, 27)), "disease": list("abcabca")})
    release = shoal.anonymize(
        table, qi="age", sensitive="disease", l=2, l_reading="unique", method="bsgi", rest="plain"
    )
    (model,) = release.manifest["models"]
    sizes = release.verification.class_sizes
    assert model["residual_classes"] == np.count_nonzero(sizes % 2) == 1
    (check,) = release.verify().checks
    assert check.facts == {"residual_classes": 1}
    plain = shoal.anonymize(table, qi="age", sensitive="disease", l=2, rest="plain")
    assert set(plain.manifest["models"][0]) == {"model", "asked", "column", "reached", "holds"}
