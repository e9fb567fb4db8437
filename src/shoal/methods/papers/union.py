"""One quasi-identifier for all readers: the union of what they know.

Paper 003 (Pei, Tao, Li, Xiao, ICDE 2009), section 2.2: a release that is
anonymous on the union of all quasi-identifiers is so on each of them. It is
the baseline that `butterfly` is measured against.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from shoal.encoding.table import EncodedTable
from shoal.methods.base import Method, Options, Outcome, Run
from shoal.methods.inside import naming
from shoal.models.base import Model

__all__ = ["Union", "UnionOptions"]


class UnionOptions(Options):
    """Options of `union`."""

    inner: Annotated[str, naming(lambda method: method.works_inside)] = "hilbert"
    """The method that partitions the table on all quasi-identifiers, with its default options."""


class Union(Method[UnionOptions]):
    """Any method for a single quasi-identifier, run on all attributes.

    The models it is given satisfy every reader at once: the largest k of all.
    """

    name = "union"
    summary = "Several readers: any method on the union of what they know."
    promise = (
        "Every reader's models hold, and on the union of all quasi-identifiers too; otherwise "
        "what the inner method promises."
    )
    options = UnionOptions
    baseline = True
    for_readers = True
    inner_option = "inner"

    def searches(self, options: UnionOptions) -> bool:
        """Where the inner method does."""
        return self.inner(options).anytime

    def looked_at(self, models: Sequence[Model], options: UnionOptions) -> str:
        """What the inner method looks at."""
        inner = self.inner(options)
        return inner.looked_at(models, inner.options())

    def cautions(
        self, table: EncodedTable, models: Sequence[Model], options: UnionOptions
    ) -> Sequence[str]:
        """Those of the inner method."""
        inner = self.inner(options)
        return inner.cautions(table, models, inner.options())

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: UnionOptions, run: Run
    ) -> Outcome:
        """See `Method.run`."""
        inner = self.inner(options)
        outcome = inner.run(table, models, inner.options(), run)
        return replace(outcome, facts={"inner": outcome.facts} if outcome.facts else {})
