"""Every word of our own, explained once: for ``shoal explain``, the docs, reports and pages.

A word that appears on a screen or a page is here, or is plain English. This module
imports nothing, so that whoever shows words can use it.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["GLOSSARY", "Term", "find", "words"]


class Term(NamedTuple):
    """A word, what it means in a sentence or two, and what else is called so."""

    name: str
    meaning: str
    also: tuple[str, ...] = ()
    """Other names, short or long."""
    see: tuple[str, ...] = ()
    """Terms that belong to it."""


TERMS = (
    Term(
        "k",
        "The least number of records that share the same released values. With k = 10 everybody "
        "in the release looks like at least nine others.",
        ("k-anonymity",),
        ("class", "l"),
    ),
    Term(
        "l",
        "How many sensitive values stay possible: in every class no sensitive value has more than "
        "1/l of the records. With l = 3 nobody's value can be guessed with more than one in three.",
        ("l-diversity", "frequency-l", "l_reading"),
        ("sensitive", "class"),
    ),
    Term(
        "m",
        "For tables that are published again and again: everybody is in a group of at least m "
        "records with different sensitive values, and the set of these values stays the same in "
        "every release that he is in.",
        ("m-invariance",),
        ("l", "sensitive", "class"),
    ),
    Term(
        "t",
        "How far the sensitive values of a class may be distributed from those of the whole table, "
        "from 0 (the same) to 1 (anything).",
        ("t-closeness",),
        ("sensitive", "class"),
    ),
    Term(
        "alpha",
        "The largest share of a class that one sensitive value may have: 0.4 means at most 40%.",
        ("(alpha,k)",),
        ("l", "class"),
    ),
    Term(
        "e",
        "How much the numbers of a sensitive column must differ in every class: at least e between "
        "the smallest and the largest.",
        ("(k,e)",),
        ("sensitive", "class"),
    ),
    Term(
        "beta",
        "How much more likely a sensitive value may be in a class than in the whole table: with "
        "beta = 1 at most twice as likely.",
        ("beta-likeness",),
        ("sensitive", "class"),
    ),
    Term(
        "delta",
        "How far, up or down, the share of a sensitive value in a class may be from its share in "
        "the whole table, as a logarithm.",
        ("delta-disclosure",),
        ("beta", "class"),
    ),
    Term(
        "threshold",
        "The largest risk that is tolerated. It chooses k: 0.09 means classes of 12, since one in "
        "eleven is more than 9%.",
        ("thresholds",),
        ("k", "prosecutor"),
    ),
    Term(
        "prosecutor",
        "An attacker who knows that somebody is in the table, and looks for the record.",
        see=("journalist", "marketer"),
    ),
    Term(
        "journalist",
        "An attacker who does not know who is in the table, and wants to find anybody.",
        see=("prosecutor", "marketer"),
    ),
    Term(
        "marketer",
        "An attacker who wants to find as many people as possible, and accepts errors.",
        see=("prosecutor", "journalist"),
    ),
    Term(
        "unique-l",
        "A stronger reading of l: every class can be divided into groups of l records with l "
        "different sensitive values each.",
        ("unique l", "unique distinct l"),
        ("l",),
    ),
    Term(
        "model",
        "A promise about a release that can be checked, such as k or l.",
        see=("k", "l", "t", "alpha", "e"),
    ),
    Term(
        "class",
        "Records that carry the same released values in all quasi-identifiers. Nobody can tell "
        "them apart, so what holds for the class holds for each of its people.",
        ("classes", "equivalence class", "qi-group"),
        ("group", "qi"),
    ),
    Term(
        "group",
        "Records that a method put together. Groups whose released values are the same form one "
        "class.",
        ("groups",),
        ("class", "method"),
    ),
    Term(
        "loss",
        "How much detail a release gave up, from 0 (nothing) to 1 (everything): the average over "
        "all released cells of how much of its column a cell spans. [20,30] in a column from 0 to "
        "100 loses 0.1.",
        ("gcp", "global certainty penalty"),
        ("ncp", "bound"),
    ),
    Term(
        "ncp",
        "The loss of one column.",
        ("normalised certainty penalty",),
        ("loss",),
    ),
    Term(
        "bound",
        "What no release of the same table that keeps the same promises can go below, proven. "
        "A bound may be far too low: a large gap then says that little is proven, not that the "
        "release is bad.",
        ("lower bound",),
        ("gap", "rung", "loss"),
    ),
    Term(
        "gap",
        "How far a release can be from the best possible one at most, in percent of the bound. "
        "It is shown where it is below 100%; the record has it always.",
        ("optimum",),
        ("bound",),
    ),
    Term(
        "rung",
        "One of the ways in which the bound is worked out, from quick and rough to slow and sharp.",
        ("rungs",),
        ("bound",),
    ),
    Term(
        "dm",
        "The sum over all classes of their size squared: a rough measure of how large classes are. "
        "Lower is better.",
        ("discernibility", "discernibility metric"),
        ("class", "c_avg"),
    ),
    Term(
        "c_avg",
        "The average size of a class: records divided by classes.",
        ("average class size",),
        ("class", "dm"),
    ),
    Term(
        "kl",
        "How far the distribution that a release suggests is from the true one; 0 is the same.",
        ("kl divergence", "divergence"),
        ("loss",),
    ),
    Term(
        "stars",
        "Released cells that are *, which tells nothing at all.",
        ("star", "*", "suppressed"),
        ("recoding",),
    ),
    Term(
        "qi",
        "A quasi-identifier: a column that others can know about a person, such as age, sex or "
        "home town. None names anybody, together they pick people out. They are generalised.",
        ("quasi-identifier", "quasi-identifiers"),
        ("identifier", "sensitive", "plain"),
    ),
    Term(
        "identifier",
        "A column that names a person: name, address, insurance number. Never published.",
        ("identifiers",),
        ("qi", "person"),
    ),
    Term(
        "sensitive",
        "A column that nobody must be able to infer about a person, such as a disease or an "
        "income. Published as it is, within classes that hide whose it is.",
        ("sa", "sensitive attribute"),
        ("l", "t", "exempt"),
    ),
    Term(
        "plain",
        "A column that is published as it is, knowingly: nobody can know it of a person, and it "
        "harms nobody.",
        see=("rest",),
    ),
    Term(
        "person",
        "The column that says whose record it is, where a person can have several. It is dropped, "
        "and promises then count persons, not records.",
        ("persons",),
        ("k",),
    ),
    Term(
        "weight_column",
        "The column of survey weights: how many people of the population a record stands for. It "
        "is kept for estimates, but a weight that few records share can single people out: round "
        "or drop it.",
        ("survey weight", "fnlwgt", "perwt", "instance_weight"),
        ("plain",),
    ),
    Term(
        "exempt",
        "Values of a sensitive column that are not sensitive, such as no disease at all.",
        see=("sensitive",),
    ),
    Term(
        "rest",
        "What becomes of columns that were given no role: left out, published as they are, or "
        "generalised. Without it they are an error, since nothing is published unasked.",
        ("role", "roles"),
        ("plain", "qi"),
    ),
    Term(
        "reader",
        "Somebody who gets the release and can link some of its columns to people. With several "
        "readers each is promised k for what it knows.",
        ("readers",),
        ("collusion_k",),
    ),
    Term(
        "collusion_k",
        "The k that still holds if all readers put together what they know.",
        see=("reader",),
    ),
    Term(
        "hierarchy",
        "A tree that says what values have in common: Vienna, Austria, Europe. A class that mixes "
        "values gets the lowest label that covers them.",
        ("tree", "hierarchies"),
        ("recoding",),
    ),
    Term(
        "recoding",
        "What mixed values of a class are published as: an interval [20,29], a label of the "
        "hierarchy, a set {a,b}, or a star.",
        ("generalise", "generalised", "suppress"),
        ("hierarchy", "stars"),
    ),
    Term(
        "outlier",
        "A record so unlike all others that hiding it would cost everybody: max_suppressed says "
        "how many may be left out.",
        ("outliers", "max_suppressed", "suppressed records"),
        ("loss",),
    ),
    Term(
        "method",
        "An algorithm that puts records into groups; all keep the same promises, and differ in "
        "loss and time.",
        ("methods",),
        ("loss",),
    ),
    Term(
        "effort",
        "How long a method that can always improve goes on: instant, fast, normal, max. It counts "
        "steps, not seconds, so that the result does not depend on the machine.",
        ("any-time", "anytime"),
        ("method",),
    ),
    Term(
        "policy",
        "Everything that was decided for a release: roles, promises, method. One file, shoal.toml.",
        see=("model", "rest"),
    ),
    Term(
        "release",
        "The table that is published, with its manifest.",
        see=("manifest", "record"),
    ),
    Term(
        "manifest",
        "The public file beside a release that says what it promises, so that anybody can check "
        "it with shoal verify.",
        see=("record",),
    ),
    Term(
        "record",
        "The private file beside a release: its seed, exact numbers, and how to make it again. "
        "Keep it to yourself. A row of a table is called a record too.",
        ("records",),
        ("manifest", "seed"),
    ),
    Term(
        "seed",
        "The number that decides everything random in a run. Whoever knows it can replay the run, "
        "so it is secret unless you give one.",
        see=("record",),
    ),
    Term(
        "engine",
        "Where the work is done: in memory for tables that fit into it several times, with "
        "records in files (duckdb) for larger ones, or in a cluster (spark). No release depends "
        "on it.",
    ),
    Term(
        "kind",
        "What the values of a column are: numeric, date, ordinal (with an order that you declare), "
        "or categorical. Codes such as 1 for married are categories, though they look like "
        "numbers.",
        ("numeric", "ordinal", "categorical", "code", "codes"),
        ("hierarchy",),
    ),
    Term(
        "twins",
        "Sensitive values that differ in spelling only, such as Flu and flu; they count as one.",
        see=("sensitive",),
    ),
)  # fmt: skip
GLOSSARY = {term.name: term for term in TERMS}
"""Terms by name, in the order in which a page should list them."""


def find(word: str) -> Term | None:
    """The term that a word stands for, whatever its case; None if it is not one of ours.

    >>> find("GCP").name
    'loss'
    """
    wanted = word.strip().casefold()
    for term in TERMS:
        if wanted == term.name or wanted in term.also:
            return term
    return None


def words() -> list[str]:
    """All names under which terms are found."""
    return [name for term in TERMS for name in (term.name, *term.also)]
