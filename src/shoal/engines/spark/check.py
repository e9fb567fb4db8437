"""Does what was written satisfy its models? Spark SQL groups it, and the models decide.

Nothing is used but the files: their records are grouped by the released quasi-identifiers, and
the sensitive values of every class are handed to the models in tasks. Findings of parts merge
to exactly that of the whole (`shoal.models.findings`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.exposure import known_by_class
from shoal.encoding.spreadsheet import disarmed
from shoal.engines.ranges.checking import PERSONS, Column, part_checked, twins_of
from shoal.engines.ranges.exposing import Counting, Sample
from shoal.engines.ranges.publishing import people_in
from shoal.engines.spark.frames import Frame, collected, mapped, quoted
from shoal.engines.spark.packets import Row, facts, told
from shoal.engines.spark.working import OnBatches, in_our_words
from shoal.errors import OutputError, VerificationError
from shoal.io.batches import Batches
from shoal.io.read import file_format
from shoal.models import Model, known_sizes, needs_sensitive, union_closed
from shoal.policy import Policy
from shoal.verification.check import check_classes, weaker
from shoal.verification.result import Verification

__all__ = ["WrittenParts", "asked_of"]

VIEW = "shoal_written"
PERSON = "person"
"""The column beside c0, c1, ... that says whose a record is."""


class CheckClasses(OnBatches):
    """Models on the classes of a task."""

    def __init__(
        self, columns: Sequence[Column], models: Sequence[Model], persons: bool = False
    ) -> None:
        self.columns, self.models, self.persons = tuple(columns), tuple(models), persons

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        how = (self.columns, self.models, self.persons)
        parts = [part_checked(b, *how) for b in batches if b.num_rows]
        if parts:
            whole = Verification.merge(parts)
            sizes = np.unique(whole.class_sizes, return_counts=True)
            nothing = np.zeros(0, dtype=np.int64)
            yield Row("checked", 0, facts((replace(whole, class_sizes=nothing), sizes)))


class ReadCsv:
    """Cells of CSV files, as texts."""

    def __init__(self, names: Sequence[str], wanted: Sequence[int]) -> None:
        self.names, self.wanted = tuple(names), tuple(wanted)

    def tables(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for file in batch.column(0).to_pylist():
                source = Batches(Path(file), ("",))
                if source.names != list(self.names):
                    raise VerificationError("the written file has other columns than it should")
                wanted = [self.names[number] for number in self.wanted]
                for _, table in source.read(wanted):
                    plain = [column.cast(pa.string()) for column in table.columns]
                    named = pa.table(plain, names=[f"c{number}" for number in self.wanted])
                    yield from named.to_batches()


class ReadWithPersons:
    """Cells of files, each record with whose it is: both are in the order of the release."""

    def __init__(
        self, names: Sequence[str], wanted: Sequence[int], schema: pa.Schema | None
    ) -> None:
        self.names, self.wanted, self.schema = tuple(names), tuple(wanted), schema
        """Types of the columns that are looked at; None: texts."""

    def tables(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for file, people in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                yield from self._file(Path(file), people_in([Path(one) for one in people]))

    def _file(self, file: Path, people: NDArray[np.int32]) -> Iterator[pa.RecordBatch]:
        source = Batches(file, ("",))
        if source.names != list(self.names):
            raise VerificationError("the written file has other columns than it should")
        done = 0
        for _, table in source.read([self.names[number] for number in self.wanted]):
            kinds = [pa.string()] * len(self.wanted) if self.schema is None else self.schema.types
            cells = [column.cast(kind) for column, kind in zip(table.columns, kinds, strict=True)]
            person = people[done : done + table.num_rows]
            names = [*(f"c{number}" for number in self.wanted), PERSON]
            yield from pa.table([*cells, pa.array(person)], names=names).to_batches()
            done += table.num_rows
        if done != len(people):
            raise VerificationError("the written files and the list of their persons do not match")


class WrittenParts:
    """Files of a release, looked at through SQL."""

    def __init__(
        self, session: Any, files: Sequence[Path], names: Sequence[str], schema: pa.Schema,
        policy: Policy, qi: Sequence[str], people: Sequence[Path] = (),
    ) -> None:  # fmt: skip
        self.session = session
        self.policy = policy
        self.persons = bool(people)
        self.place = {name: f"c{number}" for number, name in enumerate(names)}
        """What SQL calls a column: to Spark names that differ in case only are one."""
        plain = [name for name in policy.plain if name in self.place]
        wanted = [*qi, *policy.sensitive, *plain]
        self.frame = _read(session, files, list(names), schema, policy, wanted, people)
        self.known: dict[str, int] = {}
        self.values: dict[str, pa.Array] = {}
        """Distinct values of sensitive columns that models are about."""

    def check(self, qi: Sequence[str], models: Sequence[Model], records: int) -> Verification:
        """Check every model on the classes of the files."""
        looked_at = self.policy.sensitive if needs_sensitive(models) else ()
        if not looked_at:  # which also counts what is known of columns without a model
            found = self._sizes_only(qi, () if self.persons else models)
        if looked_at or self.persons:
            columns = [self._column(number, name) for number, name in enumerate(looked_at)]
            found = self._with_values(self._listed(qi), columns, models)
            if self.persons and self.policy.twins == "fold":
                found = self._folded(qi, columns, models, found)
        if found.records != records:
            raise VerificationError(
                f"the written files have {found.records:,} records; expected {records:,}"
            )
        return found

    def _sizes_only(self, qi: Sequence[str], models: Sequence[Model]) -> Verification:
        """Models about sizes: how many classes there are of each size, counted by SQL."""
        from pyspark.sql import functions as sql

        bare = [name for name in self.policy.sensitive if name in self.place]
        ones = []
        for number, name in enumerate(bare):
            cell = sql.col(self.place[name])
            same = sql.min(cell).eqNullSafe(sql.max(cell)) & (
                (sql.count(cell) == 0) | (sql.count(cell) == sql.count(sql.lit(1)))
            )
            ones.append(same.alias(f"o{number}"))
        classes = self.frame.groupBy(*self._listed(qi)).agg(sql.count(sql.lit(1)).alias("n"), *ones)
        sums = [
            sql.sum(sql.when(sql.col(f"o{number}"), sql.col("n")).otherwise(0)).alias(f"k{number}")
            for number in range(len(bare))
        ]
        rows = classes.groupBy("n").agg(sql.count(sql.lit(1)).alias("m"), *sums).collect()
        for number, name in enumerate(bare):
            self.known[name] = int(sum(row[2 + number] for row in rows))
        each = sorted((int(row[0]), int(row[1])) for row in rows)
        sizes = _sizes([size for size, _ in each], [count for _, count in each])
        return Verification(tuple(check_classes(models, known_sizes(sizes), {})), sizes)

    def _folded(
        self, qi: Sequence[str], columns: Sequence[tuple[Column, Frame]], models: Sequence[Model],
        exact: Verification,
    ) -> Verification:  # fmt: skip
        """The worse of two readings: as `shoal.verification.check` does it for persons."""
        from pyspark.sql import functions as sql

        if union_closed(models, persons=True):
            return exact
        by, twins = [], 0
        for name in qi:
            text = sql.col(self.place[name]).cast("string")
            texts = [row[0] for row in self.frame.select(text).distinct().collect()]
            read_as = twins_of(texts)
            twins += len(read_as)
            for twin, other in read_as.items():
                same = text.isNull() if twin is None else text == sql.lit(twin)
                text = sql.when(same, sql.lit(other)).otherwise(text)
            by.append(text)
        if not twins:
            return exact
        merged = self._with_values(by, columns, models)
        pairs = zip(exact.checks, merged.checks, strict=True)
        return replace(exact, checks=tuple(weaker(*both) for both in pairs))

    def _with_values(
        self, by: Sequence[Any], known: Sequence[tuple[Column, Frame]], models: Sequence[Model]
    ) -> Verification:
        """Models about values: the codes of each class, listed by SQL, to the models in tasks."""
        from pyspark.sql import functions as sql

        frame, lists = self.frame, []
        for number, (column, codes) in enumerate(known):
            frame = self._with_codes(frame, number, column.name, codes)
            cell = sql.col(f"h{number}")
            if self.persons:  # each code with whose it is beside it
                cell = cell.cast("bigint") * sql.lit(PERSONS) + sql.col(PERSON)
            lists.append(sql.collect_list(cell).alias(f"l{number}"))
        if self.persons:
            lists.append(sql.collect_list(sql.col(PERSON)).alias(f"l{len(known)}"))
        classes = frame.groupBy(*by).agg(sql.count(sql.lit(1)).alias("n"), *lists)
        own = classes.select("n", *(f"l{number}" for number in range(len(lists))))
        columns = [column for column, _ in known]
        rows = collected(mapped(own, CheckClasses(columns, models, self.persons)))
        parts = [told(row.packet) for row in rows]
        if not parts:
            raise VerificationError("the written files have no records")
        whole = Verification.merge([part for part, _ in parts])
        sizes = np.concatenate([sizes for _, (sizes, _) in parts])
        counts = np.concatenate([counts for _, (_, counts) in parts])
        return replace(whole, class_sizes=_sizes(sizes, counts))

    def _with_codes(self, frame: Frame, number: int, name: str, codes: Frame) -> Frame:
        """The numbers of a column's texts beside it."""
        from pyspark.sql import functions as sql

        same = frame[self.place[name]].cast("string").eqNullSafe(codes[f"t{number}"])
        return frame.join(sql.broadcast(codes), same, "left")

    def _column(self, number: int, name: str) -> tuple[Column, Frame]:
        """Values of a sensitive column in the files, what they count as, and a frame of it."""
        from pyspark.sql import functions as sql

        cell = sql.col(self.place[name])
        found = (
            self.frame.groupBy(cell.alias("v"))
            .agg(sql.count(sql.lit(1)).alias("n"))
            .select("v", sql.col("v").cast("string").alias("t"), "n")
            .toArrow()
            .combine_chunks()
        )
        texts = found.column("t").to_pylist()
        if len(set(texts)) < len(texts):
            raise VerificationError(f"column {name!r}: different values have one text")
        values = found.column("v")
        self.values[name] = values
        counts = np.asarray(found.column("n").combine_chunks()).astype(np.int64)
        column = Column.of(name, values, counts, self.policy)
        rows = [(text, place) for place, text in enumerate(texts)]
        schema = f"t{number} string, h{number} int"
        codes = self.session.createDataFrame(rows, schema)
        if not self.persons:
            return column, codes
        pairs = self._with_codes(self.frame, number, name, codes)
        counted = pairs.select(f"h{number}", PERSON).distinct()
        return self._counting_persons(column, number, counted), codes

    def _counting_persons(self, column: Column, number: int, pairs: Frame) -> Column:
        """With how many persons of the whole table have each code: texts can share one."""
        from pyspark.sql import functions as sql

        code = sql.element_at(sql.lit(column.codes.tolist()), sql.col(f"h{number}") + 1)
        each = pairs.select(code.alias("c"), PERSON).distinct().groupBy("c").count().collect()
        total = np.zeros(column.like.domain, dtype=np.int64)
        for row in each:
            total[row[0]] = row[1]
        return column._replace(like=replace(column.like, table=total))

    def unprotected(self, records: int) -> list[str]:
        """As `shoal.encoding.exposure.unprotected`, of the files that were checked."""
        return [known_by_class(n, known, records) for n, known in self.known.items() if known]

    def exposed(self, qi: Sequence[str], sample: Sample, records: int) -> list[str]:
        """As `shoal.encoding.exposure.exposed_in_release`, counted in the files."""
        plain = [name for name in self.policy.plain if name in self.place]
        if not plain:
            return []
        roles = [("released quasi-identifier", name) for name in qi]
        roles += [("sensitive column", name) for name in self.policy.sensitive]
        with asked_of(self.frame) as ask:
            counting = Counting(ask, self.place)
            return list(counting.lines(plain, roles, sample, self.policy, records))

    def _listed(self, names: Sequence[str]) -> list[str]:
        return [self.place[name] for name in names]


