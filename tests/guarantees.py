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


def codes_of(cells):
    """Values as numbers in their order, as the naive models want them; a missing one is last."""
    order = {v: i for i, v in enumerate(sorted({v for v in cells if v is not None}))}
    return [order.get(v, len(order)) for v in cells]


def numbers_of(cells):
    """The number behind each code, where the cells are numbers; a missing one has none."""
    return {code: v for code, v in zip(codes_of(cells), cells, strict=True) if v is not None}


def classes_by_text(table, qi, sensitive, persons=None):
    """Classes as the naive models want them, straight from the released cells."""
    classes = defaultdict(list)
    rows = zip(*(table.column(name).to_pylist() for name in qi), strict=True)
    for i, (row, code) in enumerate(zip(rows, codes_of(sensitive), strict=True)):
        classes[row].append((i if persons is None else persons[i], code))
    return list(classes.values())


def failing(models, table, qi, sensitive, persons=None):
    """Models with the sensitive columns on which a class of the table fails them."""
    found = []
    for name in sensitive:
        cells = table.column(name).to_pylist()
        classes = classes_by_text(table, qi, cells, persons)
        ordered, numbers = name == "income", numbers_of(cells)
        found += [
            (model, name)
            for model in models
            if not all(naive_models.holds(model, classes, ordered, numbers))
        ]
    return found


def assert_models_hold(release, sensitive):
    """Every class that a reader can tell apart satisfies every model, counting as released."""
    persons = None if release.persons is None else list(release.persons)
    assert not failing(release.models, release.data, release.qi, sensitive, persons)


def fails_as_a_whole(table, models, sensitive, persons=None):
    """Whether the table as one class fails a model: then, but for persons, nothing satisfies it."""
    alike = table.append_column("", [["*"] * table.num_rows])
    return bool(failing(models, alike, [""], sensitive, persons))
