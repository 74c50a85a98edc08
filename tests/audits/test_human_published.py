"""Published figures: caption table 7 on Flickr8k-Expert, and SummEval and REALSumm between systems."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from assay.audits.human.audit import Human
from assay.core import Finding, Judgement, Scored
from assay.engine.plan import score_all
from assay.engine.session import Session
from assay.names.spec import measure

TABLE_7 = {"bleu-4": 0.30776, "cider": 0.43891}


def run(audit: Human, *specs: str) -> Judgement:
    scored, *_ = score_all(
        {"human": audit}, {"human": list(audit.cases())}, [measure(spec) for spec in specs], Session()
    )
    return audit.judge(scored["human"])


def flickr(shared: Path) -> Human:
    return Human(
        data=(shared / "human" / "flickr8k_expert.jsonl",),
        drop_self_references=True,
        each_judgement=True,
        tau="c",
        level="example",
        resamples=20,
        details=False,
    )


def tau_c(judgement: Judgement) -> dict[str, Finding]:
    return {
        f.metric.split(":")[0]: f
        for f in judgement.findings
        if f.slice == "example/overall" and f.statistic == "kendall_c"
    }


@pytest.mark.slow
def test_caption_table_7_with_our_tokeniser(shared: Path) -> None:
    audit = flickr(shared)
    found = tau_c(run(audit, "bleu-4:tokenize=ptb", "cider:tokenize=ptb"))
    assert len(audit.items) == 5664
    for metric, value in TABLE_7.items():
        assert found[metric].value == pytest.approx(value, abs=0.005)
        assert found[metric].n == 3 * 5664


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("pycocoevalcap") is None or shutil.which("java") is None,
    reason="needs the coco extra and Java",
)
def test_caption_table_7_with_the_coco_tokeniser(shared: Path) -> None:
    audit = flickr(shared)
    cases = list(audit.cases())
    samples = [case.samples["hypothesis"] for case in cases]
    scored = []
    for spec in ("bleu-4:backend=coco", "cider:backend=coco"):
        one = measure(spec)
        # All samples in one call: every call starts a Java machine.
        values = np.asarray(one.metric.fitted([s.references for s in samples]).score(samples), dtype=float)
        scored.append(
            Scored(spec, cases, {"hypothesis": values[:, one.column] if values.ndim > 1 else values})
        )
    found = tau_c(audit.judge(scored))
    for metric, value in TABLE_7.items():
        assert found[metric].value == pytest.approx(value, abs=0.000006)


@pytest.mark.slow
def test_summeval_between_systems(shared: Path) -> None:
    audit = Human(data=(shared / "human" / "summeval.jsonl",), level="system", resamples=100, details=False)
    judgement = run(audit, "rouge1", "chrf")
    found = judgement.findings
    assert audit.criteria == ["coherence", "consistency", "fluency", "relevance"]
    for criterion in audit.criteria:
        mine = {f.metric: f for f in found if f.slice == f"system/{criterion}" and f.statistic == "spearman"}
        assert {"rouge1", "chrf", "sentinel-length", "sentinel-hypothesis"} <= set(mine)
        assert all(f.n == 16 and f.ci is not None for f in mine.values())
    lengths = np.array([len(item.sample.hypothesis.split()) for item in audit.items.rated], dtype=float)
    means = [audit.items.table(v).mean(axis=1) for v in (lengths, audit.items.human("consistency"))]
    (length,) = [
        f.value for f in found
        if (f.metric, f.slice, f.statistic) == ("sentinel-length", "system/consistency", "spearman")
    ]  # fmt: skip
    assert length == pytest.approx(stats.spearmanr(*means).statistic)
    # Systems that saw the same documents cannot be told apart by the documents.
    assert not [f for f in found if f.metric == "sentinel-source" and f.slice.startswith("system/")]
    assert any("one score cannot stand" in note for note in judgement.notes)


@pytest.mark.slow
def test_realsumm_top_systems(shared: Path) -> None:
    audit = Human(data=(shared / "human" / "realsumm.jsonl",), level="system", resamples=50)
    found = [f for f in run(audit, "rouge1").findings if f.metric == "rouge1" and "/top-" in f.slice]
    assert [f.n for f in found] == list(range(23, 2, -1))
