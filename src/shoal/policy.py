"""A policy: roles, attribute kinds, models and method. One TOML file says it all.

Names are the same in the file, on the command line and as Python arguments::

    qi = ["age", "zip"]
    sensitive = ["disease"]
    k = 10
    [hierarchy]
    zip = "zip.csv"

This module imports neither numpy nor pyarrow, so that the command line can
read and check a policy before anything heavy is loaded.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from shoal.effort import EffortName
from shoal.errors import PolicyError
from shoal.model_settings import ModelSettings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Kind", "Layout", "Policy", "Reader", "RecodingName", "Rest", "SuppressBy", "Twins"]

Kind = Literal["numeric", "date", "ordinal", "categorical"]
Layout = Literal["cells", "bounds"]
RecodingName = Literal["generalise", "suppress"]
Rest = Literal["drop", "plain", "qi"]
SuppressBy = Literal["drop", "star"]
Twins = Literal["fold", "distinct"]
Number = int | float

ROLES = ("identifier", "qi", "sensitive", "plain")
SEED_BITS = 128
"""Of a seed: what the system draws for a run that is given none."""
SECONDS_IN = {"s": 1, "m": 60, "h": 3600}


class Reader(BaseModel):
    """One reader of a release: the quasi-identifiers it can link, and its own k."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    qi: tuple[str, ...] = Field(description="quasi-identifiers that this reader knows")
    k: int | None = Field(None, description="its own k, where it differs from the policy's")

    @field_validator("qi", mode="before")
    @classmethod
    def _names(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else _as_tuple(value)

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
    person: str | None = Field(None, description="column that says whose record it is: dropped")
    rest: Rest | None = Field(
        None, description="what becomes of columns without a role; an error if not given"
    )

    reader: dict[str, Reader] = Field(
        default_factory=dict, description="readers by name, each with its quasi-identifiers"
    )
    collusion_k: int | None = Field(None, description="k for all readers together")


class Policy(ModelSettings, Roles):
    """Everything a run needs besides the data. Frozen; validated on entry.

    Its settings come in this order: roles, models, and what follows.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    max_loss: Number | None = Field(None, description="largest loss: search the strongest k or l")
    search: Literal["k", "l"] = Field("k", description="what max_loss makes as large as it can")

    method: str | None = Field(None, description="algorithm; the best for the models if not given")
    option: dict[str, Any] = Field(default_factory=dict, description="options of the method")
    effort: EffortName | None = Field(None, description="how hard an any-time method searches")
    time: Number | str | None = Field(
        None, description='how long an any-time method may search: seconds, "30s", "2m", "1.5h"'
    )
    seed: int | None = Field(
        None, description="seed of everything random; a secret one for each run if not given"
    )
    recoding: RecodingName | None = Field(
        None, description="mixed values become intervals and nodes, or stars; as the method does"
    )

    bound: bool | None = Field(
        None, description="prove how far from the optimum it is; if not given, any-time methods do"
    )
    max_suppressed: Number | str | None = Field(
        None, description='largest share of records to suppress as outliers: 0.005 or "0.5%"'
    )
    suppress_by: SuppressBy = Field(
        "drop", description="suppressed records are not released, or every qi of theirs is a star"
    )

    kind: dict[str, Kind] = Field(default_factory=dict, description="kinds of attributes")
    weight: dict[str, Number] = Field(default_factory=dict, description="weights in the loss")
    hierarchy: dict[str, str | dict[str, Any]] = Field(
        default_factory=dict, description='ARX file, "flat", tree or builder by attribute'
    )
    coarsen: dict[str, int] = Field(
        default_factory=dict, description="level of its hierarchy an attribute is coarsened to"
    )
    order: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="values of an ordinal attribute, lowest first"
    )
    missing: tuple[str, ...] = Field(("",), description="texts that mean a missing value")
    twins: Twins = Field(
        "fold", description="sensitive values that differ in spelling only: fold, or distinct"
    )

    layout: Layout = Field("cells", description="intervals in one cell, or as two columns")
    keep_order: bool = Field(False, description="keep the order of the input's rows")
    csv_safe: bool = Field(False, description="disarm cells a spreadsheet would run")

    base: Path = Field(Path(), exclude=True, description="where relative paths start")

    @field_validator(*ROLES, "missing", mode="before")
    @classmethod
    def _one_name_is_a_list_too(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else _as_tuple(value)

    @field_validator("reader", mode="before")
    @classmethod
    def _a_list_is_a_reader(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {n: {"qi": r} if isinstance(r, str | list | tuple) else r for n, r in value.items()}

    @field_validator("order", mode="before")
    @classmethod
    def _orders_are_tuples(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: _as_tuple(values) for name, values in value.items()}
        return value

    @field_validator("base", mode="before")
    @classmethod
    def _base_is_a_path(cls, value: Any) -> Any:
        return Path(value) if isinstance(value, str) else value

    @field_validator("weight")
    @classmethod
    def _weights_are_positive(cls, value: dict[str, Number]) -> dict[str, Number]:
        for name, weight in value.items():
            if not 0 < weight < float("inf"):
                raise ValueError(f"{name!r}: expected a positive number; got {weight}")
        return value

    @field_validator("max_loss")
    @classmethod
    def _a_loss_is_a_share(cls, value: Number | None) -> Number | None:
        if value is not None and not 0 <= value <= 1:
            raise ValueError(f"expected a number from 0 to 1; got {value}")
        return value

    @field_validator("seed")
    @classmethod
    def _a_seed_is_whole_and_not_negative(cls, value: int | None) -> int | None:
        if value is not None and not 0 <= value < 1 << SEED_BITS:
            raise ValueError(f"expected a whole number from 0 to 2^{SEED_BITS} - 1")
        return value

    @field_validator("time")
    @classmethod
    def _time_is_a_time(cls, value: Number | str | None) -> Number | str | None:
        if value is not None:
            _seconds(value)
        return value

    @field_validator("max_suppressed")
    @classmethod
    def _some_records_are_kept(cls, value: Number | str | None) -> Number | str | None:
        if value is not None:
            _share(value)
        return value

    @model_validator(mode="before")
    @classmethod
    def _readers_know_the_quasi_identifiers(cls, settings: Any) -> Any:
        """What readers know, in the order they name it, are the quasi-identifiers."""
        readers = settings.get("reader") if isinstance(settings, dict) else None
        if not isinstance(readers, Mapping) or settings.get("qi"):
            return settings
        sets = [_known_to(reader) for reader in readers.values()]
        return {**settings, "qi": tuple(dict.fromkeys(name for names in sets for name in names))}

    @model_validator(mode="after")
    def _consistent(self) -> Policy:
        self._check_roles()
        self._check_readers()
        self._check_attributes()
        if self.suppress_by != "drop" and self.max_suppressed is None:
            raise ValueError(
                "suppress_by: expected with max_suppressed only; got no max_suppressed"
            )
        return self

    def _check_roles(self) -> None:
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

    def _check_readers(self) -> None:
        if self.collusion_k is not None and not self.reader:
            raise ValueError("collusion_k: expected with readers only; got no reader")
        known = {name for reader in self.reader.values() for name in reader.qi}
        for name in self.qi if self.reader else ():
            if name not in known:
                raise ValueError(f"qi: {name!r} is known to no reader: drop it, or name its reader")
        for name, reader in self.reader.items():
            if strange := [column for column in reader.qi if column not in self.qi]:
                raise ValueError(f"reader.{name}: {strange[0]!r} is not in qi")

    def _check_attributes(self) -> None:
        for name in self.order:
            if self.kind.get(name, "ordinal") != "ordinal":
                raise ValueError(f"order of {name!r}: its kind is {self.kind[name]}, not ordinal")
        for name in self.hierarchy:
            if self.kind.get(name, "categorical") != "categorical":
                raise ValueError(
                    f"hierarchy of {name!r}: its kind is {self.kind[name]}; "
                    "only categorical attributes take one"
                )
            if name in self.order:
                raise ValueError(f"{name!r}: give a hierarchy or an order, not both")
        for name in self.coarsen:
            if name not in self.hierarchy:
                raise ValueError(
                    f"coarsen of {name!r}: expected a hierarchy of {name!r} to climb; got none"
                )
        for table in ("weight", "hierarchy", "coarsen"):
            for name in getattr(self, table):
                if self.qi and name not in self.qi and not self._may_become_qi(name):
                    raise ValueError(f"{table} of {name!r}: not one of the quasi-identifiers")

    def _may_become_qi(self, name: str) -> bool:
        """Whether `rest` makes it a quasi-identifier, if the table has it."""
        others = {*self.identifier, *self.sensitive, *self.plain, self.person}
        return self.rest == "qi" and name not in others

    @property
    def seconds(self) -> float | None:
        """`time` in seconds."""
        return None if self.time is None else _seconds(self.time)

    def suppressible(self, records: int) -> int:
        """How many of so many records may be suppressed; never more than the share asked for."""
        share = Fraction(0) if self.max_suppressed is None else _share(self.max_suppressed)
        return int(share * records)

    @classmethod
    def parse(cls, **settings: Any) -> Policy:
        """Build a policy; what does not fit raises `PolicyError` with one line.

        Examples
        --------
        >>> Policy.parse(qi=["age"], k=5).k
        5
        """
        given = {name: value for name, value in settings.items() if value is not None}
        try:
            return cls(**given)
        except ValidationError as error:
            raise PolicyError(_first_problem(error)) from None

    @classmethod
    def of(cls, policy: Policy | str | Path | None, settings: Mapping[str, Any]) -> Policy:
        """A policy, or the one in a file, with settings that override it."""
        if isinstance(policy, str | Path):
            policy = cls.load(policy)
        return policy.override(**settings) if policy is not None else cls.parse(**settings)

    def override(self, **settings: Any) -> Policy:
        """This policy with the given settings in place of its own; tables are merged."""
        merged: dict[str, Any] = {name: getattr(self, name) for name in type(self).model_fields}
        if self.reader and settings.get("reader"):
            del merged["qi"]  # follows from what the readers know
        for name, value in settings.items():
            if value is None:
                continue
            both_tables = isinstance(value, Mapping) and isinstance(merged.get(name), dict)
            merged[name] = {**merged[name], **value} if both_tables else value
        return Policy.parse(**merged)

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a policy from a TOML file; relative paths in it start beside it."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise PolicyError(f"policy {path}: no such file") from None
        except (OSError, UnicodeDecodeError) as error:
            raise PolicyError(f"policy {path}: cannot be read: {error}") from None
        if len(text) > 10_000_000 or MANY_DOTS.search(text):
            raise PolicyError(f"policy {path}: too large; put large trees into files of their own")
        try:
            settings = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            reason = str(error).replace(
                "end of document", f"line {text.count(chr(10)) + 1}, the end"
            )
            raise PolicyError(f"policy {path}: not TOML: {reason}") from None
        if "base" in settings:  # ours, not a setting
            raise PolicyError(f"policy {path}{_line_of(text, ['base'])}: {_unknown('base')}")
        try:
            return cls(**settings, base=path.parent)
        except ValidationError as error:
            line = _line_of(text, _names_in(error))
            raise PolicyError(f"policy {path}{line}: {_first_problem(error)}") from None

    def to_toml(self) -> str:
        """The policy as TOML text: only what differs from the defaults."""
        import tomli_w

        return tomli_w.dumps(self.settings())

    def save(self, path: str | Path) -> None:
        """Write the policy as a TOML file."""
        Path(path).write_text(self.to_toml(), encoding="utf-8")

    def settings(self) -> dict[str, Any]:
        """Settings that differ from the defaults, as plain lists, dicts and numbers."""
        return self.model_dump(mode="json", exclude_defaults=True)


def _known_to(reader: Any) -> tuple[str, ...]:
    """Names that a reader is given with, whatever form it has; none if it has no right one."""
    names = reader.qi if isinstance(reader, Reader) else reader
    names = names.get("qi", ()) if isinstance(names, Mapping) else names
    names = (names,) if isinstance(names, str) else names
    good = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
    return tuple(names) if good else ()


def _seconds(value: Number | str) -> float:
    """``30``, ``"30s"``, ``"2m"`` or ``"1.5h"`` in seconds."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([smh]?)\s*", str(value))
    seconds = float(found[1]) * SECONDS_IN[found[2] or "s"] if found else 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"expected a time such as 30s, 2m or 1.5h; got {value!r}")
    return seconds


