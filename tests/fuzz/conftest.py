"""The folder on the path: targets, seeds and mutations are shared by tests and by `make soak`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

collect_ignore = ["guided.py"]  # a program that needs atheris; test_guided.py runs it
