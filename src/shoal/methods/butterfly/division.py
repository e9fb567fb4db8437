"""Who reads what: the body that several readers share, and the wings of single ones.

Paper 003, Definitions 2 and 4. Readers who ask for nothing that another one
does not ask for anyway are left out. A reader who knows all attributes, or all
readers together (section 5.2), sees every record as it is published: what must
hold for it makes units of records that stay together everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shoal.encoding.table import EncodedTable
from shoal.models import View, needs_sensitive, union_closed
from shoal.models.base import Model

__all__ = ["Division", "Wing", "division_of"]


@dataclass(frozen=True)
class Wing:
    """The attributes that one reader alone knows, and what must hold for it."""

    attributes: tuple[int, ...]
    models: tuple[Model, ...]

    @property
    def k(self) -> int:
        """No group of the wing is smaller."""
        return least(self.models)


@dataclass(frozen=True)
class Division:
    """How the attributes are divided between body, wings and units."""

    readers: tuple[tuple[tuple[int, ...], tuple[Model, ...]], ...]
    """Attributes and models of every reader that matters, but for those who know all."""
    body: tuple[int, ...]
    """Attributes that at least two of them know."""
    wings: tuple[Wing, ...]
    """What one of them alone knows."""
    rest: tuple[int, ...]
    """Attributes that none of them knows: only units decide on them."""
    together: tuple[Model, ...]
    """What must hold on all attributes at once; empty: nothing."""

    @property
    def everyone(self) -> tuple[Model, ...]:
        """What must hold in every class of the body: what any reader asks for."""
        asked = [m for _, models in self.readers for m in models] + list(self.together)
        return tuple(dict.fromkeys(asked))

    @property
    def private(self) -> tuple[int, ...]:
        """Attributes that are not the body's."""
        return tuple(a for wing in self.wings for a in wing.attributes) + self.rest

    def sizes_only(self, table: EncodedTable) -> bool:
        """Whether only numbers of records are asked for."""
        return table.person is None and not needs_sensitive(self.everyone)


def division_of(table: EncodedTable, views: Sequence[View]) -> Division | None:
    """The division for these views, or None where the union is all that helps.

    That is so where one reader asks for all that anyone does, or where classes
    that satisfy the models alone may fail as one (persons in both of them):
    each attribute is released on its own here, and classes can meet.
    """
    place = {column.name: a for a, column in enumerate(table.qi)}
    asked: dict[frozenset[int], tuple[Model, ...]] = {}
    for view in views:
        known = frozenset(place[name] for name in view.qi)
        asked[known] = tuple(dict.fromkeys(asked.get(known, ()) + view.models))
    if not union_closed([m for models in asked.values() for m in models], table.person is not None):
        return None
    kept = {known: models for known, models in asked.items() if not _implied(known, models, asked)}
    together = kept.pop(frozenset(place.values()), ())
    if not kept:
        return None
    return _divided(len(table.qi), kept, together)


def _implied(
    known: frozenset[int], models: tuple[Model, ...], asked: dict[frozenset[int], tuple[Model, ...]]
) -> bool:
    """Whether some reader that knows more asks for all of this already."""
    return any(
        known < other and all(any(model.implied_by(m) for m in stronger) for model in models)
        for other, stronger in asked.items()
    )


def _divided(
    attributes: int, asked: dict[frozenset[int], tuple[Model, ...]], together: tuple[Model, ...]
) -> Division:
    readers = [sum(a in known for known in asked) for a in range(attributes)]
    private = [
        Wing(tuple(sorted(a for a in known if readers[a] == 1)), models)
        for known, models in asked.items()
    ]
    rest = tuple(a for a in range(attributes) if readers[a] == 0)
    if not rest and all(not m.about_sensitive and m.smallest_class == 1 for m in together):
        together = ()
    return Division(
        readers=tuple((tuple(sorted(known)), models) for known, models in asked.items()),
        body=tuple(a for a in range(attributes) if readers[a] > 1),
        wings=tuple(wing for wing in private if wing.attributes),
        rest=rest,
        together=together,
    )


def least(models: Sequence[Model]) -> int:
    """The fewest records (persons) that can satisfy the models."""
    return max([1, *(m.smallest_class for m in models)])
