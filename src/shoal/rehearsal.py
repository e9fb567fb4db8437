"""What a run would do, without doing it: roles, what is possible, time and memory to expect."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.effort import DEFAULT_EFFORT, EFFORTS, time_factor
from shoal.engines import get_engine
from shoal.engines.choosing import chosen
from shoal.engines.memory.size import bytes_for, in_words
from shoal.errors import InfeasibleError
from shoal.models import check_eligible, largest_l, whole_histograms
from shoal.plan import Plan
from shoal.policy import Policy
from shoal.progress import Progress, reporting

__all__ = ["Rehearsal", "rehearse"]

QUICK = ("hilbert", "mondrian")
"""Methods whose time follows from the number of records alone."""
A_MILLION = 20.0
"""Seconds that a method which does not search takes for a million records, about: twice what
`hilbert` and `mondrian` took with reading and writing on two busy cores."""


@dataclass(frozen=True)
class Rehearsal:
    """What `anonymize` with the same arguments would do."""

    records: int
    persons: int | None
    roles: dict[str, list[str]]
    kinds: dict[str, str]
    largest_k: int
    largest_l: dict[str, int]
    """The largest possible l of each sensitive column."""
    models: tuple[str, ...]
    refusal: str | None
    """Why no release can satisfy the models; None where nothing speaks against it."""
    method: str
    effort: str | None
    seconds: float | None
    """None where nobody can tell."""
    memory: int
    engine: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**self.__dict__, "models": list(self.models)}

    def lines(self) -> list[str]:
        """The same in words."""
        counted = "" if self.persons is None else f" of {self.persons:,} persons"
        width = max(map(len, self.roles), default=0)
        named = [f"  {role:<{width}}  {', '.join(names)}" for role, names in self.roles.items()]
        limits = [f"k up to {self.largest_k:,}"]
        limits += [f"l up to {most:,} by {name}" for name, most in self.largest_l.items()]
        asked = ", ".join(self.models)
        verdict = f"  asked: {asked}" + (f"; {self.refusal}" if self.refusal else "")
        how = self.method + (f", effort {self.effort}" if self.effort else "")
        return [
            f"{self.records:,} records{counted}",
            *named,
            f"  possible: {', '.join(limits)}",
            verdict,
            f"  method {how}; {_time(self.seconds)}; memory about {in_words(self.memory)}; "
            f"engine {self.engine}",
            "nothing was written: this was a rehearsal",
        ]


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "how long it takes depends on the values"
    if seconds < 90:
        return f"time about {max(1, round(seconds))} s"
    return f"time about {round(seconds / 60)} min"


def rehearse(
    data: Any, policy: Policy | str | Path | None = None, progress: Progress | None = None,
    **settings: Any,
) -> Rehearsal:  # fmt: skip
    """Everything that `anonymize` decides before it groups records."""
    plan = Plan.of(Policy.of(policy, settings))
    by, _ = chosen(plan, data, None)
    engine = get_engine(report=reporting(progress))  # what is possible is looked at in memory
    source, settled = engine.settle(engine.read(data, plan.policy), plan.policy)
    decided = ("qi", "plain", "notation", "order")
    plan = plan.with_settings(**{name: getattr(settled, name) for name in decided})
    source = engine.treat(source, plan.policy, plan.seed)
    encoded = engine.encode(source, plan.policy)
    book = encoded.table.codebook
    people = book.records if book.persons is None else book.persons
    most = {
        column.name: largest_l(found.largest, int(found.sizes.sum()))
        for column, found in zip(book.sensitive, whole_histograms(book), strict=True)
    }
    if plan.policy.l == "auto" and most:
        plan = plan.decided(l=max(2, min(most.values())))
    return Rehearsal(
        records=book.records,
        persons=book.persons,
        roles=_roles(plan.policy, source.rest),
        kinds=dict(book.kinds),
        largest_k=people,
        largest_l=most,
        models=tuple(map(str, plan.models)),
        refusal=_refusal(plan, book),
        method=plan.method.name,
        effort=(plan.policy.effort or DEFAULT_EFFORT) if plan.searches else None,
        seconds=_seconds(plan, book.records),
        memory=bytes_for(book.records, source.table.num_columns),
        engine=by,
    )


def _roles(policy: Policy, rest: tuple[str, ...]) -> dict[str, list[str]]:
    """Columns by what becomes of them; without empty ones."""
    weights = [] if policy.weight_column is None else [policy.weight_column]
    found = {
        "dropped": [*policy.identifier, *([policy.person] if policy.person else [])],
        "generalised": list(policy.qi),
        "sensitive": list(policy.sensitive),
        "weights": weights,
        "as they are": [name for name in policy.plain if name not in weights],
        "left out": list(rest) if policy.rest == "drop" else [],
    }
    return {role: names for role, names in found.items() if names}


def _refusal(plan: Plan, book: Any) -> str | None:
    if plan.open:
        return None
    try:
        check_eligible(book, plan.models)
    except InfeasibleError as error:
        return str(error)
    return None


def _seconds(plan: Plan, records: int) -> float | None:
    """About how long a run takes: its time, what its effort is worth, or by the records."""
    quick = A_MILLION * records / 1e6
    if plan.policy.seconds is not None:
        return plan.policy.seconds
    if plan.searches:
        chosen = plan.policy.effort or DEFAULT_EFFORT
        names = list(EFFORTS)[: list(EFFORTS).index(chosen) + 1]
        search = sum(EFFORTS[name].seconds for name in names) * time_factor(records)
        bound = EFFORTS[chosen].seconds_for_bound(records) if plan.proves else 0.0
        return quick + search + bound
    return quick if plan.method.name in QUICK else None
