"""The sensitive values of one growing group, counted record by record.

A method keeps one `Tally` and feeds it the records of the group it is trying;
`shoal.kernels.rules.holds` then answers from the tally. Where a person may own
several records, a group counts distinct persons and distinct (person, value)
pairs, so that five equal records of one person count once. Stamps instead of
cleared arrays make `reset` cost only what the last group touched.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.jit import inner_borrowed


class Records(NamedTuple):
    """What a record adds to a tally; fixed for a table."""

    columns: np.ndarray  # int32 (S, n): sensitive codes
    person: np.ndarray  # int32 (n,): person of a record; empty: every record is a person
    pair: np.ndarray  # int32 (S, n): dense id of (person, value) per column; empty alike
    start: np.ndarray  # int64 (S+1,): where each column begins in the histogram


class Tally(NamedTuple):
    """The group so far."""

    count: np.ndarray  # int64 (1,): records, or distinct persons
    histogram: np.ndarray  # int64 (sum of domains,): all columns one after the other
    touched: np.ndarray  # int64 (sum of domains,): indices of the non-zero counts
    n_touched: np.ndarray  # int64 (1,)
    seen_person: np.ndarray  # int64 (persons,): stamp of the last group that met the person
    seen_pair: np.ndarray  # int64 (S, pairs): the same per (person, value)
    stamp: np.ndarray  # int64 (1,): grows with every reset


def tally_inputs(table):
    """`Records` of an EncodedTable and an empty `Tally` that fits them.

    A second thread needs a tally of its own: see `new_tally`.
    """
    sizes = np.array([c.size for c in table.sensitive], dtype=np.int64)
    start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
    columns = table.sensitive_codes
    if table.person is None:
        person = np.zeros(0, dtype=np.int32)
        pair = np.zeros((len(sizes), 0), dtype=np.int32)
    else:
        person = np.unique(table.person, return_inverse=True)[1].astype(np.int32)
        pair = np.empty((len(sizes), table.n), dtype=np.int32)
        for s in range(len(sizes)):
            key = person.astype(np.int64) * sizes[s] + columns[s]
            pair[s] = np.unique(key, return_inverse=True)[1]
    records = Records(columns, person, pair, start)
    return records, new_tally(records)


def new_tally(records):
    """An empty tally for these records."""
    persons = int(records.person.max()) + 1 if len(records.person) else 0
    pairs = int(records.pair.max()) + 1 if records.pair.size else 0
    values = int(records.start[-1])
    return Tally(
        count=np.zeros(1, dtype=np.int64),
        histogram=np.zeros(values, dtype=np.int64),
        touched=np.zeros(values, dtype=np.int64),
        n_touched=np.zeros(1, dtype=np.int64),
        seen_person=np.zeros(persons, dtype=np.int64),
        seen_pair=np.zeros((len(records.columns), pairs), dtype=np.int64),
        stamp=np.ones(1, dtype=np.int64),
    )


@inner_borrowed
def reset(tally):
    """Empty the tally: the next record begins a new group."""
    for i in range(tally.n_touched[0]):
        tally.histogram[tally.touched[i]] = 0
    tally.n_touched[0] = 0
    tally.count[0] = 0
    tally.stamp[0] += 1


@inner_borrowed
def value_of(records, s, row):
    """Index into the histogram of the value that a record has in sensitive column s."""
    return records.start[s] + records.columns[s, row]


@inner_borrowed
def add(tally, records, row):
    """Take one record into the group."""
    stamp = tally.stamp[0]
    by_person = len(records.person) > 0
    if by_person:
        person = records.person[row]
        if tally.seen_person[person] != stamp:
            tally.seen_person[person] = stamp
            tally.count[0] += 1
    else:
        tally.count[0] += 1
    for s in range(len(records.columns)):
        if by_person:
            pair = records.pair[s, row]
            if tally.seen_pair[s, pair] == stamp:
                continue
            tally.seen_pair[s, pair] = stamp
        value = value_of(records, s, row)
        if tally.histogram[value] == 0:
            tally.touched[tally.n_touched[0]] = value
            tally.n_touched[0] += 1
        tally.histogram[value] += 1


@inner_borrowed
def add_range(tally, records, order, begin, end):
    """Take the records order[begin:end] into the group."""
    for i in range(begin, end):
        add(tally, records, order[i])
