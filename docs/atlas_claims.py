"""What the atlas shows about the findings of the five papers: each claim with the numbers that decide it.

`docs/make_atlas.py` puts the claims on its page. What both read of the shipped atlas stands here first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from assay.api.runs import Run
from assay.reading.answers import Outcome, Slice, slice_outcomes
from assay.reading.atlas import load_atlas
from assay.reading.names import shown
from assay.reading.panel import choose_panel, error_checks
from assay.reading.ranking import Ranking, Share, rankings
from assay.reading.text import number
from assay.reading.verdicts import Row, checks, rows_of

DRAWS = 2000  # of the slices, for the interval of a difference of shares
FEWEST_ERRORS = 50  # kinds of error that a metric was asked about before it can be called the best
STATIC = ("embedding-average", "vector-extrema", "greedy-matching", "wmd", "wmd-relaxed", "sms")
OMISSIONS = ("truncation", "drop", "removal")  # parts of the names of edits that leave something out
NOTHING_ASKED = "no metric here was asked."
RULE = (
    "Each claim has a rule: *supported* or *contradicted* where the whole 95% interval says so, *not settled* "
    "where it does not, *mixed* where rows disagree."
)


@cache
def atlas() -> Run:
    """The shipped atlas, with metrics under the names that people read."""
    return shown(load_atlas())


@cache
def outcomes() -> dict[str, dict[Slice, Outcome]]:
    """How each metric came out, by slice."""
    return slice_outcomes(checks(atlas()))


@cache
def error_slices() -> frozenset[Slice]:
    """The slices whose edits make a text worse."""
    return frozenset((row["audit"], row["slice"]) for row in error_checks(atlas()))


def outcomes_of(metrics: Sequence[str], slices: Collection[Slice]) -> list[Outcome]:
    """The outcomes of some metrics on some slices, where they were asked."""
    pairs = product(metrics, slices)
    return [outcomes()[metric][place] for metric, place in pairs if place in outcomes().get(metric, {})]


@cache
def task_rankings() -> list[Ranking]:
    """The ranking of all tasks together, then one per task."""
    return rankings(atlas())


def percent(share: Share) -> str:
    """A share with its interval and the number of slices; empty where there are none."""
    if not share.total:
        return ""
    low, high = share.ends
    return f"{share.value:.0%} [{100 * low:.0f}, {100 * high:.0f}] of {share.total}"


# Groups of metrics.


def pretrained_metrics() -> list[str]:
    """Metrics that compare a text with references by a pretrained encoder, but hybrids and debiased ones."""
    return [
        metric
        for metric in atlas().metrics
        if metric.startswith(("bertscore-", "sentence-cosine")) and "debiased" not in metric
    ]


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
class Difference:
    """A difference of shares with its 95% interval; not a number where nothing could be compared."""

    value: float
    low: float
    high: float

    @property
    def answer(self) -> str:
        if np.isnan(self.low):
            return "not measured"
        return "supported" if self.low > 0 else "contradicted" if self.high < 0 else "not settled"

    @property
    def points(self) -> str:
        return f"{100 * self.value:+.0f} [{100 * self.low:.0f}, {100 * self.high:.0f}] points"


def difference(
    first: Sequence[str], second: Sequence[str], slices: Collection[Slice], outcome: Outcome = "pass"
) -> Difference:
    """Mean over slices of the share of the first metrics that come out so minus that of the second."""

    def share(metrics: Sequence[str], place: Slice) -> float | None:
        known = [each for each in outcomes_of(metrics, [place]) if each != "insensitive"]
        return sum(each == outcome for each in known) / len(known) if known else None

    pairs = [(share(first, place), share(second, place)) for place in sorted(slices)]
    gaps = np.array([a - b for a, b in pairs if a is not None and b is not None])
    if not gaps.size:
        return Difference(np.nan, np.nan, np.nan)
    draws = np.random.default_rng(0).choice(gaps, (DRAWS, len(gaps))).mean(axis=1)
    low, high = np.quantile(draws, (0.025, 0.975))
    return Difference(float(gaps.mean()), float(low), float(high))


def findings_of(audit: str, statistic: str, metric: str | None = None) -> list[Row]:
    """The findings of one statistic, of all metrics or of one."""
    rows = [row for row in rows_of(atlas()) if row["audit"] == audit]
    return [row for row in rows if row["statistic"] == statistic and metric in (None, row["metric"])]


def in_words(row: Row) -> str:
    """A finding with its interval."""
    low, high = number(row["ci_low"]), number(row["ci_high"])
    return f"{row['metric']} {number(row['value'])} [{low}, {high}] ({row['slice']}, {row['verdict']})"


def answer_by_signs(rows: Sequence[Row]) -> tuple[str, str]:
    """Whether findings lie surely above 0 (supported), surely below (contradicted), or both (mixed)."""
    if not rows:
        return "not measured", NOTHING_ASKED
    settled = [row for row in rows if row["ci_low"] is not None]
    is_above = any(row["ci_low"] > 0 for row in settled)
    is_below = any(row["ci_high"] < 0 for row in settled)
    answers = {(True, False): "supported", (False, True): "contradicted", (True, True): "mixed"}
    answer = answers.get((is_above, is_below), "not settled")
    return answer, "; ".join(map(in_words, rows)) + "."


# The claims: each function says whether it holds here, and by which numbers.


def pretrained_are_less_fair() -> tuple[str, str]:
    judged = {(row["audit"], row["slice"]) for row in checks(atlas(), "fairness")}
    estimate = difference(pretrained_metrics(), surface_metrics(), judged, outcome="fail")
    parts = []
    for name, metrics in (("pretrained", pretrained_metrics()), ("surface", surface_metrics())):
        known = outcomes_of(metrics, judged)
        parts.append(f"{name}: {known.count('fail')} of {len(known)} fairness slices failed")
    return estimate.answer, f"{'; '.join(parts)}; difference of the shares {estimate.points}."


def surface_notice_less() -> tuple[str, str]:
    estimate = difference(pretrained_metrics(), surface_metrics(), error_slices())
    return estimate.answer, f"share of errors noticed, pretrained minus surface metrics: {estimate.points}."


def none_notices_all() -> tuple[str, str]:
    asked = [line for line in task_rankings()[0].lines if line.noticed.total >= FEWEST_ERRORS]
    best = max(asked, key=lambda line: line.noticed.value)
    panel = choose_panel(atlas())
    members, covered = len(panel.members), f"{len(panel.covered)} of {len(panel.spots)}"
    misses = best.noticed.ends[1] < 1.0 and best.noticed.good < best.noticed.total
    return (
        "supported" if misses else "contradicted",
        f"the best, {best.metric}, notices {percent(best.noticed)} kinds of error; "
        f"the smallest fair panel has {members} metrics and notices {covered}.",
    )


def precision_rises_when_cut_off() -> tuple[str, str]:
    rows = findings_of("truncation-direction", "direction_change")
    return answer_by_signs([row for row in rows if row["metric"].startswith("bertscore-p")])


def recall_notices_omissions() -> tuple[str, str]:
    recall, precision = (
        [metric for metric in atlas().metrics if metric.startswith(f"bertscore-{direction}")][:1]
        for direction in "rp"
    )
    audits = ("stress", "truncation-direction", "checklist", "repetition")
    omissions = [
        (audit, slice_)
        for audit, slice_ in error_slices()
        if audit in audits and any(part in slice_ for part in OMISSIONS)
    ]
    estimate = difference(recall, precision, omissions)
    noticed = f"share of {len(omissions)} omissions noticed, recall minus precision of BERTScore"
    return estimate.answer, f"{noticed}: {estimate.points}."


def perplexity_prefers_frequent_ngrams() -> tuple[str, str]:
    rows = findings_of("frequent-ngram", "frequent_gain")
    return answer_by_signs([row for row in rows if row["metric"].startswith("gpt-ppl")])


def switched_sentences_go_unnoticed() -> tuple[str, str]:
    places = [place for place in error_slices() if "sentence-switching" in place[1].split("/")]
    known = outcomes_of(pretrained_metrics() + surface_metrics(), places)
    share = Share(known.count("pass"), known.count("fail"), len(known))
    low, high = share.ends
    answer = Difference(0.5 - share.value, 0.5 - high, 0.5 - low).answer
    noticed = f"sentence switching is noticed in {percent(share)} pairs of metric and task"
    return answer, f"{noticed}; below half supports it."


def typing_errors_cost_more_than_negations() -> tuple[str, str]:
    ratios = []
    for metric in atlas().metrics:
        if metric.startswith(("bertscore-f [", "sentence-cosine [")):
            changes = {row["slice"]: row["value"] for row in findings_of("checklist", "score_change", metric)}
            for place, change in changes.items():
                typo = changes.get(f"{place.split('/')[0]}/fluency/typo-swap")
                if place.endswith("/negate") and typo is not None and change < 0:
                    ratios.append(typo / change)
    if not ratios:
        return "not measured", NOTHING_ASKED
    draws = np.median(np.random.default_rng(0).choice(sorted(ratios), (DRAWS, len(ratios))), axis=1)
    middle, (low, high) = float(np.median(ratios)), np.quantile(draws, (0.025, 0.975))
    costs = f"a typing error costs {middle:.1f} times [{low:.1f}, {high:.1f}] what a negation does"
    return (
        Difference(middle - 1, low - 1, high - 1).answer,
        f"{costs} (median over {len(ratios)} tasks and metrics).",
    )


def vectors_put_men_closer_to_career() -> tuple[str, str]:
    rows, static = findings_of("association", "effect_size"), static_metrics()
    return answer_by_signs([row for row in rows if row["slice"] == "weat6" and row["metric"] in static])


def harmless_edits_move_scores() -> tuple[str, str]:
    harmless = {(row["audit"], row["slice"]) for row in checks(atlas(), "robustness")} - error_slices()
    known = [each for each in outcomes_of(list(outcomes()), harmless) if each != "insensitive"]
    moved, steady = known.count("over-sensitive"), known.count("steady")
    pairs = f"{percent(Share(moved, steady, len(known)))} pairs of metric and harmless edit"
    return (
        "supported" if moved else "contradicted",
        f"{pairs} surely move by more than 5% of the gap; {steady} surely do not.",
    )


CLAIMS: tuple[tuple[str, str, Callable[[], tuple[str, str]]], ...] = (
    ("Metrics on pretrained models are less fair than n-gram metrics",
     "unfair, table 1", pretrained_are_less_fair),
    ("N-gram metrics notice fewer errors than metrics on pretrained models",
     "checklist, section 5", surface_notice_less),
    ("No single metric notices every error; a panel is needed",
     "blind, section 6; checklist, section 6", none_notices_all),
    ("Precision rises as texts are cut off",
     "blind, section 5.5", precision_rises_when_cut_off),
    ("The direction matters: recall notices omissions that precision misses",
     "blind, section 5.5; unfair, figure 5", recall_notices_omissions),
    ("A language model's perplexity prefers strings of frequent n-grams to real texts",
     "blind, section 5.3", perplexity_prefers_frequent_ngrams),
    ("Switched sentences go unnoticed",
     "blind, section 5.5", switched_sentences_go_unnoticed),
    ("A typing error costs more than a negation",
     "checklist, section 5", typing_errors_cost_more_than_negations),
    ("Word vectors put men closer to career and women to family",
     "assoc, table 3", vectors_put_men_closer_to_career),
    ("Harmless edits move scores that should stay",
     "checklist, section 5", harmless_edits_move_scores),
)  # fmt: skip


def claim_lines() -> list[str]:
    """The section on the claims, line by line."""
    lines = [
        "", "## What the papers found, on these metrics", "",
        f"{RULE} The numbers are those of the small models measured here, not of the papers' models.", "",
    ]  # fmt: skip
    for place, (claim, source, rule) in enumerate(CLAIMS, 1):
        answer, numbers = rule()
        lines.append(f"{place}. **{claim}** ({source}): **{answer}.** {numbers[0].upper()}{numbers[1:]}")
    return [*lines, ""]
