"""Sort along a Hilbert curve, then cut the line into the cheapest groups.

Paper 004 (Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007), section 5: the
quasi-identifiers are mapped to one dimension by a space-filling curve, which
keeps similar records together (`shoal.methods.curve`); `shoal.methods.line` makes the
groups. Which curve it is is drawn from the seed: of a few the cheapest.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from shoal.encoding.table import EncodedTable, Recoding
from shoal.kernels.curve import MOST_BITS
from shoal.methods.base import Method, Outcome, Run
from shoal.methods.curve import drawn_curve
from shoal.methods.line import LineOptions, group_line
from shoal.models.base import Model

__all__ = ["Hilbert", "HilbertOptions"]


class HilbertOptions(LineOptions):
    """Options of `hilbert`."""

    bits: int | None = Field(default=None, ge=1, le=MOST_BITS)
    """Every axis of the curve has 2**bits cells ; by default as many as keep the
    values apart, at most 16."""


class Hilbert(Method[HilbertOptions]):
    """Hilbert order and the optimal cut of the line, in time linear in records times k."""

    name = "hilbert"
    summary = "Sorts along a Hilbert curve and cuts the line at the least loss; fast, low loss."
    promise = (
        "Every model holds in every group. For k-anonymity alone the cut is the cheapest "
        "of all cuts of the curve; l-diverse groups hold l different values near each other; "
        "other models are reached by merging neighbours."
    )
    options = HilbertOptions
    takes_parts = True
    stand_in = None
    by_range = 250_000

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: HilbertOptions, run: Run
    ) -> Outcome:
        """See `Method.run`."""
        if run.course is not None:
            curve = run.course.through(table)
        else:
            curve = drawn_curve(
                table,
                run.seed,
                lambda curve, some: group_line(curve, some, models, options),
                bits=options.bits,
            )
        run.progress(1, 2)
        partition = group_line(curve, table, models, options)
        run.progress(2, 2)
        facts = {"bits": curve.bits, "axes": [table.qi[a].name for a in curve.axes]}
        return Outcome(Recoding.single(partition, len(table.qi)), facts)
