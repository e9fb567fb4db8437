"""Joined releases: the paper's example, what must be safe, and agreement with the slow twin."""

from __future__ import annotations

import csv
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import naive_joining as naive
import shoal
from command import SECRET
from command import shoal as command
from shoal.errors import InputError, PolicyError
from shoal.joining import join_check, pairs
from shoal.methods import METHODS

INSURER = ["age", "vehicle", "postcode"]
EMPLOYER = ["occupation", "age", "postcode"]
TREES: dict[str, Any] = {
    "occupation": {
        "tree": {"Medical": ["Dentist", "Family doctor"], "Finance": ["Banker", "Mortgage broker"]}
    },
    "vehicle": {
        "tree": {"Truck": ["Red Truck", "Black Truck"], "Sedan": ["White Sedan", "Green Sedan"]}
    },
}
JOBS = {"any": ["x", "y", "z", "w"], "upper": ["x", "y"], "lower": ["z", "w"]}
TREE = {"tree": {"upper": ["x", "y"], "lower": ["z", "w"]}, "root": "any"}


def with_column(table: pa.Table, name: str, cells: list[Any]) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, pa.array(cells))


def paper_tables() -> tuple[pa.Table, pa.Table]:
    """Tables 2 and 3 of paper 003."""
    accidents = shoal.datasets.traffic_accidents()
    return (
        with_column(accidents, "vehicle", ["Truck", "Sedan", "Sedan", "Truck"]),
        with_column(accidents, "occupation", ["Medical", "Medical", "Finance", "Finance"]),
    )


# --- the paper's example -----------------------------------------------------------------


def test_example_1_of_the_paper() -> None:
    result = join_check(paper_tables(), k=2, qi=[INSURER, EMPLOYER], hierarchy=TREES)
    assert not result.ok
    assert result.own == (2, 2)
    (view,) = result.views
    assert (view.exposed, view.possible, view.smallest) == (4, 4, 1)
    assert set(view.narrowed) == {"occupation", "vehicle"}
    assert set(result.linked) == {"occupation", "vehicle", "faulty"}
    assert "joined: 4 of 4 records (100%) are alone, k = 2 is broken" in repr(result)


def test_example_1_for_a_reader_who_gets_the_other_table_too() -> None:
    for known in (INSURER, EMPLOYER):
        result = join_check(paper_tables(), k=2, qi=known, hierarchy=TREES)
        assert result.views[0].exposed == 4


def test_example_1_made_by_the_pipeline(tmp_path: Path) -> None:
    accidents = shoal.datasets.traffic_accidents()
    paths = []
    for name, known in (("insurer", INSURER), ("employer", EMPLOYER)):
        trees = {column: tree for column, tree in TREES.items() if column in known}
        release = shoal.anonymize(
            accidents,
            qi=known,
            sensitive="faulty",
            k=2,
            hierarchy=trees,
            method="mondrian",
            rest="plain",
        )
        paths.append(release.write(tmp_path / f"{name}.csv"))
    result = join_check(paths, hierarchy=TREES)
    assert result.own == (2, 2)
    assert result.releases == tuple(map(str, paths))
    assert not result.ok
    assert result.views[0].k == 2


def test_what_may_be_is_told_from_what_is_certain() -> None:
    """Each table without the other reader's column: linked by the fault alone.

    Whoever drives a sedan and works in finance is the one sedan without a
    fault; but that sedan may as well belong to somebody in medicine.
    """
    insurer, employer = paper_tables()
    tables = [insurer.drop_columns(["occupation"]), employer.drop_columns(["vehicle"])]
    result = join_check(tables, k=2, qi=[INSURER, EMPLOYER], hierarchy=TREES)
    assert result.linked == ("faulty",)
    (view,) = result.views
    assert (view.exposed, view.possible, view.smallest) == (0, 3, 1)
    assert not result.ok
    assert "joined: up to 3 of 4 records (75%) may be alone, k = 2 is broken" in repr(result)


