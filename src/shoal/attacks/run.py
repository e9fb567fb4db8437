"""``shoal.attack``: try attacks on a release, and say what they get."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.attacks.composition import composition
from shoal.attacks.downcoding import downcoding
from shoal.attacks.inference import inference
from shoal.attacks.linking import linking, membership, singling_out
from shoal.attacks.minimality import minimality
from shoal.attacks.rates import Found, Skipped
from shoal.attacks.replaying import replay
from shoal.attacks.scene import Scene, scene_of
from shoal.encoding.values import distinct_values
from shoal.errors import PolicyError
from shoal.io.addresses import address_of
from shoal.io.frames import to_arrow
from shoal.pipeline import anonymize
from shoal.policy import Policy
from shoal.progress import Progress, reporting
from shoal.release import Release

__all__ = ["ATTACKS", "USUAL", "Attacked", "attack", "attack_run"]

Attack = Callable[[Scene], Iterator[Found | Skipped]]
USUAL: dict[str, Attack] = {
    "linking": linking,
    "singling-out": singling_out,
    "inference": inference,
    "membership": membership,
}
"""What is tried unless others are asked for: by whoever reads the release."""
ATTACKS: dict[str, Attack] = {
    **USUAL,
    "composition": composition,
    "downcoding": downcoding,
    "replay": replay,
    "minimality": minimality,
}
"""All attacks by name: those beyond the usual are by whoever knows the method, or holds more."""
CONTROL_SHARE = 0.2
"""Records that `attack_run` holds out as people who are not in the release."""


@dataclass(frozen=True, repr=False)
class Attacked:
    """What all attacks found."""

    name: str
    people: int
    control: int | None
    """People who are not in the release; None where none were given."""
    found: tuple[Found, ...]
    tried: tuple[str, ...]
    skipped: tuple[Skipped, ...] = ()
    """What was not tried, and why."""

    @property
    def ok(self) -> bool:
        """Whether something was tried, and no attack is flagged."""
        return self.anything and not any(found.flagged for found in self.found)

    @property
    def anything(self) -> bool:
        """Whether anything was tried on anybody."""
        return any(found.main.of for found in self.found)

    def __bool__(self) -> bool:
        return self.ok

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "release": self.name,
            "ok": self.ok,
            "people": self.people,
            "control": self.control,
            "tried": list(self.tried),
            "attacks": [found.to_dict() for found in self.found],
            "skipped": [skipped.to_dict() for skipped in self.skipped],
        }

    def __repr__(self) -> str:
        flagged = sum(found.flagged for found in self.found)
        verdict = f"{flagged} of {len(self.found)} attacks are flagged" if flagged else (
            f"none of {len(self.found)} attacks is flagged"
        )  # fmt: skip
        verdict = verdict if self.anything else "nothing was tried"
        lines = [f"{self.name}: {verdict}", *(f"  {found}" for found in self.found)]
        lines += [f"  {skipped}" for skipped in self.skipped]
        if self.control is None:
            lines.append("  no control was given: what holds for anybody counts as the release's")
        return "\n".join(lines)


def attack(
    release: Any,
    original: Any,
    control: Any = None,
    *,
    attacks: Sequence[str] = (),
    others: Sequence[Any] = (),
    policy: Policy | str | Path | None = None,
    progress: Progress | None = None,
) -> Attacked:
    """Try attacks on a release.

    Parameters
    ----------
    release
        A `Release`, or a released file with its manifest.
    original
        The table that it was made of.
    control
        People like those, who are not in it.
    attacks
        Which to try, by name, or ``all``; if not given, the usual ones, and composition where
        there are other releases.
    others
        Further releases that the attacker holds, of the same people or of some of them.
    policy
        With hierarchies and orders, for a released file that used some; and to make the
        release again, for attacks by whoever knows the method.
    progress
        Called as ``progress(stage, done, total)`` now and then.
    """
    names = _chosen(attacks, bool(others))
    report = reporting(progress)
    report("read", 0, 1)
    roles = Policy.of(policy, {}) if policy is not None else Policy.parse()
    scene = scene_of(release, original, control, roles, others)
    told: list[Found | Skipped] = []
    for done, name in enumerate(names):
        report(name, done, len(names))
        told += ATTACKS[name](scene)
    return Attacked(
        scene.subject.source.name,
        scene.original.count,
        None if scene.control is None else scene.control.count,
        tuple(one for one in told if isinstance(one, Found)),
        names,
        tuple(one for one in told if isinstance(one, Skipped)),
    )


def attack_run(
    data: Any,
    policy: Policy | str | Path | None = None,
    *,
    share: float = CONTROL_SHARE,
    attacks: Sequence[str] = (),
    seed: int | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> tuple[Attacked, Release]:
    """Hold out some people with all their records, release the others, and attack that release.

    Parameters
    ----------
    data, policy, settings
        As in `shoal.anonymize`.
    share
        Share of the records to hold out.
    attacks, progress
        As in `attack`.
    seed
        Of who is held out; drawn if not given.
    """
    if not 0 < share < 1:
        raise PolicyError(f"share: expected a number between 0 and 1; got {share}")
    asked = Policy.of(policy, settings)
    table, _ = to_arrow(data, asked.missing, asked.encoding, asked.delimiter)
    held = _held_out(table, asked, share, np.random.default_rng(seed))
    original, control = table.filter(pa.array(~held)), table.filter(pa.array(held))
    release = anonymize(original, asked, progress=progress)
    found = attack(release, original, control, attacks=attacks, progress=progress)
    if isinstance(data, str | Path) and address_of(data) is None:
        found = replace(found, name=f"a release of {data}")
    return found, release


def _held_out(
    table: pa.Table, policy: Policy, share: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Which records are held out: about this share of them, and whole persons.

    Whoever has other records in the release is not somebody who is not in it.
    """
    whose = np.arange(table.num_rows)
    if policy.person is not None and policy.person in table.column_names:
        codes = distinct_values(table.column(policy.person), policy.missing).codes
        whose = np.where(codes < 0, codes.max(initial=-1) + 1 + whose, codes)
    persons, whose, records = np.unique(whose, return_inverse=True, return_counts=True)
    order = rng.permutation(len(persons))
    before = np.cumsum(records[order]) - records[order]
    drawn = np.zeros(len(persons), dtype=np.bool_)
    drawn[order] = before < max(1, round(share * table.num_rows))
    return np.asarray(drawn[whose])


def _chosen(attacks: Sequence[str] | str, composed: bool = False) -> tuple[str, ...]:
    names = tuple(attacks.split(",")) if isinstance(attacks, str) else tuple(attacks)
    if names == ("all",):
        return tuple(ATTACKS)
    for name in names:
        if name not in ATTACKS:
            raise PolicyError(f"attacks: expected some of {', '.join(ATTACKS)}; got {name}")
    return names or (*USUAL, *(["composition"] if composed else []))
