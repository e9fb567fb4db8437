"""Protection: what is promised, in sentences, within what the table allows."""

from __future__ import annotations

import math
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from shoal.errors import PolicyError, ShoalError
from shoal.model_settings import BETA_READINGS, MODEL_SETTINGS, READINGS
from shoal.policy import Policy
from shoal.studio.pages import Form, Studio, form_of, go, studio_of
from shoal.studio.texts import text
from shoal.thresholds import THRESHOLDS, Threshold

__all__ = ["PRESETS", "check", "policy_text", "preset", "promises", "protection", "save"]

PRESETS: dict[str, dict[str, Any]] = {
    "public": {"threshold": "public", "l": 3},
    "contract": {"threshold": "ema", "l": 2},
    "internal": {"threshold": 0.2, "l": None},
}
"""By recipient: the threshold that each follows, and an l where the table allows it."""
WHOLE = ("k", "collusion_k")
DECIMAL = ("t", "alpha", "beta", "delta", "e", "c")
MOST_READERS = 4
LARGEST = 1e12
"""No table has as many records."""


async def protection(request: Request) -> Response:
    studio = studio_of(request)
    if studio.session.look is None:
        return go("data")
    stale = "stale" in request.query_params
    return _page(studio, problem=text("errors.stale") if stale else "")


def _page(studio: Studio, status: int = 200, problem: str = "", field: str = "") -> Response:
    policy = studio.session.policy
    readers = [(name, list(r.qi), r.k) for name, r in policy.reader.items()]
    readers += [("", [], None)] * (MOST_READERS - len(readers))
    return studio.page(
        "protection.html", status, policy=policy, problem=problem, field=field,
        presets=[_preset(name) for name in PRESETS], readings=READINGS,
        beta_readings=BETA_READINGS, readers=readers[:MOST_READERS],
        thresholds=list(THRESHOLDS.values()), toml=policy.to_toml(),
    )  # fmt: skip


def _preset(name: str) -> dict[str, Any]:
    limit = Threshold.of(PRESETS[name]["threshold"])
    return {"name": name, "title": text(f"protection.preset_{name}"), "k": limit.smallest_class,
            "l": PRESETS[name]["l"], "why": limit.why or text("protection.why_internal"),
            "tau": f"{float(limit.tau):g}", "reason": limit.reason()}  # fmt: skip


async def check(request: Request) -> Response:
    """What the table allows, and what speaks against the policy as it is."""
    studio = studio_of(request)
    session = studio.session
    if session.table is None or session.look is None:
        return go("data")
    policy = session.policy
    if not policy.qi:
        return studio.page("protection-check.html", found=None, policy=policy,
                           problem=text("columns.lacks"), promises=[])  # fmt: skip
    try:
        found = await studio.desk.ask(
            "limits", path=str(session.table), policy=str(session.policy_file)
        )
    except ShoalError as error:
        session.remember(refusal={"version": session.version, "text": str(error)})
        return studio.page("protection-check.html", found=None, policy=policy, problem=str(error),
                           promises=[])  # fmt: skip
    refusal = {"version": session.version, "text": found["refusal"]} if found["refusal"] else None
    session.remember(refusal=refusal)
    return studio.page("protection-check.html", found=found, policy=policy,
                       promises=promises(policy, found["records"]))  # fmt: skip


def promises(policy: Policy, records: int | None = None) -> list[tuple[str, str]]:
    """What a policy promises, in sentences, each with the word that explains it."""
    told: list[tuple[str, str]] = []
    if policy.k is not None:
        whom = text("protection.persons" if policy.person else "protection.records")
        told.append(("k", text("protection.say_k", others=policy.k - 1, k=policy.k, whom=whom)))
        if records:
            told.append(("class", text("protection.say_classes", most=f"{records // policy.k:,}",
                                       k=policy.k)))  # fmt: skip
    for name in policy.sensitive:
        told += [(word, sentence) for word, sentence in _about(policy, name)]
    for who, reader in policy.reader.items():
        told.append(("reader", text("protection.say_reader", who=who, names=", ".join(reader.qi),
                                    k=reader.k or policy.k)))  # fmt: skip
    if policy.collusion_k:
        told.append(("collusion_k", text("protection.say_collusion", k=policy.collusion_k)))
    return told


