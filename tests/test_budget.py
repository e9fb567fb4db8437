"""Given a budget of loss, the strongest k or l that fits, and what the next would cost."""

from __future__ import annotations

import pytest

import shoal
from shoal.errors import InfeasibleError, PolicyError

QI = ["age", "gender", "education"]


@pytest.fixture(scope="module")
def people():
    return shoal.datasets.census(800)


@pytest.mark.parametrize("budget", [0.02, 0.1, 0.3])
def test_the_k_found_fits_and_the_next_does_not(people, budget):
    release = shoal.anonymize(people, qi=QI, max_loss=budget)
    found = release.manifest["method"]["budget"]
    k = found["k"]
    assert release.policy.k == k
    assert release.verification.class_sizes.min() >= k
    assert release.loss.gcp <= budget
    assert found["loss"] == pytest.approx(release.loss.gcp)
    following = shoal.anonymize(people, qi=QI, k=k + 1)
    assert found["next"] == {"k": k + 1, "loss": pytest.approx(following.loss.gcp)}
    assert following.loss.gcp > budget


def test_other_models_stay_and_l_can_be_searched(people):
    release = shoal.anonymize(
        people, qi=QI, sensitive="occupation", k=4, max_loss=0.4, search="l", method="mondrian"
    )
    found = release.manifest["method"]["budget"]
    assert found["l"] >= 2
    assert [str(model) for model in release.models] == ["k = 4", f"l = {found['l']} (frequency)"]
    assert release.loss.gcp <= 0.4


def test_a_budget_for_everything_buys_one_class(people):
    release = shoal.anonymize(people, qi=QI, max_loss=1)
    assert release.policy.k > people.num_rows // 2
    assert release.verification.classes == 1


def test_what_cannot_be_bought_is_said(people):
    with pytest.raises(InfeasibleError, match="k = 2 already loses"):
        shoal.anonymize(people, qi=QI, max_loss=0)
    with pytest.raises(PolicyError, match="do not give k"):
        shoal.anonymize(people, qi=QI, max_loss=0.1, k=3)
    with pytest.raises(PolicyError, match="0 to 1"):
        shoal.anonymize(people, qi=QI, max_loss=1.5)
    with pytest.raises(PolicyError, match="sensitive column"):
        shoal.anonymize(people, qi=QI, max_loss=0.5, search="l")
