"""Round intervals: what is published, what it loses, and that everybody counts it alike."""

from __future__ import annotations

import datetime
import json
import math
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import naive_divergence
import naive_optimal
import naive_queries
import naive_round as naive
import shoal
from command import shoal as command
from shoal.bounds import lower_bound
from shoal.encoding.encode import encode
from shoal.encoding.recode import range_texts
from shoal.encoding.rounding import round_dates, round_numbers
from shoal.encoding.table import Partition, Recoding
from shoal.errors import PolicyError
from shoal.kernels.costs import ROUND
from shoal.methods.levels import levels_of
from shoal.metrics.divergence import kl_divergence
from shoal.models import KAnonymity
from shoal.policy import Policy

PERIODS = ["day", "month", "quarter", "year", "decade"]
DAYS = st.dates(datetime.date(1800, 1, 1), datetime.date(2199, 12, 31))
TIMES = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2099, 12, 31))
STEPS = st.one_of(
    st.integers(1, 40), st.sampled_from([0.1, 0.25, 2.5, 0.3, 10**20, Fraction(1, 8)]).map(
        lambda step: float(step) if isinstance(step, Fraction) else step
    ),
)  # fmt: skip
LOCAL = ["hilbert", "mondrian", "bsgi", "topdown", "idistance", "best"]
"""Methods whose groups are published from their own values alone."""


def read(text: str) -> tuple[Any, Any]:
    """Ends of a released cell, as decimal numbers or dates."""
    ends = text.strip("[]").split(",")
    parse = datetime.date.fromisoformat if text.count("-") > 1 and ":" not in text else Decimal
    return parse(ends[0]), parse(ends[-1])


# --- the round values around a value ---


@settings(deadline=None)
@given(st.lists(st.integers(-500, 500) | st.floats(-99, 99), min_size=1), STEPS)
def test_multiples_around_numbers(values, step):
    whole = all(isinstance(value, int) for value in values)
    amounts = np.unique(np.array(values, dtype=np.int64 if whole else np.float64))
    ends = round_numbers(amounts, step)
    expected = [naive.around(value, step) for value in amounts.tolist()]
    assert [Decimal(text) for text in ends.begin_texts] == [begin for begin, _ in expected]
    assert [Decimal(text) for text in ends.end_texts] == [end for _, end in expected]
    span = expected[-1][1] - expected[0][0]
    for code, (begin, end) in enumerate(expected):
        assert ends.begin[code] == pytest.approx(float((begin - expected[0][0]) / (span or 1)))
        assert ends.end[code] == pytest.approx(float((end - expected[0][0]) / (span or 1)))
        inside = [
            i for i, value in enumerate(amounts.tolist()) if begin <= Decimal(str(value)) <= end
        ]
        assert (ends.first[code], ends.last[code]) == (inside[0], inside[-1])


@settings(deadline=None)
@given(st.lists(DAYS, min_size=1), st.sampled_from(PERIODS))
def test_periods_around_dates(days, period):
    days = sorted(set(days))
    ends = round_dates(pa.array(days), period)
    expected = [naive.period(day, period) for day in days]
    assert list(zip(ends.begin_values.to_pylist(), ends.end_values.to_pylist(), strict=True)) == (
        expected
    )
    assert ends.begin_texts == [str(begin) for begin, _ in expected]
    assert ends.end_texts == [str(end) for _, end in expected]
    for code, (begin, end) in enumerate(expected):
        inside = [i for i, day in enumerate(days) if begin <= day <= end]
        assert (ends.first[code], ends.last[code]) == (inside[0], inside[-1])


def test_no_interval_begins_before_there_are_dates():
    ends = round_dates(pa.array([datetime.date(5, 3, 1), datetime.date(9999, 3, 1)]), "decade")
    assert ends.begin_texts == ["0001-01-01", "9990-01-01"]
    assert ends.end_texts == ["0009-12-31", "9999-12-31"]


