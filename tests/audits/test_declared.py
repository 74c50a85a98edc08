"""What every audit declares about its statistics, so that reports need no knowledge of any audit."""

from __future__ import annotations

import json
from dataclasses import fields
from itertools import product

import pytest

from assay.api.pipeline import run
from assay.core import Audit, Estimate, Finding, Statistic
from assay.engine.session import Session
from assay.engine.settle import describe, sentence_of
from assay.names.registry import audit_class

AUDITS = ("stereotype", "association", "swap", "caption")
DECLARED = [(name, statistic) for name in AUDITS for statistic in audit_class(name).statistics]
each_statistic = pytest.mark.parametrize(
    ("name", "statistic"), DECLARED, ids=[f"{name}-{statistic.name}" for name, statistic in DECLARED]
)


@pytest.mark.parametrize("name", AUDITS)
def test_every_emitted_statistic_is_declared(name: str) -> None:
    if audit_class(name).needs_data:
        pytest.skip("has no embedded data")
    findings = run(name, ["bleu"], session=Session.open(cache=None), size="quick").findings
    assert findings.height
    assert set(findings["statistic"]) <= {statistic.name for statistic in audit_class(name).statistics}


@pytest.mark.parametrize("name", AUDITS)
def test_an_audit_describes_itself(name: str) -> None:
    kind: type[Audit] = audit_class(name)
    assert kind.title
    assert not hasattr(kind, "notes"), "notes belong to the Judgement"
    statistics = kind.statistics
    assert len({statistic.name for statistic in statistics}) == len(statistics)
    assert any(statistic.headline for statistic in statistics)
    names = {statistic.name for statistic in statistics}
    assert {chart.value for chart in kind.charts} <= names
    assert {chart.colour for chart in kind.charts if chart.colour} <= names
    described = json.loads(json.dumps(describe(kind())))
    # How much of what was asked has scores is a statistic of every audit.
    assert [row["name"] for row in described["statistics"]] == [*(one.name for one in statistics), "coverage"]


@each_statistic
def test_a_statistic_has_a_meaning_a_side_and_a_unit(name: str, statistic: Statistic) -> None:
    assert statistic.meaning.endswith(".")
    assert statistic.meaning[0].isupper()
    assert statistic.bad in (None, "high", "low", "far")
    assert statistic.bad is None or statistic.unit
    if isinstance(statistic.bar, str):
        assert statistic.bar.lstrip("-") in {field.name for field in fields(audit_class(name))}


@each_statistic
def test_a_failed_finding_can_be_put_into_words(name: str, statistic: Statistic) -> None:
    slices = ("gender", "translation/negation", "summarisation/fluency/jumble/0.3")
    for value, slice_, versus in product(
        (-0.35, 0.0, 0.35, 1.2), slices, (None, "male", "one - other", "gold")
    ):
        estimate = Estimate(value, 40, (value - 0.1, value + 0.1))
        finding = Finding.of("some-metric", slice_, statistic.name, estimate, versus=versus)
        sentence = sentence_of(audit_class(name)(), statistic, finding)
        assert "some-metric" in sentence
        assert sentence.endswith(".")
        assert "  " not in sentence
