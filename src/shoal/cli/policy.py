"""``shoal policy``: start a policy file from a table, and look at one."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.groups import NearestGroup
from shoal.cli.output import check_new_file, notice, output_options, print_json, progress_bar
from shoal.cli.places import TABLE
from shoal.cli.settings import dialect_options
from shoal.policy import Policy

if TYPE_CHECKING:
    from shoal.explore.inspection import Column, Inspection
    from shoal.io.addresses import Place

Line = tuple[bool, str, str]
"""Whether it is in force or commented out, the setting, and what to say beside it."""


@click.group(cls=NearestGroup, short_help="Work with policy files.")
def policy() -> None:
    """Work with policy files: roles, models and method of a release in one TOML file."""


@policy.command(short_help="Write a commented policy for a table.")
@click.argument("file", type=TABLE)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    default=Path("shoal.toml"),
    show_default=True,
    help="The policy file to write.",
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--missing", metavar="TEXT", multiple=True, help="Text that means missing.")
@dialect_options
@output_options
def init(
    file: Place,
    out: Path,
    force: bool,
    missing: tuple[str, ...],
    quiet: bool,
    as_json: bool,
    **dialect: str | None,
) -> None:
    """Write a commented policy for the table in FILE, from what `shoal inspect` proposes.

    \b
    shoal policy init people.csv
    shoal anonymize people.csv -o release.csv --policy shoal.toml
    """
    check_new_file(file, out, "policy", force)
    from shoal.explore.inspection import inspect
    from shoal.io.together import atomic_file

    with progress_bar(quiet) as report:
        report("read", 0, 1)
        found = inspect(file, ("", *missing), **dialect)
    with atomic_file(out) as temporary:
        temporary.write_text(policy_text(found, file, out), encoding="utf-8")
    for hint in found.hints:
        notice(hint, quiet)
    if as_json:
        print_json({"policy": str(out), "settings": Policy.load(out).settings()})
    elif not quiet:
        click.echo(f"wrote {out}: check each role, then run")
        click.echo(f"  {_next_command(file, out)}")


@policy.command(short_help="Check a policy file; show its settings.")
@click.argument("file", type=click.Path(path_type=Path), default=Path("shoal.toml"))
@output_options
def show(file: Path, quiet: bool, as_json: bool) -> None:
    """Check a policy file [shoal.toml] and show its effective settings."""
    settings = Policy.load(file)
    from shoal.models import models_of

    models = [str(model) for model in models_of(settings)]
    if as_json:
        print_json({"settings": settings.model_dump(mode="json"), "models": models})
    elif not quiet:
        click.echo(settings.to_toml().rstrip())
        click.echo(f"\n# asks for {', '.join(models)}; everything else is as by default")


def _next_command(file: Place, out: Path) -> str:
    return f"shoal anonymize {_shell(file)} -o release.csv --policy {_shell(out)}"


def _shell(path: Place) -> str:
    return shlex.quote(str(path))


def policy_text(found: Inspection, file: Place, out: Path) -> str:
    """A commented policy file from an inspection; read back it is `Inspection.policy`."""
    return "\n".join([*_head(found, file, out), *_roles(found), *_models(found), *_tables(found)])


def _head(found: Inspection, file: Place, out: Path) -> Iterator[str]:
    yield f"# Policy for {_one_line(file.name)}, proposed from its {found.rows:,} records."
    yield "# Check each role: a column's name and its counts cannot tell all. Then run"
    yield f"#   {_one_line(_next_command(file, out))}"
    yield ""


def _roles(found: Inspection) -> Iterator[str]:
    proposal = found.policy()
    by_role = {
        role: [column for column in found.columns if column.role == role]
        for role in ("identifier", "person", "qi", "sensitive", "plain")
    }
    yield "# Columns that name a person: dropped."
    yield from _array("identifier", [_named(c, True) for c in by_role["identifier"]])
    yield "# Quasi-identifiers, what others can know about a person: generalised."
    yield from _array("qi", [_named(c, True) for c in by_role["qi"]])
    yield "# Columns that must not be inferred: protected by l, t, alpha or e."
    if len(proposal.sensitive) < len(by_role["sensitive"]):
        yield "# l cannot protect those commented out: they are left out, see rest."
    yield from _array(
        "sensitive", [_named(c, c.name in proposal.sensitive) for c in by_role["sensitive"]]
    )
    yield from _weights(proposal)
    yield "# Columns published as they are, knowingly: uncomment those that nobody else can know."
    yield from _array("plain", [_named(c, False) for c in by_role["plain"]])
    yield '# Columns in none of the lists: "drop", "qi", "plain"; without it they are an error.'
    yield f"rest = {quoted(proposal.rest)}"
    yield ""
    yield "# Whose record it is, where a person can have several: dropped, and persons are counted."
    if by_role["person"]:
        person = by_role["person"][0]
        yield f"person = {quoted(person.name)}  # {person.reason}"
    else:
        yield '# person = "patient_id"'
    yield ""


def _weights(proposal: Policy) -> Iterator[str]:
    yield "# Survey weights, how many people a record stands for: kept for estimates, but they"
    yield '# single people out: "keep", "round" to two digits, or "drop".'
    if proposal.weight_column is None:
        yield '# weight_column = "weight"'
        yield '# weight_as = "round"'
    else:
        yield f"weight_column = {quoted(proposal.weight_column)}"
        yield f"weight_as = {quoted(proposal.weight_as)}"
    yield ""


def _named(column: Column, in_force: bool) -> Line:
    values = "value" if column.distinct == 1 else "values"
    about = f"{column.reason} ({column.kind}, {column.distinct:,} {values})"
    if column.role == "sensitive":
        about += f", largest possible l is {column.largest_l:,}"
    return in_force, f"{quoted(column.name)},", about


def _models(found: Inspection) -> Iterator[str]:
    proposal = found.policy()
    missing = ", ".join(quoted(text) for text in proposal.missing)
    has_l = proposal.l is not None
    yield "# What must hold in every class of records with the same quasi-identifiers."
    yield from _aligned(
        "",
        [
            (True, f"k = {proposal.k}", "at least k records"),
            (has_l, f"l = {proposal.l or 2}", "no sensitive value in more than 1/l of the records"),
            (False, 'l_reading = "frequency"', "or distinct, entropy, recursive (with c), unique"),
            (False, "t = 0.3", "t-closeness: sensitive values distributed as in the table"),
            (False, "alpha = 0.5", "(alpha,k): no sensitive value has a larger share"),
            (False, "e = 1000", "(k,e): numeric sensitive values span at least e"),
        ],
    )
    yield ""
    yield "# How it is done; `shoal methods` lists methods and options."
    yield from _aligned(
        "",
        [
            (False, 'method = "mondrian"', "the best for the models if not given"),
            (False, 'effort = "normal"', "of an any-time method: instant, fast, normal, max"),
            (False, 'time = "30s"', "or how long it may search"),
            (False, 'max_suppressed = "0.5%"', "give up that many outliers where it lowers loss"),
            (False, "seed = 0", "for tests only: whoever knows it can replay the run"),
            (proposal.missing != ("",), f"missing = [{missing}]", "texts that mean missing"),
            (
                proposal.encoding != "utf-8",
                f"encoding = {quoted(proposal.encoding)}",
                "of the file",
            ),
            *_marks(proposal),
            (False, 'layout = "bounds"', "intervals as two columns, age_min and age_max"),
            (False, "keep_order = true", "keep the order of the rows, which can betray people"),
            (False, "csv_safe = true", "disarm cells a spreadsheet would run"),
        ],
    )


def _marks(proposal: Policy) -> Iterator[tuple[bool, str, str]]:
    """Only where they were given: everybody else's table tells them."""
    if proposal.delimiter is not None:
        yield True, f"delimiter = {quoted(proposal.delimiter)}", "between its cells"
    if proposal.decimal is not None:
        yield True, f"decimal = {quoted(proposal.decimal)}", "of numbers without a notation"


