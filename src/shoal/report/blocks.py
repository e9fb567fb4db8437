"""What a report is made of: sections of sentences, tables, pictures and commands.

Content is put together once; pages, Markdown and JSON are ways to write it down.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Block", "Code", "Fields", "Figure", "Listing", "Report", "Section", "Table", "Terms",
           "code", "code_parts", "with_commands"]  # fmt: skip

BEGIN, END = "\x02", "\x03"
"""Around our own words for a shell: a backtick may as well be part of a column's name."""
MARKED = re.compile(f"{BEGIN}([^{BEGIN}{END}]*){END}")
COMMAND = re.compile("`((?:shoal|pip|--)[^`]*)`")


def code(text: str) -> str:
    """Words for a shell, as a part of a sentence."""
    return f"{BEGIN}{text}{END}"


def with_commands(text: str) -> str:
    """A message of our own, whose commands stand in backticks, as a part of a sentence."""
    return COMMAND.sub(lambda found: code(found[1]), text)


def code_parts(text: str) -> list[str]:
    """A sentence in parts: every second is for a shell."""
    return MARKED.split(text)


@dataclass(frozen=True)
class Table:
    """Rows of texts under headings; numbers are aligned to the right."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    """Places of the columns that hold numbers."""


@dataclass(frozen=True)
class Figure:
    """A picture, what is seen in it, and the numbers behind it."""

    title: str
    seen: str
    """One sentence: its text alternative."""
    draw: Callable[[], Any]
    table: Table


@dataclass(frozen=True)
class Listing:
    """Sentences, one a point."""

    title: str
    items: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """A command, or a text for machines."""

    title: str
    text: str


@dataclass(frozen=True)
class Fields:
    """Places to write on, when printed."""

    names: tuple[tuple[str, str], ...]
    """What goes there, and what is known of it already."""


@dataclass(frozen=True)
class Terms:
    """Words and what they mean."""

    items: tuple[tuple[str, str], ...]


Block = Table | Figure | Listing | Code | Fields | Terms


@dataclass(frozen=True)
class Section:
    """One question, its answer in plain words, and then the numbers."""

    key: str
    title: str
    question: str
    answer: tuple[str, ...]
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True)
class Report:
    """A finished report; `shoal.report.write` turns it into a file."""

    title: str
    audience: str
    """``public`` or ``custodian``."""
    verdict: str
    """``holds``, ``fails``, ``in part`` or ``unknown``; ``none`` where nothing is promised."""
    headline: str
    """The verdict in one sentence."""
    sections: tuple[Section, ...]
    facts: dict[str, Any] = field(default_factory=dict)
    """The numbers, for machines."""
    kept: Mapping[Path, str] = field(default_factory=dict, compare=False, repr=False)
    """Files that it must not be written over, and what each is."""

    @property
    def ok(self) -> bool:
        """Whether everything that is promised was checked, and holds."""
        return self.verdict in {"holds", "none"}

    def to_html(self) -> str:
        """The report as one page that needs nothing else."""
        from shoal.report.page import page_of

        return page_of(self)

    def to_markdown(self) -> str:
        """The report as Markdown, for a pull request."""
        from shoal.report.markdown import markdown_of

        return markdown_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        told = {"title": self.title, "audience": self.audience, "verdict": self.verdict,
                "headline": self.headline}  # fmt: skip
        return {**told, **self.facts}

    def _repr_html_(self) -> str:
        """For notebooks: the page in a frame of its own, so that the styles stay apart."""
        from html import escape

        return (
            f'<iframe title="{escape(self.title)}" srcdoc="{escape(self.to_html())}" '
            'style="width:100%;height:700px;border:1px solid #ccc"></iframe>'
        )
