"""A report as Markdown: for a pull request, or to read in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from shoal.report.blocks import Block, Code, Fields, Figure, Listing, Report, Section, Table

__all__ = ["markdown_of"]

MARKS = {"holds": "✅", "in part": "⚠️", "fails": "❌", "unknown": "⚠️", "none": ""}


def markdown_of(report: Report) -> str:
    """The whole report as text."""
    lines = [
        f"# {_plain(report.title)}",
        "",
        f"{MARKS[report.verdict]} **{report.headline}**".strip(),
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
        yield from (f"{_plain(sentence)}", "")
    for block in section.blocks:
        yield from _block(block)
        yield ""


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Figure):
        yield from _table(block.table)
    elif isinstance(block, Table):
        yield from _table(block)
    elif isinstance(block, Listing):
        yield from (f"**{block.title}**", "", *(f"- {_plain(item)}" for item in block.items))
    elif isinstance(block, Code):
        fence = "```" if "```" not in block.text else "````"
        yield from (f"**{block.title}**", "", fence, block.text.rstrip(), fence)
    elif isinstance(block, Fields):
        yield from (f"- {name}: {_plain(value) or '________'}" for name, value in block.names)
    else:
        yield from (f"- **{term}**: {meaning}" for term, meaning in block.items)


def _table(table: Table) -> Iterator[str]:
    yield from (f"**{_plain(table.caption)}**", "")
    yield "| " + " | ".join(map(_cell, table.headings)) + " |"
    rule = ("--:" if n in table.numbers else "---" for n in range(len(table.headings)))
    yield "|" + "|".join(rule) + "|"
    for row in table.rows:
        yield "| " + " | ".join(map(_cell, row)) + " |"


def _plain(text: str) -> str:
    """Text that stays text: no HTML, no line breaks."""
    return " ".join(text.replace("&", "&amp;").replace("<", "&lt;").split())


def _cell(text: str) -> str:
    special = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]|"})
    return _plain(text.translate(special))
