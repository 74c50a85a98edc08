"""What BERTScore gives to unrelated sentences, computed for any model and kept: the zero of a rescaled score.

bert-score ships such baselines for some models, from a million pairs of Common Crawl lines. Ours come from
the embedded corpora: every text meets the text of another task, so the pairs share neither topic nor form.
They are kept in the cache folder by model, layer and texts; a file of bert-score's own can be given instead.
"""

from __future__ import annotations

import csv
import json
import os
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.core import Floats, Sample
from assay.errors import DataError
from assay.models import weights
from assay.models.weights import cache_folder
from assay.recipe import digest

if TYPE_CHECKING:
    from assay.metrics.bertscore import BertScore

_TEXTS = 120  # golds taken from the corpora; every one meets five others


@cache
def unrelated() -> tuple[tuple[str, str], ...]:
    """Pairs of texts from different tasks of the embedded corpora."""
    golds: list[tuple[str, str]] = []
    folder = resources.files("assay.data") / "corpora"
    for file in sorted(folder.iterdir(), key=lambda item: item.name):
        if file.name.endswith(".jsonl"):
            lines = file.read_text(encoding="utf-8").splitlines()
            found = [str(json.loads(line).get("gold", "")) for line in lines if line.strip()]
            golds += [(file.name, text) for text in found if text][: _TEXTS // 6]
    steps = [len(golds) * share // 7 for share in range(1, 6)]
    return tuple(
        (text, golds[(index + step) % len(golds)][1])
        for index, (task, text) in enumerate(golds)
        for step in steps
        if golds[(index + step) % len(golds)][0] != task
    )


def baseline_digest(rescale: str) -> str:
    """What the signature carries: the texts' or the file's digest."""
    if rescale == "own":
        return digest(*(text for pair in unrelated() for text in pair))
    return weights.file_digest(_file(rescale))


def _file(rescale: str) -> Path:
    path = Path(rescale).expanduser()
    if not path.is_file():
        raise DataError(f"no baseline file {path}; give rescale=own, or a table of bert-score (LAYER,P,R,F)")
    return path


def baseline(metric: BertScore) -> Floats:
    """(P, R, F) of unrelated texts for the metric's model and layer."""
    if metric.rescale and metric.rescale != "own":
        return _read(_file(metric.rescale), metric.layer)
    plain = replace(metric, rescale=None, table=None, idf=False)
    return _own(plain, digest(plain.signature, baseline_digest("own")))


@cache
def _own(plain: BertScore, key: str) -> Floats:
    place = cache_folder() / "baselines" / f"{key}.json"
    if place.is_file():
        return np.array(json.loads(place.read_text("utf-8")))
    answer = plain.score([Sample(one, (other,)) for one, other in unrelated()])
    found: Floats = np.asarray(np.mean([row for row in answer.values if row is not None], axis=0))
    place.parent.mkdir(parents=True, exist_ok=True)
    scratch = place.with_suffix(f".{os.getpid()}")
    scratch.write_text(json.dumps(found.tolist()), "utf-8")
    scratch.replace(place)
    return found


def _read(path: Path, layer: int | None) -> Floats:
    """The row of a layer in a table of bert-score: LAYER,P,R,F with a header."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = {row[0]: row[1:4] for row in csv.reader(lines)}
    try:
        return np.array([float(cell) for cell in rows[str(layer)]])
    except (KeyError, ValueError) as error:
        raise DataError(f"{path} has no row P,R,F for layer {layer}; name one of its layers") from error
