"""Shoal inside scikit-learn: anonymise and expand as steps of a Pipeline.

`Anonymizer` learns a release and publishes further rows in its boxes; `expand` gives a
transformer that makes a released table one of plain values. Needs the extra ``sklearn``.
"""

from __future__ import annotations

try:
    import sklearn  # noqa: F401
except ImportError:  # pragma: no cover
    raise ImportError("shoal.sklearn needs scikit-learn: pip install 'shoal[sklearn]'") from None

from shoal.sklearn.anonymizer import Anonymizer
from shoal.sklearn.expander import Expander, expand

__all__ = ["Anonymizer", "Expander", "expand"]
