"""The command and the Python lines that make a release again."""

from __future__ import annotations

import shlex

from shoal.policy import Policy

__all__ = ["command_of", "python_of", "shell_of"]


def command_of(policy: Policy, table: str, seed: int | str, target: str) -> tuple[str, ...]:
    """``shoal anonymize`` with the policy file; the seed makes it the same to the byte."""
    del policy  # all of it is in the file
    return ("shoal", "anonymize", table, "-o", target, "--policy", "shoal.toml", "--seed",
            str(seed))  # fmt: skip


def shell_of(policy: Policy, table: str, seed: int | str, target: str) -> str:
    """The same as a line for a shell."""
    return shlex.join(command_of(policy, table, seed, target))


def python_of(table: str, seed: int | str, target: str) -> str:
    """The same in Python."""
    return (
        "import shoal\n\n"
        f"release = shoal.anonymize({table!r}, {'shoal.toml'!r}, seed={seed})\n"
        f"release.write({target!r})\n"
        f"print(shoal.verify({target!r}))\n"
    )
