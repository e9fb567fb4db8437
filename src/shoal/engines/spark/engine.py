"""The engine for tables of a cluster.

The input is read once, and kept as packets on the disks of the executors. Records move to
ranges along a curve (`shoal.engines.ranges`), each is grouped and recoded in one task, the
release is written in canonical order by tasks, and Spark SQL groups what was written for the
verification. The driver sees values, counts and plans, and no record.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.encoding.cooccurrence import worth_arranging
from shoal.encoding.exposure import SAMPLE
from shoal.encoding.rest import left_over, settled
from shoal.encoding.sketch import Sketch
from shoal.engines.base import Decision, Measured
from shoal.engines.memory.budget import best_l
from shoal.engines.ranges.coded import Coded, Explained, explained
from shoal.engines.ranges.cutting import Borders, course_of
from shoal.engines.ranges.engine import RangesEngine, notations_of, refusal_of
from shoal.engines.ranges.exposing import Sample
from shoal.engines.ranges.grouping import Ranges, facts_of
from shoal.engines.ranges.persons import PART
from shoal.engines.ranges.publishing import people_in
from shoal.engines.ranges.spill import Spill
from shoal.engines.ranges.tables import TableInFiles
from shoal.engines.ranges.which import range_size
from shoal.engines.spark.check import WrittenParts
from shoal.engines.spark.dealing import (
    CountBuckets,
    DealOut,
    MergeCounts,
    MergeSketches,
    SettleLoans,
    Sketched,
    counts_of,
    sketch_of,
)
from shoal.engines.spark.exposing import told_before
from shoal.engines.spark.frames import (
    collected,
    each_to,
    is_frame,
    kept,
    mapped,
    only,
    told,
)
from shoal.engines.spark.grouping import GroupRanges, RangeFacts
from shoal.engines.spark.packets import told as told_by
from shoal.engines.spark.persons import ByPerson, CountPersons, persons_of
from shoal.engines.spark.profiling import MergeProfiles
from shoal.engines.spark.publishing import (
    Order,
    PlaceRecords,
    RankClasses,
    WriteParts,
    people_name,
)
from shoal.engines.spark.reading import Source, packets_of, stage_of
from shoal.engines.spark.session import check_installed, session_of
from shoal.engines.spark.stored import Cluster, SparkRelease
from shoal.engines.spark.working import OnRows
from shoal.engines.spark.writing import Draft, Grouped, hash_of_all, joined
from shoal.errors import InputError, OutputError, PolicyError, twice
from shoal.io.addresses import Place, place_of
from shoal.io.batches import Batches
from shoal.io.paths import check_folder, is_folder
from shoal.models import check_eligible
from shoal.plan import Plan
from shoal.policy import Policy
from shoal.release import Release
from shoal.verification.result import Verification

if TYPE_CHECKING:
    from shoal.bounds import Bound

__all__ = ["SparkEngine"]

FAN = 8
"""Tasks that merge what others found, before the driver does."""


class SparkEngine(RangesEngine[Source, Grouped, Draft]):
    """Records in a cluster, ranges of them in its tasks."""

    name = "spark"
    summary = "records in a cluster of Spark: tables larger than a machine"

    cluster: Cluster | None = None

    def refusal(self, plan: Plan, target: Place | None) -> str | None:
        """See `Engine`."""
        policy = plan.policy
        if policy.memory is not None:
            return "memory is a matter of its executors (spark.executor.memory); leave out memory"
        if policy.weight_column is not None:
            return "weights are totalled over all records; leave them out, or drop the column"
        return refusal_of(plan, target)

    def accept(self, plan: Plan, target: Place | None) -> None:
        """Refuse what cannot be promised out of memory, before the work starts."""
        self.plan, self.target = plan, target
        if reason := self.refusal(plan, target):
            raise PolicyError(f"engine spark: {reason}; or choose engine = memory")
        check_installed()
        if isinstance(target, Path) and is_folder(target):
            check_folder(target)

    def discard(self) -> None:
        """Remove what the run has put down, and end a session of its own."""
        if self.cluster is not None:
            self._forget()
            self.cluster.close()

    def _forget(self) -> None:
        """Give back what executors keep."""
        for frame in getattr(self, "persisted", ()):
            with suppress(Exception):  # of a session that has ended
                frame.unpersist()
        self.persisted: list[Any] = []

    @told
    def read(self, data: Any, policy: Policy) -> Source:
        """Look at names; nothing is read yet."""
        self.report("read", 0, 1)
        self.path: Place | None = None
        frame = data if is_frame(data) else None
        self._begin(frame, policy)
        if frame is not None:
            if problem := twice(frame.columns):
                raise InputError(problem)
            return Source(list(frame.columns), frame)
        if not isinstance(data, str | Path):
            raise InputError(
                "engine spark: expected a data frame of Spark, or files that its executors see; "
                f"got {type(data).__name__}"
            )
        self.path = place_of(data)
        batches = Batches(data, policy.missing, policy.encoding, policy.delimiter)
        return Source(batches.names, None, tuple(batches.files), batches.delimiter)

    def _begin(self, frame: Any, policy: Policy) -> None:
        """The session, and a folder that driver and executors see."""
        session = session_of(frame, policy.master)
        beside = self.target.parent if isinstance(self.target, Path) else None
        place = Path(policy.temp) if policy.temp else beside
        try:
            if place is None and not session.spark.conf.get("spark.master", "").startswith("local"):
                raise PolicyError(
                    "engine spark: say where the release goes (out), or name a folder that driver "
                    "and executors see (temp): it is verified where it lies"
                )
            spill = Spill(place)
        except BaseException:
            session.close()
            raise
        self.cluster = Cluster(session, spill)
        self.persisted = []

    @property
    def session(self) -> Any:
        assert self.cluster is not None
        return self.cluster.session.spark

    def _kept(self, frame: Any) -> Any:
        found = kept(frame)
        self.persisted.append(found)
        return found

    @told
    def settle(self, source: Source, policy: Policy) -> tuple[Source, Policy]:
        """Ask about the columns, then read all records once."""
        complete, rest = settled(source.names, policy), left_over(source.names, policy)
        dropped = rest if policy.rest == "drop" else ()
        left_out = {*complete.identifier, *dropped, complete.person}
        published = [name for name in source.names if name not in left_out]
        if not complete.qi:
            raise PolicyError("qi: expected at least one quasi-identifier; got none")
        coded = [*complete.qi, *complete.sensitive]
        plain = [name for name in published if name not in coded]
        staged = self._kept(packets_of(self.session, source, coded, plain, complete))
        self.tasks = only(staged, "profile").count()
        found = self._merged(only(staged, "profile"), MergeProfiles())
        profiles = [told_by(row.packet) for row in collected(found)]
        if not profiles:
            raise InputError("the table is empty: it has a header and no records")
        stage = stage_of(source, profiles, published, plain, complete.person)
        self.report("read", stage.records, stage.records)
        complete = complete.override(notation=notations_of(stage, complete))
        return source._replace(rest=rest, staged=staged, stage=stage), complete

    @told
    def encode(self, source: Source, policy: Policy) -> Coded:
        """The codebook."""
        self.report("encode", 0, 1)
        self.source = source
        stage = source.stage
        assert stage is not None
        found = explained(stage, policy)
        sketched = stage.records > (self.plan.method.by_range or 0)
        sketch = None
        if sketched or worth_arranging(found.qi, stage.records):
            sketch = self._sketch(found, policy)
        table = found.coded(stage, policy, sketch, 1)
        self.records = only(self.source.staged, "records")
        if stage.person is None:
            return table
        return self._by_person(table)

    def _by_person(self, table: Coded) -> Coded:
        """The table with persons counted; records lie by whose they are from now on."""
        light, parts = _light(table), table.records // PART + 1
        dealt = mapped(self.records, ByPerson(light, parts))
        self.records = self._kept(each_to(dealt, parts))
        found = collected(mapped(self.records, CountPersons(light)))
        return table.counting_persons(persons_of(found, table))

    def _sketch(self, found: Explained, policy: Policy) -> Sketch | None:
        assert self.source.stage is not None
        records = only(self.source.staged, "records").select("kind", "number", "packet")
        task = Sketched(tuple(policy.qi), self.source.stage.values, found)
        return sketch_of(collected(self._merged(mapped(records, task), MergeSketches())))

    def _merged(self, found: Any, task: OnRows) -> Any:
        """What many tasks have found, merged by a few before it goes to the driver."""
        return found if self.tasks <= 2 * FAN else mapped(found.repartition(FAN), task)

    @told
    def decide(self, table: Coded, plan: Plan) -> Decision:
        """The best l, and whether a release is possible."""
        if plan.policy.l == "auto":
            plan = plan.decided(l=best_l(table.book))
        check_eligible(table.book, plan.models)
        exposed, cautions = told_before(only(self.source.staged, "records"), _light(table), plan)
        return Decision(plan, exposed=tuple(exposed), cautions=tuple(cautions))

    @told
    def partition(self, table: Coded, decision: Decision) -> Grouped:
        """Deal the records out to ranges; group and recode each."""
        plan, light = decision.plan, _light(table)
        ranges = self._ranges(table, plan, self.records)
        parts = 1 if ranges is None else len(ranges.sizes)
        dealt = mapped(self.records, DealOut(light, ranges, plan.seed))
        persons = table.stage.person is not None
        moves = ranges is not None and (persons or ranges.lent is not None)
        if ranges is not None and ranges.lent is not None:
            dealt = self._kept(dealt)
            cells = each_to(only(dealt, "cell"), len(ranges.lent.cells))
            settled_ = mapped(cells, SettleLoans(light, ranges, plan.seed))
            dealt = only(dealt, "records", "away").unionByName(settled_)
        course = None if ranges is None else ranges.course
        self.report("partition", 0, table.records)
        task = GroupRanges(light, plan, course, moves)
        grouped = self._kept(mapped(each_to(dealt, parts), task))
        known = [told_by(row.packet) for row in collected(only(grouped, "facts"))]
        found: list[RangeFacts] = known
        facts, proof = dict(found[0].facts), found[0].proof
        if ranges is not None:
            facts, proof = facts_of(ranges, plan, list(plan.policy.qi)), ""
        self.report("partition", table.records, table.records)
        first_persons, counted = dict[int, int](), 0
        for one in sorted(found, key=lambda f: f.number):
            first_persons[one.number] = counted
            counted += one.persons
        return Grouped(
            grouped, parts, reduce(add, (f.loss for f in found)),
            reduce(add, (f.before for f in found)), facts, proof, first_persons,
        )  # fmt: skip

    def _ranges(self, table: Coded, plan: Plan, records: Any) -> Ranges | None:
        """The plan of ranges; None where all records are one."""
        size = range_size(plan, table.records)
        if size is None:
            return None
        assert table.sketch is not None
        book = table.book
        course = course_of(plan, table.sketch, book.qi, book.counts)
        values = sum(column.size for column in book.sensitive)
        borders = Borders(course, table.sketch, table.records, size, values)
        self.report("ranges", 0, 2 * table.records)
        counted = mapped(records, CountBuckets(_light(table), borders, plan.models, plan.seed))
        counts = counts_of(
            collected(self._merged(counted, MergeCounts())), borders, table, plan.models
        )
        ranges = Ranges.of(borders, counts, size)
        self.report("ranges", table.records, 2 * table.records)
        return ranges

    @told
    def recode(self, table: Coded, groups: Grouped, plan: Plan) -> Draft:
        """Write the release in canonical order, as it will be handed out."""
        assert self.cluster is not None
        self.report("recode", 0, 1)
        folder = self.cluster.spill.path.resolve()
        ranked = self._kept(mapped(only(groups.frame, "classes").repartition(1), RankClasses()))
        (row,) = collected(only(ranked, "order"))
        order: Order = told_by(row.packet)
        count = len(order.first_ranks)
        of_ranges = only(groups.frame, "grouped").unionByName(only(ranked, "ranks"))
        placed = mapped(
            each_to(of_ranges, groups.ranges), PlaceRecords(order, groups.first_persons)
        )
        whole = placed.unionByName(only(ranked, "published"))
        self.report("write", 0, table.records)
        target = self.target if isinstance(self.target, Path) else None
        task = WriteParts(
            _light(table), order, folder, ".parquet", self.source.delimiter,
            table.records // SAMPLE if table.records > 2 * SAMPLE else 1,
        )  # fmt: skip
        written = [told_by(r.packet) for r in collected(mapped(each_to(whole, count), task))]
        parts = tuple(sorted((w for w, _, _ in written), key=lambda w: w.number))
        _, qi, names = written[0]
        files = tuple(folder / part.name for part in parts)
        if not all(file.exists() for file in files):
            raise OutputError(
                f"engine spark: the driver does not see what executors wrote in {folder}; name a "
                "folder that all of them see (temp)"
            )
        digests = {part.name: part.sha256 for part in parts}
        fingerprint = hash_of_all(parts)
        if target is not None and not is_folder(target):
            files, fingerprint = joined(self.session, folder, parts, target, self.source.delimiter)
            digests = {files[0].name: fingerprint}
        sample = Sample(table.records)
        sample.parts = [part.sample for part in parts if part.sample is not None]
        self.report("write", table.records, table.records)
        persons = table.stage.person is not None
        people = tuple(folder / people_name(part.number) for part in parts) if persons else ()
        return Draft(parts, files, digests, fingerprint, qi, names, sample, groups, people)

    @told
    def verify(self, draft: Draft, plan: Plan) -> Verification:
        """Check the written files."""
        self.report("verify", 0, 1)
        assert self.source.stage is not None
        policy, records = plan.policy, self.source.stage.records
        schema = draft.parts[0].schema
        written = WrittenParts(
            self.session, draft.files, draft.names, schema, policy, draft.qi, draft.people
        )
        found = written.check(draft.qi, plan.models, records)
        self.exposed = tuple(written.exposed(draft.qi, draft.sample, records))
        self.unprotected = tuple(written.unprotected(records))
        self.values = written.values
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
        """The release in its files, with everything that its manifest tells."""
        self._forget()
        people = people_in(draft.people) if draft.people else None
        armed = decision.plan.policy.csv_safe
        return SparkRelease(
            **self._told(table, draft, draft.grouped, verification, measured, decision, people),
            table=TableInFiles(draft.files, draft.names, table.records, armed, self.values),
            rest=self.source.rest,
            kind="pyarrow",
            delimiter=self.source.delimiter,
            fingerprint=draft.fingerprint,
            parts=draft.parts,
            files=draft.files,
            digests=draft.digests,
            people=draft.people,
            cluster=self.cluster,
        )


def _light(table: Coded) -> Coded:
    """What tasks need of the codebook: not the sketch."""
    return replace(table, sketch=None)
