"""assay puts NLG evaluation metrics to the test: unfair to whom, blind to what, in agreement with people?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.core import Audit as Audit
from assay.core import Case, Finding, Grid, Metric, Perturbation, Record, Sample, Scored, SetMetric
from assay.errors import AuditError

if TYPE_CHECKING:
    from assay.names.plugins import wrap
    from assay.report.compare import compare
    from assay.run.pipeline import audit, run, score

__version__ = "0.1.0"
__all__ = [
    "Audit", "AuditError", "Case", "Finding", "Grid", "Metric", "Perturbation", "Record", "Sample", "Scored",
    "SetMetric", "audit", "compare", "run", "score", "wrap",
]  # fmt: skip
_LAZY = dict.fromkeys(("audit", "run", "score"), "assay.run.pipeline")
_LAZY |= {"compare": "assay.report.compare", "wrap": "assay.names.plugins"}


def __getattr__(name: str) -> Any:
    """Load the pipeline when it is asked for, so that importing assay stays light (law 8)."""
    if name not in _LAZY:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_LAZY[name]), name)
