"""The process that keeps one table open and answers questions about it, one JSON line each.

``python -m shoal.studio.workers.desk`` reads questions from stdin and ends with it. Numbers,
names of columns and errors of ours go back; cells only where a question is about them (a few
rows to look at, values of a quasi-identifier for its tree).
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.encoding.classes import class_ids
from shoal.encoding.values import Distinct, distinct_values
from shoal.errors import ShoalError
from shoal.explore.inspection import SMALL, inspect
from shoal.explore.suggestion import suggest
from shoal.hierarchy import Hierarchy, hierarchy_from_spec
from shoal.io.frames import to_arrow
from shoal.policy import Policy
from shoal.rehearsal import rehearse
from shoal.studio.session import stamp_of
from shoal.studio.workers.bounds import check_unpacked
from shoal.studio.workers.classes import browse
from shoal.studio.workers.leash import ends_with_its_parent, quiet

__all__ = ["Desk", "main"]

ROWS = 12
"""Rows to look at."""
LONGEST = 80
"""Characters of a cell that are handed on."""
MOST_VALUES = 2000
"""Values of a column that are handed on for its tree."""


class Desk:
    """One table, read once, and what is asked of it."""

    def __init__(self) -> None:
        self.table: pa.Table | None = None
        self.read_as: tuple[Any, ...] = ()
        self.distincts: dict[str, Distinct] = {}
        self.counts: dict[tuple[Any, ...], dict[str, int]] = {}

    def _open(
        self, path: str, missing: list[str], encoding: str, delimiter: str | None = None
    ) -> pa.Table:
        # The file may be another one.
        asked = (path, tuple(missing), encoding, delimiter, stamp_of(path))
        if self.table is None or self.read_as != asked:
            self.table = None
            self.distincts.clear()
            self.counts.clear()
            check_unpacked(Path(path))
            self.table, _ = to_arrow(Path(path), tuple(missing), encoding, delimiter)
            self.read_as = asked
        return self.table

    def _distinct(self, name: str) -> Distinct:
        if name not in self.distincts:
            assert self.table is not None
            column = self.table.column(name)
            self.distincts[name] = distinct_values(column, tuple(self.read_as[1]))
        return self.distincts[name]

    # Questions

    def look(
        self, path: str, missing: list[str], encoding: str, delimiter: str | None = None,
        decimal: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """What is in the table, the proposed policy, and a few rows."""
        marks = {"encoding": encoding, "delimiter": delimiter, "decimal": decimal}
        table = self._open(path, missing, encoding, delimiter)
        found = inspect(table, tuple(missing), **marks)
        shown = table.slice(0, ROWS)
        rows = [[_short(cell) for cell in shown.column(n).to_pylist()] for n in table.column_names]
        return {
            **found.to_dict(),
            "policy": found.policy().to_toml(),
            "undecided": [column.name for column in found.columns if column.undecided],
            "ambiguous": list(found.ambiguous),
            "preview": [list(row) for row in zip(*rows, strict=True)],
        }

    def unique(
        self, path: str, missing: list[str], encoding: str, qi: list[str], person: str | None,
        delimiter: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """How many are alone, now, and if each column were (or were not) known."""
        table = self._open(path, missing, encoding, delimiter)
        now = self._alone(qi, person)
        others = [n for n in table.column_names if n != person]
        change = {
            name: self._alone([q for q in qi if q != name] if name in qi else [*qi, name], person)
            for name in others
        }
        return {"now": now, "change": {name: found["unique"] for name, found in change.items()},
                "rows": table.num_rows}  # fmt: skip

    def _alone(self, qi: list[str], person: str | None) -> dict[str, int]:
        key = (frozenset(qi), person)
        if key not in self.counts:
            assert self.table is not None
            rows = self.table.num_rows
            keyed = [(d.codes + 1, len(d.values) + 1) for d in map(self._distinct, sorted(qi))]
            ids, count = class_ids(keyed, rows)
            sizes = np.bincount(ids, minlength=count)
            if person is not None and person in self.table.column_names:
                whose = self._distinct(person)
                pairs, total = class_ids(
                    [(ids, count), (whose.codes + 1, len(whose.values) + 1)], rows
                )
                class_of_pair = np.empty(total, dtype=np.int64)
                class_of_pair[pairs] = ids
                sizes = np.bincount(class_of_pair, minlength=count)
            alike = sizes[ids]
            self.counts[key] = {
                "unique": int((alike == 1).sum()),
                "small": int((alike < SMALL).sum()),
                "classes": int(count),
            }
        return self.counts[key]

    def limits(self, path: str, policy: str) -> dict[str, Any]:
        """What is possible, and what speaks against the policy as it is."""
        asked = Policy.load(policy)
        table = self._open(path, list(asked.missing), asked.encoding, asked.delimiter)
        bare = asked.model_copy(update={
            "k": 2, "l": None, "t": None, "alpha": None, "beta": None, "delta": None, "e": None,
            "c": None, "threshold": None, "max_loss": None, "l_reading": "frequency",
            "method": None, "option": {}, "effort": None, "time": None, "reader": {},
            "collusion_k": None, "recoding": None, "coarsen": {},
        })  # fmt: skip
        found = rehearse(table, bare)
        told: dict[str, Any] = {
            "records": found.records, "persons": found.persons, "largest_k": found.largest_k,
            "largest_l": found.largest_l, "kinds": found.kinds, "memory": found.memory,
        }  # fmt: skip
        try:
            plan = rehearse(table, asked)
        except ShoalError as error:
            return {**told, "refusal": str(error), "seconds": None, "method": None, "models": []}
        return {**told, "refusal": plan.refusal, "seconds": plan.seconds, "method": plan.method,
                "models": list(plan.models)}  # fmt: skip

    def values(self, path: str, policy: str, column: str) -> dict[str, Any]:
        """Values of a quasi-identifier with their counts, the most frequent first."""
        asked = Policy.load(policy)
        self._open(path, list(asked.missing), asked.encoding, asked.delimiter)
        _only_qi(asked, column)
        distinct = self._distinct(column)
        counts = np.bincount(distinct.codes[distinct.codes >= 0], minlength=len(distinct.values))
        order = np.argsort(-counts, kind="stable")[:MOST_VALUES]
        texts = distinct.texts()
        return {
            "values": [[texts[i], int(counts[i])] for i in order], "distinct": len(texts),
        }  # fmt: skip

    def tree(
        self, path: str, policy: str, column: str, spec: Any, most: int = MOST_VALUES
    ) -> dict[str, Any]:
        """The tree that a spec means for this column: rows, and the values it does not cover.

        At most so many of each are handed on; `count` and `lacking` say how many there are.
        """
        asked = Policy.load(policy)
        self._open(path, list(asked.missing), asked.encoding, asked.delimiter)
        _only_qi(asked, column)
        texts = self._distinct(column).texts()
        missing: list[str] = []
        try:
            tree = hierarchy_from_spec(spec, texts, column, asked.base)
        except ShoalError as error:
            whole = _whole_tree(spec, column, asked.base)
            if whole is not None:
                missing = sorted(set(texts) - set(whole.leaves))
            return {"error": str(error), "missing": missing[:most], "lacking": len(missing),
                    "rows": [], "unused": 0}  # fmt: skip
        whole = _whole_tree(spec, column, asked.base)
        unused = 0 if whole is None else len(whole.leaves) - len(tree.leaves)
        every = [tuple(row) for row in tree.to_rows()]
        sizes = Counter(row[level:] for row in every for level in range(len(row)))
        rows = every[:most]
        return {"error": None, "missing": [], "lacking": 0, "rows": [list(row) for row in rows],
                "sizes": [[sizes[row[level:]] for level in range(len(row))] for row in rows],
                "count": len(every), "levels": tree.levels, "unused": unused,
                "nodes": [len(tree.generalize(i)[0]) for i in range(tree.levels)]}  # fmt: skip

    def suggest(
        self, path: str, policy: str, column: str, target: str, levels: int | None = None
    ) -> dict[str, Any]:
        """Write the suggested tree of a column to a file."""
        asked = Policy.load(policy)
        table = self._open(path, list(asked.missing), asked.encoding, asked.delimiter)
        _only_qi(asked, column)
        bare = asked.model_copy(update={"hierarchy": {}, "coarsen": {}})
        found = suggest(table, column, levels=levels, policy=bare)
        found.tree.to_arx_csv(target)
        return {"compared": list(found.compared), "levels": found.tree.levels}

    def classes(self, **asked: Any) -> dict[str, Any]:
        """A page of the classes of a release: released values only."""
        return browse(**asked)


def _only_qi(policy: Policy, column: str) -> None:
    """Cells of other columns stay here."""
    if column not in policy.qi:
        raise ShoalError(f"{column!r}: only quasi-identifiers have trees")


def _whole_tree(spec: Any, column: str, base: Path) -> Hierarchy | None:
    """The tree before it is cut to the values of the column, where it is a file."""
    if not isinstance(spec, str) or spec == "flat":
        return None
    try:
        return Hierarchy.from_arx_csv(base / spec)
    except ShoalError:
        return None


def _short(cell: Any) -> str | None:
    if cell is None:
        return None
    text = str(cell)
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def main() -> None:
    answers = quiet()
    os.umask(0o077)
    ends_with_its_parent()
    desk = Desk()
    questions: dict[str, Callable[..., dict[str, Any]]] = {
        name: getattr(desk, name)
        for name in ("look", "unique", "limits", "values", "tree", "suggest", "classes")
    }
    for line in sys.stdin:
        asked = json.loads(line)
        what = asked.pop("what")
        try:
            answer = questions[what](**asked)
        except ShoalError as error:
            answer = {"refused": str(error)}
        except MemoryError:
            answer = {"refused": "not enough memory for a table of this size"}
        except Exception as error:  # its text may quote a cell
            answer = {"refused": f"an error of Shoal's own ({type(error).__name__})"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
