"""Slow twins of what a report counts: record by record, from the texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def expected_by_value(cells: Sequence[str]) -> dict[str, float]:
    """Records that value sets let expect of each value: every member an equal share."""
    found: dict[str, float] = {}
    for cell in cells:
        members = cell[1:-1].split(",") if cell.startswith("{") else [cell]
        for member in members:
            found[member] = found.get(member, 0.0) + 1 / len(members)
    return found


def expected_in(cells: Sequence[str], low: int, high: int) -> float:
    """Records that intervals of whole numbers let expect from low to high."""
    total = 0.0
    for cell in cells:
        ends = [int(end) for end in cell.strip("[]").split(",")]
        numbers = range(ends[0], ends[-1] + 1)
        total += sum(low <= number <= high for number in numbers) / len(numbers)
    return total


def sorts(cells: Sequence[str]) -> Counter[str]:
    """How many cells are stars, generalised, or as they were."""
    return Counter(
        "starred" if cell == "*" else "generalised" if cell[0] in "[{" else "unchanged"
        for cell in cells
    )
