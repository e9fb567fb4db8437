"""``shoal completion``: what makes a shell complete commands, options, methods and columns."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")
BASH = r"""_shoal_completion() {
    local IFS=$'\n' line="${COMP_LINE:0:COMP_POINT}" completion kind value
    [[ $line == *[[:space:]] ]] && line+="''"  # the word that is yet to come
    COMPREPLY=()
    for completion in $(env COMP_WORDS="$line" COMP_CWORD=-1 _SHOAL_COMPLETE=bash_complete "$1"); do
        IFS=, read -r kind value <<< "$completion"
        case $kind in
            file) compopt -o default ;;
            dir) compopt -o dirnames ;;
            plain)
                [[ $value == *= ]] && compopt -o nospace
                # bash takes what stands behind a sign of equality for a word of its own
                [[ $COMP_WORDBREAKS == *=* && $value != *= ]] && value=${value##*=}
                [[ $value == *[[:space:]\'\"\$\&\;\(\)\<\>\|\*\?]* ]] && printf -v value %q "$value"
                COMPREPLY+=("$value") ;;
        esac
    done
}
complete -o nosort -F _shoal_completion shoal"""
"""Instead of click's, which completes neither behind ``COLUMN=`` nor a name with a space."""


@click.command(short_help="Print what makes a shell complete.")
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print a script that makes SHELL complete commands, options, methods and columns.

    \b
    bash: echo 'eval "$(shoal completion bash)"' >> ~/.bashrc
    zsh:  echo 'eval "$(shoal completion zsh)"' >> ~/.zshrc
    fish: shoal completion fish > ~/.config/fish/completions/shoal.fish
    """
    if shell == "bash":
        click.echo(BASH)
        return
    from click.shell_completion import get_completion_class

    from shoal.cli import cli

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(cli, {}, "shoal", "_SHOAL_COMPLETE")
    # A name behind a comma is one word: ``--qi age,zip``.
    template = script.source_template.replace('string split ","', 'string split -m 1 ","')
    # `source` would start a bash to ask for its version, which is that of the user's anyway.
    click.echo(template % script.source_vars())
