"""What a run changed, in three lines: who stood out before, who does after, what was lost."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.release import Release

__all__ = ["lines_of", "outlier_lines", "show_before_after"]

COLUMNS_SHOWN = 4
BAR = 10


def show_before_after(release: Release, *, explained: bool = False) -> None:
    """Print the panel: in colour on a terminal, plainly elsewhere."""
    from rich.console import Console
    from rich.text import Text

    at_terminal = sys.stdout.isatty()
    console = Console(highlight=False, file=sys.stdout, width=None if at_terminal else 200)
    marks = "█░" if at_terminal and not console.options.ascii_only else ""
    lines = lines_of(release, marks)
    if explained:
        lines += outlier_lines(release)
    for title, text in lines:
        line = Text.assemble((f"{title:<6}  ", "bold cyan"), text)
        console.print(line, soft_wrap=True)


def lines_of(release: Release, marks: str = "") -> list[tuple[str, str]]:
    """Titles and sentences; with `marks`, two signs, the losses are bars."""
    found = []
    if (before := release.before) is not None and before.records:
        share = f"{before.unique / before.records:.0%}"
        alone = f"{before.unique:,} of {before.records:,} records ({share}) were alone"
        few = f"; {before.few:,} shared their values with fewer than {before.k} records"
        found.append(("BEFORE", alone + (few if before.k > 2 else "")))
    found.append(("AFTER", _after(release)))
    if release.sensitive_table is None:
        found.append(("LOSS", _losses(release, marks)))
    return found


def _after(release: Release) -> str:
    sizes = release.class_sizes
    low, high = int(sizes.min()), int(sizes.max())
    if release.sensitive_table is not None:
        return "nobody is hidden, but who has which value is: they are published in groups"
    who = " to all readers together" if release.policy.reader else ""
    spread = f"of {low:,}" if low == high else f"of {low:,} to {high:,}"
    return (
        f"{len(sizes):,} classes {spread} records{who}; whoever is known to be in the table is "
        f"picked with a chance of at most 1 in {low:,}"
    )


def _losses(release: Release, marks: str) -> str:
    """The whole, and the columns that lost most."""
    loss = release.loss
    most = sorted(loss.ncp.items(), key=lambda item: -item[1])[:COLUMNS_SHOWN]
    parts = []
    for name, share in most:
        filled = round(share * BAR)
        bar = f" {marks[0] * filled}{marks[1] * (BAR - filled)}" if marks else ""
        parts.append(f"{name}{bar} {share:.1%}")
    return f"{loss.gcp:.1%} of the detail: {', '.join(parts)}"


def outlier_lines(release: Release) -> list[tuple[str, str]]:
    """Which records hold the loss, in words that help to decide what to do about them."""
    from shoal.metrics.outliers import what_to_do, where_it_sits

    found = release.outliers
    if found is None:
        why = "no loss is known record by record here" if release.loss.gcp else "nothing is lost"
        return [("WHY", f"{why}, so nothing can be said of outliers")]
    advice = what_to_do(found, "--max-suppressed {}".format)
    return [("WHY", where_it_sits(found)), ("ADVICE", advice)]
