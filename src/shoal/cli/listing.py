"""``shoal methods`` and ``shoal models``: what there is, and what each can promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from shoal.cli.output import output_options, print_json

if TYPE_CHECKING:
    from shoal.methods.base import Method


@click.command(short_help="List the methods and what each promises.")
@output_options
def methods(quiet: bool, as_json: bool) -> None:
    """List the methods, what each promises, and its options."""
    from shoal.methods import METHODS, get_method

    found = [get_method(name) for name in METHODS]
    if as_json:
        print_json(
            [
                {
                    "name": method.name,
                    "summary": method.summary,
                    "promise": method.promise,
                    "baseline": method.baseline,
                    "options": {
                        name: field.default for name, field in method.options.model_fields.items()
                    },
                }
                for method in found
            ]
        )
        return
    for method in found:
        if not method.baseline:
            _describe(method)
    click.echo("\nTo compare with (baselines, and papers to the letter):")
    for method in found:
        if method.baseline:
            _describe(method)


def _describe(method: Method[Any]) -> None:
    click.echo(f"{method.name:<12} {method.summary}")
    click.echo(f"{'':<12} promises: {method.promise}")
    for name, field in method.options.model_fields.items():
        about = field.description or ""
        click.echo(f"{'':<12} --option {name}={str(field.default).lower()}  {about}")


@click.command(short_help="List the privacy models and their options.")
@output_options
def models(quiet: bool, as_json: bool) -> None:
    """List the privacy models, the options that ask for them, and whether they are monotone."""
    from shoal.models import MODELS

    if as_json:
        print_json(
            [
                {
                    "name": model.name,
                    "option": model.option,
                    "summary": model.summary,
                    "monotone": model.monotone,
                }
                for model in MODELS.values()
            ]
        )
        return
    for model in MODELS.values():
        monotone = "monotone" if model.monotone else "not monotone"
        click.echo(f"{model.name:<20} {model.option:<28} {model.summary} ({monotone})")
