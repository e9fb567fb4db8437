"""A released file that is verified without being read into memory: DuckDB groups it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import pyarrow as pa
import pyarrow.parquet

from shoal.encoding.spreadsheet import armed
from shoal.engines.duckdb.check import Written, table_of
from shoal.engines.duckdb.failing import told
from shoal.engines.duckdb.spill import Spill
from shoal.engines.duckdb.stored import Room
from shoal.engines.memory.size import SAFE, available, bytes_for
from shoal.errors import InputError, PolicyError
from shoal.io.batches import Batches
from shoal.io.header import UTF8
from shoal.io.read import csv_problem, file_format, header_of
from shoal.models import Model, models_of, union_closed
from shoal.policy import Policy
from shoal.quantities import bytes_of
from shoal.verification.result import Verification

__all__ = ["LargeFile", "large_file"]

Result = TypeVar("Result")

OURS = 500_000_000
LEAST = 72_000_000
"""Of the memory given what the program itself takes; and what the database gets at least."""


class LargeFile:
    """What verification asks of a table, answered from a file."""

    def __init__(self, path: Path, policy: Policy, memory: int) -> None:
        self.path, self.policy = path, policy
        self.delimiter: str | None = None
        if file_format(path) == "csv":
            header = header_of(path, UTF8)
            self.stored, self.delimiter = header.names, header.delimiter
        else:
            self.stored = list(pa.parquet.read_schema(path).names)
        names = [armed(name) for name in self.stored] if policy.csv_safe else self.stored
        self.column_names = names if len(set(names)) == len(names) else self.stored
        small = memory < 2 * OURS
        self.room = Room(Spill(None), max(LEAST, memory - OURS), 1 if small else 2)

    @cached_property
    def num_rows(self) -> int:
        """Records of the file."""
        return int(self._asked("SELECT count(*) AS n FROM {0}").column(0)[0].as_py())

    def column(self, name: str) -> pa.ChunkedArray:
        """The different values of a column, as texts."""
        place = f"c{self.column_names.index(name)}"
        found = self._asked(f"SELECT DISTINCT CAST({place} AS VARCHAR) AS v FROM {{0}}")
        return found.column("v").cast(pa.string())

    @told
    def check(self, qi: Sequence[str], models: Sequence[Model], policy: Policy) -> Verification:
        """Check every model on the classes of the file; the policy knows orders of values."""
        self.policy = policy
        records = self.num_rows
        if not records:
            raise InputError("the release is empty: it has no records to check")
        with self.room.connect() as con:
            return self._guarded(
                lambda: self._written(con).check(qi, models, records, self.room.memory)
            )

    def close(self) -> None:
        """Remove what DuckDB has put down."""
        self.room.spill.remove()

    def _written(self, con: Any) -> Written:
        return Written(con, self.path, self.column_names, self.policy, self.delimiter)

    @told
    def _asked(self, query: str) -> pa.Table:
        with self.room.connect() as con:
            relation = self._written(con).relation
            return self._guarded(lambda: table_of(con.sql(query.replace("{0}", relation))))

    def _guarded(self, work: Callable[[], Result]) -> Result:
        """What a broken file is told by: DuckDB would quote its line."""
        try:
            return work()
        except (duckdb.InvalidInputException, duckdb.ConversionException):
            if self.delimiter is None and file_format(self.path) != "csv":
                raise InputError(f"{self.path}: not a readable Parquet file") from None
            columns = len(self.column_names)
            raise csv_problem(self.path, self.delimiter or ",", columns, UTF8) from None


def large_file(path: Path, policy: Policy, memory: str | None) -> LargeFile | None:
    """The file, if it would not fit into the memory that there is; else None.

    None, too, where the check needs all records at once: persons, several readers, means of
    classes, and models that a union of two classes can break, which spellings can make.
    """
    at_once = policy.person or policy.reader or policy.treat or policy.person_as
    if at_once or not path.is_file() or file_format(path) not in {"csv", "parquet"}:
        return None
    if path.suffix.lower() in {".zst", ".zip"} or not union_closed(models_of(policy)):
        return None
    free = available()
    try:
        given = bytes_of(memory) if memory else None
    except ValueError as error:
        raise PolicyError(f"memory: {error}") from None
    budget = given if given else None if free is None else int(SAFE * free)
    if budget is None:
        return None
    source = Batches(path, ("",))
    if bytes_for(source.estimated_rows(), len(source.names)) <= budget:
        return None
    return LargeFile(path, policy, budget)
