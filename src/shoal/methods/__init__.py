"""Methods by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shoal.errors import PolicyError, did_you_mean

if TYPE_CHECKING:
    from shoal.methods.base import Method
    from shoal.models.base import Model

__all__ = ["METHODS", "default_for", "get_method", "load", "methods_where"]

METHODS = {
    "anatomy": "shoal.methods.anatomy:Anatomy",
    "attributes": "shoal.methods.attributes:Attributes",
    "best": "shoal.methods.best.method:Best",
    "blind": "shoal.methods.blind.method:Blind",
    "bsgi": "shoal.methods.bsgi:BSGI",
    "butterfly": "shoal.methods.butterfly.method:Butterfly",
    "cover": "shoal.methods.cover:Cover",
    "hilbert": "shoal.methods.hilbert:Hilbert",
    "idistance": "shoal.methods.papers.idistance:IDistance",
    "incognito": "shoal.methods.incognito:Incognito",
    "mondrian": "shoal.methods.mondrian:Mondrian",
    "optimal": "shoal.methods.optimal:Optimal",
    "tds": "shoal.methods.papers.tds:TDS",
    "topdown": "shoal.methods.papers.topdown:TopDown",
    "tp": "shoal.methods.tp:TP",
    "tp+": "shoal.methods.tpplus:TPPlus",
    "union": "shoal.methods.papers.union:Union",
}
"""Name to "module:class": importing the registry compiles and imports nothing else."""


def get_method(name: str) -> Method[Any]:
    """The method registered as `name`; an unknown name lists the valid ones."""
    if name not in METHODS:
        known = ", ".join(sorted(METHODS))
        hint = did_you_mean(name, METHODS)
        raise PolicyError(f"method: expected one of {known}; got {name!r}{hint}")
    method: Method[Any] = load(METHODS[name])()
    return method


def methods_where(holds: Callable[[Method[Any]], bool]) -> list[str]:
    """Names of the methods that declare something; this imports all of them."""
    return [name for name in METHODS if holds(get_method(name))]


def default_for(models: Sequence[Model], readers: bool) -> str:
    """The method where none is named: the first default that can promise the models.

    If none can, the first: it then says why. Methods are imported as far as that one only.
    """
    first = None
    for name in METHODS:
        method = get_method(name)
        if method.default and method.for_readers == readers:
            if not method.refusal(models):
                return name
            first = first or name
    assert first is not None
    return first


def load(place: str) -> Any:
    """What stands at a place "module:name", imported when it is asked for."""
    module, name = place.split(":")
    return getattr(import_module(module), name)
