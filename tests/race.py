"""Run by `test_regions`: two threads of the search take turns on one core, as often as can be.

Its own process: threads that meet can write anywhere.
"""

from __future__ import annotations

import os
import sys
import threading
import time

import numpy as np

from shoal.encoding.table import Partition
from shoal.kernels import threads
from shoal.methods.best import improver
from shoal.methods.best.improver import Improver
from shoal.models import KAnonymity
from tables import random_table

RECORDS, K, STEPS, ROUNDS, RESTLESS = 2_000, 2, 3_000, 200, 8


def main() -> None:
    """Print how many different results equal rounds have: one, if threads never meet."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    sys.setswitchinterval(1e-6)
    for _ in range(RESTLESS):  # whoever wakes up interrupts who works
        threading.Thread(target=_sleep_and_wake, daemon=True).start()
    improver.FEW = 0  # two regions, short as the table is
    threads.os.cpu_count = lambda: 2
    table = random_table(np.random.default_rng(3), RECORDS)
    search = Improver(table, [KAnonymity(K)], 1)
    coarse = Partition.from_group_ids(np.arange(RECORDS) // (6 * K))
    found = []
    for _ in range(ROUNDS):
        # from large groups to many small ones: nearly every number that is taken was free
        search.rounds = 0
        search.begin(coarse)
        search._round(STEPS, 1.0)
        found.append(search.partition().group_ids().tobytes())
    print(len(set(found)))


def _sleep_and_wake() -> None:
    while True:
        time.sleep(1e-5)


main()
