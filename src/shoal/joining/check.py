"""`join_check`: what whoever holds several releases of one table can learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import PolicyError
from shoal.joining.candidates import Rows, Table, joined_rows, rows_of
from shoal.joining.columns import Column, encode_column
from shoal.joining.matching import with_components
from shoal.joining.pairs import Diverse, exposure
from shoal.joining.result import JoinCheck, JoinedValues, JoinedView
from shoal.joining.sources import Asked, Source, asked_of, open_sources, own_k
from shoal.models import Model, whole_table_only
from shoal.policy import Policy

__all__ = ["join_check"]

SETTINGS = ("kind", "order", "hierarchy", "missing")
"""Settings of a policy that help to read a release."""


def join_check(
    releases: Sequence[Any],
    k: int | None = None,
    *,
    qi: Sequence[str] | Sequence[Sequence[str]] = (),
    sensitive: str | Sequence[str] = (),
    l: int | None = None,  # noqa: E741
    l_reading: str | None = None,
    policy: Policy | str | Path | None = None,
    **settings: Any,
) -> JoinCheck:
    """Say whether joining several releases of one table breaks k or l for some record.

    Parameters
    ----------
    releases
        Two or more: `Release` objects, names of released files, or tables.
    k
        What must hold after the join; the largest k of the manifests if not given.
    qi
        Quasi-identifiers that an adversary may know, or one list for each
        release. If not given, those of the manifests: for each reader, where
        all of them name the same readers, and their union otherwise.
    sensitive, l, l_reading
        Columns of which too much must not be learnt, and what must hold for
        them after the join; those of the manifests if not given.
    policy, **settings
        What helps to read the cells, by name: ``hierarchy``, ``kind``,
        ``order``, ``missing``, or a policy that has them.

    Returns
    -------
    JoinCheck
        Its ``ok`` is False if k or l is broken; its ``verdict`` says whether
        they hold, or are only not refuted because something was not followed up.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(500)
    >>> one = shoal.anonymize(people, qi=["age", "gender"], k=5)
    >>> shoal.join_check([one, one]).ok
    True
    """
    unknown = [name for name in settings if name not in SETTINGS]
    if unknown:
        expected = ", ".join(("k", "qi", "sensitive", "l", "l_reading", "policy", *SETTINGS))
        raise PolicyError(f"join_check: unknown setting {unknown[0]!r}; expected one of {expected}")
    own = [] if not qi or isinstance(qi[0], str) else [tuple(names) for names in qi]
    names = [str(name) for part in own for name in part] or [str(name) for name in qi]
    union = list(dict.fromkeys(names))
    known = Policy.of(policy, {}) if policy is not None else Policy()
    sources = open_sources(releases, reading_policy(known, union, settings), own)
    given = {"sensitive": sensitive or None, "l": l, "l_reading": l_reading}
    known = known.override(**{name: value for name, value in given.items() if value is not None})
    asked = asked_of(sources, k, union, known)
    return _checked(sources, asked)


def reading_policy(policy: Policy, qi: Sequence[str], settings: dict[str, Any]) -> Policy:
    """What of a policy tells how to read cells; columns with a tree are generalised ones."""
    kept = {name: getattr(policy, name) for name in SETTINGS}
    read = Policy.parse(**kept).override(**settings)
    trees = {
        name: spec
        if not isinstance(spec, str) or spec == "flat"
        else str((policy.base / spec).absolute())
        for name, spec in read.hierarchy.items()
    }
    names = tuple(dict.fromkeys([*qi, *policy.qi, *trees]))
    return Policy.parse(**{**kept, **read.settings(), "hierarchy": trees, "qi": names})


def _checked(sources: Sequence[Source], asked: Sequence[Asked]) -> JoinCheck:
    wanted = dict.fromkeys(name for view in asked for name in view.qi)
    secret = dict.fromkeys(name for view in asked if view.models for name in view.sensitive)
    columns = _columns(sources, list(wanted), list(secret))
    records = sources[0].table.num_rows
    table, given_up = with_components(rows_of(columns, len(sources), records))
    joined = joined_rows(table)
    missed = _not_followed_up(len(sources), given_up)
    found = [_view(table, joined, view, missed) for view in asked]
    views = [view for view, _ in found]
    missed = {how: what for _, missed_here in found for how, what in missed_here.items()}
    result = JoinCheck(
        records=records,
        releases=tuple(source.name for source in sources),
        own=tuple(own_k(source, list(wanted)) for source in sources),
        views=tuple(views),
        linked=tuple(column.name for column in columns if _links(column)),
        unsure=tuple(column.name for column in columns if column.unsure),
        not_followed_up=tuple(missed.values()),
    )
    if result.ok and result.unsure:  # never call safe what a tree could show to be broken
        name = result.unsure[0]
        raise PolicyError(
            f"column {name!r}: its hierarchy or order is not at hand, so nobody can say whether "
            f"the releases are safe; give --hierarchy {name}=FILE, flat if it has none, or --policy"
        )
    return result


CLASSES = "the joined classes that were judged"
FOR_K = "all joined classes, because too many classes overlap"
FOR_L = "l in all joined classes, because too many classes overlap"


def _not_followed_up(releases: int, given_up: int) -> dict[str, str]:
    """What was followed up instead of all, with what was not."""
    if given_up:
        return {
            "candidates": "which rows of two releases go together when all records are matched, "
            "because they can go together in too many ways"
        }
    if releases > 2:
        return {
            "matching two releases at a time": "which rows go together when the records of all "
            "releases are matched at once"
        }
    return {}


def _view(
    table: Table, joined: tuple[Rows, Rows, Any], view: Asked, missed: dict[str, str]
) -> tuple[JoinedView, dict[str, str]]:
    """What was found for a reader, and what was followed up with what was not."""
    diverse, model, unchecked = _diverse(view)
    found = exposure(table, joined, view.qi, view.k, diverse)
    about_k = missed if found.complete[0] else {**missed, CLASSES: FOR_K}
    followed = " and ".join(about_k)
    values, about_l = None, {}
    if model is not None:
        # Of other readings only what follows from them is counted: it can refute, not prove.
        exact = _is_counted_fully(model) and not about_k
        about_l = {} if found.complete[1] else {f"{CLASSES} as to l": FOR_L}
        numbers = found.certain[1], found.possible[1], found.reached, found.proven and exact
        values = JoinedValues(str(model), diverse.columns, diverse.l, *numbers)
        if about_k or about_l:
            values = replace(values, followed=" and ".join({**about_k, **about_l}))
    shown = JoinedView(
        *view[:3], found.certain[0], found.possible[0], found.smallest, tuple(found.narrowed),
        values, unchecked, followed,
    )  # fmt: skip
    return shown, {**about_k, **about_l}


def _diverse(view: Asked) -> tuple[Diverse, Model | None, tuple[str, ...]]:
    """The strictest that was promised of sensitive values, and what cannot be checked beside it."""
    shares = [model for model in view.models if _caps_a_share(model)]
    counts = [model for model in view.models if _values_asked(model) > 1]
    chosen = max(shares or counts, key=_values_asked, default=None) if view.sensitive else None
    others = tuple(str(model) for model in view.models if model is not chosen)
    if chosen is None or _values_asked(chosen) < 2:
        return Diverse(), None, others
    distinct = not _caps_a_share(chosen)
    return Diverse(view.sensitive, _values_asked(chosen), distinct), chosen, others


def _caps_a_share(model: Model) -> bool:
    """Whether it is l-diversity by the share of the most frequent value."""
    return model.option == "l" and model.size_and_cap


def _is_counted_fully(model: Model) -> bool:
    """Whether what is counted here, a share or different values, is all that the model asks."""
    if _caps_a_share(model):
        return not whole_table_only([model])
    return model.exact_rules and model.values_by_cap == 1 and model.distinct_asked > 1


def _values_asked(model: Model) -> int:
    """No class with fewer different values satisfies the model."""
    return max(model.values_by_cap, model.distinct_asked)


def _columns(sources: Sequence[Source], qi: Sequence[str], secret: Sequence[str]) -> list[Column]:
    """Columns that at least two releases publish, all quasi-identifiers and sensitive ones."""
    made_for = (name for source in sources for name in source.generalised)
    published_somewhere = (name for source in sources for name in source.table.column_names)
    names = dict.fromkeys([*qi, *secret, *made_for, *published_somewhere])
    published = [set(source.attributes(names)) for source in sources]
    columns = []
    for name in names:
        there = [name in attributes for attributes in published]
        for setting, known in (("qi", qi), ("sensitive", secret)):
            if not any(there) and name in known:
                raise PolicyError(f"{setting}: no release has a column {name!r}")
        if sum(there) > 1 or (any(there) and (name in qi or name in secret)):
            columns.append(encode_column(name, sources, there))
    return columns


def _links(column: Column) -> bool:
    """Whether cells of two releases can exclude each other."""
    ranges = [part for part in column.ranges if part is not None]
    for i, (low, high) in enumerate(ranges):
        for other_low, other_high in ranges[i + 1 :]:
            if low.max() > other_high.min() or other_low.max() > high.min():
                return True
    sets = [part for part in column.sets if part is not None]
    return any(_apart(a, b) for i, a in enumerate(sets) for b in sets[i + 1 :])


def _apart(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> bool:
    return any(bool((~(row & b).any(axis=1)).any()) for row in a)
