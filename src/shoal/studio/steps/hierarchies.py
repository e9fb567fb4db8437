"""Hierarchies: a tree for a column is suggested, built, brought, or edited; what is shown is used.

A tree is checked against the values of its column before it is kept: one that does not cover
them is shown with what it lacks, and not used.
"""

from __future__ import annotations

import csv
import io
import math
import secrets
from collections.abc import Iterator, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from shoal.errors import HierarchyError, ShoalError
from shoal.policy import Policy
from shoal.studio.pages import Form, Studio, form_of, go, studio_of, whole
from shoal.studio.seen import visible
from shoal.studio.session import write_text
from shoal.studio.texts import text
from shoal.studio.trees import Branch, branches

__all__ = ["arx_text", "hierarchies", "keep_tree", "save_tree", "tree_page"]

WAYS = ("none", "suggest", "flat", "intervals", "prefixes", "dates", "groups", "tree")
PERIODS = ("day", "month", "quarter", "year", "decade")
LONGEST_TREE = 2_000_000
MOST_SHOWN = 600
MOST_GROUPS = 300
LARGEST = 1e15


async def hierarchies(request: Request) -> Response:
    studio = studio_of(request)
    if studio.session.look is None:
        return go("data")
    return await tree_page(studio, request.query_params.get("column", ""))


async def tree_page(
    studio: Studio, place: str, status: int = 200, problem: str = "", tried: Any = None,
    typed: Form | None = None,
) -> Response:  # fmt: skip
    policy = studio.session.policy
    columns = (studio.session.look or {})["columns"]
    kinds = {c["name"]: policy.kind.get(c["name"], c["kind"]) for c in columns}
    rows = [(i, name, kinds.get(name, ""), _way(policy, name)) for i, name in enumerate(policy.qi)]
    told: dict[str, Any] = {
        "rows": rows, "column": None, "tree": None, "values": None, "tried": tried,
        "policy": policy, "ways": WAYS, "periods": PERIODS, "typed": typed, "arx": "",
        "spec": None, "problem": problem, "way": "", "top": None, "too_long": "", "groups": [],
        "listed": 0,
    }  # fmt: skip
    number = whole(place)
    if number is not None and number < len(policy.qi):
        name = policy.qi[number]
        asked = {"path": str(studio.session.table), "policy": str(studio.session.policy_file),
                 "column": name}  # fmt: skip
        told |= {"column": (number, name, kinds.get(name, "")), "way": _way(policy, name),
                 "spec": policy.hierarchy.get(name)}  # fmt: skip
        try:
            told["values"] = await studio.desk.ask("values", **asked)
            if name in policy.hierarchy:
                told["tree"] = await studio.desk.ask("tree", **asked, spec=policy.hierarchy[name])
                told |= _shown(told["tree"])
                told["arx"], told["too_long"] = _editable(told["tree"])
        except ShoalError as error:
            told["problem"] = problem or str(error)
    return studio.page("hierarchies.html", status, **told)


def _shown(tree: dict[str, Any]) -> dict[str, Any]:
    """The first values of a tree as branches, and the groups that something can be moved into."""
    rows = [tuple(row) for row in tree["rows"][:MOST_SHOWN]]
    if not rows:
        return {}
    top = branches(rows, tree["sizes"])
    return {"top": top, "listed": len(rows), "groups": list(_groups_of(top))[:MOST_GROUPS]}


def _groups_of(branch: Branch, above: str = "") -> Iterator[tuple[str, str]]:
    """Each group by its name in a form, and its labels from below the top."""
    if branch.below:
        yield branch.name, f"{above}{visible(branch.label, 40)}"
        before = f"{above}{visible(branch.label, 40)} › " if above else " "
        for part in branch.below:
            yield from _groups_of(part, before)


def _editable(tree: dict[str, Any]) -> tuple[str, str]:
    """A tree as text; or why not: what is saved must be all of it."""
    whole_tree = arx_text(tree["rows"])
    count = tree.get("count", 0)
    if count > len(tree["rows"]) or len(whole_tree) > LONGEST_TREE:
        return "", text("hierarchies.too_long", number=f"{count:,}")
    return whole_tree, ""


def _way(policy: Policy, name: str) -> str:
    spec = policy.hierarchy.get(name)
    if spec is None:
        return "none"
    if isinstance(spec, str):
        return "flat" if spec == "flat" else "tree"
    return next((way for way in WAYS if way in spec), "tree")


def arx_text(rows: Sequence[Sequence[str]]) -> str:
    """Rows of a tree as ARX writes them."""
    out = io.StringIO()
    csv.writer(out, delimiter=";", lineterminator="\n").writerows(rows)
    return out.getvalue()


