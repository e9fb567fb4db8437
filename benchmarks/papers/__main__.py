"""``make papers``: the papers' figures as tables on stdout and as pictures.

    python -m benchmarks.papers [--full] [--out FOLDER] [FIGURE ...]

Figures are named paper.figure, for example 004.16. Without names all are made;
without --full on fewer points, in a few minutes.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from benchmarks.papers import paper000, paper002, paper003, paper004

PAPERS = {
    "000": paper000.FIGURES,
    "002": paper002.FIGURES,
    "003": paper003.FIGURES,
    "004": paper004.FIGURES,
}


def main() -> None:
    known = [f"{paper}.{figure}" for paper, figures in PAPERS.items() for figure in figures]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument("figures", nargs="*", help=f"of {', '.join(known)}")
    parser.add_argument("--full", action="store_true", help="every point of every figure")
    parser.add_argument("--out", type=Path, default=Path("build/papers"), help="for pictures")
    arguments = parser.parse_args()
    begin = time.perf_counter()
    for name in arguments.figures or known:
        if name not in known:
            parser.error(f"expected figures of {', '.join(known)}; got {name}")
        paper, figure = name.split(".")
        for panel in PAPERS[paper][figure](arguments.full):
            panel.show(f"paper{paper}")
            panel.draw(arguments.out / paper)
    print(f"\n{time.perf_counter() - begin:.0f} s; pictures in {arguments.out}")


main()
