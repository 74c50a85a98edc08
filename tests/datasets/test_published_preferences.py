"""Preferences between answers, each in a small file in the exact published form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.datasets.published.ratings import read_ratings
from assay.datasets.ratings import RIVALS, Rated
from assay.errors import DataError


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def outcomes(rated: list[Rated]) -> dict[str, tuple[float, ...]]:
    return {item.sample.hypothesis: item.human["overall"] for item in rated}


def test_rewardbench(tmp_path: Path) -> None:
    row = {"prompt": "Q?", "chosen": "Good.", "chosen_model": "x", "rejected": "Bad.", "rejected_model": "y",
           "subset": "llmbar-natural", "id": 7}  # fmt: skip
    rated = read_ratings(lines(tmp_path / "filtered.jsonl", row))
    assert outcomes(rated) == {"Good.": (1.0,), "Bad.": (0.0,)}
    assert {(item.doc, item.sample.source, item.system) for item in rated} == {
        ("llmbar-natural/7", "Q?", None)
    }
    assert rated[0].meta == {"subset": "llmbar-natural"}


def test_rewardbench_2_compares_every_right_with_every_wrong_answer(tmp_path: Path) -> None:
    row = {"id": "9", "prompt": "Q?", "chosen": ["R1", "R2"], "rejected": ["W1", "W2", "W3"], "num_correct": 2,
           "num_incorrect": 3, "total_completions": 5, "models": ["a"] * 5, "subset": "Ties"}  # fmt: skip
    rated = read_ratings(lines(tmp_path / "test.jsonl", row))
    assert outcomes(rated) == {
        "R1": (1.0,) * 3, "R2": (1.0,) * 3, "W1": (0.0,) * 2, "W2": (0.0,) * 2, "W3": (0.0,) * 2
    }  # fmt: skip
    with pytest.raises(DataError, match="line 1: column 'rejected' must hold an answer"):
        read_ratings(lines(tmp_path / "odd.jsonl", row | {"rejected": []}))


def test_judgebench(tmp_path: Path) -> None:
    row = {"pair_id": "p", "original_id": "o", "source": "mmlu-pro-law", "question": "Q?", "response_model": "m",
           "response_A": "One.", "response_B": "Two.", "label": "B>A"}  # fmt: skip
    rated = read_ratings(lines(tmp_path / "gpt.jsonl", row))
    assert outcomes(rated) == {"One.": (0.0,), "Two.": (1.0,)}
    assert (rated[0].sample.source, rated[0].meta) == ("Q?", {"subset": "mmlu-pro-law"})
    with pytest.raises(DataError, match="line 1: column 'label' must be A>B or B>A, not 'A'"):
        read_ratings(lines(tmp_path / "odd.jsonl", row | {"label": "A"}))


def talk(answer: str) -> list[dict[str, str]]:
    return [{"content": "Q?", "role": "user"}, {"content": answer, "role": "assistant"}]


def test_arena_conversations(tmp_path: Path) -> None:
    row = {"question_id": "q", "model_a": "x", "model_b": "y", "judge": "j", "turn": 1, "language": "English",
           "conversation_a": talk("One."), "conversation_b": talk("Two.")}  # fmt: skip
    for winner, share in (("model_a", 1.0), ("model_b", 0.0), ("tie", 0.5), ("tie (bothbad)", 0.5)):
        first, second = read_ratings(lines(tmp_path / "train.jsonl", row | {"winner": winner}))
        assert (first.human["overall"], second.human["overall"]) == ((share,), (1 - share,))
    assert (first.system, first.sample.source, first.meta[RIVALS]) == ("x", "Q?", {"overall": ["y"]})
    with pytest.raises(DataError, match="column 'winner' must be model_a, model_b or tie, not 'x'"):
        read_ratings(lines(tmp_path / "odd.jsonl", row | {"winner": "x"}))
    with pytest.raises(DataError, match="column 'conversation_b' must hold a question and an answer"):
        read_ratings(lines(tmp_path / "cut.jsonl", row | {"winner": "tie", "conversation_b": []}))


def test_arena_table(tmp_path: Path) -> None:
    head = "id,model_a,model_b,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie\n"
    row = '1,x,y,"[""Q1"",""Q2""]","[""A1"",null]","[""B1"",""B2""]",0,0,1\n'
    path = tmp_path / "train.csv"
    path.write_text(head + row, "utf-8")
    first, second = read_ratings(path)
    assert (first.sample.hypothesis, second.sample.hypothesis) == ("A1\n", "B1\nB2")
    assert (first.sample.source, first.human, second.human) == (
        "Q1\nQ2",
        {"overall": (0.5,)},
        {"overall": (0.5,)},
    )


def test_helpsteer(tmp_path: Path) -> None:
    rated = {
        "prompt": "Q?",
        "response": "A.",
        "helpfulness": 3,
        "correctness": 4,
        "coherence": 4,
        "complexity": 2,
    }
    (item,) = read_ratings(lines(tmp_path / "validation.jsonl", rated | {"verbosity": 1}))
    assert (item.sample.source, item.human["helpfulness"], item.human["verbosity"]) == ("Q?", (3.0,), (1.0,))
    row = {"prompt": "Q?", "response_1": "One.", "response_2": "Two.", "split": "train"}
    for strength, share in ((-2, 1.0), (0, 0.5), (3, 0.0)):
        first, _ = read_ratings(lines(tmp_path / "preference.jsonl", row | {"preference_strength": strength}))
        assert first.human == {"overall": (share,)}
    newer = {"domain": "code", "language": "python", "context": [{"role": "user", "content": "Q?"}],
             "response1": "One.", "response2": "Two.", "overall_preference": 1}  # fmt: skip
    first, second = read_ratings(lines(tmp_path / "three.jsonl", newer))
    assert (first.human["overall"], second.human["overall"]) == ((0.0,), (1.0,))
    assert (first.sample.source, first.meta) == ("user: Q?", {"domain": "code", "language": "python"})