# --- what is safe ------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["hilbert", "mondrian", "topdown"])
def test_one_release_twice_is_safe(method: str) -> None:
    people = shoal.datasets.census(400)
    release = shoal.anonymize(
        people,
        qi=["age", "gender", "education"],
        sensitive="occupation",
        k=5,
        method=method,
        rest="plain",
    )
    for count in (2, 3):
        result = join_check([release] * count)
        assert result.ok
        assert result.views[0].smallest >= 5
        assert result.views[0].possible == 0


@pytest.mark.parametrize("method", ["hilbert", "union", "butterfly"])
def test_one_release_for_two_readers_is_safe_for_each(tmp_path: Path, method: str) -> None:
    if method not in METHODS:
        pytest.skip(f"{method} is not registered")
    readers = {"insurer": ["age", "gender", "country"], "employer": ["age", "education"]}
    release = shoal.anonymize(
        shoal.datasets.census(400), reader=readers, k=5, collusion_k=2, method=method, rest="plain"
    )
    path = release.write(tmp_path / "r.csv")
    result = join_check([path, path])
    assert result.ok
    asked = [(view.reader, view.k) for view in result.views]
    assert asked == [("insurer", 5), ("employer", 5), ("all readers together", 2)]
    assert all(view.smallest >= view.k and view.possible == 0 for view in result.views)


def test_a_butterfly_given_to_both_readers_is_safe_and_on_the_union_it_is_not() -> None:
    """Two classes a reader, four on the union: k = 2 for each reader, not for both."""
    table = pa.table({"a": ["x", "x", "y", "y"], "b": ["x", "y", "x", "y"], "s": list("pqrs")})
    readers = {"one": ["a"], "two": ["b"]}
    for known in readers.values():
        assert join_check([table, table], k=2, qi=known).ok
    assert not join_check([table, table], k=2, qi=["a", "b"]).ok


def test_nothing_but_quasi_identifiers_links_nothing() -> None:
    one = pa.table({"age": ["[1,2]"] * 2 + ["[3,5]"] * 3})
    other = pa.table({"age": ["[1,3]"] * 3 + ["[4,5]"] * 2})
    result = join_check([one, other], k=2, qi=["age"])
    assert result.ok
    assert result.views[0].smallest == 2


def test_a_sensitive_value_in_both_narrows_who_it_can_be() -> None:
    """The intersection attack: one disease only is left for somebody of age 3."""
    one = pa.table({"age": ["[1,3]"] * 3 + ["[4,5]"] * 2, "ill": list("abcde")})
    other = pa.table({"age": ["[1,2]"] * 2 + ["[3,5]"] * 3, "ill": list("abcde")})
    result = join_check([one, other], k=2, qi=["age"])
    (view,) = result.views
    assert (view.exposed, view.possible, view.smallest) == (1, 1, 1)
    assert "joined: 1 of 5 records (20%) is alone, k = 2 is broken" in repr(result)


# --- against the slow twin ---------------------------------------------------------------


@st.composite
def released_twice(draw: st.DrawFn) -> tuple[list[shoal.Release], list[str], int]:
    """A random table released two or three times, by real methods, on different columns."""
    many = draw(st.sampled_from([2, 2, 2, 3]))
    n = draw(st.integers(2, 12 if many == 2 else 6))
    missing = draw(st.booleans())

    def column(pool: list[Any]) -> list[Any]:
        cells = st.sampled_from(pool + [None] * missing)
        return draw(st.lists(cells, min_size=n, max_size=n))

    table = pa.table(
        {
            "age": pa.array(column([1, 2, 3, 5, 8, 9]), pa.int64()),
            "job": pa.array(column(["x", "y", "z", "w"]), pa.string()),
            "city": pa.array(column(["p", "q", "r"]), pa.string()),
            "ill": pa.array(column(["s", "t"]), pa.string()),
        }
    )
    names = ["age", "job", "city"]
    releases = []
    for _ in range(many):
        qi = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
        others = [name for name in [*names, "ill"] if name not in qi]
        dropped = draw(st.lists(st.sampled_from(others), unique=True)) if others else []
        trees = {"job": TREE} if "job" in qi and draw(st.booleans()) else {}
        releases.append(
            shoal.anonymize(
                table,
                qi=qi,
                identifier=dropped,
                k=draw(st.integers(1, min(3, n))),
                kind={} if "job" in trees or "job" not in qi else {"job": "categorical"},
                hierarchy=trees,
                method=draw(st.sampled_from(["mondrian", "hilbert"])),
                recoding=draw(st.sampled_from([None, None, "suppress"])),
                layout=draw(st.sampled_from(["cells", "cells", "bounds"])),
                rest="plain",
            )
        )
    known = draw(st.lists(st.sampled_from(names), max_size=3, unique=True))
    return releases, known, draw(st.integers(1, 4))


