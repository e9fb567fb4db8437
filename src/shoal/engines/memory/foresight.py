"""How long the steps after partitioning will take: measured on a sample, before they are due."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shoal.clock import seconds_for
from shoal.encoding.table import Partition, Recoding
from shoal.engines.memory.outliers import Kept
from shoal.methods.base import Outcome
from shoal.plan import Plan

if TYPE_CHECKING:
    from shoal.engines.memory.engine import Encoded, MemoryEngine

__all__ = ["seconds_after_partition"]

SAMPLE, FEW = 20_000, 500
"""Records that are timed; and those that load the code before."""
MORE = 1.3
"""Sorting grows faster than the table, and a sample has fewer different texts."""


def seconds_after_partition(engine: MemoryEngine, encoded: Encoded, plan: Plan) -> float:
    """Seconds for recoding, verifying and measuring a release of all records."""
    _finish(engine, encoded, plan, FEW)
    records = min(encoded.table.n, SAMPLE)
    seconds = seconds_for(lambda: _finish(engine, encoded, plan, records))
    return seconds * MORE * encoded.table.n / max(1, records)


def _finish(engine: MemoryEngine, encoded: Encoded, plan: Plan, records: int) -> None:
    """Go through the steps with the smallest groups that can be, whether they hold or not."""
    rows = np.linspace(0, encoded.table.n - 1, min(encoded.table.n, records)).astype(np.int64)
    sample = encoded._replace(
        source=encoded.source._replace(table=encoded.source.table.take(rows)),
        table=encoded.table.take(rows),
    )
    smallest = max([1, *(model.smallest_class for model in plan.models)])
    groups = Partition.from_group_ids(np.arange(len(rows)) // smallest)
    recoding = Recoding.single(groups, len(encoded.table.qi))
    kept = Kept(sample.table, Outcome(recoding))
    draft = engine.recode(sample, kept, plan)
    engine.measure(sample, draft, engine.verify(draft, plan), plan)
