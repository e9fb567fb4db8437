"""Numbers in README and docs that come from results: ``python -m benchmarks.quote`` brings them in.

Benchmarks write `results/*.json`. Three marks in Markdown, which readers do not see, say
where a number comes from; `tests/test_quotes.py` fails where text and file differ.

``<!-- table: loss/by k -->`` ... ``<!-- end -->``
    What stands between is the table of that name, or a panel of a figure.
``<!-- figures: paper004 -->`` ... ``<!-- end -->``
    All panels of a file.
``0.126<!-- = paper004/Figure 16a Adult/lines/hilbert/5 -->``
    The number before the mark, with as many digits as it has. ``A / B`` divides, so that
    the losses of one run are compared; ``low A / B`` and ``high A / B`` take the least and
    the largest where a last part ``*``, or ``3-8`` for keys from 3 to 8, names several.
    A number with ``%`` is a hundred times as large, one with ``k`` or thousands' commas is
    written as such.

In a list of rows a part such as ``data=Adult,method=butterfly`` picks the one that fits;
``#qi=7`` one whose list qi has 7 entries. Tables between ``<!-- earlier -->`` and
``<!-- end -->`` were printed by an earlier version, as the page says, and are left alone.
Tables by `benchmarks.keeping` are asked as ``file/table/first cell/column head``, or with
``first cell & second cell``.
"""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.keeping import RESULTS, written
from benchmarks.papers.figures import written as panel_written

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(<!-- (table|figures): (.+?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
NUMBER = re.compile(
    r"(?P<text>\d[\d,]*(?:\.\d+)?(?:e[+-]\d+)?)(?P<unit>%?)<!-- = (?P<source>.+?) -->"
)


class QuoteError(Exception):
    """A mark that names no result."""


def quoted(text: str) -> str:
    """The text with everything that is marked as it is in the results."""
    text = BLOCK.sub(lambda found: found[1] + block(found[2], found[3]) + found[5], text)
    return NUMBER.sub(_number, text)


def block(kind: str, source: str) -> str:
    """A table, or all panels of a file, as Markdown."""
    if kind == "figures":
        panels = results(source)
        parts = [
            f"**{name}, {panels[name]['title']}**\n\n{panel_written(panels[name])}\n"
            for name in sorted(panels, key=_by_number)
        ]
        return "\n".join(parts)
    found = value(source)
    return (panel_written if "lines" in found else written)(found) + "\n"


def _by_number(name: str) -> tuple[Any, ...]:
    """Figures 2, 12a, 12b, ... in the order of their numbers; others behind."""
    found = re.search(r"\d+", name)
    return (int(found[0]) if found else 1000, name)


def _number(found: re.Match[str]) -> str:
    number = worked_out(found["source"]) * (100 if found["unit"] else 1)
    return f"{_like(found['text'], number)}{found['unit']}<!-- = {found['source']} -->"


def _like(text: str, number: float) -> str:
    """A number with as many digits as a text has."""
    mantissa, _, exponent = text.partition("e")
    digits = len(mantissa.partition(".")[2])
    if exponent:
        return f"{number:.{digits}e}"
    return f"{number:,.{digits}f}" if "," in text else f"{number:.{digits}f}"


def worked_out(source: str) -> float:
    """The number that a mark means."""
    how, _, rest = source.partition(" ")
    several = {"low": min, "high": max}.get(how)
    over, _, under = (rest if several else source).partition(" / ")
    numbers = [_first_number(each) for each in values(over)]
    if under:
        below = [_first_number(each) for each in values(under)]
        if len(below) == 1:
            below = below * len(numbers)
        numbers = [a / b for a, b in zip(numbers, below, strict=True)]
    if several:
        return float(several(numbers))
    if len(numbers) != 1:
        raise QuoteError(f"{source}: {len(numbers)} numbers; say low or high")
    return float(numbers[0])


def _first_number(cell: float | str) -> float:
    """The number that a cell begins with: 0.0239 of ``0.0239 = 0.715 x (23.9 s)``."""
    found = re.match(r"[\d.,]+", str(cell)) if isinstance(cell, str) else None
    if isinstance(cell, str) and not found:
        raise QuoteError(f"{cell!r} does not begin with a number")
    return float(found[0].replace(",", "")) if found else float(cell)


def values(source: str) -> list[Any]:
    """The numbers of a source whose last part may name several."""
    parent, _, last = source.rpartition("/")
    span = re.fullmatch(r"(\d+)-(\d+)", last)
    if last != "*" and not span:
        return [value(source)]
    inside = value(parent)
    if span:
        inside = {k: v for k, v in inside.items() if int(span[1]) <= float(k) <= int(span[2])}
    return list(inside.values())


def value(source: str) -> Any:
    """What a source names."""
    file, *parts = source.split("/")
    found: Any = results(file)
    for part in parts:
        try:
            found = _part(found, part)
        except (KeyError, IndexError, ValueError, TypeError):
            raise QuoteError(
                f"results/{file}.json has no {source!r}: {part!r} is missing"
            ) from None
    return found


def _part(found: Any, part: str) -> Any:
    if isinstance(found, list):
        wanted = dict(one.split("=", maxsplit=1) for one in part.split(","))
        rows = [r for r in found if all(_text(r, k) == v for k, v in wanted.items())]
        (row,) = rows
        return row
    if {"head", "rows"} <= set(found):
        names = part.split(" & ")
        (row,) = [row for row in found["rows"] if row[: len(names)] == names]
        return dict(zip(found["head"], row, strict=True))
    return found[part]


def _text(row: dict[str, Any], key: str) -> str:
    return str(len(row[key[1:]])) if key.startswith("#") else str(row[key])


@cache
def results(name: str) -> dict[str, Any]:
    """A file of results."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        raise QuoteError(f"no file {path}")
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def main() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        new = quoted(text)
        if new != text:
            page.write_text(new, "utf-8")
            print(f"{page.relative_to(ROOT)}: brought up to date")


if __name__ == "__main__":
    sys.exit(main())
