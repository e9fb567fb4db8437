"""A policy: roles, attribute kinds, models and method. One TOML file says it all.

Names are the same in the file, on the command line and as Python arguments::

    qi = ["age", "zip"]
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

from pydantic import ConfigDict, Field, ValidationError, field_validator, model_validator

from shoal.effort import EffortName
from shoal.errors import PolicyError, did_you_mean, line_of_name, names_in, problem_in_words
from shoal.io.header import known_delimiter, known_encoding
from shoal.model_settings import ModelSettings
from shoal.notation import check_marks, check_notations, known_decimal
from shoal.quantities import (
    Number,
    Step,
    bytes_of,
    check_steps,
    check_weights,
    seconds_of,
    share_of,
)
from shoal.report_fields import check_fields
from shoal.roles import ROLES, Reader, Rest, Roles, WeightAs, as_tuple, known_to
from shoal.thresholds import check_kept, with_k_of_threshold
from shoal.treatments import check_treated, listed

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Kind", "Layout", "Policy", "Reader", "RecodingName", "Rest", "SuppressBy", "Twins"]

Kind = Literal["numeric", "date", "ordinal", "categorical"]
Layout = Literal["cells", "bounds"]
RecodingName = Literal["generalise", "suppress"]
SuppressBy = Literal["drop", "star"]
Twins = Literal["fold", "distinct"]
EngineName = Literal["auto", "memory", "duckdb", "spark"]

SEED_BITS = 128
"""Of a seed: what the system draws for a run that is given none."""


class Policy(ModelSettings, Roles):
    """Everything a run needs besides the data. Frozen; validated on entry.

    Its settings come in this order: roles, models, and what follows.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    threshold: Number | str | None = Field(
        None, description="largest risk of a record, by name or number: k is raised to keep it"
    )
    max_loss: Number | None = Field(None, description="largest loss: search the strongest k or l")
    search: Literal["k", "l"] = Field("k", description="what max_loss makes as large as it can")

    method: str | None = Field(None, description="algorithm; the best for the models if not given")
    option: dict[str, Any] = Field(default_factory=dict, description="options of the method")
    effort: EffortName | None = Field(None, description="how hard an any-time method searches")
    time: Number | str | None = Field(
        None, description='limit of a run after reading, by the clock: seconds, "30s", "2m", "1.5h"'
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
    coarsen: dict[str, int | Literal["auto"]] = Field(
        default_factory=dict,
        description='level of its hierarchy an attribute is coarsened to; "auto" for the best',
    )
    round: dict[str, Step] = Field(
        default_factory=dict,
        description="intervals begin and end on multiples of a number, or with a period of dates",
    )
    treat: dict[str, tuple[str, ...]] = Field(
        default_factory=dict,
        description="plain and sensitive numbers: top, bottom, round, micro or noise",
    )
    order: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="values of an ordinal attribute, lowest first"
    )
    missing: tuple[str, ...] = Field(("",), description="texts that mean a missing value")
    notation: dict[str, str] = Field(
        default_factory=dict,
        description="how dates and numbers are written: dd.mm.yyyy, mm/dd/yyyy, comma, ...",
    )
    encoding: str = Field("utf-8", description="encoding of the input's CSV file")
    delimiter: str | None = Field(None, description="between its cells; told by its header")
    decimal: str | None = Field(None, description='"," or "." in numbers; told by each column')
    twins: Twins = Field(
        "fold", description="sensitive values that differ in spelling only: fold, or distinct"
    )

    series: bool = Field(False, description="first of several: the record has what the next needs")
    counterfeits: bool = Field(
        True, description="m over releases: invented records where nobody is left; false: refuse"
    )
    max_counterfeits: Number | str | None = Field(None, description="share of them, to lose less")

    layout: Layout = Field("cells", description="intervals in one cell, or as two columns")
    keep_order: bool = Field(False, description="keep the order of the input's rows")
    csv_safe: bool = Field(False, description="disarm cells a spreadsheet would run")

    engine: EngineName = Field(
        "auto",
        description="where the work is done: memory, duckdb, spark; by the size of the table",
    )
    memory: str | None = Field(
        None, description='memory that a run may take: "1GB"; by what the machine has free'
    )
    temp: str | None = Field(
        None, description="folder for what does not fit into memory; beside the release"
    )

    master: str | None = Field(
        None, description="Spark's master, for engine spark: local[*], spark://host:7077, yarn"
    )

    report: dict[str, str] = Field(
        default_factory=dict,
        description="what the report says of the release: title, custodian, recipient, access, "
        "purpose, expert, review",
    )

    base: Path = Field(Path(), exclude=True, description="where relative paths start")
    file: Path | None = Field(None, exclude=True, description="where it was read from")

    @field_validator(*ROLES, "missing", mode="before")
    @classmethod
    def _one_name_is_a_list_too(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else as_tuple(value)

    @model_validator(mode="before")
    @classmethod
    def _auto_is_for_every_tree(cls, settings: Any) -> Any:
        if not isinstance(settings, Mapping) or settings.get("coarsen") != "auto":
            return settings
        if not (isinstance(trees := settings.get("hierarchy"), Mapping) and trees):
            raise ValueError("coarsen = auto: expected hierarchies to climb; got none")
        return {**settings, "coarsen": dict.fromkeys(trees, "auto")}

    @field_validator("reader", mode="before")
    @classmethod
    def _a_list_is_a_reader(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {n: {"qi": r} if isinstance(r, str | list | tuple) else r for n, r in value.items()}

    @field_validator("order", mode="before")
    @classmethod
    def _lists_are_tuples(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {n: as_tuple(v) for n, v in value.items()}
        return value

    @field_validator("exempt", mode="before")
    @classmethod
    def _one_value_is_a_list(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {n: (v,) if isinstance(v, str) else as_tuple(v) for n, v in value.items()}
        return value

    @field_validator("treat", mode="before")
    @classmethod
    def _treatments_are_known(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {name: listed(texts) for name, texts in value.items()}

    @field_validator("base", mode="before")
    @classmethod
    def _base_is_a_path(cls, value: Any) -> Any:
        return Path(value) if isinstance(value, str) else value

    _weights_are_in_range = field_validator("weight")(check_weights)

    @field_validator("round")
    @classmethod
    def _steps_are_steps(cls, value: dict[str, Step]) -> dict[str, Step]:
        check_steps(value)
        return value

    @field_validator("report")
    @classmethod
    def _a_report_knows_its_fields(cls, value: dict[str, str]) -> dict[str, str]:
        check_fields(value)
        return value

    @field_validator("notation")
    @classmethod
    def _notations_are_known(cls, value: dict[str, str]) -> dict[str, str]:
        check_notations(value)
        return value

    _the_encoding_is_known = field_validator("encoding")(known_encoding)
    _the_delimiter_is_one = field_validator("delimiter")(known_delimiter)
    _the_decimal_mark_is_one = field_validator("decimal")(known_decimal)

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
            seconds_of(value)
        return value

    @field_validator("memory")
    @classmethod
    def _memory_is_an_amount(cls, value: str | None) -> str | None:
        if value is not None:
            bytes_of(value)
        return value

    @field_validator("max_suppressed", "max_counterfeits")
    @classmethod
    def _some_records_are_kept(cls, value: Number | str | None) -> Number | str | None:
        if value is not None:
            share_of(value)
        return value

    @model_validator(mode="before")
    @classmethod
    def _readers_know_the_quasi_identifiers(cls, settings: Any) -> Any:
        """What readers know, in the order they name it, are the quasi-identifiers."""
        readers = settings.get("reader") if isinstance(settings, dict) else None
        if not isinstance(readers, Mapping) or settings.get("qi"):
            return settings
        sets = [known_to(reader) for reader in readers.values()]
        return {**settings, "qi": tuple(dict.fromkeys(name for names in sets for name in names))}

    @model_validator(mode="before")
    @classmethod
    def _a_threshold_asks_for_a_k(cls, settings: Any) -> Any:
        return with_k_of_threshold(settings) if isinstance(settings, dict) else settings

    @model_validator(mode="after")
    def _consistent(self) -> Policy:
        self.check_roles()
        self.check_readers()
        self.check_weights()
        self.check_exempt()
        self.check_pseudonyms()
        check_treated(self)
        check_marks(self.delimiter, self.decimal)
        self._check_attributes()
        own = {f"k of reader {n!r}": r.k for n, r in self.reader.items()}
        check_kept(self.threshold, {**own, "collusion_k": self.collusion_k})
        if self.suppress_by != "drop" and self.max_suppressed is None:
            raise ValueError("suppress_by: expected with max_suppressed only; got none")
        return self

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
        for name in self.round:
            implied = "ordinal" if name in self.order else "categorical"
            given = name in self.order or name in self.hierarchy
            kind = self.kind.get(name, implied if given else "numeric")
            if kind not in {"numeric", "date"}:
                raise ValueError(
                    f"round of {name!r}: expected a numeric or date column; it is {kind}"
                )
        for table in ("weight", "hierarchy", "coarsen", "round"):
            for name in getattr(self, table):
                if self.qi and name not in self.qi and not self._may_become_qi(name):
                    raise ValueError(f"{table} of {name!r}: not one of the quasi-identifiers")

    def _may_become_qi(self, name: str) -> bool:
        """Whether `rest` makes it a quasi-identifier, if the table has it."""
        others = {*self.identifier, *self.sensitive, *self.plain, self.person, self.weight_column}
        return self.rest == "qi" and name not in others

    @property
    def seconds(self) -> float | None:
        """`time` in seconds."""
        return None if self.time is None else seconds_of(self.time)

    @property
    def coarsen_open(self) -> tuple[str, ...]:
        """Attributes whose level the table decides."""
        return tuple(name for name, level in self.coarsen.items() if level == "auto")

    def suppressible(self, records: int) -> int:
        """How many of so many records may be suppressed; never more than the share asked for."""
        share = Fraction(0) if self.max_suppressed is None else share_of(self.max_suppressed)
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
            end = f"line {text.count(chr(10)) + 1}, the end"
            reason = str(error).replace("end of document", end)
            raise PolicyError(f"policy {path}: not TOML: {reason}") from None
        if ours := [name for name in OURS if name in settings]:
            raise PolicyError(f"policy {path}{line_of_name(text, ours)}: {_unknown(ours[0])}")
        try:
            return cls(**settings, base=path.parent, file=path)
        except ValidationError as error:
            line = line_of_name(text, names_in(error.errors()[0]))
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


def _first_problem(error: ValidationError) -> str:
    """One line: which setting, what was expected, what came."""
    # these list values of a column, maybe a sensitive one
    return problem_in_words(error.errors()[0], _unknown, secret={"order", "exempt"})


def _unknown(name: str) -> str:
    known = [setting for setting in Policy.model_fields if setting not in OURS]
    hint = did_you_mean(name, known)
    return f"unknown setting {name!r}; expected one of {', '.join(known)}{hint}"


OURS = ("base", "file")  # set by `load`: no settings
KINDS: tuple[str, ...] = get_args(Kind)
LAYOUTS: tuple[str, ...] = get_args(Layout)
RECODINGS: tuple[str, ...] = get_args(RecodingName)
RESTS: tuple[str, ...] = get_args(Rest)
TWINS: tuple[str, ...] = get_args(Twins)
ENGINE_NAMES: tuple[str, ...] = get_args(EngineName)
WEIGHT_FORMS: tuple[str, ...] = get_args(WeightAs)
SUPPRESSIONS: tuple[str, ...] = get_args(SuppressBy)
# A dotted name takes memory by the square of its parts: a file of 200 kB took gigabytes.
MANY_DOTS = re.compile(r"""(?<![\w"'.-])(?:[\w"'-]+[ \t]*\.[ \t]*){64}""")
