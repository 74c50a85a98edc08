"""BERT-diverge of *blind* and the masked words of *checklist*: likely words of another meaning.

By a masked language model as in the release; without one, by the causal model that assay carries.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

import numpy as np

from assay.core import Perturbation, Record
from assay.datasets import lexicon
from assay.datasets.lexicon import template_words
from assay.errors import WeightsError
from assay.models import fill
from assay.models.weights import present
from assay.perturbations import edit
from assay.perturbations.checklist.frames import stands_in
from assay.perturbations.edit import Text, read

TOP = 10
LM_DIVERGE = f"lm-diverge, with the causal language model {fill.MODEL}"
_CONTINUED = re.compile(r"[^\W_]|['’-]")  # how the next token starts if it belongs to the same word
_LEAST = -4.0  # how much less likely than the old word a new one may be, in nats
_CHANGED = 0.35  # of the words drawn are changed in the release, by its noise-ratios on CNN/DM
_ENCODER, _SAME = "minilm", 0.8  # the cosine from which two versions of a sentence say nearly the same
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
    level: float = 0.3
    model: str | None = None

    @property
    def method(self) -> str:
        return f"masked language model {self.model}" if self.model else LM_DIVERGE

    def apply(self, record: Record, rng: Random) -> str | None:
        text = read(record.gold)
        count = round(self.level * len(text.tokens))
        changes = self._by_masked(text, count, rng) if self.model else _by_causal(text, count, rng)
        return text.replaced(changes) if changes else None

    def _by_masked(self, text: Text, count: int, rng: Random) -> dict[int, str]:
        places = _free_places(text)
        rng.shuffle(places)
        changes: dict[int, str] = {}
        for place in places:
            if len(changes) == count:
                break
            word = self._expected(text, changes, place, rng)
            if word is not None:
                changes[place] = word
        return changes

    def _expected(self, text: Text, changes: Mapping[int, str], place: int, rng: Random) -> str | None:
        """A likely word by the model, after the changes so far; None for words of several pieces."""
        from assay.models.lazy import torch
        from assay.models.torch import load

        loaded = load("AutoModelForMaskedLM", str(self.model), unused=("pooler",))
        tokenizer = loaded.tokenizer
        if tokenizer.mask_token is None:
            given = f"{loaded.path} has no mask token"
            raise WeightsError(f"{given}; give a masked language model, or none at all")
        if len(tokenizer.tokenize(text.tokens[place].text)) > 1:
            return None  # as in the release
        masked = text.replaced({**changes, place: tokenizer.mask_token})
        inputs = tokenizer(masked, return_tensors="pt", truncation=True)
        ids = inputs["input_ids"][0].tolist()
        if tokenizer.mask_token_id not in ids:
            return None
        with torch.inference_mode():
            scores = loaded.model(**inputs.to(loaded.device)).logits[0]
        best = scores[ids.index(tokenizer.mask_token_id)].softmax(-1).topk(TOP)
        drawn = rng.choices(best.indices.tolist(), best.values.tolist())[0]
        return tokenizer.decode([drawn]).strip() or text.tokens[place].text


@dataclass(frozen=True)
class MaskedWords(Perturbation):
    """A share of the nouns and verbs replaced by likely words of their form, by a causal language model.

    Of a generated question, only the sentences that ask change. A word that leaves its sentence with nearly
    the same meaning, by a sentence encoder where its weights are here, is not used.
    """

    name = "masked-words"
    criterion = "relevance"
    share: float = 0.3

    @property
    def method(self) -> str:
        return f"causal language model {fill.MODEL}" + (f", encoder {_ENCODER}" if present(_ENCODER) else "")

    def apply(self, record: Record, rng: Random) -> str | None:
        text = read(record.gold)
        ends = "?" if record.task == "question-generation" else ""
        spans = [span for span in text.sentences if ends in text.piece(span)]
        nouns = {i for s in spans for i in range(s.start, s.end) if text.tokens[i].pos in ("NOUN", "VERB")}
        options = _of_another_meaning(text, fillings(text, nouns))
        drawn = edit.draw_share(list(options), self.share, rng)
        changes = {place: word for place in drawn if (word := _draw(options[place], rng))}
        return edit.rewrite(text, changes) if changes else None


def _of_another_meaning(text: Text, options: Mapping[int, fill.Choices]) -> dict[int, fill.Choices]:
    """The words after which a sentence says something else: not which seat do you choose (prefer)."""
    if not present(_ENCODER):
        return dict(options)
    from assay.models.encoder import pooled
    from assay.models.torch import load

    apart = {}
    for i, choices in options.items():
        sentence, at = text.piece(text.sentence_of(i)), text.tokens[text.sentence_of(i).start].start
        before, after = sentence[: text.tokens[i].start - at], sentence[text.tokens[i].end - at :]
        changed = [before + word + after for word in choices.words]
        own, *new = (
            v / np.linalg.norm(v)
            for v in pooled(load("AutoModel", _ENCODER), [sentence, *changed], "warn")[0]
        )
        far = [
            (w, g)
            for w, g, v in zip(choices.words, choices.gains, new, strict=True)
            if own @ v < _SAME and g >= _LEAST
        ]
        if far:
            apart[i] = fill.Choices(*zip(*far, strict=True))
    return apart


def _free_places(text: Text) -> list[int]:
    """The words that stand alone: not "did" in "didn't", the first part of a contraction or compound."""
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


def _draw(choices: fill.Choices, rng: Random) -> str | None:
    """One of the words by their probability; None where all are much less likely than the old one."""
    words = {word: gain for word, gain in zip(choices.words, choices.gains, strict=True) if gain >= _LEAST}
    return rng.choices(list(words), [math.exp(gain) for gain in words.values()])[0] if words else None


def fillings(text: Text, among: Container[int] | None = None) -> dict[int, fill.Choices]:
    """The content words that likely ones of another meaning may replace, with those; none without a model.

    Only the words `among` these are looked at, where given.
    """
    if fill.missing() is not None:
        return {}
    free = [i for i in _free_places(text) if among is None or i in among]
    places = _spread([i for i in free if stands_in("open-word", text, i)], len(text.tokens))
    spots = [fill.Place(text.tokens[i].start, text.tokens[i].end) for i in places]
    present = frozenset(token.text.lower() for token in text.tokens)

    def fits(number: int, word: str) -> bool:
        token = text.tokens[places[number]]
        return word not in present and is_alternative(token.text.lower(), token.tag, word)

    choices = fill.likely_words(text.text, spots, fits)
    return {i: choices[spot] for i, spot in zip(places, spots, strict=True) if spot in choices}


def _spread(places: Sequence[int], tokens: int) -> list[int]:
    """A quarter of the words at most, no two neighbours: more are never changed, and each costs time."""
    apart = [i for n, i in enumerate(places) if n == 0 or i > places[n - 1] + 1]
    most = max(_FEWEST, tokens // 4)
    step = max(1.0, len(apart) / most)
    return [apart[int(n * step)] for n in range(min(most, len(apart)))]


@cache
def is_alternative(old: str, tag: str, word: str) -> bool:
    """Whether a word has the form of a tag, and is no form and no synonym of the old word."""
    if word in lexicon.word_set("words", "stop_words") or word in template_words("fillings_unwanted"):
        return False
    word_class = {"N": "noun", "V": "verb", "J": "adj", "R": "adv"}[tag[0]]
    lemma, own = edit.lemma_of(word, word_class), edit.lemma_of(old, word_class)
    classes = edit.known_classes(word)
    certain = word_class.upper() in classes and not classes & _DOUBTFUL[word_class]
    formed = certain and edit.inflect(lemma, tag) == word
    table, groups = lexicon.synonyms(), lexicon.toml_file("checklist", "nouns")["words_alike"]
    alike = lemma in table.get((word_class, own), ()) or own in table.get((word_class, lemma), ())
    alike |= any({lemma, own} <= set(group) for group in groups) or own in template_words("fillings_unwanted")
    light = word_class == "verb" and lemma in template_words("light_verbs")
    return formed and not light and not alike and lemma != own and lemma[:5] != own[:5]