def _about(policy: Policy, name: str) -> list[tuple[str, str]]:
    told = []
    if policy.l is not None:
        key = "say_l_auto" if policy.l == "auto" else f"say_l_{policy.l_reading}"
        told.append(("l", text(f"protection.{key}", column=name, l=policy.l, c=policy.c)))
    for word in ("t", "alpha", "beta", "delta", "e"):
        value = getattr(policy, word)
        if value is not None:
            told.append((word, text(f"protection.say_{word}", column=name, value=f"{value:g}")))
    return told


async def save(request: Request) -> Response:
    """Take what a form asks for."""
    studio = studio_of(request)
    form = await form_of(request)
    session = studio.session
    if form.one("version") not in {"", session.version}:
        if request.headers.get("hx-request"):
            return Response(status_code=409, headers={"HX-Redirect": "/protection?stale=1"})
        return _page(studio, 409, text("errors.stale"))
    field = ""
    try:
        asked: dict[str, Any] = {}
        for field in (*WHOLE, "l", *DECIMAL):
            asked[field] = _number(field, form.one(field))
        field = ""
        asked |= {
            "l_reading": (form.one("l_reading") or None) if asked["l"] is not None else None,
            "beta_reading": (form.one("beta_reading") or None)
            if asked["beta"] is not None
            else None,
            "threshold": _threshold(form.one("threshold")),
            "max_suppressed": form.one("max_suppressed") or None,
            "recoding": form.one("recoding") or None,
            "csv_safe": form.one("csv_safe") == "yes" or None,
            "layout": "bounds" if form.one("layout") == "bounds" else None,
            "reader": _readers(form, session.policy) or None,
        }
        asked["suppress_by"] = session.policy.suppress_by if asked["max_suppressed"] else None
        if not asked["reader"]:
            asked["collusion_k"] = None
        session.change(**asked)
    except ShoalError as error:
        message = str(error)
        if request.headers.get("hx-request"):
            return studio.page("protection-check.html", 422, found=None, policy=session.policy,
                               problem=message, promises=[])  # fmt: skip
        return _page(studio, 422, message, field or message.partition(":")[0].strip())
    if request.headers.get("hx-request"):
        return await check(request)
    return go("protection" if form.one("stay") else "explore")


def _number(name: str, given: str) -> Any:
    """A number as it was typed; empty is none."""
    if not given:
        return None
    if name == "l" and given == "auto":
        return given
    try:
        value = float(given.replace(",", "."))
    except ValueError:
        value = math.nan
    if not abs(value) < LARGEST:  # neither is what is no number at all
        raise PolicyError(text("protection.no_number", name=name))
    return int(value) if value.is_integer() else value


def _threshold(given: str) -> Any:
    if not given or given.lower() in THRESHOLDS:
        return given.lower() or None
    return _number("threshold", given)


def _readers(form: Form, policy: Policy) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for place in range(MOST_READERS):
        name = form.one(f"reader-{place}")
        if not name:
            continue
        if name in found:
            raise PolicyError(text("protection.reader_twice", name=name))
        known = [n for i, n in enumerate(policy.qi) if f"{i}" in form.all(f"reader-qi-{place}")]
        k = _number("k", form.one(f"reader-k-{place}"))
        found[name] = {"qi": known, **({"k": k} if k is not None else {})}
    return found


async def preset(request: Request) -> Response:
    """Take the promises that fit a recipient, with an l as large as the table allows."""
    studio = studio_of(request)
    form = await form_of(request)
    session = studio.session
    if form.one("version") not in {"", session.version}:
        return _page(studio, 409, text("errors.stale"))
    chosen = PRESETS.get(form.one("preset"))
    if chosen is None or session.look is None:
        return go("protection")
    policy = session.policy
    most = [c["largest_l"] for c in session.look["columns"] if c["name"] in policy.sensitive]
    wanted = chosen["l"]
    l_value = min([wanted, *most]) if wanted and most else None
    plain = dict.fromkeys(MODEL_SETTINGS)
    try:
        session.change(**{
            **plain, "threshold": chosen["threshold"],
            "l": l_value if l_value and l_value > 1 else None,
        })  # fmt: skip
    except ShoalError as error:
        return _page(studio, 422, str(error))
    return go("protection")


async def policy_text(request: Request) -> Response:
    """Take the whole policy as text: all that the command line has."""
    studio = studio_of(request)
    form = await form_of(request)
    if form.one("version") not in {"", studio.session.version}:
        return _page(studio, 409, text("errors.stale"))
    try:
        studio.session.replace_policy(form.raw("toml").replace("\r\n", "\n"))
    except ShoalError as error:
        return _page(studio, 422, str(error), "toml")
    return go("protection", "policy")
