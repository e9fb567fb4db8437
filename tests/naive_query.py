"""The slow twin of `shoal.recipient`: record by record, value by value, combination by combination.

A condition is a nested tuple: ("<", column, value), ("in", column, values), ("null", column),
("not", a), ("and", a, b), ("or", a, b). A column is described by a `Spec`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from itertools import pairwise, product
from typing import Any, NamedTuple

Condition = tuple[Any, ...]
Weighted = list[tuple[Any, float]]


class Spec(NamedTuple):
    """What the tests know about a column."""

    form: str  # number, date, ordinal, ranked, set, flat, tree, exact
    leaves: dict[str, list[str]] | None = None  # tree: what each label covers
    order: tuple[str, ...] = ()  # ranked: lowest first


# Conditions


def to_sql(condition: Condition) -> str:
    op, *rest = condition
    if op in {"and", "or"}:
        return f"({to_sql(rest[0])} {op.upper()} {to_sql(rest[1])})"
    if op == "not":
        return f"(NOT {to_sql(rest[0])})"
    column = '"' + rest[0].replace('"', '""') + '"'
    if op == "null":
        return f"{column} IS NULL"
    if op == "between":
        return f"{column} BETWEEN {literal(rest[1])} AND {literal(rest[2])}"
    if op == "in":
        return f"{column} IN ({', '.join(map(literal, rest[1]))})"
    return f"{column} {op} {literal(rest[1])}"


def literal(value: Any) -> str:
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def constants(condition: Condition, column: str) -> list[Any]:
    """What a condition compares a column with."""
    op, *rest = condition
    if op in {"and", "or", "not"}:
        return [value for part in rest for value in constants(part, column)]
    if op == "null" or rest[0] != column:
        return []
    values = rest[1] if op == "in" else rest[1:]
    return [value for value in values if value is not None]


def columns(condition: Condition) -> list[str]:
    op, *rest = condition
    if op in {"and", "or", "not"}:
        return list(dict.fromkeys(name for part in rest for name in columns(part)))
    return [rest[0]]


def holds(condition: Condition, record: dict[str, Any], specs: dict[str, Spec]) -> bool | None:
    """SQL's three-valued logic, from the book."""
    op, *rest = condition
    if op == "not":
        inner = holds(rest[0], record, specs)
        return None if inner is None else not inner
    if op in {"and", "or"}:
        sides = [holds(part, record, specs) for part in rest]
        decisive = op == "or"
        if decisive in sides:
            return decisive
        return None if None in sides else not decisive
    value = record[rest[0]]
    if op == "null":
        return value is None
    if op == "between":
        low, high = (holds((o, rest[0], v), record, specs)
                     for o, v in ((">=", rest[1]), ("<=", rest[2])))  # fmt: skip
        return False if False in (low, high) else None if None in (low, high) else True
    if op == "in":
        sides = [holds(("=", rest[0], other), record, specs) for other in rest[1]]
        return True if True in sides else None if None in sides else False
    return compare(op, value, rest[1], specs[rest[0]])


def compare(op: str, value: Any, other: Any, spec: Spec) -> bool | None:
    if value is None or other is None:
        return None
    if op in {"=", "<>"}:
        return (value == other) == (op == "=")
    if spec.form == "ranked":
        value, other = spec.order.index(value), spec.order.index(other)
    return {"<": value < other, "<=": value <= other,
            ">": value > other, ">=": value >= other}[op]  # fmt: skip


# Cells


def typed(text: str, spec: Spec) -> Any:
    return float(text) if spec.form == "number" else text


def parse(text: Any, spec: Spec) -> tuple[str, list[Any]]:
    """("values", [...]), ("range", [low, high]) or ("star", [])."""
    if text is None:
        return "values", [None]
    if spec.form == "exact":
        return "values", [text]
    if text == "*":
        return "star", []
    if spec.form == "tree":
        return "values", spec.leaves[text]
    if spec.form == "set" and text[0] == "{" and text[-1] == "}":
        members = list(split(text[1:-1]))
        return ("values", members) if len(members) > 1 else ("values", [text])
    if spec.form in {"number", "date", "ordinal", "ranked"} and text[0] == "[":
        return "range", [typed(end, spec) for end in split(text[1:-1])]
    return "values", [typed(text, spec)]


