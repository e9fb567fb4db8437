"""Reports and pictures of finished work. Needs the extra ``report``: ``pip install shoal[report]``.

>>> from shoal.report import report
>>> report("release.csv").ok  # doctest: +SKIP
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.report.blocks import Report
    from shoal.report.making import report, write_report

__all__ = ["Report", "report", "write_report"]

_HOMES = {"Report": "blocks", "report": "making", "write_report": "making"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"shoal.report.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'shoal.report' has no attribute {name!r}")
