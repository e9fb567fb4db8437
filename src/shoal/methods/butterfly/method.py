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
from shoal.methods.butterfly.layers import layered, satisfies
from shoal.methods.butterfly.plan import Plan, plan_of
from shoal.methods.butterfly.wings import Flight, Hangar, fly
from shoal.methods.papers.butterfly import climbed
from shoal.methods.union import inner_method
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


class Butterfly(Method):
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

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: Options, run: Run
    ) -> Outcome:
        """See `Method.run`."""
        assert isinstance(options, ButterflyOptions)
        inner = inner_method(self.name, options.inner, table, models)
        plan = plan_of(table, run.views)
        with ThreadPoolExecutor(1) as pool:
            pending = pool.submit(_measured_union, inner, table, models, run.seed)
            hangar = Hangar(table, plan, options.inner, run.seed) if plan else None
            flights = _flights(hangar, options.strategy) if hangar else {}
            union, loss = pending.result()
        run.progress(1, 2)
        if hangar is None:
            return Outcome(union, {"won": "union"})
        found = {"union": union} | {name: flight.recoding for name, (flight, _) in flights.items()}
        losses = {"union": loss} | {name: gcp(table, found[name]) for name in flights}
        facts: dict[str, Any] = {name: about for name, (_, about) in flights.items()}
        won = min(losses, key=lambda name: losses[name])
        if options.refine or (options.refine is None and len(hangar.plan.readers) > 2):
            recoding, layers = _refined(hangar, inner, models, found[won])
            if layers:
                facts["layers"], won = layers, "layers"
                found[won], losses[won] = recoding, gcp(table, recoding)
        facts = {"won": won, "losses": {n: round(x, 9) for n, x in losses.items()}, **facts}
        return Outcome(found[won], facts)


def _measured_union(
    inner: Method, table: EncodedTable, models: Sequence[Model], seed: int
) -> tuple[Recoding, float]:
    """The union, and what it loses."""
    recoding = inner.run(table, models, inner.options(), Run(seed)).recoding
    return recoding, gcp(table, recoding)


def _flights(hangar: Hangar, strategy: str) -> dict[str, tuple[Flight, dict[str, Any]]]:
    """Butterflies by each strategy that is asked for, where they satisfy every reader."""
    flights = {
        name: _flown(hangar, name) for name in ("body", "paper") if strategy in {name, "best"}
    }
    if hangar.sizes_only:
        return flights
    return {
        name: (flight, facts)
        for name, (flight, facts) in flights.items()
        if satisfies(hangar.table, hangar.plan, flight.recoding)
    }


def _flown(hangar: Hangar, strategy: str) -> tuple[Flight, dict[str, Any]]:
    """Butterflies by a strategy, and what there is to say about them."""
    if strategy == "paper":
        body, units, facts = climbed(hangar)
        flight = fly(hangar, body, units)
    else:
        flight, facts = fly(hangar, body_first(hangar)), {}
    share = round(_share(hangar.plan, flight), 6)
    return flight, {
        "butterflies": flight.body.groups,
        "share_in_butterflies": share,
        **facts,
    }


def _share(plan: Plan, flight: Flight) -> float:
    """Share of records in butterflies that are more than one class on the union."""
    nodes, sizes = flight.body.group_ids(), flight.body.sizes
    parted = np.zeros(len(sizes), dtype=np.bool_)
    for wing in plan.wings:
        groups = flight.recoding.partitions[wing.attributes[0]]
        firsts = groups.order[groups.offsets[:-1]]
        parted |= np.bincount(nodes[firsts], minlength=len(sizes)) > 1
    return float(sizes[parted].sum() / len(nodes))


def _refined(
    hangar: Hangar, inner: Method, models: Sequence[Model], start: Recoding
) -> tuple[Recoding, int]:
    """Layers first, then butterflies or the union for the rest."""

    def again(some: EncodedTable) -> Recoding:
        smaller = Hangar(some, hangar.plan, hangar.inner, hangar.seed)
        union = inner.run(some, models, inner.options(), Run(hangar.seed)).recoding
        flown = fly(smaller, body_first(smaller)).recoding
        return min(union, flown, key=lambda recoding: gcp(some, recoding))

    return layered(hangar.table, hangar.plan, again, start)
