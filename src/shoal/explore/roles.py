"""Which role a column probably has: by its name, what its values look like, how they repeat.

A name is split into words (``native-country``, ``WorkClass``, ``v101_marital``), and
words are looked up in lists of several languages (`shoal.naming.vocabulary`); values are
held against patterns (`shoal.explore.contents`). Every proposal says why it was made.
What is not recognised is said to be so: a person decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from shoal.explore.contents import Content
from shoal.naming.codes import is_post_code
from shoal.naming.vocabulary import (
    IDENTIFIES,
    KNOWN_TO_OTHERS,
    OCCUPATION,
    SENSITIVE,
    TECHNICAL,
    WEIGHTS,
)
from shoal.naming.words import Lexicon, is_about, phrases_of, topic_of, word_set, words_of
from shoal.policy import Kind

__all__ = [
    "MAY_DESCRIBE",
    "UNDECIDED",
    "Facts",
    "Proposal",
    "Role",
    "propose_roles",
    "singles_out",
]

Role = Literal["identifier", "person", "qi", "sensitive", "weight", "plain"]
UNDECIDED = "not recognised: decide"
ABOUT_RECORD = "about the record, not the person"
DOUBT = "in doubt"
MAY_DESCRIBE = "codes may describe people"
KNOWN = "known"
PRIVATE = "private"

FEW_ROWS = 20
"""In a table this short that values differ says nothing about them."""
FEW_VALUES = 20
"""So few values cannot name people: a "phone" of yes and no is no number."""
TELLING_SHARE = 0.1
"""Unrecognised values that single out this share of the records are dropped."""
LONG = 6
"""Digits from which numbers of one length are keys."""
OLDEST = 120
"""More numbers in a row than this are no ages."""
LIGHTEST = 25
"""Adults weigh more in kilograms, pounds or stones times ten."""


PERSON = word_set(
    "person persons people patient pat pt subject subj customer cust client member user "
    "respondent resp respond student stud pupil employee worker staff participant particip part "
    "beneficiary benef beneficiaire insured individual indiv ind citizen resident donor voter "
    "applicant borrower driver owner case caller household hh hhold menage panel panelist "
    "personal pers patienten kunde kunden mitglied teilnehmer schueler matrikel versicherte "
    "proband versuchsperson etud etudiant assure adherent salarie individu personne persona "
    "paciente cliente alumno alumna empleado encuestado hogar paziente studente dipendente "
    "assistito klant deelnemer leerling medewerker verzekerde respondente aluno pessoa "
    "funcionario beneficiario inquirido"
)
ID = word_set(
    "id ids ident nbr uuid guid pid uid seqn seqno serialno serialnumber idno identmen identifier "
    "pseudonym pseudo hash serial"
)
NUMBERING = ID | word_set(
    "nr no num number numero nummer nro key ref reference index idx serial seq account acct code "
    "cod row record rec kennung schluessel laufnr lfdnr cle matricule matricula"
)
FORMS = word_set("version ver unit units einheit unite unidad format schema software")
WHEN = word_set(
    "date dt dtd dat datum day year yr month time jahr monat jaar maand annee mois ano anno fecha "
    "mes data mese"
)
WEIGHING = Lexicon.of("weight wt gewicht gew poids peso pesi")
FACTORS = (["factor"], ["faktor"], ["facteur"], ["fator"], ["fattore"])
COUNTS = word_set("num number count cnt n nr total anz anzahl nb nbre aantal qtd")
WHOLE_NAMES = frozenset({"name", "first", "last", "middle"})
NAME_PARTS = word_set("first last middle full given family maiden birth victim suspect")
ALWAYS_KNOWN = frozenset({"age or birth", "sex"})
"""Whoever's they are: an offender's date of birth is a date of birth."""


@dataclass(frozen=True)
class Facts:
    """What is counted about a column before its role is proposed."""

    name: str
    kind: Kind
    rows: int
    missing: int
    distinct: int
    alone: int
    """Records whose value no other record has."""
    content: Content | None = None
    """What the values look like."""
    measured: bool = False
    """Numbers with decimals: they measure, and number nobody."""
    coded: bool = False
    """A few whole numbers or short signs."""
    flag: bool = False
    """Yes or no, in words or as 0 and 1."""
    low: float | None = None
    high: float | None = None
    """Smallest and largest of whole numbers."""

    @property
    def present(self) -> int:
        return self.rows - self.missing

    @property
    def all_differ(self) -> bool:
        return self.present > 1 and self.distinct == self.present


class Proposal(NamedTuple):
    """A role and why."""

    role: Role
    reason: str


class Setting(NamedTuple):
    """What the other columns of a table say about one that says little."""

    occupation: Role
    about: str | None
    """``health`` or ``law`` where at least two columns are about it."""


def propose_roles(columns: Sequence[Facts]) -> list[Proposal]:
    """A role for every column, each with its reason in words."""
    setting = _setting(columns)
    person = _person_column(columns)
    found = [_propose(column, setting, column.name == person) for column in columns]
    found = _one_weight(columns, found)
    return _with_families([column.name for column in columns], found)


def _one_weight(columns: Sequence[Facts], found: list[Proposal]) -> list[Proposal]:
    """A table has one column of weights; others, as replicates, single out and are dropped."""
    weights = [number for number, proposal in enumerate(found) if proposal.role == "weight"]
    for number in weights[1:]:
        role: Role = "identifier" if singles_out(columns[number]) else "plain"
        found[number] = Proposal(role, found[number].reason)
    return found


def _setting(columns: Sequence[Facts]) -> Setting:
    named = [topic_of(column.name, SENSITIVE) for column in columns if not _is_count(column)]
    # Beside health or crime an occupation is what a neighbour knows; beside an income, or
    # alone, it is what he would like to know.
    occupation: Role = "qi" if set(named) - {"money", None} else "sensitive"
    about = next((topic for topic in ("health", "law") if named.count(topic) > 1), None)
    return Setting(occupation, about)


def _propose(column: Facts, setting: Setting, is_person: bool) -> Proposal:
    words = words_of(column.name)
    if column.distinct == 0:
        return Proposal("plain", "empty")
    if _names_a_person(column):
        return Proposal("identifier", "its name says it names people")
    if is_person:
        return Proposal("person", f"an id that repeats: {column.distinct:,} persons")
    known = topic_of(column.name, KNOWN_TO_OTHERS)
    numbering = bool(NUMBERING & set(words)) or _is_person_id(words)
    numbering = numbering and not is_post_code(column.name)  # in a short table all may differ
    if numbering and column.all_differ and known not in ALWAYS_KNOWN and not column.measured:
        return Proposal("identifier", "an id, different in every record")
    if _runs(column) and known not in ALWAYS_KNOWN:
        return Proposal("identifier", "different in every record, numbers in a row")
    if column.content is not None and _is_named_by_values(column, column.content):
        return Proposal("identifier", f"its values look like {column.content.what}")
    if _is_weight(column):
        return _propose_weight(column)
    if _is_form(column, words):
        return Proposal("plain", ABOUT_RECORD)
    return _propose_by_topic(column, setting) or _propose_by_values(column, words, setting)


def _runs(column: Facts) -> bool:
    """1, 2, 3, ...: a key, whatever its name says."""
    if not column.all_differ or column.measured or column.rows < FEW_ROWS:
        return False
    return column.low is not None and column.high == column.low + column.distinct - 1


def _is_form(column: Facts, words: list[str]) -> bool:
    """``icd_version``: which codes were used; a plan that everybody has."""
    if column.distinct == 1:
        return any(TECHNICAL.has(word) for word in words)
    return len(words) > 1 and words[-1] in FORMS and column.distinct <= FEW_VALUES


def _is_named_by_values(column: Facts, content: Content) -> bool:
    """Sentences that most records share are labels of categories, and no free text."""
    shared = content.what == "free text" and 2 * column.distinct < column.present
    return content.names and column.distinct > FEW_VALUES and not shared


def _is_weight(column: Facts) -> bool:
    """How many others a record stands for; nobody weighs 1.3, whatever the unit."""
    if column.kind != "numeric" or column.distinct <= 1:
        return False
    if any(WEIGHTS.has(word) for word in words_of(column.name)):
        return True
    if not column.measured or column.high is None:
        return False
    words = words_of(column.name)
    light = column.high < LIGHTEST and any(WEIGHING.has(word) for word in words)
    return light or words[:1] in FACTORS


def _propose_weight(column: Facts) -> Proposal:
    if singles_out(column):
        share = column.alone / column.rows
        return Proposal("weight", f"a weight: {share:.0%} have one of their own")
    return Proposal("weight", "a weight, not about the person")


def singles_out(column: Facts) -> bool:
    """Whether many records have a value of their own."""
    return column.rows >= FEW_ROWS and column.alone / column.rows > TELLING_SHARE


def _propose_by_topic(column: Facts, setting: Setting, guess: bool = False) -> Proposal | None:
    """What the name speaks of; with `guess`, what it may be short for."""
    known = topic_of(column.name, KNOWN_TO_OTHERS, guess)
    may = "probably " if guess else ""
    if known in ALWAYS_KNOWN:
        return Proposal("qi", f"{may}{KNOWN}: {known}")
    if not _is_count(column):
        if is_about(column.name, OCCUPATION, guess):
            why = KNOWN if setting.occupation == "qi" else PRIVATE
            return Proposal(setting.occupation, f"{may}{why}: occupation")
        if topic := topic_of(column.name, SENSITIVE, guess):
            if topic == "health" and _says_when(column):
                return Proposal("qi", f"{may}{KNOWN}: when something happened")
            return Proposal("sensitive", f"{may}{PRIVATE}: {topic}")
    return Proposal("qi", f"{may}{KNOWN}: {known}") if known else None


def _says_when(column: Facts) -> bool:
    """A day or a year: that somebody was ill then is seen by others."""
    looks = column.content is not None and column.content.what in {"dates", "years"}
    return column.kind == "date" or looks or bool(WHEN & set(words_of(column.name)))


def _propose_by_values(column: Facts, words: list[str], setting: Setting) -> Proposal:
    """The name says nothing clear: judge by what values look like and how they repeat."""
    if column.distinct == 1 and not column.missing:
        return Proposal("plain", "the same in every record")
    if ID & set(words) and _repeats_like_persons(column, 0.2):
        return Proposal("identifier", "an id that repeats: it names people or groups")
    if column.kind == "date":
        return Proposal("qi", f"{KNOWN}: dates")
    if column.content is not None and not column.content.names:
        role: Role = "sensitive" if column.content.private else "qi"
        return Proposal(role, f"its values look like {column.content.what}")
    if _is_technical(column, words):
        return Proposal("plain", ABOUT_RECORD)
    guessed = _propose_by_topic(column, setting, guess=True)
    if guessed is None and column.rows >= FEW_ROWS:
        return _propose_by_counts(column, setting)
    return guessed or Proposal("plain", UNDECIDED)


def _is_technical(column: Facts, words: list[str]) -> bool:
    """Also the number of a record within a household or an operation: few, and named so."""
    numbers = bool(words) and set(words) <= NUMBERING
    return column.distinct <= FEW_VALUES and (numbers or any(TECHNICAL.has(word) for word in words))


def _propose_by_counts(column: Facts, setting: Setting) -> Proposal:
    """Nothing is known but how often values repeat; in doubt others know them."""
    if not column.measured and (reason := _numbers_people(column)):
        return Proposal("identifier", reason)
    if setting.about and (column.measured or column.flag) and not _is_count(column):
        what = "measured" if column.measured else "yes or no"
        return Proposal("sensitive", f"{DOUBT}: {what}, in a table about {setting.about}")
    if column.distinct > FEW_VALUES and not _is_count(column):
        return Proposal("qi", f"{DOUBT}: {column.distinct:,} values tell people apart")
    if column.coded and not _is_count(column):
        return Proposal("qi", f"{DOUBT}: {column.distinct} {MAY_DESCRIBE}")
    return Proposal("plain", UNDECIDED)


def _numbers_people(column: Facts) -> str | None:
    """Why values are somebody's own, if they are."""
    share = column.alone / column.rows
    if column.all_differ:
        return "different in every record"
    if column.low is None or column.high is None:
        return f"{share:.0%} have a value of their own" if share > TELLING_SHARE else None
    # Measured and counted things differ in length; numbers that were given out do not.
    long = len(f"{column.low:.0f}") == len(f"{column.high:.0f}") >= LONG
    if long and share > TELLING_SHARE:
        return f"long numbers, {share:.0%} have one of their own"
    span = column.high - column.low + 1
    if span > OLDEST and 10 * column.distinct >= 9 * span and _repeats_like_persons(column, 0.3):
        return "running numbers that repeat: of persons or households"
    return None


