"""Options that say what a policy file can say, for the commands that take a policy."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from shoal.cli.completing import complete_columns, complete_pairs
from shoal.effort import EFFORTS
from shoal.errors import PolicyError
from shoal.model_settings import MODEL_OPTIONS, ModelOption
from shoal.notation import NOTATIONS
from shoal.policy import ENGINE_NAMES, KINDS, RECODINGS, SUPPRESSIONS, TWINS, WEIGHT_FORMS, Policy

__all__ = [
    "attribute_options",
    "column_options",
    "dialect_options",
    "dialect_words",
    "effort_options",
    "engine_options",
    "model_options",
    "policy_from",
    "settings_from",
    "split_names",
    "suppression_options",
    "table_options",
]

Command = Callable[..., Any]


def column_options(command: Command) -> Command:
    """Roles of columns."""
    return _with(
        command,
        _columns("--qi", "A,B,C", "Quasi-identifiers."),
        _columns("--sensitive", "S", "Sensitive columns."),
        click.option(
            "--exempt",
            metavar="COLUMN=VALUE",
            multiple=True,
            help="A value that is not sensitive; again for each.",
            shell_complete=complete_pairs(),
        ),
        click.option(
            "--person",
            metavar="P",
            help="Column that says whose record it is.",
            shell_complete=complete_columns,
        ),
        click.option("--person-as", metavar="NAME", help="Publish pseudonyms of persons so."),
        click.option(
            "--kind",
            metavar="COLUMN=KIND",
            multiple=True,
            help=f"One of {', '.join(KINDS)}.",
            shell_complete=complete_pairs(KINDS),
        ),
        click.option("--missing", metavar="TEXT", multiple=True, help="Text that means missing."),
        click.option(
            "--notation",
            metavar="COLUMN=FORM",
            multiple=True,
            help="How dates or numbers are written: dd/mm/yyyy, comma. [told by the column]",
            shell_complete=complete_pairs(NOTATIONS),
        ),
        click.option(
            "--twins", type=click.Choice(TWINS), help="Values that differ in spelling. [fold]"
        ),
        click.option(
            "--policy", "policy_file", metavar="FILE", help="Policy file; options override it."
        ),
    )


def dialect_options(command: Command) -> Command:
    """How the input's text is read: what a file does not tell, or tells wrongly."""
    return _with(
        command,
        click.option(
            "--encoding", metavar="NAME", help="Of a CSV file: latin-1, cp1252, utf-16. [utf-8]"
        ),
        click.option(
            "--delimiter", metavar="MARK", help="Between cells of a CSV file. [told by its header]"
        ),
        click.option(
            "--decimal", metavar="MARK", help="Before decimals: , or . [told by each column]"
        ),
    )


def dialect_words(dialect: Mapping[str, str | None]) -> str:
    """The options again, for the next command."""
    given = [(name, text) for name, text in dialect.items() if text]
    return "".join(f" --{name} {shlex.quote(text)}" for name, text in given)


def table_options(command: Command) -> Command:
    """How the input's file is read, and its weights."""
    command = _with(
        command,
        click.option(
            "--weight-column",
            metavar="W",
            help="Survey weights, kept for estimates.",
            shell_complete=complete_columns,
        ),
        click.option(
            "--weight-as",
            type=click.Choice(WEIGHT_FORMS),
            help="Weights single people out: round or drop them. [keep]",
        ),
    )
    return dialect_options(command)


def model_options(command: Command) -> Command:
    """Privacy models."""
    return _with(command, *(_model_option(option) for option in MODEL_OPTIONS.values()))


def _model_option(option: ModelOption) -> Callable[[Command], Command]:
    kind = click.Choice(option.choices) if option.choices else option.type
    return click.option(option.flag, type=kind, metavar=option.metavar, help=option.help)


def effort_options(command: Command) -> Command:
    """How long an any-time method searches."""
    return _with(
        command,
        click.option(
            "--effort",
            type=click.Choice(tuple(EFFORTS)),
            help="How hard an any-time method searches.",
        ),
        click.option(
            "--time",
            metavar="30s|2m|1.5h",
            help="Limit of the run after reading, by the clock.",
        ),
        click.option(
            "--bound/--no-bound",
            default=None,
            help="Prove how far from the optimum it is. [any-time methods do]",
        ),
    )


