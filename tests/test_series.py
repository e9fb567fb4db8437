"""Releases of a table that grows and shrinks: what is promised over all of them."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from command import shoal as command
from naive_series import (
    best_exchange,
    check_series,
    crowd,
    fewest_counterfeits,
    overlapping,
    persons_of,
    possible_values,
    rows_of,
)
from shoal.encoding.encode import encode
from shoal.encoding.table import Partition, Recoding
from shoal.errors import InfeasibleError, InputError, OutputError, PolicyError, ShoalError
from shoal.metrics.loss import gcp
from shoal.policy import Policy
from shoal.series.buckets import People, deal, lacking
from shoal.series.chain import open_chain
from shoal.series.cohorts import crowds, histories
from shoal.series.engine import _drawn_rows
from shoal.series.exchanging import exchanged
from streams import ID, QI, SA, chained, published, release, stream, write

FIRST = """
Bob 21 12000 dyspepsia;Alice 22 14000 bronchitis;Andy 24 18000 flu;David 23 25000 gastritis
Gary 41 20000 flu;Helen 36 27000 gastritis;Jane 37 33000 dyspepsia;Ken 40 35000 flu
Linda 43 26000 gastritis;Paul 52 33000 dyspepsia;Steve 56 34000 gastritis
"""
SECOND = """
Bob 21 12000 dyspepsia;David 23 25000 gastritis;Emily 25 21000 flu;Jane 37 33000 dyspepsia
Linda 43 26000 gastritis;Gary 41 20000 flu;Mary 46 30000 gastritis;Ray 54 31000 dyspepsia
Steve 56 34000 gastritis;Tom 60 44000 gastritis;Vince 65 36000 flu
"""
GROUPS = ["Bob Alice", "Andy David", "Gary Helen", "Jane Ken Linda", "Paul Steve"]
NAIVE = ["Bob David", "Emily Jane Linda", "Gary Mary", "Ray Steve", "Tom Vince"]


def people(text):
    """Rows of the paper's hospital."""
    lines = [entry.split() for entry in text.replace("\n", ";").split(";") if entry]
    return [dict(zip([ID, *QI, SA], line, strict=True)) for line in lines]


# The paper's example


def test_two_counterfeits_are_what_the_papers_hospital_needs():
    first, second = people(FIRST), people(SECOND)
    names = {row[ID]: row[SA] for row in first}
    values = sorted({row[SA] for row in first})
    signature = {n: tuple(sorted(values.index(names[x]) for x in g.split()))
                 for g in GROUPS for n in g.split()}  # fmt: skip
    every = sorted(set(signature.values()))
    own = [every.index(signature[r[ID]]) if r[ID] in signature else -1 for r in second]
    value = np.array([values.index(r[SA]) for r in second])
    points = np.array([[float(r[a]) for a in QI] for r in second])
    place = np.argsort(np.argsort(points[:, 0], kind="stable"))
    dealt = deal(People(value, np.array(own), points, place), every)
    (bobs,) = dealt.invented
    assert (values[bobs.value], second[bobs.near][ID]) == ("bronchitis", "Bob")
    rest = np.bincount(value[dealt.bucket < 0], minlength=len(values))
    assert len(lacking(rest, 2, np.bincount(value, minlength=4))) == 1  # the paper's second
    staying = [(v, every[s]) for v, s in zip(value.tolist(), own, strict=True) if s >= 0]
    new = [v for v, s in zip(value.tolist(), own, strict=True) if s < 0]
    assert fewest_counterfeits(staying, new, 2) == 2


