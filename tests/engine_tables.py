"""The table that tests of engines release: people with odd towns, missing ages and notes."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa

TOWNS = ["Aachen", "Bonn", "Celle", "Düren, Rhein", 'E"ssen', "Fulda", "Gera", "Hamm"]
ROLES = {
    "qi": ["age", "town", "degree"],
    "sensitive": "disease",
    "plain": "note",
    "identifier": "name",
    "kind": {"degree": "ordinal"},
}


def people(n: int = 600, seed: int = 1, diseases: int = 12) -> pa.Table:
    rng = random.Random(seed)
    return pa.table(
        {
            "name": [f"p{i}" for i in range(n)],
            "age": [rng.choice([None, *range(18, 60)]) for _ in range(n)],
            "town": [rng.choice([*TOWNS, None]) for _ in range(n)],
            "degree": [rng.choice("abcd") for _ in range(n)],
            "disease": [f"d{rng.randrange(diseases)}" for _ in range(n)],
            "note": [rng.choice([None, 0.5, 1.5, 2.5, float("nan")]) for _ in range(n)],
        }
    )


def patients(n: int = 600, seed: int = 1, each: int = 3) -> pa.Table:
    """People with several records each, some of them without a name."""
    table = people(n, seed)
    rng = random.Random(seed)
    names = [rng.choice([None, ""]) if rng.random() < 0.01 else f"p{rng.randrange(n // each)}"
             for _ in range(n)]  # fmt: skip
    return table.set_column(0, "name", pa.array(names))


def crowded(n: int = 700, seed: int = 3) -> pa.Table:
    """People of whom, along the ages, some stretches have far more than a quarter flu."""
    table = people(n, seed)
    ages = table.column("age").to_pylist()
    rng = np.random.default_rng(seed)
    sick = [
        "flu" if rng.random() < (0.42 if (age or 0) > 38 else 0.05) else f"d{rng.integers(9)}"
        for age in ages
    ]
    return table.set_column(4, "disease", pa.array(sick))
