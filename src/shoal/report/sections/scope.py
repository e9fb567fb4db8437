"""What is released, to whom, and in which roles."""

from __future__ import annotations

from shoal.encoding.publish import GROUP
from shoal.report.blocks import Section, Table
from shoal.report.risks import ACCESS
from shoal.report.source import Source
from shoal.report.wording import listed

__all__ = ["scope"]


CONTEXT = {
    "custodian": "custodian",
    "recipient": "recipient",
    "access": "kind of access",
    "purpose": "purpose",
}
"""Settings of the policy's table ``[report]`` that say what a release is for."""


def scope(source: Source, reasons: dict[str, str]) -> Section:
    """What is released, to whom."""
    policy = source.policy
    context = source.told("policy", "report") or {}
    asked = ACCESS.get(str(context.get("access", "")))
    answer = [
        f"The file {source.name} holds {source.table.num_rows:,} records in "
        f"{source.table.num_columns} columns.",
        f"An attacker may know {listed(source.qi)} of a person."
        if source.qi
        else "No quasi-identifier is declared.",
    ]
    if policy.sensitive:
        answer.append(f"What must not be learned about anybody: {listed(policy.sensitive)}.")
    if asked is not None:
        answer.append(
            f"It goes to readers of the kind {context['access']}, for whom nobody may be found "
            f"with a chance above {float(asked.tau):g}: every class needs {asked.smallest_class} "
            "records."
        )
    roles = [
        *((name, "quasi-identifier") for name in source.qi),
        *((name, "sensitive") for name in policy.sensitive),
        *((name, "plain") for name in policy.plain),
        *((name, "identifier, not published") for name in policy.identifier),
        *([(policy.person, "says whose record it is, not published")] if policy.person else []),
    ]
    if source.apart:
        roles.append((GROUP, "number that joins the two tables of the release"))
    if policy.person_as:
        roles.append((policy.person_as, "pseudonym of the person, new in every class"))
    known = {name for name, _ in roles}
    roles += [
        (name, "undeclared")
        for name in source.table.column_names
        if name not in known and name.removesuffix("_min").removesuffix("_max") not in known
    ]
    kinds = source.told("kinds") or {}
    headings = ("column", "role", "kind", *(("why",) if reasons else ()))
    rows = tuple(
        (name, role, str(kinds.get(name, "")), *((reasons.get(name, ""),) if reasons else ()))
        for name, role in dict(roles).items()
    )
    facts = [
        ("file", source.name),
        *([("SHA-256", source.sha256)] if source.sha256 else []),
        *((f"{label}", str(context[key])) for key, label in CONTEXT.items() if key in context),
        *_left_out(source),
    ]
    blocks = (
        Table("About the release", ("what", "value"), tuple(facts)),
        Table("Columns and their roles", headings, rows),
    )
    return Section(
        "scope", "Scope and context", "What is released, to whom?", tuple(answer), blocks
    )


def _left_out(source: Source) -> list[tuple[str, str]]:
    rest = ((source.record or {}).get("release") or {}).get("rest") or {}
    dropped = rest.get("drop") if isinstance(rest, dict) else None
    return [("left out, having no role", ", ".join(dropped))] if dropped else []
