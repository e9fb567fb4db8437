"""What a method is: an algorithm that partitions an encoded table under models."""

from __future__ import annotations

import ast
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from textwrap import dedent
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from shoal.encoding.table import EncodedTable, Partition, Recoding
from shoal.errors import PolicyError
from shoal.methods import get_method, methods_where
from shoal.methods.curve import Course
from shoal.methods.sparseness import hardly_repeats
from shoal.models import View, needs_sensitive, union_closed, whole_table_only
from shoal.models.base import Model

__all__ = ["AMONG_EQUALS", "QI_ONLY", "Method", "Options", "Outcome", "Run", "Watcher"]

AMONG_EQUALS = "which of equally good groupings"
"""What the seed decides where a method publishes the best there is: next to nothing."""

QI_ONLY = "quasi-identifiers"
"""What grouping looks at where no model is about sensitive values."""


class Options(BaseModel):
    """Options of a method: frozen, and an unknown name is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def about(cls) -> dict[str, str]:
        """What each option means: the text under it, read from the source when it is asked for."""
        told: dict[str, str] = {}
        for owner in cls.__mro__[::-1]:
            if issubclass(owner, Options):
                told.update(_texts_under(owner))
        return told


def _texts_under(kind: type) -> Iterator[tuple[str, str]]:
    """Attributes of a class with a text under them; none where there is no source."""
    try:
        (tree,) = ast.parse(dedent(inspect.getsource(kind))).body
    except OSError:
        return
    assert isinstance(tree, ast.ClassDef)
    for line, below in pairwise(tree.body):
        match line, below:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                yield name, " ".join(text.split())


class Watcher(Protocol):
    """Who is told how far a method is and, while it still improves, the loss so far."""

    def __call__(self, done: float, total: float, loss: float | None = None) -> None: ...


def _silent(done: float, total: float, loss: float | None = None) -> None:
    """Progress that nobody watches."""


OptionsT = TypeVar("OptionsT", bound=Options)


@dataclass(frozen=True)
class Run:
    """What a method may use besides table, models and options."""

    seed: int = 0
    progress: Watcher = _silent
    """Called as progress(done, total) now and then, with the loss (GCP) so far if it falls."""
    views: tuple[View, ...] = ()
    """What must hold for each of several readers; a method that looks at the models
    alone, on all quasi-identifiers, satisfies every one of them."""
    effort: str | None = None
    """How hard an any-time method searches; None: as it thinks best."""
    seconds: float | None = None
    """How long an any-time method may search; None: as its effort says."""
    whole: int | None = None
    """Where the table is a range of a longer one: the records of that. Efforts are shared out."""
    course: Course | None = None
    """Where the table is a range of a longer one: the curve along which that was cut."""


@dataclass(frozen=True)
class Outcome:
    """A method's answer: the recoding and what it can say about it for the manifest."""

    recoding: Recoding
    """Which groups share released quasi-identifiers."""
    facts: dict[str, Any] = field(default_factory=dict)
    proof: str = ""
    """One sentence: what is proven about this release against the best possible one."""
    separated: Partition | None = None
    """Groups whose sensitive values are published apart, in a table of their own (anatomy)."""


