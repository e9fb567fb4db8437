"""Release: files for others, files to keep, and how to make it again."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from shoal.errors import InputError, ShoalError
from shoal.studio.export import python_of, shell_of
from shoal.studio.jobs import Job
from shoal.studio.pages import Studio, go, studio_of
from shoal.studio.steps.protection import promises

__all__ = ["download", "release"]

PUBLIC = ("release", "sensitive", "manifest", "report")
PRIVATE = ("record", "custodian", "policy")


async def release(request: Request) -> Response:
    studio = studio_of(request)
    try:
        job = studio.jobs.get(studio.session.state.get("chosen") or "")
    except ShoalError:
        return go("explore")
    if job.result is None:
        return go("explore")
    table = Path(job.asked["table"]).name
    target = job.result["files"]["release"]
    files = {kind: path for kind in (*PUBLIC, *PRIVATE) if (path := _file(studio, job, kind))}
    return studio.page(
        "release.html", job=job, result=job.result, public=[k for k in PUBLIC if k in files],
        private=[k for k in PRIVATE if k in files],
        sizes={kind: path.stat().st_size for kind, path in files.items()},
        names={kind: _name(kind, path) for kind, path in files.items()},
        command=shell_of(job.policy, table, job.result["seed"], target),
        python=python_of(table, job.result["seed"], target), policy=job.policy,
        promises=promises(job.policy, job.result["records"]),
    )  # fmt: skip


def _file(studio: Studio, job: Job, kind: str) -> Path | None:
    if kind == "policy":
        return job.folder / "shoal.toml"
    if kind in {"report", "custodian"}:
        made = studio.jobs.of(job.id, "report")
        return made.file("public" if kind == "report" else kind) if made is not None else None
    return job.file(kind)


def _name(kind: str, path: Path) -> str:
    """As it is downloaded."""
    if kind == "policy":
        return "policy.zip" if any(path.parent.glob("tree-*.csv")) else "shoal.toml"
    return {"report": "release.report.html", "custodian": "custodian.report.html"}.get(
        kind, path.name
    )


async def download(request: Request) -> Response:
    """One file of the chosen run."""
    studio = studio_of(request)
    kind = request.path_params["kind"]
    try:
        job = studio.jobs.get(request.path_params["run"])
        path = _file(studio, job, kind) if kind in (*PUBLIC, *PRIVATE) else None
        if path is None:
            raise InputError("there is no such file")
    except ShoalError as error:
        return Response(str(error), 404, media_type="text/plain")
    name = _name(kind, path)
    if name == "policy.zip":
        return _zipped(path)
    # Never shown within our own pages: a browser saves it.
    return FileResponse(path, filename=name, media_type="application/octet-stream")


def _zipped(policy: Path) -> Response:
    """The policy and its trees."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in (policy, *sorted(policy.parent.glob("tree-*.csv"))):
            archive.write(path, path.name)
    where = f"attachment; filename={quote('policy.zip')}"
    return Response(packed.getvalue(), media_type="application/zip",
                    headers={"content-disposition": where})  # fmt: skip
