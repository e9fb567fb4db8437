"""Methods side by side: time, loss and accuracy of verified releases over a grid of k and l."""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.bounds import lower_bound
from shoal.encoding.encode import encode
from shoal.encoding.publish import publish
from shoal.encoding.table import EncodedTable
from shoal.engines.memory.budget import best_l
from shoal.errors import PolicyError, ShoalError
from shoal.explore.comparison import BOUND, Comparison, Row
from shoal.io.frames import to_arrow
from shoal.methods import METHODS, get_method
from shoal.metrics.loss import gcp
from shoal.metrics.queries import (
    Workload,
    anatomy_divergence,
    anatomy_error,
    cube_divergence,
    draw_queries,
    query_error,
)
from shoal.models import models_of
from shoal.pipeline import check_published, partition, settled
from shoal.policy import Policy

__all__ = ["compare"]

Number = int | float
Progress = Callable[[str, float, float], None]

WARM_UP = 2000
"""Records of the run that loads a method before its time is taken."""


def compare(
    data: Any,
    methods: str | Iterable[str] | None = None,
    k: int | Iterable[int] | None = None,
    l: Number | str | Iterable[Number | str] | None = None,
    policy: Policy | str | Path | None = None,
    *,
    level: int = 2,
    queries: int = 1000,
    progress: Progress | None = None,
    **settings: Any,
) -> Comparison:
    """Run every method with every k and l, verify each release, and measure it.

    The table is read and encoded once. A combination that a method refuses, or
    that no release can satisfy, is a row that says why.

    Parameters
    ----------
    data
        A pandas, Polars, PyArrow or DuckDB table, or the name of a file.
    methods
        Names from `shoal methods`, each with options if wanted:
        ``"hilbert:fast=true"``. All methods if not given.
    k, l
        One or several; every k is combined with every l, which may be ``"auto"``.
    policy, **settings
        Roles, kinds, further models, as for `shoal.anonymize`; ``bound=True`` adds what
        no release can undercut.
    level
        Level of the data cube whose divergence is measured.
    queries
        How many random COUNT queries each release answers: the same for all.
    progress
        Called as ``progress(stage, done, total)`` now and then.

    Examples
    --------
    >>> import shoal
    >>> found = shoal.compare(shoal.datasets.census(1000), ["hilbert", "mondrian"], k=[5, 10],
    ...                       qi=["age", "gender"])
    >>> [(row.method, row.k) for row in found.rows]
    [('hilbert', 5), ('hilbert', 10), ('mondrian', 5), ('mondrian', 10)]
    """
    report = progress or (lambda stage, done, total: None)
    base = Policy.of(policy, settings)
    if base.max_loss is not None:
        raise PolicyError("max_loss: expected none, compare runs every k and l; got one")
    if base.max_suppressed is not None:
        raise PolicyError("max_suppressed: expected none, compare releases all records; got one")
    variants = [_variant(text) for text in _listed(methods) or list(METHODS)]
    _check_options(base, variants)
    ks, ls = _listed(k) or [base.k], _listed(l) or [base.l]

    report("read", 0, 1)
    source, _ = to_arrow(data, base.missing)
    report("encode", 0, 1)
    table = encode(source, base)
    ls = [best_l(table.codebook) if one == "auto" else one for one in ls]
    report("queries", 0, 1)
    bench = _Bench(source, table, level, queries, base.seed)
    rows: list[Row] = []
    steps = len(variants) * len(ks) * len(ls)
    for label, name, options in variants:
        loaded = False
        for one_k, one_l in product(ks, ls):
            row = Row(label, one_k, one_l)
            stage = f"{label} {row.asked}"
            report(stage, len(rows), steps)
            try:
                wanted = _policy(base, name, options, one_k, one_l)
                loaded = loaded or bench.load(wanted)
                rows.append(bench.run(row, wanted))
            except ShoalError as error:
                rows.append(replace(row, reason=str(error)))
    for one_k, one_l in product(ks, ls) if base.bound else ():
        report("bound", len(rows), steps)
        rows.append(bench.bound(Row(BOUND, one_k, one_l), base.override(k=one_k, l=one_l)))
    report("done", steps, steps)
    return Comparison(
        rows=tuple(rows),
        records=table.n,
        qi=tuple(column.name for column in table.qi),
        sensitive=table.sensitive[0].name if table.sensitive else None,
        level=bench.level,
        queries=bench.workload.queries,
        selectivity=float(bench.workload.truth.mean()) / table.n,
    )


