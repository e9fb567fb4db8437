"""A release of a series: the flow of the memory engine, with the chain in mind."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.encode import encode
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.engines.base import Decision, Measured
from shoal.engines.memory.engine import Draft, Encoded, MemoryEngine, Source
from shoal.engines.memory.facts import before_of
from shoal.engines.memory.outliers import Kept
from shoal.methods.base import Outcome, Run
from shoal.methods.bsgi import BSGIOptions
from shoal.plan import Plan
from shoal.policy import Policy
from shoal.progress import Report, silent
from shoal.quantities import share_of
from shoal.release import Release, SeriesPart
from shoal.series.asking import Asked, refuse_plain
from shoal.series.cohorts import cohorts
from shoal.series.invariant import Grouped, invariant_groups, people_of
from shoal.series.packing import packed_hashes, packed_numbers
from shoal.series.persons import Numbering, check_changed, check_known, hashes_of
from shoal.series.proof import check_signatures
from shoal.verification.check import Verification, released_classes
from shoal.verification.following import Follows

if TYPE_CHECKING:
    from shoal.bounds import Bound

__all__ = ["SeriesEngine"]

Rows = NDArray[np.int64]
FORMAT = 1


@dataclass(eq=False)
class _Work:
    """What one release of a series finds out on its way."""

    hashes: list[bytes] = field(default_factory=list)
    """Of the person of each record."""
    numbers: Rows = field(default_factory=lambda: np.zeros(0, np.int64))
    """Of the person of each record in the chain, -1 for new ones."""
    encoded: Encoded | None = None
    """Records and counterfeits."""
    group: Rows = field(default_factory=lambda: np.zeros(0, np.int64))
    """Of each of them."""
    values: Numbering | None = None
    value: Rows = field(default_factory=lambda: np.zeros(0, np.int64))
    signature: Rows = field(default_factory=lambda: np.zeros(0, np.int64))
    """Of each of them: its place in `signatures`."""
    signatures: list[tuple[int, ...]] = field(default_factory=list)
    """Those of the chain, then new ones; values as numbers."""


class SeriesEngine(MemoryEngine):
    """Groups that keep what earlier releases promised; counterfeits where nobody else can."""

    def __init__(
        self, asked: Asked, report: Report = silent, follows: Follows | None = None
    ) -> None:
        super().__init__(report)
        self.asked, self.follows = asked, follows
        self._work = _Work()

    def settle(self, source: Source, policy: Policy) -> tuple[Source, Policy]:
        """See `Engine`: and tell persons, while their column is there."""
        source, policy = super().settle(source, policy)
        refuse_plain(policy)
        asked, work = self.asked, self._work
        column = source.table.column(asked.person)
        work.hashes = hashes_of(column, asked.person, policy, asked.chain.key)
        work.numbers = asked.chain.numbers_of(work.hashes)
        check_known(asked, work.numbers)
        return source, policy

    def check_possible(self, table: EncodedTable, plan: Plan) -> None:
        """The first release is of real records; later, counterfeits may make up for the table."""
        if not self.asked.chain.links:
            super().check_possible(table, plan)

    def partition(self, encoded: Encoded, decision: Decision) -> Kept:
        """Groups in which everybody keeps what earlier releases said of him."""
        plan = decision.plan
        if self.asked.promise == "k":
            kept, self._work.group = cohorts(
                encoded.table, plan, self.asked.chain, self._work.numbers, self.report
            )
            self._work.encoded = encoded
            return kept
        return self._invariant(encoded, plan)

    def _invariant(self, encoded: Encoded, plan: Plan) -> Kept:
        work, chain, table = self._work, self.asked.chain, encoded.table
        work.values = Numbering(table.sensitive[0], chain, plan.policy)
        value = work.values.of_code[table.sensitive_codes[0]]
        known = work.numbers >= 0
        signature = np.full(table.n, -1, dtype=np.int64)
        signature[known] = chain.signature[work.numbers[known]]
        assert plan.policy.m is not None
        assert isinstance(plan.options, BSGIOptions)
        check_changed(value, signature, work.values.signatures, plan.policy.m)
        # which record comes first must not follow from the order of the input
        order = np.random.default_rng((plan.seed, 0)).permutation(table.n)
        shuffled = plan.seen(table.take(order))
        people = people_of(shuffled, value[order], signature[order], plan.seed)
        common = np.bincount(value, minlength=len(work.values.labels)).astype(np.int64)
        found = invariant_groups(
            shuffled, people, work.values.signatures, plan.policy.m, common, plan.options,
            Run(plan.seed), counterfeits=plan.policy.counterfeits,
            most=_most(plan.policy, table.n),
        )  # fmt: skip
        self._note(encoded, plan, found, value, order)
        assert work.encoded is not None
        recoding = Recoding.single(Partition.from_group_ids(work.group), len(table.qi))
        facts = {"m": plan.policy.m, "counterfeits": len(found.values)}
        outcome = Outcome(replace(recoding, stars=plan.recoding != "generalise"), facts)
        return Kept(work.encoded.table, outcome)

    def _note(self, encoded: Encoded, plan: Plan, found: Grouped, value: Rows, order: Rows) -> None:
        """Keep groups and signatures of all records, in the input's order, and counterfeits."""
        work, n = self._work, encoded.table.n
        assert work.values is not None
        work.group = np.empty(len(found.groups), dtype=np.int64)
        work.group[order], work.group[n:] = found.groups[:n], found.groups[n:]
        work.value = np.concatenate([value, found.values])
        number = {own: i for i, own in enumerate(work.values.signatures)}
        work.signatures = list(work.values.signatures)
        of_group = np.empty(len(found.signatures), dtype=np.int64)
        for group, own in enumerate(found.signatures):
            if own not in number:
                number[own] = len(work.signatures)
                work.signatures.append(own)
            of_group[group] = number[own]
        work.signature = of_group[work.group]
        work.encoded = encoded
        if len(found.values):
            work.encoded = self._with_counterfeits(encoded, plan, order[found.near], found.values)

    def _with_counterfeits(self, encoded: Encoded, plan: Plan, near: Rows, values: Rows) -> Encoded:
        """The microdata with a row for each counterfeit: the place of a mate, another value.

        The value is written as in a row that is drawn of those that have it: its spelling
        tells nothing.
        """
        source, policy = encoded.source, plan.policy
        assert self._work.values is not None
        labels, value = self._work.values.labels, self._work.value[: encoded.table.n]
        like = _drawn_rows(value, values, plan.seed)
        columns = {}
        for name in source.table.column_names:
            column = source.table.column(name)
            if name in policy.sensitive:
                more = _cells(column, like, [labels[v] for v in values])
            else:
                more = column.take(pa.array(near))
            columns[name] = pa.chunked_array([*column.chunks, *more.chunks], column.type)
        table = pa.table(columns)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is odd about the columns was said before
            codes = encode(table, policy)
        return Encoded(source._replace(table=table), codes)

    def recode(self, encoded: Encoded, kept: Kept, plan: Plan) -> Draft:
        """See `Engine`."""
        return super().recode(self._all(encoded), kept, plan)

    def verify(self, draft: Draft, plan: Plan) -> Verification:
        """The models, and that signatures are kept: from the text as it would be published."""
        found = super().verify(draft, plan)
        if self.asked.promise == "m" and found.holds:
            work, rows = self._work, draft.published.rows
            check_signatures(
                draft.published.table, draft.published.qi, work.value[rows],
                work.signature[rows], work.signatures, plan.policy.m or 1,
            )  # fmt: skip
            known = work.numbers >= 0
            before = self.asked.chain.signature[work.numbers[known]]
            assert (work.signature[: len(known)][known] == before).all()
        return found

    def measure(
        self, encoded: Encoded, draft: Draft, verification: Verification, plan: Plan
    ) -> Measured:
        """See `Engine`; counterfeits count as records, as readers see them."""
        return super().measure(self._all(encoded), draft, verification, plan)

    def bound(self, encoded: Encoded, draft: Draft, plan: Plan) -> Bound | None:
        """None: what a chain leaves possible is not what bounds are of."""
        return None

    def release(
        self, encoded: Encoded, draft: Draft, verification: Verification, measured: Measured,
        bound: Bound | None, decision: Decision,
    ) -> Release:  # fmt: skip
        """The release, with its part of the chain."""
        plain = super().release(self._all(encoded), draft, verification, measured, bound, decision)
        before, stood_out = before_of(encoded.table, decision.plan)
        return replace(
            plain,
            before=before,
            risk_before=stood_out,
            series=self._part(draft, decision.plan, encoded.table.n),
        )

    def _all(self, encoded: Encoded) -> Encoded:
        """Records and counterfeits, once there are any."""
        return self._work.encoded or encoded

    def _part(self, draft: Draft, plan: Plan, real: int) -> SeriesPart:
        """What the record keeps for the next release, and what is told in public."""
        asked, work, chain = self.asked, self._work, self.asked.chain
        rows = draft.published.rows if draft.kept.rows is None else (
            draft.kept.rows[draft.published.rows]
        )  # fmt: skip
        published = np.zeros(real, dtype=np.bool_)
        published[rows[rows < real]] = True
        fresh = np.flatnonzero(published & (work.numbers < 0))
        fresh = fresh[np.argsort(np.array([work.hashes[row] for row in fresh], dtype="S16"))]
        numbers = np.append(work.numbers, np.full(len(work.group) - real, -1))
        numbers[fresh] = chain.persons + np.arange(len(fresh))
        own = work.signature[fresh] if asked.promise == "m" else np.zeros(len(fresh))
        texts = [] if work.values is None else [
            list(work.values.texts(one)) for one in work.signatures[len(chain.signatures) :]
        ]  # fmt: skip
        if asked.promise == "k" and not chain.links:
            texts = [[]]
        last = chain.last
        before = None if last is None else {"file": str(last.path.absolute()),
                                            "sha256": last.sha256}  # fmt: skip
        invented = int((rows >= real).sum())
        public: dict[str, Any] = {
            "number": len(chain.links) + 1,
            "promise": asked.promise,
            "append": asked.append,
            **({"counterfeits": invented} if asked.promise == "m" else {}),
            **({} if last is None else {"after": _released(last.release)}),
        }
        private = {
            **public, "format": FORMAT, "previous": before,
            **({} if last is not None else {"key": chain.key.hex()}),
            "m": plan.policy.m, "k": plan.policy.k, "person": asked.person,
            "qi": list(plan.policy.qi), "sensitive": list(plan.policy.sensitive),
            "twins": plan.policy.twins,
            "new": packed_hashes([work.hashes[row] for row in fresh]),
            "signature": packed_numbers(own), "signatures": texts,
            "rows": packed_numbers(numbers[rows]),
            "classes": packed_numbers(work.group[rows]),
        }  # fmt: skip
        told = _counterfeit_table(draft, rows >= real) if asked.promise == "m" else None
        alone = None if self.follows is None else self.follows.alone
        return SeriesPart(private, public, told, alone)


