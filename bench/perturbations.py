"""How many perturbed texts a second of processor time, on one core, after the one spaCy pass.

Run: python -m bench.perturbations [texts]
"""

from __future__ import annotations

import sys
import time

from assay.audits.stress.audit import levels
from assay.core import Perturbation, Record
from assay.datasets.records import embedded_records
from assay.models.nlp import parse
from assay.names.registry import find
from assay.perturbations.ratio import noise_ratio
from assay.vocabulary import Task


def corpus(count: int) -> list[Record]:
    """Single sentences from the embedded corpora, repeated up to `count` with a number as their id."""
    tasks: tuple[Task, ...] = ("summarisation", "translation", "open-ended")
    golds = [record.gold for task in tasks for record in embedded_records(task)]
    distinct = dict.fromkeys(text for parsed in parse(golds) for text in parsed.sentence_texts())
    sentences = list(distinct)[:count]
    texts = [sentences[number % len(sentences)] for number in range(count)]
    return [Record(str(number), text, "translation", others=sentences) for number, text in enumerate(texts)]


def main(texts: int = 1000) -> dict[str, float]:
    """Texts a second: the spaCy pass, each noise, and all noises."""
    records = corpus(texts)
    began = time.process_time()
    parse([record.gold for record in records])
    distinct = len({record.gold for record in records})
    figures = {"spacy_pass": distinct / (time.process_time() - began)}
    total, spent = 0, 0.0
    noises = levels("sentences", "careful")
    noises.pop("bert-diverge", None)  # runs a language model
    for name, found in noises.items():
        noise: Perturbation = find("perturbations", name)[0](level=found[-1])
        began = time.process_time()
        for record in records:
            noised = noise.perturb(record, 1)
            noise_ratio(record.gold, noised or record.gold)
        seconds = time.process_time() - began
        total, spent = total + len(records), spent + seconds
        figures[name] = len(records) / seconds
    return figures | {"all_noises": total / spent}


if __name__ == "__main__":
    for name, value in main(*map(int, sys.argv[1:])).items():
        print(f"{name:24} {value:10.0f} texts a second")
