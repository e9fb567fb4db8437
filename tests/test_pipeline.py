"""Random tables x all methods x all models: a release satisfies its models, or there is none."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from command import SECRET
from conformance import (
    GENERALISING,
    MODELS,
    WITH_PERSONS,
    Case,
    most_records,
    options_of,
    possible,
    refusals,
    released,
    sensitive_of,
)
from guarantees import assert_models_hold
from random_tables import microdata
from shoal.errors import PolicyError, VerificationError
from shoal.methods import METHODS, get_method

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")


@pytest.mark.parametrize("method", GENERALISING)
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_every_release_satisfies_its_models(method, data):
    table, roles = data.draw(microdata(most=most_records(method, 40)))
    asked = data.draw(st.sampled_from(MODELS))
    option = data.draw(options_of(method))
    layout = data.draw(st.sampled_from(["cells", "bounds"]))
    recoding = data.draw(st.sampled_from([None, *get_method(method).recodings]))
    sensitive = sensitive_of(asked)
    if "e" in asked:
        table = table.drop_columns(["disease"])
    chosen = {"option": option, "layout": layout, "recoding": recoding}
    release = released(table, method, asked, sensitive, **roles, **chosen)
    assert_models_hold(release, sensitive)
    assert release.data.num_rows == table.num_rows
    assert release.verify().ok
    for name in sensitive:  # the sensitive cells are published as they were
        published, original = release.data.column(name), table.column(name)
        assert sorted(map(repr, published.to_pylist())) == sorted(map(repr, original.to_pylist()))
    assert 0 <= release.loss.gcp <= 1


@pytest.mark.parametrize("method", GENERALISING)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_models_count_persons_where_a_person_column_is_declared(method, data):
    table, roles = data.draw(microdata(most=most_records(method, 25)))
    n = table.num_rows
    persons = data.draw(st.lists(st.integers(0, max(1, n // 2)), min_size=n, max_size=n))
    table = table.append_column("who", pa.array(persons))
    asked = data.draw(st.sampled_from(possible(method, WITH_PERSONS, persons=True)))
    sensitive = sensitive_of(asked)[:1]
    release = released(table, method, asked, sensitive, **roles, person="who")
    assert "who" not in release.data.column_names
    assert_models_hold(release, sensitive)


def crowd(n):
    """Records of persons who have two each, with every model within reach."""
    return pa.table(
        {
            "age": [20 + i % 7 for i in range(n)],
            "who": [i // 2 for i in range(n)],
            "disease": [["flu", "cold", "gout"][i // 2 % 3] for i in range(n)],
            "income": [i % 5 * 20 for i in range(n)],
        }
    )


@pytest.mark.parametrize("n", [12, 60])
@pytest.mark.parametrize("persons", [False, True])
@pytest.mark.parametrize("method", GENERALISING)
def test_a_method_refuses_only_what_it_is_known_to_refuse(method, persons, n):
    table = crowd(n)
    for asked in WITH_PERSONS if persons else MODELS:
        sensitive = sensitive_of(asked)[: 1 if persons else 2]
        settings = {"qi": ["age"], "sensitive": sensitive, **({"person": "who"} if persons else {})}
        refused = [r.words for r in refusals(method, Case(asked, n, persons)) if r.sure]
        if refused:
            with pytest.raises(PolicyError, match=refused[0]):
                shoal.anonymize(table, **settings, **asked, method=method, rest="plain")
        else:
            assert_models_hold(
                shoal.anonymize(table, **settings, **asked, method=method, rest="plain"), sensitive
            )


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_order_of_the_input_leaves_no_trace(data):
    table, roles = data.draw(microdata())
    shuffled = table.take(data.draw(st.permutations(range(table.num_rows))))
    releases = [released(t, "mondrian", {"k": 2}, ["disease"], **roles) for t in (table, shuffled)]
    assert releases[0].data.equals(releases[1].data)


def test_loss_of_a_release_matches_the_definition():
    table = pa.table({"age": [10, 20, 30, 50], "s": ["a", "b", "a", "b"]})
    release = shoal.anonymize(table, qi=["age"], k=2, method="mondrian", rest="plain")
    assert sorted(release.data.column("age").to_pylist()) == [
        "[10,20]", "[10,20]", "[30,50]", "[30,50]",
    ]  # fmt: skip
    assert release.loss.ncp == {"age": pytest.approx((2 * 10 + 2 * 20) / 40 / 4)}
    assert (release.loss.dm, release.loss.c_avg, release.loss.stars) == (8, 2, 0)


def test_weights_enter_the_loss():
    table = pa.table({"a": [0, 1, 0, 1], "b": [0, 0, 10, 10]})
    release = shoal.anonymize(table, qi=["a", "b"], weight={"a": 3}, k=4, rest="plain")
    assert release.loss.ncp == {"a": 1.0, "b": 1.0}
    release = shoal.anonymize(table, qi=["a", "b"], weight={"a": 3}, k=2, rest="plain")
    assert release.loss.gcp == pytest.approx(1 / 4)  # b is given up, a kept
    assert release.loss.ncp["a"] == 0


def test_missing_values_are_values_of_their_own():
    table = pa.table({"age": [30, 31, None, None], "city": ["x", None, "x", None]})
    release = shoal.anonymize(table.select(["age"]), qi=["age"], k=2, rest="plain")
    assert release.data.column("age").to_pylist() == [None, None, "[30,31]", "[30,31]"]
    release = shoal.anonymize(
        table, qi=["age", "city"], k=4, hierarchy={"city": "flat"}, method="mondrian", rest="plain"
    )
    assert release.data.column("age").to_pylist() == ["*"] * 4
    assert release.loss.stars == 8
    assert release.loss.suppressed_tuples == 4
    assert release.loss.gcp == 1


def test_a_set_names_its_values_in_order_and_quotes_what_could_be_misread():
    table = pa.table({"job": ["b", "a,c", None, "b"]})
    release = shoal.anonymize(table, qi=["job"], k=4, rest="plain")
    assert release.data.column("job").to_pylist() == ['{"a,c",b,}'] * 4


def test_a_broken_method_cannot_publish(monkeypatch):
    from shoal.encoding.table import Partition, Recoding
    from shoal.methods.base import Outcome
    from shoal.methods.mondrian import Mondrian

    def one_group_a_record(self, table, models, options, run):
        alone = Partition.from_group_ids(np.arange(table.n))
        return Outcome(Recoding.single(alone, len(table.qi)))

    monkeypatch.setattr(Mondrian, "run", one_group_a_record)
    table = pa.table({"age": [1, 2, 3, 4]})
    with pytest.raises(VerificationError, match="k = 2"):
        shoal.anonymize(table, qi=["age"], k=2, method="mondrian", rest="plain")


def test_the_manifest_holds_no_cell_of_the_input():
    secret = [f"secret-{i}" for i in range(8)]
    table = pa.table(
        {
            "name": [f"name-{i}" for i in range(8)],
            "job": ["job-a", "job-b"] * 4,
            "level": ["level-lo", "level-hi"] * 4,
            "disease": secret,
        }
    )
    release = shoal.anonymize(
        table, qi=["job", "level"], identifier="name", sensitive="disease", k=2, l=2,
        hierarchy={"job": {"tree": {"all": ["job-a", "job-b"]}}},
        order={"level": ["level-lo", "level-hi"]}, rest="plain",
    )  # fmt: skip
    text = json.dumps(release.manifest)
    for column in table.columns:
        assert not any(cell in text for cell in column.to_pylist())


def test_a_model_without_a_column_to_look_at_does_not_hold_in_vain():
    table = pa.table({"age": [1, 1, 1, 1], "disease": ["a", "b", "c", "d"]})
    with pytest.raises(PolicyError, match="numeric sensitive column"):
        shoal.verify(table, qi=["age"], sensitive=["disease"], k=2, e=5)
    with pytest.raises(PolicyError, match="sensitive column"):
        shoal.verify(table, qi=["age"], l=2)


@pytest.mark.parametrize("kind", ["numeric", "date", "ordinal", "categorical"])
def test_a_column_of_missing_values_only_can_be_of_any_kind(kind):
    table = pa.table({"x": pa.array([None, None, None], pa.int64())})
    release = shoal.anonymize(table, qi=["x"], kind={"x": kind}, k=3, rest="plain")
    assert release.data.column("x").to_pylist() == [None] * 3
    assert release.loss.gcp == 0


def test_a_release_that_counts_persons_is_checked_in_part_from_its_text(tmp_path):
    table = pa.table({"age": [1, 1, 2, 2], "who": [1, 2, 3, 4], "s": ["a", "b", "a", "b"]})
    release = shoal.anonymize(
        table, qi=["age"], person="who", sensitive="s", k=2, l=2, rest="plain"
    )
    assert release.verify().complete  # the pipeline knows the persons
    found = shoal.verify(release.write(tmp_path / "r.csv"))
    assert (found.ok, found.holds, found.complete) == (False, True, False)
    assert repr(found).startswith("checked in part")


@pytest.mark.parametrize("method", sorted(METHODS))
def test_what_a_release_says_about_itself_shows_no_sensitive_cell(method):
    cells = [f"{SECRET} {value}" for value in "abcd" * 3]
    table = pa.table({"name": cells, "age": [20, 30] * 6, "sex": ["f", "m", "m"] * 4, "s": cells})
    release = shoal.anonymize(
        table, identifier="name", qi=["age", "sex"], sensitive="s", l=2, method=method, rest="plain"
    )
    said = json.dumps(release.manifest) + repr(release)
    assert SECRET not in said
    assert release.verify().ok
