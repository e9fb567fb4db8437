"""`shoal.inspect`, `shoal inspect` and `shoal policy`."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shared_data import DATA
from shoal.cli import cli
from shoal.cli.policy import policy_text
from shoal.errors import InputError, OutputError, PolicyError
from shoal.explore.inspection import Inspection, inspect
from shoal.policy import Policy


def roles(found: Inspection) -> dict[str, str]:
    return {column.name: column.role for column in found.columns}


def table(n: int = 200, **columns: list[object]) -> pa.Table:
    """A table of n rows; short columns repeat."""
    return pa.table({name: [v[i % len(v)] for i in range(n)] for name, v in columns.items()})


def real(name: str) -> Path:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not here; set SHOAL_DATA")
    return path


# --- proposals on known tables


def test_hospital() -> None:
    found = inspect(shoal.datasets.hospital())
    assert roles(found) == {
        "name": "identifier", "age": "qi", "gender": "qi", "education": "qi",
        "disease": "sensitive",
    }  # fmt: skip
    age = found.columns[1]
    assert (age.kind, age.order) == ("ordinal", ("<30", "30-50", ">=50"))
    assert found.columns[-1].largest_l == 2  # 4 of 10 have pneumonia
    assert (found.unique, found.small) == (2, 10)


def test_occupation_is_private_beside_income_and_known_beside_accidents() -> None:
    assert roles(inspect(shoal.datasets.census(500)))["occupation"] == "sensitive"
    assert roles(inspect(shoal.datasets.traffic_accidents()))["occupation"] == "qi"


def test_adult() -> None:
    found = inspect(real("adult.csv"))
    assert set(found.named("qi")) >= {
        "age", "workclass", "education", "marital-status", "race", "sex", "native-country",
    }  # fmt: skip
    assert set(found.named("sensitive")) >= {"occupation", "income"}
    assert found.named("weight") == ("fnlwgt",)
    assert any("education and education-num say the same" in hint for hint in found.hints)
    assert found.policy().sensitive == ("occupation",)  # no 2-diverse release for income exists


def test_acs() -> None:
    found = inspect(real("acs2018_census9.csv.gz"))
    assert {"Age", "Gender", "Education", "Marital", "Race", "WorkClass", "Country"} <= set(
        found.named("qi")
    )
    assert found.named("sensitive") == ("Occupation", "OccGroup", "Salary")
    largest = {column.name: column.largest_l for column in found.columns}
    assert (largest["OccGroup"], largest["Salary"]) == (8, 16)


def test_diabetes() -> None:
    found = inspect(real("diabetes130.csv.gz"))
    proposed = roles(found)
    assert (proposed["encounter_id"], proposed["patient_nbr"]) == ("identifier", "person")
    assert set(found.named("qi")) >= {
        "race", "gender", "age", "admission_type_id", "discharge_disposition_id",
        "time_in_hospital", "medical_specialty", "payer_code",
    }  # fmt: skip
    assert set(found.named("sensitive")) >= {"diag_1", "diag_2", "diag_3", "readmitted"}
    assert proposed["num_medications"] == "plain"
    assert found.persons == 71_518
    assert found.missing == ("", "?")
    kinds = {column.name: column.kind for column in found.columns}
    assert (kinds["age"], kinds["admission_type_id"]) == ("ordinal", "categorical")


# --- names and values


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("native-country", "qi"), ("marital.status", "qi"), ("WorkClass", "qi"),
        ("workclass", "qi"), ("Date of Birth", "qi"), ("ZIPCode", "qi"), ("post_code", "qi"),
        ("SEX", "qi"), ("EthnicGroup", "qi"), ("medical_specialty", "qi"),
        ("diag_1", "sensitive"), ("Diagnosis", "sensitive"), ("HIV_status", "sensitive"),
        ("annualIncome", "sensitive"), ("sexual_orientation", "sensitive"),
        ("telephone", "plain"), ("colour", "plain"), ("hospital_name", "qi"),
    ],
)  # fmt: skip
def test_names_with_few_values(name: str, role: str) -> None:
    values = table(**{name: ["a", "b", "c"]})
    column = inspect(values).columns[0]
    assert column.role == role
    if role == "plain":
        assert column.reason == "not recognised: decide"


@pytest.mark.parametrize("name", ["name", "Full Name", "e-mail", "SSN", "phone_number", "last"])
def test_names_of_people(name: str) -> None:
    values = [f"v{i}" for i in range(60)]
    assert roles(inspect(table(**{name: values})))[name] == "identifier"


def test_uniqueness_identifies_whatever_the_name() -> None:
    found = inspect(
        pa.table(
            {
                "code": range(100),
                "remark": [f"text {i}" for i in range(100)],
                "reading": [*range(60), *([7] * 40)],
                "seen": pd.date_range("2024-01-01", periods=100).date,
                "gauge": [i % 5 for i in range(100)],
                "same": ["x"] * 100,
                "void": pa.nulls(100),
            }
        )
    )
    assert roles(found) == {
        "code": "identifier", "remark": "identifier", "reading": "qi",
        "seen": "qi", "gauge": "qi", "same": "plain", "void": "plain",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["patient_nbr", "PatientID", "patientid", "customer", "user id"])
def test_an_id_that_repeats_is_a_person(name: str) -> None:
    values = table(**{name: list(range(90)), "age": [30, 40]})
    found = inspect(values)
    assert roles(found)[name] == "person"
    assert found.policy().person == name


def test_one_person_column_at_most() -> None:
    found = inspect(table(user_id=list(range(90)), group_id=list(range(100))))
    assert roles(found) == {"user_id": "person", "group_id": "identifier"}


def test_persons_are_counted_once() -> None:
    data = pa.table({"patient_id": [1, 1, 2, 3], "age": [30, 30, 40, 40]})
    found = inspect(data)
    assert (found.unique, found.small) == (2, 4)  # two records of one person are still alone


@given(st.lists(st.tuples(st.integers(20, 23), st.sampled_from("FM")), min_size=1, max_size=60))
@settings(max_examples=50, deadline=None)
def test_unique_records_are_counted_as_by_hand(rows: list[tuple[int, str]]) -> None:
    found = inspect(pa.table({"age": [a for a, _ in rows], "sex": [s for _, s in rows]}))
    assert found.unique == sum(rows.count(row) == 1 for row in rows)
    assert found.small == sum(rows.count(row) < 5 for row in rows)


def test_missing_markers_are_found_and_a_number_stays_a_number() -> None:
    found = inspect(table(age=["31", "?", "45"], city=["A", "NA", "B"]))
    assert found.missing == ("", "?", "NA")
    assert found.columns[0].kind == "numeric"
    assert found.columns[0].missing == 67
    assert any("missing = " in hint for hint in found.hints)
    assert found.policy().missing == ("", "?", "NA")


def test_a_missing_value_counts_towards_the_largest_l() -> None:
    found = inspect(pa.table({"disease": ["a", "b", None, None, None, "c"]}))
    assert found.columns[0].largest_l == 2


# --- what it shows, takes and refuses


def test_no_private_cell_is_shown() -> None:
    found = inspect(shoal.datasets.hospital())
    shown = repr(found) + found._repr_html_() + json.dumps(found.to_dict())
    shown += policy_text(found, Path("x.csv"), Path("shoal.toml"))
    for cell in ("Adam", "Helen", "HIV", "pneumonia", "dyspepsia"):
        assert cell not in shown


def test_same_answer_from_every_kind_of_table(tmp_path: Path) -> None:
    data = shoal.datasets.disease()
    frame = data.to_pandas()
    frame.to_csv(tmp_path / "t.csv", index=False)
    expected = roles(inspect(data))
    for other in (frame, pl.from_pandas(frame), tmp_path / "t.csv", str(tmp_path / "t.csv")):
        assert roles(inspect(other)) == expected


def test_html_is_escaped() -> None:
    text = inspect(table(**{"<b>age": [1, 2]}))._repr_html_()
    assert "<b>" not in text
    assert "&lt;b&gt;age" in text


def test_repr_is_aligned() -> None:
    lines = repr(inspect(shoal.datasets.census(300))).splitlines()
    at = lines[0].index("role")
    assert {line[at - 2 : at] for line in lines[1:10]} == {"  "}


def test_refuses_empty_and_nested_tables() -> None:
    with pytest.raises(InputError, match="empty"):
        inspect(pa.table({"age": pa.array([], pa.int64())}))
    with pytest.raises(InputError, match="'tags'"):
        inspect(pa.table({"tags": [["a"], ["b"]]}))


def test_a_million_rows_are_quick() -> None:
    data = shoal.datasets.census(1_000_000)
    inspect(data.slice(0, 100))  # compile first
    begun = time.perf_counter()
    inspect(data)
    assert time.perf_counter() - begun < 5  # 0.3 s when nothing else runs


# --- the policy


@pytest.mark.parametrize("name", sorted(shoal.datasets.DATASETS))
def test_the_proposal_can_be_released_as_it_is(name: str) -> None:
    data = shoal.datasets.DATASETS[name]()
    release = shoal.anonymize(data, inspect(data).policy())
    assert release.verify().ok


def test_k_and_l_fit_the_table_and_can_be_overridden() -> None:
    small = inspect(shoal.datasets.hospital())
    assert (small.policy().k, small.policy().l) == (2, 2)
    large = inspect(shoal.datasets.census(1000))
    assert (large.policy().k, large.policy().l) == (10, 3)
    assert large.policy(k=25, t=0.4).k == 25
    with pytest.raises(PolicyError):
        large.policy(nonsense=1)


def test_an_override_takes_a_column_out_of_its_proposed_role() -> None:
    found = inspect(shoal.datasets.census(500))
    policy = found.policy(sensitive="salary", plain=["occupation"], identifier=["race"])
    assert (policy.sensitive, policy.plain) == (("salary",), ("occupation",))
    assert "race" not in policy.qi


def test_undecided_columns_get_no_role() -> None:
    policy = inspect(table(age=[1, 2], gauge=["a", "b"])).policy()
    assert policy.plain == ()


WEIRD = 'we"ird \\ na\nme\x7f#é'


@pytest.mark.parametrize(
    "data",
    [
        *(make() for make in shoal.datasets.DATASETS.values()),
        table(**{f"{WEIRD} age": ["<5", "5-9", ">9"], f"{WEIRD} diag": list("abc"), WEIRD: [1, 2]}),
        table(age=["1", "?"], patient_id=list(range(80)), visit_type=[1, 2, 3]),
        table(gauge=[1, 2]),
    ],
)
def test_the_file_says_what_the_proposal_says(data: pa.Table, tmp_path: Path) -> None:
    found = inspect(data)
    file = tmp_path / "shoal.toml"
    file.write_text(policy_text(found, Path("a b\n.csv"), file), encoding="utf-8")
    assert Policy.load(file).settings() == found.policy().settings()


def test_examples_in_the_file_are_valid_when_uncommented(tmp_path: Path) -> None:
    """Every setting that is shown commented out must work for who removes the `#`."""
    found = inspect(shoal.datasets.census(300))
    text = policy_text(found, Path("p.csv"), tmp_path / "shoal.toml")
    bare = re.sub(r"^# (?=[\w-]+ = )", "", text, flags=re.MULTILINE)
    assert bare.count("\nt = ") == 1
    (tmp_path / "shoal.toml").write_text(bare, encoding="utf-8")
    policy = Policy.load(tmp_path / "shoal.toml")
    assert {"t", "alpha", "e", "method", "layout", "weight", "hierarchy"} <= set(policy.settings())


# --- the command line


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    shoal.datasets.census(400).to_pandas().to_csv(path, index=False)
    return path


def test_inspect_command(people: Path) -> None:
    result = CliRunner().invoke(cli, ["inspect", str(people)])
    assert result.exit_code == 0
    assert "occupation" in result.stdout
    assert "are unique on the 7 proposed quasi-identifiers" in result.stdout
    assert f"shoal policy init {people}" in result.stdout


def test_inspect_command_json_and_missing(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("age,disease\n" + "30,flu\nunknown,cold\n" * 30)
    result = CliRunner().invoke(cli, ["inspect", str(path), "--json", "--missing", "unknown"])
    found = json.loads(result.stdout)
    assert found["rows"] == 60
    assert found["columns"][0]["kind"] == "numeric"
    assert found["columns"][0]["missing"] == 30
    assert "flu" not in result.stdout


def test_policy_init_then_anonymize(people: Path, tmp_path: Path) -> None:
    policy, out = tmp_path / "shoal.toml", tmp_path / "out.csv"
    run = CliRunner().invoke
    assert run(cli, ["policy", "init", str(people), "-o", str(policy)]).exit_code == 0
    result = run(cli, ["anonymize", str(people), "-o", str(out), "--policy", str(policy)])
    assert result.exit_code == 0, result.output
    assert shoal.verify(out).ok
    shown = run(cli, ["policy", "show", str(policy), "--json"])
    assert json.loads(shown.stdout)["models"] == ["k = 10", "l = 3 (frequency)"]
    assert "k = 10" in run(cli, ["policy", "show", str(policy)]).stdout


def test_policy_init_overwrites_only_by_force(people: Path, tmp_path: Path) -> None:
    policy = tmp_path / "shoal.toml"
    policy.write_text("k = 3\n")
    result = CliRunner().invoke(cli, ["policy", "init", str(people), "-o", str(policy)])
    assert isinstance(result.exception, OutputError)
    assert result.exception.exit_code == 2
    assert policy.read_text() == "k = 3\n"
    forced = ["policy", "init", str(people), "-o", str(policy), "--force", "--json"]
    result = CliRunner().invoke(cli, forced)
    assert json.loads(result.stdout)["settings"]["k"] == 10
    itself = ["policy", "init", str(people), "-o", str(people), "--force"]
    assert isinstance(CliRunner().invoke(cli, itself).exception, OutputError)
    assert not isinstance(CliRunner().invoke(cli, ["policy", "show", "no.toml"]).exception, OSError)
