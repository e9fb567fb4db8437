"""How many people of the population can be in each class: counted, or estimated."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, PolicyError
from shoal.policy import Policy
from shoal.risks.places import placed
from shoal.risks.subject import Subject, numbers_of, table_of

__all__ = ["Population", "population_of"]


@dataclass(frozen=True, eq=False)
class Population:
    """F of every class, and how it is known."""

    people: NDArray[Any]
    how: str
    """``counted``, ``weights`` or ``fraction``."""
    fraction: float
    """Records of the table a head of the population."""
    unknown: tuple[str, ...] = ()
    """Quasi-identifiers that the population's table does not have: F is too large then."""

    @property
    def estimated(self) -> bool:
        return self.how != "counted"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        told: dict[str, Any] = {"people": self.how, "sampling_fraction": round(self.fraction, 9)}
        return {**told, "without": list(self.unknown)} if self.unknown else told


def population_of(
    subject: Subject,
    population: Any = None,
    counts: str | None = None,
    fraction: float | str | None = None,
    weights: str | None = None,
    policy: Policy | None = None,
) -> Population | None:
    """F of every class from a table of people or of counts, from weights, or from a fraction.

    Parameters
    ----------
    subject
        The table whose classes are meant.
    population
        A table of the population, a record a person; or of counts.
    counts
        The column of `population` that says how many people a row stands for.
    fraction
        Share of the population that is in the table.
    weights
        A column of the subject's own table: how many people a record stands for.
    policy
        How files and numbers are written, where somebody said so.
    """
    given = [name for name, value in
             [("population", population), ("fraction", fraction), ("weights", weights)]
             if value is not None]  # fmt: skip
    if len(given) > 1:
        raise PolicyError(f"{given[0]} and {given[1]}: expected one of them; got both")
    if counts is not None and population is None:
        raise PolicyError("counts: expected with population only: the column that counts people")
    policy = Policy.parse() if policy is None else policy
    if population is not None:
        return _counted(subject, population, counts, policy)
    if weights is not None:
        return _weighted(subject, weights, policy.decimal)
    return _by_fraction(subject, fraction) if fraction is not None else None


def _counted(subject: Subject, data: Any, counts: str | None, policy: Policy) -> Population:
    table = table_of(data, subject.source.about.missing, "population", policy)
    heads = None
    if counts is not None:
        numbers = numbers_of(table, counts, "population", policy.decimal)
        heads = numbers.astype(np.int64)
        if (heads != numbers).any():
            raise InputError(f"population: column {counts!r}: expected whole numbers of people")
    total = table.num_rows if heads is None else int(heads.sum())
    if total < int(subject.sizes.sum()):
        raise InputError(
            f"population: has {total:,} people, fewer than the {int(subject.sizes.sum()):,} of "
            "the table; expected the people the table is a part of"
        )
    known = [name for name in subject.qi if name in table.column_names]
    if not known:
        raise InputError("population: has none of the quasi-identifiers; are its columns named so?")
    ids, count = subject.classes
    people = placed(subject.source, ids, count, table, known).people(heads)
    people = people if heads is None else np.rint(people).astype(np.int64)
    few = int(np.count_nonzero(people < subject.sizes))
    if few:
        raise InputError(
            f"population: {few:,} of {count:,} classes have more records than people who can be "
            "in them; expected a population that the table is a part of, with values in one form"
        )
    unknown = tuple(name for name in subject.qi if name not in known)
    return Population(people, "counted", int(subject.sizes.sum()) / total, unknown)


def _weighted(subject: Subject, weights: str, decimal: str | None) -> Population:
    numbers = numbers_of(subject.table, weights, "weights", decimal)
    if (numbers < 1).any():
        raise InputError(f"weights: column {weights!r}: a record stands for itself at least: 1")
    ids, count = subject.classes
    people = np.maximum(np.bincount(ids, numbers, minlength=count), subject.sizes)
    return Population(people, "weights", subject.table.num_rows / float(numbers.sum()))


def _by_fraction(subject: Subject, given: float | str) -> Population:
    expected = "expected a number above 0 and at most 1"
    try:
        fraction = Fraction(str(given))
    except (ValueError, ZeroDivisionError):
        raise PolicyError(f"fraction: {expected}; got {given}") from None
    if not 0 < fraction <= 1:
        raise PolicyError(f"fraction: {expected}; got {given}")
    people = subject.sizes * fraction.denominator / fraction.numerator
    return Population(people, "fraction", float(fraction))
