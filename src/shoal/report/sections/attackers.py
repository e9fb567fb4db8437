"""Who stood out before, and what attacks get: for the custodian, who has the original."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb
from typing import Any

from shoal.attacks.inference import majority
from shoal.attacks.linking import linking, singling_out
from shoal.attacks.rates import Found
from shoal.attacks.scene import Scene, scene_of
from shoal.attacks.secret import secrets_of
from shoal.errors import ShoalError
from shoal.policy import Policy
from shoal.report.blocks import Block, Table, code, with_commands
from shoal.report.source import Source
from shoal.report.wording import listed, percent
from shoal.risks.measure import risk
from shoal.risks.special import MOST_COLUMNS

__all__ = ["attacks_tried", "standing_out"]

COLUMNS_TOGETHER = 3
"""How many columns are looked at together for what makes records stand out."""
MOST_SETS = 6_000
"""Sets of columns that are looked at: of many columns, fewer are taken together."""
MOST_RECORDS = 50_000
"""Above, attacks take longer than a report may: `shoal attack` tries them."""
SHOWN = 5

Told = tuple[list[str], list[Block], dict[str, Any]]
"""Sentences, blocks, and plain values for machines."""


def standing_out(source: Source) -> Told:
    """How many were unique before, and by which columns; shares only, no record."""
    original = source.original
    if original is None or not set(source.qi) <= set(original.column_names):
        return [], [], {}
    weights = source.policy.weight_column
    weights = weights if weights in original.column_names else None
    asked = Policy.parse(qi=list(source.qi), missing=list(source.about.missing))
    size = _together(len(source.qi))
    try:
        found = risk(original, asked, suda=size, weights=weights)
    except ShoalError:  # weights that are no numbers, for instance
        found = risk(original, asked, suda=size)
    special, uniques = found.special, found.uniques
    facts = {"special_uniques": special.to_dict() if special else None,
             "uniques": uniques.to_dict() if uniques else None}  # fmt: skip
    lines: list[str] = []
    if uniques is not None and uniques.population is not None:
        lines.append(
            f"About {uniques.population:,.0f} people of the population were alone with their "
            f"values before (estimated from the weights: {uniques.model})."
        )
    if special is None or not special.records:
        return lines, [], facts
    first = listed([name for name, _ in _largest(special.columns, 2)])
    lines.append(
        f"Before, {percent(special.records / max(1, found.records))} of the records were unique by "
        f"at most {special.size} columns; most of that is by {first}."
    )
    rows = [(name, "", percent(share)) for name, share in _largest(special.columns, SHOWN)]
    rows += [(*pair, percent(share)) for pair, share in _largest(special.pairs, SHOWN)]
    table = Table(
        "What made records stand out before: part of all SUDA scores",
        ("column", "and column", "part of the scores"), tuple(rows), numbers=(2,),
    )  # fmt: skip
    return lines, [table], facts


def _together(columns: int) -> int | None:
    """How many columns are looked at together; none where their scores are beyond numbers."""
    if columns > MOST_COLUMNS:
        return None
    sets = [comb(columns, size) for size in range(1, COLUMNS_TOGETHER + 1)]
    return max(
        size
        for size in range(1, COLUMNS_TOGETHER + 1)
        if size == 1 or sum(sets[:size]) <= MOST_SETS
    )


def attacks_tried(source: Source, policy: Policy | None) -> Told:
    """Attacks on the release by whoever knows people of the original."""
    if source.original is None:
        return [], [], {}
    command = f"shoal attack {source.name} --original FILE --control FILE"
    if source.table.num_rows > MOST_RECORDS:
        why = (
            f"of more than {MOST_RECORDS:,} records that takes longer than a report may. "
            f"{code(command)} tries them."
        )
    else:
        try:
            scene = scene_of(source.given, source.original, None, policy or Policy.parse())
            return _told(tuple(_quick(scene)), command)
        except ShoalError as error:
            why = f"{with_commands(str(error))}."
    return [f"No attack was tried for this report: {why}"], [], {}


def _quick(scene: Scene) -> Iterator[Found]:
    """Attacks that count; those that learn take minutes."""
    yield from linking(scene)
    yield from singling_out(scene)
    for secret in secrets_of(scene):
        yield majority(secret)


def _told(found: tuple[Found, ...], command: str) -> Told:
    rows = tuple(
        (one.attack, one.about, percent(one.main.share), _between(one), percent(one.baseline),
         percent(one.coverage, 0), "yes" if one.beats_guessing else "no")
        for one in found
    )  # fmt: skip
    headings = ("attack", "who knows, or wants", "right", "95% interval", "guessing", "says "
                "anything for", "beats guessing")  # fmt: skip
    better = [one for one in found if one.beats_guessing]
    lines = [
        f"{len(found)} attacks were tried, with what people of the original have; {len(better)} "
        "did better than guessing without the release.",
        "They have no control here, people who are not in the release: how much of what they got "
        "is knowledge about people in general is not told apart, and attackers who learn or hold "
        f"more were not tried. {code(command)} does both.",
    ]
    table = Table("Attacks tried", headings, rows, numbers=(2, 3, 4, 5))
    return lines, [table], {"attacks": [one.to_dict() for one in found]}


def _between(one: Found) -> str:
    low, high = one.main.interval
    return f"{percent(low, 2)} to {percent(high, 2)}"


def _largest(shares: Any, most: int) -> list[tuple[Any, float]]:
    return sorted(shares.items(), key=lambda item: -item[1])[:most]
