"""Full-domain methods within a budget of suppressed records: as good as trying everything."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from guarantees import assert_models_hold
from random_tables import microdata
from shoal.encoding.encode import encode
from shoal.errors import PolicyError
from shoal.methods.attributes import _two_levels
from shoal.methods.leaving_out import least_within, recoding_at
from shoal.methods.levels import levels_of
from shoal.metrics.loss import gcp, with_suppressed
from shoal.models import models_of, satisfied_classes

DEMO = {"qi": ["gender", "education", "marital"], "rest": "drop"}


def least_by_trying(table, models, levels, most):
    """Every node, with every class left out that fails: the least loss of all records."""
    best = gcp(table, recoding_at(table, levels, [len(each.blocks) - 1 for each in levels]))
    for node in product(*(range(len(each.blocks)) for each in levels)):
        ids = recoding_at(table, levels, node).partitions[0].group_ids()
        passes = satisfied_classes(table, models, ids)
        kept = np.flatnonzero(passes[ids])
        if len(kept) and table.n - len(kept) <= most:
            rest = table.take(kept)
            loss = gcp(rest, recoding_at(rest, levels, node))
            best = min(best, with_suppressed(loss, rest.n, table.n - rest.n))
    return best


@pytest.mark.parametrize("method", ["attributes", "incognito"])
@pytest.mark.parametrize("asked", [{"k": 2}, {"k": 3}, {"l": 2}, {"k": 3, "l": 2}])
@settings(max_examples=25, deadline=None)
@given(case=microdata(), share=st.sampled_from([0.1, 0.3, 0.6]))
def test_no_node_with_records_left_out_loses_less(method, asked, case, share):
    source, roles = case
    roles = {**roles, "sensitive": ["disease"], "rest": "plain"}
    policy = shoal.Policy.parse(**roles, **asked, method=method, max_suppressed=share, seed=1)
    table, models = encode(source, policy), models_of(policy)
    assume(satisfied_classes(table, models, np.zeros(table.n, dtype=np.int64)).all())
    release = shoal.anonymize(source, policy)
    assert release.verification.ok
    assert_models_hold(release, roles["sensitive"])
    seen = table.suppressing() if method == "attributes" else table
    choose = _two_levels if method == "attributes" else levels_of
    levels = [choose(*each) for each in zip(seen.qi, seen.counts, strict=True)]
    most = policy.suppressible(table.n)
    least = least_by_trying(seen, models, levels, most)
    found = least_within(seen, models, levels, most, None, lambda done, total: None)
    assert found.total / table.n == pytest.approx(least)
    # Blocks end at values that are kept, and automatic levels follow from those.
    automatic = any(each.hierarchy is None for each in seen.qi) and method == "incognito"
    whole = shoal.anonymize(source, policy.override(max_suppressed=None)).loss.gcp
    assert release.loss.gcp <= (whole if automatic else least) + 1e-9


def test_every_attribute_of_the_demo_table_is_kept_within_four_percent():
    people = shoal.datasets.census(5000)
    without = shoal.anonymize(people, k=5, method="attributes", **DEMO)
    release = shoal.anonymize(people, k=5, method="attributes", max_suppressed=0.04, **DEMO)
    assert release.verification.ok
    assert release.verification.class_sizes.min() >= 5
    assert release.method.facts["suppressed"] == []
    assert release.loss.gcp < 0.03 < without.loss.gcp
    assert 5000 - release.table.num_rows <= 200


@pytest.mark.parametrize("method", ["attributes", "incognito"])
def test_records_left_out_can_be_a_class_of_stars(method):
    people = shoal.datasets.census(2000)
    release = shoal.anonymize(
        people, k=5, method=method, max_suppressed=0.1, suppress_by="star", **DEMO
    )
    assert release.verification.ok
    assert release.table.num_rows == 2000
    assert release.verification.class_sizes.min() >= 5


def test_another_metric_has_no_budget():
    people = shoal.datasets.census(300)
    with pytest.raises(PolicyError, match="leave out one of the two"):
        shoal.anonymize(
            people, k=5, method="incognito", max_suppressed=0.1, option={"metric": "dm"}, **DEMO
        )


def test_a_proof_about_those_who_are_kept_says_so():
    people = shoal.datasets.census(2000)
    release = shoal.anonymize(
        people, l=3, sensitive="occupation", method="tp+", max_suppressed=0.05,
        qi=["gender", "education", "marital", "age"], rest="drop",
    )  # fmt: skip
    assert release.verification.ok
    left_out = release.table.num_rows < 2000
    assert release.method.proof.startswith("of the records that are kept: ") == left_out
