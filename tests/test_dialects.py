"""A delimiter and a decimal mark that somebody gives: they win over what a file tells."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from command import shoal as run
from shoal.encoding.noting import notation_of
from shoal.errors import InputError, PolicyError
from shoal.io.header import column_names
from shoal.io.read import read_table
from shoal.policy import Policy

JOBS = ["cook", "nurse", "clerk"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(name, delimiter, header=("age", "pay", "job"), records=120):
    """Pay is in thousands, with three decimals: no value tells what its comma is."""
    with Path(name).open("w", encoding="utf-8", newline="") as file:
        to = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        to.writerow(header)
        for n in range(records):
            to.writerow([20 + n % 40, f"{1 + n % 9},{100 + 7 * n % 900:03d}", JOBS[n % 3]])
    return name


ASKED = ["--qi", "age,pay", "--sensitive", "job", "-k", "4", "--seed", "1"]


@pytest.mark.parametrize("engine", ["memory", "duckdb", pytest.param("spark", marks=[
    pytest.mark.xdist_group("spark"), pytest.mark.heavy])])  # fmt: skip
def test_a_delimiter_that_is_given_wins_and_is_kept(here, engine):
    # The header has more semicolons than commas: they belong to the names.
    header = ("age", "pay; in; thousands;", "job")
    lines = [",".join(header), *(f"{20 + n % 40},{n % 9},{JOBS[n % 3]}" for n in range(120))]
    Path("in.csv").write_text("\n".join(lines) + "\n", "utf-8")
    assert read_table("in.csv", delimiter=",").column_names == list(header)
    assert column_names(Path("in.csv"), delimiter=",") == list(header)
    with pytest.raises(InputError, match="expected"):
        read_table("in.csv")
    asked = [
        "--qi",
        "age",
        "--sensitive",
        "job",
        "-k",
        "4",
        "--rest",
        "drop",
        "--method",
        "hilbert",
    ]
    given = ["--delimiter", ",", "--engine", engine]
    done = run("anonymize", "in.csv", "-o", "out.csv", *asked, *given)
    assert done.code == 0, done.err
    assert Path("out.csv").read_text("utf-8").startswith("age,job\n")
    assert run("verify", "out.csv").code == 0


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize(("mark", "kept"), [("|", "|"), (";", ";"), ("~", ","), ("tab", ",")])
def test_any_mark_is_read_and_kept_where_it_is_recognised_later(here, mark, kept, engine):
    written("in.csv", {"tab": "\t"}.get(mark, mark))
    done = run("anonymize", "in.csv", "-o", "out.csv", *ASKED, "--delimiter", mark,
               "--engine", engine, "--method", "hilbert")  # fmt: skip
    assert done.code == 0, done.err
    assert Path("out.csv").read_text("utf-8").splitlines()[0] == kept.join(["age", "pay", "job"])
    assert run("verify", "out.csv").code == 0


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_decimal_mark_is_that_of_all_columns_without_a_notation(here, engine):
    written("in.csv", ";")
    kinds = {}
    for given in (None, ",", "."):
        more = {} if given is None else {"decimal": given}
        release = shoal.anonymize(
            Path("in.csv"), qi=["age", "pay"], sensitive="job", k=4, seed=1, engine=engine, **more
        )
        kinds[given] = (release.kinds["pay"], release.policy.notation.get("pay"))
        assert release.verify().ok
        out = release.write(
            here / f"out{given == ','}{'.csv' if engine == 'memory' else '.parquet'}"
        )
        assert shoal.verify(out).ok
    assert kinds == {
        None: ("categorical", None), ",": ("numeric", "comma"), ".": ("categorical", None),
    }  # fmt: skip


def test_what_a_column_says_of_itself_wins():
    texts = pa.array(["1,5", "2,25"])
    assert notation_of(texts) == notation_of(texts, ",") == "comma"
    assert notation_of(texts, ".") is None
    assert notation_of(pa.array(["1.234", "2,500"]), ",") == "comma"
    assert notation_of(pa.array(["12", "13"]), ",") is None  # whole numbers need none
    assert notation_of(pa.array(["21.06.1936"]), ",") == "dd.mm.yyyy"
    assert notation_of(pa.array(["3.5"]), ",") is None  # a decimal point all the same
    table = pa.table({"pay": [f"{n},{n}50" for n in range(1, 9)] * 3})
    own = shoal.anonymize(table, qi="pay", k=3, decimal=".", notation={"pay": "comma"})
    assert own.kinds == {"pay": "numeric"}


def test_inspection_and_policy_take_and_hand_on_both(here):
    written("in.csv", ";")
    marks = ["--delimiter", ";", "--decimal", ","]
    shown = run("inspect", "in.csv", *marks)
    assert shown.code == 0, shown.err
    assert "--propose --delimiter ';' --decimal ," in shown.out
    assert "pay     numeric" in shown.out
    assert run("policy", "init", "in.csv", *marks, "-o", "p.toml").code == 0
    policy = Policy.load("p.toml")
    assert (policy.delimiter, policy.decimal) == (";", ",")
    done = run("anonymize", "in.csv", "-o", "out.csv", "--propose", *marks)
    assert done.code == 0, done.err
    kept = Policy.load("out.csv.policy.toml")
    assert (kept.delimiter, kept.decimal) == (";", ",")


def test_comparison_and_trees_take_both(here):
    """Nothing but the options tells how this file is to be read."""
    lines = Path(written("in.csv", "~")).read_text("utf-8").replace("nurse", "infirmière")
    Path("in.csv").write_bytes(lines.encode("cp1252"))
    given = ["--delimiter", "~", "--decimal", ",", "--encoding", "cp1252"]
    asked = ["--methods", "mondrian", "-k", "4", "--qi", "age,pay", "--queries", "20", "--json"]
    assert run("compare", "in.csv", *asked).code == 2
    told = run("compare", "in.csv", *asked, *given, "--seed", "1")
    assert told.code == 0, told.err
    plain = pa.table(
        {"age": [20 + n % 40 for n in range(120)],
         "pay": [1 + n % 9 + (100 + 7 * n % 900) / 1000 for n in range(120)]}
    )  # fmt: skip
    found = shoal.compare(plain, "mondrian", k=4, qi=["age", "pay"], queries=20, seed=1)
    assert json.loads(told.out)["rows"][0]["gcp"] == found.rows[0].gcp
    tree = run("hierarchy", "suggest", "in.csv", "--column", "job", *given)
    assert tree.code == 0, tree.err
    assert "infirmière" in tree.out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--delimiter", ";;"], "delimiter: expected one character"),
        (["--delimiter", '"'], "delimiter: expected one character"),
        (["--delimiter", "a"], "delimiter: expected one character"),
        (["--delimiter", "|"], "no '|' in its header, as --delimiter says, but ';'"),
        (["--decimal", "x"], "decimal: expected , or ."),
        (["--decimal", ",", "--delimiter", ","], "leave the delimiter out"),
    ],
)
def test_marks_that_cannot_be_are_one_line_with_advice(here, given, said):
    written("in.csv", ";")
    commands = (
        ["anonymize", "in.csv", "-o", "out.csv", *ASKED],
        ["inspect", "in.csv"],
        ["policy", "init", "in.csv"],
    )
    for command in commands:
        done = run(*command, *given)
        assert done.code == 2
        assert said in done.err, command
        assert len(done.err.splitlines()) == 1
    with pytest.raises((PolicyError, InputError)):
        shoal.inspect("in.csv", **{given[n][2:]: given[n + 1] for n in range(0, len(given), 2)})


def test_a_folder_is_read_with_the_mark_that_is_given(here):
    Path("data").mkdir()
    for name in ("a", "b"):
        written(f"data/{name}.csv", "~")
    for engine in ("memory", "duckdb"):
        release = shoal.anonymize(
            "data", qi="age", sensitive="job", rest="drop", k=4, delimiter="~", engine=engine
        )
        assert release.verify().ok


class TestRiskAndAttack:
    """Microdata, populations, originals and controls are read with the marks that are given."""

    MARKS = ("--delimiter", "#", "--decimal", ",", "--encoding", "latin-1")

    @pytest.fixture
    def files(self, here):
        header = ("age", "pay", "Fähigkeit")
        for name, records in {"p.csv": 120, "all.csv": 240}.items():
            path = Path(written(name, "#", header, records))
            path.write_text(path.read_text("utf-8"), "latin-1")
        return here

    def test_risk_of_microdata_with_weights_and_a_population(self, files):
        asked = ("risk", "p.csv", "--qi", "age,Fähigkeit", "--json")
        assert run(*asked).code == 2
        told = json.loads(run(*asked, *self.MARKS, "--weights", "pay").out)
        heads = sum(1 + n % 9 + (100 + 7 * n % 900) / 1000 for n in range(120))
        assert told["population"]["sampling_fraction"] == pytest.approx(120 / heads, abs=1e-9)
        counted = json.loads(run(*asked, *self.MARKS, "--population", "all.csv").out)
        assert counted["population"] == {"people": "counted", "sampling_fraction": 0.5}
        without = run("risk", "p.csv", "--qi", "age", *self.MARKS[:2], *self.MARKS[4:],
                      "--weights", "pay")  # fmt: skip
        assert without.code == 2 and "no number" in without.err

    def test_a_policy_says_it_too(self, files):
        Path("p.toml").write_text(
            'qi = ["age", "pay"]\nsensitive = ["Fähigkeit"]\nk = 4\nencoding = "latin-1"\n'
            'delimiter = "#"\ndecimal = ","\nmethod = "mondrian"\n',
            "utf-8",
        )
        assert run("risk", "p.csv", "--policy", "p.toml").code == 0
        run_of_it = run("attack", "run", "p.csv", "--policy", "p.toml", "--attacks", "linking")
        assert run_of_it.code in {0, 1} and "knows all" in run_of_it.out
        assert run("anonymize", "p.csv", "-o", "r.csv", "--policy", "p.toml").code == 0
        tried = run("attack", "r.csv", "--original", "p.csv", "--policy", "p.toml",
                    "--attacks", "linking", "--json")  # fmt: skip
        marked = run("attack", "r.csv", "--original", "p.csv", *self.MARKS,
                     "--attacks", "linking", "--json")  # fmt: skip
        assert json.loads(tried.out)["attacks"] == json.loads(marked.out)["attacks"]
        assert run("attack", "r.csv", "--original", "p.csv", "--attacks", "linking").code == 2
        assert run("risk", "r.csv", "--population", "all.csv", *self.MARKS).code == 0

    def test_attack_run_takes_them_as_options(self, files):
        Path("q.toml").write_text('qi = ["age", "pay"]\nrest = "drop"\nk = 4\n', "utf-8")
        asked = ("attack", "run", "p.csv", "--policy", "q.toml", "--attacks", "linking")
        assert run(*asked).code == 2
        assert "knows all" in run(*asked, *self.MARKS).out


def test_a_custodians_report_reads_the_original_as_the_release_was_made(here):
    lines = Path(written("in.csv", "~")).read_text("utf-8").replace("nurse", "infirmière")
    Path("in.csv").write_bytes(lines.encode("cp1252"))
    done = run("anonymize", "in.csv", "-o", "out.csv", *ASKED, "--method", "hilbert",
               "--delimiter", "~", "--decimal", ",", "--encoding", "cp1252")  # fmt: skip
    assert done.code == 0, done.err
    told = run("report", "out.csv", "--record", "out.csv.record.json", "--format", "md", "-o", "-")
    assert told.code == 0, told.err
    public = run("report", "out.csv", "--format", "md", "-o", "-")
    assert len(told.out) > len(public.out)  # it has what only the original tells
