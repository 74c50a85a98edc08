"""The embedded questions for judges: answers alike in form, and controls that are neutral."""

from __future__ import annotations

import re

from assay.audits.judge_bias.pairs import embedded_items, wordings

_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def test_every_answer_has_two_sentences_and_wrong_ones_are_as_long() -> None:
    items = embedded_items()
    assert len({item.question for item in items}) == len(items)
    for item in items:
        texts = (item.answer, item.equal, item.wrong)
        assert len(set(texts)) == 3, item.id
        assert all(len(_SENTENCE.split(text)) == 2 for text in texts), item.id
        assert abs(len(item.wrong.split()) - len(item.answer.split())) <= 6, item.id
    right, wrong = (sum(len(text.split()) for text in side) for side in zip(*_sides(), strict=True))
    assert abs(right - wrong) <= 0.06 * right  # length alone must not tell them apart


def _sides() -> list[tuple[str, str]]:
    return [(item.answer, item.wrong) for item in embedded_items()]


def test_controls_say_nothing_of_quality_mood_or_doubt() -> None:
    loaded = re.compile(
        r"\b(best|wrong|right|sure|certain\w*|sad|hate|bore|dreary|annoyed|expert|professor|stranger|tired|likes"
        r"|agree\w*|love|happy|perhaps|guess|firm)\b",
        re.IGNORECASE,
    )
    for name, table in wordings().items():
        for control in table.get("control", ()):
            assert not loaded.search(control), (name, control)
