"""Which record follows which: a series has no forks, and nothing in its middle is replaced.

A record that continues a series names the one before it by its SHA-256. Two records that
name the same one would not know of each other, and a record that is replaced is no longer
the one that the next one names. Followers are looked for beside a record; one that lies in
another folder leaves a note there.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from shoal.errors import InputError, OutputError, PolicyError
from shoal.io.together import locked
from shoal.io.write import sha256_of

__all__ = ["Follows", "follower_of", "refuse_replacing"]

NOTE = ".next"


class Follows:
    """A release that comes after another one: nobody else may, while it is written."""

    def __init__(self, before: Path, sha256: str, *, again: bool = False) -> None:
        self.before, self.sha256 = before.absolute(), sha256
        self.again = again
        """The release is one that there is, made again: it begins no fork."""

    def refuse_forks(self, record: Path | None, also: Sequence[Path] = ()) -> None:
        """Refuse a second release after the same one: the two would not know of each other.

        `record` is where the new release's will be: one that lies there is replaced, and so is
        what else lies there (`also`).
        """
        written = None if record is None else record.absolute()
        if self.before in {written, *(path.absolute() for path in also)}:
            raise PolicyError(f"{self.before}: is of the release that is continued; choose "
                              "another name")  # fmt: skip
        if self.again:
            return
        folders = {self.before.parent, *([] if written is None else [written.parent])}
        other = follower_of(self.before, self.sha256, folders, but=written)
        if other is not None:
            raise InputError(
                f"record {self.before}: {other} follows it already; continue the series after "
                f"that one, or take that release back{_and_note(self.before)}"
            )

    @contextlib.contextmanager
    def alone(self, replaced: Sequence[Path]) -> Iterator[dict[Path, str]]:
        """Nobody else continues the same record meanwhile; gives notes to be written with it.

        `replaced` is the new release's record, and what else it replaces.
        """
        record, *also = replaced
        if not os.access(self.before.parent, os.W_OK):  # an archive: as good as it gets
            self.refuse_forks(record, also)
            yield {}
            return
        with locked(self.before):
            self.refuse_forks(record, also)
            apart = record.absolute().parent != self.before.parent
            note = json.dumps({"record": str(record.absolute()), "follows": self.sha256})
            yield {_note_of(self.before): note + "\n"} if apart and not self.again else {}


def follower_of(
    before: Path, sha256: str, folders: set[Path], but: Path | None = None
) -> str | None:
    """A record that follows another one, beside it, in other folders, or as it is noted."""
    for folder in sorted(folders):
        for path in sorted(folder.glob("*.record.json")):
            if path != but and _named(path) == sha256:
                return path.name
    note = _read(_note_of(before))
    if isinstance(note, dict) and note.get("follows") == sha256:
        record = str(note.get("record"))
        return None if but is not None and record == str(but) else record
    return None


def refuse_replacing(record: Path) -> None:
    """Refuse to write over a record that others follow: their chain would lack it."""
    known = _read(record)
    if not isinstance(known, dict) or "series" not in known:
        return
    path = record.absolute()
    if (other := follower_of(path, sha256_of(path), {path.parent})) is not None:
        raise OutputError(
            f"record {record}: {other} follows it, and would lack it in its chain; choose another "
            f"name, or take the later releases back first{_and_note(path)}"
        )


def _note_of(record: Path) -> Path:
    return record.with_name(record.name + NOTE)


def _and_note(record: Path) -> str:
    """Which file goes, too, with a follower that is taken back from another folder."""
    note = _note_of(record)
    return f" and remove {note}" if note.exists() else ""


def _named(path: Path) -> Any:
    """The SHA-256 of the record that another one follows, if any."""
    try:
        return _read(path)["series"]["previous"]["sha256"]
    except (KeyError, TypeError):
        return None


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
