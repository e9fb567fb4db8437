"""The chain of private records: who was published with which set of sensitive values.

The record of a release in a series has a part ``series``. It names the record
before it by its SHA-256, and adds what is new: keyed hashes of the persons who
are published for the first time, the signature (set of sensitive values) that
each has from then on, and whose record every released row is. The key is drawn
for the first record and kept in it alone. No identifier is in any of them.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_bytes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.io.write import sha256_of
from shoal.series.packing import HASH_BYTES, unpacked_hashes, unpacked_numbers
from shoal.verification.record import load_record

__all__ = ["Chain", "Link", "Signature", "check_unchanged", "keyed_hashes", "open_chain"]

FORMAT = 1
KEY_BYTES = 32
MOST_LINKS = 10_000
"""A chain of more records than this is one that bites its tail."""
Signature = tuple[str | None, ...]
"""The sensitive values that a person is published with, as they were written, sorted."""
SHAPES = {
    "format": int, "number": int, "promise": str, "person": str, "qi": list, "sensitive": list,
    "new": str, "signature": str, "signatures": list, "rows": str, "classes": str, "append": bool,
    "twins": str,
}  # fmt: skip
"""What the part of a record must have."""


@dataclass(frozen=True, eq=False)
class Link:
    """One release of a chain, by its record."""

    path: Path
    sha256: str
    """Of the record's file."""
    part: Mapping[str, Any]
    """What the record says of the series."""
    release: Mapping[str, Any]
    """Name and SHA-256 of the released file."""
    rows: NDArray[np.int64]
    """Person of each released row, by number in the chain; -1 for a counterfeit."""
    classes: NDArray[np.int64]
    """Class of each released row."""

    @property
    def name(self) -> str:
        """The released file, or the record where it has none."""
        return str(self.release.get("file") or self.path.name)


@dataclass(frozen=True, eq=False)
class Chain:
    """All releases of a series so far; empty before the first."""

    key: bytes
    links: tuple[Link, ...] = ()
    number: Mapping[bytes, int] = field(default_factory=dict)
    """Persons who were published, by keyed hash, in the order of their first release."""
    signature: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """Signature of each of them: its place in `signatures`."""
    signatures: tuple[Signature, ...] = ()

    @classmethod
    def begun(cls) -> Chain:
        """A chain of no release yet, with a key that nobody knows."""
        return cls(token_bytes(KEY_BYTES))

    @property
    def last(self) -> Link | None:
        return self.links[-1] if self.links else None

    @property
    def persons(self) -> int:
        return len(self.number)

    def numbers_of(self, hashes: Iterable[bytes]) -> NDArray[np.int64]:
        """Number of each person, -1 for those who were never published."""
        return np.array([self.number.get(one, -1) for one in hashes], dtype=np.int64)


def keyed_hashes(key: bytes, texts: Iterable[str]) -> list[bytes]:
    """HMAC-SHA256 of each text: nobody without the key can try names."""
    return [hmac.digest(key, text.encode(), "sha256")[:HASH_BYTES] for text in texts]


def open_chain(path: Path) -> Chain:
    """The chain that ends with a record, every record of it checked by its hash.

    Raises
    ------
    InputError
        A record is missing, was changed, or belongs to no series.
    """
    found = [_opened(path)]
    while (before := found[-1].part.get("previous")) is not None:
        if len(found) > MOST_LINKS:
            raise InputError(f"record {path}: its chain has no beginning")
        found.append(_predecessor(found[-1], before))
    links = tuple(reversed(found))
    for expected, link in enumerate(links, start=1):
        if link.part["number"] != expected:
            raise InputError(f"record {link.path}: is number {link.part['number']} of a series, "
                             f"and stands at place {expected}: a release is missing")  # fmt: skip
    return _joined(links)


def _opened(path: Path) -> Link:
    record = load_record(path)
    part = record.get("series")
    if part is None:
        raise InputError(
            f"record {path}: is of a release that began no series; make the first release with "
            "series = true, or with m, and a person or identifier column"
        )
    if not isinstance(part, dict) or part.get("format") != FORMAT:
        raise InputError(f"record {path}: 'series' is not what it should be; is it damaged?")
    for name, shape in SHAPES.items():
        if not isinstance(part.get(name), shape):
            raise InputError(f"record {path}: series {name!r} is not there; is it damaged?")
    for name in ("qi", "sensitive"):
        if not all(isinstance(text, str) for text in part[name]):
            raise InputError(f"record {path}: series {name!r} is no list of names; is it damaged?")
    for name in ("m", "k"):
        if not isinstance(part.get(name), int | None):
            raise InputError(f"record {path}: series {name!r} is no number; is it damaged?")
    try:
        rows, classes = unpacked_numbers(part["rows"]), unpacked_numbers(part["classes"])
    except ValueError:
        raise InputError(f"record {path}: damaged: series rows") from None
    if len(rows) != len(classes) or len(rows) != record["release"].get("records"):
        raise InputError(f"record {path}: damaged: series rows")
    return Link(path, sha256_of(path), part, record["release"], rows, classes)


def _predecessor(link: Link, before: Any) -> Link:
    """The record before another: where it says, or beside it, with the hash that it names."""
    if not isinstance(before, dict) or not {"file", "sha256"} <= before.keys():
        raise InputError(f"record {link.path}: damaged: series previous")
    folder = link.path.absolute().parent
    places = [folder / str(before["file"]), folder / Path(str(before["file"])).name]
    there = [place for place in dict.fromkeys(places) if place.is_file()]
    for place in there:
        if sha256_of(place) == before["sha256"]:
            return _opened(place)
    if there:
        raise InputError(
            f"record {there[0]}: is not the one that {link.path.name} follows (SHA-256 differs): "
            "it was changed, or is of another series"
        )
    raise InputError(
        f"record {places[0]}: not found: the chain of {link.path.name} lacks a release; bring "
        "the record back"
    )


def _joined(links: Sequence[Link]) -> Chain:
    """All that the records of a chain say together."""
    number: dict[bytes, int] = {}
    signatures: list[Signature] = []
    owned: list[NDArray[np.int64]] = []
    for link in links:
        part = link.part
        try:
            hashes, own = unpacked_hashes(part["new"]), unpacked_numbers(part["signature"])
            signatures += [_signature(values) for values in part["signatures"]]
        except (TypeError, ValueError):
            raise InputError(f"record {link.path}: damaged: series persons") from None
        for one in hashes:
            number[one] = len(number)
        owned.append(own)
        whole = len(own) == len(hashes) and len(number) == sum(map(len, owned))
        in_range = int(own.max(initial=-1)) < len(signatures)
        if not (whole and in_range and int(link.rows.max(initial=-1)) < len(number)):
            raise InputError(f"record {link.path}: damaged: series persons")
    try:
        key = bytes.fromhex(links[0].part["key"])
    except (KeyError, TypeError, ValueError):
        raise InputError(f"record {links[0].path}: damaged: series key") from None
    return Chain(key, tuple(links), number, np.concatenate(owned), tuple(signatures))


def _signature(values: Any) -> Signature:
    """A set of sensitive values as a record has it."""
    if not all(value is None or isinstance(value, str) for value in values):
        raise TypeError("no text")
    return tuple(values)


def check_unchanged(link: Link) -> None:
    """Refuse to continue a release that is not what its record says, where it lies beside it."""
    file = link.path.with_name(Path(str(link.release.get("file"))).name)
    if file.is_file() and sha256_of(file) != link.release.get("sha256"):
        raise InputError(
            f"{file}: is not the release that its record says (SHA-256 differs): the next one "
            "would keep what was not published; put the published file there"
        )
