"""A finished release: the table, its loss, its proof."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.spreadsheet import disarmed_names
from shoal.encoding.values import distinct_values
from shoal.errors import VerificationError
from shoal.io.frames import from_arrow
from shoal.io.paths import check_targets, manifest_path, record_path, sensitive_path
from shoal.io.together import all_or_none
from shoal.io.write import decoded, write_table
from shoal.metrics.disclosure import Disclosure
from shoal.metrics.loss import Loss
from shoal.models import Model
from shoal.panel import as_html
from shoal.policy import Policy
from shoal.summary import in_words
from shoal.verification.check import Verification, check_release, check_separated
from shoal.verification.manifest import manifest_of
from shoal.verification.record import record_beside, record_of

if TYPE_CHECKING:
    from shoal.bounds import Bound

__all__ = [
    "Before",
    "Budget",
    "MethodUsed",
    "Release",
    "Suppression",
    "files_asked_with",
    "fingerprint_of",
]


@dataclass(frozen=True)
class MethodUsed:
    """The method behind a release, and what it has to say about it."""

    name: str
    options: Mapping[str, Any]
    recoding: str
    """``generalise`` or ``suppress``."""
    looked_at: str
    """What decided who is grouped with whom."""
    drawn: str
    """What of it the seed decided."""
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
class Before:
    """How many stood out in the input, by its quasi-identifiers: for the custodian alone."""

    records: int
    unique: int
    """Records that were alone with their values."""
    k: int
    few: int
    """Records that shared their values with fewer than k, themselves included."""


@dataclass(frozen=True)
class Suppression:
    """How many records were suppressed as outliers, and how; never which.

    Exact: for the custodian. What is public is how many the policy allowed at most.
    """

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
    released_loss: Loss | None = None
    """Where records were suppressed: the loss relative to the spans and values that are released,
    and without dropped records. It is what is told in public; `loss` is of the whole input."""
    disclosure: Mapping[str, Disclosure] = field(default_factory=dict)
    """How far each sensitive column can be inferred by who knows quasi-identifiers."""
    bound: Bound | None = None
    """What no release of the table can undercut, where it was worked out."""
    budget: Budget | None = None
    """What ``max_loss`` bought, where it was asked for."""
    suppressed: Suppression | None = None
    """Outliers, where ``max_suppressed`` allowed some."""
    exposed: tuple[str, ...] = ()
    """What plain columns give away, counted in what is published."""
    unprotected: tuple[str, ...] = ()
    """Sensitive columns that no model is about, and columns of means that some classes lack."""
    exposed_in_input: tuple[str, ...] = ()
    """The same, counted in the input before the work: not to be published."""
    risk_before: Mapping[str, float] = field(default_factory=dict)
    """How easily records of the input were picked out: for the record, not to be published."""
    cautions: tuple[str, ...] = ()
    """What was said before the work that a user should know."""
    searched: tuple[tuple[float, float], ...] = ()
    """Seconds and loss of a search, whenever it had found something better: for the record."""
    before: Before | None = None
    """How many stood out in the input: not to be published."""
    rest: tuple[str, ...] = ()
    """Columns about which the policy's ``rest`` decided."""
    kind: str = "pyarrow"
    persons: NDArray[np.int32] | None = None
    source: Path | None = None
    """The input's file, if it was one, so that it is not overwritten."""
    source_sha256: str | None = None
    """Of the input's file, for the record: it must not be published."""
    delimiter: str | None = None
    """Of the input's CSV file: a release as CSV has the same."""
    not_worked_out: tuple[str, ...] = ()
    """What would be told of the release, had all records been in memory."""
    sensitive_table: pa.Table | None = None
    """Sensitive values by group, where they are published apart (method anatomy)."""
    fingerprint: str = ""
    """SHA-256 of the cells that were verified and measured: no others are written."""

    @property
    def seed_given(self) -> bool:
        """Whether the policy gave the seed, so that others may know it."""
        return self.policy.seed is not None

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What the release claims about itself, so that anybody can check it."""
        return manifest_of(self)

    @cached_property
    def record(self) -> dict[str, Any]:
        """Seed, exact numbers, and how to make it again: to be kept private."""
        return record_of(self)

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

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The published table for whoever reads Arrow: ``connection.register("r", release)``."""
        return decoded(self.table).__arrow_c_stream__(requested_schema)

    def verify(self) -> Verification:
        """Check every model anew on the published table."""
        if self.sensitive_table is not None:
            return check_separated(self.table, self.sensitive_table, self.models, self.policy)
        return check_release(self.table, self.qi, self.models, self.policy, person=self.persons)

    def digest_of(self, table: pa.Table, named: Path) -> str:
        """SHA-256 of the file that one of its tables would be under a name."""
        return write_table(table, Path(os.devnull), named=named)

    def close(self) -> None:
        """Give back what it holds: the file of a release that does not fit into memory."""

    def report(self, original: Any = None, *, show_small: bool = False) -> Any:
        """What a privacy officer needs to know, as a page; shown as such in a notebook.

        With the table that was released, the custodian's report, which is not for others; with
        `show_small` it shows counts of that table below the smallest class, too.
        Its `to_html`, `to_markdown` and `to_dict` give it to others; see `shoal.report`.
        """
        # The room of reports knows this one, so it is looked up only when it is asked for.
        making = import_module("shoal.report.making")
        return making.report_of_release(self, original, show_small)

    def to_pandas(self, as_: str | None = None) -> Any:
        """The published table as a pandas frame.

        ``as_="interval"`` gives numbers and dates as pandas' intervals; other forms are those of
        `shoal.expand`. None leaves the cells as they are published.
        """
        return self._converted("pandas", as_)

    def to_polars(self, as_: str | None = None) -> Any:
        """The published table as a Polars frame; ``as_="interval"``: structs of low and high."""
        return self._converted("polars", as_)

    def _converted(self, kind: str, as_: str | None) -> Any:
        if as_ is None:
            return from_arrow(decoded(self.table), kind)
        # The room of recipients knows this one, so it is looked up only when it is asked for.
        return import_module("shoal.recipient.converting").converted(self, kind, as_)

    def write(
        self,
        path: str | Path,
        manifest: str | Path | None = None,
        progress: Callable[[float, float], None] | None = None,
        *,
        record: str | Path | None = None,
        keep_record: bool = True,
        command: Sequence[str] | None = None,
        generation: str | None = None,
    ) -> Path:
        """Write the table, its public manifest and its private record: all, or none.

        Parameters
        ----------
        path
            CSV (also ``.gz``), Parquet, Arrow/Feather or JSON lines, by its ending.
        manifest
            Where the manifest goes; beside the release, as
            ``<release>.manifest.json``, if not given.
        progress
            Called as ``progress(done, total)`` while writing.
        record
            Where the record goes, for nobody else to read; beside the release, as
            ``<release>.record.json``, if not given.
        keep_record
            False: no record is written. Nobody can then make the release again.
        command
            The command line by which it was made, for the record.
        generation
            What manifest and record of one run have in common; drawn if not given.
        """
        target = Path(path)
        proof = Path(manifest) if manifest is not None else manifest_path(target)
        secret = (Path(record) if record else record_path(target)) if keep_record else None
        kept = files_asked_with(self.policy)
        check_targets(self.source, target, proof, secret, kept)
        apart = sensitive_path(target) if self.sensitive_table is not None else None
        if apart is not None:
            check_targets(self.source, apart, proof, secret, kept)
        self._check_unchanged()
        targets = [file for file in (proof, secret, apart, target) if file is not None]
        earlier = record_beside(target)
        obsolete = [earlier] if earlier is not None and earlier != secret else []
        with all_or_none(targets, lock_beside=target, private=secret, obsolete=obsolete) as written:
            temporary = dict(zip(targets, written, strict=True))
            files = self._write_tables(target, apart, temporary, progress)
            run = {"generation": generation or token_hex(16)}
            # Made anew: whoever holds `manifest` or `record` may have changed the dict.
            _dump(temporary[proof], {**manifest_of(self), **run}, files)
            if secret is not None:
                made = {"command": list(command)} if command else {}
                _dump(temporary[secret], {**record_of(self), **run, **made}, files)
        return target

    def _check_unchanged(self) -> None:
        """Nothing unverified leaves, nor what its manifest would not describe."""
        found = self.verify()
        found.raise_if_failed()
        same = fingerprint_of(self.table, self.sensitive_table) == self.fingerprint
        if not same or found.checks != self.verification.checks:
            raise VerificationError(
                "the release was changed after it was verified, and its loss and manifest are "
                "of what it was; change the input and anonymize again"
            )

    def _write_tables(
        self,
        target: Path,
        apart: Path | None,
        temporary: Mapping[Path, Path],
        progress: Callable[[float, float], None] | None,
    ) -> dict[str, Any]:
        """Write what is released; gives the names and hashes of its files."""
        found: dict[str, Any] = {}
        safe = disarmed_names if self.policy.csv_safe else lambda table: table
        if apart is not None and self.sensitive_table is not None:
            digest = write_table(
                safe(self.sensitive_table), temporary[apart], named=apart, delimiter=self.delimiter
            )
            found["sensitive_table"] = {"file": apart.name, "sha256": digest}
        digest = write_table(
            safe(self.table),
            temporary[target],
            named=target,
            progress=progress,
            delimiter=self.delimiter,
        )
        return {**found, "file": target.name, "sha256": digest}

    def __repr__(self) -> str:
        return in_words(self)

    def _repr_html_(self) -> str:
        """For notebooks: before and after, loss, proof and the first rows."""
        return as_html(self)


