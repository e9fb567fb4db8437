"""Values that a query compares with: literals as they are written, the rest by DuckDB.

A literal is exact however long it is. Of what must be computed only a list of
functions reaches DuckDB: a query may come from anybody, and `sleep_ms`,
`repeat` or whatever a later version adds are none of its business.
"""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb

from shoal.errors import PolicyError
from shoal.recipient.deadline import Deadline
from shoal.released.conditions import Constant
from shoal.released.lines import number

__all__ = ["ALLOWED", "Constants", "Node", "first_line", "is_constant", "one_row"]

Node = dict[str, Any]
ALLOWED = frozenset(
    [
        *("+", "-", "*", "/", "//", "%", "abs", "round", "floor", "ceil", "ceiling", "trunc"),
        *("lower", "upper", "trim", "date_trunc", "make_date", "make_timestamp"),
        *("to_years", "to_quarters", "to_months", "to_weeks", "to_days", "to_hours"),
        *("to_minutes", "to_seconds"),
    ]
)
"""Functions that may compute a value: all quick, with results no longer than what they get."""
AT_ONCE = 500
"""Values that DuckDB computes in one statement: it takes time by the square of the columns."""
NO_VALUES = {"COLUMN_REF", "SUBQUERY", "STAR", "PARAMETER", "WINDOW", "LAMBDA"}
KINDS = {"INTEGER": "number", "NUMERIC": "number", "STRING": "text", "BOOLEAN": "bool"}


def is_constant(node: Any) -> bool:
    """Whether an expression mentions neither columns nor subqueries nor parameters."""
    if isinstance(node, list):
        return all(is_constant(part) for part in node)
    if not isinstance(node, dict):
        return True
    return node.get("class") not in NO_VALUES and all(is_constant(p) for p in node.values())


def one_row(
    connection: duckdb.DuckDBPyConnection, deadline: Deadline, sql: str, parameter: str
) -> tuple[Any, ...] | None:
    """The one row of a statement; None if there are others."""
    # All rows, though there is one: DuckDB lets nothing else run while some are left.
    with deadline.watching(connection):
        rows = connection.execute(sql, [parameter]).fetchall()
    return tuple(rows[0]) if len(rows) == 1 else None


class Constants:
    """The values of expressions without columns; None is NULL."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, deadline: Deadline, statement: Node
    ) -> None:
        self.connection = connection
        self.deadline = deadline
        self.statement = statement
        """A parsed ``SELECT 1``, in which expressions are put."""
        self._known: dict[int, Constant | None] = {}

    def compute(self, nodes: Sequence[Node]) -> None:
        """Work out many values at once, to be asked for later."""
        open_ = [node for node in nodes if _literal(node) is None]
        for node in open_:
            _check_allowed(node)
        for start in range(0, len(open_), AT_ONCE):
            self.deadline.check()
            some = open_[start : start + AT_ONCE]
            for node, value in zip(some, self._computed(some), strict=True):
                self._known[id(node)] = None if value is None else _constant_of(value)

    def of(self, node: Node) -> Constant | None:
        """The value of one expression."""
        literal = _literal(node)
        if literal is not None:
            return literal[0]
        if id(node) not in self._known:
            self.compute([node])
        return self._known[id(node)]

    def _computed(self, nodes: Sequence[Node]) -> tuple[Any, ...]:
        # Names of their own: DuckDB would call equal values by equal names, and refuse.
        named = [{**node, "alias": f"v{i}"} for i, node in enumerate(nodes)]
        select = {**self.statement, "node": {**self.statement["node"], "select_list": named}}
        whole = json.dumps({"error": False, "statements": [select]})
        sql = "FROM json_execute_serialized_sql(?::VARCHAR)"
        try:
            row = one_row(self.connection, self.deadline, sql, whole)
        except duckdb.Error as error:
            raise PolicyError(f"query: {first_line(error)}") from None
        if row is None:
            raise PolicyError("query: an expression of many values is not supported")
        return row


def _literal(node: Node) -> tuple[Constant | None] | None:
    """A literal's value as it is written, in a tuple; None if it has to be computed."""
    literal = node.get("literal") if node.get("class") == "CONSTANT" else None
    if not isinstance(literal, dict):
        return None
    kind, text = literal.get("kind"), str(literal.get("text"))
    if kind == "NULL_LITERAL":
        return (None,)
    known = KINDS.get(str(kind))
    if known is None or (known == "number" and number(text) is None):
        return None
    return (Constant(known, text),)  # type: ignore[arg-type]


def _check_allowed(node: Node) -> None:
    for part in _expressions(node):
        name = str(part.get("function_name", "")).lower()
        if part["class"] == "FUNCTION" and name in ALLOWED and not part.get("schema"):
            continue
        if part["class"] not in {"CONSTANT", "CAST", "TYPE"}:
            what = f"{name}()" if name.isidentifier() else name or str(part["type"])
            raise PolicyError(
                f"query: {what} in a value is not supported; supported: literals, casts, "
                f"and {', '.join(sorted(ALLOWED))}"
            )


def _expressions(node: Any) -> Iterator[Node]:
    """All parts of an expression that are expressions."""
    left = [node]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            if "class" in part:
                yield part
            left += part.values()
        elif isinstance(part, list):
            left += part


def _constant_of(value: Any) -> Constant:
    if isinstance(value, bool):
        return Constant("bool", str(value).lower())
    if isinstance(value, int | float | decimal.Decimal):
        return Constant("number", str(value))
    if isinstance(value, datetime.date):  # and times, which are dates
        return Constant("date", str(value))
    if isinstance(value, str):
        return Constant("text", value)
    raise PolicyError(f"query: a value of type {type(value).__name__} is not supported")


def first_line(error: Exception) -> str:
    """What DuckDB says, without its drawing of the place."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    wrapped = len(lines) > 1 and lines[1].startswith("Error: ")
    return lines[1].removeprefix("Error: ") if wrapped else lines[0]
