"""Attacks on a release, each with a baseline and a control: what an attacker really gets.

The design is our own: expected success by containment of values in released cells, against
the people of the original and against people who are not in the release.
"""

from __future__ import annotations

from shoal.attacks.rates import Found, Rate, Skipped, wilson
from shoal.attacks.run import ATTACKS, USUAL, Attacked, attack, attack_run

__all__ = [
    "ATTACKS",
    "USUAL",
    "Attacked",
    "Found",
    "Rate",
    "Skipped",
    "attack",
    "attack_run",
    "wilson",
]
