"""Records as numbers of their values, wherever they lie, and what the numbers mean.

`Staged` is what one pass over the input gives; `Coded` adds the codebook, and turns staged
records into codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.codebook import Attribute, Codebook, SensitiveAttribute
from shoal.encoding.cooccurrence import arranged_by, worth_arranging
from shoal.encoding.encode import attribute_of, sensitive_of
from shoal.encoding.marks import marks_of
from shoal.encoding.sketch import Sketch
from shoal.encoding.table import Codes, EncodedTable, stacked
from shoal.engines.ranges.grouping import flow
from shoal.engines.ranges.persons import PersonCounts, numbered, words_in
from shoal.engines.ranges.profile import Growing
from shoal.engines.ranges.spill import Pieces
from shoal.errors import ShoalError
from shoal.policy import Policy

__all__ = ["Coded", "Explained", "Staged", "codes_by", "explained"]


class Staged(NamedTuple):
    """What one pass over the input gives."""

    columns: tuple[str, ...]
    """Those that go out, in the input's order."""
    values: dict[str, Growing]
    """Distinct values of quasi-identifiers and sensitive columns."""
    plain: tuple[str, ...]
    types: dict[str, pa.DataType]
    """Of plain columns."""
    pieces: Pieces
    records: int
    files: tuple[tuple[str, int], ...]
    """What was read, and how many records came before it."""
    person: str | None = None
    """The staged column that says whose record it is (`shoal.engines.ranges.persons`)."""


@dataclass(frozen=True, eq=False)
class Coded:
    """The codebook, and where the records are."""

    stage: Staged
    policy: Policy
    book: Codebook
    code_of_number: dict[str, NDArray[np.int32]]
    spelt: tuple[str, ...]
    """Sensitive columns in which different values have one code."""
    sketch: Sketch | None
    workers: int

    @property
    def records(self) -> int:
        return self.stage.records

    def codes(self, batch: pa.RecordBatch) -> Codes:
        """Codes of the quasi-identifiers of staged records."""
        return codes_by(batch, self.policy.qi, self.code_of_number)

    def sensitive_codes(self, batch: pa.RecordBatch) -> Codes:
        """Codes of their sensitive values."""
        return codes_by(batch, self.policy.sensitive, self.code_of_number)

    def counting_persons(self, counts: PersonCounts) -> Coded:
        """The same, with sensitive values counted once a person."""
        persons, of_values = counts.persons, tuple(counts.columns)
        return replace(self, book=replace(self.book, persons=persons, sensitive_counts=of_values))

    def scan(self, work: Callable[[pa.RecordBatch], Any]) -> Iterator[Any]:
        """What a function gives of all staged batches, in their order, on threads."""
        return flow(work, self.stage.pieces.read(), self.workers)

    def sensitive_column(self, name: str, numbers: NDArray[Any]) -> pa.Array:
        """Cells of a sensitive column by the numbers of its values."""
        values = self.stage.values[name].all_values()
        place = numbers.astype(np.int64) - 1
        index = pa.array(np.maximum(place, 0).astype(np.int32), mask=place < 0)
        if not len(values):
            return pa.nulls(len(numbers), values.type)
        return pa.DictionaryArray.from_arrays(index, values)

    def alone(self, codes: Codes) -> EncodedTable:
        """Some records by their quasi-identifiers only."""
        nothing = np.zeros((0, codes.shape[1]), dtype=np.int32)
        return EncodedTable(self.book.qi, codes, (), nothing)

    def words(self, batch: pa.RecordBatch) -> NDArray[np.uint64] | None:
        """What says whose each staged record is; None where no persons are declared."""
        person = self.stage.person
        return None if person is None else words_in(batch.column(person))

    def table(
        self, codes: Codes, rest: pa.Table, words: NDArray[np.uint64] | None = None
    ) -> EncodedTable:
        """Some records as methods see them: codes, other columns, and whose they are."""
        sensitive = stacked(
            (
                self.code_of_number[name][np.asarray(rest.column(name).combine_chunks())]
                for name in self.policy.sensitive
            ),
            len(self.policy.sensitive),
            rest.num_rows,
        )
        told = {}
        for name in self.stage.columns:
            if name in self.spelt:
                numbers = np.asarray(rest.column(name).combine_chunks())
                told[name] = self.sensitive_column(name, numbers)
            elif name in self.stage.plain:
                told[name] = rest.column(name)
        person = None if words is None else numbered(words)
        first = None if words is None else words[0]
        known = told or first is not None
        marks = marks_of(pa.table(told), self.policy, self.spelt, first) if known else None
        book = self.book
        return EncodedTable(
            book.qi, codes, book.sensitive, sensitive, person, marks, book.sensitive_counts
        )


