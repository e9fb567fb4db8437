"""SQL for those who have no Shoal: a release as views, and checks of k and distinct l.

The script names every distinct cell of a generalised column and what it covers. It is made from
the release alone, so it tells nothing that the release does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import PolicyError
from shoal.policy import Policy
from shoal.recipient.columns import Released
from shoal.recipient.opening import open_release
from shoal.recipient.spread import Asked
from shoal.released.cells import Anything, Cell, Range, Values

__all__ = ["DIALECTS", "check_script", "view_script"]

DIALECTS = {"duckdb": '"', "postgresql": '"', "snowflake": '"', "bigquery": "`", "spark": "`"}
"""Systems that checks are written for, and what they put around names."""
READERS = {
    ".csv": "read_csv('{}', all_varchar = true)",
    ".tsv": "read_csv('{}', all_varchar = true)",
    ".parquet": "read_parquet('{}')",
    ".jsonl": "read_json('{}')",
}
MACROS = """\
-- The share of an interval that lies from a to b, both included: weight_in(age, 30, 40).
CREATE OR REPLACE MACRO weight_in(cell, a, b) AS CASE
  WHEN cell.high - cell.low + cell.step > 0 THEN
    greatest(0.0, least(cell.high, b) - greatest(cell.low, a) + cell.step)
      / (cell.high - cell.low + cell.step)
  WHEN cell.low IS NULL THEN 0.0
  ELSE (cell.low BETWEEN a AND b)::INT END;
-- The share of a set or label that a value has: weight_of(sex_values, 'F').
CREATE OR REPLACE MACRO weight_of(cell_values, one) AS
  CASE WHEN list_contains(cell_values, one) THEN 1.0 / len(cell_values) ELSE 0.0 END;
"""


def quoted(name: str, mark: str = '"') -> str:
    """A name as SQL writes it."""
    return mark + name.replace(mark, mark * 2) + mark


def text(value: str) -> str:
    """A text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


def view_script(
    release: Any,
    manifest: str | Path | None = None,
    policy: Policy | str | Path | None = None,
    **settings: Any,
) -> str:
    """A DuckDB script that makes a view ``release`` in which intervals are numbers."""
    opened = open_release(release, manifest, policy, None, settings, asked_by="sql")
    released = opened.released
    source = _source(release)
    names = [name for name in released.about.names() if released.about.generalised(name)]
    names = [name for name in names if name in released.table.column_names]
    parts = [f"-- Made by `shoal sql`; works without Shoal. Source: {source}", MACROS]
    columns, joins = (
        [f"raw.* EXCLUDE ({', '.join(map(quoted, names))})"] if names else ["raw.*"],
        [],
    )
    for number, name in enumerate(names):
        rows, shown = _cells(released, name, f"c{number}")
        parts.append(rows.replace("CELLS", quoted(f"cells_{name}")))
        columns += shown
        match = f"raw.{quoted(name)}::VARCHAR IS NOT DISTINCT FROM c{number}.cell"
        joins.append(f"  LEFT JOIN {quoted(f'cells_{name}')} c{number} ON {match}")
    listed = ",\n  ".join(columns)
    body = "\n".join([f"CREATE OR REPLACE VIEW release AS SELECT\n  {listed}",
                      f"FROM {source} raw", *joins])  # fmt: skip
    return "\n".join([*parts, body + ";"]) + "\n"


def _source(release: Any) -> str:
    if not isinstance(release, str | Path):
        return "published"
    reader = READERS.get(Path(release).suffix.lower())
    if reader is None:
        raise PolicyError(
            f"sql: {release}: expected a file that DuckDB reads: {', '.join(READERS)}"
        )
    return reader.format(str(release).replace("'", "''"))


def _cells(released: Released, name: str, alias: str) -> tuple[str, list[str]]:
    """A table of the distinct cells and what they cover, and the columns made of it."""
    codes, cells, reading = released.cells(name)
    asked = Asked(name, reading, cells, ())
    written = _written(released, name, codes)
    if asked.domain.measured:
        step = 1 if asked.domain.whole else 0
        ends = [_ends(cell, asked, reading.kind) for cell in asked.cells]
        rows = [f"({t}, {low}, {high})" for t, (low, high) in zip(written, ends, strict=True)]
        kind = "DATE" if reading.kind == "date" else "DOUBLE"
        low, high = (f"{alias}.{end}" for end in ("low", "high"))
        middle = (
            f"{low} + ({high} - {low}) / 2"
            if kind == "DOUBLE"
            else f"{low} + ({high} - {low}) // 2"
        )
        shown = [
            f"CASE WHEN {low} IS NOT NULL THEN {{'low': {low}, 'high': {high}, 'step': {step}}} END"
            f" AS {quoted(name)}",
            f"{low} AS {quoted(name + '_low')}",
            f"{high} AS {quoted(name + '_high')}",
            f"{middle} AS {quoted(name + '_mid')}",
        ]
        head = f"CREATE OR REPLACE TABLE CELLS(cell VARCHAR, low {kind}, high {kind});"
    else:
        rows = [
            f"({t}, {_listed(cell, asked)})" for t, cell in zip(written, asked.cells, strict=True)
        ]
        shown = [f"raw.{quoted(name)}", f"{alias}.covers AS {quoted(name + '_values')}"]
        head = "CREATE OR REPLACE TABLE CELLS(cell VARCHAR, covers VARCHAR[]);"
    values = ",\n  ".join(rows)
    return (f"{head}\nINSERT INTO CELLS VALUES\n  {values};" if rows else head), shown


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


def _listed(cell: Cell, asked: Asked) -> str:
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
    return "[" + ", ".join(map(text, sorted(members))) + "]"


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
