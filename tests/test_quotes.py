"""Numbers that README and docs quote are those of the benchmarks' results."""

from __future__ import annotations

import difflib
import re

import pytest
from benchmarks import quote

MEASURED = re.compile(r"\| \d*\.\d{3,}[ |]|\| \d\.\d+e[+-]\d+")
"""A table cell that somebody measured."""
BLOCKS = re.compile(r"<!-- (table|figures|earlier).*?<!-- end -->", re.DOTALL)


@pytest.mark.parametrize("page", quote.PAGES, ids=lambda page: page.name)
def test_what_is_marked_is_what_was_measured(page):
    """`python -m benchmarks.quote` brings the results in; words around them are yours to mend."""
    text = page.read_text("utf-8")
    wanted = quote.quoted(text)
    differ = difflib.unified_diff(text.splitlines(), wanted.splitlines(), lineterm="", n=0)
    assert text == wanted, "\n".join(differ)


BEFORE_AND_NOW = {"attacks.md"}
"""Its tables put what is beside what was, by reports of others; `attacks.json` has its runs."""
TABLES = [page for page in quote.PAGES if page.name not in BEFORE_AND_NOW]


@pytest.mark.parametrize("page", TABLES, ids=lambda page: page.name)
def test_tables_of_measurements_say_where_they_come_from(page):
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    unmarked = [
        line
        for line in BLOCKS.sub("", text).splitlines()
        if MEASURED.search(line) and "<!-- = " not in line
    ]
    assert unmarked == []
    if "<!-- earlier -->" in text:
        assert "earlier" in re.sub("<!--.*?-->", "", text)  # and readers are told


class TestMarks:
    @pytest.fixture(autouse=True)
    def some(self, monkeypatch):
        results = {
            "loss": {
                "by k": {
                    "head": ["data", "method", "k = 5"],
                    "form": ".4f",
                    "rows": [["Adult", "hilbert", 0.0349], ["Adult", "best", 0.0239]],
                }
            },
            "fig": {
                "Figure 2": {
                    "title": "t", "x": "k", "y": "GCP",
                    "lines": {"a": {"5": 0.25, "10": 0.5}, "b": {"5": 0.5, "10": 2.0}},
                }
            },
            "rows": {"rows": [{"data": "Adult", "loss": 1234.5}, {"data": "ACS", "loss": 2}]},
        }  # fmt: skip
        monkeypatch.setattr(quote, "results", results.__getitem__)

    @pytest.mark.parametrize(
        ("mark", "number"),
        [
            ("0.0000<!-- = loss/by k/Adult & hilbert/k = 5 -->", "0.0349"),
            ("7%<!-- = loss/by k/Adult & best/k = 5 / loss/by k/Adult & hilbert/k = 5 -->", "68%"),
            ("9<!-- = low fig/Figure 2/lines/b/* / fig/Figure 2/lines/a/* -->", "2"),
            ("9.0<!-- = high fig/Figure 2/lines/b/* / fig/Figure 2/lines/a/* -->", "4.0"),
            ("9.0<!-- = high fig/Figure 2/lines/b/4-6 -->", "0.5"),
            ("0,000.0<!-- = rows/rows/data=Adult/loss -->", "1,234.5"),
            ("1.0e+01<!-- = rows/rows/data=Adult/loss -->", "1.2e+03"),
        ],
    )
    def test_numbers(self, mark, number):
        assert quote.quoted(f"x {mark} y") == f"x {number}{mark[mark.index('<') :]} y"

    def test_blocks(self):
        table = "| data | method | k = 5 |\n|---|---|---|\n| Adult | hilbert | 0.0349 |\n"
        table += "| Adult | best | 0.0239 |\n"
        text = quote.quoted("<!-- table: loss/by k -->\nold\n<!-- end -->\n")
        assert text == f"<!-- table: loss/by k -->\n{table}<!-- end -->\n"
        panel = quote.quoted("<!-- figures: fig -->\n<!-- end -->")
        assert "| a | 0.25 | 0.5 |" in panel and "**Figure 2, t**" in panel
        assert quote.quoted(panel) == panel

    def test_a_cell_of_text_counts_by_the_number_it_begins_with(self, monkeypatch):
        rows = [["hilbert", "0.0335 (0.1 s)"], ["best", "0.0201 = 0.6 x (24 s)"], ["none", "-"]]
        printed = {"by effort": {"head": ["method", "k = 5"], "form": "", "rows": rows}}
        monkeypatch.setattr(quote, "results", lambda name: printed)
        one, other = (f"best/by effort/{name}/k = 5" for name in ("best", "hilbert"))
        assert quote.worked_out(one) == 0.0201
        assert quote.worked_out(f"{one} / {other}") == pytest.approx(0.6)
        with pytest.raises(quote.QuoteError, match="does not begin with a number"):
            quote.worked_out("best/by effort/none/k = 5")

    def test_a_mark_that_names_nothing_is_an_error(self):
        with pytest.raises(quote.QuoteError, match="'best' is missing"):
            quote.quoted("1<!-- = fig/Figure 2/lines/best/5 -->")


class TestWords:
    """What docs/papers.md says in words about all points of a figure."""

    def lines(self, paper, figure):
        return quote.value(f"paper{paper}/{figure}/lines")

    @pytest.mark.parametrize("figure", ["12a", "13a", "14a", "15a"])
    def test_without_trees_hilbert_loses_less_than_mondrian_and_topdown(self, figure):
        found = self.lines("004", f"Figure {figure}")
        for x, loss in found["hilbert"].items():
            assert loss < min(found["mondrian"][x], found["topdown"][x])

    def test_with_trees_it_does_not(self):
        found = self.lines("004", "Figure 13a trees")
        for x, loss in found["hilbert"].items():
            assert loss > max(found["mondrian"][x], found["topdown"][x])
        found = self.lines("004", "Figure 16a trees")
        ahead = [x for x, loss in found["hilbert"].items() if loss < found["mondrian"][x]]
        assert ahead == ["3", "4", "5", "6", "7", "8"]

    @pytest.mark.parametrize("panel", ["a Census", "a Adult", "b", "c", "d"])
    def test_hilbert_answers_cubes_better_than_mondrian(self, panel):
        found = self.lines("004", f"Figure 20{panel}")
        for x, divergence in found["hilbert"].items():
            assert divergence < found["mondrian"][x]

    def test_the_paper_s_max_l_is_above_distinct_mondrian_at_every_l(self):
        found = self.lines("002", "Figure 5")
        for x, loss in found["bsgi of the paper"].items():
            assert loss > found["mondrian, distinct l"][x]

    def test_all_l_and_all_panels_are_drawn(self):
        assert list(self.lines("004", "Figure 16a Census by occupation")["hilbert"])[-2:] == [
            "9",
            "10",
        ]
        for panel in ("15b", "17b", "18b", "19b"):
            assert self.lines("004", f"Figure {panel}")
