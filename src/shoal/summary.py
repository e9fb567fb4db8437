"""A release in words, for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from shoal.metrics.loss import Loss
from shoal.verification.manifest import gap_of

if TYPE_CHECKING:
    from shoal.bounds import Bound
    from shoal.release import Release, Suppression

__all__ = ["gap_in_words", "in_words"]

SAME = 2e-9
"""Losses that differ by less are equal: the manifest rounds to 9 decimals."""
TELLING_GAP = 1.0
"""Gaps from here on tell of the bound, not of the release."""


def in_words(release: Release) -> str:
    """What was released, how much it lost, what holds, what is proven."""
    found = release.verification
    head = (
        f"Release of {found.records:,} records in {found.classes:,} classes by "
        f"{release.method.name}, loss {release.loss.gcp:.4f}"
        f"{gap_in_words(release.loss, release.bound)}"
    )
    suppressed = _suppressed_in_words(release.suppressed)
    checks = (f"  {check}" for check in found.checks)
    proof = [f"  {release.method.proof}"] if release.method.proof else []
    return "\n".join([head, *suppressed, *checks, *proof])


def gap_in_words(loss: Loss, bound: Bound | None) -> str:
    """How far the loss is from the best possible at most: the bound down, the distance up.

    Nothing where the bound says less than half of it: it is weak then, and a gap of
    35,000% reads as if the release were bad. The record has it.
    """
    if bound is None:
        return ""
    proven, gap = bound.to_dict()["loss"], gap_of(loss, bound)
    if loss.gcp <= proven + SAME:
        return ", which is the optimum"
    if gap is None or gap >= TELLING_GAP:
        return ""
    least = math.floor(proven * 1e4) / 1e4
    away = math.ceil(round(100 * gap, 4))
    return f", no release can be below {least:.4f}: at most {away:,}% from the optimum"


def _suppressed_in_words(found: Suppression | None) -> list[str]:
    if not found or not found.records:
        return []
    how = " as stars" if found.by == "star" else ""
    share = 100 * found.records / found.of
    return [f"  suppressed {found.records:,} of {found.of:,} records ({share:.2g}%){how}"]
