"""Phrases that a sentence can lose: the right ones are found, the needed ones are left alone."""

from __future__ import annotations

import pytest

from assay.core import Record
from assay.names.registry import perturbation_class
from assay.perturbations.checklist.structure import loose_phrases, within_half
from assay.perturbations.edit import dropped, read, rewrite

LOOSE = [
    ("The old roof of the shed blew off.", "The old roof blew off."),
    ("A pensioner from Halle nodded.", "A pensioner nodded."),
    ("The doctor sees people in the morning.", "The doctor sees people."),
    ("In March, the town repaired the old bridge.", "The town repaired the old bridge."),
    ("Pelican Pier, which is 640 metres long, was damaged by a storm.", "Pelican Pier was damaged by a storm."),
    ("The director, Maria Lopez, hopes to attract more people.", "The director hopes to attract more people."),
    ("Stormbird is a racing yacht built by the yard.", "Stormbird is a racing yacht."),
    ("He keeps a dog, which is almost blind.", "He keeps a dog."),
    ("The dog, an old setter, slept, and the boy read.", "The dog slept, and the boy read."),
]  # fmt: skip
NEEDED = [
    "Marie Curie was born in Warsaw.",  # was born, and nothing else?
    "She put the medal in a drawer.",
    "It was a carrot that settled the matter.",
    "He was the one who raised the alarm.",
    "Half of the slopes were closed.",
    "The octopus goes from white to red.",
    "The Copper Kettle serves Lebanese food.",
    "They did not want more than ten of them.",
    "She could hardly keep her eyes open.",
    "The mayor is fond of music.",
    "A man with a baby in a sling waits.",
    "A man in a leather jacket and striped shirt points at something off camera.",
]


@pytest.mark.parametrize(("text", "left"), LOOSE)
def test_what_a_sentence_can_lose(text: str, left: str) -> None:
    parse = read(text)
    assert rewrite(parse, dropped(loose_phrases(parse))) == left


@pytest.mark.parametrize("text", NEEDED)
def test_what_it_cannot(text: str) -> None:
    parse = read(text)
    assert [parse.piece(span) for span in loose_phrases(parse)] == []


def test_a_sentence_keeps_half_of_its_words() -> None:
    parse = read("A nurse from Manila repaired a bridge near the river in March. The boat sank.")
    spans = loose_phrases(parse)
    assert len(spans) >= 2
    assert len(rewrite(parse, dropped(within_half(parse, spans))).split(".")[0].split()) >= 6


def test_an_object_goes_with_the_words_that_bring_it_in() -> None:
    record = Record("x", "A small boy is kicking a red ball on a muddy field.", "image-captioning")
    assert perturbation_class("drop-objects")().perturb(record) == "A small boy is kicking a red ball."


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("He bought the black, cream and red models.", None),  # a row of adjectives stays whole
        ("She sat under a cloudy sky.", None),
        ("The chief executive sold a wooden boat.", "The chief executive sold a boat."),
    ],
)
def test_modifiers_that_a_noun_can_lose(text: str, left: str | None) -> None:
    assert perturbation_class("drop-modifiers")().perturb(Record("x", text, "summarisation")) == left
