"""`expand` as a step of a Pipeline: cells of a release into plain values.

What a cell becomes is learnt from the released table that `fit` gets. Rows to be transformed may
hold cells of the release, or values as they are in the original, such as those a model is tested
on; a row's plain values depend on nothing but itself and what was learnt.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from shoal.encoding.values import distinct_values
from shoal.errors import PolicyError
from shoal.policy import Policy
from shoal.recipient.expand import FORMS
from shoal.recipient.expand import expand as expand_table
from shoal.recipient.opening import open_release
from shoal.released.about import About
from shoal.sklearn.tables import given_table, table_like

__all__ = ["Expander", "expand"]


def expand(
    form: str = "midpoint", *, manifest: str | Path | None = None,
    policy: Policy | str | Path | None = None, settings: Mapping[str, Any] | None = None,
) -> Expander:  # fmt: skip
    """A transformer that makes released rows plain values, as `shoal.expand` does for a table.

    Parameters are those of `shoal.expand`; ``"samples"`` changes the number of rows, which no
    step of a Pipeline may do.

    Examples
    --------
    >>> import shoal, shoal.sklearn
    >>> people = shoal.datasets.census(500)
    >>> release = shoal.anonymize(people, qi=["age", "gender"], k=5, rest="drop")
    >>> plain = shoal.sklearn.expand("shares", policy=release.policy)
    >>> list(plain.fit_transform(release.to_pandas()).columns)
    ['age', 'gender=Female', 'gender=Male']
    """
    return Expander(form, manifest=manifest, policy=policy, settings=settings)


class Expander(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Make released rows plain values; see `expand`."""

    def __init__(
        self, form: str = "midpoint", *, manifest: str | Path | None = None,
        policy: Policy | str | Path | None = None, settings: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.form = form
        self.manifest = manifest
        self.policy = policy
        self.settings = settings

    def fit(self, X: Any, y: Any = None) -> Expander:
        """Learn what the cells of a released table stand for."""
        if self.form not in FORMS or self.form == "samples":
            known = ", ".join(form for form in FORMS if form != "samples")
            raise PolicyError(f"form: expected one of {known}; got {self.form!r}")
        table, _ = given_table(self, X, fitting=True)
        opened = open_release(
            table, self.manifest, self.policy, None, self.settings or {}, asked_by="expand"
        )
        about: About = opened.released.about
        if any(about.pair(name) for name in about.names()):
            raise PolicyError("expand: a table of bounds is plain already; release cells instead")
        self._columns = {
            name: _Learnt(table.select([name]), self._expanded, about.policy.hierarchy)
            for name in table.column_names
            if about.generalised(name) is not False and not _is_number(table[name])
        }
        self._names = table.column_names
        self.n_features_out_ = len(self.get_feature_names_out())
        return self

    def transform(self, X: Any) -> Any:
        """Plain values, row by row."""
        check_is_fitted(self, "n_features_out_")
        table, kind = given_table(self, X, fitting=False)
        table = table.rename_columns(self._names)
        made: list[tuple[str, pa.ChunkedArray]] = []
        for name in self._names:
            learnt = self._columns.get(name)
            if learnt is not None:
                made += learnt.of(table[name])
            else:
                made.append((name, table[name]))
        return table_like(pa.table([c for _, c in made], names=[n for n, _ in made]), kind)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns that `transform` gives."""
        names = [
            [out for out, _ in self._columns[name].forms] if name in self._columns else [name]
            for name in self._names
        ]
        return np.array([name for some in names for name in some], dtype=object)

    def _expanded(self, table: pa.Table) -> pa.Table:
        """A table of some columns, with what is said of these."""
        name = table.column_names[0]
        settings = dict(self.settings or {})
        policy = self.policy
        if policy is None and self.manifest is None and "qi" not in settings:
            settings["qi"] = [name]
        return expand_table(table, self.form, manifest=self.manifest, policy=policy, **settings)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _is_number(column: pa.ChunkedArray) -> bool:
    kind = column.type
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    )


class _Learnt:
    """A column: what each of its cells becomes."""

    def __init__(self, table: pa.Table, expanded: Any, trees: Collection[str]) -> None:
        self.table, self.expanded, self.trees = table, expanded, trees
        self.name = table.column_names[0]
        distinct = distinct_values(table.column(0), ("",))
        codes = np.where(distinct.codes < 0, len(distinct.values), distinct.codes)
        texts = [*distinct.texts(), None]
        cells, first = np.unique(codes, return_index=True)
        made = expanded(table)
        rows = made.take(pa.array(first))
        self.known = {texts[cell]: row for row, cell in enumerate(cells.tolist())}
        self.forms = [(name, rows[name]) for name in made.column_names]
        self.later: dict[str | None, list[Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """What is saved is handed on: no cell of rows that were asked about."""
        return {**self.__dict__, "later": {}}

    def of(self, column: pa.ChunkedArray) -> list[tuple[str, pa.ChunkedArray]]:
        """The forms of a column's cells, those that were not learnt included."""
        distinct = distinct_values(column, ("",))
        texts = [*distinct.texts(), None]
        codes = np.where(distinct.codes < 0, len(distinct.values), distinct.codes)
        self._learn([text for text in texts if text not in self.known and text not in self.later])
        place = dict(self.known)
        rows = [[form[i].as_py() for _, form in self.forms] for i in range(len(self.known))]
        for text in texts:
            if text not in place:
                place[text] = len(rows)
                rows.append(self.later[text])
        places = pa.array(np.array([place[text] for text in texts])[codes])
        return [
            (name, _array([row[i] for row in rows], form.type).take(places))
            for i, (name, form) in enumerate(self.forms)
        ]

    def _learn(self, texts: list[str | None]) -> None:
        """Cells that the fitted table has not: what each would become there, on its own.

        What a single value becomes does not depend on other cells, so these are asked together.
        """
        alone = [[text] for text in texts if text is None or text[:1] in {"[", "{", "*"}]
        values = [text for text in texts if [text] not in alone]
        together = [[text] for text in values] if self.name in self.trees else [values]
        cells = pa.chunked_array([texts_of(self.table.column(0))])
        for some in (*alone, *filter(None, together)):
            column = pa.concat_arrays([cells.combine_chunks(), pa.array(some, pa.string())])
            made = self.expanded(pa.table({self.name: column})).slice(len(cells)).to_pylist()
            for text, row in zip(some, made, strict=True):
                self.later[text] = [row.get(name, 0.0) for name, _ in self.forms]


def texts_of(column: pa.ChunkedArray) -> pa.Array:
    """Every record's text, null where it is missing."""
    found = distinct_values(column, ("",))
    texts = pa.array([*found.texts(), None], pa.string())
    return texts.take(pa.array(np.where(found.codes < 0, len(texts) - 1, found.codes)))


def _array(values: list[Any], kind: pa.DataType) -> pa.ChunkedArray:
    """Values of a learnt form; whole numbers become others where one is not whole."""
    if pa.types.is_integer(kind) and any(isinstance(v, float) and v % 1 for v in values if v):
        kind = pa.float64()
    return pa.chunked_array([pa.array(values, kind)])
