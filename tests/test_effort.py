"""Any-time methods: effort and time reach them, the loss is shown, the gap is said."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any, get_args

import pyarrow as pa
import pytest

import command
import shoal
from shoal.cli import output
from shoal.effort import EFFORTS, EffortName
from shoal.errors import PolicyError
from shoal.methods import METHODS
from shoal.methods.hilbert import Hilbert
from shoal.policy import Policy
from shoal.summary import gap_in_words

TABLE = pa.table({"age": list(range(40)), "s": ["a", "b"] * 20})
ASKED = {"qi": ["age"], "k": 4}


@dataclass(frozen=True)
class FakeBound:
    """What `shoal.bounds.Bound` looks like."""

    loss: float
    rung: str = "dual"
    resolved: float = 1.0

    def to_dict(self) -> dict[str, Any]:
        return {"loss": self.loss, "rung": self.rung, "resolved": self.resolved}


class Patient(Hilbert):
    """A method that remembers what it was told, and says how its loss falls."""

    name = "patient"
    anytime = True
    stand_in = "hilbert"
    runs: list[Any] = []  # noqa: RUF012

    def run(self, table, models, options, run):
        self.runs.append((table.n, run.effort, run.seconds))
        run.progress(1, 2, 0.25)
        run.progress(2, 2, 0.125)
        return super().run(table, models, options, run)


@pytest.fixture
def patient(monkeypatch):
    """A method of the registry that takes effort and time."""
    Patient.runs.clear()
    monkeypatch.setitem(METHODS, "patient", f"{__name__}:Patient")
    return Patient()


class TestSettings:
    @pytest.mark.parametrize(
        ("time", "seconds"),
        [(30, 30), (0.5, 0.5), ("30", 30), ("30s", 30), ("2m", 120), ("1.5h", 5400), (" 2 s ", 2)],
    )
    def test_a_time_is_read(self, time, seconds):
        assert Policy.parse(time=time).seconds == seconds

    @pytest.mark.parametrize("time", [0, -1, "0s", "soon", "5d", "", "1.5.2s", float("inf")])
    def test_what_is_no_time_is_refused(self, time):
        with pytest.raises(PolicyError, match="time: expected a time such as 30s"):
            Policy.parse(time=time)

    def test_the_table_has_every_name(self):
        assert tuple(EFFORTS) == get_args(EffortName)

    def test_an_effort_has_a_name(self):
        with pytest.raises(PolicyError, match="effort: expected 'instant', 'fast'"):
            Policy.parse(effort="much")

    def test_both_are_none_by_default_and_survive_a_file(self, tmp_path):
        assert (Policy.parse().effort, Policy.parse().seconds) == (None, None)
        (tmp_path / "p.toml").write_text('effort = "max"\ntime = "2m"\n')
        policy = Policy.load(tmp_path / "p.toml")
        assert (policy.effort, policy.seconds) == ("max", 120)
        assert policy.settings() == {"effort": "max", "time": "2m"}

    @pytest.mark.parametrize("setting", [{"effort": "fast"}, {"time": "3s"}])
    def test_a_method_that_takes_none_says_so(self, setting, patient):
        (name,) = setting
        with pytest.raises(PolicyError, match=rf"^method hilbert takes no {name}; .*patient do$"):
            shoal.anonymize(TABLE, **ASKED, method="hilbert", **setting, rest="plain")

    def test_the_command_line_refuses_in_one_line(self, tmp_path):
        (tmp_path / "t.csv").write_text("age\n1\n2\n3\n")
        asked = [
            "anonymize",
            tmp_path / "t.csv",
            "-o",
            tmp_path / "r.csv",
            "--rest",
            "plain",
            "--qi",
            "age",
            "-k",
            2,
        ]
        done = command.shoal(*asked, "--method", "mondrian", "--effort", "max")
        assert (done.code, len(done.err.splitlines())) == (2, 1)
        assert "takes no effort" in done.err
        done = command.shoal(*asked, "--method", "mondrian", "--time", "later")
        assert (done.code, len(done.err.splitlines())) == (2, 1)


class TestAnyTime:
    def test_effort_and_time_reach_the_method(self, patient, monkeypatch):
        monkeypatch.setattr("shoal.clock.now", lambda: 50.0)  # nothing takes any time
        shoal.anonymize(TABLE, **ASKED, method="patient", rest="plain")
        shoal.anonymize(TABLE, **ASKED, method="patient", effort="max", time="2m", rest="plain")
        shoal.anonymize(TABLE, **ASKED, method="patient", time="2m", bound=False, rest="plain")
        # a quarter of the time is the bound's
        assert patient.runs == [(40, None, None), (40, "max", 90.0), (40, None, 120.0)]

    def test_a_comparison_gives_them_to_those_who_take_them(self, patient):
        found = shoal.compare(TABLE, ["hilbert", "patient"], **ASKED, effort="fast")
        assert all(row.ok for row in found.rows)
        loading, run = patient.runs
        assert (loading[1], run[1]) == ("instant", "fast")

    def test_outliers_are_looked_for_at_once_and_the_rest_is_done_with_effort(self, patient):
        table = pa.table({"age": [*range(39), 999]})
        release = shoal.anonymize(
            table, **ASKED, method="patient", effort="normal", max_suppressed="5%", rest="plain"
        )
        *trials, last = patient.runs
        assert {effort for _, effort, _ in trials} == {"instant"}
        assert last == (40 - release.loss.suppressed_records, "normal", None)
        assert release.loss.suppressed_records == 1


class TestProgress:
    def test_who_takes_the_loss_gets_it(self, patient):
        seen = []
        shoal.anonymize(
            TABLE, **ASKED, method="patient",
            progress=lambda stage, done, total, loss: seen.append((stage, loss)), rest="plain",
        )  # fmt: skip
        assert [loss for _, loss in seen if loss is not None] == [0.25, 0.125]
        assert seen[0] == ("read", None)

    def test_three_arguments_are_enough(self, patient):
        seen = []
        shoal.anonymize(
            TABLE, **ASKED, method="patient",
            progress=lambda stage, done, total: seen.append((stage, done, total)), rest="plain",
        )  # fmt: skip
        assert ("partition", 1, 2) in seen

    def test_a_fourth_argument_of_another_name_is_left_alone(self, patient):
        seen = []

        def progress(stage, done, total, mine=seen):
            mine.append((stage, done, total))

        shoal.anonymize(TABLE, **ASKED, method="patient", progress=progress, rest="plain")
        assert ("partition", 2, 2) in seen

    def test_the_bar_shows_the_loss(self, monkeypatch):
        terminal = io.StringIO()
        terminal.isatty = lambda: True  # type: ignore[method-assign]
        monkeypatch.setattr("sys.stderr", terminal)
        monkeypatch.setattr("shoal.watching.PATIENCE", 0.0)
        monkeypatch.setenv("TERM", "xterm")
        with output.progress_bar(quiet=False) as report:
            report("read", 0, 1)
            report("partition", 1, 2, 0.03125)
        assert "loss 0.0312" in terminal.getvalue()


class TestGap:
    def release(self, monkeypatch, bound, **more):
        monkeypatch.setattr("shoal.bounds.lower_bound", lambda *asked, **how: bound)
        return shoal.anonymize(TABLE, **ASKED, method="patient", **more, rest="plain")

    def test_the_bound_is_in_the_manifest_and_in_words(self, patient, monkeypatch):
        release = self.release(monkeypatch, FakeBound(0.05))
        loss = release.loss.gcp  # groups of 4 in a row: 3/39
        assert release.record["loss"]["bound"] == {
            "loss": 0.05, "rung": "dual", "resolved": 1.0,
            "gap": pytest.approx(loss / 0.05 - 1, abs=2e-6),
        }  # fmt: skip
        assert release.manifest["loss"]["bound"] == {"loss": 0.05, "rung": "dual", "gap": 0.54}
        words = "loss 0.0769, no release can be below 0.0500: at most 54% from the optimum"
        assert words in repr(release).splitlines()[0]

    def test_without_a_bound_nothing_is_said(self, patient):
        release = shoal.anonymize(TABLE, **ASKED, method="patient", bound=False, rest="plain")
        assert "bound" not in release.manifest["loss"]
        assert repr(release).splitlines()[0].endswith("0.0769")

    @pytest.mark.parametrize(
        ("least", "words"),
        [(3 / 39, "which is the optimum"), (0.0768999, "at most 1% from")],
    )
    def test_bounds_at_the_ends(self, patient, monkeypatch, least, words):
        assert words in repr(self.release(monkeypatch, FakeBound(least)))

    @pytest.mark.parametrize("least", [0.0, 0.0002, 3 / 39 / 2])
    def test_a_weak_bound_is_not_on_the_screen(self, patient, monkeypatch, least):
        release = self.release(monkeypatch, FakeBound(least))
        assert repr(release).splitlines()[0].endswith("loss 0.0769")
        assert release.record["loss"]["bound"]["loss"] == pytest.approx(least, abs=1e-8)

    def test_what_is_claimed_is_rounded_to_the_safe_side(self):
        from shoal.metrics.loss import Loss

        loss = Loss({}, 0.01404, 0, 0, 0, 1.0)
        said = gap_in_words(loss, FakeBound(0.01189))  # a gap of 0.180824
        assert said == ", no release can be below 0.0118: at most 19% from the optimum"
        assert "at most 18%" in gap_in_words(loss, FakeBound(0.0119))

    def test_the_bound_knows_that_records_may_be_suppressed(self, monkeypatch):
        asked = []

        def bound(table, models, *, suppressible, **how):
            asked.append((table.n, suppressible))
            return FakeBound(0.001)

        monkeypatch.setattr("shoal.bounds.lower_bound", bound)
        table = pa.table({"age": [*range(39), 999]})
        release = shoal.anonymize(
            table, **ASKED, method="hilbert", bound=True, max_suppressed="5%", rest="plain"
        )
        assert release.loss.suppressed_records == 1
        assert asked[-1] == (40, True)  # all records, whatever was suppressed
        assert release.record["loss"]["bound"]["loss"] == 0.001
        assert "bound" not in release.manifest["loss"]  # it is of spans that are not released
