"""Files below everything else: the tables and word lists in `assay/data`, and digests of content.

`data_path`, `toml_file`, `jsonl_file` and `tsv_file` give an embedded file by folder and name; `word_list`
and `word_set` give the words of a list in a TOML file, in order or for membership. Every file is read once.
"""

from __future__ import annotations

import csv
import hashlib
import json
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

MAX_UNPACKED = 2_000_000_000  # bytes that an archive or a packed file may unpack to


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def data_path(*parts: str) -> Path:
    """The path of an embedded file or folder: data_path("corpora", "dialogue.jsonl")."""
    return Path(str(files("assay.data").joinpath(*parts)))


@cache
def toml_file(folder: str, file: str) -> dict[str, Any]:
    """An embedded TOML file, named without its ending."""
    return tomllib.loads(data_path(folder, f"{file}.toml").read_text("utf-8"))


def with_tuples(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of a TOML file with its lists as tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}


@cache
def jsonl_file(folder: str, file: str) -> tuple[dict[str, Any], ...]:
    """The rows of an embedded JSON Lines file, named without its ending."""
    text = data_path(folder, f"{file}.jsonl").read_text("utf-8")
    return tuple(json.loads(line) for line in text.splitlines() if line)


@cache
def tsv_file(folder: str, file: str) -> tuple[dict[str, str], ...]:
    """The rows of an embedded table, named without its ending."""
    text = data_path(folder, f"{file}.tsv").read_text("utf-8")
    return tuple(csv.DictReader(text.splitlines(), delimiter="\t"))


@cache
def word_list(folder: str, file: str, key: str = "words") -> tuple[str, ...]:
    """A list of words of a TOML file, in the order of the file."""
    return tuple(toml_file(folder, file)[key])


@cache
def word_set(folder: str, file: str, key: str = "words") -> frozenset[str]:
    """The words of a list: word_set("words", "stop_words")."""
    return frozenset(word_list(folder, file, key))
