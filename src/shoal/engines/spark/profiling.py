"""One pass over the input: packets of its records, and what values each column has.

A packet carries its own dictionaries: should an executor be lost and its share be read again,
in another order perhaps, the packets are others and hold the same records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from shoal.encoding.marks import words_of_persons
from shoal.encoding.values import Values
from shoal.engines.ranges.persons import staged_words
from shoal.engines.ranges.profile import Growing, Profiled, keys_of
from shoal.engines.spark.packets import Row, facts, packed, told
from shoal.engines.spark.working import OnBatches, OnRows
from shoal.errors import InputError
from shoal.io.batches import Batches, parquet_batches
from shoal.io.frames import normalised
from shoal.io.read import file_format

__all__ = [
    "FilesIn", "FrameIn", "MergeProfiles", "Merged", "Profile", "ReadFrom", "Wanted", "as_numbers",
    "merged_profiles", "shares_of",
]  # fmt: skip

PACKET = 1 << 18
"""Records of a packet."""
SHARE = 1 << 20
"""Records of a Parquet file that one task reads, about."""
FILE = 1 << 40
"""More records than a file has: a record's number says which file it is in."""


class Profile(NamedTuple):
    """What is known of some records."""

    records: int
    columns: dict[str, tuple[pa.Array, NDArray[np.int64], NDArray[np.int64]]]
    """Of each coded column: its values, how often each is there (nulls first), and where first."""
    types: dict[str, pa.DataType]
    """Of plain columns."""


class Share(NamedTuple):
    """What one task reads of the files."""

    file: str
    before: int
    """Number of its first record, less 1: see `FILE`."""
    groups: tuple[int, ...] | None
    """Row groups of a Parquet file; None: all of the file."""


class Wanted(NamedTuple):
    """The columns that are read."""

    coded: tuple[str, ...]
    plain: tuple[str, ...]
    person: str | None
    missing: tuple[str, ...]
    """What names nobody."""

    @property
    def names(self) -> list[str]:
        return [*self.coded, *self.plain, *([self.person] if self.person else [])]


class _Packing:
    """Records into packets, with a profile of them."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted, self.plain = wanted, wanted.plain
        self.values = {name: Growing(name) for name in wanted.coded}
        self.types: dict[str, pa.DataType] = {}
        self.records = 0
        self.held: list[pa.Table] = []
        self.waiting = 0

    def add(self, table: pa.Table, before: int) -> Iterator[Row]:
        """Take in records, of which the first is the so-manieth of all."""
        self.held.append(table)
        self.waiting += table.num_rows
        if self.waiting >= PACKET:
            yield self.flush(before + table.num_rows - self.waiting)

    def flush(self, before: int) -> Row:
        table = normalised(pa.concat_tables(self.held)).combine_chunks()
        self.held, self.waiting = [], 0
        columns = {}
        for name, values in self.values.items():
            column = table.column(name)
            if not pa.types.is_dictionary(column.type):
                column = column.dictionary_encode()
            columns[name] = column
            values.numbers(column, before)
        for name in self.plain:
            column = table.column(name)
            if pa.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            known = self.types.setdefault(name, column.type)
            if known != column.type:
                raise InputError(f"column {name!r} is of another type in an earlier file")
            columns[name] = column
        if (person := self.wanted.person) is not None:
            words = words_of_persons(table.column(person), self.wanted.missing)
            columns[person] = staged_words(words)
        self.records += table.num_rows
        return Row("records", 0, packed(pa.table(columns)))

    def profile(self) -> Iterator[Row]:
        """What is known in the end."""
        if not self.records:
            return
        columns = {
            name: (
                values.all_values(),
                values.counts,
                np.concatenate(values.firsts or [np.zeros(0, dtype=np.int64)]),
            )
            for name, values in self.values.items()
        }
        yield Row("profile", 0, facts(Profile(self.records, columns, self.types)))


class FrameIn(OnBatches):
    """Records of somebody's data frame, whose columns are called by their places."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        packing = _Packing(self.wanted)
        for batch in batches:
            if batch.num_rows:
                table = pa.Table.from_batches([batch]).rename_columns(self.wanted.names)
                yield from packing.add(table, 0)
        if packing.waiting:
            yield packing.flush(0)
        yield from packing.profile()


class ReadFrom(NamedTuple):
    """How files are read."""

    names: tuple[str, ...]
    missing: tuple[str, ...]
    encoding: str
    delimiter: str | None


class FilesIn(OnRows):
    """Records of files, which Shoal reads as it reads them elsewhere."""

    def __init__(self, how: ReadFrom, wanted: Wanted) -> None:
        self.how, self.wanted = how, wanted

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        packing = _Packing(self.wanted)
        for row in rows:
            share: Share = told(row.packet)
            done = share.before
            for table in self._read(share):
                yield from packing.add(table, done)
                done += table.num_rows
            if packing.waiting:
                yield packing.flush(done - packing.waiting)
        yield from packing.profile()

    def _read(self, share: Share) -> Iterator[pa.Table]:
        names = self.wanted.names
        if share.groups is not None:
            for batch in parquet_batches(Path(share.file), names, share.groups):
                yield normalised(pa.Table.from_batches([batch]).select(names))
            return
        how = self.how
        batches = Batches(Path(share.file), how.missing, how.encoding, how.delimiter)
        for _, table in batches.read(names):
            yield table


