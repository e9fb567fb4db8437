"""Where the loss sits: counted by hand, and told in words that help."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive_outliers
import shoal
from columns import encoded_table
from shoal.cli.before_after import outlier_lines
from shoal.encoding.table import Partition, Recoding
from shoal.metrics.loss import gcp
from shoal.metrics.outliers import (
    Outliers,
    outliers_of,
    outliers_read,
    what_to_do,
    where_it_sits,
)
from shoal.report import report
from tables import qi, random_table


def released(groups, *columns):
    table = encoded_table(len(groups), tuple(columns))
    return table, Recoding.single(Partition.from_group_ids(np.array(groups)), len(columns))


def test_one_dear_group_holds_it_all():
    column = qi([0, 0, 0, 0, 0, 0, 0, 0, 0, 9], 10)
    found = outliers_of(*released([0, 0, 0, 0, 0, 0, 0, 0, 1, 1], column))
    assert found is not None
    assert found.half == pytest.approx(0.1)  # each of the two holds half
    assert found.dearest == pytest.approx(0.5)
    assert found.few == pytest.approx(0.2)  # whole groups
    assert (found.loss, found.without_few) == (pytest.approx(0.2), 0.0)
    assert list(found.columns.values()) == [pytest.approx(1.0)]


def test_nothing_lost():
    assert outliers_of(*released([0, 0, 1, 1], qi([0, 0, 1, 1], 2))) is None


@given(st.integers(0, 10**6), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_shares_add_up(seed, n):
    rng = np.random.default_rng(seed)
    table = random_table(rng, n)
    recoding = Recoding.single(Partition.from_group_ids(rng.integers(0, 3, n)), len(table.qi))
    found = outliers_of(table, recoding)
    assert found is not None or gcp(table, recoding) == 0
    assume(found is not None)
    assert found.loss == pytest.approx(gcp(table, recoding))
    assert sum(found.columns.values()) <= 1 + 1e-9  # columns of one name stand once
    assert 0 <= found.without_few <= found.loss + 1e-12
    assert 0 < found.half <= 1
    assert 0 < found.dearest <= 1


@given(st.integers(0, 10**6), st.integers(1, 40), st.booleans())
@settings(max_examples=80, deadline=None)
def test_groups_tell_what_records_do(seed, n, several):
    """Under one partition, and where every attribute has its own."""
    rng = np.random.default_rng(seed)
    table = random_table(rng, n)
    made = [Partition.from_group_ids(rng.integers(0, 5, n)) for _ in table.qi]
    recoding = Recoding(tuple(made) if several else (made[0],) * len(table.qi))
    found = outliers_of(table, recoding)
    assume(found is not None)
    for name, value in naive_outliers.spread(table, recoding).items():
        assert getattr(found, name) == pytest.approx(value), name


def test_words():
    made = shoal.anonymize(shoal.datasets.census(600), qi=["age", "education"], rest="drop", k=5)
    assert sum(made.outliers.columns.values()) == pytest.approx(1)
    lines = dict(outlier_lines(made))
    assert "of the records hold half of the loss" in lines["WHY"]
    assert "loss" in lines["ADVICE"] or "lose" in lines["ADVICE"]
    for public in (str(made.manifest), repr(made)):
        assert "hold half" not in public


FOUND = Outliers(0.041, 0.62, {"age": 0.2, "city": 0.8}, 0.0052, 0.02, 0.012, ("age",))


def advice(**changes):
    return what_to_do(replace(FOUND, **changes), "--max-suppressed {}".format)


def test_advice_fits_the_column():
    assert where_it_sits(FOUND) == (
        "4.1% of the records hold half of the loss; the dearest tenth holds 62%, most of it in "
        "city (80%) and age (20%)"
    )
    assert advice() == (
        "without the dearest 0.5% of the records the others would lose 1.2% and not 2.0%: "
        "--max-suppressed 0.6% allows that; a hierarchy that joins rare values of city keeps them"
    )
    assert advice(columns={"age": 1.0}).endswith("; age rounded, or in a coarser unit, keeps them")
    assert "counts as a loss of 1, fewer may be" in advice(few=0.03, without_few=0.01)
    assert "would lose 0.19% and not 0.22%:" in advice(loss=0.0022, without_few=0.0019)
    assert advice(few=0.2).startswith("the loss is spread evenly")


def test_damaged_numbers_say_nothing():
    told = json.loads(json.dumps(asdict(FOUND)))
    assert outliers_read(told) == FOUND
    for broken in (None, [], {}, told | {"half": None}, told | {"columns": {}}, told | {"loss": 0},
                   told | {"columns": [1]}, told | {"numeric": 3}):  # fmt: skip
        assert outliers_read(broken) is None


def people(n=403):
    """Wages of which few are far from all others."""
    rng = np.random.default_rng(4)
    wage = np.round(np.exp(rng.normal(3, 1, n)), 2)
    sexes, ills = (rng.choice([*values], n).tolist() for values in ("mf", "abcd"))
    return pa.table({"wage": wage, "sex": sexes, "ill": ills})


def test_in_the_custodians_report_and_in_nothing_public(tmp_path):
    pcsv.write_csv(people(), tmp_path / "people.csv")
    made = shoal.anonymize(
        tmp_path / "people.csv", qi=["wage", "sex"], sensitive="ill", k=4, method="hilbert"
    )
    made.write(tmp_path / "r.csv")
    record = tmp_path / "r.csv.record.json"
    from_files, in_memory = report(tmp_path / "r.csv", record=record), made.report(people())
    for told in (from_files, in_memory):
        text = told.to_markdown().replace("\\", "")
        for sentence in (where_it_sits(made.outliers), "wage rounded, or in a coarser unit"):
            assert sentence in text
            assert sentence in told.to_html()
        assert outliers_read(told.to_dict()["outliers"]) == made.outliers
    record.unlink()
    public = [report(tmp_path / "r.csv"), made.report()]
    texts = [text for one in public for text in
             (one.to_markdown(), one.to_html(), json.dumps(one.to_dict()))]  # fmt: skip
    texts += [json.dumps(made.manifest), repr(made), str(made)]
    texts += [path.read_text("utf-8") for path in tmp_path.glob("r.csv*")]
    found = made.outliers
    numbers = [found.half, found.dearest, found.few, found.loss, found.without_few]
    exact = [repr(number)[:9] for number in [*numbers, *found.columns.values()]]
    exact = [text for text in exact if len(text) == 9]
    assert len(exact) >= 5
    for text in texts:
        for hidden in (*exact, "half of the loss", "coarser unit", "without_few", "outliers"):
            assert hidden not in text
    without_record = report(tmp_path / "r.csv", original=tmp_path / "people.csv")
    assert "half of the loss" not in without_record.to_html()