def _share(value: Number | str) -> Fraction:
    """``0.005`` or ``"0.5%"`` as an exact share: no rounding may add a record to it."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?(?:e-?\d{1,3})?|\.\d+)\s*(%?)\s*", str(value))
    share = Fraction(found[1]) / (100 if found[2] else 1) if found else Fraction(1)
    if share >= 1:
        raise ValueError(f"expected a share of the records such as 0.5% or 0.005; got {value!r}")
    return share


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _first_problem(error: ValidationError) -> str:
    """One line: which setting, what was expected, what came."""
    problem = error.errors()[0]
    where = ".".join(str(part) for part in problem["loc"] if not _is_type_name(part))
    if problem["type"] == "extra_forbidden":
        return _unknown(where)
    if problem["type"] == "value_error":
        reason = str(problem["ctx"]["error"])
        return f"{where}: {reason}" if where else reason
    if problem["type"] == "missing":
        return f"{where}: expected, and not given"
    expected = problem["msg"].removeprefix("Input should be ").removeprefix("a valid ")
    # An order lists values of a column, which may be a sensitive one: never show them.
    secret = problem["loc"][0] == "order"
    came = type(problem["input"]).__name__ if secret else repr(problem["input"])
    return f"{where}: expected {expected}; got {came}"


def _unknown(name: str) -> str:
    known = ", ".join(name for name in Policy.model_fields if name != "base")
    return f"unknown setting {name!r}; expected one of {known}"


def _is_type_name(part: object) -> bool:
    """Union branches appear in pydantic's locations; users never wrote them."""
    return part in {"int", "float", "str", "list[str]"} or str(part).startswith("dict[")


