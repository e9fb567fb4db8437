"""What several samples of a release tell together, with an interval that is honest.

Each sample is analysed as if it were the original; the results are pooled by Rubin's rules: the
variance of an estimate is what sampling people gives (mean over the samples) and what hidden
values give (variance between the samples). Values are drawn for each column on its own, which
weakens what columns have to do with each other inside a cell. How far that can move an
estimate is told by the means and middles of the cells, which err in other ways: the interval
reaches from one to the other. Which of these forms is nearest to the original nobody knows, so
the variance between them, over their number, is added: the variance that their mean has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import PolicyError, no_column
from shoal.io.frames import to_arrow
from shoal.recipient.expand import SAMPLE

__all__ = ["Estimate", "pool"]

Floats = NDArray[np.float64]
Found = dict[str, tuple[float, float]]
"""Estimates by name, each with its variance."""


@dataclass(frozen=True)
class Estimate:
    """A number about the people of a release, with a 95% interval (or another level)."""

    value: float
    low: float
    high: float
    standard_error: float
    samples: int

    def __repr__(self) -> str:
        return f"{self.value:.4g} (from {self.low:.4g} to {self.high:.4g})"


def pool(
    samples: Any, *, mean: str | None = None, share: tuple[str, Any] | None = None,
    regression: tuple[str, Sequence[str]] | None = None, middle: Any = None, level: float = 0.95,
) -> Any:  # fmt: skip
    """Estimate from ``shoal.expand(release, "samples")``; give one of the three questions.

    Parameters
    ----------
    samples
        The samples, at least two of them, as `shoal.expand` gives them.
    mean
        A column of numbers: its mean.
    share
        A column and a value: the share of the records that have it.
    regression
        A column of numbers, and those that explain it: coefficients of least squares.
    middle
        ``shoal.expand(release, "mean")``, or a list of it and other forms with one row a record:
        intervals then reach as far as the estimate moves when it is computed from these.
    level
        Of the interval.

    Returns
    -------
    Estimate, or a dictionary of one for each coefficient and ``"(intercept)"``

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(1000)
    >>> release = shoal.anonymize(people, qi=["age", "gender"], k=10, seed=1, rest="drop")
    >>> age = shoal.pool(shoal.expand(release, "samples", seed=1), mean="age")
    >>> age.low < sum(people["age"].to_pylist()) / 1000 < age.high
    True
    """
    asked = [question for question in (mean, share, regression) if question is not None]
    if len(asked) != 1:
        raise PolicyError("pool: give one of mean, share and regression")
    if not 0 < level < 1:
        raise PolicyError(f"level: expected a number between 0 and 1; got {level}")
    analyse: Callable[[pa.Table], Found]
    if mean is not None:
        analyse = lambda table: {"": _mean(_numbers(table, mean))}  # noqa: E731
    elif share is not None:
        analyse = lambda table: {"": _mean(_is(table, *share))}  # noqa: E731
    else:
        assert regression is not None
        analyse = lambda table: _regression(table, *regression)  # noqa: E731
    found = [analyse(part) for part in _parts(to_arrow(samples)[0])]
    others = [] if middle is None else middle if isinstance(middle, list) else [middle]
    beside = [analyse(to_arrow(other)[0]) for other in others]
    pooled = {
        name: _pooled([f[name] for f in found], [b[name][0] for b in beside], level)
        for name in found[0]
    }
    return pooled if regression is not None else pooled[""]


def _parts(table: pa.Table) -> list[pa.Table]:
    if SAMPLE not in table.column_names:
        raise PolicyError(f"pool: there is no column {SAMPLE!r}; make samples by shoal.expand")
    numbers = table[SAMPLE].to_numpy()
    drawn = np.unique(numbers)
    if len(drawn) < 2:
        raise PolicyError("pool: expected at least two samples; got one (expand(..., samples=5))")
    return [table.filter(pa.array(numbers == number)) for number in drawn.tolist()]


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in table.column_names:
        names = list(table.column_names)
        raise PolicyError(f"pool: {no_column(name, names, names, 'the samples')}")
    return table[name]


def _numbers(table: pa.Table, name: str) -> Floats:
    column = _column(table, name)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    try:
        numbers: Floats = column.cast(kind).cast(pa.float64()).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise PolicyError(f"pool: column {name!r} holds no numbers") from None
    return numbers


def _is(table: pa.Table, name: str, value: Any) -> Floats:
    texts = _column(table, name).to_pylist()
    return np.array([float(text is not None and str(text) == str(value)) for text in texts])


def _mean(values: Floats) -> tuple[float, float]:
    """The mean of what is not missing, and its variance."""
    known = values[~np.isnan(values)]
    if len(known) < 2:
        raise PolicyError("pool: expected at least two values that are not missing")
    return float(known.mean()), float(known.var(ddof=1) / len(known))


def _regression(table: pa.Table, of: str, by: Sequence[str]) -> Found:
    """Least squares, with variances that need no equal spread (HC1)."""
    if isinstance(by, str):
        raise PolicyError("regression: expected a column and a list of those that explain it")
    y = _numbers(table, of)
    columns = [_numbers(table, name) for name in by]
    x = np.column_stack([np.ones(len(y)), *columns])
    complete = ~np.isnan(np.column_stack([x, y])).any(axis=1)
    x, y = x[complete], y[complete]
    if len(y) <= x.shape[1] or np.linalg.matrix_rank(x) < x.shape[1]:
        raise PolicyError(
            "regression: these columns do not determine coefficients; is one of them constant, "
            "or told by the others?"
        )
    bread = np.linalg.inv(x.T @ x)
    coefficients = bread @ (x.T @ y)
    rest = y - x @ coefficients
    meat = (x * rest[:, None] ** 2).T @ x
    variances = np.diag(bread @ meat @ bread) * len(y) / (len(y) - x.shape[1])
    pairs = zip(coefficients.tolist(), variances.tolist(), strict=True)
    return dict(zip(["(intercept)", *by], pairs, strict=True))


def _pooled(
    found: Sequence[tuple[float, float]], beside: Sequence[float], level: float
) -> Estimate:
    """Rubin's rules, with what the forms `beside` the samples disagree about."""
    values, variances = np.array(found).T
    m = len(values)
    within, between = float(variances.mean()), float(values.var(ddof=1)) * (1 + 1 / m)
    freedom = (m - 1) * (1 + within / between) ** 2 if between > 0 else np.inf
    value = float(values.mean())
    ends = [value, *beside]
    of_forms = float(np.var(ends, ddof=1)) / len(ends) if beside else 0.0
    total = within + between + of_forms
    from scipy import stats  # takes longer to load than all of Shoal: only who pools waits

    reach = float(stats.t.ppf((1 + level) / 2, freedom)) * total**0.5
    return Estimate(value, min(ends) - reach, max(ends) + reach, total**0.5, m)
