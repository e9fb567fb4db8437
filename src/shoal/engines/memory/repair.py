"""Groups that fail are mended before anybody gives up.

Counting records, every model is closed under union: methods merge what fails, and at
worst all records are one class. Counting persons, most models are not: a class can fail
because somebody is in it twice, and groups under the same released values are one class.
Then what a method has found is mended, whichever method it was:

- classes that fail are divided anew, together with those next to them, exactly;
- if that does not help, other groups are tried: one class of all records, groups of
  different values (`bsgi`) and groups along a curve, from several seeds;
- of a few records all groups are tried, which can prove that there are none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.clock import NO_LIMIT, Limit
from shoal.encoding.classes import class_ids
from shoal.encoding.recode import recode, released_columns
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.engines.memory.outliers import Kept
from shoal.engines.memory.partition import recode_merging_equal_texts
from shoal.errors import InfeasibleError, NotFoundError, ShoalError
from shoal.methods import get_method
from shoal.methods.base import Run
from shoal.methods.exact.apart import FEW, least_apart
from shoal.models import satisfied_classes, union_closed
from shoal.plan import Plan
from shoal.verification.check import released_classes

__all__ = ["breakable", "mended"]

Ids = NDArray[np.int64]

STARTS = ("bsgi", "hilbert")
"""Methods whose groups are tried where those of the plan's own method fail."""
SEEDS = 4
"""Seeds from which each of them is tried."""
LONG = 20_000
"""Longer tables are given one seed."""
ROUNDS = 8
"""How often the classes that fail are divided anew."""
MOST_FAILING = 1_000
"""Where more classes fail, dividing them one by one takes too long."""


def breakable(table: EncodedTable, plan: Plan) -> bool:
    """Whether groups that satisfy the models can fail as one class."""
    return bool(table.qi) and not union_closed(plan.models, table.person is not None)


def mended(kept: Kept, plan: Plan, limit: Limit = NO_LIMIT) -> Kept:
    """The same groups if they hold when published, or others that do.

    Raises
    ------
    InfeasibleError
        There are none, and that is proven.
    NotFoundError
        None were found.
    """
    mender = _Mender(kept.table, plan, kept.outcome.recoding.stars)
    if kept.outcome.separated is not None or mender.holds(kept.outcome.recoding):
        return kept
    found = mender.found(kept.outcome.recoding, limit)
    facts = {**kept.outcome.facts, "mended": True}
    return kept._replace(outcome=replace(kept.outcome, recoding=found, facts=facts, proof=""))


