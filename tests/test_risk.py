"""Risk figures against their slow twins, published examples, thresholds, and bad input."""

from __future__ import annotations

import json
import math
import stat
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_risk as naive
import shoal
from command import shoal as command
from shoal.errors import InputError, PolicyError
from shoal.models import histograms
from shoal.policy import Policy
from shoal.risks.attackers import journalist, marketer, prosecutor
from shoal.risks.disclosure import disclosure
from shoal.risks.individual import household_risks, individual_risks
from shoal.risks.special import special_uniques
from shoal.risks.uniques import pitman, population_uniques, slide_negative_binomial, zayatz
from shoal.thresholds import THRESHOLDS, Threshold

SIZES = st.lists(st.integers(1, 30), min_size=1, max_size=12)
TAUS = st.fractions(Fraction(1, 40), 1, max_denominator=60)

# The guide's Table 4.1 and 4.5 (Benschop, Machingauta, Welch: Statistical Disclosure Control
# for Microdata, A Practice Guide): ten people, their weights, risks and SUDA scores.
GUIDE = pa.table(
    {
        "residence": ["Urban"] * 4 + ["Rural"] + ["Urban"] * 5,
        "gender": [*"FFFMFMFMFF"],
        "education": ["si", "si", "pi", "sc", "sc", "sc", "pc", "ps", "si", "si"],
        "labor": ["E", "E", "N", "E", "U", "E", "N", "U", "N", "N"],
        "weight": [180, 180, 215, 76, 186, 76, 180, 215, 186, 76],
        "home": [1, 1, 2, 2, 3, 4, 5, 6, 7, 7],
    }
)
QI = ["residence", "gender", "education", "labor"]


class TestTwins:
    @settings(max_examples=300, deadline=None)
    @given(SIZES, TAUS)
    def test_prosecutor(self, sizes, tau):
        found = prosecutor(np.array(sizes), Threshold(tau))
        largest, average, above = naive.prosecutor(sizes, tau)
        assert (found.largest, found.average) == (float(largest), float(average))
        assert found.above == float(above) and found.broken == (above > 0)
        assert Threshold(tau).smallest_class == min(f for f in range(1, 99) if f * tau >= 1)

    @settings(max_examples=300, deadline=None)
    @given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 40)), min_size=1), TAUS)
    def test_journalist_and_marketer(self, classes, tau):
        sizes = np.array([f for f, _ in classes])
        heads = sizes + np.array([more for _, more in classes])
        found = journalist(sizes, heads, Threshold(tau))
        largest, average, above = naive.journalist(sizes.tolist(), heads.tolist(), tau)
        assert found.largest == pytest.approx(float(largest))
        assert found.average == pytest.approx(float(average))
        assert found.above == float(above)
        matched = naive.marketer(sizes.tolist(), heads.tolist())
        assert marketer(sizes, heads).average == pytest.approx(float(matched))

    @settings(max_examples=200, deadline=None)
    @given(st.integers(1, 12), st.floats(1, 500))
    def test_individual_risk_is_the_expectation_of_one_over_the_people(self, f, times):
        people = f * times
        found = individual_risks(np.array([f]), np.array([people]))[0]
        if f <= 2 or times == 1:
            assert found == pytest.approx(naive.individual(f, people), abs=1e-6)
        else:  # the formula of DESIGN for f > 2 is an approximation from above
            assert found == pytest.approx((1 / times) / (f - 1 + 1 / times))
            assert found >= naive.individual(f, people) - 1e-9

    @settings(max_examples=100, deadline=None)
    @given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4)), min_size=1, max_size=20))
    def test_households(self, members):
        risks, homes = [r for r, _ in members], [h for _, h in members]
        found = household_risks(np.array(risks), np.array(homes))
        assert found == pytest.approx(naive.household(risks, homes), abs=1e-9)

    @settings(max_examples=300, deadline=None)
    @given(
        st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=1, max_size=14), st.integers(1, 4)
    )
    def test_minimal_sample_uniques(self, rows, size):
        table = np.array(rows)
        found = special_uniques("abcd", [(table[:, a], 4) for a in range(4)], size)
        expected = naive.minimal_uniques(rows, size)
        assert found.scores.tolist() == [naive.score(sets, 4) for sets in expected]
        assert found.records == sum(bool(sets) for sets in expected)
        for s, count in found.by_size.items():
            assert count == sum(len(c) == s for sets in expected for c in sets)
        every = max(1, sum(found.scores.tolist()))
        for a, name in enumerate("abcd"):
            with_it = [[c for c in sets if a in c] for sets in expected]
            share = sum(naive.score(sets, 4) for sets in with_it) / every
            assert found.columns[name] == pytest.approx(share)

    @pytest.mark.parametrize("columns", [20, 22, 40])
    def test_scores_of_many_columns_do_not_run_over(self, columns):
        """Factorials leave whole numbers of 64 bits at 21 columns, and were wrong or an error."""
        table = np.random.default_rng(columns).integers(0, 5, (12, columns))
        names = [f"c{a}" for a in range(columns)]
        found = special_uniques(names, [(table[:, a], 5) for a in range(columns)], 2)
        expected = naive.minimal_uniques(table.tolist(), 2)
        assert found.scores.tolist() == pytest.approx(
            [naive.score(sets, columns) for sets in expected], rel=1e-12
        )
        assert max(found.columns.values()) <= 1

    def test_more_columns_than_scores_have_numbers_for(self):
        with pytest.raises(PolicyError, match="at most 170 columns; got 171"):
            special_uniques(["c"] * 171, [(np.zeros(2, dtype=np.int64), 1)] * 171, 1)

    @settings(max_examples=200, deadline=None)
    @given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=6))
    def test_disclosure(self, classes):
        ids = np.repeat(np.arange(len(classes)), [len(c) for c in classes])
        codes = np.array([v for c in classes for v in c])
        found = disclosure("s", histograms(ids, codes, 4))
        alike, records, base, told = naive.disclosure(classes)
        assert found.homogeneous_classes == alike
        assert found.homogeneous_records == float(records)
        assert (found.base_rate, found.told_by_majority) == (float(base), float(told))

    @settings(max_examples=150, deadline=None)
    @given(SIZES, st.integers(2, 6))
    def test_zayatz(self, sizes, times):
        sizes = [*sizes, 1, 1]
        n = sum(sizes)
        found = zayatz(np.array(sizes), 1 / times)
        assert found == pytest.approx(float(naive.zayatz(sizes, n, n * times)), rel=1e-6)


