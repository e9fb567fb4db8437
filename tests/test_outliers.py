"""Outliers: suppressed within the budget, only where it lowers the loss, and never unsafely."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import command
import naive_outliers
import shoal
from command import SECRET
from conformance import GENERALISING, MODELS, Case, attempt, refusals, sensitive_of
from guarantees import assert_models_hold
from random_tables import encoded_tables, microdata, partitions
from shoal.engines.memory.engine import MemoryEngine
from shoal.errors import PolicyError, ShoalError
from shoal.kernels.outliers.savings import removal_savings
from shoal.methods import get_method
from shoal.policy import Policy

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
SHARES = ["4%", 0.1, "33.4%"]
ASKED = {"qi": ["age", "city"], "k": 4, "method": "hilbert"}


def far_out(n=40, **more):
    """People of 20 to 59 in two cities, and one of 999 in a place of her own."""
    ages = [20 + i % 40 for i in range(n - 1)] + [999]
    cities = ["x" if age < 40 else "y" for age in ages[:-1]] + ["z"]
    return pa.table({"age": ages, "city": cities, **more})


def grouped_with_all(self, encoded, kept, plan):
    """Groups as they were when it was decided whom to leave out, on the scale of all."""
    return kept


class TestSavings:
    @settings(max_examples=100, deadline=None)
    @given(data=st.data())
    def test_kernel_agrees_with_the_definition(self, data):
        table = data.draw(encoded_tables(most=20))
        if data.draw(st.booleans()):
            table = table.suppressing()
        partition = data.draw(partitions(table.n))
        savings = np.empty(table.n)
        parts = (partition.order, partition.offsets)
        removal_savings(table.costs, table.codes, *parts, savings)
        assert savings == pytest.approx(naive_outliers.savings(table, partition), abs=1e-9)


class TestEveryMethod:
    @pytest.mark.parametrize("method", GENERALISING)
    @settings(max_examples=10, deadline=None)
    @given(data=st.data())
    def test_models_hold_and_the_loss_only_falls(self, method, data):
        table, roles = data.draw(microdata(most=6 if method == "optimal" else 20))
        asked = data.draw(st.sampled_from(MODELS))
        by = data.draw(st.sampled_from(["drop", "star"]))
        share = data.draw(st.sampled_from(SHARES))
        layout = data.draw(st.sampled_from(["cells", "bounds"]))
        recoding = data.draw(st.sampled_from([None, *get_method(method).recodings]))
        sensitive = sensitive_of(asked)
        chosen = {**roles, "layout": layout, "recoding": recoding}
        if "e" in asked:
            table = table.drop_columns(["disease"])
        plain = attempt(table, method, asked, sensitive, **chosen)
        budget = {**asked, **chosen, "sensitive": sensitive, "max_suppressed": share}
        if isinstance(plain, ShoalError):  # a budget for outliers changes nothing about that
            with pytest.raises(type(plain), match=re.escape(str(plain))):
                shoal.anonymize(table, **budget, method=method, rest="plain")
            reject()
        release = shoal.anonymize(table, **budget, method=method, suppress_by=by, rest="plain")
        assert_models_hold(release, sensitive)
        assert release.verify().ok
        gone = release.loss.suppressed_records
        assert gone <= Policy.parse(max_suppressed=share).suppressible(table.num_rows)
        assert release.data.num_rows == table.num_rows - (gone if by == "drop" else 0)
        assert gone / table.num_rows <= release.loss.gcp <= 1
        if not get_method(method).anytime:  # which decides at its least effort
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(MemoryEngine, "_alone", grouped_with_all)
                decided = shoal.anonymize(
                    table, **budget, method=method, suppress_by=by, rest="plain"
                )
            assert decided.loss.gcp <= plain.loss.gcp + 1e-12
        if not gone:
            assert release.data.equals(plain.data)

    @pytest.mark.parametrize("method", GENERALISING)
    def test_persons_are_counted(self, method):
        people = [i // 2 for i in range(40)]
        table = far_out(who=people, s=["a", "b", "c", "d"] * 10)
        asked = {"k": 3, "l": 2}
        case = Case(asked, table.num_rows, persons=True)
        refused = any(refusal.sure for refusal in refusals(method, case))
        for by in ("drop", "star"):
            release = attempt(
                table, method, asked, ["s"], qi=["age", "city"], person="who",
                max_suppressed="30%", suppress_by=by,
            )  # fmt: skip
            if refused:
                assert isinstance(release, PolicyError)
            elif isinstance(release, shoal.Release):
                assert_models_hold(release, ["s"])

    @pytest.mark.parametrize("by", ["drop", "star"])
    def test_every_reader_is_protected(self, by):
        table = shoal.datasets.census(800)
        readers = {"insurer": ["age", "gender"], "employer": ["gender", "education", "country"]}
        release = shoal.anonymize(
            table,
            reader=readers,
            k=10,
            collusion_k=2,
            max_suppressed="3%",
            suppress_by=by,
            rest="plain",
        )
        assert release.verification.ok
        assert release.verify().ok

    def test_exact_quasi_identifiers_lose_nothing_and_so_keep_everybody(self):
        table = far_out(s=["a", "b"] * 20)
        release = shoal.anonymize(
            table,
            qi=["age", "city"],
            sensitive="s",
            l=2,
            method="anatomy",
            max_suppressed=0.1,
            rest="plain",
        )
        assert release.loss.suppressed_records == 0
        assert release.data.num_rows == 40


class TestDropped:
    def test_an_outlier_is_left_out_and_counted_as_one(self):
        release = shoal.anonymize(far_out(), **ASKED, max_suppressed="5%", rest="plain")
        assert "z" not in "".join(release.data.column("city").to_pylist())
        gone = release.loss.suppressed_records
        assert release.data.num_rows == 40 - gone
        assert gone in (1, 2)
        ages = [cell.strip("[]").split(",") for cell in release.data.column("age").to_pylist()]
        spans = [
            (int(cell[-1]) - int(cell[0])) / 979 for cell in ages
        ]  # of the whole table's range
        assert release.loss.ncp["age"] == pytest.approx((sum(spans) + gone) / 40)

    def test_the_record_counts_them_and_the_manifest_says_how_many_at_most(self, tmp_path):
        table = far_out(s=[SECRET] * 40)
        release = shoal.anonymize(table, **ASKED, sensitive="s", max_suppressed="5%", rest="plain")
        gone = release.loss.suppressed_records
        said = json.dumps(release.manifest)
        assert release.manifest["release"]["suppressed"] == {"at_most": "5%", "by": "drop"}
        assert release.record["release"]["suppressed"] == {
            "records": gone, "of": 40, "by": "drop",
        }  # fmt: skip
        assert release.manifest["release"]["records"] == 40 - gone
        assert "suppressed_records" not in release.manifest["loss"]
        assert release.record["loss"]["suppressed_records"] == gone
        assert f"suppressed {gone} of 40 records" in repr(release)
        assert "999" not in said
        assert SECRET not in said
        assert shoal.verify(release.write(tmp_path / "r.csv")).ok

    def test_the_order_of_the_others_is_kept_on_request(self):
        table = far_out(number=list(range(40)))
        release = shoal.anonymize(
            table, **ASKED, max_suppressed="5%", keep_order=True, rest="plain"
        )
        numbers = release.data.column("number").to_pylist()
        assert len(numbers) < 40
        assert numbers == sorted(numbers)

    def test_closeness_is_judged_against_the_table_that_is_released(self):
        table = far_out(s=["a", "b"] * 20)
        release = shoal.anonymize(
            table, **ASKED, sensitive="s", t=0.1, max_suppressed="20%", rest="plain"
        )
        assert release.loss.suppressed_records
        assert_models_hold(release, ["s"])

    def test_nothing_is_dropped_where_that_does_not_pay(self):
        table = pa.table({"age": list(range(40))})
        release = shoal.anonymize(
            table, qi=["age"], k=2, max_suppressed="20%", method="hilbert", rest="plain"
        )
        assert release.loss.suppressed_records == 0
        assert "no record was suppressed" in " ".join(release.record["notices"])
        assert "suppressed" not in " ".join(release.manifest["notices"])
        assert "suppressed" not in repr(release)

    def test_a_budget_of_loss_counts_them(self):
        asked = {"qi": ["age", "city"], "max_loss": 0.1, "method": "hilbert"}
        plain = shoal.anonymize(far_out(), **asked, rest="plain")
        release = shoal.anonymize(far_out(), **asked, max_suppressed="5%", rest="plain")
        assert release.loss.gcp <= 0.1
        assert release.policy.k > plain.policy.k


STARRED = {
    "qi": ["age", "gender", "education", "marital", "country"], "k": 20, "method": "mondrian",
    "max_suppressed": "10%", "suppress_by": "star",
}  # fmt: skip


class TestStarred:
    def test_the_rows_stay_and_every_quasi_identifier_is_a_star(self):
        release = shoal.anonymize(shoal.datasets.census(400), **STARRED, rest="plain")
        gone = release.loss.suppressed_records
        assert 20 <= gone <= 40  # the class of stars has to be one
        cells = [release.data.column(name).to_pylist() for name in STARRED["qi"]]
        rows = list(zip(*cells, strict=True))
        assert len(rows) == 400
        assert rows.count(("*",) * 5) == gone
        assert release.loss.stars == 5 * gone
        assert release.loss.suppressed_tuples == gone
        assert "as stars" in repr(release)

    def test_bounds_of_stars_are_empty(self):
        release = shoal.anonymize(
            shoal.datasets.census(400), **STARRED, layout="bounds", rest="plain"
        )
        gone = release.loss.suppressed_records
        assert release.data.column("age_min").null_count == gone >= 20
        assert release.data.column("age_max").null_count == gone

    def test_too_few_for_a_class_are_kept_as_they_are(self):
        release = shoal.anonymize(
            far_out(), **ASKED, max_suppressed="5%", suppress_by="star", rest="plain"
        )
        assert release.loss.suppressed_records == 0
        assert "makes a safe class of stars" in " ".join(release.record["notices"])

    def test_closeness_is_judged_against_all_rows(self):
        release = shoal.anonymize(
            shoal.datasets.census(400), **STARRED, sensitive="workclass", t=0.4, rest="plain"
        )
        assert release.loss.suppressed_records
        assert release.data.num_rows == 400
        assert_models_hold(release, ["workclass"])

    def test_stars_that_would_break_a_model_are_given_up(self, monkeypatch):
        monkeypatch.setattr(
            "shoal.engines.memory.outliers._are_a_class", lambda table, models, rows: True
        )
        release = shoal.anonymize(
            far_out(), **ASKED, max_suppressed="5%", suppress_by="star", rest="plain"
        )
        assert release.verify().ok
        assert release.loss.suppressed_records == 0

    def test_a_manifest_is_all_that_verification_needs(self, tmp_path):
        release = shoal.anonymize(shoal.datasets.census(400), **STARRED, rest="plain")
        assert release.loss.suppressed_records
        assert shoal.verify(release.write(tmp_path / "r.csv")).ok


class TestSettings:
    @pytest.mark.parametrize(
        ("share", "records", "most"),
        [("0.5%", 30162, 150), (0.005, 30162, 150), (0.1, 10, 1), ("10%", 9, 0), ("0", 9, 0),
         (0.29, 100, 29), ("99.9%", 1000, 999), (5e-05, 20000, 1)],
    )  # fmt: skip
    def test_a_share_is_exact(self, share, records, most):
        assert Policy.parse(max_suppressed=share).suppressible(records) == most

    @pytest.mark.parametrize("share", [1, 1.0, "100%", "5", "-1%", "many", -0.1, "%", float("nan")])
    def test_what_is_no_share_is_refused(self, share):
        with pytest.raises(PolicyError, match=r"max_suppressed: expected a share .*0\.5%"):
            Policy.parse(max_suppressed=share)

    def test_what_becomes_of_them_needs_a_budget(self):
        with pytest.raises(PolicyError, match="suppress_by: expected with max_suppressed"):
            Policy.parse(qi=["a"], k=2, suppress_by="star")

    def test_a_policy_that_was_saved_is_the_same(self, tmp_path):
        policy = Policy.parse(qi=["a"], k=2, max_suppressed="0.5%", suppress_by="star")
        policy.save(tmp_path / "p.toml")
        assert Policy.load(tmp_path / "p.toml").settings() == policy.settings()

    def test_compare_releases_all_records(self):
        with pytest.raises(PolicyError, match="max_suppressed"):
            shoal.compare(far_out(), ["hilbert"], k=4, qi=["age"], max_suppressed="5%")

    def test_the_command_says_how_many(self, tmp_path):
        source, out = tmp_path / "t.parquet", tmp_path / "r.csv"
        from shoal.io.write import write_table

        write_table(far_out(), source)
        asked = [
            "anonymize",
            source,
            "-o",
            out,
            "--rest",
            "plain",
            "--qi",
            "age,city",
            "-k",
            4,
            "--method",
            "hilbert",
        ]
        done = command.shoal(*asked, "--max-suppressed", "5%")
        assert done.code == 0, done.err
        assert "of 40 records" in done.out
        assert command.shoal("verify", out).code == 0
        wrong = command.shoal(*asked, "--max-suppressed", "5")
        assert (wrong.code, len(wrong.err.splitlines())) == (2, 1)
