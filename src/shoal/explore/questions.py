"""What every release of a comparison is asked: the same queries, the same divergence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.errors import PolicyError
from shoal.explore.comparison import DIVERGENCES
from shoal.metrics.divergence import kl_divergence
from shoal.metrics.queries import (
    QueryError,
    Workload,
    anatomy_divergence,
    anatomy_error,
    cube_divergence,
    draw_queries,
    query_error,
)

__all__ = ["Questions", "check_kl"]


def check_kl(kl: str) -> None:
    """Refuse a divergence that there is not."""
    if kl not in DIVERGENCES:
        raise PolicyError(f"kl: expected one of {', '.join(DIVERGENCES)}; got {kl!r}")


@dataclass(frozen=True, eq=False)
class Questions:
    """Random queries on one encoded table, and which divergence of it is measured.

    A release that publishes sensitive values apart (anatomy) is given by its
    groups, `apart`; others by their recoding.
    """

    table: EncodedTable
    workload: Workload
    kl: str
    """``cube`` or ``points``."""
    level: int
    """Level of the data cube."""

    @classmethod
    def about(
        cls, table: EncodedTable, *, kl: str, level: int, queries: int, seed: int
    ) -> Questions:
        """Questions that depend on the table and the seed only."""
        sensitive = 0 if table.sensitive else None
        workload = draw_queries(table, queries=queries, sensitive=sensitive, seed=seed)
        return cls(table, workload, kl, min(level, len(table.qi)))

    @property
    def selectivity(self) -> float:
        """Mean share of the records that the queries select."""
        return float(self.workload.truth.mean()) / self.table.n

    def error(self, recoding: Recoding, apart: Partition | None) -> QueryError:
        """Relative errors of the queries."""
        if apart is not None:
            return anatomy_error(self.table, apart, self.workload)
        return query_error(self.table, recoding, self.workload)

    def divergence(self, recoding: Recoding, apart: Partition | None) -> dict[str, Any]:
        """The divergence, by the field of a row that holds it; none without sensitive values."""
        if not self.table.sensitive:
            return {}
        return {DIVERGENCES[self.kl]: self._kl(recoding, apart)}

    def _kl(self, recoding: Recoding, apart: Partition | None) -> float:
        if apart is not None:
            return anatomy_divergence(self.table, apart, self.level if self.kl == "cube" else None)
        if self.kl == "points":
            return kl_divergence(self.table, recoding)
        return cube_divergence(self.table, recoding, self.level)
