"""What releases over time give away by matchings: to their readers, and by the records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from command import shoal as command
from naive_series import followed, overlapping, rows_of, used_edges, worlds
from shoal.errors import InputError
from shoal.series.matching import Placed, candidates, usable
from streams import ID, QI, SA, chained, published, stream

POLICY = 'qi = ["age", "zip"]\nsensitive = "disease"\nl = 2\n'


def rows(text):
    """Persons from words as ``Ann:21:flu``; all of one zip."""
    parts = [word.split(":") for word in text.split()]
    return [{ID: name, "age": age, "zip": "1", SA: value} for name, age, value in parts]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_an_edge_is_usable_if_a_matching_of_all_has_it(data):
    own = data.draw(st.lists(st.integers(1, 2), min_size=1, max_size=3))
    other = data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=4))
    every = [(a, b) for a in range(len(own)) for b in range(len(other))]
    edges = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    ends = np.array(edges, dtype=np.int64).T
    found = usable(np.array(own), np.array(other), ends[0], ends[1])
    expected = used_edges(own, other, edges)
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert {edge for edge, kept in zip(edges, found, strict=True) if kept} == expected


def placed(releases, numbers):
    """Releases as (members, values) of classes, as arrays."""
    found = []
    for classes in releases:
        person = [(p, c) for c, (members, _) in enumerate(classes) for p in members]
        record = [(c, numbers[v]) for c, (_, values) in enumerate(classes) for v in values]
        columns = [np.array(part, dtype=np.int64).reshape(-1, 2).T for part in (person, record)]
        found.append(Placed(*columns[0], *columns[1]))
    return found


LETTERS = {letter: number for number, letter in enumerate("abcde")}


def counted(releases, person):
    """Values that all classes of a person have."""
    return set.intersection(
        *(set(values) for classes in releases for members, values in classes if person in members)
    )


def test_two_who_need_two_values_leave_a_third_person_one():
    releases = [
        [([0, 1, 2], "abc"), ([3, 4, 5], "abd")],
        [([0, 1, 3], "abd"), ([2, 4], "ac"), ([5], "be")],
    ]
    left = candidates(placed(releases, LETTERS), 6)
    assert counted(releases, 2) == {"a", "c"}  # by counting he is safe
    assert left[2] == {LETTERS["c"]}
    assert [{LETTERS[v] for v in one} for one in worlds(releases, 6)] == left


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_no_world_has_a_value_that_matchings_rule_out(data):
    persons, rng = 5, np.random.default_rng(data.draw(st.integers(0, 10**6)))
    truth, releases = rng.choice(list("abcd"), persons), []
    for _ in range(3):
        there = [p for p in range(persons) if rng.random() < 0.8]
        of = rng.integers(0, 2, persons)
        members = [part for c in range(2) if (part := [p for p in there if of[p] == c])]
        releases.append([
            (part, "".join([*truth[part], *rng.choice(list("abcd"), rng.integers(0, 2))]))
            for part in members
        ])  # fmt: skip
    known = {p for classes in releases for part, _ in classes for p in part}
    assume(all(releases) and len(known) == persons)
    left = candidates(placed(releases, LETTERS), persons)
    for person, possible in enumerate(worlds(releases, persons)):
        found = {letter for letter in "abcd" if LETTERS[letter] in left[person]}
        assert truth[person] in possible <= found <= counted(releases, person)


def test_records_that_contradict_the_releases_are_refused():
    with pytest.raises(InputError, match="contradict each other"):
        candidates(placed([[([0, 1], "ab")], [([0, 1], "aa")], [([0, 1], "ac")]], LETTERS), 2)


def _both(folder, first, second, groups):
    policy = folder / "p.toml"
    policy.write_text(POLICY, encoding="utf-8")
    parts = [("n1", first, groups[0]), ("n2", second, groups[1])]
    return [published(folder / f"{name}.csv", table, own) for name, table, own in parts], policy


def test_counting_calls_safe_what_matching_breaks(tmp_path):
    first = rows("Ann:23:hiv Bob:24:flu Cid:25:cold Dan:25:flu Eve:27:cold Fay:31:hiv")
    second = [*first, *rows("Gus:26:cold")]
    groups = [["Ann Bob", "Cid Dan", "Eve Fay"], ["Ann Bob Cid", "Dan Gus", "Eve Fay"]]
    paths, policy = _both(tmp_path, first, second, groups)
    counting = shoal.series_check(paths, policy=policy)
    assert (counting.verdict, counting.seen.least) == ("not refuted", 2)
    # Bob has the only flu of [23,25]: who of the class of age 25 went there has a cold
    found = shoal.series_check(paths, policy=policy, nobody_leaves=True)
    assert (found.verdict, found.seen.least, found.seen.pinned) == ("broken", 1, 1)
    told = command("series-check", *paths, "--policy", policy, "--nobody-leaves")
    assert told.code == 1
    assert "all records were matched, since nobody leaves" in told.out
    assert command("series-check", *paths, "--policy", policy).code == 0


def test_a_series_of_ours_stands_it_and_one_whose_persons_leave_is_told(tmp_path):
    tables = stream(5, 4, leave=0, join=20)
    paths = chained(tmp_path, tables)
    found = shoal.series_check(paths, records=[f"{paths[-1]}.record.json"], nobody_leaves=True)
    assert (found.verdict, found.seen.contradicted) == ("holds", False)
    assert found.seen.least >= 2
    with pytest.raises(InputError, match="somebody has left"):
        shoal.series_check(paths[::-1], nobody_leaves=True)


def test_releases_that_promise_m_and_cannot_keep_it_are_found_by_matching(tmp_path):
    first = rows("Ann:23:hiv Bob:24:flu Cid:30:cold Dan:31:flu")
    second = [*first, *rows("Gus:23:cold Hal:24:cold")]
    ours = chained(tmp_path, [first, second])
    paths, _ = _both(tmp_path, first, second,
                     [["Ann Bob", "Cid Dan"], ["Ann Gus", "Bob Hal", "Cid Dan"]])  # fmt: skip
    for path, own in zip(paths, ours, strict=True):  # what they say is not what they do
        told = own.with_name(f"{own.name}.manifest.json").read_bytes()
        path.with_name(f"{path.name}.manifest.json").write_bytes(told)
    alone = shoal.series_check(paths)
    assert (alone.verdict, alone.seen.excluded) == ("not refuted", 2)
    found = shoal.series_check(paths, nobody_leaves=True)
    assert found.verdict == "broken"
    assert "the promise is broken, or somebody has left" in repr(found)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_what_readers_rule_out_is_what_no_way_to_follow_records_has(tmp_path_factory, seed):
    rng, folder = np.random.default_rng(seed), tmp_path_factory.mktemp("pair")
    people = rows(" ".join(f"p{i}:{rng.integers(20, 40)}:{rng.choice(list('abc'))}"
                           for i in range(7)))  # fmt: skip
    first, second = people[: rng.integers(4, 7)], people

    def cut(table):
        by_age = sorted(table, key=lambda row: int(row["age"]))
        names, groups = [row[ID] for row in by_age], []
        while names:
            take = int(rng.integers(1, 4))
            groups.append(" ".join(names[:take]))
            names = names[take:]
        return groups

    paths, policy = _both(folder, first, second, [cut(first), cut(second)])
    found = shoal.series_check(paths, policy=policy, nobody_leaves=True).seen
    left = followed(*map(rows_of, paths), QI, SA)
    sizes = [len(values) for values in left.values()]
    assert (found.cells, found.least, found.pinned) == (len(sizes), min(sizes), sizes.count(1))
    assert found.matched
    alone = shoal.series_check(paths, policy=policy).seen
    assert alone.cells == len([one for one in overlapping(*map(rows_of, paths), QI, SA) if one])
    assert alone.cells >= found.cells
