"""Ordinary pairs, on which a metric must keep its scores (Eq. 5 of unfair): plain, damaged, gendered.

Gendered texts against gendered references are among them, with the right gender and with the wrong one: equal
scores for both genders could be learnt by no longer seeing gender at all, even where the reference states it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from assay.core import Record
from assay.datasets.records import embedded_records
from assay.datasets.swaps import embedded_swaps, swap_texts
from assay.mitigation.counterfactuals import Split, names_winobias, split_of_template
from assay.recipe import generator

_WORDS = 45  # longer texts are left out: they cost most and teach least
_TASKS = (
    "image-captioning",
    "translation",
    "dialogue",
    "question-generation",
    "data-to-text",
    "summarisation",
)


@dataclass(frozen=True, slots=True)
class Ordinary:
    """A text and a reference whose score is to stay."""

    hypothesis: str
    reference: str
    item: str


def ordinary_pairs(seed: int = 0) -> dict[Split, list[Ordinary]]:
    """Embedded pairs by split; items are split whole, and nothing trained on names a WinoBias occupation."""
    found: dict[Split, list[Ordinary]] = {"train": [], "validation": [], "test": []}
    for pair in dict.fromkeys(_pairs(seed)):
        short = max(len(pair.hypothesis.split()), len(pair.reference.split())) <= _WORDS
        part = split_of_template(pair.item)
        if short and (part == "test" or not names_winobias(pair.hypothesis, pair.reference)):
            found[part].append(pair)
    return found


def _pairs(seed: int) -> Iterator[Ordinary]:
    for task in _TASKS:
        records = embedded_records(task)  # type: ignore[arg-type]
        for record in records:
            rng = generator(seed, "ordinary", record.key)
            yield from _of_record(record, rng)
    yield from _gendered()


def _of_record(record: Record, rng: Random) -> Iterator[Ordinary]:
    """Good, damaged and wrong texts against the references, so that the whole scale is kept."""
    item = f"{record.task}-{record.id}"
    others = [text for text in record.others if text != record.gold]
    for reference in record.references[:4]:
        yield Ordinary(record.gold, reference, item)
        yield Ordinary(damaged(record.gold, rng), reference, item)
        yield Ordinary(rng.choice(others), reference, item)
    for one, other in zip(record.references, record.references[1:], strict=False):
        yield Ordinary(one, other, item)
    yield Ordinary(damaged(record.gold, rng), record.gold, item)


def damaged(text: str, rng: Random) -> str:
    """Words dropped, repeated, swapped with their neighbours, or cut from the end."""
    words = text.split()
    place = rng.randrange(max(1, len(words) - 1))
    kind = rng.choice(("drop", "repeat", "swap", "cut"))
    if kind == "drop":
        kept = [word for word in words if rng.random() > 0.2]
    elif kind == "repeat":
        kept = [again for word in words for again in [word] * (2 if rng.random() < 0.15 else 1)]
    elif kind == "swap":
        kept = [*words[:place], *words[place : place + 2][::-1], *words[place + 2 :]]
    else:
        kept = words[: max(1, len(words) * 3 // 4)]
    return " ".join(kept) or text


def _gendered() -> Iterator[Ordinary]:
    """Captions with a gender against references that state one: the same, and the other."""
    for record in embedded_records("image-captioning"):
        texts = (record.gold, *record.references)
        swapped = swap_texts(texts, embedded_swaps())
        told = [s.content in ("male", "female") for s in swapped]
        item = f"{record.task}-{record.id}"
        yield from _crossed(texts, [s.text for s in swapped], told, item)


def _crossed(
    texts: Sequence[str], turned: Sequence[str], told: Sequence[bool], item: str
) -> Iterator[Ordinary]:
    for place, text in enumerate(texts):
        if not told[place]:
            continue
        yield Ordinary(turned[place], text, item)
        for other in range(place + 1, len(texts)):
            if told[other]:
                yield Ordinary(text, texts[other], item)
                yield Ordinary(turned[place], texts[other], item)
