"""Pseudonyms of persons, each valid within one class: so that readers can count persons too.

A pseudonym is a number from 1 on. Within a class it stands for one person; in
another class the same number stands for somebody else, so that nobody's records are
linked across classes. The numbers follow the order of keyed hashes of the persons'
identifiers, with the secret seed and the class as the key: neither the identifier, nor
its place in the input or in the alphabet, shows in them.
"""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.folding import folded_codes
from shoal.encoding.publish import Published
from shoal.encoding.row_order import ranks_of_column
from shoal.encoding.values import distinct_values
from shoal.errors import PolicyError
from shoal.policy import Policy

__all__ = ["class_of_pseudonyms", "numbered_persons", "with_pseudonyms"]

Ids = NDArray[np.int64]


def with_pseudonyms(published: Published, source: pa.Table, policy: Policy, seed: int) -> Published:
    """The released table with a column of pseudonyms, if the policy asks for one."""
    name = policy.person_as
    if name is None or policy.person is None:
        return published
    if name in published.table.column_names:
        raise PolicyError(f"person_as: {name!r} is the name of another column")
    classes, _ = class_of_pseudonyms(published.table, published.qi, policy)
    people = distinct_values(source.column(policy.person), policy.missing)
    keys = _keys(people.texts(), seed)
    number = numbered_persons(classes, keys[people.codes[published.rows]])
    table = published.table.append_column(name, pa.array(number))
    if policy.keep_order:
        return published._replace(table=table)
    # rows that are alike but for the person: by the pseudonym, not as they came
    others = [ranks_of_column(column) for column in published.table.columns]
    alike, _ = class_ids(others, table.num_rows)
    first = np.full(table.num_rows, table.num_rows, dtype=np.int64)
    np.minimum.at(first, alike, np.arange(table.num_rows))
    order = np.lexsort((number, first[alike]))
    table = table.take(pa.array(order)).combine_chunks()
    return published._replace(table=table, rows=published.rows[order])


def class_of_pseudonyms(
    released: pa.Table, qi: tuple[str, ...] | list[str], policy: Policy
) -> tuple[Ids, int]:
    """Within what a pseudonym holds: records whose quasi-identifiers read the same."""
    columns = []
    for name in qi:
        distinct = distinct_values(released.column(name), missing=())
        exact = (distinct.codes + 1, len(distinct.values) + 1)
        columns.append(folded_codes(distinct) if policy.twins == "fold" else exact)
    return class_ids(columns, released.num_rows)


def numbered_persons(classes: Ids, keys: Ids) -> Ids:
    """For each record the number of its person in its class, from 1, in the order of the keys."""
    order = np.lexsort((keys, classes))
    class_sorted, key_sorted = classes[order], keys[order]
    new_class = np.ones(len(order), dtype=np.bool_)
    new_class[1:] = class_sorted[1:] != class_sorted[:-1]
    new_person = new_class.copy()
    new_person[1:] |= key_sorted[1:] != key_sorted[:-1]
    so_far = np.cumsum(new_person)
    before = np.maximum.accumulate(np.where(new_class, so_far - 1, 0))
    number = np.empty(len(order), dtype=np.int64)
    number[order] = so_far - before
    return number


def _keys(persons: list[str], seed: int) -> Ids:
    """A place in a random order for each person, the missing one last: a rank of its hash."""
    secret = hashlib.sha256(b"shoal pseudonyms" + seed.to_bytes(16, "big")).digest()
    digests = [hmac.digest(secret, b"person" + text.encode(), "sha256") for text in persons]
    digests.append(hmac.digest(secret, b"nobody", "sha256"))
    rank = np.empty(len(digests), dtype=np.int64)
    rank[sorted(range(len(digests)), key=digests.__getitem__)] = np.arange(len(digests))
    return rank
