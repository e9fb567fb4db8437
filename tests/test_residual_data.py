"""What is handed out holds what it shows: no value under a null, none of a dropped record."""

from __future__ import annotations

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import shoal
from shoal.encoding.rebuild import rebuilt

SECRET = 0x5EC2E7_5EC2E7
WORD = "Xq7secret"
FILES = ["r.csv", "r.csv.gz", "r.parquet", "r.feather", "r.jsonl"]


def buffers(table: pa.Table) -> bytes:
    """All that lies in a table's memory, dictionaries included."""
    parts = []
    for column in table.columns:
        for chunk in column.chunks:
            arrays = [chunk]
            if pa.types.is_dictionary(chunk.type):
                arrays = [chunk.indices, chunk.dictionary]
            parts += [bytes(b) for array in arrays for b in array.buffers() if b is not None]
    return b"".join(parts)


def holds(data: bytes) -> bool:
    numbers = (np.int64(SECRET).tobytes(), np.float64(SECRET).tobytes())
    return WORD.encode() in data or any(number in data for number in numbers)


def file_bytes(path) -> bytes:
    """A file's bytes, and those of the buffers that a reader finds in it."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(data)
    if path.suffix == ".parquet":
        return data + buffers(pa.parquet.read_table(path))
    if path.suffix == ".feather":
        return data + buffers(pa.feather.read_table(path, memory_map=False))
    return data


def texts_under_nulls(rows: int) -> pa.Array:
    values = pa.array([WORD if i % 2 else "a" for i in range(rows)])
    valid = pa.array([i % 2 == 0 for i in range(rows)]).buffers()[1]
    return pa.Array.from_buffers(pa.string(), rows, [valid, *values.buffers()[1:]])


def people(rows: int = 20) -> pa.Table:
    unused = pa.DictionaryArray.from_arrays(pa.array([0] * rows), pa.array(["b", WORD]))
    sliced = pa.array([WORD, *["c"] * rows, WORD]).slice(1, rows)
    table = pa.table(
        {
            "age": [20 + i for i in range(rows)],
            "number": pa.array([7 if i % 2 else None for i in range(rows)], pa.int64()),
            "text": texts_under_nulls(rows),
            "unused": unused,
            "sliced": sliced,
        }
    )
    numbers = pa.array([7] * rows, pa.int64()).to_numpy().copy()
    numbers[::2] = SECRET
    valid = pa.array([bool(i % 2) for i in range(rows)]).buffers()[1]
    under = pa.Array.from_buffers(pa.int64(), rows, [valid, pa.py_buffer(numbers.tobytes())])
    return table.set_column(1, "number", under)


ROLES = {"qi": ["age"], "plain": ["number", "text", "unused", "sliced"], "k": 5}


def test_the_table_is_planted():
    assert holds(buffers(people()))


@pytest.mark.parametrize("keep_order", [True, False])
@pytest.mark.parametrize("name", FILES)
def test_a_release_holds_nothing_under_its_nulls(tmp_path, name, keep_order):
    release = shoal.anonymize(people(), **ROLES, keep_order=keep_order, method="mondrian")
    assert not holds(buffers(release.table))
    release.write(tmp_path / name)
    assert not holds(file_bytes(tmp_path / name))
    shown = {name: release.table.column(name).null_count for name in ("number", "text")}
    assert shown == {"number": 10, "text": 10}


@pytest.mark.parametrize("encoded", [True, False])
@pytest.mark.parametrize("csv_safe", [True, False])
def test_a_dropped_persons_value_is_in_no_dictionary(tmp_path, encoded, csv_safe):
    ages = [*([30] * 10), *([31] * 10), 99]
    note = pa.array([*["a", "=b"] * 10, WORD])
    table = pa.table({"age": ages, "note": note.dictionary_encode() if encoded else note})
    release = shoal.anonymize(
        table, qi=["age"], plain=["note"], k=5, max_suppressed="10%", method="mondrian",
        csv_safe=csv_safe, keep_order=True,
    )  # fmt: skip
    assert release.suppressed.records == 1
    assert not holds(buffers(release.table))
    release.write(tmp_path / "r.feather")
    assert not holds(file_bytes(tmp_path / "r.feather"))


def test_a_dictionary_is_in_the_order_of_its_values():
    table = pa.table({"a": pa.array(["c", "a", None, "b", "a"]).dictionary_encode()})
    again = rebuilt(table).column("a")
    assert again.combine_chunks().dictionary.to_pylist() == ["a", "b", "c"]
    assert again.to_pylist() == table.column("a").to_pylist()


@pytest.mark.parametrize(
    "values",
    [
        pa.array([None, True, False]),
        pa.array([None, 1, 2], pa.date32()),
        pa.array([None, 1.5, float("nan")]),
        pa.array([None, "x", ""], pa.large_string()),
        pa.array([None, 1, 2], pa.decimal128(5, 2)),
        pa.array([None, 5, 7], pa.timestamp("us", "UTC")),
        pa.nulls(3),
        pa.array([], pa.string()),
    ],
)
def test_rebuilding_changes_no_cell(values):
    table = pa.table({"a": values})
    again = rebuilt(table)
    assert again.schema == table.schema
    assert str(again.column("a").to_pylist()) == str(values.to_pylist())
