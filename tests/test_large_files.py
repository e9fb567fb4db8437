"""Files that do not fit into memory: verified by DuckDB, in the words of the check in memory."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from engine_tables import ROLES, people
from shoal.cli import cli
from shoal.encoding.row_order import rows_at, sorted_rows
from shoal.engines.duckdb import verifying
from shoal.errors import InputError, PolicyError, VerificationError
from shoal.io.addresses import address_of
from shoal.io.databases import read_manifest
from shoal.io.databases.rows import RowsHash
from shoal.io.texts import Texts
from shoal.io.write import csv_lines, write_table
from shoal.methods import METHODS, get_method
from shoal.methods.hilbert import Hilbert
from shoal.policy import Policy
from shoal.watching import State

LITTLE = "300MB"
"""Less than the program itself counts for: every file is too large."""


def released(folder: Path, name: str, **asked) -> Path:
    settings_ = {**ROLES, "method": "hilbert", "seed": 5, **asked}
    return shoal.anonymize(people(), out=folder / name, **settings_) and folder / name


ASKED = [
    {"k": 5},
    {"k": 4, "l": 3, "csv_safe": True},
    {"k": 3, "t": 0.4, "layout": "bounds"},
    {"k": 3, "l": 2, "kind": {"degree": "ordinal", "disease": "ordinal"}},
    {"l": 2, "order": {"disease": [f"d{i}" for i in range(12)]}, "t": 0.5},
]


@pytest.mark.parametrize("asked", ASKED, ids=str)
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_a_large_file_is_verified_as_a_small_one(asked, ending, tmp_path, monkeypatch):
    monkeypatch.setattr(verifying.Spill, "__init__", _spilling_into(tmp_path / "spill"))
    path = released(tmp_path, f"r.{ending}", **asked)
    small, large = shoal.verify(path), shoal.verify(path, memory=LITTLE)
    assert large.ok
    assert large.to_dict() == small.to_dict()
    assert list((tmp_path / "spill").iterdir()) == []


def _spilling_into(folder: Path):
    folder.mkdir()
    begin = verifying.Spill.__init__
    return lambda self, _place: begin(self, folder)


def test_models_are_asked_of_a_large_file(tmp_path):
    path = released(tmp_path, "r.csv", k=5)
    asked = {"qi": ROLES["qi"], "sensitive": "disease", "k": 5, "l": 3}
    small, large = shoal.verify(path, **asked), shoal.verify(path, memory=LITTLE, **asked)
    assert not large.holds
    assert large.to_dict() == small.to_dict()


def test_a_changed_file_is_told_alike(tmp_path):
    path = released(tmp_path, "r.csv", k=5)
    lines = path.read_bytes().split(b"\n")
    del lines[1]
    path.write_bytes(b"\n".join(lines))
    small, large = shoal.verify(path), shoal.verify(path, memory=LITTLE)
    assert large.mismatches
    assert large.to_dict() == small.to_dict()


def test_a_broken_file_is_told_by_line_and_no_cell(tmp_path):
    path = released(tmp_path, "r.csv", k=5)
    lines = path.read_bytes().split(b"\n")
    lines[300] += b",more"
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(VerificationError, match="SHA-256"):
        shoal.verify(path, memory=LITTLE)
    with pytest.raises(InputError, match="line 301: expected 5 cells; got 6"):
        shoal.verify(path, memory=LITTLE, qi=ROLES["qi"], k=5)


def test_what_needs_all_records_is_read(tmp_path):
    asked = Policy.of(None, {"qi": ["age"], "k": 2, "person": "name"})
    path = released(tmp_path, "r.csv", k=5)
    assert verifying.large_file(path, asked, LITTLE) is None
    assert verifying.large_file(path, asked.override(person=None), "100GB") is None


def test_the_command_takes_an_amount(tmp_path):
    path = released(tmp_path, "r.csv", k=5)
    told = CliRunner().invoke(cli, ["verify", str(path), "--memory", LITTLE])
    assert told.exit_code == 0
    assert "600 records" in told.output
    with pytest.raises(PolicyError, match="memory: expected an amount"):
        shoal.verify(path, memory="plenty")


def put_in(scheme: str, table: pa.Table, folder: Path) -> str:
    """The table in a database of a file; its address."""
    path = folder / f"in.{scheme}"
    if scheme == "duckdb":
        with duckdb.connect(str(path)) as con:
            con.register("given", table)
            con.execute("CREATE TABLE people AS SELECT * FROM given")
    else:
        dbapi = pytest.importorskip("adbc_driver_sqlite.dbapi")
        with dbapi.connect(str(path)) as con, con.cursor() as cursor:
            cursor.adbc_ingest("people", table, mode="create")
            con.commit()
    return f"{scheme}:///{path}?table=people"


@pytest.mark.parametrize("scheme", ["duckdb", "sqlite"])
def test_databases_are_read_and_written_by_every_engine(scheme, tmp_path, monkeypatch):
    monkeypatch.setattr(Hilbert, "by_range", 90)
    monkeypatch.chdir(tmp_path)
    source = put_in(scheme, people(), tmp_path)
    told = {}
    for engine in ("memory", "duckdb"):
        asked = {**ROLES, "k": 5, "method": "hilbert", "seed": 5, "engine": engine}
        shoal.anonymize(source, out=f"{engine}.csv", **asked).close()
        target = f"{scheme}:///{tmp_path}/out-{engine}.{scheme}?table=released"
        shoal.anonymize(source, out=target, **asked).close()
        assert shoal.verify(target).ok
        digest = read_manifest(address_of(target))["release"]["sha256"]
        told[engine] = (Path(f"{engine}.csv").read_bytes(), digest)
    assert told["memory"] == told["duckdb"]
    assert [path.name for path in tmp_path.glob(".shoal*")] == []


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_method_works_in_ranges_or_is_refused_before_the_work(method, tmp_path):
    asked = {**ROLES, "method": method, "engine": "duckdb", "temp": str(tmp_path)}
    word = "such file" if get_method(method).by_range else "looks at all records at once"
    with pytest.raises((InputError, PolicyError)) as refused:
        shoal.anonymize("no-such-file.csv", l=2, **asked)
    assert word in str(refused.value)
    assert list(tmp_path.iterdir()) == []


KEYS = st.integers(2, 4).flatmap(
    lambda columns: st.lists(
        st.tuples(*[st.integers(0, 1 << 30)] * columns), min_size=1, max_size=60
    )
)


@settings(max_examples=60, deadline=None)
@given(rows=KEYS, data=st.data())
def test_rows_at_places_are_those_of_the_sorted_rows(rows, data):
    narrow = data.draw(st.sampled_from([1, 3, 1 << 30]))
    columns = [np.array(column, dtype=np.int32) % narrow for column in zip(*rows, strict=True)]
    keys = [(column, narrow) for column in columns]
    some = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, unique=True))
    *before, last = keys
    both = rows_at(before, np.array(some, dtype=np.int64), [last, (-last[0] + narrow, narrow + 1)])
    for found, sign in zip(both, (1, -1), strict=True):
        expected = sorted_rows([*before, (sign * last[0] + narrow, 2 * narrow + 1)])[some]
        assert len(set(found.tolist())) == len(some)
        for column in columns:
            assert column[found].tolist() == column[expected].tolist()


@settings(max_examples=60, deadline=None)
@given(
    batches=st.lists(
        st.lists(st.one_of(st.none(), st.sampled_from([f"v{i}" for i in range(300)]))), max_size=6
    )
)
def test_texts_of_batches_are_those_of_the_column(batches):
    texts = Texts()
    for batch in batches:
        texts.add(pa.array(batch, pa.string()).dictionary_encode())
    column = texts.column()
    cells = [cell for batch in batches for cell in batch]
    assert column.to_pylist() == cells
    assert column.dictionary.to_pylist() == list(dict.fromkeys(c for c in cells if c is not None))


def test_batches_without_a_value_are_missing():
    texts = Texts()
    for batch in ([None, None], ["a", None], [None], [], ["b", "a"]):
        texts.add(pa.array(batch, pa.string()).dictionary_encode())
    assert texts.column().to_pylist() == [None, None, "a", None, None, "b", "a"]


def test_places_are_as_narrow_as_can_be():
    for values, kind in ((100, pa.int8()), (200, pa.int16()), (40_000, pa.int32())):
        texts = Texts()
        texts.add(pa.array([str(i) for i in range(values)]).dictionary_encode())
        assert texts.column().type.index_type == kind


def test_the_hash_of_rows_sorts_them_as_bytes():
    rng = random.Random(3)
    table = pa.table({"a": [str(rng.random()) for _ in range(500)]})
    given_rows = RowsHash(["a"])
    for batch in table.to_batches(max_chunksize=70):
        given_rows.add(batch)
    digests = sorted(hashlib.sha256(line).digest() for line in csv_lines(table))
    assert given_rows.hexdigest() == hashlib.sha256(b"a\n" + b"".join(digests)).hexdigest()
    assert RowsHash(["a"]).hexdigest() == hashlib.sha256(b"a\n").hexdigest()


def test_files_of_one_folder_may_have_dictionaries_of_any_width(tmp_path):
    (tmp_path / "in").mkdir()
    for name, towns in (("a", 3), ("b", 300)):
        table = pa.table({"town": [f"t{i % towns}" for i in range(600)], "x": ["1"] * 600})
        write_table(table, tmp_path / "in" / f"{name}.csv")
    found = shoal.anonymize(
        tmp_path / "in", qi=["town"], rest="drop", k=3, engine="memory", method="hilbert"
    )
    assert found.verification.records == 1200


def test_progress_tells_rows_where_they_are_counted():
    state = State(clock=lambda: 0.0)
    state.report("write", 1_250_000, 5_000_000)
    assert "writing 25%, 1,250,000 rows" in state.line()
    for stage, done, total in (("read", 0, 1), ("partition", 5, 10), ("write", 1, 1)):
        state.report(stage, done, total)
        assert "rows" not in state.line()