@st.composite
def releases_and_people(draw):
    """A small population, a part of it, and quasi-identifiers of three kinds."""
    people = draw(
        st.lists(
            st.tuples(st.integers(0, 9), st.sampled_from("abcd"), st.sampled_from(["lo", "hi"])),
            min_size=8,
            max_size=40,
        )
    )
    part = draw(st.integers(4, len(people)))
    method = draw(st.sampled_from(["mondrian", "hilbert"]))
    return people, part, method


class TestPopulation:
    @settings(max_examples=60, deadline=None)
    @given(releases_and_people(), st.booleans())
    def test_people_in_overlapping_boxes(self, drawn, bounds):
        people, part, method = drawn
        names = ["age", "town", "pay"]
        table = pa.table(dict(zip(names, map(list, zip(*people, strict=True)), strict=True)))
        layout = "bounds" if bounds else "cells"
        release = shoal.anonymize(
            table.slice(0, part), qi=names, k=2, method=method, order={"pay": ["lo", "hi"]},
            layout=layout,
        )  # fmt: skip
        found = shoal.risk(release, population=table)
        boxes = self.boxes(release.classes.to_pylist(), bounds)
        sizes = [box["records"] for box in release.classes.to_pylist()]
        ranked = [(age, town, ["lo", "hi"].index(pay)) for age, town, pay in people]
        heads = [naive.people(box, ranked) for box in boxes]
        largest, average, _ = naive.journalist(sizes, heads, Fraction(1))
        assert found.attacker("journalist").largest == pytest.approx(float(largest))
        assert found.attacker("journalist").average == pytest.approx(float(average))
        expected = naive.marketer(sizes, heads)
        assert found.attacker("marketer").average == pytest.approx(float(expected))
        counted = pa.table({**{n: table[n] for n in names}, "heads": [3] * len(people)})
        margins = shoal.risk(release, population=counted, counts="heads")
        triple = naive.journalist(sizes, [3 * F for F in heads], Fraction(1))
        assert margins.attacker("journalist").largest == pytest.approx(float(triple[0]))

    @staticmethod
    def boxes(classes, bounds):
        """Released cells, read by hand: [1,4], {a,b}, [lo,hi], or a value."""
        ranks = {"lo": 0, "hi": 1}

        def read(row):
            if bounds:
                age = (row["age_min"], row["age_max"])
            else:
                age = str(row["age"]).strip("[]").split(",")
                age = (int(age[0]), int(age[-1]))
            town = frozenset(row["town"].strip("{}").split(","))
            pay = [ranks[p] for p in row["pay"].strip("[]").split(",")]
            return (age, town, (pay[0], pay[-1]))

        return [read(row) for row in classes]

    def test_a_fraction_and_weights_estimate_the_people(self):
        by_fraction = shoal.risk(GUIDE, qi=QI, fraction="0.1")
        assert by_fraction.attacker("journalist").largest == pytest.approx(0.1)
        by_weights = shoal.risk(GUIDE, qi=QI, weights="weight")
        assert by_weights.population.people.sum() == sum(GUIDE["weight"].to_pylist())

    def test_margins_that_lack_a_column_say_so(self):
        found = shoal.risk(GUIDE, qi=QI, population=GUIDE.drop_columns(["labor"]))
        assert found.population.unknown == ("labor",)
        assert "lacks labor" in repr(found)


