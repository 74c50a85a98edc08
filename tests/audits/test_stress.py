"""The stress audit against planted metrics, published figures and bad data."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import rankdata

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
ENDING = " That was all."  # of the references: a text is never tested by itself
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
    """Thirty texts, each with itself and an ending as its reference, which tells how far an edit has drifted."""
    path = tmp_path_factory.mktemp("stress") / "planted.jsonl"
    rows = [
        {"id": f"t{n}", "gold": _text(n), "references": [_text(n) + ENDING], "source": _text(n) * 4}
        for n in range(30)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


def reference_of(sample: Sample) -> str:
    """The reference without what sets it apart from the clean text."""
    return sample.references[0].removesuffix(ENDING)


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
            1 - noise_ratio(reference_of(s), s.hypothesis)
            + 0.3 * _noise(reference_of(s)) + self.chance * _noise(self.salt + s.hypothesis)
            for s in samples
        ]  # fmt: skip


@dataclass(frozen=True)
class WordBag(Metric):
    """Blind to order: the share of the reference's words, punctuation apart, that are there."""

    name = "word-bag"

    def score(self, samples):
        def bag(text: str) -> set[str]:
            return {word.strip(".,!?:").lower() for word in text.split()}

        pairs = [(bag(reference_of(s)), bag(s.hypothesis), s) for s in samples]
        return [len(ours & theirs) / len(ours) + 0.1 * _noise(reference_of(s)) for ours, theirs, s in pairs]


@dataclass(frozen=True)
class Brevity(Metric):
    """The share of words that the reference has; beyond that, the shorter the better."""

    name = "brevity"

    def score(self, samples):
        pairs = [(s.hypothesis.split(), set(reference_of(s).split())) for s in samples]
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
        return np.array([[1 - noise_ratio(reference_of(s), s.hypothesis), 1.0] for s in samples])

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
    return {f.slice.split("/")[1]: f.verdict for f in found if f.statistic == "right_order"}


def values(found: list[Finding], statistic: str) -> dict[str, float]:
    return {f.slice: f.value for f in found if f.statistic == statistic}


def test_a_faithful_metric_passes_every_noise(data: Path) -> None:
    found = judged(Stress((data,), seeds=2, only=WITHOUT_MODEL), Faithful())
    assert len(verdicts(found)) == 17
    assert set(verdicts(found).values()) == {"pass"}
    assert set(values(found, "right_order").values()) == {100.0}
    means = values(found, "mean_right_order")
    assert {"planted/meaning", "planted/form", "all/meaning", "all/form"} == means.keys()
    assert set(means.values()) == {100.0}


INCREASING: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "times a million": lambda scores: 1e6 * scores,
    "plus ten thousand": lambda scores: scores + 1e4,
    "exp": np.exp,
    "cube root": np.cbrt,
    "ranks": lambda scores: rankdata(scores, axis=None, nan_policy="omit").reshape(scores.shape),
}


@pytest.mark.parametrize("transform", INCREASING.values(), ids=INCREASING)
def test_an_increasing_transform_changes_no_order(
    data: Path, transform: Callable[[np.ndarray], np.ndarray]
) -> None:
    audit = Stress((data,), seeds=2, only=("token-drop", "local-swap", "sentence-switching", "negation"))
    (scored,) = scored_by(audit, Faithful(chance=0.3))
    columns = np.stack(list(scored.values.values())).round(4)
    told = []
    for table in (columns, transform(columns)):
        answer = replace(scored, values=dict(zip(scored.values, table, strict=True)))
        findings = settle(audit, audit.judge([answer]))
        told.append([f for f in findings if "order" in f.statistic])
    assert told[0] == told[1]
    assert {f.verdict for f in told[0]} > {"not judged"}


def test_chance_fails_no_good_metric_but_would_by_the_papers_rule(data: Path) -> None:
    """Ten metrics that fall by what was changed, with chance on top: the paper asks every level to be lower."""
    only = ("article-removal", "token-drop", "sentence-switching", "negation", "noun-switching")
    noisy = [Faithful(chance=0.15, salt=f"{number}") for number in range(10)]
    failed = {}
    for rule, statistic in (("careful", "right_order"), ("paper", "mean_change")):
        audit = Stress((data,), seeds=1, rule=rule, only=only)
        everything = judged(audit, *(Measure(m.salt, m) for m in noisy))
        found = [f for f in everything if f.statistic == statistic]
        assert len(found) == 50
        failed[rule] = sum(f.verdict == "fail" for f in found)
    assert failed["careful"] <= 2
    assert failed["paper"] >= 5