def split(text: str) -> Iterator[str | None]:
    """Elements between commas; quotes protect commas, doubled quotes are quotes."""
    element, inside, quoted = "", False, False
    for character in [*text, ","]:
        if character == '"':
            if not inside and element and quoted:
                element += '"'
            inside, quoted = not inside, True
            if inside and not element:
                element = "\0"  # marks that a quoted element has begun
        elif character == "," and not inside:
            element = element.removeprefix("\0")
            yield element if element or quoted else None
            element, quoted = "", False
        else:
            element += character


# What a cell covers: values with their weights, and values of weight 0 that are possible too


def covered(
    text: Any, texts: Sequence[Any], spec: Spec, asked: Sequence[Any]
) -> tuple[Weighted, list[Any]]:
    what, values = parse(text, spec)
    if what == "values":
        return [(value, 1 / len(values)) for value in values], []
    seen = [parse(other, spec) for other in texts]
    domain = (
        sorted({v for _, vs in seen for v in vs if v is not None}) if spec.form != "ranked" else []
    )
    if what == "range":
        return between(*values, domain, spec, asked), inside(*values, spec, asked)
    missing = any(kind == "values" and None in vs for kind, vs in seen)
    missing = missing or spec.form in {"number", "date", "ordinal", "ranked"}
    return star(domain, missing, spec, asked)


def star(
    domain: list[Any], missing: bool, spec: Spec, asked: Sequence[Any]
) -> tuple[Weighted, list[Any]]:
    if spec.form == "tree":
        domain = sorted({leaf for leaves in spec.leaves.values() for leaf in leaves})
    elif spec.form == "ranked":
        domain = list(spec.order)
    if not domain:
        return [(None, 1.0)], outside(domain, spec, asked)
    if spec.form in {"number", "date"}:
        present = between(domain[0], domain[-1], domain, spec, asked)
        fine = spec.form == "number" and not whole(domain) and domain[0] < domain[-1]
        count = float("inf") if fine else len(present)
    else:
        present = [(value, 1 / len(domain)) for value in domain]
        count = len(domain)
    share = 1 / (count + 1) if missing else 0.0
    weighted = [(value, weight * (1 - share)) for value, weight in present]
    # A star may always hide a missing value, also where the column shows none elsewhere.
    extra = [None] if spec.form in {"tree", "ranked"} else outside(domain, spec, asked)
    return [*weighted, (None, share)], extra


def whole(values: Sequence[float]) -> bool:
    return all(value == int(value) for value in values)


def between(low: Any, high: Any, domain: list[Any], spec: Spec, asked: Sequence[Any]) -> Weighted:
    """Every value from low to high, with its weight."""
    if spec.form == "ranked":
        values = list(spec.order[spec.order.index(low) : spec.order.index(high) + 1])
    elif spec.form == "date":
        first, last = date.fromisoformat(low), date.fromisoformat(high)
        values = [str(first + timedelta(days=d)) for d in range((last - first).days + 1)]
    elif spec.form == "number" and whole(domain):
        values = [float(v) for v in range(int(low), int(high) + 1)]
    elif spec.form == "number" and low < high:
        ends = sorted({low, high, *(v for v in asked if low < v < high)})
        pieces = pairwise(ends)
        return [((a + b) / 2, (b - a) / (high - low)) for a, b in pieces]
    else:
        values = [value for value in domain if low <= value <= high]
    return [(value, 1 / len(values)) for value in values]


def inside(low: Any, high: Any, spec: Spec, asked: Sequence[Any]) -> list[Any]:
    """Values from low to high that a query could tell apart, whatever their weight."""
    if spec.form == "ranked":
        return []
    ends = sorted({low, high, *(value for value in asked if low <= value <= high)})
    return [*ends, *(after(a, b, spec) for a, b in pairwise(ends))]


