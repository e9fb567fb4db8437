"""Slow twins of every fast function, readable beside the papers.

The twins live in one file a subject; this one gathers them under one name.
"""

from naive_curve import *  # noqa: F403
from naive_diverse import *  # noqa: F403
from naive_idistance import *  # noqa: F403
from naive_models import *  # noqa: F403
from naive_mondrian import *  # noqa: F403
from naive_queries import *  # noqa: F403
from naive_query import *  # noqa: F403
from naive_topdown import *  # noqa: F403
