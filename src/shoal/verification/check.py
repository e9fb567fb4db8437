"""Does a released table satisfy its models? Decided from its text alone.

Verification knows no method, no partition and no encoding: records that carry
the same released texts in every quasi-identifier are one equivalence class,
and each model is checked on those classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.exempt import exempt_codes
from shoal.encoding.folding import counted_values, folded_codes
from shoal.encoding.pseudonyms import class_of_pseudonyms
from shoal.encoding.spreadsheet import armed_column
from shoal.encoding.values import distinct_values, kind_of, parse_numbers
from shoal.errors import InputError, PolicyError, VerificationError, no_column
from shoal.models import (
    ClassHistograms,
    Model,
    histograms,
    needs_sensitive,
    sizes_only,
    union_closed,
    views_of,
)
from shoal.policy import Policy
from shoal.verification.result import Check, Verification
from shoal.verification.treated import treatment_checks

__all__ = [
    "Check",
    "Verification",
    "check_classes",
    "check_release",
    "check_separated",
    "published_names",
    "released_classes",
    "weaker",
]


def check_release(
    released: pa.Table,
    qi: Sequence[str],
    models: Sequence[Model],
    policy: Policy,
    *,
    person: NDArray[np.int32] | None = None,
) -> Verification:
    """Check every model on a released table: for each reader, where the policy names several.

    Parameters
    ----------
    released
        The table as published.
    qi
        Its quasi-identifier columns as they are named in the release.
    models
        What must hold, on each sensitive column of the policy. With several
        readers the policy says what must hold for whom.
    policy
        Says which columns are sensitive, their kinds and orders, and who reads.
    person
        Person of each released record, where it is known; a release itself
        does not publish it.
    """
    for name in (*qi, *policy.sensitive):
        if name not in released.column_names:
            declared = (*qi, *policy.sensitive)
            raise InputError(no_column(name, released.column_names, declared, "the release"))
    ids, _ = released_classes(released, qi) if policy.treat else (np.zeros(0, np.int64), 0)
    treated = tuple(treatment_checks(released, policy, ids, person=person))
    if not policy.reader:
        found, sizes = _on(released, qi, models, policy, person)
        return Verification((*found, *treated), sizes)
    _, all_together = _on(released, qi, (), policy, person)
    checks: list[Check] = []
    for view in views_of(policy):
        names = published_names(view.qi, released.column_names)
        found, _ = _on(released, names, view.models, policy, person)
        checks += [replace(check, reader=view.name) for check in found]
    return Verification((*checks, *treated), all_together)


def published_names(qi: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Quasi-identifiers as they are called in a release: as they are, or two bounds each."""
    names: list[str] = []
    for name in qi:
        bounds = [f"{name}_min", f"{name}_max"]
        names += bounds if name not in columns and set(bounds) <= set(columns) else [name]
    return names


def _on(
    released: pa.Table,
    qi: Sequence[str],
    models: Sequence[Model],
    policy: Policy,
    person: NDArray[np.int32] | None,
) -> tuple[tuple[Check, ...], NDArray[np.int64]]:
    """Checks of models on the classes of these columns, and the records in each class."""
    ids, count = released_classes(released, qi)
    rows = np.bincount(ids, minlength=count).astype(np.int64)
    if policy.person is not None and person is None:
        return tuple(_without_persons(released, qi, ids, models, policy)), rows
    checks = _checks(released, ids, models, policy, person)
    if policy.twins == "fold" and not union_closed(models, person is not None):
        # Who reads " F" as "F" sees these classes as one. Models that unions keep cannot fail
        # there, nor reach less, if they hold on exact texts; all others are asked again.
        merged, fewer = released_classes(released, qi, folded=True)
        if fewer < count:
            again = _checks(released, merged, models, policy, person)
            checks = [weaker(*both) for both in zip(checks, again, strict=True)]
    return tuple(checks), rows


