"""Which engine does the work, where nobody says: memory, while the table fits into it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.engines import get_engine
from shoal.engines.memory.size import SAFE, available, bytes_for, in_words
from shoal.engines.spark.frames import is_frame
from shoal.errors import InputError
from shoal.io.addresses import Address, Place
from shoal.io.batches import Batches
from shoal.io.folders import files_of
from shoal.io.read import file_format
from shoal.plan import Plan
from shoal.quantities import bytes_of

__all__ = ["chosen"]

SHRINKS = 1_000
"""No file is so much smaller than what its table takes in memory: tiny ones are not looked at."""


def chosen(plan: Plan, data: Any, target: Place | None) -> tuple[str, str | None]:
    """The engine of a run, and one line that says why it is not the usual one; else None."""
    policy = plan.policy
    if policy.engine != "auto":
        return policy.engine, None
    if is_frame(data):
        return "spark", None
    free = available()
    budget = bytes_of(policy.memory) if policy.memory else None if free is None else SAFE * free
    if budget is None or not isinstance(data, str | Path | Address):  # it is in memory already
        return "memory", None
    try:
        if not isinstance(data, Address) and _fits_surely(data, budget):
            return "memory", None
        source = Batches(data, policy.missing, policy.encoding, policy.delimiter)
        records, columns = source.estimated_rows(), len(source.names)
    except (InputError, OSError, UnicodeError):  # whoever reads it says what is wrong
        return "memory", None
    needed = bytes_for(records, columns)
    if needed <= budget:
        return "memory", None
    fits = f"about {records:,} records need {in_words(needed)}, more than {in_words(int(budget))}"
    if get_engine("duckdb").refusal(plan, target) is not None:
        return "memory", None  # which warns of its own memory
    return "duckdb", f"engine duckdb: {fits}; records lie in files meanwhile"


def _fits_surely(data: str | Path, budget: float) -> bool:
    """Whether files are small, or can be read in no other way than into memory."""
    files = files_of(data)
    if not all(file.is_file() for file in files):  # a pipe can be read once only
        return True
    small = bytes_for(0, 0) + SHRINKS * sum(file.stat().st_size for file in files) <= budget
    return small or bool({file_format(file) for file in files} - {"csv", "parquet"})
