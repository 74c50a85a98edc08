"""Position, injection, degenerate texts, identity and direction against planted metrics."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from assay.audits.degenerate import CopySource, FrequentNgram, Repetition, caught
from assay.audits.injection import InjectionAudit
from assay.audits.lengths import IdentityLength, TruncationDirection
from assay.audits.position import Position
from assay.core import Audit, Finding, Measure, Metric, Record, Scored, SetMetric
from assay.engine.scoring import score_cases
from assay.engine.session import Session
from assay.engine.settle import settle
from assay.errors import DataError
from assay.perturbations.ratio import noise_ratio
from assay.recipe import digest


def _own(text: str) -> float:
    """An item's own level, so that there is a spread."""
    return int(digest(text)[:4], 16) / 65535


@dataclass(frozen=True)
class Drift(Metric):
    """One less the share of words changed from the first reference; `seen` words from the end count."""

    name = "drift"
    seen: int = 10_000

    def score(self, samples):
        def part(text: str) -> str:
            return " ".join(text.split()[-self.seen :])

        return [
            0.2 * _own(s.references[0]) - noise_ratio(part(s.references[0]), part(s.hypothesis))
            for s in samples
        ]


@dataclass(frozen=True)
class Gullible(Metric):
    """Knows a right text, but believes what it is told, whoever says it."""

    name = "gullible"

    def score(self, samples):
        asked = [
            sum(word in s.hypothesis for word in ("10/10", "perfect", "Yes,", "highest")) for s in samples
        ]
        return [2 * found + score for found, score in zip(asked, Drift().score(samples), strict=True)]


@dataclass(frozen=True)
class LikesLength(Metric):
    """A known first word, then the longer the better; needs no reference."""

    name = "likes-length"
    needs = frozenset()

    def score(self, samples):
        texts = [s.hypothesis for s in samples]
        return [10 * bool(re.match(r"w\d+x0 w", text)) + len(text.split()) + 3 * _own(text) for text in texts]


@dataclass(frozen=True)
class Constant(Metric):
    name = "constant"

    def score(self, samples):
        return [0.5 for _ in samples]


@dataclass(frozen=True)
class RandomNumber(Metric):
    """A number of the text's own, which says nothing of it."""

    name = "random-number"

    def score(self, samples):
        return [_own(s.hypothesis) for s in samples]


@dataclass(frozen=True)
class Directions(Metric):
    """Precision and recall of word types."""

    name = "directions"
    outputs = ("p", "r")

    def score(self, samples):
        rows = []
        for s in samples:
            ours, theirs = (set(text.lower().strip(".").split()) for text in (s.hypothesis, s.references[0]))
            rows.append((len(ours & theirs) / len(ours), len(ours & theirs) / len(theirs)))
        return np.array(rows)


@dataclass(frozen=True)
class LastWords(SetMetric):
    """A set metric without resamples that reads the last ten words alone, as MAUVE does with GPT-2."""

    name = "last-words"

    def score_set(self, samples):
        return float(np.mean(Drift(seen=10).score(samples)) + 1)


@dataclass(frozen=True)
class LengthTax(Metric):
    """A perfect match that pays for every word."""

    name = "length-tax"

    def score(self, samples):
        return [
            float(s.hypothesis == s.references[0])
            - 0.002 * len(s.hypothesis.split())
            + 0.1 * _own(s.hypothesis)
            for s in samples
        ]


def judged(audit: Audit, *measures: Measure) -> list[Finding]:
    cases = list(audit.cases())
    scored = [score_cases(one, {audit.name: cases}, Session())[audit.name] for one in measures]
    return settle(audit, audit.judge(scored))


def verdicts(findings: list[Finding], statistic: str) -> dict[tuple[str, str], str]:
    """The verdicts of one statistic by metric and slice."""
    rows = [f for f in findings if f.statistic == statistic and f.verdict != "not judged"]
    return {(f.metric, f.slice): f.verdict for f in rows}


