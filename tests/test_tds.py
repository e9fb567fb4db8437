"""Top-down specialisation: safe first, then the same cut as the slow twin, then the domains."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import naive_models
import naive_tds as naive
import shoal
from columns import columns_of, sensitive_of
from naive_queries import groups_of
from random_tables import microdata
from shoal.encoding.encode import encode
from shoal.encoding.recode import recode
from shoal.encoding.table import Partition
from shoal.errors import InfeasibleError, InputError, NotFoundError, PolicyError
from shoal.kernels.random import seed_words
from shoal.methods.base import Run
from shoal.methods.papers.tds import DRAWS, TDS, Cut, TDSOptions, drawn_factors
from shoal.metrics.loss import gcp
from shoal.models import build_models, check_eligible, needs_sensitive, table_histograms
from shoal.policy import Policy

MODELS = [
    {"k": 1},
    {"k": 3},
    {"l": 2},
    {"l": 3, "l_reading": "distinct"},
    {"l": 2, "l_reading": "recursive", "c": 2},
    {"k": 2, "alpha": 0.5},
    {"t": 0.4},
    {"k": 3, "l": 2, "t": 0.5},
]
SCORES = ["loss", "divergence", "information"]


def encoded(columns, **settings):
    return encode(pa.table(columns), Policy.parse(k=1, **settings))


def run(table, models, **options):
    return TDS().run(table, models, TDSOptions(**options), Run())


def blocks_of(domain):
    return sorted(set(zip(domain.low.tolist(), domain.high.tolist(), strict=True)))


@st.composite
def tasks(draw, most=30):
    """An encoded table, models that it satisfies as a whole, and options."""
    source, given_settings = draw(microdata(most=most))
    columns = draw(st.sampled_from([["disease"], ["disease", "income"]]))
    models = build_models(**draw(st.sampled_from(MODELS)))
    try:
        table = encode(source, Policy.parse(**given_settings, sensitive=columns))
        check_eligible(table.codebook, models)
    except (InputError, InfeasibleError, NotFoundError):
        reject()
    options = {"score": draw(st.sampled_from(SCORES)), "cautious": draw(st.booleans())}
    return table, models, options


def allowed_by(table, models):
    """Whether a class of records satisfies every model in every sensitive column."""
    whole = [list(enumerate(s.codes.tolist())) for s in sensitive_of(table)]

    def allowed(rows):
        chosen = set(rows)
        return all(
            naive_models.holds(
                model,
                [
                    [pair for pair in records if pair[0] in chosen],
                    [pair for pair in records if pair[0] not in chosen],
                ][: 2 if len(chosen) < table.n else 1],
                s.ordered,
            )[0]
            for model in models
            for s, records in zip(table.sensitive, whole, strict=True)
        )

    return allowed


@settings(deadline=None, max_examples=100)
@given(tasks(), st.booleans(), st.integers(0, 99))
def test_classes_are_safe_and_the_cut_is_that_of_the_slow_twin(task, drawn, seed):
    table, models, options = task
    factors = drawn_factors(table, np.random.default_rng(seed))
    if not drawn:  # then many scores are equal
        factors = np.ones_like(factors)
    cut = Cut(table, models, TDSOptions(**options), factors)
    while cut.specialise():
        pass
    allowed = allowed_by(table, models)
    partition = Partition.from_group_ids(cut.class_of)
    assert all(allowed(rows) for rows in groups_of(partition))
    sizes_only = not needs_sensitive(models)
    slow = naive.tds(table, allowed, **options, sizes_only=sizes_only, factors=factors)
    assert [blocks_of(axis.domain()) for axis in cut.axes] == slow
    assert sorted(map(sorted, groups_of(partition))) == sorted(naive.classes(table, slow))


@settings(deadline=None, max_examples=60)
@given(tasks(), st.integers(0, 99))
def test_a_release_is_safe_and_the_best_of_what_was_drawn(task, seed):
    table, models, options = task
    outcome = TDS().run(table, models, TDSOptions(**options), Run(seed))
    assert all(map(allowed_by(table, models), groups_of(outcome.recoding.partitions[0])))
    rng = np.random.default_rng(seed_words(seed, "tds"))
    cuts = []
    for _ in range(DRAWS):
        cut = Cut(table, models, TDSOptions(**options), drawn_factors(table, rng))
        while cut.specialise():
            pass
        worth = (not cut.safe, gcp(table, cut.recoding()))
        cuts.append((worth, [blocks_of(axis.domain()) for axis in cut.axes]))
    least = min(worth for worth, _ in cuts)
    blocks = [blocks_of(domain) for domain in outcome.recoding.domains]
    assert blocks in [found for worth, found in cuts if worth == least]


@settings(deadline=None, max_examples=100)
@given(tasks(most=40))
def test_released_values_are_a_domain(task):
    table, models, options = task
    outcome = run(table, models, **options)
    partition = outcome.recoding.partitions[0]
    texts = recode(table, outcome.recoding)
    for column, domain, released in zip(
        columns_of(table), outcome.recoding.domains, texts, strict=True
    ):
        blocks = blocks_of(domain)
        assert [c for low, high in blocks for c in range(low, high + 1)] == list(range(column.size))
        assert outcome.facts["blocks"][column.name] == len(blocks)
        for rows in groups_of(partition):
            assert len({int(domain.low[column.codes[r]]) for r in rows}) == 1
        text_of_block = {}
        for row, text in enumerate(released.index.tolist()):
            block = int(domain.low[column.codes[row]])
            assert text_of_block.setdefault(block, text) == text
        if not {"*", "[1,2]"} & set(column.labels):  # values that look like released ones
            assert len(set(text_of_block.values())) == len(blocks)


def test_by_hand():
    ages = [20, 21, 22, 23, 40, 41, 42, 43]
    table = encoded({"age": ages, "sex": ["f", "m"] * 4}, qi=["age", "sex"])
    outcome = run(table, build_models(k=2), score="loss")
    # Sex comes first (a loss of 1 for all 8 records), then the gap between 23 and 40.
    assert blocks_of(outcome.recoding.domains[1]) == [(0, 0), (1, 1)]
    assert blocks_of(outcome.recoding.domains[0]) == [(0, 3), (4, 7)]
    assert outcome.facts == {"specialisations": 2, "blocks": {"age": 2, "sex": 2}}
    assert outcome.recoding.partitions[0].groups == 4


def test_missing_values_part_first_and_are_published_as_a_star_until_then():
    columns = {"age": [1, 2, 3, 4, None, None]}
    table = encoded(columns, qi=["age"])
    assert blocks_of(run(table, build_models(k=2)).recoding.domains[0]) == [(0, 1), (2, 3), (4, 4)]
    outcome = run(table, build_models(k=3))
    assert blocks_of(outcome.recoding.domains[0]) == [(0, 4)]
    assert recode(table, outcome.recoding)[0].texts == ["*"]


def test_a_hierarchy_is_followed_level_by_level():
    tree = {"tree": {"x": {"y": ["a", "b"], "z": ["c"]}, "w": ["d", "e"]}, "root": "any"}
    cells = [*"aabbccdde"]
    table = encoded({"q": cells}, qi=["q"], hierarchy={"q": tree})
    outcome = run(table, build_models(k=2))
    assert recode(table, outcome.recoding)[0].texts == ["a", "b", "c", "w"]
    assert outcome.facts["specialisations"] == 3  # any, x, y
    table = encoded({"q": [*cells, "d", "e"]}, qi=["q"], hierarchy={"q": tree})
    assert run(table, build_models(k=3)).facts["blocks"] == {"q": 2}  # y of 4, but z of 2
    assert run(table, build_models(k=6)).facts["blocks"] == {"q": 1}  # w has 5 records


def test_the_score_decides():
    # The sensitive value follows from the town; the ages are far apart.
    table = encoded(
        {"age": [1, 1, 9, 9] * 2, "town": [*"aaaabbbb"], "s": [*"xyxyzwzw"]},
        qi=["age", "town"], sensitive=["s"], weight={"town": 0.5}, hierarchy={"town": "flat"},
    )  # fmt: skip
    models = build_models(k=4)
    found = {score: run(table, models, score=score).facts["blocks"] for score in SCORES}
    assert found["loss"] == {"age": 2, "town": 1}
    assert found["information"] == {"age": 1, "town": 2}


def test_through_the_pipeline():
    table = pa.table({"age": [1, 2, 3, 4], "s": [*"xyxy"]})
    release = shoal.anonymize(table, qi=["age"], sensitive="s", l=2, method="tds", rest="plain")
    assert sorted(release.data.column("age").to_pylist()) == ["[1,2]"] * 2 + ["[3,4]"] * 2
    assert release.record["method"]["specialisations"] == 1
    with pytest.raises(PolicyError, match="recoding"):
        shoal.anonymize(
            table, qi=["age"], sensitive="s", l=2, method="tds", recoding="suppress", rest="plain"
        )
    with pytest.raises(PolicyError, match="tds"):
        shoal.anonymize(
            table, qi=["age"], sensitive="s", l=2, l_reading="unique", method="tds", rest="plain"
        )


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_persons_are_counted(data):
    source, roles = data.draw(microdata(most=25))
    n = source.num_rows
    persons = data.draw(st.lists(st.integers(0, max(1, n // 2)), min_size=n, max_size=n))
    models = build_models(**data.draw(st.sampled_from([{"k": 3}, {"l": 2}, {"t": 0.5}])))
    source = source.append_column("who", pa.array(persons))
    try:
        table = encode(source, Policy.parse(**roles, sensitive="disease", person="who"))
        check_eligible(table.codebook, models)
        outcome = run(table, models)
    except (InputError, InfeasibleError, NotFoundError):
        reject()
    classes = table_histograms(table, outcome.recoding.partitions[0].group_ids())[0]
    assert all(model.holds(classes).all() for model in models)


def test_a_finer_cut_loses_less():
    rng = np.random.default_rng(1)
    columns = {"a": rng.integers(0, 50, 2000), "b": rng.integers(0, 9, 2000)}
    table = encoded({**columns, "s": rng.integers(0, 8, 2000)}, qi=["a", "b"], sensitive=["s"])
    losses = [gcp(table, run(table, build_models(l=ell)).recoding) for ell in (2, 4, 6)]
    assert losses == sorted(losses)
    assert losses[0] < losses[-1] < 1
