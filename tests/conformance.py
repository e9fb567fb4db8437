"""What every method is held to: these models on any table, and no refusal but those named here."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

import pyarrow as pa
from hypothesis import reject
from hypothesis import strategies as st

import shoal
from guarantees import fails_as_a_whole
from shoal.errors import InfeasibleError, NotFoundError, PolicyError, ShoalError
from shoal.methods import get_method, methods_where
from shoal.models import models_of

MODELS: list[dict[str, Any]] = [
    {"k": 1},
    {"k": 3},
    {"l": 2},
    {"l": 2, "l_reading": "distinct"},
    {"l": 1.5, "l_reading": "entropy"},
    {"l": 2, "l_reading": "recursive", "c": 2},
    {"m": 2},
    {"k": 2, "alpha": 0.5},
    {"t": 0.3},
    {"beta": 1.5},
    {"beta": 0.8, "beta_reading": "basic"},
    {"delta": 1.2},
    {"k": 2, "e": 10},
    {"k": 3, "l": 2, "t": 0.4},
]
WITH_PERSONS: list[dict[str, Any]] = [
    {"k": 3},
    {"l": 2},
    {"l": 2, "l_reading": "distinct"},
    {"k": 2, "l": 2},
    {"t": 0.5},
    {"k": 2, "beta": 2},
    {"k": 2, "e": 10},
]
GENERALISING = methods_where(lambda method: not method.publishes_apart)
"""All but those that publish two tables: `test_anatomy` has them."""


@dataclass(frozen=True)
class Case:
    """What a method is asked for, as far as it may refuse it."""

    asked: dict[str, Any]
    records: int
    persons: bool = False

    @property
    def kept_by_larger_classes(self) -> bool:
        """Whether a class that satisfies the models still does so with more records.

        Every model is kept where records are counted; where persons are, a person
        with several values can tip a share.
        """
        distinct = "l" not in self.asked or self.asked.get("l_reading") == "distinct"
        return not self.persons or (
            distinct and not {"t", "alpha", "beta", "delta"} & set(self.asked)
        )

    @property
    def counts_records(self) -> bool:
        """Whether nothing but the number of records decides."""
        return not self.persons and set(self.asked) == {"k"}


@dataclass(frozen=True)
class Refusal:
    """Words of a `PolicyError` that a method may raise, and when."""

    words: str
    when: Callable[[Case], bool]
    sure: bool = True
    """Whether the case decides; else it depends on the table."""


GROWS_CLASSES = Refusal(
    r"with a person column, expected models that larger classes keep; got .*: choose method",
    lambda case: not case.kept_by_larger_classes,
)
TOO_LARGE = Refusal(
    r"expected at most about 20 records with .*, as the problem is NP-hard",
    lambda case: case.records > 20 and not case.counts_records,
)
TOO_MANY_SETS = Refusal(
    r"family subsets looks at all sets of .* records", lambda case: case.records > 20, sure=False
)
NO_MARGIN = Refusal(
    r"has no margin for .*; expected k, l \(not entropy\), alpha, t, beta or delta",
    lambda case: "e" in case.asked or case.asked.get("l_reading") == "entropy",
)
NO_PERSONS = Refusal(
    r"expected no person column with models about sensitive values",
    lambda case: case.persons and bool(set(case.asked) - {"k"}),
)
TOO_WIDE_A_LINE = Refusal(
    r"option narrow: with different sensitive values, expected at most",
    lambda case: bool({"l", "m", "alpha"} & set(case.asked)),
    sure=False,
)
NO_SUCH_REFINER = Refusal(
    r"frontier is of refine = hilbert or idistance", lambda case: True, sure=False
)
NOTHING_TO_LEAVE_OUT = Refusal(
    r"its options leave records out: say with max_suppressed", lambda case: True, sure=False
)
TOO_FEW_TO_LEAVE_OUT = Refusal(
    r"residual = suppress: (up to|the few)", lambda case: True, sure=False
)
REFUSALS = {
    "attributes": [GROWS_CLASSES],
    "blind": [NO_MARGIN, NO_PERSONS],
    "bsgi": [NOTHING_TO_LEAVE_OUT, TOO_FEW_TO_LEAVE_OUT],
    "cover": [TOO_MANY_SETS],
    "hilbert": [TOO_WIDE_A_LINE],
    "idistance": [TOO_WIDE_A_LINE],
    "incognito": [GROWS_CLASSES],
    "optimal": [TOO_LARGE],
    "tp+": [NO_SUCH_REFINER],
}
"""All that a method may refuse of `MODELS` and `WITH_PERSONS`; others refuse nothing."""


def options_of(method: str) -> st.SearchStrategy[dict[str, Any]]:
    """Any mix of what the options of a method can be set to, by their types; numbers stay."""
    chosen = get_method(method)
    fields = chosen.options.model_fields
    choices = {name: _choices(field.annotation) for name, field in fields.items()}
    if chosen.inner_option is not None:
        choices[chosen.inner_option] = ("hilbert", "mondrian")
    offered = {name: st.sampled_from(some) for name, some in choices.items() if some}
    return st.fixed_dictionaries({}, optional=offered)


def _choices(kind: Any) -> tuple[Any, ...]:
    if kind is bool:
        return (False, True)
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(choice for part in get_args(kind) for choice in _choices(part))


def refusals(method: str, case: Case) -> list[Refusal]:
    """The refusals that a method may answer a case with."""
    return [refusal for refusal in REFUSALS.get(method, []) if refusal.when(case)]


def possible(method: str, asked: Sequence[dict[str, Any]], *, persons: bool) -> list[Any]:
    """Of models asked for, those that a method does not refuse on a small table."""
    small = [Case(models, 1, persons) for models in asked]
    return [c.asked for c in small if not any(r.sure for r in refusals(method, c))]


def most_records(method: str, otherwise: int) -> int:
    """How many records `microdata` may draw (and perhaps double) so that few are refused."""
    return min(otherwise, 10) if TOO_LARGE in REFUSALS.get(method, []) else otherwise


def sensitive_of(asked: dict[str, Any]) -> list[str]:
    """Sensitive columns of `microdata` that models are about."""
    return ["income"] if "e" in asked else ["disease", "income"]


def attempt(
    table: pa.Table, method: str, asked: dict[str, Any], sensitive: list[str], **settings: Any
) -> shoal.Release | ShoalError:
    """The release, or the error: what is refused must be refused with good reason."""
    who = settings.get("person")
    persons = table.column(who).to_pylist() if who else None
    case = Case(asked, table.num_rows, who is not None)
    try:
        return shoal.anonymize(
            table, **asked, sensitive=sensitive, method=method, **settings, rest="plain"
        )
    except PolicyError as error:
        allowed = [refusal.words for refusal in refusals(method, case)]
        assert any(re.search(words, str(error)) for words in allowed), f"{error}: not {allowed}"
        return error
    except InfeasibleError as error:
        models = models_of(shoal.Policy.parse(**asked))
        assert fails_as_a_whole(table, models, sensitive, persons)
        return error
    except NotFoundError as error:
        # Where persons are counted, no group to fall back on need be safe.
        assert not case.kept_by_larger_classes
        assert "no release was found" in str(error)
        return error


def released(
    table: pa.Table, method: str, asked: dict[str, Any], sensitive: list[str], **settings: Any
) -> shoal.Release:
    """The release of an `attempt`; where there is none, hypothesis draws another example."""
    found = attempt(table, method, asked, sensitive, **settings)
    return found if isinstance(found, shoal.Release) else reject()
