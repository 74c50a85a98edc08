"""The score cache: (signature, sample key) to all outputs, with checksums, in SQLite or in memory only.

A damaged row is dropped with a warning and scored again. A cache that cannot be written costs speed, never
the run: it is replaced by one in memory, with a warning.
"""

from __future__ import annotations

import json
import logging
import re
import sqlite3
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core import Floats

log = logging.getLogger("assay")
# SQLite puts bytes of a damaged file into its messages, and Python then cannot read the message.
_ERRORS = (sqlite3.Error, UnicodeDecodeError)
# The steps from one version of the file to the next.
_MIGRATIONS = re.split(r"^-- version.*$", Path(__file__).with_suffix(".sql").read_text("utf-8"), flags=re.M)[
    1:
]
_CHUNK = 900  # keys per query; SQLite's oldest limit of variables is 999


@dataclass(frozen=True, slots=True)
class Rows:
    """Scores of some of the keys: their places, values (m, outputs) with nan = absent, counts by note."""

    places: NDArray[np.int64]
    values: Floats
    notes: Mapping[str, NDArray[np.int64]]


class ScoreCache:
    """Scores that survive the process; safe for several processes at once (WAL)."""

    def __init__(self, folder: Path | None) -> None:
        self.path = None if folder is None else folder / "scores.sqlite"
        self._ids: dict[str, int] = {}
        self._closed = False
        self._dropped = 0
        self._connection = self._open()

    def _open(self) -> sqlite3.Connection:
        if self.path is None:
            return _connect(":memory:")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return _connect(str(self.path))
        except (sqlite3.OperationalError, OSError) as error:
            return self._give_up(error)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            try:
                self._set_aside()
                return _connect(str(self.path))
            except (sqlite3.Error, OSError):
                return self._give_up(error)

    def _set_aside(self) -> None:
        """Move a damaged file away, with what SQLite keeps beside it and would read into the next one."""
        if self.path is not None:
            aside = self.path.with_suffix(".damaged")
            self.path.replace(aside)
            for ending in ("-wal", "-shm"):
                self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
            log.warning("the cache %s is damaged; moved to %s and begun anew", self.path, aside.name)

    def _give_up(self, error: Exception) -> sqlite3.Connection:
        if isinstance(error, sqlite3.DatabaseError) and "malformed" in str(error):
            with suppress(OSError):
                self._set_aside()  # else every later run would go without a cache
        log.warning("the cache %s cannot be used (%s); this run's scores stay in memory", self.path, error)
        self.path = None
        self._ids.clear()
        return _connect(":memory:")

    def close(self) -> None:
        """Close the file; `reopen` before the next use."""
        self._connection.close()
        self._closed = True

    def reopen(self) -> None:
        """Open the file again after `close`."""
        if self._closed:
            self._connection = self._open()
            self._closed = False

    def _id(self, signature: str) -> int:
        """The signature's number; a cache that cannot be written is given up here."""
        if signature not in self._ids:
            try:
                self._ids[signature] = self._insert(signature)
            except _ERRORS as error:
                self._connection = self._give_up(error)
                self._ids[signature] = self._insert(signature)
        return self._ids[signature]

    def _insert(self, signature: str) -> int:
        with self._connection as connection:
            connection.execute("INSERT OR IGNORE INTO signatures (text) VALUES (?)", (signature,))
        query = "SELECT id FROM signatures WHERE text = ?"
        return int(connection.execute(query, (signature,)).fetchone()[0])

    def get(self, signature: str, keys: Sequence[bytes], outputs: int) -> Rows:
        """The rows that are stored and undamaged."""
        number, seed = self._id(signature), zlib.crc32(signature.encode())
        places: list[int] = []
        values: list[bytes] = []
        counted: list[tuple[int, str]] = []  # only rows that have notes
        for chunk in self._chunks(number, keys):
            known = {keys[place]: place for place in chunk}
            marks = ",".join("?" * len(known))
            query = f"SELECT key, value, notes, checksum FROM scores WHERE signature = ? AND key IN ({marks})"
            for key, value, notes, checksum in self._rows(query, (number, *known)):
                if zlib.crc32(key + value + notes.encode(), seed) != checksum or len(value) != 8 * outputs:
                    self._drop("scores", number, key)
                    continue
                if notes:
                    counted.append((len(places), notes))
                places.append(known[key])
                values.append(value)
        table = np.frombuffer(b"".join(values)).reshape(len(places), outputs)
        return Rows(np.array(places, dtype=np.int64), table, _from_json(len(places), counted))

    def _chunks(self, number: int, keys: Sequence[bytes]) -> Iterator[list[int]]:
        """Places of the keys of each query, in the order of the tree; nothing for a new signature."""
        query = "SELECT key, value, notes, checksum FROM scores WHERE signature = ? LIMIT 1"
        if next(self._rows(query, (number,)), None):
            order = sorted(range(len(keys)), key=keys.__getitem__)
            yield from (order[start : start + _CHUNK] for start in range(0, len(order), _CHUNK))

    def _rows(self, query: str, values: tuple[object, ...]) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._connection.execute(query, values)
        except _ERRORS as error:
            log.warning("part of the cache %s cannot be read (%s); scored again", self.path, error)

    def _drop(self, table: str, number: int, key: bytes) -> None:
        if not self._dropped:  # once: there may be thousands
            log.warning(
                "a damaged row of the cache %s was dropped; it and others like it are scored again", self.path
            )
        self._dropped += 1
        self._write(f"DELETE FROM {table} WHERE signature = ? AND key = ?", [(number, key)])

    def put(
        self, signature: str, keys: Sequence[bytes], values: Floats, notes: Mapping[str, NDArray[np.int64]]
    ) -> None:
        """Remember rows, all or none."""
        number, seed = self._id(signature), zlib.crc32(signature.encode())
        raw, width = np.ascontiguousarray(values, np.float64).tobytes(), 8 * values.shape[1]
        texts = _as_json(notes)
        packed = []
        for place, key in enumerate(keys):
            value, text = raw[place * width : (place + 1) * width], texts.get(place, "")
            packed.append((number, key, value, text, zlib.crc32(key + value + text.encode(), seed)))
        packed.sort(key=itemgetter(1))  # in the order of the tree: fewer pages are written twice
        self._write("INSERT OR REPLACE INTO scores VALUES (?, ?, ?, ?, ?)", packed)

    def get_grid(self, signature: str, key: str) -> Floats | None:
        """A whole grid; None if it is not stored or damaged."""
        number, blob = self._id(signature), bytes.fromhex(key)
        query = "SELECT key, value, '', checksum FROM grids WHERE signature = ? AND key = ?"
        for _, value, _, checksum in self._rows(query, (number, blob)):
            if zlib.crc32(blob + value, zlib.crc32(signature.encode())) == checksum:
                shape = np.frombuffer(value[:16], dtype=np.int64)
                return np.frombuffer(value[16:]).reshape(shape).copy()
            self._drop("grids", number, blob)
        return None

    def put_grid(self, signature: str, key: str, values: Floats) -> None:
        """Remember a whole grid."""
        number, blob = self._id(signature), bytes.fromhex(key)
        value = np.asarray(values.shape, dtype=np.int64).tobytes() + np.asarray(values, np.float64).tobytes()
        row = (number, blob, value, zlib.crc32(blob + value, zlib.crc32(signature.encode())))
        self._write("INSERT OR REPLACE INTO grids VALUES (?, ?, ?, ?)", [row])

    def book(self, metric: str, characters: int, seconds: float) -> None:
        """Note how fast a metric was; older runs count half, so that the pace follows the machine."""
        statement = (
            "INSERT INTO paces VALUES (?, ?, ?) ON CONFLICT (metric) DO UPDATE SET "
            "characters = characters / 2 + excluded.characters, seconds = seconds / 2 + excluded.seconds"
        )
        self._write(statement, [(metric, characters, seconds)])

    def pace(self, metric: str) -> float | None:
        """Characters per second; None if the metric has not run here."""
        query = "SELECT characters / max(seconds, 1e-9) FROM paces WHERE metric = ?"
        row = next(self._rows(query, (metric,)), None)
        return float(row[0]) if row else None

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        try:
            with self._connection:
                self._connection.executemany(statement, rows)
        except _ERRORS as error:  # disk full, read-only, removed: the run goes on without
            if self.path is None:
                raise
            self._connection = self._give_up(error)


