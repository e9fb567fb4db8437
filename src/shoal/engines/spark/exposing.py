"""What plain columns give away, counted by Spark SQL in the records as they were read.

The facts and their words are those of `shoal.encoding.exposure`. Which pairs of columns are
worth counting a sample tells, which is taken by content and looked at in a task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.encoding.exposure import SAMPLE, guessed, keyed, lines_of
from shoal.encoding.sketch import row_hashes
from shoal.engines.ranges.coded import Coded
from shoal.engines.ranges.exposing import Counting, key_of
from shoal.engines.spark.check import asked_of
from shoal.engines.spark.frames import Frame, collected, mapped
from shoal.engines.spark.packets import Row, facts, packed, rows_of, told, unpacked
from shoal.engines.spark.profiling import as_numbers
from shoal.engines.spark.working import OnRows, in_our_words
from shoal.methods.sparseness import how_few_repeat, least_class
from shoal.plan import Plan

__all__ = ["told_before"]


class Keys:
    """Records as keys: texts of plain columns, codes of the others."""

    def __init__(self, table: Coded, plain: Sequence[str]) -> None:
        self.table, self.plain = table, tuple(plain)
        self.names = [*plain, *table.policy.qi, *table.policy.sensitive]

    @property
    def schema(self) -> str:
        kinds = ["string"] * len(self.plain) + ["int"] * (len(self.names) - len(self.plain))
        return ", ".join(f"c{number} {kind}" for number, kind in enumerate(kinds))

    def of(self, packet: bytes) -> pa.RecordBatch:
        batch = as_numbers(unpacked(packet), self.table.stage.values)
        codes = [*self.table.codes(batch), *self.table.sensitive_codes(batch)]
        columns = [_text(batch.column(name), self.table) for name in self.plain]
        columns += [pa.array(row.astype(np.int32)) for row in codes]
        return pa.RecordBatch.from_arrays(columns, [f"c{n}" for n in range(len(columns))])

    def tables(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for row in rows_of(batches):
            yield self.of(row.packet)


def _text(column: pa.Array, table: Coded) -> pa.Array:
    key = key_of(column, table.policy)
    try:
        return key.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        present = key.is_valid()
        texts = pa.array([str(cell) for cell in key.to_pylist()])
        return pc.if_else(present, texts, pa.scalar(None, pa.string()))


class SampleKeys(OnRows):
    """Some records as keys: which ones, their content says."""

    def __init__(self, keys: Keys, step: int) -> None:
        self.keys, self.step = keys, step

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        first = len(self.keys.plain)
        for row in rows:
            batch = self.keys.of(row.packet)
            codes = np.stack([np.asarray(column) for column in batch.columns[first:]])
            hashes = row_hashes(codes) >> np.uint64(20)
            some = np.flatnonzero(hashes % np.uint64(self.step) == 0)
            yield Row("sample", 0, packed(batch.take(pa.array(some))))


class TellPairs(OnRows):
    """How much plain columns tell of the others, in a sample."""

    def __init__(self, keys: Keys) -> None:
        self.keys = keys

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        tables = [unpacked(row.packet) for row in rows]
        if not tables:
            return
        keys, policy = self.keys, self.keys.table.policy
        sample = pa.concat_tables(tables).rename_columns(keys.names)
        others = keys.names[len(keys.plain) :]
        coded = {name: keyed(sample, name, policy) for name in keys.names}
        found = {
            (name, number): guessed(coded[name], coded[other])
            for name in keys.plain
            for number, other in enumerate(others)
        }
        yield Row("tells", 0, facts(found))


def told_before(staged: Frame, table: Coded, plan: Plan) -> tuple[list[str], list[str]]:
    """What the custodian is told before the work: what plain columns give away; cautions."""
    policy, records = plan.policy, table.records
    plain = [name for name in policy.plain if name in table.stage.plain]
    few = plan.recoding == "suppress" and not plan.method.keeps_parts
    if not plain and not few:
        return [], []
    keys = Keys(table, plain)
    place = {name: f"c{number}" for number, name in enumerate(keys.names)}
    roles = [("quasi-identifier", name) for name in policy.qi]
    roles += [("sensitive column", name) for name in policy.sensitive]
    step = records // SAMPLE if records > 2 * SAMPLE else 1

    def run(batches: Iterable[Any]) -> Any:
        return in_our_words(keys.tables, batches)

    with asked_of(staged.mapInArrow(run, keys.schema)) as ask:
        counting = Counting(ask, place)
        exposed: list[str] = []
        if plain:
            shares = _shares(staged, keys, step)

            def tells(name: str, number: int) -> float | None:
                share = shares[name, number]
                if share is None or step == 1:
                    return share
                return counting.told(name, roles[number][1], records)

            def alone(name: str) -> int:
                return counting.below([name], 2)

            k = policy.k or 0
            exposed = list(lines_of(plain, roles, records, k, alone, tells, counting.below))
        cautions: list[str] = []
        if few:
            alike = counting.below(policy.qi, least_class(plan.models))
            cautions = list(how_few_repeat(alike, records, table.book.qi, plan.models))
    return exposed, cautions


def _shares(staged: Frame, keys: Keys, step: int) -> dict[tuple[str, int], float | None]:
    sampled = mapped(staged, SampleKeys(keys, step)).repartition(1)
    (found,) = collected(mapped(sampled, TellPairs(keys)))
    shares: dict[tuple[str, int], float | None] = told(found.packet)
    return shares
