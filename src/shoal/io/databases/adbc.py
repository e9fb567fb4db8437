"""PostgreSQL and SQLite, by the drivers of Apache Arrow (ADBC)."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import pyarrow as pa

from shoal.errors import InputError
from shoal.io.addresses import Address
from shoal.io.databases.base import Connection, literal, quoted

__all__ = ["PostgreSQL", "SQLite"]

BATCH_ROWS = 1 << 16


class _Driver(Connection):
    """A connection of ADBC, which begins a transaction by itself."""

    options: ClassVar[dict[str, Any]] = {}
    """Of every statement."""

    def __init__(self, address: Address, writing: bool) -> None:
        super().__init__(address, writing)
        self.cursors: list[Any] = []
        """Those that were read from: a stream ends with its cursor."""
        self.connection = self._connected(import_module(f"{self.package.replace('-', '_')}.dbapi"))

    def _connected(self, driver: Any) -> Any:
        raise NotImplementedError

    def stream(self, sql: str) -> pa.RecordBatchReader:
        return self._streamed(sql, self.options)

    def _streamed(self, sql: str, options: dict[str, Any]) -> pa.RecordBatchReader:
        cursor = self.connection.cursor()
        self.cursors.append(cursor)
        if options:
            cursor.adbc_statement.set_options(**options)
        cursor.execute(sql)
        return cursor.fetch_record_batch()

    def execute(self, sql: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(sql)

    def ingest(self, table: str, batches: pa.RecordBatchReader, new: bool) -> None:
        with self.connection.cursor() as cursor:
            cursor.adbc_ingest(
                table, batches, mode="create" if new else "append",
                db_schema_name=self.address.schema,
            )  # fmt: skip

    def commit(self) -> None:
        self.connection.commit()

    def close(self) -> None:
        for cursor in self.cursors:
            with contextlib.suppress(Exception):
                cursor.close()
        with contextlib.suppress(Exception):  # the server may be gone: then nothing is left to do
            self.connection.rollback()
        with contextlib.suppress(Exception):
            self.connection.close()


class PostgreSQL(_Driver):
    """A server; what it reads is of one moment."""

    package = "adbc-driver-postgresql"
    extra = "postgres"
    longest_name = 63

    def _connected(self, driver: Any) -> Any:
        connection = driver.connect(self.address.reach)
        with connection.cursor() as cursor:
            how = "" if self.writing else ", READ ONLY"
            level = "READ COMMITTED" if self.writing else "REPEATABLE READ"
            cursor.execute(f"SET TRANSACTION ISOLATION LEVEL {level}{how}")
            if self.writing:  # two writers wait for each other
                cursor.execute(f"SELECT pg_advisory_xact_lock(hashtext({literal('shoal')}))")
        return connection

    def exists(self, table: str) -> bool:
        return bool(self.value(f"SELECT to_regclass({literal(self.named(table))}) IS NOT NULL"))

    def read(self, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
        """Types that Arrow has not, as numeric and uuid, come as the server writes them."""
        schema = self.schema_of_source()
        names = schema.names if columns is None else columns
        cells = [
            quoted(name)
            if _usual(schema.field(name))
            else f"{quoted(name)}::text AS {quoted(name)}"
            for name in names
            if schema.get_field_index(name) >= 0
        ]
        if len(cells) < len(names):  # twice the same name: whoever looks at it says so
            return self.stream(self.select(columns))
        return self.stream(f"SELECT {', '.join(cells)} FROM {self.source()}")

    def schema_of_source(self) -> pa.Schema:
        with self.connection.cursor() as cursor:
            return cursor.adbc_execute_schema(self.select())

    def estimated_rows(self) -> int | None:
        if self.address.table is None:
            return None
        where = literal(self.named(self.address.table))
        known = self.value(
            f"SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass({where})"
        )
        return None if known is None or known < 0 else int(known)


def _usual(field: pa.Field) -> bool:
    """Whether a column comes as it is meant."""
    kind, types = field.type, pa.types
    opaque = isinstance(kind, pa.BaseExtensionType) or (
        field.metadata is not None and b"ARROW:extension:name" in field.metadata
    )
    return not opaque and not types.is_interval(kind) and not types.is_duration(kind)


class SQLite(_Driver):
    """A file."""

    package = "adbc-driver-sqlite"
    extra = "sqlite"
    options: ClassVar[dict[str, Any]] = {"adbc.sqlite.query.batch_rows": BATCH_ROWS}

    def _connected(self, driver: Any) -> Any:
        path = Path(self.address.reach)
        if not self.writing and not path.is_file():
            raise InputError(f"{self.address.shown}: no such file")
        mode = "rwc" if self.writing else "ro"
        return driver.connect(f"file:{quote(str(path.absolute()))}?mode={mode}")

    def exists(self, table: str) -> bool:
        return bool(self.value(f"SELECT count(*) FROM sqlite_master WHERE name = {literal(table)}"))

    def stream_all_typed(self, sql: str, rows: int) -> pa.RecordBatchReader:
        """As one batch, whose types are told by all records: SQLite's columns may mix them."""
        return self._streamed(sql, {"adbc.sqlite.query.batch_rows": max(1, rows)})

    def estimated_rows(self) -> int | None:
        if self.address.table is None:
            return None
        return int(self.value(f"SELECT count(*) FROM {self.source()}") or 0)

    @classmethod
    def storable(cls, kind: pa.DataType) -> pa.DataType:
        """Whole numbers, floats and texts are all that SQLite has."""
        kept = super().storable(kind)
        if pa.types.is_boolean(kept) or pa.types.is_date32(kept) or pa.types.is_timestamp(kept):
            return pa.string()
        if pa.types.is_signed_integer(kept):
            return pa.int64()
        return pa.float64() if pa.types.is_floating(kept) else kept
