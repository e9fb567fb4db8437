"""``shoal methods`` and ``shoal models``: what there is, and what each can promise."""

from __future__ import annotations

import click

from shoal.cli.output import output_options, print_json


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
                    "options": {
                        name: field.default for name, field in method.options.model_fields.items()
                    },
                }
                for method in found
            ]
        )
        return
    for method in found:
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
