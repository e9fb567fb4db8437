"""A release that lies in a file: verified there, and handed out by copying its bytes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from shoal.encoding.spreadsheet import armed_names
from shoal.engines.duckdb.check import Written, connection
from shoal.engines.duckdb.spill import Spill
from shoal.errors import PolicyError, VerificationError
from shoal.io.addresses import Address, Place
from shoal.io.databases import hash_as_stored
from shoal.io.read import file_format, format_ending, read_table
from shoal.io.write import BATCH_ROWS, decoded, sha256_of
from shoal.release import Release
from shoal.verification.result import Verification

__all__ = ["Room", "StoredRelease", "TableInFile"]


CLOSED = "the release was closed; anonymize again, or use the file that it was written to"


@dataclass(frozen=True)
class Room:
    """Where a run may spill, and how much memory its database may take."""

    spill: Spill
    memory: int
    threads: int

    def connect(self) -> Any:
        """A database that spills into the folder of the run."""
        return connection(self.spill.file("duckdb"), self.memory, self.threads)


class TableInFile:
    """The released table: its names at once, its cells when they are asked for."""

    def __init__(self, path: Path, names: list[str], records: int, armed: bool) -> None:
        self.path = path
        self.column_names = names
        self.num_rows = records
        self.armed = armed
        self._table: pa.Table | None = None

    @property
    def num_columns(self) -> int:
        return len(self.column_names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.loaded(), name)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """For whoever reads Arrow."""
        return decoded(self.loaded()).__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return self.num_rows

    def loaded(self) -> pa.Table:
        """All of it, in memory."""
        if self._table is None:
            if not self.path.exists():
                raise PolicyError(CLOSED)
            table = read_table(self.path)
            self._table = armed_names(table) if self.armed else table
        return self._table


@dataclass(frozen=True, eq=False, repr=False)
class StoredRelease(Release):
    """A release in a file of ours, which is gone when it is closed."""

    file: Path = Path()
    room: Room | None = None
    line: int = 0
    """Bytes of its longest line at most, if it is CSV."""
    people: Path | None = None
    """Whose each of its records is, where persons are declared."""

    @property
    def stored(self) -> TableInFile:
        assert isinstance(self.table, TableInFile)
        return self.table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """See `Release`."""
        return self.stored.loaded().__arrow_c_stream__(requested_schema)

    def verify(self) -> Verification:
        """Check every model anew on the file."""
        self._check_open()
        return self._checked(self.file)

    def _checked(self, path: Path) -> Verification:
        assert self.room is not None
        with self.room.connect() as con:
            names = self.stored.column_names
            form = (self.delimiter, self.line)
            written = Written(con, path, names, self.policy, *form, people=self.people)
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
        if not self.file.exists():
            raise PolicyError(CLOSED)

    def _check_unchanged(self) -> None:
        """What was verified is the file in our folder, and no other is copied."""
        self._check_open()
        # A file that was written before is the same file under two names: it may be another now.
        if sha256_of(self.file) != self.fingerprint:
            raise VerificationError(
                "the release was changed after it was verified; anonymize the input again"
            )

    def _records(self) -> list[pa.RecordBatchReader]:
        """See `Release`: from the file, a batch at a time."""
        if file_format(self.file) != "parquet":
            return [decoded(read_table(self.file)).to_reader(BATCH_ROWS)]
        pages = pa.parquet.ParquetFile(self.file)
        batches = pages.iter_batches(BATCH_ROWS)
        return [pa.RecordBatchReader.from_batches(pages.schema_arrow, batches)]

    def _write_tables(
        self,
        target: Path,
        apart: Path | None,
        temporary: Mapping[Path, Path],
        progress: Callable[[float, float], None] | None,
    ) -> dict[str, Any]:
        """Put the verified file in place."""
        if format_ending(target) != format_ending(self.file) or (
            target.suffix.lower() != self.file.suffix.lower()
        ):
            raise PolicyError(
                f"{target}: the release was made as {self.file.suffix}; name it so, "
                "or say out = ... when it is made"
            )
        _put(self.file, temporary[target])
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


def known_format(path: Path) -> bool:
    """Whether a release can be written under this name part by part."""
    return file_format(path) in {"csv", "parquet"}
