"""Rounds of a search: how long each is, and how far it has cooled down by then."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from shoal.clock import Limit, now

__all__ = ["rounds_of"]

FIRST_STEPS = 200
"""Of the first round where a time is given: it shows how long a step takes on this table."""
FASTER = 4.0
"""A round has at most so many times the steps of the one before it."""
OVERHEAD = 4.0
"""A round should take so many times as long as the first, which did hardly anything."""
SLOWEST = 1 / 6
"""Of the time that there is, what one round should take at most."""


def rounds_of(steps: int, rounds: int, limit: Limit) -> Iterator[tuple[int, float]]:
    """Steps of each round, and how far cooling is.

    `steps` in so many `rounds`; where there is a limit, as many rounds as fit before it, each
    as long as the ones before it say is right. The last twentieth, and the last round at
    least, is cold: small gains are not shaken off.
    """
    begun, length = now(), limit.left
    each = max(1, steps // rounds)
    wanted = 0.0
    if limit.given:
        each = min(each, FIRST_STEPS)
        wanted = 2 * length / rounds
    for done in count():
        share = done / rounds
        before = now()
        if limit.given:
            share = max(share, (before - begun) / max(1e-9, length))
        if share >= 1.0:
            return
        yield each, min(1.0, max(done / max(1, rounds - 1), share / 0.95))
        if limit.given:
            took = max(1e-6, now() - before)
            if done == 0:
                wanted = min(max(wanted, OVERHEAD * took), SLOWEST * length)
            if limit.left < took / 2:
                return  # one more round would not end in time
            each = max(1, int(each * min(FASTER, min(wanted, limit.left) / took)))
