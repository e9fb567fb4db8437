"""Which texts a reader takes for the same value: spelling twins.

``HIV``, ``hiv``, ``HIV`` with a blank or an invisible character, or ``1``,
``01``, ``1.0`` are one value to whoever reads them. Counted apart they would
satisfy l-diversity in a class where everybody has the same disease, so values
are counted as they read: sensitive ones in the encoding and, by itself again,
in the verification. What is published stays as it is written.

All words for "unknown" are one value: five of them are no five diagnoses.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Context, Decimal, DecimalException

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.values import Distinct, Ranked, Values, kind_of, rank_values
from shoal.errors import PolicyError
from shoal.policy import Policy

__all__ = ["UNKNOWN", "counted_values", "fold", "folded_codes"]

UNKNOWN = ""
"""What every word for a value that nobody knows folds to."""
WORDS_FOR_UNKNOWN = {
    *("", "na", "n/a", "n.a.", "n.a", "#n/a", "<na>", "nan", "nat", "null", "nil", "none"),
    *("missing", "unknown", "unk", "unspecified", "undefined", "not available", "not known"),
    *("not specified", "not applicable", "no answer", "?", "??", "???", "-", "--", "---", "."),
    *("unbekannt", "k.a.", "keine angabe", "inconnu", "desconocido", "sconosciuto", "onbekend"),
}
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]{1,4})?")
INVISIBLE = {"Cf", "Cc"}
FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0" + "".join(map(chr, range(0xFE00, 0xFE10)))


def fold(text: str) -> str:
    """What a reader takes a text for; equal for texts that are spelling twins.

    Examples
    --------
    >>> fold(" Flu") == fold("flu") == fold("FL\\u200bU\\u00a0")
    True
    >>> fold("01.50"), fold("N/A")
    ('1.5', '')
    """
    if not (text.isascii() and text.isprintable()):
        text = "".join(_visible(character) for character in unicodedata.normalize("NFKC", text))
        text = unicodedata.normalize("NFKC", text.casefold())
    folded = " ".join(text.casefold().split())
    if NUMBER.fullmatch(folded):
        return _number(folded)
    return UNKNOWN if folded in WORDS_FOR_UNKNOWN else folded


def _visible(character: str) -> str:
    """A digit of any script as ours, nothing for what is not seen, all else as it is."""
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    unseen = unicodedata.category(character) in INVISIBLE and not character.isspace()
    return "" if unseen or character in FILLERS else character


def _number(text: str) -> str:
    try:
        # The usual 28 digits would make twins of longer numbers that differ.
        number = Decimal(text).normalize(Context(prec=max(28, len(text))))
    except DecimalException:
        return text
    return str(number) if number else "0"


def counted_values(name: str, values: Values, policy: Policy) -> tuple[Ranked, int]:
    """A sensitive column's values in their order, twins as one, and how many were twins.

    Numbers and dates are counted by what they mean anyway.
    """
    kind = kind_of(name, values, policy)
    ranked = rank_values(name, values, kind, policy.order.get(name))
    if policy.e and ranked.rounded:
        raise PolicyError(
            f"column {name!r}: (k,e) compares differences exactly up to 2**53 only, and its "
            "numbers lie further apart; give them fewer digits"
        )
    if policy.twins == "distinct" or kind in {"numeric", "date"}:
        return ranked, 0
    return _without_twins(ranked)


def _without_twins(ranked: Ranked) -> tuple[Ranked, int]:
    """Texts of one meaning get the code of the first of them; a missing value stays the last."""
    texts = [UNKNOWN if text is None else fold(text) for text in ranked.texts]
    missing = bool(texts) and ranked.texts[-1] is None
    groups = list(dict.fromkeys(t for t in texts if not (missing and t == UNKNOWN)))
    code = {text: number for number, text in enumerate(groups)}
    if missing:
        code[UNKNOWN] = len(groups)
    twins = len(texts) - len(code)
    if not twins:
        return ranked, 0
    renumbered = np.array([*(code[text] for text in texts), len(code)], dtype=np.int32)
    first: dict[str, str | None] = {}
    for text, label in zip(texts, ranked.texts, strict=True):
        first.setdefault(text, label)
    labels: list[str | None] = [first[text] for text in groups]
    codes = renumbered[ranked.code_of_value]
    return Ranked(codes, labels + [None] * missing, None), twins


def folded_codes(distinct: Distinct) -> tuple[NDArray[np.int64], int]:
    """Code of each record by what its text reads as, 0 where unknown; and how many codes."""
    code: dict[str, int] = {UNKNOWN: 0}
    of_value = [code.setdefault(fold(text), len(code)) for text in distinct.texts()]
    return np.array([*of_value, 0], dtype=np.int64)[distinct.codes], len(code)
