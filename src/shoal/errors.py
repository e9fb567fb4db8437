"""Every error Shoal raises on purpose.

::

    ShoalError                  exit code of the CLI
     ├─ InputError         2    a file, a column or a cell is not what it should be
     ├─ PolicyError        2    roles, models, options contradict each other or the table
     ├─ HierarchyError     2    a hierarchy is not a tree, or does not cover the values
     ├─ OutputError        2    the release cannot be written there
     ├─ InfeasibleError    3    no release of this table can satisfy the models: that is proven
     ├─ NotFoundError      4    no release was found that does; there may be one
     ├─ TimeLimitError     6    a query took longer than its time
     └─ VerificationError  1    a release does not satisfy the models it claims

A message is one line (`one_line` sees to it): what was expected, what came, and
how to go on. It shows names and labels that the user declared, never a cell: an
unknown text is told by its place and its length (`unknown`), and the header of a
file that may have none only as far as it was declared (`no_column`).

`ShoalWarning` is what the user should know before the work starts, and no error.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

__all__ = [
    "HierarchyError",
    "InfeasibleError",
    "InputError",
    "NotFoundError",
    "OutputError",
    "PolicyError",
    "ShoalError",
    "ShoalWarning",
    "TimeLimitError",
    "VerificationError",
    "did_you_mean",
    "is_type_name",
    "line_of_name",
    "names_in",
    "nearest",
    "no_column",
    "one_line",
    "problem_in_words",
    "twice",
    "unknown",
]

MARKERS = frozenset(
    ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "-", "--", ".", "*")
)  # fmt: skip
"""Texts that tell nothing of anybody, and much of what is wrong with a column."""
LISTED = 5
UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Controls, marks of direction, halves of characters, separators of lines."""


class ShoalError(Exception):
    """Base of all errors that tell the user something they can act on."""

    exit_code = 2

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))

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

    def __init__(self, message: str = "", places: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.places = tuple(places)
        """Which of the values it was asked to cover it does not: their numbers, no texts."""


class OutputError(ShoalError):
    """The release cannot be written where it was asked for."""


class InfeasibleError(ShoalError):
    """No release of this table can satisfy the models; that is proven."""

    exit_code = 3


class NotFoundError(ShoalError):
    """No release was found that satisfies the models; nobody has proven that there is none."""

    exit_code = 4


class TimeLimitError(ShoalError):
    """A question took longer than it was given."""

    exit_code = 6


class VerificationError(ShoalError):
    """A release does not satisfy the models it claims."""

    exit_code = 1


class ShoalWarning(UserWarning):
    """The work will be done, but not as well as the user may expect."""

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))


def one_line(text: str) -> str:
    """A text as messages show it: what breaks a line or steers a terminal is spelled out.

    Names of columns and files may hold anything.

    >>> one_line("column a" + chr(10) + "b")
    'column a\\nb'
    """
    if text.isprintable():
        return text
    return "".join(
        repr(character)[1:-1] if unicodedata.category(character) in UNSEEN else character
        for character in text
    )


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


def nearest(name: str, names: Iterable[str], alike: float = 0.6) -> str | None:
    """The name that was probably meant: one that begins alike, or differs in few letters.

    >>> nearest("marital", ["age", "marital_stat", "martial_arts"])
    'marital_stat'
    """
    wanted = _folded(name)
    folded = {_folded(other): other for other in names}
    if wanted in folded:
        return folded[wanted]
    begun = [other for other in folded if len(wanted) > 2 and other.startswith(wanted)]
    near = begun or difflib.get_close_matches(wanted, folded, n=1, cutoff=alike)
    return folded[min(near, key=len)] if near else None


def did_you_mean(name: str, names: Iterable[str], alike: float = 0.6) -> str:
    """The end of a message about a name that there is not; empty where none is near."""
    near = nearest(name, names, alike)
    return "" if near is None else f"; did you mean {near!r}?"


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
    if _is_data(names):
        return told + " (does the file lack its header line?)"
    if like:
        return told
    # Where no name that was declared is there, the header may be a record: be surer then.
    return told + did_you_mean(name, names, alike=0.6 if known else 0.8)


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


def line_of_name(text: str, names: Sequence[str]) -> str:
    """Where the innermost name stands in the file: ``, line 7``, or nothing."""
    for name in reversed(names):
        pattern = rf"^\s*\[?\s*(?:[\w\"']+\.)?[\"']?{re.escape(name)}[\"']?\s*(?:=|\.|\])"
        if found := re.search(pattern, text, flags=re.MULTILINE):
            return f", line {text.count(chr(10), 0, found.start() + 1) + 1}"
        if name in text:
            return f", line {text.count(chr(10), 0, text.index(name)) + 1}"
    return ""


def is_type_name(part: object) -> bool:
    """Union branches appear in pydantic's locations; users never wrote them."""
    return part in {"int", "float", "str", "list[str]"} or str(part).startswith("dict[")


def names_in(problem: Mapping[str, Any]) -> list[str]:
    """Names of the first offending setting, outermost first."""
    names = [part for part in problem["loc"] if isinstance(part, str) and not is_type_name(part)]
    if not names and (quoted := re.search(r"'([^']+)'", problem["msg"])):
        names = [quoted[1]]
    return names


def problem_in_words(
    problem: Mapping[str, Any], unknown: Callable[[str], str], secret: Collection[str] = ()
) -> str:
    """One line of a problem that pydantic found: which setting, what was expected, what came.

    `unknown` says so of a name; of `secret` settings it is not told what came.
    """
    where = ".".join(str(part) for part in problem["loc"] if not is_type_name(part))
    if problem["type"] == "extra_forbidden":
        return unknown(where)
    if problem["type"] == "value_error":
        reason = str(problem["ctx"]["error"])
        return f"{where}: {reason}" if where else reason
    if problem["type"] == "missing":
        return f"{where}: expected, and not given"
    expected = problem["msg"].removeprefix("Input should be ").removeprefix("a valid ")
    hidden = problem["loc"][0] in secret
    came = type(problem["input"]).__name__ if hidden else repr(problem["input"])
    return f"{where}: expected {expected}; got {came}"
