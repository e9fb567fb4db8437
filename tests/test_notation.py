"""The world's tables: dates, decimals, delimiters and encodings as people write them."""

from __future__ import annotations

import json
import random
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from command import shoal as command
from shoal.encoding.noting import AMBIGUOUS, notation_of
from shoal.errors import InputError, PolicyError
from shoal.io.read import read_table
from shoal.io.write import write_table
from shoal.notation import DATES, NOTATIONS, plain, written
from shoal.policy import Policy
from shoal.released.cells import Reading, infer_reading
from shoal.released.lines import line_of

DAYS = st.dates(min_value=date(1000, 1, 1))


@given(DAYS, st.sampled_from(DATES))
def test_dates_go_into_a_notation_and_back(day, notation):
    text = written(day.isoformat(), notation)
    assert len(text) == 10
    assert plain(text, notation) == day.isoformat()


@given(st.integers(-(10**9), 10**9), st.integers(0, 999))
def test_decimals_go_into_a_notation_and_back(whole, digits):
    text = f"{whole}.{digits:03d}"
    assert plain(written(text, "comma"), "comma") == text


@pytest.mark.parametrize(
    "text", ["31.06.1936", "1.1.36", "21.06.1936 ", "21/06/1936", "1936-06-21", "١.١.١٩٣٦", ""]
)
def test_what_is_no_such_date(text):
    assert plain(text, "dd.mm.yyyy") is None


@pytest.mark.parametrize(
    ("texts", "notation"),
    [
        (["21.06.1936", "3.2.1940"], "dd.mm.yyyy"),
        (["01.02.1936"], "dd.mm.yyyy"),  # dots stand between day, month and year only
        (["06/21/1936", "01/02/1940"], "mm/dd/yyyy"),
        (["21/06/1936", "01/02/1940"], "dd/mm/yyyy"),
        (["21-06-1936"], "dd-mm-yyyy"),
        (["1936/06/21"], "yyyy/mm/dd"),
        (["01/02/1936", "03/04/1940"], AMBIGUOUS),
        (["21/06/1936", "06/21/1936"], None),
        (["31.06.1936"], None),
        (["1936-06-21"], None),
        (["3,5", "12"], "comma"),
        (["12", "3,5"], "comma"),
        (["1.234,50", "2"], "comma"),
        (["1,234", "5,678"], None),  # thousands, or decimals: nobody knows
        (["3.5"], None),
        (["a,b", "c"], None),
        ([], None),
    ],
)
def test_a_column_tells_its_notation(texts, notation):
    assert notation_of(pa.array(texts, pa.string())) == notation


def people(n=240, seed=1):
    """Days of birth, heights and illnesses, plainly written."""
    draw = random.Random(seed)
    days = [date(1930, 1, 1) + timedelta(days=draw.randrange(20_000)) for _ in range(n)]
    return {
        "born": [day.isoformat() for day in days],
        "height": [f"{draw.uniform(1.5, 2):.2f}" for _ in range(n)],
        "ill": [draw.choice(["flu", "cold", "gout", "burn"]) for _ in range(n)],
    }


def noted(columns, **notations):
    return pa.table(
        {
            name: [written(text, notations.get(name)) for text in texts]
            for name, texts in columns.items()
        }
    )


ASKED = {"qi": ["born", "height"], "sensitive": "ill", "k": 5, "seed": 1, "method": "hilbert"}


@pytest.mark.parametrize("day", DATES)
def test_the_notation_changes_how_a_release_is_written_and_nothing_else(day):
    plainly = shoal.anonymize(noted(people()), **ASKED, keep_order=True)
    other = shoal.anonymize(
        noted(people(), born=day, height="comma"), **ASKED, keep_order=True,
        notation={"born": day},
    )  # fmt: skip
    assert other.verify().ok
    assert other.loss == plainly.loss
    assert other.kinds == plainly.kinds == {
        "born": "date", "height": "numeric", "ill": "categorical",
    }  # fmt: skip
    columns = (("born", day), ("height", "comma"))
    for name, notation in columns:
        expected = [_interval_in(text, notation) for text in plainly.table.column(name).to_pylist()]
        assert other.table.column(name).to_pylist() == expected


def _interval_in(text, notation):
    """A released text of plain values as another notation would have it."""
    if not text.startswith("["):
        return written(text, notation)
    ends = [written(end, notation) for end in text[1:-1].split(",")]
    if notation == "comma":
        ends = [f'"{end}"' if "," in end else end for end in ends]
    return f"[{','.join(ends)}]"


