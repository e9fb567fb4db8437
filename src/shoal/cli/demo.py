"""``shoal demo``: made-up people, their release, and its proof on one screen."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.output import output_options, print_json, progress_bar
from shoal.cli.preparing import prepare, preparing
from shoal.errors import OutputError
from shoal.policy import Policy

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console, OverflowMethod
    from rich.table import Table

    from shoal.explore.inspection import Inspection
    from shoal.release import Release
    from shoal.verification.check import Verification

PEOPLE = 5000
QI = ("age", "gender", "education", "marital", "country")
SENSITIVE = "occupation"
TREES = ("marital", "country")
MARK = "# Written by `shoal demo`."
ROWS_BEFORE = 3
ROWS_AFTER = 4
BAR = 14
ROOM = 60
"""Width of quasi-identifiers that leaves room for an occupation in 80 columns."""
WIDTH_WITHOUT_TERMINAL = 100
QUICKEST = "hilbert"
"""What a demo is made by where the default method would have to be compiled first."""
FIRST_TIME = (
    f"This first time by {QUICKEST}, the quickest method. The default, best, loses less. "
    "It is prepared now, once, for your own tables; Ctrl-C leaves that to the first release."
)

FIRST_NAMES = {
    "Female": "Ada Bea Cleo Dina Elsa Fay Gwen Hana Ines Jana Kira Lena Mira Nora Olga Pia Rosa "
    "Sara Tess Vera",
    "Male": "Abel Bert Carl Dan Emil Finn Gus Hugo Ivan Jonas Karl Leo Max Nils Otto Paul Rolf "
    "Sam Theo Walt",
}
LAST_NAMES = (
    "Alder Birch Brook Cliff Cove Dale Delta Dune Elm Fern Field Fjord Ford Glen Grove Hazel "
    "Heath Hill Isle Lake Larch Marsh Mead Moor Oak Pine Pond Reed Reef Ridge Rowan Sand Shore "
    "Sound Stone Stream Vale Wells Willow Wood"
)


@dataclass(frozen=True)
class Demo:
    """What was made, and what the screen tells about it."""

    directory: Path
    before: Inspection
    release: Release
    proof: Verification
    """From the written file, read again."""
    people: pa.Table
    """A few rows of the input; the first is the person the screen follows."""
    companions: pa.Table
    """The released class that this person is in."""
    files: tuple[Path, ...]


@click.command(short_help="See a release made and proven in a few seconds.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("shoal-demo"),
    show_default=True,
    help="Directory to write to.",
)
@output_options
def demo(out: Path, quiet: bool, as_json: bool) -> None:
    """Make up 5,000 people, release them with k = 10 and l = 3, and prove it.

    Writes the table, the policy, the release, its manifest and its record to a
    directory of its own, and shows the commands that do the same.
    """
    _check_directory(out)
    from shoal.kernels.compiling.wanted import missing
    from shoal.warm import WORTH_A_PROCESS, usual

    # Whoever sees this for the first time should not wait for a compiler.
    later = (usual("best", True), usual("best", True, "trees"))
    method = QUICKEST if len(missing(*later)) >= WORTH_A_PROCESS else None
    names = later if method is None else (usual(method, True), usual(method, True, "trees"))
    with progress_bar(quiet) as report, preparing(names, report):
        made = make(out, report, method)
    if as_json:
        print_json(_as_dict(made))
    elif not quiet:
        _show(made)
        if method is not None:
            click.echo(f"\n{FIRST_TIME}")
            prepare(later, quiet)


def make(
    directory: Path, report: Callable[[str, float, float], None], method: str | None = None
) -> Demo:
    """Write the demo's files and gather what there is to show."""
    from shoal.explore.inspection import inspect
    from shoal.io.paths import manifest_path, record_path
    from shoal.io.write import write_table
    from shoal.pipeline import anonymize
    from shoal.verification.files import verify

    table, release_file = directory / "people.csv", directory / "release.csv"
    policy_file = directory / "shoal.toml"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        people = _people()
        write_table(people, table)
        trees = _write_policy(policy_file)
    except OSError as error:
        raise OutputError(f"{directory}: cannot be written: {error.strerror or error}") from None
    chosen: dict[str, Any] = {} if method is None else {"method": method}
    release = anonymize(table, policy_file, progress=report, **chosen)
    release.write(release_file)
    proof = verify(release_file)
    proof.raise_if_failed()
    # The same release in the order of the input tells who is where. It never leaves this process.
    aligned = anonymize(
        table, policy_file, keep_order=True, bound=False, seed=release.seed, **chosen
    )
    shown, companions = _chosen(people, aligned)
    return Demo(
        directory=directory,
        before=inspect(table),
        release=release,
        proof=proof,
        people=shown,
        companions=companions,
        files=(
            *(table, policy_file, *trees, release_file),
            *(manifest_path(release_file), record_path(release_file)),
        ),
    )


