"""A time is a limit that every step is handed and keeps; efforts know no clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from columns import encoded_table
from conformance import MODELS
from shoal import clock
from shoal.bounds import lower_bound
from shoal.clock import NO_LIMIT, Limit
from shoal.encoding.classes import class_ids
from shoal.encoding.table import Partition
from shoal.engines.memory import foresight
from shoal.errors import PolicyError
from shoal.explore import compare as comparing
from shoal.methods import get_method
from shoal.methods.attributes import fewest_suppressed
from shoal.methods.base import Run
from shoal.methods.best import improver
from shoal.methods.best.improver import Improver
from shoal.methods.best.rounds import rounds_of
from shoal.methods.best.starts import Starts
from shoal.methods.exact import Deadline, matching
from shoal.methods.mondrian import cut_table
from shoal.models import DistinctL, FrequencyL, KAnonymity, TCloseness, satisfied_classes
from tables import numbers, random_table

ASKED = [
    [KAnonymity(3)],
    [FrequencyL(2)],
    [KAnonymity(4), DistinctL(2)],
    [TCloseness.of(0.3)],
]


class FakeClock:
    """A clock that goes on by so much whenever it is looked at."""

    def __init__(self, tick: float) -> None:
        self.moment, self.tick, self.looks = 0.0, tick, 0

    def __call__(self) -> float:
        self.looks += 1
        self.moment += self.tick
        return self.moment


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """Every look at the clock takes a second."""
    fake = FakeClock(1.0)
    for module in ("shoal.clock", "shoal.methods.best.rounds", "shoal.methods.best.method"):
        monkeypatch.setattr(f"{module}.now", fake)
    return fake


def a_table(seed: int = 2, n: int = 300):
    return random_table(np.random.default_rng(seed), n, values=6, stars=False, weights=False)


def holds(table, models, partition: Partition) -> bool:
    assert sorted(partition.order.tolist()) == list(range(table.n))
    return bool(satisfied_classes(table, models, partition.group_ids()).all())


class TestLimits:
    def test_none_never_passes(self) -> None:
        limit = Limit.after(None)
        assert limit is NO_LIMIT
        assert not limit.given
        assert not limit.up
        assert limit.share(0.5) is limit
        assert limit.before(3) is limit

    def test_shares_of_what_is_left(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(clock, "now", lambda: 100.0)
        limit = Limit.after(8)
        assert (limit.left, limit.up) == (8, False)
        assert limit.share(0.25).left == 2
        assert limit.before(6).left == 2
        assert limit.before(9).up
        assert limit.before(9).left == 0


class TestRounds:
    def test_steps_alone_without_a_limit(self) -> None:
        found = list(rounds_of(100, 4, NO_LIMIT))
        assert [each for each, _ in found] == [25] * 4
        assert found[-1][1] == 1.0

    def test_a_limit_ends_them(self, ticking: FakeClock) -> None:
        found = list(rounds_of(10**9, 10**6, Limit.after(60)))
        assert 1 < len(found) < 60
        assert ticking.moment < 70
        cooled = [share for _, share in found]
        assert cooled == sorted(cooled)

    def test_none_begins_when_it_has_passed(self, ticking: FakeClock) -> None:
        assert list(rounds_of(100, 4, Limit(0.0))) == []


class TestStartsStop:
    @pytest.mark.parametrize("models", ASKED, ids=str)
    @pytest.mark.parametrize("looks", [0, 1, 3])
    def test_cut_tree(self, models, looks, ticking: FakeClock, monkeypatch) -> None:
        monkeypatch.setattr(improver, "CUTS_AT_ONCE", 1.0)
        monkeypatch.setattr(improver, "PAIRS_AT_ONCE", 1.0)
        table = a_table()
        whole = Improver(table, models, 1).cut_tree()
        stopped = Improver(table, models, 1).cut_tree(Limit(ticking.moment + looks + 0.5))
        assert holds(table, models, stopped)
        assert stopped.groups < whole.groups
        assert stopped.groups <= 2 + 2 * looks

    @pytest.mark.parametrize("models", ASKED, ids=str)
    def test_cut_tree_in_slices_is_cut_tree(self, models, monkeypatch) -> None:
        table = a_table()
        whole = Improver(table, models, 1).cut_tree()
        monkeypatch.setattr(improver, "CUTS_AT_ONCE", 1.0)
        monkeypatch.setattr(improver, "PAIRS_AT_ONCE", 1.0)
        slices = Improver(table, models, 1).cut_tree()
        assert holds(table, models, whole)
        assert np.array_equal(whole.order, slices.order)
        assert np.array_equal(whole.offsets, slices.offsets)

    @pytest.mark.parametrize("models", ASKED, ids=str)
    def test_cut_tree_counts_its_steps(self, models, monkeypatch) -> None:
        table = a_table()
        monkeypatch.setattr(improver, "CUT_STEPS", 0.001)
        assert holds(table, models, Improver(table, models, 1).cut_tree())

    @pytest.mark.parametrize("models", ASKED, ids=str)
    def test_mondrian(self, models, monkeypatch) -> None:
        monkeypatch.setattr("shoal.methods.mondrian.SMALL", 20)
        table = a_table(n=2_000)
        stopped = cut_table(table, models, limit=Limit(0.0))
        assert holds(table, models, stopped)
        assert stopped.groups <= 2
        assert cut_table(table, models).groups > 2

    def test_near_records_along_one_curve_at_least(self) -> None:
        table = a_table()
        search = Improver(table, [KAnonymity(3)], 1)
        search.begin(Partition.from_group_ids(np.zeros(table.n, dtype=np.int64)))
        search.prepare(limit=Limit(0.0))
        assert len(search._orders) == 1
        search.prepare()
        assert len(search._orders) == improver.ORDERS


class TestWhichStarts:
    def test_what_is_foreseen_not_to_fit_is_not_begun(self, monkeypatch) -> None:
        table, models = a_table(), [FrequencyL(2)]
        monkeypatch.setattr(Starts, "_foreseen", lambda self, start, most: most + 1)
        tried = Starts(table, models, Run(1))
        found = tried.before(Limit.after(1000))
        assert tried.tried == {"mondrian", "cuttree"}
        assert holds(table, models, found.partition)

    def test_all_where_there_is_time(self) -> None:
        tried = Starts(a_table(), [FrequencyL(2)], Run(1))
        tried.before(Limit.after(1000))
        assert tried.tried == {"mondrian", "cuttree", "hilbert", "bsgi"}

    def test_the_quickest_alone_where_there_is_none(self) -> None:
        table, models = a_table(), [FrequencyL(2)]
        tried = Starts(table, models, Run(1))
        assert holds(table, models, tried.before(Limit(0.0)).partition)
        assert tried.tried == {"mondrian"}

    def test_efforts_count(self) -> None:
        table, models = a_table(), [FrequencyL(2)]
        tried = Starts(table, models, Run(1))
        cheap = tried.within(0.0)
        assert tried.tried == {"mondrian"}
        assert cheap is not None
        assert holds(table, models, cheap.partition)
        dear = tried.within(np.inf)
        assert tried.tried == {"mondrian", "cuttree", "hilbert", "bsgi"}
        assert dear is None or dear.loss < cheap.loss
        assert tried.within(np.inf) is None

    def test_for_k_alone_hilbert_stands_in(self) -> None:
        tried = Starts(a_table(), [KAnonymity(3)], Run(1))
        (cut,) = tried._wanted()
        (quick,) = tried._quick()
        assert quick.cost < cut.cost
        assert tried.within(quick.cost) is not None
        assert tried.tried == {"hilbert"}
        tried.within(cut.cost)
        assert tried.tried == {"hilbert", "cuttree"}


def census(n: int, **more: Any) -> dict[str, Any]:
    return {"data": shoal.datasets.census(n), "qi": ["age", "gender", "education"],
            "sensitive": "salary", "seed": 1, "rest": "drop", **more}  # fmt: skip


class TestRuns:
    @pytest.mark.parametrize("recoding", ["generalise", "suppress"])
    @pytest.mark.parametrize("models", MODELS, ids=str)
    def test_a_release_comes_out_of_the_shortest_time(self, models, recoding) -> None:
        release = shoal.anonymize(**census(200, time="0.000001s", recoding=recoding, **models))
        assert release.verification.ok
        assert release.method.facts["steps"] == 0
        assert release.bound is None

    def test_the_limit_is_of_the_whole_run(self, monkeypatch) -> None:
        """What comes after partitioning, and the bound, are taken off what the method gets."""
        told: list[float | None] = []
        best = type(get_method("best"))
        run = best.run
        monkeypatch.setattr(clock, "now", lambda: 50.0)
        monkeypatch.setattr("shoal.engines.memory.engine.seconds_after_partition", lambda *_: 4.0)

        def hurried(self, table, models, options, asked):
            told.append(asked.seconds)
            return run(self, table, models, options, Run(1, seconds=1e-9))

        monkeypatch.setattr(best, "run", hurried)
        assert shoal.anonymize(**census(300, k=5, time=12, bound=False)).verification.ok
        assert shoal.anonymize(**census(300, k=5, time=12)).verification.ok
        assert told == [8.0, 6.0]

    def test_what_comes_after_is_measured_in_proportion(self, monkeypatch) -> None:
        sizes: list[int] = []
        monkeypatch.setattr(foresight, "SAMPLE", 1_000)
        monkeypatch.setattr(foresight, "seconds_for", lambda work: work() or 2.0)
        finish = foresight._finish
        monkeypatch.setattr(
            foresight, "_finish", lambda *asked: sizes.append(asked[-1]) or finish(*asked)
        )
        told: list[float] = []
        measured = foresight.seconds_after_partition
        monkeypatch.setattr(
            "shoal.engines.memory.engine.seconds_after_partition",
            lambda *asked: told.append(measured(*asked)) or 0.0,
        )
        shoal.anonymize(**census(4_000, k=5, time=0.01, bound=False))
        assert sizes == [foresight.FEW, 1_000]
        assert told == [2.0 * foresight.MORE * 4]

    @pytest.mark.parametrize(
        "asked", [{"k": 5}, {"l": 3}, {"k": 4, "l": 2, "l_reading": "distinct"}], ids=str
    )
    def test_efforts_never_look_at_the_clock(self, asked, monkeypatch) -> None:
        first = shoal.anonymize(**census(3_000, effort="instant", **asked))

        def broken() -> float:
            raise AssertionError("an effort looked at the clock")

        monkeypatch.setattr(clock, "now", broken)
        monkeypatch.setattr(clock.time, "monotonic", broken)
        # these two look at it for what a time would need
        monkeypatch.setattr("shoal.methods.best.rounds.now", lambda: 0.0)
        monkeypatch.setattr("shoal.methods.best.method.now", lambda: 0.0)
        second = shoal.anonymize(**census(3_000, effort="instant", **asked))
        assert second.verification.ok
        assert first.table.equals(second.table)
        assert first.bound == second.bound


class TestBound:
    def test_an_effort_ends_after_its_steps(self, monkeypatch) -> None:
        rng = np.random.default_rng(1)
        table = encoded_table(900, [numbers(rng.permutation(900)) for _ in range(3)])
        models = [KAnonymity(3)]
        whole = lower_bound(table, models, effort="instant")
        monkeypatch.setattr("shoal.bounds.SET_UP", 0)
        losses = []
        for steps in (1, 10**5, 4 * 10**5, 10**12):
            monkeypatch.setattr("shoal.bounds.STEPS_A_SECOND", steps)
            losses.append(lower_bound(table, models, effort="instant").loss)
            assert losses[-1] == lower_bound(table, models, effort="instant").loss
        assert losses == sorted(losses)
        assert 0 < losses[0] < losses[-1] == whole.loss

    def test_a_table_too_long_for_the_effort_has_none(self, monkeypatch) -> None:
        monkeypatch.setattr("shoal.bounds.STEPS_A_SECOND", 1)
        found = lower_bound(a_table(), [KAnonymity(3)], effort="instant")
        assert (found.loss, found.resolved) == (0.0, 0.0)

    def test_no_time_is_a_bound_of_nothing(self) -> None:
        assert lower_bound(a_table(), [KAnonymity(3)], seconds=0.0).loss == 0.0


class TestCompare:
    @pytest.fixture
    def told(self, monkeypatch) -> Iterator[list[tuple[str | None, float | None]]]:
        told: list[tuple[str | None, float | None]] = []
        best = type(get_method("best"))
        run = best.run

        def listening(self, table, models, options, asked):
            told.append((asked.effort, asked.seconds))
            return run(self, table, models, options, Run(1, seconds=1e-9))

        monkeypatch.setattr(best, "run", listening)
        monkeypatch.setattr(clock, "now", lambda: 50.0)
        yield told

    def test_the_method_has_all_the_time_and_loads_at_once(self, told, monkeypatch) -> None:
        bounds: list[tuple[int, str, float | None]] = []

        def listening(table, models, *, effort, seconds, **more):
            bounds.append((table.n, effort, seconds))
            return lower_bound(table, models)

        monkeypatch.setattr("shoal.bounds.lower_bound", listening)
        asked = census(300, k=5, time=8, bound=True)
        found = shoal.compare(asked.pop("data"), "best", **asked)
        assert all(row.ok for row in found.rows)
        assert told == [("instant", None), (None, 8.0)]
        # first of a few records, so that what it compiles is not part of its time
        assert bounds == [(20, "max", comparing.LOADING), (300, "max", 2.0)]

    def test_a_bound_for_readers(self) -> None:
        """As in a run of its own: of the columns that each reader sees."""
        readers = {"a": ["age", "gender"], "b": ["gender", "education"]}
        asked = {"reader": readers, "seed": 1, "effort": "instant", "bound": True, "rest": "drop"}
        table = shoal.datasets.census(400)
        found = shoal.compare(table, "best", k=4, **asked)
        *_, bound = found.rows
        release = shoal.anonymize(table, k=4, **asked)
        assert bound.method == "no release below"
        assert release.bound is not None
        assert bound.gcp == release.bound.loss <= found.rows[0].gcp


def independent(n: int, columns: int) -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table({f"a{i}": rng.integers(0, 3, n) for i in range(columns)})


class TestAttributes:
    @pytest.mark.parametrize("lattice", [0, 22])
    def test_the_best_so_far_and_what_is_proven(self, lattice, monkeypatch) -> None:
        monkeypatch.setattr("shoal.methods.attributes.LARGEST_LATTICE", lattice)
        # k large enough that attributes must go: at k = 6 every set of this table passes
        table, models = a_table(n=120), [KAnonymity(30)]
        exact = fewest_suppressed(table, models)
        hurried = fewest_suppressed(table, models, Limit(0.0))
        ids = Partition.from_group_ids(table_classes(table, hurried.kept)).group_ids()
        assert satisfied_classes(table, models, ids).all()
        assert exact.hoped is None
        assert hurried.hoped is not None
        assert len(hurried.kept) <= len(exact.kept) <= len(hurried.hoped)

    def test_the_release_says_so(self) -> None:
        table = independent(400, 8)
        asked = {"qi": table.column_names, "k": 12, "method": "attributes", "seed": 1}
        exact = shoal.anonymize(table, **asked)
        hurried = shoal.anonymize(table, **asked, option={"time_limit": 1e-9})
        assert hurried.verification.ok
        assert "the time was up" in hurried.method.proof
        assert "the time was up" not in exact.method.proof


def table_classes(table, kept):
    return class_ids(table.columns(kept), table.n)[0]


class TestOptimal:
    def test_what_cannot_be_stopped_is_not_begun(self, monkeypatch) -> None:
        monkeypatch.setattr(matching, "LONG", 10)
        monkeypatch.setattr(matching, "seconds_for", lambda work: 1.0)
        rng = np.random.default_rng(1)
        table = random_table(rng, 20, values=2)
        pairs = np.arange(20, dtype=np.int32) % 2
        table = replace(table, sensitive_codes=pairs[None])
        with pytest.raises(PolicyError, match="no proven minimum within time_limit = 100"):
            matching.least_pairs(table, Deadline(100))
        assert matching.least_pairs(table, Deadline(1_000)).partition.groups == 10

    def test_a_search_has_no_more_steps_than_fit(self, monkeypatch) -> None:
        monkeypatch.setattr("shoal.methods.exact.now", lambda: 10.0)
        assert Deadline(2).steps(100) == 200
        assert Deadline(2).steps(100, most=50) == 50
        assert Deadline(0).steps(100) == 1
