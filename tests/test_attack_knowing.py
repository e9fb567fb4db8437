"""Attackers who know more: all classes at once, the method, or several releases; or err."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_attacks as naive
import shoal
from shoal.attacks import Skipped, attack, minimality, replaying
from shoal.attacks.definetti import ROUNDS, SWEEPS, believed, binned
from shoal.attacks.linking import linking
from shoal.attacks.scene import scene_of
from shoal.errors import PolicyError
from shoal.policy import Policy

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
ROLES = {"qi": ["age", "pay", "job"], "sensitive": "ill", "method": "mondrian"}
SIX = pa.table(
    {"age": [10, 10, 20, 20, 20, 20], "ill": ["HIV", "HIV", "flu", "cold", "gout", "acne"]}
)


def people_of(n, seed):
    """Independent columns."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(18, 90, n),
            "pay": rng.integers(0, 40, n),
            "job": rng.choice(list("abc"), n),
            "ill": rng.choice(["u", "v", "w"], n),
        }
    )


def about(attacked, words):
    """The one result that speaks of this."""
    (found,) = [found for found in attacked.found if words in found.about]
    return found


def boxes_of(release):
    """Classes as pairs of ends and sets, with their sizes."""
    sizes = {}
    for row in release.table.to_pylist():
        key = tuple(str(row[name]) for name in ("age", "pay", "job"))
        sizes[key] = sizes.get(key, 0) + 1
    boxes = []
    for age, pay, job in sizes:
        ends = [tuple(map(int, cell.strip("[]").split(","))) for cell in (age, pay)]
        boxes.append((*((e[0], e[-1]) for e in ends), frozenset(job.strip("{}").split(","))))
    return boxes, list(sizes.values())


class TestMistakenKnowledge:
    @settings(max_examples=25, deadline=None)
    @given(st.integers(0, 10_000), st.integers(1, 4), st.sampled_from(["mondrian", "hilbert"]))
    def test_twin(self, seed, k, method):
        people = people_of(24, seed)
        release = shoal.anonymize(people, **{**ROLES, "method": method}, k=k, seed=1)
        scene = scene_of(release, people, None, Policy.parse())
        columns = scene.original.mistaken(scene.qi, 0.1, 0)
        wrong = list(zip(*(column.to_pylist() for column in columns), strict=True))
        true = [tuple(row[name] for name in scene.qi) for row in people.to_pylist()]
        boxes, sizes = boxes_of(release)
        (found,) = [f for f in linking(scene) if "wrongly" in f.about]
        expected = naive.linked_by_mistaken(boxes, sizes, true, wrong)
        assert found.main.right == pytest.approx(expected)

    def test_who_errs_links_less(self):
        people = people_of(1000, 1)
        found = attack(shoal.anonymize(people, **ROLES, k=1), people, attacks=["linking"])
        all_right = found.found[0]
        assert all_right.main.share > 0.9
        wrongly = about(found, "wrongly")
        assert 0.5 < wrongly.main.share < all_right.main.share


class TestOrderOfRows:
    def test_a_published_order_is_flagged(self):
        people = people_of(300, 2)
        kept = shoal.anonymize(people, **ROLES, k=10, keep_order=True)
        found = about(attack(kept, people, attacks=["linking"]), "order of the rows")
        assert found.flagged and found.main.share == 1
        canonical = shoal.anonymize(people, **ROLES, k=10)
        found = about(attack(canonical, people, attacks=["linking"]), "order of the rows")
        assert not found.flagged and found.main.right == 1

    def test_sorted_people_in_a_sorted_release_tell_nothing(self):
        people = pa.table(
            {"age": sorted([30, 40] * 20), "ill": ["u"] * 10 + ["v"] * 10 + ["u", "v"] * 10}
        )
        people = people.sort_by([("age", "ascending"), ("ill", "ascending")])
        release = shoal.anonymize(people, qi="age", sensitive="ill", k=20, method="mondrian")
        found = about(attack(release, people, attacks=["linking"]), "order of the rows")
        assert not found.flagged


