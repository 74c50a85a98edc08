"""The word data as the tests read them, and where the published association tests may lie."""

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from assay.datasets.association import (
    SET_KEYS,
    AssociationTest,
    WordSet,
)
from assay.files import data_path

DATA = data_path()
SHARED = Path(__file__).parents[3] / "shared" / "data"
PUBLISHED = SHARED / "association"
needs_published = pytest.mark.skipif(
    not PUBLISHED.is_dir(), reason="the published association tests are absent"
)


@cache
def table(name: str) -> list[dict[str, str]]:
    head, *lines = (DATA / "words" / f"{name}.tsv").read_text("utf-8").splitlines()
    return [dict(zip(head.split("\t"), line.split("\t"), strict=True)) for line in lines]


@cache
def lists(name: str, folder: str = "words") -> dict[str, Any]:
    return tomllib.loads((DATA / folder / f"{name}.toml").read_text("utf-8"))


@cache
def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / "words" / f"{name}.jsonl").read_text("utf-8").splitlines()]


def pairs(name: str) -> list[tuple[str, str, str]]:
    """(pos, word, other word) of a table of pairs."""
    return [(row["pos"], row["word"], row[name.removesuffix("s")]) for row in table(name)]


def sets(test: AssociationTest) -> dict[str, WordSet]:
    return {key: getattr(test, key) for key in SET_KEYS}


def texts(tests: dict[str, AssociationTest]) -> list[tuple[str, str]]:
    return list(
        dict.fromkeys(item for test in tests.values() for part in sets(test).values() for item in part.items)
    )
