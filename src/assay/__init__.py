"""assay puts NLG evaluation metrics to the test: unfair to whom, blind to what, in agreement with people?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.core import (
        Audit,
        Case,
        Estimate,
        Finding,
        Grid,
        Judgement,
        Metric,
        Perturbation,
        Record,
        Sample,
        Scored,
        SetMetric,
        Statistic,
    )  # fmt: skip
    from assay.errors import AuditError
    from assay.names.plugins import wrap
    from assay.report.compare import compare
    from assay.report.views import View as View
    from assay.run.pipeline import audit, run, score
    from assay.run.results import load_run
    from assay.run.session import Session

__version__ = "0.2.0.dev0"
__all__ = [
    "Audit", "AuditError", "Case", "Estimate", "Finding", "Grid", "Judgement", "Metric", "Perturbation",
    "Record", "Sample", "Scored", "Session", "SetMetric", "Statistic", "audit", "compare", "load_run", "run",
    "score", "wrap",
]  # fmt: skip
_MODULES = {
    **dict.fromkeys(("audit", "run", "score"), "run.pipeline"),
    "AuditError": "errors", "compare": "report.compare", "load_run": "run.results", "Session": "run.session",
    "View": "report.views", "wrap": "names.plugins",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is asked for, so that importing assay stays light."""
    if name not in (*__all__, *_MODULES):
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"assay.{_MODULES.get(name, 'core')}"), name)
