"""Several releases of one table, joined as an adversary would join them.

Each may be k-anonymous on its own and yet, joined with another, single people
out (Pei, Tao, Li, Xiao, ICDE 2009, Example 1). docs/readers.md defines exactly
what is counted.
"""

from __future__ import annotations

from shoal.joining.check import join_check
from shoal.joining.result import JoinCheck, JoinedValues, JoinedView

__all__ = ["JoinCheck", "JoinedValues", "JoinedView", "join_check"]
