"""BERT-diverge of *blind* and the masked words of *checklist*: likely words of another meaning.

By a masked language model as in the release; without one, by the causal model that assay carries.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import synonyms, template_words
from assay.files import toml_file, word_set
from assay.models import fill
from assay.perturbations import edit
from assay.perturbations.checklist.content import noun_kind
from assay.perturbations.checklist.frames import stands_in
from assay.perturbations.edit import Text, read

TOP = 10
LM_DIVERGE = f"lm-diverge, with the causal language model {fill.MODEL}"
_CONTINUED = re.compile(r"[^\W_]|['’-]")  # how the next token starts if it belongs to the same word
_LEAST = -4.0  # how much less likely than the old word a new one may be, in nats
_LEAST_SURE = -1.5  # the same for a noun of a question
_CHANGED = 0.35  # of the words drawn are changed in the release, by its noise-ratios on CNN/DM
_FEWEST = 5  # words that the model is asked for, where a text has so many
# A word of these classes too is seldom meant as the first: "left" is a noun now and then.
_DOUBTFUL = {"noun": {"ADJ", "ADV"}, "verb": {"ADV"}, "adj": {"VERB", "ADV"}, "adv": {"NOUN", "VERB", "ADJ"}}


@dataclass(frozen=True)
class BertDiverge(Perturbation):
    """A share of the words is replaced by what a language model expects in their places.

    `model` names the weights of a masked model, as in the release. Without one, content words are replaced by
    the likeliest words of their form, by the causal model that assay carries, rescored with what follows, as
    many as a masked model changes. Without torch or its weights nothing is changed. The field is part of the
    signature, so results of the two are never mixed.
    """

    name = "bert-diverge"
    criterion = "consistency"
    title = "words that a model put in"
    levels = (0.1, 0.2, 0.3, 0.4)

    level: float = 0.3
    model: str | None = None

    @property
    def method(self) -> str:
        return f"masked language model {self.model}" if self.model else LM_DIVERGE

    def apply(self, record: Record, rng: Random) -> str | None:
        text = read(record.gold)
        count = round(self.level * len(text.tokens))
        changes = self._by_masked(text, count, rng) if self.model else _by_causal(text, count, rng)
        return text.replaced(changes)

    def _by_masked(self, text: Text, count: int, rng: Random) -> dict[int, str]:
        places = _free_places(text)
        rng.shuffle(places)
        changes: dict[int, str] = {}
        for place in places:
            if len(changes) < count and (word := self._expected(text, changes, place, rng)):
                changes[place] = word
        return changes

    def _expected(self, text: Text, changes: Mapping[int, str], place: int, rng: Random) -> str | None:
        """A likely word by the model, after the changes so far; None for words of several pieces."""
        word = text.tokens[place].text
        likely = fill.expected_words(
            str(self.model), lambda mask: text.replaced({**changes, place: mask}), TOP, instead_of=word
        )
        return rng.choices([new or word for new, _ in likely], [p for _, p in likely])[0] if likely else None


@dataclass(frozen=True)
class MaskedWords(Perturbation):
    """A share of the nouns replaced by likely ones of their kind and form, by a causal language model.

    Of a generated question, only the sentences that ask change.
    """

    name = "masked-words"
    criterion = "relevance"
    title = "nouns replaced by likely others"
    tasks = ("question-generation",)

    share: float = 0.3

    @property
    def method(self) -> str:
        return f"causal language model {fill.MODEL}"

    def apply(self, record: Record, rng: Random) -> str | None:
        text = read(record.gold)
        ends = "?" if record.task == "question-generation" else ""
        spans = [span for span in text.sentences if ends in text.piece(span)]
        asked = [i for span in spans for i in range(span.start, span.end)]
        nouns = [i for i in asked if stands_in("maskable-noun", text, i)]
        options = fillings(text, [i for i in nouns if _listed_kind(text.tokens[i].text)])
        drawn = edit.draw_share(list(options), self.share, rng)
        changes = {place: word for place in drawn if (word := _draw(options[place], rng, _LEAST_SURE))}
        return edit.rewrite(text, changes)


@cache
def _listed_kind(noun: str) -> str | None:
    """What a noun names, a person, a place and so on, where the lists have it; None for any other."""
    kind = noun_kind(noun)
    listed = kind != "thing" or edit.lemma_of(noun, "noun") in word_set("checklist", "nouns", "thing")
    return kind if listed else None


def _free_places(text: Text) -> list[int]:
    """The words that are not the first part of a contraction or compound: not "did" in "didn't"."""
    words = [i for i, token in enumerate(text.tokens) if token.text[:1].isalpha()]
    return [i for i in words if text.tokens[i].space or not _CONTINUED.match(text.word_at(i + 1))]


def _by_causal(text: Text, count: int, rng: Random) -> dict[int, str]:
    """As many words as a masked model would change: in the release it often gives the old word back."""
    options = fillings(text)
    places = list(options)
    rng.shuffle(places)
    changes = ((place, _draw(options[place], rng)) for place in places)
    certain = [(place, word) for place, word in changes if word is not None]
    return dict(certain[: round(count * _CHANGED)])


def _draw(choices: fill.Choices, rng: Random, least: float = _LEAST) -> str | None:
    """One of the words by their probability; None where all are much less likely than the old one."""
    words = {word: gain for word, gain in zip(choices.words, choices.gains, strict=True) if gain >= least}
    return rng.choices(list(words), [math.exp(gain) for gain in words.values()])[0] if words else None


def fillings(text: Text, among: Container[int] | None = None) -> dict[int, fill.Choices]:
    """The content words that likely ones of another meaning may replace, with those; none without a model.

    Where words `among` which to look are given, only these are replaced, by words of their kind.
    """
    open_words = [i for i in _free_places(text) if stands_in("open-word", text, i)]
    if among is not None:
        open_words = [i for i in open_words if i in among]
    places = _spread(open_words, len(text.tokens))
    if not places or fill.missing() is not None:
        return {}
    spots = [fill.MaskedPlace(text.tokens[i].start, text.tokens[i].end) for i in places]

    def fits(number: int, word: str) -> bool:
        return _fits(text, places[number], word, of_its_kind=among is not None)

    choices = fill.likely_words(text.text, spots, fits)
    return {i: choices[spot] for i, spot in zip(places, spots, strict=True) if spot in choices}


def _fits(text: Text, place: int, word: str, *, of_its_kind: bool) -> bool:
    """Whether a word that the text does not have may stand in a place."""
    token = text.tokens[place]
    alike = not of_its_kind or _listed_kind(word) == _listed_kind(token.text)
    return alike and word not in _present(text.text) and is_alternative(token.text.lower(), token.tag, word)


@lru_cache(maxsize=8)
def _present(text: str) -> frozenset[str]:
    """The words of a text in lower case."""
    return frozenset(token.text.lower() for token in read(text).tokens)


def _spread(places: Sequence[int], tokens: int) -> list[int]:
    """At most a quarter of the words, and no two neighbours: each one costs time."""
    apart = [i for n, i in enumerate(places) if n == 0 or i > places[n - 1] + 1]
    most = max(_FEWEST, tokens // 4)
    step = max(1.0, len(apart) / most)
    return [apart[int(n * step)] for n in range(min(most, len(apart)))]


@cache
def is_alternative(old: str, tag: str, word: str) -> bool:
    """Whether a word has the form of a tag, and is no form and no synonym of the old word."""
    if word in word_set("words", "stop_words") or word in template_words("fillings_unwanted"):
        return False
    word_class = {"N": "noun", "V": "verb", "J": "adj", "R": "adv"}[tag[0]]
    lemma, own = edit.lemma_of(word, word_class), edit.lemma_of(old, word_class)
    classes = edit.known_classes(word)
    certain = word_class.upper() in classes and not classes & _DOUBTFUL[word_class]
    formed = certain and edit.inflect(lemma, tag) == word
    table, groups = synonyms(), toml_file("checklist", "nouns")["words_alike"]
    alike = lemma in table.get((word_class, own), ()) or own in table.get((word_class, lemma), ())
    alike |= any({lemma, own} <= set(group) for group in groups) or own in template_words("fillings_unwanted")
    light = word_class == "verb" and lemma in template_words("light_verbs")
    return formed and not light and not alike and lemma != own and lemma[:5] != own[:5]
