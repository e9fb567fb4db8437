"""Fixed tables x all methods x all models: the SHA-256 of each release, or how it is refused.

``python tests/golden.py`` writes ``tests/golden.json`` anew, with names those methods alone.
That is right only where a change is meant to change releases; what differs is printed, and
belongs into the message of the commit.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import shoal
from shoal.errors import ShoalError
from shoal.methods import METHODS, get_method

GOLDEN = Path(__file__).with_name("golden.json")

TREE = {"north": {"coast": ["ash", "birch"], "inland": ["cedar", "date"]}, "south": ["elm", "fir"]}
LEVELS = ["none", "school", "college", "degree"]

MODELS: dict[str, dict[str, Any]] = {
    "k=1": {"k": 1},
    "k=4": {"k": 4},
    "l=2": {"l": 2},
    "l=3": {"l": 3},
    "k=5,l=2": {"k": 5, "l": 2},
    "distinct-l=3": {"l": 3, "l_reading": "distinct"},
    "entropy-l=2.5": {"l": 2.5, "l_reading": "entropy"},
    "recursive-l=3,c=2": {"l": 3, "l_reading": "recursive", "c": 2},
    "unique-l=2": {"l": 2, "l_reading": "unique"},
    "m=2": {"m": 2},
    "k=3,alpha=0.4": {"k": 3, "alpha": 0.4},
    "t=0.35": {"t": 0.35},
    "beta=1.5": {"beta": 1.5},
    "basic-beta=1": {"beta": 1, "beta_reading": "basic"},
    "delta=1.5": {"delta": 1.5},
    "k=3,e=20": {"k": 3, "e": 20},
    "k=3,l=2,t=0.4": {"k": 3, "l": 2, "t": 0.4},
}
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "best": [{"effort": "instant", "bound": False}],
    "bsgi": [{}, {"option": {"search": "window"}}, {"option": {"select": "largest"}}],
    "butterfly": [{}, {"option": {"strategy": "paper"}}, {"option": {"inner": "mondrian"}}],
    "cover": [{}, {"option": {"family": "balls"}}],
    "hilbert": [{}, {"option": {"fast": True}}, {"option": {"frontier": True}}],
    "idistance": [{}, {"option": {"within": "curve"}}],
    "incognito": [{}],
    "mondrian": [{}, {"option": {"relaxed": True}}],
    "tds": [{}, {"option": {"score": "loss", "cautious": True}}],
    "topdown": [{}, {"option": {"join": "group"}}],
    "tp+": [{}, {"option": {"refine": "mondrian"}}],
    "union": [{}, {"option": {"inner": "mondrian"}}],
}


SLOW = {"attributes", "cover", "best", "butterfly"}
"""Methods that a table of 2,500 records would keep busy."""


def mixed(n: int, seed: int) -> pa.Table:
    """All kinds of attributes with missing values, two sensitive columns, and persons."""
    draw = random.Random(seed)

    def cells(values: list[Any], missing: float) -> list[Any]:
        return [None if draw.random() < missing else draw.choice(values) for _ in range(n)]

    days = [f"20{year:02}-{month:02}-11" for year in (19, 20, 21) for month in (1, 5, 9)]
    return pa.table(
        {
            "age": pa.array(cells(list(range(18, 60, 3)), 0.05), pa.int64()),
            "since": pa.array(cells(days, 0.0), pa.string()),
            "level": pa.array(cells(LEVELS, 0.05), pa.string()),
            "place": pa.array(cells(["ash", "birch", "cedar", "date", "elm", "fir"], 0.1)),
            "job": pa.array(cells(["nurse", "baker", "smith", "clerk"], 0.0)),
            "disease": pa.array(cells(list("stuvwxyz"), 0.02)),
            "income": pa.array(cells(list(range(0, 100, 7)), 0.0), pa.int64()),
            "who": pa.array([draw.randrange(2 * n // 3) for _ in range(n)]),
        }
    )


ROLES: dict[str, Any] = {
    "qi": ["age", "since", "level", "place", "job"],
    "sensitive": ["disease"],
    "kind": {"since": "date", "income": "numeric"},
    "rest": "plain",
    "order": {"level": LEVELS},
    "hierarchy": {"place": {"tree": TREE, "root": "anywhere"}, "job": "flat"},
}
CENSUS = ["age", "gender", "education", "marital", "country"]


def roles_with(*qi: str, **settings: Any) -> dict[str, Any]:
    """The roles of `mixed` with these quasi-identifiers."""
    trees = {name: tree for name, tree in ROLES["hierarchy"].items() if name in qi}
    return {**ROLES, "qi": list(qi), "hierarchy": trees, **settings}


def tables(method: str) -> Iterator[tuple[str, pa.Table, dict[str, Any]]]:
    """Tables with their settings; `optimal` gets one that it can solve."""
    if method == "optimal":
        yield "tiny", mixed(11, 5), roles_with("age", "place", "job")
        return
    yield "mixed", mixed(120, 1), ROLES
    two = {"sensitive": ["disease", "income"]}
    yield "two sensitive", mixed(90, 2), roles_with("age", "place", **two)
    yield "persons", mixed(110, 3), roles_with("age", "level", "place", person="who")
    coarse = {"coarsen": {"place": 1}, "weight": {"job": 2.5}}
    yield "few values", mixed(150, 4), roles_with("place", "job", **coarse)
    if method in SLOW:
        return
    people = shoal.datasets.census(2500, seed=3)
    roles = {"qi": CENSUS, "sensitive": ["occupation"], "rest": "plain"}
    roles["hierarchy"] = {"country": "flat"}
    yield "census", people, roles


def runs(method: str) -> Iterator[tuple[str, pa.Table, dict[str, Any]]]:
    """Every combination that is pinned: its name, the table and the settings."""
    recodings = (None, *get_method(method).recodings[1:])
    for name, table, roles in tables(method):
        for model, asked in MODELS.items():
            numeric = {"sensitive": ["income"]} if "e" in asked else {}
            if "e" in asked and "income" not in table.column_names:
                continue
            for option in OPTIONS.get(method, [{}]):
                for recoding in recodings:
                    label = json.dumps({**option, **({"recoding": recoding} if recoding else {})})
                    settings = {**roles, **numeric, **asked, **option, "recoding": recoding}
                    yield f"{name} | {model} | {label}", table, settings
    if method in {"butterfly", "union"}:
        yield from _readers(method)
    if method in {"hilbert", "mondrian", "bsgi", "tp"}:
        more = {**ROLES, "max_suppressed": "5%", "k": 4, "l": 2}
        for by in ("drop", "star"):
            yield f"outliers | {by}", mixed(120, 6), {**more, "suppress_by": by}
        yield "bounds", mixed(120, 6), {**ROLES, "k": 4, "l": 2, "layout": "bounds"}


def _readers(method: str) -> Iterator[tuple[str, pa.Table, dict[str, Any]]]:
    readers = {"a": ["age", "place", "job"], "b": ["level", "place", "since"]}
    roles = {name: value for name, value in ROLES.items() if name != "qi"}
    for collusion in ({}, {"collusion_k": 2}):
        for model in ("k=4", "l=2", "k=5,l=2", "t=0.35"):
            for option in OPTIONS[method]:
                settings = {**roles, **MODELS[model], **collusion, **option, "reader": readers}
                yield f"readers | {model} | {collusion} | {option}", mixed(160, 7), settings


def digest(method: str, table: pa.Table, settings: dict[str, Any]) -> str:
    """SHA-256 of the released files and of what verification and loss say; or the refusal."""
    try:
        release = shoal.anonymize(table, method=method, seed=0, **settings)
    except ShoalError as error:
        return type(error).__name__
    found = hashlib.sha256()
    with tempfile.TemporaryDirectory() as folder:
        target = release.write(Path(folder) / "release.csv")
        for file in sorted(target.parent.glob("*.csv")):
            found.update(file.read_bytes())
    said = [[c.model, c.column, c.reached, c.reader] for c in release.verification.checks]
    found.update(json.dumps([said, release.loss.to_dict()], sort_keys=True).encode())
    return found.hexdigest()


def digests(method: str) -> dict[str, str]:
    """The digest of every run of a method."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: digest(method, table, settings) for name, table, settings in runs(method)}


def main() -> None:
    before = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    chosen = sys.argv[1:] or sorted(METHODS)
    after = {**before, **{method: digests(method) for method in chosen}}
    for method, found in after.items():
        for name, value in found.items():
            if before.get(method, {}).get(name) != value:
                sys.stderr.write(f"{method}: {name}: {value}\n")
    GOLDEN.write_text(json.dumps(after, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