def fingerprint_of(*tables: pa.Table | None) -> str:
    """SHA-256 of the cells, names and types of tables, in memory."""
    digest = hashlib.sha256()
    for table in tables:
        if table is None:
            digest.update(b"none")
            continue
        with (
            pa.PythonFile(_Digesting(digest), "w") as sink,
            pa.ipc.new_stream(sink, table.schema) as stream,
        ):
            stream.write_table(table)
    return digest.hexdigest()


class _Digesting(io.RawIOBase):
    """A file that nothing is kept of but its hash."""

    def __init__(self, digest: Any) -> None:
        self.digest = digest

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.digest.update(data)
        return len(data)


def files_asked_with(policy: Policy) -> dict[Path, str]:
    """Files that a run reads besides the table, and what each is: none may be overwritten."""
    trees = {
        policy.base / spec: f"the hierarchy of {name!r}"
        for name, spec in policy.hierarchy.items()
        if isinstance(spec, str) and spec != "flat"
    }
    return {**trees, **({policy.file: "the policy"} if policy.file is not None else {})}


def _dump(path: Path, claims: Mapping[str, Any], files: Mapping[str, Any]) -> None:
    """Write a manifest or a record, with the files that it is of."""
    complete = {**claims, "release": {**claims["release"], **files}}
    path.write_text(json.dumps(complete, indent=2, ensure_ascii=False) + "\n", "utf-8")
