"""Bytes in, worse bytes out: structure-aware for JSON, blind for the rest; seeded."""

from __future__ import annotations

import json
from functools import lru_cache
from random import Random
from typing import Any

NASTY_TEXTS = (
    "", " ", "\0", "a\0b", "\ud800", "\udfff text", "x" * 3000, "\u202eabc\u202c", "\u200b\u200d\ufeff", "e\u0301\u0323" * 20,
    "\x07\x1b[31m", "{{1337*1337}}", "${1337*1337}", "{% raw %}", "<script>alert(1)</script>", "</script><!--", "=1+1", "+1", "-1", "@SUM(A1)",
    "../../../etc/passwd", "/etc/passwd", "..\\..\\x", "NaN", "1e999", "\u2028\u2029", "\r", "\n\n", "\t", "%s%n", "[MASK]",
    "[CLS] [SEP]", "<|endoftext|>", "\U0001f469\u200d\U0001f680", "\u0627\u0644\u0639\u0631\u0628\u064a\u0629", "\u4e2d\u6587", "a" * 40 + ".", "'\"`", "\\", "#",
)  # fmt: skip
NASTY_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1e308, float("nan"), float("inf"), 10**30, 2**63, [], {}, [[]], [None], [1, "a"], {"a": 1},
    [{}], {"": None}, ["a", None], [float("nan")],
)  # fmt: skip
_CHUNKS = (
    b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\n", b"\r\n", b"\t", b",", b'"', b"{", b"}", b"[", b"]", b"[[[[[[[[", b"null",
    b"NaN", b"1e999", b"9" * 5000, b"[he]", b"[", b"None", b"\\u0000", b"\\ud800", b":", b"#", b"..", b"/", b";",
)  # fmt: skip


def mutate(data: bytes, rng: Random) -> bytes:
    """One to four mutations; JSON lines and documents mostly keep their form."""
    for _ in range(rng.randint(1, 4)):
        structured = _structured(data, rng) if rng.random() < 0.6 else None
        data = structured if structured is not None else _blind(data, rng)
    return data[:200_000]


def _blind(data: bytes, rng: Random) -> bytes:
    at = rng.randint(0, len(data))
    end = min(len(data), at + rng.choice((0, 1, 1, 2, 8, 64)))
    kind = rng.randrange(6)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + data[end:]
    if kind == 2:
        return data[:at] + rng.choice(_CHUNKS) + data[end:]
    if kind == 3:
        return data[:at] + rng.randbytes(end - at) + data[end:]
    if kind == 4:
        return data[:at] + data[at:end] * 3 + data[end:]
    return data[:at] + rng.choice(NASTY_TEXTS).encode("utf-8", "surrogatepass") + data[end:]


def _structured(data: bytes, rng: Random) -> bytes | None:
    """Change one value of one JSON line, or of the whole document."""
    lines = data.split(b"\n")
    place = rng.randrange(len(lines))
    for whole in (False, True):
        value = _parsed(data if whole else lines[place])
        if isinstance(value, dict | list):
            changed = json.dumps(_changed(value, rng)).encode()
            return changed if whole else b"\n".join([*lines[:place], changed, *lines[place + 1 :]])
    return None


@lru_cache(maxsize=64)
def _parsed(data: bytes) -> Any:
    """The JSON value, which nobody alters; None where there is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _changed(value: Any, rng: Random) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        kind = rng.randrange(8)
        if kind == 0:
            return {k: v for k, v in value.items() if k != key}
        if kind == 1:
            return {(rng.choice(NASTY_TEXTS) if k == key else k): v for k, v in value.items()}
        return {k: _changed(v, rng) if k == key else v for k, v in value.items()}
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = rng.randrange(len(value))
        if rng.random() < 0.2:
            return value[:place] + value[place + 1 :]
        return [_changed(v, rng) if n == place else v for n, v in enumerate(value)]
    return _leaf(rng)


def _leaf(rng: Random) -> Any:
    return rng.choice(NASTY_TEXTS) if rng.random() < 0.6 else rng.choice(NASTY_VALUES)
