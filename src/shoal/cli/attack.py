"""``shoal attack``: try attacks on a release; ``shoal attack run``: release and attack."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.output import output_options, print_json, progress_bar, warnings_as_notices
from shoal.cli.places import TABLE
from shoal.cli.settings import dialect_options, policy_from, split_names

if TYPE_CHECKING:
    from shoal.attacks import Attacked
    from shoal.io.addresses import Place


NOTHING_TRIED = 5


class _Attack(click.Group):
    """``shoal attack RELEASE`` is ``shoal attack release RELEASE``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = ["release", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Attack, short_help="Try attacks on a release, with a control.")
def attack() -> None:
    """Try attacks on a release, and say what they get beyond guessing.

    \b
    shoal attack release.csv --original people.csv --control others.csv
    shoal attack run people.csv --policy shoal.toml

    Attacks: linking (which record is it?), singling-out (predicates that hold
    for one person), inference (what do classes tell?), membership (is
    somebody in the table?). By name, or with "--attacks all", also those of
    whoever knows the method or holds more: composition (several releases),
    downcoding (values made finer), replay and minimality (the method run
    again). Exit code 1 if one is flagged, 5 if nothing could be tried.
    """


@attack.command(name="release")
@click.argument("release", type=TABLE)
@click.option("--original", required=True, type=TABLE, help="The table it was made of.")
@click.option("--control", type=TABLE, help="People who are not in it.")
@click.option("--attacks", metavar="A,B", multiple=True, help="Which to try. [usual]")
@click.option(
    "--with",
    "others",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Another release that the attacker holds.",
)
@click.option(
    "--policy", "policy_file", metavar="FILE", help="The policy: hierarchies, orders, method."
)
@dialect_options
@output_options
def attack_release(
    release: Place,
    original: Place,
    control: Place | None,
    attacks: tuple[str, ...],
    others: tuple[Path, ...],
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Attack RELEASE, of which the manifest lies beside it.

    --encoding, --delimiter and --decimal are those of the original and the
    control; a release tells its own.
    """
    given = any(value is not None for value in options.values())
    policy = policy_from(options) if given else None

    from shoal.attacks import attack as run

    with progress_bar(quiet) as report:
        found = run(
            release, original, control,
            attacks=split_names(attacks) or (), others=others, policy=policy, progress=report,
        )  # fmt: skip
    _say(found, quiet, as_json)


@attack.command(name="run")
@click.argument("file", type=TABLE)
@click.option("--policy", required=True, metavar="FILE", help="The policy to release by.")
@click.option("--share", type=float, default=0.2, show_default=True, help="People to hold out.")
@click.option("--attacks", metavar="A,B", multiple=True, help="Which to try. [usual]")
@dialect_options
@output_options
def attack_run(
    file: Place,
    policy: str,
    share: float,
    attacks: tuple[str, ...],
    quiet: bool,
    as_json: bool,
    **dialect: Any,
) -> None:
    """Hold out some people of FILE, release the others by a policy, and attack that.

    Nothing is written.
    """
    from shoal.attacks import attack_run as run

    with warnings_as_notices(quiet), progress_bar(quiet) as report:
        found, _ = run(
            file, policy, share=share, attacks=split_names(attacks) or (), progress=report,
            **dialect,
        )  # fmt: skip
    _say(found, quiet, as_json)


def _say(found: Attacked, quiet: bool, as_json: bool) -> None:
    told: dict[str, Any] = found.to_dict()
    if as_json:
        print_json(told)
    elif not quiet:
        click.echo(repr(found))
    if not found.ok:
        raise click.exceptions.Exit(1 if found.anything else NOTHING_TRIED)