def _with_families(names: Sequence[str], found: Sequence[Proposal]) -> list[Proposal]:
    """In doubt a column is what all recognised ones are that begin as it does: ``sp_``, ``ph``."""
    families: dict[str, list[Proposal]] = {}
    for name, proposal in zip(names, found, strict=True):
        if not _in_doubt(proposal) and proposal.role != "plain":
            families.setdefault(_family(name), []).append(proposal)
    return [
        Proposal("sensitive", f"{DOUBT}: named as others that are private")
        if _in_doubt(proposal) and _is_private(families.get(_family(name), []))
        else proposal
        for name, proposal in zip(names, found, strict=True)
    ]


def _family(name: str) -> str:
    """How a name begins, up to the first digit or sign."""
    return re.split(r"[\W\d_]", name.lower().lstrip("_"), maxsplit=1)[0]


def _is_private(family: Sequence[Proposal]) -> bool:
    return len(family) > 1 and all(proposal.role == "sensitive" for proposal in family)


def _in_doubt(proposal: Proposal) -> bool:
    return proposal.reason == UNDECIDED or proposal.reason.startswith(DOUBT)


def _names_a_person(column: Facts) -> bool:
    """Names, addresses, numbers of papers; not where a few values are shared by all."""
    if column.distinct <= FEW_VALUES and 2 * column.distinct < column.present:
        return False
    if column.kind == "date":  # of the last login, say
        return False
    words = words_of(column.name)
    if any(IDENTIFIES.has(word) for word in phrases_of(words)) and not column.measured:
        return True
    if len(words) == 1 and words[0] in WHOLE_NAMES:
        return True
    return "name" in words and set(words) - {"name"} <= PERSON | NAME_PARTS


