"""Attacks find what is planted, and nothing in a release of independent random columns."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_risk as naive
import shoal
from command import shoal as command
from shoal.attacks import Found, Rate, attack, attack_run, wilson
from shoal.attacks.inference import majority
from shoal.attacks.scene import scene_of
from shoal.attacks.secret import secrets_of
from shoal.errors import InputError, PolicyError
from shoal.policy import Policy

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")


def random_people(n, seed, values=5):
    """Independent columns: nothing follows from anything."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(18, 90, n),
            "pay": rng.integers(0, 40, n),
            "job": rng.choice(list("abcdef"), n),
            "ill": rng.choice([f"v{i}" for i in range(values)], n),
        }
    )


ROLES = {"qi": ["age", "pay", "job"], "sensitive": "ill", "method": "mondrian"}


def named(attacked, attack_name):
    return [found for found in attacked.found if found.attack == attack_name]


class TestPlanted:
    def test_nothing_is_found_in_independent_columns(self):
        """Classes of 100: in small ones a person's own value moves the majority (docs)."""
        people, others = random_people(2000, 1), random_people(400, 2)
        release = shoal.anonymize(people, **ROLES, k=100, l=2, seed=1)
        found = attack(release, people, others)
        assert release.verification.ok
        assert {f.attack for f in found.found} == {
            *("linking", "singling out"),
            *("inference", "membership"),
        }
        assert named(found, "linking")[0].main.share <= 1 / 100
        assert found.ok, found

    def test_a_release_that_hides_nobody_is_flagged(self):
        people, others = random_people(300, 1), random_people(300, 2)
        release = shoal.anonymize(people, **ROLES, k=1)
        found = attack(release, people, others)
        assert not found.ok
        assert named(found, "linking")[0].flagged
        assert named(found, "linking")[0].risk > 0.9
        assert named(found, "membership")[0].flagged
        assert named(found, "singling out")[0].flagged

    def test_homogeneous_classes_are_flagged(self):
        """k = 10 holds, and every class is of one illness that follows from nothing known."""
        rng = np.random.default_rng(0)
        ages = np.repeat(np.arange(20, 60), 10)
        ill = np.repeat(rng.choice(["x", "y", "z", "w"], 40), 10)
        people = pa.table({"age": ages, "ill": ill})
        others = pa.table({"age": ages, "ill": rng.choice(["x", "y", "z", "w"], 400)})
        release = shoal.anonymize(people, qi="age", sensitive="ill", k=10, method="mondrian")
        found, *_ = attack(release, people, others, attacks=["inference"]).found
        assert found.flagged and found.main.share == 1 and found.risk > 0.9

    def test_tight_intervals_single_out(self):
        """Ends of intervals that one person alone has; round intervals hide them."""
        people = random_people(2000, 3)
        tight = shoal.anonymize(people, **ROLES, k=10, seed=1)
        rounded = shoal.anonymize(people, **ROLES, k=10, seed=1, round={"age": 10, "pay": 10})
        ends = [
            named(attack(r, people, attacks=["singling-out"]), "singling out")[1].main.share
            for r in (tight, rounded)
        ]
        assert ends[0] > ends[1]

    def test_what_holds_for_anybody_is_not_the_releases_fault(self):
        """The illness follows from the age: known of people who are not in the release, too."""

        def sick(seed):
            table = random_people(800, seed)
            ill = np.where(table["age"].to_numpy() < 50, "young", "old")
            return table.set_column(3, "ill", pa.array(ill))

        release = shoal.anonymize(sick(1), qi=["age"], sensitive="ill", k=10, rest="drop",
                                  method="mondrian")  # fmt: skip
        three = attack(release, sick(1), sick(2), attacks=["inference"]).found
        assert len(three) == 3
        for found in three:
            assert found.main.share > 0.9 and not found.flagged
            assert found.meaningless == "people who are not in the release fare as badly"


