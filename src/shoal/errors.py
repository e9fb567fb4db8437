"""Every error Shoal raises on purpose.

::

    ShoalError                  exit code of the CLI
     ├─ InputError         2    a file, a column or a cell is not what it should be
     ├─ PolicyError        2    roles, models, options contradict each other or the table
     ├─ HierarchyError     2    a hierarchy is not a tree, or does not cover the values
     ├─ OutputError        2    the release cannot be written there
     ├─ InfeasibleError    3    no release of this table can satisfy the models
     └─ VerificationError  1    a release does not satisfy the models it claims

A message is one line: what was expected, what came, and how to go on. It never
contains a cell of a sensitive or identifier column; the one exception is the
value that makes a table ineligible for l-diversity, which names no person.

`ShoalWarning` is what the user should know before the work starts, and no error.
"""

from __future__ import annotations

__all__ = [
    "HierarchyError",
    "InfeasibleError",
    "InputError",
    "OutputError",
    "PolicyError",
    "ShoalError",
    "ShoalWarning",
    "VerificationError",
]


class ShoalError(Exception):
    """Base of all errors that tell the user something they can act on."""

    exit_code = 2


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
