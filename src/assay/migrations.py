"""The score cache's schema, step by step; a step is never changed once released."""

from __future__ import annotations

import sqlite3

STEPS = (
    """
    CREATE TABLE signatures (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
    CREATE TABLE scores (
        signature INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, notes TEXT NOT NULL,
        checksum INTEGER NOT NULL, PRIMARY KEY (signature, key)
    ) WITHOUT ROWID;
    CREATE TABLE grids (
        signature INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, checksum INTEGER NOT NULL,
        PRIMARY KEY (signature, key)
    );
    """,
    "CREATE TABLE paces (metric TEXT PRIMARY KEY, characters REAL NOT NULL, seconds REAL NOT NULL);",
)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a cache up to date; each step and its version land together or not at all."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    for number, step in enumerate(STEPS[version:], start=version + 1):
        # IF NOT EXISTS is not enough: two processes may open a new cache at once.
        connection.executescript(f"BEGIN IMMEDIATE; {_once(step)} PRAGMA user_version = {number}; COMMIT;")


def _once(step: str) -> str:
    return step.replace("CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ")
