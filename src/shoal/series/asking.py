"""What a series is asked for: by which column persons are told, and what cannot be kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shoal.errors import InputError, PolicyError
from shoal.plan import Plan
from shoal.policy import Policy
from shoal.series.chain import Chain

__all__ = ["Asked", "asked_of", "is_series", "refuse_plain"]

BY = "bsgi"
"""The method whose unique groups m-invariance is built on."""
REFUSED: dict[str, str] = {
    "reader": "one release is for all readers",
    "max_loss": "m and k of a series are given",
    "exempt": "every value counts in a signature",
    "person_as": "pseudonyms would tell persons who come and go",
    "weight_column": "a counterfeit has no weight",
    "keep_order": "who is a counterfeit, or new, would be told by the order",
    "time": "a chain is continued by the same steps",
    "effort": "a chain is continued by the same steps",
}
"""Settings that a series does not take, and why."""


@dataclass(frozen=True, eq=False)
class Asked:
    """A release of a series: the plan, and what tells persons."""

    plan: Plan
    """Persons have one record each: to count persons is to count records."""
    person: str
    """Column that tells persons; never published."""
    chain: Chain
    append: bool = False
    """The table has new persons only, and so has the release."""

    @property
    def promise(self) -> str:
        """``m`` or ``k``: what is kept over releases."""
        return "k" if self.plan.policy.m is None else "m"


def is_series(policy: Policy, after: Any = None) -> bool:
    """Whether a release begins or continues a series."""
    told = policy.person is not None or len(policy.identifier) == 1
    return after is not None or policy.series or (policy.m is not None and told)


def asked_of(plan: Plan, chain: Chain | None, *, append: bool = False) -> Asked:
    """What a release must keep of a series, or the reason why it cannot."""
    policy = plan.policy
    person = _person_column(policy)
    settings: dict[str, Any] = {"person": None, "engine": "memory"}
    if policy.method is None and policy.m is not None:
        settings["method"] = BY
        plan = plan.with_settings(method=BY)
    _refuse(plan)
    if person not in policy.identifier:
        settings["identifier"] = (*policy.identifier, person)
    if append and chain is None:
        raise PolicyError("append: expected together with after, the record to continue")
    asked = Asked(plan.with_settings(**settings), person, chain or Chain.begun(), append)
    if chain is not None:
        _same_table(asked, chain)
    return asked


def _person_column(policy: Policy) -> str:
    if policy.person is not None:
        return policy.person
    if len(policy.identifier) == 1:
        return policy.identifier[0]
    raise PolicyError(
        "a series tells persons by a column: expected person, or one identifier; got "
        f"{len(policy.identifier)} identifiers and no person"
    )


def _refuse(plan: Plan) -> None:
    policy = plan.policy
    for name, why in REFUSED.items():
        if getattr(policy, name) not in (None, False, {}, ()):
            raise PolicyError(f"{name}: a series does not take it: {why}")
    if policy.engine in {"duckdb", "spark"}:
        raise PolicyError(f"engine: a series is made in memory; got {policy.engine}")
    if policy.max_counterfeits is not None and (policy.m is None or not policy.counterfeits):
        raise PolicyError("max_counterfeits: expected with m, and where counterfeits are allowed")
    if policy.m is None:
        if policy.k is None or len(plan.models) > 1:
            got = ", ".join(map(str, plan.models))
            raise PolicyError(f"a series keeps m, or k alone; got {got}")
        if policy.sensitive:
            raise PolicyError(
                "sensitive: k alone does not protect sensitive columns over releases; ask for m"
            )
        return
    if len(plan.models) > 1:
        others = ", ".join(str(model) for model in plan.models if model.option != "m")
        raise PolicyError(f"m: a series keeps m alone; got {others} as well")
    if policy.max_suppressed is not None:
        raise PolicyError("max_suppressed: m over releases leaves nobody out; counterfeits do it")
    if len(policy.sensitive) != 1:
        raise PolicyError(
            f"m: expected one sensitive column; got {len(policy.sensitive)}: join them into one"
        )
    if plan.method.name != BY:
        raise PolicyError(f"m: a series is grouped by method {BY}; got {plan.method.name}")
    refuse_plain(policy)
    if policy.sensitive[0] in policy.treat:
        raise PolicyError(
            f"treat of {policy.sensitive[0]!r}: a series keeps its values as they are"
        )


def refuse_plain(policy: Policy) -> None:
    """Refuse columns by which a record of one release would be known again in the next.

    Of two records of a class one has gone: whose other columns are there again has stayed,
    and so has his value. Copied to counterfeits, they would tell these, too.
    """
    if policy.m is not None and policy.plain:
        names = ", ".join(map(repr, policy.plain))
        raise PolicyError(
            f"plain: a series with m publishes no columns as they are; got {names}: by them "
            "records would be known again from release to release, and with them who has which "
            "value; drop them, or make them quasi-identifiers"
        )


def _same_table(asked: Asked, chain: Chain) -> None:
    """Refuse the record of another table: other columns, or another promise."""
    assert chain.last is not None
    part, path, policy = chain.last.part, chain.last.path, asked.plan.policy
    found = {
        "person": asked.person, "qi": sorted(policy.qi), "sensitive": list(policy.sensitive),
        "promise": asked.promise, "twins": policy.twins,
    }  # fmt: skip
    for name, value in found.items():
        known = sorted(part[name]) if name == "qi" else part[name]
        if known != value:
            raise InputError(
                f"record {path}: is of another table: its {name} is {_words(known)}, and here "
                f"{_words(value)}"
            )
    before = part.get("m") if asked.promise == "m" else part.get("k")
    now = policy.m if asked.promise == "m" else policy.k
    if asked.promise == "m" and (before or 0) < (now or 0):
        raise PolicyError(
            f"m: persons of the series were published among {before} values, and keep these; "
            f"expected at most {before}, got {now}"
        )


def _words(value: Any) -> str:
    return value if isinstance(value, str) else ", ".join(map(str, value)) or "none"
