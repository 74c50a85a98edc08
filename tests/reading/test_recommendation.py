"""What is recommended, and why nothing is: each rule on a table made for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.core import Estimate, Statistic
from assay.reading.answers import Answer
from assay.reading.lines import EVERYTHING, Kinds, Line, People, Ranking
from assay.reading.recommendation import over_all, recommended
from assay.reading.verdicts import AuditInfo, JudgedRow

ORDER = Statistic("right_order", "", "of 100", bad="low", bar=75.0)
LOST = Statistic("lost_words", "", "of a lost word", bad="far", bar=0.25)
SUBJECTS = {"negate": "a negated main clause"}
ERRORS = AuditInfo("checklist", "Checklist", "robustness", {}, (ORDER,), (), "", SUBJECTS)
FAIRNESS = AuditInfo("stereotype", "Groups", "fairness", {}, (LOST,), (), "")


def right(value: float, half: float = 2.0) -> Estimate:
    return Estimate(value, 100, (value - half, value + half))


def unfair(group: str, value: float) -> JudgedRow:
    columns = {
        "slice": f"religion/group/{group}",
        "statistic": "lost_words",
        "value": value,
        "named_by": group,
    }
    return JudgedRow({"audit": "stereotype", **columns}, FAIRNESS)


def prefers(kind: str, value: float = 20.0) -> JudgedRow:
    return JudgedRow({"audit": "checklist", "slice": f"translation/adequacy/{kind}", "value": value}, ERRORS)


def line(metric: str, rank: int | None = 1, merit: float = 80.0, **changes: object) -> Line:
    """A metric that is right in 85 and 75 of 100, as people in 61, and unfair to nobody."""
    known = Line(
        metric,
        right(85),
        right(75),
        rated=People(right(61), ("SummEval",), is_public=True),
        kinds=Kinds(30),
        fairness=Answer("fairness", {"pass": 9}),
        rank=rank,
        merit=merit,
    )
    return replace(known, **changes)  # type: ignore[arg-type]


def answer(
    *lines: Line, task: str = "translation", kinds: int = 20, overall: dict[str, int] | None = None
) -> Ranking:
    return recommended(Ranking(task, False, lines, kinds, 500), overall or {})


def test_the_best_is_recommended_with_its_numbers() -> None:
    told = answer(line("good"), line("bad", rank=2, merit=60))
    assert told.best == "good"
    assert told.advice == "Of these 2 metrics use good for translation"
    assert told.reason == (
        "good is right in 85 of 100 decisions where a planted error changes the meaning, 75 where the sound text is "
        "reworded too and 61 between texts that people rated (SummEval). "
        "Price in fairness, in lost words (+ above others, - below them): nobody found (9 of 9 settled)."
    )


def test_agreement_with_people_is_named_with_its_sets() -> None:
    rated = People(right(61), ("SummEval", "REALSumm"), is_public=True)
    told = answer(line("good", rated=rated), line("bad", rank=2), task="summarisation")
    assert told.advice == "Of these 2 metrics use good for summarisation"
    assert "and 61 between texts that people rated (SummEval and REALSumm)." in told.reason


def test_tied_metrics_are_told_apart_by_all_tasks_then_by_fairness_then_by_numbers() -> None:
    harsh = line("harsh", unfair=(unfair("Sikh", -0.5),), fairness=Answer("fairness", {"fail": 1, "pass": 8}))
    fair, better = line("fair", merit=79), line("better", merit=82)
    assert answer(harsh, fair, overall={"harsh": 1, "fair": 2}).best == "harsh"
    assert (
        "By these figures it is tied with fair (85, 75 and 61); over all tasks it decides better."
        in answer(harsh, fair, overall={"harsh": 1, "fair": 2}).reason
    )
    tied = answer(harsh, fair, overall={"harsh": 1, "fair": 1})
    assert tied.best == "fair"
    assert (
        "tied with harsh (85, 75 and 61); what decides is fairness: in lost words its unfair effects add up to 0.0, "
        "theirs to 0.5." in tied.reason
    )
    assert answer(fair, better).best == "better"
    assert "it stands first by the mean of these figures." in answer(fair, better).reason


def test_of_tied_metrics_one_that_may_be_right_in_three_of_four_is_recommended() -> None:
    weak, strong = line("weak", errors=right(70), merit=79), line("strong", merit=78)
    assert answer(weak, strong, overall={"weak": 1, "strong": 2}).best == "strong"
    weaker = line("weaker", errors=right(65), merit=70)
    told = answer(weak, weaker, overall={"weak": 2, "weaker": 1})
    assert (told.best, told.closest) == ("", "weak")
    assert told.advice.endswith("the best of them is weak, tied with 1 other")
    assert "a planted error changes the meaning. weak is right in 70" in told.reason
    assert told.why == told.reason[: told.reason.index(" By these figures")]
    assert "tied with weaker (65, 75 and 61); it stands first by the mean of these figures." in told.reason


def test_the_price_of_an_unfair_metric_is_named() -> None:
    rows = (unfair("Sikh", -0.5), unfair("Roma", -0.4), unfair("Jain", 0.3))
    told = answer(
        line("harsh", unfair=rows, fairness=Answer("fairness", {"fail": 3, "pass": 6})), line("bad", rank=2)
    )
    assert told.reason.endswith(
        "(+ above others, - below them): Sikh -0.50, Roma -0.40 and 1 more group (9 of 9 settled)."
    )


@pytest.mark.parametrize(
    ("lines", "kinds", "reason"),
    [
        ((line("alone"),), 20, "There is one metric here, and nothing to compare it with."),
        ((line("one"), line("other", rank=None)), 20, "1 of these 2 metrics decided enough to be compared."),
        ((line("one"), line("other", rank=2)), 4, "Only 4 kinds of error of meaning could be tried"),
        (
            (line("one"), line("other", merit=80.2)),
            20,
            "These 2 metrics decide alike, and nothing else tells them apart.",
        ),
    ],
)
def test_nothing_is_recommended_where_too_little_is_known(
    lines: tuple[Line, ...], kinds: int, reason: str
) -> None:
    told = answer(*lines, kinds=kinds)
    assert (told.best, told.closest, told.advice) == ("", "", "No metric is recommended for translation")
    assert reason in told.reason


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            (line("one", errors=right(70)), line("other", rank=2)),
            "It is right in surely fewer than three of four decisions where a planted error changes the meaning.",
        ),
        (
            (line("one", reworded=right(51)), line("other", rank=2)),
            "It cannot be told from a coin where the sound text is reworded.",
        ),
        (
            (line("one", errors=right(80, 40)), line("other", rank=2)),
            "It cannot be told from a coin where a planted error changes the meaning.",
        ),
        (
            (line("one", rated=People(right(51), ("TED",), True)), line("other", rank=2)),
            "cannot be told from a coin when it decides between texts that people rated",
        ),
    ],
)  # fmt: skip
def test_none_is_good_enough_where_even_the_best_decides_badly(lines: tuple[Line, ...], reason: str) -> None:
    told = answer(*lines)
    assert told.best == ""
    assert told.advice == (
        f"None of these 2 metrics is good enough alone for translation; the best of them is {told.closest}"
    )
    assert reason in told.reason


def test_over_all_tasks_it_is_said_for_which_to_use_which_metric_and_for_which_none() -> None:
    rated = line("good", rated=People(right(64), ("TED",), True))
    everything = answer(rated, line("bad", rank=2), task=EVERYTHING)
    assert everything.reason.startswith("Best over all tasks: good is right in 85 of 100")
    captions = answer(rated, line("bad", rank=2), task="image-captioning")
    other = answer(line("other"), line("bad", rank=2), task="summarisation")
    weak = answer(line("weak", errors=right(70)), line("bad", rank=2))
    data = answer(line("good", rated=None), line("bad", rank=2), task="data-to-text")
    told = over_all(everything, [captions, other, weak, data])
    assert (told.best, told.advice) == (
        "good",
        "Use good for image captioning; other for summarisation; for translation (the best: weak) none "
        "of these metrics is good enough alone; for data-to-text too little is known to recommend one",
    )
    nothing = over_all(everything, [weak])
    assert (nothing.best, nothing.advice) == (
        "",
        "For translation (the best: weak) none of these metrics is good enough alone",
    )


def test_a_metric_that_prefers_what_is_false_is_passed_over_or_bars_the_answer() -> None:
    blind = line("blind", merit=83, rewarded=(prefers("negate"),))
    told = answer(blind, line("good"))
    assert told.best == "good"
    assert (
        "blind is passed over: it prefers texts with a negated main clause to sound ones in 80 of 100 cases."
        in told.reason
    )
    worse = answer(blind, line("worse", rank=2, merit=70))
    assert worse.best == ""
    assert "blind decides best, but prefers texts with a negated main clause" in worse.reason
    assert "worse, the best that prefers no error, is surely 13 of 100 decisions behind." in worse.reason
    assert (
        "So does every other metric here." in answer(blind, replace(blind, metric="other", merit=75)).reason
    )
    assert answer(blind, line("worse", rank=2), task=EVERYTHING).best == "blind"


@pytest.mark.parametrize("task", ["data-to-text", "dialogue", "mine"])
def test_nothing_is_recommended_where_agreement_with_people_was_not_measured(task: str) -> None:
    good, bad = line("good", rated=None), line("bad", rank=2, rated=None)
    told = answer(good, bad, task=task)
    assert (told.best, told.closest) == ("", "")
    assert told.reason.startswith("Agreement with people was not measured")
    assert "On planted errors good leads. good is right in 85 of 100 decisions" in told.reason
    assert answer(line("good"), bad, task=task).best == "good"
    tied = answer(good, line("near", rated=None, errors=right(84)), bad, task=task).reason
    assert "On planted errors 2 metrics are tied" in tied
    assert ": good (85 and 75) and near (84 and 75)." in tied


def test_a_verdict_on_several_metrics_warns_of_each() -> None:
    reads = frozenset({"references"})
    rows = (unfair("Sikh", -0.5), unfair("Roma", 0.4))
    harsh = Answer("fairness", {"fail": 2, "pass": 7})
    lines = (
        line("good", rated=None, contrast=right(30), needs=reads),
        line("near", rated=None, contrast=right(9), needs=reads, unfair=rows, fairness=harsh),
        line(
            "other",
            rated=None,
            contrast=right(60),
            needs=reads,
            fairness=Answer("fairness", {"pass": 2, "inconclusive": 2}),
        ),
    )
    told = answer(*lines, task="question-generation").reason
    assert "and one passage allows many good questions." in told
    assert (
        "Beware: 2 of them prefer a false near-copy to a right text in quite other words in 70 to 91 of"
        in told
    )
    assert "They do not read the passage: what the references leave out goes unchecked" in told
    assert (
        "nobody found (9 of 9 settled) for good; Sikh -0.50 and 1 more group (9 of 9 settled) for near; "
        "unknown (2 of 4 settled) for other." in told
    )


def test_what_misleads_a_metric_and_what_it_does_not_read_are_said() -> None:
    told = answer(line("good", contrast=right(30), needs=frozenset({"references"})), line("bad", rank=2))
    assert "prefers a false near-copy to a right text in quite other words in 70 of 100 cases." in told.reason
    assert (
        "It does not read the source text: what the references leave out goes unchecked, and a right detail"
        in told.reason
    )
    told = answer(line("good", contrast=right(49), needs=frozenset({"source"})), line("bad", rank=2))
    assert "Beware" not in told.reason
    assert "does not read" not in told.reason


def test_for_texts_of_the_users_own_the_price_says_that_it_was_measured_on_english() -> None:
    table = Ranking("mine", True, (line("good"), line("bad", rank=2)), 20, 500)
    assert "Price in fairness, in lost words on English texts (" in recommended(table, {}).reason
    told = recommended(replace(table, language="German"), {}).reason
    assert "Price in fairness, in lost words on German texts (" in told