@settings(deadline=None)
@given(st.lists(TIMES, min_size=1), st.sampled_from(PERIODS), st.sampled_from(["s", "us", "ns"]))
def test_periods_around_times_are_whole_days(times, period, unit):
    values = pa.array(sorted(set(times))).cast(pa.timestamp(unit), safe=False)
    ends = round_dates(values, period)
    first = [naive.period(t, period) for t in sorted(set(times))]
    assert ends.begin_texts == [str(begin) for begin, _ in first]
    assert ends.end_texts == [str(end) for _, end in first]
    span = naive.width(first[0][0], first[-1][1], hours=True)
    for width, (begin, end) in zip(ends.end - ends.begin, first, strict=True):
        assert width == pytest.approx(naive.width(begin, end, hours=True) / span)


def test_a_single_value_is_published_as_the_round_values_around_it():
    source = pa.table({"age": [20, 23, 25, 61, None], "born": ["2024-02-29"] * 4 + [""]})
    policy = Policy.parse(qi=["age", "born"], k=1, round={"age": 5, "born": "month"})
    age, born = encode(source, policy).qi
    codes = np.arange(age.size, dtype=np.int32)
    texts, index = range_texts(age, codes, codes)
    assert [texts[i] for i in index] == ["20", "[20,25]", "25", "[60,65]", None]
    texts, index = range_texts(age, np.zeros(5, dtype=np.int32), codes)
    assert [texts[i] for i in index] == ["20", "[20,25]", "[20,25]", "[20,65]", "*"]
    assert range_texts(born, codes[:1], codes[:1])[0] == ["[2024-02-01,2024-02-29]"]
    assert age.floor is not None
    assert age.floor.tolist() == pytest.approx([0.0, 5 / 45, 0.0, 5 / 45, 0.0])


# --- releases ---


@st.composite
def people(draw: st.DrawFn, most: int = 40) -> tuple[pa.Table, dict[str, Any]]:
    """Numbers, dates or times, with missing ones, and what they are rounded to."""
    n = draw(st.integers(2, most))

    def cells(values):
        missing = st.just(None) if draw(st.booleans()) else st.nothing()
        return draw(st.lists(values | missing, min_size=n, max_size=n))

    age = pa.array(cells(st.integers(0, 99)), pa.int64())
    size = pa.array(cells(st.integers(0, 400).map(lambda x: x / 100)), pa.float64())
    kind = draw(st.sampled_from([pa.date32(), pa.timestamp("us")]))
    born = pa.array(cells(DAYS if kind == pa.date32() else TIMES), kind)
    steps = {"age": draw(st.integers(1, 30)), "size": draw(st.sampled_from([0.25, 1, 0.3]))}
    steps["born"] = draw(st.sampled_from(PERIODS))
    columns = {"age": age, "size": size, "born": born, "sex": cells(st.sampled_from("fm"))}
    some = {name: step for name, step in steps.items() if draw(st.booleans())}
    return pa.table({**columns, "d": [str(i % 5) for i in range(n)]}), {
        "qi": ["age", "size", "born", "sex"], "sensitive": "d", "round": some,
        "kind": {"age": "numeric", "size": "numeric", "born": "date"}, "keep_order": True,
    }  # fmt: skip


def classes_of(release: shoal.Release, qi: list[str]) -> list[list[int]]:
    found = defaultdict(list)
    for row, cells in enumerate(
        zip(*(release.table[name].to_pylist() for name in qi), strict=True)
    ):
        found[cells].append(row)
    return list(found.values())


def published_width(values: list[Any], step: Any, hours: bool) -> Any:
    begin, end = naive.interval(values, step)
    return naive.width(begin, end, hours)


