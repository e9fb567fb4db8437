"""Refuse, before any work, what no release of a table can satisfy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shoal.encoding.codebook import Codebook
from shoal.errors import InfeasibleError
from shoal.models.base import Model, WholeTable
from shoal.models.compiled import require_columns
from shoal.models.counting import whole_histograms, whole_sizes

__all__ = ["check_eligible"]


def check_eligible(book: Codebook, models: Iterable[Model]) -> None:
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
    require_columns(book.sensitive, models)
    if not book.records:
        return
    size = WholeTable(whole_sizes(book), book.records, book.persons is not None)
    columns = tuple(_columns(book))
    for model in models:
        for whole in columns if model.about_sensitive else (size,):
            if not model.applies(whole.classes):
                continue
            if whole.persons and model.smallest_class > whole.size:
                raise InfeasibleError(
                    f"no release satisfies {model}: every class needs {model.smallest_class} "
                    f"persons; the table has {whole.size}"
                )
            if not model.possible(whole):
                raise InfeasibleError(model.refusal(whole))


def _columns(book: Codebook) -> Iterator[WholeTable]:
    persons = book.persons is not None
    for column, classes in zip(book.sensitive, whole_histograms(book), strict=True):
        yield WholeTable(classes, book.records, persons, column.name, column.labels)