def _most(policy: Policy, records: int) -> int:
    """How many counterfeits may be made where fewer would do."""
    return 0 if policy.max_counterfeits is None else int(
        share_of(policy.max_counterfeits) * records
    )  # fmt: skip


def _released(release: Any) -> dict[str, Any]:
    return {name: release.get(name) for name in ("file", "sha256")}


def _drawn_rows(value: Rows, wanted: Rows, seed: int) -> Rows:
    """For each wanted value a row that has it, drawn; -1 where none has."""
    order = np.argsort(value, kind="stable")
    begin, end = np.searchsorted(value[order], wanted), np.searchsorted(
        value[order], wanted, side="right"
    )  # fmt: skip
    luck = np.random.default_rng((seed, 3)).random(len(wanted))
    at = begin + (luck * (end - begin)).astype(np.int64)
    return np.where(end > begin, order[np.minimum(at, len(order) - 1)], -1)


def _cells(column: pa.ChunkedArray, like: Rows, texts: Sequence[str | None]) -> pa.ChunkedArray:
    """Cells of a column: as in a row that has the value, or by its text where none has."""
    if (like >= 0).all():
        return column.take(pa.array(like))
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    cells = [
        column[int(row)].as_py() if row >= 0 else None if text is None
        else pa.scalar(text).cast(kind).as_py()
        for row, text in zip(like.tolist(), texts, strict=True)
    ]  # fmt: skip
    made = pa.chunked_array([pa.array(cells, kind)])
    return made if column.type == kind else made.cast(column.type)


def _counterfeit_table(draft: Draft, invented: NDArray[np.bool_]) -> pa.Table:
    """One row a class that has counterfeits: its quasi-identifiers, and how many (the paper's R).

    Readers of statistics take them off; which records they are nobody is told.
    """
    table, qi = draft.published.table, draft.published.qi
    ids, count = released_classes(table, qi)
    many = np.bincount(ids[invented], minlength=count)
    first = np.full(count, -1, dtype=np.int64)
    first[ids[::-1]] = np.arange(len(ids))[::-1]
    with_some = np.flatnonzero(many)
    order = with_some[np.argsort(first[with_some], kind="stable")]
    rows = table.select(list(qi)).take(pa.array(first[order]))
    return rows.append_column("counterfeits", pa.array(many[order]))
