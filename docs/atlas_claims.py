"""What the atlas shows about findings of the field: each claim with the numbers that decide it.

`docs/make_atlas.py` puts the claims on its page. What both read of the shipped atlas stands here first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import hypot

import numpy as np
import polars as pl

from assay.core import Limits
from assay.reading.answers import Outcome, slice_outcomes
from assay.reading.decisions import Decisions, decisions_of
from assay.reading.lines import Ranking
from assay.reading.names import shown
from assay.reading.ranking import rankings
from assay.reading.results import StoredRun
from assay.reading.shipped import AGREEMENT, load_atlas
from assay.reading.text import number
from assay.reading.verdicts import JudgedRow, Slice, checks, rows_of
from assay.statistics.estimates import share_interval

STATIC = ("embedding-average", "vector-extrema", "greedy-matching", "wmd", "wmd-relaxed", "sms")
OMISSIONS = (
    "truncation",
    "drop",
    "removal",
    "omission",
)  # parts of the names of edits that leave something out
COIN, BAR = 50.0, 75.0
HOLDS, FAILS, UNKNOWN, UNMEASURED = "holds", "does not hold here", "cannot tell", "not measured"
Told = tuple[str, str]  # whether a claim holds, and by which numbers


@cache
def atlas() -> StoredRun:
    """The shipped atlas, with metrics under the names that people read."""
    return shown(load_atlas())


@cache
def outcomes() -> dict[str, dict[Slice, Outcome]]:
    """How each metric came out, by slice of the audits of robustness."""
    return slice_outcomes(checks(atlas(), "robustness"))


@cache
def task_rankings() -> list[Ranking]:
    """The ranking of all tasks together, then one per task."""
    return rankings(atlas())


# Groups of metrics.


def pretrained_metrics() -> list[str]:
    """Metrics that compare a text with references by a pretrained encoder, but hybrids and debiased ones."""
    chosen = [metric for metric in atlas().metrics if metric.startswith(("bertscore-", "sentence-cosine"))]
    return [metric for metric in chosen if "debiased" not in metric]


def static_metrics() -> list[str]:
    """Metrics on static word vectors."""
    return [metric for metric in atlas().metrics if metric.split(" ")[0] in STATIC]


def surface_metrics() -> list[str]:
    """Metrics without a pretrained model, hybrids apart."""
    static = static_metrics()
    return [
        metric
        for metric, about in atlas().about["metrics"].items()
        if not about.get("backbone") and metric not in static and "+" not in metric
    ]


# Numbers with their intervals, and what they say.


@dataclass(frozen=True, slots=True)
class Number:
    """A number with its 95% interval."""

    value: float
    ci: Limits

    @property
    def words(self) -> str:
        return f"{self.value:.0f} [{self.ci[0]:.0f}, {self.ci[1]:.0f}]"

    def above(self, bar: float) -> str:
        """Whether the claim that it lies above a bar holds."""
        return HOLDS if self.ci[0] > bar else FAILS if self.ci[1] < bar else UNKNOWN

    def below(self, bar: float) -> str:
        return HOLDS if self.ci[1] < bar else FAILS if self.ci[0] > bar else UNKNOWN


def group_order(metrics: Sequence[str], decisions: Decisions) -> tuple[float, dict[str, float]]:
    """The mean right order of some metrics, and what each item adds to its error."""
    order = decisions.of([metric for metric in metrics if metric in decisions.metrics]).order()
    by_item = dict(zip(order.items, 100 * order.influences.mean(axis=1), strict=True))
    return 100 * float(order.shares.mean()), by_item


def order_of(metrics: Sequence[str], decisions: Decisions) -> Number | None:
    """The mean right order of some metrics on what all of them decided."""
    known = [metric for metric in metrics if metric in decisions.metrics]
    if not known or not decisions.of(known).shared().frame.height:
        return None
    value, items = group_order(known, decisions)
    half = 1.96 * float(np.sqrt(sum(each**2 for each in items.values())))
    return Number(value, (value - half, value + half))


def difference(first: Sequence[str], second: Sequence[str], decisions: Decisions) -> Number | None:
    """The mean right order of some metrics minus that of others, on the same items."""
    both = [metric for metric in (*first, *second) if metric in decisions.metrics]
    shared = decisions.of(both).shared() if both else decisions
    sides = [[metric for metric in side if metric in decisions.metrics] for side in (first, second)]
    if not all(sides) or not shared.frame.height:
        return None
    (mine, my_items), (theirs, their_items) = (group_order(side, shared) for side in sides)
    apart = [my_items[item] - their_items[item] for item in my_items]
    half = 1.96 * float(np.sqrt(sum(each**2 for each in apart)))
    return Number(mine - theirs, (mine - theirs - half, mine - theirs + half))


def kinds(decisions: Decisions, parts: Collection[str]) -> Decisions:
    """The decisions on kinds of error whose name has one of these parts."""
    chosen = pl.any_horizontal([pl.col("slice").str.contains(part, literal=True) for part in parts])
    return replace(decisions, frame=decisions.frame.filter(chosen))


def all_decisions() -> Decisions:
    return decisions_of(atlas())


def findings_of(audit: str, statistic: str, start: str = "") -> list[JudgedRow]:
    """The findings of one statistic, of metrics whose name begins so."""
    rows = [row for row in rows_of(atlas()) if row["audit"] == audit and row["statistic"] == statistic]
    return [row for row in rows if row["metric"].startswith(start)]


def in_words(row: JudgedRow) -> str:
    """A finding with its interval."""
    low, high = number(row["ci_low"]), number(row["ci_high"])
    return f"{row['metric']} {number(row['value'])} [{low}, {high}] ({row['slice']})"


def by_findings(rows: Sequence[JudgedRow], bar: float, *, above: bool) -> Told:
    """Whether all findings, or none, lie surely on one side of a bar."""
    settled = [row for row in rows if row["ci_low"] is not None]
    if not settled:
        return UNMEASURED, "no metric here was asked."
    numbers = [Number(row["value"], (row["ci_low"], row["ci_high"])) for row in settled]
    answers = {each.above(bar) if above else each.below(bar) for each in numbers}
    answer = answers.pop() if len(answers) == 1 else UNKNOWN
    return answer, "; ".join(map(in_words, settled)) + "."


def by_number(number_: Number | None, bar: float, words: str, *, above: bool) -> Told:
    if number_ is None:
        return UNMEASURED, "no metric here was asked."
    return number_.above(bar) if above else number_.below(bar), f"{words}: {number_.words}."


# The claims: each function says whether it holds here, and by which numbers.


def pretrained_are_less_fair() -> Told:
    shares = {}
    for name, metrics in (("pretrained", pretrained_metrics()), ("surface", surface_metrics())):
        rows = [row for row in checks(atlas(), "fairness") if row["metric"] in metrics]
        shares[name] = sum(row["verdict"] == "fail" for row in rows), len(rows)
    if not all(asked for _, asked in shares.values()):
        return UNMEASURED, "no metric here was asked."
    first, second = (share_interval(failed / asked, asked) for failed, asked in shares.values())
    answer = HOLDS if first.low > second.high else FAILS if first.high < second.low else UNKNOWN
    return answer, "; ".join(
        f"{name}: {bad} of {n} questions failed" for name, (bad, n) in shares.items()
    ) + "."


def surface_notice_less() -> Told:
    gain = difference(pretrained_metrics(), surface_metrics(), all_decisions().about("meaning"))
    return by_number(gain, 0.0, "right order on errors of meaning, pretrained minus surface", above=True)


def surface_lose_on_rewordings() -> Told:
    gain = difference(pretrained_metrics(), surface_metrics(), all_decisions().about("meaning", "reworded"))
    return by_number(gain, 0.0, "right order against sound rewordings, pretrained minus surface", above=True)


def words_beat_meaning() -> Told:
    order = order_of(surface_metrics(), all_decisions().about("meaning", "far"))
    words = "surface metrics prefer a right text in other words to a false one in the same words in"
    return by_number(order, COIN, words, above=False)


def none_notices_all() -> Told:
    ranked = task_rankings()[0].ranked
    if not ranked:
        return UNMEASURED, "no metric here was asked."
    best = max(ranked, key=lambda line: line.merit)
    answer = HOLDS if all(line.kinds.blind for line in ranked) else FAILS
    return (
        answer,
        f"the best, {best.metric}, is blind to {len(best.kinds.blind)} of {best.kinds.tried} kinds of error.",
    )


def precision_rises_when_cut_off() -> Told:
    return by_findings(findings_of("truncation-direction", "right_order", "bertscore-p"), COIN, above=False)


def recall_notices_omissions() -> Told:
    recall, precision = (
        [metric for metric in atlas().metrics if metric.startswith(f"bertscore-{direction} [minilm")]
        for direction in "rp"
    )
    gain = difference(recall, precision, kinds(all_decisions().about("meaning"), OMISSIONS))
    return by_number(gain, 0.0, "right order on omissions, recall minus precision of BERTScore", above=True)


def perplexity_prefers_frequent_ngrams() -> Told:
    return by_findings(findings_of("frequent-ngram", "right_order", "gpt-ppl"), COIN, above=False)


def switched_sentences_go_unnoticed() -> Told:
    decisions = all_decisions()
    frames = [decisions.about(aspect).frame for aspect in ("meaning", "form")]
    either = kinds(replace(decisions, frame=pl.concat(frames)), ("sentence-switching", "reorder-sentences"))
    order = order_of(pretrained_metrics() + surface_metrics(), either)
    return by_number(order, BAR, "right order on switched sentences, all metrics", above=False)


def typing_errors_cost_more_than_negations() -> Told:
    decisions, metrics = all_decisions(), pretrained_metrics()
    typing = order_of(metrics, kinds(decisions.about("form"), ("typo-swap",)))
    negation = order_of(metrics, kinds(decisions.about("meaning"), ("negat",)))
    if typing is None or negation is None:
        return UNMEASURED, "no metric here was asked."
    apart = typing.value - negation.value
    half = hypot(typing.ci[1] - typing.value, negation.ci[1] - negation.value)
    answer = Number(apart, (apart - half, apart + half)).above(0.0)
    return answer, f"right order on typing errors {typing.words}, on negations {negation.words}."


def vectors_put_men_closer_to_career() -> Told:
    static = static_metrics()
    rows = [row for row in findings_of("association", "effect_size") if row["slice"] == "weat6"]
    return by_findings([row for row in rows if row["metric"] in static], 0.0, above=True)


def chrf_beats_bleu() -> Told:
    return people_claim("chrf", "bleu", "translation")


def pretrained_beat_bleu() -> Told:
    return people_claim("bertscore-f [", "bleu", "translation")


def overlap_is_weak_for_segments() -> Told:
    rows = findings_of("human", AGREEMENT, "bleu")
    segments = [row for row in rows if row["metric"] == "bleu" and row["slice"].startswith("translation/")]
    return by_findings(segments, 60.0, above=False)


def pretrained_beat_overlap_in_summaries() -> Told:
    return people_claim("bertscore-f [", "rougeL", "summarisation")


def people_claim(first: str, second: str, task: str) -> Told:
    """Whether one metric agrees with people better than another on the public ratings of a task."""
    apart: list[Number] = []
    rows = [row for row in findings_of("human", AGREEMENT) if row["slice"].startswith(f"{task}/")]
    for slice_ in dict.fromkeys(row["slice"] for row in rows):
        here = [row for row in rows if row["slice"] == slice_]
        mine = next((row for row in here if row["metric"].startswith(first)), None)
        theirs = next((row for row in here if row["metric"] == second), None)
        if mine is not None and theirs is not None:
            value = mine["value"] - theirs["value"]
            half = hypot(*((row["ci_high"] - row["ci_low"]) / 2 for row in (mine, theirs)))
            apart.append(Number(value, (value - half, value + half)))
    if not apart:
        return UNMEASURED, "no metric here was asked."
    mean = float(np.mean([each.value for each in apart]))
    half = hypot(*((each.ci[1] - each.ci[0]) / 2 for each in apart)) / len(apart)
    total = Number(mean, (mean - half, mean + half))
    words = f"agreement with people over {len(apart)} sets, {first.rstrip(' [')} minus {second}"
    return total.above(0.0), f"{words}: {total.words} of 100 (as if the metrics had read other texts)."


CLAIMS: tuple[tuple[str, str, Callable[[], Told]], ...] = (
    ("Metrics on pretrained models are less fair than n-gram metrics", "unfair, table 1", pretrained_are_less_fair),
    ("N-gram metrics notice fewer errors than metrics on pretrained models", "checklist, section 5",
     surface_notice_less),
    ("They lose more where a sound text is reworded", "checklist, section 5", surface_lose_on_rewordings),
    ("No single metric notices every error", "blind, section 6; checklist, section 6", none_notices_all),
    ("Precision rises as texts are cut off", "blind, section 5.5", precision_rises_when_cut_off),
    ("The direction matters: recall notices omissions that precision misses",
     "blind, section 5.5; unfair, figure 5", recall_notices_omissions),
    ("A language model's perplexity prefers strings of frequent n-grams to real texts",
     "blind, section 5.3", perplexity_prefers_frequent_ngrams),
    ("Switched sentences go unnoticed", "blind, section 5.5", switched_sentences_go_unnoticed),
    ("A typing error is noticed more surely than a negation", "checklist, section 5",
     typing_errors_cost_more_than_negations),
    ("Word vectors put men closer to career and women to family", "assoc, table 3",
     vectors_put_men_closer_to_career),
    ("Metrics of words prefer wrong texts in the same words to right ones in other words",
     "WMT challenge sets", words_beat_meaning),
    ("chrF agrees with people better than BLEU on translations", "WMT metrics tasks", chrf_beats_bleu),
    ("Metrics on pretrained models agree better than BLEU on translations", "WMT metrics tasks",
     pretrained_beat_bleu),
    ("BLEU hardly tells single translations apart", "WMT metrics tasks", overlap_is_weak_for_segments),
    ("BERTScore agrees with people better than ROUGE-L on summaries", "SummEval",
     pretrained_beat_overlap_in_summaries),
)  # fmt: skip


def claim_lines() -> list[str]:
    """The section on the claims, line by line."""
    lines = [
        "", "## What the field found, on these metrics", "",
        f"A claim *{HOLDS}* or *{FAILS}* where the whole 95% interval says so; else it *{UNKNOWN}*. The numbers are",
        "those of the small models measured here, not of the papers' models.", "",
    ]  # fmt: skip
    for place, (claim, source, rule) in enumerate(CLAIMS, 1):
        answer, numbers = rule()
        lines.append(f"{place}. **{claim}** ({source}): **{answer}.** {numbers[0].upper()}{numbers[1:]}")
    return [*lines, ""]