class Explained(NamedTuple):
    """What the values of a table that was staged stand for."""

    qi: tuple[Attribute, ...]
    sensitive: tuple[SensitiveAttribute, ...]
    counts: dict[str, NDArray[np.int64]]
    """Records of each code of each column."""
    numbers: dict[str, NDArray[np.int32]]
    """The code of each number of a value."""
    spelt: tuple[str, ...]
    """Sensitive columns in which different values have one code."""

    def coded(self, stage: Staged, policy: Policy, sketch: Sketch | None, workers: int) -> Coded:
        """The codebook, its value sets arranged by a sketch of the table."""
        qi = self.qi
        if sketch is not None and worth_arranging(qi, stage.records):
            qi = tuple(arranged_by(sketch, qi, [self.counts[name] for name in policy.qi]))
        book = Codebook(
            qi,
            self.sensitive,
            tuple(self.counts[name] for name in policy.qi),
            tuple(self.counts[name] for name in policy.sensitive),
            stage.records,
        )
        return Coded(stage, policy, book, self.numbers, self.spelt, sketch, workers)


def explained(stage: Staged, policy: Policy) -> Explained:
    """What the values of a table that was staged stand for."""
    numbers: dict[str, NDArray[np.int32]] = {}
    try:
        qi = [_explained(stage, name, policy, attribute_of, numbers) for name in policy.qi]
        sensitive = [
            _explained(stage, name, policy, sensitive_of, numbers) for name in policy.sensitive
        ]
    except ShoalError as error:
        raise type(error)(_in_file(str(error), stage)) from None
    counts = {
        column.name: np.bincount(
            numbers[column.name], weights=stage.values[column.name].counts, minlength=column.size
        ).astype(np.int64)[: column.size]  # the code of a missing value, where none is, is beyond
        for column in (*qi, *sensitive)
    }
    spelt = [
        name for name in policy.sensitive if _merges(stage.values[name], numbers[name], policy)
    ]
    return Explained(tuple(qi), tuple(sensitive), counts, numbers, tuple(spelt))


def _explained(
    stage: Staged,
    name: str,
    policy: Policy,
    explained: Callable[..., tuple[Any, NDArray[np.int32]]],
    numbers: dict[str, NDArray[np.int32]],
) -> Any:
    """An attribute, and the code of each number of its values."""
    growing = stage.values[name]
    values = growing.values(policy.missing, policy.notation.get(name))
    attribute: Attribute | SensitiveAttribute
    attribute, code_of_value = explained(name, values, policy)
    numbers[name] = growing.code_of_number(code_of_value, policy.missing)
    return attribute


def _merges(growing: Growing, codes: NDArray[np.int32], policy: Policy) -> bool:
    present = codes[1:][growing.used(policy.missing)]
    return len(np.unique(present)) < len(present)


def codes_by(
    batch: pa.RecordBatch, names: Sequence[str], code_of_number: dict[str, NDArray[np.int32]]
) -> Codes:
    columns = (code_of_number[name][np.asarray(batch.column(name))] for name in names)
    return stacked(columns, len(names), batch.num_rows)


def _in_file(message: str, stage: Staged) -> str:
    """A message that names a record of all, with the file of several that it is in."""
    _, found, number = message.rpartition("first in record ")
    if not found or len(stage.files) < 2 or not number.replace(",", "").isdigit():
        return message
    record = int(number.replace(",", ""))
    name, before = next(f for f in reversed(stage.files) if f[1] < record)
    return f"{message.removesuffix(number)}{record - before:,} of {name}"
