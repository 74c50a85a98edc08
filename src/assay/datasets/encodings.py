"""How a file's bytes are its letters: UTF-8, UTF-16 or, where nothing else fits, Windows-1252 (Latin-1)."""

from __future__ import annotations

import codecs
import re

# A byte that is no text, as Python's `surrogateescape` keeps it; 0 stands in no text either.
ESCAPED = re.compile("[\0\udc80-\udcff]")
_FEWEST = 20  # bytes by which anything can be told
_BEGINNING = 4000  # bytes by which UTF-16 without a mark is recognised
_MOSTLY = 0.4  # of the bytes are 0 in UTF-16 of Latin letters, and none in any other text
# What Western European languages write beyond ASCII. Any other byte means damage rather than Latin-1.
_LATIN = frozenset(
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëìíîïñòóôõöøùúûüœŒ‘’“”„‚«»‹›–—…•€£§°ºª¿¡´·\xa0".encode("cp1252")
)


def encoding_of(raw: bytes) -> str:
    """The encoding of a file, as Python calls it.

    >>> [encoding_of("Grüße".encode(name)) for name in ("utf-8", "utf-16", "cp1252")]
    ['utf-8-sig', 'utf-16', 'cp1252']
    """
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    start = raw[:_BEGINNING]
    if start.count(0) > _MOSTLY * len(start) and len(raw) > _FEWEST:
        return "utf-16-be" if start[:2].startswith(b"\0") else "utf-16-le"
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        beyond = {byte for byte in raw if byte > 127}
        return "cp1252" if beyond <= _LATIN and not _has_utf8(raw) else "utf-8-sig"
    return "utf-8-sig"


def _has_utf8(raw: bytes) -> bool:
    """Whether some letter beyond ASCII is written in UTF-8: the file is that, and damaged elsewhere."""
    return re.search(rb"[\xc3-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}", raw) is not None


def escaped_byte(text: str) -> int:
    """The first byte of a text that is none."""
    found = ESCAPED.search(text)
    return ord(found[0]) % 256 if found else 0