def test_the_naive_pair_is_broken_and_ours_is_not(tmp_path):
    first, second = people(FIRST), people(SECOND)
    policy = tmp_path / "p.toml"
    policy.write_text('qi = ["age", "zip"]\nsensitive = "disease"\nl = 2\n', encoding="utf-8")
    naive = [published(tmp_path / "n1.csv", first, GROUPS),
             published(tmp_path / "n2.csv", second, NAIVE)]  # fmt: skip
    found = shoal.series_check(naive, policy=policy)
    assert found.verdict == "broken"
    assert found.seen.least == 1
    left = [one for one in overlapping(*map(rows_of, naive), QI, SA) if one]
    assert {"dyspepsia"} in left  # Bob
    assert (found.seen.cells, found.seen.pinned) == (len(left), sum(len(o) == 1 for o in left))
    paths = chained(tmp_path, [first, second])
    check_series(paths, [first, second], QI, SA, ID, 2)
    alone = shoal.series_check(paths)
    assert alone.verdict == "not refuted"
    exact = shoal.series_check(paths, records=[f"{paths[1]}.record.json"])
    assert exact.verdict == "holds"
    assert exact.exact.least >= 2
    assert command("series-check", *naive, "--policy", policy).code == 1
    told = command("series-check", *paths, "--records", f"{paths[1]}.record.json")
    assert told.code == 0
    assert "m = 2 over 2 releases: holds" in told.out


# Streams


@pytest.mark.parametrize("seed", range(3))
def test_twenty_releases_keep_every_signature(tmp_path, seed):
    tables = stream(seed, 20)
    paths = chained(tmp_path, tables)
    invented, signature = check_series(paths, tables, QI, SA, ID, 2)
    known = set()
    for table, many in zip(tables, invented, strict=True):
        staying = [(r[SA], signature[r[ID]]) for r in table if r[ID] in known]
        new = [r[SA] for r in table if r[ID] not in known]
        assert many == _formula(staying, new, 2)
        known |= {r[ID] for r in table}
    exact = shoal.series_check(paths[:], records=[f"{paths[-1]}.record.json"])
    assert exact.verdict == "holds"
    assert exact.exact.persons == len(known)
    assert exact.exact.counterfeits == tuple(invented)


def _formula(staying, new, m):
    """The fewest counterfeits, as `shoal.series.buckets` proves them."""
    holes = {}
    for own in {s for _, s in staying}:
        have = [v for v, s in staying if s == own]
        most = max(have.count(v) for v in own)
        for value in own:
            holes[value] = holes.get(value, 0) + most - have.count(value)
    left = {v: new.count(v) - holes.get(v, 0) for v in set(new)}
    rest = [max(0, many) for many in left.values()]
    missing = sum(max(0, wanted - new.count(v)) for v, wanted in holes.items())
    return missing + max(0, m * max(rest, default=0) - sum(rest))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_formula_is_the_least_of_all_ways_to_group(data):
    every = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]
    drawn = data.draw(st.lists(st.sampled_from(every), max_size=4))
    staying = [(data.draw(st.sampled_from(own)), frozenset(own)) for own in drawn]
    new = data.draw(st.lists(st.sampled_from("abc"), max_size=3))
    assert _formula(staying, new, 2) == fewest_counterfeits(staying, new, 2)


def test_nobody_is_invented_where_nobody_leaves(tmp_path):
    tables = stream(5, 6, leave=0, join=20)
    paths = chained(tmp_path, tables)
    invented, _ = check_series(paths, tables, QI, SA, ID, 2)
    assert invented == [0] * 6


def test_append_publishes_new_persons_only(tmp_path):
    tables = stream(6, 4, leave=0, join=20)
    new = [tables[0]]
    for before, table in pairwise(tables):
        known = {row[ID] for row in before}
        new.append([row for row in table if row[ID] not in known])
    paths = [tmp_path / "r1.csv"]
    release(paths[0], new[0])
    for number, table in enumerate(new[1:], start=2):
        paths.append(tmp_path / f"r{number}.csv")
        release(paths[-1], table, after=paths[-2], append=True)
    check_series(paths, new, QI, SA, ID, 2)
    whole = tmp_path / "whole.csv"
    release(whole, tables[-1], after=paths[-1])
    check_series([*paths, whole], [*new, tables[-1]], QI, SA, ID, 2)
    with pytest.raises(InputError, match="expected new ones only"):
        release(tmp_path / "x.csv", tables[-1], after=whole, append=True)


