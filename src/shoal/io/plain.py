"""A table that is no release, written to a file or as a new table of a database."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from shoal.errors import OutputError
from shoal.io.addresses import Address, Place
from shoal.io.databases.connecting import connected
from shoal.io.paths import check_not_kept
from shoal.io.read import file_format
from shoal.io.together import atomic_file
from shoal.io.write import write_table

__all__ = ["check_target", "write_plain"]

PIPE = "-"


def check_target(out: Place, source: Place) -> None:
    """Refuse, before the work, a place that cannot be written to."""
    if str(out) == PIPE:
        return
    if isinstance(out, Address):
        if out.table is None:
            raise OutputError(f"{out}: expected ?table=NAME")
        with connected(out, writing=True) as database:
            if database.exists(out.table):
                raise OutputError(f"{out}: there is a table of that name; choose another")
        return
    if isinstance(source, Path):
        check_not_kept(out, {source: "the release"})
    file_format(out)
    if not out.parent.is_dir():
        raise OutputError(f"{out}: there is no directory {out.parent}")


def write_plain(table: pa.Table, out: Place) -> None:
    """Write it, whole or not at all."""
    if isinstance(out, Address):
        with connected(out, writing=True) as database:
            kinds = [database.storable(field.type) for field in table.schema]
            stored = table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))
            database.ingest(str(out.table), stored.to_reader(), new=True)
            database.commit()
        return
    with atomic_file(out) as temporary:
        write_table(table, temporary, named=out)
