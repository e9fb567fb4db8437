"""A report as Markdown: for a pull request, or to read in a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shoal.report.blocks import (
    Block,
    Code,
    Fields,
    Figure,
    Listing,
    Report,
    Section,
    Table,
    code_parts,
)

__all__ = ["markdown_of"]

SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]|~$@"})
ADDRESS = re.compile(r"(https?|ftp|mailto|xmpp|www)([:.])", re.IGNORECASE)
"""What renderers make a link of without being asked."""
BEGINNING = re.compile(r"^(\d*)([#+=>.)-])")
MARKS = {"holds": "✅", "in part": "⚠️", "fails": "❌", "unknown": "⚠️", "none": ""}


def markdown_of(report: Report) -> str:
    """The whole report as text."""
    lines = [
        f"# {_plain(report.title)}",
        "",
        f"{MARKS[report.verdict]} **{_plain(report.headline)}**".strip(),
        "",
    ]
    if report.audience == "custodian":
        lines += ["*For the custodian only: it says more than the public may know.*", ""]
    for section in report.sections:
        lines += _section(section)
    return "\n".join(lines).rstrip() + "\n"


def _section(section: Section) -> Iterator[str]:
    yield from (f"## {section.title}", "", f"*{section.question}*", "")
    for sentence in section.answer:
        yield from (_line(sentence), "")
    for block in section.blocks:
        yield from _block(block)
        yield ""


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Figure):
        yield from _table(block.table)
    elif isinstance(block, Table):
        yield from _table(block)
    elif isinstance(block, Listing):
        yield from (f"**{block.title}**", "", *(f"- {_line(item)}" for item in block.items))
    elif isinstance(block, Code):
        longest = max(map(len, re.findall("`+", block.text)), default=0)
        fence = "`" * max(3, longest + 1)
        yield from (f"**{block.title}**", "", fence, block.text.rstrip(), fence)
    elif isinstance(block, Fields):
        yield from (f"- {name}: {_line(value) or '________'}" for name, value in block.names)
    else:
        yield from (f"- **{term}**: {meaning}" for term, meaning in block.items)


def _table(table: Table) -> Iterator[str]:
    yield from (f"**{_plain(table.caption)}**", "")
    yield "| " + " | ".join(map(_plain, table.headings)) + " |"
    rule = ("--:" if n in table.numbers else "---" for n in range(len(table.headings)))
    yield "|" + "|".join(rule) + "|"
    for row in table.rows:
        yield "| " + " | ".join(map(_plain, row)) + " |"


def _plain(text: str) -> str:
    """Text that stays text: no HTML, no picture, no link, no code, no line breaks."""
    kept = text.translate(SPECIAL).replace("&", "&amp;").replace("<", "&lt;")
    return " ".join(ADDRESS.sub(r"\1\\\2", kept).split())


def _line(text: str) -> str:
    """The same at the beginning of a line: neither heading, nor list, nor quotation.

    Our own words for a shell are code.
    """
    parts = code_parts(text)
    said = (_code(part) if number % 2 else _around(part) for number, part in enumerate(parts))
    return BEGINNING.sub(r"\1\\\2", "".join(said).strip())


def _around(text: str) -> str:
    """Plain text that keeps a space at its ends, where code follows or came before."""
    before, after = text[:1].isspace(), text[1:] != "" and text[-1:].isspace()
    return f"{' ' * before}{_plain(text)}{' ' * after}"


def _code(text: str) -> str:
    """A code span, whatever backticks are in it: the name of a file may have some."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    room = " " if longest else ""
    return f"{fence}{room}{' '.join(text.split())}{room}{fence}"