# What cannot be


def test_without_counterfeits_it_is_refused_with_the_reason(tmp_path):
    first, second = people(FIRST), people(SECOND)
    paths = chained(tmp_path, [first])
    with pytest.raises(InfeasibleError, match=r"would be needed: .*no new person has"):
        release(tmp_path / "r2.csv", second[:1] + second[3:4], after=paths[0], counterfeits=False)
    assert not (tmp_path / "r2.csv").exists()


def test_a_changed_value_is_kept_within_the_signature_and_refused_beyond(tmp_path):
    tables = stream(2, 1)
    paths = chained(tmp_path, tables)
    _, signature = check_series(paths, tables, QI, SA, ID, 2)
    moved = [dict(row) for row in tables[0]]
    one = moved[0]
    other = next(v for v in sorted(signature[one[ID]]) if v != one[SA])
    one[SA], one["age"] = other, "99"
    paths.append(tmp_path / "r2.csv")
    release(paths[1], moved, after=paths[0])
    check_series(paths, [tables[0], moved], QI, SA, ID, 2)
    strange = [dict(row) for row in moved]
    strange[0][SA] = next(f"v{i}" for i in range(6) if f"v{i}" not in signature[one[ID]])
    with pytest.raises(InfeasibleError, match="1 persons, the first at record 1, have") as error:
        release(tmp_path / "r3.csv", strange, after=paths[1])
    assert strange[0][SA] not in str(error.value)
    assert one[ID] not in str(error.value)


def test_a_value_that_everybody_lost_is_invented(tmp_path):
    first = [{ID: f"p{i}", "age": str(20 + i), "zip": "1", SA: "abc"[i % 3]} for i in range(6)]
    paths = chained(tmp_path, [first], m=3)
    left = [row for row in first if row[SA] != "c"]
    paths.append(tmp_path / "r2.csv")
    release(paths[1], left, 3, paths[0])
    invented, _ = check_series(paths, [first, left], QI, SA, ID, 3)
    assert invented == [0, 2]


@pytest.fixture
def two(tmp_path):
    tables = stream(3, 2)
    return chained(tmp_path, tables), tables


def _refused(tmp_path, after, rows, match, **more):
    before = {p: p.read_bytes() for p in tmp_path.iterdir() if not p.name.endswith(".in.csv")}
    with pytest.raises(ShoalError, match=match):
        release(tmp_path / "bad.csv", rows, after=after, **more)
    now = {p: p.read_bytes() for p in tmp_path.iterdir() if not p.name.endswith(".in.csv")}
    assert now == before


def test_bad_chains_and_tables_are_refused_and_nothing_is_written(two, tmp_path):
    (first, second), tables = two
    rows = tables[1]
    _refused(tmp_path, second, [*rows, rows[0]], "1 persons have more than one record")
    _refused(tmp_path, second, [{**rows[0], ID: ""}, *rows[1:]], "do not say whose they are")
    strangers = [{**row, ID: f"x{row[ID]}"} for row in rows]
    _refused(tmp_path, second, strangers, "none of its .* persons is in the table")
    _refused(tmp_path, first, rows, "r2.csv.record.json follows it already")
    _refused(tmp_path, second, rows, "expected at most 2, got 3", m=3)
    record = tmp_path / "r1.csv.record.json"
    kept = record.read_bytes()
    record.write_bytes(kept.replace(b'"seed"', b' "seed"'))
    _refused(tmp_path, second, rows, "SHA-256 differs")
    record.unlink()
    _refused(tmp_path, second, rows, "lacks a release")
    record.write_bytes(kept)
    other = tmp_path / "other.csv"
    source = write(tmp_path / "o.in.csv", rows)
    shoal.anonymize(source, qi=["age"], identifier=[ID], sensitive=SA, rest="drop", m=2, out=other)
    _refused(tmp_path, other, rows, "is of another table: its qi")
    shoal.anonymize(source, qi=QI, identifier=ID, sensitive=SA, k=2, out=tmp_path / "k.csv")
    _refused(tmp_path, tmp_path / "k.csv", rows, "began no series")


