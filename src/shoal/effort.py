"""What an effort is worth: how much longer a longer table may take."""

from __future__ import annotations

__all__ = ["DEFAULT", "USUAL", "longer"]

DEFAULT = "fast"
"""The effort where none is given."""
USUAL = 30_000
"""Records for which the times of efforts are said."""
GROWTH, LONGEST = 0.38, 2.6
"""Time grows with this power of the records, up to so many times the usual one."""


def longer(records: int) -> float:
    """How many times as long as `USUAL` records these may take: less than in proportion.

    Examples
    --------
    >>> longer(3_000), longer(30_000), round(longer(1_000_000), 1)
    (0.1, 1.0, 2.6)
    """
    share = records / USUAL
    return share if share <= 1 else min(LONGEST, float(share**GROWTH))
