"""What SQL has listed of the classes of written files, for the models to decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.exempt import exempt_codes
from shoal.encoding.folding import UNKNOWN, counted_values, fold
from shoal.encoding.spreadsheet import armed_column
from shoal.encoding.values import distinct_values, kind_of
from shoal.models import ClassHistograms, Model, histograms, known_sizes, sizes_only
from shoal.policy import Policy
from shoal.verification.check import check_classes
from shoal.verification.result import Verification

__all__ = ["PERSONS", "Column", "part_checked", "twins_of"]

PERSONS = 1 << 32
"""More persons than there are: two numbers in one."""


class Column(NamedTuple):
    """A sensitive column of the file: which code each of its texts has."""

    name: str
    codes: NDArray[np.int32]
    """Code by number of the text; at last that of a null."""
    like: ClassHistograms
    """The whole column, as one class."""

    @classmethod
    def of(cls, name: str, values: Any, counts: NDArray[np.int64], policy: Policy) -> Column:
        """What distinct values of a written file count as; the codes are theirs."""
        raw = armed_column(values) if policy.csv_safe else values
        distinct = distinct_values(raw, policy.missing, policy.notation.get(name))
        ranked, _ = counted_values(name, distinct, policy)
        codes = ranked.code_of_value[distinct.codes]
        total = np.zeros(len(ranked.texts), dtype=np.int64)
        np.add.at(total, codes, counts)
        like = histograms(
            np.zeros(len(codes), dtype=np.int64),
            codes,
            len(ranked.texts),
            ordered=kind_of(name, distinct, policy) != "categorical",
            numbers=ranked.numbers,
            exempt=exempt_codes(name, distinct, ranked, policy),
        )
        return cls(name, codes.astype(np.int32), replace(like, table=total))


def twins_of(texts: Sequence[str | None]) -> dict[str | None, str | None]:
    """Texts that a reader takes for another one of them, and for which."""
    first: dict[str, str | None] = {}
    for text in texts:
        first.setdefault(UNKNOWN if text is None else fold(text), text)
    read_as = {text: first[UNKNOWN if text is None else fold(text)] for text in texts}
    return {text: other for text, other in read_as.items() if text != other}


def part_checked(
    batch: pa.RecordBatch, columns: Sequence[Column], models: Sequence[Model], persons: bool = False
) -> Verification:
    """Models on some of the classes: their sizes, and a list of numbers of texts each column.

    With `persons` each number has whose it is beside it, and a last list has that alone.
    """
    sizes = np.asarray(batch.column(0)).astype(np.int64)
    ids = np.repeat(np.arange(len(sizes)), sizes)
    first = batch.num_columns - len(columns) - persons
    known = known_sizes(sizes)
    if persons:
        people = np.asarray(batch.column(batch.num_columns - 1).flatten())
        known = sizes_only(ids, person=people)
    found = {}
    for place, column in enumerate(columns, start=first):
        texts = np.asarray(batch.column(place).flatten())
        person = None
        if persons:
            texts, person = np.divmod(texts, PERSONS)
        counted = histograms(
            ids,
            column.codes[texts],
            column.like.domain,
            person=person,
            ordered=column.like.ordered,
            numbers=column.like.numbers,
            exempt=column.like.exempt,
        )
        found[column.name] = replace(counted, table=column.like.table)
    return Verification(tuple(check_classes(models, known, found)), sizes)
