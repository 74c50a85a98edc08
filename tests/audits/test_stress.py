"""The stress audit against planted metrics, published figures and bad data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.audits.stress.audit import Stress, levels
from assay.core import Finding, Measure, Metric, Sample, Scored, SetMetric
from assay.engine.scoring import score_cases
from assay.engine.session import Session
from assay.engine.settle import settle
from assay.errors import AuditError, DataError
from assay.models import fill
from assay.perturbations.ratio import noise_ratio
from assay.recipe import digest

NOUNS = ["baker", "pilot", "nurse", "judge", "clerk", "farmer", "sailor", "tailor", "driver", "banker"]
# bert-diverge runs a language model, seconds per text: it has tests of its own.
WITHOUT_MODEL = tuple(noise for noise in levels("summaries", "careful") if noise != "bert-diverge")
CITIES = ["Paris", "London", "Berlin", "Madrid", "Vienna", "Dublin", "Oslo", "Lisbon", "Rome", "Athens"]


def _text(number: int) -> str:
    first, second = NOUNS[number % 10], NOUNS[(number * 3 + 1) % 10]
    here, there = CITIES[number % 10], CITIES[(number * 7 + 2) % 10]
    return (
        f"The {first} walked from {here} to the market with a basket. In the evening she met an old {second} "
        f"who had lived in {there}. They sold {number + 2} apples, and the rain stopped at last. Anna Smith "
        f"bought the bread for her brother."
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty texts, each its own reference, so that a planted metric knows how far a text has drifted."""
    path = tmp_path_factory.mktemp("stress") / "planted.jsonl"
    rows = [
        {"id": f"t{n}", "gold": _text(n), "references": [_text(n)], "source": _text(n) * 4} for n in range(30)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


def _noise(text: str) -> float:
    """Chance as a function of the text, standard normal enough: a sum of twelve uniforms."""
    key = digest(text)
    return sum(int(key[i : i + 2], 16) / 255 for i in range(0, 24, 2)) - 6


@dataclass(frozen=True)
class Faithful(Metric):
    """Falls by exactly what was changed, on top of differences between items and chance."""

    name = "faithful"
    chance: float = 0.0
    salt: str = ""

    def score(self, samples):
        return [
            1 - noise_ratio(s.references[0], s.hypothesis)
            + 0.3 * _noise(s.references[0]) + self.chance * _noise(self.salt + s.hypothesis)
            for s in samples
        ]  # fmt: skip


@dataclass(frozen=True)
class WordBag(Metric):
    """Blind to order: the share of the reference's words, punctuation apart, that are there."""

    name = "word-bag"

    def score(self, samples):
        def bag(text: str) -> set[str]:
            return {word.strip(".,!?:").lower() for word in text.split()}

        pairs = [(bag(s.references[0]), bag(s.hypothesis), s) for s in samples]
        return [len(ours & theirs) / len(ours) + 0.1 * _noise(s.references[0]) for ours, theirs, s in pairs]


@dataclass(frozen=True)
class Brevity(Metric):
    """The share of words that the reference has; beyond that, the shorter the better."""

    name = "brevity"

    def score(self, samples):
        pairs = [(s.hypothesis.split(), set(s.references[0].split())) for s in samples]
        return [
            sum(word in known for word in words) / max(len(words), 1) - 0.01 * len(words)
            for words, known in pairs
        ]


@dataclass(frozen=True)
class Constant(Metric):
    name = "constant"

    def score(self, samples):
        return [0.5 for _ in samples]


@dataclass(frozen=True)
class MeanFaithful(SetMetric):
    """The faithful metric over a set; `additive` says whether it can be resampled."""

    name = "mean-faithful"
    additive: bool = True

    def _rows(self, samples):
        return np.array([[1 - noise_ratio(s.references[0], s.hypothesis), 1.0] for s in samples])

    def statistics(self, samples):
        return self._rows(samples) if self.additive else None

    def from_statistics(self, totals):
        return totals[:, 0] / totals[:, 1]

    def score_set(self, samples):
        return float(self.from_statistics(self._rows(samples).sum(axis=0, keepdims=True))[0])


def scored_by(audit: Stress, *metrics: Metric | SetMetric | Measure) -> list[Scored]:
    cases = list(audit.cases())
    measures = [m if isinstance(m, Measure) else Measure(m.name, m) for m in metrics]
    return [score_cases(one, {"stress": cases}, Session())["stress"] for one in measures]


def judged(audit: Stress, *metrics: Metric | SetMetric | Measure) -> list[Finding]:
    return settle(audit, audit.judge(scored_by(audit, *metrics)))


def verdicts(found: list[Finding]) -> dict[str, str]:
    return {f.slice.split("/")[1]: f.verdict for f in found if f.statistic == "sensitivity" and not f.versus}


def test_a_faithful_metric_passes_every_noise(data: Path) -> None:
    audit = Stress((data,), seeds=2)
    found = judged(audit, Faithful())
    passed = verdicts(found)
    assert len(passed) == 18
    assert set(passed.values()) == {"pass"}
    falls = {f.slice: f.value for f in found if f.statistic == "sensitivity"}
    ratios = {f.slice: f.value for f in found if f.statistic == "noise_ratio"}
    clean = [case.samples for case in audit.cases() if case.slice == "planted/token-drop"]
    gap = np.mean([noise_ratio(s["gold"].hypothesis, s["worthless"].hypothesis) for s in clean])
    assert falls["planted/token-drop"] == pytest.approx(100 * ratios["planted/token-drop/0.5"] / gap)
    assert not [f for f in found if f.verdict == "fail"]


def test_the_scale_of_a_metric_changes_no_verdict(data: Path) -> None:
    """Texts near their references leave clean scores hardly any spread; the gap is what it is."""
    audit = Stress((data,), seeds=1, only=("token-drop", "local-swap", "sentence-switching"))
    (scored,) = scored_by(audit, WordBag())
    by_scale = []
    for factor, shift in ((1.0, 0.0), (1000.0, -7.0)):
        values = {role: factor * column + shift for role, column in scored.values.items()}
        settled = settle(audit, audit.judge([Scored("m", scored.cases, values)]))
        by_scale.append({f.slice: (f.value, f.verdict) for f in settled if f.statistic == "sensitivity"})
    for slice_, (value, verdict) in by_scale[0].items():
        assert by_scale[1][slice_] == (pytest.approx(value, abs=1e-6), verdict)


def test_chance_fails_no_good_metric_but_would_by_the_papers_rule(data: Path) -> None:
    """Ten metrics that fall by what was changed, with chance on top: false alarms at most one in twenty."""
    only = ("article-removal", "token-drop", "sentence-switching", "negation", "noun-switching")
    noisy = [Faithful(chance=0.05, salt=f"{number}") for number in range(10)]
    failed = {}
    for rule in ("careful", "paper"):
        audit = Stress((data,), seeds=1, rule=rule, only=only)
        everything = judged(audit, *(Measure(m.salt, m) for m in noisy))
        found = [f for f in everything if f.statistic == "sensitivity" and not f.versus]
        assert len(found) == 50
        failed[rule] = sum(f.verdict == "fail" for f in found)
    assert failed["careful"] <= 2
    assert failed["paper"] >= 10


def test_planted_blindness_is_found(data: Path) -> None:
    found = judged(Stress((data,), seeds=1, only=WITHOUT_MODEL), WordBag(), Brevity(), Constant())
    names = ("word-bag", "brevity", "constant")
    by_metric = {name: verdicts([f for f in found if f.metric == name]) for name in names}
    order = ("local-swap", "middle-swap", "sentence-switching", "repeated-token", "noised-punctuation")
    assert {by_metric["word-bag"][noise] for noise in order} == {"fail"}
    assert by_metric["word-bag"]["truncation"] == "pass"
    assert by_metric["brevity"]["truncation"] == "fail"
    assert by_metric["brevity"]["repeated-token"] == "pass"
    assert set(by_metric["constant"].values()) == {"insensitive"}
    own = [f for f in found if f.statistic == "sensitivity" and f.metric == "word-bag" and not f.versus]
    falls = {f.slice: f.ci for f in own}
    for noise in ("local-swap", "noised-punctuation"):
        low, high = falls[f"planted/{noise}"]
        assert -1 < low <= high < 1
    failed = next(
        f for f in found if f.metric == "brevity" and f.slice == "planted/truncation" and f.verdict == "fail"
    )
    assert len(failed.evidence) == 5


def test_a_rise_between_two_levels_is_found_though_the_score_falls(data: Path) -> None:
    @dataclass(frozen=True)
    class Bump(Metric):
        """Falls with the noise, but for a noise ratio of about a fifth."""

        name = "bump"

        def score(self, samples):
            ratios = [noise_ratio(s.references[0], s.hypothesis) for s in samples]
            scores = Faithful().score(samples)
            return [score + 0.5 * (0.15 < ratio < 0.25) for score, ratio in zip(scores, ratios, strict=True)]

    found = judged(Stress((data,), seeds=1, only=("truncation",)), Bump())
    assert verdicts(found) == {"truncation": "pass"}
    (failed,) = [f for f in found if f.verdict == "fail"]
    assert (failed.slice, failed.statistic, failed.versus) == ("planted/truncation", "largest_rise", "0.1")
    assert failed.value == max(f.value for f in found if f.statistic == "step_change")
    assert failed.sentence == (
        f"The score of bump rises by {failed.value:.3g}% of the gap above level 0.1 as truncation damages "
        "planted texts further."
    )


def test_metrics_are_compared_with_the_steepest(data: Path) -> None:
    found = judged(Stress((data,), seeds=1, only=("local-swap",)), Faithful(), WordBag())
    beside = [f for f in found if f.versus == "faithful" and f.statistic == "sensitivity"]
    assert [f.metric for f in beside] == ["word-bag"]
    assert beside[0].ci is not None
    assert beside[0].ci[1] < 0


@pytest.mark.parametrize("additive", [True, False])
def test_set_metrics_are_judged(data: Path, additive: bool) -> None:
    found = judged(Stress((data,), seeds=3, only=("token-drop", "local-swap")), MeanFaithful(additive))
    assert verdicts(found) == {"token-drop": "pass", "local-swap": "pass"}
    scores = [f.value for f in found if f.statistic == "score" and f.slice.startswith("planted/token-drop/0")]
    ratios = [f.value for f in found if f.statistic == "noise_ratio" and "token-drop" in f.slice]
    assert scores == pytest.approx([1 - ratio for ratio in ratios])


def test_a_noise_is_judged_where_it_applies(tmp_path: Path) -> None:
    path = tmp_path / "few.jsonl"
    golds = [
        *(f"The {noun} of {city} came late." for noun, city in zip(NOUNS, CITIES, strict=True)),
        "Rain fell. Wind blew.",
    ]
    path.write_text(
        "\n".join(json.dumps({"gold": g, "references": [g], "source": g}) for g in golds), "utf-8"
    )
    audit = Stress((path,), seeds=1, only=("article-removal", "sentence-switching"))
    judgement = audit.judge(scored_by(audit, Faithful()))
    found = settle(audit, judgement)
    switched = next(f for f in found if f.slice == "few/sentence-switching" and f.statistic == "sensitivity")
    assert (switched.n, switched.verdict) == (1, "not judged")
    articles = next(f for f in found if f.slice == "few/article-removal" and f.statistic == "sensitivity")
    assert articles.n == 10
    assert "few/sentence-switching applies to 1 of 11 items" in judgement.notes


def test_one_item_gets_scores_but_no_verdict(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps({"gold": _text(1), "references": [_text(1)]}), "utf-8")
    found = judged(Stress((path,), seeds=1, only=("truncation",)), Faithful())
    assert [f.verdict for f in found if f.statistic == "sensitivity"] == ["not judged"]
    assert all(f.n == 1 for f in found if f.statistic == "score")


def test_wrong_noises_and_empty_golds_are_refused(tmp_path: Path, data: Path) -> None:
    with pytest.raises(DataError, match="did you mean truncation"):
        list(Stress((data,), only=("truncaton",)).cases())
    path = tmp_path / "empty.jsonl"
    path.write_text(json.dumps({"gold": " ", "references": ["a"]}), "utf-8")
    with pytest.raises(AuditError, match="gold"):
        list(Stress((path,)).cases())


def test_units_of_figure_nine(data: Path) -> None:
    cases = list(
        Stress((data,), seeds=1, units=True, only=("token-switching", "sentence-switching-all")).cases()
    )
    assert {case.slice for case in cases} == {
        "planted/gold", "planted/token-switching", "planted/sentence-switching-all",
    }  # fmt: skip


def test_open_ended_references_ride_on_one_case() -> None:
    cases = list(Stress(task=("open-ended",), seeds=1, limit=4, only=("truncation",)).cases())
    carried = [case for case in cases if case.samples["gold"].references]
    assert len(cases) == 8
    assert [case.slice for case in carried] == ["open-ended/gold", "open-ended/truncation"]
    assert len(carried[0].samples["gold"].references) == 80


def test_cases_are_the_same_every_time(data: Path) -> None:
    first, second = (list(Stress((data,), seeds=2, limit=5, only=WITHOUT_MODEL).cases()) for _ in range(2))
    assert first == second
    changed = next(c for c in first if c.slice == "planted/truncation").meta["changed"]["0.1"]
    assert changed[-1][0].endswith("brother.")


def test_the_quick_size_runs_no_language_model(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def applied(**options: Any) -> tuple[set[str], list[str]]:
        audit = Stress((data,), seeds=1, limit=2, **options)
        return {case.slice.split("/")[1] for case in audit.cases()}, audit.remarks()

    monkeypatch.setattr(fill, "missing", lambda: "it is not here")
    remark = "bert-diverge is left out at the quick size; it runs a language model"
    names, remarks = applied(depth="ends")
    assert names == {"gold", *WITHOUT_MODEL}
    assert remark in remarks
    for options in ({"only": ("bert-diverge",)}, {"only": ("truncation",)}):
        assert remark not in applied(depth="ends", **options)[1]
    _, remarks = applied(only=("bert-diverge", "truncation"))
    assert any(note.startswith("bert-diverge was not applied: it is not here") for note in remarks)


@pytest.mark.skipif(fill.missing() is not None, reason=f"bert-diverge: {fill.missing()}")
def test_a_language_model_replaces_more_words_at_higher_levels(tmp_path: Path) -> None:
    path = tmp_path / "short.jsonl"
    golds = [f"The {noun} sold fresh bread at the market near the old bridge." for noun in NOUNS[:3]]
    path.write_text("\n".join(json.dumps({"gold": gold, "references": [gold]}) for gold in golds), "utf-8")
    audit = Stress((path,), seeds=1, depth="ends", only=("bert-diverge",))
    cases = [case for case in audit.cases() if case.slice.endswith("/bert-diverge")]
    assert len(cases) == 3
    low, high = (sum(list(case.meta["ratios"].values())[end] for case in cases) for end in (0, -1))
    assert low < high
    assert any(note.startswith("bert-diverge is lm-diverge") for note in audit.remarks())


def test_published_rouge_comes_out(shared: Path) -> None:
    """*blind*, CNNDM: the authors' ROUGE-L means and noise-ratios."""
    from assay.names.spec import measure

    only = ("truncation", "token-drop", "repeated-token", "article-removal")
    audit = Stress((shared / "stress" / "cnndm.jsonl",), only=only)
    one = measure("rougeL:stemmer=true,reduce=max")
    found = judged(audit, one)
    values = {(f.slice, f.statistic): f.value for f in found if not f.versus}
    assert values["cnndm/gold", "score"] == pytest.approx(0.286197, abs=1e-6)
    published = json.loads((shared / "stress" / "published_rougeL_cnndm.json").read_text("utf-8"))
    names = {
        "flu-truncate": "truncation", "flu-randomworddrop": "token-drop",
        "flu-randomtokenrep": "repeated-token", "flu-removearticle": "article-removal",
    }  # fmt: skip
    for theirs, noise in names.items():
        for key, row in published[theirs].items():
            level = f"{float(key.split('-')[-1].removesuffix('_seedreduce')):g}"
            near = 1e-6 if noise == "truncation" else max(3 * row["std"], 0.002)
            assert values[f"cnndm/{noise}/{level}", "score"] == pytest.approx(row["mean"], abs=near)
            if noise != "article-removal":  # ours are over the 92 texts that have an article
                assert values[f"cnndm/{noise}/{level}", "noise_ratio"] == pytest.approx(
                    row["edit_ratio"], abs=1e-4
                )
    assert verdicts(found) == {
        "truncation": "fail", "token-drop": "pass", "repeated-token": "pass", "article-removal": "pass",
    }  # fmt: skip


def test_a_metric_that_raises_on_some_texts_is_judged_on_the_rest(data: Path) -> None:
    @dataclass(frozen=True)
    class Fussy(Metric):
        name = "fussy"

        def score(self, samples: list[Sample]):
            if any("Paris" in s.references[0] for s in samples):
                raise ValueError("no Paris")
            return Faithful().score(samples)

    audit = Stress((data,), seeds=1, only=("token-drop",))
    cases = list(audit.cases())
    scored = score_cases(Measure("fussy", Fussy()), {"stress": cases}, Session(on_error="skip"))["stress"]
    (one,) = [f for f in settle(audit, audit.judge([scored])) if f.statistic == "sensitivity"]
    with_paris = sum("Paris" in _text(n) for n in range(30))
    assert (one.n, one.verdict) == (30 - with_paris, "pass")
