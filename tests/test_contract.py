"""The contract of everything registered, by name: a new metric or perturbation is covered without a line."""

from __future__ import annotations

import importlib.util
import pickle
from dataclasses import fields
from random import Random

import numpy as np
import pytest

from assay.core import Audit, Metric, Perturbation, Record, Sample, SetMetric
from assay.errors import AuditError
from assay.models.weights import CARRIERS
from assay.names.registry import load, names
from assay.names.spec import parse, perturbation
from assay.run.projection import project
from assay.run.scoring import Settings, score_samples
from assay.vocabulary import TASKS

PAIRS = [
    ("The harbour was closed for two days after the storm.", "After the storm, the harbour stayed shut for two days."),
    ("Nobody in the village had seen such rain before.", "Such rain was new to everyone in the village."),
    ("Amina bought three green apples and a loaf of bread.", "Three green apples and some bread were bought by Amina."),
    ("Why did the train stop?", "What made the train stop?"),
]  # fmt: skip
SAMPLES = [
    Sample(h, (r, "The weather was fine on that day."), source="storm | closed | harbour", rival=r)
    for h, r in PAIRS
]


def _ready(name: str) -> bool:
    """Whether the metric runs here: packages installed, and weights that a package carries."""
    kind = load(names("metrics")[name][0])
    if any(importlib.util.find_spec(package) is None for package in kind.packages):
        return False
    return all(getattr(kind, field, None) in CARRIERS for field in kind.weights)


METRICS = sorted(names("metrics"))
READY = [n for n in METRICS if _ready(n) and issubclass(load(names("metrics")[n][0]), Metric)]
# The causal language model takes seconds a text here; one name of it stands for all.
QUICK = [n for n in READY if getattr(load(names("metrics")[n][0]), "model", None) != "smollm2"]
WEIGHTLESS = [n for n in READY if not load(names("metrics")[n][0]).weights]


def _score(name: str, samples: list[Sample]) -> np.ndarray:
    one = parse(name)
    fitted = one.metric.fitted([s.references for s in SAMPLES])
    try:
        return score_samples(type(one)(one.label, fitted, one.output), samples, Settings()).values
    except AuditError as error:
        if "install" in str(error) or "WordNet" in str(error) or "parser" in str(error):
            pytest.skip(str(error))
        raise


@pytest.mark.parametrize("name", METRICS)
def test_declarations(name: str) -> None:
    kind = load(names("metrics")[name][0])
    assert issubclass(kind, Metric | SetMetric)
    assert kind.__doc__
    assert kind.citation, f"{name} cites nobody"
    low, high = kind.range
    assert low is None or high is None or low < high
    assert all(hasattr(kind, field) or field in {f.name for f in fields(kind)} for field in kind.weights)


@pytest.mark.parametrize("name", METRICS)
def test_constructing_opens_nothing_and_travels(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.open", None)
    one = parse(name)
    again = pickle.loads(pickle.dumps(one.metric))
    assert again == one.metric


@pytest.mark.parametrize("name", QUICK)
def test_batch_of_one_equals_batch_of_many_and_order_does_not_matter(name: str) -> None:
    if any(project(parse(name).metric, s) is None for s in SAMPLES):
        pytest.skip("needs what these samples lack")
    together = _score(name, SAMPLES)
    alone = np.concatenate([_score(name, [sample]) for sample in SAMPLES])
    backwards = _score(name, SAMPLES[::-1])[::-1]
    assert np.allclose(together, alone, atol=1e-5, equal_nan=True)
    assert np.allclose(together, backwards, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("name", QUICK)
def test_scores_keep_their_range(name: str) -> None:
    one = parse(name)
    if any(project(one.metric, s) is None for s in SAMPLES):
        pytest.skip("needs what these samples lack")
    values = _score(name, SAMPLES)[:, one.column]
    low, high = one.metric.range
    assert low is None or np.nanmin(values) >= low - 1e-6
    assert high is None or np.nanmax(values) <= high + 1e-6


@pytest.mark.parametrize("name", [n for n in QUICK if load(names("metrics")[n][0]).identity_highest])
def test_identity_scores_highest(name: str) -> None:
    one = parse(name)
    for sample in SAMPLES:
        same = Sample(sample.references[0], sample.references[:1], sample.source)
        other = Sample(sample.hypothesis, sample.references[:1], sample.source)
        values = _score(name, [same, other])[:, one.column]
        assert values[0] >= values[1] - 1e-6


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "word",
        "...",
        "日本語のテキスト",
        "שלום עולם",
        "naïve café 🙂",
        "\u200bzero\u0301 width",
        "a " * 5000,
    ],
    ids=["empty", "space", "word", "dots", "cjk", "rtl", "emoji", "marks", "long"],
)
def test_hard_texts_get_a_score_an_absence_or_a_clear_error(name: str, text: str) -> None:
    if len(text) > 1000 and name not in WEIGHTLESS:
        pytest.skip("long texts have tests of their own in the neural metrics")
    sample = Sample(text, ("A plain reference.",), source="plain | is | reference", rival="A rival.")
    try:
        values = _score(name, [sample])
    except AuditError as error:
        assert len(str(error)) > 20
    else:
        assert values.shape[0] == 1
        assert not np.isinf(values).any()


PERTURBATIONS = sorted(names("perturbations"))
RECORD = Record(
    "r",
    "On 3 May the old doctor did not visit Paris, and she told Amina that the two red cars were late.",
    "translation",
    ("A reference for it.",),
    "A source for it.",
    ("A: I like tea.", "B: I don't."),
    ("Another text stands here.", "A third one was written in Lima."),
)


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_perturbations_are_deterministic_and_change_something(name: str) -> None:
    one = perturbation(name)
    assert issubclass(type(one), Perturbation)
    first, second = one.perturb(RECORD, 1), one.perturb(RECORD, 1)
    assert first == second
    assert first != RECORD.gold
    assert first is None or isinstance(first, str)


@pytest.mark.parametrize("name", PERTURBATIONS)
@pytest.mark.parametrize(
    "text", ["", "word", "SHOUTING TEXT HERE.", "🙂 ok", "(a) \"b\" 'c'", "日本 mixed scripts"]
)
def test_perturbations_survive_hard_texts(name: str, text: str) -> None:
    for task in TASKS:
        changed = perturbation(name).apply(Record("r", text, task), Random(0))
        assert changed is None or isinstance(changed, str)


@pytest.mark.parametrize("name", sorted(names("audits")))
def test_audits_declare_their_question(name: str) -> None:
    kind = load(names("audits")[name][0])
    assert issubclass(kind, Audit)
    assert kind.question in ("fairness", "robustness", "agreement")
    assert kind.__doc__