class Method(ABC, Generic[OptionsT]):
    """One algorithm in the registry `shoal.methods`, and what it declares about itself."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """One line for `shoal methods`."""
    promise: ClassVar[str]
    """What it guarantees, and for which models."""
    options: type[OptionsT]
    """What can be set about it."""

    recodings: ClassVar[tuple[str, ...]] = ("generalise", "suppress")
    """Policy values of `recoding` that the method can do, its natural one first."""
    unique_groups: ClassVar[bool] = False
    """Whether it can promise models that look at all groups at once (unique distinct l)."""
    grows_classes: ClassVar[bool] = False
    """Whether it relies on models that a class keeps as it grows."""
    takes_exempt: ClassVar[bool] = True
    """Whether it knows of values that are not sensitive."""
    one_sensitive: ClassVar[bool] = False
    """Whether it takes a single sensitive column only, and no person column."""

    exact: ClassVar[bool] = False
    """Whether what it refuses does not exist, so that nothing else may take its place."""
    anytime: ClassVar[bool] = False
    """Whether, with its default options, it searches as long as `Run.effort` and `Run.seconds`
    say; `searches` says it for others."""
    default: ClassVar[bool] = False
    """Whether it is taken where no method is named and it can do what is asked."""
    for_readers: ClassVar[bool] = False
    """Whether it is made for several readers, whose `Run.views` it may tell apart."""
    baseline: ClassVar[bool] = False
    """Whether it is there to compare with: a baseline, or a paper's method to the letter."""
    stand_in: ClassVar[str | None] = "hilbert"
    """The quick method that takes its place where many trials are made; None: it is quick."""

    by_range: ClassVar[int | None] = None
    """Records of the ranges in which it groups a longer table, each by itself
    (`shoal.engines.ranges`); None: it wants to see all records at once."""

    publishes_apart: ClassVar[bool] = False
    """Whether sensitive values go into a table of their own: it makes no groups of equal texts."""
    leaves_residue: ClassVar[bool] = False
    """Whether it stars a residue of records, and so cannot divide the residue of another."""
    keeps_parts: ClassVar[bool] = False
    """Whether, where it suppresses, it keeps parts of records that few others share."""
    takes_parts: ClassVar[bool] = False
    """Whether it is quick, and free in its groups, enough to be asked for every part of a table
    apart; or leaves that to a method that is."""
    looks_at: ClassVar[str] = "quasi-identifiers and sensitive values"
    """What decides who is grouped with whom where models are about sensitive values."""
    always_looks: ClassVar[bool] = False
    """Whether sensitive values decide even where no model is about them: a score, or an order."""
    drawn: ClassVar[str] = "who is grouped with whom"
    """What the secret seed decides, so that whoever knows all other records cannot replay it."""
    inner_option: ClassVar[str | None] = None
    """The option that names another method to work inside this one."""

    @property
    def works_inside(self) -> bool:
        """Whether another method can leave all its records to this one."""
        return not (self.publishes_apart or self.for_readers)

    @property
    def refines(self) -> bool:
        """Whether it can divide what another method leaves over."""
        return not (self.publishes_apart or self.leaves_residue)

    def inner(self, options: OptionsT) -> Method[Any]:
        """The method that its options put inside this one."""
        assert self.inner_option is not None
        return get_method(getattr(options, self.inner_option))

    def searches(self, options: OptionsT) -> bool:
        """Whether it takes an effort or a time."""
        return self.anytime

    def looked_at(self, models: Sequence[Model], options: OptionsT) -> str:
        """What decided who is grouped with whom: public, so that readers know what it may tell."""
        return self.looks_at if self.always_looks or needs_sensitive(models) else QI_ONLY

    def parse_options(self, settings: Mapping[str, Any]) -> OptionsT:
        """Its options from a policy's settings; what is wrong with them is a `PolicyError`."""
        try:
            return self.options(**settings)
        except ValidationError as error:
            problem = error.errors()[0]
            where = ".".join(str(part) for part in problem["loc"])
            known = ", ".join(self.options.model_fields) or "none"
            message = problem["msg"][0].lower() + problem["msg"][1:]
            raise PolicyError(
                f"option {where!r} of method {self.name}: {message}; its options: {known}"
            ) from None

    def refusal(
        self,
        models: Sequence[Model],
        options: OptionsT | None = None,
        *,
        recoding: str | None = None,
        sensitive: int = 1,
        persons: bool = False,
    ) -> str | None:
        """Why the method cannot do what is asked, in words that follow its name; or None.

        All of it is known from a policy, before any data is read.

        Parameters
        ----------
        models, options
            What is to hold in every group; its options, by default those it has by itself.
        recoding
            "generalise" or "suppress"; by default what is natural for the method.
        sensitive, persons
            Number of sensitive columns, and whether persons are counted, not records.
        """
        if beyond := () if self.unique_groups else whole_table_only(models):
            able = " and ".join(methods_where(lambda method: method.unique_groups))
            return f"cannot promise {beyond[0]}; {able} can"
        if self.grows_classes and not union_closed(models, persons):
            return (
                "with a person column, expected models that larger classes keep; got "
                f"{', '.join(map(str, models))}: choose method hilbert"
            )
        if self.one_sensitive and (sensitive > 1 or persons):
            return "expected one sensitive column and no person column"
        if recoding not in {None, *self.recodings}:
            return f"expected recoding {' or '.join(self.recodings)}; got {recoding}"
        if self.inner_option is None:
            return None
        inner = self.inner(options or self.options())
        # whoever leaves a residue also stars it, so that any method may divide it
        asked = None if self.leaves_residue else recoding or self.recodings[0]
        reason = inner.refusal(models, recoding=asked, sensitive=sensitive, persons=persons)
        return reason and f"{self.inner_option} = {inner.name}: {reason}"

    def cautions(
        self, table: EncodedTable, models: Sequence[Model], options: OptionsT
    ) -> Sequence[str]:
        """What the user should know before the work starts, one line each."""
        starves = table.qi[0].suppressed and not self.keeps_parts
        return hardly_repeats(table, models) if starves else ()

    def leaves_out(self, options: OptionsT) -> bool:
        """Whether records are left out whatever that loses, because its options ask for it.

        The policy must allow some then (`max_suppressed`), and `leave_out` has the last word.
        """
        return False

    def leave_out(
        self,
        table: EncodedTable,
        models: Sequence[Model],
        options: OptionsT,
        run: Run,
        most: int,
        fit: Callable[[NDArray[np.int64]], bool] | None,
    ) -> tuple[NDArray[np.int64], Outcome] | None:
        """The records to keep and their groups, by a method that chooses both at once.

        At most `most` records are left out; where they are released as a class of stars, `fit`
        says which may be one. None: the method looks for none, and outliers are found for it.
        """
        return None

    @abstractmethod
    def run(
        self, table: EncodedTable, models: Sequence[Model], options: OptionsT, run: Run
    ) -> Outcome:
        """Partition the table so that every group satisfies every model.

        The table as a whole is known to satisfy the models (the pipeline has
        checked eligibility), and to have at least one record; `refusal` has been asked.
        """