class TestPublishedExamples:
    def test_individual_risk_of_the_practice_guide(self):
        found = shoal.risk(GUIDE, qi=QI, weights="weight", household="home")
        risks = found.per_record.individual_risk
        expected = [0.0054, 0.0054, 0.0251, 0.0126, 0.0282, 0.0126, 0.0290, 0.0251, 0.0074, 0.0074]
        assert risks == pytest.approx(expected, abs=5e-5)
        assert found.individual.average == pytest.approx(0.01582, abs=5e-6)
        assert found.individual.expected == pytest.approx(0.1582, abs=5e-5)

    def test_household_of_the_practice_guide(self):
        found = household_risks(np.array([0.02, 0.03, 0.03]), np.zeros(3, dtype=int))
        assert found == pytest.approx([0.078] * 3, abs=5e-4)

    def test_suda_scores_of_the_practice_guide(self):
        found = shoal.risk(GUIDE, qi=QI, suda=3)
        assert found.per_record.suda_score.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
        assert found.special.by_size == {1: 4, 2: 5, 3: 0}

    def test_individual_risk_of_sdcmicro(self):
        """The example of its manual (francdat): frequencies and sums of weights."""
        sizes = np.array([2, 2, 1, 1, 1, 1])
        people = np.array([110.0, 84.5, 17.0, 541.0, 8.0, 5.0])
        expected = [0.01714426, 0.02204233, 0.17707583, 0.01165448, 0.29706308, 0.40235948]
        assert individual_risks(sizes, people) == pytest.approx(expected, abs=1e-8)


class TestUniques:
    def test_estimates_are_near_what_was_made(self):
        """A population of Pitman's model and one of the slide negative binomial, sampled."""
        rng = np.random.default_rng(1)
        heads = 1 + rng.negative_binomial(0.4, 0.05, 20_000)
        alone = int((heads == 1).sum())
        drawn = rng.binomial(heads, 0.3)
        sample = drawn[drawn > 0]
        assert slide_negative_binomial(sample, 0.3) == pytest.approx(alone, rel=0.1)
        assert population_uniques(sample, 0.3).population <= 1.1 * alone
        sizes = self.chinese_restaurant(rng, 40_000, theta=300, alpha=0.6)
        few = np.bincount(rng.permutation(np.repeat(np.arange(len(sizes)), sizes))[:3000])
        few = few[few > 0]
        estimate = pitman(few, 3000 / 40_000)
        assert estimate == pytest.approx(int((sizes == 1).sum()), rel=0.15)
        assert population_uniques(few, 3000 / 40_000).model == "Pitman"

    @staticmethod
    def chinese_restaurant(rng, n, theta, alpha):
        owner, heads = np.empty(n, dtype=int), np.zeros(n)
        tables = 0
        for i, chance in enumerate(rng.random(n)):
            if i == 0 or chance * (i + theta) < theta + alpha * tables:
                owner[i] = tables
                tables += 1
            else:  # an earlier guest's table, unless alpha sends him to a new choice
                owner[i] = owner[rng.integers(i)]
                while rng.random() < alpha / heads[owner[i]]:
                    owner[i] = owner[rng.integers(i)]
            heads[owner[i]] += 1
        return np.bincount(owner)

    def test_after_a_release_no_uniques_are_told(self):
        release = shoal.anonymize(GUIDE, qi=QI, k=2, rest="drop")
        found = shoal.risk(release, fraction=0.1)
        assert found.uniques is None and "unique" not in repr(found)
        assert shoal.risk(GUIDE, qi=QI).uniques.sample == 4

    def test_where_pitman_fails_zayatz_answers(self):
        assert population_uniques(np.array([1, 1, 1, 1]), 0.05).model == "Zayatz"
        assert population_uniques(np.array([2, 3]), 0.05).population == 0
        assert population_uniques(np.array([1, 3]), 1).population == 1


