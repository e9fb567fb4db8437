"""The chance that somebody is picked out of a release, as far as it is public."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.encoding.values import distinct_values
from shoal.models import models_of, sizes_only
from shoal.policy import Policy
from shoal.verification.check import released_classes

__all__ = ["persons_by_class", "promised_class", "public_risk", "risk_of"]


def risk_of(class_sizes: NDArray[np.int64]) -> dict[str, float]:
    """Chance that a record is re-identified by someone who knows all its quasi-identifiers."""
    return {
        "highest": round(1 / int(class_sizes.min()), 9),
        "average": round(len(class_sizes) / int(class_sizes.sum()), 9),
    }


def public_risk(
    policy: Policy, table: pa.Table, qi: Sequence[str], class_sizes: NDArray[np.int64]
) -> dict[str, Any]:
    """The same in public: among persons, where the policy counts persons.

    Records of one person are no crowd. Without pseudonyms only what was promised can be said.
    """
    if policy.person is None:
        return risk_of(class_sizes)
    if policy.person_as is not None and policy.person_as in table.column_names:
        return {**risk_of(persons_by_class(table, qi, policy.person_as)), "counted": "persons"}
    least = promised_class(policy)
    told = {"highest": round(1 / least, 9)} if least > 1 else {}
    return {**told, "counted": "persons"}


def promised_class(policy: Policy) -> int:
    """The fewest in a class, to whoever reads all columns, that the promises allow."""
    if policy.reader:
        return policy.collusion_k or 1
    return max((model.smallest_class for model in models_of(policy)), default=1)


def persons_by_class(table: pa.Table, qi: Sequence[str], person_as: str) -> NDArray[np.int64]:
    """How many persons are in each class, by pseudonyms that hold within it."""
    ids, _ = released_classes(table, qi)
    return sizes_only(ids, person=distinct_values(table.column(person_as), ()).codes + 1).sizes
