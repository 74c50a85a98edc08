"""For test suites of metrics, audits and perturbations: an assertion, contract checks, and a pytest plug-in.

    from assay.testing import assert_metric_passes, check_metric

    def test_my_metric_is_a_metric():
        check_metric(MyMetric())

    def test_my_metric_is_fair_to_women():
        assert_metric_passes(MyMetric(), audit="stereotype", attribute="gender")

`check_metric`, `check_audit` and `check_perturbation` are what assay's own parts must pass. The plug-in
(active once assay is installed) adds the options `--assay-size` and `--assay-cache`, and the fixture
`metric_passes`, which is the assertion with those options filled in.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, get_args
from unittest.mock import patch

# What is of assay or slow is imported where it is used: pytest loads this file in every project.
if TYPE_CHECKING:
    import pytest

    from assay.core import Audit, Floats, Measure, Perturbation, Sample
    from assay.names.spec import Specifiable
    from assay.reading.results import StoredRun

SHOWN = 10
_LONG = 1000  # characters; pretrained models are not checked on longer texts, for time
_DIGITS = 1e-5  # by which a score may depend on its batch
_ROUNDING = 1e-6


def assert_metric_passes(
    metric: Specifiable,
    *,
    audit: str,
    attribute: str | None = None,
    statistic: str | None = None,
    size: str = "quick",
    cache: Path | None = None,
    allow: Sequence[str] = (),
    xfail: Sequence[str] = (),
    strict: bool = False,
    **options: Any,
) -> StoredRun:
    """Run one audit on a metric and raise AssertionError, with the failures in words, if any check fails.

    `attribute` (or the audit's own `only=...`) narrows the audit, `statistic` the checks. `allow` names
    slices (patterns with `*`) whose failure is accepted; `xfail` those known to fail, which make pytest
    report an expected failure if nothing else fails. What the metric gave too few scores for fails as well.
    Inconclusive checks fail with `strict` alone, as does a slice of `xfail` that no longer fails. A run in
    which nothing was judged, or nothing of the statistic asked for, always fails: nothing is known of the
    metric. Returns the run.
    """
    __tracebackhide__ = True
    from assay.api.pipeline import run
    from assay.engine.session import Session

    asked = {"only": (attribute,)} | options if attribute else options
    done = run(audit, [metric], session=Session.open(None, cache), size=size, **asked)
    _require_judged(done, audit, statistic)
    failed = _problems(done, statistic, allow, ("fail", "inconclusive") if strict else ("fail",))
    new = [line for slice_, line in failed if not _among(slice_, xfail)]
    rest = [f"... and {len(new) - SHOWN} more"] if len(new) > SHOWN else []
    checks = "failed or inconclusive" if strict else "failed"
    _require(not new, "\n".join([f"{len(new)} {checks} checks of {audit}:", *new[:SHOWN], *rest]))
    fixed = [pattern for pattern in xfail if not any(_among(slice_, (pattern,)) for slice_, _ in failed)]
    _require(not (strict and fixed), f"no longer failing, take it out of xfail: {', '.join(fixed)}")
    if failed:
        import pytest

        pytest.xfail(f"known failures of {audit}: {', '.join(dict.fromkeys(slice_ for slice_, _ in failed))}")
    return done


def _require_judged(done: StoredRun, audit: str, statistic: str | None) -> None:
    """Fail if nothing was judged: a metric without scores has not passed."""
    from assay.errors import suggest
    from assay.reading.verdicts import checks

    judged = {row["statistic"] for row in checks(done)}
    _require(judged, f"{audit} judges nothing of this metric: {'; '.join(done.notes) or 'it has no scores'}")
    known = statistic is None or statistic in judged
    _require(known, f"{audit} judges no {statistic!r}{'' if known else suggest(str(statistic), judged)}")


def _problems(
    done: StoredRun, statistic: str | None, allow: Sequence[str], verdicts: Sequence[str]
) -> list[tuple[str, str]]:
    """The slices that failed and are not allowed to, each with the finding in words."""
    from assay.reading.text import interval, number, sentence
    from assay.reading.verdicts import rows_of

    lines = []
    for row in rows_of(done):
        is_asked = row["verdict"] in verdicts and statistic in (None, row["statistic"])
        is_covered = row["verdict"] != "not covered"  # what the metric was silent on is nobody's choice
        if (is_asked or not is_covered) and not _among(row["slice"], allow):
            value = f"{row['statistic']} {number(row['value'])}"
            facts = ", ".join(part for part in (value, interval(row), f"n = {row['n']}") if part)
            word = "" if row["verdict"] == "fail" else f" {row['verdict']}:"
            lines.append((row["slice"], f"-{word} {sentence(row)} [{facts}]"))
    return lines


def _among(slice_: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(slice_, pattern) for pattern in patterns)


def _require(condition: object, message: str) -> None:
    __tracebackhide__ = True
    if not condition:
        raise AssertionError(message)


def check_metric(metric: Specifiable, *, score: bool = True) -> None:
    """Raise AssertionError where a metric breaks what assay relies on.

    Checked are its declarations, that constructing it opens no file, that it travels to other processes, that
    a score depends on its own sample alone, that scores keep the declared range, that a text scores highest
    against itself (where promised), and that empty, long and non-Latin texts get a score, an explicit absence
    or a clear error. `score=False` stops after construction, for weights that are not installed.
    """
    from assay.core import Metric
    from assay.names.spec import measure

    measured = measure(metric)
    _check_metric_declarations(measured)
    _check_construction(measured.metric)
    if score and isinstance(measured.metric, Metric):
        _check_scores(measured)
        _check_hard_texts(measured)


def _check_metric_declarations(measured: Measure) -> None:
    kind, label = type(measured.metric), measured.label
    _require(kind.__doc__, f"{label} has no docstring; say in one line what it measures")
    _require(kind.citation, f"{label} cites nobody; set citation to the paper it comes from")
    low, high = kind.range
    _require(low is None or high is None or low < high, f"{label}: range {kind.range} is empty")
    for field in kind.weights:
        _require(hasattr(measured.metric, field), f"{label}: weights names {field!r}, which is not a field")


def _check_construction(recipe: Any) -> None:
    """Check that building and unpickling a metric open no file and no connection."""
    advice = f"{recipe.name} opens a file when it is constructed; open it in prepare() or score()"
    with patch("builtins.open", side_effect=AssertionError(advice)):
        again = pickle.loads(pickle.dumps(recipe))
    _require(again == recipe, f"{recipe.name} is another one after pickling; keep all its state in fields")


def _samples() -> list[Sample]:
    from assay.core import Sample
    from assay.files import toml_file

    pairs, source, other = (toml_file("names", "contract")[key] for key in ("pairs", "source", "other"))
    return [Sample(text, (reference, other), source, rival=reference) for text, reference in pairs]


def _scores(measured: Measure, samples: Sequence[Sample]) -> Floats:
    """Scores as an array of (samples, outputs), computed as in a run."""
    from assay.engine.scoring import score_samples
    from assay.engine.session import Session

    fitted = measured.metric.fitted([sample.references for sample in _samples()])
    return score_samples(replace(measured, metric=fitted), samples, Session()).values


def _check_scores(measured: Measure) -> None:
    """Scores of ordinary samples; empty if the metric needs more than they have, such as an image."""
    import numpy as np

    from assay.engine.scoring import project

    samples, label = _samples(), measured.label
    if any(project(measured.metric, sample) is None for sample in samples):
        return
    together = _scores(measured, samples)
    alone = np.concatenate([_scores(measured, [sample]) for sample in samples])
    backwards = _scores(measured, samples[::-1])[::-1]
    for other, words in ((alone, "the size of its batch"), (backwards, "the order of its batch")):
        same = np.allclose(together, other, atol=_DIGITS, equal_nan=True)
        _require(same, f"{label}: a score depends on {words}: {together.tolist()} and {other.tolist()}")
    values = together[:, measured.column]
    low, high = measured.metric.range
    above = low is None or np.nanmin(values) >= low - _ROUNDING
    below = high is None or np.nanmax(values) <= high + _ROUNDING
    outside = f"{label}: scores {values.tolist()} leave the declared range {measured.metric.range}"
    _require(above and below, outside)
    if getattr(measured.metric, "identity_highest", False):
        _check_identity(measured, samples)


def _check_identity(measured: Measure, samples: Sequence[Sample]) -> None:
    for sample in samples:
        reference = sample.references[0]
        other = replace(sample, references=(reference,), rival=None)
        values = _scores(measured, [replace(other, hypothesis=reference), other])[:, measured.column]
        _require(
            values[0] >= values[1] - _ROUNDING,
            f"{measured.label}: {reference!r} scores {values[0]} against itself, another text {values[1]}; "
            "set identity_highest = False if it makes no such promise",
        )


def _check_hard_texts(measured: Measure) -> None:
    import numpy as np

    from assay.core import Sample
    from assay.errors import AuditError
    from assay.files import toml_file

    for text in (*toml_file("names", "contract")["hard"], "a " * 5000):
        if len(text) > _LONG and measured.metric.weights:
            continue
        sample = Sample(text, ("A plain reference.",), "plain | is | reference", rival="A rival.")
        shown = f"{measured.label} on {text[:30]!r}"
        try:
            values = _scores(measured, [sample])
        except AuditError as error:
            _require(len(str(error)) > 20, f"{shown}: the error {str(error)!r} does not say what to do")
        else:
            _require(values.shape[0] == 1, f"{shown}: {values.shape[0]} scores for one sample")
            _require(not np.isinf(values).any(), f"{shown}: infinite score; return None where there is none")


def check_perturbation(perturbation: Perturbation | str) -> None:
    """Raise AssertionError where a perturbation varies, changes nothing or fails on hard texts."""
    from assay.core import Perturbation, Record
    from assay.files import toml_file, with_tuples
    from assay.names.spec import perturbation as named
    from assay.vocabulary import TASKS, Criterion, Expectation

    edit = named(perturbation) if isinstance(perturbation, str) else perturbation
    _require(isinstance(edit, Perturbation), f"{edit!r} is not a Perturbation")
    _require(edit.criterion in get_args(Criterion), f"{edit.name}: unknown criterion {edit.criterion!r}")
    _require(edit.expect in get_args(Expectation), f"{edit.name}: unknown expectation {edit.expect!r}")
    _check_construction(edit)
    texts = toml_file("names", "contract")
    record, gold = Record(**with_tuples(texts["record"])), texts["record"]["gold"]
    first, second = edit.perturb(record, 1), edit.perturb(record, 1)
    drawn = f"{edit.name} gives {first!r} and then {second!r}"
    _require(first == second, f"{drawn}; draw from the generator given")
    _require(first != gold, f"{edit.name} returns the text unchanged; return None where it does not apply")
    _require(first is None or isinstance(first, str), f"{edit.name} returns {type(first).__name__}")
    for text, task in product(texts["edited"], TASKS):
        changed = edit.apply(Record("r", text, task), Random(0))
        returned = f"{edit.name} returns {type(changed).__name__} for {text!r}"
        _require(changed is None or isinstance(changed, str), returned)


def check_audit(
    audit: Audit | type[Audit] | str, *, metrics: Sequence[Specifiable] = ("bleu", "chrf"), run: bool = True
) -> None:
    """Raise AssertionError where an audit breaks what settling and reporting rely on.

    Every statistic is declared with a meaning, a unit and a side; charts name declared statistics. The audit
    is then run on `metrics`, alone and beside another audit: every statistic it reports must be declared, and
    its findings must be the same both times. A name or a class is built with the options of `--size quick`.
    `run=False` stops after the declarations, for an audit that needs data or a model that is not here.
    """
    from assay.core import Audit
    from assay.vocabulary import QUESTIONS

    made = _quick(audit)
    _require(isinstance(made, Audit), f"{made!r} is not an Audit")
    _require(type(made).__doc__, f"{made.name} has no docstring; say in one line what it asks")
    _require(made.question in QUESTIONS, f"{made.name}: question {made.question!r} is not one of {QUESTIONS}")
    _check_statistics(made)
    _check_charts(made)
    if run:
        _check_findings(made, metrics)


def _quick(audit: Audit | type[Audit] | str) -> Audit:
    from assay.names.registry import audit_class

    if not isinstance(audit, str | type):
        return audit
    kind = audit_class(audit) if isinstance(audit, str) else audit
    return kind(**{key: value for key, value in kind.quick.items() if key != "skip"})


def _check_statistics(audit: Audit) -> None:
    from assay.engine.settle import bar_of

    undeclared = f"{audit.name} declares no statistics"
    _require(audit.statistics, f"{undeclared}; add Statistic(...) for each that it reports")
    seen = set()
    for statistic in audit.statistics:
        where = f"{audit.name}: statistic {statistic.name!r}"
        _require(statistic.meaning, f"{where} has no meaning; say in one sentence what it is")
        unitless = f"{where} has no unit"
        _require(statistic.unit, f"{unitless}; say what it is measured in, or that it is a share or a count")
        _require(statistic.bad in ("high", "low", "far", None), f"{where}: no such side as {statistic.bad!r}")
        _require(statistic.name not in seen, f"{where} is declared twice")
        seen.add(statistic.name)
        try:
            bar_of(audit, statistic)
        except (AttributeError, ValueError) as error:
            raise AssertionError(f"{where}: bar {statistic.bar!r} is no number or field: {error}") from error
    shown = any(statistic.headline or statistic.bad for statistic in audit.statistics)
    _require(shown, f"{audit.name}: no statistic is a headline or judged, so that no table would show one")


def _check_charts(audit: Audit) -> None:
    declared = {statistic.name for statistic in audit.statistics}
    for chart in audit.charts:
        where = f"{audit.name}: chart of {chart.value!r}"
        _require(chart.kind in ("bars", "curve", "scatter", "cases"), f"{where}: unknown kind {chart.kind!r}")
        least = 0 if chart.kind == "scatter" else 1  # a scatter has one panel per metric
        _require(chart.depth >= least, f"{where}: depth {chart.depth} is below {least}")
        for name in (chart.value, chart.x, chart.colour):
            _require(name is None or name in declared, f"{where}: statistic {name!r} is not declared")


def _check_findings(audit: Audit, metrics: Sequence[Specifiable]) -> None:
    from tempfile import TemporaryDirectory

    import polars as pl

    from assay.api.pipeline import execute
    from assay.engine.session import Session
    from assay.errors import AuditError

    other = _quick("repetition" if audit.name == "copy-source" else "copy-source")
    try:
        runs = [{each.name: each for each in audits} for audits in ([audit], [other, audit])]
        with TemporaryDirectory() as folder:  # what was scored alone need not be scored again beside another
            cache = Path(folder)
            done = [execute(audits, metrics, Session.open(cache=cache), size="quick") for audits in runs]
    except AuditError as error:
        raise AssertionError(f"{audit.name}: {error}") from error
    alone, beside = (run.findings for run in done)
    same = alone.equals(beside.filter(pl.col("audit") == audit.name))
    _require(same, f"{audit.name}: its findings change when {other.name} runs beside it")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the plug-in's options."""
    group = parser.getgroup("assay", "audits of metrics")
    group.addoption("--assay-size", default="quick", choices=("quick", "full"), help="How much to measure.")
    group.addoption("--assay-cache", default=None, help="Folder of the score cache; no cache by default.")


def pytest_configure(config: pytest.Config) -> None:
    """Offer the fixture where pytest itself is running."""
    import pytest

    class Fixtures:
        @pytest.fixture
        def metric_passes(self, request: pytest.FixtureRequest) -> Callable[..., StoredRun]:
            """`assert_metric_passes` with the size and cache of the command line."""
            size, given = (request.config.getoption(f"--assay-{name}") for name in ("size", "cache"))
            defaults = {"size": size, "cache": Path(given) if given else None}
            return lambda metric, **asked: assert_metric_passes(metric, **(defaults | asked))

    config.pluginmanager.register(Fixtures(), "assay-fixtures")