async def save_tree(request: Request) -> Response:
    """Take a tree for one column, if it covers its values."""
    studio = studio_of(request)
    session = studio.session
    form = await form_of(request)
    place = form.one("column")
    policy, version = session.policy, session.version
    number = whole(place)
    if session.look is None or number is None or number >= len(policy.qi):
        return go("hierarchies")
    name = policy.qi[number]
    if form.one("version") not in {"", version}:
        return await tree_page(studio, place, 409, text("errors.stale"))
    asked = {"path": str(session.table), "policy": str(session.policy_file), "column": name}
    draft = f"trees/draft-{secrets.token_hex(8)}.csv"  # another tab has another
    try:
        spec = await _spec(studio, form, asked, draft)
        if spec is not None:
            tried = await studio.desk.ask("tree", **asked, spec=spec)
            if tried["missing"] and form.one("complete") and spec == draft:
                lacking = await studio.desk.ask("tree", **asked, spec=spec, most=LONGEST_TREE)
                _complete(studio, draft, lacking["missing"])
                tried = await studio.desk.ask("tree", **asked, spec=spec)
            if tried["error"]:
                return await tree_page(studio, place, 422, tried["error"], tried, form)
        if session.version != version:  # changed while this one was looked at
            return await tree_page(studio, place, 409, text("errors.stale"))
        keep_tree(studio, name, number, spec, draft)
    except ShoalError as error:
        return await tree_page(studio, place, 422, str(error), None, form)
    finally:
        (session.folder / draft).unlink(missing_ok=True)
    return go(f"hierarchies?column={place}", "tree")


async def _spec(studio: Studio, form: Form, asked: dict[str, Any], draft: str) -> Any:
    """What a form means, as a policy says it; trees go to a draft."""
    way = form.one("way")
    target = studio.session.folder / draft
    if way == "none":
        return None
    if way == "suggest":
        levels = form.one("levels")
        await studio.desk.ask("suggest", **asked, target=str(target),
                              levels=whole(levels, 99))  # fmt: skip
        return draft
    if way == "flat":
        return "flat"
    if way == "intervals":
        widths = _numbers(form.one("widths"))
        breaks = _numbers(form.one("breaks"))
        return {"intervals": {"breaks": breaks} if breaks else {"widths": widths}}
    if way == "prefixes":
        keep = _numbers(form.one("keep"))
        return {"prefixes": {"keep": keep} if keep else {}}
    if way == "dates":
        return {"dates": {"levels": [p for p in PERIODS if p in form.all("periods")]}}
    if way == "groups":
        other = form.one("other")
        return {"groups": _groups(form.raw("groups")), **({"other": other} if other else {})}
    given = form.raw("arx")
    if not given.strip() or len(given) > LONGEST_TREE:
        raise HierarchyError(text("hierarchies.empty_tree"))
    write_text(target, given.replace("\r\n", "\n"))
    return draft


def _numbers(given: str) -> list[Any]:
    found: list[Any] = []
    for part in given.replace(";", " ").replace(",", " ").split():
        try:
            value = float(part)
        except ValueError:
            value = math.nan
        if not abs(value) < LARGEST:
            raise HierarchyError(text("hierarchies.no_number", part=part[:20]))
        found.append(int(value) if value.is_integer() else value)
    return found


def _groups(given: str) -> dict[str, list[str]]:
    """``Label: value | value`` a line."""
    found: dict[str, list[str]] = {}
    for number, line in enumerate(given.splitlines(), start=1):
        if not line.strip():
            continue
        label, colon, values = line.partition(":")
        members = [value.strip() for value in values.split("|") if value.strip()]
        if not colon or not label.strip() or not members:
            raise HierarchyError(text("hierarchies.bad_group", line=number))
        found.setdefault(label.strip(), []).extend(members)
    if not found:
        raise HierarchyError(text("hierarchies.no_group"))
    return found


def _complete(studio: Studio, draft: str, missing: list[str]) -> None:
    """Put values that a tree lacks directly below its top."""
    path = studio.session.folder / draft
    lines = path.read_text(encoding="utf-8")
    sep = ";" if ";" in lines.partition("\n")[0] else ","
    first = next(csv.reader(io.StringIO(lines), delimiter=sep))
    out = io.StringIO()
    rows = [[value] * (len(first) - 1) + [first[-1]] for value in missing]
    csv.writer(out, delimiter=sep, lineterminator="\n").writerows(rows)
    write_text(path, lines.rstrip("\n") + "\n" + out.getvalue())


def keep_tree(studio: Studio, name: str, number: int, spec: Any, draft: str) -> None:
    session = studio.session
    trees = {n: s for n, s in session.policy.hierarchy.items() if n != name}
    if spec == draft:
        spec = f"trees/column-{number}-{session.version}.csv"
        (session.folder / draft).replace(session.folder / spec)
    kinds = {n: k for n, k in session.policy.kind.items() if n != name}
    orders = {n: o for n, o in session.policy.order.items() if n != name}
    settings: dict[str, Any] = {"hierarchy": {**trees, **({name: spec} if spec else {})}}
    if spec is not None:  # a column with a tree is categorical, whatever it looked like
        settings["kind"] = {**kinds, name: "categorical"}
        settings["order"] = {n: list(o) for n, o in orders.items()}
        rounds = {n: s for n, s in session.policy.round.items() if n != name}
        settings["round"] = rounds
    else:
        settings["kind"] = kinds
        settings["coarsen"] = {n: c for n, c in session.policy.coarsen.items() if n != name}
    session.change(**settings)
