"""A table for the checks that `shoal sql` prints, and the classes that break them, by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from shoal.recipient.script import check_script

QI = ["age", "Zip code", 'the "best"']
"""Names with a space, a capital and quotes."""
SECRETS = ["ill", "order"]
"""One is a word of SQL."""
COLUMNS = [*QI, *SECRETS]
LEVELS = [(2, 2), (3, 1), (4, 3)]
"""k and l to check."""
Row = tuple[str | None, ...]


def rows() -> list[Row]:
    """Classes of 1 to 4 records; some differ only by a missing value."""
    return [
        ("30", zip_code, f"it's {n}", [None, "flu", "cold"][record % 3], "first"[: 1 + record % n])
        for n in range(1, 5)
        for zip_code in ("8000", None)
        for record in range(n)
    ]


def broken(k: int, distinct: int) -> tuple[set[Row], set[Row]]:
    """The classes that break k, and those that break l; a missing value is a value."""
    classes = defaultdict(list)
    for row in rows():
        classes[row[: len(QI)]].append(row[len(QI) :])
    small = {qi for qi, records in classes.items() if len(records) < k}
    alike = {
        qi
        for qi, records in classes.items()
        if any(len({record[i] for record in records}) < distinct for i in range(len(SECRETS)))
    }
    return small, alike


def assert_finds_what_breaks(
    ask: Callable[[str], Iterable[Any]], dialect: str, table: str = "people"
) -> None:
    """`ask` runs a statement where the table is."""
    for k, distinct in LEVELS:
        small, alike = broken(k, distinct)
        by_k = check_script(table, QI, k, dialect=dialect)
        by_l = check_script(table, QI, None, distinct, SECRETS, dialect=dialect)
        both = check_script(table, QI, k, distinct, SECRETS, dialect=dialect)
        for sql, expected in ((by_k, small), (by_l, alike), (both, small | alike)):
            found = [tuple(row)[: len(QI)] for row in ask(sql)]
            assert len(found) == len(set(found))
            assert set(found) == expected, (dialect, k, distinct)
