"""Sentences of a report: promises, what they do not cover, terms, and other people's outlines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shoal.verification.result import Check

__all__ = ["GLOSSARY", "OUTLINES", "listed", "percent", "promise", "treated_words"]

NUMBER = re.compile(r"[\d.]+")

PROMISES = {
    "k-anonymity": "Everybody looks like at least {less} others{known}.",
    "frequency-l": "Among those who look alike, no {column} is more frequent than 1 in {n}.",
    "distinct-l": "Those who look alike have at least {n} different values of {column}.",
    "entropy-l": "Among those who look alike, {column} is as uncertain as {n} equally frequent "
    "values.",
    "recursive-l": "Among those who look alike, the most frequent {column} stays below the bound "
    "of {asked}.",
    "unique-l": "Those who look alike divide into groups of {n} with {n} different values of "
    "{column}.",
    "(alpha,k)": "Among those who look alike, no {column} has a larger share than allowed: "
    "{asked}.",
    "t-closeness": "Among those who look alike, {column} is spread as in the whole table, up to a "
    "distance of {n}.",
    "treatment": "{column} is treated: {treated}.",
    "beta-likeness": "Among those who look alike, no {column} is more frequent than in the whole "
    "table by more than its bound: {asked}.",
    "delta-disclosure": "Among those who look alike, every {column} is about as frequent as in "
    "the whole table: {asked}.",
    "(k,e)": "Among those who look alike, the values of {column} span enough: {asked}.",
}


def promise(check: Check) -> str:
    """What a model promises, in one sentence."""
    found = NUMBER.search(check.asked)
    n = found[0] if found else "?"
    known = f" to {check.reader}" if check.reader else ""
    less = str(int(n) - 1) if n.isdigit() else n
    text = PROMISES.get(check.model, "{asked} holds for {column}.")
    sentence = text.format(
        n=n, less=less, column=check.column or "the class", asked=check.asked, known=known,
        treated="".join(treated_words([check.asked])) if check.model == "treatment" else "",
    )  # fmt: skip
    if check.reader and "{known}" not in text:
        return f"For {check.reader}: {sentence[0].lower()}{sentence[1:]}"
    return sentence


def treated_words(texts: Sequence[str]) -> list[str]:
    """What was done to a treated column, in words."""
    found = []
    for text in texts:
        how, _, rest = text.partition(":")
        amount, _, by_chance = rest.partition(":")
        share = amount.endswith("%")
        found.append({
            "noise": f"noise was added, with a standard deviation of {amount}"
            + (" of the column's own" if share else ""),
            "round": f"rounded to multiples of {amount}" + (", up or down by chance so that the "
            "mean is kept" if by_chance.startswith("random") else ""),
            "bottom": f"values below the {amount} quantile are published as it" if share
            else f"values below {amount} are published as {amount}",
            "top": f"values above the {amount} quantile are published as it" if share
            else f"values above {amount} are published as {amount}",
            "micro": f"means of at least {amount} neighbours inside each class, and nothing where "
            f"a class has fewer than {amount} known values",
        }.get(how, text))  # fmt: skip
    return found


def listed(names: Sequence[str]) -> str:
    """Names as people list them: a, b and c."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def percent(share: float, digits: int = 1) -> str:
    """A share as people read it; never 0 or 100 percent for what is not."""
    value = 100 * share
    text = f"{value:.{digits}f}"
    if share > 0 and float(text) == 0:
        return f"under {10.0**-digits:.{digits}f}%"
    if share < 1 and float(text) == 100:
        return f"over {100 - 10.0**-digits:.{digits}f}%"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}%"


GLOSSARY = {
    "class": "Records with the same published quasi-identifiers. Who knows only these cannot "
    "tell the members apart.",
    "quasi-identifier": "A column that somebody may know about a person and could use to find "
    "the record: age, place, education.",
    "sensitive column": "A column that must not be learned about a person: a disease, a salary.",
    "identifier": "A column that names a person. It is never published.",
    "plain column": "A column that is published as it was, on purpose.",
    "k": "Every class has at least k records.",
    "l": "How diverse the sensitive values of every class are: at frequency l no value is more "
    "frequent than 1 in l.",
    "t": "How far the sensitive values of a class may be spread differently from the whole table.",
    "loss": "How much of the quasi-identifiers was given up: 0 is nothing, 1 is everything. It is "
    "the mean width of the published cells, as a share of each column's range (GCP).",
    "bound": "What no release of this table can undercut, proven. The gap is how far this release "
    "is above it at most.",
    "prosecutor": "An attacker who knows that the target is in the table, and all its "
    "quasi-identifiers.",
    "threshold": "The largest chance to pick the right record that a regulator or contract allows.",
    "generalised": "Published as an interval, a set or a group instead of the exact value.",
    "star": "A value that was left out, written *.",
    "manifest": "The public file beside the release that says what it promises, with its hash.",
    "record": "The private file of the custodian by which the release can be made again.",
}
"""Every word of the report that is not everyday English."""

