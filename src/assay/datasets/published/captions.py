"""Rated captions: Flickr8k, Composite, CLIPScore's JSON, Polaris and Pascal-50S, with their images."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.core import Sample
from assay.datasets.files import read_json, text_lines
from assay.datasets.published.mapped import Compared, rated_by_outcomes
from assay.datasets.published.opened import Opened
from assay.datasets.ratings import Rated, by_criterion
from assay.datasets.rows import Row, entries, read_rows
from assay.errors import DataError

_References = dict[str, tuple[str, ...]]  # of an image
_EXPERT, _CROWD, _TOKENS = "ExpertAnnotations.txt", "CrowdFlowerAnnotations.txt", "Flickr8k.token.txt"
_COMPOSITE = re.compile(r"^(.+)_(correctness|throughness|thoroughness)\.csv$")
_VOTES = 48  # of Pascal-50S: one per reference of an image


def read_flickr8k(opened: Opened) -> Iterator[Rated]:
    """An image, a caption id and three ratings; or the share, the yes and the no of a crowd."""
    captions = _captions(opened.path / _TOKENS)
    by_image: _References = defaultdict(tuple)
    for name, text in captions.items():
        by_image[name.split("#")[0]] += (text,)
    expert = (opened.path / _EXPERT).is_file()
    path = opened.path / (_EXPERT if expert else _CROWD)
    images = {name: opened.image(name) for name in by_image}
    for number, line in enumerate(text_lines(path), start=1):
        cells, row = line.split("\t"), Row({}, path, number)
        if len(cells) < 3 or cells[1] not in captions:
            raise row.fail(f"image, a caption id of {_TOKENS} and ratings are expected, not {line[:60]!r}")
        sample = Sample(captions[cells[1]], by_image.get(cells[0], ()), image=images.get(cells[0]))
        human = by_criterion(row, {"overall": cells[2:] if expert else cells[2:3]})
        yield Rated(f"flickr8k-{number - 1}", sample, None, cells[0], human)


def _captions(path: Path) -> dict[str, str]:
    """`image.jpg#0` to a caption."""
    pairs = [line.split("\t", 1) for line in text_lines(path)]
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}


def read_composite(opened: Opened) -> list[Rated]:
    """Composite (Aditya et al.): one table per dataset and criterion; `Input.*` texts and `Answer.*` ratings.

    References come from Flickr8k.token.txt or `dataset_*.json` (Karpathy's splits) in the same folder.
    """
    references = _composite_references(opened.path)
    merged: dict[str, Rated] = {}
    for path in sorted(opened.path.iterdir()):
        if match := _COMPOSITE.match(path.name):
            for rated in _composite_table(path, match[1], match[2], references):
                before = merged[rated.id].human if rated.id in merged else {}
                sample = replace(rated.sample, image=opened.image(str(rated.doc).split("/", 1)[-1]))
                merged[rated.id] = replace(rated, sample=sample, human={**before, **rated.human})
    return list(merged.values())


def _composite_table(path: Path, dataset: str, criterion: str, references: _References) -> Iterator[Rated]:
    rows = read_rows(path)
    inputs, answers = ([c for c in rows[0].values if c.startswith(kind)] for kind in ("Input.", "Answer."))
    if len(inputs) < 2 or len(answers) < len(inputs) - 1:
        raise DataError(f"{path}: columns Input.* (image, captions) and as many Answer.* are expected")
    for row in rows:
        image = row.text(inputs[0]).rsplit("/", 1)[-1]
        texts = references.get(_image_key(image))
        if not image or texts is None:
            continue  # the release has rows without an image
        for place, (text, answer) in enumerate(zip(inputs[1:], answers, strict=False)):
            name, human = f"{dataset}/{row.line}/{place}", by_criterion(row, {criterion: row.values[answer]})
            yield Rated(name, Sample(row.text(text), texts), str(place), f"{dataset}/{image}", human)


def _composite_references(folder: Path) -> _References:
    references: _References = defaultdict(tuple)
    if (folder / _TOKENS).is_file():
        for name, text in _captions(folder / _TOKENS).items():
            references[_image_key(name.split("#")[0])] += (text,)
    for path in sorted(folder.glob("dataset_*.json")):
        for entry in entries(read_json(path), path, under="images"):
            sentences = entry.members("sentences")
            references[_image_key(entry.text("filename"))] += tuple(text.text("raw") for text in sentences)
    if not references:
        raise DataError(f"{folder}: no references; put {_TOKENS} or dataset_coco.json beside the tables")
    return references


def _image_key(filename: str) -> str:
    """COCO_val2014_000000123.jpg and 123.jpg are one image; 99_ab12.jpg is known by its number."""
    stem = filename.rsplit(".", 1)[0]
    number = stem.rsplit("_", 1)[-1] if stem.startswith("COCO_") else stem.split("_", 1)[0]
    return number.lstrip("0") or number


def read_pascal50s(opened: Opened) -> Iterator[Rated]:
    """Pascal-50S: triplets of a reference and two captions, with a vote of 1 for the first or -1."""
    triplets, beside = opened.matlab["triplets"].reshape(-1), opened.path.with_name("pair_pascal.mat")
    inputs = Opened(beside).matlab.get("new_input") if beside.is_file() else None
    pairs = None if inputs is None else inputs.reshape(-1)
    starts = range(0, len(triplets), _VOTES)
    return rated_by_outcomes(
        opened, (_pascal_pair(opened, triplets[n : n + _VOTES], n, pairs) for n in starts)
    )


def _pascal_pair(opened: Opened, triplets: Any, start: int, pairs: Any) -> Compared:
    try:
        cells = [[_innermost(cell) for cell in triplet] for triplet in triplets]  # structures of four
        image = None if pairs is None else str(_innermost(pairs[start // _VOTES][0]))
        texts = (str(cells[0][1]).strip(), str(cells[0][2]).strip())
        votes = [float(cell[3]) for cell in cells]
        references = tuple(str(cell[0]).strip() for cell in cells)
    except (IndexError, TypeError, ValueError) as error:
        raise DataError(
            f"{opened.path}, triplet {start + 1}: a reference, two captions and a vote are expected"
        ) from error
    share = sum(vote == 1 for vote in votes) / len(votes)
    name = image or str(start // _VOTES)
    return Compared(name, texts, {"overall": share}, references=references, image=opened.image(image))


def _innermost(cell: Any) -> Any:
    """The value of a Matlab cell, which is wrapped in arrays of one element."""
    while hasattr(cell, "reshape") and cell.size == 1 and cell.shape:
        cell = cell.reshape(-1)[0]
    return cell[0] if isinstance(cell, list | tuple) else cell
