"""Treatments of plain and sensitive numbers: what each promises can be counted in the release."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv

import shoal
from command import shoal as command
from naive_treatments import mdav, rounded, top_code
from shoal.encoding.treating import treated
from shoal.errors import InputError, PolicyError
from shoal.io.write import sha256_of
from shoal.kernels.treating import mdav_line
from shoal.policy import Policy
from shoal.treatments import treatment, treatments

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")

ASKED = {"qi": ["age", "sex"], "plain": ["wage"], "k": 3, "method": "hilbert"}


def people(n: int = 300, seed: int = 1) -> pa.Table:
    """Ages, sexes, wages with two decimals, and a count of visits."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(18, 80, n),
            "sex": rng.choice(["f", "m"], n),
            "wage": np.round(rng.lognormal(8, 1, n), 2),
            "visits": rng.poisson(9, n),
        }
    )


def released(treat, table=None, **more):
    """A release of people with a treated wage."""
    settings = {**ASKED, "treat": treat, "rest": "drop", "seed": 5, **more}
    return shoal.anonymize(people() if table is None else table, **settings)


def wages(release) -> list[Fraction]:
    return [Fraction(str(wage)) for wage in release.table.column("wage").to_pylist()]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("topp:99%", "did you mean 'top'"),
        ("top", "expected top:VALUE or top:99%"),
        ("top:high", "expected top:VALUE"),
        ("top:100%", "between 0% and 100%"),
        ("round:0", "more than 0"),
        ("round:5%", "a share has no step"),
        ("round:5:up", "round:STEP:random"),
        ("micro:1", "2 or more"),
        ("micro:2.5", "a whole number"),
        ("noise:-3", "more than 0"),
    ],
)
def test_what_is_no_treatment_is_told(text, told):
    with pytest.raises(PolicyError, match="treat") as error:
        Policy.parse(qi=["age"], plain=["wage"], k=3, treat={"wage": text})
    assert told in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"treat": {"age": "round:5"}}, "a quasi-identifier is generalised"),
        ({"treat": {"name": "round:5"}, "identifier": ["name"]}, "it is dropped"),
        ({"treat": {"other": "round:5"}}, "expected a plain or a sensitive column"),
        ({"treat": {"wage": "round:5"}, "kind": {"wage": "categorical"}}, "it is categorical"),
        ({"treat": {"w": "round:5"}, "weight_column": "w"}, "weight_as"),
        ({"treat": {"wage": "top:5, top:9"}}, "expected top once"),
        ({"treat": {"wage": "top:5, bottom:9"}}, "a bottom below the top"),
        (
            {"treat": {"d": "round:5"}, "sensitive": ["d"], "exempt": {"d": ["0"]}},
            "leave out one of the two",
        ),
    ],
)
def test_treatments_suit_the_roles(more, told):
    with pytest.raises(PolicyError) as error:
        Policy.parse(**{"qi": ["age"], "plain": ["wage"], "k": 3, **more})
    assert told in str(error.value)


def test_means_do_not_undo_what_models_count():
    with pytest.raises(PolicyError, match="counts on different ones"):
        released({"visits": "micro:3"}, plain=["wage"], sensitive="visits", l=2)
    with pytest.raises(PolicyError, match="anatomy publishes exact"):
        released({"wage": "micro:3"}, sensitive="visits", l=2, k=None, method="anatomy")


def test_a_column_of_words_is_refused_without_a_cell():
    table = people().set_column(2, "wage", pa.array(["12", "secret-word"] * 150))
    with pytest.raises(InputError) as error:
        released({"wage": "round:5"}, table)
    assert "'wage'" in str(error.value)
    assert "secret-word" not in str(error.value)


def test_order_of_writing_does_not_matter():
    one = treatments(["micro:3", "top:9", "round:2"])
    assert [step.how for step in one] == ["round", "top", "micro"]
    both = [Policy.parse(qi=["a"], plain=["w"], k=2, treat={"w": t}).treat for t in (
        "top:9,round:2", ["round: 2", "top:9"])]  # fmt: skip
    assert both[0] == both[1]


amounts = st.lists(st.integers(-50, 50).map(lambda n: Fraction(n, 4)), min_size=1, max_size=25)


@settings(max_examples=300, deadline=None)
@given(amounts, st.integers(2, 5))
def test_groups_are_those_of_mdav(values, least):
    """On a line the groups of MDAV are cut from both ends: the same values in each."""
    ordered = sorted(values)
    group = np.empty(len(values), dtype=np.int64)
    grid = np.array([int(v * 4) for v in ordered], dtype=np.int64)
    mdav_line(grid, np.array([0, len(values)]), least, group)
    fast = defaultdict(list)
    for number, value in zip(group.tolist(), ordered, strict=True):
        fast[number].append(value)
    slow = [sorted(values[i] for i in places) for places in mdav(values, least)]
    assert sorted(fast.values()) == sorted(slow)
    assert min(map(len, slow)) >= min(least, len(values))


