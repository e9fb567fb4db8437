"""The query, parsed by DuckDB itself: its parse tree into a condition and group columns."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import duckdb

from shoal.errors import PolicyError
from shoal.recipient.aggregates import Aggregate
from shoal.recipient.constants import Constants, Node, first_line, is_constant, one_row
from shoal.recipient.deadline import Deadline
from shoal.recipient.logic import Expression, both, either, negated
from shoal.released.conditions import Constant, Test
from shoal.released.lines import number

__all__ = ["Query", "parse_query"]

SUPPORTED = (
    "supported: SELECT [columns,] count(*) FROM release WHERE ... GROUP BY columns, or "
    "sum, avg, median, quantile_cont(column, 0.9) in place of the count, with "
    "=, <>, <, <=, >, >=, BETWEEN, IN, IS NULL, AND, OR, NOT between a column and values"
)
AGGREGATES = {"count": "count", "sum": "sum", "avg": "avg", "mean": "avg", "median": "quantile"}
COUNT = Aggregate("count")
QUANTILES = {"quantile_cont": True, "quantile": False, "quantile_disc": False}
"""Whether a quantile lies between the two numbers next to it."""
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
CONDITIONS = {"CONJUNCTION", "COMPARISON", "BETWEEN", "OPERATOR"}
PARTS = ("children", "left", "right", "input", "lower", "upper")
"""Where conditions have their parts: others, and the values they compare with."""


@dataclass(frozen=True)
class Query:
    """What is asked: a condition on each record, columns to group by, and of what."""

    where: Expression
    groups: tuple[str, ...] = ()
    aggregate: Aggregate = COUNT


def parse_query(
    sql: str,
    connection: duckdb.DuckDBPyConnection,
    resolve: Callable[[str], str],
    deadline: Deadline,
) -> Query:
    """Parse a counting query; `PolicyError` names what is not supported.

    `resolve` gives the release's own name of a column, or raises.
    """
    try:
        return _Parser(connection, resolve, deadline).query(sql)
    except RecursionError:
        raise PolicyError("query: nested too deep; ask for less at once") from None


def _unsupported(what: str) -> NoReturn:
    raise PolicyError(f"query: {what} is not supported; {SUPPORTED}")


class _Parser:
    """One query. Holds the connection that evaluates its constants, and its table's names."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        resolve: Callable[[str], str],
        deadline: Deadline,
    ) -> None:
        self.connection = connection
        self.resolve = resolve
        self.deadline = deadline
        self.constants = Constants(connection, deadline, self._tree("SELECT 1"))
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
        selected, aggregate = self._select(node["select_list"])
        groups = self._groups(node, selected)
        where = node.get("where_clause")
        if where is None:
            return Query(True, groups, aggregate)
        self.constants.compute(self._computed_values(where))
        return Query(self._condition(where), groups, aggregate)

    def _tree(self, sql: str) -> Node:
        """The parse tree of the one statement."""
        try:
            parse = "SELECT json_serialize_sql(?::VARCHAR)"
            row = one_row(self.connection, self.deadline, parse, sql)
        except duckdb.Error as error:
            raise PolicyError(f"query: {first_line(error)}") from None
        answer: Node = json.loads(row[0] if row else "")
        if answer["error"]:
            raise PolicyError(f"query: {' '.join(answer['error_message'].split())}; {SUPPORTED}")
        if len(answer["statements"]) != 1:
            _unsupported("more than one statement")
        statement: Node = answer["statements"][0]
        return statement

    # FROM, SELECT, GROUP BY

    def _from(self, table: Node) -> None:
        if table["type"] != "BASE_TABLE":
            _unsupported("anything but one table in FROM")
        if table.get("sample"):
            _unsupported("a sample")
        self.table_names = {table["table_name"].lower(), table.get("alias", "").lower()}

    def _select(self, nodes: list[Node]) -> tuple[list[str | None], Aggregate]:
        """Columns of the select list, None in the place of what is counted or summed."""
        selected: list[str | None] = []
        found: list[Aggregate] = []
        for node in nodes:
            if node["class"] == "COLUMN_REF":
                selected.append(self._column(node))
            else:
                selected.append(None)
                found.append(self._aggregate(node))
        if len(found) != 1:
            _unsupported("a SELECT without exactly one count, sum, average or quantile")
        return selected, found[0]

    def _aggregate(self, node: Node) -> Aggregate:
        name = node.get("function_name", "")
        known = name == "count_star" or name in AGGREGATES or name in QUANTILES
        if node["class"] != "FUNCTION" or not known:
            _unsupported(f"{_named(node)} in SELECT")
        if node.get("filter") or node.get("distinct"):
            _unsupported(f"{_named(node)} with FILTER or DISTINCT")
        arguments = _arguments(node)
        if name == "count_star" and not arguments:
            return COUNT
        if not arguments or arguments[0]["class"] != "COLUMN_REF":
            _unsupported(f"{_named(node)} of anything but a column")
        column = self._column(arguments[0])
        if name in QUANTILES:
            share = self._share(node, arguments[1:])
            return Aggregate("quantile", column, share, QUANTILES[name])
        if len(arguments) > 1:
            _unsupported(f"{_named(node)} of several things")
        return Aggregate(AGGREGATES[name], column)

    def _share(self, node: Node, arguments: list[Node]) -> float:
        """The share that a quantile is asked for."""
        constant = self._constant(arguments[0]) if len(arguments) == 1 else None
        share = number(constant.text) if constant is not None else None
        if share is None or not 0 <= share <= 1:
            raise PolicyError(f"query: {_named(node)}: expected a share from 0 to 1, such as 0.9")
        return float(share)

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
        constant = self._constant(node) if is_constant(node) else None
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
        if is_constant(node):
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
        if is_constant(left) and not is_constant(right):
            left, right, op = right, left, MIRRORED.get(op, op)
        column = self._tested(left)
        if not is_constant(right):
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
            if not is_constant(node):
                _unsupported(f"{_named(node)} in IN")
        values = [self._constant(node) for node in nodes]
        known = tuple(value for value in values if value is not None)
        test = Test(column, "in", known)
        return test if len(known) == len(values) else either([test, None])

    def _tested(self, node: Node) -> str:
        if node["class"] != "COLUMN_REF":
            _unsupported(f"{_named(node)} where a column is expected")
        return self._column(node)

    def _constant(self, node: Node) -> Constant | None:
        return self.constants.of(node)

    def _computed_values(self, where: Node) -> list[Node]:
        """Every value of a condition, to be computed together."""
        found: list[Node] = []
        left: list[Any] = [where]
        while left:
            node = left.pop()
            if isinstance(node, list):
                left += node
            elif isinstance(node, dict) and node.get("class") in CONDITIONS:
                left += [node[part] for part in PARTS if part in node]
            elif isinstance(node, dict) and is_constant(node):
                found.append(node)
        return found


def _arguments(node: Node) -> list[Node]:
    """What a function is applied to, the column of WITHIN GROUP first."""
    plain = [child.get("expression", child) for child in node.get("arguments", [])]
    ordered = [order["expression"] for order in (node.get("order_bys") or {}).get("orders") or []
               if order["type"] != "DESCENDING"]  # fmt: skip
    return [*ordered, *plain, *(node.get("children") or [])]


def _named(node: Node) -> str:
    """What to call a part of the query in a message."""
    if node["class"] == "FUNCTION":
        name = node["function_name"]
        if name == "count_star":
            return "count(*)"
        return SPELLED.get(name, f"{name}()" if name.isidentifier() else name)
    if node["class"] == "COLUMN_REF":
        return f"column {'.'.join(node['column_names'])!r}"
    return str(node["type"]).replace("COMPARE_", "").replace("OPERATOR_", "").replace("_", " ")
