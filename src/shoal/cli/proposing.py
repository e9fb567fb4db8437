"""``--propose``: the roles that an inspection finds, as the policy of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.cli.output import notice, progress_bar
from shoal.cli.settings import settings_from
from shoal.errors import OutputError, PolicyError, one_line

if TYPE_CHECKING:
    from shoal.explore.inspection import Inspection
    from shoal.io.addresses import Place
    from shoal.policy import Policy

__all__ = ["Proposed", "policy_path", "proposed"]


class Proposed(NamedTuple):
    """What was found in a table, the policy that follows from it, and where it is kept."""

    found: Inspection
    policy: Policy
    text: str
    target: Path | None

    def write(self) -> None:
        """Keep the policy beside the release."""
        from shoal.io.together import atomic_file

        if self.target is not None:
            with atomic_file(self.target) as temporary:
                temporary.write_text(self.text, encoding="utf-8")


def policy_path(release: Place) -> Path:
    """Where the policy of a proposal lies."""
    return release.with_name(f"{release.name}.policy.toml")


def proposed(file: Place, options: dict[str, Any], out: Place | None, quiet: bool) -> Proposed:
    """Inspect a table; what the options say overrides what is found."""
    policy_file, given = settings_from(options)
    if policy_file is not None:
        raise PolicyError("--propose: expected without --policy, which decides all roles already")
    from shoal.explore.inspection import inspect

    missing = given.pop("missing", None) or ("",)
    dialect = {name: given.pop(name, None) for name in ("encoding", "delimiter", "decimal")}
    overrides = {name: value for name, value in given.items() if value is not None}
    with progress_bar(quiet) as report:
        report("read", 0, 1)
        found = inspect(file, tuple(missing), **dialect)
    policy = found.policy(**overrides)
    if policy.l is not None and not policy.sensitive:
        raise PolicyError("-l: expected a sensitive column; none was recognised: name it")
    for hint in found.hints if quiet else ():
        notice(hint, quiet)
    text = _text(found, policy, file)
    target = None if out is None else policy_path(out)
    if target is not None and target.exists() and target.read_text("utf-8") != text:
        raise OutputError(
            f"{target}: exists with other settings; use it with --policy, or remove it first"
        )
    return Proposed(found, policy, text, target)


def _text(found: Inspection, policy: Policy, file: Place) -> str:
    """The policy, with the reason for each role."""
    about = [
        f"# {column.name}: {column.role}, {column.reason}"
        for column in found.columns
        if not column.undecided
    ]
    lines = [
        f"# Proposed for {file.name} from its {found.rows:,} records; check each role.",
        *map(one_line, about),
        "",
        policy.to_toml().rstrip(),
        "",
    ]
    return "\n".join([one_line(lines[0]), *lines[1:]])