@settings(max_examples=200, deadline=None)
@given(amounts, st.sampled_from(["1/2", "3/4", "9/10", "99/100"]), st.sampled_from([1, 5, "1/2"]))
def test_codes_and_steps_are_those_of_the_twin(values, share, step):
    share, step = Fraction(share), Fraction(step)
    table = pa.table({"w": [float(value) for value in values]})
    asked = {"top": f"top:{float(share * 100)}%", "round": f"round:{float(step)}"}
    for how, slow in (
        ("top", top_code(values, share)),
        ("round", [rounded(value, step) for value in values]),
    ):
        policy = Policy.parse(qi=["q"], plain=["w"], k=2, treat={"w": asked[how]})
        fast = treated(table, policy, seed=1).column("w").to_pylist()
        assert [Fraction(str(value)) for value in fast] == slow


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 40), min_size=12, max_size=60),
    st.sampled_from(["top:90%", "bottom:10%", "top:30", "bottom:4,top:80%", "micro:3", "noise:3",
                     "round:5", "round:7:random", "noise:2,round:5,bottom:0,top:95%",
                     "top:20,micro:2"]),
    st.integers(0, 99),
)  # fmt: skip
def test_what_is_promised_holds_of_every_table(values, how, seed):
    ages = [20 + 3 * (i % 5) for i in range(len(values))]
    table = pa.table({"age": ages, "sex": ["f"] * len(values), "wage": values})
    release = released({"wage": how}, table, seed=seed)
    assert release.verification.ok  # decided by shoal.verification, and again here
    found = wages(release)
    steps = {one.how: one for one in treatments(how.split(","))}
    if "top" in steps and not steps["top"].share:
        assert max(found) <= steps["top"].amount
    if "top" in steps and steps["top"].share and "micro" not in steps:
        assert found.count(max(found)) >= (1 - steps["top"].amount) * len(found)
    if "bottom" in steps and steps["bottom"].share:
        assert found.count(min(found)) >= steps["bottom"].amount * len(found)
    if "round" in steps and len(steps) == 1:
        assert all((value / steps["round"].amount).denominator == 1 for value in found)
    if "micro" in steps:
        classes = zip(*(release.table.column(n).to_pylist() for n in ("age", "sex")), strict=True)
        pairs = Counter(zip(classes, found, strict=True))
        sizes = Counter()
        for (where, _), count in pairs.items():
            sizes[where] += count
        least = int(steps["micro"].amount)
        assert all(count >= min(least, sizes[where]) for (where, _), count in pairs.items())


def test_means_keep_the_mean():
    before = people().column("wage").to_pylist()
    after = [float(wage) for wage in wages(released({"wage": "micro:4"}))]
    assert np.mean(after) == pytest.approx(np.mean(before), rel=1e-6)
    assert len(set(after)) < len(set(before)) / 2


def test_rounding_by_chance_keeps_the_mean():
    """30 of 100 goes up in three of ten cases; to the nearest it never would."""
    table = people(4000).set_column(2, "wage", pa.array([30] * 4000))
    by_chance = wages(released({"wage": "round:100:random"}, table))
    assert set(by_chance) == {0, 100}
    assert 1100 < by_chance.count(Fraction(100)) < 1300  # 1,200, give or take 29
    assert set(wages(released({"wage": "round:100"}, table))) == {0}


def test_noise_has_the_deviation_asked_for():
    table = people(4000).set_column(2, "wage", pa.array([1000.0] * 4000))
    noisy = np.array([float(w) for w in wages(released({"wage": "noise:40"}, table))])
    assert noisy.mean() == pytest.approx(1000, abs=2.5)
    assert noisy.std() == pytest.approx(40, rel=0.05)
    with pytest.raises(PolicyError, match="would hardly change a value"):
        released({"wage": "noise:0.01"}, table)


def test_the_seed_is_a_secret_and_the_order_of_rows_leaves_no_trace():
    treat = {"wage": "noise:20%, round:10:random, top:95%", "visits": "micro:3"}
    table = people()
    shuffled = table.take(np.random.default_rng(3).permutation(table.num_rows))
    more = {"plain": ["wage", "visits"]}
    first, again = released(treat, table, **more), released(treat, shuffled, **more)
    assert first.table.equals(again.table)
    assert not first.table.equals(released(treat, table, seed=6, **more).table)


def test_values_beyond_a_code_are_gone():
    before = people().column("wage").to_pylist()
    release = released({"wage": "top:90%,bottom:10%"})
    after = set(release.table.column("wage").to_pylist())
    assert len([wage for wage in before if wage > max(after)]) >= 25
    assert not {wage for wage in before if wage > max(after)} & after