def cells_of(release: shoal.Release) -> list[dict[str, Any]]:
    """Released rows for the twin: two bounds as one cell."""
    rows = []
    for row in release.table.to_pylist():
        if "age_min" in row:
            low, high = row.pop("age_min"), row.pop("age_max")
            stars = release.loss.stars > 0
            row["age"] = ("*" if stars else None) if low is None else f"[{low},{high}]"
        rows.append(row)
    return rows


def universe_of(releases: list[list[dict[str, Any]]], name: str) -> frozenset[Any]:
    """Everything that the cells of a column mention."""
    cells = [row[name] for rows in releases for row in rows if name in row]
    found: set[Any] = {None}
    for cell in cells:
        if name == "job" and cell in JOBS:
            found |= set(JOBS[cell])
        elif cell not in (None, "*"):
            text = str(cell)
            parts = text[1:-1].split(",") if text[0] in "[{" else [text]
            found |= {(int(p) if name == "age" else p) if p else None for p in parts}
    return frozenset(found)


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(released_twice())
def test_it_agrees_with_the_slow_twin(case: tuple[list[shoal.Release], list[str], int]) -> None:
    releases, known, k = case
    rows = [cells_of(release) for release in releases]
    published = set().union(*(set(part[0]) for part in rows))
    known = [name for name in known if name in published]
    qi = known or list(dict.fromkeys(name for r in releases for name in r.policy.qi))
    names = [n for n in ("age", "job", "city", "ill") if n in published]
    treed = any(r.policy.hierarchy for r in releases)
    universes = {name: universe_of(rows, name) for name in names}
    if treed:  # the whole tree is known to whoever has the file
        universes["job"] |= set(JOBS["any"])
    expected = naive.join(naive.rows_of(rows, universes, {"job": JOBS}), qi, k)
    assert expected is not None
    trees = {"hierarchy": {"job": TREE}} if treed else {}
    result = join_check(releases, k, qi=known, **trees)
    (view,) = result.views
    assert (view.exposed, view.possible, view.smallest) == expected
    assert result.ok == (expected.smallest >= k)


@pytest.mark.filterwarnings("ignore::shoal.errors.ShoalWarning")
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(released_twice())
def test_both_ways_to_find_pairs_find_the_same(
    case: tuple[list[shoal.Release], list[str], int],
) -> None:
    """By cells or by what stands beside them: a shortcut never changes the answer."""
    releases, _, k = case
    trees = {"hierarchy": {"job": TREE}} if any(r.policy.hierarchy for r in releases) else {}
    found = []
    plans = (
        pairs._by_cells,
        lambda left, right, bits: pairs._by_rests(left, right, most=1 << 60),
    )
    for plan in plans:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pairs, "_plan", plan)
            found.append(join_check(releases, k, **trees).views)
    assert found[0] == found[1]


def test_the_order_of_rows_and_of_releases_does_not_matter() -> None:
    people = shoal.datasets.census(300)
    one = shoal.anonymize(people, qi=["age", "gender"], k=4, method="mondrian", rest="plain").table
    other = shoal.anonymize(
        people, qi=["age", "marital"], k=4, method="hilbert", rest="plain"
    ).table
    shuffled = other.take(random.Random(1).sample(range(300), 300))
    known = ["age", "gender", "marital"]
    found = [
        join_check(pair, k=4, qi=known).views[0] for pair in ([one, other], [shuffled, one])
    ]  # fmt: skip
    numbers = [(view.exposed, view.possible, view.smallest) for view in found]
    assert numbers[0] == numbers[1]
    assert numbers[0][0] > 0


