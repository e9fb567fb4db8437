"""Anatomy: exact quasi-identifiers in one table, sensitive values in another.

Xiao & Tao, VLDB 2006, as section 2.3 of paper 004 describes it. Records are
grouped so that each group has l different sensitive values; the first table
gives quasi-identifiers and group, the second how often each value occurs in
the group. Nobody learns which value is whose, but everybody sees who is in the
table: it protects against disclosure of the value, not of presence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.exempt import as_one, told_apart
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.errors import InfeasibleError
from shoal.kernels.anatomy.buckets import draw_groups
from shoal.kernels.grouping import sort_by_id
from shoal.methods.base import Method, Options, Outcome, Run
from shoal.models import ClassHistograms, Model

__all__ = ["Anatomy"]


class Anatomy(Method[Options]):
    """Two tables joined by a group number."""

    name = "anatomy"
    summary = "Publishes exact quasi-identifiers and, apart from them, sensitive values by group."
    promise = (
        "Every group satisfies l-diversity in any reading; presence in the table and the "
        "quasi-identifiers themselves are not protected, so k-anonymity is refused."
    )
    options = Options
    recodings = ("generalise",)  # in truth neither: quasi-identifiers stay exact
    unique_groups = True
    one_sensitive = True
    publishes_apart = True
    looks_at = "sensitive values, drawn at random"

    def refusal(
        self, models: Sequence[Model], options: Options | None = None, **asked: Any
    ) -> str | None:
        """Exact quasi-identifiers cannot be k-anonymous."""
        for model in models:
            if model.option != "l":
                return f"publishes exact quasi-identifiers and promises l only, not {model}"
        return super().refusal(models, options, **asked)

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: Options, run: Run
    ) -> Outcome:
        """Draw groups of l records with l different values."""
        apart = all(model.size_and_cap for model in models)
        ((codes, size),) = told_apart(table) if apart else as_one(table)
        diversity = max(_different_values(model, size) for model in models)
        groups, residual = draw(codes, size, diversity, run.seed)
        return Outcome(
            Recoding.single(Partition.single_records(table.n), len(table.qi)),
            facts={"l": diversity, "residual_records": residual},
            separated=Partition.from_group_ids(groups),
        )


def _different_values(model: Model, domain: int) -> int:
    """How many values, each once, satisfy a model: l, or more where recursive (c, l) has c <= 1."""
    for count in range(model.smallest_class, domain + 1):
        once = np.ones(count, dtype=np.int64)
        group = ClassHistograms(
            sizes=np.array([count]), offsets=np.array([0, count]), values=np.arange(count),
            counts=once, domain=domain,
        )  # fmt: skip
        if model.holds(group).all():
            return count
    raise InfeasibleError(f"anatomy: no group of different values satisfies {model}")


def draw(
    codes: NDArray[np.int32], domain: int, diversity: int, seed: int
) -> tuple[NDArray[np.int64], int]:
    """Group of each record, and how many residual records were put into other groups.

    Every group has at least `diversity` records, all with different values.
    """
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(codes))
    starts = np.empty(domain + 1, dtype=np.int64)
    by_value = np.empty(len(codes), dtype=np.int64)
    sort_by_id(codes[shuffled], starts, by_value)
    groups = np.empty(len(codes), dtype=np.int64)
    count = draw_groups(shuffled[by_value], starts, diversity, groups)
    left_over = np.flatnonzero(groups < 0)
    if count == 0 or len(left_over) >= diversity:
        raise InfeasibleError(f"anatomy: no groups of {diversity} different values cover the table")
    for record in left_over:
        with_value = np.unique(groups[codes == codes[record]])
        free = np.setdiff1d(np.arange(count), with_value)  # never empty, by eligibility
        if not len(free):
            raise InfeasibleError("anatomy: a residual record fits into no group")
        groups[record] = rng.choice(free)
    return groups, len(left_over)
