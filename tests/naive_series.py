"""Series of releases by brute force: who is published with whom, and what is left of him.

Knows the private record's format and nothing of the code that writes it: persons are found
by computing their keyed hashes from the key of the first record.
"""

from __future__ import annotations

import csv
import hmac
import json
import zlib
from base64 import b64decode
from itertools import permutations
from pathlib import Path

import numpy as np


def rows_of(path):
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def part_of(path):
    return json.loads(Path(f"{path}.record.json").read_text(encoding="utf-8"))["series"]


def numbers(text):
    return np.frombuffer(zlib.decompress(b64decode(text)), "<i4").tolist()


def persons_of(paths, names):
    """Of each release: the person of each row (None: counterfeit) and its group."""
    key = bytes.fromhex(part_of(paths[0])["key"])
    by_hash = {hmac.new(key, n.casefold().encode(), "sha256").digest()[:16]: n for n in names}
    known, found = [], []
    for path in paths:
        part = part_of(path)
        raw = b64decode(part["new"])
        known += [by_hash[raw[i : i + 16]] for i in range(0, len(raw), 16)]
        assert len(set(known)) == len(known), "a person is new twice"
        people = [None if n < 0 else known[n] for n in numbers(part["rows"])]
        found.append((people, numbers(part["classes"])))
    return found


def covers(cell, value):
    """Whether a released cell says of somebody what he has."""
    if cell in (value, "*"):
        return True
    if cell.startswith("["):
        low, high = cell[1:-1].split(",")
        return float(low) <= float(value) <= float(high)
    return cell.startswith("{") and value in cell[1:-1].split(",")


def check_series(paths, tables, qi, sensitive, person, m):
    """Assert m-invariance of all releases from their texts; gives counterfeits of each.

    `tables` are the inputs: lists of dicts of texts.
    """
    names = {row[person] for table in tables for row in table}
    signature, left, invented = {}, {}, []
    for path, table, (people, groups) in zip(paths, tables, persons_of(paths, names), strict=True):
        released = rows_of(path)
        assert len(released) == len(people)
        truth = {row[person]: row for row in table}
        assert sorted(p for p in people if p is not None) == sorted(truth)
        members, classes = {}, {}
        for row, who, group in zip(released, people, groups, strict=True):
            assert person not in row
            if who is not None:
                assert all(covers(row[a], truth[who][a]) for a in qi)
                assert row[sensitive] == truth[who][sensitive]
            members.setdefault(group, []).append((row, who))
            classes.setdefault(tuple(row[a] for a in qi), set()).add(row[sensitive])
        for rows in members.values():
            values = [row[sensitive] for row, _ in rows]
            assert len(values) >= m, "a group is too small"
            assert len(set(values)) == len(values), "a value repeats in a group"
            assert len({tuple(row[a] for a in qi) for row, _ in rows}) == 1
            assert any(who is not None for _, who in rows), "a group of counterfeits alone"
            for row, who in rows:
                if who is None:
                    continue
                own = frozenset(values)
                assert signature.setdefault(who, own) == own, "a signature changed"
                here = classes[tuple(row[a] for a in qi)]
                left[who] = left.get(who, here) & here
                assert len(left[who]) >= m, "releases together leave fewer than m values"
        invented.append(sum(who is None for who in people))
        told = rows_of(path.with_name(path.stem + ".counterfeits.csv"))
        assert sum(int(row["counterfeits"]) for row in told) == invented[-1]
    return invented, signature


def fewest_counterfeits(staying, new, m):
    """Least number of counterfeits, over all ways to group: for a handful of records.

    `staying` are (value, signature) pairs, `new` are values.
    """
    records = [(v, frozenset(s)) for v, s in staying] + [(v, None) for v in new]
    best = [10**9]

    def cost(group):
        own = {s for _, s in group if s is not None}
        values = [v for v, _ in group]
        if len(set(values)) < len(values) or len(own) > 1:
            return None
        if own:
            (signature,) = own
            return len(signature) - len(values) if set(values) <= signature else None
        return max(0, m - len(values))

    def place(index, groups):
        if index == len(records):
            best[0] = min(best[0], sum(cost(g) for g in groups))
            return
        for group in groups:
            group.append(records[index])
            if cost(group) is not None:
                place(index + 1, groups)
            group.pop()
        place(index + 1, [*groups, [records[index]]])

    place(0, [])
    return best[0]


