"""What knowing the code, the policy and everybody else gives whoever does not know the seed."""

from __future__ import annotations

import numpy as np
import pytest

import shoal
from attackers import Replay, anatomy_guesses, attack, drawn_plan, wilson
from shoal.policy import Policy

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")

SECRET = 0x9F1C_27B4_55E0_8D3A_61C9_0E72_AB48_D6F5
"""As good as any other: fixed, so that the tests are."""
ROLES = {"qi": ["age", "gender", "education"], "sensitive": "occupation"}


class TestAnatomy:
    def test_whoever_knows_the_seed_learns_most_values(self):
        """The attack works: what protects is the seed, and nothing else."""
        right, of = anatomy_guesses(1500, 3, 0, known=True)
        assert right / of > 0.7

    @pytest.mark.parametrize("sort", [None, "age"])
    def test_replaying_with_another_seed_is_guessing(self, sort):
        right, of = anatomy_guesses(1500, 3, SECRET, sort=sort)
        low, high = wilson(right, of)
        assert low <= 1 / 3 <= high

    def test_the_plan_of_draws_is_that_of_the_method(self):
        counts = np.array([5, 4, 3, 3])
        plan = drawn_plan(counts, 3)
        assert len(plan) == 5
        assert np.bincount([v for group in plan for v, _ in group]).tolist() == [5, 4, 3, 3]


class TestReplay:
    """All is known but one person's age. The whole release is compared with the attacker's runs."""

    PEOPLE = shoal.datasets.census(150).select([*ROLES["qi"], ROLES["sensitive"]])

    @pytest.mark.parametrize(
        "asked",
        [
            {"method": "hilbert", "k": 5},
            {"method": "hilbert", "l": 3},
            {"method": "mondrian", "k": 5},
            {"method": "bsgi", "l": 3},
        ],
        ids=str,
    )
    def test_hardly_any_release_comes_out_again(self, asked):
        replay = Replay(self.PEOPLE, Policy.parse(**ROLES, **asked))
        verdicts = [attack(replay, target, SECRET + target, range(8)) for target in (3, 50, 77)]
        known = [verdict for verdict in verdicts if verdict is not None]
        assert known
        assert not any(verdict.pinned for verdict in known)

    def test_with_the_seed_it_comes_out(self):
        """The attack works where the seed is known: the true age makes the release again."""
        replay = Replay(self.PEOPLE, Policy.parse(**ROLES, method="hilbert", k=5))
        verdicts = [attack(replay, target, SECRET, [SECRET]) for target in (3, 50, 77, 90)]
        known = [verdict for verdict in verdicts if verdict is not None]
        assert all(verdict.exact >= verdict.guess for verdict in known)
        assert sum(v.exact for v in known) > 2 * sum(v.guess for v in known)
