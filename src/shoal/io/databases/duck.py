"""A DuckDB file, by DuckDB itself."""

from __future__ import annotations

import contextlib
from typing import Any

import pyarrow as pa

from shoal.errors import InputError
from shoal.io.addresses import Address
from shoal.io.databases.base import Connection, literal

__all__ = ["DuckDB"]

BATCH_ROWS = 1 << 17


class DuckDB(Connection):
    """A file that one writer at a time may open."""

    package = "duckdb"
    extra = ""

    def __init__(self, address: Address, writing: bool) -> None:
        super().__init__(address, writing)
        import duckdb

        path = address.file
        if not writing and (path is None or not path.is_file()):
            raise InputError(f"{address.shown}: no such file")
        self.connection: Any = duckdb.connect(str(path), read_only=not writing)
        self.execute("BEGIN")

    def stream(self, sql: str) -> pa.RecordBatchReader:
        relation = self.connection.sql(sql)
        read = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
        return read(BATCH_ROWS)

    def execute(self, sql: str) -> None:
        self.connection.execute(sql).fetchall()  # to its end: a result left open is in the way

    def exists(self, table: str) -> bool:
        schema = literal(self.address.schema or "main")
        return bool(
            self.value(
                "SELECT count(*) FROM information_schema.tables WHERE table_catalog = "
                f"current_database() AND table_schema = {schema} AND table_name = {literal(table)}"
            )
        )

    def ingest(self, table: str, batches: pa.RecordBatchReader, new: bool) -> None:
        self.connection.register("shoal_batches", batches)
        what = f"CREATE TABLE {self.named(table)} AS" if new else f"INSERT INTO {self.named(table)}"
        self.execute(f"{what} SELECT * FROM shoal_batches")
        self.connection.unregister("shoal_batches")

    def estimated_rows(self) -> int | None:
        if self.address.table is None:
            return None
        return int(self.value(f"SELECT count(*) FROM {self.source()}") or 0)

    def commit(self) -> None:
        self.execute("COMMIT")

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.execute("ROLLBACK")
        self.connection.close()
