"""Published forms of ratings, each recognised by what it holds: a path in, rated texts out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from assay.datasets.preferences import COLUMNS, read_preferences
from assay.datasets.published.captions import (
    COMPOSITE,
    EXPERT,
    read_composite,
    read_flickr8k,
    read_judgements,
)
from assay.datasets.published.summaries import read_realsumm, read_summeval
from assay.datasets.published.turns import read_fed, read_questions, read_usr
from assay.datasets.published.webnlg import rating_file, read_webnlg
from assay.datasets.published.wmt import is_wmt, read_wmt
from assay.datasets.ratings import Rated, read_samples
from assay.datasets.rows import SUFFIXES, read_json, read_rows
from assay.errors import DataError


def read_ratings(path: Path, *, skip_missing: bool = False) -> list[Rated]:
    """Rated texts of a file or folder, in assay's own columns or a published form."""
    if is_wmt(path):
        return read_wmt(path)
    if path.is_dir():
        return _folder(path)
    if path.suffix == ".json":
        return _document(path)
    if path.suffix in (".pkl", ".pickle"):
        raise DataError(
            f"{path} is a pickle, which can run code when read; save its content as JSON and give that file"
        )
    if path.suffix in SUFFIXES:
        rows = read_rows(path)
        columns = rows[0].values
        if "expert_annotations" in columns:
            return read_summeval(path, rows)
        if all(column in columns for column in COLUMNS):
            return read_preferences(path, rows)
    return read_samples(path, skip_missing=skip_missing)


def _folder(path: Path) -> list[Rated]:
    webnlg = rating_file(path)
    if webnlg:
        return read_webnlg(webnlg)
    if (path / EXPERT).is_file():
        return read_flickr8k(path)
    if any(COMPOSITE.match(file.name) for file in path.iterdir()):
        return read_composite(path)
    raise DataError(
        f"{path}: no ratings are recognised in this folder; known are WMT metrics-task folders, WebNLG's "
        f"repository, Flickr8k ({EXPERT}) and Composite (*_correctness.csv) - or give a file"
    )


def _document(path: Path) -> list[Rated]:
    if path.name.endswith("_humeval_data_all_teams.json"):
        return read_webnlg(path)
    value = read_json(path)
    members = list(value.values()) if isinstance(value, Mapping) else value
    first = members[0] if isinstance(members, list) and members else None
    if not isinstance(first, Mapping):
        raise DataError(f"{path}: a list or an object of rated entries is expected")
    if "human_judgement" in first and isinstance(value, Mapping):
        return read_judgements(path, value)
    if "system_summaries" in first:
        return read_realsumm(path, value)
    if "responses" in first:
        return read_usr(path, value)
    if "annotations" in first:
        return read_fed(path, value)
    if "questions" in first:
        return read_questions(path, value)
    raise DataError(
        f"{path}: not a published form assay knows (Flickr8k or Composite, REALSumm, USR, FED, QGEval); "
        "write records as JSON Lines with hypothesis, references and human"
    )
