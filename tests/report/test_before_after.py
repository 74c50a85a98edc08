"""Before and after: metrics that differ in their adapter alone are put side by side."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from assay.core import Finding
from assay.report.before_after import adapter_pairs
from assay.report.charts import panels
from assay.report.matrices import matrices
from assay.run.results import Run, findings_frame


def test_only_the_adapter_may_differ(planted: Run) -> None:
    signatures = {
        "soft": "bert|layer:6|adapter:None|v:1",
        "keen": "bert|layer:6|adapter:sha256:ab|v:1",
        "plain": "bert|layer:5|adapter:sha256:ab|v:1",
    }
    about = dict(planted.about) | {
        "metrics": {name: {"signature": text} for name, text in signatures.items()}
    }
    run = replace(planted, about=about)
    assert adapter_pairs(run) == [("soft", "keen")]
    panel = next(one for one in panels(run) if one.group == "before and after mitigation")
    assert [(row["when"], row["bias"]) for row in panel.rows] == [("before", 23.0), ("after", 4.0)]
    import vl_convert

    assert "before" in vl_convert.vegalite_to_svg(panel.whole)


def test_the_agreement_matrix_is_antisymmetric(planted: Run) -> None:
    gap = Finding(
        "soft", "human", "system/overall", "spearman_difference", 0.25, 9, versus="keen", p_value=0.003
    )
    run = replace(planted, findings=pl.concat([planted.findings, findings_frame([gap])]))
    matrix = matrices(run, "human")[0]
    cells = {name: [cell and cell.text for cell in line] for name, _, line in matrix.rows}
    assert cells == {"soft": [None, "0.25**"], "keen": ["-0.25**", None]}
    assert matrix.metrics == ("soft", "keen")


@pytest.mark.parametrize("audit", ["stereotype", "association", "stress"])
def test_every_panel_and_table_draws(planted: Run, audit: str) -> None:
    import vl_convert

    assert matrices(planted, audit)
    for panel in panels(planted):
        if panel.audit == audit:
            assert vl_convert.vegalite_to_svg(panel.whole).startswith("<svg")
