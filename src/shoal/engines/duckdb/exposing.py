"""What plain columns give away, counted where records do not fit into memory.

The facts and their words are those of `shoal.encoding.exposure`; here they are counted by
DuckDB, in the staged input or in the written file. A sample, of the records that are looked
at in memory too, tells which pairs of columns are worth counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.encoding.weights import what_weights_tell
from shoal.engines.ranges.coded import Coded
from shoal.engines.ranges.exposing import Counting, Sample, key_of
from shoal.methods.sparseness import how_few_repeat, least_class
from shoal.plan import Plan

__all__ = ["told_before"]


def told_before(con: Any, table: Coded, plan: Plan) -> tuple[list[str], list[str]]:
    """What the custodian is told before the work: what plain columns give away; cautions."""
    policy, records = plan.policy, table.records
    plain = [name for name in policy.plain if name in table.stage.plain]
    roles = [("quasi-identifier", name) for name in policy.qi]
    roles += [("sensitive column", name) for name in policy.sensitive]
    names = [*plain, *(name for _, name in roles)]
    place = {name: f"c{number}" for number, name in enumerate(names)}

    def as_keys(batch: pa.RecordBatch) -> pa.RecordBatch:
        codes = [*table.codes(batch), *table.sensitive_codes(batch)]
        columns = [key_of(batch.column(name), policy) for name in plain]
        columns += [pa.array(row.astype(np.int32)) for row in codes]
        return pa.RecordBatch.from_arrays(columns, list(place.values()))

    schema = as_keys(next(table.stage.pieces.read())).schema

    def ask(query: str) -> Sequence[Any]:
        batches = (as_keys(batch) for batch in table.stage.pieces.read())
        con.register("staged", pa.RecordBatchReader.from_batches(schema, batches))
        (row,) = con.execute(query.replace("{0}", "staged")).fetchall()
        con.unregister("staged")
        return tuple(row)

    counting, sample = Counting(ask, place), Sample(records)
    for batch in table.stage.pieces.read() if plain else ():
        sample.add(pa.Table.from_batches([as_keys(batch)]).rename_columns(names))
    exposed = list(counting.lines(plain, roles, sample, policy, records))
    weights = policy.weight_column
    if weights in plain:
        exposed += what_weights_tell(counting.below([str(weights)], 2), records, policy)
    cautions: list[str] = []
    if plan.recoding == "suppress" and not plan.method.keeps_parts:
        few = counting.below(policy.qi, least_class(plan.models))
        cautions += how_few_repeat(few, records, table.book.qi, plan.models)
    return exposed, cautions
