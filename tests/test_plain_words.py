"""Words on the screen are plain, or explained; methods speak to those who use them."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

import shoal
from command import shoal as command
from shoal.explore.comparison import COLUMNS
from shoal.glossary import GLOSSARY, TERMS, find, words
from shoal.methods import METHODS, get_method
from shoal.models import MODELS
from shoal.policy import KINDS
from shoal.roles import ROLES

ROOT = Path(__file__).resolve().parents[1]
ON_SCREEN = (
    "GCP", "NCP", "DM", "C_avg", "rung", "class", "group", "loss", "bound", "gap", "stars", "KL",
    "QI", "quasi-identifier", "manifest", "record", "seed", "effort", "hierarchy", "reader",
    "collusion_k", "recoding", "engine", "twins", "exempt", "person", "policy", "kind",
)  # fmt: skip
"""Words of our own that commands print."""


@pytest.mark.parametrize(
    "word", [*ON_SCREEN, *ROLES, *KINDS[:1], *KINDS[2:], "k", "l", "t", "alpha", "e"]
)
def test_every_word_of_our_own_is_explained(word):
    assert find(word) is not None


def test_models_and_columns_of_a_comparison_are_explained():
    for name, model in MODELS.items():
        assert find(name) or find(model.option), name
    known = {"method", "seconds", "query error", "95th pct"}  # plain English
    for heading, _ in COLUMNS.values():
        assert heading in known or any(find(word) for word in heading.split()), heading


def test_terms_are_named_once_and_refer_to_each_other():
    assert len(set(words())) == len(words())
    for term in TERMS:
        assert all(other in GLOSSARY and other != term.name for other in term.see), term.name
        assert term.meaning.endswith("."), term.name


def test_explain_speaks_within_the_screen(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    said = command("explain", "gcp").out
    assert said.startswith("loss  ")
    everything = command("explain").out
    assert all(len(line) <= 60 for line in everything.splitlines())
    assert all(term.name in everything for term in TERMS)


def test_the_glossary_page_is_the_glossary():
    page = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    for term in TERMS:
        names = ", ".join(f"`{name}`" for name in term.also)
        assert f"| `{term.name}` | {term.meaning} | {names} |" in page, "run docs/refresh_help.py"


@pytest.mark.parametrize("name", METHODS)
def test_methods_speak_to_users_and_not_of_papers(name):
    method = get_method(name)
    about = method.options.about()
    assert about.keys() == method.options.model_fields.keys()
    for text in (method.summary, method.promise, *about.values()):
        assert not re.search(r"paper \d|paper's|Figure|et al|Hilb[A-Z]|CutTree", text), text


@pytest.mark.parametrize("columns", [60, 100])
def test_lists_wrap_within_their_columns(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    for listing in ("methods", "models"):
        lines = command(listing).out.splitlines()
        assert max(map(len, lines)) <= columns
        names = [line.split()[0] for line in lines if line and line[0] != " "]
        assert set(METHODS if listing == "methods" else MODELS) <= set(names)


def test_a_whole_domain_is_a_star_and_not_a_list_of_all_values():
    jobs = ["baker", "smith", "clerk", "nurse", "miner", "judge"]
    table = pa.table({"age": [30, 31] * 6, "job": jobs * 2})
    release = shoal.anonymize(
        table, qi=["age", "job"], k=4, method="incognito", kind={"job": "categorical"}
    )
    assert release.verify().ok
    assert "{" not in "".join(map(str, release.table.column("job").to_pylist()))
    assert release.loss.stars in {0, 12}


def test_a_notebook_shows_before_and_after():
    people = shoal.datasets.census(500)
    release = shoal.anonymize(
        people, qi=["age", "gender"], sensitive="occupation", k=5, rest="drop", method="hilbert"
    )
    page = release._repr_html_()
    assert release.before.records == 500
    assert f"{release.before.unique:,} of 500 records" in page
    assert "shared their values with fewer than 5" in page
    assert "at least 5" in page
    assert "age" in page
    assert "before" not in str(release.manifest)
