"""Can a metric tell a text from word salad at all?

The clean text must win against its own words in random order, and against the text of another item.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from assay.audits.base import TextAudit, in_words, order_in_words
from assay.audits.corpora import MEAN_CHANGE, BlindSpot, right_order_statistic
from assay.audits.effects import BAR, CLEAN
from assay.core import Finding, Record
from assay.language import join_words, split_words
from assay.perturbations.edit import unrelated_text
from assay.recipe import generator
from assay.vocabulary import TASKS, Language

SALAD, UNRELATED = "word-salad", "unrelated-text"
_WORSE = {SALAD: "its words in random order", UNRELATED: "a text of another item"}


def _sentence(finding: Finding) -> str:
    corpus, role = finding.slice.split("/")
    return order_in_words(finding, f"a clean text ({in_words(corpus)})", _WORSE[role])


@dataclass(frozen=True)
class Sanity(BlindSpot, TextAudit):
    """Clean texts against their words in random order, and against texts of other items."""

    name = "sanity"
    title = "A text or word salad"
    advice = "Do not use it here: it does not tell a text from random words."
    wants = "an item needs a gold of two different words, or another item with another gold"
    tasks = TASKS
    quick_items = 30  # when all are right, Wilson's interval of 30 begins at 89, well above the bar of 75
    statistics = (
        right_order_statistic(
            "a clean text and its words in random order, or a text of another item", "", sentence=_sentence
        ),
        MEAN_CHANGE,
    )

    limit: int | None = 60
    task: tuple[str, ...] = ()
    language: Language = "en"  # of the embedded texts
    bar: float = BAR

    def texts(self, record: Record) -> Mapping[str, str] | None:
        """The clean text, word salad and an unrelated text, where they can be made."""
        rng = generator(self.seed, self.name, record.key)
        worse = {SALAD: _shuffled(record.gold, rng), UNRELATED: unrelated_text(record, rng)}
        made = {role: text for role, text in worse.items() if text is not None}
        return {CLEAN: record.gold, **made} if made else None


def _shuffled(text: str, rng: Random) -> str | None:
    """The words of a text in another order; None where there is no other."""
    words = split_words(text)
    if len(set(words)) < 2:
        return None
    salad = words
    while salad == words:
        salad = rng.sample(words, len(words))
    return join_words(salad, text)
