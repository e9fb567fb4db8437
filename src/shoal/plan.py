"""What is to be done: a policy with its models, readers, method and options, checked once.

A plan is made before any data is read, and whatever is wrong with the policy is
said then. It is frozen: a plan with other settings is another plan.

Two settings leave something to the table: ``l = "auto"`` and ``max_loss``, which
searches the largest k or l. `Plan.open` names it, and `Plan.decided` gives the
plan for a level of it.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shoal.encoding.table import EncodedTable
from shoal.errors import PolicyError
from shoal.methods import default_for, get_method, methods_where
from shoal.methods.base import QI_ONLY, Method, Options
from shoal.models import Model, View, models_of, needs_sensitive, views_of
from shoal.policy import SEED_BITS, Policy
from shoal.treatments import means_of, treatments

__all__ = ["Plan", "drawn_seed", "seed_of"]

LEAST = 2
"""The level with which a plan is checked that leaves its level open: all larger ones are alike."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A policy, resolved: who promises what to whom, by which method."""

    policy: Policy
    models: tuple[Model, ...]
    """What every class satisfies; of the least level where one is open."""
    views: tuple[View, ...]
    """What must hold for whom: one view a reader, or one for all."""
    method: Method[Any]
    options: Options
    recoding: str
    """``generalise`` or ``suppress``: what becomes of mixed values."""
    seed: int
    """Of everything random; a secret of this run, unless the policy gives one."""
    open: tuple[str, ...] = ()
    """Settings that wait for the table: ``l`` (auto), and the k or l that ``max_loss`` searches."""

    @classmethod
    def of(cls, policy: Policy, seed: int | None = None) -> Plan:
        """The plan of a policy, or `PolicyError` with what is wrong with it.

        A `seed` here is one that an earlier run drew, not one that the policy gives.
        """
        return _resolved(policy, _left_open(policy), seed_of(policy) if seed is None else seed)

    def decided(self, **levels: int) -> Plan:
        """The plan with levels in place of settings that were open."""
        left = tuple(name for name in self.open if name not in levels)
        return _resolved(self.policy.override(**levels), left, self.seed)

    def with_settings(self, **settings: Any) -> Plan:
        """The plan of the same policy with other settings, taken as they are."""
        return _resolved(self.policy.model_copy(update=settings), self.open, self.seed)

    @property
    def readers(self) -> tuple[View, ...]:
        """The views, where the policy names readers; empty where one release is for all."""
        return self.views if self.policy.reader else ()

    @property
    def proves(self) -> bool:
        """Whether a bound is worked out."""
        return self.searches if self.policy.bound is None else self.policy.bound

    @property
    def searches(self) -> bool:
        """Whether the method searches as long as an effort or a time says."""
        return self.method.searches(self.options)

    @property
    def looked_at(self) -> str:
        """What decided who is grouped with whom; outliers and levels are chosen by the loss."""
        if not self.policy.sensitive:
            return QI_ONLY
        chosen_by_loss = self.policy.max_suppressed is not None or self.policy.max_loss is not None
        if chosen_by_loss and needs_sensitive(self.models):
            return Method.looks_at
        return self.method.looked_at(self.models, self.options)

    def seen(self, table: EncodedTable) -> EncodedTable:
        """The table with the losses and forms that the recoding gives it."""
        return table.suppressing() if self.recoding == "suppress" else table


def seed_of(policy: Policy) -> int:
    """The policy's seed, or one that nobody can know."""
    return drawn_seed() if policy.seed is None else policy.seed


def drawn_seed() -> int:
    """128 bits of the system's randomness."""
    return secrets.randbits(SEED_BITS)


def _left_open(policy: Policy) -> tuple[str, ...]:
    """Settings that only the table can decide."""
    waiting = ["l"] if policy.l == "auto" else []
    if policy.max_loss is None:
        return tuple(waiting)
    name = policy.search
    if getattr(policy, name) is not None:
        raise PolicyError(f"max_loss searches the largest {name}: do not give {name} as well")
    return (*waiting, name)


