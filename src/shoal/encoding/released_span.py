"""What is released, priced by itself: spans, leaves and values of the kept records alone.

The loss is relative to the whole input: spans of numbers, leaves of trees and
numbers of values count suppressed records too. Whoever knows the release could
solve a published loss for what a dropped record added to them. What is told in
public is therefore relative to the records that are kept.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.encode import attribute_of
from shoal.encoding.table import Codes, Domain, EncodedTable, Recoding
from shoal.encoding.values import distinct_values
from shoal.policy import Policy

__all__ = ["by_what_is_kept"]


def by_what_is_kept(
    source: pa.Table,
    rows: NDArray[np.int64],
    kept: EncodedTable,
    recoding: Recoding,
    policy: Policy,
) -> tuple[EncodedTable, Recoding]:
    """Kept records and their recoding, encoded as if there had been no others.

    Parameters
    ----------
    source, rows
        All records as they came, and which of them are kept.
    kept, recoding
        The kept ones in the codes of all, and how they are published.
    policy
        What is declared about the columns.
    """
    kinds = {**policy.kind, **{column.name: column.kind for column in kept.qi}}
    declared = policy.model_copy(update={"kind": kinds})  # fewer values could look otherwise
    columns = []
    for name in (attribute.name for attribute in kept.qi):
        everybody = distinct_values(source.column(name), policy.missing)
        own = distinct_values(source.column(name).take(pa.array(rows)), policy.missing)
        attribute, code_of_value = attribute_of(name, own, declared, grown_of=everybody)
        columns.append((attribute, code_of_value[own.codes].astype(np.int32)))
    table = EncodedTable.of(columns, n=kept.n)
    domains = tuple(
        None if domain is None else _narrowed(domain, kept.codes[a], table.codes[a])
        for a, domain in enumerate(recoding.domains)
    )
    return table, replace(recoding, domains=domains)


def _narrowed(domain: Domain, old: Codes, new: Codes) -> Domain:
    """A domain over the codes of all records as one over those of the kept ones."""
    old_of_new = np.zeros(int(new.max()) + 1, dtype=np.int64)
    old_of_new[new] = old
    low = np.searchsorted(old_of_new, domain.low[old_of_new], side="left")
    high = np.searchsorted(old_of_new, domain.high[old_of_new], side="right") - 1
    return Domain(low.astype(np.int32), high.astype(np.int32))
