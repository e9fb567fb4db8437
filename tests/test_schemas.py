"""`shoal inspect` on labelled schemas, and on what only the values tell."""

from __future__ import annotations

import pyarrow as pa
import pytest

import schemas
from shoal.explore.inspection import inspect

LEAST = 0.95


def test_thirty_schemas_in_seven_languages() -> None:
    assert sum(len(schemas.load(file)) for file in schemas.FILES) == 30


@pytest.mark.parametrize("file", [*schemas.FILES, None])
def test_recall_of_risky_columns(file: str | None) -> None:
    found = schemas.score([s for name in ([file] if file else schemas.FILES)
                           for s in schemas.load(name)])  # fmt: skip
    for role in schemas.ROLES:
        assert found.recall[role] >= LEAST, (role, found.missed)
        assert found.precision[role] >= 0.9, (role, found.missed)


@pytest.mark.parametrize(
    ("values", "role", "why"),
    [
        ("email", "identifier", "e-mail"),
        ("phone", "identifier", "phone"),
        ("iban DE", "identifier", "bank accounts"),
        ("ip", "identifier", "network"),
        ("text", "identifier", "free text"),
        ("address", "identifier", "street"),
        ("dni", "identifier", "national numbers"),
        ("key", "identifier", "different in every record"),
        ("gdate 1940 2010", "qi", "dates"),
        ("nlpost", "qi", "post codes"),
        ("cep", "qi", "post codes"),
        ("digits 5 120", "qi", "post codes"),
        ("num 40 55 5", "qi", "coordinates"),
        ("int 1930 2005", "qi", "years"),
        ("of m f", "qi", "sexes"),
        ("int 1 40", "qi", "in doubt"),
    ],
)
def test_values_tell_where_a_name_does_not(values: str, role: str, why: str) -> None:
    table = schemas.Schema("x", (schemas.Labelled("zzz", (role,), values),)).table()
    column = inspect(table).columns[0]
    assert (column.role, why in column.reason) == (role, True), column


def test_a_copy_of_a_recognised_column_has_its_role() -> None:
    education = [f"level {i * 7 % 5}" for i in range(200)]
    table = pa.table(
        {
            "education": education,
            "zzz": [text[-1] * 3 for text in education],
            "disease": [f"secret {i % 6}" for i in range(200)],
            "qqq": [f"code {i % 6}" for i in range(200)],
        }
    )
    found = {c.name: c for c in inspect(table).columns}
    assert (found["zzz"].role, found["zzz"].reason) == ("qi", "tells education")
    assert (found["qqq"].role, found["qqq"].reason) == ("sensitive", "tells disease")


def test_what_is_not_recognised_is_ranked_by_whom_it_singles_out() -> None:
    table = pa.table(
        {
            "age": [20 + i % 25 for i in range(200)],
            "dull": [i % 2 for i in range(200)],
            "sharp": [(i // 25) * 2 % 17 for i in range(200)],
        }
    )
    (hint,) = [hint for hint in inspect(table).hints if "not recognised" in hint]
    assert hint.index("sharp (0% unique by it, 100% with the others)") < hint.index("dull")
