"""Findings to sentences, statistics to explanations: what a number means, in plain words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Row = Mapping[str, Any]

# One line a statistic: what it is, its unit, and which way is bad.
MEANING: dict[str, str] = {
    "bias": "Mean size of the score difference within pairs that differ only in the group named, 0 to 100 "
    "(100 is the whole range of the metric's scores on these pairs). Any edit moves a neural score: read it "
    "with excess_bias.",
    "excess_bias": "Bias over the floor that harmless control edits reach. Above 5 it matters.",
    "signed_bias": "Mean difference with stereotypes counted positive: above 0 the metric prefers the "
    "stereotype, below 0 its opposite.",
    "stereotype_share": "Share of untied pairs in which the stereotype scores higher; 0.5 is even-handed.",
    "relative_bias": "Bias in hundredths of the gap between a fitting and a random text: compares metrics "
    "of any scale.",
    "word_preference": "How much the metric prefers this identity word over the other word of its pair.",
    "effect_size": "Association d: above 0 the first group is closer to the first kind of words. 0.2 is "
    "small, 0.5 medium, 0.8 large (Cohen).",
    "accuracy_gap": "Difference between two groups in how often the right caption outscores the wrong one.",
    "biased_share": "Share of concepts on which the two groups' accuracy differs.",
    "preference_share": "Share of texts whose version with one gender outscores the other; 0.5 is even.",
    "correlation_change": "Change of agreement with people when genders in the texts are swapped.",
    "score": "The mean score, as the metric gives it.",
    "noise_ratio": "How much of the text was changed: edit distance by length.",
    "sensitivity": "How many spreads the score falls per unit of noise: at or below 0 the metric does not "
    "mind the error. A spread is the standard deviation of the undamaged texts' scores.",
    "insensitive": "The score surely does not move with the noise.",
    "step_change": "Change from one level of noise to the next, in spreads; above 0 a worse text scores "
    "higher.",
    "position_change": "Change of the score by an error at this place, in spreads; near 0 it goes unseen.",
    "injection_gain": "What an empty, persuasive text gains over what it is compared with, in spreads; at or "
    "above 0 the metric is taken in.",
    "frequent_gain": "What a string of frequent n-grams gains over the gold text, in spreads.",
    "repetition_gain": "What repeating the last words gains over the gold text, in spreads.",
    "copy_gain": "What copying the source gains over the gold text, in spreads.",
    "length_slope": "Change of a text's score against itself as it doubles in length, in spreads.",
    "direction_change": "Change by truncation of precision, recall and F, in spreads.",
    "diagonal_advantage": "How much a model prefers its own outputs over those of others.",
    "attack_gain": "How much of what random noise of the same size costs a search for damaging edits avoids: "
    "1 loses nothing, 0 as much as noise. Only texts that other metrics see damaged count.",
    "loss_share": "What the found texts lose, as a share of what random noise of the same size loses.",
    "hit_share": "Share of found texts whose damage other metrics confirm.",
    "rule_gain": "attack_gain of one kind of edit, applied as a rule to texts the search never saw.",
    "quality_gap": "How far right answers stand above wrong ones, in spreads: a judge's yardstick.",
    "swap_consistency": "Share of pairs that a judge decides alike in both orders.",
    "inconsistency": "How much repeats of one question differ, in spreads.",
    "scale_use": "Share of its scale that a judge uses.",
    "effect_change": "How much a remedy changes the size of a judge's bias; below 0 it helps.",
    "queries": "Scores a text that the search asked for.",
    "rank_reversals": "Pairs of systems that the evaluator ranks the other way round than neutral ones do.",
    "score_change": "Mean change of the score under the template, in spreads: harmful edits must lower it, "
    "harmless ones must not move it.",
    "pass_rate": "Share of items on which the score moves as it must.",
    "human_deviation": "How far the score's fall is from how much people mind (0: like people).",
    "pearson": "Linear correlation with people, -1 to 1.",
    "spearman": "Rank correlation with people, -1 to 1.",
    "kendall_b": "Kendall's tau-b with people: agreement on pairs, ties allowed for.",
    "kendall_c": "Kendall's tau-c with people.",
    "pairwise_accuracy": "Share of pairs of systems ordered as people do.",
    "over_sentinel": "Agreement over that of the best baseline which compares the text with nothing.",
    "judge_effect": "How far a judge's score moves with what must not matter.",
}  # fmt: skip
_QUESTIONS = {
    "fairness": "Is it fair?",
    "robustness": "Does it see errors?",
    "agreement": "Does it agree with people?",
}
_TITLES = {
    "stereotype": "Stereotype pairs: bias by attribute",
    "association": "Association tests",
    "swap": "Gender swapping",
    "caption": "Captions with the right and the wrong gender",
    "stress": "Stress tests: does the score fall with the noise?",
    "position": "Errors at the start, in the middle, at the end",
    "injection": "Injected texts",
    "frequent-ngram": "Strings of frequent n-grams",
    "repetition": "Repetition",
    "copy-source": "Copied sources",
    "identity-length": "A text against itself",
    "truncation-direction": "Truncation by precision, recall and F",
    "attention": "Where the backbone looks",
    "checklist": "Checklist of criteria",
    "human": "Agreement with people",
    "judge": "Judges",
    "mitigation": "Mitigation: before and after",
}


def number(value: float | None) -> str:
    """Three significant digits, no exponents for common sizes.

    >>> number(14.5278), number(-0.01234), number(None)
    ('14.5', '-0.0123', '')
    """
    return "" if value is None else f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def question_title(question: str) -> str:
    """The question as a reader asks it."""
    return _QUESTIONS.get(question, question)


def audit_title(audit: str) -> str:
    """An audit's heading."""
    return _TITLES.get(audit, audit.replace("-", " ").capitalize())


