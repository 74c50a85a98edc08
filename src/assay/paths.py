"""Where assay keeps what it may lose: downloads and scores."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """`ASSAY_CACHE`, or the user's cache folder."""
    given = os.environ.get("ASSAY_CACHE")
    if given:
        return Path(given).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "assay"
