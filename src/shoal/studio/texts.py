"""Everything that the studio says: one file a language, found by name.

``texts/en.toml`` is the only one so far. Another language is a file beside it with the same
names; `SHOAL_STUDIO_LANGUAGE` chooses it.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.resources import files
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["all_texts", "counted", "language", "text"]

DEFAULT = "en"


def language() -> str:
    """The language of the pages."""
    return os.environ.get("SHOAL_STUDIO_LANGUAGE", DEFAULT)


@cache
def all_texts() -> dict[str, Any]:
    """All texts, as nested tables."""
    room = files("shoal.studio").joinpath("texts")
    chosen = room.joinpath(f"{language()}.toml")
    found = chosen if chosen.is_file() else room.joinpath(f"{DEFAULT}.toml")
    texts: dict[str, Any] = tomllib.loads(found.read_text(encoding="utf-8"))
    return texts


def text(name: str, /, **values: Any) -> str:
    """A text by its name, such as ``data.title``, with values in its braces."""
    part: Any = all_texts()
    for step in name.split("."):
        part = part[step]
    return str(part).format(**values) if values else str(part)


def counted(name: str, number: int) -> str:
    """A text that tells one from many: ``name.one`` and ``name.many``, with the number in it."""
    return text(f"{name}.{'one' if number == 1 else 'many'}", number=f"{number:,}")
