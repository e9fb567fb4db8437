"""A connection to whatever an address names, and its errors in our words.

What drivers and servers say is not passed on: it may quote a cell, or the address with its
password. Their codes (SQLSTATE) are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from shoal.errors import InputError, OutputError, ShoalError
from shoal.io.addresses import Address
from shoal.io.databases.base import Connection

__all__ = ["connected", "kind_of"]

BY_CODE = {
    "28": "the server refuses this user or password",
    "3D000": "the server has no such database",
    "3F000": "there is no such schema",
    "42P01": "there is no such table",
    "42501": "this user may not do that",
    "53100": "the disk of the server is full",
    "53200": "the server is out of memory",
    "53300": "the server has too many connections",
    "53": "the server lacks resources",
    "57014": "the server stopped it (a time limit?)",
    "57P": "the server was shut down, or is starting",
    "08": "the connection was lost",
    "22021": "a text holds a character that the database cannot keep, such as a null byte",
    "25006": "the server takes no changes (it is read-only)",
    "2BP01": "other objects, such as views, depend on the earlier release; drop them first",
    "P0001": "a rule or trigger of the database refused it",
    "42": "the server does not understand the query",
}
"""What a code means, or its first characters; the longest that fits counts."""
BY_WORDS = {
    "password authentication failed": BY_CODE["28"],
    "no password supplied": "the server asks for a password",
    "no pg_hba.conf entry": "the server refuses this user from here",
    "does not exist": "there is no such database, user or table",
    "no such table": BY_CODE["42P01"],
    "connection refused": "nobody answers there: is the server running?",
    "could not translate host name": "there is no such host",
    "name or service not known": "there is no such host",
    "timeout expired": "the server does not answer in time",
    "no such file or directory": "nobody answers there: is the server running?",
    "server closed the connection": BY_CODE["08"],
    "terminating connection": BY_CODE["57P"],
    "connection not open": BY_CODE["08"],
    "no connection to the server": BY_CODE["08"],
    "lost synchronization": BY_CODE["08"],
    "eof detected": BY_CODE["08"],
    "connection reset": BY_CODE["08"],
    "no space left": "the disk is full",
    "disk is full": "the disk is full",
    "disk i/o error": "the disk is full, or broken",
    "could not write": "the disk is full, or broken",
    "failed to write": "the disk is full, or broken",
    "readonly database": "the file may not be written",
    "read-only": "the file may not be written",
    "permission denied": BY_CODE["42501"],
    "unable to open database": "the file cannot be opened: is there such a folder?",
    "cannot open file": "the file cannot be opened: is there such a folder?",
    "database is locked": "another program holds the database; try again later",
    "conflicting lock": "another program holds the database; try again later",
    "not a database": "the file is not a database of this kind",
    "not a valid duckdb": "the file is not a database of this kind",
    "malformed": "the file is damaged",
    "type mismatch": "a column mixes values of several types; cast it: ?query=SELECT CAST(...)",
    "no such column": BY_CODE["42"],
    "syntax error": BY_CODE["42"],
    "parser error": BY_CODE["42"],
    "binder error": BY_CODE["42"],
}
"""What a driver's message means, where it has no code: words of it, in small letters."""


@contextlib.contextmanager
def connected(address: Address, writing: bool = False) -> Iterator[Connection]:
    """A connection in a transaction; a file that would be made for nothing is not left behind."""
    path = address.file
    new = writing and path is not None and not path.exists()
    connection: Connection | None = None
    done = False
    try:
        connection = kind_of(address)(address, writing)
        yield connection
        done = True
    except (ShoalError, KeyboardInterrupt, GeneratorExit):
        raise
    except ModuleNotFoundError as error:
        raise _not_installed(address, error) from None
    except Exception as error:
        raise (OutputError if writing else InputError)(f"{address}: {_reason(error)}") from None
    finally:
        if connection is not None:
            connection.close()
        if new and not done and path is not None:
            for ending in ("", "-journal", "-wal", "-shm", ".wal"):
                with contextlib.suppress(OSError):
                    path.with_name(path.name + ending).unlink()


def kind_of(address: Address) -> type[Connection]:
    """The kind of connection that an address asks for, loaded when it is."""
    if address.scheme == "duckdb":
        from shoal.io.databases.duck import DuckDB

        return DuckDB
    from shoal.io.databases.adbc import PostgreSQL, SQLite

    return PostgreSQL if address.scheme == "postgresql" else SQLite


def _not_installed(address: Address, error: ModuleNotFoundError) -> InputError:
    kind = kind_of(address)
    return InputError(
        f"{address}: needs the package {kind.package}, and {error.name} is not installed; "
        f"pip install 'shoal[{kind.extra}]'"
    )


def _reason(error: Exception) -> str:
    """One line of our own about what a driver met."""
    code = getattr(error, "sqlstate", None) or ""
    for length in range(5, 1, -1):
        if code[:length] in BY_CODE:
            return f"{BY_CODE[code[:length]]} (SQLSTATE {code})"
    said = str(error).lower()
    for words, meaning in BY_WORDS.items():
        if words in said:
            return meaning
    return f"the driver reports {type(error).__name__}{f' (SQLSTATE {code})' if code else ''}"
