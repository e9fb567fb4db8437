"""What can still be done with the release."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from shoal.metrics.outliers import outliers_read, what_to_do, where_it_sits
from shoal.report.blocks import Block, Figure, Section, Table
from shoal.report.changes import Pair
from shoal.report.charts import release as charts
from shoal.report.source import Source
from shoal.report.wording import percent

__all__ = ["useful"]

TILES = 40
"""Columns that the map of the loss shows by themselves; the others are one tile."""
ROWS = 12
"""Points of a search that are listed behind its picture."""


def useful(
    source: Source, pairs: Sequence[Pair], frontier: Figure | None
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
    answer_lines += _outliers(source)
    parts = sorted(((str(n), float(v)) for n, v in ncp.items()), key=lambda part: -part[1])
    blocks: list[Block] = []
    if any(value > 0 for _, value in parts):
        rows = tuple((name, f"{value:.3g}") for name, value in parts)
        table = Table("Loss of each column", ("column", "loss"), rows, numbers=(1,))
        if len(parts) > TILES:
            rest = parts[TILES - 1 :]
            parts = [*parts[: TILES - 1], (f"{len(rest)} others", sum(v for _, v in rest))]
        seen = "Map of the loss by column: " + ", ".join(f"{n} {v:.3g}" for n, v in parts)
        title = "Where the loss is: each column's area is its part"
        blocks.append(Figure(title, seen, partial(charts.losses, parts), table))
    if pairs and not pairs[0].distance:
        answer_lines.append("Every two columns together are spread as they were.")
    elif pairs:
        answer_lines.append(
            f"Of two columns together, {' and '.join(pairs[0].names)} moved furthest: "
            f"{percent(pairs[0].distance, 0)} of the records would have to move to undo it."
        )
        moved = tuple((*pair.names, percent(pair.distance)) for pair in pairs[:10])
        headings = ("column", "column", "records moved")
        blocks.append(Table("Two-way distributions, before against after", headings, moved, (2,)))
    if frontier is not None:
        answer_lines.append("What a weaker k would give back and a stronger one cost is drawn.")
        blocks.append(frontier)
    searched = _searched(source)
    if searched is not None:
        blocks.append(searched)
    return Section(
        "use", "Usefulness", "What can still be done with it?", tuple(answer_lines), tuple(blocks)
    )  # fmt: skip


def _outliers(source: Source) -> list[str]:
    """Which records hold the loss and what helps, where the private record tells."""
    found = outliers_read((source.record or {}).get("outliers"))
    if found is None:
        return []
    advice = what_to_do(found, 'max_suppressed = "{}"'.format)
    return [f"{text[0].upper()}{text[1:]}." for text in (where_it_sits(found), advice)]


def _searched(source: Source) -> Figure | None:
    """The loss against the time of the search, where the record has it."""
    told = (source.record or {}).get("search")
    try:
        points = [(float(second), float(loss)) for second, loss in told or ()]
    except (TypeError, ValueError):
        return None
    if len(points) < 2:
        return None
    few = points if len(points) <= ROWS else [*points[:: -(-len(points) // ROWS)], points[-1]]
    rows = tuple((f"{second:.1f}", f"{loss:.4f}") for second, loss in few)
    table = Table("Loss while the method searched", ("seconds", "loss"), rows, numbers=(0, 1))
    (first, start), (last, end) = points[0], points[-1]
    seen = f"Loss from {start:.4f} after {first:.1f} s to {end:.4f} after {last:.1f} s"
    named = [(first, start, f"{start:.3f}"), *((s, loss, "") for s, loss in points[1:-1]),
             (last, end, f"{end:.3f}")]  # fmt: skip
    draw = partial(charts.line, named, "seconds of the search")
    return Figure("Loss against the time of the search", seen, draw, table)
