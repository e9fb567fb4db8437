"""What texts look like on a page: nothing hides in them, and no option of a shell is named."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from shoal.studio.texts import all_texts

__all__ = ["escaped", "formed", "marked", "said", "unformed", "visible"]

LONGEST = 60
UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Controls, marks of direction, halves of characters: shown by their numbers."""


HIDING = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0001-\U000e007f]"
)
"""Of these, those that hide or turn what is beside them."""


FORMED = re.compile(r"⟨U\+(0?[0-9A-F]{4,5}|10[0-9A-F]{4})⟩")
SURROGATES = range(0xD800, 0xE000)
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*[a-z])")


def visible(value: Any, longest: int = LONGEST) -> str:
    """A name or a cell as it can be shown: what cannot be seen by its number, and not too long."""
    shown = str(value)
    cut = shown if len(shown) <= longest else shown[:longest] + "…"
    return "".join(f"⟨U+{ord(c):04X}⟩" if unicodedata.category(c) in UNSEEN else c for c in cut)


def formed(value: Any) -> str:
    """The value of a field: what cannot be seen by its number, which `unformed` reads again."""
    shown = str(value).replace("⟨U+", f"⟨U+{ord('⟨'):04X}⟩U+")
    return "".join(
        f"⟨U+{ord(c):04X}⟩" if c not in "\r\n\t" and unicodedata.category(c) in UNSEEN else c
        for c in shown
    )


def unformed(sent: str) -> str:
    """What a field that `formed` filled means."""
    return FORMED.sub(
        lambda found: found[0] if int(found[1], 16) in SURROGATES else chr(int(found[1], 16)), sent
    )


def said(message: Any, longest: int = LONGEST) -> str:
    """A message of the library for a page: options of the command line by what they are here."""
    words = all_texts()["options"]
    named = OPTION.sub(
        lambda found: words.get(found[1].replace("-", "_"), words["other"]).format(
            name=found[1].replace("-", "_")
        ),
        str(message),
    )
    return visible(named, longest)


def marked(html: str) -> str:
    """A page of others' making, in which what cannot be seen is shown by its number."""
    return HIDING.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", html)


def escaped(toml: str) -> str:
    """TOML in which what cannot be seen is written by its number, as TOML reads it."""
    return "".join(
        (f"\\u{ord(c):04x}" if ord(c) < 1 << 16 else f"\\U{ord(c):08x}")
        if c not in "\n\t" and unicodedata.category(c) in UNSEEN
        else c
        for c in toml
    )
