"""A release that lies in a file: verified there, and handed out by copying its bytes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from shoal.engines.duckdb.check import Written, connection
from shoal.engines.ranges.folder import Beside, part_name, write_folder
from shoal.engines.ranges.spill import Spill
from shoal.engines.ranges.tables import CLOSED, TableInFiles
from shoal.errors import PolicyError, VerificationError
from shoal.io.addresses import Address, Place, place_of
from shoal.io.csv_text import BATCH_ROWS
from shoal.io.databases import hash_as_stored
from shoal.io.paths import is_folder
from shoal.io.read import file_format, format_ending
from shoal.io.write import decoded, sha256_of
from shoal.release import Release
from shoal.verification.result import Verification

__all__ = ["Room", "StoredRelease"]


@dataclass(frozen=True)
class Room:
    """Where a run may spill, and how much memory its database may take."""

    spill: Spill
    memory: int
    threads: int

    def connect(self) -> Any:
        """A database that spills into the folder of the run."""
        return connection(self.spill.file("duckdb"), self.memory, self.threads)


@dataclass(frozen=True, eq=False, repr=False)
class StoredRelease(Release):
    """A release in files of ours, which are gone when it is closed."""

    digests: Mapping[Path, str] = field(default_factory=dict)
    """Its one file, or its parts in their order, each with its SHA-256."""
    room: Room | None = None
    line: int = 0
    """Bytes of its longest line at most, if it is CSV."""
    people: Path | None = None
    """Whose each of its records is, where persons are declared."""

    @property
    def stored(self) -> TableInFiles:
        assert isinstance(self.table, TableInFiles)
        return self.table

    @property
    def in_parts(self) -> bool:
        """Whether it was made as a folder."""
        return next(iter(self.digests)).name == part_name(0)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """See `Release`."""
        return self.stored.loaded().__arrow_c_stream__(requested_schema)

    def verify(self) -> Verification:
        """Check every model anew on the files."""
        self._check_open()
        assert self.room is not None
        with self.room.connect() as con:
            names, form = self.stored.column_names, (self.delimiter, self.line, self.people)
            written = Written(con, list(self.digests), names, self.policy, *form)
            records = self.verification.records
            return written.check(self.qi, self.models, records, self.room.memory)

    def digest_of(self, table: Any, named: Place) -> str:
        """See `Release`: it is a file already, of the format that it was asked for."""
        if isinstance(named, Address):
            return hash_as_stored(named, self._records()[0])
        return self.fingerprint

    def close(self) -> None:
        """Remove what the run left in its folder."""
        if self.room is not None:
            self.room.spill.remove()

    def _check_open(self) -> None:
        if not all(file.exists() for file in self.digests):
            raise PolicyError(CLOSED)

    def _check_unchanged(self) -> None:
        """What was verified are the files in our folder, and no others are copied."""
        self._check_open()
        # A file that was written before is the same file under two names: it may be another now.
        if any(sha256_of(file) != digest for file, digest in self.digests.items()):
            raise VerificationError(
                "the release was changed after it was verified; anonymize the input again"
            )

    def _records(self) -> list[pa.RecordBatchReader]:
        """See `Release`: from the file, a batch at a time."""
        file = next(iter(self.digests))
        if len(self.digests) > 1 or file_format(file) != "parquet":
            return [decoded(self.stored.loaded()).to_reader(BATCH_ROWS)]
        pages = pa.parquet.ParquetFile(file)
        batches = pages.iter_batches(BATCH_ROWS)
        return [pa.RecordBatchReader.from_batches(pages.schema_arrow, batches)]

    def write(
        self,
        path: str | Path | Address,
        manifest: str | Path | None = None,
        progress: Callable[[float, float], None] | None = None,
        **named: Any,
    ) -> Place:
        """Write the release; see `Release`. A name without an ending is a folder of parts."""
        if isinstance(path, Address) or not is_folder(place_of(path)):
            return super().write(path, manifest, progress, **named)
        target = Path(path)
        if not self.in_parts:
            raise PolicyError(f"{target}: the release was made as one file; name it so")
        self._check_unchanged()
        assert self.room is not None
        digests = {file.name: digest for file, digest in self.digests.items()}
        mark = self.room.spill.path.name.rpartition(".")[2]
        return write_folder(self, target, digests, Beside(manifest, **named), mark, self._put_into)

    def _put_into(self, folder: Path) -> None:
        for file in self.digests:
            _put(file, folder / file.name)

    def _write_tables(
        self,
        target: Path,
        apart: Path | None,
        temporary: Mapping[Path, Path],
        progress: Callable[[float, float], None] | None,
    ) -> dict[str, Any]:
        """Put the verified file in place."""
        file = next(iter(self.digests))
        same = format_ending(target) == format_ending(file)
        if self.in_parts or not same or target.suffix.lower() != file.suffix.lower():
            made = "a folder of parts" if self.in_parts else file.suffix
            raise PolicyError(
                f"{target}: the release was made as {made}; name it so, "
                "or say out = ... when it is made"
            )
        _put(file, temporary[target])
        if progress is not None:
            progress(1, 1)
        return {"file": target.name, "sha256": self.fingerprint}


def _put(source: Path, target: Path) -> None:
    """The same bytes under another name; a second name for them, where that can be.

    One only: files of two names that others know would be changed together.
    """
    mode = target.stat().st_mode if target.exists() else None
    target.unlink(missing_ok=True)
    try:
        if source.stat().st_nlink > 1:
            raise OSError("it has a second name already")
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
    if mode is None:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    target.chmod(mode & 0o777)
