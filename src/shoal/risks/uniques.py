"""People who are alone in the population with their values, estimated from a sample of it.

Of use before a release only: after k >= 2 nobody is unique, by construction. The rule
(Dankar et al. 2012): up to a sampling fraction of 0.1 Pitman's model, Zayatz's where that
fails; above, the smaller of the slide negative binomial (SNB) and Zayatz's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Uniques", "pitman", "population_uniques", "slide_negative_binomial", "zayatz"]

SMALL_SAMPLE = 0.1
"""Up to this sampling fraction Pitman's model is the better one."""


@dataclass(frozen=True)
class Uniques:
    """Records that no other has the values of, and how many such people there may be."""

    sample: int
    population: float | None = None
    """Estimate; None without a sampling fraction."""
    model: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        if self.population is None:
            return {"sample": self.sample}
        return {"sample": self.sample, "population": self.population, "model": self.model}


def population_uniques(sizes: NDArray[np.int64], fraction: float | None) -> Uniques:
    """Sample uniques, and an estimate of population uniques from the class sizes of a sample."""
    alone = int(np.count_nonzero(sizes == 1))
    if fraction is None:
        return Uniques(alone)
    if fraction >= 1:
        return Uniques(alone, float(alone), "the table is the population")
    by_zayatz = zayatz(sizes, fraction)
    if fraction <= SMALL_SAMPLE:
        estimate = pitman(sizes, fraction)
        if estimate is not None:
            return Uniques(alone, round(estimate, 1), "Pitman")
        return Uniques(alone, round(by_zayatz, 1), "Zayatz")
    by_snb = slide_negative_binomial(sizes, fraction)
    if by_snb is not None and by_snb < by_zayatz:
        return Uniques(alone, round(by_snb, 1), "slide negative binomial")
    return Uniques(alone, round(by_zayatz, 1), "Zayatz")


def zayatz(sizes: NDArray[np.int64], fraction: float) -> float:
    """Sample uniques times the chance that one is a population unique, over the fraction.

    The sizes of the classes of the sample stand in for those of the population; by Bayes
    a unique of the sample comes from a class of i people with a chance in proportion to
    ``c_i * P(one of i is drawn)``, hypergeometric.
    """
    from scipy.special import gammaln

    n = int(sizes.sum())
    size, count = np.unique(sizes, return_counts=True)
    if size[0] != 1:
        return 0.0
    population = round(n / fraction)
    fits = population - size >= n - 1
    i, c = size[fits].astype(np.float64), count[fits]

    def choose(a: Any, b: Any) -> Any:
        return gammaln(a + 1.0) - gammaln(b + 1.0) - gammaln(a - b + 1.0)

    drawn = np.exp(np.log(i) + choose(population - i, n - 1.0) - choose(1.0 * population, 1.0 * n))
    unique = float(c[0] * drawn[0] / (c * drawn).sum())
    return unique * int(count[0]) / fraction


def pitman(sizes: NDArray[np.int64], fraction: float) -> float | None:
    """Pitman's sampling formula (Hoshino 2001), fitted by maximum likelihood; None if it fails.

    Its expected number of population uniques is ``Gamma(theta+1)/Gamma(theta+alpha) N**alpha``.
    """
    from scipy.optimize import minimize
    from scipy.special import gammaln

    size, count = np.unique(sizes, return_counts=True)
    n, u = int(sizes.sum()), len(sizes)
    if size[0] != 1 or u in (1, n):
        return None

    def unlikely(parameters: NDArray[np.float64]) -> float:
        alpha = 1 / (1 + np.exp(-parameters[0]))
        theta = np.exp(parameters[1])
        classes = u * np.log(alpha) + gammaln(theta / alpha + u) - gammaln(theta / alpha)
        records = gammaln(theta + n) - gammaln(theta)
        within = (count * (gammaln(size - alpha) - gammaln(1 - alpha))).sum()
        return float(records - classes - within)

    best = minimize(unlikely, np.array([0.0, np.log(max(u, 2))]), method="Nelder-Mead",
                    options={"xatol": 1e-8, "fatol": 1e-8, "maxiter": 4000})  # fmt: skip
    alpha, theta = 1 / (1 + np.exp(-best.x[0])), np.exp(best.x[1])
    if not best.success or not 1e-4 < alpha < 1 - 1e-4 or not np.isfinite(theta):
        return None
    population = n / fraction
    log = gammaln(theta + 1) - gammaln(theta + alpha) + alpha * np.log(population)
    return float(min(np.exp(log), population))


def slide_negative_binomial(sizes: NDArray[np.int64], fraction: float) -> float | None:
    """Class sizes of the population are 1 + negative binomial (Chen and McNulty 1998).

    Fitted to the records, classes and uniques of the sample, each record being drawn with
    the sampling fraction; None if no parameters fit. Its uniques are ``K p**a``.
    """
    from scipy.optimize import least_squares

    n, u, alone = int(sizes.sum()), len(sizes), int(np.count_nonzero(sizes == 1))
    if not 0 < alone < u:
        return None

    def expected(a: float, p: float) -> tuple[float, float, float]:
        """Records, classes and uniques in the sample, of one class of the population."""
        rest = 1 - (1 - p) * (1 - fraction)
        same = (p / rest) ** a
        seen = 1 - (1 - fraction) * same
        once = fraction * same + (1 - fraction) * same * a * (1 - p) * fraction / rest
        return fraction * (1 + a * (1 - p) / p), seen, once

    def off(parameters: NDArray[np.float64]) -> list[float]:
        a, p = np.exp(parameters[0]), 1 / (1 + np.exp(-parameters[1]))
        records, seen, once = expected(a, p)
        return [np.log(records / seen) - np.log(n / u), np.log(once / seen) - np.log(alone / u)]

    starts = [(0.0, 0.0), (-2.0, -4.0), (-3.0, -6.0), (1.0, 1.0)]
    fits = [least_squares(off, start, bounds=([-12, -20], [12, 20])) for start in starts]
    best = min(fits, key=lambda fit: float(fit.cost))
    if best.cost > 1e-10:
        return None
    a, p = float(np.exp(best.x[0])), float(1 / (1 + np.exp(-best.x[1])))
    classes = u / expected(a, p)[1]
    return float(classes * p**a)