def test_a_record_that_others_follow_is_not_replaced(two, tmp_path):
    (first, second), tables = two
    there = {p: p.read_bytes() for p in tmp_path.iterdir()}
    with pytest.raises(OutputError, match=r"r2\.csv\.record\.json follows it"):
        release(first, tables[0])
    with pytest.raises(OutputError, match="would lack it in its chain"):  # nor thrown away
        shoal.anonymize(tmp_path / "r1.in.csv", qi=QI, sensitive=SA, l=2, rest="drop").write(
            first, keep_record=False
        )
    again = command("reproduce", f"{first}.record.json", tmp_path / "r1.in.csv", "-o", first)
    assert again.code != 0
    with pytest.raises(PolicyError, match="is of the release that is continued"):
        release(second, tables[1], after=second)
    assert {p: p.read_bytes() for p in tmp_path.iterdir()} == there
    release(second, tables[1], after=first)  # the last one may be made anew
    assert len(open_chain(tmp_path / "r2.csv.record.json").links) == 2


def test_a_fork_is_refused_in_another_folder_and_when_both_were_begun_before(tmp_path):
    tables = stream(3, 2)
    (first,) = chained(tmp_path, tables[:1])
    source, after = write(tmp_path / "in.csv", tables[1]), f"{first}.record.json"
    asked = {"qi": QI, "identifier": ID, "sensitive": SA, "m": 2}
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    one, other = (shoal.anonymize(source, after=after, **asked) for _ in range(2))
    one.write(tmp_path / "here" / "r2.csv")
    with pytest.raises(InputError, match=r"here/r2\.csv\.record\.json follows it already"):
        other.write(tmp_path / "there" / "r2.csv")
    assert not list((tmp_path / "there").iterdir())
    with pytest.raises(InputError, match=r"follows it already.*and remove .*\.next"):
        shoal.anonymize(source, after=after, out=tmp_path / "there" / "r2.csv", **asked)
    with pytest.raises(OutputError, match="follows it, and would lack it"):
        release(first, tables[0])
    one.write(tmp_path / "here" / "r2.csv")  # it takes its own place


def test_a_release_that_was_changed_is_not_continued(two, tmp_path):
    (_, second), tables = two
    second.write_text(second.read_text(encoding="utf-8") + "1,1,flu\n", encoding="utf-8")
    _refused(tmp_path, second, tables[1], "is not the release that its record says")


def test_no_column_by_which_records_are_known_again(tmp_path):
    table = [{**row, "note": f"n{i}"} for i, row in enumerate(stream(2, 1)[0])]
    for more in ({"plain": "note"}, {"rest": "plain"}):
        with pytest.raises(PolicyError, match="known again from release to release"):
            release(tmp_path / "r.csv", table, **more)
    assert not (tmp_path / "r.csv").exists()


def test_persons_are_told_by_what_their_names_read_as(two, tmp_path):
    (_, second), tables = two
    alike = [{**row, ID: f" {row[ID].upper()}"} for row in tables[1]]
    _refused(tmp_path, second, [*tables[1], alike[0]], "differ from another one in spelling only")
    third = tmp_path / "r3.csv"
    release(third, alike, after=second)
    chain = open_chain(tmp_path / "r3.csv.record.json")
    assert chain.persons == open_chain(tmp_path / "r2.csv.record.json").persons
    _refused(tmp_path, third, alike, "its twins is fold", twins="distinct")


def test_a_counterfeit_is_spelled_like_others():
    value = np.array([0, 1, 0, 0, 1, 0])
    drawn = _drawn_rows(value, np.array([0] * 400 + [1, 2]), seed=1)
    assert set(drawn[:400]) == {0, 2, 3, 5}
    assert drawn[400] in {1, 4}
    assert drawn[401] == -1


