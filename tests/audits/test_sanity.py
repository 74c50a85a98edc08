"""A text or word salad: planted metrics, and texts that cannot be shuffled."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from planted_decisions import Constant, asked, chance, table, written

from assay.audits.sanity import SALAD, UNRELATED, Sanity
from assay.core import Metric


@dataclass(frozen=True)
class Pairs(Metric):
    """The share of the first reference's neighbouring words that are there."""

    name = "pairs"

    def score(self, samples):
        def pairs(text: str) -> set[tuple[str, str]]:
            words = text.split()
            return set(pairwise(words))

        return [
            len(pairs(s.hypothesis) & pairs(s.references[0])) + 0.1 * chance(s.hypothesis) for s in samples
        ]


@dataclass(frozen=True)
class Bag(Metric):
    """The share of the first reference's words that are there, in whatever order."""

    name = "bag"

    def score(self, samples):
        return [float(len(set(s.hypothesis.split()) & set(s.references[0].split()))) for s in samples]


def _data(folder: Path) -> Path:
    texts = [" ".join(f"w{number}x{place}" for place in range(8)) for number in range(30)]
    rows = [{"gold": text, "references": [text + " That was all."], "task": "translation"} for text in texts]
    return written(folder / "own.jsonl", rows)


def test_word_salad_must_lose(tmp_path: Path) -> None:
    audit = Sanity((_data(tmp_path),))
    verdicts = {
        metric.name: {
            s.partition("/")[2]: f.verdict for s, f in table(asked(audit, metric), "right_order").items()
        }
        for metric in (Pairs(), Bag(), Constant())
    }
    assert verdicts["pairs"] == {SALAD: "pass", UNRELATED: "pass"}
    assert verdicts["bag"] == {SALAD: "fail", UNRELATED: "pass"}
    assert verdicts["constant"] == {SALAD: "fail", UNRELATED: "fail"}
    found = table(asked(audit, Bag()), "right_order")[f"own/{SALAD}"]
    assert (found.value, found.sentence) == (
        50.0, "bag prefers a clean text (own) to its words in random order in only 50 of 100 cases.",
    )  # fmt: skip


def test_salad_has_the_same_words_in_another_order(tmp_path: Path) -> None:
    for case in Sanity((_data(tmp_path),)).cases():
        clean, salad = (case.samples[role].hypothesis for role in ("gold", SALAD))
        assert salad != clean
        assert sorted(salad.split()) == sorted(clean.split())
    rows = [{"gold": "他有三只狗。"}, {"gold": "Yes yes"}, {"gold": "Oh"}]
    cases = list(Sanity((written(tmp_path / "short.jsonl", rows),), task=("translation",)).cases())
    salads = {case.samples["gold"].hypothesis: SALAD in case.samples for case in cases}
    assert salads == {"他有三只狗。": True, "Yes yes": True, "Oh": False}


def test_every_task_is_asked() -> None:
    tasks = {case.slice.partition("/")[0] for case in Sanity(limit=2).cases()}
    assert len(tasks) == 7
