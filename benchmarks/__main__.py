"""``make bench``: every number the README and docs quote, printed as tables.

Ratios are taken in one run on one machine; absolute seconds are for orientation.
Give names to run a part: ``python -m benchmarks partition loss end_to_end``.
"""

from __future__ import annotations

import sys
from importlib import import_module

PARTS = ["first_use", "partition", "loss", "order", "best", "bounds", "suppression", "end_to_end"]


def main() -> None:
    chosen = [name for name in sys.argv[1:] if not name.startswith("-")] or PARTS
    for name in chosen:
        if name not in PARTS:
            raise SystemExit(f"benchmarks: expected one of {', '.join(PARTS)}; got {name}")
        import_module(f"benchmarks.{name}").main()


main()
