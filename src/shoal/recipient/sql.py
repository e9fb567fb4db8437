"""The query, parsed by DuckDB itself: its parse tree into a condition and group columns."""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import duckdb

from shoal.errors import PolicyError
from shoal.recipient.logic import Expression, both, either, negated
from shoal.released.conditions import Constant, Test

__all__ = ["Query", "parse_query"]

SUPPORTED = (
    "supported: SELECT [columns,] count(*) FROM release WHERE ... GROUP BY columns, with "
    "=, <>, <, <=, >, >=, BETWEEN, IN, IS NULL, AND, OR, NOT between a column and values"
)
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
COMPARISONS = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
SPELLED = {"~~": "LIKE", "!~~": "NOT LIKE", "~~*": "ILIKE", "!~~*": "NOT ILIKE"}
CLAUSES = {
    "having": "HAVING",
    "qualify": "QUALIFY",
    "sample": "a sample",
    "modifiers": "DISTINCT, ORDER BY or LIMIT",
}
Node = dict[str, Any]


@dataclass(frozen=True)
class Query:
    """What is asked: a condition on each record, and columns to group the counts by."""

    where: Expression
    groups: tuple[str, ...] = ()


def parse_query(
    sql: str, connection: duckdb.DuckDBPyConnection, resolve: Callable[[str], str]
) -> Query:
    """Parse a counting query; `PolicyError` names what is not supported.

    `resolve` gives the release's own name of a column, or raises.
    """
    return _Parser(connection, resolve).query(sql)


def _unsupported(what: str) -> NoReturn:
    raise PolicyError(f"query: {what} is not supported; {SUPPORTED}")


