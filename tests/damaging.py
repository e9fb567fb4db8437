"""Files damaged at random, for the fuzzers."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

PLACES = ["rome", "milan", "lyon", "paris"]
ODD = [
    None, True, -1, 0, 2**63, -(2**70), 1e308, float("nan"), "", "\x00", "*", [], {}, [[]], [None],
    {"a": {"b": []}}, "x" * 5000, "\ud7ff", "a\nb", "../../etc/passwd", "/", 10**400,
]  # fmt: skip


def flip(draw: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.choice([1, 1, 3, 20])):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def cut(draw: random.Random, data: bytes) -> bytes:
    return data[: draw.randrange(len(data))]


def cut_out(draw: random.Random, data: bytes) -> bytes:
    begin = draw.randrange(len(data))
    return data[:begin] + data[begin + draw.randrange(1, 40) :]


def put_in(draw: random.Random, data: bytes) -> bytes:
    begin = draw.randrange(len(data) + 1)
    piece = draw.choice([
        b"\x00", b"\xff\xfe", b'"', b"\n", b"\r", b",,,,", b";", b"\t", b"[" * 3000, b'{"a":' * 500,
        b"9" * 400, b"1e999", b"-0", b"NaN", "\u200b\u202e".encode(), b"\xf0\x9f", b"=cmd()", b"\\",
        b"[[x]]\n", b"a.b.c = 1\n", b"'" * 3, bytes(draw.randrange(256) for _ in range(20)),
    ])  # fmt: skip
    return data[:begin] + piece + data[begin:]


def repeat(draw: random.Random, data: bytes) -> bytes:
    begin = draw.randrange(len(data))
    end = begin + draw.randrange(1, 200)
    return data[:end] + data[begin:end] * draw.choice([1, 3, 50]) + data[end:]


def other_encoding(draw: random.Random, data: bytes) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(draw.choice(["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf-7"]))


def lines_changed(draw: random.Random, data: bytes) -> bytes:
    """Ragged rows, two equal headers, no header, other ends of lines."""
    lines = data.split(b"\n")
    way = draw.randrange(6)
    at = draw.randrange(len(lines))
    if way == 0:
        lines[at] += draw.choice([b",1", b",", b"\t\t", b',"'])
    elif way == 1:
        lines[0] = lines[0].replace(b"age", b"ill")
    elif way == 2:
        lines = lines[1:]
    elif way == 3:
        return b"\r".join(lines)
    elif way == 4:
        lines[at] = lines[at].rpartition(b",")[0]
    else:
        draw.shuffle(lines)
    return b"\n".join(lines)


def replaced(draw: random.Random, data: bytes) -> bytes:
    noise = bytes(draw.randrange(256) for _ in range(300))
    nothing = [b"", b"\n", b"\x00" * 100, b"{}", b"[]", b"null", b"PAR1", b"a\n", b"{" * 10**5]
    return draw.choice([*nothing, noise])


def a_node_changed(draw: random.Random, data: bytes) -> bytes:
    """JSON with something else somewhere in it."""
    try:
        document = json.loads(data)
    except ValueError:
        return flip(draw, data)
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        keys = list(node) if isinstance(node, dict) else range(len(node))
        for key in keys:
            places.append((node, key))
            if isinstance(node[key], dict | list):
                walk(node[key])

    if isinstance(document, dict | list):
        walk(document)
    for node, key in draw.sample(places, min(len(places), draw.choice([1, 1, 2]))):
        if isinstance(node, dict) and draw.random() < 0.3:
            node.pop(key, None)
        else:
            node[key] = draw.choice(ODD)
    return json.dumps(document).encode("utf-8", "surrogatepass")


DAMAGES: list[Callable[[random.Random, bytes], bytes]] = [
    flip, cut, cut_out, put_in, repeat, other_encoding, lines_changed, replaced,
]  # fmt: skip


def damaged(draw: random.Random, path: Path) -> None:
    data = path.read_bytes()
    ways = [a_node_changed] * 8 + DAMAGES if path.suffix == ".json" else DAMAGES
    for _ in range(draw.choice([1, 1, 2])):
        data = draw.choice(ways)(draw, data) if data else data
    path.write_bytes(data)
