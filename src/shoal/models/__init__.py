"""Privacy models by name: what a release promises about every equivalence class."""

# ruff: noqa: E741  (l is the word for it)

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.errors import PolicyError
from shoal.models.alpha import AlphaK
from shoal.models.base import ClassHistograms, Model
from shoal.models.closeness import TCloseness
from shoal.models.compiled import (
    needs_sensitive,
    require_columns,
    rules_for,
    union_closed,
    whole_table_only,
)
from shoal.models.counting import (
    histograms,
    sizes_only,
    table_histograms,
    whole_histograms,
    whole_sizes,
)
from shoal.models.diversity import DistinctL, FrequencyL, RecursiveL, UniqueDistinctL, largest_l
from shoal.models.eligibility import check_eligible
from shoal.models.entropy import EntropyL
from shoal.models.exact import Number
from shoal.models.kanonymity import KAnonymity
from shoal.models.readers import TOGETHER, View, views
from shoal.models.spread import KE
from shoal.policy import MODEL_SETTINGS, Policy

__all__ = [
    "KE",
    "MODELS",
    "READINGS",
    "TOGETHER",
    "AlphaK",
    "ClassHistograms",
    "DistinctL",
    "EntropyL",
    "FrequencyL",
    "KAnonymity",
    "Model",
    "RecursiveL",
    "TCloseness",
    "UniqueDistinctL",
    "View",
    "build_models",
    "check_eligible",
    "histograms",
    "largest_l",
    "model_from",
    "models_of",
    "needs_sensitive",
    "require_columns",
    "rules_for",
    "sizes_only",
    "table_histograms",
    "union_closed",
    "views_of",
    "whole_histograms",
    "whole_sizes",
    "whole_table_only",
]

READINGS: dict[str, type[Model]] = {
    "frequency": FrequencyL,
    "distinct": DistinctL,
    "entropy": EntropyL,
    "recursive": RecursiveL,
    "unique": UniqueDistinctL,
}
"""The readings of l-diversity by the value of the option ``l_reading``."""

_ALL: tuple[type[Model], ...] = (KAnonymity, *READINGS.values(), AlphaK, TCloseness, KE)

MODELS: dict[str, type[Model]] = {model.name: model for model in _ALL}
"""All models by name."""


def build_models(
    k: Number | None = None,
    l: Number | None = None,
    l_reading: str = "frequency",
    c: Number | None = None,
    t: Number | None = None,
    alpha: Number | None = None,
    e: Number | None = None,
) -> tuple[Model, ...]:
    """The models that options ask for, in the order k, l, alpha, t, e.

    Raises
    ------
    PolicyError
        No model at all, a parameter out of range, or one that lacks its partner.
    """
    models: list[Model] = []
    if k is not None:
        models.append(KAnonymity.of(k))
    if l is not None or c is not None:
        models.append(_diversity(l, l_reading, c))
    if alpha is not None:
        models.append(AlphaK.of(alpha, _with_k("alpha", k)))
    if t is not None:
        models.append(TCloseness.of(t))
    if e is not None:
        models.append(KE.of(_with_k("e", k), e))
    if not models:
        raise PolicyError("no privacy model: give at least one of k, l, t, alpha and k, e and k")
    return tuple(models)


def models_of(policy: Policy) -> tuple[Model, ...]:
    """The models a policy asks for: with several readers, what satisfies every one of them."""
    settings = {name: getattr(policy, name) for name in MODEL_SETTINGS}
    ks = [reader.k or policy.k for reader in policy.reader.values()]
    if known := [k for k in [*ks, policy.collusion_k] if k is not None]:
        settings["k"] = max(known)
    return build_models(**settings)


def views_of(policy: Policy) -> tuple[View, ...]:
    """What must hold for whom: one view a reader, or one for all."""
    return views(policy, models_of)


def model_from(name: str, parameters: Mapping[str, Any]) -> Model:
    """A model from its name and `Model.parameters`, as a manifest stores them."""
    if name not in MODELS:
        raise PolicyError(f"model: expected one of {', '.join(MODELS)}; got {name}")
    try:
        model = MODELS[name].of(**parameters)
    except TypeError:
        got = ", ".join(parameters) or "nothing"
        raise PolicyError(f"model {name}: unexpected or missing parameters; got {got}") from None
    return model


def _diversity(l: Number | None, reading: str, c: Number | None) -> Model:
    if l is None:
        raise PolicyError("c: expected together with l (recursive l-diversity); got c alone")
    if reading not in READINGS:
        raise PolicyError(f"l_reading: expected one of {', '.join(READINGS)}; got {reading}")
    if reading == "recursive":
        if c is None:
            raise PolicyError("c: expected a number above 0 for recursive l-diversity; got none")
        return RecursiveL.of(c, l)
    if c is not None:
        raise PolicyError(f"c: expected with l_reading = recursive only; got l_reading = {reading}")
    return READINGS[reading].of(l)


def _with_k(option: str, k: Number | None) -> Number:
    if k is None:
        raise PolicyError(f"{option}: expected together with k; got {option} alone")
    return k
