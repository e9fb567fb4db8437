"""What is left to an attacker."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.values import distinct_values
from shoal.models import ClassHistograms, histograms, sizes_only
from shoal.report.blocks import Block, Figure, Section, Table, code
from shoal.report.charts import release as charts
from shoal.report.risks import THRESHOLDS, Risk, class_bins, risk_of
from shoal.report.sections.attackers import Told
from shoal.report.source import Source, View
from shoal.report.wording import listed, percent
from shoal.risks.disclosure import Disclosure, disclosure
from shoal.thresholds import Threshold
from shoal.verification.chances import promised_class

__all__ = ["disclosures", "original_risk", "risk"]


def risk(
    source: Source,
    views: Sequence[View],
    told: Sequence[Disclosure],
    before: Risk | None,
    further: Sequence[Told] = (),
) -> tuple[Section, dict[str, object]]:
    """What is left to an attacker."""
    if source.persons_hidden:
        return _of_hidden_persons(source, told, further)
    risks = [(view, risk_of(view.sizes)) for view in views]
    units = "records" if source.persons is None else "persons"
    weakest = min(risks, key=lambda pair: pair[1].smallest)[1]
    main = risks[0][1]
    answer = [
        f"Somebody who knows {'all quasi-identifiers' if view.reader is None else _known(view)} "
        "of a person, and that the person is in the table, picks the right "
        f"{units[:-1]} with a chance of {_chance(found.smallest)}, and {percent(found.average)} "
        "on average."
        for view, found in risks
    ]
    if before is not None:
        answer.append(
            f"Before, {before.unique:,} of {before.records:,} records "
            f"({percent(before.unique / before.records)}) could be picked out for certain."
        )
    met = [t for t in THRESHOLDS if weakest.smallest >= t.smallest_class]
    missed = [t for t in THRESHOLDS if weakest.smallest < t.smallest_class]
    if len(risks) > 1:
        answer.append(
            "What is said of thresholds is about the strongest of these, who knows everything; "
            "the table says it of each."
        )
    if met:
        answer.append("Thresholds met: " + listed([_named(t) for t in met]) + ".")
    if missed:
        answer.append("Thresholds not met: " + listed([_named(t) for t in missed]) + ".")
    blocks: list[Block] = [
        _ladder(risks, before),
        _classes(source, views[0], main, units),
        _thresholds(risks, units),
    ]
    if told:
        blocks.append(_told(told))
        worst = max(told, key=lambda one: one.gain)
        answer.append(
            f"Guessing {worst.column} by what is most frequent among those who look alike is right "
            f"for {percent(worst.told_by_majority)} of the records; without the release, guessing "
            f"the most frequent value is right for {percent(worst.base_rate)}."
        )
    for lines, more, _ in further:
        answer += lines
        blocks += more
    if source.persons is not None:
        answer.append(
            "Chances here are among persons, as in the promises: somebody with several records in "
            "a class counts once."
        )
    facts: dict[str, object] = {
        "counted": units,
        "after": [{"reader": view.reader, **found.to_dict()} for view, found in risks],
        **({"before": before.to_dict()} if before is not None else {}),
        "disclosure": [one.to_dict() for one in told],
        **{name: value for _, _, facts in further for name, value in facts.items()},
    }
    section = Section("risk", "Risk", "What is left to an attacker?", tuple(answer), tuple(blocks))
    return section, facts


def _of_hidden_persons(
    source: Source, told: Sequence[Disclosure], further: Sequence[Told]
) -> tuple[Section, dict[str, object]]:
    """What can be said where the promises count persons, and nobody here knows who is one.

    Counts of records would make people look safer than they are, so that none is shown.
    """
    least = promised_class(source.policy)
    answer = [
        "The promises count persons, and whose each record is was not published: how many "
        "persons are in a class cannot be counted here, and no threshold is judged."
    ]
    if least > 1:
        answer.append(
            f"If the promises hold, every class has at least {least:,} persons, and somebody who "
            "knows all quasi-identifiers of a person picks the right one with a chance of "
            f"{_chance(least)}. The private record checks it "
            f"({code('shoal verify --record')})."
        )
    blocks: list[Block] = [_told(told)] if told else []
    for lines, more, _ in further:
        answer += lines
        blocks += more
    facts: dict[str, object] = {
        "counted": "persons, who are not published",
        "after": [],
        **({"promised_class": least} if least > 1 else {}),
        "disclosure": [one.to_dict() for one in told],
        **{name: value for _, _, facts in further for name, value in facts.items()},
    }
    title = "What is left to an attacker?"
    return Section("risk", "Risk", title, tuple(answer), tuple(blocks)), facts


def disclosures(source: Source, view: View) -> list[Disclosure]:
    """What the classes tell of each sensitive column that is published with them."""
    ids, _ = source.classes(view.qi)
    return [
        disclosure(name, _histograms(source, name, ids))
        for name in source.policy.sensitive
        if name in source.table.column_names and not source.apart
    ]


def _histograms(source: Source, name: str, ids: NDArray[np.int64]) -> ClassHistograms:
    """Sensitive values by class; a missing value is a value."""
    distinct = distinct_values(source.table.column(name), ())
    return histograms(ids, distinct.codes + 1, len(distinct.values) + 1)


def original_risk(source: Source) -> Risk | None:
    """Classes of the original on the quasi-identifiers; for the custodian only."""
    if source.original is None:
        return None
    columns = []
    for name in source.qi:
        if name not in source.original.column_names:
            return None
        distinct = distinct_values(source.original.column(name), source.about.missing)
        columns.append((distinct.codes.astype(np.int64) + 1, len(distinct.values) + 1))
    ids, _ = class_ids(columns, source.original.num_rows)
    person = source.policy.person
    if person is None or person not in source.original.column_names:
        return risk_of(sizes_only(ids).sizes)
    whose = distinct_values(source.original.column(person), source.about.missing).codes + 1
    return risk_of(sizes_only(ids, person=whose).sizes)


def _known(view: View) -> str:
    return f"what {view.reader} can ({listed(view.qi)})"


def _named(threshold: Threshold) -> str:
    return f"{threshold}, classes of {threshold.smallest_class}"


def _chance(smallest: int) -> str:
    return f"at most 1 in {smallest:,}" if smallest > 1 else "1: for certain"


def _ladder(risks: Sequence[tuple[View, Risk]], before: Risk | None) -> Figure:
    many = len(risks) > 1
    points = []
    if before is not None:
        points += [("highest, before", before.highest), ("average, before", before.average)]
    for view, found in risks:
        who = f", {view.reader}" if many and view.reader else ", after" if before else ""
        points += [(f"highest{who}", found.highest), (f"average{who}", found.average)]
    points.sort(key=lambda point: -point[1])
    lines = [("20%", 0.2), ("9%", 0.09), ("5%", 0.05)]
    rows = tuple((name, f"{value:.4f}") for name, value in points)
    table = Table("Chances to pick the right record", ("who", "chance"), rows, numbers=(1,))
    seen = "Chances: " + "; ".join(f"{name} {percent(value)}" for name, value in points)
    return Figure(
        "Chance to pick the right record, against thresholds (dashed)", seen,
        partial(charts.ladder, points, lines), table,
    )  # fmt: skip


def _classes(source: Source, view: View, found: Risk, units: str) -> Figure:
    bins = class_bins(view.sizes)
    k = source.policy.k if not source.policy.reader else None
    k = k if k is not None and found.smallest >= k else None
    title = f"{units.capitalize()} by the size of their class"
    title += f", to {view.reader}" if view.reader else ""
    rows = tuple((f"{a}" if a == b else f"{a} to {b}", f"{n:,}") for a, b, n in bins)
    table = Table(title, ("size", units), rows, numbers=(1,))
    seen = (
        f"{units.capitalize()} by the size of their class, from {found.smallest:,} to "
        f"{found.largest:,}; {found.classes:,} classes"
    )
    return Figure(title, seen, partial(charts.class_sizes, bins, k), table)


def _thresholds(risks: Sequence[tuple[View, Risk]], units: str) -> Table:
    many = len(risks) > 1
    rows = []
    for view, found in risks:
        for threshold, below in zip(THRESHOLDS, found.below, strict=True):
            met = found.smallest >= threshold.smallest_class
            first = (view.reader or "",) if many else ()
            rows.append(
                (*first, f"{float(threshold.tau):.3g}", threshold.why,
                 f"{threshold.smallest_class}", "met" if met else "not met",
                 percent(below / found.records))
            )  # fmt: skip
    headings = ("threshold", "of", "class needed", "verdict", f"{units} above it")
    return Table(
        "Thresholds", (*(("reader",) if many else ()), *headings), tuple(rows),
        numbers=tuple(n + many for n in (2, 4)),
    )  # fmt: skip


def _told(told: Sequence[Disclosure]) -> Table:
    rows = tuple(
        (
            one.column,
            percent(one.base_rate),
            percent(one.told_by_majority),
            percent(one.homogeneous_records),
            percent(one.largest_share),
        )
        for one in told
    )
    headings = (
        "column",
        "guess without",
        "guess with",
        "records in classes all alike",
        "largest share in a class",
    )
    return Table("What the classes tell of sensitive columns", headings, rows, (1, 2, 3, 4))
