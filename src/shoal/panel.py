"""A release on one panel, for notebooks: who stood out before, who does now, what it cost.

The panel counts and shows what is published; it shows no cell of the input, since
notebooks are passed on.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from shoal.glossary import GLOSSARY
from shoal.io.write import decoded
from shoal.summary import in_words

if TYPE_CHECKING:
    from shoal.release import Release

__all__ = ["as_html"]

PREVIEW = 8
"""Rows of the release that are shown."""
ACCENT, PALE = "#0072B2", "#C9CED3"
CELL = "text-align:left;vertical-align:top;padding:2px 12px 2px 0"


def as_html(release: Release) -> str:
    """The verdict, before and after, the loss by column, the proof and the first rows."""
    verdict = escape(in_words(release).splitlines()[0])
    sides = "".join(
        f'<td style="{CELL}"><strong>{title}</strong><br>{"<br>".join(lines)}</td>'
        for title, lines in (
            ("Before", _before(release)),
            ("After", _after(release)),
            (_explained("Loss", "loss"), _loss(release)),
        )
    )
    return (
        f"<div><p><strong>{verdict}</strong></p>"
        f"<table><tbody><tr>{sides}</tr></tbody></table>{_rows(release)}</div>"
    )


def _before(release: Release) -> list[str]:
    """How many stood out in the input."""
    found = release.before
    if found is None:
        return []
    share = found.unique / max(found.records, 1)
    lines = [f"{found.unique:,} of {found.records:,} records ({share:.1%}) were alone"]
    if found.few:
        lines.append(f"{found.few:,} shared their values with fewer than {found.k} records")
    return lines


def _after(release: Release) -> list[str]:
    """What everybody is hidden among, and what was checked."""
    sizes = release.class_sizes
    least = int(sizes.min()) if len(sizes) else 0
    hidden = f"every record is in a {_explained('class', 'class')} of at least {least:,}"
    return [hidden, *(f"&#10003; {escape(str(check))}" for check in release.verification.checks)]


def _loss(release: Release) -> list[str]:
    """A bar a column: how much of its detail is gone."""
    return [
        f'<span style="display:inline-block;width:8em">{escape(name)}</span>'
        f'<span style="display:inline-block;width:6em;background:{PALE}">'
        f'<span style="display:inline-block;width:{100 * share:.0f}%;background:{ACCENT}">'
        f"&nbsp;</span></span> {share:.1%}"
        for name, share in release.loss.ncp.items()
    ]


def _explained(text: str, term: str) -> str:
    return f'<abbr title="{escape(GLOSSARY[term].meaning)}">{text}</abbr>'


def _rows(release: Release) -> str:
    """The first rows of what is published."""
    preview = decoded(release.table.slice(0, PREVIEW))
    head = "".join(f"<th>{escape(name)}</th>" for name in preview.column_names)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row.values()) + "</tr>"
        for row in preview.to_pylist()
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(value: Any) -> str:
    return "" if value is None else escape(str(value))
