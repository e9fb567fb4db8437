"""No error shows a cell: names and labels that were declared, and else places and lengths."""

from __future__ import annotations

import traceback
from contextlib import ExitStack, suppress

import pyarrow as pa
import pytest

import shoal as shoal_module
from command import shoal
from shoal.errors import InputError, PolicyError, ShoalError, no_column, twice, unknown
from shoal.hierarchy import Hierarchy
from shoal.io.read import read_table
from shoal.recipient import query

PEOPLE = "name,age,occupation\n" + "".join(f"Nils X{i},{20 + i},baker{i}\n" for i in range(6))
SECRETS = ("Nils", "baker", "Stone")


def chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def refused(call, *expected: str) -> ShoalError:
    """The error of a call, which shows none of the secrets, nor does what caused it."""
    with pytest.raises(ShoalError) as caught:
        call()
    text = "".join(traceback.format_exception_only(caught.type, caught.value))
    assert all(part in text for part in expected), text
    assert len(str(caught.value).splitlines()) == 1
    for link in chain(caught.value):
        assert not any(secret in f"{link} {link.args}" for secret in SECRETS), link
    assert len(chain(caught.value)) == 1
    return caught.value


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    return path


def test_a_table_given_as_a_hierarchy_shows_no_row(people, tmp_path):
    done = shoal(
        "anonymize", people, "-o", tmp_path / "r.csv", "--qi", "age", "-k", "2",
        "--hierarchy", f"age={people}", "--rest", "plain",
    )  # fmt: skip
    assert done.code == 2
    assert "two roots" in done.err
    assert "line 2, column 3: a text of 6 characters" in done.err
    assert not any(secret in done.err for secret in SECRETS)


@pytest.mark.parametrize(
    "rows",
    [
        "Nils;baker;*\nNils;Stone;*\n",
        "Nils;baker;Stone;*\nNina;baker;Nils;*\n",
        "Nils;*\nNina;Stone\n",
        "Nils;baker;*\nbaker;Stone;*\n",
    ],
)
def test_a_file_that_is_no_tree_is_told_by_its_lines(tmp_path, rows):
    path = tmp_path / "h.csv"
    path.write_text(rows)
    refused(lambda: Hierarchy.from_arx_csv(path))


def test_the_policys_own_labels_are_shown():
    with pytest.raises(ShoalError, match="'north'"):
        Hierarchy.from_tree({"a": {"north": ["x"]}, "b": {"north": ["y"]}})


def test_a_file_without_a_header_shows_no_record(tmp_path):
    path = tmp_path / "bare.csv"
    path.write_text("Nils X. Stone,25,baker\nNina,30,baker\n")
    expected = ("no column 'age'", "3 columns", "lack its header line?")
    refused(lambda: shoal_module.anonymize(path, qi=["age"], k=2), *expected)
    refused(lambda: shoal_module.verify(path, qi=["age"], k=2), *expected)
    sql = "SELECT count(*) FROM t WHERE age = 3"
    refused(lambda: query(path, sql), *expected)
    done = shoal("hierarchy", "suggest", path, "--column", "age")
    assert done.code == 2
    assert not any(secret in done.err for secret in SECRETS)


def test_a_release_without_a_header_shows_no_record(tmp_path):
    """Found by the fuzzer: with a manifest beside it, the first record was listed as columns."""
    table = pa.table({"age": ["30"] * 6, "ill": ["baker1", "baker2", "baker3"] * 2})
    release = shoal_module.anonymize(table, qi="age", sensitive="ill", k=2, method="hilbert")
    path = release.write(tmp_path / "r.csv")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    refused(lambda: query(path, "SELECT count(*) FROM t WHERE age = 3"), "no column 'age'")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\u2028", "\x85"])
def test_line_breaks_in_names_stay_on_the_line(end):
    """Found by the fuzzer: a folder, a column or a file name may have one."""
    error = InputError(f"column 'a{end}b{end}' is not there")
    assert len(str(error).splitlines()) == 1
    assert repr(end)[1:-1] in str(error)


def test_a_header_is_told_as_far_as_it_was_declared():
    names = ["age", "Zip Code", "Nils"]
    told = no_column("zipcode", names, ["age", "zipcode"], "the table")
    assert told == (
        "the table has no column 'zipcode'; it has age, 'Zip Code', spelled so, 1 other"
    )


def test_columns_of_the_same_name_are_told_by_their_places(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Stone,25,Stone,Stone\n1,2,3,4\n")
    refused(lambda: read_table(path), "columns 1, 3 and 4 have the same", "header line?")
    refused(lambda: shoal_module.anonymize(pa.table([[1], [2]], ["Nils", "Nils"]), qi=["a"], k=2))
    assert twice(["a", "b"]) is None


@pytest.mark.parametrize("settings", [{"kind": {"q": "numeric"}}, {"order": {"q": ["a"]}}])
def test_values_of_a_quasi_identifier_are_told_by_record_and_length(settings):
    table = pa.table({"q": ["a", "a", "Nils"] if "order" in settings else ["1", "2", "Nils"]})
    call = lambda: shoal_module.anonymize(table, qi=["q"], k=2, **settings)  # noqa: E731
    refused(call, "a text of 4 characters, first in record 3")


@pytest.mark.parametrize(
    "spec",
    [
        {"groups": {"A": ["a"]}},
        {"tree": {"A": ["a"]}},
        {"intervals": {"widths": [5]}},
        {"dates": {"levels": ["year"]}},
    ],
)
def test_values_that_a_hierarchy_does_not_know_are_told_by_length(spec):
    table = pa.table({"q": ["Nils", "baker"]})
    call = lambda: shoal_module.anonymize(table, qi=["q"], k=2, hierarchy={"q": spec})  # noqa: E731
    refused(call, "texts of 4 and 5 characters")


def test_what_means_missing_is_shown():
    assert unknown(["NA", "Nils", "x"]) == "'NA', texts of 1 and 4 characters"
    assert unknown(["x"]) == "a text of 1 character"
    assert unknown([str(10**i) for i in range(8)]).endswith("4, 5 and more characters")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ragged.csv", "a,b\n1,2\nNils,baker,Stone\n"),
        ("bytes.csv", "a,b\n1,2\nNils,\udcff\n"),
        ("mixed.jsonl", '{"Nils": 1}\n{"Nils": "baker"}\n'),
        ("broken.jsonl", '{"Nils": 1}\n{"Nils": baker}\n'),
        ("t.parquet", "Nils"),
        ("t.arrow", "Nils"),
    ],
)
def test_a_broken_file_shows_nothing_of_itself_nor_of_what_its_reader_said(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text.encode(errors="surrogateescape"))
    refused(lambda: read_table(path))


def test_frames_and_policies_keep_no_cell_in_what_caused_their_errors():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, "Nils", object()]})
    error = refused(lambda: shoal_module.anonymize(frame, qi=["a"], k=2))
    assert isinstance(error, InputError)
    error = refused(lambda: shoal_module.Policy.parse(qi=["a"], order={"a": "Nils"}))
    assert isinstance(error, PolicyError)


def test_an_error_passes_through_a_stack_of_files() -> None:
    """`contextlib.ExitStack` sets the context of what passes through it."""
    with pytest.raises(InputError), ExitStack() as stack:
        stack.enter_context(suppress(KeyError))
        raise InputError("a line")
