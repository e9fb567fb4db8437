"""What the values of a column look like, whatever its name is. Patterns and counts only."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.values import Values
from shoal.explore.words import Lexicon, words_of

__all__ = ["Content", "content_of"]

SAMPLE = 400
"""Distinct values that are looked at, spread over the column."""
MOST = 0.9
"""Share of them that must look alike: a few cells are always odd."""
SEXES = Lexicon.of(
    "m f w d x u male female man woman men women maennlich mannlich weiblich divers mann frau "
    "masculin feminin homme femme masculino femenino feminino hombre mujer homem mulher "
    "maschio femmina uomo donna vrouw vrouwelijk mannelijk other unknown"
)
FEWEST_YEARS = 25
SENTENCE = 4
"""Words of a cell from which it is a text that may say anything."""


class Content(NamedTuple):
    """What values are, and whether it names a person or says what others know."""

    what: str
    names: bool


def _pattern(text: str) -> Callable[[str], bool]:
    matches = re.compile(text, re.IGNORECASE).fullmatch
    return lambda cell: matches(cell.strip()) is not None


def _is_phone(cell: str) -> bool:
    digits = sum(char.isdigit() for char in cell)
    shaped = re.fullmatch(r"\s*(\+|00|0|\(0?\d|1[-. ])[\d\s()/.-]{6,}", cell) is not None
    return shaped and 8 <= digits <= 15 and not _is_date(cell)


_is_date = _pattern(
    r"(\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})|(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])"
    r"|\d{4}[./-]\d{1,2}[./-]\d{1,2}([ T].*)?|\d{1,2}[ -]?[^\W\d]{3,9}\.?[ -]?\d{2,4})"
)

LOOKS: Sequence[tuple[Content, Callable[[str], bool]]] = (
    (Content("e-mail addresses", True), _pattern(r"[^@\s]+@[^@\s]+\.[^@\s]+")),
    (Content("web addresses", True), _pattern(r"(https?://|www\.)\S+")),
    (Content("network addresses", True), _pattern(
        r"\d{1,3}(\.\d{1,3}){3}|([0-9a-f]{2}[:-]){5}[0-9a-f]{2}"
    )),
    (Content("random keys", True), _pattern(
        r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32,64}"
    )),
    (Content("bank accounts", True), _pattern(r"[A-Z]{2}\d{2} ?([A-Z0-9]{4} ?){2,7}[A-Z0-9]{0,4}")),
    (Content("national numbers", True), _pattern(
        r"\d{3}-\d{2}-\d{4}|\d{8}[A-Z]|[XYZ]\d{7}[A-Z]|[A-Z]{6}\d{2}[A-Z]\d{2}[A-Z]\d{3}[A-Z]"
        r"|\d{3}\.\d{3}\.\d{3}-\d{2}|[12]\d{14}|[A-Z]{2}\d{6}[A-D]|\d{3} ?\d{3} ?\d{4}"
    )),
    (Content("dates", False), _is_date),
    (Content("phone numbers", True), _is_phone),
    (Content("post codes", False), _pattern(
        r"\d{4} ?[A-Z]{2}|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d"
        r"|\d{5}-\d{3}|\d{4}-\d{3}|\d{2}-\d{3}|\d{5}-\d{4}"
    )),
    (Content("street addresses", True), _pattern(
        r"\d{1,5}[a-z]?,? [^\W\d][\w .'-]* (street|st|road|rd|avenue|ave|lane|ln|drive|dr|court|ct"
        r"|way|place|pl|boulevard|blvd|terrace|close|crescent|square|sq)\b.*"
        r"|[^\W\d][\w .'-]*(str(\.|asse|aße)?|straat|weg|allee|platz|laan) \d{1,4} ?[a-z]?"
        r"|(rue|avenue|calle|via|rua|avenida|piazza) .{3,}"
    )),
)  # fmt: skip


def content_of(values: Values) -> Content | None:
    """What most of the distinct values look like; None if they look like nothing special."""
    if not len(values.values):
        return None
    some = _sample(values.values)
    if pa.types.is_floating(some.type) or pa.types.is_integer(some.type):
        return _of_numbers(np.asarray(some, dtype=np.float64), len(values.values), some.type)
    texts = [text for text in Values(some, values.has_missing).texts() if text]
    if _are_sexes(texts):
        return Content("sexes", False)
    for content, looks in LOOKS:
        if len(texts) > 2 and sum(map(looks, texts)) >= MOST * len(texts):
            return content
    return _of_other_texts(texts)


def _sample(values: pa.Array) -> pa.Array:
    step = max(1, len(values) // SAMPLE)
    return values.take(pa.array(np.arange(0, len(values), step)))


def _are_sexes(texts: list[str]) -> bool:
    folded = [words_of(text.lower()) for text in texts]
    return 2 <= len(folded) <= 4 and all(len(w) == 1 and w[0] in SEXES.words for w in folded)


def _of_numbers(amounts: NDArray[np.float64], distinct: int, kind: pa.DataType) -> Content | None:
    low, high = float(amounts.min()), float(amounts.max())
    if pa.types.is_integer(kind):
        years = low >= 1900 and high <= 2030 and high - low >= FEWEST_YEARS
        if years and distinct >= FEWEST_YEARS:
            return Content("years", False)
        days = [_is_date(str(int(amount))) for amount in amounts]
        return Content("dates", False) if len(days) > 2 and all(days) else None
    # 1e-3 degrees are about 100 metres: what is finer than that is a place.
    fine = np.abs(amounts * 1e3 - np.round(amounts * 1e3)) > 1e-6
    if distinct > FEWEST_YEARS and low >= -180 and high <= 180 and fine.mean() >= 0.5:
        return Content("coordinates", False)
    return None


def _of_other_texts(texts: list[str]) -> Content | None:
    """Sentences, and digits of one length that begin with zeros: codes of places."""
    if len(texts) <= 2:
        return None
    words = sum(len(text.split()) for text in texts) / len(texts)
    if len(texts) > FEWEST_YEARS and words >= SENTENCE:
        return Content("free text", True)
    one_length = len({len(text) for text in texts}) == 1 and all(t.isdecimal() for t in texts)
    zeros = any(text.startswith("0") for text in texts)
    if one_length and zeros and len(texts[0]) in {4, 5} and len(texts) > FEWEST_YEARS:
        return Content("post codes", False)
    return None
