"""`coarsen = "auto"`: the levels of least loss, by trying; paper 000, section 5.6."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from command import shoal as command
from shoal.engines.memory import levels
from shoal.errors import PolicyError
from shoal.io.write import write_table
from shoal.policy import Policy

AGE = {"intervals": {"widths": [5, 10, 20]}}
ASKED = {
    "qi": ["age", "gender", "marital"],
    "sensitive": "occupation",
    "hierarchy": {"age": AGE, "marital": "flat"},
    "l": 4,
    "rest": "drop",
    "seed": 3,
}


@given(st.lists(st.integers(0, 3), min_size=1, max_size=3), st.integers(0, 1000))
@settings(deadline=None)
def test_few_choices_are_all_tried(heights, seed):
    losses = {
        choice: (hash((choice, seed)) % 7) / 7
        for choice in product(*(range(h + 1) for h in heights))
    }
    chosen = levels.least_of(heights, losses.__getitem__)
    assert losses[chosen] == min(losses.values())
    least = [choice for choice in losses if losses[choice] == losses[chosen]]
    assert sum(chosen) == min(map(sum, least))  # of equal ones the finest


@given(st.lists(st.integers(2, 4), min_size=4, max_size=5), st.data())
@settings(deadline=None, max_examples=40)
def test_of_many_choices_none_next_door_is_better(heights, data):
    best = [data.draw(st.integers(0, h)) for h in heights]

    def loss(chosen):
        return sum(abs(a - b) for a, b in zip(chosen, best, strict=True))

    assert math.prod(h + 1 for h in heights) > levels.FEW
    assert levels.least_of(heights, loss) == tuple(best)


@pytest.mark.parametrize("method", ["tp+", "hilbert"])
def test_no_choice_of_levels_loses_less(method):
    people = shoal.datasets.census(1500)
    found = shoal.anonymize(people, **ASKED, method=method, coarsen="auto", recoding="suppress")
    assert found.verification.ok
    tried = {}
    for age, marital in product(range(5), range(2)):
        fixed = {"age": age, "marital": marital}
        tried[age, marital] = shoal.anonymize(
            people, **ASKED, method=method, coarsen=fixed, recoding="suppress"
        ).loss.gcp
    assert found.loss.gcp == pytest.approx(min(tried.values()))
    chosen = found.policy.coarsen
    assert tried[chosen["age"], chosen["marital"]] == pytest.approx(found.loss.gcp)
    assert found.loss.gcp < tried[0, 0]
    assert found.manifest["policy"]["coarsen"] == chosen  # levels show in what is released


def test_the_rest_is_as_given():
    people = shoal.datasets.census(800)
    found = shoal.anonymize(people, **ASKED, method="tp", coarsen={"age": "auto", "marital": 1})
    assert found.policy.coarsen["marital"] == 1
    assert isinstance(found.policy.coarsen["age"], int)


def test_what_cannot_be_searched_is_said():
    with pytest.raises(PolicyError, match="coarsen = auto: expected hierarchies to climb"):
        Policy.parse(qi=["age"], k=2, coarsen="auto")
    with pytest.raises(PolicyError, match="coarsen of 'age': expected a hierarchy"):
        Policy.parse(qi=["age"], k=2, coarsen={"age": "auto"})
    with pytest.raises(PolicyError, match="compare runs every method on one table"):
        shoal.compare(shoal.datasets.census(50), ["tp"], **ASKED, coarsen="auto")


def test_from_the_shell(tmp_path):
    source = tmp_path / "people.csv"
    write_table(shoal.datasets.census(500), source)
    trees = tmp_path / "marital.csv"
    values = sorted(set(shoal.datasets.census(500).column("marital").to_pylist()))
    trees.write_text("".join(f"{value};*\n" for value in values))
    asked = [
        "anonymize", source, "-o", tmp_path / "out.csv", "--qi", "gender,marital", "-k", "5",
        "--hierarchy", f"marital={trees}", "--method", "tp", "--rest", "drop",
    ]  # fmt: skip
    for how in ("auto", "marital=auto", "marital=1"):
        assert command(*asked, "--coarsen", how).code == 0
    both = command(*asked, "--coarsen", "auto", "--coarsen", "marital=1")
    assert both.code == 2 and "expected auto alone" in both.err
