"""Slow twins of `shoal.metrics.queries`: released cells as sets of codes, counts as dicts."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from itertools import combinations, product

from columns import columns_of, sensitive_of
from shoal.encoding.codebook import SET


def meaning(column, codes):
    """Codes that a reader must hold possible for a cell of a group with these codes."""
    present = column.size - column.has_missing
    everything = frozenset(range(column.size))
    if column.form == SET:
        return frozenset(codes)
    low, high = min(codes), max(codes)
    if low != high and high >= present:
        return everything
    if column.ends is not None and high < present:
        begin, end = column.ends.begin_texts[low], column.ends.end_texts[high]
        read = Decimal if column.kind == "numeric" else (lambda text: text[:10])
        inside = (read(begin) <= read(column.labels[c]) <= read(end) for c in range(present))
        return frozenset(code for code, is_in in enumerate(inside) if is_in)
    if column.hierarchy is None or high >= present:
        return frozenset(range(low, high + 1))
    # The published label is that of the lowest node that holds all codes; it
    # stands for every leaf that has the label on its path.
    rows = column.hierarchy.to_rows()
    level = next(i for i in range(len(rows[0])) if len({rows[c][i:] for c in codes}) == 1)
    label = rows[low][level]
    if label == "*":
        return everything
    return frozenset(leaf for leaf, row in enumerate(rows) if label in row)


def meanings(table, recoding):
    """For each record a list of sets: what its released cells may mean."""
    cells = [[None] * len(table.qi) for _ in range(table.n)]
    for a, partition in enumerate(recoding.partitions):
        codes = table.codes[a].tolist()
        for g in range(partition.groups):
            members = partition.order[partition.offsets[g] : partition.offsets[g + 1]].tolist()
            meant = meaning(columns_of(table)[a], [codes[r] for r in members])
            for record in members:
                cells[record][a] = meant
    return cells


def divergence(table, attributes, values, expected):
    """KL of one group-by: ``expected`` maps (cell, value) to records."""
    codes = [table.codes[a].tolist() for a in attributes]
    counts = Counter(
        (cell, v) for *cell, v in zip(*codes, values, strict=True) for cell in [tuple(cell)]
    )
    return sum(
        count / table.n * math.log(count / expected[point]) for point, count in counts.items()
    )


def mean_divergence(table, level, values, spread):
    found = [
        divergence(table, attributes, values, spread(attributes))
        for attributes in combinations(range(len(table.qi)), level)
    ]
    return sum(found) / len(found)


def cube_divergence(table, recoding, level, sensitive):
    values = [0] * table.n if sensitive is None else table.sensitive_codes[sensitive].tolist()
    cells = meanings(table, recoding)

    def spread(attributes):
        expected = Counter()
        for record, value in enumerate(values):
            boxes = [cells[record][a] for a in attributes]
            share = 1 / math.prod(len(box) for box in boxes)
            for cell in product(*boxes):
                expected[cell, value] += share
        return expected

    return mean_divergence(table, level, values, spread)


def anatomy_divergence(table, partition, level, sensitive):
    values = table.sensitive_codes[sensitive].tolist()

    def spread(attributes):
        expected = Counter()
        for members in groups_of(partition):
            for record, other in product(members, members):
                cell = tuple(int(table.codes[a][record]) for a in attributes)
                expected[cell, values[other]] += 1 / len(members)
        return expected

    return mean_divergence(table, level, values, spread)


def groups_of(partition):
    return [
        partition.order[partition.offsets[g] : partition.offsets[g + 1]].tolist()
        for g in range(partition.groups)
    ]


def queries_of(workload):
    """Queries as lists of (column, set of selected codes)."""
    p = workload.predicates
    for q in range(workload.queries):
        yield [
            (
                int(p.column[i]),
                {
                    code
                    for run in range(p.run_starts[i], p.run_starts[i + 1])
                    for code in range(p.first[run], p.last[run] + 1)
                },
            )
            for i in range(p.starts[q], p.starts[q + 1])
        ]


def true_count(table, query, sensitive):
    columns = [*columns_of(table), *([] if sensitive is None else [sensitive_of(table)[sensitive]])]
    return sum(all(int(columns[c].codes[r]) in codes for c, codes in query) for r in range(table.n))


def expected_count(table, recoding, query, sensitive):
    cells = meanings(table, recoding)
    total = 0.0
    for record in range(table.n):
        share = 1.0
        for column, codes in query:
            if column < len(table.qi):
                meant = cells[record][column]
                share *= len(meant & codes) / len(meant)
            else:
                share *= int(table.sensitive_codes[sensitive][record]) in codes
        total += share
    return total


def anatomy_count(table, partition, query, sensitive):
    total = 0.0
    for members in groups_of(partition):
        share = 1.0
        for column, codes in query:
            if column >= len(table.qi):
                values = table.sensitive_codes[sensitive]
                share = sum(int(values[r]) in codes for r in members) / len(members)
        asked = [(c, codes) for c, codes in query if c < len(table.qi)]
        total += share * sum(
            all(int(table.codes[c][r]) in codes for c, codes in asked) for r in members
        )
    return total
