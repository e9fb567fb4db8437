"""`Anonymizer`: a release that is learnt from rows, and publishes further ones in its boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from shoal.encoding.recode import STAR
from shoal.errors import PolicyError, VerificationError
from shoal.pipeline import anonymize
from shoal.policy import Policy
from shoal.recipient.expand import FORMS, expand
from shoal.recipient.opening import open_release
from shoal.sklearn.boxes import Boxes, choose
from shoal.sklearn.tables import given_table, table_like
from shoal.verification.check import check_release
from shoal.verification.result import Verification

__all__ = ["Anonymizer"]

CELLS = "cells"
CUSTODIANS = ("release_", "_own_boxes")
"""What whoever fits an Anonymizer has, and whoever is given it has not."""


class Anonymizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Anonymise rows in a Pipeline.

    `fit` makes a release of the rows it gets, and `fit_transform` gives that release, verified,
    in the order of the rows. `transform` publishes other rows: each in one of the release's boxes
    that cover it, or as ``*`` in every column. What the release promises is promised for the
    rows it was made of; `check` says whether it holds among other rows, too, and refuses if not.

    Parameters
    ----------
    k
        Every row of the release is equal to at least k - 1 others.
    qi
        Columns that are generalised; all, if not given. Others need a role in `settings`:
        ``{"plain": ["height"]}`` stay as they are, ``{"rest": "plain"}`` all others do.
    form
        ``"cells"`` as they are published, or a form of `shoal.expand`: ``"midpoint"``,
        ``"mean"``, ``"bounds"``, ``"shares"``.
    method
        As for `shoal.anonymize`.
    settings
        Further settings of `shoal.anonymize`: ``{"sensitive": "disease", "l": 3}``.
    random_state
        What draws the seed. An int makes it public: whoever knows it knows more than he should.

    Attributes
    ----------
    release_
        The release: ``release_.write("release.csv")`` publishes it with its manifest. It is not
        saved with the estimator, nor are rows or the seed: a saved Anonymizer has its boxes.
    promises_
        What holds for the rows it was made of.

    Examples
    --------
    >>> import shoal, shoal.sklearn
    >>> people = shoal.datasets.census(500).select(["age", "gender"]).to_pandas()
    >>> learnt = shoal.sklearn.Anonymizer(k=5, method="hilbert").fit(people[:400])
    >>> rows = learnt.transform(people[400:])
    >>> len(rows)
    100
    """

    def __init__(
        self, k: int = 10, *, qi: Sequence[str] | None = None, form: str = CELLS,
        method: str = "best", settings: Mapping[str, Any] | None = None, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.k = k
        self.qi = qi
        self.form = form
        self.method = method
        self.settings = settings
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Anonymizer:
        """Make a release of the rows."""
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """The release itself, in the order of the rows."""
        kind = self._fit(X)
        return self._shown(self._own_boxes, self._others(self.release_.table), kind)

    def transform(self, X: Any) -> Any:
        """Rows in boxes of the release that cover them, or as stars."""
        check_is_fitted(self, "promises_")
        table, kind = given_table(self, X, fitting=False)
        parts = [
            choose(self._boxes.covering(part), self._lots(part))
            for part in self._boxes.parts(table)
        ]
        found = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        return self._shown(found, self._others(table), kind)

    def check(self, rows: Any) -> Verification:
        """Verify that rows which were published keep the promises among themselves.

        Raises `VerificationError` if they do not: then publish them together with the release,
        or fit a release of their own.
        """
        check_is_fitted(self, "promises_")
        from shoal.io.frames import to_arrow

        qi, models, policy = self._asked
        if not set(qi) <= set(getattr(rows, "columns", ())):
            raise PolicyError("check: expected a frame of published cells (form='cells')")
        found = check_release(to_arrow(rows)[0], qi, models, policy)
        if not found.holds:
            raise VerificationError(
                "check: these rows alone do not keep what the fitted release promises "
                f"({', '.join(self.promises_)}); publish them together with it, or fit anew"
            )
        return found

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns that `transform` gives."""
        check_is_fitted(self, "promises_")
        return np.array([*self._forms.column_names, *self._rest], dtype=object)

    def _fit(self, X: Any) -> str:
        if self.form != CELLS and (self.form not in FORMS or self.form == "samples"):
            known = ", ".join([CELLS, *(form for form in FORMS if form != "samples")])
            raise PolicyError(f"form: expected one of {known}; got {self.form!r}")
        table, kind = given_table(self, X, fitting=True, least=2)
        names = list(self.qi) if self.qi is not None else table.column_names
        settings = {**(self.settings or {}), "keep_order": True}
        if table.num_rows < self.k:
            raise ValueError(
                f"Found array with {table.num_rows} sample(s) while a minimum of k = {self.k} "
                "is required."
            )
        drawn = check_random_state(self.random_state).randint(2**31)
        seed = None if self.random_state is None else int(drawn)
        changed = [name for name in ("treat", "person_as", "weight_as") if name in settings]
        if changed:
            raise PolicyError(
                f"Anonymizer: {changed[0]} follows from all rows together, and further rows would "
                "be published without it; use shoal.anonymize"
            )
        policy = Policy.of(None, {**settings, "qi": names, "k": self.k, "method": self.method})
        release = anonymize(table, policy=policy, seed=seed, progress=False)
        if release.sensitive_table is not None or release.policy.reader:
            raise PolicyError("Anonymizer: one reader, and a release in one table")
        if release.table.num_rows != table.num_rows:
            raise PolicyError("Anonymizer: every row must be published (no max_suppressed by drop)")
        self.release_ = release
        self.promises_ = [str(check) for check in release.verification.checks]
        self._asked = (release.qi, release.models, release.policy)
        self._key = _key_of(release.seed)
        # What is published besides: no identifier, and nothing that the settings drop.
        self._rest = [name for name in release.table.column_names if name not in release.qi]
        self._learn(release, names)
        return kind

    def _learn(self, release: Any, names: Sequence[str]) -> None:
        """One row a box, and what it looks like in the form that is asked for."""
        from shoal.encoding.classes import class_ids, first_of_each
        from shoal.encoding.values import distinct_values

        keyed = [distinct_values(release.table.column(name), ()) for name in release.qi]
        ids, count = class_ids(
            [(c.codes + 1, len(c.values) + 1) for c in keyed], release.table.num_rows
        )
        rows = np.asarray(first_of_each(ids, count), dtype=np.int64)
        released = open_release(release, None, None, None, {}, asked_by="Anonymizer").released
        self._boxes = Boxes(released, names, rows)
        self._own_boxes = np.asarray(ids, dtype=np.int64)
        shown = release.table.select(release.qi)
        star = pa.table({name: pa.array([STAR]) for name in release.qi})
        texts = pa.table({name: shown[name].cast(pa.string()) for name in release.qi})
        both = pa.concat_tables([texts, star])
        if self.form != CELLS:
            both = expand(both, self.form, policy=release.policy)
        self._forms = both.take(pa.array([*rows.tolist(), shown.num_rows]))

    def _shown(self, boxes: NDArray[np.int64], others: pa.Table, kind: str) -> Any:
        """Boxes by number, -1 for none, with the columns that stay; as what came."""
        places = np.where(boxes < 0, self._forms.num_rows - 1, boxes)
        table = self._forms.take(pa.array(places))
        for name in others.column_names:
            table = table.append_column(name, others[name])
        return table_like(table, kind)

    def _others(self, table: pa.Table) -> pa.Table:
        return table.select(self._rest)

    def _lots(self, table: pa.Table) -> NDArray[np.float64]:
        """A lot for each row, by its values and the secret seed: equal rows draw alike."""
        columns = [table[column.name].to_pylist() for column in self._boxes.columns]
        lots = [
            int.from_bytes(
                blake2b(repr(row).encode(), digest_size=7, key=self._key).digest(), "big"
            )
            for row in zip(*columns, strict=True)
        ]
        return np.array(lots, dtype=np.float64) / 2.0**56

    def __getstate__(self) -> dict[str, Any]:
        """What is saved is handed on: boxes, and neither rows, their places nor the seed."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in CUSTODIANS}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _key_of(seed: int) -> bytes:
    """What lots are drawn with: of the seed, but the seed does not follow from it."""
    return blake2b(str(seed).encode(), digest_size=32, person=b"shoal lots").digest()
