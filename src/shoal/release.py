"""A finished release: the table, its loss, its proof."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
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
from shoal.encoding.rebuild import fingerprint_of
from shoal.encoding.spreadsheet import disarmed_names
from shoal.encoding.values import distinct_values
from shoal.errors import OutputError, PolicyError, VerificationError
from shoal.io.addresses import Address, Place, place_of
from shoal.io.csv_text import BATCH_ROWS
from shoal.io.databases import UnsureError, hash_as_stored, publish, second_table
from shoal.io.frames import from_arrow
from shoal.io.paths import (
    check_targets,
    counterfeits_path,
    manifest_path,
    record_path,
    sensitive_path,
)
from shoal.io.together import all_or_none
from shoal.io.write import decoded, write_table
from shoal.metrics.disclosure import Disclosure
from shoal.metrics.loss import Loss
from shoal.metrics.outliers import Outliers
from shoal.models import Model
from shoal.panel import as_html
from shoal.policy import Policy
from shoal.release_parts import (
    SERIES_IN_FILES,
    Before,
    Budget,
    MethodUsed,
    SeriesPart,
    Suppression,
)
from shoal.summary import in_words
from shoal.verification.check import Verification, check_release, check_separated
from shoal.verification.following import refuse_replacing
from shoal.verification.manifest import manifest_of
from shoal.verification.record import dump_claims, record_beside, record_of

if TYPE_CHECKING:
    from shoal.bounds import Bound

__all__ = [
    "Before",
    "Budget",
    "MethodUsed",
    "Release",
    "SeriesPart",
    "Suppression",
    "dump_claims",
    "files_asked_with",
]


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
    left_open: tuple[str, ...] = ()
    """Settings that were left to the table: ``l`` (auto) and what ``max_loss`` searched."""
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
    outliers: Outliers | None = None
    """Which records hold the loss: for the custodian, not to be published."""
    rest: tuple[str, ...] = ()
    """Columns about which the policy's ``rest`` decided."""
    kind: str = "pyarrow"
    persons: NDArray[np.int32] | None = None
    source: Place | None = None
    """The input's file or address, if it was one, so that it is not overwritten."""
    source_sha256: str | None = None
    """Of the input's file, for the record: it must not be published."""
    delimiter: str | None = None
    """Of the input's CSV file: a release as CSV has the same."""
    not_worked_out: tuple[str, ...] = ()
    """What would be told of the release, had all records been in memory."""
    sensitive_table: pa.Table | None = None
    """Sensitive values by group, where they are published apart (method anatomy)."""
    series: SeriesPart | None = None
    """Where it is one of several releases of a table that changes."""
    fingerprint: str = ""
    """SHA-256 of the cells that were verified and measured: no others are written."""
    verified_as: tuple[Any, ...] = ()
    """What besides the cells the verification was made of, as `_verified_by` names it."""

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

    def digest_of(self, table: pa.Table, named: Place) -> str:
        """SHA-256 of the file that one of its tables would be under a name."""
        if isinstance(named, Address):
            return hash_as_stored(named, decoded(self._safe(table)).to_reader())
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
        path: str | Path | Address,
        manifest: str | Path | None = None,
        progress: Callable[[float, float], None] | None = None,
        *,
        record: str | Path | None = None,
        keep_record: bool = True,
        command: Sequence[str] | None = None,
        generation: str | None = None,
    ) -> Place:
        """Write the table, its public manifest and its private record: all, or none.

        Parameters
        ----------
        path
            CSV (also ``.gz``), Parquet, Arrow/Feather or JSON lines, by its ending; or the address
            of a table in a database, whose manifest goes into the table ``shoal_manifest``.
        manifest
            Where the manifest goes; ``<release>.manifest.json``, if not given.
        progress
            Called as ``progress(done, total)`` while writing.
        record
            The same for the record, which nobody else can read: ``<release>.record.json``.
        keep_record
            False: no record is written. Nobody can then make the release again.
        command
            The command line by which it was made, for the record.
        generation
            What manifest and record of one run have in common; drawn if not given.
        """
        target = place_of(path)
        run = {"generation": generation or token_hex(16)}
        made = {"command": list(command)} if command else {}
        if isinstance(target, Address):
            proof = Path(manifest) if manifest is not None else None
            secret = (Path(record) if record else record_path(target)) if keep_record else None
            self._write_to_database(target, proof, secret, run, made)
            return target
        proof = Path(manifest) if manifest is not None else manifest_path(target)
        secret = (Path(record) if record else record_path(target)) if keep_record else None
        kept = files_asked_with(self.policy)
        check_targets(self.source, target, proof, secret, kept)
        apart = sensitive_path(target) if self.sensitive_table is not None else None
        invented = counterfeits_path(target) if self._counterfeits is not None else None
        for other in (apart, invented):
            if other is not None:
                check_targets(self.source, other, proof, secret, kept)
        if self.series is not None and secret is None:
            raise PolicyError("a series is continued by its record; got keep_record = False")
        self._check_unchanged()
        with self._series_held(secret, record_beside(target)) as notes:
            return self._write_files(
                target, (proof, secret, apart, invented), notes, run, made, progress
            )

    def _write_files(
        self,
        target: Path,
        beside: tuple[Path, Path | None, Path | None, Path | None],
        notes: Mapping[Path, str],
        run: Mapping[str, Any],
        made: Mapping[str, Any],
        progress: Callable[[float, float], None] | None,
    ) -> Path:
        """Table, manifest, record and what else there is, all or none."""
        proof, secret, apart, invented = beside
        # Renamed from the last to the first: of a series no release is there without its record.
        last = (target, secret) if self.series is not None else (secret, target)
        ordered = (proof, apart, invented, *last, *notes)
        targets = [file for file in ordered if file is not None]
        earlier = record_beside(target)
        obsolete = [earlier] if earlier is not None and earlier != secret else []
        with all_or_none(targets, lock_beside=target, private=secret, obsolete=obsolete) as written:
            temporary = dict(zip(targets, written, strict=True))
            files = self._write_tables(target, apart, temporary, progress)
            for note, text in notes.items():
                temporary[note].write_text(text, "utf-8")
            if invented is not None:
                files["counterfeits"] = self._write_counterfeits(invented, temporary)
            # Made anew: whoever holds `manifest` or `record` may have changed the dict.
            dump_claims(temporary[proof], {**manifest_of(self), **run}, files)
            if secret is not None:
                dump_claims(temporary[secret], {**record_of(self), **run, **made}, files)
        return target

    @contextmanager
    def _series_held(
        self, record: Path | None, earlier: Path | None
    ) -> Iterator[Mapping[Path, str]]:
        """No record that others follow is replaced, and no two follow the same one."""
        replaced = [path for path in (record, earlier) if path is not None]
        alone = None if self.series is None else self.series.alone
        with nullcontext({}) if alone is None or record is None else alone(replaced) as notes:
            for path in replaced:
                refuse_replacing(path)
            yield notes

    @property
    def _counterfeits(self) -> pa.Table | None:
        """The table of classes with counterfeits, where a release may have some."""
        return None if self.series is None else self.series.counterfeits

    def _write_counterfeits(self, path: Path, temporary: Mapping[Path, Path]) -> dict[str, Any]:
        """Write how many counterfeits which class has; gives its name and hash."""
        digest = write_table(
            self._counterfeits, temporary[path], named=path, delimiter=self.delimiter
        )
        return {"file": path.name, "sha256": digest}

    def _verified_by(self) -> tuple[Any, ...]:
        """Of what, besides the cells, the verification follows; and what it found."""
        return (self.models, self.policy, self.qi, self.persons, self.verification)

    def _write_to_database(
        self, target: Address, proof: Path | None, secret: Path | None,
        run: Mapping[str, Any], made: Mapping[str, Any],
    ) -> None:  # fmt: skip
        """Table and manifest into a database, the record into a local file."""
        if self.series is not None:
            raise PolicyError(SERIES_IN_FILES)
        check_targets(self.source, target, proof, secret, files_asked_with(self.policy))
        self._check_unchanged()
        assert target.table is not None
        tables = self._records()
        names = [target.table, second_table(target.table)][: len(tables)]
        files = [file for file in (proof, secret) if file is not None]
        earlier = record_beside(target)
        obsolete = [earlier] if earlier is not None and earlier != secret else []
        beside = target.with_name(target.name)
        with all_or_none(files, lock_beside=beside, private=secret, obsolete=obsolete) as written:
            temporary = dict(zip(files, written, strict=True))

            def finish(hashes: Mapping[str, str]) -> dict[str, Any]:
                found = {"file": target.full_name, "sha256": hashes[names[0]], "hashed": "rows"}
                apart = [{"file": name, "sha256": hashes[name]} for name in names[1:]]
                facts = {**found, **({"sensitive_table": apart[0]} if apart else {})}
                claims = {**manifest_of(self), **run}
                if proof is not None:
                    dump_claims(temporary[proof], claims, facts)
                if secret is not None:
                    dump_claims(temporary[secret], {**record_of(self), **run, **made}, facts)
                return {**claims, "release": {**claims["release"], **facts}}

            try:
                publish(target, dict(zip(names, tables, strict=True)), finish)
            except UnsureError as error:  # without its record nobody could make it again
                if secret is None:
                    raise
                unsure = secret.with_name(f"{target.name}.{run['generation'][:8]}.record.json")
                temporary[secret].replace(unsure)
                raise OutputError(f"{error}; its record is kept as {unsure}") from None

    def _records(self) -> list[pa.RecordBatchReader]:
        """What is released, a batch at a time: the table, and the second one if there is one."""
        tables = [self.table, *([] if self.sensitive_table is None else [self.sensitive_table])]
        return [decoded(self._safe(table)).to_reader(BATCH_ROWS) for table in tables]

    def _safe(self, table: pa.Table) -> pa.Table:
        return disarmed_names(table) if self.policy.csv_safe else table

    def _check_unchanged(self) -> None:
        """Nothing unverified leaves, nor what its manifest would not describe."""
        same = fingerprint_of(self.table, self.sensitive_table) == self.fingerprint
        by = self._verified_by()
        if same and len(by) == len(self.verified_as):  # equal cells are not checked twice
            same_question = all(a is b for a, b in zip(by, self.verified_as, strict=True))
            if same_question and self.verification.ok:
                return
        found = self.verify()
        found.raise_if_failed()
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
        if apart is not None and self.sensitive_table is not None:
            digest = write_table(
                self._safe(self.sensitive_table),
                temporary[apart],
                named=apart,
                delimiter=self.delimiter,
            )
            found["sensitive_table"] = {"file": apart.name, "sha256": digest}
        digest = write_table(
            self._safe(self.table),
            temporary[target],
            named=target,
            progress=progress,
            delimiter=self.delimiter,
        )
        return {**found, "file": target.name, "sha256": digest}

    def __reduce__(self) -> Any:
        """A pickle would hold the seed and what is known of the input, beside what is public."""
        raise TypeError(
            "a Release is not pickled: it holds the seed and facts about the input; write it "
            "(release.write keeps what is public and what is private apart), or pickle release.data"
        )

    def __deepcopy__(self, memo: Any) -> Release:
        return self

    def __repr__(self) -> str:
        return in_words(self)

    def _repr_html_(self) -> str:
        """For notebooks: before and after, loss, proof and the first rows."""
        return as_html(self)


def files_asked_with(policy: Policy) -> dict[Path, str]:
    """Files that a run reads besides the table, and what each is: none may be overwritten."""
    trees = {
        policy.base / spec: f"the hierarchy of {name!r}"
        for name, spec in policy.hierarchy.items()
        if isinstance(spec, str) and spec != "flat"
    }
    return {**trees, **({policy.file: "the policy"} if policy.file is not None else {})}
