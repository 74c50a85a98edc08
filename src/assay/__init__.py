"""assay puts NLG evaluation metrics to the test: unfair to whom, blind to what, in agreement with people?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.api.pipeline import audit, run
    from assay.api.runs import Run, load_run
    from assay.api.scores import score
    from assay.api.systems import Systems, compare_systems
    from assay.core import (
        Audit,
        Case,
        Chart,
        Estimate,
        Explanation,
        Finding,
        Grid,
        Image,
        Judgement,
        Metric,
        Perturbation,
        Record,
        Sample,
        Scored,
        Scores,
        SetMetric,
        Statistic,
    )  # fmt: skip
    from assay.engine.session import Session
    from assay.errors import AuditError
    from assay.names.wrap import wrap
    from assay.reading.compare import compare
    from assay.report.figures import Figure

__version__ = "0.3.0.dev0"
__all__ = [
    "Audit", "AuditError", "Case", "Chart", "Estimate", "Explanation", "Figure", "Finding", "Grid", "Image",
    "Judgement", "Metric", "Perturbation", "Record", "Run", "Sample", "Scored", "Scores", "Session",
    "SetMetric", "Statistic", "Systems", "audit", "compare", "compare_systems",
    "load_run", "run", "score", "wrap",
]  # fmt: skip
# Where each name is defined; names that are not listed here stand in core.py.
_MODULES = {
    "audit": "api.pipeline", "run": "api.pipeline", "score": "api.scores",
    "Run": "api.runs", "load_run": "api.runs",
    "AuditError": "errors",
    "Systems": "api.systems", "compare_systems": "api.systems",
    "compare": "reading.compare",
    "Figure": "report.figures",
    "Session": "engine.session",
    "wrap": "names.wrap",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is asked for, so that importing assay stays light."""
    if name not in __all__:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"assay.{_MODULES.get(name, 'core')}"), name)
