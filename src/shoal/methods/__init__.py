"""Methods by name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from shoal.errors import PolicyError

if TYPE_CHECKING:
    from shoal.methods.base import Method

__all__ = ["METHODS", "get_method"]

METHODS = {
    "anatomy": "shoal.methods.anatomy:Anatomy",
    "attributes": "shoal.methods.attributes:Attributes",
    "best": "shoal.methods.best.method:Best",
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
    "union": "shoal.methods.union:Union",
}
"""Name to "module:class": importing the registry compiles and imports nothing else."""


def get_method(name: str) -> Method:
    """The method registered as `name`; an unknown name lists the valid ones."""
    if name not in METHODS:
        known = ", ".join(sorted(METHODS))
        raise PolicyError(f"method: expected one of {known}; got {name!r}")
    module, attribute = METHODS[name].split(":")
    method: Method = getattr(import_module(module), attribute)()
    return method