def _check_directory(directory: Path) -> None:
    """A demo replaces its own files only."""
    if directory.exists() and not directory.is_dir():
        raise OutputError(f"{directory}: is a file; expected a directory, or a name that is free")
    policy = directory / "shoal.toml"
    own = policy.is_file() and policy.read_text("utf-8", errors="replace").startswith(MARK)
    if directory.is_dir() and any(directory.iterdir()) and not own:
        raise OutputError(f"{directory}: is not empty; choose another directory with --out")


def _people() -> pa.Table:
    """A census with names that nobody has."""
    import numpy as np

    from shoal.datasets import census

    table = census(PEOPLE).select([*QI, SENSITIVE])
    random = np.random.default_rng(0)
    last = random.choice(LAST_NAMES.split(), PEOPLE)
    initial = random.choice(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), PEOPLE)
    place = random.integers(0, 20, PEOPLE)
    firsts = {gender: names.split() for gender, names in FIRST_NAMES.items()}
    names = [
        f"{firsts[gender][i]} {middle}. {family}"
        for gender, i, middle, family in zip(
            table.column("gender").to_pylist(), place, initial, last, strict=True
        )
    ]
    return table.add_column(0, "name", [names])


def _write_policy(path: Path) -> list[Path]:
    from shoal.datasets import census_hierarchies

    trees = census_hierarchies()
    files = [path.with_name(f"{name}.csv") for name in TREES]
    for name, file in zip(TREES, files, strict=True):
        trees[name].to_arx_csv(file)
    policy = Policy.parse(
        identifier="name",
        qi=list(QI),
        sensitive=SENSITIVE,
        k=10,
        l=3,
        hierarchy={name: file.name for name, file in zip(TREES, files, strict=True)},
    )
    path.write_text(f"{MARK}\n{policy.to_toml()}", encoding="utf-8")
    return files


def _chosen(people: pa.Table, aligned: Release) -> tuple[pa.Table, pa.Table]:
    """People to show: alone before, and in a class that shows what generalising does."""
    originals = list(zip(*(people.column(n).to_pylist() for n in QI), strict=True))
    released = list(zip(*(aligned.table.column(n).to_pylist() for n in QI), strict=True))
    jobs = people.column(SENSITIVE).to_pylist()
    alone, sizes = Counter(originals), Counter(released)

    def dullness(row: int) -> tuple[int, bool, int, int, int]:
        texts = released[row]
        unchanged = sum(str(a) == b for a, b in zip(originals[row], texts, strict=True))
        width = sum(max(len(text), len(name)) for text, name in zip(texts, QI, strict=True))
        return texts.count("*"), width > ROOM, unchanged, sizes[texts], len(jobs[row])

    candidates = sorted((r for r, q in enumerate(originals) if alone[q] == 1), key=dullness)
    first = candidates[0]
    others = _first_of_each(candidates, released.__getitem__)[1:ROWS_BEFORE]
    companions = [row for row, texts in enumerate(released) if texts == released[first]]
    # Different and short occupations come first: only a few rows are shown.
    companions.sort(key=lambda row: len(jobs[row]))
    different = _first_of_each(companions, jobs.__getitem__)
    companions.sort(key=lambda row: row not in different)
    return people.take([first, *others]), aligned.table.take(companions)


def _first_of_each(rows: list[int], key: Callable[[int], Any]) -> list[int]:
    first: dict[Any, int] = {}
    for row in rows:
        first.setdefault(key(row), row)
    return list(first.values())


def _commands(directory: Path) -> list[str]:
    def at(name: str) -> str:
        return shlex.quote(str(directory / name))

    return [
        f"shoal inspect {at('people.csv')}",
        f"shoal anonymize {at('people.csv')} -o release.csv --policy {at('shoal.toml')}",
        "shoal verify release.csv",
    ]


