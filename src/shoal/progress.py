"""Who is told how far the work is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Protocol

__all__ = ["Progress", "Report", "reporting", "silent"]

Progress = Callable[..., None]
"""Called as ``progress(stage, done, total)``, with ``loss`` too if it has such a parameter."""


class Report(Protocol):
    """Who is told how far the work is and, where a method improves on it, the loss so far."""

    def __call__(
        self, stage: str, done: float, total: float, loss: float | None = None
    ) -> None: ...


def silent(stage: str, done: float, total: float, loss: float | None = None) -> None:
    """Progress that nobody watches."""


def reporting(progress: Progress | None) -> Report:
    """A report that hands the loss on to those who take it."""
    if progress is None:
        return silent
    try:
        told_the_loss = "loss" in inspect.signature(progress).parameters
    except (TypeError, ValueError):  # some callables of C do not say what they take
        told_the_loss = False
    if told_the_loss:
        return lambda stage, done, total, loss=None: progress(stage, done, total, loss=loss)
    return lambda stage, done, total, loss=None: progress(stage, done, total)
