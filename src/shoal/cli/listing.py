"""``shoal methods`` and ``shoal models``: what there is, and what each can promise."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.output import output_options, print_json, screen_width

if TYPE_CHECKING:
    from shoal.methods.base import Method
    from shoal.models import Model


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
    margin = max(map(len, METHODS)) + GAP
    for method in found:
        if not method.baseline:
            _describe(method, margin)
    click.echo("\nTo compare with:")
    for method in found:
        if method.baseline:
            _describe(method, margin)


DEFAULT_READING = "frequency"
GAP = 2
"""Columns between the longest name and what stands beside names."""


def _describe(method: Method[Any], margin: int) -> None:
    """The name, and beside it what the method does, promises and takes."""
    _paragraph(method.summary, margin, method.name)
    _paragraph(f"Promises: {method.promise}", margin)
    about = method.options.about()
    for name, field in method.options.model_fields.items():
        default = "" if field.default is None else str(field.default).lower()
        _paragraph(f"--option {name}={default}  {about.get(name, '')}", margin, hang=4)


def _paragraph(text: str, margin: int, name: str = "", hang: int = 0) -> None:
    """A text within its column of the screen."""
    click.echo(
        textwrap.fill(
            " ".join(text.split()),
            screen_width(),
            initial_indent=name.ljust(margin),
            subsequent_indent=" " * (margin + hang),
            break_on_hyphens=False,
        )
    )


@click.command(short_help="List the privacy models and their options.")
@output_options
def models(quiet: bool, as_json: bool) -> None:
    """List the privacy models and the options that ask for them."""
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
    margin = max(map(len, MODELS)) + GAP
    for model in MODELS.values():
        _paragraph(f"{model.summary}: {_asked_by(model)}", margin, model.name)


def _asked_by(model: type[Model]) -> str:
    """The options that ask for a model."""
    from shoal.model_settings import MODEL_OPTIONS

    reading = model.name.removesuffix("-l")
    other = reading not in {model.name, DEFAULT_READING}
    return MODEL_OPTIONS[model.option].flag + (f" with --l-reading {reading}" if other else "")
