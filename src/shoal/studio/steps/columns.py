"""Columns: which is what, why, and what each choice does to the number of unique people."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from shoal.errors import PolicyError, ShoalError
from shoal.policy import KINDS, Policy
from shoal.studio.pages import Form, Studio, form_of, go, studio_of
from shoal.studio.texts import text

__all__ = ["columns", "missing", "save_columns", "unique", "with_role"]

CHOICES = ("qi", "sensitive", "identifier", "plain", "person", "weight", "none")
NOTATIONS = ("dd/mm/yyyy", "mm/dd/yyyy")
OF_QI = ("weight", "hierarchy", "coarsen", "round", "order")
"""Tables of a policy that are about quasi-identifiers only."""


async def columns(request: Request) -> Response:
    stale = "stale" in request.query_params
    return _page(studio_of(request), problem=text("errors.stale") if stale else "")


def _page(studio: Studio, status: int = 200, problem: str = "") -> Response:
    look = studio.session.look
    if look is None:
        return go("data")
    policy = studio.session.policy
    rows = [
        {**column, "place": place, "now": role_of(policy, column["name"]),
         "kind_now": policy.kind.get(column["name"], column["kind"]),
         "notation": policy.notation.get(column["name"], "")}
        for place, column in enumerate(look["columns"])
    ]  # fmt: skip
    return studio.page(
        "columns.html", status, rows=rows, choices=CHOICES, kinds=KINDS, look=look, policy=policy,
        missing=[m for m in policy.missing if m], problem=problem, notations=NOTATIONS,
    )  # fmt: skip


async def unique(request: Request) -> Response:
    """How many can be picked out, with the roles as they are."""
    studio = studio_of(request)
    session = studio.session
    policy, table = session.policy, session.table
    if table is None or session.look is None:
        return go("data")
    try:
        found = await studio.desk.ask(
            "unique", path=str(table), missing=list(policy.missing), encoding=policy.encoding,
            delimiter=policy.delimiter, qi=list(policy.qi), person=policy.person,
        )  # fmt: skip
    except ShoalError as error:
        return studio.page("columns-unique.html", found=None, problem=str(error), rows=[])
    names = [column["name"] for column in session.look["columns"]]
    effects = [(place, name, found["change"].get(name)) for place, name in enumerate(names)]
    return studio.page("columns-unique.html", found=found, rows=effects, policy=policy)


async def save_columns(request: Request) -> Response:
    """Take the roles and kinds that a form gives; all of them, or one that was changed."""
    studio = studio_of(request)
    form = await form_of(request)
    session = studio.session
    look = session.look
    if look is None:
        return go("data")
    if form.one("version") not in {"", session.version}:
        if request.headers.get("hx-request"):
            return Response(status_code=409, headers={"HX-Redirect": "/columns?stale=1"})
        return _page(studio, 409, text("errors.stale"))
    try:
        settings = session.policy.settings()
        for place, column in enumerate(look["columns"]):
            settings = _taken(settings, column, form, place)
        session.policy = Policy.parse(**settings)
    except ShoalError as error:
        if request.headers.get("hx-request"):
            return studio.page("columns-unique.html", 422, found=None, problem=str(error), rows=[])
        return _page(studio, 422, str(error))
    if request.headers.get("hx-request"):
        return await unique(request)
    return go("columns" if form.one("stay") else "hierarchies")


def _taken(
    settings: dict[str, Any], column: dict[str, Any], form: Form, place: int
) -> dict[str, Any]:
    name = column["name"]
    role = form.one(f"role-{place}")
    if role:
        if role not in CHOICES:
            raise PolicyError(text("columns.unknown_role"))
        settings = with_role(settings, name, role)
    kind = form.one(f"kind-{place}")
    kinds = {n: k for n, k in settings.get("kind", {}).items() if n != name}
    used = name in (*settings.get("qi", ()), *settings.get("sensitive", ()))
    if kind in KINDS and used and (kind != column["kind"] or name in settings.get("kind", {})):
        kinds[name] = kind
        if kind != "ordinal":
            settings["order"] = {n: o for n, o in settings.get("order", {}).items() if n != name}
        if kind != "categorical":
            trees = {n: h for n, h in settings.get("hierarchy", {}).items() if n != name}
            settings["hierarchy"] = trees
    elif name in settings.get("kind", {}) and used:
        kinds[name] = settings["kind"][name]
    settings["kind"] = kinds
    written = form.one(f"notation-{place}")
    if written in NOTATIONS:
        settings["notation"] = {**settings.get("notation", {}), name: written}
    return settings


def role_of(policy: Policy, name: str) -> str:
    """The role of a column, as a form says it."""
    if name == policy.person:
        return "person"
    if name == policy.weight_column:
        return "weight"
    for role in ("qi", "sensitive", "identifier", "plain"):
        if name in getattr(policy, role):
            return role
    return "none"


def with_role(settings: dict[str, Any], name: str, role: str) -> dict[str, Any]:
    """Settings in which a column has this role, and nothing is said that no longer fits."""
    found = dict(settings)
    for other in ("qi", "sensitive", "identifier", "plain"):
        found[other] = [n for n in found.get(other, ()) if n != name or other == role]
    for single, key in (("person", "person"), ("weight", "weight_column")):
        if found.get(key) == name and role != single:
            found.pop(key)
            found.pop("weight_as" if single == "weight" else "person_as", None)
    if role in {"person", "weight"}:
        found["person" if role == "person" else "weight_column"] = name
    elif role != "none" and name not in found[role]:
        found[role] = [*found[role], name]
    if role != "qi":
        for table in OF_QI:
            found[table] = {n: v for n, v in found.get(table, {}).items() if n != name}
        readers = {
            who: {**reader, "qi": [n for n in reader["qi"] if n != name]}
            for who, reader in found.get("reader", {}).items()
        }
        found["reader"] = {who: reader for who, reader in readers.items() if reader["qi"]}
    if role != "sensitive":
        found["exempt"] = {n: v for n, v in found.get("exempt", {}).items() if n != name}
    if not found["sensitive"]:
        for model in ("l", "l_reading", "t", "alpha", "beta", "delta", "e", "c"):
            found.pop(model, None)
    found.setdefault("rest", "drop")
    return {key: value for key, value in found.items() if value not in ([], {}, None)}


async def missing(request: Request) -> Response:
    """Which texts mean a missing value; the table is counted anew."""
    studio = studio_of(request)
    form = await form_of(request)
    if form.one("version") not in {"", studio.session.version}:
        return _page(studio, 409, text("errors.stale"))
    texts = ["", *dict.fromkeys(part.strip() for part in form.one("missing").split(",") if part)]
    texts = list(dict.fromkeys(texts))[:50]
    try:
        studio.session.change(missing=texts if texts != [""] else None)
    except ShoalError as error:
        return _page(studio, 422, str(error))
    studio.session.remember(missing=texts)
    studio.session.look = None
    return go("data")
