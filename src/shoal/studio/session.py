"""What the studio keeps: one policy and its runs, in a private folder, as files people can read.

::

    .shoal-studio/          0700, beside the tables
      state.json            which table, which run was chosen
      shoal.toml            the policy
      look.json             what was found in the table (private: a few rows of it)
      uploads/  trees/      files that were brought
      runs/0001/            one folder a run; see `shoal.studio.jobs`

Nothing else is remembered: a server that is killed loses at most the work that runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from shoal.errors import InputError, OutputError, PolicyError
from shoal.methods import METHODS
from shoal.policy import Policy

__all__ = ["FOLDER", "Session", "read_json", "stamp_of", "write_json", "write_text"]

FOLDER = ".shoal-studio"
OPENER = "open.html"
"""Leads the browser to the studio, until it was used."""
ATTEMPTS = 5
MARK = "Written by `shoal studio`: private copies and releases. It deletes this folder.\n"
ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".pq", ".arrow", ".feather", ".ipc",
           ".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")  # fmt: skip
"""Names of files that may hold a table."""
MOST_FILES = 500


class Session:
    """The folder of one studio. Small files are read anew whenever they are asked for."""

    def __init__(self, start: Path, folder: Path | None = None) -> None:
        """Open the folder, or make it.

        Parameters
        ----------
        start
            Only tables in this folder, or uploaded ones, are ever opened.
        folder
            Where the session is; in `start` if not given.
        """
        self.start = start.resolve()
        self.folder = (folder or self.start / FOLDER).absolute()
        self._lock: Any = None
        self.shown: set[str] = set()
        """Columns whose cells were shown on purpose; forgotten when the server ends."""
        self._prepare()

    def _prepare(self) -> None:
        try:
            fresh = not self.folder.exists()
            self.folder.mkdir(mode=0o700, exist_ok=True)
            found = self.folder.lstat()
            if not self.folder.is_dir() or self.folder.is_symlink():
                raise OutputError(f"{self.folder}: expected a folder of the studio's own")
            if hasattr(os, "getuid") and found.st_uid != os.getuid():
                raise OutputError(f"{self.folder}: belongs to somebody else")
            mark = self.folder / "README.txt"
            if not fresh and not mark.exists() and any(self.folder.iterdir()):
                raise OutputError(f"{self.folder}: is not the studio's; move it away")
            self.folder.chmod(0o700)
            write_text(mark, MARK)
            for name in ("uploads", "trees", "runs"):
                (self.folder / name).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self.folder}: cannot be used: {error.strerror or error}") from None

    def lock(self) -> None:
        """One studio a folder; the lock goes with the process, however it ends."""
        if sys.platform == "win32":
            self._tidy()
            return
        import fcntl

        handle = (self.folder / "lock").open("a+")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            handle.close()
            raise OutputError(
                f"{self.folder}: another studio works in this folder; use its page, or end it first"
            ) from None
        self._lock = handle
        self._tidy()

    def _tidy(self) -> None:
        """Remove what a server that was killed left halfway."""
        left = [*self.folder.glob(".*"), self.folder / "draft.toml", self.folder / OPENER,
                *(self.folder / "uploads").glob("*.part"), *(self.folder / "trees").glob("draft-*"),
                *(self.folder / "trees").glob(".*")]  # fmt: skip
        for path in left:
            if not path.is_dir():
                path.unlink(missing_ok=True)

    # State

    @property
    def state(self) -> dict[str, Any]:
        return read_json(self.folder / "state.json") or {}

    def remember(self, **values: Any) -> None:
        """Keep some values; None forgets one."""
        kept = {**self.state, **values}
        write_json(self.folder / "state.json", {n: v for n, v in kept.items() if v is not None})

    @property
    def look(self) -> dict[str, Any] | None:
        """What was found in the table; None while nobody has looked."""
        return read_json(self.folder / "look.json")

    @look.setter
    def look(self, found: dict[str, Any] | None) -> None:
        if found is None:
            (self.folder / "look.json").unlink(missing_ok=True)
        else:
            write_json(self.folder / "look.json", found)

    # The table

    def tables(self) -> list[str]:
        """Names of files in the start folder that may be tables."""
        found = [
            path.name
            for path in sorted(self.start.iterdir())
            if path.is_file() and path.name.lower().endswith(ENDINGS) and self._inside(path)
        ]
        return found[:MOST_FILES]

    def uploads(self) -> list[str]:
        return sorted(p.name for p in (self.folder / "uploads").iterdir() if p.suffix != ".part")

    def _inside(self, path: Path) -> bool:
        """Also where it is a link: what it leads to must lie here."""
        return path.resolve().parent == self.start

    @property
    def table(self) -> Path | None:
        """The chosen table."""
        chosen = self.state.get("table")
        if not chosen:
            return None
        room = self.folder / "uploads" if chosen["uploaded"] else self.start
        return room / str(chosen["name"])

    def choose(self, name: str, uploaded: bool = False) -> Path:
        """Take a table by its name; whatever was decided about another one is forgotten.

        Which texts mean a missing value is kept where the same one is read again.

        Raises
        ------
        InputError
            It is none of those that are offered.
        """
        if name not in (self.uploads() if uploaded else self.tables()):
            raise InputError("choose one of the files that are listed")
        self.look = None
        self.shown.clear()
        (self.folder / "shoal.toml").unlink(missing_ok=True)
        for tree in (self.folder / "trees").iterdir():
            tree.unlink()
        taken = {"name": name, "uploaded": uploaded}
        missing = self.state.get("missing") if self.state.get("table") == taken else None
        self.remember(table=taken, chosen=None, problem=None, encoding=None, delimiter=None,
                      decimal=None, refusal=None, bad_trees=None, missing=missing)  # fmt: skip
        table = self.table
        assert table is not None
        return table

    def upload_target(self, name: str) -> Path:
        """Where an upload goes: its last part only, without anything odd in it."""
        last = name.replace("\\", "/").rpartition("/")[2]
        kept = "".join(c if c.isalnum() or c in "._- " else "_" for c in last).strip(" .")[-120:]
        if not kept.lower().endswith(ENDINGS):
            raise InputError(
                f"expected a file whose name ends in {', '.join(ENDINGS[:1] + ENDINGS[4:])}"
            )
        return self.folder / "uploads" / kept

    # The policy

    @property
    def policy_file(self) -> Path:
        return self.folder / "shoal.toml"

    @property
    def policy(self) -> Policy:
        """The policy as it is; an empty one where there is none."""
        return Policy.load(self.policy_file) if self.policy_file.exists() else Policy()

    @policy.setter
    def policy(self, policy: Policy) -> None:
        write_text(self.policy_file, policy.to_toml())

    @property
    def version(self) -> str:
        """Changes with the policy: a tab that shows another one must not overwrite it."""
        text = self.policy_file.read_bytes() if self.policy_file.exists() else b""
        return hashlib.sha256(text).hexdigest()[:16]

    @property
    def look_version(self) -> str:
        """Changes with the table, or how it is read."""
        path = self.folder / "look.json"
        return hashlib.sha256(path.read_bytes() if path.exists() else b"").hexdigest()[:16]

    def change(self, **settings: Any) -> Policy:
        """Put settings in place of those there are; None takes one away. Whole tables, not merged.

        Raises
        ------
        PolicyError
            They contradict each other; nothing is changed then.
        """
        kept = {**self.policy.settings(), **settings}
        policy = Policy.parse(**{n: v for n, v in kept.items() if v is not None})
        policy = policy.model_copy(update={"base": self.folder, "file": self.policy_file})
        _check_method(policy)
        self.policy = policy
        return policy

    def replace_policy(self, text: str) -> Policy:
        """Take a policy as TOML text, if it is one.

        Raises
        ------
        PolicyError
            It is none; nothing is changed then.
        """
        draft = self.folder / "draft.toml"
        write_text(draft, text)
        try:
            policy = Policy.load(draft)
        except PolicyError as error:
            raise PolicyError(str(error).replace(f"policy {draft}", "line", 1)) from None
        except ValueError:  # of Python's own, about numbers of thousands of digits
            raise PolicyError("a number of it is longer than any can be") from None
        finally:
            draft.unlink(missing_ok=True)
        _check_method(policy)
        for name, spec in policy.hierarchy.items():
            if isinstance(spec, str) and spec != "flat" and not self._own_tree(spec):
                raise PolicyError(f"hierarchy of {name!r}: bring the file in the step Hierarchies")
        self.policy = policy
        return policy

    def _own_tree(self, spec: str) -> bool:
        """Whether a hierarchy is one of ours: no path reaches elsewhere."""
        path = (self.folder / spec).resolve()
        return path.parent == (self.folder / "trees").resolve() and path.is_file()

    # The end

    def delete(self) -> None:
        """Remove everything that the studio ever wrote.

        Raises
        ------
        OutputError
            Something of it is still there.
        """
        for _ in range(ATTEMPTS):
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.lexists(self.folder):
                return
            time.sleep(0.1)  # whoever wrote there is about to end
        raise OutputError(f"{self.folder}: could not be deleted whole; delete what is left of it")

    def start_anew(self) -> None:
        """Remove everything, and go on with an empty session.

        Raises
        ------
        OutputError
            Something of it is still there.
        """
        for path in self._own():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        left = self._own()
        self.shown.clear()
        self._prepare()
        if left:
            raise OutputError(f"{self.folder}: could not be deleted whole")

    def _own(self) -> list[Path]:
        """All that is there but what makes the folder ours."""
        return [p for p in self.folder.iterdir() if p.name not in {"lock", "README.txt"}]


def _check_method(policy: Policy) -> None:
    if policy.method is not None and policy.method not in METHODS:
        raise PolicyError(f"method: expected one of {', '.join(METHODS)}")


def stamp_of(path: str | Path | None) -> list[int] | None:
    """What tells a file from another one of its name; None where there is none."""
    try:
        found = Path(path).stat() if path is not None else None
    except OSError:
        found = None
    return None if found is None else [found.st_mtime_ns, found.st_size, found.st_ino]


def read_json(path: Path) -> dict[str, Any] | None:
    """A small file of ours; None where there is none, or half of one."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def write_json(path: Path, value: dict[str, Any]) -> None:
    write_text(path, json.dumps(value, ensure_ascii=False))


def write_text(path: Path, text: str) -> None:
    """All of it or nothing, for nobody else to read."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    draft.replace(path)
