"""Spark in a few lines, to be read beside `shoal.engines.spark.frames`: no Java, no cluster.

Partitions are lists, and whatever Spark leaves open is drawn: which row goes to which
partition, and in which order rows arrive. Tasks travel as bytes, as they do there.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from shoal.engines.ranges.publishing import people_in
from shoal.verification.check import check_release

Rows = list[tuple[str, int, bytes]]


class Conf:
    def get(self, name: str, default: str) -> str:
        return {"spark.master": "local[2]"}.get(name, default)


class Session:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.conf = Conf()

    def createDataFrame(self, rows: Iterable[Any], schema: str) -> DataFrame:  # noqa: N802
        assert schema == "kind string, number int, packet binary"
        plain = [(kind, number, bytes(packet)) for kind, number, packet in rows]
        return DataFrame(self, [[batch_of([row])] for row in plain])


class DataFrame:
    """Partitions of Arrow batches."""

    __module__ = "pyspark.sql.naive"

    def __init__(self, session: Session, partitions: Sequence[list[pa.RecordBatch]]) -> None:
        self.sparkSession = session
        self.partitions = list(partitions)

    @classmethod
    def of(cls, session: Session, table: pa.Table, partitions: int) -> DataFrame:
        """A table in so many pieces, in any order."""
        order = list(range(table.num_rows))
        session.rng.shuffle(order)
        cuts = sorted(session.rng.randint(0, len(order)) for _ in range(partitions - 1))
        begins, ends = [0, *cuts], [*cuts, len(order)]
        pieces = [
            table.take(pa.array(order[begin:end], pa.int64())).combine_chunks().to_batches(50)
            for begin, end in zip(begins, ends, strict=True)
        ]
        return cls(session, pieces)

    @property
    def columns(self) -> list[str]:
        return next(batch.schema.names for piece in self.partitions for batch in piece)

    def selectExpr(self, *asked: str) -> DataFrame:  # noqa: N802
        pairs = [re.fullmatch(r"`(.*)` AS (c\d+)", one).groups() for one in asked]
        return DataFrame(
            self.sparkSession,
            [
                [
                    pa.RecordBatch.from_arrays(
                        [batch.column(name.replace("``", "`")) for name, _ in pairs],
                        [place for _, place in pairs],
                    )
                    for batch in piece
                ]
                for piece in self.partitions
            ],
        )

    def mapInArrow(self, run: Any, schema: str) -> DataFrame:  # noqa: N802
        return DataFrame(self.sparkSession, [list(run(iter(piece))) for piece in self.partitions])

    def where(self, condition: str) -> DataFrame:
        kinds = set(re.findall(r"'(\w+)'", condition))
        return self._dealt([[r for r in rows if r[0] in kinds] for rows in self._rows()])

    def select(self, *names: str) -> DataFrame:
        return self

    def unionByName(self, other: DataFrame) -> DataFrame:  # noqa: N802
        return DataFrame(self.sparkSession, [*self.partitions, *other.partitions])

    def repartition(self, parts: int) -> DataFrame:
        return self._moved(parts, lambda row: self.sparkSession.rng.randrange(parts))

    def repartitionById(self, parts: int, name: str) -> DataFrame:  # noqa: N802
        assert name == "number"
        return self._moved(parts, lambda row: row[1] % parts)

    def persist(self, level: Any) -> DataFrame:
        return self

    def unpersist(self) -> DataFrame:
        return self

    def count(self) -> int:
        return sum(len(rows) for rows in self._rows())

    def collect(self) -> Rows:
        found = [row for rows in self._rows() for row in rows]
        self.sparkSession.rng.shuffle(found)
        return found

    def _rows(self) -> list[Rows]:
        return [
            [tuple(column[n].as_py() for column in batch.columns) for batch in piece
             for n in range(batch.num_rows)]
            for piece in self.partitions
        ]  # fmt: skip

    def _moved(self, parts: int, place: Any) -> DataFrame:
        found: list[Rows] = [[] for _ in range(parts)]
        for row in self.collect():
            found[place(row)].append(row)
        return self._dealt(found)

    def _dealt(self, partitions: list[Rows]) -> DataFrame:
        return DataFrame(self.sparkSession, [[batch_of(rows)] for rows in partitions])


def batch_of(rows: Rows) -> pa.RecordBatch:
    kinds, numbers, packets = ([row[place] for row in rows] for place in range(3))
    arrays = [pa.array(kinds, pa.string()), pa.array(numbers, pa.int32())]
    return pa.RecordBatch.from_arrays(
        [*arrays, pa.array(packets, pa.binary())], ["kind", "number", "packet"]
    )


class WrittenParts:
    """Written files, read and checked in memory in place of Spark SQL."""

    def __init__(self, session, files, names, schema, policy, qi, people=()) -> None:
        self.values: dict[str, Any] = {}
        whole = [pa.parquet.read_table(file) for file in files]
        self.table, self.policy = pa.concat_tables(whole), policy
        self.person = people_in(people) if people else None

    def check(self, qi, models, records):
        assert self.table.num_rows == records
        return check_release(self.table, qi, models, self.policy, person=self.person)

    def exposed(self, qi, sample, records):
        return []

    def unprotected(self, records):
        return []
