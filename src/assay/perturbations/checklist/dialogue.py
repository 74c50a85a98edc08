"""Dialogue templates: replies that contradict, repeat, dodge or do not belong (checklist, table 5)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import replies, word_list
from assay.models.nlp import Parse, parse_one
from assay.perturbations.checklist.structure import sentences
from assay.perturbations.edit import dropped, rewrite
from assay.perturbations.negation import negation

# Beside these a negation is clumsy, or turns only half of what was said.
_UNDENIED = frozenset(["please", "even", "too", "still", "nearly", "but", "so", "would", "'d", "’d", "again"])
_SPEAKER = re.compile(r"^\s*([\w .'’-]{1,20}):\s+")


def said_by_same_speaker(context: Sequence[str]) -> list[str]:
    """Earlier turns of whoever replies: by their label, else every second turn counted from the end."""
    labels = [found[1] if (found := _SPEAKER.match(turn)) else None for turn in context]
    turns = [_SPEAKER.sub("", turn).strip() for turn in context]
    if all(labels):
        return [turn for turn, label in zip(turns, labels, strict=True) if label != labels[-1]]
    return turns[-2::-2][::-1]


@dataclass(frozen=True)
class Contradict(Perturbation):
    """The speaker says the contrary of an earlier turn of their own."""

    name = "contradict"
    criterion = "making sense"
    reads = "context"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Negate a statement of the same speaker."""
        for turn in reversed(said_by_same_speaker(record.context)):
            contrary = [negated for sentence in sentences(turn) if (negated := _contrary(sentence))]
            if contrary:
                return rng.choice(contrary)
        return None


def _contrary(sentence: str) -> str | None:
    parse = parse_one(sentence)
    short = len(sentence.split()) < 4 or sentence.lower().startswith(("yes", "no,"))
    if short or not sentence.endswith((".", "!")) or len(parse.sentences) != 1 or not _one_claim(parse):
        return None
    changes = negation(parse, parse.sentences[0])
    imperative = changes is not None and any(word.startswith("Do not") for word in changes.values())
    return rewrite(parse, changes) if changes and not imperative else None


def _one_claim(parse: Parse) -> bool:
    """Whether to deny the main verb is to deny the sentence."""
    joined = any(t.dep == "conj" and parse.tokens[t.head].dep == "ROOT" for t in parse.tokens)
    return not joined and not {t.text.lower() for t in parse.tokens} & _UNDENIED


@dataclass(frozen=True)
class RepeatTurn(Perturbation):
    """The speaker says again what they said before."""

    name = "repeat-turn"
    criterion = "avoiding repetition"
    reads = "context"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Take an earlier turn of the same speaker."""
        earlier = said_by_same_speaker(record.context)
        return rng.choice(earlier) if earlier else None


@dataclass(frozen=True)
class BackOff(Perturbation):
    """A reply that takes up nothing of what was said: Could you say that again?"""

    name = "back-off"
    criterion = "listening"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Take a listed back-off reply."""
        return rng.choice(replies("back_off")) if record.gold.strip() else None


@dataclass(frozen=True)
class GenericReply(Perturbation):
    """A reply that would fit nearly any turn (sec. 5.2; ours for engagingness)."""

    name = "generic-reply"
    criterion = "engagingness"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Take a listed generic reply."""
        return rng.choice(replies("generic")) if record.gold.strip() else None


@dataclass(frozen=True)
class RandomResponse(Perturbation):
    """The reply of another dialogue."""

    name = "random-response"
    criterion = "relevance"
    reads = "others"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Take another gold of the corpus."""
        others = [other for other in record.others if other != record.gold]
        return rng.choice(others) if others else None


@dataclass(frozen=True)
class DropQuestions(Perturbation):
    """The questions of a reply left out (ours: no template for inquisitiveness in table 5)."""

    name = "drop-questions"
    criterion = "inquisitiveness"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Drop every question; a reply that is nothing else becomes a generic one that asks nothing."""
        parse = parse_one(record.gold)
        asked = [span for span in parse.sentences if "?" in parse.piece(span)]
        if not asked:
            return None
        if len(asked) == len(parse.sentences):
            return rng.choice([reply for reply in replies("generic") if "?" not in reply])
        return dropped(parse, asked).strip()


@dataclass(frozen=True)
class MachineTalk(Perturbation):
    """A sentence that only a machine would say (ours: no template for humanness in table 5)."""

    name = "machine-talk"
    criterion = "humanness"

    def apply(self, record: Record, rng: Random) -> str | None:
        """Let it go before the reply."""
        if not record.gold.strip():
            return None
        return f"{rng.choice(word_list('checklist', 'phrases', 'machine_talk'))} {record.gold.strip()}"