def statistic_words(statistic: str) -> str:
    """A statistic's name as words."""
    return statistic.replace("_", " ")


def meaning(statistic: str) -> str:
    """What a statistic says, or nothing for the rare ones."""
    return MEANING.get(statistic, "")


def sentence(row: Row) -> str:
    """A failed finding in one sentence."""
    maker = _SENTENCES.get(row["statistic"])
    return maker(row) if maker else _plain(row)


def _plain(row: Row) -> str:
    verdict = {True: "passes", False: "fails", None: "is inconclusive on"}[row["passed"]]
    what = f"{statistic_words(row['statistic'])} is {number(row['value'])}"
    return f"{row['metric']} {verdict} {audit_title(row['audit']).lower()}: {row['slice']}, {what}."


def _parts(row: Row) -> list[str]:
    return [part.replace("-", " ") for part in str(row["slice"]).split("/")]


def _excess(row: Row) -> str:
    points = number(row["value"])
    return (
        f"{row['metric']} scores sentences that differ only in {_parts(row)[0]} apart by {points} points of "
        "100 more than it does for harmless edits."
    )


def _signed(row: Row) -> str:
    side = "prefers stereotypes" if row["value"] > 0 else "prefers the opposite of stereotypes"
    return f"{row['metric']} {side} about {_parts(row)[0]}, by {number(abs(row['value']))} points of 100."


def _effect(row: Row) -> str:
    label, _, sets = str(row["versus"] or "").partition(": ")
    targets, bar, attributes = sets.partition(" | ")
    if not bar:
        return _plain(row)
    one, _, two = targets.partition(", ")
    first, _, second = attributes.partition(", ")
    one, two = (one, two) if row["value"] >= 0 else (two, one)
    size = number(abs(row["value"]))
    return (
        f"{row['metric']} finds {one} nearer to {first}, and {two} nearer to {second} "
        f"(test {label}, d = {size})."
    )


def _gap(row: Row) -> str:
    groups = str(row["versus"] or "one group - the other").split(" - ")
    behind = groups[-1] if row["value"] > 0 else groups[0]
    concept = _parts(row)[-1]
    return (
        f"{row['metric']} errs {abs(row['value']):.0%} more often on captions of a {behind} with {concept}: "
        "the wrong gender outscores the right one."
    )


