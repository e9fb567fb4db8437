"""A finished release: the table, its loss, its proof."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.values import distinct_values
from shoal.io.frames import from_arrow
from shoal.io.paths import check_targets, manifest_path, sensitive_path
from shoal.io.write import atomic_file, decoded, write_table
from shoal.metrics.loss import Loss
from shoal.models import Model
from shoal.policy import Policy
from shoal.verification.check import Verification, check_release, check_separated

__all__ = ["Release"]

SAME = 2e-9
"""Losses that differ by less are equal: the manifest rounds to 9 decimals."""


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A verified release. It exists only if every model holds."""

    table: pa.Table
    """The published table in Arrow; `data` gives it as the kind the caller brought."""
    policy: Policy
    models: tuple[Model, ...]
    qi: tuple[str, ...]
    """Quasi-identifiers as they are named in the release."""
    loss: Loss
    verification: Verification
    manifest: dict[str, Any]
    kind: str = "pyarrow"
    persons: NDArray[np.int32] | None = None
    source: Path | None = None
    """The input's file, if it was one, so that it is not overwritten."""
    sensitive_table: pa.Table | None = None
    """Sensitive values by group, where they are published apart (method anatomy)."""

    @cached_property
    def data(self) -> Any:
        """The published table as pandas, Polars, DuckDB or PyArrow, as it came."""
        return from_arrow(decoded(self.table), self.kind)

    @cached_property
    def classes(self) -> Any:
        """One row an equivalence class: its released quasi-identifiers and its records."""
        columns = [distinct_values(self.table.column(name), ()) for name in self.qi]
        keyed = [(c.codes + 1, len(c.values) + 1) for c in columns]
        ids, count = class_ids(keyed, self.table.num_rows)
        first = np.full(count, -1, dtype=np.int64)
        first[ids[::-1]] = np.arange(len(ids))[::-1]
        rows = decoded(self.table.select(self.qi).take(pa.array(first)))
        return from_arrow(
            rows.append_column("records", pa.array(np.bincount(ids, minlength=count))), self.kind
        )

    def verify(self) -> Verification:
        """Check every model anew on the published table."""
        if self.sensitive_table is not None:
            return check_separated(self.table, self.sensitive_table, self.models, self.policy)
        return check_release(self.table, self.qi, self.models, self.policy, person=self.persons)

    def write(
        self,
        path: str | Path,
        manifest: str | Path | None = None,
        progress: Callable[[float, float], None] | None = None,
    ) -> Path:
        """Write the table and its manifest, each whole or not at all.

        Parameters
        ----------
        path
            CSV (also ``.gz``), Parquet, Arrow/Feather or JSON lines, by its ending.
        manifest
            Where the manifest goes; beside the release, as
            ``<release>.manifest.json``, if not given.
        progress
            Called as ``progress(done, total)`` while writing.
        """
        target = Path(path)
        beside = Path(manifest) if manifest is not None else manifest_path(target)
        check_targets(self.source, target, beside)
        if self.sensitive_table is not None:
            check_targets(self.source, sensitive_path(target), beside)
        self.verify().raise_if_failed()  # nothing unverified leaves, not even a changed object
        complete = json.loads(json.dumps(self.manifest))
        with ExitStack() as files:  # renamed in reverse order: the proof last
            proof = files.enter_context(atomic_file(beside))
            if self.sensitive_table is not None:
                other = sensitive_path(target)
                temporary = files.enter_context(atomic_file(other))
                digest = write_table(self.sensitive_table, temporary, named=other)
                complete["release"]["sensitive_table"] = {"file": other.name, "sha256": digest}
            temporary = files.enter_context(atomic_file(target))
            digest = write_table(self.table, temporary, named=target, progress=progress)
            complete["release"] |= {"file": target.name, "sha256": digest}
            proof.write_text(json.dumps(complete, indent=2, ensure_ascii=False) + "\n", "utf-8")
        return target

    def __repr__(self) -> str:
        method = self.manifest["method"]["name"]
        head = (
            f"Release of {self.verification.records:,} records in "
            f"{self.verification.classes:,} classes by {method}, loss (GCP) {self.loss.gcp:.4f}"
            f"{_gap_in_words(self.loss, self.manifest['loss'].get('bound'))}"
        )
        suppressed = _suppressed_in_words(self.manifest["release"].get("suppressed"))
        proof = self.manifest["method"].get("proof")
        checks = (f"  {check}" for check in self.verification.checks)
        return "\n".join([head, *suppressed, *checks, *([f"  {proof}"] if proof else [])])

    def _repr_html_(self) -> str:
        """For notebooks: the summary and the first rows."""
        preview = decoded(self.table.slice(0, 8))
        head = "".join(f"<th>{html.escape(name)}</th>" for name in preview.column_names)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row.values()) + "</tr>"
            for row in preview.to_pylist()
        )
        checks = "".join(f"<li>{html.escape(str(c))}</li>" for c in self.verification.checks)
        title = html.escape(repr(self).splitlines()[0])
        return (
            f"<div><strong>{title}</strong><ul>{checks}</ul>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        )


def _gap_in_words(loss: Loss, bound: dict[str, Any] | None) -> str:
    """How far the loss is from the best possible at most: the bound down, the distance up."""
    if bound is None:
        return ""
    if loss.gcp <= bound["loss"] + SAME:
        return ", which is the optimum"
    if bound["gap"] is None:
        return ", no bound"
    least = math.floor(bound["loss"] * 1e4) / 1e4
    away = math.ceil(round(100 * bound["gap"], 4))
    return f", no release can be below {least:.4f}: at most {away:,}% from the optimum"


def _suppressed_in_words(found: dict[str, Any] | None) -> list[str]:
    if not found or not found["records"]:
        return []
    how = " as stars" if found["by"] == "star" else ""
    share = 100 * found["records"] / found["of"]
    return [f"  suppressed {found['records']:,} of {found['of']:,} records ({share:.2g}%){how}"]


def _cell(value: Any) -> str:
    return "" if value is None else html.escape(str(value))
