"""One release for several readers: butterflies (paper 003).

Pei, Tao, Li and Xiao, "Butterfly: privacy preserving publishing on multiple
quasi-identifiers" (ICDE 2009). Records that agree in what several readers know
are a butterfly's body; what one reader alone knows is a wing, and wings are
grouped independently of each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numpy as np

from shoal.encoding.table import EncodedTable, Recoding
from shoal.methods.base import Method, Options, Outcome, Run
from shoal.methods.butterfly.body import body_first
from shoal.methods.butterfly.division import Division, division_of
from shoal.methods.butterfly.layers import layered, satisfies
from shoal.methods.butterfly.wings import Butterflies, ButterflyInputs, group_wings
from shoal.metrics.loss import gcp
from shoal.models.base import Model

__all__ = ["Butterfly", "ButterflyOptions"]


class ButterflyOptions(Options):
    """Options of `butterfly`."""

    strategy: Literal["body", "paper", "best"] = "body"
    """Cut on the common attributes first (body), climb a Mondrian tree of all attributes as in
    the paper's Figure 3 (paper), or do both and keep what loses less (best)."""
    inner: Literal["hilbert", "idistance", "mondrian", "topdown"] = "hilbert"
    """The method that groups the wings, and the union that they are compared with."""
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
        "for; never more loss than the same inner method on the union of all attributes."
    )
    options = ButterflyOptions
    default = True
    for_readers = True
    inner_option = "inner"

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: ButterflyOptions, run: Run
    ) -> Outcome:
        """See `Method.run`."""
        inner = self.inner(options)
        division = division_of(table, run.views)
        with ThreadPoolExecutor(1) as pool:
            pending = pool.submit(_measured_union, inner, table, models, run.seed)
            inputs = ButterflyInputs(table, division, options.inner, run.seed) if division else None
            found_by = _by_strategy(inputs, options.strategy) if inputs else {}
            union, loss = pending.result()
        run.progress(1, 2)
        if inputs is None:
            return Outcome(union, {"won": "union"})
        found = {"union": union} | {
            name: butterflies.recoding for name, (butterflies, _) in found_by.items()
        }
        losses = {"union": loss} | {name: gcp(table, found[name]) for name in found_by}
        facts: dict[str, Any] = {name: about for name, (_, about) in found_by.items()}
        won = min(losses, key=lambda name: losses[name])
        if options.refine or (options.refine is None and len(inputs.division.readers) > 2):
            recoding, layers = _refined(inputs, inner, models, found[won])
            if layers:
                facts["layers"], won = layers, "layers"
                found[won], losses[won] = recoding, gcp(table, recoding)
        facts = {"won": won, "losses": {n: round(x, 9) for n, x in losses.items()}, **facts}
        return Outcome(found[won], facts)


def _measured_union(
    inner: Method[Any], table: EncodedTable, models: Sequence[Model], seed: int
) -> tuple[Recoding, float]:
    """The union, and what it loses."""
    recoding = inner.run(table, models, inner.options(), Run(seed)).recoding
    return recoding, gcp(table, recoding)


def _by_strategy(
    inputs: ButterflyInputs, strategy: str
) -> dict[str, tuple[Butterflies, dict[str, Any]]]:
    """Butterflies by each strategy that is asked for, where they satisfy every reader."""
    found_by = {
        name: _made_by(inputs, name) for name in ("body", "paper") if strategy in {name, "best"}
    }
    if inputs.sizes_only:
        return found_by
    return {
        name: (butterflies, facts)
        for name, (butterflies, facts) in found_by.items()
        if satisfies(inputs.table, inputs.division, butterflies.recoding)
    }


def _made_by(inputs: ButterflyInputs, strategy: str) -> tuple[Butterflies, dict[str, Any]]:
    """Butterflies by a strategy, and what there is to say about them."""
    if strategy == "paper":
        from shoal.methods.papers.butterfly import tree_first

        body, units, facts = tree_first(inputs)
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
