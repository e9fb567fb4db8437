"""Round trips: files and frames give back what went in, and equal releases are equal files."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import string
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InputError
from shoal.io.read import read_table
from shoal.io.write import write_table

PEOPLE = {
    "name": [f"p{i}" for i in range(12)],
    "age": [20, 21, 22, 23, 40, 41, 42, 43, None, None, None, None],
    "city": ["Bonn", "Bonn", "Köln", "Köln"] * 3,
    "ill": ["flu", "cold", "ulcer", None] * 3,
    "visit": [dt.date(2024, 1, 1 + i) for i in range(12)],
}
SETTINGS: dict[str, Any] = {
    "identifier": "name", "qi": ["age", "city"], "sensitive": "ill", "plain": "visit", "k": 3,
}  # fmt: skip


def arrow() -> pa.Table:
    return pa.table(PEOPLE)


def frames() -> dict[str, Any]:
    """The same table as every kind of object that we promise to take."""
    table = arrow()
    return {
        "pyarrow": table,
        "pandas": pd.DataFrame(PEOPLE),
        "polars": pl.DataFrame(PEOPLE),
        "duckdb": duckdb.from_arrow(table),
    }


def records(data: Any) -> list[dict[str, Any]]:
    """Rows of any kind of frame as texts; missing values are None."""
    if isinstance(data, pd.DataFrame):
        data = pa.Table.from_pandas(data, preserve_index=False)
    elif not isinstance(data, pa.Table):
        data = pa.table(data)
    return [
        {name: None if value is None else str(value) for name, value in row.items()}
        for row in data.to_pylist()
    ]


# --- objects in memory ----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "polars", "duckdb"])
def test_same_kind_comes_back_with_equal_content(kind: str) -> None:
    data = frames()[kind]
    release = shoal.anonymize(data, **SETTINGS, rest="plain")
    assert isinstance(release.data, type(data))
    expected = shoal.anonymize(arrow(), **SETTINGS, rest="plain")
    assert release.verify().ok
    assert records(release.data) == records(expected.data)
    assert list(records(release.data)[0]) == ["age", "city", "ill", "visit"]


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "polars", "duckdb"])
def test_classes_are_of_the_same_kind(kind: str) -> None:
    data = frames()[kind]
    release = shoal.anonymize(data, **SETTINGS, rest="plain")
    assert isinstance(release.classes, type(data))
    classes = records(release.classes)
    assert sum(int(row["records"]) for row in classes) == 12
    assert all(int(row["records"]) >= 3 for row in classes)
    assert len(classes) == release.verification.classes
    assert len({(row["age"], row["city"]) for row in classes}) == len(classes)


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "polars", "duckdb"])
def test_input_stays_as_it_is(kind: str) -> None:
    data = frames()[kind]
    before = records(data)
    shoal.anonymize(data, **SETTINGS, rest="plain")
    assert records(data) == before


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "polars", "duckdb"])
def test_verify_takes_every_kind(kind: str) -> None:
    release = shoal.anonymize(frames()[kind], **SETTINGS, rest="plain")
    assert shoal.verify(release.data, qi=["age", "city"], k=3).ok
    assert not shoal.verify(release.data, qi=["age", "city"], k=12).ok


def test_frames_with_other_indexes_and_types() -> None:
    frame = pd.DataFrame(PEOPLE, index=range(100, 112))
    expected = records(shoal.anonymize(arrow(), **SETTINGS, rest="plain").data)
    variants = [
        frame,
        frame.astype({"city": "category", "ill": "category"}),
        frame.astype({"city": "string", "ill": "string", "age": "Int64"}),
        frame.convert_dtypes(dtype_backend="pyarrow"),
        pl.DataFrame(PEOPLE).with_columns(pl.col("city", "ill").cast(pl.Categorical)),
        pl.DataFrame(PEOPLE).with_columns(pl.col("city").cast(pl.Enum(["Bonn", "Köln"]))),
        arrow().set_column(2, "city", arrow()["city"].dictionary_encode()),
        arrow().set_column(2, "city", arrow()["city"].cast(pa.large_string())),
        arrow().set_column(2, "city", arrow()["city"].cast(pa.binary())),
        arrow().to_reader(max_chunksize=5),
        pa.concat_tables([arrow().slice(0, 5), arrow().slice(5)]),
    ]
    for data in variants:
        assert records(shoal.anonymize(data, **SETTINGS, rest="plain").data) == expected


def test_release_in_words() -> None:
    release = shoal.anonymize(arrow(), **SETTINGS, rest="plain")
    head, *checks = repr(release).splitlines()
    assert "12 records" in head
    assert "loss 0." in head
    assert checks == ["  k = 3: holds, reached 3"]
    page = release._repr_html_()
    assert page.startswith("<div>")
    assert page.endswith("</div>")
    assert "12 records" in page
    assert page.count("<tr>") == 1 + 1 + 8  # the panel, the header, the first rows


def test_html_is_escaped() -> None:
    table = pa.table({"a<b": ["<script>"] * 4, "age": [1, 2, 3, 4]})
    page = shoal.anonymize(table, qi="age", plain="a<b", k=2, rest="plain")._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "a&lt;b" in page


TYPES: dict[str, list[Any]] = {
    "bool": [True, False],
    "float": [1.5, 2.25],
    "decimal": [Decimal("1.10"), Decimal("2.20")],
    "date": [dt.date(2020, 1, 1), dt.date(2020, 1, 2)],
    "time": [dt.time(1, 2), dt.time(3, 4)],
    "timestamp": [dt.datetime(2020, 1, 1, 3), dt.datetime(2020, 1, 2)],
    "bytes": [b"a", b"b"],
}
ARROW_TYPES = {
    "ns": pa.timestamp("ns"),
    "zone": pa.timestamp("us", "Europe/Berlin"),
    "float16": pa.float16(),
    "uint64": pa.uint64(),
    "null": pa.null(),
    "string_view": pa.string_view(),
    "binary_view": pa.binary_view(),
    "fixed": pa.binary(1),
    "decimal256": pa.decimal256(50, 2),
}


def typed(name: str) -> pa.Array:
    if name in TYPES:
        return pa.array(TYPES[name] * 4)
    kind = ARROW_TYPES[name]
    source = {"ns": "timestamp", "zone": "timestamp", "float16": "float", "decimal256": "decimal"}
    if name in source:
        return pa.array(TYPES[source[name]] * 4, kind)
    if name == "uint64":
        return pa.array([2**64 - 1, 1] * 4, kind)
    if name == "null":
        return pa.nulls(8)
    return pa.array(["a", "b"] * 4, pa.string()).cast(pa.binary()).cast(kind)


@pytest.mark.parametrize("role", ["qi", "sensitive", "plain"])
@pytest.mark.parametrize("name", [*TYPES, *ARROW_TYPES])
def test_columns_of_every_type(tmp_path: Path, name: str, role: str) -> None:
    """Whatever the type and the role, what is written verifies from the file alone."""
    table = pa.table({"age": list(range(8)), "x": typed(name)})
    roles = {"qi": ["age", "x"]} if role == "qi" else {"qi": ["age"], role: ["x"]}
    model: dict[str, Any] = {"l": 2} if role == "sensitive" and name != "null" else {}
    for layout in ("cells", "bounds"):
        release = shoal.anonymize(table, **roles, k=4, layout=layout, **model, rest="plain")
        for ending in ("csv", "parquet", "feather", "jsonl"):
            path = release.write(tmp_path / f"out.{ending}")
            assert shoal.verify(path).ok


def test_extension_types() -> None:
    texts = pa.array(["1", "2"] * 4)
    wrapped = pa.ExtensionArray.from_storage(pa.json_(), texts)
    ends = pa.RunEndEncodedArray.from_arrays([4, 8], ["1", "2"])
    for column in (wrapped, ends):
        release = shoal.anonymize(pa.table({"x": column}), qi="x", k=4, rest="plain")
        assert release.verification.classes == 2


# --- files ----------------------------------------------------------------------------

FORMATS = ["a.csv", "a.csv.gz", "a.parquet", "a.feather", "a.jsonl", "a.jsonl.gz"]


@pytest.mark.parametrize("name", FORMATS)
def test_written_release_reads_back_equal(tmp_path: Path, name: str) -> None:
    release = shoal.anonymize(arrow(), **SETTINGS, rest="plain")
    path = release.write(tmp_path / name)
    assert records(read_table(path)) == records(release.data)
    manifest = json.loads((tmp_path / f"{name}.manifest.json").read_text(encoding="utf-8"))
    assert manifest["release"]["file"] == name


@pytest.mark.parametrize("name", FORMATS)
def test_equal_releases_are_equal_files(tmp_path: Path, name: str) -> None:
    """No time, no name, no random part in a release; its manifest names the run that wrote it."""
    manifests = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        shoal.anonymize(arrow(), **SETTINGS, rest="plain").write(tmp_path / folder / name)
        text = (tmp_path / folder / f"{name}.manifest.json").read_text(encoding="utf-8")
        manifests.append(json.loads(text))
    assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert manifests[0].pop("generation") != manifests[1].pop("generation")
    assert manifests[0] == manifests[1]


def test_release_that_was_tampered_with_is_not_written(tmp_path: Path) -> None:
    """A release object is checked again when it is written."""
    import dataclasses

    release = shoal.anonymize(arrow(), **SETTINGS, rest="plain")
    broken = dataclasses.replace(release, table=release.table.slice(0, 1))
    with pytest.raises(shoal.errors.VerificationError):
        broken.write(tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


NASTY = st.text(
    st.sampled_from(
        [*string.ascii_letters[:4], *"0 ,;\t\"'\n\r|\\*[]{}éß語🐟\u00a0\u2028\ufeff\x1f"]
    ),
    min_size=1,
    max_size=6,
)
CELLS = st.one_of(st.none(), NASTY)
KEPT = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@KEPT
@given(rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8), packed=st.booleans())
@example(rows=[("a\n", None), (None, '"'), ("\ufeff", " ")], packed=False)
def test_csv_gives_back_the_same_texts(
    tmp_path: Path, rows: list[tuple[str | None, str | None]], packed: bool
) -> None:
    table = pa.table(
        [pa.array(column, pa.string()) for column in zip(*rows, strict=True)], ["a", "b"]
    )
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    write_table(table, path)
    assert read_table(path).to_pylist() == table.to_pylist()


@KEPT
@given(cells=st.lists(CELLS, min_size=1, max_size=8))
@example(cells=[None, "a", None])
def test_csv_of_one_column(tmp_path: Path, cells: list[str | None]) -> None:
    """A missing value alone on its line is an empty line, and still a record."""
    table = pa.table({"a": pa.array(cells, pa.string())})
    path = tmp_path / "t.csv"
    write_table(table, path)
    assert read_table(path).to_pylist() == table.to_pylist()


NAMES = NASTY.filter(lambda text: text.strip() and "\ufeff" not in text)  # that marks UTF-8


@KEPT
@given(
    names=st.lists(
        NAMES.filter(lambda text: not set(text) & set(";\t|")), min_size=1, max_size=4, unique=True
    )
)
def test_csv_gives_back_the_same_names(tmp_path: Path, names: list[str]) -> None:
    table = pa.table([pa.array(["x", "y"]) for _ in names], names)
    path = tmp_path / "t.csv"
    write_table(table, path)
    assert read_table(path).column_names == names


@KEPT
@given(names=st.lists(NAMES, min_size=1, max_size=4, unique=True))
@example(names=["a;b;c", "d"])
@example(names=["a|b"])
def test_csv_gives_back_names_that_look_like_another_dialect(
    tmp_path: Path, names: list[str]
) -> None:
    table = pa.table([pa.array(["x", "y"]) for _ in names], names)
    path = tmp_path / "t.csv"
    write_table(table, path)
    assert read_table(path).column_names == names


@KEPT
@given(rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8))
@example(rows=[("2020-01-01", "12:00"), ("2021-01-01 00:00:00", None)])
def test_json_lines_give_back_the_same_texts(
    tmp_path: Path, rows: list[tuple[str | None, str | None]]
) -> None:
    table = pa.table(
        [pa.array(column, pa.string()) for column in zip(*rows, strict=True)], ["a", "b"]
    )
    path = tmp_path / "t.jsonl"
    write_table(table, path)
    assert read_table(path).to_pylist() == table.to_pylist()


def test_csv_is_readable_by_others(tmp_path: Path) -> None:
    cells = ['a"b', "c,d", "e\nf", " g ", "h"]
    path = tmp_path / "t.csv"
    write_table(pa.table({"x": cells, "y": cells}), path)
    assert pd.read_csv(path)["x"].tolist() == cells
    assert pl.read_csv(path)["x"].to_list() == cells


def test_texts_of_numbers_stay_as_they_were(tmp_path: Path) -> None:
    """A release publishes an unchanged value exactly as it was written."""
    lines = ["007", "1.50", "+3", "1e3", "0x1F", "TRUE", "2024-1-5"]
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{line},1\n" for line in lines), encoding="utf-8")
    release = shoal.anonymize(path, qi="y", k=2, rest="plain")
    release.write(tmp_path / "out.csv")
    written = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert sorted(line.split(",")[0] for line in written) == sorted(lines)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_dialects(tmp_path: Path, delimiter: str, newline: str) -> None:
    path = tmp_path / "t.csv"
    rows = [["a", '"b,c;d"'], ["1", '"x;y,z"'], ["", "2"]]
    text = newline.join(delimiter.join(row) for row in rows)
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    table = read_table(path)
    assert table.column_names == ["a", "b,c;d"]
    assert table.to_pylist() == [{"a": "1", "b,c;d": "x;y,z"}, {"a": None, "b,c;d": "2"}]


def test_json_lines_without_some_names(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n\n{"b": "x", "a": 2}\n', encoding="utf-8")
    assert read_table(path).to_pylist() == [{"a": 1, "b": None}, {"a": 2, "b": "x"}]


def test_gzip_holds_neither_time_nor_name(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    write_table(arrow(), path)
    packed = path.read_bytes()
    assert packed[3] == 0, "no name"
    assert packed[4:8] == b"\0\0\0\0", "no time"
    assert gzip.decompress(packed).startswith(b"name,age,city,ill,visit\n")


def test_unknown_ending() -> None:
    with pytest.raises(InputError, match=r"\.parquet"):
        shoal.anonymize(arrow(), **SETTINGS, rest="plain").write("out.docx")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_column_name_that_is_not_utf_8_is_an_error_in_one_line(
    tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"odd.{ending}"
    write_table(pa.table({"wardwardward": [1, 2, 3]}), path)
    path.write_bytes(path.read_bytes().replace(b"wardwardward", b"w\xecrdwardward"))
    with pytest.raises(InputError, match=r"a column name is not UTF-8|not a readable"):
        read_table(path)