class TestDeFinetti:
    @settings(max_examples=25, deadline=None)
    @given(st.integers(0, 10_000), st.integers(2, 4))
    def test_twin(self, seed, k):
        rng = np.random.default_rng(seed)
        classes, values = 3, 3
        alone = np.repeat(np.arange(classes), k)
        alone[rng.random(len(alone)) < 0.2] = -1
        ill = rng.integers(0, values, len(alone))
        counts = np.zeros((classes, values))
        np.add.at(counts, (np.repeat(np.arange(classes), k), ill), 1)
        prior = counts[np.repeat(np.arange(classes), k)]
        codes = rng.integers(0, 3, (len(alone), 2))
        members = [
            (np.flatnonzero(alone == c).tolist(), counts[c].tolist()) for c in range(classes)
        ]
        expected = naive.believed(prior.tolist(), codes.tolist(), members, ROUNDS, SWEEPS)
        assert believed(prior, codes, alone, counts) == pytest.approx(np.array(expected))

    def test_many_values_are_cut_into_bins(self):
        codes = np.arange(1000, dtype=np.int32)[:, None]
        bins = binned(codes)[:, 0]
        assert (np.diff(bins) >= 0).all() and np.bincount(bins).tolist() == pytest.approx(
            [1000 / 16] * 16, abs=1
        )

    def test_it_learns_from_all_classes_what_no_class_says(self):
        """Women have u, men v; each class of ten has both, in shares that differ."""
        rng = np.random.default_rng(0)
        shares = rng.permutation([2, 3, 4, 5, 5, 6, 7, 8] * 10)
        gender = [g for women in shares for g in ["f"] * women + ["m"] * (10 - women)]
        people = pa.table(
            {
                "age": np.repeat(np.arange(len(shares)) + 20, 10),
                "gender": gender,
                "ill": ["u" if g == "f" else "v" for g in gender],
            }
        )
        release = shoal.anonymize(
            people, qi=["age", "gender"], sensitive="ill", k=10, l=2, l_reading="distinct",
            hierarchy={"gender": "flat"}, method="mondrian", seed=1,
        )  # fmt: skip
        assert set(release.table["gender"].to_pylist()) == {"*"}
        found = attack(release, people, attacks=["inference"])
        assert about(found, "majority").main.share < 0.7
        assert about(found, "learnt from all classes").main.share > 0.95


class TestComposition:
    def test_two_releases_pin_what_none_of_them_tells(self):
        """Those aged 22, 32, ... are in both; each release alone is 2-diverse."""
        tens = np.arange(2, 12) * 10
        first = pa.table(
            {"age": np.concatenate([tens, tens + 2]), "ill": ["flu"] * 10 + ["HIV"] * 10}
        )
        other = pa.table(
            {"age": np.concatenate([tens + 2, tens + 4]), "ill": ["HIV"] * 10 + ["cold"] * 10}
        )
        one, two = (
            shoal.anonymize(t, qi="age", sensitive="ill", l=2, method="mondrian")
            for t in (first, other)
        )
        found = about(attack(one, first, others=[two], attacks=["composition"]), "pinned")
        assert found.main.right == 10 and found.baseline == 0 and found.flagged

    def test_join_check_is_asked(self):
        people = people_of(200, 4)
        one = shoal.anonymize(people, **ROLES, k=5, seed=1)
        two = shoal.anonymize(people, **{**ROLES, "method": "hilbert"}, k=5, seed=2)
        found = attack(one, people, others=[two])
        assert "composition" in found.tried  # without being asked for by name
        checked = shoal.join_check([one, two], k=5)
        exposed = max(view.exposed for view in checked.views)
        assert about(found, "join-check").main.right == exposed > 0
        same = attack(one, people, others=[one], attacks=["composition"])
        assert about(same, "join-check").main.right == 0

    def test_alone(self):
        people = people_of(50, 1)
        found = attack(shoal.anonymize(people, **ROLES, k=5), people, attacks=["composition"])
        assert not found.found and isinstance(found.skipped[0], Skipped)
        assert "needs further releases" in repr(found)


