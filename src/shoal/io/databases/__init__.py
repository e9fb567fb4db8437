"""Tables of databases: read as a stream of Arrow batches, replaced whole or not at all."""

from __future__ import annotations

from shoal.io.databases.publishing import (
    MANIFESTS,
    Published,
    UnsureError,
    hash_as_stored,
    publish,
    read_manifest,
    read_published,
    read_stored,
    second_table,
)
from shoal.io.databases.reading import (
    column_names_of,
    estimated_rows,
    read_batches,
    read_database,
)

__all__ = [
    "MANIFESTS", "Published", "UnsureError", "column_names_of", "estimated_rows",
    "hash_as_stored", "publish", "read_batches", "read_database", "read_manifest",
    "read_published", "read_stored", "second_table",
]  # fmt: skip
