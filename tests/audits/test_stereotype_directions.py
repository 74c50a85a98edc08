"""The stereotype audit across metrics: what explains the size of a bias."""

from __future__ import annotations

import numpy as np
import pytest

from assay.audits.stereotype.bias import _eta_squared, across_metrics
from assay.core import Finding, Scored


def test_paradigms_explain_variance() -> None:
    assert _eta_squared(np.array([1.0, 1.0, 5.0, 5.0]), ["a", "a", "b", "b"]) == 1.0
    assert _eta_squared(np.array([1.0, 5.0, 1.0, 5.0]), ["a", "a", "b", "b"]) == 0.0
    kinds = ["n-gram", "n-gram", "matching", "matching", "matching"]
    sizes = [None, None, 10**7, 10**8, 10**9]
    scored = [
        Scored(f"m{n}", [], {}, about={"paradigm": kind, "backbone": kind, "parameters": size})
        for n, (kind, size) in enumerate(zip(kinds, sizes, strict=True))
    ]
    biases = [0.0, 1.0, 10.0, 11.0, 12.0]
    found = [Finding(f"m{n}", "stereotype", "gender", "bias", b, 9) for n, b in enumerate(biases)]
    shares = {f.versus: f.value for f in across_metrics(scored, found) if f.statistic == "variance_explained"}
    assert shares["paradigm"] == pytest.approx(0.98, abs=0.01)
    assert shares["size"] == pytest.approx(1.0)
