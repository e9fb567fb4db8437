"""A release that Spark wrote: verified where it lies, a data frame for whoever goes on with it."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from shoal.encoding.spreadsheet import armed_names
from shoal.engines.duckdb.spill import Spill
from shoal.engines.duckdb.stored import CLOSED
from shoal.engines.spark.check import WrittenParts
from shoal.engines.spark.frames import collected, each_to, mapped, row_frame, told
from shoal.engines.spark.packets import Row, facts
from shoal.engines.spark.publishing import PutParts, Written
from shoal.errors import OutputError, PolicyError, VerificationError
from shoal.io.addresses import Address, Place
from shoal.io.paths import check_folder, is_folder, manifest_path, record_path
from shoal.io.read import read_table
from shoal.io.write import decoded, sha256_of
from shoal.release import Release, dump_claims
from shoal.verification.manifest import manifest_of
from shoal.verification.record import record_of
from shoal.verification.result import Verification

__all__ = ["Cluster", "SparkRelease", "TableInParts"]


@dataclass(frozen=True)
class Cluster:
    """Where a run works."""

    session: Any
    spill: Spill
    ours: bool
    """Whether the session was started by the run, and ends with it."""

    def close(self) -> None:
        """Give back the folder, and the session if nobody else has it."""
        self.spill.remove()
        if self.ours:
            self.session.stop()


class TableInParts:
    """The released table: its names at once; cells are read from the files when asked for."""

    def __init__(
        self, files: Sequence[Path], names: list[str], records: int, armed: bool,
        values: Mapping[str, pa.ChunkedArray],
    ) -> None:  # fmt: skip
        self.files = tuple(files)
        self.column_names = names
        self.num_rows = records
        self.armed = armed
        self.values = values
        """Of sensitive columns: the values that occur, as models see them."""
        self._table: pa.Table | None = None

    @property
    def num_columns(self) -> int:
        return len(self.column_names)

    def __len__(self) -> int:
        return self.num_rows

    def column(self, name: str) -> pa.ChunkedArray:
        """The different values of a sensitive column; any other column as it is."""
        return self.values[name] if name in self.values else self.loaded().column(name)

    def slice(self, offset: int, length: int) -> pa.Table:
        """Some rows; the first ones without reading more than the first file."""
        if offset == 0 and self.files[0].exists():
            return self._read(self.files[0]).slice(0, length)
        return self.loaded().slice(offset, length)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.loaded(), name)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """For whoever reads Arrow."""
        return decoded(self.loaded()).__arrow_c_stream__(requested_schema)

    def loaded(self) -> pa.Table:
        """All of it, in the memory of this process: whoever asks for it wants that."""
        if self._table is None:
            self._table = pa.concat_tables([decoded(self._read(file)) for file in self.files])
        return self._table

    def _read(self, file: Path) -> pa.Table:
        if not file.exists():
            raise PolicyError(CLOSED)
        table = read_table(file)
        return armed_names(table) if self.armed else table


@dataclass(frozen=True, eq=False, repr=False)
class SparkRelease(Release):
    """A release in files of ours, which are gone when it is closed."""

    parts: tuple[Written, ...] = ()
    files: tuple[Path, ...] = ()
    """What was verified: the parts, or the one file that they were joined to."""
    digests: Mapping[str, str] = field(default_factory=dict)
    cluster: Cluster | None = None

    @property
    def in_files(self) -> TableInParts:
        assert isinstance(self.table, TableInParts)
        return self.table

    @property
    def session(self) -> Any:
        assert self.cluster is not None
        return self.cluster.session

    @property
    def data(self) -> Any:
        """The released table as a data frame of Spark."""
        from pyspark.sql import functions as sql

        self._check_open()
        names = self.in_files.column_names
        read = self.session.read
        paths = [str(file) for file in self.files]
        if self.files[0].suffix == ".parquet":
            return read.parquet(*paths)
        schema = ", ".join(f"c{number} string" for number in range(len(names)))
        sep = self.delimiter or ","
        cells = read.csv(paths, schema, header=True, sep=sep, quote='"', escape='"', multiLine=True)
        return cells.select(*(sql.col(f"c{n}").alias(name) for n, name in enumerate(names)))

    @told
    def verify(self) -> Verification:
        """Check every model anew, by SQL on the files."""
        self._check_open()
        written = WrittenParts(
            self.session, self.files, self.in_files.column_names, self.parts[0].schema,
            self.policy, self.qi,
        )  # fmt: skip
        return written.check(self.qi, self.models, self.verification.records)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """See `Release`."""
        return self.in_files.__arrow_c_stream__(requested_schema)

    def digest_of(self, table: Any, named: Place) -> str:
        """See `Release`: it is a file already, of the format that it was asked for."""
        return self.fingerprint

    def close(self) -> None:
        """Remove what the run left in its folder."""
        if self.cluster is not None:
            self.cluster.close()

    def write(  # type: ignore[override]
        self,
        path: str | Path,
        manifest: str | Path | None = None,
        progress: Callable[[float, float], None] | None = None,
        **named: Any,
    ) -> Place:
        """Write the release; see `Release`. A name without an ending is a folder of parts."""
        if isinstance(path, Address) or not is_folder(Path(path)):
            return super().write(path, manifest, progress, **named)
        return self._write_folder(Path(path), manifest, **named)

    def _check_open(self) -> None:
        if not all(file.exists() for file in self.files):
            raise PolicyError(CLOSED)

    def _check_unchanged(self) -> None:
        """See `Release`: what is put in place is compared with what was verified, there."""
        self._check_open()

    def _write_tables(
        self,
        target: Path,
        apart: Path | None,
        temporary: Mapping[Path, Path],
        progress: Callable[[float, float], None] | None,
    ) -> dict[str, Any]:
        """Put the one verified file in place."""
        if len(self.files) != 1 or self.files[0].suffix.lower() != target.suffix.lower():
            made = self.files[0].suffix if len(self.files) == 1 else "a folder of parts"
            raise PolicyError(
                f"{target}: the release was made as {made}; name it so, or say out = ... when it "
                "is made"
            )
        (file,) = self.files
        _put(file, temporary[target])
        if sha256_of(temporary[target]) != self.fingerprint:
            raise VerificationError(
                "the release was changed after it was verified; anonymize the input again"
            )
        return {"file": target.name, "sha256": self.fingerprint}

    @told
    def _write_folder(
        self, target: Path, manifest: str | Path | None, record: str | Path | None = None,
        keep_record: bool = True, command: Sequence[str] | None = None,
        generation: str | None = None,
    ) -> Path:  # fmt: skip
        """Parts into a folder, then the record, the manifest last: all, or none."""
        from secrets import token_hex

        self._check_open()
        check_folder(target)
        proof = Path(manifest) if manifest is not None else manifest_path(target)
        secret = (Path(record) if record else record_path(target)) if keep_record else None
        run = {"generation": generation or token_hex(16)}
        made = {"command": list(command)} if command else {}
        listed = [{"file": part.name, "sha256": self.digests[part.name]} for part in self.parts]
        if self.files[0].name not in self.digests:
            raise PolicyError(f"{target}: the release was made as one file; name it so")
        where = {"file": target.name, "sha256": self.fingerprint, "parts": listed}
        staged = target.with_name(f".{target.name}.{self.spill_mark}.partial")
        written: list[Path] = []
        try:
            staged.mkdir()
            rows = [Row("put", n, facts(part.name)) for n, part in enumerate(self.parts)]
            task = PutParts(self.files[0].parent, staged.resolve(), dict(self.digests))
            done = collected(mapped(each_to(row_frame(self.session, rows), len(rows)), task))
            there = {file.name for file in staged.iterdir()}
            if len(done) != len(rows) or not {part.name for part in self.parts} <= there:
                raise OutputError(f"{target}: executors and driver do not see the same folder")
            for name in there - {part.name for part in self.parts}:
                (staged / name).unlink()  # of a task that was killed
            staged.replace(target)
            written.append(target)
            if secret is not None:
                written.append(secret)
                os.close(os.open(secret, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600))
                dump_claims(secret, {**record_of(self), **run, **made}, where)
            temporary = proof.with_name(f".{proof.name}.{self.spill_mark}.partial")
            dump_claims(temporary, {**manifest_of(self), **run}, where)
            temporary.replace(proof)
        except BaseException:
            for path in (staged, *written):
                _remove(path)
            raise
        return target

    @property
    def spill_mark(self) -> str:
        """What names of unfinished files of this run end with."""
        assert self.cluster is not None
        return self.cluster.spill.path.name.rpartition(".")[2]


def _put(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
    mask = os.umask(0)
    os.umask(mask)
    target.chmod(0o666 & ~mask)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