class asked_of:  # noqa: N801
    """Asks SQL about a frame: gives the one row of a query that calls it ``{0}``."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    def __enter__(self) -> Any:
        self.frame.createOrReplaceTempView(VIEW)

        def ask(query: str) -> Sequence[Any]:
            (row,) = self.frame.sparkSession.sql(query.replace("{0}", VIEW)).collect()
            return tuple(row)

        return ask

    def __exit__(self, *_: object) -> None:
        self.frame.sparkSession.catalog.dropTempView(VIEW)


def _sizes(sizes: Any, counts: Any) -> NDArray[np.int64]:
    whole = np.repeat(np.asarray(sizes, dtype=np.int64), np.asarray(counts, dtype=np.int64))
    return np.sort(whole)


def _read(
    session: Any, files: Sequence[Path], names: list[str], schema: pa.Schema, policy: Policy,
    wanted: Sequence[str], people: Sequence[Path] = (),
) -> Frame:  # fmt: skip
    """The columns that are looked at, called c0, c1, ... by their places."""
    places = sorted(names.index(name) for name in dict.fromkeys(wanted))
    if people:
        return _with_persons(session, files, names, schema, policy, places, people)
    if file_format(files[0]) == "parquet":
        return _parquet(session, files, names, schema, policy, places)
    written = [disarmed(name) if policy.csv_safe else name for name in names]
    listed = session.createDataFrame([(str(file),) for file in files], "file string")
    task = ReadCsv(written, places)

    def run(batches: Iterable[Any]) -> Any:
        return in_our_words(task.tables, batches)

    columns = ", ".join(f"c{place} string" for place in places)
    return listed.repartition(len(files)).mapInArrow(run, columns)


def _with_persons(
    session: Any, files: Sequence[Path], names: list[str], schema: pa.Schema, policy: Policy,
    places: Sequence[int], people: Sequence[Path],
) -> Frame:  # fmt: skip
    """The same with whose each record is, read by tasks: a file each, with the list beside it."""
    from pyspark.sql.types import IntegerType, StringType, StructField, StructType

    written = [disarmed(name) if policy.csv_safe else name for name in names]
    parquet = file_format(files[0]) == "parquet"
    kinds = _kinds(schema, names, places) if parquet else [StringType()] * len(places)
    plain = pa.schema([(written[place], _cells(schema.field(place).type)) for place in places])
    task = ReadWithPersons(written, places, plain if parquet else None)
    each = [[one] for one in people] if len(files) == len(people) else [list(people)]
    rows = [(str(f), [str(one) for one in own]) for f, own in zip(files, each, strict=True)]
    listed = session.createDataFrame(rows, "file string, people array<string>")

    def run(batches: Iterable[Any]) -> Any:
        return in_our_words(task.tables, batches)

    fields = [StructField(f"c{place}", kind) for place, kind in zip(places, kinds, strict=True)]
    columns = StructType([*fields, StructField(PERSON, IntegerType())])
    return listed.repartition(len(files)).mapInArrow(run, columns)


def _cells(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _kinds(schema: pa.Schema, names: list[str], places: Sequence[int]) -> list[Any]:
    """The types of columns as Spark knows them."""
    from pyspark.sql.pandas.types import from_arrow_type

    found = []
    for place in places:
        kind = schema.field(place).type
        try:
            found.append(from_arrow_type(kind, prefer_timestamp_ntz=True))
        except Exception:
            raise OutputError(
                f"column {names[place]!r}: Spark has no type for {kind}; cast it in the input, "
                "or choose engine = duckdb"
            ) from None
    return found


def _parquet(
    session: Any, files: Sequence[Path], names: list[str], schema: pa.Schema, policy: Policy,
    places: Sequence[int],
) -> Frame:  # fmt: skip
    """Parquet as Spark's own reader sees it."""
    from pyspark.sql import functions as sql
    from pyspark.sql.types import StructField, StructType

    written = [disarmed(name) if policy.csv_safe else name for name in names]
    if schema.names != written:
        raise VerificationError("the written files have other columns than they should have")
    kinds = _kinds(schema, names, places)
    fields = [StructField(written[p], kind) for p, kind in zip(places, kinds, strict=True)]
    listed = [_escaped(str(file)) for file in files]
    frame = session.read.schema(StructType(fields)).parquet(*listed)
    return frame.select(*(sql.col(quoted(written[place])).alias(f"c{place}") for place in places))


def _escaped(path: str) -> str:
    """A path that is no pattern to Hadoop."""
    for sign in "\\{}[]*?":
        path = path.replace(sign, f"\\{sign}")
    return path
