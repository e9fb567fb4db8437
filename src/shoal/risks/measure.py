"""``shoal.risk``: how likely it is that somebody in a table is picked out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, PolicyError
from shoal.policy import Policy
from shoal.progress import Progress, reporting
from shoal.risks.attackers import journalist, marketer, prosecutor
from shoal.risks.disclosure import Disclosure, disclosure, named
from shoal.risks.individual import household_risks, individual_risks
from shoal.risks.population import population_of
from shoal.risks.result import Individual, PerRecord, Risk
from shoal.risks.special import special_uniques
from shoal.risks.subject import Subject, subject_of
from shoal.risks.uniques import population_uniques
from shoal.thresholds import Given, Threshold
from shoal.verification.hashes import release_differs, table_differs

__all__ = ["ATTACKERS", "risk"]

ATTACKERS = ("prosecutor", "journalist", "marketer")


def risk(
    data: Any,
    policy: Policy | str | Path | None = None,
    *,
    qi: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    population: Any = None,
    counts: str | None = None,
    fraction: float | str | None = None,
    weights: str | None = None,
    household: str | None = None,
    threshold: Given | None = None,
    attacker: str | None = None,
    suda: int | None = None,
    progress: Progress | None = None,
) -> Risk:
    """Measure the risk of a release, or of microdata before one.

    Parameters
    ----------
    data
        A `Release`, a released file with its manifest, or microdata (a table or a file).
    policy, qi, sensitive
        Roles of microdata; and hierarchies of a release, where a population is given.
    population
        A table of the people that the table is a part of.
    counts
        A column of `population` that says how many people a row stands for (margins).
    fraction
        Or the share of the population that is in the table.
    weights
        Or the column of sampling weights; the policy's ``weight_column`` if nothing is given.
    household
        A column that says who lives together; needs a population in one of its forms.
    threshold
        The largest risk that is tolerated: a name (ema, health-canada, cms, public) or a number.
    attacker
        Whom the threshold is about: ``prosecutor`` (default), ``journalist`` or ``marketer``.
    suda
        Look for minimal sample uniques of up to so many columns.
    progress
        Called as ``progress(stage, done, total)`` now and then.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.datasets.census(1000)
    >>> found = shoal.risk(people, qi=["age", "gender"], threshold="ema")
    >>> found.ok, found.fix
    (False, 12)
    """
    report = reporting(progress)
    limit = None if threshold is None else Threshold.of(threshold)
    judged = _judged_attacker(attacker, limit, (population, fraction, weights))
    asked = {"qi": _listed(qi), "sensitive": _listed(sensitive)}
    roles = Policy.of(policy, {name: value for name, value in asked.items() if value})
    report("read", 0, 1)
    subject = subject_of(data, roles)
    if limit is not None and subject.persons_hidden:
        raise PolicyError(
            "threshold: the promises count persons, and who is one is not published: counting "
            "records would make them look safer. Publish pseudonyms (person_as), or check "
            f"k = {limit.smallest_class} with `shoal verify --record`"
        )
    report("classes", 0, 1)
    sizes = subject.sizes
    people = population_of(subject, population, counts, fraction, weights, roles)
    if people is None and counts is None and subject.weights is not None:
        with suppress(InputError):  # declared, but with gaps: then there is no estimate
            people = population_of(subject, None, None, None, subject.weights, roles)
    attackers = [prosecutor(sizes, limit)]
    if people is not None:
        attackers += [journalist(sizes, people.people, limit)]
        attackers += [marketer(sizes, people.people, limit)]
    ids, _ = subject.classes
    per_record = PerRecord(sizes[ids], None if people is None else people.people[ids])
    individual = None
    if household is not None and people is None:
        raise PolicyError("household: expected with population, fraction or weights; got none")
    if people is not None:
        risks = individual_risks(sizes, people.people)[ids]
        members = None if household is None else _households(subject.distinct(household).codes)
        together = None if members is None else household_risks(risks, members)
        individual = Individual.of(risks, together)
        per_record = per_record.with_risks(risks, together)
    special = None
    if suda is not None:
        codes = subject.codes(subject.columns)
        told = lambda done, total: report("suda", done, total)  # noqa: E731
        special = special_uniques(subject.columns, codes, suda, told)
        per_record = per_record.with_scores(special.scores)
    share = None if people is None else people.fraction
    return Risk(
        name=subject.source.name,
        released=subject.released,
        records=subject.table.num_rows,
        classes=len(sizes),
        qi=subject.qi,
        attackers=tuple(attackers),
        population=people,
        individual=individual,
        uniques=None if subject.released else population_uniques(sizes, share),
        special=special,
        disclosures=tuple(_disclosed(subject, name) for name in subject.sensitive),
        threshold=limit,
        judged=judged,
        per_record=per_record,
        counted=subject.counted,
        persons_hidden=subject.persons_hidden,
        apart=subject.apart is not None,
        changed=_changed(data, subject.source.about.manifest),
    )


def _disclosed(subject: Subject, name: str) -> Disclosure:
    """What is told of a sensitive column.

    Who can be in which class of a release is known to whoever has the original, and said in
    the manifest; before a release, and in two tables, everybody is in one class or group.
    """
    classes = subject.values(name)
    if not subject.released or subject.apart is not None:
        return disclosure(name, classes, named(classes))
    told = ((subject.source.about.manifest or {}).get("disclosure") or {}).get(name)
    return disclosure(name, classes, told and (float(told["average"]), float(told["highest"])))


def _changed(data: Any, manifest: Mapping[str, Any] | None) -> bool:
    """Whether a released file or folder is not the one that its manifest describes."""
    if manifest is None or not isinstance(data, str | Path) or not Path(data).exists():
        return False
    told = manifest["release"]
    hashed = isinstance(told.get("sha256"), str)
    if hashed and release_differs(Path(data), told, "beside it"):
        return True
    apart = told.get("sensitive_table")
    return bool(apart and table_differs(Path(data).with_name(apart["file"]), apart, "beside it"))


def _households(codes: NDArray[Any]) -> NDArray[np.int64]:
    """Who lives together; whoever's household is missing lives alone."""
    alone = np.arange(len(codes)) + int(codes.max(initial=-1)) + 1
    return np.where(codes < 0, alone, codes).astype(np.int64)


def _listed(names: Sequence[str] | str) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _judged_attacker(attacker: str | None, limit: Threshold | None, people: Sequence[Any]) -> str:
    """Whom the threshold is about."""
    if attacker is None:
        return "prosecutor"
    if attacker not in ATTACKERS:
        raise PolicyError(f"attacker: expected one of {', '.join(ATTACKERS)}; got {attacker}")
    if limit is None:
        raise PolicyError("attacker: expected with a threshold only; got none")
    if attacker != "prosecutor" and all(given is None for given in people):
        raise PolicyError(
            f"attacker: {attacker} does not know who is in the table: give a population, a "
            "fraction or weights"
        )
    return attacker
