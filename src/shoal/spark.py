"""Releases of Spark's data frames, made where their records are.

Records never pass through the driver, and the release of a seed is the same as by every other
engine. Executors need the package; what is refused docs/scale.md tells.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from shoal.engines.spark.stored import SparkRelease
from shoal.pipeline import anonymize as by_any_engine
from shoal.policy import Policy
from shoal.progress import Progress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["SparkRelease", "anonymize"]


def anonymize(
    df: DataFrame | str | Path, policy: Policy | str | Path | None = None, *,
    out: str | Path | None = None, progress: Progress | bool | None = None, **settings: Any,
) -> SparkRelease:  # fmt: skip
    """Turn the microdata of a data frame into a release that satisfies its models, or raise.

    Parameters
    ----------
    df
        A data frame of Spark, whatever its source; or files that driver and executors see.
    policy
        A `Policy`, the name of a policy file, or nothing if `settings` say it all.
    out
        Where the release is written, with its manifest and record, when it is verified: a
        folder of Parquet parts, or one file if the name ends in ``.parquet`` or ``.csv``. All
        machines must see it. Without `out`, name such a folder with ``temp``.
    progress
        As of `shoal.anonymize`.
    **settings
        Settings of `Policy` by name; they override the policy's own.

    Returns
    -------
    SparkRelease
        Verified: its ``data`` is a data frame, ``verify()`` checks it anew by SQL, and
        ``write(path)`` puts it elsewhere. ``close()`` removes what the run left in its folder.
    """
    release = by_any_engine(
        df, policy, out=out, progress=progress, **{**settings, "engine": "spark"}
    )
    return cast(SparkRelease, release)