class TestDowncoding:
    def test_tight_intervals_are_made_finer_and_round_ones_less(self):
        people = people_of(2000, 5)
        tight = shoal.anonymize(people, **ROLES, k=5)
        (found,) = attack(tight, people, people_of(2000, 6), attacks=["downcoding"]).found
        assert found.main.share == 1 and found.flagged
        rounded = shoal.anonymize(people, **ROLES, k=5, round={"age": 20, "pay": 20})
        (less,) = attack(rounded, people, attacks=["downcoding"]).found
        assert less.main.share < 0.8

    def test_no_interval(self):
        people = people_of(100, 5)
        release = shoal.anonymize(
            people, qi="job", sensitive="ill", k=2, rest="drop", method="mondrian"
        )
        found = attack(release, people, attacks=["downcoding"])
        assert not found.found and "no interval" in str(found.skipped[0])


class TestReplay:
    @pytest.fixture
    def scene(self):
        people = shoal.datasets.census(60).select(["age", "gender", "occupation"])
        release = shoal.anonymize(
            people, qi=["age", "gender"], sensitive="occupation", k=3, method="hilbert", seed=77
        )
        return scene_of(release, people, None, Policy.parse())

    def test_whoever_knows_the_seed_pins_a_value(self, scene):
        whole, _ = replaying.replayed(scene, scene.policy, 6, 5, [77])
        assert whole.main.share > 0.7 and whole.flagged

    def test_with_seeds_of_his_own_he_guesses(self, scene):
        whole, by_class = replaying.replayed(scene, scene.policy, 6, 5, range(1, 4))
        assert whole.main.share == pytest.approx(whole.baseline)
        assert by_class.main.of == 6

    def test_large_tables_and_files_without_a_policy_are_left_out(self, scene, tmp_path):
        people = people_of(replaying.MOST_RECORDS + 1, 1)
        release = shoal.anonymize(people, **ROLES, k=50)
        found = attack(release, people, attacks=["replay", "minimality"])
        assert [s.attack for s in found.skipped] == ["replay", "minimality"]
        assert "of at most 2,000 records" in found.skipped[0].reason
        small = people_of(100, 1)
        shoal.anonymize(small, **ROLES, k=10).write(tmp_path / "r.csv")
        found = attack(tmp_path / "r.csv", small, attacks=["replay"])
        assert "needs the policy" in found.skipped[0].reason


class TestMinimality:
    def test_six_people_of_the_paper(self, monkeypatch):
        monkeypatch.setattr(minimality, "SEEDS", (1,))
        release = shoal.anonymize(SIX, qi="age", sensitive="ill", l=2, method="mondrian", seed=5)
        (found,) = attack(release, SIX, attacks=["minimality"]).found
        assert found.main.right == 2 and found.flagged  # the two who have HIV
        assert not (about(attack(release, SIX, attacks=["inference"]), "majority")).flagged

    @pytest.mark.heavy
    def test_blind_hides_them(self):
        release = shoal.anonymize(SIX, qi="age", sensitive="ill", l=2, method="blind", seed=5)
        (found,) = attack(release, SIX, attacks=["minimality"]).found
        assert found.main.right == 0 and not found.flagged

    def test_drawn_worlds(self, monkeypatch):
        monkeypatch.setattr(minimality, "DRAWN", 12)
        people = people_of(120, 7)
        release = shoal.anonymize(people, **ROLES, l=2, seed=5)
        (found,) = attack(release, people, attacks=["minimality"]).found
        assert found.main.of <= 120 and found.coverage == found.main.of / 120
        assert 0 < found.baseline <= 0.5

    def test_classes_that_overlap(self):
        people = people_of(120, 7)
        release = shoal.anonymize(people, **{**ROLES, "method": "hilbert"}, l=2, seed=5)
        found = attack(release, people, attacks=["minimality"])
        assert "classes overlap" in found.skipped[0].reason


def test_all_by_name():
    people = people_of(80, 1)
    release = shoal.anonymize(people, **ROLES, k=10, seed=1)
    with pytest.raises(PolicyError, match="composition, downcoding, replay, minimality; got x"):
        attack(release, people, attacks=["x"])
