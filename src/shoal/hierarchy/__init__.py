"""Trees over the values of a column: what a value may be published as.

`Hierarchy` is the tree; `flat`, `intervals`, `prefixes`, `dates` and `groups`
build one from a column's values; `hierarchy_from_spec` reads what a policy says.
"""

from shoal.hierarchy.builders import dates, groups, intervals, prefixes
from shoal.hierarchy.spec import hierarchy_from_spec
from shoal.hierarchy.tree import Hierarchy

__all__ = ["Hierarchy", "dates", "groups", "hierarchy_from_spec", "intervals", "prefixes"]
