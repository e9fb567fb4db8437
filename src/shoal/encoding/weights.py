"""Survey weights: how many people of the population a record stands for.

They are kept, since estimates need them, but a weight is nearly a name: in the UCI Adult
table half of the records have one of their own. So they can be rounded to two digits, in
which few records stay alone, or left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import numpy as np
import pyarrow as pa

from shoal.encoding.values import amounts_of, distinct_values
from shoal.notation import written
from shoal.policy import Policy

__all__ = ["about_weights", "what_weights_tell", "with_weights"]

DIGITS = 2
"""Significant digits that are left of a rounded weight."""
TELLING = 0.01
"""Share of records alone with their weight from which the custodian is told."""


def with_weights(table: pa.Table, policy: Policy) -> pa.Table:
    """The table with its weights as they are to be published."""
    name = policy.weight_column
    if name is None or policy.weight_as != "round" or name not in table.column_names:
        return table
    distinct = distinct_values(table.column(name), policy.missing, policy.notation.get(name))
    amounts = amounts_of(name, "numeric", distinct)
    texts = [written(_rounded(amount), distinct.notation) for amount in amounts.tolist()]
    kind = distinct.values.type
    values = pa.array(texts, pa.string())
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        values = pa.array([float(text) for text in texts], pa.float64()).cast(kind, safe=False)
    index = pa.array(np.where(distinct.codes < 0, 0, distinct.codes), mask=distinct.codes < 0)
    place = table.column_names.index(name)
    return table.set_column(place, name, pa.chunked_array([values.take(index)]))


def _rounded(amount: int | float) -> str:
    """A number in two significant digits, without an exponent."""
    number = Decimal(str(amount))
    if not number:
        return "0"
    rounded = number.quantize(Decimal(1).scaleb(number.adjusted() - DIGITS + 1))
    text = f"{rounded:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def about_weights(table: pa.Table, policy: Policy) -> Iterator[str]:
    """What the custodian should know before weights go out; no cell."""
    name = policy.weight_column
    if name is None or policy.weight_as == "drop" or name not in table.column_names:
        return
    distinct = distinct_values(table.column(name), policy.missing)
    sizes = np.bincount(distinct.codes + 1, minlength=1)
    yield from what_weights_tell(int((sizes == 1).sum()), table.num_rows, policy)


def what_weights_tell(alone: int, records: int, policy: Policy) -> Iterator[str]:
    """What to say where so many records have a weight of their own."""
    share, name = alone / max(1, records), policy.weight_column
    if share >= TELLING:
        less = 'weight_as = "drop"' if policy.weight_as == "round" else (
            'weight_as = "round" or "drop"'
        )  # fmt: skip
        yield (
            f"weight column {name!r}: {share:.0%} of the records have a weight of their own, which "
            f"singles them out for whoever knows it; {less} hides more"
        )
