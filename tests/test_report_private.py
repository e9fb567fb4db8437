"""What a report must not tell, not be made of, and not be written over."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pytest

import shoal
from command import shoal as command
from shoal.errors import InputError, PolicyError
from shoal.policy import Policy
from shoal.report import report, write_report
from shoal.report.changes import _enough

pytestmark = pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")


def grades() -> pa.Table:
    return pa.table(
        {
            "grade": ["low"] * 4 + ["high"] * 4 + ["alpha"] * 4,
            "age": [1, 2] * 6,
            "ill": [*"abc"] * 4,
        }
    )


ORDER = ["low", "HIDDENMID", "high", "HIDDENLATE", "alpha"]
TREE = {"tree": {"north": ["oslo", "HIDDENLEAF", "bergen"], "south": ["rome", "bari"]}}


def texts(made: Any) -> list[str]:
    return [made.to_markdown(), made.to_html(), json.dumps(made.to_dict())]


@pytest.mark.parametrize("what", ["order", "tree", "prefixes"])
def test_no_value_that_is_not_published_is_in_the_public_report(what: str, tmp_path: Path) -> None:
    """Of a release in memory as of one in files: orders and trees are the custodian's."""
    zips = [f"902{n}" for n in (10, 11, 12, 33, 44, 55)] + [f"1000{n}" for n in range(1, 7)]
    table, settings, hidden = {
        "order": (grades(), {"qi": ["grade"], "order": {"grade": ORDER}}, ORDER[1::2]),
        "tree": (
            pa.table({"city": ["oslo", "bergen", "rome", "bari"] * 3, "ill": [*"abc"] * 4}),
            {"qi": ["city"], "hierarchy": {"city": TREE}},
            ["HIDDENLEAF"],
        ),
        "prefixes": (
            pa.table({"zip": zips, "ill": [*"abc"] * 4}),
            {"qi": ["zip"], "kind": {"zip": "categorical"},
             "hierarchy": {"zip": {"prefixes": {"keep": [3]}}}},
            zips,
        ),
    }[what]  # fmt: skip
    release = shoal.anonymize(table, **settings, sensitive="ill", k=6, rest="drop")
    shown = {str(cell) for cell in release.table.column(settings["qi"][0]).to_pylist()}
    assert not shown & set(hidden)
    release.write(tmp_path / "r.csv")
    policy = Policy.parse(**settings, sensitive=["ill"], k=6)
    for made in (release.report(), report(tmp_path / "r.csv")):
        assert made.audience == "public"
        assert not [value for value in hidden for text in texts(made) if value in text]
    (tmp_path / "r.csv.manifest.json").unlink()
    assert report(tmp_path / "r.csv", policy=policy).audience == "custodian"


def test_the_custodians_report_of_files_reads_orders(tmp_path: Path) -> None:
    """Before and after of an ordinal column are the same from files and in memory."""
    pcsv.write_csv(grades(), tmp_path / "people.csv")
    roles = {
        "qi": ["grade", "age"],
        "sensitive": "ill",
        "order": {"grade": ["low", "high", "alpha"]},
    }
    release = shoal.anonymize(tmp_path / "people.csv", **roles, k=6, seed=1)
    release.write(tmp_path / "r.csv")
    files = report(tmp_path / "r.csv", record=tmp_path / "r.csv.record.json").to_dict()
    memory = release.report(grades()).to_dict()
    assert files["changes"] == memory["changes"]
    assert files["pairs"] == memory["pairs"]
    before = {bar["label"]: bar["before"] for bar in files["changes"][0]["distribution"]}
    assert set(before) == {"low", "high", "alpha"}


