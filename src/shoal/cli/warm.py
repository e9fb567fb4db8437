"""``shoal warm``: compile ahead what releases will need, so that none waits for it."""

from __future__ import annotations

import click

from shoal.cli.output import output_options, print_json


@click.command(short_help="Compile ahead, so that no release waits.")
@click.option("--processes", type=click.IntRange(1), help="How many at once. [one a core]")
@output_options
def warm(processes: int | None, quiet: bool, as_json: bool) -> None:
    """Compile the kernels of usual releases into your cache, by several processes.

    A first release does the same as it goes. Use this in an image, or after
    installing from source, so that nobody waits.
    """
    from shoal.cli.preparing import prepare

    compiled = prepare((), quiet, processes)
    if as_json:
        print_json({"compiled": compiled})
    elif not quiet:
        count = f"{compiled} kernels compiled" if compiled else "all kernels were compiled already"
        click.echo(count)
