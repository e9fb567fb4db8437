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
from shoal.methods.base import Method, Options
from shoal.models import Model, View, models_of, views_of
from shoal.policy import SEED_BITS, Policy

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
    def of(cls, policy: Policy) -> Plan:
        """The plan of a policy, or `PolicyError` with what is wrong with it."""
        return _resolved(policy, _left_open(policy), seed_of(policy))

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
        """Whether a bound is worked out; it is one for groups that hold for all attributes."""
        wanted = self.method.anytime if self.policy.bound is None else self.policy.bound
        return wanted and not self.policy.reader

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
    return Plan(
        policy=policy,
        models=models,
        views=views_of(known),
        method=method,
        options=options,
        recoding=known.recoding or method.recodings[0],
        seed=seed,
        open=left_open,
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
    for setting in ("effort", "time"):
        if getattr(policy, setting) is not None and not method.anytime:
            able = methods_where(lambda other: other.anytime)
            others = f"; {' and '.join(able)} does" if able else ""
            raise PolicyError(f"method {method.name} takes no {setting}{others}")
    return method, options