def _connect(where: str) -> sqlite3.Connection:
    connection = sqlite3.connect(where, timeout=60.0, check_same_thread=False)
    # Keys are hashes, so that every commit touches pages all over the tree: larger pages, a cache that holds
    # them and rarer checkpoints halve the time per row at a million rows (bench/engine.py).
    for setting in ("page_size = 16384", "journal_mode = WAL", "synchronous = NORMAL",
                    "cache_size = -64000", "wal_autocheckpoint = 4000"):  # fmt: skip
        connection.execute(f"PRAGMA {setting}")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > len(_MIGRATIONS):
        connection.close()
        raise sqlite3.OperationalError("it was written by a newer version of assay")
    for number, step in enumerate(_MIGRATIONS[version:], start=version + 1):
        # A step and its version are written together or not at all.
        connection.executescript(f"BEGIN IMMEDIATE; {step} PRAGMA user_version = {number}; COMMIT;")
    return connection


def _as_json(notes: Mapping[str, NDArray[np.int64]]) -> dict[int, str]:
    """The counts of each place as JSON; places without counts are left out."""
    counts: dict[int, dict[str, int]] = {}
    for name in sorted(notes):
        for place in np.flatnonzero(notes[name]).tolist():
            counts.setdefault(place, {})[name] = int(notes[name][place])
    return {place: json.dumps(by_name) for place, by_name in counts.items()}


def _from_json(count: int, texts: Sequence[tuple[int, str]]) -> dict[str, NDArray[np.int64]]:
    """The way back: one column of counts per note."""
    columns: dict[str, NDArray[np.int64]] = {}
    for place, text in texts:
        for name, number in json.loads(text).items():
            columns.setdefault(name, np.zeros(count, dtype=np.int64))[place] = number
    return columns
