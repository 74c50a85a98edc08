"""Texts that nobody can have scored before: from a grammar with a seed, a file, or a private folder.

A metric that was made to do well on the embedded texts, or that looks them up, does worse on these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from assay.datasets.contexts import embedded_crossings
from assay.errors import DataError
from assay.files import data_path, file_digest, toml_file
from assay.models.weights import build_folder, cache_folder
from assay.recipe import digest, generator

RECORDS, CONTEXTS = 120, 60  # texts, as many as most embedded sets have, and contexts per attribute
_SLOT = re.compile(r"\{([ab])\.(\w+)\}")


def fresh_files(source: str) -> tuple[Path, ...]:
    """The files of fresh texts that a seed, a file or a folder names."""
    if source.isdigit():
        return made_files(int(source))
    path = Path(source).expanduser()
    if path.is_dir():
        files = tuple(
            sorted(file for file in path.iterdir() if file.suffix in (".jsonl", ".csv", ".tsv", ".json"))
        )
        if not files:
            raise DataError(f"--fresh {path}: no .jsonl, .csv, .tsv or .json in this folder")
        return files
    if not path.is_file():
        raise DataError(f"--fresh {source}: give a seed (a whole number), a file or a folder of your own")
    return (path,)


def made_files(seed: int) -> tuple[Path, ...]:
    """The files of texts made with a seed, kept in the cache under the digest of all they were made from."""
    parts = sorted([data_path("fresh", "grammar.toml"), *data_path("contexts").glob("*.toml")])
    name = digest(
        str(seed), str(RECORDS), str(CONTEXTS), file_digest(Path(__file__)), *map(file_digest, parts)
    )
    folder = build_folder(cache_folder() / "fresh" / name[:16], partial(_write, seed))
    return tuple(sorted(folder.glob("*.jsonl")))


def _write(seed: int, folder: Path) -> None:
    """Write the records, and for each attribute its contexts with the groups beside them."""
    folder.mkdir(parents=True)
    _write_rows(folder / f"fresh-{seed}.jsonl", made_records(seed))
    for crossing in embedded_crossings():
        contexts = made_contexts(seed, crossing.attribute)
        slots = {context.slot for context in crossing.contexts}
        rows = [row for row in contexts if row["slot"] in slots]
        if crossing.is_basic and rows:
            groups = data_path("contexts", f"{crossing.attribute}.toml").read_bytes()
            (folder / f"{crossing.attribute}.toml").write_bytes(groups)
            _write_rows(folder / f"{crossing.attribute}.jsonl", rows)


def _write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def made_records(seed: int) -> list[dict[str, Any]]:
    """Records from the frames of the grammar, each frame as often as the others."""
    frames = toml_file("fresh", "grammar")["frame"]
    rows = []
    for number in range(RECORDS):
        frame, fill = frames[number % len(frames)], _filling(generator(seed, "fresh record", str(number)))
        rows.append({
            "id": f"fresh-{seed}-{number}", "task": "translation", "gold": fill(frame["gold"]),
            "references": [fill(text) for text in frame["references"]],
            "reworded": [fill(frame["near"]), fill(frame["far"])],
            "wrong": {**frame["wrong"], "text": fill(frame["wrong"]["text"])},
        })  # fmt: skip
    return rows


def made_contexts(seed: int, attribute: str) -> list[dict[str, str]]:
    """Contexts with a slot for a word that names a group."""
    frames = toml_file("fresh", "grammar")["context"]
    rows = []
    for number in range(CONTEXTS):
        frame = frames[number % len(frames)]
        fill = _filling(generator(seed, f"fresh {attribute}", str(number)))
        texts = {name: fill(frame[name]) for name in ("text", "reference")}
        rows.append({"id": f"fresh-{attribute}-{number}", "slot": frame["slot"], **texts})
    return rows


class _filling:
    """Fills the slots of texts: the same slot of one item has the same words everywhere."""

    def __init__(self, rng: Random) -> None:
        lists = toml_file("fresh", "grammar")["fillings"]
        self._words = {name: rng.sample(words, 2) for name, words in lists.items()}

    def __call__(self, text: str) -> str:
        return _SLOT.sub(lambda slot: self._words[slot[2]]["ab".index(slot[1])], text)