def engine_options(command: Command) -> Command:
    """Where the work is done."""
    return _with(
        command,
        click.option(
            "--engine", type=click.Choice(ENGINE_NAMES), help="Where records are held. [auto]"
        ),
        click.option("--memory", metavar="1GB", help="Memory that the run may take."),
        click.option(
            "--temp", metavar="DIR", help="Folder for what does not fit into memory. [beside OUT]"
        ),
        click.option("--master", metavar="URL", help="Spark's master. [local[*]]"),
    )


def series_options(command: Command) -> Command:
    """Releases of a table that grows and shrinks."""
    return _with(
        command,
        click.option("--series", is_flag=True, help="The first of several releases."),
        click.option(
            "--after", metavar="RECORD", type=click.Path(path_type=Path),
            help="Continue the series of this record.",
        ),
        click.option("--append", is_flag=True, help="New persons only; old releases stay."),
        click.option(
            "--counterfeits/--no-counterfeits",
            default=None,
            help="Invent records where a series needs them. [yes]",
        ),
        click.option(
            "--max-counterfeits", metavar="SHARE",
            help="Invent so many at most to lose less, as 5%. [the fewest]",
        ),
    )  # fmt: skip


def suppression_options(command: Command) -> Command:
    """How many records may be given up as outliers, and what becomes of them."""
    return _with(
        command,
        click.option(
            "--max-suppressed", metavar="SHARE", help="Outliers to suppress at most, as 0.5%."
        ),
        click.option(
            "--suppress-by",
            type=click.Choice(SUPPRESSIONS),
            help="Suppressed records are left out, or all stars. [drop]",
        ),
    )


def attribute_options(command: Command) -> Command:
    """Hierarchies and weights of attributes, and what becomes of mixed values."""
    return _with(
        command,
        _pairs("--hierarchy", "COLUMN=FILE", 'ARX file, or "flat".'),
        _pairs(
            "--coarsen",
            "COLUMN=LEVEL",
            "Climb its hierarchy first; COLUMN=auto, or auto for all: to the best level.",
        ),
        click.option(
            "--recoding",
            type=click.Choice(RECODINGS),
            help="What mixed values become. [by the method]",
        ),
        _pairs("--round", "COLUMN=STEP", "Intervals on multiples of 5, or of a month."),
        _pairs("--weight", "COLUMN=NUMBER", "Weight in the loss."),
        _pairs(
            "--treat",
            "COLUMN=HOW",
            "Numbers that are no qi: top:99%, bottom:0, round:100, micro:5, noise:10%.",
        ),
    )


def _columns(flag: str, metavar: str, about: str) -> Callable[[Command], Command]:
    """An option that takes names of columns, behind commas or again."""
    return click.option(
        flag, metavar=metavar, multiple=True, help=about, shell_complete=complete_columns
    )


def _pairs(flag: str, metavar: str, about: str) -> Callable[[Command], Command]:
    """An option that takes something of a column, again for each."""
    return click.option(
        flag, metavar=metavar, multiple=True, help=about, shell_complete=complete_pairs()
    )


