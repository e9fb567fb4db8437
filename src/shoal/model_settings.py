"""The settings that ask for privacy models: in a policy, on the command line, in Python.

Each is declared once, here: its type, what it means, and its command line
option. `Policy` and the commands take them as they are. This module imports
neither numpy nor pyarrow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, Field, field_validator

__all__ = [
    "BETA_READINGS",
    "MODEL_OPTIONS",
    "MODEL_SETTINGS",
    "READINGS",
    "ModelOption",
    "ModelSettings",
    "Reading",
]

Reading = Literal["frequency", "distinct", "entropy", "recursive", "unique"]
READINGS: tuple[str, ...] = get_args(Reading)
BetaReading = Literal["enhanced", "basic"]
BETA_READINGS: tuple[str, ...] = get_args(BetaReading)
Number = int | float


@dataclass(frozen=True)
class ModelOption:
    """How a setting is given on the command line."""

    flag: str
    help: str
    type: type | None = None
    """None: a text, or one of the `choices`."""
    choices: tuple[str, ...] = ()
    metavar: str | None = None


class ModelSettings(BaseModel):
    """The parameters of all models; None where a model is not asked for."""

    k: Annotated[int | None, ModelOption("-k", "At least k records in every class.", int)] = Field(
        None, description="k-anonymity: at least k records a class"
    )
    l: Annotated[  # noqa: E741
        int | float | Literal["auto"] | None,
        ModelOption(
            "-l", "l-diversity of the sensitive columns; auto: the largest.", metavar="L|auto"
        ),
    ] = Field(None, description="l-diversity; auto: the largest that the table allows")
    l_reading: Annotated[
        Reading,
        ModelOption("--l-reading", "What l-diversity means. [frequency]", choices=READINGS),
    ] = Field("frequency", description="what l-diversity means")
    c: Annotated[Number | None, ModelOption("-c", "The c of recursive (c,l)-diversity.", float)] = (
        Field(None, description="the c of recursive (c,l)-diversity")
    )
    m: Annotated[
        int | None, ModelOption("-m", "m-invariance: safe over releases; see --after.", int)
    ] = Field(None, description="m-invariance: m different values, the same ones in a series")
    t: Annotated[Number | None, ModelOption("-t", "t-closeness.", float)] = Field(
        None, description="t-closeness"
    )
    alpha: Annotated[
        Number | None, ModelOption("--alpha", "The alpha of (alpha,k)-anonymity.", float)
    ] = Field(None, description="the alpha of (alpha,k)-anonymity")
    beta: Annotated[Number | None, ModelOption("--beta", "beta-likeness.", float)] = Field(
        None, description="beta-likeness: how much more frequent a value may be in a class"
    )
    beta_reading: Annotated[
        BetaReading,
        ModelOption(
            "--beta-reading", "What beta-likeness means. [enhanced]", choices=BETA_READINGS
        ),
    ] = Field("enhanced", description="what beta-likeness means")
    delta: Annotated[Number | None, ModelOption("--delta", "delta-disclosure.", float)] = Field(
        None, description="delta-disclosure: no value much more or less frequent in a class"
    )
    e: Annotated[Number | None, ModelOption("-e", "The e of (k,e)-anonymity.", float)] = Field(
        None, description="the e of (k,e)-anonymity"
    )

    @field_validator("k", "l", "c", "m", "t", "alpha", "beta", "delta", "e")
    @classmethod
    def _numbers_are_numbers(cls, value: Any) -> Any:
        """Nothing is promised by what compares with nothing, or is endless."""
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"expected a number; got {value}")
        return value


MODEL_SETTINGS: tuple[str, ...] = tuple(ModelSettings.model_fields)
"""Names of the settings."""

MODEL_OPTIONS: dict[str, ModelOption] = {
    name: next(about for about in field.metadata if isinstance(about, ModelOption))
    for name, field in ModelSettings.model_fields.items()
}
"""The command line option of each setting."""
