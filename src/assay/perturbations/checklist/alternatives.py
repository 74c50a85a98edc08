"""Alternatives: a text to another that people wrote for the item, or to one of its other wordings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.datasets import lexicon

SHORTEST, LONGEST = 0.6, 1.7  # words of an alternative, as a multiple of the text's own
LEAST_RECALL = 0.5  # of the content words of a summary that an alternative must have
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class AlternativeReference(Perturbation):
    """A reference of like length takes the text's place (fig. 4), and is scored against those that remain.

    Of summaries, which may choose other content, only one that shares half of the text's content words.
    """

    name = "alternative-reference"
    criterion = "invariance"
    reads = "references"
    expect = "same"
    languages = None
    seeded = False

    def apply(self, record: Record, rng: Random) -> str | None:
        # Another reference must be left to compare with.
        if len(set(record.references)) < 2:
            return None
        equal = [text for text in record.references if _is_equal(record, text)]
        return Random(record.key).choice(equal) if equal else None  # the same under every seed


def _is_equal(record: Record, text: str) -> bool:
    gold, other = len(record.gold.split()), len(text.split())
    alike = text.strip() != record.gold.strip() and SHORTEST * gold <= other <= LONGEST * gold
    return alike and (record.task != "summarisation" or content_recall(record.gold, text) >= LEAST_RECALL)


def content_recall(gold: str, text: str) -> float:
    """The share of a text's content words that another has."""
    stop_words = lexicon.word_set("words", "stop_words")
    wanted, present = ({w for w in _WORD.findall(t.lower()) if w not in stop_words} for t in (gold, text))
    return len(wanted & present) / len(wanted) if wanted else 0.0


# The templates that `rewording` draws from.
REWORDINGS = (
    "synonyms", "equal-phrases", "spelling", "date-format", "abbreviations", "numerals-to-words",
    "quotation-style", "optional-commas", "contractions", "expansions", "optional-that", "caption-form",
    "in-or-wearing",
)  # fmt: skip


@dataclass(frozen=True)
class Rewording(Perturbation):
    """One of the invariances that apply, drawn at random: most texts have at least one other wording."""

    name = "rewording"
    criterion = "invariance"
    expect = "same"

    def apply(self, record: Record, rng: Random) -> str | None:
        from assay.names.registry import perturbation_class

        written = record.task == "data-to-text"  # where contractions are out of style
        names = [name for name in REWORDINGS if not (written and name == "contractions")]
        for name in rng.sample(names, len(names)):
            changed = perturbation_class(name)().apply(record, rng)
            if changed and changed != record.gold:
                return changed
        return None
