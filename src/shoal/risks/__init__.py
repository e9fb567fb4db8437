"""How likely somebody in a table is picked out, before a release and after.

The room is `risks`, because `shoal.risk` is the function.
"""

from __future__ import annotations

from shoal.risks.measure import risk
from shoal.risks.result import Risk

__all__ = ["Risk", "risk"]
