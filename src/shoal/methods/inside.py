"""Options that name a method which works inside another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from shoal.methods import METHODS, get_method, methods_where
from shoal.methods.base import Method

__all__ = ["naming"]


def naming(able: Callable[[Method[Any]], bool]) -> AfterValidator:
    """For the type of an option: it names one of the methods that are able to do the work."""

    def check(name: str) -> str:
        if name in METHODS and able(get_method(name)):
            return name
        known = ", ".join(sorted(methods_where(able)))
        raise PydanticCustomError("method", f"expected one of {known}; got {name!r}")

    return AfterValidator(check)
