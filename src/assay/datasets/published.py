"""Published forms of ratings, each recognised by what it holds: a path in, rated texts out."""

from __future__ import annotations

from pathlib import Path

from assay.datasets.ratings import Rated, read_samples


def read_ratings(path: Path, *, skip_missing: bool = False) -> list[Rated]:
    """Rated texts of a file or folder."""
    return read_samples(path, skip_missing=skip_missing)