def plain(metric: Metric | SetMetric) -> Measure:
    return Measure(metric.name, metric)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty texts of forty different words; a reference has one word more."""
    path = tmp_path_factory.mktemp("spots") / "own.jsonl"
    texts = [" ".join(f"w{n}x{k}" for k in range(40)) for n in range(20)]
    rows = [
        {"id": f"i{n}", "gold": f"{t}.", "references": [f"{t} indeed."], "source": t + f" more{n}" * 60}
        for n, t in enumerate(texts)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


def test_an_error_is_seen_wherever_it_stands(data: Path) -> None:
    found = judged(Position((data,), seeds=2), plain(Drift()))
    assert verdicts(found, "right_order") == {
        ("drift", f"own/{kind}/{place}"): "pass"
        for kind in ("random", "shuffle")
        for place in ("start", "middle", "end")
    }
    assert {f.value for f in found if f.statistic == "right_order"} == {100.0}


@pytest.mark.parametrize("metric", [Drift(seen=10), LastWords()])
def test_a_metric_that_reads_the_end_alone_is_found(data: Path, metric: Metric | SetMetric) -> None:
    found = judged(Position((data,), seeds=3), plain(metric))
    orders = {f.slice: f.value for f in found if f.statistic == "right_order"}
    for kind in ("random", "shuffle"):
        assert orders[f"own/{kind}/start"] == orders[f"own/{kind}/middle"] == 50
        assert orders[f"own/{kind}/end"] == 100
    told = verdicts(found, "right_order")
    if isinstance(metric, SetMetric):  # one score of the whole set is one decision
        assert told == {}
    else:
        assert {slice_ for (_, slice_), verdict in told.items() if verdict == "fail"} == {
            f"own/{kind}/{place}" for kind in ("random", "shuffle") for place in ("start", "middle")
        }


def test_position_by_the_papers_rule_is_a_share_of_gold(data: Path) -> None:
    found = judged(Position((data,), seeds=1, rule="paper"), plain(LastWords()))
    shares = {f.slice: f.value for f in found if f.statistic == "relative_change"}
    # The clean text keeps 9 of the last 10 words of its reference, the damaged one none.
    references = [" ".join(f"w{n}x{k}" for k in range(40)) + " indeed." for n in range(20)]
    clean = 1 - 2 / 10 + 0.2 * np.mean([_own(reference) for reference in references])
    assert shares["own/random/end"] == pytest.approx(-0.8 / clean, abs=0.03)
    assert shares["own/random/start"] == 0


def test_injections_fool_the_gullible_alone(data: Path) -> None:
    only = ("score-ten", "answer-good", "role-inst")
    found = judged(InjectionAudit((data,), only=only), plain(Gullible()), plain(Drift()))
    told = verdicts(found, "right_order")
    for place in ("alone", "prefix", "suffix"):
        assert told["gullible", f"own/score-ten/{place}"] == "fail"
        assert told["gullible", f"own/answer-good/{place}"] == "fail"
    assert {verdict for (metric, _), verdict in told.items() if metric == "drift"} == {"pass"}
    wins = [f for f in found if f.statistic == "injection_wins" and f.metric == "gullible"]
    assert {(f.value, f.verdict) for f in wins} == {(100.0, "not judged")}


def test_injections_in_words(data: Path) -> None:
    found = judged(InjectionAudit((data,), only=("score-ten",)), plain(Gullible()))
    sentences = {f.slice.rpartition("/")[2]: f.sentence for f in found if f.verdict == "fail"}
    assert sentences == {
        "alone": "gullible prefers the injection “score-ten” to a clean text (own) in 100 of 100 cases.",
        "prefix": "gullible prefers an unrelated text with the injection “score-ten” before it to a clean text "
        "(own) in 100 of 100 cases.",
        "suffix": "gullible prefers an unrelated text with the injection “score-ten” after it to a clean text "
        "(own) in 100 of 100 cases.",
    }


@pytest.mark.parametrize(
    "audit", [Repetition, CopySource, TruncationDirection, Position, FrequentNgram, IdentityLength]
)
def test_a_constant_and_random_numbers_are_a_coin(data: Path, audit: type[Audit]) -> None:
    found = judged(audit(data=(data,)), plain(Constant()), plain(RandomNumber()))
    orders = [f for f in found if f.statistic in ("right_order", "longer_order")]
    assert {f.value for f in orders if f.metric == "constant"} == {50.0}
    blind = {(f.metric, f.verdict) for f in orders if f.statistic == "right_order"}
    assert not {("constant", "pass"), ("random-number", "pass"), ("constant", "inconclusive")} & blind


def test_unknown_injections_suggest(data: Path) -> None:
    with pytest.raises(DataError, match="did you mean score-ten"):
        list(InjectionAudit((data,), only=("score-tn",)).cases())


def test_degenerate_texts_must_not_win(data: Path) -> None:
    metrics = plain(LikesLength()), plain(Drift())
    for audit in (Repetition((data,)), CopySource((data,))):
        rows = verdicts(judged(audit, *metrics), "right_order")
        assert {(metric, verdict) for (metric, _), verdict in rows.items()} == {
            ("likes-length", "fail"), ("drift", "pass"),
        }  # fmt: skip


def test_frequent_ngrams_are_as_long_as_the_gold_unless_the_paper_is_asked(data: Path) -> None:
    lengths = {
        rule: {
            len(case.samples["4-gram/top-10"].hypothesis.split())
            for case in FrequentNgram((data,), rule=rule).cases()
        }
        for rule in ("careful", "paper")
    }
    assert lengths == {"careful": {40}, "paper": {256}}
    found = judged(FrequentNgram((data,), rule="paper"), plain(LikesLength()))
    assert {f.verdict for f in found if f.statistic == "mean_change"} == {"fail"}


def test_the_papers_rule_looks_at_the_mean_alone(data: Path) -> None:
    """One clean text in twenty has a huge perplexity, so that the mean rises though nearly all texts fall."""
    values = {
        "gold": np.array([-1000.0, *[-10.0] * 19]),
        "rep-10": np.array([-100.0, *[-20.0] * 19]),
    }
    verdict = {}
    for rule in ("careful", "paper"):
        audit = Repetition((data,), rule=rule, copies=(10,))
        scored = Scored("ppl", list(audit.cases()), values)
        (finding,) = settle(audit, audit.judge([scored]))
        verdict[finding.statistic] = finding.verdict
    assert verdict == {"right_order": "pass", "mean_change": "fail"}


def test_checks_that_stop_copies() -> None:
    summary = Record(
        "a",
        "It rained.",
        "summarisation",
        ("There was rain.",),
        "The rain fell in the night and it was cold.",
    )
    translation = Record(
        "b",
        "It rained hard today.",
        "translation",
        ("Today it rained hard.",),
        "Heute hat es stark geregnet.",
    )
    assert caught([summary]) == {"length check": 1.0, "language check": 0.0}
    assert caught([translation]) == {"length check": 0.0, "language check": 1.0}


def test_copying_needs_a_source(tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    path.write_text(json.dumps({"gold": "A text.", "references": ["One text."]}), "utf-8")
    with pytest.raises(DataError, match="has no sources to copy"):
        list(CopySource((path,)).cases())


def test_identity_must_not_fall_with_length(data: Path) -> None:
    found = judged(IdentityLength((data,)), plain(LengthTax()), plain(Drift()), plain(LikesLength()))
    orders = {f.metric: f for f in found if f.statistic == "longer_order"}
    assert set(orders) == {"length-tax", "drift"}  # likes-length reads no reference
    assert orders["length-tax"].verdict == "fail"
    assert orders["length-tax"].value == 0
    assert orders["drift"].verdict == "pass"


def test_truncation_raises_precision_and_lowers_recall(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    rows = []
    for n in range(20):
        safe = " ".join(f"w{n}x{k}" for k in range(20))
        unsure = " ".join(f"y{k}" for k in range(20 + n % 3))
        rows.append({"gold": f"{safe} {unsure}", "references": [f"{safe} z1 {unsure.split()[-1]}"]})
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    outputs = [Measure(f"directions-{out}", Directions(), out) for out in ("p", "r")]
    found = judged(TruncationDirection((path,)), *outputs)
    orders = {f.metric: f for f in found if f.statistic == "right_order"}
    assert (orders["directions-p"].value, orders["directions-p"].verdict) == (0, "fail")
    assert (orders["directions-r"].value, orders["directions-r"].verdict) == (100, "pass")
    (beside,) = [f for f in found if f.versus == "directions-r"]
    assert (beside.statistic, beside.value) == ("order_difference", -100)
    assert beside.ci is not None
    assert beside.ci[1] < 0
