"""The command line. Thin: each command calls the pipeline and shows what came of it.

Commands are imported when they run, so that ``shoal --help`` stays instant.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from importlib import import_module
from typing import NoReturn

import click

from shoal._version import __version__
from shoal.cli.groups import NearestGroup

__all__ = ["cli", "enter", "main", "run"]

COMMANDS = {
    "demo": ("shoal.cli.demo:demo", "See a release made and proven in a few seconds."),
    "studio": ("shoal.cli.studio:studio", "Do the whole job in a browser, on this machine."),
    "inspect": ("shoal.cli.inspect:inspect", "Look at a table; propose roles for its columns."),
    "anonymize": ("shoal.cli.anonymize:anonymize", "Turn microdata into a verified release."),
    "reproduce": ("shoal.cli.reproduce:reproduce", "Make a release again from its record."),
    "verify": ("shoal.cli.verify:verify", "Check a release from its text alone."),
    "risk": ("shoal.cli.risk:risk", "How likely is somebody picked out? Thresholds to gate on."),
    "attack": ("shoal.cli.attack:attack", "Try attacks on a release, with a control."),
    "report": ("shoal.cli.report:report", "Write a report of a release, to read and sign."),
    "sign": ("shoal.cli.sign:sign", "Sign a release, or make keys for it."),
    "series-check": (
        "shoal.cli.series_check:series_check",
        "Releases over time: do m and k still hold?",
    ),
    "join-check": ("shoal.cli.join_check:join_check", "Join releases: do k and l still hold?"),
    "query": ("shoal.cli.query:query", "Count in a release: expected number and bounds."),
    "expand": ("shoal.cli.expand:expand", "Make a release a table of plain values, for any tool."),
    "sql": ("shoal.cli.sql:sql", "Print SQL that reads a release, or checks k and l."),
    "compare": ("shoal.cli.compare:compare", "Run methods side by side: time, loss, accuracy."),
    "methods": ("shoal.cli.listing:methods", "List the methods and what each promises."),
    "models": ("shoal.cli.listing:models", "List the privacy models and their options."),
    "policy": ("shoal.cli.policy:policy", "Work with policy files."),
    "warm": ("shoal.cli.warm:warm", "Compile ahead, so that no release waits."),
    "hierarchy": ("shoal.cli.hierarchy:hierarchy", "Suggest a tree for a column."),
    "explain": ("shoal.cli.explain:explain", "Say what a word means: loss, class, gap, ..."),
    "completion": ("shoal.cli.completion:completion", "Print what makes a shell complete."),
    "man": ("shoal.cli.man:man", "Print the manual page."),
}
"""Name to "module:command" and the line that ``shoal --help`` shows."""


USED = ("numpy", "numba", "pyarrow", "duckdb")
"""Packages whose versions decide what a run gives, or how fast."""
GARBAGE = 500_000
"""New objects after which Python looks for garbage: modules are many objects, and none of them
is garbage (a fifth less CPU until the first record is read)."""

SLEEPY = "4"
"""For so little (2**4 ticks) threads of NumPy's linear algebra, which is hardly used, wait awake
for work: by default for 2**26, each time."""


class LazyGroup(NearestGroup):
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


def _show_versions(ctx: click.Context, _parameter: click.Parameter, asked: bool) -> None:
    """What a report of a defect should name: our version, and of what the work rests on."""
    if not asked or ctx.resilient_parsing:
        return
    from importlib.metadata import PackageNotFoundError, version
    from platform import machine, python_version, system

    click.echo(f"shoal {__version__}")
    click.echo(f"Python {python_version()} on {system()} {machine()}")
    for package in USED:
        try:
            click.echo(f"{package} {version(package)}")
        except PackageNotFoundError:
            click.echo(f"{package} is missing")
    ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_versions,
    help="Show the version, and those of what it uses, and exit.",
)
def cli() -> None:
    """Publish a table about people so that nobody in it can be picked out.

    \b
    Exit codes: 0 done, 1 a verification failed, 2 bad usage or input,
    3 no release can satisfy the models, 4 none was found that does,
    5 verified in part only, 6 no answer within the time.
    """


UNUSED_BY_NUMBA = {
    "scipy": "numba.np.arraymath",
    "scipy.linalg": "numba.np.arraymath",
    "cffi": "numba.core.typing.cffi_utils",
}
"""What modules of Numba look for, and kernels do without."""


class _NothingUnused:
    """Hides from the command line what others would load for it in vain.

    Arrow imports pandas as soon as it sees a Python list, which costs a third of a second; the
    command line has no use for data frames, unless Spark asks for them. Numba imports SciPy's
    linear algebra, to see whether it is there: a tenth of the start; no kernel of ours uses any,
    nor functions of C by cffi.
    """

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        unused = name == "pandas" and "pyspark" not in sys.modules
        by_numba = UNUSED_BY_NUMBA.get(name)
        if unused or (by_numba is not None and _loading(by_numba)):
            raise ModuleNotFoundError(f"the command line does without {name}", name=name)


def _loading(name: str) -> bool:
    """Whether a module is being imported right now."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