class TestThresholds:
    @pytest.mark.parametrize(
        ("given", "k"),
        [
            ("ema", 12),
            ("health-canada", 12),
            ("cms", 11),
            ("public", 20),
            ("EMA", 12),
            (0.09, 12),
            ("0.05", 20),
            (0.2, 5),
            (0.2000001, 5),
            ("1/3", 3),
            (1, 1),
            (0.1, 10),
        ],
    )
    def test_class_sizes(self, given, k):
        limit = Threshold.of(given)
        assert limit.smallest_class == k
        assert Policy.parse(qi=["a"], threshold=given if given != "1/3" else "1/3").k == k
        assert prosecutor(np.array([k, 99]), limit).broken is False
        assert k == 1 or prosecutor(np.array([k - 1, 99]), limit).broken

    @pytest.mark.parametrize("given", ["emma", 0, -1, 2, "nan", True])
    def test_what_is_no_threshold(self, given):
        with pytest.raises(PolicyError, match=r"threshold: expected a name \(ema, "):
            Threshold.of(given)
        with pytest.raises(PolicyError, match="threshold"):
            Policy.parse(qi=["a"], threshold=given)

    def test_every_name_says_why(self):
        assert all(limit.why and limit.name == name for name, limit in THRESHOLDS.items())

    def test_a_larger_k_stays_and_a_smaller_one_is_raised(self):
        assert Policy.parse(qi=["a"], threshold="ema", k=30).k == 30
        assert Policy.parse(qi=["a"], threshold="ema", k=3).k == 12
        again = Policy.parse(qi=["a"], threshold="ema").override(k=5)
        assert again.k == 12
        readers = {"one": {"qi": ["a"], "k": 5}}
        with pytest.raises(PolicyError, match="k of reader 'one': the threshold asks for at lea"):
            Policy.parse(reader=readers, threshold="ema")

    def test_which_k_is_the_fix(self):
        assert shoal.risk(GUIDE, qi=QI, threshold="0.2").fix == 5
        half = {"fraction": 0.25, "threshold": "0.1"}
        found = shoal.risk(GUIDE, qi=QI, attacker="journalist", **half)
        assert (found.ok, found.fix) == (False, 3)
        assert shoal.risk(GUIDE, qi=QI, attacker="marketer", **half).fix == 3

    def test_a_release_by_threshold_keeps_it(self):
        release = shoal.anonymize(shoal.datasets.census(400), qi=["age", "gender"], threshold="ema",
                                  rest="drop", method="mondrian")  # fmt: skip
        assert release.verification.ok and release.class_sizes.min() >= 12
        assert release.manifest["policy"]["k"] == 12
        assert release.manifest["policy"]["threshold"] == "ema"
        assert shoal.risk(release, threshold="ema").ok
        assert not shoal.risk(release, threshold=0.01).ok


def test_the_record_knows_the_risk_before_and_the_manifest_does_not():
    release = shoal.anonymize(GUIDE, qi=QI, k=2, rest="drop", method="mondrian")
    before = shoal.risk(GUIDE, qi=QI)
    told = release.record["risk_before"]
    assert told["highest"] == 1 and told["unique_records"] == before.uniques.sample == 4
    assert told["average"] == pytest.approx(before.attacker("prosecutor").average)
    assert "risk_before" not in json.dumps(release.manifest)


