"""Reading a million records from PostgreSQL and SQLite, beside what the driver alone needs.

The driver (ADBC) fetches all as Arrow and throws it away; Shoal reads the same query into a
table that is ready to be encoded. Both in this process, one after the other, three times.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow as pa

import shoal
from benchmarks.keeping import Table
from shoal.io.addresses import Address, address_of
from shoal.io.databases import read_database
from shoal.io.databases.connecting import connected
from shoal.io.frames import to_arrow
from shoal.io.write import decoded

RECORDS = 1_000_000


def fetched(address: Address, uri: str) -> None:
    """By the driver alone."""
    if address.scheme == "postgresql":
        from adbc_driver_postgresql.dbapi import connect
    else:
        from adbc_driver_sqlite.dbapi import connect
    with closing(connect(uri)) as connection, closing(connection.cursor()) as cursor:
        cursor.execute("SELECT * FROM people")
        for batch in cursor.fetch_record_batch():
            assert batch.num_rows


def best(work: Callable[[], object]) -> float:
    found = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)


def measured(table: Table, name: str, url: str, uri: str, people: pa.Table) -> None:
    address = address_of(url)
    assert address is not None
    with connected(address, writing=True) as database:
        database.ingest("people", people.to_reader(), new=True)
        database.commit()
    alone = best(lambda: fetched(address, uri))
    whole = best(lambda: read_database(address))
    ready = best(lambda: to_arrow(url))
    table.add(name, alone, whole, ready, ready / alone)


def main() -> None:
    """Print and write it."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from postgres import programs, running

    people = decoded(shoal.datasets.census(RECORDS, seed=1))
    head = ["from", "ADBC alone (s)", "read (s)", "ready (s)", "ready / ADBC"]
    table = Table("sources", "A million records from a database", head, ".2f")
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/people.db"
        measured(table, "SQLite", f"sqlite:///{file}?table=people", file, people)
    if programs() is None:
        print("PostgreSQL is not installed: left out")
    else:
        with running() as server:
            measured(table, "PostgreSQL", server.url("?table=people"), server.url(), people)
    table.show()


if __name__ == "__main__":
    main()
