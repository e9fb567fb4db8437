"""A range in one task: its records into groups, recoded, with what it lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from shoal.engines.ranges.coded import Coded
from shoal.engines.ranges.dealt import Part
from shoal.engines.ranges.grouping import group_range, grouped_whole
from shoal.engines.ranges.publishing import Before, published_range
from shoal.engines.ranges.spill import smallest_type
from shoal.engines.spark.packets import Row, by_number, facts, packed, unpacked
from shoal.engines.spark.working import OnRows
from shoal.methods.curve import Course
from shoal.metrics.loss import LossSums
from shoal.plan import Plan

__all__ = ["GroupRanges", "RangeFacts"]


class RangeFacts(NamedTuple):
    """What the driver learns of a range."""

    loss: LossSums
    before: Before
    facts: dict[str, Any]
    proof: str
    number: int
    persons: int
    """How many there are, where they are declared: nobody is in two ranges."""


class GroupRanges(OnRows):
    """Group and recode ranges, one after the other."""

    def __init__(self, table: Coded, plan: Plan, course: Course | None, moves: bool) -> None:
        self.table, self.plan, self.moves = table, plan, moves
        self.course = course
        """None: the range is the whole table."""

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        for number, own in by_number(rows):
            found = {"records": list[pa.Table](), "away": list[pa.Table]()}
            for row in own:
                found[row.kind].append(unpacked(row.packet))
            own.clear()
            if not found["records"]:  # all of them were lent, which leaves no range
                continue
            away = pa.concat_tables(found["away"]) if found["away"] else None
            part = Part.of(pa.concat_tables(found["records"]), away, self.moves)
            found.clear()
            yield from self._range(number, part)

    def _range(self, number: int, part: Part) -> Iterator[Row]:
        plan = self.plan
        encoded = self.table.table(part.codes, part.rest, part.words)
        if self.course is None:
            outcome = grouped_whole(encoded, plan)
        else:
            outcome = group_range(encoded, plan, self.course, self.table.records)
        stood_out = None
        if part.at_home is not None:
            stood_out = Before.of(self.table.alone(part.at_home), plan.policy.k or 2)
        made = published_range(encoded, outcome, part.rest, plan.policy, stood_out)
        persons = 0 if made.person is None else int(made.person.max()) + 1
        told = RangeFacts(
            made.loss, made.before, dict(outcome.facts), outcome.proof, number, persons
        )
        yield Row("facts", number, facts(told))
        yield Row("classes", number, facts((made.columns, made.sizes)))
        records = pa.table({"class": made.class_of.astype(smallest_type(len(made.sizes)))})
        if made.person is not None:
            records = records.append_column("person", pa.array(made.person))
        for name in made.rest.column_names:
            records = records.append_column(f"={name}", made.rest.column(name))
        yield Row("grouped", number, packed(records.combine_chunks()))
