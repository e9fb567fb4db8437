"""The table of a release that lies in files: its names at once, its cells when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from shoal.encoding.spreadsheet import armed_names
from shoal.errors import PolicyError
from shoal.io.read import read_table
from shoal.io.write import decoded

__all__ = ["CLOSED", "TableInFiles"]

CLOSED = "the release was closed; anonymize again, or use the file that it was written to"


class TableInFiles:
    """The released table: its names at once; cells are read from the files when asked for."""

    def __init__(
        self, files: Sequence[Path], names: list[str], records: int, armed: bool,
        values: Mapping[str, pa.ChunkedArray] = MappingProxyType({}),
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
            tables = [self._read(file) for file in self.files]
            several = len(tables) > 1  # parts can have different dictionaries
            self._table = pa.concat_tables(map(decoded, tables)) if several else tables[0]
        return self._table

    def _read(self, file: Path) -> pa.Table:
        if not file.exists():
            raise PolicyError(CLOSED)
        table = read_table(file)
        return armed_names(table) if self.armed else table
