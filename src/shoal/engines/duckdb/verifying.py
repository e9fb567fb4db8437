"""A released file, or folder of parts, verified without being read: DuckDB groups it."""

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
from shoal.engines.duckdb.stored import Room
from shoal.engines.memory.size import SAFE, available, bytes_for
from shoal.engines.ranges.spill import Spill
from shoal.errors import InputError, PolicyError
from shoal.io.batches import Batches
from shoal.io.header import UTF8
from shoal.io.read import csv_problem, file_format, header_of
from shoal.io.several import named_files
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
    """What verification asks of a table, answered from a file, or from parts of one schema."""

    def __init__(self, files: Sequence[Path], policy: Policy, memory: int) -> None:
        self.files, self.policy = list(files), policy
        self.delimiter: str | None = None
        if file_format(files[0]) == "csv":
            header = header_of(files[0], UTF8)
            self.stored, self.delimiter = header.names, header.delimiter
        else:
            self.stored = _one_schema(files).names
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
        return Written(con, self.files, self.column_names, self.policy, self.delimiter)

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
            path, columns = self.files[0], len(self.column_names)
            if self.delimiter is None and file_format(path) != "csv":
                named = f"{path}:" if len(self.files) == 1 else f"{path.parent}: a part is"
                raise InputError(f"{named} not a readable Parquet file") from None
            raise csv_problem(path, self.delimiter or ",", columns, UTF8) from None


def large_file(path: Path, policy: Policy, memory: str | None) -> LargeFile | None:
    """The file, if it would not fit into the memory that there is; else None.

    None, too, where the check needs all records at once: persons, several readers, means of
    classes, and models that a union of two classes can break, which spellings can make.
    """
    at_once = policy.person or policy.reader or policy.treat or policy.person_as
    files = [path] if path.is_file() else _parts(path)
    if at_once or not files or file_format(files[0]) not in {"csv", "parquet"}:
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
    return LargeFile(files, policy, budget)


def _parts(folder: Path) -> list[Path]:
    """The Parquet files of a folder, if it has no other tables and no folders of hive."""
    files = named_files(folder) if folder.is_dir() else []
    parts = all(file_format(file) == "parquet" and file.parent == folder for file in files)
    return files if parts else []


def _one_schema(files: Sequence[Path]) -> pa.Schema:
    """The schema of all files, whatever numbers their texts are stored by."""
    first: pa.Schema | None = None
    for file in files:
        own = pa.schema(
            [(field.name, _cells(field.type)) for field in pa.parquet.read_schema(file)]
        )
        first = own if first is None else first
        if own != first:
            raise InputError(f"{file}: has other columns, or of other types, than {files[0]}")
    assert first is not None
    return first


def _cells(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
