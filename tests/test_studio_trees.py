"""Trees that are edited node by node: what changes, and that nothing else does."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

pytest.importorskip("starlette")

from shoal.errors import HierarchyError
from shoal.hierarchy import Hierarchy
from shoal.studio.seen import formed, said, unformed, visible
from shoal.studio.steps.hierarchies import arx_text
from shoal.studio.trees import branches, grouped, moved, node_of, removed, renamed
from studio import client_of, enter, looked_at

CITIES = ("Paris", "Lyon", "Rome", "Oslo")


@st.composite
def trees(draw):
    """Rows of a tree: values, then groups of groups; some stand alone on some levels."""
    count = draw(st.integers(2, 9))
    columns = [[f"v{i}" for i in range(count)]]
    for level in range(draw(st.integers(0, 3))):
        names = {}
        for label in dict.fromkeys(columns[-1]):
            group = draw(st.integers(0, 3))
            names[label] = f"L{level}g{group}" if group else label
        columns.append([names[label] for label in columns[-1]])
    columns.append(["*"] * count)
    return [tuple(column[i] for column in columns) for i in range(count)]


def short(row):
    """A value and all that it becomes: what a recipient can be told of it."""
    return (row[0], *(b for a, b in pairwise(row) if a != b))


def is_tree(rows, path):
    path.write_text(arx_text(rows))
    assert sorted(Hierarchy.from_arx_csv(path).leaves) == sorted(row[0] for row in rows)


def below(rows, node):
    level, row = node
    return {r[0] for r in rows if r[level:] == rows[row][level:]}


def nodes_of(rows):
    found = []

    def walk(branch):
        found.append((branch.level, branch.row))
        for part in branch.below:
            walk(part)

    walk(branches(rows))
    return found


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("tree") / "tree.csv"


@given(trees(), st.data())
def test_moving_puts_values_below_the_target_and_leaves_all_others(path, rows, data):
    nodes = nodes_of(rows)
    node = data.draw(st.sampled_from(nodes[1:]))
    target = data.draw(st.sampled_from([n for n in nodes if n[0] > node[0]]))
    label, going = rows[node[1]][node[0]], below(rows, node)
    found = moved(rows, [node], target)
    is_tree(found, path)
    onward = short(rows[target[1]][target[0] :])
    for old, new in zip(rows, found, strict=True):
        kept = short(old)
        if old[0] in going:
            assert short(new) == (*kept[: kept.index(label) + 1], *onward)
        else:
            assert short(new) == kept


@given(trees(), st.data())
def test_a_new_group_has_what_was_ticked_and_nothing_else(path, rows, data):
    nodes = nodes_of(rows)
    level = data.draw(st.sampled_from(sorted({n[0] for n in nodes[1:]})))
    ticked = data.draw(st.lists(st.sampled_from([n for n in nodes[1:] if n[0] == level]),
                                min_size=1, unique=True))  # fmt: skip
    going = set().union(*(below(rows, node) for node in ticked))
    found = grouped(rows, ticked, " new ")
    is_tree(found, path)
    assert {row[0] for row in found if "new" in row} == going
    above = short(found[ticked[0][1]])
    for old, new in zip(rows, found, strict=True):
        if old[0] in going:
            assert short(new)[short(new).index("new") :] == above[above.index("new") :]
            assert set(short(new)) - {"new"} <= set().union(*map(set, rows))
        else:
            assert short(new) == short(old)


@given(trees(), st.data())
def test_renaming_and_taking_away_change_one_group(path, rows, data):
    groups = [n for n in nodes_of(rows)[1:] if n[0] > 0]
    assume(groups)
    node = data.draw(st.sampled_from(groups))
    label, inside = rows[node[1]][node[0]], below(rows, node)
    named, without = renamed(rows, node, "new"), removed(rows, [node])
    is_tree(named, path)
    is_tree(without, path)
    for old, new, bare in zip(rows, named, without, strict=True):
        if old[0] in inside:
            assert short(new) == tuple("new" if one == label else one for one in short(old))
            assert short(bare) == tuple(one for one in short(old) if one != label)
        else:
            assert short(new) == short(old) == short(bare)


def test_what_makes_no_tree_is_refused():
    rows = [("a", "A", "X", "*"), ("b", "A", "X", "*"), ("c", "C", "Y", "*")]
    for wrong in (
        lambda: moved(rows, [(2, 0)], (1, 2)),
        lambda: moved(rows, [(0, 0)], (0, 2)),
        lambda: moved(rows, [], (1, 2)),
        lambda: renamed(rows, (0, 0), "z"),
        lambda: renamed(rows, (3, 0), "z"),
        lambda: renamed(rows, (1, 0), "  "),
        lambda: removed(rows, [(3, 0)]),
        lambda: grouped(rows, [(0, 0), (2, 0)], "z"),
        lambda: grouped(rows, [(3, 0)], "z"),
        *(lambda name=name: node_of(name, rows) for name in ("", "9-0", "0-9", "x", "-1-0", "1")),
    ):
        with pytest.raises(HierarchyError):
            wrong()
    assert moved(rows, [(1, 2)], (1, 0))[2] == ("c", "A", "X", "*")  # groups of one level join
    with_values = grouped(rows, [(0, 0)], "alone")
    assert with_values[0] == ("a", "alone", "X", "*")


# On the pages


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio")
    rows = "".join(f"{20 + i % 30},{CITIES[i % 4]},x\n" for i in range(60))
    (folder / "p.csv").write_text(f"age,city,disease\n{rows}")
    with client_of(folder) as found:
        enter(found)
        assert looked_at(found, "p.csv")
        found.post("/columns", data={"role-0": "qi", "role-1": "qi", "stay": "1"})
        yield found


def ticks(client):
    page = client.get("/hierarchies?column=1").text
    names = re.findall(r'name="node" value="([\d-]+)" aria-label="Tick (\w+)"', page)
    return {label: name for name, label in names}, page


def paths(client):
    spec = client.studio.session.policy.hierarchy["city"]
    lines = (client.studio.session.folder / spec).read_text().splitlines()
    return {line.split(";")[0]: line.split(";")[1:] for line in lines}


def edit(client, code=303, **how):
    answer = client.post(
        "/hierarchies/edit", data={"column": "1", **how}, follow_redirects=False
    )  # fmt: skip
    assert answer.status_code == code, answer.text
    return answer.text


def test_a_tree_is_built_changed_and_taken_apart_on_the_page(client):
    assert "Build one by hand" in ticks(client)[1]
    client.post("/hierarchies", data={"column": "1", "way": "flat"})
    names, _ = ticks(client)
    assert set(names) == set(CITIES)
    edit(client, act="group", name="France", node=[names["Paris"], names["Lyon"]])
    assert paths(client)["Lyon"] == ["France", "*"]
    assert paths(client)["Oslo"] == ["Oslo", "*"]
    names, page = ticks(client)
    into = re.search(r'<option value="([\d-]+)"> France', page)[1]
    edit(client, act="move", node=names["Rome"], into=into)
    assert paths(client)["Rome"] == ["France", "*"]
    edit(client, act="rename", node=ticks(client)[0]["France"], name="South")
    assert paths(client)["Rome"] == ["South", "*"]
    edit(client, act="remove", node=ticks(client)[0]["South"])
    assert paths(client) == {city: ["*"] for city in CITIES}
    before = client.studio.session.version
    assert "tick a value" in edit(client, 422, act="move", into="1-0")
    assert "reload" in edit(client, 422, act="rename", node="7-7", name="x")
    assert "the one group" in edit(client, 422, act="rename", name="x")
    assert "another tab" in edit(client, 409, act="remove", node="0-0", version="0" * 16)
    assert client.studio.session.version == before
    assert list((client.studio.session.folder / "trees").glob("draft-*")) == []


# Fields and messages


@given(st.text(st.characters() | st.sampled_from("\u202e\u200b⟨⟩U+20E\U000e0041\n"), max_size=20))
def test_a_field_that_comes_back_unchanged_means_the_same(value):
    shown = formed(value)
    assert unformed(shown) == value
    assert visible(shown.replace("\n", "").replace("\r", "").replace("\t", ""), 10_000) == (
        shown.replace("\n", "").replace("\r", "").replace("\t", "")
    )


def test_marks_in_names_and_trees_are_in_no_field_and_come_back(client):
    folder, mark = client.studio.session.start, "\u202e"
    rows = "".join(
        f"{20 + i % 30},{CITIES[i % 4]}{mark if i % 4 == 1 else ''}\n" for i in range(60)
    )
    (folder / f"m{mark}.csv").write_text(f"age,city\n{rows}", encoding="utf-8")
    assert mark not in client.get("/data").text
    assert looked_at(client, f"m{visible(mark)}.csv")
    client.post("/columns", data={"role-0": "qi", "role-1": "qi", "stay": "1"})
    groups = f"FR: Paris | Lyon{visible(mark)}\nX: Rome | Oslo"
    data = {"column": "1", "way": "groups", "groups": groups}
    assert client.post("/hierarchies", data=data).status_code == 200
    page = client.get("/hierarchies?column=1").text
    assert mark not in page
    assert f"Lyon{visible(mark)}" in page
    assert client.studio.session.policy.hierarchy["city"]["groups"]["FR"] == [
        "Paris",
        f"Lyon{mark}",
    ]


def test_no_option_of_the_command_line_is_named():
    told = said("t.csv: name its encoding, for example --encoding latin-1", 200)
    assert told == "t.csv: name its encoding, for example Encoding latin-1"
    assert said("raise --max-loss or drop --odd-one", 200) == (
        "raise the setting max_loss or drop the setting odd_one"
    )
    assert said("a--b -- 5 --- c", 200) == "a--b -- 5 --- c"
