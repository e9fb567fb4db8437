"""Joined releases when every record must find a partner: against all worlds, one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import naive_joining as naive
import shoal
from command import shoal as command
from shoal.errors import InputError
from shoal.joining import JoinCheck, join_check, listing, matching, pairs
from shoal.joining.candidates import pairs_of
from shoal.joining.candidates import rows_of as distinct_rows
from shoal.joining.check import _columns
from shoal.joining.sources import open_sources
from shoal.policy import Policy

QI = ["a", "b"]
NUMBERS = frozenset(range(9))
POINTS = [{"a": a, "b": b} for a in NUMBERS for b in NUMBERS]
UNIVERSES = {"a": NUMBERS, "b": NUMBERS, "s": frozenset("xyz"), "p": frozenset("uv")}
Release = list[dict[str, Any]]
SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def forced() -> tuple[pa.Table, pa.Table]:
    """The two rows with a = 2 must be the x of [2,4]: whoever has a = 4 is alone, and has y."""
    one = {"a": ["[2,4]"] * 3 + ["[7,8]"] * 2, "b": ["[0,7]"] * 3 + ["[2,4]"] * 2}
    other = {"a": ["2"] * 2 + ["[4,8]"] * 3, "b": ["[6,7]"] * 2 + ["[0,4]"] * 3}
    return pa.table({**one, "s": list("xxyxx")}), pa.table({**other, "s": list("xxxxy")})


def test_a_forced_matching_exposes_who_is_left() -> None:
    result = join_check(forced(), k=2, qi=QI)
    (view,) = result.views
    assert (view.exposed, view.possible, view.smallest) == (1, 1, 1)
    assert (result.ok, result.verdict) == (False, "broken")
    assert "1 of 5 records (20%) is alone, k = 2 is broken" in repr(result)


# --- against every world -----------------------------------------------------------------


def text(values: list[int]) -> str:
    low, high = min(values), max(values)
    return str(low) if low == high else f"[{low},{high}]"


@st.composite
def small_releases(draw: st.DrawFn, many: int = 2, most: int = 6) -> list[Release]:
    """A few records, released several times: groups of two or three, as boxes."""
    n = draw(st.integers(4, most))
    number, value = st.integers(0, 8), st.sampled_from("xxyz")
    plain = draw(st.booleans())
    rows = draw(
        st.lists(st.tuples(number, number, value, st.sampled_from("uv")), min_size=n, max_size=n)
    )
    releases = []
    for _ in range(many):
        by = draw(st.sampled_from([0, 1, None]))
        order = (
            sorted(rows, key=lambda row: row[by]) if by is not None else draw(st.permutations(rows))
        )
        release: Release = []
        while order:
            size = draw(st.integers(2, 3))
            size = len(order) if len(order) - size < 2 else size
            group, order = order[:size], order[size:]
            box = {name: text([row[i] for row in group]) for i, name in enumerate(QI)}
            release += [{**box, "s": row[2], **({"p": row[3]} if plain else {})} for row in group]
        releases.append(release)
    if draw(st.integers(0, 3)) == 0:  # one release keeps its sensitive values to itself
        releases[-1] = [{n: v for n, v in row.items() if n != "s"} for row in releases[-1]]
    return releases


def rows_of(releases: list[Release]) -> list[list[naive.Row]]:
    named = {n: u for n, u in UNIVERSES.items() if any(n in release[0] for release in releases)}
    return naive.rows_of(releases, named, {})


def checked(releases: list[Release], k: int, **asked: Any) -> JoinCheck:
    return join_check([pa.Table.from_pylist(r) for r in releases], k, qi=QI, **asked)


@SETTINGS
@given(small_releases(), st.integers(2, 3))
def test_k_never_holds_where_a_world_exposes_somebody(releases: list[Release], k: int) -> None:
    found = naive.attack(rows_of(releases), POINTS)
    result = checked(releases, k)
    assert result.views[0].smallest <= found.records
    if found.records < k:
        assert result.verdict == "broken"


@SETTINGS
@given(small_releases(), st.sampled_from(["frequency", "distinct"]), st.integers(2, 3))
def test_l_never_holds_where_a_world_says_too_much(
    releases: list[Release], reading: str, asked: int
) -> None:
    """Of the releases that publish the sensitive column."""
    rows = rows_of(releases)
    shown = [r for r, release in enumerate(releases) if "s" in release[0]]
    found = naive.attack(rows, POINTS, "s", shown)
    result = checked(releases, 1, sensitive="s", l=asked, l_reading=reading)
    (view,) = result.views
    assert view.values is not None
    if found.values < asked if reading == "distinct" else found.share * asked > 1:
        assert view.values.verdict != "holds"
        assert result.verdict != "holds"
    if view.values.verdict == "broken":
        assert not result.ok
        assert view.values.possible > 0
    if view.values.verdict == "holds":  # and so does the l that is said to be reached
        reached = view.values.reached
        assert found.values >= reached if reading == "distinct" else found.share * reached <= 1


def test_the_l_that_is_reached_is_that_of_overlapping_joined_classes() -> None:
    """Whoever has a = 0 may be any of 25 in the first release, and ten of them have x."""
    others = [f"d{i}" for i in range(20)]

    def rows(box: str, p: int, q: int, rest: int, more: list[str]) -> list[dict[str, str]]:
        counted = {("x", "p"): p, ("x", "q"): q, **{(s, "r"): rest for s in "abc"}}
        cells = [cell for cell, times in counted.items() for _ in range(times)]
        return [{"a": box, "s": s, "t": t} for s, t in [*cells, *((s, "r") for s in more)]]

    one = rows("[0,1]", 5, 5, 5, others)
    other = rows("0", 1, 0, 1, []) + rows("[0,1]", 0, 1, 1, []) + rows("1", 4, 4, 3, others)
    tables = [pa.Table.from_pylist(release) for release in (one, other)]
    (view,) = join_check(tables, 1, qi=["a"], sensitive="s", l=2).views
    assert view.values is not None
    assert view.values.verdict == "holds"
    assert view.values.reached == 2


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(small_releases(many=3, most=4))
def test_three_releases_are_refuted_or_left_open(releases: list[Release]) -> None:
    """Matching three at once is NP-hard: it is never called safe."""
    result = checked(releases, 2)
    assert result.verdict in ("broken", "not refuted")
    if naive.join(rows_of(releases), QI, 2).smallest < 2:  # type: ignore[union-attr]
        assert result.verdict == "broken"
    assert result.not_followed_up


@SETTINGS
@given(small_releases(most=9))
def test_components_are_what_matchings_leave(releases: list[Release]) -> None:
    """Two rows lie in one component if and only if, where they meet, some matching has them."""
    tables = [pa.Table.from_pylist(release) for release in releases]
    sources = open_sources(tables, Policy.parse(qi=QI), ())
    columns = _columns(sources, QI, ["s"])
    table = distinct_rows(columns, 2, len(releases[0]))
    followed = matching.with_components(table)
    assert followed.given_up == 0
    left, right = followed.table.releases
    kept = set(
        zip(*(p.tolist() for p in pairs_of(left.cells, right.cells, table.bits)), strict=True)
    )
    kind = [
        [list(dict.fromkeys(map(str, release))).index(str(row)) for row in release]
        for release in releases
    ]
    expected = {
        (kind[0][i], kind[1][j]) for i, j in naive.in_a_matching(*rows_of(releases))
    }  # fmt: skip
    assert kept == expected


# --- what is not followed up -------------------------------------------------------------


def test_too_many_comparisons_are_not_called_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    people = shoal.datasets.census(300)
    release = shoal.anonymize(
        people, qi=["age", "gender"], sensitive="occupation", k=5, l=2, rest="drop"
    )
    whole = join_check([release, release])
    assert whole.verdict == "holds"
    assert (whole.views[0].values is not None) and whole.views[0].values.verdict == "holds"
    monkeypatch.setattr(matching, "MOST_COMPARISONS", 3)
    result = join_check([release, release])
    assert (result.ok, result.verdict) == (True, "not refuted")
    assert "k = 5 is not refuted by candidates" in repr(result)
    assert "not followed up: which rows of two releases go together" in repr(result)
    assert result.to_dict()["not_followed_up"] == list(result.not_followed_up)
    assert "holds" not in repr(result)


BUDGETS = [
    (matching, "MOST_COMPARISONS", "which rows of two releases go together"),
    (pairs, "MOST_VISITS", "all joined classes"),
    (pairs, "MOST_VISITS_FOR_L", "l in all joined classes"),
]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    small_releases(),
    st.sampled_from(BUDGETS),
    st.integers(-1, 12),
    st.sampled_from(["frequency", "distinct"]),
)
def test_a_budget_never_makes_it_safe(
    releases: list[Release], stage: tuple[Any, str, str], most: int, reading: str
) -> None:
    """Whichever stage gives up, at whatever point: nothing exposed is called safe."""
    module, name, missed = stage
    shown = [r for r, release in enumerate(releases) if "s" in release[0]]
    worst = naive.attack(rows_of(releases), POINTS, "s", shown)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, name, most)
        result = checked(releases, 2, sensitive="s", l=2, l_reading=reading)
    whole = checked(releases, 2, sensitive="s", l=2, l_reading=reading)
    (view,), (all_of_it,) = result.views, whole.views
    values_broken = worst.values < 2 if reading == "distinct" else worst.share * 2 > 1
    if worst.records < 2 or values_broken:
        assert result.verdict != "holds"
    if any(missed in what for what in result.not_followed_up):
        assert result.verdict != "holds"
        if module is pairs:  # what is certain stays certain, what is open counts as possible
            assert view.exposed <= all_of_it.exposed
            assert view.possible >= all_of_it.possible
            assert view.smallest >= all_of_it.smallest
    else:
        assert result.to_dict() == whole.to_dict()


def test_each_stage_says_that_it_gave_up() -> None:
    people = shoal.datasets.census(300)
    asked = {"sensitive": "occupation", "k": 5, "l": 2, "rest": "drop"}
    releases = [
        shoal.anonymize(people, qi=["age", "gender"], method="hilbert", **asked) for _ in range(2)
    ]
    for module, name, missed in BUDGETS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, name, -1)
            result = join_check(releases)
        assert result.verdict == "not refuted", name
        assert any(missed in what for what in result.not_followed_up), name
        assert "not refuted is not safe" in repr(result)


@SETTINGS
@given(small_releases(most=9), st.integers(2, 3))
def test_lists_never_change_the_answer(releases: list[Release], k: int) -> None:
    plain = checked(releases, k, sensitive="s", l=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "WORTH_LISTING", 0)
        patch.setattr(listing, "ENTRY", 0)
        patch.setattr(listing, "GAIN", 1e9)  # list every column
        assert checked(releases, k, sensitive="s", l=2) == plain


def test_other_models_are_named_as_not_checked() -> None:
    people = shoal.datasets.census(300)
    release = shoal.anonymize(
        people, qi=["age", "gender"], sensitive="occupation", k=5, t=0.6, rest="drop"
    )
    result = join_check([release, release])
    assert result.views[0].unchecked == ("t = 0.6",)
    assert "not checked: t = 0.6" in repr(result)


@pytest.mark.parametrize("reading", ["entropy", "unique"])
def test_other_readings_can_be_refuted_only(reading: str) -> None:
    people = shoal.datasets.census(300)
    release = shoal.anonymize(
        people, qi=["age", "gender"], sensitive="occupation", l=2, l_reading=reading, rest="drop"
    )
    result = join_check([release, release], k=2)
    assert (result.ok, result.verdict) == (True, "not refuted")


def test_where_l_alone_is_promised_k_follows_from_it() -> None:
    people = shoal.datasets.census(300)
    asked = {"qi": ["age", "gender"], "sensitive": "occupation", "rest": "drop", "l": 3}
    result = join_check([shoal.anonymize(people, method=m, **asked) for m in ("hilbert", "bsgi")])
    assert result.views[0].k == 3


def test_records_that_find_no_partner_are_strangers() -> None:
    """Every row meets one of the other release, but two of them the same one."""
    one = pa.table({"a": ["1", "2", "[3,4]"]})
    other = pa.table({"a": ["[1,2]", "[3,4]", "[3,4]"]})
    with pytest.raises(InputError, match="1 record of the releases finds no partner when all are"):
        join_check([one, other], k=1, qi=["a"])


def test_the_command_says_what_is_broken_of_l(tmp_path: Path) -> None:
    table = pa.table({"age": ["[1,3]"] * 3 + ["[4,5]"] * 2, "ill": list("aabbb")})
    other = pa.table({"age": ["[1,3]"] * 3 + ["[4,5]"] * 2, "ill": list("aabbb")})
    paths = []
    for name, release in (("a.csv", table), ("b.csv", other)):
        lines = [f'"{age}",{ill}' for age, ill in zip(*release.to_pydict().values(), strict=True)]
        paths.append(tmp_path / name)
        paths[-1].write_text("\n".join(["age,ill", *lines]) + "\n")
    asked = ["--qi", "age", "-k", 2, "--sensitive", "ill", "-l", 2, "--l-reading", "distinct"]
    done = command("join-check", *paths, *asked)
    assert done.code == 1
    assert "joined: every record is among at least 2, k = 2 holds" in done.out
    assert "joined: ill: l = 2 (distinct) is broken for 2 of 5 records (40%)" in done.out
    found = json.loads(command("join-check", *paths, *asked, "--json").out)
    assert found["verdict"] == "broken"
    assert found["joined"][0]["values"]["exposed"] == 2