def _person_column(columns: Sequence[Facts]) -> str | None:
    """The id whose values repeat: it says whose record it is. Clear names go first."""
    found = []
    for column in columns:
        words = words_of(column.name)
        named = _is_person_id(words)
        plain_id = bool(ID & set(words)) and topic_of(column.name, KNOWN_TO_OTHERS) is None
        if (named and _repeats_like_persons(column, 0.01)) or (
            plain_id and column.distinct > FEW_VALUES and _repeats_like_persons(column, 0.2)
        ):
            found.append((named, column.distinct, column.name))
    return max(found)[2] if found else None


def _is_person_id(words: Sequence[str]) -> bool:
    """``patient_nbr``, ``patientid``, ``customer``; not ``patient_age``."""
    if not PERSON & set(words):
        return any(
            word.removesuffix(ending) in PERSON
            for word in words
            for ending in ("id", "nr", "no", "nbr", "key")
            if word.endswith(ending)
        )
    return set(words) <= PERSON | NUMBERING


def _repeats_like_persons(column: Facts, least_share: float) -> bool:
    return not column.all_differ and 1 < column.distinct >= least_share * column.present


def _is_count(column: Facts) -> bool:
    """``num_medications`` counts: it does not say which. Nothing is counted in decimals."""
    words = words_of(column.name)
    counted = column.kind == "numeric" and not column.measured
    return counted and len(words) > 1 and words[0] in COUNTS
