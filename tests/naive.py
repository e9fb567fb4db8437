"""Slow twins of every fast function, readable beside the papers.

The twins live in one file a subject; here they are all under one name: ``naive.tp``.
"""

import naive_attributes as attributes  # noqa: F401
import naive_bsgi as bsgi  # noqa: F401
import naive_butterfly as butterfly  # noqa: F401
import naive_cover as cover  # noqa: F401
import naive_curve as curve  # noqa: F401
import naive_divergence as divergence  # noqa: F401
import naive_diverse as diverse  # noqa: F401
import naive_idistance as idistance  # noqa: F401
import naive_incognito as incognito  # noqa: F401
import naive_joining as joining  # noqa: F401
import naive_models as models  # noqa: F401
import naive_mondrian as mondrian  # noqa: F401
import naive_optimal as optimal  # noqa: F401
import naive_queries as queries  # noqa: F401
import naive_query as query  # noqa: F401
import naive_tds as tds  # noqa: F401
import naive_topdown as topdown  # noqa: F401
import naive_tp as tp  # noqa: F401
