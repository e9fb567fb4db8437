"""Small tables cut into classes, and all models with small parameters, drawn by hypothesis."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from columns import encoded_table, sensitive_column, sensitive_of
from shoal.encoding.table import EncodedTable
from shoal.kernels import rules as kernel
from shoal.models import (
    KE,
    AlphaK,
    BasicBeta,
    DeltaDisclosure,
    DistinctL,
    EnhancedBeta,
    EntropyL,
    FrequencyL,
    KAnonymity,
    MInvariance,
    RecursiveL,
    TCloseness,
    UniqueDistinctL,
    histograms,
    table_histograms,
)

NUMBERS = np.array([1.0, 2.0, 5.0, 7.5, np.nan])


@dataclasses.dataclass
class Example:
    """A small table with a nominal and a numeric sensitive column, cut into classes."""

    ids: np.ndarray
    table: EncodedTable

    def histograms(self):
        return table_histograms(self.table, self.ids)

    def naive_classes(self, column):
        sensitive = sensitive_of(self.table)[column]
        persons = self.table.person if self.table.person is not None else range(self.table.n)
        values = sensitive.codes.tolist()
        if sensitive.numbers is not None:
            values = [None if np.isnan(x) else x for x in sensitive.numbers[values]]
        classes = [[] for _ in range(self.ids.max() + 1)]
        for e, person, value in zip(self.ids, persons, values, strict=True):
            classes[e].append((person, value))
        return classes


def make_example(rows, persons):
    """Rows of (class, nominal code, number code, person); classes are renumbered densely."""
    ids, nominal, number, person = (np.array(c) for c in zip(*rows, strict=True))
    ids = np.unique(ids, return_inverse=True)[1].astype(np.int64)
    columns = (
        sensitive_column("disease", "categorical", nominal.astype(np.int32), list("abcde"), False),
        sensitive_column("pay", "numeric", number.astype(np.int32), list("12345"), True, NUMBERS),
    )
    who = person.astype(np.int32) if persons else None
    return Example(ids, encoded_table(len(rows), (), columns, who))


ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 4), st.integers(0, 8)),
    min_size=1,
    max_size=40,
)
EXAMPLES = st.builds(make_example, ROWS, st.booleans())
RECORDS_ONLY = st.builds(make_example, ROWS, st.just(False))

WHOLE = st.integers(1, 5)
TENTHS = st.integers(0, 10).map(lambda n: Fraction(n, 10))
ABOVE_ZERO = st.one_of(TENTHS.filter(bool), st.fractions(Fraction(1, 9), 4, max_denominator=12))
LIKENESSES = st.one_of(
    ABOVE_ZERO.map(EnhancedBeta), ABOVE_ZERO.map(BasicBeta), ABOVE_ZERO.map(DeltaDisclosure)
)
EVERY_MODEL = st.one_of(
    WHOLE.map(KAnonymity),
    WHOLE.map(FrequencyL),
    WHOLE.map(DistinctL),
    WHOLE.map(UniqueDistinctL),
    WHOLE.map(MInvariance),
    st.one_of(WHOLE.map(Fraction), st.fractions(1, 5, max_denominator=8)).map(EntropyL),
    st.builds(RecursiveL, st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(5, 2)]), WHOLE),
    st.builds(AlphaK, TENTHS.filter(bool), WHOLE),
    st.one_of(TENTHS, st.fractions(0, 1, max_denominator=12)).map(TCloseness),
    LIKENESSES,
    st.builds(KE, WHOLE, st.sampled_from([Fraction(0), Fraction(1), Fraction(11, 2)])),
)


def applicable(model, example):
    """Index and histograms of the sensitive columns that a model looks at."""
    return [(s, h) for s, h in enumerate(example.histograms()) if model.applies(h)]


def one_class(*counts, ordered=False):
    codes = np.repeat(np.arange(len(counts)), counts)
    return histograms(np.zeros(len(codes), dtype=int), codes, len(counts), ordered=ordered)


def kernel_verdicts(rules, example):
    """`kernel.holds` for every class, each histogram built from scratch."""
    rng = np.random.default_rng(0)
    person = example.table.person
    if person is None:
        person = np.arange(example.table.n)
    for e in range(example.ids.max() + 1):
        rows = np.flatnonzero(example.ids == e)
        histogram = np.zeros(rules.start[-1], dtype=np.int64)
        for s, column in enumerate(sensitive_of(example.table)):
            pairs = set(zip(person[rows], column.codes[rows], strict=True))
            for _, code in pairs:
                histogram[rules.start[s] + code] += 1
        touched = rng.permutation(np.flatnonzero(histogram))
        n = len(np.unique(person[rows]))
        yield kernel.holds(rules, n, histogram, touched, len(touched))
