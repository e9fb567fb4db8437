"""A made-up census of any size, and trees for its columns."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import pyarrow as pa

from shoal.errors import InputError
from shoal.hierarchy import Hierarchy

__all__ = ["census", "census_hierarchies"]


def census(n: int = 10_000, seed: int = 0) -> pa.Table:
    """Generate a census with the nine attributes of the papers' CENSUS table.

    Domain sizes are those of Table 1 of Ghinita et al., VLDB 2007: ``age``
    (79, from 17), ``gender`` (2), ``education`` (17 levels), ``marital`` (6),
    ``race`` (9), ``workclass`` (10), ``country`` of birth (83) are
    quasi-identifiers; ``occupation`` (50) and ``salary`` (50 classes) are
    sensitive. Values are skewed and depend on one another roughly as they do
    among working people in the United States. No occupation has more than
    about 6% of the records and no salary class more than about 4%.

    Parameters
    ----------
    n
        Number of records.
    seed
        Non-negative integer. Equal n and seed give equal tables; for equal
        seeds a shorter table is the beginning of a longer one.

    Returns
    -------
    pyarrow.Table
        ``age``, ``education``, ``salary`` as int32, the others as
        dictionary-encoded strings.
    """
    for name, number in (("n", n), ("seed", seed)):
        if isinstance(number, bool) or not isinstance(number, Integral) or number < 0:
            raise InputError(f"census: {name} must be a non-negative integer, got {number!r}")
    from shoal.datasets.generator import generate

    return generate(int(n), int(seed))


def census_hierarchies() -> dict[str, Hierarchy]:
    """Trees for the census columns, with the levels of the papers' Table 1.

    Gender and race have 2 levels, marital status and country 3, work class 4.
    """
    from shoal.datasets import frequencies as tables

    flat = {"gender": tables.GENDERS, "race": tables.RACES}
    nested: dict[str, Mapping[str, Any]] = {
        "marital": tables.MARITAL,
        "workclass": tables.WORKCLASSES,
        "country": tables.REGIONS,
    }
    return {
        **{name: Hierarchy.flat(values, f"census {name}") for name, values in flat.items()},
        **{name: Hierarchy.from_tree(t, source=f"census {name}") for name, t in nested.items()},
    }
