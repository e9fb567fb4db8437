"""What may be done to a numeric column that is no quasi-identifier, as a policy says it.

A treatment is a short text, ``top:99%`` or ``round:100:random``; a column can have several::

    [treat]
    wage = ["top:99%", "round:100"]

Whatever order they are written in, they are applied in that of `HOW`: so that what each
promises still holds of what is published.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.errors import did_you_mean

if TYPE_CHECKING:
    from shoal.policy import Policy

__all__ = [
    "FORMS",
    "HOW",
    "Treatment",
    "check_treated",
    "fewest_at_end",
    "listed",
    "means_of",
    "treatment",
    "treatments",
]

HOW = ("noise", "round", "bottom", "top", "micro")
"""In the order in which they are applied."""
FORMS = {
    "noise": "noise:SD or noise:10%",
    "round": "round:STEP or round:STEP:random",
    "bottom": "bottom:VALUE or bottom:1%",
    "top": "top:VALUE or top:99%",
    "micro": "micro:RECORDS",
}
LEAST_STEP, LARGEST_STEP = Fraction(1, 10**18), Fraction(10**18)
"""Steps and deviations: beyond these a column would not change, or nothing of it would be left."""
LARGEST_VALUE = 10**38
MOST_RECORDS = 10**9
NUMBER = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,2})?)\s*(%?)", re.IGNORECASE)


class Treatment(NamedTuple):
    """One treatment of one column."""

    how: str
    amount: Fraction
    """A value, a step, a standard deviation or a number of records; of shares a part of 1."""
    share: bool = False
    """`amount` is a quantile, or (of noise) a part of the column's standard deviation."""
    random: bool = False
    """Rounded up or down by chance, so that the mean is kept."""
    text: str = ""

    def __str__(self) -> str:
        return self.text


def treatment(text: str) -> Treatment:
    """A treatment from its text, or ValueError.

    >>> treatment("top: 99%").amount
    Fraction(99, 100)
    """
    how, *rest = (part.strip() for part in text.split(":"))
    if how not in HOW:
        known = ", ".join(FORMS.values())
        raise ValueError(f"expected {known}; got {text.strip()!r}{did_you_mean(how, HOW)}")
    found = NUMBER.fullmatch(rest[0]) if rest else None
    random = how == "round" and rest[1:] == ["random"]
    if found is None or (len(rest) > 1 and not random):
        raise ValueError(f"expected {FORMS[how]}; got {text.strip()!r}")
    share = bool(found[2])
    amount = Fraction(found[1]) / (100 if share else 1)
    if not _fits(how, amount, share):
        raise ValueError(f"expected {FORMS[how]}; got {text.strip()!r}{_reason(how, share)}")
    written = f"{how}:{found[1]}{found[2]}" + (":random" if random else "")
    return Treatment(how, amount, share, random, written)


def _fits(how: str, amount: Fraction, share: bool) -> bool:
    if how in {"top", "bottom"}:
        return 0 < amount < 1 if share else abs(amount) <= LARGEST_VALUE
    if how == "micro":
        return not share and amount.denominator == 1 and 2 <= amount <= MOST_RECORDS
    return LEAST_STEP <= amount <= LARGEST_STEP and not (share and how == "round")


def _reason(how: str, share: bool) -> str:
    if how == "micro":
        return ": a whole number of records, 2 or more (and at most 1e9)"
    if how in {"top", "bottom"}:
        return ": a share between 0% and 100%" if share else ": between -1e38 and 1e38"
    if share and how == "round":
        return ": a share has no step"
    return ": more than 0, at least 1e-18 and at most 1e18"


def treatments(texts: Iterable[str]) -> tuple[Treatment, ...]:
    """Treatments of a column in the order in which they are applied; each kind once."""
    found = sorted((treatment(text) for text in texts), key=lambda one: HOW.index(one.how))
    kinds = [one.how for one in found]
    if twice := [how for how in HOW if kinds.count(how) > 1]:
        raise ValueError(f"expected {twice[0]} once; got it twice")
    if not found:
        raise ValueError(f"expected {', '.join(FORMS.values())}; got none")
    ends = {one.how: one.amount for one in found if one.how in {"bottom", "top"}}
    shares = {one.share for one in found if one.how in ends}
    if len(ends) == 2 and len(shares) == 1 and ends["bottom"] >= ends["top"]:
        raise ValueError("expected a bottom below the top")
    return tuple(found)


def listed(value: Any) -> Any:
    """``"top:99%, round:100"`` as two texts in order; what is no text or list as it is."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, list | tuple) or not all(isinstance(part, str) for part in value):
        return value
    return tuple(str(one) for one in treatments(value))


def check_treated(policy: Policy) -> None:
    """Treatments are of numeric columns that are published otherwise as they are."""
    for name in policy.treat:
        if name in policy.qi:
            raise ValueError(
                f"treat of {name!r}: a quasi-identifier is generalised; treat plain and sensitive "
                "columns, or round its intervals (round)"
            )
        if name in policy.identifier or name == policy.person:
            raise ValueError(f"treat of {name!r}: it is dropped, and there is nothing to treat")
        if name == policy.weight_column:
            raise ValueError(f"treat of {name!r}: it has the weights; say weight_as instead")
        if name not in (*policy.sensitive, *policy.plain) and policy.rest != "plain":
            raise ValueError(f"treat of {name!r}: expected a plain or a sensitive column")
        kind = "ordinal" if name in policy.order else policy.kind.get(name, "numeric")
        if kind != "numeric":
            raise ValueError(f"treat of {name!r}: expected a numeric column; it is {kind}")
        if name in policy.exempt:
            raise ValueError(
                f"treat of {name!r}: its exempt values may be no more what they were; "
                "leave out one of the two"
            )


def fewest_at_end(policy: Policy) -> int:
    """How many carry a top or bottom code by quantile, however small the share asked for.

    The code is the value of one of them. Two at least; k where the policy asks for it.
    """
    asked = (policy.k, *(reader.k for reader in policy.reader.values()))
    return max(2, *(k or 0 for k in asked))


def means_of(policy: Policy) -> dict[str, int]:
    """Columns that are published as means, and of how many records at least."""
    last = {name: treatments(texts)[-1] for name, texts in policy.treat.items()}
    return {name: int(one.amount) for name, one in last.items() if one.how == "micro"}


def of_columns(treat: Mapping[str, Sequence[str]]) -> dict[str, tuple[Treatment, ...]]:
    """The treatments of each column."""
    return {name: treatments(texts) for name, texts in treat.items()}
