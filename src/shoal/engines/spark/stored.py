"""A release that Spark wrote: verified where it lies, a data frame for whoever goes on with it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.engines.ranges.folder import Beside, write_folder
from shoal.engines.ranges.spill import Spill
from shoal.engines.ranges.tables import CLOSED, TableInFiles
from shoal.engines.spark.check import WrittenParts
from shoal.engines.spark.frames import collected, each_to, mapped, row_frame, told
from shoal.engines.spark.packets import Row, facts
from shoal.engines.spark.publishing import PutParts, Written
from shoal.engines.spark.session import Session
from shoal.errors import OutputError, PolicyError, VerificationError
from shoal.io.addresses import Address, Place
from shoal.io.paths import is_folder
from shoal.io.write import sha256_of
from shoal.release import Release
from shoal.verification.result import Verification

__all__ = ["Cluster", "SparkRelease"]


@dataclass(frozen=True)
class Cluster:
    """Where a run works."""

    session: Session
    spill: Spill

    def close(self) -> None:
        """Give back the folder, and the session if nobody else has it."""
        self.spill.remove()
        self.session.close()


@dataclass(frozen=True, eq=False, repr=False)
class SparkRelease(Release):
    """A release in files of ours, which are gone when it is closed."""

    parts: tuple[Written, ...] = ()
    files: tuple[Path, ...] = ()
    """What was verified: the parts, or the one file that they were joined to."""
    digests: Mapping[str, str] = field(default_factory=dict)
    people: tuple[Path, ...] = ()
    """Whose each record of each part is, where persons are declared."""
    cluster: Cluster | None = None

    @property
    def in_files(self) -> TableInFiles:
        assert isinstance(self.table, TableInFiles)
        return self.table

    @property
    def session(self) -> Any:
        assert self.cluster is not None
        return self.cluster.session.spark

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
            self.policy, self.qi, self.people,
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
        return self._write_folder(Path(path), Beside(manifest, **named))

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
    def _write_folder(self, target: Path, beside: Beside) -> Path:
        """See `shoal.engines.ranges.folder`; tasks copy the parts."""
        self._check_open()
        if self.files[0].name not in self.digests:
            raise PolicyError(f"{target}: the release was made as one file; name it so")
        source, digests = self.files[0].parent, {p.name: self.digests[p.name] for p in self.parts}

        def put(staged: Path) -> None:
            rows = [Row("put", number, facts(name)) for number, name in enumerate(digests)]
            task = PutParts(source, staged.resolve(), digests)
            frame = each_to(row_frame(self.session, rows), len(rows))
            if len(collected(mapped(frame, task))) != len(rows):
                raise OutputError(f"{target}: not all parts were copied")

        return write_folder(self, target, digests, beside, self.spill_mark, put)

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