def enter() -> None:
    """Entry point of the ``shoal`` command: with its end the process ends."""
    from shoal.cli.interrupting import leave_tidily

    try:
        run()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            leave_tidily(end.code or 0)
        raise


def run() -> None:
    """The command in a process that goes on when it has ended."""
    from shoal.cli.interrupting import INTERRUPTED, leave_at_once, never_swallowed

    sys.meta_path.insert(0, _NothingUnused())
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", SLEEPY)
    # Whoever ends the command by its name, as systems do, wants it to clean up as well.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with never_swallowed():
            main()
    except SystemExit as end:
        if end.code == INTERRUPTED:
            leave_at_once()
        raise


def main() -> None:
    """Run the command line: errors become one line and an exit code; with --json, JSON too."""
    from shoal.cli.interrupting import INTERRUPTED, what_was_kept
    from shoal.errors import ShoalError, one_line

    what_was_kept()  # of an earlier command in this process: not ours to speak of
    gc.set_threshold(GARBAGE)
    try:
        # Outside of standalone mode click gives back the code of an early exit.
        code = cli.main(prog_name="shoal", complete_var="_SHOAL_COMPLETE", standalone_mode=False)
    except ShoalError as error:
        _end(type(error).__name__, str(error), error.exit_code)
    except click.ClickException as error:
        _end("UsageError", one_line(_click_message(error)), 2)
    except (click.Abort, KeyboardInterrupt):
        _end("Interrupted", f"stopped; {what_was_kept()}", INTERRUPTED)
    except BrokenPipeError:
        raise SystemExit(0) from None
    except MemoryError:
        _end(
            "MemoryError",
            "not enough memory for a table of this size; `--dry-run` says how much it needs: drop "
            "columns that are not needed, or release the table in parts",
            2,
        )
    except Exception as error:  # a defect of ours; its text may quote a cell of the table
        if os.environ.get("SHOAL_DEBUG"):
            raise
        kind = type(error).__name__
        _end(kind, f"an error of Shoal's own ({kind}); SHOAL_DEBUG=1 shows it", 2)
    raise SystemExit(code or 0)


def _end(kind: str, message: str, code: int) -> NoReturn:
    """Say what went wrong, in one line on stderr and, if asked for JSON, as a document."""
    from shoal.io.addresses import hidden

    message = hidden(message)
    if "--json" in sys.argv[1:]:
        error = {"type": kind, "message": message, "exit_code": code}
        click.echo(json.dumps({"error": error}, indent=2, ensure_ascii=False))
    click.echo(f"shoal: {message}", err=True)
    raise SystemExit(code) from None


def _click_message(error: click.ClickException) -> str:
    """Click's message, and where to read on."""
    message = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    if context is None:
        return message
    where = f"{context.command_path} --help"
    return f"{message} See {where}" if message.endswith("?") else f"{message}; see {where}"
