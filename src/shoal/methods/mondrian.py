"""Mondrian: the table is cut recursively at the median of its widest attribute.

LeFevre, DeWitt and Ramakrishnan, "Mondrian multidimensional k-anonymity"
(ICDE 2006), as papers 003 (section 3.1) and 004 (section 2.2) describe it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from queue import SimpleQueue

import numpy as np

from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.kernels.costs import Costs
from shoal.kernels.cuts import Rows, Scratch, carve, new_scratch, pack
from shoal.kernels.group_check import GroupCheck, for_another_thread, new_group_check
from shoal.methods.base import Method, Options, Outcome, Run
from shoal.models import rules_for
from shoal.models.base import Model

__all__ = ["Mondrian", "MondrianOptions"]

SMALL = 30_000
"""A node of fewer records is one task: handing it on would cost more than it gains."""

TASKS_PER_WORKER = 8
"""Enough tasks that no worker idles for long while another finishes."""

MOST_WORKERS = 16

Node = tuple[int, int]
"""Begin and end of a range of records."""


class MondrianOptions(Options):
    """Options of `mondrian`."""

    relaxed: bool = False
    """Where no strict cut is left, divide the records at a median: each side gets half."""


class Mondrian(Method[MondrianOptions]):
    """Cuts as long as both sides of a cut satisfy every model.

    In a node of the tree the attributes are tried by their loss there, widest
    first, the earlier one of equals. An attribute is cut at its median code m,
    the floor(n/2)-th smallest: into "at most m" and "above m", or, if that is not
    allowable, into "below m" and "at least m". A node that no attribute can cut
    is a group.

    With ``relaxed`` such a node is still cut into halves that divide the records
    at m between them. Halves come last, because a cut that separates no values
    gains little: cutting into halves from the start, as LeFevre et al. do, loses
    three times as much on Adult. So the relaxed groups refine the strict ones
    and never lose more, but their intervals may overlap.
    """

    name = "mondrian"
    summary = "Cuts the table at the median of its widest attribute, again and again; very fast."
    promise = "Every group satisfies every model, whichever; strict groups do not overlap."
    options = MondrianOptions

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: MondrianOptions, run: Run
    ) -> Outcome:
        partition = cut_table(table, models, options.relaxed, run.progress)
        return Outcome(
            Recoding.single(partition, len(table.qi)),
            {"groups": partition.groups, "relaxed": options.relaxed},
        )


def cut_table(
    table: EncodedTable,
    models: Sequence[Model],
    relaxed: bool = False,
    progress: Callable[[float, float], None] | None = None,
    workers: int | None = None,
) -> Partition:
    """Mondrian's groups in tree order, left before right; the same for any `workers`."""
    rows = pack(table.codes, table.costs.size)
    workers = workers or min(MOST_WORKERS, os.cpu_count() or 1)
    grain = max(SMALL, table.n // (TASKS_PER_WORKER * workers))
    if table.n <= grain:
        workers = 1
    forest = _Forest(table, models, relaxed, rows, grain, workers)
    forest.grow(workers, progress)
    row = (rows.words[rows.word[-1]] >> rows.shift[-1]) & rows.mask[-1]
    return Partition(row, np.append(np.flatnonzero(rows.first), table.n))


class _Forest:
    """The nodes still to be cut, and the workers that cut them."""

    def __init__(
        self,
        table: EncodedTable,
        models: Sequence[Model],
        relaxed: bool,
        rows: Rows,
        grain: int,
        workers: int,
    ) -> None:
        self.n = table.n
        self.rows = rows
        self.costs: Costs = table.costs
        self.grain = grain
        self.relaxed = relaxed
        check = new_group_check(table, rules_for(table.codebook, models))
        self.idle: SimpleQueue[tuple[GroupCheck, Scratch]] = SimpleQueue()
        """What a thread works with, one each: never more tasks run than are queued here."""
        for worker in range(workers):
            own = for_another_thread(check) if worker else check
            self.idle.put((own, new_scratch(self.costs.size)))

    def grow(self, workers: int, progress: Callable[[float, float], None] | None) -> None:
        """Cut until nothing is left to cut."""
        done = 0
        with ThreadPoolExecutor(workers) as pool:
            running: set[Future[tuple[Node, list[Node]]]] = {pool.submit(self.cut, (0, self.n))}
            while running:
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    (begin, end), parts = future.result()
                    running |= {pool.submit(self.cut, part) for part in parts}
                    done += end - begin - sum(e - b for b, e in parts)
                if progress is not None:
                    progress(done, self.n)

    def cut(self, node: Node) -> tuple[Node, list[Node]]:
        """Cut one node down to groups, or once if it is large; the large parts are returned."""
        check, scratch = self.idle.get()
        try:
            waiting = np.empty((2, 2), dtype=np.int64)
            count = carve(
                self.rows, self.costs, check, self.relaxed, scratch, *node, self.grain, waiting
            )
            return node, [(int(begin), int(end)) for begin, end in waiting[:count]]
        finally:
            self.idle.put((check, scratch))