def people(low: int = 20, rows: int = 60) -> pa.Table:
    draw = np.random.default_rng(low)
    return pa.table(
        {
            "age": draw.integers(low, low + 50, rows),
            "sex": draw.choice(["m", "f"], rows).tolist(),
            "ill": draw.choice([*"abcd"], rows).tolist(),
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pcsv.write_csv(people(), tmp_path / "people.csv")
    release = shoal.anonymize(
        tmp_path / "people.csv", qi=["age", "sex"], sensitive="ill", k=5, method="hilbert"
    )
    release.write(tmp_path / "r.csv")
    return tmp_path


@pytest.mark.parametrize(
    "table",
    [people(500), people(20, 10), pa.table({"foo": [1] * 60})],
    ids=["others", "too few", "other columns"],
)
def test_an_original_that_does_not_fit_is_refused(folder: Path, table: pa.Table) -> None:
    pcsv.write_csv(table, folder / "other.csv")
    with pytest.raises(InputError, match="original"):
        report(folder / "r.csv", original=folder / "other.csv")
    release = shoal.anonymize(people(), qi=["age", "sex"], sensitive="ill", k=5, method="hilbert")
    with pytest.raises(InputError, match="original"):
        release.report(table)
    assert report(folder / "r.csv", original=folder / "people.csv").audience == "custodian"


def test_a_report_replaces_none_of_its_files(folder: Path) -> None:
    record = folder / "r.csv.record.json"
    (folder / "linked.html").symlink_to(folder / "people.csv")
    names = ["r.csv", "r.csv.manifest.json", "r.csv.record.json", "people.csv", "linked.html"]
    before = {name: (folder / name).read_bytes() for name in names}
    for name in names:
        told = command(
            "report", folder / "r.csv", "--record", record, "--format", "json", "-o", folder / name
        )
        assert told.code == 2 and "choose another name" in told.err
    public = report(folder / "r.csv")
    for name in names:
        with pytest.raises(PolicyError, match="choose another name"):
            write_report(public, folder / name, "json")
    assert before == {name: (folder / name).read_bytes() for name in names}
    for _ in range(2):  # an earlier report is replaced
        assert write_report(public, folder / "r.json").is_file()


def test_an_empty_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("age,sex\n", "utf-8")
    told = command("report", tmp_path / "e.csv", "--format", "md", "-o", "-")
    assert told.code == 2 and "has no records" in told.err
    assert len(told.err.strip().splitlines()) == 1


def test_markdown_stays_text(tmp_path: Path) -> None:
    """No picture, link, code or heading from a column's name or the table [report]."""
    evil = "![p](http://evil/p.png)<script>1</script>"
    draw = np.random.default_rng(0)
    table = pa.table(
        {
            evil: draw.integers(20, 60, 40),
            'b`"><img src=x>': draw.choice(["[a](javascript:1)", "<b>x</b>", "y"], 40).tolist(),
            "s": draw.choice(["u", "v"], 40).tolist(),
        }
    )
    about = {
        "title": "T ![t](http://evil/t.png) `x` </title>",
        "purpose": "p ```` # H ![q](http://evil/q.png)",
        "expert": "# [x](javascript:6) ![e](http://evil/e.png)",
        "custodian": "c | d https://evil.example/ www.evil.example a@evil.example",
    }
    release = shoal.anonymize(table, qi=table.column_names[:2], sensitive="s", k=3, report=about)
    text = release.report(table).to_markdown()
    outside = re.sub(r"^(`{3,})\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    ours = re.sub(r"`shoal [A-Za-z -]+`", "", outside)
    plain = re.sub(r"\\.", "", ours)  # what is left has a meaning
    for meaning in ("](", "![", "<script", "<img", "https:/", "http:/", "www.", "@evil"):
        assert meaning not in plain
    assert "`" not in plain
    assert not [line for line in plain.splitlines() if re.match(r"-? ?# .*evil", line[1:])]


def test_a_hidden_count_is_not_what_the_total_lacks() -> None:
    draw = np.random.default_rng(3)
    for _ in range(300):
        counts = draw.integers(0, 12, draw.integers(1, 9)).tolist()
        least = int(draw.integers(0, 8))
        shown = _enough(counts, least)
        hidden = [was for was, told in zip(counts, shown, strict=True) if told is None]
        assert all(told in (None, was) for was, told in zip(counts, shown, strict=True))
        assert all(told is None or told == 0 or told >= least for told in shown)
        if hidden and any(told for told in shown):
            assert sum(hidden) >= least and len(hidden) > 1
        if least == 0:
            assert shown == counts


def test_small_counts_are_shown_when_asked_for_in_memory() -> None:
    table = people().set_column(1, "sex", pa.array(["m"] * 58 + ["x", "y"]))
    release = shoal.anonymize(table, qi=["age", "sex"], sensitive="ill", k=5, method="hilbert")
    hidden, shown = (
        [bar["before"] for bar in made.to_dict()["changes"][1]["distribution"]]
        for made in (release.report(table), release.report(table, show_small=True))
    )
    assert None in hidden and None not in shown
    assert hidden.count(None) > 1


def test_commands_are_code_and_backticks_of_names_are_not(tmp_path: Path) -> None:
    """Our own words for a shell look like it in every format, whatever a column is called."""
    draw = np.random.default_rng(0)
    name = "w`e`ird"
    table = pa.table({name: draw.integers(0, 9, 40), "s": draw.choice(["u", "v"], 40).tolist()})
    release = shoal.anonymize(table, qi=name, sensitive="s", k=4, method="hilbert", seed=1)
    release.write(tmp_path / "o`ne.csv")
    for made in (release.report(table), report(tmp_path / "o`ne.csv")):
        page, text = made.to_html(), made.to_markdown()
        assert "<code>shoal join-check</code>" in page and "`shoal join-check` before" in text
        assert "<code>e</code>" not in page and name in page
        assert r"w\`e\`ird" in text
        assert not re.search("[\x00-\x08]", page + text)
    pcsv.write_csv(table, tmp_path / "people.csv")
    made = report(tmp_path / "o`ne.csv", original=tmp_path / "people.csv")
    assert "``` shoal attack o`ne.csv" not in made.to_markdown()
    assert "`` shoal attack o`ne.csv --original FILE --control FILE ``" in made.to_markdown()
    assert "<code>shoal attack o`ne.csv --original FILE" in made.to_html()
