"""From classes of the body to a recoding: every wing is grouped inside them.

Paper 003, sections 4.2.5 and 5.2. A body class is a butterfly; its wings are
grouped independently of each other, and every group of a wing lies in one body
class. Where something must hold on all attributes at once, records are first
put into units, of which groups consist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.codebook import SPAN, Attribute
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.kernels.butterfly.units import best_groups, box_units, units_of
from shoal.kernels.dp import best_offsets
from shoal.kernels.threads import on_threads
from shoal.methods import get_method
from shoal.methods.base import Run
from shoal.methods.butterfly.division import Division, Wing, least
from shoal.methods.curve import cut_into, drawn_curve
from shoal.methods.line import partition_line
from shoal.methods.merging import merge_along
from shoal.methods.mondrian import cut_table, lots_of
from shoal.metrics.loss import gcp
from shoal.models import satisfied_classes
from shoal.models.base import Model

__all__ = ["Butterflies", "ButterflyInputs", "alike", "group_wings", "join"]

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Butterflies:
    """Butterflies and their wings."""

    body: Partition
    recoding: Recoding


@dataclass(frozen=True, eq=False)
class ButterflyInputs:
    """What wings need besides the body, computed once."""

    table: EncodedTable
    division: Division
    inner: str = "hilbert"
    seed: int = 0

    @cached_property
    def sizes_only(self) -> bool:
        return self.division.sizes_only(self.table)

    @cached_property
    def tables(self) -> tuple[EncodedTable, ...]:
        """The records as each wing sees them."""
        return tuple(self.table.select(wing.attributes) for wing in self.division.wings)

    @cached_property
    def curves(self) -> tuple[Ids, ...]:
        """The records along each wing's own Hilbert curve."""
        least_of = [wing.k for wing in self.division.wings]
        return on_threads(
            lambda table, k: drawn_curve(table, self.seed, cut_into(k)).order, self.tables, least_of
        )

    @cached_property
    def joint_curve(self) -> Ids:
        """The records along the curve of all attributes that are not the body's."""
        return drawn_curve(self.table.select(self.division.private), self.seed).order


def group_wings(
    inputs: ButterflyInputs, body: Partition, units: Partition | None = None
) -> Butterflies:
    """Group all wings inside the classes of the body.

    Parameters
    ----------
    inputs : ButterflyInputs
        Table and division.
    body : Partition
        Classes that satisfy all models of the division.
    units : Partition, optional
        Records that stay together, within body classes; made here where needed.
    """
    division = inputs.division
    nodes = body.group_ids()
    if division.together and units is None:
        units = _units(inputs, nodes)
    groups = on_threads(lambda v: _wing(inputs, v, nodes, units), range(len(division.wings)))
    if not inputs.sizes_only:
        for partition in (*groups, *((units,) if units else ())):
            body = _joined(body, partition)
    partitions = [body] * len(inputs.table.qi)
    for wing, partition in zip(division.wings, groups, strict=True):
        for a in wing.attributes:
            partitions[a] = partition
    for a in division.rest:
        assert units is not None
        partitions[a] = units
    return Butterflies(body, Recoding(tuple(partitions)))


