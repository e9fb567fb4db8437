"""Which role a column probably has, judged by its name and by how its values repeat.

A name is split into words (``native-country``, ``WorkClass``, ``diag_1``), and
words are looked up in short lists, so that every proposal can say why it was
made. What is not recognised is said to be so: a person decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

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
    "person people patient pat subject customer client member user respondent student pupil "
    "employee worker participant beneficiary insured individual citizen resident donor voter "
    "applicant borrower driver owner"
)
ID = _set("id ids nbr uuid guid pid uid identifier pseudonym hash")
NUMBERING = ID | _set("nr no num number key ref index serial account code row record")
COUNTS = _set("num number count cnt n nr total")
CODES = _set("id code type category class")
WHOLE_NAMES = frozenset({"name", "first", "last", "middle"})
NAME_PARTS = _set("first last middle full given family maiden birth")

NAMES_A_PERSON = _set(
    "ssn socialsecurity socialsecuritynumber email emailaddress phone telephone mobile "
    "cellphone fax passport iban creditcard cardnumber bankaccount surname forename firstname "
    "lastname fullname givenname familyname middlename maidenname nickname username login "
    "url website ip ipaddress macaddress mrn medicalrecord medicalrecordnumber licenseplate "
    "numberplate vin street address streetaddress homeaddress taxid nino nhsnumber latlong "
    "latitude longitude lat lon lng gps coordinates photo signature"
)

OCCUPATION = _set("occupation occ occp profession")

KNOWN_TO_OTHERS: Mapping[str, frozenset[str]] = {
    topic: _set(words)
    for topic, words in {
        "age or birth": "age agep ages birth born birthday birthdate dob dateofbirth birthyear yob",
        "sex": "sex gender",
        "origin": "race ethnicity ethnic ethnicgroup nationality citizenship origin country "
        "native ancestry language birthplace pobp immigrant migrant hispanic",
        "place": "zip zipcode zcta postal postcode plz city town village municipality "
        "county state province region district canton department puma tract neighbourhood "
        "neighborhood borough suburb place location residence geo area",
        "family": "marital maritalstatus marst married marriage relationship family household "
        "householdsize children child dependents siblings spouse parents",
        "education": "education educ edu school schooling schl degree college university grade "
        "diploma qualification",
        "work": "work workclass job jobtitle employer employment employed unemployed industry "
        "sector company veteran military",
        "body": "height weight eye eyes hair handedness",
        "a stay": "admission admitted discharge hospital clinic ward specialty speciality "
        "physician doctor payer insurer insurance visit stay los",
        "possessions": "vehicle car homeowner housing tenure rent",
    }.items()
}

SENSITIVE: Mapping[str, frozenset[str]] = {
    topic: _set(words)
    for topic, words in {
        "health": "disease diseases illness diagnosis diagnoses diag dx icd condition comorbidity "
        "hiv aids cancer tumor tumour diabetes diabetic stroke asthma hepatitis covid infection "
        "symptom symptoms treatment medication medications med meds drug drugs therapy "
        "prescription surgery procedure procedures lab serum glucose cholesterol blood "
        "bloodpressure bmi test result results health mental depression disability disabled "
        "pregnancy pregnant abortion smoker smoking alcohol genotype genetic readmitted "
        "readmission mortality death died deceased survival survived outcome vaccine vaccinated",
        "money": "income incomes inctot pincp wagp salary wage wages earnings pay payment bonus "
        "debt credit balance wealth assets capital loan mortgage default charges cost tax "
        "pension benefit benefits bankrupt bankruptcy",
        "belief": "religion religious faith politics political party vote voted union orientation "
        "sexualorientation sexuality opinion",
        "law": "crime criminal offence offense offender arrest arrested conviction convicted "
        "sentence recidivism prison faulty guilty accident accidents violation fraud",
        "performance": "score rating performance gpa iq",
    }.items()
}


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
    topics = {_topic(column.name, SENSITIVE) for column in columns if not _is_count(column)}
    # Beside health or crime an occupation is what a neighbour knows; beside an income, or
    # alone, it is what he would like to know.
    occupation: Role = "qi" if topics - {"money", None} else "sensitive"
    person = _person_column(columns)
    return [_propose(column, occupation, column.name == person) for column in columns]


def _propose(column: Facts, occupation: Role, is_person: bool) -> Proposal:
    words = _words(column.name)
    if column.distinct == 0:
        return Proposal("plain", "empty")
    if _names_a_person(column):
        return Proposal("identifier", "its name says it names people")
    if is_person:
        return Proposal("person", f"an id that repeats: {column.distinct:,} persons")
    known = _topic(column.name, KNOWN_TO_OTHERS)
    numbering = bool(NUMBERING & set(words)) or _is_person_id(words)
    if numbering and column.all_differ and known != "age or birth":
        return Proposal("identifier", "an id, different in every record")
    if not _is_count(column):
        if OCCUPATION & set(words):
            why = KNOWN if occupation == "qi" else PRIVATE
            return Proposal(occupation, f"{why}: occupation")
        if topic := _topic(column.name, SENSITIVE):
            return Proposal("sensitive", f"{PRIVATE}: {topic}")
    if known:
        return Proposal("qi", f"{KNOWN}: {known}")
    return _propose_by_values(column, words)


def _propose_by_values(column: Facts, words: list[str]) -> Proposal:
    """The name says nothing: judge by how values repeat."""
    if column.distinct == 1 and not column.missing:
        return Proposal("plain", "the same in every record")
    if ID & set(words) and _repeats_like_persons(column, 0.2):
        return Proposal("identifier", "an id that repeats: it names people or groups")
    if column.kind == "date":
        return Proposal("qi", f"{KNOWN}: dates")
    if column.rows >= FEW_ROWS:
        if column.all_differ:
            return Proposal("identifier", "different in every record")
        if column.alone > TELLING_SHARE * column.rows:
            share = column.alone / column.rows
            return Proposal("identifier", f"{share:.0%} have a value of their own")
    return Proposal("plain", UNDECIDED)


def _names_a_person(column: Facts) -> bool:
    """Names, addresses, numbers of papers; not where a few values are shared by all."""
    if column.distinct <= FEW_VALUES and 2 * column.distinct < column.present:
        return False
    words = _words(column.name)
    if any(word in NAMES_A_PERSON for word in _phrases(words)):
        return True
    if len(words) == 1 and words[0] in WHOLE_NAMES:
        return True
    return "name" in words and set(words) - {"name"} <= PERSON | NAME_PARTS


def _person_column(columns: Sequence[Facts]) -> str | None:
    """The id whose values repeat: it says whose record it is. Clear names go first."""
    found = []
    for column in columns:
        words = _words(column.name)
        named = _is_person_id(words)
        plain_id = bool(ID & set(words)) and _topic(column.name, KNOWN_TO_OTHERS) is None
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
    words = _words(column.name)
    return column.kind == "numeric" and len(words) > 1 and words[0] in COUNTS


def is_code(name: str) -> bool:
    """Whether numbers in a column of this name are codes: 8 is not more than 7."""
    words = _words(name)
    return bool(words) and words[-1] in CODES


def _topic(name: str, topics: Mapping[str, frozenset[str]]) -> str | None:
    phrases = _phrases(_words(name))
    for topic, words in topics.items():
        if any(phrase in words for phrase in phrases):
            return topic
    return None


def _words(name: str) -> list[str]:
    """``marital.status``, ``WorkClass``, ``ZIPCode``, ``diag_1`` in lower-case words."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    return re.findall(r"[^\W\d_]+", apart.lower())


def _phrases(words: Sequence[str]) -> list[str]:
    """Words, and neighbours written together: ``post code`` is also ``postcode``."""
    return [
        "".join(words[start : start + length])
        for length in (1, 2, 3)
        for start in range(len(words) - length + 1)
    ]
