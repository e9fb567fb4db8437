"""Lines of CSV, joined by what they share: the same bytes as cell after cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.io import csv_text, write
from shoal.io.write import csv_lines, write_table
from shoal.kernels.picking import narrow, picked

TEXTS = st.sampled_from(["", "a", "b", "a,b", 'say "x"', " c", "two\nlines", "é", "1;2", "d" * 40])
CELLS = st.one_of(st.none(), TEXTS)


@st.composite
def tables(draw):
    """Columns of few texts, some of them sorted as classes are, plain or in narrow places."""
    rows = draw(st.integers(0, 40))
    columns = {}
    for number in range(draw(st.integers(1, 5))):
        cells = draw(st.lists(CELLS, min_size=rows, max_size=rows))
        if draw(st.booleans()):
            cells.sort(key=str)
        column = pa.array(cells, pa.string())
        if draw(st.booleans()):
            column = column.dictionary_encode()
            kind = draw(st.sampled_from([pa.int8(), pa.int16(), pa.int32()]))
            column = column.cast(pa.dictionary(kind, pa.string()))
        columns[f"c{number}"] = column
    return pa.table(columns)


def escaped(cell: str | None, delimiter: str) -> str:
    """Slow twin of one cell: RFC 4180, quotes only where needed."""
    if cell is None:
        return ""
    telling = {'"', "\n", "\r", "\t", delimiter} | ({","} if delimiter in ",\t" else set())
    if cell and cell == cell.strip() and not telling & set(cell):
        return cell
    return '"' + cell.replace('"', '""') + '"'


def lines_of(table: pa.Table, delimiter: str) -> list[str]:
    """Slow twin: every line of all its cells."""
    return [
        delimiter.join(escaped(cell, delimiter) for cell in row.values())
        for row in table.to_pylist()
    ]


@settings(max_examples=150, deadline=None)
@given(
    table=tables(),
    delimiter=st.sampled_from([",", ";", "|"]),
    batch=st.sampled_from([1, 3, 1 << 16]),
    few=st.sampled_from([1, 30, 1 << 12]),
    alike=st.sampled_from([1, 2, 4]),
)
def test_lines_are_those_of_their_cells(table, delimiter, batch, few, alike):
    with pytest.MonkeyPatch.context() as patch:
        for room in (csv_text, write):
            patch.setattr(room, "BATCH_ROWS", batch)
        patch.setattr(csv_text, "PAIRS", few)
        patch.setattr(csv_text, "ALIKE", alike)
        lines = write.Lines(write._cells(table, delimiter), delimiter)
        found = b"".join(bytes(lines.batch(start)) for start in range(0, table.num_rows, batch))
        listed = [line.decode() for line in csv_lines(table)]
    assert found.decode() == "".join(f"{line}\n" for line in lines_of(table, delimiter))
    assert listed == lines_of(table, ",")


def test_long_texts_are_not_joined_ahead(tmp_path: Path):
    """All pairs of them would be far longer than the table."""
    long = [letter * 100_000 for letter in "abcdefghij"]
    table = pa.table({"one": long * 10, "two": long[::-1] * 10}).cast(
        pa.schema([(name, pa.string()) for name in ("one", "two")])
    )
    lines = write.Lines(write._cells(table, ","), ",")
    assert len(lines.parts) == 2
    write_table(table, tmp_path / "long.csv")
    expected = "one,two\n" + "".join(f"{line}\n" for line in lines_of(table, ","))
    assert (tmp_path / "long.csv").read_text("utf-8") == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-3, 2), max_size=50), st.sampled_from([1, 7, 1 << 15]))
def test_picked_is_what_numpy_picks(places, at_once):
    values = np.array([5, 6, 7])
    numbers = np.array(places, dtype=np.int8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.kernels.picking.AT_ONCE", at_once)
        assert picked(values, numbers).tolist() == values[numbers].tolist()
        assert picked(values, np.array([2, 0, 1], np.int8), numbers).tolist() == [
            [7, 5, 6][number] for number in places
        ]
        with pytest.raises(IndexError):
            picked(values, np.array([3], dtype=np.int8))


def test_places_are_as_narrow_as_their_values_allow():
    assert [narrow(n) for n in (0, 127, 128, 32_767, 32_768)] == [
        np.int8, np.int8, np.int16, np.int16, np.int32,
    ]  # fmt: skip
