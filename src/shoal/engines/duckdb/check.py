"""Does a written file satisfy its models? DuckDB groups it, and the models decide.

Nothing is used but the file: its records are grouped by the released quasi-identifiers, and
the sensitive values of every class are handed to the models, some classes at a time. Findings
of parts merge to exactly that of the whole (`shoal.models.findings`).
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from shoal.encoding.exposure import known_by_class
from shoal.encoding.spreadsheet import disarmed
from shoal.engines.ranges.checking import PERSONS, Column, part_checked, twins_of
from shoal.engines.ranges.exposing import Counting, Sample
from shoal.errors import VerificationError
from shoal.io.read import file_format
from shoal.models import (
    Model,
    needs_sensitive,
    union_closed,
)
from shoal.policy import Policy
from shoal.verification.check import weaker
from shoal.verification.result import Verification

__all__ = ["Written", "connection", "table_of"]

CLASSES = 1 << 16
"""Classes that are looked at together."""
ONE_VALUE = "(min({0}) IS NOT DISTINCT FROM max({0}) AND count({0}) IN (0, count(*)))"
LINE = 1 << 20
"""Bytes of the longest line of a usual CSV file; DuckDB reads a few of these at once."""
A_RECORD = 60
"""Bytes that DuckDB takes for a record while it groups, about."""


def connection(folder: Path, memory: int, threads: int) -> Any:
    """A database in memory that spills into a folder."""
    settings: dict[str, Any] = {
        "memory_limit": f"{memory // 1_000_000}MB",
        "threads": threads,
        "temp_directory": str(folder),
        "preserve_insertion_order": False,
        "autoinstall_known_extensions": False,
    }
    return duckdb.connect(config=settings)


class Written:
    """A released file, or several of one schema, looked at through SQL."""

    def __init__(
        self,
        con: Any,
        path: Path | Sequence[Path],
        names: Sequence[str],
        policy: Policy,
        delimiter: str | None,
        line: int = 0,
        people: Path | None = None,
    ) -> None:
        self.con = con
        self.policy = policy
        self.place = {name: f"c{number}" for number, name in enumerate(names)}
        """What SQL calls a column: to DuckDB names that differ in case only are one."""
        files = [path] if isinstance(path, Path) else list(path)
        self.relation = _relation(files, names, policy, delimiter, max(line, LINE))
        self.people = people
        """A Parquet file that says whose each record is, in their order; None: nobody counts."""
        self.known: dict[str, int] = {}
        """Of sensitive columns without a model: records in classes with one value."""

    def check(
        self, qi: Sequence[str], models: Sequence[Model], records: int, memory: int
    ) -> Verification:
        """Check every model on the classes of the file."""
        if self._people_known() not in (None, records):
            raise VerificationError("the written file and the list of its persons do not match")
        looked_at = self.policy.sensitive if needs_sensitive(models) else ()
        columns = [self._column(number, name) for number, name in enumerate(looked_at)]
        bare = () if columns else self.policy.sensitive
        lists = bool(columns) or self.people is not None
        passes = max(1, -(-records * A_RECORD // memory)) if lists else 1
        self.known = dict.fromkeys(bare, 0)
        found = self._checked(self._listed(qi), columns, bare, models, passes)
        if found.records != records:
            raise VerificationError(
                f"the written file has {found.records:,} records; expected {records:,}"
            )
        if self.people is not None and self.policy.twins == "fold":
            return self._folded(qi, columns, models, passes, found)
        return found

    def _checked(
        self, by: str, columns: Sequence[Column], bare: Sequence[str], models: Sequence[Model],
        passes: int,
    ) -> Verification:  # fmt: skip
        """Models on the classes that have equal values of these expressions."""
        parts: list[Verification] = []
        for number in range(passes):
            some = f"WHERE hash({by}) % {passes} = {number}" if passes > 1 else ""
            for batch in self._classes(by, columns, bare, some):
                parts.append(part_checked(batch, columns, models, self.people is not None))
                self._note(batch, bare)
        return Verification.merge(parts)

    def _folded(
        self, qi: Sequence[str], columns: Sequence[Column], models: Sequence[Model], passes: int,
        exact: Verification,
    ) -> Verification:  # fmt: skip
        """The worse of two readings: as `shoal.verification.check` does it for persons."""
        if union_closed(models, persons=True):
            return exact
        twins = {name: self._twins(name) for name in qi}
        if not any(twins.values()):
            return exact
        by = ", ".join(_read_as(self.place[name], twins[name]) for name in qi)
        merged = self._checked(by, columns, (), models, passes)
        pairs = zip(exact.checks, merged.checks, strict=True)
        return replace(exact, checks=tuple(weaker(*both) for both in pairs))

    def _twins(self, name: str) -> dict[str | None, str | None]:
        """Texts of a released column that a reader takes for another one, and for which."""
        column = self.place[name]
        query = f"SELECT DISTINCT CAST({column} AS VARCHAR) AS t FROM {self.relation} ORDER BY t"
        texts = table_of(self.con.sql(query)).column("t").to_pylist()
        return twins_of(texts)

    def _people_known(self) -> int | None:
        """Records whose person is known."""
        if self.people is None:
            return None
        return int(pa.parquet.read_metadata(self.people).num_rows)

    def _classes(
        self, by: str, columns: Sequence[Column], bare: Sequence[str], some: str
    ) -> Iterator[pa.RecordBatch]:
        lists = [
            self._list(
                f"coalesce(enum_code(CAST({self.place[column.name]} AS VARCHAR)::texts{number})"
                f"::INTEGER, {len(column.codes) - 1})"
            )
            + f" AS h{number}"
            for number, column in enumerate(columns)
        ]
        if self.people is not None:
            lists.append("list(person) AS p")
        ones = [
            ONE_VALUE.format(self.place[name]) + f" AS o{number}"
            for number, name in enumerate(bare)
        ]
        what = ", ".join(["count(*) AS n", *ones, *lists])
        query = f"SELECT {what} FROM {self._counted} {some} GROUP BY {by}"
        yield from _batches(self.con.sql(query), CLASSES)

    def _list(self, code: str) -> str:
        """The codes of a class; with whose they are, each beside its own."""
        if self.people is None:
            return f"list({code})"
        return f"list({code}::BIGINT * {PERSONS} + person)"

    @property
    def _counted(self) -> str:
        """The records, and whose they are: both files in their order."""
        if self.people is None:
            return self.relation
        people = _text(glob.escape(str(self.people)))
        return f"{self.relation} POSITIONAL JOIN read_parquet({people}) AS p(person)"

    def _column(self, number: int, name: str) -> Column:
        """Texts of a sensitive column, numbered by DuckDB, and what they count as."""
        column = self.place[name]
        found = table_of(
            self.con.sql(
                f"SELECT {column} AS v, CAST({column} AS VARCHAR) AS t, count(*) AS n "
                f"FROM {self.relation} GROUP BY ALL ORDER BY t NULLS LAST, v NULLS LAST"
            )
        )
        counts = np.asarray(found.column("n")).astype(np.int64)
        counted = Column.of(name, found.column("v"), counts, self.policy)
        texts = found.column("t").to_pylist()
        null = texts and texts[-1] is None
        there = texts[:-1] if null else texts
        if len(set(there)) < len(there):
            raise VerificationError(f"column {name!r}: different values have one text")
        listed = ", ".join(_text(text) for text in there)
        self.con.execute(f"CREATE OR REPLACE TYPE texts{number} AS ENUM ({listed})")
        own = counted.codes if null else np.append(counted.codes, 0).astype(np.int32)
        if self.people is not None:
            total = self._persons_of(f"texts{number}", column, own, counted.like.domain)
            counted = counted._replace(like=replace(counted.like, table=total))
        return counted._replace(codes=own)

    def _persons_of(
        self, texts: str, column: str, codes: NDArray[np.int32], size: int
    ) -> NDArray[np.int64]:
        """How many persons of the whole file have each code."""
        of_text = f"[{', '.join(map(str, codes.tolist()))}]"
        text = f"coalesce(enum_code(CAST({column} AS VARCHAR)::{texts})::INTEGER, {len(codes) - 1})"
        code = f"list_extract({of_text}, {text} + 1)"
        query = f"SELECT {code} AS c, count(DISTINCT person) AS n FROM {self._counted} GROUP BY c"
        found = table_of(self.con.sql(query))
        total = np.zeros(size, dtype=np.int64)
        total[np.asarray(found.column("c"))] = np.asarray(found.column("n"))
        return total

    def _note(self, batch: pa.RecordBatch, bare: Sequence[str]) -> None:
        """Count records in classes with one value of a column that no model is about."""
        sizes = np.asarray(batch.column(0)).astype(np.int64)
        for place, name in enumerate(bare, start=1):  # they come before all lists
            one = np.asarray(batch.column(place).fill_null(False))
            self.known[name] += int(sizes[one].sum())

    def unprotected(self, records: int) -> list[str]:
        """As `shoal.encoding.exposure.unprotected`, of the file that was checked."""
        return [known_by_class(n, known, records) for n, known in self.known.items() if known]

    def exposed(self, qi: Sequence[str], sample: Sample, records: int) -> list[str]:
        """As `shoal.encoding.exposure.exposed_in_release`, counted in the file."""
        plain = [name for name in self.policy.plain if name in self.place]
        roles = [("released quasi-identifier", name) for name in qi]
        roles += [("sensitive column", name) for name in self.policy.sensitive]
        counting = Counting(self._one_row, self.place)
        return list(counting.lines(plain, roles, sample, self.policy, records))

    def _one_row(self, query: str) -> Sequence[Any]:
        (row,) = self.con.execute(query.replace("{0}", self.relation)).fetchall()
        return tuple(row)

    def _listed(self, names: Sequence[str]) -> str:
        return ", ".join(self.place[name] for name in names)


def _read_as(column: str, twins: dict[str | None, str | None]) -> str:
    """A column with texts that read alike as one of them."""
    cell = f"CAST({column} AS VARCHAR)"
    cases = " ".join(
        f"WHEN {cell} IS NULL THEN {_text(other or '')}"
        if text is None
        else f"WHEN {cell} = {_text(text)} THEN {'NULL' if other is None else _text(other)}"
        for text, other in twins.items()
    )
    return f"CASE {cases} ELSE {cell} END" if twins else column


def _relation(
    files: Sequence[Path], names: Sequence[str], policy: Policy, delimiter: str | None, line: int
) -> str:
    """The files as SQL names them; their columns are c0, c1, ... in their order."""
    places = [f"c{number}" for number in range(len(names))]
    path = files[0]
    escaped = [_text(glob.escape(str(file))) for file in files]  # DuckDB takes names for patterns
    file = escaped[0] if len(files) == 1 else f"[{', '.join(escaped)}]"
    if file_format(path) == "parquet":
        written = [disarmed(name) if policy.csv_safe else name for name in names]
        if any(pa.parquet.read_schema(one).names != written for one in files):
            raise VerificationError("the written file has other columns than it should have")
        return f"read_parquet({file}, hive_partitioning = false) AS t({', '.join(places)})"
    types = ", ".join(f"{place}: 'VARCHAR'" for place in places)
    tabs = path.name.lower().removesuffix(".gz").endswith(".tsv")
    between = "\t" if tabs else delimiter or ","
    return (
        f"read_csv({file}, columns = {{{types}}}, header = true, auto_detect = false, "
        f"delim = {_text(between)}, quote = '\"', escape = '\"', nullstr = '', "
        f"hive_partitioning = false, max_line_size = {line}, "
        f"buffer_size = {max(4 * LINE, 2 * line)})"
    )


def table_of(relation: Any) -> pa.Table:
    """What a query gives, by whatever name this DuckDB has for it."""
    batches = list(_batches(relation, 1 << 20))
    return pa.Table.from_batches(batches)


def _batches(relation: Any, rows: int) -> Iterator[pa.RecordBatch]:
    """What a query gives, in batches, by whatever name this DuckDB has for it."""
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
    yield from read(rows)


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