def _names_in(error: ValidationError) -> list[str]:
    """Names of the first offending setting, outermost first."""
    problem = error.errors()[0]
    names = [part for part in problem["loc"] if isinstance(part, str) and not _is_type_name(part)]
    if not names and (quoted := re.search(r"'([^']+)'", problem["msg"])):
        names = [quoted[1]]
    return names


def _line_of(text: str, names: list[str]) -> str:
    """Where the innermost name stands in the file: ``, line 7``, or nothing."""
    for name in reversed(names):
        pattern = rf"^\s*\[?\s*(?:[\w\"']+\.)?[\"']?{re.escape(name)}[\"']?\s*(?:=|\.|\])"
        if found := re.search(pattern, text, flags=re.MULTILINE):
            return f", line {text.count(chr(10), 0, found.start() + 1) + 1}"
        if name in text:
            return f", line {text.count(chr(10), 0, text.index(name)) + 1}"
    return ""


KINDS: tuple[str, ...] = get_args(Kind)
LAYOUTS: tuple[str, ...] = get_args(Layout)
RECODINGS: tuple[str, ...] = get_args(RecodingName)
RESTS: tuple[str, ...] = get_args(Rest)
TWINS: tuple[str, ...] = get_args(Twins)
SUPPRESSIONS: tuple[str, ...] = get_args(SuppressBy)
# A dotted name takes memory by the square of its parts: a file of 200 kB took gigabytes.
MANY_DOTS = re.compile(r"""(?<![\w"'.-])(?:[\w"'-]+[ \t]*\.[ \t]*){64}""")