def test_planted_blindness_is_found(data: Path) -> None:
    found = judged(Stress((data,), seeds=1, only=WITHOUT_MODEL), WordBag(), Brevity(), Constant())
    names = ("word-bag", "brevity", "constant")
    by_metric = {name: verdicts([f for f in found if f.metric == name]) for name in names}
    order = ("local-swap", "middle-swap", "sentence-switching", "repeated-token", "noised-punctuation")
    assert {by_metric["word-bag"][noise] for noise in order} == {"fail"}
    assert by_metric["word-bag"]["truncation"] == "pass"
    assert by_metric["brevity"]["truncation"] == "fail"
    assert by_metric["brevity"]["repeated-token"] == "pass"
    assert set(by_metric["constant"].values()) == {"fail"}  # blind to everything, as a coin is
    constant = [f.value for f in found if f.metric == "constant" and f.statistic.endswith("right_order")]
    assert set(constant) == {50.0}
    rows = {f.slice: f for f in found if f.metric == "brevity" and f.statistic == "right_order"}
    failed = rows["planted/truncation"]
    assert (failed.value, len(failed.evidence)) == (0, 5)
    assert failed.sentence == (
        "brevity prefers one damaged by truncation to a clean text (planted) in 100 of 100 cases."
    )


def test_order_is_shown_by_level_and_judged_under_the_strongest(data: Path) -> None:
    @dataclass(frozen=True)
    class Slow(Metric):
        """Falls from a noise ratio of a quarter on."""

        name = "slow"

        def score(self, samples):
            ratios = [noise_ratio(reference_of(s), s.hypothesis) for s in samples]
            return [1 - ratio * (ratio > 0.25) + 0.3 * _noise(reference_of(s)) for s, ratio in
                    zip(samples, ratios, strict=True)]  # fmt: skip

    found = judged(Stress((data,), seeds=1, only=("truncation",)), Slow())
    levels_shown = values(found, "right_order_at_level")
    assert levels_shown["planted/truncation/0.1"] == 50
    assert levels_shown["planted/truncation/0.5"] == 100
    assert verdicts(found) == {"truncation": "pass"}


def test_by_the_papers_rule_the_largest_step_decides(data: Path) -> None:
    @dataclass(frozen=True)
    class Bump(Metric):
        """Falls with the noise, but for a noise ratio of about a fifth."""

        name = "bump"

        def score(self, samples):
            ratios = [noise_ratio(reference_of(s), s.hypothesis) for s in samples]
            scores = Faithful().score(samples)
            return [score + 0.5 * (0.15 < ratio < 0.25) for score, ratio in zip(scores, ratios, strict=True)]

    audit = Stress((data,), seeds=1, only=("truncation",), rule="paper")
    found = judged(audit, Bump(), Faithful())
    rows = {f.metric: f for f in found if f.statistic == "mean_change"}
    assert {name: row.verdict for name, row in rows.items()} == {"bump": "fail", "faithful": "pass"}
    means = [f.value for f in found if f.statistic == "score" and f.metric == "bump"]
    assert rows["bump"].value == pytest.approx(max(np.diff(means)))
    assert rows["bump"].versus == "0.1/1"
    assert not [f for f in found if f.statistic in ("right_order", "mean_right_order")]


def test_a_rewording_is_asked_where_it_has_about_as_many_edits(tmp_path: Path) -> None:
    """Negations change ten words or so, as the rewording does; token-drop takes out half of the text."""
    path = tmp_path / "reworded.jsonl"
    rows = []
    for n in range(20):
        sound = _text(n).replace("walked from", "came on foot out of").replace(" old ", " aged ")
        # The rewording of the seventh is the text itself.
        rows.append({"id": f"r{n}", "gold": _text(n), "references": [_text(n) + ENDING], "reworded": [sound]})
    rows[7]["reworded"] = [_text(7)]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    audit = Stress((path,), seeds=1, only=("token-drop", "negation"))
    asked = [case for case in audit.cases() if "reworded" in case.samples]
    assert {case.slice for case in asked} == {"reworded/negation"}
    assert {case.id.rpartition(":")[2] for case in asked} == {f"r{n}" for n in range(20) if n != 7}
    found = judged(audit, Faithful(), Constant())
    by_metric = {f.metric: f for f in found if f.statistic == "right_order_reworded"}
    assert by_metric["faithful"].value == 100  # more words are wrong than were reworded
    assert by_metric["constant"].value == 50
    assert {f.n for f in by_metric.values()} == {len(asked)}