def test_no_world_is_left_in_which_somebody_has_fewer_values(tmp_path):
    invented = 0
    for seed in range(6):
        folder = tmp_path / str(seed)
        folder.mkdir()
        tables = stream(seed, 3, start=5, leave=0.3, join=2, values=3)
        paths = chained(folder, tables)
        names = {row[ID] for table in tables for row in table}
        left = possible_values(paths, names, QI, SA)
        assert set(left) == names
        assert min(map(len, left.values())) >= 2
        invented += sum(check_series(paths, tables, QI, SA, ID, 2)[0])
    assert invented > 0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_places_are_exchanged_at_the_least_loss_and_nobody_leaves_his_bucket(seed):
    rng = np.random.default_rng(seed)
    count, m = int(rng.integers(8, 14)), 3
    groups = np.repeat(np.arange(count), m)
    bucket = np.repeat(rng.integers(0, 2, count), m)
    value = np.tile(np.arange(m), count) + bucket * rng.integers(0, 2)
    source = pa.table({"a": rng.integers(0, 50, count * m), "b": rng.integers(0, 9, count * m)})
    table = encode(source, Policy.parse(qi=["a", "b"]))
    new = np.flatnonzero(rng.random(count * m) < 0.4)
    place = np.argsort(rng.random(count * m))
    found = exchanged(table, value, place, bucket, new, groups)

    def loss(ids):
        return gcp(table, Recoding.single(Partition.from_group_ids(ids), 2))

    assert loss(found) <= loss(groups) + 1e-12
    for group in range(count):  # the values of a group stay, and who is not new his bucket
        assert sorted(value[found == group]) == sorted(value[groups == group])
    old = np.setdiff1d(np.arange(count * m), new)
    assert (bucket[m * found[old]] == bucket[old]).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_no_way_to_exchange_a_value_loses_less(seed):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(7), 3)
    source = pa.table({"a": rng.integers(0, 50, 21), "b": rng.integers(0, 9, 21)})
    table = encode(source, Policy.parse(qi=["a", "b"]))
    few = np.sort(rng.permutation(7)[:5]) * 3
    value = np.tile(np.arange(3), 7)
    found = exchanged(table, value, np.arange(21), np.arange(21), few, groups)

    def lost(place, row):
        members = [place + 1, place + 2, row]
        spans = [np.ptp(table.qi[a].position[table.codes[a][members]]) for a in range(2)]
        return 3 * sum(spans)

    best = best_exchange(lost, few, few)
    places = [int(np.flatnonzero(groups == found[row])[0]) for row in few]
    assert sum(map(lost, places, few)) == pytest.approx(best)
    others = np.setdiff1d(np.arange(21), few)
    assert (found[others] == groups[others]).all()


def test_series_check_sees_a_class_that_breaks_the_promise_alone(two, tmp_path):
    (first, second), _ = two
    rows = rows_of(second)
    write(second, [{**row, SA: rows[0][SA]} for row in rows])
    found = shoal.series_check([first, second])
    assert found.verdict == "broken"
    assert found.seen.unfit > 0
    assert "no groups of 2 different values" in repr(found)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [({"l": 2}, "keeps m alone"), ({"keep_order": True}, "does not take it"),
     ({"method": "hilbert"}, "by method bsgi"), ({"engine": "duckdb"}, "in memory"),
     ({"max_suppressed": 0.1}, "leaves nobody out")],
)  # fmt: skip
def test_what_a_series_cannot_keep_is_refused(tmp_path, settings, reason):
    with pytest.raises(PolicyError, match=reason):
        release(tmp_path / "r.csv", stream(1, 1)[0], **settings)


def test_the_record_is_private_and_holds_no_identifier(two):
    (first, second), tables = two
    for path in (first, second):
        record = path.with_name(path.name + ".record.json")
        assert stat.S_IMODE(record.stat().st_mode) == 0o600
        text = record.read_text(encoding="utf-8")
        assert not any(f'"{row[ID]}"' in text for table in tables for row in table)
        manifest = path.with_name(path.name + ".manifest.json").read_text(encoding="utf-8")
        assert not any(f'"{row[SA]}"' in manifest for table in tables for row in table)
        assert shoal.verify(path).holds
    assert "key" not in json.loads((second.parent / "r2.csv.record.json").read_text())["series"]
    assert len(open_chain(second.with_name("r2.csv.record.json")).links) == 2


