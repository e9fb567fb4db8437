"""The report of a release: what it says, what it never says, in every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_report as naive
import shoal
from browser import axe_faults, need_browser, opened, pdf_text
from command import SECRET
from command import shoal as run
from shoal.errors import InputError, PolicyError, VerificationError
from shoal.policy import Policy
from shoal.released.about import About
from shoal.report import report, write_report
from shoal.report.changes import changes_of
from shoal.report.charts.treemap import tiles
from shoal.report.risks import THRESHOLDS, class_bins, risk_of
from shoal.report.wording import GLOSSARY, percent

ROWS = 60
FORMATS = ("html", "md", "json")


def people(rows: int = ROWS) -> pa.Table:
    """Ages, places, and secrets that begin like no other text."""
    draw = np.random.default_rng(7)
    return pa.table(
        {
            "name": [f"{SECRET}-name-{n}" for n in range(rows)],
            "age": [*draw.integers(20, 70, rows - 2).tolist(), 118, 119],
            "place": draw.choice(["Ulm", "Bonn", "Kiel"], rows).tolist(),
            "disease": [f"{SECRET}-disease-{n % 5}" for n in range(rows)],
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, its release, manifest and record."""
    place = tmp_path_factory.mktemp("report")
    import pyarrow.csv

    pyarrow.csv.write_csv(people(), place / "people.csv")
    release = shoal.anonymize(
        place / "people.csv", identifier="name", qi=["age", "place"], sensitive="disease",
        k=4, l=2, method="hilbert",
        report={"title": "A <b>small</b> release", "access": "public", "purpose": "tests"},
    )  # fmt: skip
    release.write(place / "release.csv")
    return place


@pytest.fixture(scope="module")
def both(folder: Path) -> dict[str, Any]:
    """The public report and the custodian's."""
    file = folder / "release.csv"
    return {
        "public": report(file),
        "custodian": report(file, record=folder / "release.csv.record.json"),
    }


def test_the_verdict_is_found_anew_not_copied(folder: Path, tmp_path: Path) -> None:
    """A manifest that claims what the file does not keep is no source of a verdict."""
    file = tmp_path / "release.csv"
    file.write_bytes((folder / "release.csv").read_bytes())
    claims = json.loads((folder / "release.csv.manifest.json").read_text("utf-8"))
    claims["policy"]["k"] = 50
    (tmp_path / "release.csv.manifest.json").write_text(json.dumps(claims), "utf-8")
    with pytest.raises(VerificationError):
        report(file)
    made = report(file, policy=None, manifest=folder / "release.csv.manifest.json")
    assert (made.verdict, made.ok) == ("holds", True)


