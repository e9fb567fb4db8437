"""What a model learns from a release, as a share of what it learns from the original.

Models are trained on released rows, expanded in one of three ways, and tested on original rows
that were held out. The share is (AUC - 0.5) on the release by (AUC - 0.5) on the original: 0 is
guessing, 1 nothing lost. Adult: does somebody earn more than 50,000; ACS (a sample of it): more
than the median. Features are quasi-identifiers all; what is predicted is published as it is, but
with anatomy, which hides just that (and promises l, not k; income has two values, of which one
is too frequent for any l).

Every row is kept as soon as it is there, and rows that are kept are not computed again:
delete `results/training.json` to begin anew.
"""

from __future__ import annotations

import contextlib
import json
import warnings
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import shoal
from benchmarks.data import real
from benchmarks.keeping import RESULTS, Table

ROWS = 5_000
"""To train on, and as many to test on."""
METHODS = ("hilbert", "mondrian", "anatomy", "best")
FORMS = ("midpoint", "shares", "samples")
SAMPLES = 3
LEVELS = (5, 10, 50)
OF_L = (5, 10)
"""Levels that anatomy can promise of ACS salaries."""


class Task(NamedTuple):
    """A table, what is known of people, and what is to be predicted."""

    name: str
    file: str
    features: tuple[str, ...]
    target: str


TASKS = {
    "adult": Task(
        "Adult, income", "adult.csv",
        ("age", "education-num", "workclass", "marital-status", "race", "sex", "native-country"),
        "income",
    ),
    "acs": Task(
        "ACS, salary", "acs2018_census9.csv.gz",
        ("Age", "Gender", "Education", "Marital", "Race", "WorkClass"), "Salary",
    ),
}  # fmt: skip


class Features:
    """Columns of numbers: numbers as they are, a column for each category of the original."""

    def __init__(self, original: pa.Table, task: Task) -> None:
        self.numbers = [n for n in task.features if pa.types.is_integer(original[n].type)]
        self.columns = [
            (n, value)
            for n in task.features if n not in self.numbers
            for value in sorted(set(original[n].to_pylist()))
        ]  # fmt: skip

    def of(self, table: pa.Table) -> NDArray[np.float32]:
        """Of rows with plain values, or with a share for each value."""
        found = [table[name].to_numpy().astype(float) for name in self.numbers]
        named = {name for name, _ in self.columns} & set(table.column_names)
        texts = {name: np.array(table[name].to_pylist(), dtype=object) for name in named}
        for name, value in self.columns:
            if name in texts:
                found.append((texts[name] == value).astype(float))
            elif f"{name}={value}" in table.column_names:
                found.append(table[f"{name}={value}"].to_numpy())
            else:
                found.append(np.zeros(table.num_rows))
        return np.column_stack(found).astype(np.float32)


def scores(
    x: NDArray[Any], y: NDArray[Any], weight: NDArray[Any] | None, test: tuple[Any, Any]
) -> list[float]:
    """AUC of a logistic regression and of gradient boosting on the test rows."""
    from threadpoolctl import threadpool_limits

    # One thread: on a busy machine several wait for each other.
    with threadpool_limits(1):
        return _scores(x, y, weight, test)


def _scores(
    x: NDArray[Any], y: NDArray[Any], weight: NDArray[Any] | None, test: tuple[Any, Any]
) -> list[float]:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.preprocessing import StandardScaler

    scale = StandardScaler().fit(x, sample_weight=weight)
    linear = LogisticRegression(max_iter=300).fit(scale.transform(x), y, sample_weight=weight)
    trees = HistGradientBoostingClassifier(random_state=0).fit(x, y, sample_weight=weight)
    guessed = [linear.predict_proba(scale.transform(test[0]))[:, 1],
               trees.predict_proba(test[0])[:, 1]]  # fmt: skip
    return [float(roc_auc_score(test[1], guess)) for guess in guessed]


