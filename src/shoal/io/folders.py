"""Many files as one table: those of a folder, a pattern, or of hive's partitions.

A folder of hive has folders ``gender=F/``, ``gender=M/`` in it: their names are a column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from shoal.errors import InputError
from shoal.io.paths import manifest_path
from shoal.io.several import is_several, named_files

__all__ = ["files_of", "joined", "partitions_of", "read_folder", "with_partition"]

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
Partition = Mapping[str, str | int | None]


def files_of(data: str | Path) -> list[Path]:
    """The files of microdata that a name stands for: itself, those of a folder, or of a pattern.

    Releases among several are refused: their records would be released once more.
    """
    files = named_files(data)
    if not files:
        what = "is a directory; expected a file, or" if Path(data).is_dir() else "expected"
        raise InputError(f"{data}: {what} CSV or Parquet files in it")
    for file in files if is_several(data) else ():
        if manifest_path(file).exists():
            raise InputError(
                f"{file}: is a release, since its manifest lies beside it; move it out of the "
                "input's folder, or name the input's files by a pattern"
            )
    return files


def partitions_of(files: Sequence[Path], data: str | Path) -> list[Partition]:
    """What the folders of each file say; whole numbers where all of a name are."""
    base = Path(data)
    if not base.is_dir():
        return [{} for _ in files]
    found = [_told(file.relative_to(base).parts[:-1]) for file in files]
    if any(list(one) != list(found[0]) for one in found):
        raise InputError(f"{data}: its folders do not all name the same columns")
    numbers = {
        name for name in found[0]
        if all(one[name] is None or str(one[name]).isdecimal() for one in found)
        and any(one[name] is not None for one in found)
    }  # fmt: skip
    return [
        {n: int(v) if n in numbers and v is not None else v for n, v in one.items()}
        for one in found
    ]


def _told(folders: Sequence[str]) -> dict[str, str | None]:
    pairs = [folder.partition("=") for folder in folders]
    return {unquote(name): None if value == NO_VALUE else unquote(value)
            for name, _, value in pairs}  # fmt: skip


def with_partition(table: pa.Table, partition: Partition, names: Sequence[str] = ()) -> pa.Table:
    """A file's records with what its folders say of them, in the columns `names`, or all."""
    for name, value in partition.items():
        if name in table.column_names:
            raise InputError(f"column {name!r} is in the files, and in the names of their folders")
        kind = pa.int64() if isinstance(value, int) else pa.string()
        table = table.append_column(name, pa.repeat(pa.scalar(value, kind), table.num_rows))
    return table.select(list(names)) if names else table


def read_folder(data: str | Path, read: Callable[[Path], pa.Table]) -> pa.Table:
    """The files of a folder or pattern as one table."""
    files = files_of(data)
    partitions = partitions_of(files, data)
    parts = [with_partition(read(f), own) for f, own in zip(files, partitions, strict=True)]
    return joined(parts, files)


def joined(tables: Sequence[pa.Table], files: Sequence[Path]) -> pa.Table:
    """The tables of several files as one."""
    tables = [_with_wide_places(table) for table in tables]
    for table, file in zip(tables, files, strict=True):
        if table.schema != tables[0].schema:
            raise InputError(f"{file}: has other columns, or of other types, than {files[0]}")
    return pa.concat_tables(tables)


def _with_wide_places(table: pa.Table) -> pa.Table:
    """Texts by places of four bytes, however few values one file has."""
    wide = [
        pa.field(f.name, pa.dictionary(pa.int32(), f.type.value_type))
        if pa.types.is_dictionary(f.type)
        else f
        for f in table.schema
    ]
    return table.cast(pa.schema(wide))
