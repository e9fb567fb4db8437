"""Nodes of a tree: rename, move, group, take away. Each change is checked, kept and shown at once.

Forms do it without a script; the script only turns a drop into the same form.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from shoal.errors import HierarchyError, ShoalError
from shoal.studio.pages import Form, form_of, go, studio_of, whole
from shoal.studio.session import write_text
from shoal.studio.steps.hierarchies import arx_text, keep_tree, tree_page
from shoal.studio.texts import text
from shoal.studio.trees import Row, grouped, moved, node_of, removed, renamed

__all__ = ["edit_tree"]


async def edit_tree(request: Request) -> Response:
    """Change nodes of the tree in use, if what comes of it still covers the column."""
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
    draft = f"trees/draft-{secrets.token_hex(8)}.csv"
    try:
        if name not in policy.hierarchy:
            raise HierarchyError(text("hierarchies.no_node"))
        tree = await studio.desk.ask("tree", **asked, spec=policy.hierarchy[name])
        if tree["error"] or tree["count"] > len(tree["rows"]):
            raise HierarchyError(tree["error"] or text("hierarchies.too_many"))
        rows = changed(form, [tuple(row) for row in tree["rows"]])
        write_text(session.folder / draft, arx_text(rows))
        tried = await studio.desk.ask("tree", **asked, spec=draft)
        if tried["error"]:
            raise HierarchyError(tried["error"])
        if session.version != version:  # changed while this one was looked at
            return await tree_page(studio, place, 409, text("errors.stale"))
        keep_tree(studio, name, number, draft, draft)
    except ShoalError as error:
        return await tree_page(studio, place, 422, str(error).replace(draft, ""))
    finally:
        (session.folder / draft).unlink(missing_ok=True)
    return go(f"hierarchies?column={place}", "tree")


def changed(form: Form, rows: Sequence[Row]) -> list[Row]:
    """What a form does to the rows of a tree."""
    nodes = [node_of(given, rows) for given in form.all("node")]
    act = form.one("act")
    if act == "move":
        return moved(rows, nodes, node_of(form.one("into"), rows))
    if act == "group":
        return grouped(rows, nodes, form.one("name"))
    if act == "remove":
        return removed(rows, nodes)
    if len(nodes) != 1:
        raise HierarchyError(text("hierarchies.one_node"))
    return renamed(rows, nodes[0], form.one("name"))