def join(first: Ids, second: Ids) -> Ids:
    """Numbers of the smallest sets that contain every group of both partitions they meet."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = int(first.max()) + 1
    size = count + int(second.max()) + 1
    graph = coo_array((np.ones(len(first), dtype=np.int64), (first, count + second)), (size, size))
    _, label = connected_components(graph, directed=False)
    joined: Ids = label[first].astype(np.int64)
    return joined


def _joined(body: Partition, groups: Partition) -> Partition:
    """The body, with classes made one that a group crosses: never with numbers of records alone."""
    nodes = body.group_ids()
    along = nodes[groups.order]
    begins = groups.offsets[:-1]
    if (np.minimum.reduceat(along, begins) == np.maximum.reduceat(along, begins)).all():
        return body
    return Partition.from_group_ids(join(nodes, groups.group_ids()))


def _wing(inputs: ButterflyInputs, v: int, nodes: Ids, units: Partition | None) -> Partition:
    """Groups of one wing."""
    wing, table = inputs.division.wings[v], inputs.tables[v]
    if inputs.inner != "hilbert":
        found = _by_method(inputs, wing, table, nodes, units)
        if satisfied_classes(table, wing.models, found.group_ids()).all():
            return found
    if units is not None:
        line = _units_along(table, nodes, units, inputs.seed)
        if inputs.sizes_only:
            return _cheapest(table, line, nodes, wing.k)
        return _merged(table, line, nodes, wing.models)
    order = _within(nodes, inputs.curves[v])
    return _group(inputs, table, order, nodes, wing.models)


def _group(
    inputs: ButterflyInputs, table: EncodedTable, order: Ids, nodes: Ids, models: Sequence[Model]
) -> Partition:
    """Groups of records that lie along a line, node by node."""
    fenced = _fenced(table, nodes)
    partition = Partition(order, best_offsets(fenced.costs, fenced.codes, order, least(models)))
    if inputs.sizes_only:
        return partition
    merged = _merged(table, partition, nodes, models)
    if not all(m.size_and_cap for m in models):
        return merged
    apart = _node_by_node(table, order, nodes, models)
    return min(apart, merged, key=lambda p: gcp(fenced, Recoding.single(p, len(fenced.qi))))


def _merged(table: EncodedTable, line: Partition, nodes: Ids, models: Sequence[Model]) -> Partition:
    """Groups of a line merged until they satisfy the models.

    Node by node, but for models that compare a group with the whole table:
    then a group may cross nodes, which become one.
    """
    if any(m.compares_with_table for m in models):
        return merge_along(line, _fenced(table, nodes), models)
    parts = []
    for begin, end in pairwise(_bounds(nodes[line.firsts])):
        offsets = line.offsets[begin : end + 1]
        rows = line.order[offsets[0] : offsets[-1]]
        alone = Partition(np.arange(len(rows)), offsets - offsets[0])
        merged = merge_along(alone, table.take(rows), models)
        parts.append(Partition(rows[merged.order], merged.offsets))
    return _concatenated(parts)


def _node_by_node(
    table: EncodedTable, order: Ids, nodes: Ids, models: Sequence[Model]
) -> Partition:
    """Each node grouped as if it were the table: for models that ask no more of it."""
    parts = []
    for rows in np.split(order, _bounds(nodes[order])[1:-1]):
        alone = partition_line(np.arange(len(rows)), table.take(rows), models)
        parts.append(Partition(rows[alone.order], alone.offsets))
    return _concatenated(parts)


def _by_method(
    inputs: ButterflyInputs, wing: Wing, table: EncodedTable, nodes: Ids, units: Partition | None
) -> Partition:
    """Each node grouped by another method; records of a unit look alike to it."""
    seen = table if units is None else alike(table, units)
    if inputs.inner == "mondrian":
        return cut_table(_numbered(seen, nodes), wing.models, key=lots_of(inputs.seed))
    method = get_method(inputs.inner)
    run = Run(inputs.seed)
    parts = []
    for rows in np.split(*_by_node(nodes)):
        if len(rows) < 2 * wing.k:
            parts.append(Partition(rows, np.array([0, len(rows)], dtype=np.int64)))
            continue
        found = method.run(seen.take(rows), wing.models, method.options(), run).recoding
        alone = found.partitions[0]
        parts.append(Partition(rows[alone.order], alone.offsets))
    groups = _concatenated(parts)
    if units is None:
        return groups
    return Partition.from_group_ids(join(groups.group_ids(), units.group_ids()))


def _by_node(nodes: Ids) -> tuple[Ids, Ids]:
    """Records node by node, and where all nodes but the first begin."""
    body = Partition.from_group_ids(nodes)
    return body.order, body.offsets[1:-1]


def alike(table: EncodedTable, units: Partition) -> EncodedTable:
    """The table in which all records of a unit have the codes in the middle of its range."""
    low, high = _boxes(table, units)
    ids = units.group_ids()
    return replace(table, codes=np.take((low + high) // 2, ids, axis=1))


def _boxes(table: EncodedTable, units: Partition) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    low = np.empty((len(table.qi), units.groups), dtype=np.int32)
    high = np.empty_like(low)
    box_units(table.codes, units.order, units.offsets, low, high)
    return low, high


def _concatenated(parts: Sequence[Partition]) -> Partition:
    order = np.concatenate([part.order for part in parts])
    sizes = np.concatenate([part.sizes for part in parts])
    return Partition(order, np.append(0, np.cumsum(sizes)).astype(np.int64))


def _units(inputs: ButterflyInputs, nodes: Ids) -> Partition:
    """Units for all readers together, within the nodes."""
    table, division = inputs.table, inputs.division
    order = _within(nodes, inputs.joint_curve)
    fenced = _fenced(table.select(division.private), nodes)
    offsets = best_offsets(fenced.costs, fenced.codes, order, least(division.together))
    partition = Partition(order, offsets)
    if inputs.sizes_only:
        return partition
    return _merged(table.select(division.private), partition, nodes, division.together)


def _units_along(table: EncodedTable, nodes: Ids, units: Partition, seed: int) -> Partition:
    """The units in their order along the wing's curve, node by node.

    The curve runs through both ends of the units' ranges, so that wide ones
    come together: through their middles it loses an eighth more on ACS.
    """
    ends = np.concatenate(_boxes(table, units))
    twice = EncodedTable.of(list(zip(2 * table.qi, ends, strict=True)), n=units.groups)
    curve = drawn_curve(twice, seed).order
    place = _within(nodes[units.firsts], curve)
    sizes = units.sizes[place]
    offsets = np.append(0, np.cumsum(sizes))
    shift = np.repeat(units.offsets[place] - offsets[:-1], sizes)
    return Partition(units.order[np.arange(len(shift)) + shift], offsets)


def _cheapest(table: EncodedTable, line: Partition, nodes: Ids, k: int) -> Partition:
    """The cheapest cut of a line of units into groups of at least k records."""
    along = nodes[line.firsts]
    bounds = _bounds(along)
    begin = np.repeat(bounds[:-1], np.diff(bounds))
    units = units_of(table.costs, table.codes, line.order, line.offsets, begin)
    loss, begins = best_groups(table.costs, units, k)
    assert loss < np.inf
    return Partition(line.order, np.append(line.offsets[begins], line.offsets[-1]))


def _within(nodes: Ids, curve: Ids) -> Ids:
    """Things of each node after each other, along the curve within a node."""
    return curve[Partition.from_group_ids(nodes[curve]).order]


def _bounds(along: Ids) -> Ids:
    """Where runs of equal numbers begin, and the end."""
    changes = np.flatnonzero(along[1:] != along[:-1]) + 1
    return np.concatenate([[0], changes, [len(along)]]).astype(np.int64)


def _numbered(table: EncodedTable, nodes: Ids) -> EncodedTable:
    """The table with the nodes as its first and widest attribute: Mondrian cuts there first.

    Every cut between whole nodes is allowable, so that none stays mixed.
    """
    count = int(nodes.max()) + 1
    apart = np.arange(count, dtype=np.float64)
    fence = Attribute(
        name="",
        kind="ordinal",
        labels=[""] * count,
        form=SPAN,
        position=apart,
        coordinate=apart / max(1, count - 1),
    )
    codes = np.vstack([nodes.astype(np.int32), table.codes])
    return replace(table, qi=(fence, *table.qi), codes=codes)


def _fenced(table: EncodedTable, nodes: Ids) -> EncodedTable:
    """The table with an attribute that makes groups across neighbouring nodes too dear."""
    price = 4.0 * table.n * sum(column.weight for column in table.qi) + 1.0
    fence = Attribute(
        name="",
        kind="ordinal",
        labels=["", ""],
        form=SPAN,
        position=np.array([0.0, 1.0]),
        coordinate=np.array([0.0, 1.0]),
        weight=price,
    )
    codes = np.vstack([table.codes, (nodes % 2).astype(np.int32)])
    return replace(table, qi=(*table.qi, fence), codes=codes)