def _as_dict(made: Demo) -> dict[str, Any]:
    return {
        "directory": str(made.directory),
        "files": [str(file) for file in made.files],
        "before": {
            "records": made.before.rows,
            "unique": made.before.unique,
            "in_classes_below_5": made.before.small,
        },
        "after": made.proof.to_dict(),
        "loss": made.release.loss.to_dict(),
        "commands": _commands(made.directory),
    }


def _show(made: Demo) -> None:
    from rich.console import Console

    width = None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL
    console = Console(highlight=False, width=width)
    _show_before(made, console)
    _show_after(made, console)
    _show_loss_and_proof(made, console)
    _heading(console, "FILES", f"in {made.directory}")
    console.print("  people.csv   the table    shoal.toml   the policy (marital.csv, country.csv)")
    console.print("  release.csv  the release  release.csv.manifest.json   what it claims")
    console.print("  release.csv.record.json   seed and exact numbers: keep it to yourself")
    _heading(console, "THE SAME BY HAND", "and then with your own table")
    for command in _commands(made.directory):
        console.print(f"  {command}", markup=False, soft_wrap=True)


def _heading(console: Console, title: str, text: str) -> None:
    from rich.text import Text

    console.print(Text.assemble((f"{title}  ", "bold cyan"), text))


def _show_before(made: Demo, console: Console) -> None:
    count = f"{made.before.unique:,} of {made.before.rows:,} made-up people"
    _heading(console, "BEFORE", f"{count} are unique, even without their names:")
    console.print(_rows(made.people, console, first_style="bold yellow"))
    console.print()


def _show_after(made: Demo, console: Console) -> None:
    name = made.people.column("name")[0].as_py()
    size = made.companions.num_rows
    smallest = int(made.proof.class_sizes.min())
    _heading(console, "AFTER", f"in each class at least {smallest} look alike. {name}'s class:")
    console.print(_rows(made.companions.slice(0, ROWS_AFTER), console))
    jobs = len(set(made.companions.column(SENSITIVE).to_pylist()))
    more = f"  ... {size - ROWS_AFTER} more like these: {size} people, {jobs} occupations"
    console.print(f"{more}, one of {made.proof.classes:,} classes\n", style="dim")


def _rows(table: pa.Table, console: Console, first_style: str = "") -> Table:
    from rich.table import Table
    from rich.text import Text

    overflow: OverflowMethod = "crop" if console.options.ascii_only else "ellipsis"
    gap = 2 if console.width > 90 else 1
    shown = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="dim")
    shown.add_column()
    for name in table.column_names:
        widest = max(len(name), *(len(str(cell)) for cell in table.column(name).to_pylist()))
        kept = None if name == SENSITIVE else widest  # the last column gives way
        shown.add_column(name, no_wrap=True, overflow=overflow, min_width=kept)
    for number, row in enumerate(table.to_pylist()):
        style = first_style if number == 0 else ""
        shown.add_row("", *(Text(str(cell), style=style) for cell in row.values()))
    return shown


def _show_loss_and_proof(made: Demo, console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    full, empty, tick = ("#", ".", "+") if console.options.ascii_only else ("█", "░", "✓")
    loss = made.release.loss
    left = [Text.assemble(("LOSS  ", "bold cyan"), f"{loss.gcp:.1%} of the detail")]
    for name, share in loss.ncp.items():
        filled = round(share * BAR)
        bar = ((full * filled, "yellow"), (empty * (BAR - filled), "dim"))
        left.append(Text.assemble(f"  {name:<10}", *bar, f" {share:>6.1%}"))
    right = [Text.assemble(("PROOF  ", "bold cyan"), "read again from release.csv")]
    for check in made.proof.checks:
        about = f" on {check.column}" if check.column else ""
        line = f" {check.asked}{about}, reached {check.reached}"
        right.append(Text.assemble((tick, "bold green"), line))
    policy = made.release.policy
    right += [
        Text(""),
        Text(f"k: at least {policy.k} people in every class", style="dim"),
        Text(f"l: no {SENSITIVE} in more than 1/{policy.l} of a class", style="dim"),
    ]
    both = Table.grid(padding=(0, 3, 0, 0))
    for a, b in zip_longest(left, right, fillvalue=Text("")):
        both.add_row(a, b)
    console.print(both)
    console.print()
