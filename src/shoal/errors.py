"""Every error Shoal raises on purpose.

::

    ShoalError                  exit code of the CLI
     ├─ InputError         2    a file, a column or a cell is not what it should be
     ├─ PolicyError        2    roles, models, options contradict each other or the table
     ├─ HierarchyError     2    a hierarchy is not a tree, or does not cover the values
     ├─ OutputError        2    the release cannot be written there
     ├─ InfeasibleError    3    no release of this table can satisfy the models
     └─ VerificationError  1    a release does not satisfy the models it claims

A message is one line: what was expected, what came, and how to go on. It shows
names and labels that the user declared, never a cell: an unknown text is told
by its place and its length (`unknown`), and the header of a file that may have
none only as far as it was declared (`no_column`). The one exception is the
value that makes a table ineligible for l-diversity, which names no person.

`ShoalWarning` is what the user should know before the work starts, and no error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

__all__ = [
    "HierarchyError",
    "InfeasibleError",
    "InputError",
    "OutputError",
    "PolicyError",
    "ShoalError",
    "ShoalWarning",
    "VerificationError",
    "no_column",
    "twice",
    "unknown",
]

MARKERS = frozenset(
    ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "-", "--", ".", "*")
)  # fmt: skip
"""Texts that tell nothing of anybody, and much of what is wrong with a column."""
LISTED = 5


class ShoalError(Exception):
    """Base of all errors that tell the user something they can act on."""

    exit_code = 2

    @property
    def __context__(self) -> None:
        """Nothing: what we caught before (Arrow's, csv's, pydantic's) may quote a row.

        Loggers and crash reporters walk this chain, also behind ``from None``.
        """
        return

    @__context__.setter
    def __context__(self, cause: BaseException | None) -> None:
        """Not kept; `contextlib.ExitStack` sets it on every error that passes through it."""


class InputError(ShoalError):
    """A file, a column or a cell is not what it should be."""


class PolicyError(ShoalError):
    """Roles, models or options contradict each other or the table."""


class HierarchyError(ShoalError):
    """A hierarchy is not a tree, or does not cover the values of its column."""


class OutputError(ShoalError):
    """The release cannot be written where it was asked for."""


class InfeasibleError(ShoalError):
    """No release of this table can satisfy the models."""

    exit_code = 3


class VerificationError(ShoalError):
    """A release does not satisfy the models it claims."""

    exit_code = 1


class ShoalWarning(UserWarning):
    """The work will be done, but not as well as the user may expect."""


def unknown(texts: Collection[str]) -> str:
    """Texts that nobody declared, as a message may tell them: by their lengths.

    >>> unknown(["Nils", "NA", "Ada"])
    "'NA', texts of 3 and 4 characters"
    """
    shown = [repr(text) for text in sorted(texts) if text in MARKERS][:LISTED]
    strange = [text for text in texts if text not in MARKERS]
    if strange:
        lengths = sorted({len(text) for text in strange})
        *most, last = [*map(str, lengths[:LISTED]), *["more"][: len(lengths) > LISTED]]
        sizes = f"{', '.join(most)} and {last}" if most else last
        word = "texts" if len(strange) > 1 else "a text"
        shown.append(f"{word} of {sizes} character{'s' if sizes != '1' else ''}")
    return ", ".join(shown)


def no_column(name: str, names: Sequence[str], declared: Collection[str], what: str) -> str:
    """That a table has no such column, and what it has, as far as that was declared.

    The header of a file without one is its first record: names that nobody declared are counted.
    """
    known = [known for known in names if known in set(declared)]
    like = [other for other in names if _folded(other) == _folded(name)]
    others = len(names) - len(known) - len(like)
    has = [*known, *(f"{other!r}, spelled so" for other in like)]
    if others:
        has.append(f"{others} {'other' if has else 'column'}{'s' if others > 1 else ''}")
    told = f"{what} has no column {name!r}; it has {', '.join(has) or 'none'}"
    return told + (" (does the file lack its header line?)" if _is_data(names) else "")


def _folded(name: str) -> str:
    return "".join(name.split()).casefold()


def _is_data(names: Sequence[str]) -> bool:
    """Whether what should be names looks like a record."""
    return any(name.strip().lstrip("+-").replace(".", "", 1).isdigit() for name in names)


def twice(names: Sequence[str]) -> str | None:
    """Which columns have the same name, by their places; None if all differ."""
    name, count = next(iter(Counter(names).most_common(1)), ("", 0))
    if count < 2:
        return None
    places = [str(place) for place, other in enumerate(names, start=1) if other == name]
    *most, last = places[:LISTED]
    hint = " (does the file lack its header line?)" if _is_data(names) else ""
    return f"column names must differ; columns {', '.join(most)} and {last} have the same{hint}"
