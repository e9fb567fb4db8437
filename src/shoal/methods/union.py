"""One quasi-identifier for all readers: the union of what they know.

Paper 003 (Pei, Tao, Li, Xiao, ICDE 2009), section 2.2: a release that is
anonymous on the union of all quasi-identifiers is so on each of them. It is
the baseline that `butterfly` is measured against.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shoal.encoding.table import EncodedTable
from shoal.errors import PolicyError
from shoal.methods import get_method
from shoal.methods.base import Method, Options, Outcome, Run
from shoal.models.base import Model

__all__ = ["Union", "UnionOptions", "inner_method"]

NOT_INSIDE = ("anatomy", "butterfly", "union")
"""Methods that publish two tables, or call another method themselves."""


class UnionOptions(Options):
    """Options of `union`."""

    inner: str = "hilbert"
    """The method that partitions the table on all quasi-identifiers, with its default options."""


class Union(Method):
    """Any method for a single quasi-identifier, run on all attributes.

    The models it is given satisfy every reader at once: the largest k of all.
    """

    name = "union"
    summary = "Several readers: any method on the union of what they know; a baseline."
    promise = (
        "Every reader's models hold, and on the union of all quasi-identifiers too; otherwise "
        "what the inner method promises."
    )
    options = UnionOptions

    def concerns(
        self, table: EncodedTable, models: Sequence[Model], options: Options
    ) -> Sequence[str]:
        """Those of the inner method."""
        assert isinstance(options, UnionOptions)
        inner = inner_method(self.name, options.inner, table, models)
        return inner.concerns(table, models, inner.options())

    def run(
        self, table: EncodedTable, models: Sequence[Model], options: Options, run: Run
    ) -> Outcome:
        """See `Method.run`."""
        assert isinstance(options, UnionOptions)
        inner = inner_method(self.name, options.inner, table, models)
        outcome = inner.run(table, models, inner.options(), run)
        return replace(outcome, facts={"inner": outcome.facts} if outcome.facts else {})


def inner_method(method: str, inner: str, table: EncodedTable, models: Sequence[Model]) -> Method:
    """The method registered as `inner`, or an error that says why it cannot serve inside."""
    found = None if inner in NOT_INSIDE else get_method(inner)
    if found is None:
        raise PolicyError(
            f"option 'inner' of method {method}: expected a method that groups records, such as "
            f"hilbert or mondrian; got {inner!r}"
        )
    if reason := found.refusal(models):
        raise PolicyError(f"method {method}, inner {inner}: {reason}")
    recoding = "suppress" if any(c.suppressed for c in table.qi) else "generalise"
    if recoding not in found.recodings:
        can = " or ".join(found.recodings)
        raise PolicyError(
            f"method {method}, inner {inner}: expected recoding {can}; got {recoding}"
        )
    return found
