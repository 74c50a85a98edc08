"""How many perturbed texts a second, on one core, after the one spaCy pass.

python bench/perturbations.py [--texts 1000]
"""

from __future__ import annotations

import argparse
import time

from assay.audits.stress_levels import levels
from assay.core import Perturbation, Record, Task
from assay.datasets.records import embedded_records
from assay.nlp import parse
from assay.perturbations.ratio import noise_ratio
from assay.registry import find


def corpus(count: int) -> list[Record]:
    """Single sentences from the embedded corpora, repeated up to `count` with a number as their id."""
    tasks: tuple[Task, ...] = ("summarisation", "translation", "open-ended")
    golds = [record.gold for task in tasks for record in embedded_records(task)]
    sentences = list(dict.fromkeys(text for parsed in parse(golds) for text in parsed.sentence_texts()))
    texts = [sentences[number % len(sentences)] for number in range(count)]
    return [Record(str(number), text, "translation", others=sentences) for number, text in enumerate(texts)]


def main() -> None:
    """Print a line a noise and one for all."""
    options = argparse.ArgumentParser()
    options.add_argument("--texts", type=int, default=1000)
    records = corpus(options.parse_args().texts)
    began = time.perf_counter()
    parse([record.gold for record in records])
    print(f"{'spaCy pass':24} {len(records) / (time.perf_counter() - began):10.0f} texts a second")
    total, spent = 0, 0.0
    for name, found in levels("sentences", "careful").items():
        noise: Perturbation = find("perturbations", name)[0](level=found[-1])
        began = time.perf_counter()
        for record in records:
            noised = noise.perturb(record, 1)
            noise_ratio(record.gold, noised or record.gold)
        seconds = time.perf_counter() - began
        total, spent = total + len(records), spent + seconds
        print(f"{name:24} {len(records) / seconds:10.0f} texts a second")
    print(f"{'all noises':24} {total / spent:10.0f} texts a second")


if __name__ == "__main__":
    main()
