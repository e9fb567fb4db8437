"""Risk in words: the verdict first, then the numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.risks.result import Risk

__all__ = ["in_words"]

KNOWS = {
    "prosecutor": "knows that the target is in the table",
    "journalist": "does not know whether the target is in the table",
    "marketer": "wants to find many",
}


def in_words(risk: Risk) -> str:
    """All that was found, line by line; no number of a single record."""
    return "\n".join(_lines(risk))


def percent(share: float) -> str:
    """``3.4%``; never 0% of something that is there."""
    if share and abs(share) < 0.0001:
        return "less than 0.01%"
    return f"{100 * share:.3g}%"


def _lines(risk: Risk) -> Iterator[str]:
    if risk.changed:
        yield (
            "the file is not the one that its manifest describes (SHA-256 differs): one of the two "
            "was changed; `shoal verify` says more"
        )
    yield from _verdict(risk)
    kind = "release" if risk.released else "microdata, before any release"
    yield f"{risk.name}: {kind}; {risk.records:,} records in {risk.classes:,} classes"
    if risk.apart:
        yield (
            "quasi-identifiers are published as they are: classes are of equal ones, and hide "
            "nobody; what is hidden is which sensitive value is whose, within groups"
        )
    if risk.counted == "persons":
        yield "chances are among persons, of whom each counts once in a class"
    if risk.persons_hidden:
        yield (
            "the promises count persons, who are not published: chances are among records here, "
            "and larger where somebody has several"
        )
    for attacker in risk.attackers:
        most = "" if attacker.largest is None else f"largest {percent(attacker.largest)}, "
        above = ""
        if attacker.above is not None:
            above = f", {percent(attacker.above)} of the {risk.counted} above the threshold"
        name, knows = attacker.name, KNOWS[attacker.name]
        yield f"{name} ({knows}): {most}average {percent(attacker.average)}{above}"
    yield from _people(risk)
    yield from _standing_out(risk)
    one, many = ("group", "groups") if risk.apart else ("class", "classes")
    for found in risk.disclosures:
        yield (
            f"{found.column}: the majority of a {one} tells {percent(found.told_by_majority)} of "
            f"the values, that of the table {percent(found.base_rate)}; "
            f"{found.homogeneous_classes:,} {many} have one value only "
            f"({percent(found.homogeneous_records)} of the records)"
        )
        if found.named_average is not None and found.named_highest is not None:
            yield (
                f"  who takes any record that a person can be has the person's {found.column} with "
                f"a chance of {percent(found.named_average)} on average, "
                f"{percent(found.named_highest)} at most"
            )


def _verdict(risk: Risk) -> Iterator[str]:
    limit = risk.threshold
    if limit is None:
        return
    kept = "is kept" if risk.ok else "is broken"
    yield f"threshold {limit} for the {risk.judged} {kept}"
    if limit.why:
        yield f"  {limit.why}"
    if not risk.ok:
        yield f"  k = {risk.fix} keeps it: {limit.reason()}"


def _people(risk: Risk) -> Iterator[str]:
    people = risk.population
    if people is None:
        yield "no population was given: who does not know who is in the table was not looked at"
        return
    how = {
        "counted": "counted in the population's table",
        "weights": "estimated from the weights",
        "fraction": "estimated from the sampling fraction",
    }[people.how]
    yield f"people who can be in a class: {how}; sampling fraction {people.fraction:.3g}"
    if people.unknown:
        yield (
            f"  the population's table lacks {', '.join(people.unknown)}: the risks of journalist "
            "and marketer are at least these"
        )
    found = risk.individual
    if found is not None:
        yield (
            f"individual risk (Benedetti-Franconi): largest {percent(found.largest)}, average "
            f"{percent(found.average)}; {found.expected:.3g} records are expected to be found"
        )
        if found.household_largest is not None and found.household_average is not None:
            yield (
                f"  with the household: largest {percent(found.household_largest)}, average "
                f"{percent(found.household_average)}"
            )


def _standing_out(risk: Risk) -> Iterator[str]:
    if risk.uniques is not None:
        line = f"unique in the table: {risk.uniques.sample:,} records"
        if risk.uniques.population is not None:
            line += (
                f"; in the population about {risk.uniques.population:,.0f} people "
                f"({risk.uniques.model})"
            )
        yield line
    special = risk.special
    if special is None:
        return
    yield (
        f"{special.records:,} records are unique by at most {special.size} quasi-identifiers "
        "(minimal sample uniques)"
    )
    ranked = sorted(special.columns.items(), key=lambda item: -item[1])
    if special.records:
        yield "  by column: " + ", ".join(f"{n} {percent(s)}" for n, s in ranked if s)
        top = list(special.pairs.items())[:5]
        if top:
            yield "  by pair: " + ", ".join(f"{a} with {b} {percent(s)}" for (a, b), s in top)
