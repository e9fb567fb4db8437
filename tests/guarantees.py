"""What a test of a method asserts first: every record is there once, and every model holds."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence

import naive_models
import naive_optimal
from shoal.encoding.table import EncodedTable, Partition
from shoal.models import Model, sizes_only, table_histograms


def groups_of(partition: Partition) -> list[list[int]]:
    return [
        partition.order[begin:end].tolist() for begin, end in itertools.pairwise(partition.offsets)
    ]


def assert_every_record_once(table: EncodedTable, partition: Partition) -> None:
    assert sorted(partition.order.tolist()) == list(range(table.n))
    assert partition.offsets[0] == 0
    assert partition.offsets[-1] == table.n
    assert (partition.sizes > 0).all()


def assert_guaranteed(table: EncodedTable, models: Sequence[Model], partition: Partition) -> None:
    """Every record is in exactly one group and every group satisfies every model."""
    assert_every_record_once(table, partition)
    ids = partition.group_ids()
    for model in models:
        if model.about_sensitive:
            for classes in table_histograms(table, ids):
                assert model.holds(classes).all()
        else:
            assert model.holds(sizes_only(ids, person=table.person)).all()


def whole_holds(table, models):
    """Whether the table as one group satisfies all models: else no partition does."""
    return naive_optimal.satisfies(table, list(range(table.n)), models)


def classes_by_text(table, qi, sensitive, persons=None):
    """Classes as the naive models want them, straight from the released cells."""
    order = {v: i for i, v in enumerate(sorted({v for v in sensitive if v is not None}))}
    classes = defaultdict(list)
    rows = zip(*(table.column(name).to_pylist() for name in qi), strict=True)
    for i, (row, value) in enumerate(zip(rows, sensitive, strict=True)):
        person = i if persons is None else persons[i]
        classes[row].append((person, order.get(value, len(order))))
    return list(classes.values())


def assert_models_hold(release, models, sensitive):
    for name in sensitive:
        cells = release.data.column(name).to_pylist()
        ordered = name == "income"
        for model in models:
            if model.name == "(k,e)":
                continue  # the naive twin wants numbers; checked below
            classes = classes_by_text(release.data, release.qi, cells)
            assert all(naive_models.holds(model, classes, ordered)), (model, name)
