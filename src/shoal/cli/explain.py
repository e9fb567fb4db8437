"""``shoal explain``: what a word on the screen means."""

from __future__ import annotations

import textwrap

import click

from shoal.cli.completing import complete_terms
from shoal.cli.output import output_options, print_json, screen_width
from shoal.errors import PolicyError, did_you_mean
from shoal.glossary import GLOSSARY, Term, find, words


@click.command(short_help="Say what a word means: loss, class, gap, ...")
@click.argument("word", nargs=-1, shell_complete=complete_terms)
@output_options
def explain(word: tuple[str, ...], quiet: bool, as_json: bool) -> None:
    """Say what WORD means; without one, list all words.

    \b
    shoal explain GCP
    """
    terms = [_term(" ".join(word))] if word else list(GLOSSARY.values())
    if as_json:
        print_json([term._asdict() for term in terms])
        return
    width = max(len(term.name) for term in terms) + 2
    for term in terms:
        click.echo(_in_columns(term, width))


def _term(word: str) -> Term:
    found = find(word)
    if found is None:
        hint = did_you_mean(word, words())
        raise PolicyError(f"explain: {word!r} is not one of our words{hint or LIST}")
    return found


LIST = "; `shoal explain` lists them"


def _in_columns(term: Term, width: int) -> str:
    """The name, and beside it the meaning and where to read on."""
    names = f" Also: {', '.join(term.also)}." if term.also else ""
    see = f" See: {', '.join(term.see)}." if term.see else ""
    return textwrap.fill(
        term.meaning + names + see,
        screen_width(),
        initial_indent=term.name.ljust(width),
        subsequent_indent=" " * width,
        break_on_hyphens=False,
    )
