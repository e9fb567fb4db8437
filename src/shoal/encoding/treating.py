"""Treated columns: numbers that are no quasi-identifier, made coarser before they go out.

Top and bottom codes, rounded and noisy values are made before anything else looks at the
column, so that models, risk and attacks see what is published. Means of neighbours
(`averaged`) need the classes, and are made when these are known.

Values are exact (whole numbers and fractions). What is drawn comes from the secret seed,
record by record in the order of what records hold: the same records give the same release,
whatever order they come in. Where persons are declared, equal values of one person get one
draw: noise that is drawn again and again averages out. A treated column is written anew, all
of it in one way, so that the form of a cell does not tell whether it was changed; what is
missing is a null.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.draws import Draws
from shoal.encoding.row_order import order_by_content, ranks_of_column
from shoal.encoding.values import amounts_of, distinct_values
from shoal.errors import PolicyError
from shoal.kernels.treating import mdav_line
from shoal.notation import written
from shoal.policy import Policy
from shoal.quantities import exact
from shoal.treatments import Treatment, fewest_at_end, means_of, treatments

__all__ = ["Numbers", "at_end", "averaged", "numbers_in", "seen_before_groups", "treated"]

Rows = NDArray[np.int64]
EXACT_BITS = 50
"""Whole numbers up to 2 to this keep their last digit when a mean or noise is added."""
NOISE_BITS = 53
"""Whole numbers below 2 to this are exact as floats: noise and what it is added to stay there."""
FARTHEST = 10
"""No draw lies so many standard deviations away: the farthest of 53 bits is at 8.7."""
MEAN_DIGITS = 2
"""Digits that a mean has more than the values it is of."""


class Numbers(NamedTuple):
    """The numbers of a column: distinct ones, ascending, and where each record stands."""

    values: tuple[Fraction | int, ...]
    codes: Rows
    """Index into `values` of each record; -1 where missing."""

    @property
    def counts(self) -> Rows:
        """How many records have each value."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))

    def mapped(self, values: Iterable[Fraction | int]) -> Numbers:
        """With another number for each distinct value."""
        return _ascending(list(values), self.codes)


def treated(table: pa.Table, policy: Policy, seed: int) -> pa.Table:
    """The table with its columns treated, but for means inside classes."""
    before = {
        name: [one for one in treatments(texts) if one.how != "micro"]
        for name, texts in policy.treat.items()
        if name in table.column_names
    }
    drawn = any(one.how == "noise" or one.random for steps in before.values() for one in steps)
    order = order_by_content(table) if drawn else None
    persons = _persons(table, policy)
    changed = table
    for name, steps in before.items():
        numbers = numbers_in(table, name, policy)
        for one in steps:
            draws = Draws(seed, name, one, order)
            if persons is not None and order is not None:
                draws = draws.once_for(persons, numbers.codes)
            ends = _Ends(name, fewest_at_end(policy), persons)
            numbers = _treated(numbers, one, ends, draws)
        changed = _with(changed, name, numbers, policy)
    return changed


class _Ends(NamedTuple):
    """Who must stand at the end of a column that is coded by quantile."""

    name: str
    least: int
    """So many records or, where they are declared, persons."""
    persons: Rows | None


def _persons(table: pa.Table, policy: Policy) -> Rows | None:
    if policy.person is None or policy.person not in table.column_names:
        return None
    return distinct_values(table.column(policy.person), policy.missing).codes.astype(np.int64)


def numbers_in(table: pa.Table, name: str, policy: Policy) -> Numbers:
    """The numbers of a column, or an error that names it and shows no cell."""
    distinct = distinct_values(table.column(name), policy.missing, policy.notation.get(name))
    amounts = amounts_of(name, "numeric", distinct)
    values: list[Fraction | int] = [
        exact(amount) if isinstance(amount, float) else amount for amount in amounts.tolist()
    ]
    return _ascending(values, distinct.codes.astype(np.int64))


