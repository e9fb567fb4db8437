"""What can still be done with the release."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from shoal.report.blocks import Block, Figure, Section, Table
from shoal.report.changes import Pair
from shoal.report.charts import release as charts
from shoal.report.source import Source
from shoal.report.wording import percent

__all__ = ["useful"]


def useful(
    source: Source, pairs: Sequence[Pair], frontier: Table | None
) -> Section:  # fmt: skip
    """What is left of the use."""
    loss = source.told("loss") or {}
    exact = (source.record or {}).get("loss") or {}
    gcp = exact.get("gcp", loss.get("gcp"))
    if not isinstance(gcp, int | float):
        answer = ("The loss cannot be told from the release alone: there is no manifest.",)
        return Section("use", "Usefulness", "What can still be done with it?", answer)
    answer_lines = [
        f"On average a cell leaves {percent(gcp)} of its column's range open (loss {gcp:.4g}; 0 is "
        "nothing lost, 1 everything)."
    ]
    bound = (exact.get("bound") or loss.get("bound")) or {}
    gap = bound.get("gap")
    if isinstance(gap, int | float) and gap < 1:
        answer_lines.append(
            f"No release of this table can lose less than {bound['loss']:.3g}, so this one is at "
            f"most {percent(gap, 0)} from the best possible."
        )
    ncp = exact.get("ncp") or loss.get("ncp") or {}
    parts = sorted(((str(n), float(v)) for n, v in ncp.items()), key=lambda part: -part[1])
    blocks: list[Block] = []
    if any(value > 0 for _, value in parts):
        rows = tuple((name, f"{value:.3g}") for name, value in parts)
        table = Table("Loss of each column", ("column", "loss"), rows, numbers=(1,))
        seen = "Map of the loss by column: " + ", ".join(f"{n} {v:.3g}" for n, v in parts)
        title = "Where the loss is: each column's area is its part"
        blocks.append(Figure(title, seen, partial(charts.losses, parts), table))
    if pairs:
        answer_lines.append(
            f"Of two columns together, {' and '.join(pairs[0].names)} moved furthest: "
            f"{percent(pairs[0].distance, 0)} of the records would have to move to undo it."
        )
        moved = tuple((*pair.names, percent(pair.distance)) for pair in pairs[:10])
        headings = ("column", "column", "records moved")
        blocks.append(Table("Two-way distributions, before against after", headings, moved, (2,)))
    if frontier is not None:
        answer_lines.append("What a weaker or a stronger k would give or cost is in the table.")
        blocks.append(frontier)
    return Section(
        "use", "Usefulness", "What can still be done with it?", tuple(answer_lines), tuple(blocks)
    )  # fmt: skip
