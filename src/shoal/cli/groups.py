"""A group of commands that names the nearest one where there is none of that name."""

from __future__ import annotations

import click

__all__ = ["NearestGroup"]


class NearestGroup(click.Group):
    """``shoal polcy`` and ``shoal policy chek``: did you mean?"""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, known = (args[0] if args else ""), self.list_commands(ctx)
        if name and not name.startswith("-") and name not in known:
            from shoal.errors import did_you_mean

            hint = did_you_mean(name, known)
            raise click.UsageError(f"there is no command {name!r}{hint}", ctx)
        return super().resolve_command(ctx, args)
