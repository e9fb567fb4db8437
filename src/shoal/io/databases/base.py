"""What is done with a database, whichever it is; a subclass for each kind fills it in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from shoal.io.addresses import Address

__all__ = ["Connection", "literal", "quoted"]


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL takes it."""
    return "'" + text.replace("'", "''") + "'"


class Connection(ABC):
    """One transaction: what it changes is there when it was committed, or never."""

    package: str
    """What must be installed."""
    extra: str
    """By which extra of ours."""
    longest_name: int | None = None
    """Bytes that a name may have: what is longer is cut without a word."""

    def __init__(self, address: Address, writing: bool) -> None:
        self.address = address
        self.writing = writing

    @abstractmethod
    def stream(self, sql: str) -> pa.RecordBatchReader:
        """What a query gives, batch by batch."""

    @abstractmethod
    def execute(self, sql: str) -> None:
        """Do something that gives nothing."""

    @abstractmethod
    def exists(self, table: str) -> bool:
        """Whether something of that name is where the address says."""

    @abstractmethod
    def ingest(self, table: str, batches: pa.RecordBatchReader, new: bool) -> None:
        """Put records into a table, which is made for them or there already."""

    @abstractmethod
    def commit(self) -> None: ...

    @abstractmethod
    def close(self) -> None:
        """Give it up; what was not committed never happened."""

    def named(self, table: str) -> str:
        """A table where the address says, for SQL."""
        schema = self.address.schema
        return f"{quoted(schema)}.{quoted(table)}" if schema else quoted(table)

    def source(self) -> str:
        """The table or query of the address, for SQL."""
        if self.address.table is not None:
            return self.named(self.address.table)
        query = (self.address.query or "").strip().rstrip(";")
        return f"({query}\n) AS shoal_source"  # a line of its own: the query may end in a comment

    def select(self, columns: Sequence[str] | None = None) -> str:
        """All records, of all or some columns."""
        names = "*" if columns is None else ", ".join(map(quoted, columns))
        return f"SELECT {names} FROM {self.source()}"

    def schema_of_source(self) -> pa.Schema:
        """Names and types, without reading records."""
        with self.stream(f"{self.select()} LIMIT 0") as reader:
            return reader.schema

    def read(self, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
        """The records of the address."""
        return self.stream(self.select(columns))

    def value(self, sql: str) -> Any:
        """The first cell that a query gives; None where it gives none."""
        with self.stream(sql) as reader:
            cells = reader.read_all().column(0)
        return cells[0].as_py() if len(cells) else None

    def estimated_rows(self) -> int | None:
        """About how many records a table has, where that is known without reading it."""
        return None

    @classmethod
    def storable(cls, kind: pa.DataType) -> pa.DataType:
        """The type by which a released column is kept: one that comes back as it was."""
        types = pa.types
        if types.is_dictionary(kind):
            return cls.storable(kind.value_type)
        if types.is_signed_integer(kind) or types.is_boolean(kind) or types.is_date32(kind):
            return kind
        if types.is_unsigned_integer(kind) and kind.bit_width < 64:
            return pa.int64()
        if types.is_float32(kind) or types.is_float64(kind):
            return kind
        if types.is_timestamp(kind) and kind.tz is None:
            return pa.timestamp("us") if kind.unit != "ns" else pa.string()
        return pa.string()
