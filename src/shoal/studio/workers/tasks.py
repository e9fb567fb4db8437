"""What a run can be: a release, a comparison of methods, a report, attacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shoal.encoding.values import distinct_values
from shoal.engines.memory.engine import Draft, Encoded, MemoryEngine
from shoal.errors import OutputError, ShoalError
from shoal.explore.questions import Questions
from shoal.hierarchy import hierarchy_from_spec
from shoal.io.frames import to_arrow
from shoal.io.paths import manifest_path, record_path, sensitive_path
from shoal.io.read import format_ending
from shoal.models import sizes_only
from shoal.pipeline import carry_out
from shoal.plan import Plan
from shoal.policy import Policy
from shoal.progress import Report
from shoal.release import Release
from shoal.studio.export import command_of
from shoal.studio.seen import visible
from shoal.studio.session import write_text
from shoal.verification.check import released_classes
from shoal.verification.files import verify

__all__ = ["TASKS"]

QUERIES = 500
QUICK = ("hilbert", "mondrian")
"""Methods that draw the frontier: a person waits for it."""
FACTORS = (0.5, 1, 2, 4)
"""Of k: what the frontier looks at."""
MOST_PICTURES = 15
"""Pairs of columns that are drawn, those that moved most."""
COLUMNAR = {".parquet": ".parquet", ".pq": ".parquet", ".arrow": ".arrow", ".feather": ".arrow",
            ".ipc": ".arrow"}  # fmt: skip


class Remembering(MemoryEngine):
    """The usual engine, which keeps what queries are asked of."""

    kept: tuple[Encoded, Draft] | None = None

    def measure(self, encoded: Encoded, draft: Draft, *rest: Any) -> Any:
        self.kept = (encoded, draft)
        return super().measure(encoded, draft, *rest)


def release(folder: Path, job: dict[str, Any], policy: Policy, tell: Report) -> dict[str, Any]:
    """Make a release, write it, and check what was written."""
    source = Path(job["table"])
    engine = Remembering(tell)
    made = carry_out(Plan.of(policy), source, tell, engine=engine)
    ending = COLUMNAR.get(format_ending(source), ".csv")
    target = folder / f"release{ending}"
    made.write(
        target, progress=lambda done, total: tell("write", done, total),
        command=command_of(policy, source.name, made.seed, target.name),
    )  # fmt: skip
    tell("check", 0, 1)
    proof = verify(target)
    proof.raise_if_failed()
    tell("queries", 0, 1)
    apart = made.sensitive_table is not None
    files = {
        "release": target.name,
        "manifest": manifest_path(target).name,
        "record": record_path(target).name,
        **({"sensitive": sensitive_path(target).name} if apart else {}),
    }
    return {**_numbers(made), "query": _query_error(engine), "files": files, "apart": apart,
            "ok": proof.ok, "checks": [_check(check) for check in proof.checks]}  # fmt: skip


def _check(check: Any) -> dict[str, Any]:
    return {"asked": check.asked, "column": check.column, "reached": check.reached,
            "holds": check.holds, "unchecked": check.unchecked, "reader": check.reader}  # fmt: skip


def _numbers(made: Release) -> dict[str, Any]:
    sizes = made.class_sizes
    among = sizes  # whom somebody is among: records of one person are no crowd
    if made.persons is not None and made.sensitive_table is None:
        among = sizes_only(released_classes(made.table, made.qi)[0], person=made.persons).sizes
    bound = None if made.bound is None else made.bound.loss
    return {
        "method": made.method.name,
        "seed": str(made.seed),
        "k": made.policy.k,
        "l": made.policy.l,
        "records": made.table.num_rows,
        "loss": made.loss.gcp,
        "ncp": made.loss.ncp,
        "bound": bound,
        "classes": len(sizes),
        "smallest": int(sizes.min()),
        "median": float(np.median(sizes)),
        "risk": 1 / int(among.min()),
        "average_risk": len(among) / int(among.sum()),
        "suppressed": made.loss.suppressed_records,
        "models": [str(model) for model in made.models],
    }  # fmt: skip


def _query_error(engine: Remembering) -> float | None:
    """Median error of the same random COUNT queries; None where records were left out."""
    if engine.kept is None:
        return None
    draft = engine.kept[1]
    if draft.kept.rows is not None:
        return None
    try:
        asked = Questions.about(draft.kept.table, kl="cube", level=2, queries=QUERIES, seed=1)
        return float(asked.error(draft.recoding, draft.kept.outcome.separated).median)
    except ShoalError:
        return None


def compare(folder: Path, job: dict[str, Any], policy: Policy, tell: Report) -> dict[str, Any]:
    """What a weaker or stronger k would lose, by quick methods."""
    from shoal.explore.compare import compare as run

    k = policy.k or 10
    levels = sorted({max(2, round(k * factor)) for factor in FACTORS})
    bare = policy.model_copy(update={
        "method": None, "option": {}, "effort": None, "time": None, "max_loss": None,
        "bound": None, "max_suppressed": None, "suppress_by": "drop", "threshold": None, "k": None,
    })  # fmt: skip
    found = run(Path(job["table"]), QUICK, levels, None, bare, queries=QUERIES, progress=tell)
    return {"rows": [
        {"method": row.method, "k": row.k, "loss": row.gcp, "query": row.query_median,
         "reason": row.reason}
        for row in found.rows
    ]}  # fmt: skip


def report(folder: Path, job: dict[str, Any], policy: Policy, tell: Report) -> dict[str, Any]:
    """The report of a release: its sections for the page, and both reports as files."""
    from shoal.report.changes import changes_of
    from shoal.report.making import report as made
    from shoal.report.making import report_of, write_report
    from shoal.report.page import sections_of
    from shoal.report.source import read_source

    target = folder.parent / job["run"] / job["release"]
    tell("read", 0, 4)
    source = read_source(target, record=record_path(target), original=job["table"])
    tell("report", 1, 4)
    custodian = report_of(source)
    parts = sections_of(custodian, _drawn)
    write_text(folder / "sections.html", "\n".join(parts))
    tell("report", 2, 4)
    files = {}
    try:
        write_report(custodian, folder / "custodian.html")
        write_report(made(target), folder / "report.html")
        files = {"custodian": "custodian.html", "public": "report.html"}
    except OutputError:  # without altair there are no pictures, and no page
        pass
    tell("report", 3, 4)
    names = [section.title for section in custodian.sections]
    keys = [section.key for section in custodian.sections]
    views = source.views()
    least = min(int(view.sizes.min()) for view in views)
    changes, pairs = changes_of(source.table, source.about, source.qi, source.original, least)
    return {
        "files": {**files, "sections": "sections.html"},
        "verdict": custodian.verdict,
        "headline": custodian.headline,
        "sections": [list(pair) for pair in zip(keys, names, strict=True)],
        "changes": [change.to_dict() for change in changes],
        "pairs": _pictures(pairs, folder),
    }


def _pictures(pairs: Sequence[Any], folder: Path) -> list[dict[str, Any]]:
    """Each pair of columns, and for those that moved most a picture of before and after."""
    from shoal.report.charts.pairs import pair_fields
    from shoal.studio.texts import text

    found: list[dict[str, Any]] = []
    for number, pair in enumerate(pairs):
        told = {"columns": list(pair.names), "moved": pair.distance, "drawn": False}
        if number < MOST_PICTURES:
            a, b = (visible(name) for name in pair.names)
            down, across = ([visible(label) for label in side] for side in pair.labels)
            shares = [side.tolist() for side in (pair.before, pair.after)]
            seen = text("explore.pair_seen", a=a, b=b, moved=f"{100 * pair.distance:.1f}%")
            try:
                chart = pair_fields((a, b), (down, across), *shares)
            except OutputError:  # without altair there are numbers only
                return [*found, *({**told, "columns": list(p.names), "moved": p.distance}
                                  for p in pairs[number:])]  # fmt: skip
            write_text(folder / f"pair-{number}.svg", _plain_svg(chart, seen))
            told["drawn"] = True
        found.append(told)
    return found


def _drawn(figure: Any) -> str:
    """A picture of the report for a page whose rules forbid styles within it."""
    try:
        return _plain_svg(figure.draw(), figure.seen)
    except OutputError:
        return ""  # the numbers behind it are shown either way


def _plain_svg(chart: Any, seen: str) -> str:
    from shoal.report.charts.theme import svg

    text = svg(chart, seen)
    text = re.sub(r'style="width:100%;max-width:(\d+)px;height:auto"', r'class="chart" width="\1"',
                  text)  # fmt: skip
    return re.sub(r'\sstyle="[^"]*"', "", text)


def attack(folder: Path, job: dict[str, Any], policy: Policy, tell: Report) -> dict[str, Any]:
    """Try the usual attacks on a release."""
    from shoal.attacks.run import attack as run

    target = folder.parent / job["run"] / job["release"]
    run_policy = Policy.load(folder.parent / job["run"] / "shoal.toml")
    trees = _trees(run_policy, Path(job["table"]), folder)
    known = run_policy.model_copy(update={"hierarchy": trees})
    found = run(target, Path(job["table"]), policy=known, progress=tell)
    return found.to_dict()


def _trees(policy: Policy, source: Path, folder: Path) -> dict[str, Any]:
    """Every tree of a run as a file: a release alone does not tell what builders made it of."""
    table, _ = to_arrow(source, policy.missing, policy.encoding, policy.delimiter)
    found: dict[str, Any] = {}
    for number, (name, spec) in enumerate(policy.hierarchy.items()):
        if isinstance(spec, str):
            found[name] = spec if spec == "flat" else str(policy.base / spec)
            continue
        texts = distinct_values(table.column(name), policy.missing).texts()
        path = folder / f"built-{number}.csv"
        hierarchy_from_spec(spec, texts, name, policy.base).to_arx_csv(path)
        found[name] = str(path)
    return found


TASKS: dict[str, Callable[..., dict[str, Any]]] = {
    "release": release,
    "compare": compare,
    "report": report,
    "attack": attack,
}
