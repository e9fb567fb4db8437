"""``shoal man``: the manual page, made from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from shoal._version import __version__

HINT = "To read it: shoal man | man -l -"


@click.command(short_help="Print the manual page.")
def man() -> None:
    """Print the manual page of all commands, for man.

    \b
    shoal man | man -l -
    shoal man > ~/.local/share/man/man1/shoal.1
    """
    from shoal.cli import cli

    click.echo(page_of(cli))


def page_of(group: click.Group) -> str:
    """The manual page of a group of commands, in the language of man."""
    context = click.Context(group, info_name="shoal")
    lines = [
        f'.TH SHOAL 1 "" "shoal {__version__}" "User Commands"',
        ".SH NAME",
        "shoal \\- publish a table about people so that nobody in it can be picked out",
        ".SH SYNOPSIS",
        ".B shoal",
        "COMMAND [OPTIONS] ...",
        ".SH DESCRIPTION",
        *_paragraphs(group.help or ""),
        ".SH COMMANDS",
    ]
    for name, command in commands_of(group, context):
        lines += _command(name, command, context)
    lines += [".SH SEE ALSO", ".B shoal explain", "says what a word means."]
    return "\n".join(lines)


def commands_of(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Commands by their full name, those of groups within it too."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            continue
        full = f"{context.command_path} {name}"
        yield full, command
        if isinstance(command, click.Group):
            yield from commands_of(command, click.Context(command, context, info_name=name))


def _command(name: str, command: click.Command, above: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=name)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f".SS {_safe(name)} {_safe(usage)}".rstrip()
    yield from _paragraphs(command.help or "")
    for parameter in command.get_params(context):
        told = parameter.get_help_record(context)
        if told is not None:
            yield ".TP"
            yield f".B {_safe(told[0])}"
            yield _safe(told[1]) or "\\&"


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs of a help text; those behind a backspace keep their lines."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text.strip())):
        if number:
            yield ".PP"
        if paragraph.lstrip().startswith("\b"):
            rows = [row.strip() for row in paragraph.replace("\b", "").strip().splitlines()]
            yield from (".nf", *map(_safe, rows), ".fi")
        else:
            yield _safe(" ".join(paragraph.split()))


def _safe(text: str) -> str:
    """A text that man shows as it is: no line begins a request, no hyphen becomes a dash."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
