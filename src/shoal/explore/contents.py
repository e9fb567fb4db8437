"""What the values of a column look like, whatever its name is. Patterns and counts only."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.values import Values, guess_kind, parse_numbers
from shoal.naming.words import word_set, words_of

__all__ = ["Content", "are_codes", "are_yes_or_no", "content_of", "whole_numbers"]

SAMPLE = 400
"""Distinct values that are looked at, spread over the column."""
MOST = 0.9
"""Share of them that must look alike: a few cells are always odd."""
REFUSED = word_set("7 8 9 77 88 99 97 98 -1 -2 -7 -8 -9 dk na unknown refused")
"""How surveys write that somebody did not know or did not say."""
MOST_REFUSALS = 3
MALE = word_set(
    "m male man men maennlich mannlich mann masculin homme h masculino hombre homem maschio uomo "
    "mannelijk"
)
FEMALE = word_set(
    "f w v female woman women weiblich frau feminin femme femenino feminino mujer mulher femmina "
    "donna vrouw vrouwelijk"
)
YES_OR_NO = tuple(
    word_set(pair)
    for pair in ("0 1", "1 2", "y n", "yes no", "true false", "t f", "ja nein", "j n", "oui non",
                 "o n", "si no", "s n", "sí no", "sim não", "sim nao", "ja nee", "0 y", "0 2")
)  # fmt: skip
OTHER_SEX = word_set("d x u divers other unknown")
FEWEST_YEARS = 25
FEWEST_CODES, MOST_CODES = 3, 20
"""Yes or no may be about anything; more than this are values."""
MANY = 40
"""Different values from which their distribution says what they are."""
SKEWED = 4.0
"""The largest amount is this many times the usual one; of numbers at random it is twice."""
SENTENCE = 4
"""Words of a cell from which it is a text that may say anything."""


class Content(NamedTuple):
    """What values are: they name a person, or are private, or are what others know."""

    what: str
    names: bool = False
    private: bool = False


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

ILLNESS = Content("codes of illness or treatment", private=True)
"""ICD-10, ATC, groups of cases (DRG, GHM), OPS and ICD-10-PCS."""
AMOUNTS = Content("amounts", private=True)

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
    (ILLNESS, _pattern(
        r"[A-TV-Z]\d{2}(\.?\d{1,2}|\.\d[A-Z0-9]{0,3})?|[A-Z]\d{2}[A-Z]{2}\d{2}|[A-Z]\d{2}[A-Z]"
        r"|\d{2}[A-Z]\d{2}[A-Z0-9]?|\d-\d{2}[0-9a-z](\.[0-9a-z]{1,2})?"
        r"|(?=.*\d)(?=.*[A-Z])[0-9][A-Z0-9]{5}[A-Z0-9]"
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
    if (whole := whole_numbers(Values(some, values.has_missing))) is not None:
        return _of_numbers(whole, len(values.values), pa.int64())
    return _of_other_texts(texts)


def whole_numbers(values: Values) -> NDArray[np.float64] | None:
    """The values, if all are whole numbers, written as such or as text."""
    if guess_kind(values.values)[0] != "numeric":
        return None
    amounts = np.asarray(parse_numbers(values.values)[0], dtype=np.float64)
    whole = len(amounts) > 0 and bool(np.all(amounts == np.floor(amounts)))
    return amounts if whole and np.all(np.isfinite(amounts)) else None


def are_codes(values: Values) -> bool:
    """A few whole numbers or short signs that stand for something: 1 to 6, ``AT11``, ``H``."""
    if not FEWEST_CODES <= len(values.values) <= MOST_CODES:
        return False
    if whole_numbers(values) is not None:
        return True
    return pa.types.is_string(values.values.type) and all(map(_is_sign, values.texts()))


_is_sign = re.compile(r"[A-Z0-9]{1,4}").fullmatch


def _sample(values: pa.Array) -> pa.Array:
    step = max(1, len(values) // SAMPLE)
    return values.take(pa.array(np.arange(0, len(values), step)))


def _are_sexes(texts: list[str]) -> bool:
    found = {" ".join(words_of(text.lower())) for text in texts}
    return bool(found & MALE and found & FEMALE and found <= MALE | FEMALE | OTHER_SEX)


def are_yes_or_no(values: Values) -> bool:
    """Two values that say whether something is so, and perhaps that nothing was said."""
    if not 2 <= len(values.values) <= 2 + MOST_REFUSALS:
        return False
    said = {text.strip().lower() for text in values.texts()} - REFUSED
    return len(said) == 2 and any(said <= pair for pair in YES_OR_NO)


def _of_numbers(amounts: NDArray[np.float64], distinct: int, kind: pa.DataType) -> Content | None:
    low, high = float(amounts.min()), float(amounts.max())
    if pa.types.is_integer(kind):
        years = low >= 1900 and high <= 2030 and high - low >= FEWEST_YEARS
        if years and distinct >= FEWEST_YEARS:
            return Content("years", False)
        days = [_is_date(str(int(amount))) for amount in amounts]
        if len(days) > 2 and all(days):
            return Content("dates", False)
        return AMOUNTS if _are_amounts(amounts, distinct) else None
    # 1e-3 degrees are about 100 metres: what is finer than that is a place.
    fine = np.abs(amounts * 1e3 - np.round(amounts * 1e3)) > 1e-6
    if distinct > FEWEST_YEARS and low >= -180 and high <= 180 and fine.mean() >= 0.5:
        return Content("coordinates", False)
    return None


def _are_amounts(amounts: NDArray[np.float64], distinct: int) -> bool:
    """Many whole numbers from small to thousands, most of them small: money, hardly keys."""
    present = amounts[amounts > 0]
    if distinct < MANY or len(present) < MANY or amounts.min() < 0:
        return False
    return bool(present.max() >= 1000 and present.max() >= SKEWED * np.median(present))


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
