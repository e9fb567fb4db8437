"""What the models look at in a group, counted record by record.

A tally counts records and sensitive values; where a person column is declared,
distinct persons and distinct (person, value) pairs. Records are only ever
added: whoever takes one away counts anew. Marks carry the number of the tally
that set them, so that a new one begins without wiping anything.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import inner_borrowed
from shoal.kernels.rules import SIZE, Rules, holds

COUNT, TOUCHED, STAMP = 0, 1, 2


class Secrets(NamedTuple):
    """Sensitive values and persons of the records, and what must hold in every group."""

    rules: Rules
    plain: bool  # the rules look at the number of records only
    value: np.ndarray  # int64 (n, s): index into the histogram of all columns
    person: np.ndarray  # int64 (n,), or empty
    pair: np.ndarray  # int64 (n, s): number of the (person, value) pair, or empty
    kind_of: np.ndarray  # int64 (n,): records of equal number can stand for each other in any group


class Tally(NamedTuple):
    """Counts of one group at a time."""

    number: np.ndarray  # int64 (3,): members, touched values, stamp
    histogram: np.ndarray  # int64
    touched: np.ndarray  # int64: which entries of the histogram are not zero
    person_mark: np.ndarray  # int64
    pair_mark: np.ndarray  # int64


def secrets_of(rules, values, person=None):
    """`Secrets` of a table: rules, sensitive codes (n, s) and person codes, if declared."""
    plain = person is None and bool((rules.kind == SIZE).all())
    n = len(values)
    value = values.astype(np.int64) + rules.start[:-1][None, :]
    none = np.zeros(0, dtype=np.int64)
    if person is None:
        return Secrets(
            rules, plain, value, none, np.zeros((0, 0), dtype=np.int64), _equal_rows(value)
        )
    pair = np.zeros(value.shape, dtype=np.int64)
    first = 0
    for s in range(value.shape[1]):
        key = person.astype(np.int64) * (int(value.max()) + 1) + value[:, s]
        unique, inverse = np.unique(key, return_inverse=True)
        pair[:, s] = first + inverse.reshape(n)
        first += len(unique)
    return Secrets(
        rules,
        plain,
        value,
        person.astype(np.int64),
        pair,
        _equal_rows(np.column_stack([person, pair])),
    )


def _equal_rows(columns):
    """Equal numbers for equal rows."""
    kind_of = np.zeros(len(columns), dtype=np.int64)
    for s in range(columns.shape[1]):
        key = kind_of * (int(columns[:, s].max(initial=0)) + 1) + columns[:, s]
        kind_of = np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return kind_of


def new_tally(secrets):
    """Room to count with."""
    domain = int(secrets.rules.start[-1])
    return Tally(
        np.zeros(3, dtype=np.int64),
        np.zeros(domain, dtype=np.int64),
        np.zeros(domain, dtype=np.int64),
        np.zeros(int(secrets.person.max(initial=-1)) + 1, dtype=np.int64),
        np.zeros(int(secrets.pair.max(initial=-1)) + 1, dtype=np.int64),
    )


@inner_borrowed
def clear_tally(tally):
    """Begin a new group."""
    for j in range(tally.number[TOUCHED]):
        tally.histogram[tally.touched[j]] = 0
    tally.number[COUNT] = 0
    tally.number[TOUCHED] = 0
    tally.number[STAMP] += 1


@inner_borrowed
def count_record(secrets, tally, record):
    """Take in one more record."""
    persons = len(secrets.person) > 0
    stamp = tally.number[STAMP]
    if persons:
        who = secrets.person[record]
        if tally.person_mark[who] != stamp:
            tally.person_mark[who] = stamp
            tally.number[COUNT] += 1
    else:
        tally.number[COUNT] += 1
    for s in range(secrets.value.shape[1]):
        if persons:
            pair = secrets.pair[record, s]
            if tally.pair_mark[pair] == stamp:
                continue
            tally.pair_mark[pair] = stamp
        v = secrets.value[record, s]
        if tally.histogram[v] == 0:
            tally.touched[tally.number[TOUCHED]] = v
            tally.number[TOUCHED] += 1
        tally.histogram[v] += 1


@inner_borrowed
def tally_holds(secrets, tally):
    """Whether every rule holds in the group counted so far."""
    return holds(
        secrets.rules, tally.number[COUNT], tally.histogram, tally.touched, tally.number[TOUCHED]
    )


@inner_borrowed
def members_hold(secrets, tally, members):
    """Whether every rule holds in a group of records."""
    if secrets.plain:
        return len(members) >= secrets.rules.smallest
    clear_tally(tally)
    for record in members:
        count_record(secrets, tally, record)
    return tally_holds(secrets, tally)