def test_dropped_records_decide_no_code():
    """The top code is of those who are published: somebody who was dropped moves nothing."""

    def with_outlier(wage):
        table = people(200)
        alone = pa.table({"age": [999], "sex": ["m"], "wage": [wage], "visits": [1]})
        return pa.concat_tables([table, alone])  # fmt: skip

    more = {"max_suppressed": "1%", "k": 10}
    both = [released({"wage": "top:99%,noise:10%"}, with_outlier(w), **more) for w in (5.0, 9e6)]
    assert both[0].verification.records < 201
    assert both[0].table.equals(both[1].table)


@pytest.mark.parametrize("how", ["top:90%", "top:2000", "bottom:10%", "round:100", "micro:3"])
def test_a_changed_cell_is_noticed(how, tmp_path):
    file = released({"wage": how}).write(tmp_path / "release.csv")
    assert shoal.verify(file).ok
    lines = file.read_text().splitlines()
    cell = "0.01" if how == "bottom:10%" else "987654.32"
    lines[9] = ",".join([*lines[9].split(",")[:2], cell])
    manifest = file.with_name("release.csv.manifest.json")
    told = json.loads(manifest.read_text())
    file.write_text("\n".join(lines) + "\n")
    told["release"]["sha256"] = sha256_of(file)  # whoever changes a cell can change a hash
    manifest.write_text(json.dumps(told))
    found = shoal.verify(file)
    assert not found.holds
    assert not next(c for c in found.checks if c.model == "treatment").holds


def test_sensitive_numbers_are_treated_before_models_count():
    """l is of what is published: values that became one by rounding count as one."""
    release = released({"visits": "round:2"}, sensitive="visits", plain=[], k=6, l=2)
    assert release.verification.ok
    by_class = defaultdict(Counter)
    for row in release.table.to_pylist():
        assert row["visits"] % 2 == 0
        by_class[row["age"], row["sex"]][row["visits"]] += 1
    assert all(max(c.values()) * 2 <= sum(c.values()) for c in by_class.values())


def test_anatomy_readers_and_stars_take_treatments():
    table = people()
    apart = released({"visits": "top:95%", "wage": "round:100"}, sensitive="visits", l=2, k=None,
                     method="anatomy")  # fmt: skip
    assert apart.verification.ok
    assert len([c for c in apart.verification.checks if c.model == "treatment"]) == 2
    readers = {"a": {"qi": ["age"]}, "b": {"qi": ["sex"]}}
    some = {"plain": ["wage"], "k": 3, "rest": "drop", "treat": {"wage": "micro:3"}}
    assert shoal.anonymize(table, reader=readers, **some).verification.ok
    starred = released({"wage": "top:90%"}, max_suppressed="3%", suppress_by="star")
    assert starred.verification.ok


def test_missing_stays_missing_and_texts_are_written_as_they_were():
    cells = ["1.234,50", "", "2,5", "n/a"] * 75
    table = people().set_column(2, "wage", pa.array(cells))
    release = released({"wage": "round:1"}, table, missing=["", "n/a"], notation={"wage": "comma"})
    assert Counter(release.table.column("wage").to_pylist()) == {"1234": 75, None: 150, "2": 75}


def test_the_command_line_says_verifies_and_reproduces_it(tmp_path):
    source = tmp_path / "people.csv"
    csv.write_csv(people(), source)
    out = tmp_path / "release.csv"
    asked = ["--qi", "age,sex", "--plain", "wage,visits", "-k", "3", "--method", "hilbert"]
    treat = ["--treat", "wage=top:95%,round:100:random", "--treat", "visits=micro:3"]
    done = command("anonymize", source, "-o", out, *asked, *treat)
    assert done.code == 0, done.err
    assert "top:95% on wage: holds, reached" in done.out
    manifest = json.loads(out.with_name("release.csv.manifest.json").read_text())
    assert manifest["policy"]["treat"] == {
        "wage": ["round:100:random", "top:95%"],
        "visits": ["micro:3"],
    }
    assert command("verify", out).code == 0
    again = tmp_path / "again.csv"
    record = out.with_name("release.csv.record.json")
    assert command("reproduce", record, source, "-o", again).code == 0
    assert again.read_bytes() == out.read_bytes()
    wrong = command("anonymize", source, "-o", out, *asked, "--treat", "wage=tip:3")
    assert wrong.code == 2
    assert "treat" in wrong.err


def test_attacks_see_the_treated_column():
    """A sensitive number that was rounded is guessed as it is published."""
    table = people(600).drop_columns(["wage"])
    asked = {"qi": ["age", "sex"], "sensitive": "visits", "k": 5, "method": "hilbert", "seed": 1}
    release = shoal.anonymize(table, treat={"visits": "round:50"}, **asked)
    assert set(release.table.column("visits").to_pylist()) == {0}
    found = shoal.attack(release, table, attacks=["inference"]).found[0]
    assert found.main.share == 1  # all are nearest to the only value: nothing is told by that
    risk = shoal.risk(release)
    assert "visits" in repr(risk)


def test_a_treatment_reads_as_it_was_written():
    assert str(treatment("round: 2.5 :random")) == "round:2.5:random"
