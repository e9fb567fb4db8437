"""Methods side by side: time, loss and accuracy of verified releases over a grid of k and l."""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from shoal.encoding.table import EncodedTable
from shoal.engines.memory.bound import BOUND_SHARE, below, load_bound
from shoal.engines.memory.budget import best_l
from shoal.engines.memory.engine import Encoded, MemoryEngine
from shoal.engines.memory.partition import partition
from shoal.errors import PolicyError, ShoalError
from shoal.explore.comparison import BOUND, Comparison, Row
from shoal.explore.questions import Questions, check_kl
from shoal.methods import METHODS, get_method
from shoal.plan import Plan, seed_of
from shoal.policy import Policy
from shoal.progress import Progress, reporting

__all__ = ["compare"]

Number = int | float

WARM_UP = 2000
"""Records of the run that loads a method before its time is taken."""
LOADING = 1.0
"""Seconds of the bound of a few records that does the same, where a time is given."""


def compare(
    data: Any,
    methods: str | Iterable[str] | None = None,
    k: int | Iterable[int] | None = None,
    l: Number | str | Iterable[Number | str] | None = None,
    policy: Policy | str | Path | None = None,
    *,
    kl: str = "cube",
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
    kl
        Which divergence is measured: of the data ``"cube"``, or of the table's
        ``"points"`` (paper 000).
    level
        Level of the data cube.
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
    report = reporting(progress)
    base = Policy.of(policy, settings)
    base = base.override(seed=seed_of(base))  # the same for all, so that like is compared with like
    if base.max_loss is not None:
        raise PolicyError("max_loss: expected none, compare runs every k and l; got one")
    if base.max_suppressed is not None:
        raise PolicyError("max_suppressed: expected none, compare releases all records; got one")
    if base.coarsen_open:
        raise PolicyError("coarsen = auto: compare runs every method on one table; give levels")
    check_kl(kl)
    variants = [_variant(text) for text in _listed(methods) or list(METHODS)]
    _check_options(base, variants)
    ks, ls = _listed(k) or [base.k], _listed(l) or [base.l]

    engine = MemoryEngine(report)
    # Nobody keeps these releases: columns without a role are left out, unless `rest` says more.
    source, base = engine.settle(engine.read(data, base), base.override(rest=base.rest or "drop"))
    # One table for all: codes by quantile are shared by as many as the largest k asks for.
    largest = base.override(k=max(found)) if (found := [one for one in ks if one]) else base
    encoded = engine.encode(engine.treat(source, largest, seed_of(base)), base)
    table = encoded.table
    ls = [best_l(table.codebook) if one == "auto" else one for one in ls]
    report("queries", 0, 1)
    questions = Questions.about(table, kl=kl, level=level, queries=queries, seed=seed_of(base))
    encoded = _without_plain_columns(encoded, base)
    rows: list[Row] = []
    steps = len(variants) * len(ks) * len(ls)
    for label, name, options in variants:
        loaded = False
        for one_k, one_l in product(ks, ls):
            row = Row(label, one_k, one_l)
            report(f"{label} {row.asked}", len(rows), steps)
            try:
                plan = Plan.of(_policy(base, name, options, one_k, one_l))
                loaded = loaded or _load(table, plan)
                rows.append(_run(row, encoded, plan, questions))
            except ShoalError as error:
                rows.append(replace(row, reason=str(error)))
    for one_k, one_l in product(ks, ls) if base.bound else ():
        report("bound", len(rows), steps)
        row = Row(BOUND, one_k, one_l)
        try:
            # of all methods the one that has a bound for everything that can be asked
            plan = Plan.of(_policy(base, "best", {}, one_k, one_l))
            rows.append(_bound(row, table, plan))
        except ShoalError as error:
            rows.append(replace(row, reason=str(error)))
    report("done", steps, steps)
    return Comparison(
        rows=tuple(rows),
        records=table.n,
        qi=tuple(column.name for column in table.qi),
        sensitive=table.sensitive[0].name if table.sensitive else None,
        level=questions.level,
        queries=questions.workload.queries,
        selectivity=questions.selectivity,
        kl=kl,
    )


def _without_plain_columns(encoded: Encoded, policy: Policy) -> Encoded:
    """Only what verification looks at: nobody keeps these releases."""
    looked_at = {*policy.qi, *policy.sensitive, policy.person}
    source = encoded.source.table
    names = [name for name in source.column_names if name in looked_at]
    return encoded._replace(source=encoded.source._replace(table=source.select(names)))


def _load(table: EncodedTable, plan: Plan) -> bool:
    """Run a method on a few records: compiling it is not part of its time.

    An any-time method does so at once, whatever it is asked for later.
    """
    few = table.take(np.arange(0, table.n, -(-table.n // WARM_UP)))
    if plan.searches:
        plan = plan.with_settings(effort="instant", time=None)
    with suppress(ShoalError):  # a few records may not suffice for the models
        partition(few, plan)
    return True


def _run(row: Row, encoded: Encoded, plan: Plan, questions: Questions) -> Row:
    """Release, verify and measure one combination."""
    engine = MemoryEngine()
    decision = engine.decide(encoded, plan)
    plan = decision.plan
    engine.start_clock(plan.policy)
    begin = time.perf_counter()
    groups = engine.partition(encoded, decision)
    seconds = time.perf_counter() - begin
    draft = engine.recode(encoded, groups, plan)
    verification = engine.verify(draft, plan)
    verification.raise_if_failed()
    loss = engine.measure(encoded, draft, verification, plan).loss
    apart = groups.outcome.separated
    error = questions.error(draft.recoding, apart)
    return replace(
        row,
        seconds=seconds,
        gcp=loss.gcp,
        stars=loss.stars if draft.recoding.stars else None,
        dm=loss.dm,
        c_avg=loss.c_avg,
        **questions.divergence(draft.recoding, apart),
        query_median=error.median,
        query_p95=error.p95,
        groups=verification.classes,
    )


def _bound(row: Row, table: EncodedTable, plan: Plan) -> Row:
    """The loss that no release can undercut.

    Of a time it gets the share that it has in a run of its own, besides that of the methods;
    compiling is not part of it.
    """
    time_given = plan.policy.seconds
    load_bound(table, plan, None if time_given is None else LOADING)
    begin = time.perf_counter()
    found = below(table, plan, None if time_given is None else time_given * BOUND_SHARE)
    return replace(row, seconds=time.perf_counter() - begin, gcp=found.loss)


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
    # The bound is a row of its own, so all of a time is the method's.
    plain = {"option": {}, "keep_order": True, "layout": "cells", "bound": False}
    options = {**shared, **options}
    method = get_method(name)
    if not method.searches(method.parse_options(options)):  # it would refuse what is for others
        plain |= {"effort": None, "time": None}
    return base.model_copy(update=plain).override(method=name, option=options, k=k, l=l)
