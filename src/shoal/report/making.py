"""Put a report together, and write it in the format that a name or a user asks for."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import OutputError, PolicyError
from shoal.io.addresses import Place
from shoal.io.paths import check_not_kept
from shoal.io.together import atomic_file
from shoal.metrics.outliers import outliers_read
from shoal.policy import Policy
from shoal.report import sections
from shoal.report.blocks import Figure, Report, Table
from shoal.report.changes import changes_of
from shoal.report.charts import release as charts
from shoal.report.fitting import fitted
from shoal.report.source import Source, read_source, source_of

if TYPE_CHECKING:
    from shoal.release import Release

__all__ = ["FORMATS", "report", "report_of_release", "text_of", "write_report"]

FORMATS = {"html": ".html", "pdf": ".pdf", "md": ".md", "json": ".json"}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
NEIGHBOURS = (0.5, 1.0, 2.0)
"""Of k: what the next weaker and the next stronger promise would lose."""

PAIRS = 200
"""Pairs of columns for machines, those that moved furthest: their number grows by the square."""


def report(
    release: str | Place,
    manifest: str | Path | None = None,
    *,
    policy: Policy | str | Path | None = None,
    record: str | Path | None = None,
    original: str | Path | None = None,
    show_small: bool = False,
) -> Report:
    """What a privacy officer needs to know about a release, checked again while it is made.

    Parameters
    ----------
    release
        The released file. With its manifest alone, this is the public report.
    manifest
        Its manifest; beside the release if not given.
    policy
        Where there is no manifest: what was promised.
    record, original
        The private record and the table that was released: the custodian's report, which
        says more, and is not for others. The original is looked for where the record says.
    show_small
        Show counts of the original below the smallest class, too.
    """
    source = read_source(release, manifest, policy=policy, record=record, original=original)
    made = report_of(source, show_small=show_small)
    del source
    _give_back()  # drawing takes about as much again
    return made


def _give_back() -> None:
    """Memory of tables that are gone: their pools keep it for the next ones otherwise."""
    import ctypes
    import gc
    from contextlib import suppress

    import pyarrow

    gc.collect()
    pyarrow.default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):  # glibc's alone
        ctypes.CDLL(None).malloc_trim(0)


def report_of_release(release: Release, original: Any = None, show_small: bool = False) -> Report:
    """The report of a release in memory; with the original, the custodian's."""
    return report_of(source_of(release, original), show_small=show_small)


def report_of(source: Source, *, show_small: bool = False) -> Report:
    """The report of a release that was read already."""
    views = source.views()
    told = sections.disclosures(source, views[-1])
    word, headline, first = sections.verdict(source, told)
    smallest = min(int(view.sizes.min()) for view in views)
    least = 0 if show_small else smallest
    before = _original_columns(source)
    changes, pairs = changes_of(source.table, source.about, source.qi, before, least)
    further = (
        sections.standing_out(source),
        sections.attacks_tried(source, _policy_of_record(source)),
    )
    risk, risk_facts = sections.risk(source, views, told, sections.original_risk(source), further)
    context = source.told("policy", "report") or {}
    dearest = outliers_read((source.record or {}).get("outliers"))
    parts = (
        first,
        sections.scope(source, _reasons(source)),
        sections.changed(changes, before is not None, source.policy.treat),
        risk,
        sections.useful(source, pairs, _frontier(source)),
        sections.checking(source),
        sections.sign_off(source),
        sections.appendix(source, _toml(source)),
    )
    facts = {
        "file": source.name,
        "sha256": source.sha256,
        "records": source.table.num_rows,
        "columns": source.table.column_names,
        "verification": None if source.verification is None else source.verification.to_dict(),
        "changes": [change.to_dict() for change in changes],
        "risk": risk_facts,
        "loss": (source.record or {}).get("loss") or source.told("loss"),
        **({} if dearest is None else {"outliers": asdict(dearest)}),
        **({"pairs": [{"columns": list(p.names), "moved": round(p.distance, 4)}
                      for p in pairs[:PAIRS]]} if pairs else {}),
    }  # fmt: skip
    made = Report(
        title=str(context.get("title") or f"Privacy report of {source.name}"),
        audience="custodian" if source.custodian else "public",
        verdict=word,
        headline=headline,
        sections=parts,
        facts=facts,
        kept=source.kept,
    )
    return fitted(made)


def _original_columns(source: Source) -> Any:
    """The original, if it has the quasi-identifiers under their names."""
    table = source.original
    return table if table is not None and set(source.qi) <= set(table.column_names) else None