def after(low: Any, high: Any, spec: Spec) -> Any:
    """Something strictly between: a number, or a text (of a date: a time of the day)."""
    return (low + high) / 2 if spec.form == "number" else low + "\0"


def outside(domain: list[Any], spec: Spec, asked: Sequence[Any]) -> list[Any]:
    """Values that a query could tell apart, wherever they are, and a missing one."""
    marks = sorted({*domain, *asked})
    if spec.form == "number":
        marks = [min(marks, default=0) - 1, *marks, max(marks, default=0) + 1]
    else:
        marks = ["", *marks, max(marks, default="") + "\0"]
    return [None, *marks, *(after(a, b, spec) for a, b in pairwise(marks))]


# The answer


def answer(
    rows: Sequence[dict[str, Any]], condition: Condition, specs: dict[str, Spec]
) -> tuple[float, int, int]:
    """Expected count, lower and upper bound."""
    names = columns(condition)
    texts = {name: [row[name] for row in rows] for name in names}
    expected, lower, upper = 0.0, 0, 0
    for row in rows:
        covers = [
            covered(row[name], texts[name], specs[name], constants(condition, name))
            for name in names
        ]
        for combination in product(*(weighted for weighted, _ in covers)):
            weight = 1.0
            for _, share in combination:
                weight *= share
            record = {n: value for n, (value, _) in zip(names, combination, strict=True)}
            if holds(condition, record, specs) is True:
                expected += weight
        outcomes = {
            holds(condition, dict(zip(names, values, strict=True)), specs)
            for values in product(
                *([v for v, w in weighted if w] + extra for weighted, extra in covers)
            )
        }
        upper += True in outcomes
        lower += outcomes == {True}
    return expected, lower, upper


# Sums, averages and quantiles: every world, one by one


def worlds(
    rows: Sequence[dict[str, Any]],
    condition: Condition,
    column: str,
    specs: dict[str, Spec],
) -> Iterator[list[float]]:
    """The numbers that count in each world that a query could tell apart."""
    names = list(dict.fromkeys([*columns(condition), column]))
    texts = {name: [row[name] for row in rows] for name in names}
    options: list[list[float | None]] = []
    for row in rows:
        covers = [
            covered(row[name], texts[name], specs[name], constants(condition, name))
            for name in names
        ]
        found: dict[float | None, None] = {}
        for values in product(
            *([v for v, w in weighted if w] + extra for weighted, extra in covers)
        ):
            record = dict(zip(names, values, strict=True))
            counts = holds(condition, record, specs) is True and record[column] is not None
            found[record[column] if counts else None] = None
        options.append(list(found))
    for world in product(*options):
        yield [value for value in world if value is not None]


def expected_numbers(
    rows: Sequence[dict[str, Any]],
    condition: Condition,
    column: str,
    specs: dict[str, Spec],
) -> Weighted:
    """Numbers, each with how many records are expected to count with it."""
    names = list(dict.fromkeys([*columns(condition), column]))
    texts = {name: [row[name] for row in rows] for name in names}
    found: Weighted = []
    for row in rows:
        covers = [
            covered(row[name], texts[name], specs[name], constants(condition, name))[0]
            for name in names
        ]
        for combination in product(*covers):
            record = {n: value for n, (value, _) in zip(names, combination, strict=True)}
            weight = 1.0
            for _, share in combination:
                weight *= share
            if holds(condition, record, specs) is True and record[column] is not None:
                found.append((record[column], weight))
    return [(value, weight) for value, weight in found if weight > 0]


def aggregate(function: str, values: Sequence[float], share: float = 0.5) -> float:
    """As SQL has it, of at least one number."""
    if function == "sum":
        return sum(values)
    if function == "avg":
        return sum(values) / len(values)
    ordered = sorted(values)
    if function == "quantile_disc":
        needed = share * len(ordered)
        return next(value for i, value in enumerate(ordered) if i + 1 >= needed)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
