"""The score cache: (signature, sample key) to all outputs, checksummed, in SQLite; memory only when asked.

A damaged row is dropped with a warning and scored again. A cache that cannot be written costs speed, never
the run: it is replaced by one in memory, with a warning.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from assay.core import Floats
from assay.migrations import migrate

log = logging.getLogger("assay")
_CHUNK = 900  # keys a query; SQLite's oldest limit of variables is 999


@dataclass(frozen=True, slots=True)
class Row:
    """All outputs of one sample (nan = absent) and what the metric counted on the way."""

    values: tuple[float, ...]
    notes: Mapping[str, int]


class ScoreCache:
    """Scores that survive the process; safe for several processes at once (WAL)."""

    def __init__(self, folder: Path | None) -> None:
        self.path = None if folder is None else folder / "scores.sqlite"
        self.damaged = 0
        self._ids: dict[str, int] = {}
        self._connection = self._open()

    def _open(self) -> sqlite3.Connection:
        if self.path is None:
            return _connect(":memory:")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return _connect(str(self.path))
        except sqlite3.OperationalError as error:
            return self._give_up(error)
        except sqlite3.DatabaseError:
            aside = self.path.with_suffix(".damaged")
            log.warning("the cache %s is damaged; moved to %s and begun anew", self.path, aside.name)
            self.path.replace(aside)
            return _connect(str(self.path))
        except OSError as error:
            return self._give_up(error)

    def _give_up(self, error: Exception) -> sqlite3.Connection:
        log.warning("the cache %s cannot be used (%s); this run's scores stay in memory", self.path, error)
        self.path = None
        self._ids.clear()
        return _connect(":memory:")

    def close(self) -> None:
        """Finish; a later use opens again elsewhere."""
        self._connection.close()

    def _id(self, signature: str) -> int:
        if signature not in self._ids:
            with self._connection:
                self._connection.execute("INSERT OR IGNORE INTO signatures (text) VALUES (?)", (signature,))
            found = self._connection.execute(
                "SELECT id FROM signatures WHERE text = ?", (signature,)
            ).fetchone()
            self._ids[signature] = int(found[0])
        return self._ids[signature]

    def get(self, signature: str, keys: Sequence[str]) -> dict[str, Row]:
        """The rows that are here and whole."""
        known: dict[str, Row] = {}
        number = self._writable_id(signature)
        for chunk in _chunks(keys):
            marks = ",".join("?" * len(chunk))
            query = f"SELECT key, value, notes, checksum FROM scores WHERE signature = ? AND key IN ({marks})"
            for key, value, notes, checksum in self._rows(query, (number, *map(bytes.fromhex, chunk))):
                if zlib.crc32(key + value + notes.encode()) == checksum:
                    counted = json.loads(notes) if notes else {}
                    known[key.hex()] = Row(tuple(np.frombuffer(value).tolist()), counted)
                else:
                    self._drop("scores", number, key)
        return known

    def _writable_id(self, signature: str) -> int:
        try:
            return self._id(signature)
        except sqlite3.Error as error:
            self._connection = self._give_up(error)
            return self._id(signature)

    def _rows(self, query: str, values: tuple[object, ...]) -> Iterator[tuple[bytes, bytes, str, int]]:
        try:
            yield from self._connection.execute(query, values)
        except sqlite3.DatabaseError as error:
            log.warning("part of the cache %s cannot be read (%s); scored again", self.path, error)

    def _drop(self, table: str, number: int, key: bytes) -> None:
        self.damaged += 1
        log.warning("a damaged row of the cache %s was dropped; scored again", self.path)
        self._write(f"DELETE FROM {table} WHERE signature = ? AND key = ?", [(number, key)])

    def put(self, signature: str, rows: Iterable[tuple[str, Row]]) -> None:
        """Remember rows, all or none."""
        number = self._writable_id(signature)
        packed = []
        for key, row in rows:
            blob, value = bytes.fromhex(key), np.asarray(row.values, dtype=np.float64).tobytes()
            notes = json.dumps(row.notes, sort_keys=True) if row.notes else ""
            packed.append((number, blob, value, notes, zlib.crc32(blob + value + notes.encode())))
        self._write("INSERT OR REPLACE INTO scores VALUES (?, ?, ?, ?, ?)", packed)

    def get_grid(self, signature: str, key: str) -> Floats | None:
        """A whole grid, if it is here and whole."""
        number, blob = self._writable_id(signature), bytes.fromhex(key)
        query = "SELECT key, value, '', checksum FROM grids WHERE signature = ? AND key = ?"
        for _, value, _, checksum in self._rows(query, (number, blob)):
            if zlib.crc32(blob + value) == checksum:
                shape = np.frombuffer(value[:16], dtype=np.int64)
                return np.frombuffer(value[16:]).reshape(shape).copy()
            self._drop("grids", number, blob)
        return None

    def put_grid(self, signature: str, key: str, values: Floats) -> None:
        """Remember a whole grid."""
        blob = bytes.fromhex(key)
        value = np.asarray(values.shape, dtype=np.int64).tobytes() + np.asarray(values, np.float64).tobytes()
        number = self._writable_id(signature)
        row = (number, blob, value, zlib.crc32(blob + value))
        self._write("INSERT OR REPLACE INTO grids VALUES (?, ?, ?, ?)", [row])

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        try:
            with self._connection:
                self._connection.executemany(statement, rows)
        except sqlite3.Error as error:  # disk full, read-only, removed: the run goes on without
            if self.path is None:
                raise
            self._connection = self._give_up(error)


def _connect(where: str) -> sqlite3.Connection:
    connection = sqlite3.connect(where, timeout=60.0, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    migrate(connection)
    return connection


def _chunks(keys: Sequence[str]) -> Iterator[tuple[str, ...]]:
    iterator = iter(keys)
    while chunk := tuple(islice(iterator, _CHUNK)):
        yield chunk
