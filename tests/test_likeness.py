"""beta-likeness and delta-disclosure: limits met exactly, and other people's code."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from pycanon import anonymity

import shoal
from golden import mixed, roles_with
from model_examples import kernel_verdicts, make_example
from shoal.kernels import rules as kernel
from shoal.methods import METHODS
from shoal.models import BasicBeta, DeltaDisclosure, EnhancedBeta, histograms, rules_for

# of the table 1 in 4 has value 0; of class 0 half
IDS = np.array([0, 0, 0, 0, 1, 1, 1, 1])
CODES = np.array([0, 0, 1, 1, 1, 1, 1, 1])


def test_a_gain_of_exactly_beta_holds_and_the_next_smaller_beta_does_not():
    classes = histograms(IDS, CODES, 2)
    assert BasicBeta.of(1).holds(classes).tolist() == [True, True]
    assert BasicBeta.of(Fraction(10**12 - 1, 10**12)).holds(classes).tolist() == [False, True]
    assert BasicBeta.of(1).level(classes) == 1
    # -ln(1/4) = 1.386 allows that; class 1 gains 1/3 on a share of 3/4, and -ln(3/4) = 0.288
    assert EnhancedBeta.of(1).holds(classes).tolist() == [True, False]
    assert EnhancedBeta.of(1).level(classes) is None
    # class 1 has no value 0 at all
    assert DeltaDisclosure.of(50).holds(classes).tolist() == [True, False]
    assert DeltaDisclosure.of(1).level(classes) is None


def test_delta_is_a_natural_logarithm():
    classes = histograms(IDS, np.array([0, 0, 0, 1, 0, 1, 1, 1]), 2)  # 3 of 4 and 1 of 4: half
    assert DeltaDisclosure.of(str(math.log(2) + 1e-12)).holds(classes).all()
    assert not DeltaDisclosure.of(str(math.log(2) - 1e-12)).holds(classes).any()
    assert DeltaDisclosure.of(1).level(classes) == pytest.approx(math.log(2), abs=2e-6)


def test_enhanced_beta_never_lets_a_class_be_of_one_value():
    """Cao and Karras: q <= p (1 - ln p) < 1 for every p < 1, however large beta is."""
    alone = histograms(np.array([0, 1, 1, 1]), np.array([0, 1, 1, 2]), 3)
    assert BasicBeta.of(10**6).holds(alone).tolist() == [True, True]
    assert EnhancedBeta.of(10**6).holds(alone).tolist() == [False, True]


def test_a_column_of_one_value_satisfies_all():
    classes = histograms(IDS, np.zeros(8, dtype=int), 1)
    for model in (BasicBeta.of("0.001"), EnhancedBeta.of("0.001"), DeltaDisclosure.of("0.001")):
        assert model.holds(classes).all()


@pytest.mark.parametrize("model", [BasicBeta.of(1), EnhancedBeta.of(1), DeltaDisclosure.of(1)])
def test_the_kernel_decides_ties_and_numbers_beyond_int64_on_the_safe_side(model):
    example = make_example([(e, v, v, 0) for e, v in zip(IDS, CODES, strict=True)], False)
    rules = rules_for(example.table.codebook, [model])
    verdicts = list(kernel_verdicts(rules, example))
    nominal, number = example.histograms()
    exact = model.holds(nominal) & model.holds(number)
    assert verdicts == exact.tolist()
    huge = rules._replace(total=rules.total * 2**40, x=rules.x * 2**40)
    histogram = np.zeros(10, dtype=np.int64)
    histogram[[0, 1, 5, 6]] = 2**40
    touched = np.array([0, 1, 5, 6])
    allowed = kernel.holds(huge, 2**41, histogram, touched, 4)
    assert not allowed or exact[0]


@pytest.mark.parametrize("seed", range(6))
def test_pycanon_agrees(seed):
    """Its delta leaves out values that a class lacks; here none lacks any."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"q": rng.choice(list("abc"), 90), "s": rng.choice(list("xyz"), 90)})
    frame = frame.astype(object)
    ids = frame.groupby("q").ngroup().to_numpy()
    classes = histograms(ids, pd.factorize(frame["s"], sort=True)[0], 3)
    beta = anonymity.basic_beta_likeness(frame, ["q"], ["s"])
    assert BasicBeta.of(1).level(classes) == pytest.approx(beta, abs=2e-6)
    delta = anonymity.delta_disclosure(frame, ["q"], ["s"])
    assert DeltaDisclosure.of(1).level(classes) == pytest.approx(delta, abs=2e-6)


@pytest.mark.parametrize("method", ["best", "hilbert", "mondrian", "bsgi"])
@pytest.mark.parametrize("asked", [{"beta": 1}, {"beta": 2, "k": 5}, {"delta": 1}])
def test_the_bound_is_no_higher_than_the_loss(method, asked):
    assert method in METHODS
    table = mixed(160, 4)
    given = {**roles_with("age", "place"), "effort": "instant" if method == "best" else None}
    release = shoal.anonymize(table, method=method, **given, **asked, seed=3)
    assert release.verification.ok
    assert release.bound is None or release.bound.loss <= release.loss.gcp + 1e-12
