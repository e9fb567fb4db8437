"""Columns that have no role: nothing is published that nobody asked for.

Whoever releases a table decides about every column. What is left over is an error,
unless ``rest`` says what becomes of it: dropped, published as it is, or generalised
as a quasi-identifier.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from shoal.errors import PolicyError, no_column
from shoal.policy import Policy

__all__ = ["check_names", "left_over", "settled", "with_known_orders"]


def left_over(names: Sequence[str], policy: Policy) -> tuple[str, ...]:
    """Columns that have no role in the policy, in the table's order."""
    roles = {*policy.identifier, *policy.qi, *policy.sensitive, *policy.plain, policy.person}
    roles.add(policy.weight_column)
    return tuple(name for name in names if name not in roles)


def settled(names: Sequence[str], policy: Policy) -> Policy:
    """The policy with a role for every column that goes out, or `PolicyError`.

    Columns that ``rest`` drops stay without a role.
    """
    check_names(names, policy)
    policy = _with_weights(policy)
    rest = left_over(names, policy)
    if not rest or policy.rest == "drop":
        return policy
    if policy.rest is None:
        raise PolicyError(_without_a_role(rest))
    if policy.rest == "qi":
        return policy.override(qi=(*policy.qi, *rest))
    return policy.override(plain=(*policy.plain, *rest))


def _with_weights(policy: Policy) -> Policy:
    """Weights that are published are plain, others are dropped as identifiers are."""
    name = policy.weight_column
    if name is None:
        return policy
    role = "identifier" if policy.weight_as == "drop" else "plain"
    named = getattr(policy, role)
    return policy if name in named else policy.override(**{role: (*named, name)})


def check_names(names: Sequence[str], policy: Policy) -> None:
    """Every column that the policy mentions is in the table."""
    known = set(names)
    mentioned = {
        **{name: role for role in ("identifier", "qi", "sensitive", "plain")
           for name in getattr(policy, role)},
        **({policy.person: "person"} if policy.person else {}),
        **({policy.weight_column: "weight_column"} if policy.weight_column else {}),
        **{name: table for table in ("kind", "order", "weight", "hierarchy", "coarsen", "round",
                                     "notation", "treat")
           for name in getattr(policy, table)},
    }  # fmt: skip
    for name, setting in mentioned.items():
        if name not in known:
            raise PolicyError(f"{setting}: {no_column(name, names, mentioned, 'the table')}")


def with_known_orders(table: pa.Table, policy: Policy) -> Policy:
    """The policy with the orders that columns bring: ordinal ones of SPSS, ordered categoricals.

    What the policy says of a column counts more.
    """
    orders = {}
    for name in (*policy.qi, *policy.sensitive):
        decided = (policy.kind, policy.order, policy.hierarchy, policy.coarsen, policy.round)
        kind = table.schema.field(name).type
        if any(name in settings for settings in decided) or not pa.types.is_dictionary(kind):
            continue
        column = table.column(name)
        if kind.ordered and pa.types.is_string(kind.value_type) and column.num_chunks == 1:
            values = column.chunk(0).dictionary.to_pylist()
            if len(values) > 1 and all(values):
                orders[name] = values
    return policy.override(order={**policy.order, **orders}) if orders else policy


def _without_a_role(names: Sequence[str]) -> str:
    one = len(names) == 1
    columns, have = ("column", "has") if one else ("columns", "have")
    listed = ", ".join(repr(name) for name in names)
    return (
        f"{columns} {listed} {have} no role, and nothing is published unasked: "
        "name them in qi or identifier, in plain = [...] to publish them as they are, "
        'or decide for all with rest = "drop", "qi" or "plain" (--rest drop)'
    )
