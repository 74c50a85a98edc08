"""Answers of judges to grades: the last one that is named counts, with its scale, and thoughts do not."""

from __future__ import annotations

import pytest

from assay.metrics.judge.answers import parsed, without_thoughts

FIVE = ("1", "2", "3", "4", "5")
TENS = tuple(str(n) for n in range(0, 101, 10))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4", 0.75), ("**4**", 0.75), ("Score: 4/5", 0.75), ("4 out of 5", 0.75), ("4.5", 0.875), ("4,5", 0.875),
        ("Rating: 1.", 0.0), ("On a scale of 1 to 5, I give it 2.", 0.25), ("5 because it is right", 1.0),
        ("The answer is 5.\n\n5", 1.0), ("Rating (1-5): 4", 0.75), ("\\boxed{4}", 0.75), ("<answer>4</answer>", 0.75),
        ("(2 sentences) I rate it 4/5", 0.75), ("I rate it 4/5. It has 2 errors.", 0.75),
        ("I give it 4 because it misses 1 point and 2 words", 0.75), ("4\n\nThe text has 2 sentences.", 0.75),
        ("Clarity: 4/5, style: 2/5. Overall rating: 3", 0.5), ("Grade: 4. 2 out of 3 sentences are fine.", 0.75),
        ("2 out of 3 sentences are wrong, so 2/5.", 0.25), ("4/5 stars (2 small errors)", 0.75),
        ("The text has 2 errors.\n3", 0.5), ("__Rating__: 2", 0.25), ("Final Score: **3**/5", 0.5),
        ('{"grade": 4, "confidence": 0.9}', 0.75), ('```json\n{"reasons": "2 of 3", "grade": 5}\n```', 1.0),
        ('{"score": "3/5"}', 0.5), ("<think>maybe 2</think>\n\n3", 0.5), ("Is it 2?</think>4", 0.75),
    ],
)  # fmt: skip
def test_the_last_named_grade_is_read(text: str, expected: float) -> None:
    assert parsed(FIVE, text).value == expected


@pytest.mark.parametrize(
    "text",
    ["3 or 4", "I rate it 3-4", "between 1 and 5", "good", "", "-", "v2", "3 stars, 2 errors", "<think>Is it 4", "Score -4"],
)  # fmt: skip
def test_an_answer_without_one_grade_is_unparsed(text: str) -> None:
    assert (parsed(FIVE, text).value, parsed(FIVE, text).fault) == (None, "unparsed")


@pytest.mark.parametrize(
    "text", ["7", "0", "100%", "8/10", "Rating: 8 out of 10", "Rating: 0.8", '{"grade": 9}']
)
def test_a_grade_on_another_scale_is_noticed_and_not_converted(text: str) -> None:
    assert (parsed(FIVE, text).value, parsed(FIVE, text).fault) == (None, "other scale")


def test_the_scale_of_a_hundred() -> None:
    assert [parsed(TENS, text).value for text in ("Score: 85/100", "100", "85%", "0")] == [
        0.85,
        1.0,
        0.85,
        0.0,
    ]
    assert {parsed(TENS, text).fault for text in ("101", "8/10", "0.85")} == {"other scale"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A", 1.0), ("Text B.", 0.0), ("(A)", 1.0), ("Better: **B**", 0.0), ("[[B]]", 0.0), ("Answer: A", 1.0),
        ("A good text, but B is better", 0.0), ("I prefer Text A over Text B.", 1.0), ("A wins", 1.0),
        ("A is clear. B has errors.\n\nBetter text: A", 1.0), ("Text A is better than Text B.", 1.0),
        ("B is better than A", 0.0), ("A clear winner is B", 0.0), ('{"better": "B"}', 0.0),
        ("<think>A?</think>B", 0.0),
        ("A or B", None), ("both", None), ("BAD", None), ("Tie", None), ("A good answer would mention Paris.", None),
    ],
)  # fmt: skip
def test_the_last_named_choice_is_read(text: str, expected: float | None) -> None:
    assert parsed(("A", "B"), text).value == expected


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>a</think>4", "4"), ("a</think>4", "4"), ("<think>a", ""), ("4 <think>a</think>", "4"),
        ("[THINK]a[/THINK]4", "4"), ("◁think▷a◁/think▷4", "4"), ("<thinking>a</thinking>\n<think>b</think>4", "4"),
        ("<|channel|>analysis<|message|>a<|channel|>final<|message|>4", "4"), ("I think 4", "I think 4"),
    ],
)  # fmt: skip
def test_thoughts_are_taken_off_whole_or_cut(text: str, left: str) -> None:
    assert without_thoughts(text) == left


def test_long_answers_are_read_in_no_time() -> None:
    """Each would take minutes if every mark were compared with every other."""
    for text in (
        "<think>" * 500_000,
        "</think><think>" * 200_000,
        "rate it " * 3000,
        "1 2 " * 5_000,
        "{" * 20_000,
    ):
        assert parsed(FIVE, text).value is None
        assert parsed(("A", "B"), text).value is None
