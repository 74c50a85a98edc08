"""`assay list metrics` says of every metric whether it runs now, after which command, or never here and why."""

from __future__ import annotations

import importlib.util
import re

import pytest

from assay.metrics.regression import MetricX
from assay.models import weights
from assay.names import inventory
from assay.names.registry import names


@pytest.mark.parametrize(("answers", "never"), [(False, 30), (True, 0)])
def test_every_metric_says_when_it_runs(answers: bool, never: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory, "hub_answers", lambda: answers)
    monkeypatch.setattr(inventory, "on_disk", lambda name: False)
    rows = {row["name"]: row for row in inventory.inventory("metrics")}
    assert rows.keys() == set(names("metrics"))
    words = {
        "now": r"now(; fetches \S.* at first use)?",
        "after": r"after: pip install .+",
        "never": "never here: .+",
    }
    assert all(re.fullmatch(words[row["runs"]], row["state"]) for row in rows.values())
    unreached = [row for row in rows.values() if "hub does not answer" in row["state"]]
    assert all(row["runs"] == "never" for row in unreached)
    assert len(unreached) >= never
    assert bool(unreached) is not answers
    assert rows["bleu"]["state"] == "now"


def test_the_tokenizer_of_another_model_is_needed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory, "hub_answers", lambda: False)
    monkeypatch.setattr(inventory, "on_disk", lambda name: name != "google/mt5-xl")
    assert inventory.readiness(MetricX) == {
        "runs": "never",
        "state": "never here: no package carries google/mt5-xl, and the hub does not answer; give tokenizer=PATH",
    }


def test_a_command_is_named_only_if_it_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(inventory, "on_disk", lambda name: name == "google/mt5-xl")
    monkeypatch.setattr(inventory, "hub_answers", lambda: True)
    assert inventory.readiness(MetricX) == {
        "runs": "after",
        "state": "after: pip install 'nlg-assay[neural]'; fetches google/metricx-23-large-v2p0 at first use",
    }
    monkeypatch.setattr(inventory, "hub_answers", lambda: False)
    assert inventory.readiness(MetricX)["runs"] == "never"


def test_an_offline_setting_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **named: object) -> None:
        raise AssertionError("the hub was asked")

    monkeypatch.setattr(weights, "urlopen", refuse)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert weights.hub_answers.__wrapped__() is False
