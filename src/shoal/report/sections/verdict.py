"""Does it hold? What is promised, and what is not."""

from __future__ import annotations

from collections.abc import Sequence

from shoal.report.blocks import Listing, Section, Table, code, with_commands
from shoal.report.source import Source
from shoal.report.wording import percent, promise
from shoal.risks.disclosure import Disclosure
from shoal.verification.result import Check

__all__ = ["verdict"]


def verdict(source: Source, told: Sequence[Disclosure]) -> tuple[str, str, Section]:
    """Does it hold? The verdict in one word, in one sentence, and as a section."""
    found = source.verification
    records = source.table.num_rows
    if found is None:
        word = "unknown"
        headline = "Nothing can be promised: there is no manifest that says what was."
        promises: tuple[str, ...] = (
            "Without a manifest or a policy nobody can say which columns an attacker may know. "
            f"On the columns that look generalised ({', '.join(source.qi) or 'none'}), the "
            "numbers below were counted.",
        )
    else:
        word = "holds" if found.ok else "in part" if found.holds else "fails"
        headline = {
            "holds": f"Every promise holds, for all {records:,} records. It was checked again "
            "for this report.",
            "in part": "Nothing is wrong, but not every promise could be checked from what is "
            "published.",
            "fails": "A promise does not hold: this release must not be published.",
        }[word]
        promises = tuple(_said(check) for check in found.checks)
    not_covered = Listing("What it does not protect against", _not_protected(source, told))
    blocks = (*((_checks(source),) if found else ()), not_covered)
    section = Section(
        "verdict", "Verdict", "What is promised, and does it hold?", (headline, *promises), blocks
    )
    return word, headline, section


def _said(check: Check) -> str:
    sentence = promise(check)
    if check.unchecked:
        return f"{sentence} Not checked: {check.unchecked}."
    if check.holds:
        counted = " This can be counted in the release." if check.model == "treatment" else ""
        return f"{sentence}{counted} This holds."
    return f"{sentence} This FAILS in {check.failing_classes:,} {check.counted}."


def _checks(source: Source) -> Table:
    found = source.verification
    assert found is not None
    rows = tuple(
        (
            *((check.reader or "",) if source.policy.reader else ()),
            check.asked,
            check.column or "all quasi-identifiers",
            "-" if check.reached is None else f"{check.reached:g}",
            "not checked" if check.unchecked else "holds" if check.holds else "FAILS",
        )
        for check in found.checks
    )
    first = ("reader",) if source.policy.reader else ()
    return Table(
        "What was asked for, and what the release reaches",
        (*first, "asked", "about", "reached", "verdict"),
        rows,
    )


def _not_protected(source: Source, told: Sequence[Disclosure]) -> tuple[str, ...]:
    """What the promises are not about, in sentences."""
    policy, lines = source.policy, []
    known = ", ".join(source.qi)
    if known:
        lines.append(
            f"It does not protect against somebody who knows more than {known}: another column "
            "of the table, or a story about the person."
        )
    if source.apart:
        lines.append(
            "The quasi-identifiers are published as they are: who is in the table is not hidden."
        )
    plain = [
        name
        for name in policy.plain
        if name in source.table.column_names and name not in policy.treat
    ]
    if blurred := [name for name in policy.treat if name in source.table.column_names]:
        lines.append(
            f"Made coarser, and not counted among what an attacker knows: {', '.join(blurred)}."
        )
    if plain:
        lines.append(
            f"Published as they were, and not counted among what an attacker knows: "
            f"{', '.join(plain)}."
        )
    checks = source.verification.checks if source.verification else ()
    about = {check.column for check in checks if check.model != "treatment"}
    lines += [
        f"No promise is about {one.column}: {percent(one.homogeneous_records)} of the records are "
        "in classes in which all have the same value, so it is known of them."
        for one in told
        if one.column not in about and one.homogeneous_classes
    ]
    lines.append(
        "It does not hide that somebody is, or is not, in the table, where the attacker knows it "
        "already."
    )
    lines.append(
        "Another release of the same people can be joined with this one: check both with "
        f"{code('shoal join-check')} before the second is published."
    )
    lines += [
        f"Notice in the manifest: {with_commands(line)}." for line in source.told("notices") or ()
    ]
    lines.append(
        "It is no opinion in law. What was tested, and against whom, is in this report; what was "
        "not tested is not covered."
    )
    return tuple(lines)