def crowd(history, person):
    """Persons in all releases of a person and in his class each time, one by one."""
    releases = [i for i, c in enumerate(history[person]) if c >= 0]
    return sum(all(other[i] == history[person][i] for i in releases) for other in history)


def overlapping(first, second, qi, sensitive):
    """Pairs of classes of two releases whose intervals overlap: the values that both have."""

    def classes(rows):
        found = {}
        for row in rows:
            found.setdefault(tuple(row[a] for a in qi), []).append(row[sensitive])
        return found

    def ends(cell):
        low, _, high = cell.strip("[]").partition(",")
        return float(low), float(high or low)

    def meet(a, b):
        return all(
            ends(x)[0] <= ends(y)[1] and ends(y)[0] <= ends(x)[1] for x, y in zip(a, b, strict=True)
        )

    one, two = classes(first), classes(second)
    return [set(one[a]) & set(two[b]) for a in one for b in two if meet(a, b)]


def possible_values(paths, names, qi, sensitive):
    """Of each person, the values that he has in some world that the releases leave possible.

    By counting all worlds: for whoever knows who is in which class of which release, and how
    many of its records are counterfeits.
    """
    classes = []
    for path, (people, _) in zip(paths, persons_of(paths, names), strict=True):
        found = {}
        for row, who in zip(rows_of(path), people, strict=True):
            members, values = found.setdefault(tuple(row[a] for a in qi), ([], []))
            values.append(row[sensitive])
            members += [who] if who is not None else []
        classes += found.values()
    everybody = sorted({who for members, _ in classes for who in members})
    domain = sorted({value for _, values in classes for value in values})
    left, world = {who: set() for who in everybody}, {}

    def fits(who, value):
        return all(
            sum(world.get(other) == value for other in members) <= values.count(value)
            for members, values in classes
            if who in members
        )

    def place(index):
        if index == len(everybody):
            for who, value in world.items():
                left[who].add(value)
            return
        who = everybody[index]
        for value in domain:
            world[who] = value
            if fits(who, value):
                place(index + 1)
            del world[who]

    place(0)
    return left


def best_exchange(lost, places, rows):
    """The least loss with which records of one value can be dealt out to places, by all ways."""
    return min(
        sum(lost(place, row) for place, row in zip(places, order, strict=True))
        for order in permutations(rows)
    )


def followed(first, second, qi, sensitive):
    """Values left for each pair of classes, by all ways in which the first are in the second.

    Every record of the first release is another one of the second: one whose intervals overlap
    its own and which has its value.
    """

    def ends(cell):
        low, _, high = cell.strip("[]").partition(",")
        return float(low), float(high or low)

    def fits(row, other):
        spans = [(ends(row[a]), ends(other[a])) for a in qi]
        meet = all(a[0] <= b[1] and b[0] <= a[1] for a, b in spans)
        return meet and row[sensitive] == other[sensitive]

    def box(row):
        return tuple(row[a] for a in qi)

    found, used = {}, []

    def place(index):
        if index == len(first):
            for row, number in zip(first, used, strict=True):
                pair = box(row), box(second[number])
                found.setdefault(pair, set()).add(row[sensitive])
            return
        for number, other in enumerate(second):
            if number not in used and fits(first[index], other):
                used.append(number)
                place(index + 1)
                used.pop()

    place(0)
    return found


def worlds(releases, persons):
    """Values that each person has in some world: `releases` are (members, values) of classes."""
    left, world = [set() for _ in range(persons)], {}

    def fits(person):
        return all(
            sum(world.get(other) == world[person] for other in members)
            <= values.count(world[person])
            for classes in releases
            for members, values in classes
            if person in members
        )

    def place(person):
        if person == persons:
            for who, value in world.items():
                left[who].add(value)
            return
        for value in {v for classes in releases for _, values in classes for v in values}:
            world[person] = value
            if fits(person):
                place(person + 1)
            del world[person]

    place(0)
    return left


def used_edges(own, other, edges):
    """Edges that some matching uses in which everybody of the left side has a place; or None."""
    people = [node for node, many in enumerate(own) for _ in range(many)]
    found, left, used = set(), list(other), []
    whole = False

    def place(index):
        nonlocal whole
        if index == len(people):
            whole = True
            found.update(used)
            return
        for edge in edges:
            if edge[0] == people[index] and left[edge[1]]:
                left[edge[1]] -= 1
                used.append(edge)
                place(index + 1)
                used.pop()
                left[edge[1]] += 1

    place(0)
    return found if whole else None