class _Bench:
    """A table, encoded once, and the questions that every release of it is asked."""

    def __init__(
        self, source: pa.Table, table: EncodedTable, level: int, queries: int, seed: int
    ) -> None:
        self.source = source
        self.table = table
        self.level = min(level, len(table.qi))
        self.sensitive = 0 if table.sensitive else None
        self.workload: Workload = draw_queries(
            table, queries=queries, sensitive=self.sensitive, seed=seed
        )

    def load(self, policy: Policy) -> bool:
        """Run a method on a few records: compiling it is not part of its time."""
        step = -(-self.table.n // WARM_UP)
        few = self.table.take(np.arange(0, self.table.n, step))
        with suppress(ShoalError):  # a few records may not suffice for the models
            partition(few, policy)
        return True

    def bound(self, row: Row, policy: Policy) -> Row:
        """The loss that no release can undercut, or why there is none."""
        seen = self.table.suppressing() if policy.recoding == "suppress" else self.table
        begin = time.perf_counter()
        try:
            found = lower_bound(seen, models_of(policy), effort=policy.effort or "fast")
        except ShoalError as error:
            return replace(row, reason=str(error))
        return replace(row, seconds=time.perf_counter() - begin, gcp=found.loss)

    def run(self, row: Row, policy: Policy) -> Row:
        """Release, verify and measure one combination."""
        table, models = self.table, models_of(policy)
        begin = time.perf_counter()
        outcome = partition(table, policy)
        seconds = time.perf_counter() - begin
        recoding, recoded = settled(table, models, outcome)
        roles = [
            name for name in self.source.column_names if name in {*policy.qi, *policy.sensitive}
        ]
        published = publish(self.source.select(roles), recoded, policy, outcome.separated)
        verification = check_published(published, models, policy, table.person)
        verification.raise_if_failed()
        apart = outcome.separated
        sizes = verification.class_sizes if apart is None else recoding.partitions[0].sizes
        if apart is None:
            error = query_error(table, recoding, self.workload)
        else:
            error = anatomy_error(table, apart, self.workload)
        kl = None
        if self.sensitive is not None and apart is None:
            kl = cube_divergence(table, recoding, self.level)
        elif apart is not None:
            kl = anatomy_divergence(table, apart, self.level)
        return replace(
            row,
            seconds=seconds,
            gcp=gcp(table, recoding),
            stars=sum(int(c.starred().sum()) for c in recoded) if recoding.stars else None,
            dm=int((sizes**2).sum()),
            c_avg=table.n / len(sizes),
            kl=kl,
            query_median=error.median,
            query_p95=error.p95,
            groups=len(sizes) if apart is None else apart.groups,
        )


def _listed(values: Any) -> list[Any]:
    """One value or several as a list; nothing as an empty one."""
    if values is None:
        return []
    return list(dict.fromkeys([values] if isinstance(values, str | int | float) else values))


def _variant(text: str) -> tuple[str, str, dict[str, Any]]:
    """``hilbert:fast=true`` as its label, the method's name and options."""
    name, *options = text.split(":")
    get_method(name)  # an unknown name is an error at once, not a row
    pairs = (option.partition("=") for option in options)
    return text, name, {key: _value(value) if is_set else True for key, is_set, value in pairs}


def _value(text: str) -> Any:
    """A number, true or false, or the text itself."""
    try:
        return json.loads(text.lower())
    except ValueError:
        return text


def _check_options(base: Policy, variants: Sequence[tuple[str, str, Mapping[str, Any]]]) -> None:
    """Every option of the policy must be one of some method."""
    known = {o for _, name, _ in variants for o in get_method(name).options.model_fields}
    strange = sorted(set(base.option) - known)
    if strange:
        listed = ", ".join(sorted(known)) or "none"
        raise PolicyError(f"option {strange[0]!r}: no method here has it; their options: {listed}")


def _policy(
    base: Policy, name: str, options: Mapping[str, Any], k: int | None, l: Number | None
) -> Policy:
    """The policy of one combination; a method gets those options that it knows."""
    known = get_method(name).options.model_fields
    shared = {option: value for option, value in base.option.items() if option in known}
    # In the input's order: sorting the rows of a release that nobody keeps is work for nothing.
    plain = {"option": {}, "keep_order": True, "layout": "cells"}
    if not get_method(name).anytime:  # it would refuse what is meant for others
        plain |= {"effort": None, "time": None}
    options = {**shared, **options}
    return base.model_copy(update=plain).override(method=name, option=options, k=k, l=l)
