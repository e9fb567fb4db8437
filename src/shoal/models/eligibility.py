"""Refuse, before any work, what no release of a table can satisfy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from shoal.encoding.table import EncodedTable
from shoal.errors import InfeasibleError
from shoal.models.base import Model, WholeTable
from shoal.models.compiled import require_columns
from shoal.models.counting import sizes_only, table_histograms

__all__ = ["check_eligible"]


def check_eligible(table: EncodedTable, models: Iterable[Model]) -> None:
    """Raise if the whole table in one class already fails a model.

    All models are closed under union when records are counted, so nothing
    finer can succeed where the whole table fails. When persons are counted
    only a necessary condition is checked: verification has the last word.

    Raises
    ------
    PolicyError
        A model has no sensitive column to look at.
    InfeasibleError
        Names the limit and the best that is possible.
    """
    models = tuple(models)
    require_columns(table, models)
    if not table.n:
        return
    one_class = np.zeros(table.n, dtype=np.int64)
    persons = table.person is not None
    size = WholeTable(sizes_only(one_class, person=table.person), table.n, persons)
    columns = tuple(_columns(table))
    for model in models:
        for whole in columns if model.about_sensitive else (size,):
            if model.applies(whole.classes) and not model.possible(whole):
                raise InfeasibleError(model.refusal(whole))


def _columns(table: EncodedTable) -> Iterator[WholeTable]:
    counted = table_histograms(table, np.zeros(table.n, dtype=np.int64))
    for column, classes in zip(table.sensitive, counted, strict=True):
        yield WholeTable(classes, table.n, table.person is not None, column.name, column.labels)
