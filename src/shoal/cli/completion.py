"""``shoal completion``: what makes a shell complete commands, options, methods and columns."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")


@click.command(short_help="Print what makes a shell complete.")
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print a script that makes SHELL complete commands, options, methods and columns.

    \b
    bash: echo 'eval "$(shoal completion bash)"' >> ~/.bashrc
    zsh:  echo 'eval "$(shoal completion zsh)"' >> ~/.zshrc
    fish: shoal completion fish > ~/.config/fish/completions/shoal.fish
    """
    from click.shell_completion import get_completion_class

    from shoal.cli import cli

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(cli, {}, "shoal", "_SHOAL_COMPLETE")
    # `source` would start a bash to ask for its version, which is that of the user's anyway.
    click.echo(script.source_template % script.source_vars())