def _tables(found: Inspection) -> Iterator[str]:
    """Settings by attribute. They stand last: in TOML a table goes on to the next one."""
    proposal = found.policy()
    qi = [column for column in found.columns if column.role == "qi"]
    example = _key(qi[0].name) if qi else "age"
    yield "\n# Kinds that differ from what the values suggest:"
    yield "# numeric, date, ordinal or categorical."
    yield "[kind]"
    yield from (f"{_key(name)} = {quoted(kind)}" for name, kind in proposal.kind.items())
    yield "\n# Values of ordinal attributes, lowest first."
    yield "[order]"
    for name, values in proposal.order.items():
        yield f"{_key(name)} = [{', '.join(quoted(value) for value in values)}]"
    yield "\n# Weights in the loss: an attribute with weight 2 is kept twice as carefully."
    yield "[weight]"
    yield f"# {example} = 2"
    yield '\n# Hierarchies: an ARX file (leaf;parent;...;*), "flat", or a builder. Categorical'
    yield "# attributes without one are published as sets of values, {a,b}."
    yield "[hierarchy]"
    yield from (f"# {_hierarchy_example(column)}" for column in qi if column.kind != "ordinal")
    yield "\n# Options of the method."
    yield "[option]"
    yield "# relaxed = true"
    yield ""


def _hierarchy_example(column: Column) -> str:
    spec = quoted(f"{column.name}.csv")
    if column.kind == "date":
        spec = '{ dates = { levels = ["month", "year"] } }'
    elif column.reason.endswith("place") and column.kind_reason != "texts":
        spec = "{ prefixes = { keep = [3, 2] } }"
    elif column.kind == "numeric":
        spec = "{ intervals = { widths = [5, 10, 20] } }"
    elif column.distinct == 2:
        spec = '"flat"'
    return f"{_key(column.name)} = {spec}"


def _array(name: str, lines: list[Line]) -> list[str]:
    if not lines:
        return [f"{name} = []", ""]
    return [f"{name} = [", *_aligned("    ", lines), "]", ""]


def _aligned(indent: str, lines: Iterable[Line]) -> list[str]:
    settings = [(setting if on else f"# {setting}", about) for on, setting, about in lines]
    width = max((len(setting) for setting, _ in settings), default=0)
    return [f"{indent}{setting.ljust(width)}  # {about}" for setting, about in settings]


def quoted(text: Any) -> str:
    """A TOML string. JSON escapes all that TOML wants escaped, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quoted(name)


def _one_line(text: str) -> str:
    """For comments: control characters would end them."""
    return re.sub(r"[\x00-\x1f\x7f]", "?", text)
