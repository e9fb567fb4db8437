"""The records of an address, as they come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from shoal.errors import InputError, twice
from shoal.io.addresses import Address
from shoal.io.databases.base import Connection
from shoal.io.databases.connecting import connected

__all__ = ["column_names_of", "estimated_rows", "read_batches", "read_database", "records_of"]


def read_database(address: Address) -> pa.Table:
    """All records of an address."""
    with connected(address) as connection:
        return _not_empty(records_of(connection), address)


def records_of(connection: Connection) -> pa.Table:
    """All records of the address that a connection is for."""
    try:
        with connection.read() as reader:
            return reader.read_all()
    except Exception:
        mixed = getattr(connection, "stream_all_typed", None)
        if mixed is None:
            raise
    # SQLite keeps values of any type in any column, and its driver tells a column's type by the
    # first records: where a later one is of another type, let it look at all of them.
    count = connection.value(f"SELECT count(*) FROM {connection.source()}")
    with mixed(connection.select(), int(count or 0)) as reader:
        return reader.read_all()


def read_batches(address: Address, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The records, a batch at a time; some of their columns."""
    with connected(address) as connection, connection.read(columns) as reader:
        yield from reader


def column_names_of(address: Address) -> list[str]:
    """Names of the columns."""
    with connected(address) as connection:
        names = list(connection.schema_of_source().names)
    if problem := twice(names):
        raise InputError(f"{address}: {problem}")
    return names


def estimated_rows(address: Address) -> int | None:
    """About how many records there are; None where only reading them would tell."""
    with connected(address) as connection:
        return connection.estimated_rows()


def _not_empty(table: pa.Table, address: Address) -> pa.Table:
    if table.num_columns == 0:
        raise InputError(f"{address}: has no columns")
    if problem := twice(table.column_names):
        raise InputError(f"{address}: {problem}")
    return table