class TestBadInput:
    def test_a_population_smaller_than_the_table(self):
        with pytest.raises(InputError, match="population: has 9 people, fewer than the 10"):
            shoal.risk(GUIDE, qi=QI, population=GUIDE.slice(0, 9))

    def test_a_population_without_the_people(self):
        strangers = GUIDE.set_column(1, "gender", pa.array(["X"] * 10))
        with pytest.raises(InputError, match="classes have more records than people who can be"):
            shoal.risk(GUIDE, qi=QI, population=strangers)
        with pytest.raises(InputError, match="has none of the quasi-identifiers"):
            shoal.risk(GUIDE, qi=QI, population=GUIDE.select(["home"]))

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"fraction": 0.5, "weights": "weight"}, "fraction and weights: expected one"),
            ({"fraction": 0}, "fraction: expected a number above 0"),
            ({"counts": "n"}, "counts: expected with population only"),
            ({"household": "home"}, "household: expected with population, fraction or weights"),
            ({"attacker": "journalist"}, "attacker: expected with a threshold only"),
            ({"attacker": "journalist", "threshold": 0.1}, "does not know who is in the table"),
            ({"attacker": "thief", "threshold": 0.1}, "attacker: expected one of prosecutor"),
            ({"suda": 0}, "suda: expected a whole number of at least 1"),
        ],
    )
    def test_settings_that_do_not_go_together(self, given, words):
        with pytest.raises(PolicyError, match=words):
            shoal.risk(GUIDE, qi=QI, **given)

    def test_weights_that_are_none(self):
        with pytest.raises(InputError, match="'gender' holds something that is no number"):
            shoal.risk(GUIDE, qi=QI, weights="gender")
        light = GUIDE.set_column(4, "weight", pa.array([0.5] * 10))
        with pytest.raises(InputError, match="a record stands for itself at least"):
            shoal.risk(light, qi=QI, weights="weight")
        with pytest.raises(PolicyError, match="name the quasi-identifiers"):
            shoal.risk(GUIDE)


class TestCommand:
    @pytest.fixture
    def files(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        pcsv.write_csv(GUIDE, tmp_path / "people.csv")
        return tmp_path

    def test_exit_codes_and_fix(self, files):
        roles = ["--qi", ",".join(QI)]
        broken = command("risk", "people.csv", *roles, "--threshold", "ema", "--fix")
        assert broken.code == 1
        assert "threshold ema (0.09) for the prosecutor is broken" in broken.out
        assert "k = 12 keeps it: 1/11 = 0.0909 is more than 0.09, 1/12 = 0.0833" in broken.out
        kept = command("risk", "people.csv", *roles, "--threshold", "1", "--json")
        assert kept.code == 0
        assert json.loads(kept.out)["threshold"]["kept"] is True

    def test_numbers_of_records_are_private(self, files):
        done = command(
            "risk", "people.csv", "--qi", ",".join(QI), "--weights", "weight", "--suda", "2",
            "--records", "private.csv",
        )  # fmt: skip
        assert done.code == 0, done.err
        written = files / "private.csv"
        assert stat.S_IMODE(written.stat().st_mode) == 0o600
        table = pcsv.read_csv(written)
        assert table["suda_score"].to_pylist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
        assert table["individual_risk"][0].as_py() == pytest.approx(0.0054, abs=5e-5)
        again = command("risk", "people.csv", "--qi", ",".join(QI), "--records", "private.csv")
        assert again.code == 2

    def test_anonymize_by_threshold_says_why(self, files):
        pcsv.write_csv(shoal.datasets.census(200).select(["age", "gender"]), files / "c.csv")
        done = command(
            "anonymize", "c.csv", "-o", "r.csv", "--qi", "age,gender", "--threshold", "ema",
            "--method", "mondrian",
        )  # fmt: skip
        assert done.code == 0, done.err
        assert "threshold ema (0.09): k = 12, since 1/11 = 0.0909 is more" in done.err
        checked = command("risk", "r.csv", "--threshold", "ema")
        assert checked.code == 0 and "is kept" in checked.out


def test_nothing_of_a_record_is_told():
    found = shoal.risk(GUIDE, qi=QI, sensitive=["home"], weights="weight", suda=3)
    text = json.dumps(found.to_dict()) + repr(found)
    assert "Rural" not in text and "ps" not in text.split()
    assert math.isclose(sum(found.per_record.individual_risk), found.individual.expected)


def test_weights_that_a_policy_declares_are_used():
    people = shoal.datasets.census(400)
    weights = pa.array([10.0 + n % 7 for n in range(400)])
    table = people.append_column("w", weights)
    asked = {"qi": ["age", "gender"], "rest": "drop", "k": 5, "method": "hilbert"}
    release = shoal.anonymize(table, weight_column="w", **asked)
    declared, named = shoal.risk(release), shoal.risk(release, weights="w")
    assert declared.population is not None
    assert declared.to_dict() == named.to_dict()
    assert shoal.risk(shoal.anonymize(table, **asked)).population is None
