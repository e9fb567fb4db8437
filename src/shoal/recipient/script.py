"""SQL for those who have no Shoal: a release as views, and checks of k and distinct l.

The script names every distinct cell of a generalised column and what it covers. It is made from
the release alone, so it tells nothing that the release does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from shoal.errors import PolicyError
from shoal.io.addresses import Address, address_of
from shoal.policy import Policy
from shoal.recipient.columns import Released
from shoal.recipient.opening import open_release
from shoal.recipient.script_words import DUCKDB, CellTable, Words, postgresql, quoted, text
from shoal.recipient.spread import Asked
from shoal.released.cells import Anything, Cell, Range, Values

__all__ = ["DIALECTS", "check_script", "table_and_dialect", "view_script"]

DIALECTS = {"duckdb": '"', "postgresql": '"', "snowflake": '"', "bigquery": "`", "spark": "`"}
"""Systems that checks are written for, and what they put around names."""
READERS = {
    ".csv": "read_csv('{}', all_varchar = true)",
    ".tsv": "read_csv('{}', all_varchar = true)",
    ".parquet": "read_parquet('{}')",
    ".jsonl": "read_json('{}')",
}


def view_script(
    release: Any,
    manifest: str | Path | None = None,
    policy: Policy | str | Path | None = None,
    **settings: Any,
) -> str:
    """A script that makes a view in which intervals are numbers: for DuckDB, where the release
    is a file or in a DuckDB; for PostgreSQL, where it is there.
    """
    source, words = _source(release)
    released = open_release(release, manifest, policy, None, settings, asked_by="sql").released
    names = [name for name in released.about.names() if released.about.generalised(name)]
    names = [name for name in names if name in released.table.column_names]
    parts = [f"-- Made by `shoal sql`; works without Shoal. Source: {source.table}", source.first]
    parts.append(words.head())
    numbers = _numbers(released, names) if source.texts else {}
    columns, joins = words.rest(released.table.column_names, names, numbers), []
    for number, name in enumerate(names):
        cells = _cells(released, name, number, words)
        parts.append(words.table(cells))
        columns += _columns(cells, words)
        joins.append(words.join(cells))
    listed = ",\n  ".join(columns)
    body = "\n".join([f"CREATE OR REPLACE VIEW {words.view} AS SELECT\n  {listed}",
                      f"FROM {source.table} raw", *joins])  # fmt: skip
    return "\n".join([*filter(None, parts), body + ";"]) + "\n" + words.tail()


class _Source(NamedTuple):
    """Where the view finds the release, and what must be said before."""

    table: str
    first: str = ""
    texts: bool = False
    """Every cell is read as a text, so that 007 stays what it is."""


def _source(release: Any) -> tuple[_Source, Words]:
    if (address := address_of(release)) is not None:
        return _in_database(address)
    if not isinstance(release, str | Path):
        return _Source("published"), DUCKDB
    reader = READERS.get(Path(release).suffix.lower())
    if reader is None:
        raise PolicyError(
            f"sql: {release}: expected a file that DuckDB reads: {', '.join(READERS)}"
        )
    read = reader.format(str(release).replace("'", "''"))
    return _Source(read, texts="all_varchar" in reader), DUCKDB


def _numbers(released: Released, generalised: Sequence[str]) -> dict[str, str]:
    """The columns of numbers that are published as they are, and their types."""
    found = {}
    for name in released.table.column_names:
        if name in generalised or released.numbers(name) is None:
            continue
        try:
            released.table.column(name).cast(pa.string()).unique().cast(pa.int64())
            found[name] = "BIGINT"
        except pa.ArrowInvalid:  # a point, or more than 64 bits
            found[name] = "DOUBLE"
    return found


def _in_database(address: Address) -> tuple[_Source, Words]:
    """The view is for the system where the release lies."""
    if address.table is None:
        raise PolicyError(f"sql: {address}: expected a table (?table=NAME), not a query")
    named = _named(address)
    if address.scheme == "postgresql":
        return _Source(named), postgresql(address.schema, address.table)
    if address.scheme == "duckdb":
        attached = f"ATTACH IF NOT EXISTS {text(str(address.file))} AS stored (READ_ONLY);"
        return _Source(f"stored.{named}", attached), DUCKDB
    raise PolicyError(
        f"sql: {address}: SQLite has neither lists nor functions for such views; "
        "`shoal expand` writes plain columns: --as bounds, or midpoint"
    )


def _named(address: Address, mark: str = '"') -> str:
    return ".".join(quoted(part, mark) for part in (address.schema, address.table) if part)


def _cells(released: Released, name: str, number: int, words: Words) -> CellTable:
    """A table of the distinct cells and what they cover."""
    codes, cells, reading = released.cells(name)
    asked = Asked(name, reading, cells, ())
    written = _written(released, name, codes)
    kind = released.table.column(name).type
    if not asked.domain.measured:
        values = [_listed(cell, asked, words) for cell in asked.cells]
        return CellTable(name, number, kind, None, 0, list(zip(written, values, strict=True)))
    ends = [_ends(cell, asked, reading.kind) for cell in asked.cells]
    rows = [(cell, low, high) for cell, (low, high) in zip(written, ends, strict=True)]
    step = 1 if asked.domain.whole else 0
    return CellTable(name, number, kind, reading.kind == "date", step, rows)


def _columns(cells: CellTable, words: Words) -> list[str]:
    """What the view shows of a generalised column."""
    name, alias = cells.column, cells.alias
    if cells.dates is None:
        return [f"raw.{quoted(name)}", f"{alias}.covers AS {quoted(name + '_values')}"]
    return [
        f"{words.interval(cells)} AS {quoted(name)}",
        f"{alias}.low AS {quoted(name + '_low')}",
        f"{alias}.high AS {quoted(name + '_high')}",
        f"{words.middle(cells)} AS {quoted(name + '_mid')}",
    ]


def _written(released: Released, name: str, codes: Any) -> list[str]:
    """The texts of the distinct cells as the file has them, in the order of their codes."""
    column = released.table.column(name)
    cells = int(codes.max()) + 1 if len(codes) else 0
    first = np.full(cells, -1)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    found = [column[int(row)].as_py() for row in first if row >= 0]
    return ["NULL" if value is None else text(str(value)) for value in found]


def _ends(cell: Cell, asked: Asked, kind: str) -> tuple[str, str]:
    if isinstance(cell, Range):
        keys = sorted((asked.line.key(cell.low), asked.line.key(cell.high)))
    elif isinstance(cell, Values) and cell.texts[0] is not None:
        keys = [asked.line.key(cell.texts[0])] * 2
    else:
        return "NULL", "NULL"
    if kind == "date":
        low, high = (f"DATE '{date.fromordinal(int(key))}'" for key in keys)
        return low, high
    return str(float(keys[0])), str(float(keys[1]))


def _listed(cell: Cell, asked: Asked, words: Words) -> str:
    """The values that a cell covers, as a list; all of them for a star."""
    if isinstance(cell, Values):
        members = [value for value in cell.texts if value is not None]
    elif isinstance(cell, Range):
        low, high = asked.line.key(cell.low), asked.line.key(cell.high)
        members = [t for t in asked.texts if low <= asked.line.key(t) <= high]
    elif isinstance(cell, Anything):
        members = list(asked.texts)
    else:
        return "NULL"
    return words.listed(sorted(members))


def table_and_dialect(table: str, dialect: str | None) -> tuple[str, str]:
    """The table that a check asks, as SQL names it, and whose SQL: an address says both."""
    address = address_of(table)
    if address is None:
        return table, dialect or "duckdb"
    if address.table is None:
        raise PolicyError(f"sql: {address}: expected a table (?table=NAME), not a query")
    # SQLite speaks the plain SQL of the check as it is written for DuckDB.
    spoken = dialect or ("postgresql" if address.scheme == "postgresql" else "duckdb")
    return _named(address, DIALECTS[spoken]), spoken


def check_script(
    table: str,
    qi: Sequence[str],
    k: int | None = None,
    distinct_l: int | None = None,
    sensitive: Sequence[str] = (),
    dialect: str = "duckdb",
) -> str:
    """Plain SQL that lists the classes which break k or distinct l: no row, and both hold."""
    if dialect not in DIALECTS:
        raise PolicyError(f"dialect: expected one of {', '.join(DIALECTS)}; got {dialect!r}")
    if not qi:
        raise PolicyError("sql: a check needs the quasi-identifiers (--qi A,B,C)")
    if k is None and distinct_l is None:
        raise PolicyError("sql: say what to check: --check k=10, --check l=3")
    if distinct_l is not None and not sensitive:
        raise PolicyError("sql: l is about sensitive columns (--sensitive A)")
    if dialect == "bigquery" and any(set("`\\") & set(name) for name in (*qi, *sensitive)):
        raise PolicyError("sql: BigQuery has no such name of a column: with ` or \\ in it")
    return "\n".join(_check_lines(table, qi, k, distinct_l, sensitive, DIALECTS[dialect])) + "\n"


def _check_lines(
    table: str, qi: Sequence[str], k: int | None, distinct_l: int | None,
    sensitive: Sequence[str], mark: str,
) -> Iterator[str]:  # fmt: skip
    names = [quoted(name, mark) for name in qi]
    failing = [f"COUNT(*) < {int(k)}"] if k is not None else []
    counted = ["COUNT(*) AS records"]
    for number, name in enumerate(sensitive if distinct_l is not None else ()):
        column = quoted(name, mark)
        # COUNT(DISTINCT ...) passes over missing values, which are one value more.
        values = f"COUNT(DISTINCT {column}) + MAX(CASE WHEN {column} IS NULL THEN 1 ELSE 0 END)"
        counted.append(f"{values} AS values_{number + 1}")
        failing.append(f"{values} < {int(distinct_l or 0)}")
    yield "-- Classes that break what was promised: no row, and it holds."
    yield f"SELECT {', '.join([*names, *counted])}"
    yield f"FROM {table}"
    yield f"GROUP BY {', '.join(names)}"
    yield f"HAVING {' OR '.join(failing)}"
