"""A codebook knows what follows from the domains and counts alone, without one record."""

from __future__ import annotations

import gc
import weakref
from dataclasses import fields

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guarantees import groups_of
from random_tables import encoded_tables
from shoal import anonymize
from shoal.encoding.codebook import Codebook
from shoal.encoding.encode import attribute_of, encode, sensitive_of
from shoal.encoding.recode import range_texts, recode, set_texts
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.encoding.values import Values, distinct_values
from shoal.engines.memory.budget import best_l
from shoal.errors import InfeasibleError
from shoal.kernels.costs import SET
from shoal.methods.curve import axes_of, curve_of
from shoal.models import (
    build_models,
    check_eligible,
    rules_for,
    sizes_only,
    table_histograms,
    whole_histograms,
    whole_sizes,
)
from shoal.policy import Policy

TREE = {"south": {"ash", "birch"}, "north": {"cedar", "date", "elm"}}
PEOPLE = pa.table(
    {
        "age": pa.array([31, 45, None, 27, 31, 62, 45, 31]),
        "tree": ["ash", "elm", "ash", "cedar", "birch", "date", "ash", "elm"],
        "job": ["cook", None, "cook", "smith", "judge", "smith", "nurse", "cook"],
        "ill": ["flu", "flu", "flu", "flu", "flu", "gout", "flu", "cold"],
        "pay": [10, 20, 20, 30, 10, 40, 20, 10],
        "who": ["a", "b", "c", "a", "a", "d", "b", "e"],
    }
)
ROLES = {
    "qi": ["age", "tree", "job"],
    "sensitive": ["ill", "pay"],
    "hierarchy": {"tree": {"tree": {k: sorted(v) for k, v in TREE.items()}, "root": "any"}},
    "kind": {"ill": "categorical"},
}


def same(one, other) -> bool:
    """Whether two NamedTuples of arrays and numbers are equal."""
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))


def equal_histograms(one, other) -> bool:
    return len(one) == len(other) and all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for a, b in zip(one, other, strict=True)
        for name in ("sizes", "offsets", "values", "counts", "total")
    )


@pytest.fixture(params=[None, "who"], ids=["records", "persons"])
def policy(request) -> Policy:
    settings = {"person": request.param} if request.param else {}
    return Policy.parse(**ROLES, **settings)


def book_alone(policy: Policy) -> Codebook:
    """The codebook of a table that is gone, records and all."""
    table = encode(PEOPLE, policy)
    gone = weakref.ref(table), weakref.ref(table.codes)
    book = table.codebook
    del table
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
    return book


def test_a_codebook_holds_no_record(policy):
    book = book_alone(policy)
    largest = max(c.size for c in (*book.qi, *book.sensitive))
    for attribute in (*book.qi, *book.sensitive):
        for field in fields(attribute):
            value = getattr(attribute, field.name)
            if hasattr(value, "__len__") and not isinstance(value, str):
                assert len(value) <= attribute.size
    assert max(map(len, (*book.counts, *book.sensitive_counts))) == largest
    assert [int(counts.sum()) for counts in book.counts] == [8, 8, 8]


def test_costs_rules_eligibility_and_best_l_need_no_record(policy):
    book, table = book_alone(policy), encode(PEOPLE, policy)
    assert same(book.costs, table.costs)
    assert same(book.suppressing().costs, table.suppressing().costs)
    one = np.zeros(table.n, dtype=np.int64)
    assert equal_histograms(whole_histograms(book), table_histograms(table, one))
    assert equal_histograms([whole_sizes(book)], [sizes_only(one, person=table.person)])
    rules = rules_for(book, build_models(k=2, l=2, t=0.4, alpha=0.5, e=2))
    counts = [h.total for h in table_histograms(table, one)]
    assert rules.total.tolist() == np.concatenate(counts).tolist()
    with pytest.raises(InfeasibleError) as refused:
        check_eligible(book, build_models(l=4))
    share = "60.0% of the persons" if policy.person else "75.0% of the records"
    assert f"one value is {share} (column ill)" in str(refused.value)
    assert best_l(book) == 2


def test_what_a_manifest_says_of_the_columns_needs_no_record(policy):
    book, release = (
        book_alone(policy),
        anonymize(PEOPLE, policy, k=2, method="hilbert", rest="drop"),
    )
    assert book.kinds == release.manifest["kinds"]


def test_axes_of_the_curve_need_no_record(policy):
    book = book_alone(policy)
    curve = curve_of(encode(PEOPLE, policy))
    assert axes_of(book.qi, book.counts) == (curve.axes, curve.bits)


@pytest.mark.parametrize("stars", [False, True])
def test_texts_of_ranges_and_sets_need_no_record(policy, stars):
    book, table = book_alone(policy), encode(PEOPLE, policy)
    book = book.suppressing() if stars else book
    partition = Partition.from_group_ids(np.array([0, 1, 0, 2, 2, 1, 0, 3]))
    released = recode(table, Recoding((partition,) * 3, stars=stars))
    for attribute, codes, column in zip(book.qi, table.codes, released, strict=True):
        sets = [np.unique(codes[rows]) for rows in groups_of(partition)]
        if attribute.form == SET:
            starts = np.append(0, np.cumsum([len(codes) for codes in sets]))
            texts, which = set_texts(attribute, starts, np.concatenate(sets).astype(np.int32))
        else:
            low, high = (np.array([end(codes) for codes in sets], np.int32) for end in (min, max))
            texts, which = range_texts(attribute, low, high)
        assert texts == column.texts
        assert which.tolist() == column.text_of_group.tolist()


def test_attributes_need_the_distinct_values_alone(policy):
    table = encode(PEOPLE, policy)
    for explained, attributes, codes in (
        (attribute_of, table.qi, table.codes),
        (sensitive_of, table.sensitive, table.sensitive_codes),
    ):
        for attribute, row in zip(attributes, codes, strict=True):
            distinct = distinct_values(PEOPLE.column(attribute.name))
            alone = Values(distinct.values, distinct.has_missing)
            again, code_of_value = explained(attribute.name, alone, policy)
            assert list(again.labels) == list(attribute.labels)
            assert code_of_value[distinct.codes].tolist() == row.tolist()


@settings(max_examples=60, deadline=None)
@given(encoded_tables(), st.randoms(use_true_random=False))
def test_some_records_cost_the_same_and_count_for_themselves(table, random):
    rows = np.array(random.sample(range(table.n), max(1, table.n // 2)), dtype=np.int64)
    part = table.take(rows)
    assert part.qi == table.qi
    assert same(part.costs, table.costs)
    assert part.codes.flags.c_contiguous
    assert part.codebook.records == part.n == len(rows)
    for counts, codes in zip(part.counts, table.codes, strict=True):
        assert counts.tolist() == np.bincount(codes[rows], minlength=len(counts)).tolist()


def test_a_table_of_columns():
    table = encode(PEOPLE, Policy.parse(**ROLES))
    columns = list(zip(table.qi, table.codes, strict=True))
    again = EncodedTable.of(columns, list(zip(table.sensitive, table.sensitive_codes, strict=True)))
    assert again.qi == table.qi
    assert np.array_equal(again.codes, table.codes)
    assert np.array_equal(again.sensitive_codes, table.sensitive_codes)
    assert EncodedTable.of([], n=7).n == 7
    assert np.array_equal(table.select([2, 0]).codes, table.codes[[2, 0]])
