"""Risk and use: the sections of the report, and attacks, about the chosen run."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from shoal.errors import ShoalError
from shoal.studio.jobs import Job
from shoal.studio.pages import Studio, form_of, go, studio_of
from shoal.studio.seen import marked
from shoal.watching import STAGES

__all__ = ["attack", "make_report", "risk", "risk_parts"]


async def risk(request: Request) -> Response:
    studio = studio_of(request)
    if _chosen(studio) is None:
        return go("explore")
    return studio.page("risk.html", **_told(studio))


async def risk_parts(request: Request) -> Response:
    """What waits for work in the background; the whole page once it is done."""
    studio = studio_of(request)
    if _chosen(studio) is None:
        return go("explore")
    return studio.page("risk-parts.html", **_told(studio))


def _chosen(studio: Studio) -> Job | None:
    try:
        job = studio.jobs.get(studio.session.state.get("chosen") or "")
    except ShoalError:
        return None
    return job if job.state == "done" else None


def _told(studio: Studio) -> dict[str, Any]:
    job = _chosen(studio)
    assert job is not None
    report = studio.jobs.of(job.id, "report")
    attacked = studio.jobs.of(job.id, "attack")
    sections = ""
    if report is not None and (path := report.file("sections")) is not None:
        sections = marked(path.read_text(encoding="utf-8"))
    working = [one for one in (report, attacked) if one is not None and one.state == "running"]
    return {
        "job": job, "report": report, "sections": sections, "attacked": attacked,
        "working": [(one, STAGES.get(str(one.progress.get("stage")), one.progress.get("stage", "")))
                    for one in working],
    }  # fmt: skip


async def make_report(request: Request) -> Response:
    return await _start(request, "report")


async def attack(request: Request) -> Response:
    return await _start(request, "attack")


async def _start(request: Request, kind: str) -> Response:
    studio = studio_of(request)
    await form_of(request)
    job = _chosen(studio)
    if job is None:
        return go("explore")
    try:
        release = (job.result or {})["files"]["release"]
        studio.jobs.start(kind, job.policy, run=job.id, release=release)
    except ShoalError as error:
        return studio.page("risk.html", 422, **{**_told(studio), "problem": str(error)})
    return go("risk", "attacks" if kind == "attack" else "")
