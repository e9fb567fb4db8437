"""One release for several readers: butterflies (paper 003).

Pei, Tao, Li and Xiao, "Butterfly: privacy preserving publishing on multiple
quasi-identifiers" (ICDE 2009). Records that agree in what several readers know
are a butterfly's body; what one reader alone knows is a wing, and wings are
grouped independently of each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Literal

import numpy as np

from shoal.clock import Limit
from shoal.encoding.table import EncodedTable, Recoding
from shoal.kernels.threads import stopping
from shoal.methods import get_method
from shoal.methods.base import Method, Options, Outcome, Run
from shoal.methods.butterfly.body import body_first
from shoal.methods.butterfly.division import Division, division_of
from shoal.methods.butterfly.layers import layered, satisfies
from shoal.methods.butterfly.wings import Butterflies, ButterflyInputs, group_wings
from shoal.methods.inside import naming
from shoal.metrics.loss import gcp
from shoal.models.base import Model

__all__ = ["Butterfly", "ButterflyOptions"]

QUICK = "hilbert"
"""What groups the wings where the union is searched by `best`."""


class ButterflyOptions(Options):
    """Options of `butterfly`."""

    strategy: Literal["body", "paper", "best"] = "body"
    """Cut on the common attributes first (body), climb a tree of cuts over all attributes
    (paper), or do both and keep what loses less (best)."""
    classes: Annotated[str, naming(lambda method: method.works_inside)] | None = None
    """With strategy paper or best: the method over whose classes on the union the hierarchy is
    clustered, in place of a Mondrian tree."""
    inner: Annotated[str, naming(lambda method: method.takes_parts)] = "best"
    """The method for the union, and for the wings that are compared with it; `best` searches the
    union within an effort or a time, and leaves the wings to hilbert."""
    refine: bool | None = None
    """Publish records attribute by attribute where every reader allows it, without a common
    body; by default with three readers or more."""


class Butterfly(Method[ButterflyOptions]):
    """Butterflies for any number of readers; where they do not pay, the union of all attributes.

    Body-first by default, which on ACS loses half as much as the paper's own
    order. The union is computed too, and the answer is what loses least.
    """

    name = "butterfly"
    summary = "Several readers: groups shared attributes once, those of single readers apart."
    promise = (
        "Every reader's models hold on what it knows, and k for all together where it is asked "
        "for; never more loss than the same inner method, at the same effort, on the union of "
        "all attributes."
    )
    options = ButterflyOptions
    default = True
    for_readers = True
    inner_option = "inner"
    anytime = True

    def searches(self, options: ButterflyOptions) -> bool:
        """Where the inner method does."""
        return self.inner(options).anytime

    def looked_at(self, models: Sequence[Model], options: ButterflyOptions) -> str:
        """What the inner method looks at."""
        inner = self.inner(options)
        return inner.looked_at(models, inner.options())

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: ButterflyOptions, run: Run
    ) -> Outcome:
        """See `Method.run`."""
        inner, limit = self.inner(options), Limit.after(run.seconds)
        division = division_of(table, run.views)
        quick = QUICK if inner.anytime else options.inner
        with stopping(ThreadPoolExecutor(1)) as pool:
            pending = pool.submit(_measured_union, inner, table, models, run)
            inputs = ButterflyInputs(table, division, quick, run.seed) if division else None
            found_by = _by_strategy(inputs, options) if inputs else {}
            union, loss = pending.result()
        if inputs is None:
            return Outcome(union, {"won": "union"})
        found = {"union": union} | {
            name: butterflies.recoding for name, (butterflies, _) in found_by.items()
        }
        losses = {"union": loss} | {name: gcp(table, found[name]) for name in found_by}
        facts: dict[str, Any] = {name: about for name, (_, about) in found_by.items()}
        won = min(losses, key=lambda name: losses[name])
        refines = options.refine or (options.refine is None and len(inputs.division.readers) > 2)
        if refines and not limit.up:
            recoding, layers = _refined(inputs, get_method(quick), models, found[won])
            if layers:
                facts["layers"], won = layers, "layers"
                found[won], losses[won] = recoding, gcp(table, recoding)
        facts = {"won": won, "losses": {n: round(x, 9) for n, x in losses.items()}, **facts}
        return Outcome(found[won], facts)


def _measured_union(
    inner: Method[Any], table: EncodedTable, models: Sequence[Model], run: Run
) -> tuple[Recoding, float]:
    """The union, and what it loses."""
    recoding = inner.run(table, models, inner.options(), run).recoding
    return recoding, gcp(table, recoding)


def _by_strategy(
    inputs: ButterflyInputs, options: ButterflyOptions
) -> dict[str, tuple[Butterflies, dict[str, Any]]]:
    """Butterflies by each strategy that is asked for, where they satisfy every reader."""
    found_by = {
        name: _made_by(inputs, name, options.classes)
        for name in ("body", "paper")
        if options.strategy in {name, "best"}
    }
    if inputs.sizes_only:
        return found_by
    return {
        name: (butterflies, facts)
        for name, (butterflies, facts) in found_by.items()
        if satisfies(inputs.table, inputs.division, butterflies.recoding)
    }


def _made_by(
    inputs: ButterflyInputs, strategy: str, classes: str | None
) -> tuple[Butterflies, dict[str, Any]]:
    """Butterflies by a strategy, and what there is to say about them."""
    if strategy == "paper":
        from shoal.methods.papers.butterfly import tree_first

        body, units, facts = tree_first(inputs, classes)
        butterflies = group_wings(inputs, body, units)
    else:
        butterflies, facts = group_wings(inputs, body_first(inputs)), {}
    share = round(_share(inputs.division, butterflies), 6)
    return butterflies, {
        "butterflies": butterflies.body.groups,
        "share_in_butterflies": share,
        **facts,
    }


def _share(division: Division, butterflies: Butterflies) -> float:
    """Share of records in butterflies that are more than one class on the union."""
    nodes, sizes = butterflies.body.group_ids(), butterflies.body.sizes
    parted = np.zeros(len(sizes), dtype=np.bool_)
    for wing in division.wings:
        groups = butterflies.recoding.partitions[wing.attributes[0]]
        parted |= np.bincount(nodes[groups.firsts], minlength=len(sizes)) > 1
    return float(sizes[parted].sum() / len(nodes))


def _refined(
    inputs: ButterflyInputs, inner: Method[Any], models: Sequence[Model], start: Recoding
) -> tuple[Recoding, int]:
    """Layers first, then butterflies or the union for the rest."""

    def again(some: EncodedTable) -> Recoding:
        smaller = ButterflyInputs(some, inputs.division, inputs.inner, inputs.seed)
        union = inner.run(some, models, inner.options(), Run(inputs.seed)).recoding
        grouped = group_wings(smaller, body_first(smaller)).recoding
        return min(union, grouped, key=lambda recoding: gcp(some, recoding))

    return layered(inputs.table, inputs.division, again, start)
