"""``make bench``: every number the README and docs quote, printed as tables.

Every table that a part prints is kept in `results/PART.json` too.

Ratios are taken in one run on one machine; absolute seconds are for orientation.
Give names to run a part: ``python -m benchmarks partition loss end_to_end``.
"""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stdout
from importlib import import_module

from benchmarks.keeping import keep, tables_in

PARTS = [
    *("compile", "first_use", "partition", "loss", "order", "best", "bounds", "suppression"),
    *("readers", "pooling", "querying", "sources", "training"),
    *("risks", "attacks", "replaying", "attacks_round", "minimality"),
    *("clock", "end_to_end", "scale", "scale_rows", "series", "series_bound"),
]


class Said(io.StringIO):
    """What is printed, which is also shown."""

    def write(self, text: str) -> int:
        sys.__stdout__.write(text)
        sys.__stdout__.flush()
        return super().write(text)


def main() -> None:
    named = [name for name in sys.argv[1:] if not (name.startswith("-") or name.isdigit())]
    chosen = named or PARTS
    for name in chosen:
        if name not in PARTS:
            raise SystemExit(f"benchmarks: expected one of {', '.join(PARTS)}; got {name}")
        said = Said()
        with redirect_stdout(said):
            import_module(f"benchmarks.{name}").main()
        if found := tables_in(said.getvalue()):
            keep(name, found)


main()
