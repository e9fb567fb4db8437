"""Labelled schemas for `shoal inspect`: column names and made-up values, a role each.

``python -m schemas`` in ``tests`` prints recall and precision, and what was missed.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

import shoal

ROWS = 400
FILES = ("held_out.txt", "public_names.txt")  # the rules know both
LATER = ("development.txt", "unseen.txt")  # written later; the rules have seen the first only
ROLES = ("identifier", "qi", "sensitive")
FOLDER = Path(__file__).parent
SURNAMES = "Abel Brun Costa Duarte Eder Fabre Gallo Haas Iglesias Jansen Kunz Lopes Moreau Neri"
NAMES = SURNAMES.split()
SAID = "called again about the letter and asked why nobody had come to see her on friday"
LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"


class Labelled(NamedTuple):
    """A column of a schema: its name, the roles that are right, how its values are made."""

    name: str
    roles: tuple[str, ...]
    values: str


class Schema(NamedTuple):
    title: str
    columns: tuple[Labelled, ...]

    def table(self) -> pa.Table:
        draw = random.Random(self.title)
        return pa.table({c.name: _made(c.values, draw) for c in self.columns})


def load(file: str) -> list[Schema]:
    """The schemas of one of the files here."""
    found: list[tuple[str, list[Labelled]]] = []
    for line in (FOLDER / file).read_text(encoding="utf-8").splitlines():
        if line.startswith("@"):
            found.append((line[1:].strip(), []))
        elif "|" in line and not line.startswith("#"):
            name, roles, values = (part.strip() for part in line.split("|"))
            found[-1][1].append(Labelled(name, tuple(roles.split("/")), values))
    return [Schema(title, tuple(columns)) for title, columns in found]


class Score(NamedTuple):
    """What was found of each role, how much of what was proposed is right, and what stayed plain.

    ``kept`` is the share of the columns that can be nothing but plain and are proposed as plain;
    weights are not among them.
    """

    recall: dict[str, float]
    precision: dict[str, float]
    kept: float
    missed: list[str]


def score(schemas: list[Schema]) -> Score:
    """Recall by the first label of a column; a proposal among its labels is right."""
    asked, found, proposed, right = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    missed: list[str] = []
    plain: list[bool] = []
    for schema in schemas:
        inspection = shoal.inspect(schema.table())
        for label, column in zip(schema.columns, inspection.columns, strict=True):
            role = "identifier" if column.role == "person" else column.role
            if label.roles[0] == "weight" and role in {"weight", "plain", "identifier"}:
                continue  # published or dropped: either is right
            good = role in label.roles
            if label.roles == ("plain",):
                plain.append(good)
            asked[label.roles[0]] += 1
            found[label.roles[0]] += good
            proposed[role] += 1
            right[role] += good
            if not good:
                missed.append(f"{schema.title}: {label.name} is {label.roles[0]}, got {role}")
    return Score(
        {role: found[role] / asked[role] for role in ROLES},
        {role: right[role] / proposed[role] for role in ROLES},
        sum(plain) / max(1, len(plain)),
        missed,
    )


def _made(values: str, draw: random.Random) -> list[object]:
    kind, *about = values.split()
    if kind == "of":
        return [draw.choice(about) for _ in range(ROWS)]
    if kind == "codes":
        return [draw.choice([float(a) if "." in a else int(a) for a in about]) for _ in range(ROWS)]
    if kind == "person":
        return [10_000 + draw.randrange(ROWS // 3) for _ in range(ROWS)]
    if kind == "key":
        return list(range(1, ROWS + 1))
    return [MAKERS[kind](draw, about) for _ in range(ROWS)]


def _digits(draw: random.Random, count: int) -> str:
    return "".join(draw.choice("0123456789") for _ in range(count))


def _some_digits(draw: random.Random, about: list[str]) -> str:
    """Digits of one length; of so many different ones, if that is said."""
    if len(about) == 1:
        return _digits(draw, int(about[0]))
    return _digits(random.Random(draw.randrange(int(about[1]))), int(about[0]))


def _day(draw: random.Random, about: list[str], form: str) -> str:
    year = draw.randint(int(about[0]), int(about[1]))
    return form.format(year=year, month=draw.randint(1, 12), day=draw.randint(1, 28))


def _number(draw: random.Random, about: list[str]) -> float:
    return round(draw.uniform(float(about[0]), float(about[1])), int([*about, "2"][2]))


def _money(draw: random.Random, about: list[str]) -> int:
    """Amounts as people have them: many small, few large, one in eight has none."""
    return 0 if draw.random() < 1 / 8 else int(draw.lognormvariate(math.log(float(about[0])), 0.8))


def _letters(draw: random.Random, count: int) -> str:
    return "".join(draw.choice(LETTERS) for _ in range(count))


def _text(draw: random.Random, about: list[str]) -> str:
    return " ".join(draw.choices(SAID.split(), k=draw.randint(8, 25)))


MAKERS: dict[str, Callable[[random.Random, list[str]], object]] = {
    "int": lambda draw, about: draw.randint(int(about[0]), int(about[1])),
    "num": _number,
    "many": lambda draw, about: f"value {draw.randrange(int(about[0]))}",
    "code": lambda draw, _: f"{_letters(draw, 2)}{_digits(draw, 7)}",
    "digits": _some_digits,
    "hash": lambda draw, about: "".join(draw.choices("0123456789abcdef", k=int(about[0]))),
    "pad": lambda draw, about: str(draw.randint(int(about[1]), int(about[2]))).zfill(int(about[0])),
    "money": _money,
    "ymd": lambda draw, about: int(_day(draw, about, "{year}{month:02}{day:02}")),
    "date": lambda draw, about: _day(draw, about, "{year}-{month:02}-{day:02}"),
    "gdate": lambda draw, about: _day(draw, about, "{day:02}.{month:02}.{year}"),
    "fdate": lambda draw, about: _day(draw, about, "{day:02}/{month:02}/{year}"),
    "surname": lambda draw, _: draw.choice(NAMES) + draw.choice(["", "o", "s", "mann", "ez"]),
    "first": lambda draw, _: draw.choice(NAMES)[:3] + draw.choice(["a", "o", "e", "is", "ine"]),
    "name": lambda draw, _: f"{draw.choice(NAMES)[:4]} {_letters(draw, 1)}. {draw.choice(NAMES)}",
    "email": lambda draw, _: f"{draw.choice(NAMES).lower()}{_digits(draw, 4)}@example.org",
    "phone": lambda draw, _: f"+49 {_digits(draw, 3)} {_digits(draw, 7)}",
    "iban": lambda draw, about: f"{about[0]}{_digits(draw, 20)}",
    "ip": lambda draw, _: ".".join(str(draw.randrange(256)) for _ in range(4)),
    "address": lambda draw, _: f"{draw.randint(1, 180)} {draw.choice(NAMES)} Street",
    "text": _text,
    "dni": lambda draw, _: _digits(draw, 8) + _letters(draw, 1),
    "cf": lambda draw, _: (
        f"{_letters(draw, 6)}{_digits(draw, 2)}A{_digits(draw, 2)}F{_digits(draw, 3)}X"
    ),
    "nlpost": lambda draw, _: f"{draw.randint(3400, 3460)} {_letters(draw, 1)}A",
    "ukpost": lambda draw, _: f"{_letters(draw, 1)}{draw.randint(1, 9)} {draw.randint(1, 3)}AB",
    "lsoa": lambda draw, _: f"E0100{draw.randint(1000, 1090)}",
    "upn": lambda draw, _: f"{_letters(draw, 1)}{_digits(draw, 12)}",
    "cep": lambda draw, _: f"{draw.randint(10000, 10080)}-000",
}


def report(files: tuple[str, ...] = FILES) -> Iterator[str]:
    """Recall and precision of each file, and of both together."""
    for name, schemas in [(file, load(file)) for file in files]:
        found = score(schemas)
        yield f"{name}: {len(schemas)} schemas, {sum(len(s.columns) for s in schemas)} columns"
        for role in ROLES:
            recall, precision = found.recall[role], found.precision[role]
            yield f"  {role}: recall {recall:.3f}, precision {precision:.3f}"
        yield f"  plain: kept {found.kept:.3f}"
        yield from (f"    {line}" for line in found.missed)