def _reasons(source: Source) -> dict[str, str]:
    """Why each column would be given its role: by name and content, for the custodian."""
    if source.original is None:
        return {}
    from shoal.explore.inspection import inspect

    return {column.name: column.reason for column in inspect(source.original).columns}


def _frontier(source: Source) -> Figure | None:
    """What half and twice the k would lose, by a quick method; for the custodian."""
    policy = _policy_of_record(source)
    if source.original is None or policy is None or policy.k is None or policy.reader:
        return None
    from shoal.errors import ShoalError
    from shoal.explore.compare import compare

    _give_back()
    levels = sorted({max(2, round(policy.k * factor)) for factor in NEIGHBOURS})
    quick = policy.model_copy(update={
        "method": None, "option": {}, "effort": None, "time": None, "max_loss": None, "bound": None,
        "max_suppressed": None, "suppress_by": "drop", "recoding": None, "k": None,
    })  # fmt: skip
    try:
        found = compare(source.original, ["hilbert"], k=levels, policy=quick, queries=300)
    except ShoalError:
        return None  # the models are not for a quick method; the report says nothing then
    measured = [
        (int(row.k), float(row.gcp), float(row.query_median))
        for row in found.rows
        if row.ok and row.k is not None and row.gcp is not None and row.query_median is not None
    ]
    if len(measured) < 2:
        return None
    rows = tuple((f"{k}", f"{gcp:.4f}", f"{100 * error:.1f}%") for k, gcp, error in measured)
    caption = "What a weaker or stronger k would lose"
    headings = ("k", "loss", "median error of counts")
    table = Table(f"{caption} (method hilbert)", headings, rows, numbers=(1, 2))
    seen = f"{caption}: " + ", ".join(f"k = {k}: {gcp:.4f}" for k, gcp, _ in measured)
    points = [(k, gcp, f"k = {k}: {gcp:.3f}") for k, gcp, _ in measured]
    draw = partial(charts.line, points, "k", logarithmic=True)
    return Figure(f"{caption} (by the quick method hilbert)", seen, draw, table)


def _policy_of_record(source: Source) -> Policy | None:
    from shoal.errors import ShoalError
    from shoal.verification.record import policy_from_record

    if source.record is None:
        return None
    try:
        return policy_from_record(dict(source.record), source.path)[0]
    except ShoalError:
        return None


def _toml(source: Source) -> str:
    """The policy as far as it is public."""
    import tomli_w

    settings = source.told("policy")
    return tomli_w.dumps(settings) if isinstance(settings, dict) else ""


def write_report(made: Report, path: str | Path, kind: str | None = None) -> Path:
    """Write a report: as a page, PDF, Markdown or JSON, by the ending of the name if not said.

    Raises
    ------
    PolicyError
        The name is that of a file the report is made of: release, manifest, record, original.
    """
    target = Path(path)
    check_not_kept(target, made.kept)
    endings = {ending: name for name, ending in FORMATS.items()}
    kind = kind or endings.get(target.suffix.lower())
    if kind not in FORMATS:
        raise PolicyError(
            f"report: expected a name that ends in {', '.join(endings)}, or a format; got "
            f"{target.suffix or 'neither'}"
        )
    if target.is_dir() or not target.parent.is_dir():
        raise OutputError(f"{target}: cannot be written there")
    with atomic_file(target, private=made.audience == "custodian") as temporary:
        if kind == "pdf":
            _print(made.to_html(), temporary)
        else:
            temporary.write_text(text_of(made, kind), encoding="utf-8")
    return target


def text_of(made: Report, kind: str) -> str:
    """A report as text."""
    if kind == "html":
        return made.to_html()
    if kind == "md":
        return made.to_markdown()
    return json.dumps(made.to_dict(), indent=2, ensure_ascii=False) + "\n"


def _print(page: str, target: Path) -> None:
    """Have an installed browser print the page, with a profile of its own and no network."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise OutputError("a PDF needs Chromium, which is not installed; write HTML and print it")
    with tempfile.TemporaryDirectory(prefix="shoal-report-") as folder:
        html, pdf = Path(folder, "report.html"), Path(folder, "report.pdf")
        html.write_text(page, encoding="utf-8")
        done = subprocess.run(
            [
                browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                f"--user-data-dir={folder}/profile", "--no-pdf-header-footer",
                f"--print-to-pdf={pdf}", html.as_uri(),
            ],
            capture_output=True, timeout=120, check=False,
        )  # fmt: skip
        if done.returncode != 0 or not pdf.is_file():
            raise OutputError(f"{browser} could not print the report")
        target.write_bytes(pdf.read_bytes())
