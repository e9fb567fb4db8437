"""``shoal sql``: SQL that reads a release, or checks k and l where the data lives."""

from __future__ import annotations

from typing import Any

import click

from shoal.cli.settings import policy_from, split_names
from shoal.policy import KINDS

DIALECTS = ("duckdb", "postgresql", "snowflake", "bigquery", "spark")


@click.command(short_help="Print SQL that reads a release, or checks k and l.")
@click.argument("release")
@click.option("--check", metavar="k=N|l=N", multiple=True, help="Print a check of it instead.")
@click.option("--dialect", type=click.Choice(DIALECTS),
              help="Whose SQL a check is written in. [duckdb]")  # fmt: skip
@click.option("--qi", metavar="A,B,C", multiple=True, help="Quasi-identifiers.")
@click.option("--sensitive", metavar="A,B", multiple=True, help="Sensitive columns, for l.")
@click.option("--kind", metavar="COLUMN=KIND", multiple=True, help=f"One of {', '.join(KINDS)}.")
@click.option("--hierarchy", metavar="COLUMN=FILE", multiple=True, help='ARX file, or "flat".')
@click.option("--policy", "policy_file", metavar="FILE", help="The release's policy, if at hand.")
def sql(release: str, check: tuple[str, ...], dialect: str | None, **options: Any) -> None:
    """Print SQL for RELEASE; it runs where there is no Shoal.

    \b
    shoal sql release.csv | duckdb       a view `release` with age_low, age_high, age_mid,
                                         and weight_in(age, 30, 40), weight_of(sex_values, 'F')
    shoal sql patients --check k=10 --check l=3 --qi age,zip --sensitive disease
                                         classes of table `patients` that break it: no row, it holds

    RELEASE is a file, or the address of a table in DuckDB or PostgreSQL; the script is then for
    that system. With --check, it may be the name of any table in your database.
    """
    from shoal.recipient.script import check_script, table_and_dialect, view_script

    if check:
        asked = _levels(check)
        release, dialect = table_and_dialect(release, dialect)
        click.echo(
            check_script(
                release, split_names(options["qi"]) or [], asked.get("k"), asked.get("l"),
                split_names(options["sensitive"]) or [], dialect,
            ),
            nl=False,
        )  # fmt: skip
        return
    options.pop("sensitive")
    given = any(value not in (None, ()) for value in options.values())
    click.echo(view_script(release, policy=policy_from(options) if given else None), nl=False)


def _levels(check: tuple[str, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in check:
        name, _, level = one.partition("=")
        if name not in {"k", "l"} or not level.isdecimal() or int(level) < 1:
            raise click.UsageError(f"--check: expected k=N or l=N; got {one!r}")
        found[name] = int(level)
    return found