def _with_numbers(table: pa.Table) -> pa.Table:
    """Files are read as texts: columns of whole numbers as such."""
    for place, name in enumerate(table.column_names):
        with contextlib.suppress(pa.ArrowInvalid):
            table = table.set_column(place, name, table[name].cast(pa.int64()))
    return table


def released(task: Task, rows: pa.Table, method: str, level: int) -> shoal.Release:
    more: dict[str, Any] = {"effort": "fast"} if method == "best" else {}
    if method == "anatomy":
        asked = {"sensitive": task.target, "l": level}
    else:
        asked = {"plain": task.target, "k": level}
    return shoal.anonymize(
        rows, qi=list(task.features), method=method, seed=1, rest="drop", progress=False,
        **asked, **more,
    )  # fmt: skip


def learnt(
    task: Task, features: Features, release: shoal.Release, form: str, middle: int | None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """What a model is trained on: features, what is to be predicted, and weights."""
    made = shoal.expand(release, form, samples=SAMPLES, seed=1)
    x = features.of(made)
    if task.target in made.column_names:
        return x, high(made[task.target], middle), None
    shares = [name for name in made.column_names if name.startswith(f"{task.target}=")]
    sure = sum(made[n].to_numpy() for n in shares if float(n.split("=")[1]) > (middle or 0))
    both = np.concatenate([x, x]), np.repeat([1, 0], len(x))
    return *both, np.concatenate([sure, 1 - sure])


def high(column: pa.ChunkedArray, middle: int | None) -> NDArray[Any]:
    values = column.to_pylist()
    if middle is None:
        return np.array([value == ">50K" for value in values]).astype(int)
    return np.array([float(value) > middle for value in values]).astype(int)


def run(task: Task) -> None:
    """Train, test, and keep the rows that are not kept yet."""
    whole = real(task.file)
    if whole is None:
        return
    order = np.random.default_rng(1).permutation(whole.num_rows)[: 2 * ROWS]
    rows = _with_numbers(whole.select([*task.features, task.target])).take(pa.array(order))
    train, test = rows.slice(0, ROWS), rows.slice(ROWS)
    features = Features(rows, task)
    middle = None
    if task.target == "Salary":
        middle = int(np.median(rows[task.target].to_numpy()))
    tested = features.of(test), high(test[task.target], middle)
    known = kept_rows(task)
    if ("original", "AUC") not in known:
        auc = scores(features.of(train), high(train[task.target], middle), None, tested)
        keep_row(task, ["original", "AUC", *(auc[i] for i in (0, 1) for _ in FORMS)])
    original = kept_rows(task)["original", "AUC"][2 :: len(FORMS)]
    for method in METHODS:
        levels = LEVELS if method != "anatomy" else () if middle is None else OF_L
        for level in levels:
            name = f"{'l' if method == 'anatomy' else 'k'} = {level}"
            if (method, name) in known:
                continue
            release = released(task, train, method, level)
            by_form = [
                scores(*learnt(task, features, release, form, middle), tested) for form in FORMS
            ]
            shares = [(auc[i] - 0.5) / (original[i] - 0.5) for i in (0, 1) for auc in by_form]
            keep_row(task, [method, name, *shares])


def kept_rows(task: Task) -> dict[tuple[str, str], list[Any]]:
    path = RESULTS / "training.json"
    known = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return {(row[0], row[1]): row for row in known.get(task.name, {}).get("rows", [])}


def keep_row(task: Task, row: list[Any]) -> None:
    """Put a row beside those that are there."""
    head = ["method", "level", *(f"{model}, {form}" for model in ("logistic", "trees")
                                 for form in FORMS)]  # fmt: skip
    table = Table("training", task.name, head, ".3f")
    rows = kept_rows(task) | {(row[0], row[1]): row}
    place = {name: i for i, name in enumerate(("original", *METHODS))}
    for one in sorted(rows.values(), key=lambda one: place[one[0]]):
        table.add(*one)
    table.show()


def main() -> None:
    """What is not kept yet, of both tables."""
    warnings.simplefilter("ignore")
    for task in TASKS.values():
        run(task)


if __name__ == "__main__":
    main()
