"""The slow twin of `shoal.kernels.fingerprint`: SipHash-1-3 of 64-bit words, one by one."""

from __future__ import annotations

from collections.abc import Sequence

FULL = (1 << 64) - 1


def _turned(x: int, by: int) -> int:
    return ((x << by) | (x >> (64 - by))) & FULL


def _round(v: list[int]) -> None:
    v[0] = (v[0] + v[1]) & FULL
    v[1] = _turned(v[1], 13) ^ v[0]
    v[0] = _turned(v[0], 32)
    v[2] = (v[2] + v[3]) & FULL
    v[3] = _turned(v[3], 16) ^ v[2]
    v[0] = (v[0] + v[3]) & FULL
    v[3] = _turned(v[3], 21) ^ v[0]
    v[2] = (v[2] + v[1]) & FULL
    v[1] = _turned(v[1], 17) ^ v[2]
    v[2] = _turned(v[2], 32)


def siphash(words: Sequence[int], key: tuple[int, int] = (0, 0)) -> int:
    """SipHash-1-3 (Aumasson and Bernstein, 2012) of whole words, the last of which is a length."""
    text = (b"somepseu", b"dorandom", b"lygenera", b"tedbytes")
    v = [int.from_bytes(part, "big") ^ key[i % 2] for i, part in enumerate(text)]
    for word in words:
        v[3] ^= word
        _round(v)
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(3):
        _round(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def record_words(codes: Sequence[int], sensitive: Sequence[int], marks: Sequence[int]) -> list[int]:
    """A record as words: two codes to a word, then marks, then how many there are of each."""
    words = []
    for part in (codes, sensitive):
        padded = [*part, 0] if len(part) % 2 else list(part)
        words += [a | b << 32 for a, b in zip(padded[::2], padded[1::2], strict=True)]
    return [*words, *marks, len(codes) + (len(sensitive) << 20) + (len(marks) << 40)]


def text_words(text: bytes) -> list[int]:
    """A text as words of eight bytes, then its length."""
    parts = [text[i : i + 8] for i in range(0, len(text), 8)]
    return [*(int.from_bytes(part, "little") for part in parts), len(text)]