@pytest.mark.parametrize("additive", [True, False])
def test_set_metrics_are_judged(data: Path, additive: bool) -> None:
    found = judged(Stress((data,), seeds=3, only=("token-drop", "local-swap")), MeanFaithful(additive))
    expected = "pass" if additive else "not judged"  # without resamples a set is one decision
    assert verdicts(found) == {"token-drop": expected, "local-swap": expected}
    assert set(values(found, "right_order").values()) == {100.0}
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
        "\n".join(json.dumps({"gold": g, "references": [g + ENDING], "source": g}) for g in golds), "utf-8"
    )
    audit = Stress((path,), seeds=1, only=("article-removal", "sentence-switching"))
    judgement = audit.judge(scored_by(audit, Faithful()))
    found = settle(audit, judgement)
    rows = {f.slice: f for f in found if f.statistic == "right_order"}
    assert (rows["few/sentence-switching"].n, rows["few/article-removal"].n) == (1, 10)
    assert "few/sentence-switching applies to 1 of 11 items" in judgement.notes


def test_one_item_settles_nothing(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps({"gold": _text(1), "references": [_text(1) + ENDING]}), "utf-8")
    found = judged(Stress((path,), seeds=5, only=("token-drop",)), Faithful())
    assert [(f.n, f.verdict) for f in found if f.statistic == "right_order"] == [(1, "inconclusive")]


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
    names, remarks = applied(depth="ends", asks_model=False)
    assert names == {"gold", *WITHOUT_MODEL}
    assert remark in remarks
    for options in ({"only": ("bert-diverge",)}, {"only": ("truncation",)}):
        assert remark not in applied(depth="ends", asks_model=False, **options)[1]
    _, remarks = applied(only=("bert-diverge", "truncation"))
    assert any(note.startswith("bert-diverge was not applied: it is not here") for note in remarks)


@pytest.mark.skipif(fill.missing() is not None, reason=f"bert-diverge: {fill.missing()}")
def test_a_language_model_replaces_more_words_at_higher_levels(tmp_path: Path) -> None:
    path = tmp_path / "short.jsonl"
    golds = [f"The {noun} sold fresh bread at the market near the old bridge." for noun in NOUNS[:3]]
    path.write_text(
        "\n".join(json.dumps({"gold": gold, "references": [gold + ENDING]}) for gold in golds), "utf-8"
    )
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
    audit = Stress((shared / "stress" / "cnndm.jsonl",), only=only, rule="paper")
    one = measure("rougeL:stemmer=true,reduce=max")
    found = judged(audit, one)
    values = {(f.slice, f.statistic): f.value for f in found}
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
    changes = {f.slice: f.verdict for f in found if f.statistic == "mean_change"}
    assert changes == {
        "cnndm/truncation": "fail", "cnndm/token-drop": "pass", "cnndm/repeated-token": "pass",
        "cnndm/article-removal": "pass",
    }  # fmt: skip


def test_a_metric_that_raises_on_some_texts_is_judged_on_the_rest(data: Path) -> None:
    @dataclass(frozen=True)
    class Fussy(Metric):
        name = "fussy"

        def score(self, samples: list[Sample]):
            if any("Paris" in reference_of(s) for s in samples):
                raise ValueError("no Paris")
            return Faithful().score(samples)

    audit = Stress((data,), seeds=1, only=("token-drop",))
    cases = list(audit.cases())
    scored = score_cases(Measure("fussy", Fussy()), {"stress": cases}, Session(on_error="skip"))["stress"]
    (one,) = [f for f in settle(audit, audit.judge([scored])) if f.statistic == "right_order"]
    with_paris = sum("Paris" in _text(n) for n in range(30))
    assert (one.n, one.verdict) == (30 - with_paris, "pass")
