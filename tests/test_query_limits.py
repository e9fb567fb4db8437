"""A query from anybody: listed functions only, a time limit, and planning that stays linear."""

from __future__ import annotations

import json

import duckdb
import pyarrow as pa
import pytest

import shoal
from command import shoal as command
from shoal.errors import PolicyError, TimeLimitError
from shoal.recipient import deadline as clock
from shoal.recipient import query
from shoal.recipient.constants import ALLOWED

TABLE = pa.table({"age": ["[0,99]", "[3,30]", "5"] * 10, "sex": ["{F,M}", "F", "M"] * 10})
KNOWN = {"qi": ["age", "sex"], "kind": {"age": "numeric"}}


def ask(where: str, **more: object) -> tuple[float, int, int]:
    got = query(TABLE, f"SELECT count(*) FROM t WHERE {where}", **KNOWN, **more)
    return got.expected, got.lower, got.upper


def dangerous() -> list[str]:
    """Every function of this DuckDB that takes one or two values and is not on the list."""
    with duckdb.connect() as connection:
        found = connection.execute(
            "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'scalar' "
            "AND len(parameters) BETWEEN 1 AND 2 ORDER BY 1"
        ).fetchall()
    return [name for (name,) in found if name.isidentifier() and name not in ALLOWED]


def test_no_other_function_reaches_the_database():
    refused = 0
    for name in [*dangerous()[::12], "sleep_ms", "repeat", "getenv", "read_text"]:
        for arguments in ("'x'", "3, 3"):
            with pytest.raises(PolicyError) as caught:
                ask(f"sex = {name}({arguments})")
            assert "supported" in str(caught.value) or "syntax error" in str(caught.value)
            refused += 1
    assert refused > 30


@pytest.mark.parametrize(
    ("where", "same"),
    [
        ("age < 2 * 10 + 1", "age < 21"),
        ("age < abs(-20)", "age < 20"),
        ("age < CAST('20' AS INT)", "age < 20"),
        ("sex = upper('f')", "sex = 'F'"),
        ("age IN (1 + 1, 3, 2 + 2)", "age IN (2, 3, 4)"),
    ],
)
def test_values_may_be_computed(where, same):
    assert ask(where) == ask(same)


def test_dates_may_be_computed():
    table = pa.table({"d": ["2024-01-05", "2024-02-05"]})
    for value in ("DATE '2024-01-01' + 30", "DATE '2024-02-01' - INTERVAL 1 DAY"):
        got = query(table, f"SELECT count(*) FROM t WHERE d <= {value}")
        assert (got.lower, got.upper) == (1, 1)


def test_the_time_is_a_limit(monkeypatch):
    moments = iter(range(0, 10**9, 30))
    monkeypatch.setattr(clock.time, "monotonic", lambda: float(next(moments)))
    with pytest.raises(TimeLimitError, match="no answer within 60 seconds") as caught:
        ask("age = 1")
    assert caught.value.exit_code == 6
    assert ask("age = 1", time="10h")[1:] == (0, 10)


def test_the_database_is_interrupted():
    """A count that takes long: a million combinations of cells, stopped in the midst of it."""
    limit = clock.Deadline(0.05)
    with duckdb.connect() as connection, pytest.raises(TimeLimitError), limit.watching(connection):
        connection.execute("SELECT sum(a.i * b.i) FROM range(1000000) a(i), range(1000000) b(i)")


def test_a_time_that_is_none():
    for time in ("soon", 0, -1):
        with pytest.raises(PolicyError, match="time: expected a time such as"):
            ask("age = 1", time=time)


def test_the_command_has_a_time_and_an_exit_code(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text('age,sex\n"[20,29]",F\n*,M\n', encoding="utf-8")
    sql = "SELECT count(*) FROM r WHERE age < 25"
    assert command("query", path, sql, "--qi", "age", "--time", "5m").code == 0
    done = command("query", path, sql, "--qi", "age", "--time", "0.000001s")
    assert (done.code, done.out) == (6, "")
    assert done.err.startswith("shoal: query: no answer within")
    assert len(done.err.splitlines()) == 1
    assert command("query", path, sql, "--time", "soon").code == 2


def counted_statements(monkeypatch) -> list[str]:
    """What is sent to the database, noted."""
    from shoal.recipient import constants

    sent: list[str] = []
    before = constants.one_row
    monkeypatch.setattr(
        constants, "one_row", lambda c, d, sql, p: (sent.append(sql), before(c, d, sql, p))[1]
    )
    return sent


def test_long_conditions_take_few_statements(monkeypatch):
    sent = counted_statements(monkeypatch)
    assert ask(" AND ".join(f"age <> {i}" for i in range(3000)))[1] == 0
    assert sent == []  # literals are read as they are written
    assert ask(" AND ".join(f"age <> {i} + 1" for i in range(3000)))[2] == 20
    assert len(sent) == 6


FEW = ", ".join(map(str, range(100)))
MANY = ", ".join(map(str, range(20_000)))


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        (" AND ".join(f"age > {i}" for i in range(-3000, 4)), "age > 3"),
        (" OR ".join(f"age = {i}" for i in range(3000)), f"age IN ({FEW})"),
        (f"age IN ({MANY})", f"age IN ({FEW})"),
        (" AND ".join(f"(age <> {i} OR sex = 'F')" for i in range(500, 900)), "true"),
    ],
)
def test_long_conditions_are_answered_as_short_ones(asked, same):
    """Parts on one column are one part to the planner, however many they are."""
    assert ask(asked) == pytest.approx(ask(same))


def test_conditions_nested_deep_end_in_one_line():
    assert ask("NOT (" * 200 + "age = 5" + ")" * 200)[1:] == (10, 30)
    for depth in (400, 5000):
        asked = "(age = 1 AND (sex = 'F' OR " * depth + "age = 5" + "))" * depth
        with pytest.raises(PolicyError):
            ask(asked)


def test_numbers_of_any_length_are_read_as_written():
    long = 10**60
    table = pa.table({"n": [str(long), str(long + 1)]})
    for asked, count in ((f"n = {long + 1}", 1), (f"n < {long + 1}", 1), ("n < 1e400", 2)):
        got = query(table, f"SELECT count(*) FROM t WHERE {asked}")
        assert (got.lower, got.upper) == (count, count)


def test_json_of_an_answer_with_time(tmp_path):
    release = shoal.anonymize(shoal.datasets.census(200), qi=["age"], k=5, rest="drop")
    path = release.write(tmp_path / "r.csv")
    done = command("query", path, "SELECT age, count(*) FROM r GROUP BY age", "--json")
    found = json.loads(done.out)
    assert found["lower"] == found["upper"] == 200
    assert sum(row["expected"] for row in found["groups"]) == pytest.approx(200)
