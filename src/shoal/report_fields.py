"""What a policy may say of a release for its report; all of it public."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ACCESS", "FIELDS", "check_fields"]

FIELDS = ("title", "custodian", "recipient", "access", "purpose", "expert", "review")
ACCESS = ("public", "trusted", "controlled")
"""Who receives a release: everybody, people bound by a contract, people in a safe room."""


def check_fields(given: Mapping[str, str]) -> None:
    """Raise `ValueError` with one line for what a report does not know."""
    if strange := [name for name in given if name not in FIELDS]:
        raise ValueError(f"expected {', '.join(FIELDS)}; got {strange[0]!r}")
    if (access := given.get("access", ACCESS[0])) not in ACCESS:
        raise ValueError(f"access: expected {' or '.join(ACCESS)}; got {access!r}")
