"""Run folders under one root: listed, opened, compared. Nothing outside the root is ever read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import AuditError, CacheError
from assay.report.compare import compare
from assay.run.results import Run, load_about, load_run

MOST_RUNS = 500


@dataclass(frozen=True, slots=True)
class Shelf:
    """Runs by name: the root itself if it is one, and the folders right below it."""

    root: Path | None

    def runs(self) -> dict[str, Path]:
        """Folders that hold a run; links that lead elsewhere are left out."""
        if self.root is None or not self.root.is_dir():
            return {}
        root = self.root.resolve()
        below = sorted(path for path in root.iterdir() if path.is_dir())[:MOST_RUNS]
        return {
            path.name: path
            for path in (root, *below)
            if (path / "run.json").is_file() and path.resolve().is_relative_to(root)
        }

    def listed(self) -> list[dict[str, Any]]:
        """One row per run: name, metrics, audits and size."""
        return [{"name": name, **_summary(path)} for name, path in self.runs().items()]

    def open(self, name: str) -> Run:
        """A run by its listed name, never by a path."""
        known = self.runs()
        if name not in known:
            raise CacheError(f"no run called {name!r} here")
        return load_run(known[name])

    def compare(self, before: str, after: str) -> dict[str, Any]:
        """Changes between two runs, largest first; unchanged findings are only counted."""
        comparison = compare(self.open(before), self.open(after))
        return {
            "worse": [change.document for change in comparison.of("worse")[:200]],
            "better": [change.document for change in comparison.of("better")[:200]],
            "unchanged": len(comparison.of("unchanged")),
            "only_before": comparison.only_before,
            "only_after": comparison.only_after,
        }


def _summary(path: Path) -> dict[str, Any]:
    try:
        about = load_about(path)
    except AuditError:
        return {"metrics": [], "audits": [], "size": "damaged"}
    return {
        "metrics": list(about["metrics"]),
        "audits": list(about["audits"]),
        "size": about.get("size", "full"),
    }
