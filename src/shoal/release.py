"""A finished release: the table, its loss, its proof."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from shoal.summary import as_html, in_words
from shoal.verification.check import Verification, check_release, check_separated
from shoal.verification.manifest import manifest_of

if TYPE_CHECKING:
    from shoal.bounds import Bound

__all__ = ["Budget", "MethodUsed", "Release", "Suppression"]


@dataclass(frozen=True)
class MethodUsed:
    """The method behind a release, and what it has to say about it."""

    name: str
    options: Mapping[str, Any]
    recoding: str
    """``generalise`` or ``suppress``."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the method tells of its work, by name."""
    proof: str = ""
    """One sentence: what is proven about this release against the best possible one."""


@dataclass(frozen=True)
class Budget:
    """What ``max_loss`` bought: the largest level that fits, and what the next would lose."""

    max_loss: float
    name: str
    """What was searched: ``k`` or ``l``."""
    level: int
    loss: float
    trials: int
    next_loss: float | None = None
    """Loss of the level above, where it has a release."""


@dataclass(frozen=True)
class Suppression:
    """How many records were suppressed as outliers, and how; never which."""

    records: int
    of: int
    by: str
    """``drop`` or ``star``."""


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
    method: MethodUsed
    class_sizes: NDArray[np.int64]
    """Records that share their published quasi-identifiers."""
    kinds: Mapping[str, str]
    """Kind of each quasi-identifier and sensitive column of the input."""
    seed: int
    """Of everything random in this run. Whoever knows it can replay the run: never publish it."""
    trees: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the tree of each quasi-identifier that has one."""
    bound: Bound | None = None
    """What no release of the table can undercut, where it was worked out."""
    budget: Budget | None = None
    """What ``max_loss`` bought, where it was asked for."""
    suppressed: Suppression | None = None
    """Outliers, where ``max_suppressed`` allowed some."""
    cautions: tuple[str, ...] = ()
    """What was said before the work that a user should know."""
    rest: tuple[str, ...] = ()
    """Columns about which the policy's ``rest`` decided."""
    kind: str = "pyarrow"
    persons: NDArray[np.int32] | None = None
    source: Path | None = None
    """The input's file, if it was one, so that it is not overwritten."""
    sensitive_table: pa.Table | None = None
    """Sensitive values by group, where they are published apart (method anatomy)."""

    @property
    def seed_given(self) -> bool:
        """Whether the policy gave the seed, so that others may know it."""
        return self.policy.seed is not None

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What the release claims about itself, so that anybody can check it."""
        return manifest_of(self)

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
        return in_words(self)

    def _repr_html_(self) -> str:
        """For notebooks: the summary and the first rows."""
        return as_html(self)
