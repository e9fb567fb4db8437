"""What a privacy model is: a requirement on every equivalence class.

A model sees class histograms only, so that one definition serves verification
of released text, methods, and reports. Every decision that a release hangs on
is taken in integers (or exact fractions), never in floats.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import PolicyError
from shoal.models.findings import Finding, Level

__all__ = ["ClassHistograms", "Model", "Rule", "WholeTable"]


class Rule(NamedTuple):
    """A model as the kernels check it: see the constants of `shoal.kernels.rules`."""

    kind: int
    a: int = 0
    b: int = 1
    x: float = 0.0


@dataclass(frozen=True, eq=False)
class ClassHistograms:
    """Sensitive values of every equivalence class, sparse (CSR over classes).

    Class e holds ``sizes[e]`` records; its distinct sensitive values are
    ``values[offsets[e]:offsets[e+1]]`` in ascending order, with ``counts``
    alike. No class and no count is empty. With a person column, ``sizes``
    counts distinct persons and ``counts`` distinct (person, value) pairs, so a
    person with five equal records counts once; the counts of a class can then
    sum to more than its size. A model without a sensitive column reads
    ``sizes`` only. `shoal.models.histograms` builds it.
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
    table: NDArray[np.int64] | None = None
    """Histogram of the whole table where it is not the sum of the classes: with a
    person column, someone can be in several classes but is one in the table."""
    exempt: NDArray[np.bool_] | None = None
    """Codes that are declared not to be sensitive, where some are: see `largest`."""

    @property
    def classes(self) -> int:
        return len(self.sizes)

    def take(self, classes: NDArray[np.int64]) -> ClassHistograms:
        """Some of the classes, in a table that stays the whole one."""
        widths = self.distinct[classes]
        offsets = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
        within = np.arange(offsets[-1]) + np.repeat(self.offsets[classes] - offsets[:-1], widths)
        return replace(
            self,
            sizes=self.sizes[classes],
            offsets=offsets,
            values=self.values[within],
            counts=self.counts[within],
            table=self.total,
        )

    @cached_property
    def largest(self) -> NDArray[np.int64]:
        """r_1 of each class: the count of its most frequent value.

        Records of exempt values count as if each had a value that no other has:
        a class of nothing else has r_1 = 1.
        """
        if self.exempt is None:
            return self._per_class(np.maximum, self.counts)
        apart = np.where(self.exempt[self.values], 1, self.counts)
        return self._per_class(np.maximum, apart)

    @cached_property
    def sensitive_values(self) -> NDArray[np.int64]:
        """Distinct values of each class that are not exempt."""
        if self.exempt is None:
            return self.distinct
        return self._per_class(np.add, (~self.exempt[self.values]).astype(np.int64))

    @cached_property
    def mass(self) -> NDArray[np.int64]:
        """Sum of the counts of each class: its size, or more where persons are counted."""
        return self._per_class(np.add, self.counts)

    @cached_property
    def total(self) -> NDArray[np.int64]:
        """Histogram of the whole table, by code."""
        if self.table is not None:
            return self.table
        total = np.zeros(self.domain, dtype=np.int64)
        np.add.at(total, self.values, self.counts)
        return total

    @property
    def distinct(self) -> NDArray[np.int64]:
        """Number of distinct values of each class."""
        return np.diff(self.offsets)

    def _per_class(self, reduce: np.ufunc, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        if self.classes and not len(self.values):
            raise ValueError("these classes were counted without a sensitive column")
        reduced: NDArray[np.int64] = reduce.reduceat(cells, self.offsets[:-1])
        return reduced


@dataclass(frozen=True, eq=False)
class WholeTable:
    """The table as one class, with the words a refusal needs."""

    classes: ClassHistograms
    """One class."""
    records: int
    persons: bool
    """A person column is declared: `classes` counts persons."""
    column: str = ""
    labels: Sequence[str | None] = ()

    @property
    def size(self) -> int:
        """Records or persons of the table."""
        return int(self.classes.sizes.sum())

    @property
    def unit(self) -> str:
        return "persons" if self.persons else "records"

    @property
    def top_count(self) -> int:
        """Count of the most frequent value that is not exempt; 1 if there is none."""
        return int(self.classes.largest.max()) if len(self.classes.counts) else 0

    @property
    def top_value(self) -> str:
        """The most frequent value, in words: it is a sensitive cell, which no error shows."""
        exempt = self.classes.exempt
        shown = self.classes.values if exempt is None else np.flatnonzero(~exempt)
        counts = self.classes.total[shown]
        label = self.labels[int(shown[counts.argmax()])] if len(shown) else ""
        return "a missing value" if label is None else "one value"


class Model(ABC):
    """One privacy requirement. Instances are frozen dataclasses with exact parameters.

    ``type(model).of(**model.parameters())`` is the model again. What methods, bounds
    and verification want to know of a model it declares here, so that none of them
    needs to know its class.
    """

    name: ClassVar[str]
    """Name in the registry: "k-anonymity", "frequency-l", ..."""
    option: ClassVar[str]
    """The policy, CLI and Python name of its parameter: "k", "l", "t", ..."""
    summary: ClassVar[str]
    """One line for `shoal models`: what it promises."""
    partner: ClassVar[str | None] = None
    """Another setting that must be given together with its option."""
    monotone: ClassVar[bool]
    """If two classes satisfy it, so does their union (counting records)."""
    monotone_with_persons: ClassVar[bool] = False
    """The same when persons are counted, who may be in both classes."""
    local: ClassVar[bool] = True
    """Classes that pass the kernel rules one by one make a table that passes."""
    about_sensitive: ClassVar[bool] = True
    """False for k-anonymity, which looks at class sizes only."""
    needs_numbers: ClassVar[bool] = False
    """It looks at numeric sensitive columns only."""
    compares_with_table: ClassVar[bool] = False
    """A class is compared with the whole table: what else is in it matters."""
    uses_order: ClassVar[bool] = False
    """It measures by the order of sensitive values, where they have one."""
    exact_rules: ClassVar[bool] = False
    """The kernel `rules` decide as `holds` does, never more strictly."""
    takes_exempt: ClassVar[bool] = False
    """Whether it says what holds where some values are exempt; else the two are refused."""
    size_and_cap: ClassVar[bool] = False
    """Of one class it asks for `smallest_class` records and a `cap` on the share of a value,
    and for nothing else: what methods that count can promise."""

    @classmethod
    @abstractmethod
    def of(cls, *args: Any, **parameters: Any) -> Model:
        """The model with these parameters, given as int, float or text."""

    @classmethod
    def asked(cls, settings: Mapping[str, Any]) -> Model | None:
        """The model that these settings ask for; None if they do not.

        Raises
        ------
        PolicyError
            A parameter is out of range, or lacks its partner.
        """
        value = settings.get(cls.option)
        if value is None:
            return None
        if cls.partner is None:
            return cls.of(value)
        other = settings.get(cls.partner)
        if other is None:
            option = cls.option
            raise PolicyError(f"{option}: expected together with {cls.partner}; got {option} alone")
        return cls.of(**{cls.option: value, cls.partner: other})

    @property
    @abstractmethod
    def smallest_class(self) -> int:
        """No class with fewer records (persons) than this can satisfy the model."""

    @property
    def k_asked(self) -> int | None:
        """The k that is a parameter of the model; None if it has none."""
        return None

    @property
    def cap(self) -> Fraction:
        """The largest share of a class that the model allows any one value to have."""
        return Fraction(1)

    @property
    def values_by_cap(self) -> int:
        """So many different values, once each, keep within the `cap`; no fewer ever do."""
        return math.ceil(1 / self.cap)

    @property
    def values_enough(self) -> int | None:
        """So many different values, once each, make `smallest_class` records satisfy the model.

        None: no number of values is enough.
        """
        return self.values_by_cap if self.size_and_cap else None

    @property
    def distinct_asked(self) -> int:
        """No class with fewer different values satisfies the model, whatever its cap."""
        return 1

    def largest_shares(
        self, counts: NDArray[np.int64], ordered: bool, moving: bool
    ) -> list[Fraction]:
        """The share of a class that each value can have at most.

        Parameters
        ----------
        counts
            How often each value occurs in the table.
        ordered
            As in `ClassHistograms`.
        moving
            Records may be dropped: the table to compare with is not known.
        """
        return [self.cap] * len(counts)

    def implied_by(self, other: Model) -> bool:
        """Whether classes that satisfy the other model are known to satisfy this one."""
        return self == other

    @abstractmethod
    def holds(self, classes: ClassHistograms) -> NDArray[np.bool_]:
        """For each class, whether it satisfies the model. Exact."""

    @abstractmethod
    def level(self, classes: ClassHistograms) -> Level:
        """The strictest parameter that all classes satisfy: the k, l, t... reached.

        None where there is no class to judge.
        """

    def worst(self, levels: Iterable[float | int]) -> float | int:
        """The weakest of several levels: what all of their classes satisfy."""
        return min(levels)

    def finding(self, classes: ClassHistograms) -> Finding:
        """How many classes fail, and the level of all; see `shoal.models.findings`."""
        return Finding(int((~self.holds(classes)).sum()), self.level(classes))

    def merge(self, findings: Sequence[Finding]) -> Finding:
        """One finding of those of several parts: that of all their classes together."""
        return Finding(sum(f.failing for f in findings), self._merged_level(findings))

    def _merged_level(self, findings: Sequence[Finding]) -> Level:
        levels = [f.level for f in findings if f.level is not None]
        return self.worst(levels) if levels else None

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Parameters as JSON-able values, for manifests and messages."""

    @abstractmethod
    def rules(self) -> tuple[Rule, ...]:
        """The model for the kernels: as strict as `holds`, or a little stricter."""

    @abstractmethod
    def refusal(self, whole: WholeTable) -> str:
        """Why even the whole table in one class fails, and the best that is possible."""

    def applies(self, classes: ClassHistograms) -> bool:
        """Whether the model has something to say about such a sensitive column."""
        return classes.numbers is not None or not self.needs_numbers

    def possible(self, whole: WholeTable) -> bool:
        """False if no release can satisfy the model.

        A model that is closed under union fails everywhere if it fails for the
        whole table. Others are left to the verification of the release.
        """
        closed = self.monotone_with_persons if whole.persons else self.monotone
        return not closed or bool(self.holds(whole.classes).all())

    @abstractmethod
    def __str__(self) -> str:
        """As people write it: ``k = 10``, ``l = 3 (entropy)``."""
