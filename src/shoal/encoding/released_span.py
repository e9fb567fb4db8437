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

__all__ = ["by_all", "by_what_is_kept"]


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
        how = policy.missing, policy.notation.get(name)
        everybody = distinct_values(source.column(name), *how)
        own = distinct_values(source.column(name).take(pa.array(rows)), *how)
        attribute, code_of_value = attribute_of(name, own, declared, grown_of=everybody)
        columns.append((attribute, code_of_value[own.codes].astype(np.int32)))
    table = EncodedTable.of(columns, n=kept.n)
    domains = tuple(
        None if domain is None else _narrowed(domain, kept.codes[a], table.codes[a])
        for a, domain in enumerate(recoding.domains)
    )
    return table, replace(recoding, domains=domains)


def by_all(everybody: EncodedTable, own: EncodedTable, recoding: Recoding) -> Recoding:
    """A recoding of kept records that were encoded alone, for their codes among all records.

    Parameters
    ----------
    everybody, own
        The same kept records, in the codes of all records and in codes of their own.
    recoding
        How they are published, in their own codes.
    """
    domains = tuple(
        None if domain is None else _widened(domain, own.codes[a], everybody, a)
        for a, domain in enumerate(recoding.domains)
    )
    return replace(recoding, domains=domains)


def _widened(domain: Domain, own: Codes, everybody: EncodedTable, a: int) -> Domain:
    """A domain over the codes of the kept records as one over those of all."""
    code_of = np.zeros(len(domain.low), dtype=np.int32)
    code_of[own] = everybody.codes[a]
    low = np.arange(everybody.qi[a].size, dtype=np.int32)
    high = low.copy()
    ends = code_of[domain.low], code_of[domain.high]
    low[code_of], high[code_of] = np.minimum(*ends), np.maximum(*ends)
    return Domain(low, high)


def _narrowed(domain: Domain, old: Codes, new: Codes) -> Domain:
    """A domain over the codes of all records as one over those of the kept ones."""
    old_of_new = np.zeros(int(new.max()) + 1, dtype=np.int64)
    old_of_new[new] = old
    low = np.searchsorted(old_of_new, domain.low[old_of_new], side="left")
    high = np.searchsorted(old_of_new, domain.high[old_of_new], side="right") - 1
    return Domain(low.astype(np.int32), high.astype(np.int32))
