"""Values into codes: the table that methods see.

Codes are numbered so that a group's loss and its released form follow from its
smallest and largest code: in value order (numeric, date), rank order (ordinal)
or leaf order (hierarchies). A missing value is the last code. Value sets have
no order: their codes follow the text, and where each code stands on the curve
follows from what it occurs with (`shoal.encoding.cooccurrence`).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.coarsen import coarsened
from shoal.encoding.cooccurrence import arranged
from shoal.encoding.table import SET, SPAN, TREE, EncodedTable, QIColumn, SensitiveColumn, places
from shoal.encoding.values import (
    Distinct,
    amounts_of,
    distinct_values,
    kind_of,
    parse_numbers,
    rank_values,
    ranking,
    renumbered,
    sorted_by_text,
)
from shoal.errors import InputError, PolicyError
from shoal.hierarchy import Hierarchy, hierarchy_from_spec
from shoal.policy import Kind, Policy

__all__ = ["encode"]

APART = 2.0
"""Position of a missing value: more than 1 away from every present one (0..1)."""


def encode(source: pa.Table, policy: Policy) -> EncodedTable:
    """Encode the quasi-identifiers, sensitive and person columns of a table."""
    _check_columns(source, policy)
    return EncodedTable(
        n=source.num_rows,
        qi=arranged([_encode_qi(source, name, policy) for name in policy.qi], source.num_rows),
        sensitive=tuple(_encode_sensitive(source, name, policy) for name in policy.sensitive),
        person=_encode_person(source, policy),
    )


def _check_columns(source: pa.Table, policy: Policy) -> None:
    known = set(source.column_names)
    mentioned = {
        **{name: role for role in ("identifier", "qi", "sensitive", "plain")
           for name in getattr(policy, role)},
        **({policy.person: "person"} if policy.person else {}),
        **{name: table for table in ("kind", "order", "weight", "hierarchy", "coarsen")
           for name in getattr(policy, table)},
    }  # fmt: skip
    for name, setting in mentioned.items():
        if name not in known:
            listed = ", ".join(source.column_names)
            raise PolicyError(f"{setting}: the table has no column {name!r}; it has {listed}")
    if not policy.qi:
        raise PolicyError("qi: expected at least one quasi-identifier; got none")
    if source.num_rows == 0:
        raise InputError("the table is empty: it has a header and no records")


def _encode_qi(source: pa.Table, name: str, policy: Policy) -> QIColumn:
    distinct = distinct_values(source.column(name), policy.missing)
    kind = kind_of(name, distinct, policy)
    weight = float(policy.weight.get(name, 1.0))
    if kind in {"numeric", "date"}:
        return _encode_measured(name, kind, distinct, weight)
    if kind == "ordinal":
        ranked = ranking(name, distinct, policy.order.get(name), show_cells=True)
        return _finish(name, kind, distinct, ranked, SPAN, weight)
    if name not in policy.hierarchy or not len(distinct.values):
        by_text = np.array(sorted_by_text(distinct.texts()), dtype=np.int64)
        return _finish(name, kind, distinct, by_text, SET, weight)
    column = _encode_hierarchy(name, distinct, policy, weight)
    return coarsened(column, policy.coarsen.get(name, 0))


def _encode_measured(name: str, kind: Kind, distinct: Distinct, weight: float) -> QIColumn:
    """Numeric and date: codes in value order; texts of one number are one value."""
    amounts = amounts_of(name, kind, distinct, show_cells=True)
    unique, inverse = np.unique(amounts, return_inverse=True)
    texts = distinct.texts()
    # Of several texts of one number (1, 1.0) the shortest is published.
    chosen = np.full(len(unique), -1, dtype=np.int64)
    for index in sorted(range(len(texts)), key=lambda i: (-len(texts[i]), texts[i])):
        chosen[inverse[index]] = index
    span = float(unique[-1]) - float(unique[0]) if len(unique) else 0.0
    present = (unique.astype(np.float64) - float(unique[0])) / span if span > 0 else (
        np.zeros(len(unique))
    )  # fmt: skip
    missing = distinct.has_missing
    values = distinct.values.take(pa.array(chosen))
    labels: list[str | None] = [texts[index] for index in chosen]
    return QIColumn(
        name=name,
        kind=kind,
        codes=renumbered(distinct, inverse.astype(np.int32), len(unique)),
        labels=labels + [None] * missing,
        form=SPAN,
        position=np.append(present, [APART] * missing),
        place=places(present, missing),
        weight=weight,
        has_missing=missing,
        values=_typed(values, kind),
    )


def _typed(values: pa.Array, kind: Kind) -> pa.Array:
    """Numbers and dates as such, for the bounds layout, even where the input was text."""
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return values
    if kind == "date":
        for target in (pa.date32(), pa.timestamp("us")):
            try:
                return values.cast(target)
            except pa.ArrowInvalid:
                continue
    return pa.array(parse_numbers(values)[0])


def _encode_hierarchy(name: str, distinct: Distinct, policy: Policy, weight: float) -> QIColumn:
    texts = distinct.texts()
    spec = policy.hierarchy[name]
    full = hierarchy_from_spec(spec, texts, column=name, base=policy.base)
    tree = full.restrict(texts, column=name)
    index = {text: i for i, text in enumerate(texts)}
    in_leaf_order = np.array([index[leaf] for leaf in tree.leaves], dtype=np.int64)
    if tree.height <= 1:  # flat: every mix is the root, as if all values were far apart
        return _finish(name, "categorical", distinct, in_leaf_order, SPAN, weight, tree)
    return _finish(name, "categorical", distinct, in_leaf_order, TREE, weight, tree)


def _finish(
    name: str,
    kind: Kind,
    distinct: Distinct,
    in_order: NDArray[np.int64],
    form: int,
    weight: float,
    tree: Hierarchy | None = None,
) -> QIColumn:
    """A column whose code is the rank of its value in `in_order`."""
    texts = distinct.texts()
    present = len(texts)
    missing = distinct.has_missing
    size = present + missing
    ranks = np.empty(present, dtype=np.int32)
    ranks[in_order] = np.arange(present, dtype=np.int32)
    scaled = np.arange(present) / max(1, present - 1)
    position = np.zeros(size)
    if tree is not None and form == SPAN:
        position = np.arange(size, dtype=np.float64)
    elif form == SPAN:
        position = np.append(scaled, [APART] * missing)
    climb = np.zeros(0)
    if form == TREE and tree is not None:
        # Missing has no place in the tree: whatever is mixed with it becomes the root.
        climb = np.append(tree.climb(extra=int(missing)), [1.0] * (missing and present > 0))
    labels: list[str | None] = [texts[i] for i in in_order]
    return QIColumn(
        name=name,
        kind=kind,
        codes=renumbered(distinct, ranks, present),
        labels=labels + [None] * missing,
        form=form,
        position=position,
        place=places(scaled, missing),
        climb=climb,
        hierarchy=tree,
        weight=weight,
        has_missing=missing,
    )


def _encode_sensitive(source: pa.Table, name: str, policy: Policy) -> SensitiveColumn:
    distinct = distinct_values(source.column(name), policy.missing)
    kind = kind_of(name, distinct, policy)
    ranked = rank_values(name, distinct, kind, policy.order.get(name))
    return SensitiveColumn(
        name=name,
        kind=kind,
        codes=ranked.codes,
        labels=ranked.texts,
        ordered=kind != "categorical",
        values=ranked.numbers,
    )


def _encode_person(source: pa.Table, policy: Policy) -> NDArray[np.int32] | None:
    """Person codes; all records without a person count as one person, the safe reading."""
    if policy.person is None:
        return None
    distinct = distinct_values(source.column(policy.person), policy.missing)
    return renumbered(
        distinct, np.arange(len(distinct.values), dtype=np.int32), len(distinct.values)
    )
