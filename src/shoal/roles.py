"""Roles of columns: which is what, for whom, and which of its values are not sensitive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

__all__ = ["ROLES", "Reader", "Rest", "Roles", "WeightAs", "as_tuple", "known_to"]

Rest = Literal["drop", "plain", "qi"]
WeightAs = Literal["keep", "round", "drop"]
ROLES = ("identifier", "qi", "sensitive", "plain")


def as_tuple(value: Any) -> Any:
    """A list as a tuple, which is what strict fields take; all else as it is."""
    return tuple(value) if isinstance(value, list) else value


class Reader(BaseModel):
    """One reader of a release: the quasi-identifiers it can link, and its own k."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    qi: tuple[str, ...] = Field(description="quasi-identifiers that this reader knows")
    k: int | None = Field(None, description="its own k, where it differs from the policy's")

    @field_validator("qi", mode="before")
    @classmethod
    def _names(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else as_tuple(value)

    @field_validator("qi")
    @classmethod
    def _each_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value or len(set(value)) < len(value):
            raise ValueError("expected one or more quasi-identifiers, each once")
        return value


class Roles(BaseModel):
    """Which column is what, and for whom."""

    identifier: tuple[str, ...] = Field((), description="columns that name a person: dropped")
    qi: tuple[str, ...] = Field((), description="quasi-identifiers: generalised")
    sensitive: tuple[str, ...] = Field((), description="columns that must not be inferred")
    plain: tuple[str, ...] = Field((), description="columns published as they are, knowingly")
    exempt: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="values of sensitive columns that are not sensitive"
    )
    person: str | None = Field(None, description="column that says whose record it is: dropped")
    person_as: str | None = Field(
        None, description="name of a column of pseudonyms: one for each person within a class"
    )
    weight_column: str | None = Field(
        None, description="survey weights: how many people a record stands for; kept"
    )
    weight_as: WeightAs = Field(
        "keep", description="weights are kept as they are, rounded to two digits, or dropped"
    )
    rest: Rest | None = Field(
        None, description="what becomes of columns without a role; an error if not given"
    )

    reader: dict[str, Reader] = Field(
        default_factory=dict, description="readers by name, each with its quasi-identifiers"
    )
    collusion_k: int | None = Field(None, description="k for all readers together")

    def check_roles(self) -> None:
        role_of: dict[str, str] = {}
        for role in ROLES:
            for column in getattr(self, role):
                if column in role_of:
                    there = role_of[column]
                    both = f"{there} and {role}" if there != role else f"{role} twice"
                    raise ValueError(f"column {column!r}: expected one role; got {both}")
                role_of[column] = role
        if self.person in role_of and role_of[self.person] != "identifier":
            role = role_of[self.person]
            raise ValueError(f"column {self.person!r}: expected one role; got {role} and person")

    def check_weights(self) -> None:
        """Weights have a role of their own; settled, they are plain or dropped."""
        name = self.weight_column
        if name is None:
            if self.weight_as != "keep":
                raise ValueError("weight_as: expected with weight_column only; got none")
            return
        for role in ("qi", "sensitive"):
            if name in getattr(self, role):
                raise ValueError(
                    f"column {name!r}: expected one role; got {role} and weight_column"
                )
        if name == self.person:
            raise ValueError(f"column {name!r}: expected one role; got person and weight_column")

    def check_exempt(self) -> None:
        """Values are exempt in sensitive columns only, and at least one to each that is named."""
        for name, values in self.exempt.items():
            if name not in self.sensitive:
                raise ValueError(f"exempt of {name!r}: not one of the sensitive columns")
            if not values:
                raise ValueError(f"exempt of {name!r}: expected one or more values")

    def check_pseudonyms(self) -> None:
        """Pseudonyms are of persons, in a column of their own."""
        if self.person_as is None:
            return
        if self.person is None:
            raise ValueError("person_as: expected with person only; got no person")
        if self.reader:
            raise ValueError(
                "person_as: expected without readers; a pseudonym holds within one class, and "
                "every reader sees other classes"
            )
        taken = [*self.identifier, *self.qi, *self.sensitive, *self.plain]
        if self.person_as in taken and self.person_as != self.person:
            raise ValueError(f"person_as: {self.person_as!r} is the name of another column")

    def check_readers(self) -> None:
        if self.collusion_k is not None and not self.reader:
            raise ValueError("collusion_k: expected with readers only; got no reader")
        known = {name for reader in self.reader.values() for name in reader.qi}
        for name in self.qi if self.reader else ():
            if name not in known:
                raise ValueError(f"qi: {name!r} is known to no reader: drop it, or name its reader")
        for name, reader in self.reader.items():
            if strange := [column for column in reader.qi if column not in self.qi]:
                raise ValueError(f"reader.{name}: {strange[0]!r} is not in qi")


def known_to(reader: Any) -> tuple[str, ...]:
    """Names that a reader is given with, whatever form it has; none if it has no right one."""
    names = reader.qi if isinstance(reader, Reader) else reader
    names = names.get("qi", ()) if isinstance(names, Mapping) else names
    names = (names,) if isinstance(names, str) else names
    good = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
    return tuple(names) if good else ()