def _ascending(values: list[Fraction | int], codes: Rows) -> Numbers:
    """Equal values merged, all in ascending order."""
    in_order = sorted(set(values))
    place = {value: number for number, value in enumerate(in_order)}
    index = np.array([*(place[value] for value in values), -1], dtype=np.int64)
    return Numbers(tuple(in_order), index[codes])


def _treated(numbers: Numbers, one: Treatment, ends: _Ends, draws: Draws) -> Numbers:
    if not numbers.values:  # nothing but missing values
        return numbers
    if one.how == "noise":
        return _noisy(numbers, one, ends.name, draws)
    if one.how == "round":
        return _rounded_by_chance(numbers, one, draws) if one.random else _rounded(numbers, one)
    return _clipped(numbers, one, ends)


def _rounded(numbers: Numbers, one: Treatment) -> Numbers:
    """To the nearest multiple; from the middle to the even one."""
    step = one.amount
    return numbers.mapped(_plain(round(Fraction(value) / step) * step) for value in numbers.values)


def _rounded_by_chance(numbers: Numbers, one: Treatment, draws: Draws) -> Numbers:
    """Up as often as the value lies above the multiple below it: the mean stays what it is."""
    step = one.amount
    below = [Fraction(value) // step for value in numbers.values]
    chance = [
        Fraction(value) / step - low for value, low in zip(numbers.values, below, strict=True)
    ]
    least = np.array([min(int(share * 2**64), 2**64 - 1) for share in chance], dtype=np.uint64)
    up = draws.words("up") < least[np.maximum(numbers.codes, 0)]
    both = [_plain(low * step) for low in below] + [_plain((low + 1) * step) for low in below]
    codes = np.where(numbers.codes < 0, -1, numbers.codes + up * len(below))
    return _in_use(_ascending(both, codes))


def _clipped(numbers: Numbers, one: Treatment, ends: _Ends) -> Numbers:
    """Values beyond a value, or beyond a quantile, become it."""
    end = _plain(one.amount)
    if one.share:
        end = _quantile(numbers, one, ends)
    nearer = min if one.how == "top" else max
    return numbers.mapped(nearer(value, end) for value in numbers.values)


def _quantile(numbers: Numbers, one: Treatment, ends: _Ends) -> Fraction | int:
    """The outermost value such that it and those beyond it make up the share asked for.

    Whoever stands at the end then stands among so many, which can be counted in the release,
    and never among fewer than k: the code is somebody's own value.
    """
    counts = numbers.counts
    enough = _beyond(one, counts) >= at_end(one, int(counts.sum()), ends.least)
    if ends.persons is not None:
        enough &= _beyond(one, _outermost(numbers, one, ends.persons)) >= ends.least
    found = np.flatnonzero(enough)
    if not len(found):
        who = "records" if ends.persons is None else "persons"
        raise PolicyError(
            f"treat of {ends.name!r}: {one} gives {ends.least} {who} or more one value, and "
            f"fewer have any; give a value ({one.how}:VALUE)"
        )
    return numbers.values[int(found[-1 if one.how == "top" else 0])]


def _beyond(one: Treatment, counts: Rows) -> Rows:
    """How many there are at each value and beyond it."""
    return np.cumsum(counts[::-1])[::-1] if one.how == "top" else np.cumsum(counts)


def _outermost(numbers: Numbers, one: Treatment, persons: Rows) -> Rows:
    """How many persons have each value as their outermost."""
    known = numbers.codes >= 0
    codes = numbers.codes[known]
    _, who = np.unique(persons[known], return_inverse=True)
    last = np.full(int(who.max()) + 1, -1 if one.how == "top" else len(numbers.values))
    (np.maximum if one.how == "top" else np.minimum).at(last, who, codes)
    return np.bincount(last, minlength=len(numbers.values))


def at_end(one: Treatment, records: int, least: int) -> int:
    """How many of so many records carry a top or bottom code by quantile, at least."""
    share = 1 - one.amount if one.how == "top" else one.amount
    return max(least, -(-share.numerator * records // share.denominator))


def _noisy(numbers: Numbers, one: Treatment, name: str, draws: Draws) -> Numbers:
    """Normal noise, on the grid of the column's own digits, or of as many as have room for it.

    Beyond 2^53 not every whole number can be drawn: the last digits of a value, or all of
    them where sums do not fit either, would show through.
    """
    digits, _ = _on_grid(numbers)
    known = numbers.codes >= 0
    scale = Fraction(1)
    if one.share:
        own = np.array([float(value) for value in numbers.values])[numbers.codes[known]]
        scale = Fraction(float(own.std()))
    largest = max(numbers.values[-1], -numbers.values[0])
    while (FARTHEST * one.amount * scale + largest) * 10**digits >= 1 << NOISE_BITS:
        if not digits:
            raise PolicyError(
                f"treat of {name!r}: {one} is too much noise to be drawn exactly; expected less"
            )
        digits -= 1
    present = _units(numbers, digits)[numbers.codes[known]]
    deviation = float(one.amount * scale * 10**digits)
    if deviation < 1:
        least = "a digit more" if digits else "1"
        raise PolicyError(
            f"treat of {name!r}: {one} would hardly change a value, as the column's last digit "
            f"counts more; expected {least} at least"
        )
    noise = np.rint(deviation * draws.normal()[known]).astype(np.int64)
    codes = np.full(len(numbers.codes), -1, dtype=np.int64)
    units, codes[known] = np.unique(present + noise, return_inverse=True)
    return Numbers(_off_grid(units, digits), codes)


def averaged(table: pa.Table, qi: Sequence[str], policy: Policy, source: pa.Table) -> pa.Table:
    """A released table with means of neighbours inside its classes, where the policy asks.

    Which of several records with one value fall into which group is decided by all else that
    is published of them, and by whose they are: the `source` says that, where persons are
    declared.
    """
    asked = {n: least for n, least in means_of(policy).items() if n in table.column_names}
    if not asked:
        return table
    persons = _persons(source, policy)
    classes, count = class_ids([ranks_of_column(table.column(n)) for n in qi], table.num_rows)
    place = np.empty(table.num_rows, dtype=np.int64)
    held = table
    if persons is not None:  # else the order of rows could decide whose records make a mean
        held = table.append_column("\0person", source.column(policy.person))
    place[order_by_content(held)] = np.arange(table.num_rows)
    changed = table
    for name, least in asked.items():
        numbers = numbers_in(table, name, policy)
        if numbers.values:
            numbers = _means(numbers, (classes, count), place, least, persons)
        changed = _with(changed, name, numbers, policy)
    return changed


def seen_before_groups(policy: Policy) -> tuple[str, ...]:
    """Plain columns that no mean is taken of: what they tell can be said before the work."""
    means = means_of(policy)
    return tuple(name for name in policy.plain if name not in means)


def _means(
    numbers: Numbers, in_class: tuple[Rows, int], place: Rows, least: int, persons: Rows | None
) -> Numbers:
    """Means of `least` records or more; nothing where a class has fewer that are known."""
    classes, count = in_class
    digits, grid = _on_grid(numbers)
    known = np.flatnonzero(numbers.codes >= 0)
    rows = known[np.lexsort((place[known], numbers.codes[known], classes[known]))]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(classes[known], minlength=count))])
    values = grid[numbers.codes[rows]]
    group = np.empty(len(rows), dtype=np.int64)
    groups = mdav_line(values, offsets.astype(np.int64), least, group)
    if persons is not None:
        group, groups = _of_enough_persons(group, classes[rows], persons[rows], least)
    codes = np.full(len(numbers.codes), -1, dtype=np.int64)
    rows, values, group = rows[group >= 0], values[group >= 0], group[group >= 0]
    if not len(rows):
        return Numbers((), codes)
    sizes = np.bincount(group, minlength=groups)
    low = int(values.min())  # sums of differences stay small
    if (int(values.max()) - low) * int(sizes.max()) >= 1 << 62:
        raise PolicyError("treat: the numbers are too large for exact means; round them instead")
    sums = np.zeros(groups, dtype=np.int64)
    np.add.at(sums, group, values - low)
    finer = 10**MEAN_DIGITS
    whole, rest = np.divmod(sums, sizes)
    means = (whole + low) * finer + np.rint(rest * finer / sizes).astype(np.int64)
    units, of_group = np.unique(means, return_inverse=True)
    codes[rows] = of_group[group]
    return Numbers(_off_grid(units, digits + MEAN_DIGITS), codes)


