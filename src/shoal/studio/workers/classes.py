"""A page of the classes of a release: what is published, and nothing besides."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.encoding.values import distinct_values
from shoal.io.read import read_table
from shoal.verification.check import published_names, released_classes

__all__ = ["browse"]

PAGE = 12
MOST_SHOWN = 6
"""Sensitive values that a class lists, the most frequent first."""


@lru_cache(maxsize=2)
def _read(path: str, qi: tuple[str, ...], sensitive: tuple[str, ...], changed: float) -> Any:
    """The classes of a release: labels of each, sizes, and its sensitive values."""
    table = read_table(path)
    names = tuple(published_names(qi, table.column_names))
    ids, count = released_classes(table, list(names))
    sizes = np.bincount(ids, minlength=count)
    first = np.full(count, -1, dtype=np.int64)
    first[ids[::-1]] = np.arange(len(ids))[::-1]
    labels = table.select(list(names)).take(pa.array(first))
    cells = [[None if v is None else str(v) for v in labels.column(n).to_pylist()] for n in names]
    kept = [name for name in sensitive if name in table.column_names]
    secrets = {name: distinct_values(table.column(name)) for name in kept}
    order = np.argsort(ids, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return names, list(zip(*cells, strict=True)), sizes, order, offsets, secrets


def browse(
    path: str, qi: list[str], sensitive: list[str], changed: float, search: str = "",
    page: int = 0, smallest: bool = True,
) -> dict[str, Any]:  # fmt: skip
    """Classes whose released values hold all the words of a search, a page of them."""
    names, labels, sizes, order, offsets, secrets = _read(
        path, tuple(qi), tuple(sensitive), changed
    )
    words = search.lower().split()
    found = [
        place
        for place, row in enumerate(labels)
        if all(any(word in (cell or "").lower() for cell in row) for word in words)
    ]
    found.sort(key=lambda place: int(sizes[place]) if smallest else -int(sizes[place]))
    pages = max(1, -(-len(found) // PAGE))
    page = min(max(page, 0), pages - 1)
    rows = []
    for place in found[page * PAGE : (page + 1) * PAGE]:
        members = order[offsets[place] : offsets[place + 1]]
        told = {name: _most(distinct, members) for name, distinct in secrets.items()}
        rows.append({"cells": list(labels[place]), "size": int(sizes[place]), "told": told})
    return {"columns": list(names), "sensitive": list(secrets), "rows": rows,
            "found": len(found), "all": len(labels), "page": page, "pages": pages}  # fmt: skip


def _most(distinct: Any, members: Any) -> list[list[Any]]:
    codes, counts = np.unique(distinct.codes[members], return_counts=True)
    texts = distinct.texts()
    order = np.argsort(-counts, kind="stable")[:MOST_SHOWN]
    return [[texts[codes[i]] if codes[i] >= 0 else None, int(counts[i])] for i in order]
