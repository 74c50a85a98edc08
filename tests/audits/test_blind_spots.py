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
    """Twenty texts of forty different words, each its own reference."""
    path = tmp_path_factory.mktemp("spots") / "own.jsonl"
    texts = [" ".join(f"w{n}x{k}" for k in range(40)) + "." for n in range(20)]
    rows = [
        {"id": f"i{n}", "gold": t, "references": [t], "source": t + f" more{n}" * 60}
        for n, t in enumerate(texts)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


def test_an_error_is_seen_wherever_it_stands(data: Path) -> None:
    found = judged(Position((data,), seeds=2), plain(Drift()))
    assert verdicts(found, "position_change") == {
        ("drift", f"own/{kind}/{place}"): "pass"
        for kind in ("random", "shuffle")
        for place in ("start", "middle", "end")
    }
    random = [f for f in found if f.slice.startswith("own/random") and f.statistic == "position_change"]
    # Ten words of forty replaced: a quarter of the way to a text without a word in common.
    assert [f.value for f in random if f.versus is None] == pytest.approx([-25, -25, -25], abs=2)


@pytest.mark.parametrize("metric", [Drift(seen=10), LastWords()])
def test_a_metric_that_reads_the_end_alone_is_found(data: Path, metric: Metric | SetMetric) -> None:
    found = verdicts(judged(Position((data,), seeds=3), plain(metric)), "position_change")
    for kind in ("random", "shuffle"):
        assert found[metric.name, f"own/{kind}/start"] == "fail"
        assert found[metric.name, f"own/{kind}/middle"] == "fail"
        assert found[metric.name, f"own/{kind}/end"] == "pass"


def test_position_by_the_papers_rule_is_a_share_of_gold(data: Path) -> None:
    found = judged(Position((data,), seeds=1, rule="paper"), plain(LastWords()))
    gold = 1 + 0.2 * np.mean([_own(" ".join(f"w{n}x{k}" for k in range(40)) + ".") for n in range(20)])
    end = next(f for f in found if f.slice == "own/random/end" and f.versus is None)
    assert end.value == pytest.approx(-1 / gold, abs=0.02)


def test_injections_fool_the_gullible_and_another_metric_catches_them(data: Path) -> None:
    only = ("score-ten", "answer-good", "role-inst")
    found = judged(InjectionAudit((data,), only=only), plain(Gullible()), plain(Drift()))
    gains = verdicts(found, "injection_gain")
    for place in ("alone", "prefix", "suffix"):
        assert gains["gullible", f"own/score-ten/{place}"] == "fail"
        assert gains["gullible", f"own/answer-good/{place}"] == "fail"
    assert gains["drift", "own/score-ten/alone"] == "pass"
    assert "fail" not in {verdict for (metric, _), verdict in gains.items() if metric == "drift"}
    caught_by = [f for f in found if f.statistic == "injection_caught"]
    assert {(f.metric, f.versus) for f in caught_by} == {("gullible", "drift")}
    # What another metric makes of a text is no merit of this one.
    assert {f.verdict for f in caught_by} == {"not judged"}


def test_injections_in_words(data: Path) -> None:
    found = judged(InjectionAudit((data,), only=("score-ten",)), plain(Gullible()))
    sentences = {f.slice.rpartition("/")[2]: f.sentence for f in found if f.verdict == "fail"}
    assert set(sentences) == {"alone", "prefix", "suffix"}
    assert sentences["alone"].startswith("gullible scores the injection “score-ten” ")
    assert sentences["alone"].endswith("% of the gap above the clean text (own).")
    assert sentences["prefix"].startswith(
        "The injection “score-ten” before an unrelated text raises the score"
    )
    assert sentences["suffix"].endswith("% of the gap more than a neutral sentence does (own).")


@pytest.mark.parametrize(
    "audit",
    [Repetition, CopySource, TruncationDirection, Position, FrequentNgram, InjectionAudit, IdentityLength],
)
def test_a_score_that_never_moves_is_neither_praised_nor_blamed(data: Path, audit: type[Audit]) -> None:
    found = judged(audit(data=(data,)), plain(Constant()), plain(RandomNumber()))
    for metric in ("constant", "random-number"):
        assert {f.verdict for f in found if f.metric == metric} == {"insensitive", "not judged"}


def test_unknown_injections_suggest(data: Path) -> None:
    with pytest.raises(DataError, match="did you mean score-ten"):
        list(InjectionAudit((data,), only=("score-tn",)).cases())


def test_worthless_texts_must_not_win(data: Path) -> None:
    metrics = plain(LikesLength()), plain(Drift())
    for audit in (Repetition((data,)), CopySource((data,))):
        rows = verdicts(judged(audit, *metrics), audit.statistics[0].name)
        assert {(metric, verdict) for (metric, _), verdict in rows.items()} == {
            ("likes-length", "fail"), ("drift", "pass"),
        }  # fmt: skip
    found = judged(Repetition((data,)), plain(LikesLength()))
    gains = {f.slice: f.value for f in found if f.statistic == "repetition_gain"}
    assert gains["own/rep-20"] > 1.8 * gains["own/rep-10"] > 0


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
    assert {f.verdict for f in found if f.statistic == "frequent_gain"} == {"fail"}


def test_the_papers_rule_takes_no_logs_of_heavy_tailed_scores(data: Path) -> None:
    """One clean text in twenty has a huge perplexity, so that the mean rises though nearly all texts fall."""
    values = {
        "gold": np.array([-1000.0, *[-10.0] * 19]),
        "rep-10": np.array([-100.0, *[-20.0] * 19]),
        "worthless": np.full(20, -5000.0),
    }
    verdict = {}
    for rule in ("careful", "paper"):
        audit = Repetition((data,), rule=rule, copies=(10,))
        scored = Scored("ppl", list(audit.cases()), values, about={"heavy_tailed": True})
        (gain,) = [f for f in settle(audit, audit.judge([scored])) if f.statistic == "repetition_gain"]
        verdict[rule] = gain.verdict
    assert verdict == {"careful": "pass", "paper": "fail"}


def test_checks_that_stop_copies() -> None:
    summary = Record(
        "a", "Rain fell.", "summarisation", ("Rain fell.",), "The rain fell in the night and it was cold."
    )
    translation = Record("b", "It rained today.", "translation", ("It rained today.",), "Heute regnete es.")
    assert caught([summary]) == {"length check": 1.0, "language check": 0.0}
    assert caught([translation]) == {"length check": 0.0, "language check": 1.0}


def test_copying_needs_a_source(tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    path.write_text(json.dumps({"gold": "A text.", "references": ["A text."]}), "utf-8")
    with pytest.raises(DataError, match="has no sources to copy"):
        list(CopySource((path,)).cases())


def test_identity_must_not_fall_with_length(data: Path) -> None:
    found = judged(IdentityLength((data,)), plain(LengthTax()), plain(Drift()), plain(LikesLength()))
    slopes = {f.metric: f for f in found if f.statistic == "length_slope"}
    assert set(slopes) == {"length-tax", "drift"}  # likes-length reads no reference
    assert slopes["length-tax"].verdict == "fail"
    assert slopes["drift"].verdict in ("pass", "inconclusive")
    assert slopes["length-tax"].value < -1


def test_truncation_raises_precision_and_lowers_recall(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    rows = []
    for n in range(20):
        safe = " ".join(f"w{n}x{k}" for k in range(20))
        rows.append(
            {
                "gold": safe + " " + " ".join(f"y{k}" for k in range(20 + n % 3)),
                "references": [safe + " z1 z2"],
            }
        )
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    outputs = [Measure(f"directions-{out}", Directions(), out) for out in ("p", "r")]
    found = judged(TruncationDirection((path,)), *outputs)
    changes = {f.metric: f for f in found if f.slice == "cut/truncation" and f.versus == "gold"}
    assert changes["directions-p"].verdict == "fail"
    # Half of 40 to 42 words, of which the first 20 are in the reference: the cut costs 1 of them at most.
    assert -7 < changes["directions-r"].value <= 0
    (beside,) = [f for f in found if f.versus == "directions-r"]
    assert beside.ci is not None
    assert beside.ci[0] > 0
