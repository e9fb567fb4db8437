"""A release in words, for people: on a terminal and in notebooks."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING, Any

from shoal.io.write import decoded
from shoal.metrics.loss import Loss
from shoal.verification.manifest import gap_of

if TYPE_CHECKING:
    from shoal.bounds import Bound
    from shoal.release import Release, Suppression

__all__ = ["as_html", "gap_in_words", "in_words"]

SAME = 2e-9
"""Losses that differ by less are equal: the manifest rounds to 9 decimals."""
PREVIEW = 8
"""Rows that a notebook shows."""


def in_words(release: Release) -> str:
    """What was released, how much it lost, what holds, what is proven."""
    found = release.verification
    head = (
        f"Release of {found.records:,} records in {found.classes:,} classes by "
        f"{release.method.name}, loss (GCP) {release.loss.gcp:.4f}"
        f"{gap_in_words(release.loss, release.bound)}"
    )
    suppressed = _suppressed_in_words(release.suppressed)
    checks = (f"  {check}" for check in found.checks)
    proof = [f"  {release.method.proof}"] if release.method.proof else []
    return "\n".join([head, *suppressed, *checks, *proof])


def as_html(release: Release) -> str:
    """The summary and the first rows."""
    preview = decoded(release.table.slice(0, PREVIEW))
    head = "".join(f"<th>{html.escape(name)}</th>" for name in preview.column_names)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row.values()) + "</tr>"
        for row in preview.to_pylist()
    )
    checks = "".join(f"<li>{html.escape(str(c))}</li>" for c in release.verification.checks)
    title = html.escape(in_words(release).splitlines()[0])
    return (
        f"<div><strong>{title}</strong><ul>{checks}</ul>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def gap_in_words(loss: Loss, bound: Bound | None) -> str:
    """How far the loss is from the best possible at most: the bound down, the distance up."""
    if bound is None:
        return ""
    proven, gap = bound.to_dict()["loss"], gap_of(loss, bound)
    if loss.gcp <= proven + SAME:
        return ", which is the optimum"
    if gap is None:
        return ", no bound"
    least = math.floor(proven * 1e4) / 1e4
    away = math.ceil(round(100 * gap, 4))
    return f", no release can be below {least:.4f}: at most {away:,}% from the optimum"


def _suppressed_in_words(found: Suppression | None) -> list[str]:
    if not found or not found.records:
        return []
    how = " as stars" if found.by == "star" else ""
    share = 100 * found.records / found.of
    return [f"  suppressed {found.records:,} of {found.of:,} records ({share:.2g}%){how}"]


def _cell(value: Any) -> str:
    return "" if value is None else html.escape(str(value))