def _of_enough_persons(group: Rows, classes: Rows, persons: Rows, least: int) -> tuple[Rows, int]:
    """Groups of `least` persons or more, and how many groups there are.

    Neighbours can all be records of one person. A class in which that leaves a group with too
    few is one group; one that has too few altogether is none.
    """
    poor = np.unique(classes[persons_in(group, persons)[group] < least])
    merged = np.where(np.isin(classes, poor), group.max() + 1 + classes, group)
    merged = np.where(persons_in(merged, persons)[merged] < least, -1, merged)
    merged[group < 0] = -1
    used, number = np.unique(merged, return_inverse=True)
    none = int(used[0] == -1)
    return number - none, len(used) - none


def persons_in(group: Rows, persons: Rows) -> Rows:
    """How many persons each group has; of what is in no group (-1), the last says 0."""
    found = np.unique(np.stack([group, persons]), axis=1)[0]
    return np.append(np.bincount(found[found >= 0], minlength=int(group.max(initial=0)) + 1), 0)


def _on_grid(numbers: Numbers) -> tuple[int, Rows]:
    """Decimal digits of a column, as many as stay exact, and its values in units of the last."""
    largest = max(numbers.values[-1], -numbers.values[0])
    digits = 0
    while digits < 18 and any((v * 10**digits).denominator > 1 for v in numbers.values):
        if largest * 10 ** (digits + 1) >= 1 << EXACT_BITS:
            break
        digits += 1
    if largest >= 1 << EXACT_BITS:
        raise PolicyError("treat: numbers beyond 2^50 can be rounded, top and bottom coded only")
    return digits, _units(numbers, digits)


