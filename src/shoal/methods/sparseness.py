"""What the user should know before a method that suppresses starts to work."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.encoding.classes import class_sizes
from shoal.encoding.codebook import Attribute
from shoal.encoding.table import EncodedTable
from shoal.models.base import Model

__all__ = ["FEW", "hardly_repeats", "how_few_repeat", "least_class"]

FEW = 0.05
"""Below this share of records in large enough exact groups nearly everything is lost."""


def hardly_repeats(table: EncodedTable, models: Sequence[Model]) -> list[str]:
    """A warning if nearly all records have quasi-identifiers that too few others share.

    Suppression keeps records whose exact quasi-identifiers repeat often enough
    for the models, and stars the rest (paper 000, section 5.6).
    """
    sizes = class_sizes(table.columns(), table.n)
    alone = int(sizes[sizes < least_class(models)].sum())
    return how_few_repeat(alone, table.n, table.qi, models)


def least_class(models: Sequence[Model]) -> int:
    """Records that a class needs for all models."""
    return max([1, *(m.smallest_class for m in models)])


def how_few_repeat(
    alone: int, records: int, qi: Sequence[Attribute], models: Sequence[Model]
) -> list[str]:
    """What to say where so many records share their quasi-identifiers with too few."""
    least = least_class(models)
    if alone <= (1 - FEW) * records:
        return []
    widest = max(qi, key=lambda column: column.size)
    return [
        f"{100 * alone // records}% of the records have quasi-identifiers that fewer than "
        f"{least} records share: suppression will lose nearly everything; coarsen the wide "
        f"attributes (coarsen, with a hierarchy; {widest.name} has {widest.size:,} values) or "
        "generalise (method hilbert, recoding generalise)"
    ]
