"""Several readers of one release: what each knows, and what must hold for it (paper 003)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shoal.errors import PolicyError
from shoal.models.base import Model
from shoal.models.kanonymity import KAnonymity
from shoal.policy import Policy

__all__ = ["TOGETHER", "View", "views"]

TOGETHER = "all readers together"
"""What the union of all quasi-identifiers is called."""


@dataclass(frozen=True)
class View:
    """The quasi-identifiers one reader can link, and the models that must hold on them."""

    name: str | None
    """None where there is but one reader, without a name."""
    qi: tuple[str, ...]
    models: tuple[Model, ...]


def views(policy: Policy, models_of: Callable[[Policy], tuple[Model, ...]]) -> tuple[View, ...]:
    """One view a reader, and one of all together where collusion is to be withstood."""
    if not policy.reader:
        return (View(None, policy.qi, models_of(policy)),)
    if TOGETHER in policy.reader:
        raise PolicyError(f"reader: {TOGETHER!r} is what the union is called; choose another name")
    alone = policy.model_copy(update={"reader": {}, "collusion_k": None})
    found = [
        View(name, reader.qi, models_of(alone.override(k=reader.k)))
        for name, reader in policy.reader.items()
    ]
    if policy.collusion_k is not None:
        together = (KAnonymity.of(policy.collusion_k),)
        found.append(View(TOGETHER, policy.qi, together))
    return tuple(found)
