"""Survey weights have a role of their own; codes are no numbers."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import shoal
from command import shoal as command
from shoal.encoding.weights import _rounded
from shoal.errors import PolicyError, ShoalWarning
from shoal.naming.codes import Numbers, code_reason
from shoal.policy import Policy


def survey(n=200):
    draw = random.Random(3)
    return pa.table(
        {
            "age": [draw.randrange(18, 80) for _ in range(n)],
            "ill": [draw.choice(["flu", "cold", "gout"]) for _ in range(n)],
            "fnlwgt": [draw.randrange(10_000, 99_999) for _ in range(n)],
        }
    )


ASKED = {"qi": "age", "sensitive": "ill", "k": 4, "method": "hilbert", "weight_column": "fnlwgt"}


def test_weights_are_kept_with_a_warning_and_their_role_is_told(tmp_path):
    with pytest.warns(ShoalWarning, match="weight column 'fnlwgt': .* singles them out"):
        release = shoal.anonymize(survey(), **ASKED)
    assert sorted(release.table.column("fnlwgt").to_pylist()) == sorted(
        survey().column("fnlwgt").to_pylist()
    )
    assert release.policy.weight_column == "fnlwgt"
    assert release.manifest["policy"]["weight_column"] == "fnlwgt"
    assert release.record["policy"]["weight_column"] == "fnlwgt"
    assert "plain" not in release.record["policy"]
    assert shoal.verify(release.write(tmp_path / "out.csv")).ok


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
def test_weights_are_rounded_or_dropped_on_request(tmp_path):
    rounded = shoal.anonymize(survey(), **ASKED, weight_as="round")
    weights = rounded.table.column("fnlwgt").to_pylist()
    assert all(weight % 1000 == 0 for weight in weights)
    assert abs(sum(weights) / sum(survey().column("fnlwgt").to_pylist()) - 1) < 0.01
    assert rounded.table.schema.field("fnlwgt").type == pa.int64()
    assert shoal.verify(rounded.write(tmp_path / "out.csv")).ok
    dropped = shoal.anonymize(survey(), **ASKED, weight_as="drop")
    assert dropped.table.column_names == ["age", "ill"]
    assert shoal.verify(dropped.write(tmp_path / "dropped.csv")).ok


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
def test_a_release_with_weights_is_reproduced(tmp_path):
    from shoal.io.write import write_table

    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    write_table(survey(), source)
    args = ["--qi", "age", "--sensitive", "ill", "-k", 4, "--method", "hilbert"]
    weights = ["--weight-column", "fnlwgt", "--weight-as", "round"]
    assert command("anonymize", source, "-o", out, *args, *weights).code == 0
    again = tmp_path / "again.csv"
    record = tmp_path / "out.csv.record.json"
    assert command("reproduce", record, source, "-o", again).code == 0
    assert again.read_bytes() == out.read_bytes()


@pytest.mark.parametrize(
    ("number", "text"),
    [(12345, "12000"), (0.012345, "0.012"), (7, "7"), (1.25, "1.2"), (0, "0"), (-96, "-96"),
     (99_900, "100000"), (2.04, "2")],
)  # fmt: skip
def test_two_digits_are_left(number, text):
    assert _rounded(number) == text


def test_a_weight_has_one_role():
    with pytest.raises(PolicyError, match="expected one role; got qi and weight_column"):
        Policy.parse(qi=["a", "w"], weight_column="w")
    with pytest.raises(PolicyError, match="weight_as"):
        Policy.parse(qi=["a"], weight_as="drop")


def test_inspect_finds_weights_and_proposes_to_round_them():
    found = shoal.inspect(survey())
    assert found.named("weight") == ("fnlwgt",)
    policy = found.policy(k=4)
    assert (policy.weight_column, policy.weight_as) == ("fnlwgt", "round")


@pytest.mark.parametrize(
    ("name", "numbers", "codes"),
    [
        ("region", Numbers(4, 1, 4), True),
        ("marital", Numbers(6, 1, 6), True),
        ("zip", Numbers(900, 10_001, 99_950), True),
        ("PLZ", Numbers(9_000, 1_067, 99_998), True),
        ("admission_type_id", Numbers(8, 1, 8), True),
        ("county_code", Numbers(3_000, 10_001, 56_045), True),
        ("status", Numbers(3, 1, 3), True),
        ("age", Numbers(79, 17, 95), False),
        ("hours-per-week", Numbers(94, 1, 99), False),
        ("income", Numbers(50, 1, 50), False),
        ("children", Numbers(7, 0, 6), False),
        ("year_of_arrival_in_country", Numbers(40, 1950, 1990), False),
        ("region", Numbers(900, 1, 12_000), False),
    ],
)
def test_codes_are_told_from_numbers_by_name_and_count(name, numbers, codes):
    assert (code_reason(name, numbers) is not None) == codes