def weaker(exact: Check, folded: Check) -> Check:
    """The worse of two readings of one release."""
    if exact.holds != folded.holds or exact.source is None or folded.source is None:
        return folded if exact.holds else exact
    (model, one), (_, other) = exact.source, folded.source
    return replace(exact, reached=model.merge([one, other]).level)


def check_separated(
    records: pa.Table, sensitive_table: pa.Table, models: Sequence[Model], policy: Policy
) -> Verification:
    """Check a release in two tables: groups of records, and their sensitive values.

    Only what is published is used: the group numbers of the records, and how
    often the second table says each value occurs in a group.
    """
    (name,) = policy.sensitive
    for model in models:
        if model.option != "l":  # groups hide no quasi-identifier: their size is no k
            raise PolicyError(f"a release in two tables can promise l-diversity only; got {model}")
    if name in records.column_names:
        raise VerificationError(f"the first table publishes the sensitive column {name!r}")
    ids, sizes = _group_sizes(records)
    groups = _whole_numbers(sensitive_table, "group")
    counts = _whole_numbers(sensitive_table, "count")
    place = np.searchsorted(ids, groups)
    known = (place < len(ids)) & (ids[np.minimum(place, len(ids) - 1)] == groups)
    if not known.all() or (counts < 1).any():
        raise VerificationError("the sensitive table has groups or counts that cannot be")
    if (np.bincount(place, weights=counts, minlength=len(ids)) != sizes).any():
        raise VerificationError("the two tables disagree on the number of records in a group")
    each = np.repeat(np.arange(len(place)), counts)
    members = pa.table({name: sensitive_table.column(name).take(pa.array(each))})
    checks = _checks(members, place[each], models, policy, None)
    treated = [
        *treatment_checks(records, policy, np.zeros(records.num_rows, np.int64)),
        *treatment_checks(sensitive_table, policy, place, counts),
    ]
    return Verification((*checks, *treated), sizes)


