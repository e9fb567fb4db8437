"""Where a table is: in a file, or in a database, which is named by its address (a URL).

An address holds a user and a password. Nothing that is shown, logged or kept is made of
them: `str` of an address is what others may see.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote

from shoal.errors import InputError

__all__ = ["Address", "Place", "address_of", "hidden", "place_of", "without_credentials"]

SCHEMES = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "sqlite": "sqlite",
    "duckdb": "duckdb",
}
"""What an address may begin with, and the database it means."""
BEGIN = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
LOST_SLASH = re.compile(r"(?:postgres|postgresql|sqlite|duckdb):/(?!/)")
CREDENTIALS = re.compile(r"\b(postgres|postgresql|sqlite|duckdb)(:/+)[^\n]*@")
"""Up to the last @: a password may hold anything, and too much hidden harms nobody."""
PASSWORD = re.compile(r"(?i)\b(password|passfile|sslpassword)=[^&\s'\"]*")
EXPECTED = (
    "expected postgresql://user@host/database?table=NAME, sqlite:///file.db?table=NAME or "
    "duckdb:///file.duckdb?table=NAME; ?query=SELECT... reads what a query gives"
)
ENCODE = "characters of a user, password or name such as : / ? # @ % are written as %3A %2F %3F ..."


@dataclass(frozen=True, repr=False)
class Address:
    """A table of a database, or what a query gives."""

    scheme: str
    """``postgresql``, ``sqlite`` or ``duckdb``."""
    reach: str = field(repr=False)
    """What the driver needs: a file name, or a URL with user and password."""
    shown: str
    """The database as others may see it."""
    schema: str | None = None
    table: str | None = None
    query: str | None = None

    def __str__(self) -> str:
        """Without user, password and the query's text, which may quote a cell."""
        return f"{self.shown}?{f'table={self.full_name}' if self.table else 'query=...'}"

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    @property
    def full_name(self) -> str:
        """The table with its schema, if one was named."""
        return f"{self.schema}.{self.table}" if self.schema else self.table or "query"

    @property
    def name(self) -> str:
        """What local files that belong to it are named after."""
        return re.sub(r"[^\w.-]+", "_", self.full_name).lstrip(".") or "table"

    @property
    def file(self) -> Path | None:
        """The file of a database that is one."""
        return None if self.scheme == "postgresql" else Path(self.reach)

    def with_name(self, name: str) -> Path:
        """A local file that belongs to it: in the working folder."""
        return Path(name)

    @property
    def for_record(self) -> str:
        """With the query's text: for the private record."""
        return f"{self.shown}?query={self.query}" if self.query else str(self)


Place: TypeAlias = Path | Address
"""Where a table is read from or written to."""


def place_of(data: str | Path | Address) -> Place:
    """A database's table, if a name is an address; else a file."""
    return address_of(data) or Path(data)  # type: ignore[arg-type]


def address_of(data: Any) -> Address | None:
    """The address that a name is; None where it is none.

    Raises
    ------
    InputError
        It begins as an address and is none. The message quotes nothing of it.
    """
    if isinstance(data, Address):
        return data
    if isinstance(data, Path) and LOST_SLASH.match(str(data)):
        raise InputError("the address of a database is a text, not a Path, which loses a slash")
    begun = BEGIN.match(data) if isinstance(data, str) else None
    if begun is None:
        return None
    scheme = SCHEMES.get(begun[1].lower())
    if scheme is None:
        raise InputError(f"{begun[1]}://: no database that is known; {EXPECTED}")
    where, _, settings = data[begun.end() :].partition("?")
    given, others = _settings(scheme, settings)
    return (_server if scheme == "postgresql" else _file)(scheme, where, given, others)


def _settings(scheme: str, text: str) -> tuple[dict[str, str], list[str]]:
    """The table or query that is asked for, and what is left to the driver."""
    given: dict[str, str] = {}
    asked = re.search(r"(?:^|&)query=", text)
    before = text if asked is None else text[: asked.start()]
    if asked is not None:  # to the end: a query may hold & itself
        given["query"] = unquote(text[asked.end() :])
    others = []
    for part in filter(None, before.split("&")):
        name, _, value = part.partition("=")
        if name == "table":
            given["table"] = unquote(value)
        else:
            others.append(part)
    if len(given) != 1 or not next(iter(given.values())).strip():
        raise InputError(f"the address of a database ({scheme}): {EXPECTED}; {ENCODE}")
    return given, others


def _server(scheme: str, where: str, given: dict[str, str], others: list[str]) -> Address:
    """A PostgreSQL: host and database may be seen, the rest may not."""
    authority, _, database = where.partition("/")
    hosts = authority.rpartition("@")[2]
    plain = all(
        re.fullmatch(r"(\[[0-9A-Fa-f:.%]+\]|[^:\[\]]*)(:\d*)?", host) for host in hosts.split(",")
    )
    if not plain or re.search(r"[#@/]", database) or re.search(r"[#?]", authority):
        raise InputError(f"the address of a database ({scheme}): cannot be read; {ENCODE}")
    settings = f"?{'&'.join(others)}" if others else ""
    schema, _, table = given.get("table", "").rpartition(".")
    return Address(
        scheme,
        f"postgresql://{authority}/{database}{settings}",
        f"postgresql://{hosts}/{database}",
        schema or None,
        table or None,
        given.get("query"),
    )


def _file(scheme: str, where: str, given: dict[str, str], others: list[str]) -> Address:
    """SQLite and DuckDB: a file, whose name follows three slashes."""
    if not where.startswith("/") or not where[1:] or others:
        raise InputError(f"the address of a database ({scheme}): {EXPECTED}")
    name = unquote(where[1:])
    if name == ":memory:" or "\0" in name:
        raise InputError(f"the address of a database ({scheme}): expected the name of a file")
    schema, table = "", given.get("table", "")
    if scheme == "duckdb":
        schema, _, table = table.rpartition(".")
    shown = f"{scheme}:///{name}"
    return Address(scheme, name, shown, schema or None, table or None, given.get("query"))


def without_credentials(words: list[str]) -> list[str]:
    """A command line as it may be kept: addresses without user and password."""
    return [_safe(word) for word in words]


def _safe(word: str) -> str:
    if not BEGIN.search(word):
        return word
    option, equals, rest = word.partition("=") if word.startswith("-") else ("", "", word)
    try:
        address = address_of(rest)
    except InputError:
        return f"{option}{equals}(an address)"
    return f"{option}{equals}{address.for_record}" if address is not None else "(an address)"


def hidden(text: str) -> str:
    """A message as it may be shown: without the user and password of an address in it.

    Commands that read files only take an address for the name of a file, and name it.

    >>> hidden("postgresql:/me:secret@host/db?table=t: no such file")
    'postgresql:/...@host/db?table=t: no such file'
    """
    return PASSWORD.sub(r"\1=...", CREDENTIALS.sub(r"\1\2...@", text))
