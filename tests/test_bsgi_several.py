"""BSGI where a person has several records, or a record several sensitive values."""

# ruff: noqa: E741

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from columns import encoded_table, sensitive_of
from guarantees import assert_guaranteed, groups_of
from runs import outcome_of, partition_of
from shared_data import DATA
from shoal.encoding.encode import encode
from shoal.encoding.table import Partition
from shoal.errors import InfeasibleError
from shoal.io.read import read_table
from shoal.methods import bsgi
from shoal.methods.base import Run
from shoal.methods.bsgi import BSGIOptions
from shoal.models import (
    FrequencyL,
    UniqueDistinctL,
)
from shoal.policy import Policy
from tables import encoded_census, just_eligible, qi, sensitive

run_bsgi = partial(outcome_of, "bsgi")
bsgi_groups = partial(partition_of, "bsgi")
SELECTS = ["near", "largest"]


class TestPersons:
    def test_no_two_records_of_a_person_share_a_group(self):
        rng = np.random.default_rng(3)
        table = encoded_census(1500)
        person = rng.integers(0, 600, table.n).astype(np.int32)
        table = replace(table, person=person)
        partition = bsgi_groups(table, [FrequencyL(4)])
        assert_guaranteed(table, [FrequencyL(4)], partition)
        for group in groups_of(partition):
            assert len(set(person[group].tolist())) == len(group)

    @pytest.mark.skipif(not (DATA / "diabetes130.csv.gz").exists(), reason=f"no data at {DATA}")
    @pytest.mark.parametrize("reading", ["frequency", "unique"])
    def test_patients_with_several_encounters(self, reading):
        policy = Policy.parse(
            qi=["race", "gender", "age", "admission_type_id", "time_in_hospital"],
            kind={"age": "ordinal"}, sensitive="diag_1", person="patient_nbr", missing=["?"],
            l=5, l_reading=reading, method="bsgi",
        )  # fmt: skip
        source = read_table(DATA / "diabetes130.csv.gz")
        table = encode(source, policy)
        assert len(np.unique(table.person)) == 71_518
        partition = bsgi_groups(table, [FrequencyL(5)])
        ids = partition.group_ids()
        assert len(np.unique(np.stack([ids, table.person]), axis=1).T) == table.n == 101_766
        release = shoal.anonymize(source, policy, rest="plain")
        assert release.verify().ok
        assert release.verify().complete
        assert release.loss.gcp < 0.05
        assert "patient_nbr" not in release.data.column_names


class TestSeveralSensitiveColumns:
    def test_members_differ_in_every_one(self):
        table = encoded_census(1000, "occupation", "salary")
        partition = bsgi_groups(table, [UniqueDistinctL(4)])
        assert_guaranteed(table, [UniqueDistinctL(4)], partition)
        for column in sensitive_of(table):
            for group in groups_of(partition):
                assert len(set(column.codes[group].tolist())) == len(group)

    @given(st.integers(0, 9999), st.integers(2, 5), st.sampled_from(SELECTS), st.booleans())
    @settings(max_examples=150, deadline=None)
    def test_two_columns_are_always_possible(self, seed, l, select, persons):
        """Edge colouring: also where the search gets stuck, and with persons for the second."""
        rng = np.random.default_rng(seed)
        n = int(rng.integers(l, 40))
        drawn = [just_eligible(rng, n, l) for _ in range(2)]
        columns = tuple(sensitive(c, 12) for c in drawn[: 1 if persons else 2])
        person = drawn[1].astype(np.int32) if persons else None
        table = encoded_table(n, (qi(rng.integers(0, 9, n), 9),), columns, person)
        names, models = ("s", "their persons" if persons else "s"), [UniqueDistinctL(l)]
        task = bsgi._task(table, np.arange(n), True, l)
        assert (sorted(task.names), task.l) == (sorted(names), l)
        found = bsgi._grouped(task, "exact", BSGIOptions(select=select), Run())
        partition = Partition.from_group_ids(found.groups)
        assert_guaranteed(table, models, partition)
        for column in drawn:
            for group in groups_of(partition):
                assert l <= len(group) == len(set(column[group].tolist()))

    def contrary(self):
        """Each of three columns is 2-diverse, but no two records differ in all of them."""
        rows = np.array([(0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 1, 1)] * 5)
        names = ("disease", "drug", "clinic")
        columns = tuple(
            c.changed(name=name)
            for name, c in zip(names, (sensitive(codes, 2) for codes in rows.T), strict=True)
        )
        return encoded_table(20, (qi(np.arange(20)),), columns)

    def test_what_is_impossible_names_the_column_and_no_cell(self):
        with pytest.raises(InfeasibleError, match=r"blocked by (disease|drug|clinic)") as caught:
            run_bsgi(self.contrary(), [UniqueDistinctL(2)])
        assert "l_reading = frequency" in str(caught.value)

    @pytest.mark.parametrize("select", SELECTS)
    def test_what_asks_for_frequency_only_is_merged_instead(self, select):
        table, models = self.contrary(), [FrequencyL(2)]
        outcome = run_bsgi(table, models, select=select)
        assert_guaranteed(table, models, outcome.recoding.partitions[0])
        assert outcome.facts["merged_groups"] > 0

    @given(st.integers(0, 999), st.integers(2, 4), st.sampled_from(SELECTS))
    @settings(max_examples=60, deadline=None)
    def test_random_columns_satisfy_frequency_always(self, seed, l, select):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(8, 80))
        columns = tuple(sensitive(just_eligible(rng, n, l), 12) for _ in range(3))
        table = encoded_table(n, (qi(rng.integers(0, 9, n), 9),), columns)
        partition = bsgi_groups(table, [FrequencyL(l)], select=select)
        assert_guaranteed(table, [FrequencyL(l)], partition)