def test_a_release_of_a_series_can_be_made_again(two, tmp_path):
    (_, second), _ = two
    again = tmp_path / "again"
    again.mkdir()
    told = command("reproduce", f"{second}.record.json", tmp_path / "r2.in.csv",
                   "-o", again / "r2.csv")  # fmt: skip
    assert told.code == 0, told.err
    assert (again / "r2.csv").read_bytes() == second.read_bytes()


def test_on_the_command_line(tmp_path):
    tables = stream(9, 2)
    for number, table in enumerate(tables, start=1):
        write(tmp_path / f"t{number}.csv", table)
    policy = tmp_path / "p.toml"
    policy.write_text('qi = ["age", "zip"]\nsensitive = "disease"\nperson = "name"\nm = 2\n')
    first, second = tmp_path / "r1.csv", tmp_path / "r2.csv"
    assert command("anonymize", tmp_path / "t1.csv", "-o", first, "--policy", policy).code == 0
    told = command("anonymize", tmp_path / "t2.csv", "-o", second, "--policy", policy,
                   "--after", f"{first}.record.json")  # fmt: skip
    assert told.code == 0, told.err
    check_series([first, second], tables, QI, SA, ID, 2)
    few = command("anonymize", tmp_path / "t2.csv", "-o", tmp_path / "r3.csv", "--policy", policy,
                  "--after", f"{second}.record.json", "-m", "3")  # fmt: skip
    assert few.code == 2


KILLED = """
import os, signal, sys, shoal
steps = 0

def step(event, args):
    global steps
    if event in ("os.rename", "os.link", "os.remove") and "r2" in str(args):
        steps += 1
        if steps == int(sys.argv[1]):
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(step)
shoal.anonymize(sys.argv[2], qi=["age", "zip"], identifier="name", sensitive="disease", m=2,
                after=sys.argv[3], out=sys.argv[4])
"""


@pytest.mark.parametrize("step", [1, 2, 4])
def test_killed_in_the_middle_the_chain_is_the_old_one_or_the_new_one(tmp_path, step):
    tables = stream(11, 2)
    paths = chained(tmp_path, tables[:1])
    record, source = tmp_path / "r1.csv.record.json", write(tmp_path / "in.csv", tables[1])
    old, second = record.read_bytes(), tmp_path / "r2.csv"
    done = subprocess.run([sys.executable, "-c", KILLED, str(step), source, record, second],
                          check=False, capture_output=True)  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert record.read_bytes() == old
    assert len(open_chain(record).links) == 1
    release(second, tables[1], after=paths[0])
    check_series([*paths, second], tables, QI, SA, ID, 2)
    assert len(open_chain(tmp_path / "r2.csv.record.json").links) == 2


# k without sensitive columns


def test_groups_of_k_persist_and_who_is_left_alone_is_withheld(tmp_path):
    tables = [[{n: r[n] for n in (ID, *QI)} for r in t] for t in stream(4, 8, start=120, join=30)]
    after, k = None, 3
    for number, table in enumerate(tables, start=1):
        path = tmp_path / f"r{number}.csv"
        source = write(tmp_path / f"t{number}.csv", table)
        shoal.anonymize(source, qi=QI, identifier=ID, k=8 if number == 1 else k, series=True,
                        after=after, out=path, max_suppressed=0.9)  # fmt: skip
        after = f"{path}.record.json"
        if number == 2:
            with pytest.raises(InfeasibleError, match="however they are grouped"):
                shoal.anonymize(write(tmp_path / "f.csv", tables[2][::9]), qi=QI, identifier=ID,
                                k=k, after=after, out=tmp_path / "few.csv")  # fmt: skip
    chain = open_chain(tmp_path / "r8.csv.record.json")
    history = histories(chain)
    assert len(history) > 150
    found = [crowd(history.tolist(), person) for person in range(len(history))]
    assert crowds(history).tolist() == found
    assert min(found) >= k
    paths = [tmp_path / f"r{n}.csv" for n in range(1, 9)]
    exact = shoal.series_check(paths, records=[after], k=k)
    assert exact.verdict == "holds"