def _with(command: Command, *options: Callable[[Command], Command]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def split_names(values: Iterable[str]) -> list[str] | None:
    """``("a,b", "c")`` as three names; None if nothing was given."""
    names = [name.strip() for value in values for name in value.split(",") if name.strip()]
    return names or None


def pairs(option: str, values: Iterable[str]) -> dict[str, str] | None:
    """``("age=numeric",)`` as a table; None if nothing was given."""
    table = {}
    for value in values:
        name, equals, setting = value.partition("=")
        if not equals or not name.strip():
            raise PolicyError(f"--{option}: expected COLUMN=VALUE; got {value!r}")
        table[name.strip()] = setting.strip()
    return table or None


def lists(option: str, values: Iterable[str]) -> dict[str, list[str]] | None:
    """``("job=none", "job=")`` as lists by column; None if nothing was given."""
    table: dict[str, list[str]] = {}
    for value in values:
        for name, text in (pairs(option, [value]) or {}).items():
            table.setdefault(name, []).append(text)
    return table or None


def readers(sets: Iterable[str], ks: Iterable[str]) -> dict[str, dict[str, Any]] | None:
    """``insurer=age,zip`` and ``insurer=20`` as tables of the policy; None if nothing was given."""
    table: dict[str, dict[str, Any]] = {}
    for value in sets:
        name, equals, names = (part.strip() for part in value.partition("="))
        if not equals or not name:
            raise PolicyError(f"--reader: expected NAME=A,B; got {value!r}")
        if name in table:  # the last would win, and what the first knows go out as it is
            raise PolicyError(f"--reader: expected each name once; got {name!r} twice")
        table[name] = {"qi": split_names([names]) or []}
    for name, k in (pairs("reader-k", ks) or {}).items():
        if name not in table:
            raise PolicyError(f"--reader-k: expected the name of a --reader; got {name!r}")
        if not k.isdecimal():
            raise PolicyError(f"--reader-k: expected NAME=K, a whole number; got {name}={k}")
        table[name]["k"] = int(k)
    return table or None


def number(value: float | None) -> int | float | None:
    """Whole numbers as such: l = 3, not 3.0."""
    return int(value) if value is not None and value.is_integer() else value


def diversity(text: str) -> int | float | str:
    """``-l 3`` as a number; ``-l auto`` as it is."""
    if text == "auto":
        return text
    try:
        value = float(text)
        return int(value) if value.is_integer() else value
    except (ValueError, OverflowError):
        raise PolicyError(f"-l: expected a number or auto; got {text!r}") from None


def numbers(option: str, table: dict[str, str] | None) -> dict[str, int | float | None] | None:
    """A table of numbers from texts."""
    if table is None:
        return None
    try:
        return {name: number(float(text)) for name, text in table.items()}
    except (ValueError, OverflowError):
        raise PolicyError(f"--{option}: expected COLUMN=NUMBER; got {table}") from None


def levels(table: dict[str, str] | None, everywhere: bool) -> dict[str, Any] | str | None:
    """Levels by column, of which some or all are left to the table."""
    if everywhere:
        if table:
            raise PolicyError("--coarsen: expected auto alone, or COLUMN=LEVEL; got both")
        return "auto"
    open_ = {name: text for name, text in (table or {}).items() if text == "auto"}
    given = {name: text for name, text in (table or {}).items() if text != "auto"}
    return {**(numbers("coarsen", given) or {}), **open_} or None


def parse_option(text: str) -> Any:
    """A method's option from text: true, false, a number, or the text itself."""
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def policy_from(options: dict[str, Any]) -> Policy:
    """The policy file's settings, overridden by the options that were given."""
    file, given = settings_from(options)
    if file is None:
        return Policy.parse(**given)
    return Policy.load(file).override(**given)


def settings_from(options: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The policy file that was named, and the settings that options give."""
    given = dict(options)
    file = given.pop("policy_file", None)
    for name in ("identifier", "qi", "sensitive", "plain"):
        if name in given:
            given[name] = split_names(given[name])
    everywhere = "auto" in given.get("coarsen", ())
    given["coarsen"] = [one for one in given.get("coarsen", ()) if one != "auto"]
    for name in ("kind", "hierarchy", "weight", "coarsen", "round", "option", "notation"):
        if name in given:
            given[name] = pairs(name, given[name])
    for name in ("exempt", "treat"):
        given[name] = lists(name, given.get(name, ()))
    if given["treat"]:
        given["treat"] = {name: ",".join(texts) for name, texts in given["treat"].items()}
    given["reader"] = readers(given.get("reader", ()), given.pop("reader_k", ()))
    given["l"] = None if given.get("l") is None else diversity(given["l"])
    for name, option in MODEL_OPTIONS.items():
        if option.type is float:
            given[name] = number(given.get(name))
    given["weight"] = numbers("weight", given.get("weight"))
    given["coarsen"] = levels(given["coarsen"], everywhere)
    for name in ("option", "round"):
        if given.get(name):
            given[name] = {key: parse_option(text) for key, text in given[name].items()}
    if given.get("hierarchy"):
        given["hierarchy"] = {n: _from_here(spec) for n, spec in given["hierarchy"].items()}
    given["missing"] = ["", *given["missing"]] if given.get("missing") else None
    for name in ("keep_order", "csv_safe", "series"):
        given[name] = given.get(name) or None  # a flag that is off overrides nothing
    return file, given


def _from_here(spec: str) -> str:
    """A hierarchy file named on the command line starts from the working directory."""
    return spec if spec == "flat" else str(Path(spec).absolute())
