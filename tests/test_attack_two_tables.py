"""Releases in two tables (anatomy): quasi-identifiers as they are, values by group."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_attacks as naive
import shoal
from command import shoal as command
from shoal.attacks import attack
from shoal.attacks.definetti import _only_buckets
from shoal.attacks.inference import majority
from shoal.attacks.scene import scene_of
from shoal.attacks.secret import secrets_of
from shoal.errors import InputError, PolicyError
from shoal.policy import Policy

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
ROLES = {"qi": ["age", "job"], "sensitive": "ill", "method": "anatomy"}


def people_of(n, seed, follows=False):
    """People in rows of their own; what they have follows from the age, or from nothing."""
    rng = np.random.default_rng(seed)
    age, job = rng.integers(20, 26, n), rng.choice(list("abc"), n)
    ill = age % 4 if follows else rng.permutation(np.arange(n) % 4)
    return pa.table({"age": age, "job": job, "ill": [f"v{v}" for v in ill]})


def released(n=60, seed=0, values=2, **more):
    people = people_of(n, seed, **more)
    return people, shoal.anonymize(people, **ROLES, l=values, seed=1)


def told_by_group(release):
    told = {}
    for row in release.sensitive_table.to_pylist():
        told.setdefault(row["group"], []).extend([row["ill"]] * row["count"])
    return told


def about(found, words):
    return next(one for one in found.found if words in one.about)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(8, 60), st.integers(2, 3))
def test_linking_and_majority_are_the_twins(seed, n, values):
    people, release = released(n, seed, values)
    records = [(str(row["age"]), row["job"]) for row in release.table.to_pylist()]
    expected = naive.in_two_tables(
        records, release.table["group"].to_pylist(), told_by_group(release)
    )
    scene = scene_of(release, people, None, Policy.parse())
    (secret,) = secrets_of(scene)
    right, links = 0, 0.0
    for row, prior in zip(people.to_pylist(), secret.priors(scene.original), strict=True):
        person = (str(row["age"]), row["job"])
        shares = expected(person)
        there = {text: value for text, value in zip(secret.texts, prior, strict=True) if value}
        assert there == pytest.approx({text: float(value) for text, value in shares.items()})
        guess = max(secret.texts, key=lambda text: shares.get(text, 0))  # the first of equals
        right += guess == row["ill"]
        links += 1 / records.count(person)
    assert majority(secret).main.right == right
    linked = about(attack(release, people, attacks=["linking"]), "knows all")
    assert linked.main.right == pytest.approx(links)
    assert linked.promised == 0  # equal quasi-identifiers are no promise


def test_every_record_is_dealt_each_value_of_its_group_once():
    _, release = released(40, 3, 4)
    (secret,) = secrets_of(scene_of(release, people_of(40, 3), None, Policy.parse()))
    subject = secret.scene.subject
    turns = [np.array(subject.distinct("ill", turn).texts())[subject.distinct("ill", turn).codes]
             for turn in range(4)]  # fmt: skip
    told = told_by_group(release)
    for number, group in enumerate(release.table["group"].to_pylist()):
        assert sorted(turn[number] for turn in turns) == sorted(told[group])


def test_the_bucket_of_a_class_is_the_group_of_all_its_records():
    _, release = released(60, 5)
    (secret,) = secrets_of(scene_of(release, people_of(60, 5), None, Policy.parse()))
    subject = secret.scene.subject
    ids, classes = subject.classes
    group = subject.buckets[0]
    for number, bucket in zip(range(classes), _only_buckets(subject), strict=True):
        there = set(group[ids == number].tolist())
        assert there == {bucket} if len(there) == 1 else bucket == -1


def test_what_follows_from_quasi_identifiers_is_learnt_beyond_the_promise():
    """Kifer's attack: groups say 1/2, all groups together say which age has which value."""
    people, release = released(600, 1, 2, follows=True)
    found = attack(release, people, attacks=["inference"])
    assert release.verification.ok
    assert about(found, "majority").main.share < about(found, "learnt").main.share
    assert about(found, "learnt").main.share > 0.9


def test_all_attacks_say_what_they_do(tmp_path):
    people, release = released(80, 2)
    found = attack(release, people, people_of(40, 9), attacks="all")
    assert {one.attack for one in found.found} == {
        "linking", "singling out", "inference", "membership"
    }  # fmt: skip
    reasons = {one.attack: one.reason for one in found.skipped}
    assert "one table" in reasons["replay"] and "one table" in reasons["minimality"]
    both = attack(release, people, others=[release], attacks=["composition"])
    assert about(both, "pinned").main.of == 80
    assert any("two tables" in one.reason for one in both.skipped)


class TestFiles:
    @pytest.fixture
    def files(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        people, release = released(60, 4)
        pcsv.write_csv(people, "people.csv")
        release.write(tmp_path / "r.csv")
        return tmp_path

    def test_a_file_is_read_with_its_second_table(self, files):
        people, release = released(60, 4)
        by_file = attack("r.csv", "people.csv", attacks=["linking", "inference"])
        by_hand = attack(release, people, attacks=["linking", "inference"])
        assert [one.to_dict() for one in by_file.found] == [one.to_dict() for one in by_hand.found]
        done = command("attack", "r.csv", "--original", "people.csv", "--attacks", "linking")
        assert done.code == 1 and "FLAGGED" in done.out  # it hides nobody, and says so

    def test_risk_counts_equal_people_and_groups(self, files):
        done = command("risk", "r.csv", "--threshold", "0.5")
        assert "hide nobody" in done.out and "groups have one value only" in done.out
        found = shoal.risk("r.csv", population="people.csv")
        rows = [tuple(row) for row in zip(*pcsv.read_csv("people.csv").to_pydict().values(),
                                          strict=True)]  # fmt: skip
        alike = [sum(other[:2] == row[:2] for other in rows) for row in rows]
        assert found.attacker("prosecutor").largest == 1 / min(alike)
        assert found.attacker("journalist").largest == 1 / min(alike)
        (told,) = found.disclosures
        assert told.told_by_majority == told.largest_share == 0.5
        assert told.named_highest == 0.5
        assert json.loads(command("risk", "r.csv", "--json").out)["tables"] == 2

    def test_a_second_table_that_is_gone_or_another(self, files):
        second = files / "r.sensitive.csv"
        text = second.read_text("utf-8")
        second.write_text(text.replace("v1", "v0", 1), "utf-8")
        assert shoal.risk("r.csv").changed
        second.write_text("group,ill\n1,v0\n", "utf-8")
        with pytest.raises(InputError, match="do not fit together"):
            shoal.risk("r.csv")
        second.unlink()
        with pytest.raises(InputError, match="second table"):
            shoal.risk("r.csv")

    def test_they_are_still_not_joined(self, files):
        with pytest.raises(PolicyError, match="two tables"):
            shoal.join_check(["r.csv", "r.csv"])