def shares_of(files: Sequence[Path]) -> list[Row]:
    """What tasks read: each a file, or some row groups of a long one."""
    found: list[Share] = []
    for number, file in enumerate(files):
        if file_format(file) != "parquet":
            found.append(Share(str(file.resolve()), number * FILE, None))
            continue
        pages = pa.parquet.read_metadata(file)
        before, begun, groups, have = number * FILE, number * FILE, list[int](), 0
        for group in range(pages.num_row_groups):
            groups.append(group)
            have += pages.row_group(group).num_rows
            if have >= SHARE or group == pages.num_row_groups - 1:
                found.append(Share(str(file.resolve()), begun, tuple(groups)))
                begun, groups, have = begun + have, [], 0
        assert begun == before + pages.num_rows
    return [Row("share", number, facts(share)) for number, share in enumerate(found)]


class Merged(Growing):
    """The values of a column in all parts of a table."""

    numbered = False
    """Whether somebody knows which record is the first."""

    def merge(self, values: pa.Array, counts: NDArray[np.int64], firsts: NDArray[np.int64]) -> None:
        """Take in what another part has."""
        self.type = self.type or values.type
        if values.type != self.type:
            raise InputError(
                f"column {self.name!r}: of type {values.type} here and {self.type} in an earlier "
                "file; give it one type"
            )
        number = np.zeros(len(values), dtype=np.int64)
        known, new = len(self.counts), list[int]()
        for place, key in enumerate(keys_of(values)):
            found = self.index.get(key)
            if found is None:
                found = self.index[key] = known + len(new)
                new.append(place)
            number[place] = found
        total = np.zeros(known + len(new), dtype=np.int64)
        total[:known] = self.counts
        total[0] += counts[0]
        total[number] += counts[1:]
        self.counts = total
        first = np.full(len(total) - 1, np.iinfo(np.int64).max)
        if self.firsts:
            first[: known - 1] = self.firsts[0]
        np.minimum.at(first, number - 1, firsts)
        self.firsts = [first]
        if new:
            self.chunks.append(values.take(pa.array(new)))

    def in_order(self) -> Merged:
        """Numbered by what the values are, not by which part came first."""
        keys = list(self.index)
        order = sorted(range(len(keys)), key=lambda n: (type(keys[n]).__name__, keys[n]))
        place = np.array(order, dtype=np.int64)
        found = Merged(self.name)
        found.type, found.numbered = self.type, self.numbered
        found.index = {keys[n]: number for number, n in enumerate(order, start=1)}
        if order:
            found.chunks = [self.all_values().take(pa.array(place))]
            found.counts = np.concatenate([self.counts[:1], self.counts[1:][place]])
            found.firsts = [self.firsts[0][place]]
        else:
            found.counts = self.counts
        return found

    def values(self, missing: tuple[str, ...], notation: str | None) -> Any:
        """See `Growing`; of a data frame nobody knows which record is the first."""
        found: Profiled = super().values(missing, notation)
        if self.numbered:
            return found
        return Values(found.values, found.has_missing, notation=notation)

    def numbers_of(self, column: pa.ChunkedArray) -> NDArray[np.int64]:
        """The number of each cell of a packet."""
        encoded = column.combine_chunks()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = pa.concat_arrays(encoded.chunks)
        number = np.zeros(len(encoded.dictionary) + 1, dtype=np.int64)
        for place, key in enumerate(keys_of(encoded.dictionary)):
            if key is not None:
                number[place] = self.index[key]
        codes = np.asarray(encoded.indices.cast(pa.int32()).fill_null(-1))
        numbers: NDArray[np.int64] = number[codes]
        return numbers


def merged_profiles(profiles: Sequence[Profile]) -> tuple[Profile, dict[str, Merged]]:
    """One profile of all parts, and the values of its columns."""
    first = profiles[0]
    values = {name: Merged(name) for name in first.columns}
    for profile in profiles:
        for name, kind in profile.types.items():
            if first.types[name] != kind:
                raise InputError(f"column {name!r} is of another type in an earlier file")
        for name, found in profile.columns.items():
            values[name].merge(*found)
    columns = {}
    for name, growing in values.items():
        firsts = growing.firsts[0] if growing.firsts else np.zeros(0, dtype=np.int64)
        columns[name] = (growing.all_values(), growing.counts, firsts)
    whole = Profile(sum(profile.records for profile in profiles), columns, first.types)
    return whole, values


class MergeProfiles(OnRows):
    """Profiles of many tasks into one."""

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        profiles = [told(row.packet) for row in rows]
        if profiles:
            yield Row("profile", 0, facts(merged_profiles(profiles)[0]))


def as_numbers(table: pa.Table, values: dict[str, Any]) -> pa.RecordBatch:
    """The records of a packet as numbers of their values; plain columns as they are."""
    arrays = {}
    for name in table.column_names:
        known = values.get(name)
        if isinstance(known, Merged):
            arrays[name] = pa.array(known.numbers_of(table.column(name)).astype(np.uint32))
        else:
            column = table.column(name).combine_chunks()
            chunked = isinstance(column, pa.ChunkedArray)
            arrays[name] = pa.concat_arrays(column.chunks) if chunked else column
    return pa.RecordBatch.from_pydict(arrays)
