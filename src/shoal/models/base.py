"""What a privacy model is: a requirement on every equivalence class.

A model sees class histograms only, so that one definition serves verification
of released text, methods, and reports. Every decision that a release hangs on
is taken in integers (or exact fractions), never in floats.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["ClassHistograms", "Model"]


@dataclass(frozen=True, eq=False)
class ClassHistograms:
    """Sensitive values of every equivalence class, sparse (CSR over classes).

    Class e holds ``sizes[e]`` records; its distinct sensitive values are
    ``values[offsets[e]:offsets[e+1]]`` with ``counts`` alike. With a person
    column, ``sizes`` counts distinct persons and ``counts`` distinct
    (person, value) pairs, so a person with five equal records counts once.
    A model without a sensitive column reads ``sizes`` only.
    """

    sizes: NDArray[np.int64]
    offsets: NDArray[np.int64]
    values: NDArray[np.int64]
    counts: NDArray[np.int64]
    domain: int
    """Number of distinct sensitive values in the whole table; codes are 0..domain-1."""
    ordered: bool = False
    """Codes have a meaningful order: t-closeness then uses the ordered distance."""
    numbers: NDArray[np.float64] | None = None
    """The number behind each code, where the column is numeric; NaN is missing."""

    @property
    def classes(self) -> int:
        return len(self.sizes)


class Model(ABC):
    """One privacy requirement. Instances are frozen dataclasses with exact parameters."""

    name: ClassVar[str]
    """Name in the registry: "k-anonymity", "frequency-l", ..."""
    option: ClassVar[str]
    """The policy, CLI and Python name of its parameter: "k", "l", "t", ..."""
    summary: ClassVar[str]
    """One line for `shoal models`: what it promises."""
    monotone: ClassVar[bool]
    """If two classes satisfy it, so does their union (counting records)."""
    about_sensitive: ClassVar[bool] = True
    """False for k-anonymity, which looks at class sizes only."""

    @property
    @abstractmethod
    def smallest_class(self) -> int:
        """No class with fewer records (persons) than this can satisfy the model."""

    @abstractmethod
    def holds(self, classes: ClassHistograms) -> NDArray[np.bool_]:
        """For each class, whether it satisfies the model. Exact."""

    @abstractmethod
    def level(self, classes: ClassHistograms) -> float | int | None:
        """The strictest parameter that all classes satisfy: the k, l, t... reached."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Parameters as JSON-able values, for manifests and messages."""

    @abstractmethod
    def __str__(self) -> str:
        """As people write it: ``k = 10``, ``entropy l = 3``."""
