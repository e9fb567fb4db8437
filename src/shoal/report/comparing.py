"""A comparison of methods as a page: the picture, the numbers, what each promises."""

from __future__ import annotations

from functools import partial

from shoal.explore.comparison import BOUND, Comparison, Row
from shoal.methods import METHODS, get_method
from shoal.report.blocks import Block, Figure, Report, Section, Table
from shoal.report.charts.frontier import frontier

__all__ = ["report_of_comparison"]


def report_of_comparison(found: Comparison, name: str) -> Report:
    """What every method costs and loses, side by side; `name` is the table's."""
    made = [row for row in found.rows if row.ok and row.method != BOUND]
    best = min(made, key=_loss, default=None)
    if best is None:
        headline = "None of the methods has a release for these models."
    else:
        headline = (
            f"{best.method} loses least: {_loss(best):.4f} at {best.asked or 'its models'} "
            "(0 is nothing, 1 everything)."
        )
    return Report(
        title=f"Methods compared on {name}",
        audience="custodian",
        verdict="none",
        headline=headline,
        sections=(_losses(found, bool(made)), _promises(found)),
        facts=found.to_dict(),
    )


def _loss(row: Row) -> float:
    return float("inf") if row.gcp is None else row.gcp


def _losses(found: Comparison, drawn: bool) -> Section:
    headings = tuple(found.headings())
    rows = tuple(
        (*cells, *[""] * (len(headings) - len(cells)))
        if row.ok
        else (*cells, *["-"] * (len(headings) - len(cells)))
        for row, cells in zip(found.rows, found.cells(), strict=True)
    )
    numbers = tuple(range(1, len(headings)))
    table = Table("Every method with every k and l", headings, rows, numbers)
    reasons = tuple(
        (row.method, row.asked, str(row.reason)) for row in found.rows if row.reason is not None
    )
    blocks: list[Block] = []
    if drawn:
        seen = "Loss against the promise, one line a method; the table has the numbers"
        blocks.append(
            Figure("What a stronger promise costs", seen, partial(_picture, found), table)
        )
    blocks.append(table)
    if reasons:
        blocks.append(Table("Without a release", ("method", "asked", "why"), reasons))
    answer = (
        f"{found.summary()}.",
        "Every release was verified, measured, and thrown away. Times are of dividing the records "
        "into groups.",
    )
    return Section("numbers", "Side by side", "What does each method lose?", answer, tuple(blocks))


def _picture(found: Comparison) -> object:
    return frontier(found).properties(title="")


def _promises(found: Comparison) -> Section:
    used = dict.fromkeys(row.method.split(":")[0] for row in found.rows if row.method != BOUND)
    known = [get_method(name) for name in used if name in METHODS]
    rows = tuple((method.name, method.summary, method.promise) for method in known)
    table = Table("The methods", ("method", "what it does", "what it promises"), rows)
    answer = ("Whatever the method, a release exists only if every model was verified.",)
    return Section("methods", "Methods", "What does each promise?", answer, (table,))
