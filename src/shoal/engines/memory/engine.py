"""The engine that holds all records in memory."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.clock import Limit
from shoal.encoding.classes import class_sizes
from shoal.encoding.encode import encode
from shoal.encoding.exposure import exposed
from shoal.encoding.noting import notations
from shoal.encoding.pseudonyms import with_pseudonyms
from shoal.encoding.publish import Published, publish
from shoal.encoding.rebuild import fingerprint_of
from shoal.encoding.recode import RecodedColumn
from shoal.encoding.released_span import by_what_is_kept
from shoal.encoding.rest import left_over, settled, with_known_orders
from shoal.encoding.table import EncodedTable, Recoding
from shoal.encoding.treating import seen_before_groups, treated
from shoal.encoding.weights import about_weights, with_weights
from shoal.engines.base import Decision, Engine, Measured
from shoal.engines.memory.bound import BOUND_SHARE, bound_of
from shoal.engines.memory.budget import best_l, decided_by_kept, strongest
from shoal.engines.memory.canonical import canonical
from shoal.engines.memory.facts import (
    before_of,
    disclosure_of,
    exposed_in,
    loss_held_by,
    lost_by_all,
    method_used,
    proof_of_rest,
    suppression_of,
    unprotected_in,
)
from shoal.engines.memory.foresight import seconds_after_partition
from shoal.engines.memory.giving_back import give_back
from shoal.engines.memory.levels import best_levels
from shoal.engines.memory.outliers import Kept, for_rest, partition_kept, with_stars
from shoal.engines.memory.partition import partition_eligible, recode_merging_equal_texts
from shoal.engines.memory.repair import breakable, mended
from shoal.engines.memory.size import advice
from shoal.engines.ranges.grouping import grouped_by_ranges
from shoal.engines.ranges.which import range_size
from shoal.errors import InfeasibleError, NotFoundError, ShoalError, ShoalWarning
from shoal.io.addresses import Address, Place, place_of
from shoal.io.folders import files_of
from shoal.io.frames import to_arrow
from shoal.io.parts import file_and_part
from shoal.io.read import delimiter_of
from shoal.io.several import is_several
from shoal.io.write import sha256_of
from shoal.metrics.loss import measure
from shoal.models import check_eligible
from shoal.plan import Plan
from shoal.policy import Policy
from shoal.release import Budget, Release
from shoal.verification.check import Verification, check_release, check_separated

if TYPE_CHECKING:
    from shoal.bounds import Bound

__all__ = ["Draft", "Encoded", "MemoryEngine", "Source"]

COARSEN_SHARE = 0.25
"""Of the time that there is, what the search of levels may take."""


FINDING_SHARE = 0.5
"""Of a method's time, what finding outliers may take: those that are kept are grouped anew."""


class Source(NamedTuple):
    """The microdata as they came."""

    table: pa.Table
    kind: str
    """What the caller brought: the release is of the same kind."""
    path: Place | None = None
    """The input's file or address, if it was one."""
    rest: tuple[str, ...] = ()
    """Columns about which the policy's ``rest`` decided."""
    sha256: str | None = None
    """Of that file, for the private record."""
    delimiter: str | None = None
    """Of that file, if it is CSV: the release keeps it."""
    untreated: pa.Table | None = None
    """The table before its columns were treated, where some were."""

    def kept(self, rows: NDArray[np.int64], plan: Plan) -> pa.Table:
        """Some of the records, treated as if there had never been others."""
        if self.untreated is None:
            return self.table.take(pa.array(rows))
        return treated(self.untreated.take(pa.array(rows)), plan.policy, plan.seed)


class Encoded(NamedTuple):
    """The microdata and their codes: what is not recoded is published from the source."""

    source: Source
    table: EncodedTable


class Draft(NamedTuple):
    """A release that is not yet known to satisfy its models."""

    kept: Kept
    recoding: Recoding
    recoded: tuple[RecodedColumn, ...]
    published: Published
    persons: NDArray[np.int32] | None
    """Person of each released record, where persons are declared."""


