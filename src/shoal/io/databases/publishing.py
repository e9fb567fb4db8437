"""Released tables in a database, with their manifest beside them: all of it, or nothing.

Everything happens in one transaction. Records go into a table under another name; when it holds
exactly what was verified, the earlier release is dropped, the new one takes its name, and the
manifest is put into the table `shoal_manifest`. A table that is no release of ours is never
replaced.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from secrets import token_hex
from typing import Any, NamedTuple

import pyarrow as pa

from shoal.errors import InputError, OutputError, VerificationError
from shoal.io.addresses import Address
from shoal.io.databases.base import Connection, literal, quoted
from shoal.io.databases.connecting import connected, kind_of
from shoal.io.databases.reading import records_of
from shoal.io.databases.rows import RowsHash, hash_of_rows

__all__ = [
    "MANIFESTS", "Published", "UnsureError", "hash_as_stored", "publish", "read_manifest",
    "read_published", "read_stored", "second_table",
]  # fmt: skip

MANIFESTS = "shoal_manifest"
"""The table of manifests: one row a release, by its name."""


class UnsureError(OutputError):
    """Nobody can say whether the release was committed."""


class Published(NamedTuple):
    """A release as a database has it."""

    table: pa.Table
    sha256: str
    manifest: dict[str, Any]
    second: pa.Table | None = None
    """Sensitive values, where they are published apart."""
    second_sha256: str | None = None


def second_table(name: str) -> str:
    """The table of sensitive values of a release in two tables."""
    return f"{name}_sensitive"


def publish(
    address: Address,
    tables: Mapping[str, pa.RecordBatchReader],
    manifest: Callable[[Mapping[str, str]], Mapping[str, Any]],
) -> None:
    """Put tables in their places; the last word is the caller's.

    Parameters
    ----------
    address
        Of the release: the name of the first table.
    tables
        Records by the names of their tables.
    manifest
        Called, when all records are there, with the hash of each table; gives the manifest. What
        it raises ends all of it, and nothing is changed.
    """
    with connected(address, writing=True) as database:
        earlier = _earlier(database, address, list(tables))
        hashes = {}
        staged = {}
        for name, records in tables.items():
            staged[name] = f"shoal_{token_hex(8)}"
            hashes[name] = _stage(database, staged[name], records)
        claims = json.dumps(manifest(hashes), ensure_ascii=False)
        for name in earlier:
            database.execute(f"DROP TABLE {database.named(name)}")
        for name, temporary in staged.items():
            stage = database.named(temporary)
            database.execute(f"ALTER TABLE {stage} RENAME TO {quoted(name)}")
        _keep(database, address, claims)
        try:
            database.commit()
        except Exception as error:
            code = getattr(error, "sqlstate", None) or "08"
            if address.file is not None or not code.startswith(("08", "57P")):
                raise  # whoever answers has taken all of it back
            raise UnsureError(
                f"{address}: the connection was lost while the release was committed: it is there "
                "as a whole, or not at all; `shoal verify` tells"
            ) from None


def _earlier(database: Connection, address: Address, names: list[str]) -> list[str]:
    """Tables of the release that is replaced; refuses what is no release."""
    if address.table is None:
        raise OutputError(f"{address}: a release is written to a table; expected ?table=NAME")
    most = database.longest_name
    for name in names:
        if name == MANIFESTS or (most and len(name.encode()) > most):
            raise OutputError(f"{address}: a table cannot have that name; choose another")
    known = _manifest(database, address.table)
    ours = [] if known is None else [address.table]
    if known is not None and known.get("release", {}).get("sensitive_table"):
        ours.append(second_table(address.table))
    there = [name for name in {*names, *ours} if database.exists(name)]
    if strange := [name for name in there if name not in ours]:
        raise OutputError(
            f"{address}: there is a table {sorted(strange)[0]!r} that {MANIFESTS} does not know as "
            "a release; it is not replaced: choose another name, or drop it first"
        )
    return there


def _stage(database: Connection, name: str, records: pa.RecordBatchReader) -> str:
    """Write records under a name that nobody knows; gives the hash of what is there then."""
    stored = _as_stored(database, records)
    given = RowsHash(stored.schema.names)

    def counted() -> Iterator[pa.RecordBatch]:
        for batch in stored:
            given.add(batch)
            yield batch

    reader = pa.RecordBatchReader.from_batches(stored.schema, counted())
    database.ingest(name, reader, new=True)
    with database.stream(f"SELECT * FROM {database.named(name)}") as there:
        found = hash_of_rows(list(there.schema.names), there)
    if found != given.hexdigest():
        raise VerificationError(
            f"{database.address}: the database does not keep the records as they were verified; "
            "nothing was written: write a file instead"
        )
    return found


def _as_stored(
    database: Connection | type[Connection], records: pa.RecordBatchReader
) -> pa.RecordBatchReader:
    """Records in the types that a database keeps."""
    schema = pa.schema([(field.name, database.storable(field.type)) for field in records.schema])

    def cast() -> Iterator[pa.RecordBatch]:
        for batch in records:
            yield from pa.Table.from_batches([batch]).cast(schema).combine_chunks().to_batches()

    return pa.RecordBatchReader.from_batches(schema, cast())


def hash_as_stored(address: Address, records: pa.RecordBatchReader) -> str:
    """The hash that a table would have in a database."""
    stored = _as_stored(kind_of(address), records)
    return hash_of_rows(list(stored.schema.names), stored)


def _manifest(database: Connection, table: str) -> dict[str, Any] | None:
    """The manifest of a table; None where it has none."""
    if not database.exists(MANIFESTS):
        return None
    text = database.value(
        f"SELECT manifest FROM {database.named(MANIFESTS)} WHERE release = {literal(table)}"
    )
    try:
        found = None if text is None else json.loads(text)
    except (ValueError, TypeError, RecursionError):
        raise InputError(f"{database.address}: its manifest is damaged") from None
    return found if isinstance(found, dict) else None


def _keep(database: Connection, address: Address, claims: str) -> None:
    """Put the manifest in the place of the earlier one."""
    place = database.named(MANIFESTS)
    if not database.exists(MANIFESTS):
        database.execute(f"CREATE TABLE {place} (release TEXT PRIMARY KEY, manifest TEXT NOT NULL)")
    assert address.table is not None
    database.execute(f"DELETE FROM {place} WHERE release = {literal(address.table)}")
    row = pa.table({"release": [address.table], "manifest": [claims]})
    database.ingest(MANIFESTS, row.to_reader(), new=False)


def read_published(address: Address) -> Published:
    """A release with its manifest, both of one moment."""
    if address.table is None:
        raise InputError(f"{address}: a release is a table; expected ?table=NAME")
    published = read_stored(address)
    if not published.manifest:
        raise InputError(
            f"{address}: {MANIFESTS} has no manifest of it; check with --qi and -k instead"
        )
    return published


def read_stored(address: Address) -> Published:
    """A table with its manifest, both of one moment; the manifest is empty if there is none."""
    with connected(address) as database:
        manifest = _manifest(database, address.table or "") or {}
        table, digest = _read(database)
        if not manifest.get("release", {}).get("sensitive_table"):
            return Published(table, digest, manifest)
        name = second_table(address.table or "")
        with database.stream(f"SELECT * FROM {database.named(name)}") as reader:
            second = reader.read_all()
        return Published(table, digest, manifest, second, _hash(second))


def read_manifest(address: Address) -> dict[str, Any]:
    """The manifest that a database has of a release."""
    with connected(address) as database:
        return _manifest(database, address.table or "") or {}


def _read(database: Connection) -> tuple[pa.Table, str]:
    table = records_of(database)
    return table, _hash(table)


def _hash(table: pa.Table) -> str:
    return hash_of_rows(table.column_names, table.to_batches())