def test_bounds_that_nobody_asks_for_still_link() -> None:
    """Both releases in the bounds layout: an interval and a point meet, as they do in cells."""
    table = pa.table({"age": [1, 2], "job": ["x", "x"]})
    wide = shoal.anonymize(table, qi=["age"], k=2, layout="bounds", rest="plain")
    narrow = shoal.anonymize(table, qi=["age"], k=1, layout="bounds", rest="plain")
    assert join_check([wide, narrow], k=2, qi=["job"]).ok
    assert not join_check([wide, narrow], k=2, qi=["age"]).ok


# --- labels whose tree is not at hand ----------------------------------------------------


def labelled(tmp_path: Path) -> list[Path]:
    """The paper's example as files with manifests; the trees are not in them."""
    accidents = shoal.datasets.traffic_accidents()
    paths = []
    for name, known in (("insurer", INSURER), ("employer", EMPLOYER)):
        trees = {column: tree for column, tree in TREES.items() if column in known}
        release = shoal.anonymize(
            accidents,
            qi=known,
            sensitive="faulty",
            k=2,
            hierarchy=trees,
            method="mondrian",
            rest="plain",
        )
        paths.append(release.write(tmp_path / f"{name}.csv"))
    return paths


def test_labels_without_their_tree_can_be_anything(tmp_path: Path) -> None:
    result = join_check(labelled(tmp_path))
    assert not result.ok
    assert set(result.unsure) == {"occupation", "vehicle"}


def test_nothing_is_called_safe_while_a_tree_is_missing() -> None:
    one = pa.table({"job": ["Medical"] * 2 + ["Finance"] * 2})
    other = pa.table({"job": ["Work"] * 4})
    with pytest.raises(PolicyError, match="'job': its hierarchy or order is not at hand"):
        join_check([one, other], k=2, qi=["job"])
    tree = {"tree": {"Work": {"Medical": ["Dentist"], "Finance": ["Banker"]}}}
    assert join_check([one, other], k=2, qi=["job"], hierarchy={"job": tree}).ok


def test_a_flat_hierarchy_says_that_there_are_no_labels() -> None:
    one = pa.table({"job": ["Dentist", "Dentist", "Banker", "Banker"]})
    other = pa.table({"job": ["*", "*", "Banker", "Banker"]})
    with pytest.raises(PolicyError, match="flat if it has none"):
        join_check([one, other], k=2, qi=["job"])
    assert join_check([one, other], k=2, qi=["job"], hierarchy={"job": "flat"}).ok


def test_values_of_a_column_published_as_it_is_are_no_labels() -> None:
    """By its manifest, the one release generalises the job and the other does not."""
    table = pa.table({"job": ["x", "y", "z", "w"], "age": [1, 2, 3, 4]})
    general = shoal.anonymize(
        table, qi=["job"], identifier=["age"], k=2, hierarchy={"job": TREE}, rest="plain"
    )
    plain = shoal.anonymize(table, qi=["age"], k=2, rest="plain")
    blind = general.policy.model_copy(update={"hierarchy": {}})
    unknowing = replace(general, policy=blind)
    vars(unknowing)["manifest"] = general.manifest  # which names the tree that the policy lacks
    for releases in ([general, plain], [unknowing, plain]):
        result = join_check(releases, k=2)
        assert result.views[0].smallest == 1


def test_a_hidden_order_is_not_guessed(tmp_path: Path) -> None:
    table = pa.table({"size": ["S", "M", "L", "XL"] * 2})
    release = shoal.anonymize(
        table, qi=["size"], order={"size": ["S", "M", "L", "XL"]}, k=4, rest="plain"
    )
    assert any(text.startswith("[") for text in release.table.column("size").to_pylist())
    path = release.write(tmp_path / "r.csv")
    with pytest.raises(PolicyError, match="'size'"):
        join_check([path, path])
    assert join_check([path, path], order={"size": ["S", "M", "L", "XL"]}).ok


