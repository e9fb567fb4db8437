"""Where a series begins, and where it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import PolicyError
from shoal.io.addresses import Address, Place
from shoal.io.paths import record_path
from shoal.plan import Plan
from shoal.progress import Report
from shoal.release_parts import SERIES_IN_FILES
from shoal.series.asking import asked_of, is_series
from shoal.series.chain import check_unchanged, open_chain
from shoal.verification.following import Follows

if TYPE_CHECKING:
    from shoal.series.engine import SeriesEngine

__all__ = ["engine_for_series"]


def engine_for_series(
    plan: Plan,
    report: Report,
    target: Place | None = None,
    after: Path | None = None,
    *,
    append: bool = False,
    again: bool = False,
) -> tuple[SeriesEngine | None, Plan]:
    """The engine of a release that begins or continues a series, and its plan; else None.

    `after` is the record of the release before; `again`: the release is one that there is.
    """
    if append and after is None:
        raise PolicyError("append: expected together with after, the record to continue")
    if not is_series(plan.policy, after):
        return None, plan
    if isinstance(target, Address):
        raise PolicyError(SERIES_IN_FILES)
    chain = None if after is None else open_chain(after)
    follows = None
    if chain is not None and chain.last is not None:
        follows = Follows(chain.last.path, chain.last.sha256, again=again)
        follows.refuse_forks(None if target is None else record_path(target))
        if not again:
            check_unchanged(chain.last)
    asked = asked_of(plan, chain, append=append)
    from shoal.series.engine import SeriesEngine  # what no other release needs to load

    return SeriesEngine(asked, report, follows), asked.plan
