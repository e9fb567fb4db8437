"""Given a budget of loss, the strongest k or l that fits, and what the next would cost."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import shoal
from command import shoal as command
from shared_data import DATA
from shoal.encoding.encode import encode
from shoal.engines.memory.budget import _largest_found, best_l
from shoal.errors import InfeasibleError, PolicyError
from shoal.io.write import write_table

QI = ["age", "gender", "education"]
ADULT = DATA / "adult.csv"


@pytest.fixture(scope="module")
def people():
    return shoal.datasets.census(800)


@pytest.mark.parametrize("budget", [0.02, 0.1, 0.3])
def test_the_k_found_fits_and_the_next_does_not(people, budget):
    release = shoal.anonymize(people, qi=QI, max_loss=budget, rest="plain")
    found = release.record["method"]["budget"]
    k = found["k"]
    assert release.policy.k == k
    assert release.verification.class_sizes.min() >= k
    assert release.loss.gcp <= budget
    assert found["loss"] == pytest.approx(release.loss.gcp)
    following = shoal.anonymize(people, qi=QI, k=k + 1, rest="plain")
    assert found["next"] == {"k": k + 1, "loss": pytest.approx(following.loss.gcp)}
    assert following.loss.gcp > budget


def test_a_larger_k_is_found_where_the_loss_is_not_monotone():
    losses = {2: 0.1, 3: 0.2, 4: 0.4, 5: 0.3, 6: 0.6, 7: 0.3, 8: 0.7}
    looked = _largest_found(lambda k: losses[k] <= 0.3, 8, look_beyond=True)
    assert looked == 7  # 4 does not fit: halving alone ends at 3
    assert _largest_found(lambda k: losses[k] <= 0.3, 8, look_beyond=False) == 3


@pytest.mark.skipif(not ADULT.exists(), reason="needs adult.csv of ../shared/data")
def test_more_than_273_on_adult_by_mondrian():
    settings = {"qi": ["age", "sex", "race"], "method": "mondrian", "rest": "drop"}
    found = shoal.anonymize(ADULT, max_loss=0.045993, **settings)
    assert found.loss.gcp <= 0.045993
    assert found.policy.k > 273


@pytest.mark.parametrize("method", ["attributes", "incognito"])
def test_no_level_fits_where_the_table_as_a_whole_does_not(method):
    data = pa.table({"a": [i % 4 for i in range(60)], "s": [["x", "y"][i % 2] for i in range(60)]})
    asked = {"alpha": 0.3, "max_loss": 0.5, "max_suppressed": "30%", "method": method}
    with pytest.raises(InfeasibleError, match="no release"):
        shoal.anonymize(data, qi=["a"], sensitive="s", hierarchy={"a": "flat"}, **asked)


def test_a_time_is_for_the_level_that_was_found(people):
    release = shoal.anonymize(people, qi=QI, max_loss=0.1, time="0.5s", rest="plain", bound=False)
    assert release.verification.ok
    assert release.loss.gcp <= 0.1
    assert release.verification.class_sizes.min() >= release.policy.k > 2


def test_the_screen_promises_no_more_than_was_found(people, tmp_path):
    write_table(people, tmp_path / "people.csv")
    asked = ["--qi", ",".join(QI), "--rest", "drop", "--max-loss", "0.1", "--method", "mondrian"]
    done = command("anonymize", tmp_path / "people.csv", "-o", tmp_path / "out.csv", *asked)
    assert done.code == 0
    assert "largest k found within a loss of 0.1" in done.out
    assert "a larger k might fit yet" in done.out


def test_other_models_stay_and_l_can_be_searched(people):
    release = shoal.anonymize(
        people,
        qi=QI,
        sensitive="occupation",
        k=4,
        max_loss=0.4,
        search="l",
        method="mondrian",
        rest="plain",
    )
    found = release.record["method"]["budget"]
    assert found["l"] >= 2
    assert [str(model) for model in release.models] == ["k = 4", f"l = {found['l']} (frequency)"]
    assert release.loss.gcp <= 0.4


def test_a_budget_for_everything_buys_one_class(people):
    release = shoal.anonymize(people, qi=QI, max_loss=1, rest="plain")
    assert release.policy.k > people.num_rows // 2
    assert release.verification.classes == 1


def test_what_cannot_be_bought_is_said(people):
    with pytest.raises(InfeasibleError, match="k = 2 already loses"):
        shoal.anonymize(people, qi=QI, max_loss=0, rest="plain")
    with pytest.raises(PolicyError, match="do not give k"):
        shoal.anonymize(people, qi=QI, max_loss=0.1, k=3, rest="plain")
    with pytest.raises(PolicyError, match="0 to 1"):
        shoal.anonymize(people, qi=QI, max_loss=1.5, rest="plain")
    with pytest.raises(PolicyError, match="sensitive column"):
        shoal.anonymize(people, qi=QI, max_loss=0.5, search="l", rest="plain")


# The best l


def test_auto_is_the_largest_l_that_the_table_allows():
    table = pa.table({"q": list(range(12)), "s": ["a"] * 4 + ["b"] * 4 + ["c", "d", "e", "f"]})
    release = shoal.anonymize(table, qi=["q"], sensitive="s", l="auto", rest="plain")
    assert release.policy.l == 3  # 12 records, 4 of them with the same value
    assert release.verification.checks[0].reached >= 3
    with pytest.raises(InfeasibleError):
        shoal.anonymize(table, qi=["q"], sensitive="s", l=4, rest="plain")


def test_auto_of_several_columns_is_what_all_allow():
    table = pa.table({"q": [1, 2, 3, 4], "s": ["a", "b", "c", "d"], "t": ["x", "y", "x", "y"]})
    release = shoal.anonymize(table, qi=["q"], sensitive=["s", "t"], l="auto", rest="plain")
    assert release.policy.l == 2


def test_auto_counts_persons():
    table = pa.table({"q": [1, 2, 3, 4], "s": ["a", "a", "b", "c"], "who": [1, 1, 2, 3]})
    policy = shoal.Policy.parse(qi=["q"], sensitive="s")
    assert best_l(encode(table, policy.override(person="who")).codebook) == 3
    assert best_l(encode(table, policy).codebook) == 2


def test_auto_where_one_value_has_more_than_half_of_the_records():
    table = pa.table({"q": [1, 2, 3], "s": ["a", "a", "b"]})
    with pytest.raises(InfeasibleError, match=r"no 2-diverse release exists.*66\.7%"):
        shoal.anonymize(table, qi=["q"], sensitive="s", l="auto", rest="plain")
    with pytest.raises(PolicyError, match="expected a sensitive column"):
        shoal.anonymize(table, qi=["q"], l="auto", rest="plain")


def test_auto_on_the_command_line_and_in_comparisons(tmp_path):
    source = tmp_path / "census.csv"
    write_table(shoal.datasets.census(500), source)
    roles = ["--qi", "age,gender", "--sensitive", "occupation"]
    done = command(
        "anonymize",
        source,
        "-o",
        tmp_path / "out.csv",
        "--rest",
        "plain",
        *roles,
        "-l",
        "auto",
        "--json",
    )
    assert done.code == 0
    found = json.loads(done.out)["policy"]["l"]
    compared = command("compare", source, *roles, "-l", "auto", "--methods", "hilbert", "--json")
    assert [row["l"] for row in json.loads(compared.out)["rows"]] == [found]
    assert (
        command(
            "anonymize", source, "-o", tmp_path / "out.csv", "--rest", "plain", *roles, "-l", "most"
        ).code
        == 2
    )
