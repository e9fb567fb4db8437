"""Slow twins of attacks, from their definitions: people and records one by one."""

from __future__ import annotations

import math
from fractions import Fraction


def believed(prior, people, members, rounds, sweeps):
    """DeFinetti's beliefs.

    ``prior[i][v]``: records with value v that person i can be; ``people[i]``: bins of the
    quasi-identifiers; ``members``: pairs of a class's people and its counts of values.
    """
    values = range(len(prior[0]))
    belief = [normalised(row) for row in prior]
    for _ in range(rounds):
        found = []
        for i, person in enumerate(people):
            weights = []
            for v in values:
                chance = prior[i][v]
                for a, value in enumerate(person):
                    size = 1 + max(other[a] for other in people)
                    with_v = sum(row[v] for row in belief)
                    alike = sum(
                        row[v] for row, other in zip(belief, people, strict=True)
                        if other[a] == value
                    )  # fmt: skip
                    chance *= (alike + 1 / size) / (with_v + 1)
                weights.append(chance)
            found.append(normalised(weights))
        belief = found
        for _ in range(sweeps):
            for rows, counts in members:
                sums = [math.fsum(belief[i][v] for i in rows) for v in values]
                for i in rows:
                    belief[i] = normalised(
                        [b * c / s if s else 0.0
                         for b, c, s in zip(belief[i], counts, sums, strict=True)]
                    )  # fmt: skip
    return belief


def normalised(weights):
    total = math.fsum(weights)
    return [weight / total for weight in weights] if total else [0.0 for _ in weights]


def linked_by_mistaken(boxes, sizes, true, wrong):
    """The chance to take a person's record, who is any of those that fit the truth."""
    right = 0.0
    for truth, belief in zip(true, wrong, strict=True):
        own = sum(n for box, n in zip(boxes, sizes, strict=True) if within(box, truth))
        fits = sum(n for box, n in zip(boxes, sizes, strict=True) if within(box, belief))
        both = sum(
            n for box, n in zip(boxes, sizes, strict=True)
            if within(box, belief) and within(box, truth)
        )  # fmt: skip
        if fits:
            right += both / own / fits
    return right


def right_without(boxes, values, folds, people, truth, learnt):
    """How many are guessed by who learns from other folds than that of their record's class.

    ``boxes``, ``values`` and ``folds`` are of records; ``learnt(rows)`` gives who guesses.
    """
    right = 0.0
    for person, true in zip(people, truth, strict=True):
        mine = [i for i, box in enumerate(boxes) if within(box, person)]
        every = range(len(boxes))
        left = [[j for j in every if folds[j] != folds[i]] for i in mine] or [list(every)]
        told = [learnt([(boxes[j], values[j]) for j in rows])(person) == true for rows in left]
        right += sum(told) / len(told)
    return right


def within(box, person):
    """Whether each value is in its cell: a pair of ends, or a set."""
    return all(
        value in cell if isinstance(cell, frozenset) else cell[0] <= value <= cell[1]
        for cell, value in zip(box, person, strict=True)
    )


def cell(text):
    """A released interval of whole numbers as its ends, anything else as a set."""
    text = str(text)
    if text.startswith("{"):
        return frozenset(text.strip("{}").split(","))
    ends = text.strip("[]").split(",")
    return (int(ends[0]), int(ends[-1])) if ends[0].isdigit() else frozenset([text])


def in_two_tables(records, groups, told):
    """What a person is expected to have, by the records that look like him: a share a value.

    ``records`` are quasi-identifiers, ``groups`` the group of each, ``told[group]`` its values.
    """

    def expected(person):
        shares = {}
        for record, group in zip(records, groups, strict=True):
            for value in told[group] if record == person else ():
                shares[value] = shares.get(value, Fraction(0)) + Fraction(1, len(told[group]))
        return shares

    return expected
