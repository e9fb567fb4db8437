"""Whether whole numbers are codes: 8 is not more than 7 among regions.

Numbers have arithmetic sense where many different ones measure or count something. A name
such as region, status, zip or code says that they do not; in doubt it is believed, since an
interval of codes, ``[3,4]``, hides nobody among those who are alike.
"""

from __future__ import annotations

from typing import NamedTuple

from shoal.naming.vocabulary import KNOWN_TO_OTHERS, OCCUPATION
from shoal.naming.words import Lexicon, is_about, phrases_of, topic_of, word_set, words_of

__all__ = ["MOST_CODES", "Numbers", "code_reason", "is_code", "is_post_code"]

MOST_CODES = 50
"""Numbers in a column named like a code are codes only if they are this few..."""
MOST_OF_ONE_LENGTH = 20_000
LONG = 4
"""... or this many, and all have as many digits, and these at least."""
FIRST_YEAR, LAST_YEAR = 1800, 2100

CODES = word_set("id code cod cd type category class status stat statut estado")
NOMINAL = frozenset({"sex", "origin", "place"})
"""What has no order, though it is written in numbers: regions, countries."""
BRANCHES = "work"
"""So have branches, but what is about work may also be counted: years, hours."""
POST_CODES = Lexicon.of(
    "zip zipcode zcta postal* postcode* postc pcode plz postleitzahl codepostal codigopostal "
    "codpostal codpos cep"
)
MARITAL = Lexicon.of(
    "marit* mar marst* mstat marts* relat* famst* familienst* fstand zivilst* matri* etatciv* "
    "situfam estciv* estadociv* ecivil* stat* staciv burg* civil*"
)


class Numbers(NamedTuple):
    """What is counted about whole numbers before they are called codes."""

    distinct: int
    low: int
    high: int

    @property
    def of_one_length(self) -> bool:
        return self.low >= 0 and len(str(self.low)) == len(str(self.high)) >= LONG

    @property
    def years(self) -> bool:
        return self.low >= FIRST_YEAR and self.high <= LAST_YEAR


def is_post_code(name: str) -> bool:
    """Whether a column of this name holds post codes: codes, however many there are."""
    return is_about(name, POST_CODES)


def is_code(name: str, branches: bool = True) -> bool:
    """Whether whole numbers in a column of this name are codes: 8 is not more than 7."""
    words = words_of(name)
    if any(word in CODES for word in words[-1:]) or is_about(name, OCCUPATION):
        return True
    topic = topic_of(name, KNOWN_TO_OTHERS)
    if topic in NOMINAL or (branches and topic == BRANCHES):
        return True
    return topic == "family" and any(map(MARITAL.has, phrases_of(words)))


def code_reason(name: str, numbers: Numbers) -> str | None:
    """Why whole numbers of a column are codes, in a few words; None if they are numbers.

    >>> code_reason("region", Numbers(4, 1, 4))
    'its name says codes'
    >>> code_reason("age", Numbers(79, 17, 95)) is None
    True
    """
    if is_post_code(name):
        return "its name says post codes"
    if numbers.years or not is_code(name, branches=False):
        return None
    if numbers.distinct <= MOST_CODES:
        return "its name says codes"
    if numbers.of_one_length and numbers.distinct <= MOST_OF_ONE_LENGTH:
        return f"its name says codes, all of {len(str(numbers.low))} digits"
    return None