# --- errors ------------------------------------------------------------------------------


def small(**columns: list[Any]) -> pa.Table:
    return pa.table(columns)


@pytest.mark.parametrize(
    ("releases", "given", "says"),
    [
        ([small(a=[1])], {"k": 2, "qi": ["a"]}, "at least two releases"),
        ("one.csv", {"k": 2, "qi": ["a"]}, "at least two releases"),
        ([small(a=[1, 2]), small(a=[1, 2])], {"k": 2}, "qi: name the quasi-identifiers"),
        ([small(a=[1, 2]), small(a=[1, 2])], {"qi": ["a"]}, "k: expected a whole number"),
        ([small(a=[1, 2]), small(a=[1, 2])], {"qi": ["a"], "k": 0}, "at least 1"),
        ([small(a=[1, 2]), small(a=[1, 2])], {"qi": ["b"], "k": 2}, "no release has a column 'b'"),
        ([small(a=[1, 2]), small(a=[1, 2])], {"qi": [["a"]], "k": 2}, "or one a release"),
        ([small(a=[1, 2]), small(a=[1, 2])], {"t": 0.2}, "unknown setting 't'"),
        ([small(a=[1, 2]), small(a=[1, 2])], {"qi": ["a"], "k": 2, "l": 2}, "sensitive: name"),
        (
            [small(a=[1, 2]), small(a=[1, 2])],
            {"qi": ["a"], "k": 2, "l": 2, "sensitive": "s"},
            "sensitive: no release has a column 's'",
        ),
    ],
)
def test_what_is_refused(releases: Any, given: dict[str, Any], says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        join_check(releases, **given)


@pytest.mark.parametrize(
    ("one", "other", "says"),
    [
        (small(a=[1, 2]), small(a=[1, 2, 3]), "3 records and release 1 2: they are no releases"),
        (
            small(a=[1, 2], s=["Xq7p", "Xq7q"]),
            small(a=[1, 2], s=["Xq7r", "Xq7t"]),
            "2 records .* find no partner",
        ),
        (small(a=[1, 2, 3]), small(a=[1, 2, 4]), "1 record .* finds no partner"),
        (pa.table({"a": pa.array([], pa.int64())}),) * 2 + ("empty",),
    ],
)
def test_strangers_are_told_apart(one: pa.Table, other: pa.Table, says: str) -> None:
    with pytest.raises(InputError, match=says) as error:
        join_check([one, other], k=2, qi=["a"])
    assert SECRET not in str(error.value)


def test_three_strangers() -> None:
    with pytest.raises(InputError, match=r"1 record .* finds no partner"):
        join_check([small(a=[1]), small(a=[2]), small(a=[1])], k=1, qi=["a"])


def test_two_tables_of_one_release_are_refused() -> None:
    release = shoal.anonymize(
        shoal.datasets.hospital(), identifier="name", qi=["age", "gender"], sensitive="disease",
        l=2, method="anatomy", rest="plain",
    )  # fmt: skip
    with pytest.raises(PolicyError, match="anatomy"):
        join_check([release, release], k=2)


# --- the command -------------------------------------------------------------------------


@pytest.fixture
def released(tmp_path: Path, table: Path) -> tuple[Path, Path]:
    """Two releases of the people of the command tests, for two readers."""
    paths = tmp_path / "one.csv", tmp_path / "other.csv"
    for path, known in zip(paths, ("age", "zip"), strict=True):
        done = command(
            "anonymize", table, "-o", path, "--identifier", "name",
            "--rest", "plain", "--qi", known,
            "--sensitive", "disease", "-k", 4,
        )  # fmt: skip
        assert done.code == 0, done
    return paths


def test_the_command_says_what_is_broken(released: tuple[Path, Path]) -> None:
    done = command("join-check", *released)
    assert done.code == 1
    assert done.err == ""
    lines = done.out.splitlines()
    assert lines[0].startswith(f"{released[0]}: 40 records, k = ")
    assert lines[1].startswith(f"{released[1]}: 40 records, k = ")
    assert lines[2].startswith("joined: ")
    assert lines[2].endswith("k = 4 is broken")
    assert SECRET not in done.out


def test_the_command_says_what_is_safe(released: tuple[Path, Path]) -> None:
    done = command("join-check", released[0], released[0])
    assert (done.code, done.err) == (0, "")
    assert "k = 4 holds" in done.out
    assert command("join-check", released[0], released[0], "-k", 41).code == 1


def test_the_command_for_machines(released: tuple[Path, Path]) -> None:
    done = command("join-check", *released, "--json")
    found = json.loads(done.out)
    assert done.code == 1
    assert found["ok"] is False
    assert found["records"] == 40
    (joined,) = found["joined"]
    assert joined["qi"] == ["age", "zip"]
    assert (joined["k"], joined["reader"]) == (4, None)
    assert 0 < joined["exposed"] <= joined["possible"] <= 40
    assert joined["smallest"] < 4
    assert SECRET not in done.out
    quiet = command("join-check", *released, "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (1, "", "")


def test_the_command_takes_hierarchies_and_columns(tmp_path: Path) -> None:
    for name, table in zip(("a.csv", "b.csv"), paper_tables(), strict=True):
        rows = table.to_pylist()
        with (tmp_path / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    options: list[object] = ["--qi", ",".join(dict.fromkeys([*INSURER, *EMPLOYER])), "-k", 2]
    notes = command("join-check", tmp_path / "a.csv", tmp_path / "b.csv", *options)
    assert notes.code == 1
    assert "note: vehicle: its hierarchy or order is not at hand" in notes.err
    for column, tree in TREES.items():
        path = tmp_path / f"{column}.csv"
        shoal.Hierarchy.from_tree(tree["tree"]).to_arx_csv(path)
        options += ["--hierarchy", f"{column}={path}"]
    done = command("join-check", tmp_path / "a.csv", tmp_path / "b.csv", *options)
    assert (done.code, done.err) == (1, "")
    assert "joined: 4 of 4 records (100%) are alone, k = 2 is broken" in done.out


def test_the_command_refuses_one_release(released: tuple[Path, Path]) -> None:
    done = command("join-check", released[0])
    assert done.code == 2
    assert "at least two releases" in done.err
    assert len(done.err.splitlines()) == 1


def test_a_cell_that_its_tree_does_not_have_is_not_shown(tmp_path):
    """Without a manifest nobody knows which columns are sensitive."""
    release = tmp_path / "release.csv"
    release.write_text(f"age,disease\n30,{SECRET} flu\n30,{SECRET} cold\n")
    tree = tmp_path / "tree.csv"
    tree.write_text("other;*\n")
    given = ["--qi", "age", "-k", 2, "--hierarchy", f"disease={tree}"]
    done = command("join-check", release, release, *given)
    assert done.code == 2
    assert "a cell is not in hierarchy" in done.err
    assert SECRET not in done.err + done.out


@pytest.mark.parametrize(("part", "value"), [("policy", "x"), ("release", 3), ("kinds", [])])
def test_a_damaged_manifest_is_one_line(tmp_path: Path, part: str, value: object) -> None:
    """Found by the fuzzer."""
    table = pa.table({"age": [1, 2, 3, 4] * 3})
    path = shoal.anonymize(table, qi="age", k=2, method="hilbert").write(tmp_path / "r.csv")
    manifest = tmp_path / "r.csv.manifest.json"
    changed = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**changed, part: value}))
    with pytest.raises(InputError, match="is it damaged"):
        join_check([path, path])
    del changed["policy"]
    manifest.write_text(json.dumps(changed))
    with pytest.raises(InputError, match="lacks 'policy'"):
        join_check([path, path])
