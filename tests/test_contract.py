"""The contract of everything registered, by name: a new metric, audit or perturbation is covered without a line."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field

import pytest

from assay.core import (
    Audit,
    Case,
    Chart,
    Estimate,
    Finding,
    Judgement,
    Metric,
    Perturbation,
    Sample,
    Statistic,
)
from assay.errors import AuditError
from assay.models.weights import CARRIERS
from assay.names.registry import audit_class, load_class, names
from assay.names.spec import parse_spec
from assay.testing import check_audit, check_metric, check_perturbation

METRICS = sorted(names("metrics"))
_ELSEWHERE = ("install", "WordNet", "parser")  # what an error names that is missing on this machine


def _ready(name: str) -> bool:
    """Whether the metric runs here: packages installed, and weights that a package carries."""
    kind = load_class(names("metrics")[name][0])
    if any(importlib.util.find_spec(package) is None for package in kind.packages):
        return False
    return all(getattr(kind, field, None) in CARRIERS for field in kind.weights)


# The causal language model takes seconds per text here; its metrics have tests of their own.
QUICK = [
    name
    for name in METRICS
    if _ready(name)
    and issubclass(load_class(names("metrics")[name][0]), Metric)
    and getattr(load_class(names("metrics")[name][0]), "model", None) != "smollm2"
]


@pytest.mark.parametrize("name", METRICS)
def test_metrics_declare_themselves_and_travel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.open", None)
    check_metric(parse_spec(name), score=False)


@pytest.mark.parametrize("name", QUICK)
def test_metrics_score(name: str) -> None:
    try:
        check_metric(name)
    except AuditError as error:
        if any(word in str(error) for word in _ELSEWHERE):
            pytest.skip(str(error))
        raise


@pytest.mark.parametrize("name", sorted(names("perturbations")))
def test_perturbations(name: str) -> None:
    check_perturbation(name)


@pytest.mark.parametrize("name", sorted(names("audits")))
def test_audits(name: str) -> None:
    kind = audit_class(name)
    check_audit(name, run=not (kind.needs_data or kind.quick.get("skip") or kind.of_judges))


@dataclass(frozen=True)
class Length(Metric):
    """The length of a text, shared out among the texts of its batch."""

    name = "length"
    citation = "nobody"
    by_batch: bool = False
    top: float = 1.0
    range = (0.0, 1.0)

    def score(self, samples):
        size = max(len(sample.hypothesis) for sample in samples) if self.by_batch else 10_000
        return [self.top * len(sample.hypothesis) / size if size else 0.0 for sample in samples]


@dataclass(frozen=True)
class Forgetful(Length):
    """Has state that no field holds."""

    name = "forgetful"
    state: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "state", id(self))

    def __reduce__(self):
        return type(self), ()


@dataclass(frozen=True)
class Reader(Length):
    """Opens a file when it is built."""

    name = "reader"

    def __post_init__(self) -> None:
        open(__file__).close()


class Uncited(Length):
    """Cites nobody."""

    citation = ""


class Identical(Length):
    """Promises what it does not keep."""

    identity_highest = True


@pytest.mark.parametrize(
    ("metric", "problem"),
    [
        (Length(), None),
        (Uncited(), "cites nobody"),
        (Forgetful(), "after pickling"),
        (Reader(), "opens a file when it is constructed"),
        (Length(by_batch=True), "the size of its batch"),
        (Length(top=1000.0), "leave the declared range"),
        (Identical(), "against itself"),
    ],
    ids=lambda value: value.name if isinstance(value, Metric) else None,
)
def test_check_metric_names_the_problem(metric: Metric, problem: str | None) -> None:
    if problem is None:
        check_metric(metric)
        return
    with pytest.raises(AssertionError, match=problem):
        check_metric(metric)


@dataclass(frozen=True)
class Loose(Perturbation):
    """Draws from a generator of its own."""

    name = "loose"
    criterion = "fluency"

    def apply(self, record, rng):
        import random

        return f"{record.gold} {random.random()}"


def test_check_perturbation_names_the_problem() -> None:
    with pytest.raises(AssertionError, match="draw from the generator given"):
        check_perturbation(Loose())


GAIN = Statistic("gain", "What a worse text gains.", "score", bad="high", bar="margin", headline=True)
SEEN: list[str] = []  # audits that looked at each other, for the one that must not


@dataclass(frozen=True)
class Doubtful(Audit):
    """Reports what it is told to."""

    name = "doubtful"
    question = "robustness"
    statistics = (GAIN,)
    margin: float = 0.1
    reports: str = "gain"
    depends: bool = False

    def cases(self):
        for number in range(12):
            text = Sample(f"A text with number {number}.", ("A text.",))
            yield Case(f"case-{number}", {"gold": text}, "all")

    def judge(self, scored):
        SEEN.append(self.name)
        value = float(len(SEEN)) if self.depends else 1.0
        return Judgement(
            [Finding.of(one, "all", self.reports, Estimate(value, 12, (0.5, 1.5))) for one in scored]
        )


def _declaring(*statistics: Statistic, charts: tuple[Chart, ...] = ()) -> type[Audit]:
    return type("Other", (Doubtful,), {"statistics": statistics, "charts": charts, "__doc__": "Other."})


@pytest.mark.parametrize(
    ("audit", "problem"),
    [
        (Doubtful(), None),
        (Doubtful(reports="loss"), "reports 'loss' but does not declare it"),
        (Doubtful(depends=True), "its findings change when copy-source runs beside it"),
        (_declaring(), "declares no statistics"),
        (_declaring(Statistic("gain", "", "score", bad="high")), "has no meaning"),
        (_declaring(Statistic("gain", "Gain.", bad="high")), "has no unit"),
        (_declaring(Statistic("gain", "Gain.", "score", bad="up")), "no such side as 'up'"),  # type: ignore[arg-type]
        (
            _declaring(Statistic("gain", "Gain.", "score", bad="high", bar="nowhere")),
            "is no number or field",
        ),
        (_declaring(Statistic("gain", "Gain.", "score")), "no table would show one"),
        (_declaring(GAIN, GAIN), "is declared twice"),
        (_declaring(GAIN, charts=(Chart("bars", "loss"),)), "'loss' is not declared"),
    ],
)
def test_check_audit_names_the_problem(audit: Audit | type[Audit], problem: str | None) -> None:
    SEEN.clear()
    if problem is None:
        check_audit(audit)
        return
    with pytest.raises(AssertionError, match=problem):
        check_audit(audit)
