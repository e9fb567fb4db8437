"""Two threads of the search never meet: every number of a group belongs to one region."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from shoal.encoding.table import Partition
from shoal.kernels.best.search import NONE, regions_are_apart, search_region
from shoal.kernels.random import random_state
from shoal.methods.best import improver
from shoal.methods.best.improver import CUTTING, REGROWING, WIDTH, Improver
from shoal.models import KAnonymity
from tables import random_table

K = 2


@pytest.fixture
def divided(monkeypatch: pytest.MonkeyPatch) -> Improver:
    """A short table in two regions, as at the beginning of a round."""
    monkeypatch.setattr(improver, "FEW", 0)
    search = Improver(random_table(np.random.default_rng(5), 60), [KAnonymity(K)], 1)
    search.begin(Partition.from_group_ids(np.arange(60) // (3 * K)))
    search.prepare()
    search._divide(search.groups.head != NONE)
    return search


def test_every_number_is_in_one_region(divided: Improver) -> None:
    groups = divided.groups
    assert regions_are_apart(groups, divided.regions)
    assert set(groups.region.tolist()) == {0, 1}
    groups.region[groups.free[1, 0]] = 0
    assert not regions_are_apart(groups, divided.regions)


def test_a_number_that_is_lost_or_free_twice_is_noticed(divided: Improver) -> None:
    groups = divided.groups
    groups.frees[1] -= 1
    assert not regions_are_apart(groups, divided.regions)
    groups.frees[1] += 1
    groups.free[1, 0] = groups.free[1, 1]
    assert not regions_are_apart(groups, divided.regions)


def test_a_group_that_is_being_linked_is_left_alone(divided: Improver) -> None:
    """The moment at which the other thread has put records under a number that was free."""
    groups = divided.groups
    old = int(np.flatnonzero((groups.head != NONE) & (groups.region == 1))[0])
    new = int(groups.free[1, groups.frees[1] - 1])
    members = np.flatnonzero(groups.of == old)
    groups.head[new], groups.size[new], groups.price[new] = groups.head[old], len(members), 1.0
    groups.head[old] = NONE
    groups.of[members] = new
    links = groups.next[members].copy()
    check, cut, grow, cores, trade, pool = divided._scratch[0]
    search_region(
        divided.prices, divided.records, check, divided.kind_of, cut, grow, cores, trade,
        divided._near(), groups, pool, random_state(1, 0, 0), 0, 5_000, 10.0,
        WIDTH, CUTTING, REGROWING,
    )  # fmt: skip
    assert (groups.of[members] == new).all()
    assert (groups.next[members] == links).all()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="one core cannot be asked for")
def test_equal_rounds_on_one_core_have_equal_results() -> None:
    """Eight threads that wake up all the time make the two that work take turns."""
    here = Path(__file__).parent
    command = [sys.executable, str(here / "race.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1"]