class _Mender:
    """A table with what every reader is promised about it."""

    def __init__(self, table: EncodedTable, plan: Plan, stars: bool) -> None:
        self.table = table
        self.plan = plan
        self.stars = stars
        self.seen = table.suppressing() if stars else table

    def recoding(self, partition: Partition) -> Recoding:
        """Groups in the form that was asked for."""
        return Recoding((partition,) * len(self.table.qi), stars=self.stars)

    def holds(self, recoding: Recoding) -> bool:
        """Whether every reader's models hold in the classes that are published."""
        recoded, policy = recode(self.table, recoding), self.plan.policy
        for view in self.plan.views:
            own = [column for column in recoded if column.name in view.qi]
            released = pa.table(released_columns(own, policy.layout))
            # As verification looks at them: a star and a missing number have the same bounds.
            for folded in (False, True) if policy.twins == "fold" else (False,):
                ids, _ = released_classes(released, released.column_names, folded)
                if not satisfied_classes(self.table, view.models, ids).all():
                    return False
        return True

    def found(self, recoding: Recoding, limit: Limit) -> Recoding:
        """Groups that hold; see the module's docstring."""
        if self.table.n <= FEW and not self.plan.readers:
            return self._exactly()
        for start in self._starts(recoding):
            divided = self._divided(start)
            if divided is not None and self.holds(divided):
                return divided
            if limit.up:
                break
        whole = self.recoding(Partition.whole(self.table.n))
        if self.holds(whole):
            return whole
        raise self._not_found()

    def _exactly(self) -> Recoding:
        """The cheapest groups of all."""
        models = self.plan.models
        rows = np.arange(self.table.n, dtype=np.int64)
        result = least_apart(self.seen, models, rows, stars=self.stars)
        whole = self.recoding(Partition.whole(self.table.n))
        if result.ids is not None:
            found = self.recoding(Partition.from_group_ids(result.ids))
            if self.holds(found):
                return found
        if self.holds(whole):
            return whole
        if result.impossible:
            asked = ", ".join(map(str, models))
            raise InfeasibleError(f"no release of this table satisfies {asked}: all were tried")
        raise self._not_found()

    def _not_found(self) -> NotFoundError:
        """The words for it, and how to go on."""
        asked = ", ".join(map(str, self.plan.models))
        other = ", recoding = generalise" if self.stars else ""
        return NotFoundError(
            f"no release was found that satisfies {asked}, counting persons; there may be one: "
            f"try another method or seed{other}, a smaller l or k, or max_suppressed"
        )

    def _starts(self, recoding: Recoding) -> Iterator[Partition]:
        """Classes to begin with: what there is, then those of other methods and seeds."""
        if len(set(recoding.partitions)) == 1:
            yield self._classes(recoding)
        seeds = SEEDS if self.table.n <= LONG else 1
        for shift in range(seeds):
            for name in STARTS:
                method = get_method(name)
                if method.refusal(self.plan.models, persons=True) is not None:
                    continue
                try:
                    run = Run(self.plan.seed + shift)
                    outcome = method.run(self.seen, self.plan.models, method.options(), run)
                except ShoalError:  # it cannot, others may
                    continue
                parts = self.recoding(outcome.recoding.partitions[0])
                merged, _ = recode_merging_equal_texts(self.table, self.plan.models, parts)
                yield self._classes(merged)

    def _classes(self, recoding: Recoding) -> Partition:
        """Groups that are all published apart, in the order of those they are made of."""
        partition = recoding.partitions[0]
        recoded = recode(self.table, recoding)
        along = [(c.index[partition.order], len(c.texts)) for c in recoded]
        ids = np.empty(self.table.n, dtype=np.int64)
        ids[partition.order], _ = class_ids(along, self.table.n)
        return Partition.from_group_ids(ids)

    def _divided(self, classes: Partition) -> Recoding | None:
        """Classes that fail divided anew together with near ones, until all hold."""
        rng = np.random.default_rng(self.plan.seed % 2**63)
        for _ in range(ROUNDS):
            ids = classes.group_ids()
            failing = np.flatnonzero(~satisfied_classes(self.table, self.plan.models, ids))
            if not len(failing):
                return self.recoding(classes)
            if len(failing) > MOST_FAILING:
                return None
            if not sum(self._divide(classes, ids, int(g), rng) for g in failing):
                return None
            classes = self._classes(self.recoding(Partition.from_group_ids(_dense(ids))))
        return None

    def _divide(self, classes: Partition, ids: Ids, failing: int, rng: np.random.Generator) -> bool:
        """New groups of a class and some near it; ``ids`` is changed. Whether there are any."""
        for near in (_around(classes, failing), _drawn(classes, failing, rng)):
            rows = np.flatnonzero(np.isin(classes.group_ids(), near))
            unchanged = np.isin(ids[rows], near).all()  # nobody else has divided them
            if not unchanged or len(rows) > FEW:
                continue
            result = least_apart(self.seen, self.plan.models, rows, stars=self.stars)
            if result.ids is not None:
                ids[rows] = ids.max() + 1 + result.ids
                return True
        return False


def _around(classes: Partition, failing: int) -> list[int]:
    """A class and its neighbours on either side, as many as can be divided exactly."""
    beside = (failing + (1 - 2 * (i % 2)) * (i // 2 + 1) for i in range(2 * FEW))
    return _fitting(classes, failing, [g for g in beside if 0 <= g < classes.groups])


def _drawn(classes: Partition, failing: int, rng: np.random.Generator) -> list[int]:
    """A class and others from anywhere."""
    some = rng.permutation(classes.groups)[: 4 * FEW]
    return _fitting(classes, failing, some[some != failing].tolist())


def _fitting(classes: Partition, first: int, others: list[int]) -> list[int]:
    sizes, chosen = classes.sizes, [first]
    room = FEW - int(sizes[first])
    for g in others:
        if sizes[g] <= room:
            chosen.append(g)
            room -= int(sizes[g])
    return chosen


def _dense(ids: Ids) -> Ids:
    numbers: Ids = np.unique(ids, return_inverse=True)[1].astype(np.int64)
    return numbers
