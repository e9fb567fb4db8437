"""TP+: TP, then another method on the records that TP would suppress.

Paper 000, sections 5.6 and 6.1: the residue set R is divided into groups of its
own, so that what its members share is kept as well. No group of R can have more
stars than R as one group, so TP's bounds hold all the more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import model_validator
from pydantic_core import PydanticCustomError

from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.errors import InfeasibleError, PolicyError
from shoal.methods import get_method
from shoal.methods.base import Method, Options, Outcome, Run
from shoal.methods.inside import naming
from shoal.methods.tp import Separated, separate
from shoal.metrics.loss import gcp
from shoal.models import TableModels
from shoal.models.base import Model

__all__ = ["TPPlus", "TPPlusOptions"]


class TPPlusOptions(Options):
    """Options of `tp+`."""

    refine: Annotated[str, naming(lambda method: method.refines)] = "hilbert"
    """The method that divides the residue set, with its own default options."""
    frontier: bool = False
    """Let it make groups of the next records along the line, not nested ones: more loss; for
    `hilbert` and `idistance`."""

    @model_validator(mode="after")
    def _refiner_knows_frontier(self) -> TPPlusOptions:
        if self.frontier and "frontier" not in get_method(self.refine).options.model_fields:
            raise PydanticCustomError(
                "frontier", f"frontier is of refine = hilbert or idistance, not of {self.refine}"
            )
        return self


class TPPlus(Method[TPPlusOptions]):
    """TP with its residue set divided further; never more stars than TP."""

    name = "tp+"
    summary = "TP, whose starred records are then grouped by another method: fewer stars."
    promise = (
        "As tp, and never more stars: every model holds in every group, and what is proven "
        "of tp's suppressed records holds here too."
    )
    options = TPPlusOptions
    drawn = "how the starred records are grouped"
    recodings = ("suppress", "generalise")
    leaves_residue = True
    inner_option = "refine"

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: TPPlusOptions, run: Run
    ) -> Outcome:
        """See `Method.run`."""
        found = separate(table, models)
        run.progress(1, 2)
        refiner = self.inner(options)
        settings = refiner.parse_options({"frontier": True} if options.frontier else {})
        parts = _refined(found, table, models, (refiner, settings), run)
        run.progress(2, 2)
        facts = {**found.facts(), "residue_groups": 0 if parts is None else parts.groups}
        recoding = Recoding.single(found.partition(parts), len(table.qi))
        return Outcome(recoding, facts, found.proof(len(table.qi)))


def _refined(
    found: Separated,
    table: EncodedTable,
    models: Sequence[Model],
    refining: tuple[Method[Any], Any],
    run: Run,
) -> Partition | None:
    """Groups of R that are cheaper than R as one group and satisfy every model.

    They are judged against the whole table, of which the refiner has seen a
    part: t-closeness, for one, compares with all its records.
    """
    rows, (refiner, settings) = found.residue, refining
    if not len(rows):
        return None
    part = table.take(rows)
    whole = Partition.whole(part.n)
    try:
        outcome = refiner.run(part, models, settings, Run(run.seed))
    except (InfeasibleError, PolicyError) as error:
        raise type(error)(
            f"method tp+, on its residue set of {part.n:,} records: {error}"
        ) from None
    parts = outcome.recoding.partitions[0] if outcome.recoding.partitions else whole
    if any(other is not parts for other in outcome.recoding.partitions):
        raise PolicyError(f"method tp+: refine = {refiner.name}: expected one partition for all")
    ids = np.repeat(np.arange(parts.groups), parts.sizes)
    if not TableModels(table, models).satisfied(rows[parts.order], ids).all():
        return whole
    losses = [gcp(part, Recoding.single(p, len(part.qi))) for p in (parts, whole)]
    return parts if losses[0] < losses[1] else whole
