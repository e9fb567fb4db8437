"""A release as a frame whose intervals are the frame's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shoal.recipient.expand import ENDS, expand
from shoal.release import Release

__all__ = ["converted"]


def converted(release: Release, kind: str, as_: str) -> Any:
    """The release as a "pandas" or "polars" frame in a form of `expand`, or with intervals."""
    if as_ != "interval":
        return expand(replace(release, kind=kind), as_)
    frame = expand(replace(release, kind=kind), "bounds")
    pairs = [name.removesuffix(ENDS[0]) for name in frame.columns if name.endswith(ENDS[0])]
    pairs = [name for name in pairs if name + ENDS[1] in frame.columns]
    together = _intervals if kind == "pandas" else _structs
    return together(frame, [name for name in pairs if name in release.policy.qi])


def _intervals(frame: Any, names: list[str]) -> Any:
    import pandas

    for name in names:
        low, high = (frame[name + end] for end in ENDS)
        if low.dtype == object:  # days and ranks
            days = pandas.to_datetime(low, errors="coerce")
            if not days.notna().any():
                continue  # texts of an order have no intervals in pandas
            low, high = days, pandas.to_datetime(high)
        place = frame.columns.get_loc(name + ENDS[0])
        both = pandas.arrays.IntervalArray.from_arrays(low, high, closed="both")
        frame = frame.drop(columns=[name + end for end in ENDS])
        frame.insert(place, name, both)
    return frame


def _structs(frame: Any, names: list[str]) -> Any:
    import polars

    for name in names:
        low, high = (polars.col(name + end).alias(end[1:]) for end in ENDS)
        place = frame.columns.index(name + ENDS[0])
        both = frame.select(polars.struct(low, high).alias(name)).to_series()
        frame = frame.drop([name + end for end in ENDS]).insert_column(place, both)
    return frame
