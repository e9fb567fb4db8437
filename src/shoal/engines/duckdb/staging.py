"""Records as numbers of their values in a file of ours.

The input is read once; the staged records are read again, as codes, as often as they are needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from shoal.encoding.cooccurrence import worth_arranging
from shoal.encoding.marks import words_of_persons
from shoal.encoding.sketch import Sketch
from shoal.engines.ranges.coded import Coded, Staged, codes_by, explained
from shoal.engines.ranges.grouping import flow
from shoal.engines.ranges.persons import staged_words
from shoal.engines.ranges.profile import Growing
from shoal.engines.ranges.spill import Pieces, Spill, smallest_type
from shoal.errors import InputError
from shoal.io.batches import Batches
from shoal.policy import Policy
from shoal.progress import Report

__all__ = ["coded", "staged"]


def staged(
    source: Batches, columns: Sequence[str], policy: Policy, spill: Spill, report: Report
) -> Staged:
    """Read the input once; every record becomes the numbers of its values."""
    about = source.estimated_rows()
    named = [*policy.qi, *policy.sensitive]
    values = {name: Growing(name) for name in named}
    plain = tuple(name for name in columns if name not in values)
    pieces, records, files = Pieces(spill.file("staged.arrow")), 0, list[tuple[str, int]]()
    types: dict[str, pa.DataType] = {}
    person = policy.person
    for file, table in source.read([*columns, *([person] if person else [])]):
        if not files or files[-1][0] != file:
            files.append((file, records))
        arrays = {}
        for name in named:
            numbers = values[name].numbers(table.column(name), records)
            arrays[name] = pa.array(numbers.astype(smallest_type(len(values[name].counts))))
        for name in plain:
            arrays[name] = _decoded(table.column(name))
            known = types.setdefault(name, arrays[name].type)
            if known != arrays[name].type:
                raise InputError(f"{file}: column {name!r} is of another type than before")
        if person is not None:
            words = words_of_persons(table.column(person), policy.missing)
            arrays[person] = staged_words(words)
        pieces.append(pa.RecordBatch.from_pydict(arrays))
        records += table.num_rows
        report("read", records, max(records, about))
    if not records:
        raise InputError("the table is empty: it has a header and no records")
    return Staged(tuple(columns), values, plain, types, pieces, records, tuple(files), person)


def _decoded(column: pa.ChunkedArray) -> pa.Array:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    array = column.cast(kind).combine_chunks()
    return pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array


def coded(stage: Staged, policy: Policy, workers: int, sketched: bool, report: Report) -> Coded:
    """The codebook of a table that was staged; with a sketch of it, where one is wanted."""
    found = explained(stage, policy)
    sketch = None
    if sketched or worth_arranging(found.qi, stage.records):
        sketch, done = Sketch(len(found.qi)), 0
        for codes in flow(
            lambda batch: codes_by(batch, policy.qi, found.numbers), stage.pieces.read(), workers
        ):
            sketch.add(codes)
            done += codes.shape[1]
            report("encode", done, stage.records)
    return found.coded(stage, policy, sketch, workers)
