"""Texts for the neural benchmarks: sentences of the embedded corpora, each with perturbed versions."""

from __future__ import annotations

import json
import random
from importlib import resources


def references(count: int) -> list[str]:
    found: list[str] = []
    for file in sorted((resources.files("assay.data") / "corpora").iterdir(), key=lambda item: item.name):
        if file.name.endswith(".jsonl"):
            for line in file.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                found += [row.get("gold", ""), *row.get("references", ())]
    texts = [text for text in dict.fromkeys(found) if 40 <= len(text) <= 400]
    random.Random(0).shuffle(texts)
    return texts[:count]


def versions(text: str, count: int) -> list[str]:
    """Words lost, doubled, swapped, and cut at the end, at several levels."""
    made = []
    for number in range(count):
        rng = random.Random(f"{number}:{text}")
        words = text.split()
        for _ in range(1 + number // 6):
            place = rng.randrange(len(words))
            way = number % 4
            if way == 0 and len(words) > 3:
                del words[place]
            elif way == 1:
                words.insert(place, words[place])
            elif way == 2 and len(words) > 1:
                other = rng.randrange(len(words))
                words[place], words[other] = words[other], words[place]
            elif way == 3 and len(words) > 3:
                words.pop()
        made.append(" ".join(words))
    return made
