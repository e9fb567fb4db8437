"""How names of columns are read: whole words first, then what they may be short for.

``relig*`` is the beginning of a word, ``*gehalt`` the end of a compound; accents are
left out. The words themselves are in `shoal.naming.vocabulary`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

__all__ = ["Lexicon", "is_about", "phrases_of", "topic_of", "word_set", "words_of"]


def word_set(text: str) -> frozenset[str]:
    """Long lists of words are easier to read and to extend as one text."""
    return frozenset(text.split())


PART = 5
"""Letters from which a word inside another, or the beginning of one, is hardly chance."""
SHORT = 3
"""Letters of the shortest word that is looked for once endings are taken off."""
VOWELS = re.compile("(?<!^)[aeiouy]")
BEFORE = word_set(
    "hh nb nbr num anz aant anzahl aantal pers per tot max min avg off adj gba ben "
    "bene pat pt ind ego resp cur prev first last main prim sec haupt neben niv nivel level "
    "dt dat data date cod code yr year ano anno mon emp fam sp ment self ever cd"
)
AFTER = word_set(
    "var tot total cat categ grp gr group g p code cod cd flag flg fl ind num nb nbr nr stat "
    "status st yr yrs year jahr jaar anno ano annee ann month monat mon mois mes moi dt date dat "
    "dtd lev lvl level niv niveau nivel rec recode r tst test typ type cls class red rev net amt "
    "range cy scale score idx index pct rate avg mean max min std bin ever now days hrs a b c "
    "h m s t v e n x fip fips ident born day gen com loc pl"
)


@dataclass(frozen=True)
class Lexicon:
    """Whole words, beginnings and ends of words."""

    words: frozenset[str]
    stems: tuple[str, ...]
    tails: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Lexicon:
        """A list of words, as `word_set` takes it, with stars."""
        listed = text.split()
        return cls(
            words=frozenset(word for word in listed if "*" not in word),
            stems=tuple(word[:-1] for word in listed if word.endswith("*")),
            tails=tuple(word[1:] for word in listed if word.startswith("*")),
        )

    def has(self, word: str) -> bool:
        """Whether a word is listed, begins or ends as one that is."""
        return word in self.words or word.startswith(self.stems) or word.endswith(self.tails)

    def may_have(self, word: str) -> bool:
        """Whether a word is short for a listed one, or made of one and something else."""
        if word in ORDINARY:
            return False
        return self._has_inside(word) or self._has_short(word) or self._has_core(word)

    def _has_inside(self, word: str) -> bool:
        """``hauptdiagnose``, ``gbageslacht``, ``readscore``."""
        return any(stem in word for stem in self._long_stems) or any(
            word.startswith(part) or word.endswith(part) for part in self._long_words
        )

    def _has_short(self, word: str) -> bool:
        """``matri`` for matrimonial, ``cncr`` for cancer."""
        if len(word) >= PART and any(full.startswith(word) for full in self._all):
            return True
        return len(word) > SHORT and word in self._skeletons

    def _has_core(self, word: str) -> bool:
        """``sexvar``, ``hivtst``, ``persink``: a word and what surveys put before and after it."""
        return any(self.has(core) for core in _cores(word))

    @cached_property
    def _all(self) -> tuple[str, ...]:
        return (*self.words, *self.stems)

    @cached_property
    def _long_stems(self) -> tuple[str, ...]:
        return tuple(part for part in (*self.stems, *self.tails) if len(part) >= PART)

    @cached_property
    def _long_words(self) -> tuple[str, ...]:
        """Without vowels four letters are enough: ``menthlth`` can only be health."""
        return tuple(w for w in self.words if len(w) >= PART or (len(w) == 4 and _bare(w) == w))

    @cached_property
    def _skeletons(self) -> frozenset[str]:
        bare = {_bare(word) for word in self._all if len(word) >= PART}
        return frozenset(word for word in bare if len(word) > SHORT)


def _bare(word: str) -> str:
    """Consonants and the first letter, as names are shortened most."""
    return VOWELS.sub("", word)


def _cores(word: str) -> set[str]:
    """What is left of a word when usual beginnings and endings are taken off."""
    begun = {word} | {word.removeprefix(part) for part in BEFORE if word.startswith(part)}
    found = begun | {
        core.removesuffix(end) for core in begun for end in AFTER if core.endswith(end)
    }
    # One letter less makes many a word: ``depth`` is no department.
    return {
        core
        for core in found - {word} - ORDINARY
        if len(core) >= (SHORT if len(word) - len(core) > 1 or core in SHORTEST else PART)
    }


SHORTEST = frozenset({"age", "sex"})
ORDINARY = word_set(
    "contract contracts statement statements estate replace replaced placement warehouse current "
    "card care page index order model value values test total count market target content contents "
    "point points start stop list listing printer partial part parts unit units format formats "
    "forms option options station message usage image storage percentage average package medium "
    "media general service services indicator product products position process processed "
    "processing session version branch plates parking spot"
)
"""Words of their own that only look as if they held, or were short for, another."""


UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})


def words_of(name: str) -> list[str]:
    """``marital.status``, ``WorkClass``, ``ZIPCode``, ``diag_1``, ``Prénom`` in plain words."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    folded = unicodedata.normalize("NFKD", apart.lower().replace("ß", "ss"))
    bare = "".join(char for char in folded if not unicodedata.combining(char))
    return re.findall(r"[^\W\d_]+", bare)


def phrases_of(words: Sequence[str]) -> list[str]:
    """Words, and neighbours written together: ``post code`` is also ``postcode``."""
    return [
        "".join(words[start : start + length])
        for length in (1, 2, 3)
        for start in range(len(words) - length + 1)
    ]


def is_about(name: str, lexicon: Lexicon, guess: bool = False) -> bool:
    """Whether a name has a word of a lexicon; if asked, also by what it may be short for."""
    # A German writes Größe or Groesse; a Spaniard's antigüedad has no e.
    spelt = {name, name.lower().translate(UMLAUTS)}
    found = [words_of(spelling) for spelling in sorted(spelt)]
    if guess:
        return any(lexicon.may_have(word) for words in found for word in words)
    return any(lexicon.has(phrase) for words in found for phrase in phrases_of(words))


def topic_of(name: str, topics: Mapping[str, Lexicon], guess: bool = False) -> str | None:
    """The first topic that a name mentions; if asked, also by what it may be short for."""
    return next((topic for topic, words in topics.items() if is_about(name, words, guess)), None)
