"""For whoever receives a release: questions to a table of intervals, sets and labels.

Off-the-shelf tools cannot count over overlapping intervals (Xiao, Yi and Tao,
EDBT 2010, section 2). `query` can: it gives the expected count and the bounds
that hold whatever the hidden values are. `expand` makes a table of plain values,
and `pool` says what samples of it tell, with honest intervals.
"""

from __future__ import annotations

from shoal.recipient.answers import Answer, query
from shoal.recipient.expand import expand
from shoal.recipient.pooling import Estimate, pool

__all__ = ["Answer", "Estimate", "expand", "pool", "query"]
