"""The engine for tables that do not fit into memory.

The input is read once, and staged as numbers in a private folder. Records are dealt out to
ranges along a curve (`shoal.engines.ranges`), each is grouped and recoded in memory, the
release is written in canonical order, and DuckDB groups what was written for the verification.
"""

from __future__ import annotations

import os
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from shoal.encoding.rest import left_over, settled
from shoal.engines.base import Decision, Measured
from shoal.engines.duckdb.check import Written
from shoal.engines.duckdb.dealing import dealt_out
from shoal.engines.duckdb.exposing import told_before
from shoal.engines.duckdb.failing import told
from shoal.engines.duckdb.persons import homes_counted, persons_counted
from shoal.engines.duckdb.publishing import PEOPLE, Files, write_files
from shoal.engines.duckdb.sparing import spare_memory
from shoal.engines.duckdb.staging import coded, staged
from shoal.engines.duckdb.stored import Room, StoredRelease
from shoal.engines.memory.budget import best_l
from shoal.engines.memory.size import available, bytes_for, in_words
from shoal.engines.ranges.coded import Coded, Staged
from shoal.engines.ranges.cutting import Borders, BucketCounts, course_of
from shoal.engines.ranges.dealt import Part
from shoal.engines.ranges.engine import RangesEngine, endings_of, notations_of, refusal_of
from shoal.engines.ranges.folder import fingerprint_of_files
from shoal.engines.ranges.grouping import Ranges, facts_of, flow, group_range, grouped_whole
from shoal.engines.ranges.publishing import (
    Before,
    Classes,
    PublishedRange,
    people_in,
    published_range,
)
from shoal.engines.ranges.spill import Pieces, Spill, private, smallest_type
from shoal.engines.ranges.tables import TableInFiles
from shoal.engines.ranges.which import range_size
from shoal.errors import NotFoundError, PolicyError
from shoal.io.addresses import Address, Place, place_of
from shoal.io.batches import Batches
from shoal.io.paths import check_folder, is_folder
from shoal.io.write import sha256_of
from shoal.metrics.loss import LossSums
from shoal.models import check_eligible
from shoal.plan import Plan
from shoal.policy import Policy
from shoal.quantities import bytes_of
from shoal.release import Release
from shoal.verification.result import Verification

if TYPE_CHECKING:
    from shoal.bounds import Bound

__all__ = ["DuckDBEngine"]

OURS = 700_000_000
"""Of the memory of a run what is not the database's: the program, batches, a range or two."""
LEAST = 72_000_000
"""What the database gets at least."""
SMALL = 1_000_000_000
"""With less memory one thread works, and one range is in memory at a time."""
ROOM = 64_000_000
"""Bytes of dealt-out records that may wait in memory."""


class Source(NamedTuple):
    """The input, and after one pass what was staged of it."""

    batches: Batches
    rest: tuple[str, ...] = ()
    stage: Staged | None = None


class Grouped(NamedTuple):
    """Records in groups, range by range: in files, with the classes they are released in."""

    rows: list[tuple[Pieces, int]]
    classes: Classes
    loss: LossSums
    before: Before
    facts: dict[str, Any]
    proof: str


class Draft(NamedTuple):
    """Written files that are not yet known to satisfy their models."""

    files: Files
    grouped: Grouped
    people: Path | None
    """Whose each of its records is, where persons are declared."""