@settings(deadline=None, max_examples=60)
@given(people(), st.sampled_from(LOCAL), st.integers(1, 5))
def test_releases_of_every_kind(drawn, method, k):
    source, given_settings = drawn
    asked = {"l": 2} if method == "bsgi" else {"k": min(k, source.num_rows)}
    release = shoal.anonymize(
        source, **given_settings, **asked, method=method, bound=False,
        **({"effort": "instant"} if method == "best" else {}),
    )  # fmt: skip
    assert release.verify().ok
    for name, step in given_settings["round"].items():
        values = source[name].to_pylist()
        hours = pa.types.is_timestamp(source[name].type)
        present = [value for value in values if value is not None]
        span = published_width(present, step, hours) if present else 0
        lost = 0.0
        for rows in classes_of(release, given_settings["qi"]):
            text = release.table[name][rows[0]].as_py()
            there = [values[row] for row in rows if values[row] is not None]
            if len(there) < len(rows):
                assert text == ("*" if there else None)
                lost += len(rows) if there else 0
                continue
            begin, end = naive.interval(there, step)
            assert read(text) == (begin, end)
            assert (text[0] == "[") == (begin != end)
            lost += len(rows) * naive.width(begin, end, hours) / span if span else 0
        assert release.loss.ncp[name] == pytest.approx(lost / source.num_rows)


@settings(deadline=None, max_examples=30)
@given(people(), st.sampled_from(["incognito", "tds", "anatomy", "butterfly", "cover", "tp"]))
def test_other_methods_cover_what_was_there_and_end_on_round_values(drawn, method):
    source, given_settings = drawn
    asked: dict[str, Any] = {"l": 2} if method in {"anatomy", "tds"} else {"k": 2}
    if method in {"cover", "tp"}:
        asked["recoding"] = "generalise"
    try:
        release = shoal.anonymize(source, **given_settings, **asked, method=method)
    except shoal.errors.InfeasibleError:  # two diseases are too few for the method's groups
        reject()
    assert release.verify().ok
    for name, step in given_settings["round"].items():
        for value, text in zip(
            source[name].to_pylist(), release.table[name].to_pylist(), strict=True
        ):
            if text is None or text == "*":
                continue
            begin, end = read(text)
            least, most = naive.around(value, step)
            assert begin <= least <= most <= end
            if not isinstance(step, str):
                assert not begin % Decimal(str(step))
                assert not end % Decimal(str(step))
            else:
                assert naive.period(begin, step)[0] == begin
                assert naive.period(end, step)[1] == end


@settings(deadline=None, max_examples=25)
@given(people(most=7), st.integers(2, 3))
def test_bound_exact_minimum_and_search_agree_on_what_is_lost(drawn, k):
    source, given_settings = drawn
    k = min(k, source.num_rows)
    policy = Policy.parse(**given_settings, k=k)
    table = encode(source, policy)
    whole = table.n * sum(column.weight for column in table.qi)
    least = naive_optimal.optimum(table, [KAnonymity(k)]) / whole
    for effort in ("instant", "fast", "normal"):
        assert lower_bound(table, [KAnonymity(k)], effort=effort).loss <= least + 1e-9
    found = shoal.anonymize(source, policy, method="optimal", recoding="generalise")
    assert found.verify().ok
    assert found.loss.gcp == pytest.approx(least, abs=1e-9)
    best = shoal.anonymize(source, policy, method="best", effort="instant", seed=1)
    assert best.verify().ok
    assert best.loss.gcp >= least - 1e-9


@pytest.mark.parametrize("k", [3, 10])
@pytest.mark.parametrize("step", [5, 10])
def test_best_is_never_worse_than_hilbert(k, step):
    source = shoal.datasets.census(1500)
    asked = {"qi": ["age", "gender", "education"], "rest": "drop", "k": k, "round": {"age": step}}
    line = shoal.anonymize(source, **asked, method="hilbert", seed=1)
    best = shoal.anonymize(source, **asked, method="best", effort="fast", seed=1)
    assert line.verify().ok
    assert best.verify().ok
    assert best.bound is not None
    assert best.bound.loss <= best.loss.gcp <= line.loss.gcp


def test_search_knows_what_is_published():
    """Records in one step belong together, however near those of another step are."""
    source = pa.table({"age": [20, 24, 26, 29]})
    groups = {}
    for step in ({}, {"age": 5}):
        release = shoal.anonymize(
            source, qi="age", k=2, method="optimal", recoding="generalise", round=step
        )
        groups[bool(step)] = sorted(set(release.table["age"].to_pylist()))
    assert groups == {False: ["[20,24]", "[26,29]"], True: ["[20,25]", "[25,30]"]}
    near = pa.table({"age": [19, 21, 24, 26]})
    rounded = shoal.anonymize(
        near, qi="age", k=2, method="optimal", recoding="generalise", round={"age": 20}
    )
    assert set(rounded.table["age"].to_pylist()) == {"[0,40]", "[20,40]"}
    assert rounded.loss.gcp == pytest.approx((40 + 20) / 2 / 40)


