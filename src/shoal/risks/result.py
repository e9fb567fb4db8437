"""What was found about the risk of a table: for everybody, and for the custodian alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.risks.attackers import Attacker
from shoal.risks.disclosure import Disclosure
from shoal.risks.population import Population
from shoal.risks.special import SpecialUniques
from shoal.risks.uniques import Uniques
from shoal.thresholds import Threshold

__all__ = ["Individual", "PerRecord", "Risk"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Individual:
    """Risk of records with sampling weights, over all of them."""

    expected: float
    """Global risk: how many records are expected to be picked out rightly."""
    average: float
    largest: float
    household_average: float | None = None
    household_largest: float | None = None

    @classmethod
    def of(cls, risks: Floats, households: Floats | None) -> Individual:
        """Sum up the risks of all records."""
        own = float(risks.sum()), float(risks.mean()), float(risks.max())
        if households is None:
            return cls(*own)
        return cls(*own, float(households.mean()), float(households.max()))

    def to_dict(self) -> dict[str, float]:
        """Plain values for JSON."""
        told = {"expected": self.expected, "average": self.average, "largest": self.largest}
        if self.household_average is not None and self.household_largest is not None:
            told["household_average"] = self.household_average
            told["household_largest"] = self.household_largest
        return {name: round(value, 9) for name, value in told.items()}


@dataclass(frozen=True, eq=False)
class PerRecord:
    """Numbers of every record, in the order of the table: not for publication."""

    class_size: NDArray[np.int64]
    people: NDArray[Any] | None = None
    individual_risk: Floats | None = None
    household_risk: Floats | None = None
    suda_score: NDArray[Any] | None = None

    def with_risks(self, risks: Floats, households: Floats | None) -> PerRecord:
        return replace(self, individual_risk=risks, household_risk=households)

    def with_scores(self, scores: NDArray[Any]) -> PerRecord:
        return replace(self, suda_score=scores)

    def table(self) -> pa.Table:
        """All of it as a table, one row a record."""
        columns = {name: getattr(self, name) for name in self.__dataclass_fields__}
        present = {name: pa.array(v) for name, v in columns.items() if v is not None}
        number = pa.array(np.arange(1, len(self.class_size) + 1))
        return pa.table({"record": number, **present})


@dataclass(frozen=True, eq=False, repr=False)
class Risk:
    """Risk of a table. `to_dict` and the text hold no number of a single record."""

    name: str
    released: bool
    """A release; else microdata before one."""
    records: int
    classes: int
    qi: tuple[str, ...]
    attackers: tuple[Attacker, ...]
    population: Population | None = None
    individual: Individual | None = None
    uniques: Uniques | None = None
    """Of microdata only: after k >= 2 nobody is unique, by construction."""
    special: SpecialUniques | None = None
    disclosures: tuple[Disclosure, ...] = ()
    threshold: Threshold | None = None
    judged: str = "prosecutor"
    """The attacker that the threshold is about."""
    per_record: PerRecord = field(default_factory=lambda: PerRecord(np.zeros(0, np.int64)))
    counted: str = "records"
    """What chances are among: records, or persons where it is known whose each record is."""
    persons_hidden: bool = False
    """The promises count persons, who are not published: chances can be larger than these."""
    apart: bool = False
    """Quasi-identifiers are published as they are, sensitive values in a second table."""
    changed: bool = False
    """The file is not the one that its manifest describes."""

    def attacker(self, name: str) -> Attacker:
        """One of `attackers` by its name."""
        return next(attacker for attacker in self.attackers if attacker.name == name)

    @property
    def ok(self) -> bool:
        """Whether the threshold is kept; True if there is none."""
        return self.threshold is None or not self.attacker(self.judged).broken

    def __bool__(self) -> bool:
        return self.ok

    @property
    def fix(self) -> int | None:
        """A k that keeps the threshold: the smallest for a prosecutor; None without a threshold.

        A class of ``ceil(1/tau)`` keeps it for everybody, as F >= f. Where F is the class over
        a sampling fraction, a class of ``ceil(fraction/tau)`` keeps it for the other two.
        """
        if self.threshold is None:
            return None
        people = self.population
        by_fraction = people is not None and people.how == "fraction"
        if self.judged == "prosecutor" or people is None or not by_fraction:
            return self.threshold.smallest_class
        return max(1, math.ceil(people.fraction / float(self.threshold.tau) - 1e-12))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: sums and shares, no record and no cell."""
        told: dict[str, Any] = {
            "table": self.name,
            "kind": "release" if self.released else "microdata",
            "records": self.records,
            "classes": self.classes,
            "qi": list(self.qi),
            "counted": self.counted,
            **({"persons": "not published"} if self.persons_hidden else {}),
            **({"tables": 2} if self.apart else {}),
            **({"changed": True} if self.changed else {}),
            **{attacker.name: attacker.to_dict() for attacker in self.attackers},
        }
        parts = {
            "population": self.population,
            "individual": self.individual,
            "uniques": self.uniques,
            "special_uniques": self.special,
        }
        told |= {name: part.to_dict() for name, part in parts.items() if part is not None}
        told["sensitive"] = [found.to_dict() for found in self.disclosures]
        if self.threshold is not None:
            told["threshold"] = {
                "tau": float(self.threshold.tau),
                **({"name": self.threshold.name} if self.threshold.name else {}),
                "attacker": self.judged,
                "kept": self.ok,
                "k": self.fix,
            }
        return told

    def __repr__(self) -> str:
        from shoal.risks.words import in_words

        return in_words(self)