@pytest.mark.parametrize("more", [{}, {"layout": "bounds"}, {"round": {"born": "year"}}])
def test_a_written_release_is_verified_and_queried_as_the_plain_one(tmp_path, more):
    answers = []
    for notations in ({}, {"born": "mm/dd/yyyy", "height": "comma"}):
        release = shoal.anonymize(noted(people(), **notations), **ASKED, **more)
        file = release.write(tmp_path / "out.csv")
        assert shoal.verify(file).ok
        found = shoal.query(
            file, "SELECT count(*) FROM release WHERE born < '1950-01-01' AND height > 1.7"
        )
        answers.append((round(found.expected, 9), found.lower, found.upper))
    assert answers[0] == answers[1]


def test_sensitive_numbers_with_a_comma_are_measured(tmp_path):
    table = noted(people(), height="comma")
    settings = {"qi": ["born"], "sensitive": "height", "k": 4, "e": 0.2, "rest": "drop"}
    release = shoal.anonymize(table, **settings, method="hilbert")
    assert release.verify().ok
    assert release.policy.notation == {"height": "comma"}
    assert shoal.verify(release.write(tmp_path / "out.csv")).ok


def test_dates_that_can_be_read_in_two_ways_are_asked_for(tmp_path):
    table = pa.table({"born": [f"0{1 + i % 9}/0{1 + i % 7}/1950" for i in range(60)]})
    with pytest.raises(PolicyError, match=r"--notation born=dd/mm/yyyy or born=mm/dd/yyyy"):
        shoal.anonymize(table, qi="born", k=3)
    released = shoal.anonymize(table, qi="born", k=3, notation={"born": "mm/dd/yyyy"})
    assert released.kinds == {"born": "date"}
    assert shoal.anonymize(table, qi="born", k=3, kind={"born": "categorical"}).verify().ok
    with pytest.raises(PolicyError, match="give the manifest"):
        infer_reading(["[01/02/1950,03/04/1950]"], column="born")


def test_a_notation_that_does_not_fit_is_an_error_without_a_cell():
    table = pa.table({"born": ["21.06.1936", "secret"] * 10})
    with pytest.raises(InputError, match=r"dates as dd\.mm\.yyyy") as raised:
        shoal.anonymize(
            table, qi="born", k=2, kind={"born": "date"}, notation={"born": "dd.mm.yyyy"}
        )
    assert "secret" not in str(raised.value)
    with pytest.raises(PolicyError, match=r"did you mean 'dd\.mm\.yyyy'"):
        Policy.parse(qi="born", notation={"born": "dd.mm.yyy"})


@settings(max_examples=30, deadline=None)
@given(st.lists(DAYS, min_size=1, max_size=20), st.sampled_from(NOTATIONS[:3]))
def test_lines_compare_what_texts_mean(days, notation):
    texts = [written(day.isoformat(), notation) for day in days]
    reading = infer_reading(texts, notation, "born")
    line = line_of("born", reading, (), texts)
    assert [line.key(text) for text in texts] == [day.toordinal() for day in days]


def test_numbers_with_commas_are_exact():
    line = line_of("a", Reading("numeric", True, notation="comma"), (), ())
    assert line.key("0,1") == Fraction(1, 10)


@pytest.mark.parametrize("delimiter", [",", ";", "|"])
def test_a_release_keeps_the_delimiter_of_its_file(tmp_path, delimiter):
    columns = people(60)
    source = tmp_path / "in.csv"
    lines = [delimiter.join(columns), *map(delimiter.join, zip(*columns.values(), strict=True))]
    source.write_text("\n".join(lines) + "\n", "utf-8")
    file = shoal.anonymize(source, **ASKED).write(tmp_path / "out.csv")
    assert file.read_text("utf-8").splitlines()[0] == delimiter.join(columns)
    assert shoal.verify(file).ok
    assert read_table(file).column_names == list(columns)
    tabs = shoal.anonymize(source, **ASKED).write(tmp_path / "out.tsv")
    assert tabs.read_text("utf-8").splitlines()[0] == "\t".join(columns)


