"""Texts made to fit: the page of a table is small, however long its names and values are.

The full text of a value is never needed to read a report; whoever needs it has the table. What
stands in sentences and tables is shortened in the middle, so that beginning and end tell
values apart; in pictures at the end, where that is enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from shoal.report.blocks import (
    Block,
    Code,
    Fields,
    Figure,
    Listing,
    Report,
    Section,
    Table,
    Terms,
    code,
    code_parts,
)

__all__ = ["apart", "fitted", "middle", "shortened"]

CELL = 240
"""Letters of a cell, a title or a heading."""
WORD = 120
"""Letters without a space, in a sentence: of a name, which may be repeated."""
SENTENCE = 6_000
LINE, LINES = 400, 1_000
"""Letters of a line of a text for machines, and lines of it."""
DOTS = "…"


def shortened(text: str, most: int) -> str:
    """A text, or its beginning."""
    return text if len(text) <= most else text[: most - 1] + DOTS


def middle(text: str, most: int) -> str:
    """A text, or its beginning and its end."""
    if len(text) <= most:
        return text
    end = (most - 1) // 3
    return f"{text[: most - 1 - end]}{DOTS}{text[len(text) - end :]}"


def apart(texts: Sequence[str], most: int) -> list[str]:
    """Texts shortened so that different ones stay different."""
    for way in (shortened, middle):
        found = [way(text, most) for text in texts]
        if len(set(found)) == len(set(texts)):
            return found
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts), 1)}
    alone = Counter(middle(text, most) for text in numbers)
    return [
        middle(text, most)
        if alone[middle(text, most)] == 1
        else f"{shortened(text, most - 4)} {numbers[text]}"
        for text in texts
    ]


def fitted(report: Report) -> Report:
    """A report whose texts are no longer than a page can take."""
    sections = tuple(_section(section) for section in report.sections)
    title, headline = middle(report.title, CELL), _sentence(report.headline)
    return replace(report, title=title, headline=headline, sections=sections)


def _section(section: Section) -> Section:
    answer = tuple(map(_sentence, section.answer))
    return replace(section, answer=answer, blocks=tuple(map(_block, section.blocks)))


def _block(block: Block) -> Block:
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Figure):
        title, seen = middle(block.title, CELL), _sentence(block.seen)
        return replace(block, title=title, seen=seen, table=_table(block.table))
    if isinstance(block, Listing):
        return replace(block, items=tuple(map(_sentence, block.items)))
    if isinstance(block, Code):
        return replace(block, text=_lines(block.text))
    if isinstance(block, Fields):
        return Fields(tuple((name, _sentence(value)) for name, value in block.names))
    return Terms(block.items)


def _table(table: Table) -> Table:
    columns = zip(*table.rows, strict=True) if table.rows else ()
    cells = [_cells(column) for column in columns]
    return replace(table, caption=middle(table.caption, CELL), rows=tuple(zip(*cells, strict=True)))


def _cells(column: Sequence[str]) -> list[str]:
    """Cells below each other: those with words in them may be longer than names."""
    short = apart([cell if " " in cell else "" for cell in column], SENTENCE)
    names = apart(column, CELL)
    return [_sentence(long) if long else name for long, name in zip(short, names, strict=True)]


def _sentence(text: str) -> str:
    """A sentence: first its names are made shorter, then itself, and never within a command."""
    if len(text) <= WORD:
        return text
    parts = code_parts(text)
    said = [
        code(part) if number % 2 else " ".join(middle(word, WORD) for word in part.split(" "))
        for number, part in enumerate(parts)
    ]
    whole = "".join(said)
    return whole if len(whole) <= SENTENCE else middle("".join(code_parts(whole)), SENTENCE)


def _lines(text: str) -> str:
    lines = [middle(line, LINE) for line in text.splitlines()]
    if len(lines) > LINES:
        lines = [*lines[:LINES], f"{DOTS} {len(lines) - LINES:,} more lines"]
    return "\n".join(lines)
