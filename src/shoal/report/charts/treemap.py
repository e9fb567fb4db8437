"""Areas side by side in a rectangle, as square as they can be (Bruls et al. 2000)."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["tiles"]

Tile = tuple[float, float, float, float]
"""Left, top, width, height."""


def tiles(values: Sequence[float], width: float, height: float) -> list[Tile]:
    """A tile for each value, in order, with areas in proportion to the values."""
    total = sum(values)
    if total <= 0:
        return [(0.0, 0.0, 0.0, 0.0)] * len(values)
    order = sorted(range(len(values)), key=lambda number: -values[number])
    areas = [values[number] * width * height / total for number in order]
    placed: dict[int, Tile] = {}
    left, top, start = 0.0, 0.0, 0
    while start < len(areas):
        side = min(width - left, height - top)
        end = start + 1
        while end < len(areas) and _worst(areas[start : end + 1], side) <= _worst(
            areas[start:end], side
        ):
            end += 1
        row = areas[start:end]
        depth = sum(row) / side if side > 0 else 0.0
        upright = height - top <= width - left
        along = 0.0
        for number, area in zip(order[start:end], row, strict=True):
            length = area / depth if depth > 0 else 0.0
            if upright:
                placed[number] = (left, top + along, depth, length)
            else:
                placed[number] = (left + along, top, length, depth)
            along += length
        left, top = (left + depth, top) if upright else (left, top + depth)
        start = end
    return [placed[number] for number in range(len(values))]


def _worst(row: Sequence[float], side: float) -> float:
    """The longest of the tiles' shapes, if they fill one side: 1 is a square."""
    total = sum(row)
    if not total or not side:
        return float("inf")
    return max(
        max(side**2 * area / total**2, total**2 / (side**2 * area)) if area else float("inf")
        for area in row
    )
