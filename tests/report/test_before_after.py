"""Before and after: metrics that differ in their adapter alone are put side by side."""

from __future__ import annotations

from dataclasses import replace

from assay.report.charts import adapter_pairs, panels
from assay.run.results import Run


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
    assert [(row["when"], row["value"]) for row in panel.rows] == [("before", 23.0), ("after", 4.0)]
    import vl_convert

    assert "before" in vl_convert.vegalite_to_svg(panel.whole)
