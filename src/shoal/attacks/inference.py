"""Inference: what a release tells of a person's sensitive value, by three attackers.

The first counts, the second learns from all classes what kind of people have which value
(deFinetti's attack), the third lets a classifier learn it.
"""

from __future__ import annotations

from collections.abc import Iterator

from shoal.attacks.boosting import boosted
from shoal.attacks.definetti import learnt
from shoal.attacks.rates import Found, Skipped
from shoal.attacks.scene import Scene
from shoal.attacks.secret import Secret, secrets_of, unguessed

__all__ = ["inference"]


def inference(scene: Scene) -> Iterator[Found | Skipped]:
    """All three, for every sensitive column.

    Right as well for people who are not in the release as far as the value follows from the
    quasi-identifiers: that is what a release is for. Only the rest is about somebody.
    """
    yield from unguessed(scene)
    for secret in secrets_of(scene):
        yield majority(secret)
        yield learnt(secret)
        yield boosted(secret)


def majority(secret: Secret) -> Found:
    """Of all records that a person can be, the most frequent sensitive value is taken for his."""
    return secret.found("by majority", [secret.priors(people) for people in secret.scene.both])
