"""The rooms of the house: what each is for, which may know which, and a picture of them.

``python tests/rooms.py`` draws ``docs/architecture.svg`` anew, from the imports in the
source. `tests/test_architecture.py` holds the order of the layers, and that the picture
is the one that the source gives.
"""

from __future__ import annotations

import ast
from functools import cache
from html import escape
from pathlib import Path
from textwrap import wrap

SOURCE = Path(__file__).resolve().parents[1] / "src" / "shoal"
PICTURE = SOURCE.parents[1] / "docs" / "architecture.svg"

LAYERS: list[dict[str, str]] = [
    {"cli": "the commands; thin: they call the rooms below"},
    {"studio": "the same in a browser, on one's own machine"},
    {"report": "what a release promises, risks and loses, as a page; charts"},
    {
        "sklearn": "steps of a scikit-learn Pipeline",
        "explore": "for those who choose: what is in a table, which hierarchy, which method",
        "attacks": "what attackers get, beside guessing and a control",
        "risks": "how likely somebody is picked out, before and after",
    },
    {
        "pipeline": "anonymize(): the flow on one screen",
        "spark": "anonymize() of data frames of a cluster",
        "rehearsal": "what a run would do",
        "recipient": "counts in a release, with bounds",
        "joining": "what several releases give away together",
        "series": "releases of a table that changes, safe together",
    },
    {
        "engines": "where the work is done: in memory, in files, in a cluster",
        "release": "a finished release: table, loss, proof",
        "summary": "a release in words",
        "panel": "a release on a panel of a notebook",
    },
    {
        "plan": "all choices, resolved before data is read",
        "bounds": "what no release can undercut",
    },
    {
        "methods": "algorithms that put records into groups",
        "verification": "does the released text keep its promises? knows no method",
        "released": "what a released file says: its cells and columns",
    },
    {
        "models": "promises, each checked on class histograms",
        "metrics": "loss, and accuracy of queries",
    },
    {
        "encoding": "values into codes and back: codebook, table, released texts",
        "datasets": "tables to try things on",
    },
    {
        "policy": "what a run is asked for",
        "hierarchy": "trees of values",
        "io": "tables in and out: files, data frames",
        "warm": "kernels compiled ahead, by several processes",
    },
    {
        "kernels": "compiled loops over arrays, by owner",
        "model_settings": "what models are asked by",
        "report_fields": "what a policy says for the report",
        "roles": "which column is what, for whom",
        "release_parts": "what a release says besides its table",
        "thresholds": "risks that are tolerated, and the k of each",
        "naming": "what names of columns say",
        "notation": "how dates and numbers are written",
        "treatments": "what is done to plain numbers",
        "quantities": "times, shares and steps as they are written",
        "effort": "what an effort spends",
        "clock": "until when work may go on",
        "progress": "who is told how far it is",
        "watching": "how far it is, shown",
        "glossary": "words of our own, explained",
        "errors": "all errors, in one tree",
        "_version": "the version",
    },
]
"""From top to bottom: a room knows those below it, and not the other way round."""
DEPTH = {room: number for number, layer in enumerate(reversed(LAYERS)) for room in layer}
"""How far above the ground each room is."""

STEPS = {
    "io": "read, write",
    "encoding": "encode, recode",
    "methods": "partition",
    "verification": "verify",
    "metrics": "measure",
}
"""The way of the data: which room does which step of the flow."""

SMALL = {"_version"}
"""Too small for a box of its own."""

WIDTH, MARGIN, GAP = 1000, 24, 16
ROW, SPACE, TOP = 62, 26, 74
INK, PALE, LINE, PAPER, ACCENT = "#222222", "#6B6B6B", "#C9CED3", "#FFFFFF", "#0072B2"
FONT = "Helvetica Neue, Helvetica, Arial, sans-serif"


def modules() -> list[Path]:
    """All files of the package but its front doors."""
    doors = {SOURCE / "__init__.py", SOURCE / "__main__.py"}
    return sorted(p for p in SOURCE.rglob("*.py") if p not in doors)


