"""JSON lines that would end the process in Arrow, refused before it sees them."""

from __future__ import annotations

import re
from pathlib import Path

from shoal.errors import InputError
from shoal.io.header import open_binary

__all__ = ["reject_deep_json"]

DEEPEST = 64
"""Brackets within brackets that JSON lines may have; a cell that has any is refused later."""
NO_RECORD = re.compile(rb"(?:^(?:\xef\xbb\xbf)?|\})\s*null")
"""Null in the place of a record; a value has a colon, a comma or a bracket before it."""
JSON_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"')
BRACKET = re.compile(rb"[\[\]{}]")


def reject_deep_json(path: Path) -> None:
    """Refuse what would end the process in Arrow: too deep a nesting, and null for a record."""
    depth = 0
    with open_binary(path) as file:
        for number, line in enumerate(file, start=1):
            # Without texts only where it looks like one: most lines are looked at once.
            suspicious = depth == 0 and NO_RECORD.search(line)
            if suspicious and NO_RECORD.search(JSON_TEXT.sub(b"", line)):
                raise InputError(f"{path}, line {number}: expected a JSON object a line")
            if depth == 0 and line.count(b"{") + line.count(b"[") < DEEPEST:
                depth = max(0, line.count(b"{") - line.count(b"}")) and _depth(line, 0)[1]
                continue
            most, depth = _depth(line, depth)
            if most > DEEPEST:
                raise InputError(
                    f"{path}, line {number}: nested more than {DEEPEST} deep; "
                    "expected one flat object a line"
                )


def _depth(line: bytes, depth: int) -> tuple[int, int]:
    """The deepest nesting within a line of JSON that begins at a depth, and that at its end."""
    most = depth
    for bracket in BRACKET.findall(JSON_TEXT.sub(b"", line)):
        depth = depth + 1 if bracket in b"[{" else max(0, depth - 1)
        most = max(most, depth)
    return most, depth