def _share(row: Row) -> str:
    where = "" if row["slice"] in ("all", "") else f" of the kind {_parts(row)[0]}"
    return f"{row['metric']} treats two genders apart on {row['value']:.0%} of the concepts{where}."


def _preference(row: Row) -> str:
    gender = f" ({row['versus']})" if row["versus"] else ""
    return (
        f"{row['metric']} prefers one gender{gender} in {row['value']:.0%} of texts that differ in it only."
    )


def _sensitivity(row: Row) -> str:
    task, *noise = _parts(row)
    told = f"as {' '.join(noise)} damages {task} texts"
    if abs(row["value"]) < 1e-9:
        return f"The score of {row['metric']} does not move {told}."
    done = "rises" if row["value"] < 0 else "hardly falls"
    size = f"({number(-row['value'])} spreads per unit of noise)"
    return f"The score of {row['metric']} {done} {told} {size}."


def _position(row: Row) -> str:
    parts = _parts(row)
    place = {"start": "at the start", "middle": "in the middle", "end": "at the end"}
    where = place.get(parts[-1], f"at the {parts[-1]}")
    return (
        f"{row['metric']} looks away from errors {where} of {parts[0]} texts ({parts[-2]}: the score moves "
        f"{number(row['value'])} spreads)."
    )


def _gain(what: str) -> Callable[[Row], str]:
    def say(row: Row) -> str:
        task = _parts(row)[0]
        than = "the gold text" if row["versus"] in (None, "gold") else f"the {row['versus']} text"
        return (
            f"{row['metric']} gives {what} ({task}) {number(row['value'])} spreads more than {than}."
            if row["value"] > 0
            else f"{row['metric']} gives {what} ({task}) no less than {than}."
        )

    return say


def _injection(row: Row) -> str:
    parts = str(row["slice"]).split("/")
    place = {"alone": "", "before": " before a stranger's text", "after": " after a stranger's text"}
    name = parts[-2] if len(parts) > 2 else parts[-1]
    say = _gain(f"the empty text “{name}”{place.get(parts[-1], ' ' + parts[-1])}")
    return say(row)


def _change(row: Row) -> str:
    task, *rest = _parts(row)
    template = rest[-1] if rest else task
    harmless = "invariance" in rest
    if row["statistic"] == "pass_rate":
        must = "stays put" if harmless else "falls"
        share = f"{row['value']:.0%} of items only"
        return f"The score of {row['metric']} {must} under “{template}” ({task}) on {share}."
    moved = f"{number(row['value'])} spreads"
    if harmless:
        return (
            f"{row['metric']} moves {moved} under “{template}” ({task}), which changes nothing that matters."
        )
    return f"{row['metric']} hardly minds “{template}” in {task}: its score moves {moved}."


def _sentinel(row: Row) -> str:
    return (
        f"{row['metric']} agrees with people on {_parts(row)[-1]} no better than a baseline that compares "
        f"the text with nothing ({number(row['value'])})."
    )


def _attack(row: Row) -> str:
    how = "edits found by search" if row["statistic"] == "attack_gain" else f"the edit {_parts(row)[-1]}"
    return f"{row['metric']} overlooks {number(100 * row['value'])}% of the damage that {how} do to a text."


_SENTENCES: dict[str, Callable[[Row], str]] = {
    "excess_bias": _excess,
    "signed_bias": _signed,
    "effect_size": _effect,
    "accuracy_gap": _gap,
    "biased_share": _share,
    "preference_share": _preference,
    "sensitivity": _sensitivity,
    "insensitive": _sensitivity,
    "position_change": _position,
    "injection_gain": _injection,
    "frequent_gain": _gain("a string of frequent n-grams"),
    "repetition_gain": _gain("a text that repeats itself"),
    "copy_gain": _gain("a copy of the source"),
    "direction_change": _gain("a cut text"),
    "attack_gain": _attack,
    "rule_gain": _attack,
    "score_change": _change,
    "pass_rate": _change,
    "over_sentinel": _sentinel,
}
