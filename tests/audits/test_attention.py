"""Where a backbone looks: shares of attention by distance, and from the end of a text."""

from __future__ import annotations

import numpy as np
import pytest

from assay.audits.attention import Attention, by_distance, from_last
from assay.core import Scored
from assay.engine.settle import settle
from assay.models.encoder import in_blocks


def test_attention_by_distance_and_from_the_last_block() -> None:
    """Two blocks of text and a missing third; the first token takes .2 everywhere."""
    blocks = np.full((1, 3, 4), np.nan)
    blocks[0, 0, :3] = [0.2, 0.8, 0.0]
    blocks[0, 1, :3] = [0.2, 0.5, 0.3]
    shares = by_distance(blocks, 20)
    assert shares["0-20"][0] == pytest.approx((0.8 + 0.3) / 2)
    assert shares["20-40"][0] == pytest.approx((0.0 + 0.5) / 2)
    assert np.isnan(shares["40-60"][0])
    assert np.isnan(from_last(blocks)["start"][0])
    full = np.zeros((1, 3, 4))
    full[0, 2] = [0.1, 0.2, 0.3, 0.4]
    assert [from_last(full)[name][0] for name in ("start", "middle", "end")] == pytest.approx([0.2, 0.3, 0.4])


def test_attention_in_blocks_sums_to_one() -> None:
    attention = np.random.default_rng(0).dirichlet(np.ones(50), size=50)
    found = in_blocks(attention, 20, 4)
    assert np.nansum(found, axis=1)[:3] == pytest.approx([1, 1, 1])
    assert np.isnan(found[3]).all()
    assert found[0, 0] == pytest.approx(attention[:20, 0].mean())


def test_a_metric_without_a_backbone_has_no_attention_and_a_note() -> None:
    audit = Attention(limit=2)
    cases = list(audit.cases())
    found = audit.judge([Scored("bleu", cases, {"gold": np.ones(len(cases))}, about={"paradigm": "n-gram"})])
    assert found.findings == []
    assert found.notes == ["bleu reads with no model that attends: no attention to show"]


def test_shares_of_an_encoder_are_described_and_not_judged() -> None:
    pytest.importorskip("torch")
    audit = Attention(limit=2)
    cases = list(audit.cases())
    scored = Scored("encoder", cases, {"gold": np.ones(len(cases))}, about={"backbone": "minilm"})
    found = {finding.slice: finding for finding in settle(audit, audit.judge([scored]))}
    assert {finding.verdict for finding in found.values()} == {"not judged"}
    thirds = [found[f"open-ended/last-block-to/{part}"].value for part in ("start", "middle", "end")]
    assert thirds[2] > thirds[0]  # the end of a text looks at itself more than at the start
