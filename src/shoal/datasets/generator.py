"""The census generator: one conditional table after the other, read by 16 random bits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.datasets import frequencies as tables

__all__ = ["generate"]

BLOCK = 1 << 16
"""Rows drawn at a time. Changing it changes the generated tables."""
_STEPS = 1 << 16
"""Resolution of a draw: 16 bits of the generator."""
_WORDS = 3
"""64-bit words a row: twelve draws, of which nine are used."""

Codes = NDArray[np.uint8]

_MARITAL = tuple(label for group in tables.MARITAL.values() for label in group)
_WORKCLASSES = tuple(
    label for branch in tables.WORKCLASSES.values() for group in branch.values() for label in group
)
_DOMAINS: dict[str, tuple[str, ...] | NDArray[np.int64]] = {
    "age": tables.AGES,
    "gender": tables.GENDERS,
    "education": tables.EDUCATION_LEVELS,
    "marital": _MARITAL,
    "race": tables.RACES,
    "workclass": _WORKCLASSES,
    "country": tables.COUNTRIES,
    "occupation": tables.OCCUPATIONS,
    "salary": tables.SALARY_CLASSES,
}


def generate(n: int, seed: int) -> pa.Table:
    """Table of n rows; the first rows do not depend on n."""
    columns = {name: np.empty(n, dtype=np.int32) for name in _DOMAINS}
    census = _Census()
    # raw words of the bit generator: their stream is fixed, numpy's distributions are not
    bits = np.random.PCG64(seed)
    for start in range(0, n, BLOCK):
        words = bits.random_raw(_WORDS * BLOCK).astype("<u8", copy=False)
        draws = words.view("<u2").reshape(4 * _WORDS, BLOCK)
        count = min(BLOCK, n - start)
        for name, codes in census.block(draws[:, :count]):
            columns[name][start : start + count] = codes
    return pa.table({name: _column(name, codes) for name, codes in columns.items()})


def _column(name: str, codes: NDArray[np.int32]) -> pa.Array:
    domain = _DOMAINS[name]
    if isinstance(domain, tuple):
        return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(domain, pa.string()))
    codes += np.int32(domain[0])  # numeric domains are consecutive
    return pa.array(codes)


class _Conditional:
    """Values given a context: row c of the table holds each value as often as it is likely."""

    def __init__(self, weights: NDArray[np.int64]) -> None:
        contexts, values = weights.shape
        total = weights.sum(axis=1, keepdims=True)
        bounds = np.cumsum(weights, axis=1) * _STEPS // total
        counts = np.diff(bounds, axis=1, prepend=0)
        self._table = np.repeat(
            np.tile(np.arange(values, dtype=np.uint8), contexts), counts.ravel()
        )

    def draw(self, context: NDArray[np.int64] | int, bits: NDArray[np.uint16]) -> Codes:
        drawn: Codes = self._table[context * _STEPS + bits.astype(np.int64)]
        return drawn


class _Census:
    """The tables of all columns, and the order in which they condition one another."""

    def __init__(self) -> None:
        self.gender = _Conditional(np.array([[53, 47]]))
        self.age = _Conditional(tables.age_weights())
        self.race = _Conditional(tables.race_weights())
        self.country = _Conditional(tables.country_weights())
        self.education = _Conditional(tables.education_weights())
        self.marital = _Conditional(tables.marital_weights())
        self.workclass = _Conditional(tables.workclass_weights())
        self.occupation = _Conditional(tables.occupation_weights())
        self.salary = _Conditional(tables.salary_weights())
        self.pay = tables.pay_scores()
        self.school_age = _bands(20, 25, 35, 50, 65)
        self.marital_age = _bands(20, 25, 30, 35, 45, 55, 65, 75)
        self.work_age = _bands(25, 45, 65)

    def block(self, bits: NDArray[np.uint16]) -> Iterator[tuple[str, Codes]]:
        """Codes of each column, drawn one after the other; yields name and codes."""
        gender = self.gender.draw(0, bits[0])
        yield "gender", gender
        age = self.age.draw(gender.astype(np.int64), bits[1])
        yield "age", age
        race = self.race.draw(0, bits[2])
        yield "race", race
        country = self.country.draw(race.astype(np.int64), bits[3])
        yield "country", country
        origin = tables.ORIGIN_OF_COUNTRY[country]
        education = self.education.draw((self.school_age[age] * 4 + origin) * 2 + gender, bits[4])
        yield "education", education
        yield "marital", self.marital.draw(gender * np.int64(9) + self.marital_age[age], bits[5])
        band = tables.EDUCATION_BAND[education]
        workclass = self.workclass.draw(
            ((self.work_age[age] * 6 + band) * 4 + origin) * 2 + gender, bits[6]
        )
        yield "workclass", workclass
        sector = tables.SECTOR_OF_WORKCLASS[workclass]
        adult = self.work_age[age] > 0
        occupation = self.occupation.draw(((band * 2 + gender) * 4 + sector) * 2 + adult, bits[7])
        yield "occupation", occupation
        score = sum(
            points[codes]
            for points, codes in zip(
                self.pay, (occupation, education, age, workclass, gender), strict=True
            )
        )
        yield "salary", self.salary.draw(score, bits[8])


def _bands(*starts: int) -> NDArray[np.int64]:
    """Number of the band that each age is in; a new band begins at each of ``starts``."""
    return np.searchsorted(np.array(starts), tables.AGES, side="right").astype(np.int64)