def home(path: Path) -> str:
    """The room of a file: the first part of its name under shoal."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def imports(path: Path) -> frozenset[str]:
    """Rooms that a file imports when it runs."""
    found = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("shoal"):
            parts = (node.module or "").split(".")
            found.update([parts[1]] if len(parts) > 1 else [alias.name for alias in node.names])
        if isinstance(node, ast.Import):
            found.update(a.name.split(".")[1] for a in node.names if a.name.startswith("shoal."))
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return frozenset(found - {"__version__"})


@cache
def imports_of(room: str) -> frozenset[str]:
    """Other rooms that a room imports."""
    files = (path for path in modules() if home(path) == room)
    return frozenset().union(*map(imports, files)) - {room}


def rooms() -> list[str]:
    """Rooms with a box, from top to bottom."""
    known = {home(path) for path in modules()}
    return [room for layer in LAYERS for room in layer if room in known and room not in SMALL]


def essential(room: str) -> list[str]:
    """Imports of a room that do not follow from its other imports: the lines worth drawing."""
    direct = imports_of(room)
    return sorted(a for a in direct if not any(a in below(b) for b in direct if b != a))


@cache
def below(room: str) -> frozenset[str]:
    """All that a room knows, directly or not."""
    direct = imports_of(room)
    return direct.union(*map(below, direct))


def boxes() -> dict[str, tuple[float, float, float]]:
    """Left edge, top and width of every room."""
    found = {}
    shown = [[room for room in layer if room in rooms()] for layer in LAYERS]
    for row, layer in enumerate(filter(None, shown)):
        width = min(300.0, (WIDTH - 2 * MARGIN - GAP * (len(layer) - 1)) / len(layer))
        left = (WIDTH - width * len(layer) - GAP * (len(layer) - 1)) / 2
        for number, room in enumerate(layer):
            found[room] = (left + number * (width + GAP), TOP + row * (ROW + SPACE), width)
    return found


def picture() -> str:
    """The house as SVG."""
    placed = boxes()
    height = max(top for _, top, _ in placed.values()) + ROW + MARGIN
    lines = [
        _line(placed[room], placed[other])
        for room in placed
        for other in essential(room)
        if other in placed
    ]
    texts = [_box(room, *place) for room, place in placed.items()]
    about = "Rooms of Shoal from the command line on top to the compiled kernels at the bottom"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'font-family="{FONT}" role="img" aria-label="{about}">\n'
        f'<rect width="100%" height="100%" fill="{PAPER}"/>\n'
        f'<text x="{MARGIN}" y="30" font-size="18" font-weight="bold" fill="{INK}">'
        "A room knows the rooms below it, never those above</text>\n"
        f'<text x="{MARGIN}" y="50" font-size="13" fill="{PALE}">'
        f'In <tspan fill="{ACCENT}" font-weight="bold">blue</tspan>, the way of the data: '
        "read, encode, partition, recode, verify, measure, write. "
        "Lines are imports that do not follow from others.</text>"
    )
    return "\n".join([head, *lines, *texts, "</svg>", ""])


def _line(upper: tuple[float, float, float], lower: tuple[float, float, float]) -> str:
    x1, y1 = upper[0] + upper[2] / 2, upper[1] + ROW
    x2, y2 = lower[0] + lower[2] / 2, lower[1]
    bend = (y2 - y1) / 2
    path = (
        f"M{x1:.0f},{y1:.0f} C{x1:.0f},{y1 + bend:.0f} {x2:.0f},{y2 - bend:.0f} {x2:.0f},{y2:.0f}"
    )
    return f'<path d="{path}" fill="none" stroke="{LINE}" stroke-width="1.5"/>'


def _box(room: str, left: float, top: float, width: float) -> str:
    step = STEPS.get(room)
    edge, thick = (ACCENT, 2) if step else (LINE, 1.5)
    layer = next(layer for layer in LAYERS if room in layer)
    sentence = wrap(layer[room], max(12, int((width - 20) / 5.9)))
    files = sum(home(path) == room for path in modules())
    size = "" if files == 1 else f'<tspan font-size="10" fill="{PALE}">  {files} modules</tspan>'
    parts = [
        f'<rect x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{ROW}" rx="6" '
        f'fill="{PAPER}" stroke="{edge}" stroke-width="{thick}"/>',
        f'<text x="{left + 10:.0f}" y="{top + 20:.0f}" font-size="14" fill="{INK}">'
        f'<tspan font-weight="bold">{room}</tspan>{size}</text>',
    ]
    if step:
        parts.append(_text(left + width - 10, top + 20, step, ACCENT, 12, bold=True, end=True))
    parts += [
        _text(left + 10, top + 38 + 14 * i, line, PALE, 11.5) for i, line in enumerate(sentence[:2])
    ]
    return "\n".join(parts)


def _text(
    x: float,
    y: float,
    text: str,
    colour: str,
    size: float,
    *,
    bold: bool = False,
    end: bool = False,
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    anchor = ' text-anchor="end"' if end else ""
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{colour}"{weight}{anchor}>'
        f"{escape(text)}</text>"
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
