"""The command line. Thin: each command calls the pipeline and shows what came of it.

Commands are imported when they run, so that ``shoal --help`` stays instant.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from shoal._version import __version__

__all__ = ["cli", "main", "run"]

COMMANDS = {
    "demo": ("shoal.cli.demo:demo", "See a release made and proven in a few seconds."),
    "inspect": ("shoal.cli.inspect:inspect", "Look at a table; propose roles for its columns."),
    "anonymize": ("shoal.cli.anonymize:anonymize", "Turn microdata into a verified release."),
    "reproduce": ("shoal.cli.reproduce:reproduce", "Make a release again from its record."),
    "verify": ("shoal.cli.verify:verify", "Check a release from its text alone."),
    "sign": ("shoal.cli.sign:sign", "Sign a release, or make keys for it."),
    "join-check": ("shoal.cli.join_check:join_check", "Join releases: does k still hold?"),
    "query": ("shoal.cli.query:query", "Count in a release: expected number and bounds."),
    "compare": ("shoal.cli.compare:compare", "Run methods side by side: time, loss, accuracy."),
    "methods": ("shoal.cli.listing:methods", "List the methods and what each promises."),
    "models": ("shoal.cli.listing:models", "List the privacy models and their options."),
    "policy": ("shoal.cli.policy:policy", "Work with policy files."),
    "hierarchy": ("shoal.cli.hierarchy:hierarchy", "Suggest a tree for a column."),
}
"""Name to "module:command" and the line that ``shoal --help`` shows."""


class LazyGroup(click.Group):
    """A group that knows its commands' names and lines without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name][0].split(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="shoal")
def cli() -> None:
    """Publish a table about people so that nobody in it can be picked out.

    \b
    Exit codes: 0 done, 1 a verification failed, 2 bad usage or input,
    3 no release can satisfy the models, 5 verified in part only.
    """


class _NoPandas:
    """Hides pandas from the command line, which has no use for data frames.

    Arrow imports it as soon as it sees a Python list, which costs a third of a second.
    """

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("the command line does without pandas", name=name)


def run() -> None:
    """Entry point of the ``shoal`` command."""
    sys.meta_path.insert(0, _NoPandas())
    main()


def main() -> None:
    """Run the command line: errors become one line and an exit code."""
    from shoal.errors import ShoalError

    try:
        # Outside of standalone mode click gives back the code of an early exit.
        code = cli.main(standalone_mode=False)
    except ShoalError as error:
        click.echo(f"shoal: {error}", err=True)
        raise SystemExit(error.exit_code) from None
    except click.ClickException as error:
        click.echo(f"shoal: {_one_line(error)}", err=True)
        raise SystemExit(2) from None
    except (click.Abort, KeyboardInterrupt):
        click.echo("shoal: stopped", err=True)
        raise SystemExit(130) from None
    except BrokenPipeError:
        raise SystemExit(0) from None
    except MemoryError:
        click.echo("shoal: not enough memory for a table of this size", err=True)
        raise SystemExit(2) from None
    except Exception as error:  # a defect of ours; its text may quote a cell of the table
        if os.environ.get("SHOAL_DEBUG"):
            raise
        kind = type(error).__name__
        click.echo(f"shoal: an error of Shoal's own ({kind}); SHOAL_DEBUG=1 shows it", err=True)
        raise SystemExit(2) from None
    raise SystemExit(code or 0)


def _one_line(error: click.ClickException) -> str:
    """Click's message, and where to read on."""
    message = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    return f"{message}; see {context.command_path} --help" if context else message
