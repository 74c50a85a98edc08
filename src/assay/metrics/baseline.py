"""BERTScore of unrelated texts, computed for any model and kept: the zero of a rescaled score.

bert-score ships such baselines for some models, from a million pairs of Common Crawl lines. Ours come from
the embedded corpora: each text is paired with texts of other tasks, which share neither topic nor form. They
are kept in the cache folder by model, layer and texts; a file of bert-score's own can be given instead.
"""

from __future__ import annotations

import csv
import json
import os
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np

from assay.core import Floats, Metric, Sample, Scores
from assay.errors import DataError
from assay.models.weights import cache_folder, file_digest
from assay.recipe import digest

_TEXTS = 120  # clean texts taken from the corpora; each is paired with five others


@cache
def unrelated() -> tuple[tuple[str, str], ...]:
    """Return pairs of clean texts from different tasks of the embedded corpora."""
    golds: list[tuple[str, str]] = []
    folder = resources.files("assay.data") / "corpora"
    for file in sorted(folder.iterdir(), key=lambda item: item.name):
        if file.name.endswith(".jsonl"):
            lines = file.read_text(encoding="utf-8").splitlines()
            texts = [str(json.loads(line).get("gold", "")) for line in lines if line.strip()]
            golds += [(file.name, text) for text in texts if text][: _TEXTS // 6]
    steps = [len(golds) * share // 7 for share in range(1, 6)]
    return tuple(
        (text, golds[(index + step) % len(golds)][1])
        for index, (task, text) in enumerate(golds)
        for step in steps
        if golds[(index + step) % len(golds)][0] != task
    )


def baseline_digest(rescale: str) -> str:
    """Return the digest of the unrelated texts (rescale="own") or of a baseline file, for signatures."""
    if rescale == "own":
        return digest(*(text for pair in unrelated() for text in pair))
    return file_digest(_existing(rescale))


def _existing(rescale: str) -> Path:
    path = Path(rescale).expanduser()
    if not path.is_file():
        raise DataError(f"no baseline file {path}; give rescale=own, or a table of bert-score (LAYER,P,R,F)")
    return path


def own_baseline(plain: Metric) -> Floats:
    """Return (P, R, F) of unrelated texts under a metric that does not rescale."""
    return _own(plain, digest(plain.signature, baseline_digest("own")))


@cache
def _own(plain: Metric, key: str) -> Floats:
    place = cache_folder() / "baselines" / f"{key}.json"
    if place.is_file():
        return np.array(json.loads(place.read_text("utf-8")))
    answer = plain.score([Sample(text, (other,)) for text, other in unrelated()])
    values = answer.values if isinstance(answer, Scores) else answer
    rows = [row for row in values if row is not None]
    means: Floats = np.asarray(np.mean(rows, axis=0))
    place.parent.mkdir(parents=True, exist_ok=True)
    scratch = place.with_suffix(f".{os.getpid()}")
    scratch.write_text(json.dumps(means.tolist()), "utf-8")
    scratch.replace(place)
    return means


def read_baseline(rescale: str, layer: int | None) -> Floats:
    """Read the row of a layer in a table of bert-score: LAYER,P,R,F with a header."""
    path = _existing(rescale)
    with path.open(encoding="utf-8", newline="") as lines:
        rows = {row[0]: row[1:4] for row in csv.reader(lines)}
    try:
        return np.array([float(cell) for cell in rows[str(layer)]])
    except (KeyError, ValueError) as error:
        raise DataError(f"{path} has no row P,R,F for layer {layer}; name one of its layers") from error
