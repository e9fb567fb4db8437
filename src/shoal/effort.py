"""What an effort is worth: how much longer a longer table may take."""

from __future__ import annotations

__all__ = ["DEFAULT", "USUAL", "longer"]

DEFAULT = "fast"
"""The effort where none is given."""
USUAL = 30_000
"""Records for which the times of efforts are said."""
GROWTH = 0.35


def longer(records: int) -> float:
    """How many times as long as `USUAL` records these may take: less than in proportion.

    Examples
    --------
    >>> longer(3_000), longer(30_000), round(longer(1_000_000), 1)
    (0.1, 1.0, 3.4)
    """
    share = records / USUAL
    return share if share <= 1 else float(share**GROWTH)