@given(st.lists(st.text(";,|\"'\n\t a", max_size=4), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_whatever_is_in_a_cell_is_read_back(tmp_path_factory, cells):
    folder = tmp_path_factory.mktemp("cells")
    table = pa.table({"a": cells, "b": ["x"] * len(cells)})
    for delimiter in ",;|":
        write_table(table, folder / "a.csv", delimiter=delimiter)
        back = read_table(folder / "a.csv", missing=()).column("a").to_pylist()
        assert back == cells


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "UTF-16LE"])
def test_an_encoding_that_is_named_is_read(tmp_path, encoding):
    text = "größe;ort\n1,80;Köln\n1,62;Zürich\n"
    source = tmp_path / "in.csv"
    source.write_bytes(text.encode(encoding))
    with pytest.raises(InputError, match=r"not UTF-8.*--encoding|no column|must differ|name"):
        read_table(source)
    assert read_table(source, encoding=encoding).to_pydict() == {
        "größe": ["1,80", "1,62"], "ort": ["Köln", "Zürich"],
    }  # fmt: skip


def test_an_encoding_that_is_wrong_or_unknown_is_one_line(tmp_path):
    source = tmp_path / "in.csv"
    source.write_bytes("a,b\nä,1\n".encode("latin-1"))
    for named, said in (("utf-16", "not utf-16"), ("klingon", "expected one such as"),
                        ("hex", "expected one such as")):  # fmt: skip
        result = command("inspect", source, "--encoding", named)
        assert result.code == 2
        assert said in result.err
        assert len(result.err.splitlines()) == 1


def test_a_german_file_from_the_shell(tmp_path):
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    columns = noted(people(), born="dd.mm.yyyy", height="comma").to_pydict()
    rows = map(";".join, zip(*columns.values(), strict=True))
    source.write_bytes("\n".join(["Geburtsdatum;Größe;Diagnose", *rows, ""]).encode("latin-1"))
    inspected = command("inspect", source, "--encoding", "latin-1")
    assert "dates as dd.mm.yyyy" in inspected.out
    assert "numbers with a decimal comma" in inspected.out
    assert "--encoding" in command("inspect", source).err
    done = command(
        "anonymize", source, "-o", out, "--encoding", "latin-1", "--qi", "Geburtsdatum,Größe",
        "--sensitive", "Diagnose", "-k", 5, "--method", "hilbert",
    )  # fmt: skip
    assert done.code == 0
    first = out.read_text("utf-8").splitlines()[1]
    assert first.count(";") == 2
    assert command("verify", out).code == 0
    asked = "SELECT count(*) FROM release WHERE Geburtsdatum < '01.01.1950'"
    assert command("query", out, asked).code == 0


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("Größe", "qi"), ("Körpergröße", "qi"), ("Familienstand", "qi"),
        ("Staatsangehörigkeit", "qi"),
        ("Beschäftigung", "qi"), ("date de naissance", "qi"), ("situation_familiale", "qi"),
        ("código postal", "qi"), ("ingresos", "sensitive"), ("data_di_nascita", "qi"),
        ("malattia", "sensitive"), ("geboortedatum", "qi"), ("inkomen", "sensitive"),
        ("data_nascimento", "qi"), ("doença", "sensitive"), ("Vermögen", "sensitive"),
    ],
)  # fmt: skip
def test_names_in_seven_languages(name, role):
    draw = random.Random(2)
    values = [str(draw.choice(["a1x", "b2y", "c3z", "d4w", "e5v"])) for _ in range(80)]
    assert shoal.inspect(pa.table({name: values})).columns[0].role == role


def test_numbers_that_are_codes_by_name_are_categories(tmp_path):
    """Regions are no amounts, unless somebody says that they are."""
    table = tmp_path / "people.csv"
    rows = [f"{20 + i % 40},{i % 9},{10_000 + 7 * i},flu\n" for i in range(80)]
    table.write_text("age,region,zip,disease\n" + "".join(rows), "utf-8")
    asked = ("anonymize", table, "--qi", "age,region,zip", "--rest", "drop", "-k", "4")
    for kinds, expected in (
        ((), {"age": "numeric", "region": "categorical", "zip": "categorical"}),
        (("--kind", "zip=numeric"), {"region": "categorical", "zip": "numeric"}),
        (("--round", "region=2"), {"region": "numeric", "zip": "categorical"}),
    ):
        out = tmp_path / f"{len(kinds)}.csv"
        said = command(*asked, *kinds, "--method", "mondrian", "-o", out)
        assert said.code == 0, said.err
        assert shoal.verify(out).ok
        manifest = json.loads(Path(f"{out}.manifest.json").read_text("utf-8"))
        assert expected.items() <= manifest["kinds"].items()
