"""Which role a column probably has: by its name, what its values look like, how they repeat.

A name is split into words (``native-country``, ``WorkClass``, ``v101_marital``), and
words are looked up in lists of several languages (`shoal.explore.words`); values are
held against patterns (`shoal.explore.contents`). Every proposal says why it was made.
What is not recognised is said to be so: a person decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from shoal.explore.contents import Content
from shoal.explore.words import (
    IDENTIFIES,
    KNOWN_TO_OTHERS,
    OCCUPATION,
    SENSITIVE,
    WEIGHTS,
    phrases_of,
    topic_of,
    words_of,
)
from shoal.policy import Kind

__all__ = ["UNDECIDED", "Facts", "Proposal", "Role", "is_code", "propose_roles"]

Role = Literal["identifier", "person", "qi", "sensitive", "plain"]
UNDECIDED = "not recognised: decide"
KNOWN = "known"
PRIVATE = "private"

FEW_ROWS = 20
"""In a table this short that values differ says nothing about them."""
FEW_VALUES = 20
"""So few values cannot name people: a "phone" of yes and no is no number."""
TELLING_SHARE = 0.1
"""Unrecognised values that single out this share of the records are dropped."""


def _set(words: str) -> frozenset[str]:
    """Long lists of words are easier to read and to extend as one text."""
    return frozenset(words.split())


PERSON = _set(
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
ID = _set(
    "id ids ident nbr uuid guid pid uid seqn seqno serialno serialnumber idno identmen identifier "
    "pseudonym pseudo hash"
)
NUMBERING = ID | _set(
    "nr no num number numero nummer nro key ref reference index idx serial seq account acct code "
    "cod row record rec kennung schluessel laufnr lfdnr cle matricule matricula"
)
COUNTS = _set("num number count cnt n nr total anz anzahl nb nbre aantal qtd")
CODES = _set("id code cod cd type category class")
WHOLE_NAMES = frozenset({"name", "first", "last", "middle"})
NAME_PARTS = _set("first last middle full given family maiden birth victim suspect")
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


def propose_roles(columns: Sequence[Facts]) -> list[Proposal]:
    """A role for every column, each with its reason in words."""
    topics = {topic_of(column.name, SENSITIVE) for column in columns if not _is_count(column)}
    # Beside health or crime an occupation is what a neighbour knows; beside an income, or
    # alone, it is what he would like to know.
    occupation: Role = "qi" if topics - {"money", None} else "sensitive"
    person = _person_column(columns)
    return [_propose(column, occupation, column.name == person) for column in columns]


def _propose(column: Facts, occupation: Role, is_person: bool) -> Proposal:
    words = words_of(column.name)
    if column.distinct == 0:
        return Proposal("plain", "empty")
    if _names_a_person(column):
        return Proposal("identifier", "its name says it names people")
    if is_person:
        return Proposal("person", f"an id that repeats: {column.distinct:,} persons")
    known = topic_of(column.name, KNOWN_TO_OTHERS)
    numbering = bool(NUMBERING & set(words)) or _is_person_id(words)
    if numbering and column.all_differ and known not in ALWAYS_KNOWN and not column.measured:
        return Proposal("identifier", "an id, different in every record")
    if column.content is not None and _is_named_by_values(column, column.content):
        return Proposal("identifier", f"its values look like {column.content.what}")
    return _propose_by_topic(column, known, occupation) or _propose_by_values(column, words)


def _is_named_by_values(column: Facts, content: Content) -> bool:
    """Sentences that most records share are labels of categories, and no free text."""
    shared = content.what == "free text" and 2 * column.distinct < column.present
    return content.names and column.distinct > FEW_VALUES and not shared


def _propose_by_topic(column: Facts, known: str | None, occupation: Role) -> Proposal | None:
    """What the name speaks of."""
    weighs = any(WEIGHTS.has(word) for word in words_of(column.name))
    if known in ALWAYS_KNOWN and not weighs:
        return Proposal("qi", f"{KNOWN}: {known}")
    if not _is_count(column):
        if any(OCCUPATION.has(phrase) for phrase in phrases_of(words_of(column.name))):
            why = KNOWN if occupation == "qi" else PRIVATE
            return Proposal(occupation, f"{why}: occupation")
        if topic := topic_of(column.name, SENSITIVE):
            return Proposal("sensitive", f"{PRIVATE}: {topic}")
    return Proposal("qi", f"{KNOWN}: {known}") if known and not weighs else None


def _propose_by_values(column: Facts, words: list[str]) -> Proposal:
    """The name says nothing: judge by what values look like and how they repeat."""
    if column.distinct == 1 and not column.missing:
        return Proposal("plain", "the same in every record")
    if ID & set(words) and _repeats_like_persons(column, 0.2):
        return Proposal("identifier", "an id that repeats: it names people or groups")
    if column.kind == "date":
        return Proposal("qi", f"{KNOWN}: dates")
    if column.content is not None and not column.content.names:
        return Proposal("qi", f"its values look like {column.content.what}")
    if column.rows >= FEW_ROWS:
        return _propose_by_counts(column)
    return Proposal("plain", UNDECIDED)


def _propose_by_counts(column: Facts) -> Proposal:
    """Nothing is known but how often values repeat; in doubt others know them."""
    share = column.alone / column.rows
    measured = column.measured and not any(WEIGHTS.has(word) for word in words_of(column.name))
    if column.all_differ and not measured:
        return Proposal("identifier", "different in every record")
    if share > TELLING_SHARE and not measured:
        return Proposal("identifier", f"{share:.0%} have a value of their own")
    if column.distinct > FEW_VALUES and not _is_count(column):
        return Proposal("qi", f"in doubt: {column.distinct:,} values tell people apart")
    return Proposal("plain", UNDECIDED)


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
    """``num_medications`` counts: it does not say which."""
    words = words_of(column.name)
    return column.kind == "numeric" and len(words) > 1 and words[0] in COUNTS


def is_code(name: str) -> bool:
    """Whether numbers in a column of this name are codes: 8 is not more than 7."""
    words = words_of(name)
    return bool(words) and words[-1] in CODES