def _resolved(policy: Policy, left_open: tuple[str, ...], seed: int) -> Plan:
    """Everything that follows from a policy; levels that are open count as the least."""
    levels = dict.fromkeys(left_open, LEAST)
    known = policy.override(**levels) if levels else policy
    models = models_of(known)
    method, options = _method(known, models)
    _refuse_exempt(known, models, method)
    _refuse_micro(known, models, method)
    if "k" in left_open:
        _refuse_quantiles(policy)
    recoding = known.recoding or method.recodings[0]
    if policy.round and recoding == "suppress":
        able = "generalise" in method.recodings
        instead = 'choose recoding = "generalise"' if able else "choose another method"
        raise PolicyError(
            f"round: method {method.name} releases exact values and stars here, and no interval "
            f"to round; {instead}, or coarsen with a hierarchy"
        )
    return Plan(
        policy=policy,
        models=models,
        views=views_of(known),
        method=method,
        options=options,
        recoding=recoding,
        seed=seed,
        open=left_open,
    )


def _refuse_exempt(policy: Policy, models: Sequence[Model], method: Method[Any]) -> None:
    """Models that compare whole distributions, or count on every value, take no exempt ones."""
    lost = [model for model in models if policy.exempt and not model.takes_exempt]
    if lost:
        able = "l (frequency, distinct, unique), alpha and k"
        raise PolicyError(
            f"exempt: {lost[0]} has no meaning that is safe where values are exempt; {able} have"
        )
    if policy.exempt and not method.takes_exempt:
        raise PolicyError(
            f"method {method.name}: cannot tell exempt values from others in what it hides; "
            "leave out exempt, or choose another method"
        )


def _refuse_micro(policy: Policy, models: Sequence[Model], method: Method[Any]) -> None:
    """Means over records of a class: not of values that models count, nor where no class is."""
    averaged = list(means_of(policy))
    counted = [name for name in averaged if name in policy.sensitive]
    if counted and needs_sensitive(models):
        raise PolicyError(
            f"treat of {counted[0]!r}: micro gives records of a class one value, and "
            f"{next(m for m in models if m.about_sensitive)} counts on different ones; "
            "round it, or top and bottom code it"
        )
    if averaged and method.name == "anatomy":
        raise PolicyError(
            f"treat of {averaged[0]!r}: micro works inside classes, and method anatomy publishes "
            "exact quasi-identifiers; round it, or choose another method"
        )


def _refuse_quantiles(policy: Policy) -> None:
    """At the end of a column k stand together: treated before k is found, they could be fewer."""
    for name, texts in policy.treat.items():
        for one in treatments(texts):
            if one.how in {"top", "bottom"} and one.share:
                raise PolicyError(
                    f"treat of {name!r}: {one} gives k records or more one value, and max_loss "
                    f"finds k later; give k, or a value ({one.how}:VALUE)"
                )


def _method(policy: Policy, models: Sequence[Model]) -> tuple[Method[Any], Options]:
    """The method asked for, or the one that suits the models, with its checked options."""
    method = get_method(policy.method or default_for(models, bool(policy.reader)))
    options = method.parse_options(policy.option)
    if reason := method.refusal(
        models,
        options,
        recoding=policy.recoding,
        sensitive=len(policy.sensitive),
        persons=policy.person is not None,
    ):
        raise PolicyError(f"method {method.name}: {reason}")
    if policy.max_suppressed is None and method.leaves_out(options):
        raise PolicyError(
            f"method {method.name}: its options leave records out: say with max_suppressed how "
            "many at most"
        )
    for setting in ("effort", "time"):
        if getattr(policy, setting) is not None and not method.searches(options):
            able = methods_where(lambda other: other.anytime)
            does = "does" if len(able) == 1 else "do"
            others = f"; {' and '.join(able)} {does}" if able else ""
            raise PolicyError(f"method {method.name} takes no {setting}{others}")
    return method, options