class MemoryEngine(Engine[Source, Encoded, Kept, Draft]):
    """All records at once, on the threads of one machine."""

    name = "memory"
    summary = "all records in memory: tables that fit into it several times"

    def read(self, data: Any, policy: Policy) -> Source:
        """An Arrow table from whatever the caller has."""
        self.report("read", 0, 1)
        place = place_of(data) if isinstance(data, str | Path | Address) else None
        path = file_and_part(place)[0] if isinstance(place, Path) else None
        files = files_of(data) if is_several(data) else []
        table, kind = to_arrow(data, policy.missing, policy.encoding, policy.delimiter)
        # What is no regular file, as a pipe, cannot be read twice.
        digest = sha256_of(path) if path is not None and path.is_file() else None
        first = files[0] if files else path if digest is not None else None
        delimiter = delimiter_of(first, policy.encoding, policy.delimiter)
        return Source(table, kind, place, sha256=digest, delimiter=delimiter)

    def settle(self, source: Source, policy: Policy) -> tuple[Source, Policy]:
        """Ask about the columns as soon as their names are known."""
        names = source.table.column_names
        complete, rest = settled(names, policy), left_over(names, policy)
        table = source.table
        if rest and policy.rest == "drop":
            table = table.drop_columns(list(rest))
        complete = with_known_orders(table, complete)
        found = notations(table, _read_by_value(complete), complete)
        complete = complete.override(notation=found)
        return source._replace(table=with_weights(table, complete), rest=rest), complete

    def treat(self, source: Source, policy: Policy, seed: int) -> Source:
        """Treated before anybody looks: models, risks and notices are of what is published."""
        if not policy.treat:
            return source
        table = treated(source.table, policy, seed)
        return source._replace(table=table, untreated=source.table)

    def encode(self, source: Source, policy: Policy) -> Encoded:
        """Codes of all records."""
        self.report("encode", 0, 1)
        if told := advice(source.table):
            warnings.warn(ShoalWarning(told), stacklevel=2)
        table = encode(source.table, policy)
        give_back(table.n)
        return Encoded(source, table)

    def coarsen(self, encoded: Encoded, plan: Plan) -> tuple[Encoded, Plan]:
        """The levels of least loss, found on all records in canonical order."""
        if not plan.policy.coarsen_open:
            return encoded, plan
        self.report("coarsen", 0, 1)
        auto = plan.policy.l == "auto"
        trial = plan.decided(l=best_l(encoded.table.codebook)) if auto else plan
        check_eligible(encoded.table.codebook, trial.models)
        ordered = canonical(encoded.table, plan.seed).table
        chosen = best_levels(ordered, trial, self.limit.share(COARSEN_SHARE))
        plan = plan.with_settings(coarsen={**plan.policy.coarsen, **chosen})
        return self.encode(encoded.source, plan.policy), plan

    def decide(self, encoded: Encoded, plan: Plan) -> Decision:
        """The best l, the strongest level within a budget of loss, and what to warn of."""
        self.report("partition", 0, 1)
        table, undecided = encoded.table, plan
        budget: Budget | None = None
        groups: Kept | None = None
        if plan.policy.l == "auto":
            plan = plan.decided(l=best_l(table.codebook))
        drops = plan.policy.suppressible(table.n) and plan.policy.suppress_by == "drop"
        if plan.open:
            ordered = canonical(table, plan.seed)

            def alone(kept: Kept, trial: Plan, limit: Limit | None) -> Kept:
                return self._alone(encoded, ordered.back(self._mended(kept, trial)), trial, limit)

            plan, budget, kept = strongest(ordered.table, plan, self.report, self.limit, alone)
            everybody = kept.rows is None
            groups = ordered.back(self._mended(kept, plan)) if everybody else kept
        elif undecided.open and drops:
            self.check_possible(table, plan)
            groups = self._without_some(encoded, plan)
        if drops and groups is not None and groups.rows is not None:
            by = partial(self._alone, encoded)
            found = decided_by_kept(groups, undecided, by, self.limit)
            plan, budget, groups = found or (plan, budget, groups)
        else:
            self.check_possible(table, plan)
        cautions = plan.method.cautions(plan.seen(table), plan.models, plan.options)
        source = encoded.source.table
        known = exposed(source, table, _without_means(plan.policy), plan.policy.k or 0)
        known += about_weights(source, plan.policy)
        return Decision(plan, budget, groups, tuple(known), tuple(cautions), undecided.open)

    def check_possible(self, table: EncodedTable, plan: Plan) -> None:
        """Refuse what no release of the table can satisfy."""
        check_eligible(table.codebook, plan.models)

    def partition(self, encoded: Encoded, decision: Decision) -> Kept:
        """Groups by the plan's method, of the records that are kept."""
        plan = decision.plan
        shown: Kept | None = decision.groups
        if shown is not None and not self.limit.given:
            return shown
        if not plan.policy.suppressible(encoded.table.n):
            found = self._everybody(encoded, plan)
        elif shown is not None and shown.rows is not None:  # who is kept has decided the level
            found = self._alone(encoded, shown, plan)
        else:
            found = self._without_some(encoded, plan)
        return found if shown is None or found.loss_alone <= shown.loss_alone else shown

    def _without_some(self, encoded: Encoded, plan: Plan) -> Kept:
        """Groups of those who are kept, where some may be suppressed."""
        ordered = canonical(encoded.table, plan.seed)
        limit = self._for_method(encoded, plan)
        finding = limit.share(FINDING_SHARE)
        kept = partition_kept(ordered.table, plan, self.report, finding, regrouped=True)
        return self._alone(encoded, ordered.back(self._mended(kept, plan)), plan)

    def _alone(self, encoded: Encoded, kept: Kept, plan: Plan, limit: Limit | None = None) -> Kept:
        """Kept records grouped anew, as if those who are suppressed had never been there.

        Spans, kinds, trees and the order of ties would else follow from all records, and so
        would the groups: whoever knows all others could test guesses about one who was dropped.
        Where no groups are found that way, which no reader can know, those that were found stay.
        Groups found anew can lose a little more on the scale of all records than those that
        made it worth to leave somebody out: that is the price of telling nothing about them.
        """
        if kept.rows is None:
            return kept
        if plan.policy.suppress_by == "star":  # everybody is published
            source = encoded.source.table.take(pa.array(kept.rows))
        else:
            source = encoded.source.kept(kept.rows, plan)
        asked = for_rest(plan, kept.table.n, encoded.table.n)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what is odd about the columns was said before
                table = encode(source, plan.policy)
            check_eligible(table.codebook, asked.models)
            rest = encoded._replace(source=encoded.source._replace(table=source), table=table)
            outcome = self._everybody(rest, asked, limit).outcome
        except ShoalError:
            return kept
        among_all = kept.table if kept.among_all is None else kept.among_all
        found = Kept(table, outcome, kept.rows, kept.suppressed, among_all)
        return found._replace(outcome=replace(outcome, proof=proof_of_rest(kept, found)))

    def _mended(self, kept: Kept, plan: Plan) -> Kept:
        """Groups that hold when published, wherever what a method promises group by group can fail.

        Records that are left out can be taken in again: see `with_outliers`.
        """
        if not breakable(kept.table, plan):
            return kept
        try:
            found = mended(kept, plan, self.limit)
        except (InfeasibleError, NotFoundError):
            if kept.suppressed:
                return kept
            raise
        most = plan.policy.max_loss
        if most is not None and found is not kept and found.loss > most:
            raise NotFoundError(
                f"max_loss: no release was found that counts persons and loses at most {most}; "
                "there may be one: try another method, or a larger max_loss"
            )
        return found

    def _everybody(self, encoded: Encoded, plan: Plan, limit: Limit | None = None) -> Kept:
        """Groups of all records, made until a limit: by default all the time there is.

        Those of a long table are made in ranges, as every engine makes them.
        """
        size = range_size(plan, encoded.table.n)
        if size is not None:
            outcome = grouped_by_ranges(encoded.table, plan, size, self.report)
            give_back(encoded.table.n)
            return Kept(encoded.table, outcome)
        ordered = canonical(encoded.table, plan.seed)
        limit = limit or self._for_method(encoded, plan)
        outcome = partition_eligible(ordered.table, plan, self.report, limit)
        return ordered.back(self._mended(Kept(ordered.table, outcome), plan))

    def _for_method(self, encoded: Encoded, plan: Plan) -> Limit:
        """Until when the method may work, so that all that comes after it has its time."""
        if not self.limit.given:
            return self.limit
        quiet = MemoryEngine()
        limit = self.limit.before(seconds_after_partition(quiet, encoded, plan))
        return limit.share(1 - BOUND_SHARE) if plan.proves else limit

    def recode(self, encoded: Encoded, kept: Kept, plan: Plan) -> Draft:
        """Recode and publish what is kept, and as stars what is suppressed but released."""
        self.report("recode", 0, 1)
        source, person, outcome = encoded.source.table, kept.table.person, kept.outcome
        recoding, recoded = recode_merging_equal_texts(kept.table, plan.models, outcome.recoding)
        give_back(kept.table.n)
        released = recoded
        if kept.rows is not None and plan.policy.suppress_by == "star":
            released = with_stars(recoded, kept.rows, encoded.table.n)
            person = encoded.table.person
        elif kept.rows is not None:
            source = encoded.source.kept(kept.rows, plan)
        published = publish(source, released, plan.policy, outcome.separated)
        published = with_pseudonyms(published, source, plan.policy, plan.seed)
        persons = None if person is None else person[published.rows]
        give_back(published.table.num_rows)
        return Draft(kept, recoding, released, published, persons)

    def verify(self, draft: Draft, plan: Plan) -> Verification:
        """Check the published table, or both of them."""
        self.report("verify", 0, 1)
        tables, models, policy = draft.published, plan.models, plan.policy
        if tables.sensitive_table is not None:
            return check_separated(tables.table, tables.sensitive_table, models, policy)
        return check_release(tables.table, tables.qi, models, policy, person=draft.persons)

    def with_outliers(self, encoded: Encoded, kept: Kept, plan: Plan) -> Kept | None:
        """Groups of all records, where some were suppressed."""
        # Stars can join a class that was starred anyway and, counting persons, break it.
        if not kept.suppressed:
            return None
        if plan.policy.max_loss is not None:
            raise InfeasibleError(
                "max_loss: no release without the outliers holds; leave out max_suppressed"
            )
        return self._mended(self._everybody(encoded, plan), plan)

    def measure(
        self, encoded: Encoded, draft: Draft, verification: Verification, plan: Plan
    ) -> Measured:
        """Loss of the release, and the classes that its readers see."""
        self.report("measure", 0, 1)
        kept, source = draft.kept, encoded.source.table
        sizes = verification.class_sizes
        if kept.outcome.separated is not None:  # told apart by exact quasi-identifiers
            sizes = class_sizes(kept.table.columns(), kept.table.n)
        stars = [column.starred() for column in draft.recoded]
        loss = measure(*kept.priced(draft.recoding), sizes, stars, kept.suppressed)
        if kept.rows is None:
            del stars
            give_back(kept.table.n)
            risk = disclosure_of(kept, draft.recoding, plan)
            give_back(kept.table.n)
            return Measured(loss, sizes, disclosure=risk)
        risk = disclosure_of(kept, draft.recoding, plan)
        own = (kept.table, draft.recoding)
        if kept.among_all is None:
            own = by_what_is_kept(source, kept.rows, kept.table, draft.recoding, plan.policy)
        # The stars of suppressed records are there to be counted; dropped records are not.
        seen = kept.suppressed if plan.policy.suppress_by == "star" else 0
        return Measured(loss, sizes, measure(*own, sizes, stars, seen), risk)

    def bound(self, encoded: Encoded, draft: Draft, plan: Plan) -> Bound | None:
        """A bound for all records, whatever was suppressed; none for exact quasi-identifiers."""
        if not plan.proves or draft.kept.outcome.separated is not None:
            return None
        ordered = canonical(encoded.table, plan.seed)
        lost = lost_by_all(encoded.table, draft.kept, draft.recoding)[ordered.order]
        return bound_of(ordered.table, plan, self.report, self.limit, lost)

    def release(
        self,
        encoded: Encoded,
        draft: Draft,
        verification: Verification,
        measured: Measured,
        bound: Bound | None,
        decision: Decision,
    ) -> Release:
        """The released tables with all that is known about them."""
        plan, table = decision.plan, encoded.table
        before, stood_out = before_of(table, plan)
        return Release(
            table=draft.published.table,
            policy=plan.policy,
            models=plan.models,
            qi=draft.published.qi,
            loss=measured.loss,
            verification=verification,
            method=method_used(plan, draft.kept),
            class_sizes=measured.class_sizes,
            kinds=draft.kept.table.codebook.kinds,
            released_loss=measured.released,
            disclosure=measured.disclosure,
            bound=bound,
            budget=decision.budget,
            left_open=decision.left_open,
            seed=plan.seed,
            suppressed=suppression_of(plan, draft.kept, table.n),
            exposed=exposed_in(draft.published, plan),
            unprotected=unprotected_in(draft.published, plan),
            exposed_in_input=decision.exposed,
            risk_before=stood_out,
            cautions=decision.cautions,
            searched=tuple(self.searched),
            before=before,
            kind=encoded.source.kind,
            persons=draft.persons,
            source=encoded.source.path,
            rest=encoded.source.rest,
            source_sha256=encoded.source.sha256,
            delimiter=encoded.source.delimiter,
            sensitive_table=draft.published.sensitive_table,
            outliers=loss_held_by(draft.kept, draft.recoding),
            fingerprint=fingerprint_of(draft.published.table, draft.published.sensitive_table),
            verified_as=(plan.models, plan.policy, draft.published.qi, draft.persons, verification),
        )


def _read_by_value(policy: Policy) -> list[str]:
    """Columns whose dates and numbers are read, in whatever notation."""
    weights = [policy.weight_column] if policy.weight_as == "round" else []
    treated = [name for name in policy.treat if name not in policy.sensitive]
    return [*policy.qi, *policy.sensitive, *treated, *(name for name in weights if name)]


def _without_means(policy: Policy) -> Policy:
    """Plain columns whose values are seen before groups are made."""
    return policy.model_copy(update={"plain": seen_before_groups(policy)})