# --- readers of a release ---


@settings(deadline=None, max_examples=60)
@given(people(most=12), st.data())
def test_divergence_spreads_an_interval_over_what_it_covers(drawn, data):
    source, given_settings = drawn
    table = encode(source, Policy.parse(**given_settings, k=1))
    ids = data.draw(st.lists(st.integers(0, 3), min_size=table.n, max_size=table.n))
    recoding = Recoding.single(Partition.from_group_ids(np.array(ids)), len(table.qi))
    assert kl_divergence(table, recoding) == pytest.approx(
        naive_divergence.kl_divergence(table, recoding), abs=1e-9
    )


def test_a_rounded_value_means_all_values_in_its_interval():
    source = pa.table({"age": [20, 21, 24, 26, 25]})
    table = encode(source, Policy.parse(qi="age", k=1, round={"age": 5}))
    assert naive_queries.meaning(table.qi[0], {1}) == frozenset({0, 1, 2, 3})
    assert naive_queries.meaning(table.qi[0], {4}) == frozenset({3, 4})
    recoding = Recoding.single(Partition.single_records(5), 1)
    assert kl_divergence(table, recoding, None) > 0.1


def test_levels_of_full_domains_keep_steps_together():
    ages = pa.table({"age": [20, 21, 24, 25, 26, 33, 38, 61]})
    table = encode(ages, Policy.parse(qi="age", k=1, round={"age": 5}))
    column = table.qi[0]
    assert column.form == ROUND
    steps = levels_of(column, table.counts[0]).blocks[1]
    assert steps.tolist() == [0, 0, 0, 1, 1, 2, 3, 4]


def written(folder: Path) -> Path:
    rng = np.random.default_rng(3)
    rows = ["age,born,disease"]
    for _ in range(60):
        day = datetime.date(1950, 1, 1) + datetime.timedelta(days=int(rng.integers(0, 18000)))
        rows.append(f"{rng.integers(18, 80)},{day},{'abcde'[rng.integers(0, 5)]}")
    path = folder / "people.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


ASKED = ("--qi", "age,born", "--sensitive", "disease", "-k", "4", "--method", "hilbert")
ROUNDED = ("--round", "age=5", "--round", "born=quarter")


@pytest.mark.parametrize("layout", ["cells", "bounds"])
def test_command_files_manifest_query_and_record(tmp_path, layout):
    table, out = written(tmp_path), tmp_path / "out.csv"
    done = command("anonymize", table, "-o", out, *ASKED, *ROUNDED, "--layout", layout)
    assert done.code == 0, done
    manifest = json.loads(Path(f"{out}.manifest.json").read_text(encoding="utf-8"))
    assert manifest["policy"]["round"] == {"age": 5, "born": "quarter"}
    assert command("verify", out).code == 0
    again = tmp_path / "again.csv"
    done = command("reproduce", f"{out}.record.json", table, "-o", again)
    assert done.code == 0, done
    assert again.read_bytes() == out.read_bytes()
    answer = shoal.query(out, "SELECT count(*) FROM r WHERE age >= 0 AND born < '2100-01-01'")
    assert (answer.lower, answer.upper) == (60, 60)
    some = shoal.query(out, "SELECT count(*) FROM r WHERE age BETWEEN 30 AND 50")
    assert some.lower <= some.expected <= some.upper
    header, *rows = out.read_text(encoding="utf-8").splitlines()
    if layout == "bounds":
        assert header == "age_min,age_max,born_min,born_max,disease"
        for row in rows:
            least, most, first, last, _ = row.split(",")
            assert int(least) % 5 == int(most) % 5 == 0
            assert naive.period(first, "quarter")[0].isoformat() == first
            assert naive.period(last, "quarter")[1].isoformat() == last


