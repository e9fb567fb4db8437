"""A sensitive column of a release, and what its classes say of people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.attacks.rates import Found, Rate, Skipped
from shoal.attacks.scene import People, Scene
from shoal.encoding.values import distinct_values
from shoal.risks.subject import Subject

__all__ = [
    "MOST_VALUES",
    "Secret",
    "codes_among",
    "counts_by_bucket",
    "expected_by_class",
    "nearest_among",
    "secrets_of",
    "unguessed",
]

MOST_VALUES = 200
"""Columns with more values are not guessed value by value."""
DIGITS = 9
"""Sums are the same to so many decimals, in whatever order they are taken."""


@dataclass(frozen=True, eq=False)
class Secret:
    """How often each value of a sensitive column is in each bucket.

    Buckets are the classes, but of a release in two tables its groups.
    """

    scene: Scene
    name: str
    texts: tuple[str, ...]
    counts: NDArray[np.float64]
    """Buckets by values."""
    _priors: dict[int, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def baseline(self) -> float:
        """What naming the most frequent value of the release achieves."""
        return float(self.counts.sum(axis=0).max() / max(1.0, self.counts.sum()))

    def priors(self, people: People) -> NDArray[np.float64]:
        """How many records with each value each of these people can be: people by values."""
        if id(people) not in self._priors:
            places = people.places(self.scene.qi)
            expected = expected_by_class(self.scene.subject, self.counts)
            found = [places.candidates(expected[:, v]) for v in range(len(self.texts))]
            self._priors[id(people)] = np.asarray(
                np.round(np.stack(found, axis=1), DIGITS), dtype=np.float64
            )
        return self._priors[id(people)]

    def truth(self, people: People) -> NDArray[np.int64]:
        """Which value each of them has; -1 for one that the release has not, or none.

        Of a treated column it is the published number nearest to their own.
        """
        column = people.table.column(self.name)
        if self.name in self.scene.subject.treated:
            return nearest_among(column, self.texts)
        return codes_among(column, self.texts)

    def found(self, how: str, beliefs: Sequence[NDArray[np.float64]]) -> Found:
        """What naming the value that is believed most achieves, for each of `scene.both`."""
        rates, covered = [], 0.0
        for number, (people, belief) in enumerate(zip(self.scene.both, beliefs, strict=True)):
            guess = np.where(belief.sum(axis=1) > 0, belief.argmax(axis=1), -1)
            truth = self.truth(people)
            right = np.count_nonzero((guess == truth) & (truth >= 0))
            rates.append(Rate(int(right), people.count))
            if number == 0:
                covered = float(np.mean(guess >= 0))
        control = rates[1] if len(rates) > 1 else None
        about = f"{self.name} {how}"
        return Found("inference", about, rates[0], control, self.baseline, covered)


def secrets_of(scene: Scene) -> Iterator[Secret]:
    """The sensitive columns that are known of everybody and have few enough values."""
    for name in scene.subject.sensitive:
        if not why_not(scene, name):
            yield Secret(scene, name, *counts_by_bucket(scene.subject, name))


def unguessed(scene: Scene) -> Iterator[Skipped]:
    """What is not guessed, and why."""
    if not scene.subject.sensitive:
        yield Skipped("inference", "the release has no sensitive column")
    for name in scene.subject.sensitive:
        if reason := why_not(scene, name):
            yield Skipped(f"inference ({name})", reason)


def why_not(scene: Scene, name: str) -> str:
    """Why a sensitive column is not guessed; empty if it is."""
    if any(name not in people.table.column_names for people in scene.both):
        return "original or control lack the column"
    values = len(scene.subject.distinct(name).values)
    if not values:
        return "the release has no value there"
    return f"more than {MOST_VALUES} values" if values > MOST_VALUES else ""


def counts_by_bucket(subject: Subject, name: str) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """The values of a column, and how often each is in each bucket of a release."""
    column = subject.distinct(name)
    texts = tuple(str(text) for text in column.texts())
    ids, buckets = subject.buckets
    known = column.codes >= 0
    counts = np.zeros((buckets, len(texts)))
    np.add.at(counts, (ids[known], column.codes[known]), 1)
    return texts, counts


def expected_by_class(subject: Subject, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """How many records of each class have each value, from how many of each bucket have it.

    All records of a bucket are as likely to have each of its values: of a release in two
    tables the records of a class lie in several.
    """
    if subject.apart is None:
        return counts
    (ids, classes), (buckets, _) = subject.classes, subject.buckets
    shares = counts / subject.apart.sizes[:, None]
    return np.stack([np.bincount(ids, one[buckets], minlength=classes) for one in shares.T], axis=1)


def codes_among(column: pa.ChunkedArray, texts: Sequence[str]) -> NDArray[np.int64]:
    """The number of each value among these texts; -1 for another or none."""
    found = pc.index_in(pc.cast(column, pa.string()), value_set=pa.array(texts, pa.string()))
    return np.asarray(found.fill_null(-1).to_numpy(), dtype=np.int64)


def nearest_among(column: pa.ChunkedArray, texts: Sequence[str]) -> NDArray[np.int64]:
    """The number of the nearest of these numbers to each value; -1 for what is no number."""
    known = np.array([_number(text) for text in texts])
    order = np.argsort(known)
    distinct = distinct_values(column)
    values = np.array([_number(text) for text in distinct.texts()], dtype=np.float64)
    above = np.clip(np.searchsorted(known[order], values), 1, max(1, len(order) - 1))
    if len(order) == 1:
        nearest = np.zeros(len(values), dtype=np.int64)
    else:
        low, high = known[order[above - 1]], known[order[above]]
        nearest = np.where(values - low <= high - values, above - 1, above)
    codes = np.append(np.where(np.isnan(values), -1, order[nearest]), -1)
    return np.asarray(codes[distinct.codes], dtype=np.int64)


def _number(text: str) -> float:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return float("nan")