class _Parser:
    """One query. Holds the connection that evaluates its constants, and its table's names."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, resolve: Callable[[str], str]
    ) -> None:
        self.connection = connection
        self.resolve = resolve
        self.table_names: set[str] = set()

    def query(self, sql: str) -> Query:
        node = self._tree(sql)["node"]
        if node["type"] != "SELECT_NODE":
            _unsupported("WITH or a set operation")
        if (node.get("cte_map") or {}).get("map"):
            _unsupported("WITH")
        for field, clause in CLAUSES.items():
            if node.get(field):
                _unsupported(clause)
        self._from(node["from_table"])
        selected = self._select(node["select_list"])
        groups = self._groups(node, selected)
        where = node.get("where_clause")
        return Query(True if where is None else self._condition(where), groups)

    def _tree(self, sql: str) -> Node:
        """The parse tree of the one statement."""
        try:
            [text] = self._row("SELECT json_serialize_sql(?::VARCHAR)", sql)
        except duckdb.Error as error:
            raise PolicyError(f"query: {_first_line(error)}") from None
        answer: Node = json.loads(text)
        if answer["error"]:
            raise PolicyError(f"query: {' '.join(answer['error_message'].split())}; {SUPPORTED}")
        if len(answer["statements"]) != 1:
            _unsupported("more than one statement")
        statement: Node = answer["statements"][0]
        return statement

    def _row(self, sql: str, parameter: str) -> tuple[Any, ...]:
        # All rows, though there is one: DuckDB lets nothing else run while some are left.
        rows = self.connection.execute(sql, [parameter]).fetchall()
        if len(rows) != 1:
            _unsupported("an expression of many values, such as unnest(),")
        return tuple(rows[0])

    # FROM, SELECT, GROUP BY

    def _from(self, table: Node) -> None:
        if table["type"] != "BASE_TABLE":
            _unsupported("anything but one table in FROM")
        if table.get("sample"):
            _unsupported("a sample")
        self.table_names = {table["table_name"].lower(), table.get("alias", "").lower()}

    def _select(self, nodes: list[Node]) -> list[str | None]:
        """Columns of the select list, None in the place of the count."""
        selected: list[str | None] = []
        for node in nodes:
            if node["class"] == "COLUMN_REF":
                selected.append(self._column(node))
            elif _is_count(node):
                selected.append(None)
            else:
                _unsupported(f"{_named(node)} in SELECT")
        if selected.count(None) != 1:
            _unsupported("a SELECT without exactly one count(*)")
        return selected

    def _groups(self, node: Node, selected: list[str | None]) -> tuple[str, ...]:
        columns = [name for name in selected if name is not None]
        if node.get("aggregate_handling") == "FORCE_AGGREGATES":  # GROUP BY ALL
            return tuple(columns)
        if len(node.get("group_sets") or []) > 1:
            _unsupported("GROUPING SETS, ROLLUP or CUBE")
        groups = []
        for expression in node.get("group_expressions") or []:
            if expression["class"] == "COLUMN_REF":
                groups.append(self._column(expression))
            else:
                groups.append(self._by_position(expression, selected))
        for name in columns:
            if name not in groups:
                raise PolicyError(f"query: column {name!r} is selected; put it into GROUP BY too")
        return tuple(dict.fromkeys(groups))

    def _by_position(self, node: Node, selected: list[str | None]) -> str:
        constant = self._constant(node) if _is_constant(node) else None
        if constant is not None and constant.kind == "number" and constant.text.isdigit():
            position = int(constant.text) - 1
            if 0 <= position < len(selected) and (name := selected[position]) is not None:
                return name
        _unsupported("GROUP BY anything but columns")

    def _column(self, node: Node) -> str:
        names: list[str] = node["column_names"]
        if len(names) > 2 or (len(names) == 2 and names[0].lower() not in self.table_names):
            _unsupported(f"column {'.'.join(names)!r}: a column of another table")
        return self.resolve(names[-1])

    # WHERE

    def _condition(self, node: Node) -> Expression:
        kind = node["type"]
        if kind == "CONJUNCTION_AND":
            return both([self._condition(child) for child in node["children"]])
        if kind == "CONJUNCTION_OR":
            return either([self._condition(child) for child in node["children"]])
        if kind == "OPERATOR_NOT":
            return negated(self._condition(node["children"][0]))
        if kind in {"OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL"}:
            missing = Test(self._tested(node["children"][0]), "null")
            return missing if kind == "OPERATOR_IS_NULL" else negated(missing)
        if kind in {"COMPARE_IN", "COMPARE_NOT_IN"}:
            found = self._in(*node["children"])
            return found if kind == "COMPARE_IN" else negated(found)
        if kind in {"COMPARE_BETWEEN", "COMPARE_NOT_BETWEEN"}:
            inside = both([
                self._compare(">=", node["input"], node["lower"]),
                self._compare("<=", node["input"], node["upper"]),
            ])  # fmt: skip
            return inside if kind == "COMPARE_BETWEEN" else negated(inside)
        if kind in COMPARISONS:
            return self._compare(COMPARISONS[kind], node["left"], node["right"])
        if _is_constant(node):
            return self._truth(node)
        _unsupported(f"{_named(node)} in WHERE")

    def _truth(self, node: Node) -> Expression:
        constant = self._constant(node)
        if constant is None:
            return None
        if constant.kind != "bool":
            _unsupported(f"{constant.text!r} as a condition")
        return constant.text == "true"

    def _compare(self, op: str, left: Node, right: Node) -> Expression:
        if _is_constant(left) and not _is_constant(right):
            left, right, op = right, left, MIRRORED.get(op, op)
        column = self._tested(left)
        if not _is_constant(right):
            _unsupported(f"comparing {column!r} with {_named(right)}")
        value = self._constant(right)
        if value is None:  # a comparison with NULL is neither true nor false
            return None
        if op in {"=", "<>"}:
            equal = Test(column, "in", (value,))
            return equal if op == "=" else negated(equal)
        below: Literal["<", "<="] = "<" if op in {"<", ">="} else "<="
        test = Test(column, below, (value,))
        return test if op == below else negated(test)

    def _in(self, left: Node, *nodes: Node) -> Expression:
        column = self._tested(left)
        for node in nodes:
            if not _is_constant(node):
                _unsupported(f"{_named(node)} in IN")
        values = self._constants(nodes)
        known = tuple(value for value in values if value is not None)
        test = Test(column, "in", known)
        return test if len(known) == len(values) else either([test, None])

    def _tested(self, node: Node) -> str:
        if node["class"] != "COLUMN_REF":
            _unsupported(f"{_named(node)} where a column is expected")
        return self._column(node)

    def _constant(self, node: Node) -> Constant | None:
        return self._constants([node])[0]

    def _constants(self, nodes: Sequence[Node]) -> list[Constant | None]:
        """Values of expressions without columns, as DuckDB evaluates them; None is NULL."""
        statement = self._tree("SELECT 1")
        # Names of their own: DuckDB would call equal values by equal names, and refuse.
        named = [{**node, "alias": f"v{i}"} for i, node in enumerate(nodes)]
        statement["node"]["select_list"] = named
        whole = json.dumps({"error": False, "statements": [statement]})
        try:
            values = self._row("FROM json_execute_serialized_sql(?::VARCHAR)", whole)
        except duckdb.Error as error:
            raise PolicyError(f"query: {_first_line(error)}") from None
        return [None if value is None else _constant_of(value) for value in values]


def _constant_of(value: Any) -> Constant:
    if isinstance(value, bool):
        return Constant("bool", str(value).lower())
    if isinstance(value, int | float | decimal.Decimal):
        return Constant("number", str(value))
    if isinstance(value, datetime.date):  # and times, which are dates
        return Constant("date", str(value))
    if isinstance(value, str):
        return Constant("text", value)
    _unsupported(f"a value of type {type(value).__name__}")


def _is_count(node: Node) -> bool:
    plain = not node.get("filter") and not node.get("distinct")
    return bool(node["class"] == "FUNCTION" and node["function_name"] == "count_star" and plain)


def _is_constant(node: Any) -> bool:
    """Whether an expression mentions neither columns nor subqueries nor parameters."""
    if isinstance(node, list):
        return all(_is_constant(part) for part in node)
    if not isinstance(node, dict):
        return True
    if node.get("class") in {"COLUMN_REF", "SUBQUERY", "STAR", "PARAMETER", "WINDOW", "LAMBDA"}:
        return False
    return all(_is_constant(part) for part in node.values())


def _named(node: Node) -> str:
    """What to call a part of the query in a message."""
    if node["class"] == "FUNCTION":
        name = node["function_name"]
        return SPELLED.get(name, f"{name}()" if name.isidentifier() else name)
    if node["class"] == "COLUMN_REF":
        return f"column {'.'.join(node['column_names'])!r}"
    return str(node["type"]).replace("COMPARE_", "").replace("OPERATOR_", "").replace("_", " ")


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    wrapped = len(lines) > 1 and lines[1].startswith("Error: ")
    return lines[1].removeprefix("Error: ") if wrapped else lines[0]
