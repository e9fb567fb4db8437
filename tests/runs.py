"""One run of a method on an encoded table, without the pipeline around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.encoding.table import EncodedTable, Partition
from shoal.methods import get_method
from shoal.methods.base import Outcome, Run
from shoal.models import Model


def outcome_of(
    name: str, table: EncodedTable, models: Sequence[Model], seed: int = 0, **options: Any
) -> Outcome:
    method = get_method(name)
    return method.run(table, models, method.options(**options), Run(seed))


def partition_of(
    name: str, table: EncodedTable, models: Sequence[Model], seed: int = 0, **options: Any
) -> Partition:
    """The groups of all attributes, which a method has that recodes them together."""
    outcome = outcome_of(name, table, models, seed, **options)
    assert len(outcome.recoding.partitions) == len(table.qi)
    return outcome.recoding.partitions[0] if table.qi else Partition.whole(table.n)