def test_a_promise_that_fails_is_the_headline(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "release.csv"
    file.write_bytes((folder / "release.csv").read_bytes())
    asked = Policy.parse(qi=["age", "place"], sensitive=["disease"], k=50)
    asked.save(tmp_path / "policy.toml")
    made = report(file, policy=tmp_path / "policy.toml")
    assert made.verdict == "fails"
    assert "must not be published" in made.headline
    done = run("report", file, "--policy", tmp_path / "policy.toml", "-o", tmp_path / "r.html")
    assert done.code == 1


@pytest.mark.parametrize("audience", ["public", "custodian"])
def test_no_cell_of_a_person_is_in_any_format(both: dict[str, Any], audience: str) -> None:
    made = both[audience]
    assert made.audience == audience
    texts = [made.to_html(), made.to_markdown(), json.dumps(made.to_dict())]
    for text in texts:
        assert SECRET not in text


@pytest.mark.parametrize("audience", ["public", "custodian"])
def test_no_cell_of_a_person_is_printed(
    both: dict[str, Any], tmp_path: Path, audience: str
) -> None:
    """The PDF's text is taken out of it first: its bytes are compressed."""
    need_browser()
    target = write_report(both[audience], tmp_path / "r.pdf")
    assert target.read_bytes().startswith(b"%PDF")
    text = pdf_text(target)
    assert "Every promise holds" in text, "else nothing was searched"
    assert SECRET not in text
    assert SECRET.encode() not in target.read_bytes()


def test_titles_are_text_not_markup(both: dict[str, Any]) -> None:
    page = both["public"].to_html()
    assert "A &lt;b&gt;small&lt;/b&gt; release" in page
    assert "<b>small" not in page
    assert both["public"].to_markdown().startswith("# A &lt;b>small&lt;/b> release")


def test_the_public_report_needs_release_and_manifest_only(
    folder: Path, tmp_path: Path, both: dict[str, Any]
) -> None:
    for name in ("release.csv", "release.csv.manifest.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    assert report(tmp_path / "release.csv").to_dict() == both["public"].to_dict()


def test_the_custodian_sees_before_and_after(both: dict[str, Any]) -> None:
    facts = both["custodian"].to_dict()
    assert facts["risk"]["before"]["smallest_class"] < facts["risk"]["after"][0]["smallest_class"]
    assert facts["pairs"][0]["columns"] == ["age", "place"]
    assert "before" not in both["public"].to_dict()["risk"]


def test_the_custodian_sees_attacks_and_what_stood_out(both: dict[str, Any]) -> None:
    """Attacks with intervals, SUDA shares and the cost of k; none of it in public."""
    private, public = both["custodian"].to_dict(), both["public"].to_dict()
    tried = {one["attack"] for one in private["risk"]["attacks"]}
    assert {"linking", "inference"} <= tried
    for one in private["risk"]["attacks"]:
        low, high = one["main"]["wilson"]
        assert 0 <= low <= one["main"]["rate"] + 1e-6 <= high + 2e-6
    linked = next(one for one in private["risk"]["attacks"] if one["about"] == "knows all")
    assert linked["main"]["rate"] <= 1 / 4  # k = 4
    assert set(private["risk"]["special_uniques"]["columns"]) == {"age", "place"}
    assert "attacks" not in public["risk"]
    assert "special_uniques" not in public["risk"]
    page = both["custodian"].to_html()
    for title in ("Attacks tried", "What made records stand out", "What a weaker or stronger k"):
        assert title in page
        assert title not in both["public"].to_html()


def test_no_attack_is_tried_where_it_would_take_too_long(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shoal.report.sections import attackers

    monkeypatch.setattr(attackers, "MOST_RECORDS", 10)
    made = report(folder / "release.csv", record=folder / "release.csv.record.json")
    assert "attacks" not in made.to_dict()["risk"]
    assert "No attack was tried for this report" in made.to_markdown()


def test_treated_columns_and_the_search_are_told(tmp_path: Path) -> None:
    table = people().append_column("stay", pa.array(range(people().num_rows)))
    release = shoal.anonymize(
        table, identifier="name", qi=["age", "place"], sensitive="disease", plain="stay", k=4,
        effort="instant", treat={"stay": "top:90%, round:5"}, seed=1,
    )  # fmt: skip
    made = release.report(table)
    text = made.to_markdown()
    assert "stay: rounded to multiples of 5 and values above the 90% quantile" in text
    assert "Made coarser, and not counted among what an attacker knows: stay" in text
    assert "Published as they were" not in text
    assert made.verdict == "holds"
    assert len(release.searched) > 1
    assert "Loss while the method searched" in text


def test_small_counts_of_the_original_are_not_shown(folder: Path) -> None:
    file, record = folder / "release.csv", folder / "release.csv.record.json"
    for show in (False, True):
        facts = report(file, record=record, show_small=show).to_dict()
        before = [bar["before"] for change in facts["changes"] for bar in change["distribution"]]
        small = [count for count in before if count is not None and 0 < count < 4]
        assert bool(small) == show


def test_the_threshold_follows_from_who_receives_it(both: dict[str, Any]) -> None:
    scope = next(s for s in both["public"].sections if s.key == "scope")
    assert any("every class needs 20 records" in sentence for sentence in scope.answer)


@pytest.mark.parametrize("kind", FORMATS)
def test_it_is_written_by_the_ending(
    folder: Path, tmp_path: Path, both: dict[str, Any], kind: str
) -> None:
    target = write_report(both["custodian"], tmp_path / f"r.{kind}")
    assert target.stat().st_mode & 0o077 == 0, "the custodian's is for nobody else"
    assert target.stat().st_size < 1_000_000
    done = run("report", folder / "release.csv", "-o", tmp_path / f"p.{kind}")
    assert (done.code, done.err) == (0, "")
    assert "wrote" in done.out


def test_a_table_of_a_hundred_columns_fits_on_a_page() -> None:
    """At most 1 MB: the most changed columns are drawn, all of them are listed."""
    draw = np.random.default_rng(0)
    answers = [f"answer {n}" for n in range(14)]
    table = pa.table(
        {
            f"question_{n}": draw.integers(0, 90, 120) if n % 2 else draw.choice(answers, 120)
            for n in range(100)
        }
    )
    release = shoal.anonymize(table, qi=table.column_names, k=5, method="hilbert")
    for made in (release.report(), release.report(table)):
        page = made.to_html()
        assert len(page.encode()) < 600_000
        assert len(json.dumps(made.to_dict(), indent=2)) < 1_000_000
        assert "Pictures are of the 24 columns that were changed most; all 100" in page
        changes = next(section for section in made.sections if section.key == "changes")
        assert len(changes.blocks) == 25
        assert len(changes.blocks[0].table.rows) == 100
        assert len(made.to_dict()["changes"]) == 100
    assert made.to_dict()["risk"]["special_uniques"]["up_to"] == 2


def test_to_standard_output(folder: Path) -> None:
    done = run("report", folder / "release.csv", "--format", "json", "-o", "-")
    assert json.loads(done.out)["verdict"] == "holds"


def test_a_release_in_memory(both: dict[str, Any]) -> None:
    release = shoal.anonymize(
        people(), identifier="name", qi=["age", "place"], sensitive="disease", k=4,
        method="hilbert",
    )  # fmt: skip
    made = release.report()
    assert (made.verdict, made.audience) == ("holds", "public")
    assert release.report(people()).audience == "custodian"
    assert "<iframe" in made._repr_html_()


def test_what_a_release_without_a_manifest_can_say(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "lonely.csv"
    file.write_bytes((folder / "release.csv").read_bytes())
    done = run("report", file)
    assert done.code == 5
    assert "Nothing can be promised" in done.out
    assert (tmp_path / "lonely.csv.report.html").is_file()


def test_files_that_do_not_belong_together(folder: Path, tmp_path: Path) -> None:
    file = folder / "release.csv"
    other = tmp_path / "other.csv"
    other.write_text('age,place\n"[1,2]",Ulm\n', "utf-8")
    record = folder / "release.csv.record.json"
    with pytest.raises((InputError, VerificationError)):
        report(other, manifest=folder / "release.csv.manifest.json", record=record)
    with pytest.raises(VerificationError):
        report(other, manifest=folder / "release.csv.manifest.json")
    with pytest.raises(InputError, match="not the table of the record"):
        report(file, record=record, original=other)
    with pytest.raises(InputError, match="no such file"):
        report(tmp_path / "nothing.csv")
    with pytest.raises(PolicyError, match="ends in"):
        write_report(report(file), tmp_path / "report.doc")


def test_a_signed_report(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    key = tmp_path / "key.pem"
    file, page = folder / "release.csv", tmp_path / "report.html"
    assert run("sign", "--new-key", key).code == 0
    assert run("report", file, "-o", page).code == 0
    assert run("sign", file, "--key", key, "--report", page).code == 0
    public = tmp_path / "key.pub.pem"
    assert run("verify", file, "--key", public, "--report", page).code == 0
    page.write_text(page.read_text("utf-8").replace("holds", "fails", 1), "utf-8")
    done = run("verify", file, "--key", public, "--report", page)
    assert done.code == 1
    assert "one of them was changed" in done.out + done.err


def test_anonymize_writes_the_custodians_report(folder: Path, tmp_path: Path) -> None:
    done = run(
        "anonymize", folder / "people.csv", "-o", tmp_path / "r.csv", "--identifier", "name",
        "--qi", "age,place", "--sensitive", "disease", "-k", 4, "--method", "hilbert", "--report",
    )  # fmt: skip
    assert done.code == 0
    page = tmp_path / "r.csv.report.html"
    assert "for the custodian only" in page.read_text("utf-8")
    assert page.stat().st_mode & 0o077 == 0


def test_comparisons_as_a_page(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "compared.html"
    done = run(
        "compare", folder / "people.csv", "--methods", "hilbert,mondrian", "-k", "3,6",
        "--qi", "age,place", "--report", page,
    )  # fmt: skip
    assert done.code == 0
    text = page.read_text("utf-8")
    assert "loses least" in text
    assert text.count("<svg") == 1


# --- numbers against slow twins


@st.composite
def value_sets(draw: st.DrawFn) -> list[str]:
    member = st.sampled_from("abcdefgh")
    cell = st.one_of(
        member,
        st.lists(member, min_size=2, max_size=4, unique=True).map(
            lambda names: "{" + ",".join(sorted(names)) + "}"
        ),
    )
    return draw(st.lists(cell, min_size=1, max_size=30))


@settings(max_examples=60, deadline=None)
@given(value_sets())
def test_sets_are_shared_out_as_the_twin_does(cells: list[str]) -> None:
    about = About(Policy(qi=("x",), kind={"x": "categorical"}), None, ("x",))
    (change,), _ = changes_of(pa.table({"x": cells}), about, ("x",))
    expected = naive.expected_by_value(cells)
    assert {bar.label: pytest.approx(bar.after) for bar in change.distribution} == expected
    counted = naive.sorts(cells)
    assert (change.unchanged, change.generalised) == (counted["unchanged"], counted["generalised"])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(0, 20)).map(
            lambda ends: f"[{ends[0]},{ends[0] + ends[1]}]" if ends[1] else f"{ends[0]}"
        ),
        min_size=1,
        max_size=30,
    )
)
def test_intervals_are_shared_out_as_the_twin_does(cells: list[str]) -> None:
    about = About(Policy(qi=("x",), kind={"x": "numeric"}), None, ("x",))
    (change,), _ = changes_of(pa.table({"x": cells}), about, ("x",))
    assert sum(bar.after for bar in change.distribution) == pytest.approx(len(cells))
    for bar in change.distribution:
        ends = [int(end) for end in bar.label.split(" to ")]
        assert bar.after == pytest.approx(naive.expected_in(cells, ends[0], ends[-1]))


@given(st.lists(st.integers(1, 300), min_size=1, max_size=50))
def test_risk_counts_whole_records(sizes: list[int]) -> None:
    found = risk_of(np.array(sizes))
    for threshold, below in zip(THRESHOLDS, found.below, strict=True):
        assert below == sum(size for size in sizes if size < threshold.smallest_class)
    assert sum(records for _, _, records in class_bins(np.array(sizes))) == sum(sizes)


@given(st.lists(st.floats(0.001, 100), min_size=1, max_size=12))
def test_tiles_fill_the_map_in_proportion(values: list[float]) -> None:
    placed = tiles(values, 300, 200)
    for value, (left, top, width, height) in zip(values, placed, strict=True):
        assert width * height == pytest.approx(60_000 * value / sum(values), rel=1e-6)
        assert left >= -1e-6
        assert top >= -1e-6
        assert left + width <= 300 + 1e-6
        assert top + height <= 200 + 1e-6


def test_charts_name_their_parts_without_a_legend() -> None:
    """On the bars where there is room; the colours of parts that are thin everywhere in words."""
    from shoal.report.charts.release import cells
    from shoal.report.charts.theme import svg

    wide = [("unchanged", 0.1), ("generalised", 0.85), ("starred", 0.05)]
    drawn = svg(cells([("age", wide), ("place", [("unchanged", 1.0)])]), "bars")
    for text in ("generalised 85%", "unchanged 100%", "orange: starred"):
        assert f">{text}<" in drawn
    assert "role-legend" not in drawn
    thin = svg(cells([("age", [("unchanged", 1.0)])]), "bars")
    assert "orange" not in thin


def test_lines_and_an_example_are_labelled_where_they_are() -> None:
    from shoal.report.charts.example import example_class
    from shoal.report.charts.lines import lines
    from shoal.report.charts.theme import ACCENT, COLOURS, svg

    rows = [("one", 1, 0.5), ("one", 2, 0.4), ("two", 1, 0.9), ("two", 2, 0.3)]
    drawn = svg(lines(rows, "seconds", "loss", "Loss"), "lines")
    assert all(f">{text}<" in drawn for text in ("one", "two", "seconds"))
    assert "role-legend" not in drawn
    told = example_class(
        ("age", "place"), [("30", "Ulm")], [("[30,40]", "Ulm")], "t", "s"
    ).to_dict()
    colours = {
        row["text"]: row["colour"] for rows in told["layer"][1:] for row in rows["data"]["values"]
    }
    assert (colours["[30,40]"], colours["Ulm"]) == (COLOURS[1], ACCENT)


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0%"), (1, "100%"), (0.00001, "under 0.1%"), (0.99999, "over 99.9%")]
)
def test_what_is_not_nothing_is_never_shown_as_nothing(share: float, text: str) -> None:
    assert percent(share) == text


def test_every_special_word_is_explained(both: dict[str, Any]) -> None:
    page = both["custodian"].to_html()
    for word in GLOSSARY:
        assert f"<dt>{word}</dt>" in page


# --- in a real browser


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_browser(both: dict[str, Any], tmp_path: Path, width: int, dark: bool) -> None:
    need_browser()
    page_file = write_report(both["custodian"], tmp_path / "r.html")
    with opened(page_file, width, dark) as (page, asked):
        assert axe_faults(page) == []
        assert asked == [], "no request leaves the page"
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, "nothing is cut, nothing has to be scrolled to the side"
        for section in both["custodian"].sections:
            region = page.get_by_role("region", name=section.title, exact=True)
            assert region.count() == 1
            page.get_by_role("link", name=section.title, exact=True).click()
            assert region.is_visible()
