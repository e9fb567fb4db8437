"""Values into codes: the table that methods see.

Codes are numbered so that a group's loss and its released form follow from its
smallest and largest code: in value order (numeric, date), rank order (ordinal)
or leaf order (hierarchies). A missing value is the last code. Value sets have
no order: their codes follow the text, and where each code stands on the curve
follows from what it occurs with (`shoal.encoding.cooccurrence`).

What the codes mean follows from the distinct values alone (`attribute_of`);
the records are then renumbered, one column at a time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.coarsen import coarsened
from shoal.encoding.codebook import (
    ROUND,
    SET,
    SPAN,
    TREE,
    Attribute,
    SensitiveAttribute,
    coordinates,
)
from shoal.encoding.cooccurrence import arranged
from shoal.encoding.exempt import exempt_codes, refuse_unknown
from shoal.encoding.folding import counted_values
from shoal.encoding.marks import marks_of
from shoal.encoding.numbers import differences, typed_numbers
from shoal.encoding.rest import check_names
from shoal.encoding.rounding import (
    RoundEnds,
    check_step,
    noted_ends,
    round_dates,
    round_numbers,
)
from shoal.encoding.table import Codes, EncodedTable
from shoal.encoding.values import (
    Values,
    amounts_of,
    codes_reason,
    distinct_values,
    kind_of,
    parse_numbers,
    ranking,
    ranks_of,
    sorted_by_text,
    with_missing,
)
from shoal.errors import HierarchyError, InputError, PolicyError, ShoalWarning
from shoal.hierarchy import Hierarchy, hierarchy_from_spec
from shoal.kernels.picking import picked
from shoal.policy import Kind, Policy
from shoal.quantities import Step

__all__ = ["attribute_of", "encode", "sensitive_of"]

APART = 2.0
"""Position of a missing value: more than 1 away from every present one (0..1)."""

Column = TypeVar("Column", Attribute, SensitiveAttribute)


def encode(source: pa.Table, policy: Policy) -> EncodedTable:
    """Encode the quasi-identifiers, sensitive and person columns of a table."""
    check_names(source.column_names, policy)
    _check_table(source, policy)
    qi, codes, _ = _encoded(source, policy.qi, policy, attribute_of)
    sensitive, sensitive_codes, spelt = _encoded(source, policy.sensitive, policy, sensitive_of)
    person = _encode_person(source, policy)
    marks = marks_of(source, policy, spelt)
    return arranged(EncodedTable(qi, codes, sensitive, sensitive_codes, person, marks))


def _check_table(source: pa.Table, policy: Policy) -> None:
    if not policy.qi:
        raise PolicyError("qi: expected at least one quasi-identifier; got none")
    if source.num_rows == 0:
        raise InputError("the table is empty: it has a header and no records")


def _encoded(
    source: pa.Table,
    names: Sequence[str],
    policy: Policy,
    explained: Callable[[str, Values, Policy], tuple[Column, Codes]],
) -> tuple[tuple[Column, ...], Codes, list[str]]:
    """Attributes of some columns, and the codes of their records, one column a row.

    Third come the names of columns in which different values have one code.
    """
    attributes: list[Column] = []
    merged: list[str] = []
    codes = np.empty((len(names), source.num_rows), dtype=np.int32)
    for row, name in zip(codes, names, strict=True):
        notation = policy.notation.get(name)
        distinct = distinct_values(source.column(name), policy.missing, notation)
        attribute, code_of_value = explained(name, distinct, policy)
        row[:] = picked(code_of_value, distinct.codes)
        attributes.append(attribute)
        if len(np.unique(code_of_value[: len(distinct.values)])) < len(distinct.values):
            merged.append(name)
    return tuple(attributes), codes, merged


def attribute_of(
    name: str, values: Values, policy: Policy, grown_of: Values | None = None
) -> tuple[Attribute, Codes]:
    """A quasi-identifier, from its distinct values alone.

    Parameters
    ----------
    name, values, policy
        The column, its distinct values, and what is declared about it.
    grown_of
        Where these are a part of a column's values: all of them, of which its tree is made.

    Returns
    -------
    attribute, code_of_value
        What the codes stand for; and the code of each value, of a missing one at last.
    """
    kind = _kind_of_quasi_identifier(name, values, policy)
    if name in policy.round:
        check_step(name, kind, policy.round[name])
    if kind in {"numeric", "date"}:
        attribute, code_of_value = _measured(name, kind, values, policy.round.get(name))
    elif kind == "ordinal":
        ranked = ranking(name, values, policy.order.get(name))
        attribute, code_of_value = _in_order(name, kind, values, ranked, SPAN)
    elif name not in policy.hierarchy or not len(values.values):
        by_text = np.array(sorted_by_text(values.texts()), dtype=np.int64)
        attribute, code_of_value = _in_order(name, kind, values, by_text, SET)
    else:
        leaves, code_of_value = _with_hierarchy(name, values, policy, grown_of or values)
        level = policy.coarsen.get(name, 0)
        attribute, node_of_code = coarsened(leaves, 0 if level == "auto" else level)  # still open
        code_of_value = with_missing(node_of_code[code_of_value[:-1]], attribute.present)
    return replace(attribute, weight=float(policy.weight.get(name, 1.0))), code_of_value


def _kind_of_quasi_identifier(name: str, values: Values, policy: Policy) -> Kind:
    """As declared or guessed; but ranges of numbers whose name says codes mean nothing."""
    kind = kind_of(name, values, policy)
    undecided = kind == "numeric" and name not in {*policy.kind, *policy.round}
    return "categorical" if undecided and codes_reason(name, values) else kind


def _measured(name: str, kind: Kind, values: Values, step: Step | None) -> tuple[Attribute, Codes]:
    """Numeric and date: codes in value order; texts of one number are one value."""
    amounts = amounts_of(name, kind, values)
    unique, inverse = np.unique(amounts, return_inverse=True)
    texts = values.texts()
    # Of several texts of one number (1, 1.0) the shortest is published.
    chosen = np.full(len(unique), -1, dtype=np.int64)
    for index in sorted(range(len(texts)), key=lambda i: (-len(texts[i]), texts[i])):
        chosen[inverse[index]] = index
    above = differences(unique)
    span = float(above[-1]) if len(above) else 0.0
    present = above / span if span > 0 else np.zeros(len(unique))
    missing = values.has_missing
    labels: list[str | None] = [texts[index] for index in chosen]
    attribute = Attribute(
        name=name,
        kind=kind,
        labels=labels + [None] * missing,
        form=SPAN,
        position=np.append(present, [APART] * missing),
        coordinate=coordinates(present, missing),
        has_missing=missing,
        values=_typed(values.parsed.take(pa.array(chosen)), kind),
    )
    if step is not None:
        ends = round_dates(attribute.values, step) if isinstance(step, str) else (
            round_numbers(unique, step)
        )  # fmt: skip
        attribute = _rounded(attribute, noted_ends(ends, values.notation))
    if values.notation is not None:  # bounds are published as the input is written, too
        attribute = replace(attribute, values=pa.array([texts[i] for i in chosen], pa.string()))
    return attribute, with_missing(inverse, len(unique))


def _rounded(attribute: Attribute, ends: RoundEnds) -> Attribute:
    """The attribute whose intervals begin and end on round values."""
    apart = [APART] * attribute.has_missing
    begin, end = np.append(ends.begin, apart), np.append(ends.end, apart)
    floor = np.minimum(1.0, end - begin)
    return replace(attribute, form=ROUND, position=begin, end=end, ends=ends, floor=floor)


def _typed(values: pa.Array, kind: Kind) -> pa.Array:
    """Numbers and dates as such, for the bounds layout, even where the input was text."""
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return values
    if kind == "date":
        units = ("us", "ns")
        times = [pa.timestamp(unit, zone) for unit in units for zone in (None, "UTC")]
        for target in (pa.date32(), *times):
            try:
                return values.cast(target)
            except pa.ArrowInvalid:
                continue
    numbers = typed_numbers(parse_numbers(values)[0])
    return values if numbers is None else numbers  # texts of more digits than any type has


def _with_hierarchy(
    name: str, values: Values, policy: Policy, grown_of: Values
) -> tuple[Attribute, Codes]:
    texts = values.texts()
    spec = policy.hierarchy[name]
    try:
        full = hierarchy_from_spec(spec, grown_of.texts(), column=name, base=policy.base)
        tree = full.restrict(texts, column=name)
    except HierarchyError as error:
        places = np.array(error.places, dtype=np.int64)
        first = grown_of.first_record(places) if len(places) else None
        if first is None:
            raise
        raise HierarchyError(f"{error}, first in record {first:,}") from None
    index = {text: i for i, text in enumerate(texts)}
    in_leaf_order = np.array([index[leaf] for leaf in tree.leaves], dtype=np.int64)
    # flat: every mix is the root, as if all values were far apart
    form = SPAN if tree.height <= 1 else TREE
    return _in_order(name, "categorical", values, in_leaf_order, form, tree)


def _in_order(
    name: str,
    kind: Kind,
    values: Values,
    in_order: NDArray[np.int64],
    form: int,
    tree: Hierarchy | None = None,
) -> tuple[Attribute, Codes]:
    """An attribute whose code is the rank of its value in `in_order`."""
    texts = values.texts()
    present = len(texts)
    missing = values.has_missing
    size = present + missing
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
    attribute = Attribute(
        name=name,
        kind=kind,
        labels=labels + [None] * missing,
        form=form,
        position=position,
        coordinate=coordinates(scaled, missing),
        climb=climb,
        hierarchy=tree,
        has_missing=missing,
    )
    return attribute, with_missing(ranks_of(in_order), present)


def sensitive_of(name: str, values: Values, policy: Policy) -> tuple[SensitiveAttribute, Codes]:
    """A sensitive column, from its distinct values alone; returns as `attribute_of`."""
    kind = kind_of(name, values, policy)
    ranked, twins = counted_values(name, values, policy)
    if twins:
        warnings.warn(ShoalWarning(_about_twins(name, twins)), stacklevel=2)
    ordered = kind != "categorical"
    refuse_unknown(name, values, policy)
    exempt = exempt_codes(name, values, ranked, policy)
    attribute = SensitiveAttribute(name, kind, ranked.texts, ordered, ranked.numbers, exempt)
    return attribute, ranked.code_of_value


def _about_twins(name: str, twins: int) -> str:
    differ = "1 value differs" if twins == 1 else f"{twins:,} values differ"
    return (
        f"column {name!r}: {differ} from another in spelling only (case, white space, invisible "
        "characters, number forms, words for unknown) and counts as the same; clean the column, "
        'or say twins = "distinct"'
    )


def _encode_person(source: pa.Table, policy: Policy) -> Codes | None:
    """Person codes; all records without a person count as one person, the safe reading."""
    if policy.person is None:
        return None
    distinct = distinct_values(source.column(policy.person), policy.missing)
    persons = len(distinct.values)
    return with_missing(np.arange(persons), persons)[distinct.codes]