class DuckDBEngine(RangesEngine[Source, Grouped, Draft]):
    """Records in files of a private folder, ranges of them in memory."""

    name = "duckdb"
    summary = "records in files, ranges of them in memory: tables larger than memory"

    def refusal(self, plan: Plan, target: Place | None) -> str | None:
        """See `Engine`."""
        return refusal_of(plan, target)

    def accept(self, plan: Plan, target: Place | None) -> None:
        """Refuse what cannot be promised out of memory, before the work starts."""
        self.plan, self.target = plan, target
        if reason := self.refusal(plan, target):
            raise PolicyError(f"engine duckdb: {reason}; or choose engine = memory")
        if isinstance(target, Path) and is_folder(target):
            check_folder(target)
        policy = plan.policy
        free = available() or 2 * SMALL
        self.budget = bytes_of(policy.memory) if policy.memory else max(SMALL, free // 2)
        self.workers = 1 if self.budget < SMALL else os.cpu_count() or 1
        if self.budget < SMALL:
            spare_memory()
        beside = target.parent if isinstance(target, Path) else None
        place = Path(policy.temp) if policy.temp else beside
        memory = max(LEAST, self.budget - OURS)
        self.room = Room(Spill(place), memory, self.workers)

    def discard(self) -> None:
        """Remove whatever lies in the folder of the run."""
        if hasattr(self, "room"):
            self.room.spill.remove()

    def read(self, data: Any, policy: Policy) -> Source:
        """Look at names and types; nothing is read yet."""
        self.report("read", 0, 1)
        known = isinstance(data, str | Path | Address)
        self.path: Place | None = place_of(data) if known else None
        batches = Batches(data, policy.missing, policy.encoding, policy.delimiter)
        batches.sparing = self.budget < SMALL
        return Source(batches)

    @told
    def settle(self, source: Source, policy: Policy) -> tuple[Source, Policy]:
        """Ask about the columns, then read all records once."""
        names = source.batches.names
        complete, rest = settled(names, policy), left_over(names, policy)
        dropped = rest if policy.rest == "drop" else ()
        left_out = {*complete.identifier, *dropped, complete.person}
        published = [name for name in names if name not in left_out]
        if not complete.qi:
            raise PolicyError("qi: expected at least one quasi-identifier; got none")
        spill = self.room.spill
        stage = staged(source.batches, published, complete, spill, self.report)
        complete = complete.override(notation=notations_of(stage, complete))
        return source._replace(rest=rest, stage=stage), complete

    @told
    def encode(self, source: Source, policy: Policy) -> Coded:
        """The codebook."""
        self.report("encode", 0, 1)
        self.source = source
        assert source.stage is not None
        sketched = source.stage.records > (self.plan.method.by_range or 0)
        table = coded(source.stage, policy, self.workers, sketched, self.report)
        if source.stage.person is None:
            return table
        return persons_counted(table, self.room.spill, self._waiting)

    @property
    def _waiting(self) -> int:
        """Bytes of dealt-out records that may wait in memory."""
        return min(ROOM, self.budget // 32)

    @told
    def decide(self, table: Coded, plan: Plan) -> Decision:
        """The best l, and whether a release is possible."""
        if plan.policy.l == "auto":
            plan = plan.decided(l=best_l(table.book))
        check_eligible(table.book, plan.models)
        with self.room.connect() as con:
            exposed, cautions = told_before(con, table, plan)
        return Decision(plan, exposed=tuple(exposed), cautions=tuple(cautions))

    @told
    def partition(self, table: Coded, decision: Decision) -> Grouped:
        """Deal the records out to ranges; group and recode each."""
        plan = decision.plan
        ranges = self._ranges(table, plan)
        spill, waiting = self.room.spill, self._waiting
        dealt = dealt_out(table, ranges, spill, waiting, plan.seed, self.report)
        parts = 1 if ranges is None else len(ranges.sizes)
        classes, rows, persons = Classes(), list[tuple[Pieces, int]](), np.int32(0)
        losses, before, done = list[LossSums](), list[Before](), 0
        facts: dict[str, Any] = {}
        proof = ""

        def work(part: int) -> tuple[PublishedRange, dict[str, Any], str]:
            return self._one(table, plan, ranges, dealt.take(part))

        for number, (part, known, proven) in enumerate(flow(work, range(parts), self.workers)):
            pieces = Pieces(self.room.spill.file(f"rows-{number}.arrow"))
            kind = smallest_type(len(part.sizes))
            numbers = pa.table({"class": part.class_of.astype(kind)})
            if part.person is not None:
                numbers = numbers.append_column("person", pa.array(part.person + persons))
                persons += np.int32(part.person.max() + 1)  # nobody is in two ranges
            for name in part.rest.column_names:
                numbers = numbers.append_column(f"={name}", part.rest.column(name))
            pieces.append(*numbers.combine_chunks().to_batches())
            rows.append((pieces, classes.add(part)))
            losses.append(part.loss)
            before.append(part.before)
            facts, proof = known, proven
            done += part.rest.num_rows
            self.report("partition", done, table.records)
        if ranges is not None:
            facts, proof = facts_of(ranges, plan, list(plan.policy.qi)), ""
        return Grouped(rows, classes, reduce(add, losses), reduce(add, before), facts, proof)

    def _ranges(self, table: Coded, plan: Plan) -> Ranges | None:
        """The plan of ranges; None where all records are one."""
        size = range_size(plan, table.records)
        if size is None:
            return None
        assert table.sketch is not None
        book, spill = table.book, self.room.spill
        course = course_of(plan, table.sketch, book.qi, book.counts)
        values = sum(column.size for column in book.sensitive)
        borders = Borders(course, table.sketch, table.records, size, values)
        counts = BucketCounts(borders.buckets, book, plan.models)
        persons = table.stage.person is not None
        done = 0
        with open(spill.file("buckets"), "wb", opener=private) as file:
            for bucket, sensitive in table.scan(
                lambda batch: (borders.of(table.codes(batch)), table.sensitive_codes(batch))
            ):
                if not persons:
                    counts.add(bucket, sensitive)
                bucket.tofile(file)
                done += len(bucket)
                self.report("ranges", done, 2 * table.records)
        if persons:
            lie = np.memmap(spill.file("buckets"), np.uint16, "r")
            homes_counted(table, lie, counts, spill, self._waiting, plan.seed)
        ranges = Ranges.of(borders, counts, size)
        self._check_room(ranges, table, plan)
        return ranges

    def _check_room(self, ranges: Ranges, table: Coded, plan: Plan) -> None:
        """Refuse ranges that had to grow beyond what memory holds."""
        longest = int(ranges.sizes.max())
        needed = bytes_for(longest, len(table.stage.columns))
        if longest > 4 * (plan.method.by_range or 1) and needed > self.budget:
            asked = ", ".join(map(str, plan.models))
            raise NotFoundError(
                f"engine duckdb: no range of fewer than {longest:,} records satisfies {asked}, "
                f"and that needs about {in_words(needed)}: give more memory, or a smaller l"
            )

    def _one(
        self, table: Coded, plan: Plan, ranges: Ranges | None, part: Part
    ) -> tuple[PublishedRange, dict[str, Any], str]:
        """Group and recode one range."""
        encoded = table.table(part.codes, part.rest, part.words)
        if ranges is None:
            outcome = grouped_whole(encoded, plan, self.report)
        else:
            outcome = group_range(encoded, plan, ranges.course, table.records)
        stood_out = None
        if part.at_home is not None:
            stood_out = Before.of(table.alone(part.at_home), plan.policy.k or 2)
        published = published_range(encoded, outcome, part.rest, plan.policy, stood_out)
        return published, outcome.facts, outcome.proof

    @told
    def recode(self, table: Coded, groups: Grouped, plan: Plan) -> Draft:
        """Write the release in canonical order, as it will be handed out."""
        if is_folder(self.target):
            path = self.room.spill.file("release")
            path.mkdir(mode=0o700)
        else:
            ending = "".join(endings_of(self.target)) if isinstance(self.target, Path) else ""
            path = self.room.spill.file(f"release{ending or '.parquet'}")
        target = (path, self.source.batches.delimiter)
        files = write_files(
            table, groups.rows, groups.classes, target, self.room.spill, self.report
        )
        people = None if table.stage.person is None else self.room.spill.file(PEOPLE)
        return Draft(files, groups, people)

    @told
    def verify(self, draft: Draft, plan: Plan) -> Verification:
        """Check the written files."""
        self.report("verify", 0, 1)
        assert self.source.stage is not None
        policy, records, files = plan.policy, self.source.stage.records, draft.files
        with self.room.connect() as con:
            form = (self.source.batches.delimiter, files.line, draft.people)
            written = Written(con, list(files.digests), files.names, policy, *form)
            found = written.check(files.qi, plan.models, records, self.room.memory)
            self.exposed = tuple(written.exposed(files.qi, files.sample, records))
            self.unprotected = tuple(written.unprotected(records))
        return found

    def release(
        self,
        table: Coded,
        draft: Draft,
        verification: Verification,
        measured: Measured,
        bound: Bound | None,
        decision: Decision,
    ) -> Release:
        """The release in its file, with everything that its manifest tells."""
        path, files = self.path, draft.files
        one = path if isinstance(path, Path) and path.is_file() else None
        people = None if draft.people is None else people_in([draft.people])
        return StoredRelease(
            **self._told(table, files, draft.grouped, verification, measured, decision, people),
            table=TableInFiles(
                tuple(files.digests), files.names, table.records, decision.plan.policy.csv_safe
            ),
            rest=self.source.rest,
            kind=self.source.batches.kind,
            source_sha256=None if one is None else sha256_of(one),
            delimiter=self.source.batches.delimiter,
            fingerprint=fingerprint_of_files(files.digests, is_folder(self.target)),
            digests=files.digests,
            room=self.room,
            line=files.line,
            people=draft.people,
        )
