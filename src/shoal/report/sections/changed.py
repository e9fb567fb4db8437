"""What was done to each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from shoal.report.blocks import Figure, Section, Table
from shoal.report.changes import SORTS, Change
from shoal.report.charts import release as charts
from shoal.report.wording import listed, percent, treated_words

__all__ = ["changed"]


IN_DETAIL = 24
"""So many columns have pictures of their own, those most changed: a page stays below 1 MB."""
SORT_NAMES = {"unchanged": "unchanged", "generalised": "generalised",
              "labels": "values or groups", "starred": "starred", "missing": "missing"}  # fmt: skip


def changed(changes: Sequence[Change], before: bool, treat: Mapping[str, Sequence[str]]) -> Section:
    """What happened to each column."""
    total = sum(change.records for change in changes) or 1
    same = sum(change.unchanged for change in changes) / total
    answer = [f"{percent(same, 0)} of the quasi-identifiers' cells are published as they were."]
    untouched = [change.name for change in changes if change.unchanged == change.records]
    if untouched:
        answer.append(f"Nothing was changed in {listed(untouched)}.")
    widest = max((c for c in changes if c.typical_share), key=_share, default=None)
    if widest is not None and widest.typical_share:
        answer.append(
            f"The widest intervals are in {widest.name}: half of them span no more than "
            f"{percent(widest.typical_share, 0)} of the column."
        )
    answer += [f"{name}: {listed(treated_words(texts))}." for name, texts in treat.items()]
    shown = _most_changed(changes)
    if len(shown) < len(changes):
        answer.append(
            f"Pictures are of the {len(shown)} columns that were changed most; all "
            f"{len(changes)} are in the table."
        )
    rows = tuple(_change_row(change) for change in changes)
    headings = ("column", "how", "unchanged", "generalised", "starred", "typical width")
    table = Table("What was done to each column", headings, rows, numbers=(2, 3, 4, 5))
    shares = [
        (
            change.name,
            [
                (SORT_NAMES[sort], getattr(change, sort) / (change.records or 1))
                for sort in SORTS
                if getattr(change, sort)
            ],
        )
        for change in shown
    ]
    picture = Figure(
        "How much of each column is as it was",
        "Bars by column: " + "; ".join(f"{c.name} {_unchanged(c)} unchanged" for c in shown),
        partial(charts.cells, shares),
        table,
    )
    figures = tuple(_distribution(change, before) for change in shown if change.distribution)
    return Section(
        "changes", "What was changed", "What was done to each column?", tuple(answer),
        (picture, *figures),
    )  # fmt: skip


def _most_changed(changes: Sequence[Change]) -> list[Change]:
    """Those with fewest cells as they were, and the widest intervals; in the order of the table."""
    order = sorted(changes, key=lambda c: (c.unchanged / (c.records or 1), -_share(c)))
    chosen = {change.name for change in order[:IN_DETAIL]}
    return [change for change in changes if change.name in chosen]


def _share(change: Change) -> float:
    return change.typical_share or 0.0


def _unchanged(change: Change) -> str:
    return percent(change.unchanged / (change.records or 1), 0)


def _change_row(change: Change) -> tuple[str, ...]:
    shares = [percent(getattr(change, sort) / (change.records or 1), 1) for sort in ("unchanged",)]
    general = percent((change.generalised + change.labels) / (change.records or 1), 1)
    starred = percent(change.starred / (change.records or 1), 1)
    width = "-"
    if change.typical is not None:
        unit = {"numeric": "", "date": " days"}.get(change.kind, " values")
        width = f"{change.typical:g}{unit}"
    return (change.name, change.technique, *shares, general, starred, width)


def _distribution(change: Change, before: bool) -> Figure:
    bars = [(bar.label, bar.after, bar.before) for bar in change.distribution]
    headings = ("value", "records expected", *(("records before",) if before else ()))
    rows = tuple(
        (label, f"{after:,.0f}", *((_count(was),) if before else ())) for label, after, was in bars
    )
    table = Table(f"Distribution of {change.name}", headings, rows, numbers=(1, 2))
    largest = max(bars, key=lambda bar: bar[1])
    seen = f"Distribution of {change.name}: most frequent is {largest[0]}"
    title = f"{change.name}: " + ("after, and before (orange)" if before else "as released")
    return Figure(title, seen, partial(charts.distribution, bars), table)


def _count(records: int | None) -> str:
    return "too few to show" if records is None else f"{records:,}"