def test_join_check_reads_round_intervals(tmp_path):
    table = written(tmp_path)
    for seed, name in ((1, "one.csv"), (2, "two.csv")):
        options = (*ASKED, *ROUNDED, "--seed", seed)
        assert command("anonymize", table, "-o", tmp_path / name, *options).code == 0
    assert shoal.join_check([tmp_path / "one.csv"] * 2).ok
    found = command("join-check", tmp_path / "one.csv", tmp_path / "two.csv")
    assert found.code in (0, 1), found


def test_policy_file_and_budget_of_loss(tmp_path):
    policy = tmp_path / "shoal.toml"
    policy.write_text(
        'qi = ["age", "born"]\nsensitive = ["disease"]\nmax_loss = 0.4\n'
        '[round]\nage = 2.5\nborn = "year"\n',
        encoding="utf-8",
    )
    assert Policy.load(policy).round == {"age": 2.5, "born": "year"}
    release = shoal.anonymize(written(tmp_path), policy, method="mondrian")
    assert release.verify().ok
    assert release.loss.gcp <= 0.4
    for text in set(release.table["age"].to_pylist()):
        assert all(end % Decimal("2.5") == 0 for end in read(text))


def test_public_loss_is_that_of_the_kept_records_and_their_round_span():
    ages = [20, 21, 22, 24, 26, 27, 28, 29, 31, 33, 36, 39] * 4 + [99]
    release = shoal.anonymize(
        pa.table({"age": ages}), qi="age", k=4, method="hilbert", round={"age": 5},
        max_suppressed="5%", seed=1,
    )  # fmt: skip
    assert release.verify().ok
    assert release.loss.suppressed_records == 1
    ends = [read(text) for text in release.table["age"].to_pylist()]
    span = max(end for _, end in ends) - min(begin for begin, _ in ends)
    assert span == 20
    mean = math.fsum(float((end - begin) / span) for begin, end in ends) / len(ends)
    assert len(ends) == len(ages) - 1
    assert release.manifest["loss"]["ncp"]["age"] == pytest.approx(mean, rel=0.01)


def test_compare_says_who_cannot_round():
    found = shoal.compare(
        shoal.datasets.census(400), ["hilbert", "attributes"], k=5, qi=["age", "gender"],
        round={"age": 10},
    )  # fmt: skip
    line, stars = found.rows
    assert line.gcp is not None
    assert "no interval to round" in str(stars.reason)


@pytest.mark.parametrize(
    ("settings_given", "message"),
    [
        ({"round": {"age": 0}}, "round: 'age': expected a positive number; got 0"),
        ({"round": {"age": -5}}, "positive"),
        ({"round": {"age": float("nan")}}, "positive"),
        ({"round": {"age": float("inf")}}, "positive"),
        ({"round": {"born": "week"}}, "expected a number or one of day, month, quarter"),
        ({"round": {"age": True}}, "round"),
        ({"round": {"disease": 5}}, "not one of the quasi-identifiers"),
        ({"round": {"age": "month"}}, "column of numbers; expected a number; got 'month'"),
        ({"round": {"born": 5}}, "column of dates; expected one of day, month"),
        ({"round": {"job": 5}}, "expected a numeric or date column; it is categorical"),
        ({"round": {"job": 5}, "hierarchy": {"job": "flat"}}, "it is categorical"),
        ({"round": {"age": 5}, "kind": {"age": "ordinal"}}, "it is ordinal"),
        ({"round": {"age": 5}, "recoding": "suppress"}, "no interval to round"),
        ({"round": {"age": 5}, "method": "tp"}, 'choose recoding = "generalise"'),
        ({"round": {"age": 5}, "method": "attributes"}, "choose another method"),
    ],
)
def test_what_cannot_be_rounded_says_why(settings_given, message):
    source = pa.table(
        {"age": [1, 2], "born": ["2024-01-01", "2024-01-02"], "job": ["a", "b"], "disease": [1, 2]}
    )
    asked = {"qi": ["age", "born", "job"], "sensitive": "disease", "k": 1}
    with pytest.raises(PolicyError) as error:
        shoal.anonymize(source, **{**asked, **settings_given})
    assert message in str(error.value)
