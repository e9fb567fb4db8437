"""``shoal studio``: the whole job in a browser, on one's own machine."""

from __future__ import annotations

from pathlib import Path

import click

from shoal.cli.places import OnlyFile
from shoal.errors import InputError, OutputError

IN_A_FOLDER = "a session lies beside its table; save the table as a file of a folder of its own"


@click.command(short_help="Do the whole job in a browser, on this machine.")
@click.argument("file", type=OnlyFile(IN_A_FOLDER), required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port. [a free one]")
@click.option("--no-open", is_flag=True, help="Print the address; open no browser.")
@click.option("--keep", is_flag=True, help="Keep the session at the end; else it is deleted.")
def studio(file: Path | None, port: int, no_open: bool, keep: bool) -> None:
    """From a file to a verified release, step by step, on a page that only you can open.

    Listens on 127.0.0.1 alone. Tables are taken from the folder of FILE, or the one you are
    in, or uploaded; what is made lies in .shoal-studio there, for nobody else to read, and is
    deleted at the end: by Ctrl-C, with the terminal, or after an hour without a visit.

    \b
    shoal studio people.csv
    """
    try:
        from shoal.studio.serve import serve
    except ImportError:
        raise OutputError(
            "the studio needs starlette, uvicorn and jinja2: pip install shoal[studio]"
        ) from None
    if file is not None and not file.is_file():
        raise InputError(f"{file}: no such file")
    start = Path.cwd() if file is None else file.parent
    click.echo("shoal studio: Ctrl-C ends it" + ("" if keep else " and deletes its session"))
    deleted = serve(
        start, None if file is None else file.name, port=port, open_browser=not no_open, keep=keep,
        say=lambda address: click.echo(f"open {address}"),
    )  # fmt: skip
    where = start / ".shoal-studio"
    click.echo("ended; everything was deleted" if deleted else f"ended; the session is in {where}")
