"""Which classes satisfy every model: the one place that asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.table import EncodedTable
from shoal.models.base import ClassHistograms, Model
from shoal.models.compiled import needs_sensitive
from shoal.models.counting import Integers, sizes_only, table_histograms

__all__ = ["TableModels", "asked_of_each", "satisfied", "satisfied_classes"]


def asked_of_each(
    models: Iterable[Model], sizes: ClassHistograms, columns: Sequence[ClassHistograms]
) -> Iterator[tuple[Model, ClassHistograms]]:
    """Each model with every histogram that it has something to say about."""
    for model in models:
        for classes in columns if model.about_sensitive else (sizes,):
            if model.applies(classes):
                yield model, classes


def satisfied(
    models: Iterable[Model], sizes: ClassHistograms, columns: Sequence[ClassHistograms]
) -> NDArray[np.bool_]:
    """Which classes satisfy every model in every sensitive column it applies to. Exact.

    Parameters
    ----------
    models
        What is asked for.
    sizes
        The classes without a sensitive column, as `sizes_only` counts them.
    columns
        The same classes with the histogram of each sensitive column; none are
        needed where no model is about sensitive values.
    """
    passed = np.ones(sizes.classes, dtype=np.bool_)
    for model, classes in asked_of_each(models, sizes, columns):
        passed &= model.holds(classes)
        if not passed.any():
            break
    return passed


def satisfied_classes(
    table: EncodedTable, models: Sequence[Model], class_ids: Integers
) -> NDArray[np.bool_]:
    """`satisfied` for all records of a table in classes 0, 1, ..."""
    columns = table_histograms(table, class_ids) if needs_sensitive(models) else ()
    return satisfied(models, sizes_only(class_ids, person=table.person), columns)


class TableModels:
    """Models that are asked about groups of some records of a table.

    Models that compare a group with the table compare it with all its records.
    """

    def __init__(self, table: EncodedTable, models: Sequence[Model]) -> None:
        self.table = table
        self.models = tuple(models)

    @property
    def totals(self) -> tuple[NDArray[np.int64], ...]:
        """Histogram of each sensitive column in the whole table."""
        return self.table.codebook.compared_with

    def satisfied(self, rows: NDArray[np.int64], group_ids: Integers) -> NDArray[np.bool_]:
        """For each group of the given records whether it satisfies every model.

        Groups are numbered 0, 1, ...; they may share records.
        """
        person = None if self.table.person is None else self.table.person[rows]
        sizes = sizes_only(group_ids, person=person)
        if not needs_sensitive(self.models):
            return satisfied(self.models, sizes, ())
        counted = table_histograms(self.table, group_ids, rows)
        columns = [
            replace(classes, table=total)
            for classes, total in zip(counted, self.totals, strict=True)
        ]
        return satisfied(self.models, sizes, columns)

    def satisfied_by(self, rows: NDArray[np.int64]) -> bool:
        """Whether the given records, as one group, satisfy every model."""
        return bool(self.satisfied(rows, np.zeros(len(rows), dtype=np.int64)).all())