def test_fewer_new_persons_than_k_join_those_who_are_there(tmp_path):
    rows = [{ID: f"p{i}", "age": str(20 + i), "zip": "1"} for i in range(12)]
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    settings = {"qi": QI, "identifier": ID, "k": 3, "series": True}
    shoal.anonymize(write(tmp_path / "a.in.csv", rows), out=first, **settings)
    more = [*rows, {ID: "new", "age": "21", "zip": "1"}]
    shoal.anonymize(write(tmp_path / "b.in.csv", more), out=second, after=f"{first}.record.json",
                    **settings)  # fmt: skip
    assert len(rows_of(second)) == 13
    found = shoal.series_check([first, second], records=[f"{second}.record.json"])
    assert found.exact.least >= 3
    assert found.verdict == "holds"


def test_values_of_other_types(tmp_path):
    rng = np.random.default_rng(8)
    n = 90
    table = pa.table({"id": np.arange(n), "age": rng.integers(20, 60, n),
                      "code": rng.integers(1, 6, n)})  # fmt: skip
    settings = {"qi": ["age"], "person": "id", "sensitive": "code", "m": 2}
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    shoal.anonymize(table, out=first, **settings)
    made = shoal.anonymize(table.slice(0, 50), out=second, after=f"{first}.record.json",
                           **settings)  # fmt: skip
    assert made.series.public["counterfeits"] == len(made.table) - 50 > 0
    assert made.table.schema.field("code").type == table.schema.field("code").type
    assert shoal.series_check([first, second], records=[f"{second}.record.json"]).verdict == "holds"


def test_more_counterfeits_lose_less_and_hide_which_values_were_missing(tmp_path):
    tables = stream(12, 3, start=300, leave=0.2, join=60)
    few, many = tmp_path / "few", tmp_path / "many"
    few.mkdir()
    many.mkdir()
    fewest = check_series(chained(few, tables), tables, QI, SA, ID, 2)[0]
    paths = chained(many, tables, max_counterfeits="8%")
    invented, _ = check_series(paths, tables, QI, SA, ID, 2)
    assert all(a <= b <= 0.08 * len(t) for a, b, t in zip(fewest, invented, tables, strict=True))
    assert invented[1] > fewest[1] + 5
    before, loss = [
        json.loads((d / "r2.csv.manifest.json").read_text())["loss"]["gcp"] for d in (few, many)
    ]
    assert loss < before
    # a value that new persons have among themselves can be a counterfeit's: nobody can rule it out
    (known, _), (people, groups) = persons_of(paths, {r[ID] for t in tables for r in t})[:2]
    rows, new = rows_of(paths[1]), {g: set() for g in groups}
    for who, group in zip(people, groups, strict=True):
        new[group].add(who is not None and who not in known)
    among = {r[SA] for r, g in zip(rows, groups, strict=True) if new[g] == {True}}
    assert among & {r[SA] for r, who in zip(rows, people, strict=True) if who is None}


@pytest.mark.parametrize("settings", [{"counterfeits": False}, {"m": None, "k": 2}])
def test_more_counterfeits_are_for_m_with_counterfeits(tmp_path, settings):
    asked = {"m": 2, **settings}
    with pytest.raises(PolicyError, match="max_counterfeits: expected with m"):
        shoal.anonymize(write(tmp_path / "in.csv", stream(1, 1)[0]), qi=QI, identifier=ID,
                        series=True, max_counterfeits=0.1, out=tmp_path / "r.csv",
                        **({} if asked["m"] is None else {"sensitive": SA}),
                        **{n: v for n, v in asked.items() if v is not None})  # fmt: skip