class TestTwin:
    @settings(max_examples=40, deadline=None)
    @given(st.integers(0, 10_000), st.integers(1, 4), st.sampled_from(["mondrian", "hilbert"]))
    def test_candidates_and_guesses(self, seed, k, method):
        people = random_people(24, seed, values=3)
        small = {**ROLES, "method": method, "k": k}
        release = shoal.anonymize(people, **small, seed=1)
        scene = scene_of(release, people, None, Policy.parse())
        rows = release.table.to_pylist()
        boxes = [self.box(row) for row in rows]
        known = [(p["age"], p["pay"], p["job"]) for p in people.to_pylist()]
        candidates = [[i for i, box in enumerate(boxes) if naive.people(box, [p])] for p in known]
        assert scene.original.candidates(scene.qi).tolist() == [len(c) for c in candidates]
        found = attack(release, people, attacks=["linking", "singling-out"])
        linked = sum(1 / len(c) for c in candidates) / len(known)
        assert named(found, "linking")[0].main.share == pytest.approx(linked)
        alone = sum(naive.people(box, known) == 1 for box in dict.fromkeys(boxes))
        assert named(found, "singling out")[0].main.right == alone
        ends = [
            naive.people([*box[:a], (edge, edge), *box[a + 1 :]], known)
            for box in dict.fromkeys(boxes)
            for a in (0, 1)
            for edge in box[a]
            if box[a][0] != box[a][1]
        ]
        both = named(found, "singling out")[1:]
        assert [f.main.right for f in both] == ([ends.count(1)] if ends else [])
        top = [self.counts(rows, c) for c in candidates]
        certain = sum(t[0] for t in top if t[1])
        guess = majority(*secrets_of(scene))
        told = [p["ill"] for p in people.to_pylist()]
        least = sum(t[2] == {v} for t, v in zip(top, told, strict=True))
        most = sum(v in t[2] for t, v in zip(top, told, strict=True))
        assert certain >= 0 and least <= guess.main.right <= most

    @staticmethod
    def counts(rows, candidates):
        values = [rows[i]["ill"] for i in candidates]
        most = max(map(values.count, values))
        return most, True, {v for v in values if values.count(v) == most}

    @staticmethod
    def box(row):
        def interval(cell):
            ends = str(cell).strip("[]").split(",")
            return int(ends[0]), int(ends[-1])

        jobs = frozenset(row["job"].strip("{}").split(","))
        return interval(row["age"]), interval(row["pay"]), jobs


class TestRates:
    def test_risk_and_what_it_means(self):
        found = Found("a", "b", Rate(60, 100), Rate(20, 100), 0.1, 1.0)
        assert found.risk == pytest.approx(0.5) and found.flagged
        weak = Found("a", "b", Rate(60, 100), Rate(58, 100), 0.1, 1.0)
        assert not weak.flagged and "fare as badly" in weak.meaningless
        guess = Found("a", "b", Rate(10, 100), None, 0.1, 1.0)
        assert guess.risk is None and "no better than guessing" in guess.meaningless
        assert Found("a", "b", Rate(0, 0), None, 0.1, 1.0).meaningless == "nobody was attacked"

    def test_wilson(self):
        low, high = wilson(50, 100)
        assert (low, high) == (pytest.approx(0.4038, abs=1e-4), pytest.approx(0.5962, abs=1e-4))
        assert wilson(0, 0) == (0.0, 1.0)
        assert wilson(0, 10)[0] == 0 and wilson(10, 10)[1] == 1


class TestBadInput:
    @pytest.fixture
    def release(self):
        return shoal.anonymize(random_people(200, 1), **ROLES, k=5)

    def test_another_original(self, release):
        with pytest.raises(InputError, match="original: has 100 records, the release 200"):
            attack(release, random_people(100, 1))
        old = random_people(200, 1).set_column(0, "age", pa.array([200] * 200))
        with pytest.raises(InputError, match="200 of its 200 records fit no class"):
            attack(release, old)
        with pytest.raises(InputError, match="original has no column 'age'"):
            attack(release, random_people(200, 1).drop_columns(["age"]))

    def test_a_control_that_is_in_the_release(self, release):
        with pytest.raises(InputError, match="are in the original to the last cell"):
            attack(release, random_people(200, 1), random_people(200, 1).slice(0, 50))
        texts = random_people(200, 1)
        texts = texts.set_column(1, "pay", texts["pay"].cast(pa.string()))
        with pytest.raises(InputError, match="are in the original to the last cell"):
            attack(release, random_people(200, 1), texts)

    def test_unknown_attacks_and_shares(self, release):
        with pytest.raises(PolicyError, match=r"attacks: expected some of linking, .*; got magic"):
            attack(release, random_people(200, 1), attacks=["magic"])
        with pytest.raises(PolicyError, match="share: expected a number between 0 and 1"):
            attack_run(random_people(50, 1), share=1, **ROLES, k=2)


def test_the_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people = random_people(300, 1)
    pcsv.write_csv(people, "people.csv")
    pcsv.write_csv(random_people(100, 2), "others.csv")
    Policy.parse(**ROLES, k=1).save("weak.toml")
    assert command("anonymize", "people.csv", "-o", "r.csv", "--policy", "weak.toml").code == 0
    done = command(
        "attack", "r.csv", "--original", "people.csv", "--control", "others.csv",
        "--attacks", "linking,membership", "--json",
    )  # fmt: skip
    assert done.code == 1
    told = json.loads(done.out)
    assert told["tried"] == ["linking", "membership"] and not told["ok"]
    done = command("attack", "run", "people.csv", "--policy", "weak.toml", "--attacks", "linking")
    assert done.code == 1 and "FLAGGED" in done.out


def test_no_cell_is_told():
    people = random_people(200, 5).set_column(
        3, "ill", pa.array(["secret"] * 100 + ["other"] * 100)
    )
    found, _ = attack_run(people, **ROLES, k=5, seed=1)
    assert "secret" not in repr(found) + json.dumps(found.to_dict())