def _group_sizes(records: pa.Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    ids, sizes = np.unique(_whole_numbers(records, "group"), return_counts=True)
    return ids, sizes.astype(np.int64)


def _whole_numbers(table: pa.Table, name: str) -> NDArray[np.int64]:
    if name not in table.column_names:
        raise InputError(f"a release in two tables has a column {name!r}; this one has none")
    distinct = distinct_values(table.column(name))
    numbers, good = parse_numbers(distinct.values)
    if distinct.has_missing or not good.all() or numbers.dtype.kind != "i":
        raise InputError(f"column {name!r}: expected whole numbers")
    return np.asarray(numbers[distinct.codes], dtype=np.int64)


def released_classes(
    released: pa.Table, qi: Sequence[str], folded: bool = False
) -> tuple[NDArray[np.int64], int]:
    """Equivalence class of each record, by the released texts; only nulls are missing.

    With `folded`, texts that a reader takes for the same are.
    """
    columns = (_published(released.column(name), folded) for name in qi)
    return class_ids(columns, released.num_rows)


def _published(column: pa.ChunkedArray, folded: bool) -> tuple[NDArray[Any], int]:
    """The released texts of a column as codes, and how many there can be."""
    distinct = distinct_values(column, missing=())
    if folded:
        return folded_codes(distinct)
    return distinct.codes + 1, len(distinct.values) + 1  # 0 is missing


def _checks(
    released: pa.Table,
    ids: NDArray[np.int64],
    models: Sequence[Model],
    policy: Policy,
    person: NDArray[np.int32] | None,
) -> list[Check]:
    looked_at = policy.sensitive if needs_sensitive(models) else ()
    columns = {name: _histograms(released, name, ids, policy, person) for name in looked_at}
    return check_classes(models, sizes_only(ids, person=person), columns)


def _histograms(
    released: pa.Table,
    name: str,
    ids: NDArray[np.int64],
    policy: Policy,
    person: NDArray[np.int32] | None,
) -> ClassHistograms:
    """The values of a sensitive column in every class, as its text says."""
    column = released.column(name)
    # The policy's order knows the texts as they were; no two of them are disarmed to one.
    texts = armed_column(column) if policy.csv_safe else column
    distinct = distinct_values(texts, policy.missing, policy.notation.get(name))
    kind = kind_of(name, distinct, policy)
    ranked, _ = counted_values(name, distinct, policy)
    return histograms(
        ids,
        ranked.code_of_value[distinct.codes],
        len(ranked.texts),
        person=person,
        ordered=kind != "categorical",
        numbers=ranked.numbers,
        exempt=exempt_codes(name, distinct, ranked, policy),
    )


def check_classes(
    models: Sequence[Model], sizes: ClassHistograms, columns: Mapping[str, ClassHistograms]
) -> list[Check]:
    """Check every model on classes: all of a release, or a part of them.

    Checks of parts are made one by `Verification.merge`. A model that compares
    with the whole table does so in a part too, where the histograms know the
    whole (`ClassHistograms.table`).

    Parameters
    ----------
    models
        What must hold.
    sizes, columns
        The classes: their sizes, and the histograms of each sensitive column by name.
    """
    about_sensitive = [model for model in models if model.about_sensitive]
    if about_sensitive and not columns:
        raise PolicyError(f"{about_sensitive[0]}: needs a sensitive column; none is declared")
    checks = [_check(model, None, sizes) for model in models if not model.about_sensitive]
    for name, classes in columns.items():
        checks += [_check(m, name, classes) for m in about_sensitive if m.applies(classes)]
    checked = {check.asked for check in checks}
    for model in models:
        if str(model) not in checked:  # a model that looked at nothing would hold in vain
            raise PolicyError(f"{model}: needs a numeric sensitive column; none is declared")
    return checks


def _check(model: Model, column: str | None, classes: ClassHistograms) -> Check:
    return Check.of(model, column, model.finding(classes))


def _without_persons(
    released: pa.Table,
    qi: Sequence[str],
    ids: NDArray[np.int64],
    models: Sequence[Model],
    policy: Policy,
) -> list[Check]:
    """Check by the pseudonyms of a release, or what follows from rows alone if it has none.

    Pseudonyms hold within a class: who is one person in the whole table they do not say.
    """
    rows = np.bincount(ids).astype(np.int64)
    if policy.person_as is None:
        reason = "models count persons, and the release does not publish them; give --record"
        return _by_rows(models, policy, rows, reason)
    within, _ = class_of_pseudonyms(released, list(qi), policy)
    number = _whole_numbers(released, policy.person_as)
    _, person = np.unique(np.stack([within, number]), axis=1, return_inverse=True)
    codes = np.asarray(person, dtype=np.int32).ravel()
    inside = [model for model in models if not model.compares_with_table]
    beyond = [model for model in models if model.compares_with_table]
    checks = _checks(released, ids, inside, policy, codes) if inside else []
    if policy.twins == "fold" and inside and not union_closed(inside, persons=True):
        again = _checks(released, within, inside, policy, codes)
        checks = [weaker(*both) for both in zip(checks, again, strict=True)]
    reason = "it counts persons of the whole table, and pseudonyms hold in a class; give --record"
    return [*checks, *_by_rows(beyond, policy, rows, reason)]


def _by_rows(
    models: Sequence[Model], policy: Policy, rows: NDArray[np.int64], reason: str
) -> list[Check]:
    """Check sizes: k persons need k rows or more; nothing else can be refuted without persons."""
    checks = []
    for model in models:
        failing = int((rows < model.smallest_class).sum())
        checks.append(
            Check(
                model=model.name,
                asked=str(model),
                column=", ".join(policy.sensitive) if model.about_sensitive else None,
                reached=None,
                holds=failing == 0,
                failing_classes=failing,
                unchecked=None if failing else reason,
            )
        )
    return checks
