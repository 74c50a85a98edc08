"""The score cache: (signature, sample key) to all outputs, with checksums, in SQLite or in memory only.

A damaged row is dropped with a warning and scored again. A cache that cannot be written costs speed, never
the run: it is replaced by one in memory, with a warning.
"""

from __future__ import annotations

import json
import logging
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from assay.core import Floats, Metric

_log = logging.getLogger("assay")
RowNumbers = NDArray[np.int64]
# SQLite puts bytes of a damaged file into its messages, and Python then cannot read the message.
_ERRORS = (sqlite3.Error, UnicodeDecodeError)
# The steps from one version of the file to the next.
_STEPS = Path(__file__).with_suffix(".sql").read_text("utf-8")
_MIGRATIONS = re.split(r"^-- version.*$", _STEPS, flags=re.MULTILINE)[1:]
_CHUNK = 900  # keys per query; SQLite's oldest limit of variables is 999


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Scores of samples: (n, outputs), nan = absent; and by note, what was counted in each sample."""

    values: Floats
    notes: dict[str, RowNumbers] = field(default_factory=dict)

    @classmethod
    def empty(cls, rows: int, metric: Metric) -> ScoreTable:
        return cls(np.full((rows, max(1, len(metric.outputs))), np.nan))

    def column(self, note: str) -> RowNumbers:
        """The counts of a note, which are zeros at first."""
        return self.notes.setdefault(note, np.zeros(len(self.values), dtype=np.int64))

    def fill(self, places: RowNumbers, values: Floats, notes: Mapping[str, RowNumbers]) -> None:
        """Write the rows at `places`."""
        self.values[places] = values
        for name, counts in notes.items():
            self.column(name)[places] = counts


class ScoreCache:
    """Scores that survive the process; safe for several processes at once (WAL). Opened at the first use."""

    def __init__(self, folder: Path | None) -> None:
        self.path = None if folder is None else folder / "scores.sqlite"
        self._ids: dict[str, int] = {}
        self._dropped = False

    @cached_property
    def _connection(self) -> sqlite3.Connection:
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
            _log.warning("the cache %s is damaged; moved to %s and begun anew", self.path, aside.name)

    def _give_up(self, error: Exception) -> sqlite3.Connection:
        if isinstance(error, sqlite3.DatabaseError) and "malformed" in str(error):
            with suppress(OSError):
                self._set_aside()  # else every later run would go without a cache
        _log.warning("the cache %s cannot be used (%s); this run's scores stay in memory", self.path, error)
        self.path = None
        self._ids.clear()
        return _connect(":memory:")

    def close(self) -> None:
        """Close the file until the next use."""
        connection = vars(self).pop("_connection", None)
        if connection is not None:
            connection.close()
        self._ids.clear()

    @property
    def keeps(self) -> bool:
        """Whether scores outlive the process: there is a file, and it can be opened."""
        return bool(self._connection) and self.path is not None

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

    def get(self, signature: str, keys: Sequence[bytes], table: ScoreTable) -> RowNumbers:
        """Fill in the rows that are stored and undamaged; returns their places."""
        number, start = self._id(signature), crc32(signature.encode())
        places: list[int] = []
        values: list[bytes] = []
        for chunk in self._chunks(number, keys):
            known = {keys[place]: place for place in chunk}
            marks = ",".join("?" * len(known))
            query = f"SELECT key, value, notes, checksum FROM scores WHERE signature = ? AND key IN ({marks})"
            for key, value, notes, checksum in self._rows(query, (number, *known)):
                if crc32(key + value + notes.encode(), start) != checksum:
                    self._drop(number, key)
                    continue
                if len(value) != 8 * table.values.shape[1]:  # kept when the metric had other outputs
                    continue
                for name, count in json.loads(notes).items() if notes else ():
                    table.column(name)[known[key]] = count
                places.append(known[key])
                values.append(value)
        filled = np.array(places, dtype=np.int64)
        table.values[filled] = np.frombuffer(b"".join(values)).reshape(table.values[filled].shape)
        return filled

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
            _log.warning("part of the cache %s cannot be read (%s); scored again", self.path, error)

    def _drop(self, number: int, key: bytes) -> None:
        if not self._dropped:  # once: there may be thousands
            _log.warning(
                "a damaged row of the cache %s was dropped; it and others like it are scored again", self.path
            )
        self._dropped = True
        self._write("DELETE FROM scores WHERE signature = ? AND key = ?", [(number, key)])

    def put(self, signature: str, keys: Sequence[bytes], table: ScoreTable, places: RowNumbers) -> None:
        """Remember the rows at `places`, all or none."""
        number = self._id(signature)
        counts = {name: table.notes[name][places] for name in sorted(table.notes)}
        noted = np.flatnonzero(sum(counts.values())).tolist() if counts else []
        texts = {at: json.dumps({n: int(c[at]) for n, c in counts.items() if c[at]}) for at in noted}
        packed = []
        for at, (place, row) in enumerate(zip(places.tolist(), table.values[places], strict=True)):
            key, value, text = keys[place], row.tobytes(), texts.get(at, "")
            packed.append((number, key, value, text, checksum_of(signature, key, value, text)))
        packed.sort(key=itemgetter(1))  # in the order of the tree: fewer pages are written twice
        self._write("INSERT OR REPLACE INTO scores VALUES (?, ?, ?, ?, ?)", packed)

    def get_text(self, signature: str, key: bytes) -> str | None:
        """A text that was put for a key; None if there is none, or it is damaged."""
        query = "SELECT notes, checksum FROM scores WHERE signature = ? AND key = ?"
        for text, checksum in self._rows(query, (self._id(signature), key)):
            if checksum_of(signature, key, b"", text) == checksum:
                return str(text)
        return None

    def put_text(self, signature: str, key: bytes, text: str) -> None:
        """Remember a text, as a row without scores."""
        row = (self._id(signature), key, b"", text, checksum_of(signature, key, b"", text))
        self._write("INSERT OR REPLACE INTO scores VALUES (?, ?, ?, ?, ?)", [row])

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


def checksum_of(signature: str, key: bytes, value: bytes, notes: str) -> int:
    """The checksum of a row, its signature included."""
    return crc32(key + value + notes.encode(), crc32(signature.encode()))


def _connect(where: str) -> sqlite3.Connection:
    connection = sqlite3.connect(where, timeout=60.0, check_same_thread=False)
    # Keys are hashes, so that every commit touches pages all over the tree: larger pages, a cache that holds
    # them and rarer checkpoints halve the time per row at a million rows (bench/engine.py).
    for setting in ("page_size = 16384", "journal_mode = WAL", "synchronous = NORMAL",
                    "cache_size = -64000", "wal_autocheckpoint = 4000"):  # fmt: skip
        connection.execute(f"PRAGMA {setting}")
    if _version(connection) > len(_MIGRATIONS):
        connection.close()
        raise sqlite3.OperationalError("it was written by a newer version of assay")
    if _version(connection) < len(_MIGRATIONS):
        connection.create_function("checksum_of", 4, checksum_of, deterministic=True)
        connection.execute("BEGIN IMMEDIATE")  # a second process waits here, and finds the steps done
        for step in _MIGRATIONS[_version(connection) :]:
            for statement in step.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")
        connection.commit()
    return connection


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
