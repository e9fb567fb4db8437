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
from shoal.verification.treated import treatment_checks

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
        ("noise:1e60", "at most 1e18"),
        ("round:1e-60", "at least 1e-18"),
        ("micro:1e30", "at most 1e9"),
        ("top:1e90", "between -1e38 and 1e38"),
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
    alone = fast.pop(-1, [])
    assert sorted(fast.values()) == sorted(slow)
    assert bool(alone) == (len(values) < least)
    assert all(len(group) >= least for group in slow)


@settings(max_examples=200, deadline=None)
@given(amounts, st.sampled_from(["1/2", "3/4", "9/10", "99/100"]), st.sampled_from([1, 5, "1/2"]))
def test_codes_and_steps_are_those_of_the_twin(values, share, step):
    values = values * 2 if len(values) == 1 else values
    share, step = Fraction(share), Fraction(step)
    table = pa.table({"w": [float(value) for value in values]})
    asked = {"top": f"top:{float(share * 100)}%", "round": f"round:{float(step)}"}
    for how, slow in (
        ("top", top_code(values, share, 2)),
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
    assert release.verification.holds  # decided by shoal.verification, and again here
    assert release.verification.ok == ("noise" not in how)
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
        assert min(pairs.values()) >= steps["micro"].amount


def test_means_keep_the_mean():
    before = people().column("wage").to_pylist()
    after = [float(wage) for wage in wages(released({"wage": "micro:3"}))]
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


def checks_of(cells, how, **more):
    """What verification says of cells of one class, or of the classes given."""
    classes = np.array(more.pop("classes", [0] * len(cells)))
    policy = Policy.parse(qi=["q"], plain=["wage"], treat={"wage": how}, **{"k": 2, **more})
    table = pa.table({"wage": [None if cell is None else str(cell) for cell in cells]})
    return {check.asked: check for check in treatment_checks(table, policy, classes)}


def with_few_wages() -> pa.Table:
    """Four classes of six, in each of which one wage is known."""
    wage = [None if i % 6 else 1234 + 1000 * i for i in range(24)]
    return pa.table({"age": np.repeat([20, 30, 40, 50], 6), "wage": pa.array(wage, pa.int64())})


def test_a_mean_is_never_of_fewer_than_asked_for():
    """A class with one known wage would publish it as a mean."""
    asked = {"qi": "age", "plain": "wage", "k": 5, "treat": {"wage": "micro:5"}, "seed": 1}
    with pytest.warns(
        shoal.errors.ShoalWarning, match="of 4 classes are published without"
    ) as told:
        release = shoal.anonymize(with_few_wages(), **asked)
    assert release.table.column("wage").null_count == 24
    assert release.verification.ok
    assert any("published without a value" in line for line in release.manifest["notices"])
    assert not any("1234" in str(line.message) for line in told)
    assert not checks_of([1234, None, None], "micro:2")["micro:2"].holds
    few = checks_of([5, 5, 7, 7, 7], "micro:3", classes=[0, 0, 1, 1, 1])
    assert few["micro:3"].failing_classes == 1
    assert "fewer than 5 known values" in release.report().to_markdown()


def test_some_known_wages_stay_missing_where_they_were():
    """Where enough are known the others stay missing, and the known ones get their mean."""
    wage = [None, *range(100, 105), *[None] * 4, 7, 9]
    table = pa.table({"age": np.repeat([20, 30], 6), "wage": pa.array(wage, pa.int64())})
    release = shoal.anonymize(table, qi="age", plain="wage", k=6, treat={"wage": "micro:5"}, seed=1)
    assert Counter(release.table.column("wage").to_pylist()) == {102: 5, None: 7}


@pytest.mark.parametrize(("k", "least"), [(3, 3), (7, 7), (1, 2)])
@pytest.mark.parametrize("how", ["top:99%", "bottom:1%"])
def test_a_code_by_quantile_is_shared_by_k(k, least, how):
    """1% of 60 records is one of them: the code would be the largest wage itself."""
    table = people(60)
    before = table.column("wage").to_pylist()
    found = wages(released({"wage": how}, table, k=k))
    end = max(found) if how.startswith("top") else min(found)
    assert found.count(end) == least
    assert end not in {Fraction(str(max(before))), Fraction(str(min(before)))}


def test_too_few_at_the_end_are_noticed_and_refused():
    found = checks_of([1, 2, 3, 4, 9], "top:99%", k=3)["top:99%"]
    assert (found.holds, found.reached) == (False, 1)
    assert checks_of([1, 2, 9, 9, 9], "top:99%", k=3)["top:99%"].holds
    wage = pa.array([17, 18, *[None] * 58], pa.int64())
    with pytest.raises(PolicyError, match="3 records or more one value") as error:
        released({"wage": "top:99%"}, people(60).set_column(2, "wage", wage))
    assert "18" not in str(error.value)
    with pytest.raises(PolicyError, match="max_loss finds k later"):
        released({"wage": "top:99%"}, k=None, max_loss=0.3)


@pytest.mark.parametrize(
    ("cells", "how", "holds"),
    [
        ([100, 200, 73219], "round:100,top:100000", False),
        ([13, 200, 300], "round:100,bottom:0", False),
        ([100, 200, 73219, 73219], "round:100,top:90%", False),
        ([100, 200, 99999], "round:100,top:99999", True),
        ([50, 200, 300], "round:100,bottom:50", True),
        ([100, 200, 200], "round:100,top:90%", True),
    ],
)
def test_only_the_code_itself_may_be_off_the_step(cells, how, holds):
    assert checks_of(cells, how)["round:100"].holds == holds


@pytest.mark.parametrize("how", ["noise:1e18", "noise:1e15", "noise:1e17%"])
def test_noise_that_does_not_fit_is_refused(how):
    """Sums that do not fit could be taken apart again."""
    with pytest.raises(PolicyError, match="too much noise"):
        released({"wage": how}, people().set_column(2, "wage", pa.array(range(300))))


def test_noise_on_many_digits_leaves_none_of_them():
    """14 decimals and noise of 100,000 do not fit into a word: fewer decimals are published."""
    rates = np.round(np.random.default_rng(9).random(300), 14)
    table = people().set_column(2, "wage", pa.array(rates))
    noisy = [float(wage) for wage in wages(released({"wage": "noise:1e5"}, table))]
    assert len(set(noisy)) == 300
    assert np.std(noisy) == pytest.approx(1e5, rel=0.2)
    assert max(map(abs, noisy)) < 1e6


def test_two_levels_of_noise_do_not_undo_each_other():
    """One seed, one draw on two scales: twice the one less the other would be the value."""
    more = {"keep_order": True}
    one, two = (np.array([float(w) for w in wages(released({"wage": how}, **more))])
                for how in ("noise:1000", "noise:2000"))  # fmt: skip
    undone = 2 * one - two - np.array(people().column("wage").to_pylist())
    assert np.median(np.abs(undone)) > 500
    same = wages(released({"wage": "noise:1e3"}, **more))
    assert [float(wage) for wage in same] == one.tolist()


def visits(each: int = 40) -> pa.Table:
    """Ten persons with many records each: one wage all the time."""
    rng = np.random.default_rng(4)
    return pa.table(
        {
            "person": np.repeat(np.arange(10), each),
            "age": np.repeat(20 + 3 * np.arange(10), each),
            "wage": np.repeat(rng.integers(10_000, 90_000, 10), each),
            "day": np.tile(np.arange(each), 10),
        }
    )


BY_PERSON = {"qi": "age", "plain": "wage", "person": "person", "rest": "drop", "seed": 1}


@pytest.mark.parametrize("how", ["noise:1000", "round:1000:random"])
def test_what_is_drawn_does_not_average_out_over_a_person(how):
    asked = {**BY_PERSON, "plain": ["wage", "day"], "keep_order": True}
    table = visits()
    release = shoal.anonymize(table, k=2, treat={"wage": how}, **asked)
    by_person = defaultdict(set)
    for person, wage in zip(
        table.column("person").to_pylist(), release.table.column("wage").to_pylist(), strict=True
    ):
        by_person[person].add(wage)
    assert [len(seen) for seen in by_person.values()] == [1] * 10
    shuffled = table.take(np.random.default_rng(3).permutation(table.num_rows))
    again = shoal.anonymize(shuffled, k=2, treat={"wage": how}, **{**asked, "keep_order": False})
    rows = [Counter(map(str, t.table.to_pylist())) for t in (release, again)]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("how", ["micro:3", "top:99%", "bottom:1%"])
def test_codes_and_means_are_of_several_persons(how, tmp_path):
    """Forty records of one person are one person."""
    table = visits()
    before = set(table.column("wage").to_pylist())
    release = shoal.anonymize(table, k=3, treat={"wage": how}, **BY_PERSON)
    assert release.verification.ok
    found = Counter(release.table.column("wage").to_pylist())
    if how == "micro:3":
        assert not before & set(found)
    else:
        end = max(found) if how == "top:99%" else min(found)
        assert found[end] == 3 * 40
    file = release.write(tmp_path / "release.csv")
    alone = next(c for c in shoal.verify(file).checks if c.model == "treatment")
    assert "fewer persons" in (alone.unchecked or "")
    record = file.with_name("release.csv.record.json")
    assert shoal.verify(file, record=record).ok


def test_what_cannot_be_seen_is_said_to_be_unchecked(tmp_path):
    treat = {"wage": "noise:100", "visits": "noise:5,round:5,top:90%"}
    release = released(treat, plain=["wage", "visits"])
    text = repr(release.verification)
    assert text.startswith("checked in part")
    assert "noise:100 on wage: not checked: noise is not checkable from the release" in text
    assert "round:5 on visits: holds" in text
    file = release.write(tmp_path / "release.csv")
    done = command("verify", file)
    assert done.code == 5
    assert "not checkable from the release" in done.out
    report = release.report().to_markdown()
    assert "Not checked: noise is not checkable from the release" in report
    assert "Every promise holds" not in report


def test_two_columns_with_one_noise_are_both_in_the_manifest(tmp_path):
    release = released({"wage": "noise:50", "visits": "noise:50"}, plain=["wage", "visits"])
    found = shoal.verify(release.write(tmp_path / "release.csv"))
    assert found.holds
    assert [check.column for check in found.checks if check.unchecked] == ["wage", "visits"]


def test_under_means_rounding_and_quantiles_are_unchecked():
    found = checks_of([101, 101, 7, 7], "round:100,bottom:1%,top:500,micro:2")
    assert [asked for asked, check in found.items() if check.unchecked] == [
        "round:100",
        "bottom:1%",
    ]
    assert all(check.holds for check in found.values())


def test_compare_codes_for_the_largest_k():
    asked = {"qi": ["age", "sex"], "sensitive": "visits", "treat": {"visits": "top:99%"}}
    found = shoal.compare(people(), ["hilbert"], k=[3, 30], queries=10, **asked)
    assert [row.reason for row in found.rows] == [None, None]


def test_means_of_persons_leave_no_trace_of_the_order_of_rows():
    """Which of equal wages fall into one mean decides how many persons it is of."""
    rng = np.random.default_rng(8)
    table = pa.table(
        {
            "person": rng.integers(0, 40, 400),
            "age": rng.integers(20, 30, 400),
            "wage": rng.integers(0, 12, 400),
        }
    )
    shuffled = table.take(rng.permutation(400))
    both = [
        shoal.anonymize(t, k=5, treat={"wage": "micro:4"}, method="hilbert", **BY_PERSON)
        for t in (table, shuffled)
    ]
    assert both[0].verification.ok
    assert both[0].table.equals(both[1].table)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 12), st.none() | st.integers(0, 15)), min_size=30,
             max_size=80),
    st.sampled_from(["micro:2", "micro:4", "top:99%", "bottom:5%,top:90%", "noise:3",
                     "round:4:random"]),
)  # fmt: skip
def test_what_is_promised_holds_of_persons(records, how):
    """Counted here a record at a time: persons of a mean and of a code, draws of a person."""
    records = [*((person, 0) for person in range(4)), *records]
    persons, values = zip(*records, strict=True)
    table = pa.table(
        {
            "person": persons,
            "age": [20 + person % 3 for person in persons],
            "wage": pa.array(values, pa.int64()),
        }
    )
    release = shoal.anonymize(
        table, k=3, treat={"wage": how}, method="hilbert", keep_order=True, **BY_PERSON
    )
    assert release.verification.holds
    ages, found = (release.table.column(name).to_pylist() for name in ("age", "wage"))
    who = defaultdict(set)
    drawn = defaultdict(set)
    for person, age, before, after in zip(persons, ages, values, found, strict=True):
        if after is not None:
            who[after if "micro" not in how else (age, after)].add(person)
        drawn[person, before].add(after)
    if "micro" in how:
        assert all(len(seen) >= int(how[-1]) for seen in who.values())
    else:
        assert all(len(seen) == 1 for seen in drawn.values())
    if "top" in how:
        assert len(who[max(who)]) >= 3
    if "bottom" in how:
        assert len(who[min(who)]) >= 3
