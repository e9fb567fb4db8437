"""Privacy models by name: what a release promises about every equivalence class."""

from __future__ import annotations

from typing import Any

from shoal.errors import PolicyError
from shoal.model_settings import MODEL_SETTINGS
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
    known_sizes,
    sizes_only,
    table_histograms,
    whole_histograms,
    whole_sizes,
)
from shoal.models.diversity import DistinctL, FrequencyL, RecursiveL, largest_l
from shoal.models.eligibility import check_eligible
from shoal.models.entropy import EntropyL
from shoal.models.findings import Finding, Level
from shoal.models.invariance import MInvariance
from shoal.models.kanonymity import KAnonymity
from shoal.models.likeness import BasicBeta, DeltaDisclosure, EnhancedBeta
from shoal.models.readers import TOGETHER, View, views
from shoal.models.satisfied import TableModels, satisfied, satisfied_classes
from shoal.models.spread import KE
from shoal.models.unique import UniqueDistinctL
from shoal.policy import Policy

__all__ = [
    "KE",
    "MODELS",
    "TOGETHER",
    "AlphaK",
    "BasicBeta",
    "ClassHistograms",
    "DeltaDisclosure",
    "DistinctL",
    "EnhancedBeta",
    "EntropyL",
    "Finding",
    "FrequencyL",
    "KAnonymity",
    "Level",
    "MInvariance",
    "Model",
    "RecursiveL",
    "TCloseness",
    "TableModels",
    "UniqueDistinctL",
    "View",
    "build_models",
    "check_eligible",
    "histograms",
    "known_sizes",
    "largest_l",
    "models_of",
    "needs_sensitive",
    "require_columns",
    "rules_for",
    "satisfied",
    "satisfied_classes",
    "sizes_only",
    "table_histograms",
    "union_closed",
    "views_of",
    "whole_histograms",
    "whole_sizes",
    "whole_table_only",
]

_ALL: tuple[type[Model], ...] = (
    KAnonymity,
    FrequencyL,
    DistinctL,
    EntropyL,
    RecursiveL,
    UniqueDistinctL,
    MInvariance,
    AlphaK,
    TCloseness,
    EnhancedBeta,
    BasicBeta,
    DeltaDisclosure,
    KE,
)
"""The registry: a new model is its file and a line here."""

MODELS: dict[str, type[Model]] = {model.name: model for model in _ALL}
"""All models by name."""


def build_models(**settings: Any) -> tuple[Model, ...]:
    """The models that settings ask for, in the order of the registry.

    Parameters
    ----------
    **settings
        As in `shoal.model_settings.ModelSettings`; None is as good as not given.

    Raises
    ------
    PolicyError
        No model at all, a parameter out of range, or one that lacks its partner.
    """
    if strange := settings.keys() - set(MODEL_SETTINGS):
        raise TypeError(f"build_models: unexpected settings {', '.join(sorted(strange))}")
    asked = [model.asked(settings) for model in MODELS.values()]
    models = tuple(model for model in asked if model is not None)
    if not models:
        raise PolicyError(f"no privacy model: give at least one of {_ways_to_ask()}")
    return models


def _ways_to_ask() -> str:
    """The options of all models, those that need a partner last."""
    alone = [m.option for m in MODELS.values() if m.partner is None]
    pairs = [f"{m.option} and {m.partner}" for m in MODELS.values() if m.partner is not None]
    return ", ".join(dict.fromkeys([*alone, *pairs]))


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
