"""The folder on the path, so that tests and the page share their standard data; a scale for `make soak`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
