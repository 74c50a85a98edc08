"""A cache of the hub on this machine, in its layout, filled with tiny models."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import layouts

REVISION = "0123456789abcdef0123456789abcdef01234567"


def publish(cache: Path, name: str, folder: Path) -> Path:
    """Put a folder's files into the hub's cache as it lays them out: blobs, and links to them in a snapshot."""
    home = cache / f"models--{name.replace('/', '--')}"
    snapshot = home / "snapshots" / REVISION
    (home / "blobs").mkdir(parents=True)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(REVISION)
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = file.read_bytes()
        blob = home / "blobs" / hashlib.sha256(content).hexdigest()
        blob.write_bytes(content)
        link = snapshot / file.relative_to(folder)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(blob, link.parent))
    return snapshot


class Hub:
    """A cache of the hub; a model is built when it is first asked for."""

    def __init__(self, root: Path) -> None:
        self.cache, self._built = root / "hub", root / "built"
        self.tensors: dict[str, layouts.Tensors] = {}

    def add(self, name: str, builder: Callable[[Path], layouts.Tensors] | None = None) -> Path:
        """Build a model and publish it under a name; return its snapshot."""
        snapshot = self.cache / f"models--{name.replace('/', '--')}" / "snapshots" / REVISION
        if name not in self.tensors:
            folder = self._built / name.replace("/", "--")
            self.tensors[name] = (builder or layouts.HUB[name])(folder)
            publish(self.cache, name, folder)
        return snapshot