MEANINGS = {
    "asked": "What the policy asks for: k, the smallest class; l and the other models, about "
    "sensitive values; what is done to numbers.",
    "reached": "What the release reaches: for k the size of its smallest class, for l the least "
    "diversity of any class, for a quantile how many records share the code.",
    "verdict": "Whether it was found to hold when the released file was read for this report.",
    "value": "A value of the column, or what is known of the release. SHA-256 is a fingerprint of "
    "the file: with a changed byte it is another.",
    "unchanged": "Share of the cells that are published as they were.",
    "generalised": "Share of the cells that are published as an interval, a set or a group.",
    "starred": "Share of the cells that were left out, written *.",
    "typical width": "Half of the generalised cells are no wider than this.",
    "records expected": "Records that the release lets expect here: an interval or a set counts "
    "in parts for each value that it may be.",
    "records before": "Records of the original with this value; counts below the smallest class "
    "are not shown.",
    "chance": "How likely the right record is picked, by who knows all quasi-identifiers: one "
    "over the size of the class.",
    "size": "How many share a class, which is how many look alike.",
    "records": "How many records are in classes of that size.",
    "persons": "How many persons are in classes of that size.",
    "threshold": "The largest chance to pick the right record that is tolerated.",
    "class needed": "The smallest class with which no chance is above the threshold.",
    "records above it": "Share of the records whose chance to be picked is above the threshold.",
    "persons above it": "Share of the persons whose chance to be picked is above the threshold.",
    "guess without": "How often naming the most frequent value of the whole table is right.",
    "guess with": "How often naming the most frequent value of each class is right.",
    "records in classes all alike": "Share of the records in classes in which all have one "
    "value: it is known of them.",
    "largest share in a class": "The largest part of any class that has one value.",
    "part of the scores": "SUDA scores a record for each set of few columns by which it alone is "
    "known; this is the part of all scores in which the column, or both, take part.",
    "right": "How often the attacker is right, of those people whom the attack is tried on.",
    "95% interval": "Where the rate lies with a certainty of 95% (Wilson).",
    "guessing": "How often somebody without the release is right.",
    "says anything for": "Share of the people about whom the attacker says something.",
    "beats guessing": "Whether the whole interval is above guessing.",
    "loss": "0 is nothing lost, 1 everything: the mean width of the published cells, as a share "
    "of the column's range.",
    "records moved": "Share of the records that would have to move to another combination of "
    "values to undo what the release did.",
    "k": "Every class has at least k records.",
    "median error of counts": "Half of random questions of the kind how many are such and such "
    "are answered from the release with a smaller error than this.",
    "seconds": "Since the search began.",
    "what": "A fact about the release, as file, manifest or record have it.",
    "outline": "A standard or guideline: ISO/IEC 27559 is about de-identification of data.",
}
"""What the numbers below a heading mean, for who comes to it with the mouse or the keyboard."""

OUTLINES = (
    ("ISO/IEC 27559", "Context assessment: who receives the data, under which controls",
     "Scope and context"),
    ("ISO/IEC 27559", "Data assessment: attributes, data subjects, linkability",
     "Scope and context; What was changed"),
    ("ISO/IEC 27559", "Identifiability assessment and mitigation", "Verdict; Risk"),
    ("ISO/IEC 27559", "Governance: who decided, when to review", "Sign-off"),
    ("EMA Policy 0070, Health Canada PRCI", "Classification of variables", "Scope and context"),
    ("EMA Policy 0070, Health Canada PRCI", "Risk measured against the threshold 0.09", "Risk"),
    ("EMA Policy 0070, Health Canada PRCI", "Transformations, and their effect on use",
     "What was changed; Usefulness"),
    ("HIPAA expert determination", "Methods and results that justify a very small risk",
     "Verdict; Risk; How to check it"),
    ("HIPAA expert determination", "The expert, and the date", "Sign-off"),
    ("ICO motivated intruder test", "What a determined person without special skills would try",
     "Risk"),
    ("ICO motivated intruder test", "What was not tried", "Verdict: what it does not protect"),
)  # fmt: skip
"""Outline, their question, our section."""