def _units(numbers: Numbers, digits: int) -> Rows:
    return np.array([round(v * 10**digits) for v in numbers.values], dtype=np.int64)


def _off_grid(units: Rows, digits: int) -> tuple[Fraction | int, ...]:
    return tuple(_plain(Fraction(unit, 10**digits)) for unit in units.tolist())


def _plain(value: Fraction) -> Fraction | int:
    return int(value) if value.denominator == 1 else value


def _in_use(numbers: Numbers) -> Numbers:
    """Without values that no record has."""
    used = np.flatnonzero(numbers.counts)
    place = np.full(len(numbers.values) + 1, -1, dtype=np.int64)
    place[used] = np.arange(len(used))
    return Numbers(tuple(numbers.values[i] for i in used), place[numbers.codes])


def _with(table: pa.Table, name: str, numbers: Numbers, policy: Policy) -> pa.Table:
    """The table with these numbers in a column, written as the column was."""
    kind = table.schema.field(name).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    numbers = _in_use(numbers)
    values = _array(numbers.values, kind, policy.notation.get(name))
    column = values.take(pa.array(numbers.codes, mask=numbers.codes < 0))
    return table.set_column(table.column_names.index(name), name, pa.chunked_array([column]))


def _array(values: Sequence[Fraction | int], kind: pa.DataType, notation: str | None) -> pa.Array:
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.array([written(_text(value), notation) for value in values], kind)
    whole = all(isinstance(value, int) for value in values)
    for target in (kind, pa.int64(), pa.decimal128(38, 0)) if whole else ():
        if not pa.types.is_floating(target):
            try:
                return pa.array([int(value) for value in values], pa.decimal128(38, 0)).cast(target)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                continue
    target = kind if pa.types.is_floating(kind) else pa.float64()
    return pa.array([float(value) for value in values], pa.float64()).cast(target, safe=False)


def _text(value: Fraction | int) -> str:
    """A number in digits, without an exponent; no more than a column ever has."""
    if isinstance(value, int):
        return str(value)
    with localcontext() as context:
        context.prec = 400
        number: Any = Decimal(value.numerator) / Decimal(value.denominator)
    return f"{number:f}"
