"""Classes that a person is in several groups of, after `bsgi`: their groups are united with others.

Groups of one text are one class, in which a person counts once: what held in each group can
fail there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.encoding.classes import class_ids
from shoal.encoding.recode import recode
from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.kernels.bsgi.block import points_of
from shoal.kernels.bsgi.index import new_box
from shoal.kernels.bsgi.unite import crowded, persons_of, unite
from shoal.models import Model, satisfied_classes

__all__ = ["without_crowds"]

Ids = NDArray[np.int64]

ROUNDS = 8
"""How often groups of crowded classes are united with others."""


def without_crowds(table: EncodedTable, partition: Partition, models: Sequence[Model]) -> Partition:
    """Unite groups whose released text is that of others, where a person is in several.

    Groups of one text are one class, in which a person counts once: what held in each group
    can fail there. Such a group is united with a near one of another class. What a few
    rounds do not settle is left to the pipeline, which merges whole classes.
    """
    persons = persons_of(table.person)
    points = points_of(table, np.arange(table.n))
    for _ in range(ROUNDS):
        classes = _classes(table, partition)
        by_class = _groups_that_fail(table, partition, classes, models)
        crowds = np.zeros(partition.groups, dtype=np.bool_)
        seen = np.full(len(persons.start), -1, dtype=np.int64)
        parts = (partition.order, partition.offsets)
        crowded(*parts, by_class, classes, persons.of, seen, crowds)
        partner = np.empty(partition.groups, dtype=np.int64)
        of = classes[partition.group_ids()]
        box = new_box(table.costs)
        if not unite(table.costs, points, box, *parts, classes, of, persons, crowds, partner):
            break
        ids = np.empty(table.n, dtype=np.int64)
        ids[partition.order] = np.repeat(partner, partition.sizes)
        partition = Partition.from_group_ids(ids)
    return partition


def _classes(table: EncodedTable, partition: Partition) -> Ids:
    """Class of each group: those with the same released text are one."""
    recoded = recode(table, Recoding.single(partition, len(table.qi)))
    texts = [(column.text_of_group, len(column.texts)) for column in recoded]
    return class_ids(texts, partition.groups)[0]


def _groups_that_fail(
    table: EncodedTable, partition: Partition, classes: Ids, models: Sequence[Model]
) -> Ids:
    """Groups of the classes in which a model fails, class by class."""
    ids = classes[partition.group_ids()]
    holds = satisfied_classes(table, models, ids)
    by_class: Ids = np.argsort(classes, kind="stable")
    fail: Ids = by_class[~holds[classes[by_class]]]
    return fail
