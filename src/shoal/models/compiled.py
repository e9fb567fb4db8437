"""Models and a table, flattened into the rules that kernels check."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.codebook import Codebook, SensitiveAttribute
from shoal.errors import PolicyError
from shoal.kernels.rules import CLOSE, GAIN, LOG_GAIN, RATIO, SAFE, SIZE, SPREAD, Rules
from shoal.models.base import Model, Rule

__all__ = ["needs_sensitive", "require_columns", "rules_for", "union_closed", "whole_table_only"]


BESIDE_TABLE = (CLOSE, GAIN, LOG_GAIN, RATIO)
"""Rules that compare a class with the table: they need to know how much it has."""


def rules_for(book: Codebook, models: Sequence[Model]) -> Rules:
    """What `shoal.kernels.rules.holds` needs to judge groups of this codebook's table.

    Every model about sensitive values applies to each sensitive column; (k, e)
    to the numeric ones. A model that is not `local` (unique distinct l) gets
    the part of it that concerns one group alone: see `whole_table_only`.
    Parameters beyond int64 are cut to a number that no table reaches either.
    """
    require_columns(book.sensitive, models)
    rules = list(_placed_rules(book, models))
    sizes = [c.size for c in book.sensitive]
    absent = [np.full(size, np.nan) for size in sizes]
    numbers = [
        blank if column.numbers is None else column.numbers
        for column, blank in zip(book.sensitive, absent, strict=True)
    ]
    return Rules(
        kind=np.array([r.kind for _, r in rules], dtype=np.int64),
        column=np.array([column for column, _ in rules], dtype=np.int64),
        a=np.array([min(r.a, SAFE) for _, r in rules], dtype=np.int64),
        b=np.array([r.b for _, r in rules], dtype=np.int64),
        x=np.array([r.x for _, r in rules], dtype=np.float64),
        smallest=min(max((m.smallest_class for m in models), default=1), SAFE),
        start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        total=np.concatenate([np.zeros(0, np.int64), *book.compared_with]),
        number=np.concatenate([np.zeros(0), *numbers]).astype(np.float64),
        ordered=np.array([c.ordered for c in book.sensitive], dtype=np.bool_),
        exempt=np.concatenate([np.zeros(0, np.bool_), *map(_exempt, book.sensitive)]),
    )


def _exempt(column: SensitiveAttribute) -> NDArray[np.bool_]:
    return np.zeros(column.size, np.bool_) if column.exempt is None else column.exempt


def _placed_rules(book: Codebook, models: Iterable[Model]) -> Iterable[tuple[int, Rule]]:
    """Each rule once, with the sensitive column it looks at (-1 for the class size)."""
    placed: dict[tuple[int, Rule], None] = {}
    totals = [int(counts.sum()) for counts in book.compared_with]
    for rule in (rule for model in models for rule in model.rules()):
        if rule.kind == SIZE:
            placed[-1, rule] = None
            continue
        for s, column in enumerate(book.sensitive):
            if rule.kind == SPREAD and column.numbers is None:
                continue
            fitted = rule._replace(x=float(totals[s])) if rule.kind in BESIDE_TABLE else rule
            placed[s, fitted] = None
    return placed


def needs_sensitive(models: Iterable[Model]) -> bool:
    """Whether some model is about sensitive values."""
    return any(m.about_sensitive for m in models)


def require_columns(sensitive: Sequence[SensitiveAttribute], models: Iterable[Model]) -> None:
    """Refuse a model that has no sensitive column to look at: it would hold in vain."""
    for model in models:
        if model.about_sensitive and not sensitive:
            raise PolicyError(
                f"{model.name}: expected at least one sensitive column; the table has none"
            )
        numeric = any(column.numbers is not None for column in sensitive)
        if model.needs_numbers and not numeric:
            raise PolicyError(
                f"{model.name}: expected a numeric sensitive column; the table has none"
            )


def union_closed(models: Iterable[Model], persons: bool = False) -> bool:
    """Whether two classes that satisfy all models still do so as one class.

    Counting records, every model here is closed under union. Counting persons,
    only those are that can but gain from a person who is in both classes: where
    this is False, groups whose released text happens to be equal can fail
    together although each passed alone.
    """
    return all(m.monotone_with_persons if persons else m.monotone for m in models)


def whole_table_only(models: Iterable[Model]) -> tuple[Model, ...]:
    """The models that groups cannot ensure one by one; only some methods take them."""
    return tuple(m for m in models if not m.local)
