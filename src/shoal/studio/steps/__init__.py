"""The steps of the job, what each still lacks, and where one may go."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.errors import ShoalError
from shoal.model_settings import MODEL_SETTINGS
from shoal.policy import Policy
from shoal.studio.jobs import Jobs
from shoal.studio.session import Session
from shoal.studio.texts import text

__all__ = ["ORDER", "Step", "steps_of"]

ORDER = ("data", "columns", "hierarchies", "protection", "explore", "risk", "release")
READINGS = frozenset({"l_reading", "beta_reading", "c"})


@dataclass(frozen=True)
class Step:
    """One step as the bar on top shows it."""

    key: str
    title: str
    missing: str
    """What this step still lacks, in words; empty if nothing."""
    open: bool
    """Whether one may go there: nothing before it lacks anything."""


def steps_of(session: Session, jobs: Jobs) -> list[Step]:
    """All steps with what they lack. Looks at small files only, so that every page can ask."""
    lacks = dict(zip(ORDER, _lacks(session, jobs), strict=True))
    found, free = [], True
    for key in ORDER:
        found.append(Step(key, text(f"{key}.step"), lacks[key], free))
        free = free and not lacks[key]
    return found


def _lacks(session: Session, jobs: Jobs) -> list[str]:
    look, state = session.look, session.state
    data = "" if look else text("data.lacks_reading" if session.table else "data.lacks")
    if state.get("problem"):
        data = text("data.lacks_problem")
    try:
        policy = session.policy
    except ShoalError:
        policy = Policy()
    columns = "" if policy.qi else text("columns.lacks")
    if look and (unclear := [n for n in look["ambiguous"] if _read(policy, n)]):
        columns = text("columns.lacks_notation", columns=", ".join(unclear))
    trees = "" if not state.get("bad_trees") else text("hierarchies.lacks")
    asked = any(getattr(policy, n) is not None for n in MODEL_SETTINGS if n not in READINGS)
    protection = "" if asked else text("protection.lacks")
    refused = state.get("refusal")
    if asked and refused and refused["version"] == session.version:
        protection = text("protection.lacks_possible")
    done = [job for job in jobs.all("release") if job.state == "done"]
    explore = "" if done else text("explore.lacks")
    if done and not state.get("chosen"):
        explore = text("explore.lacks_choice")
    risk = release = "" if state.get("chosen") else text("risk.lacks")
    return [data, columns, trees, protection, explore, risk, release]


def _read(policy: Policy, name: str) -> bool:
    """Whether a run reads the dates of a column, and nobody said how they are written."""
    return name in (*policy.qi, *policy.sensitive) and name not in policy.notation
