"""Rated captions as released: Flickr8k-Expert's text files, Composite's tables, and the JSON form of both."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path

from assay.core import Sample
from assay.datasets.ratings import Rated, ratings, unique, with_ids
from assay.datasets.rows import Entry, Row, entries, read_object, read_text
from assay.errors import DataError

EXPERT, TOKENS = "ExpertAnnotations.txt", "Flickr8k.token.txt"
COMPOSITE = re.compile(r"^(.+)_(correctness|throughness|thoroughness)\.csv$")


def read_judgements(path: Path, value: Mapping[str, object]) -> list[Rated]:
    """`{image: {ground_truth: [...], human_judgement: [{caption, rating}]}}`; ratings by caption."""
    found: dict[tuple[str, str], tuple[Entry, list[object]]] = {}
    for image, entry in zip(value, entries(value, path), strict=True):
        for judged in entry.members("human_judgement"):
            key = (image, judged.text("caption"))
            found.setdefault(key, (entry, []))[1].append(judged.values.get("rating"))
    made = [
        Rated("", Sample(text, entry.texts("ground_truth")), None, image, _overall(entry, given))
        for (image, text), (entry, given) in found.items()
    ]
    return with_ids(made, path.stem)


def _overall(row: Row, given: object) -> dict[str, tuple[float, ...]]:
    numbers = ratings(row, "overall", given)
    return {"overall": numbers} if numbers else {}


def read_flickr8k(folder: Path) -> list[Rated]:
    """ExpertAnnotations.txt: image, caption id and three ratings; captions are in Flickr8k.token.txt."""
    captions = _tokens(folder / TOKENS)
    written: dict[str, list[str]] = {}
    for name, text in captions.items():
        written.setdefault(name.split("#")[0], []).append(text)
    path = folder / EXPERT
    found = []
    for number, line in enumerate(_lines(path), start=1):
        cells = line.split("\t")
        row = Row({}, path, number)
        if len(cells) < 3 or cells[1] not in captions:
            raise row.fail(f"image, a caption id of {TOKENS} and ratings are expected, not {line[:60]!r}")
        references = tuple(written.get(cells[0], ()))
        human = _overall(row, cells[2:])
        found.append(
            Rated(f"flickr8k-{number - 1}", Sample(captions[cells[1]], references), None, cells[0], human)
        )
    return found


def _tokens(path: Path) -> dict[str, str]:
    """`image.jpg#0` to a caption."""
    pairs = [line.split("\t", 1) for line in _lines(path)]
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}


def read_composite(folder: Path) -> list[Rated]:
    """Composite (Aditya et al.): a table a dataset and criterion; `Input.*` texts and `Answer.*` ratings.

    References come from Flickr8k.token.txt or `dataset_*.json` (Karpathy's splits) in the same folder.
    """
    references = _references(folder)
    merged: dict[str, Rated] = {}
    for path in sorted(folder.iterdir()):
        named = COMPOSITE.match(path.name)
        if named:
            for rated in _composite(path, named[1], named[2], references):
                known = merged.get(rated.id)
                joined = {**known.human, **rated.human} if known else rated.human
                merged[rated.id] = Rated(rated.id, rated.sample, rated.system, rated.doc, joined)
    return unique(list(merged.values()), folder)


def _composite(
    path: Path, dataset: str, criterion: str, references: Mapping[str, tuple[str, ...]]
) -> list[Rated]:
    try:
        table = list(csv.reader(io.StringIO(read_text(path)), delimiter=";")) or [[]]
    except csv.Error as error:
        raise DataError(f"{path}: not a table ({error})") from error
    inputs = [n for n, name in enumerate(table[0]) if name.startswith("Input.")]
    answers = [n for n, name in enumerate(table[0]) if name.startswith("Answer.")]
    if len(inputs) < 2 or len(answers) < len(inputs) - 1:
        raise DataError(f"{path}: columns Input.* (image, captions) and as many Answer.* are expected")
    found = []
    for number, cells in enumerate(table[1:], start=2):
        if len(cells) <= max(inputs + answers):
            raise DataError(f"{path}, line {number}: not as many cells as the header has columns")
        image = cells[inputs[0]].rsplit("/", 1)[-1]
        texts = references.get(_image_key(image))
        if not image or texts is None:
            continue  # the release has rows without an image
        for place, (text, answer) in enumerate(zip(inputs[1:], answers, strict=False)):
            row = Row({}, path, number)
            human = {criterion: ratings(row, criterion, cells[answer])} if cells[answer] else {}
            name = f"{dataset}/{number}/{place}"
            found.append(Rated(name, Sample(cells[text], texts), str(place), f"{dataset}/{image}", human))
    return found


def _references(folder: Path) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    if (folder / TOKENS).is_file():
        for name, text in _tokens(folder / TOKENS).items():
            found.setdefault(_image_key(name.split("#")[0]), []).append(text)
    for path in sorted(folder.glob("dataset_*.json")):
        for entry in entries(read_object(path).get("images"), path):
            texts = [sentence.text("raw") for sentence in entry.members("sentences")]
            found.setdefault(_image_key(entry.text("filename")), []).extend(texts)
    if not found:
        raise DataError(f"{folder}: no references; put {TOKENS} or dataset_coco.json beside the tables")
    return {image: tuple(texts) for image, texts in found.items()}


def _image_key(filename: str) -> str:
    """COCO_val2014_000000123.jpg and 123.jpg are one image; 99_ab12.jpg is known by its number."""
    stem = filename.rsplit(".", 1)[0]
    number = stem.rsplit("_", 1)[-1] if stem.startswith("COCO_") else stem.split("_", 1)[0]
    return number.lstrip("0") or number


def _lines(path: Path) -> list[str]:
    return [line for line in read_text(path).split("\n") if line.strip()]
