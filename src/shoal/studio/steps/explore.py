"""Explore: runs in the background, side by side, and the frontier on which a click chooses."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from shoal.effort import EFFORTS
from shoal.errors import PolicyError, ShoalError
from shoal.methods import METHODS
from shoal.studio.jobs import Job
from shoal.studio.pages import Studio, form_of, go, studio_of, whole
from shoal.studio.pictures import frontier, losses
from shoal.studio.seen import marked
from shoal.studio.texts import text
from shoal.watching import STAGES

__all__ = ["browse", "cancel", "choose_run", "compare", "delete_run", "explore", "pair", "runs",
           "start"]  # fmt: skip

WORKING = ("release", "compare")


async def explore(request: Request) -> Response:
    studio = studio_of(request)
    if studio.session.look is None:
        return go("data")
    return _page(studio)


def _page(studio: Studio, status: int = 200, problem: str = "") -> Response:
    policy = studio.session.policy
    return studio.page(
        "explore.html", status, methods=list(METHODS), efforts=list(EFFORTS), policy=policy,
        problem=problem, **_told(studio),
    )  # fmt: skip


def _told(studio: Studio) -> dict[str, Any]:
    chosen = studio.session.state.get("chosen")
    found = [_row(job) for job in studio.jobs.all("release")]
    compared = studio.jobs.all("compare")
    latest = compared[-1] if compared else None
    rows = (latest.result or {}).get("rows", []) if latest else []
    done = [row for row in found if row["state"] == "done"]
    report = studio.jobs.of(chosen, "report") if chosen else None
    names = list(dict.fromkeys(name for row in done for name in row["result"]["ncp"]))
    compare = done[-4:]
    if chosen and not any(row["id"] == chosen for row in compare):
        compare = [*[row for row in done if row["id"] == chosen], *compare][:4]
    return {
        "runs": found[::-1], "chosen": chosen, "compared": None if latest is None else _row(latest),
        "working": any(row["state"] == "running" for row in found)
        or bool(latest and latest.running)
        or bool(report and report.running),
        "picture": frontier(done, rows, chosen), "points": rows,
        "side": compare, "columns": names, "changes": _changes(studio, chosen),
    }  # fmt: skip


def _changes(studio: Studio, chosen: str | None) -> dict[str, Any] | None:
    """Each column before and after, once the report of the chosen run is there."""
    report = studio.jobs.of(chosen, "report") if chosen else None
    if report is None or report.result is None:
        return None
    columns = []
    for change in report.result["changes"]:
        bars = change["distribution"]
        most = max((max(bar["after"], bar["before"] or 0) for bar in bars), default=0) or 1
        columns.append({**change, "most": most})
    return {"columns": columns, "pairs": report.result["pairs"]}


def _row(job: Job) -> dict[str, Any]:
    stage = str(job.progress.get("stage", ""))
    return {
        "id": job.id, "number": int(job.id), "state": job.state, "result": job.result or {},
        "asked": job.asked, "seconds": job.seconds, "loss": job.progress.get("loss"),
        "stage": STAGES.get(stage, stage), "share": job.progress.get("share"),
        "message": (job.error or {}).get("message", ""), "curve": losses(job.losses),
    }  # fmt: skip


async def runs(request: Request) -> Response:
    """The list of runs, asked for again while one works."""
    studio = studio_of(request)
    return studio.page("explore-runs.html", **_told(studio))


async def start(request: Request) -> Response:
    """Begin a release with a method and an effort."""
    studio = studio_of(request)
    form = await form_of(request)
    try:
        settings = studio.session.policy.settings()
        settings |= {"method": form.one("method") or None, "effort": form.one("effort") or None,
                     "time": form.one("time") or None}  # fmt: skip
        if settings["method"] != studio.session.policy.method:
            settings.pop("option", None)
        policy = type(studio.session.policy).parse(**settings)
        studio.jobs.start("release", policy, method=settings["method"] or "",
                          effort=settings["effort"] or "", time=settings["time"] or "")  # fmt: skip
    except ShoalError as error:
        return _page(studio, 422, str(error))
    return go("explore", "runs")


async def compare(request: Request) -> Response:
    """Measure what a weaker or stronger k would lose."""
    studio = studio_of(request)
    try:
        studio.jobs.start("compare", studio.session.policy)
    except ShoalError as error:
        return _page(studio, 422, str(error))
    return go("explore", "frontier")


async def cancel(request: Request) -> Response:
    studio = studio_of(request)
    form = await form_of(request)
    studio.jobs.cancel(form.one("run"))
    return go(_back(form.one("back")), "runs")


def _back(step: str) -> str:
    return step if step in {"explore", "risk"} else "explore"


async def delete_run(request: Request) -> Response:
    studio = studio_of(request)
    form = await form_of(request)
    try:
        studio.jobs.delete(form.one("run"))
    except ShoalError as error:
        return _page(studio, 422, str(error))
    if studio.session.state.get("chosen") == form.one("run"):
        studio.session.remember(chosen=None)
    return go("explore", "runs")


async def choose_run(request: Request) -> Response:
    """Take a run as the one to release, or a k of the frontier into the policy."""
    studio = studio_of(request)
    form = await form_of(request)
    try:
        if form.one("k"):
            k = whole(form.one("k"))
            if k is None:
                raise PolicyError(text("protection.no_number", name="k"))
            studio.session.change(k=k, threshold=None, method=form.one("method") or None)
            answer = go("explore", "start")
        else:
            job = studio.jobs.get(form.one("run"))
            if job.state != "done" or job.kind != "release":
                return _page(studio, 422, text("explore.not_done"))
            studio.session.remember(chosen=job.id)
            _report_on(studio, job)
            answer = go("explore", "runs")
    except ShoalError as error:
        return _page(studio, 422, str(error))
    if request.headers.get("hx-request"):
        return Response(headers={"HX-Refresh": "true"})
    return answer


def _report_on(studio: Studio, job: Job) -> None:
    """Have the report of a chosen run ready when it is asked for."""
    if studio.jobs.of(job.id, "report") is None:
        try:
            release = (job.result or {})["files"]["release"]
            studio.jobs.start("report", job.policy, run=job.id, release=release)
        except (ShoalError, KeyError):
            return  # the step Risk has a button for it


async def pair(request: Request) -> Response:
    """Two columns together, before and after, as a picture of the chosen run's report."""
    studio = studio_of(request)
    chosen = studio.session.state.get("chosen")
    report = studio.jobs.of(chosen, "report") if chosen else None
    number = whole(request.query_params.get("pair", "0"))
    pairs = (report.result or {}).get("pairs", []) if report is not None else []
    if report is None or number is None or number >= len(pairs):
        return studio.page("explore-pair.html", 404, picture="", pair=None, number=0)
    path = report.folder / f"pair-{number}.svg"
    drawn = marked(path.read_text(encoding="utf-8")) if path.is_file() else ""
    return studio.page("explore-pair.html", picture=drawn, pair=pairs[number], number=number)


async def browse(request: Request) -> Response:
    """A page of the classes of the chosen run: released values only."""
    studio = studio_of(request)
    chosen = studio.session.state.get("chosen")
    asked = request.query_params
    try:
        job = studio.jobs.get(chosen or "")
        path = job.file("release")
        if path is None or (job.result or {}).get("apart"):
            return studio.page(
                "explore-classes.html", found=None, problem=text("explore.no_classes")
            )
        found = await studio.desk.ask(
            "classes", path=str(path), qi=list(job.policy.qi), sensitive=list(job.policy.sensitive),
            changed=path.stat().st_mtime, search=asked.get("search", "")[:200],
            page=whole(asked.get("page", "0")) or 0, smallest=asked.get("order") != "largest",
        )  # fmt: skip
    except ShoalError as error:
        return studio.page("explore-classes.html", found=None, problem=str(error))
    return studio.page("explore-classes.html", found=found, search=asked.get("search", "")[:200],
                       order=asked.get("order", ""))  # fmt: skip
