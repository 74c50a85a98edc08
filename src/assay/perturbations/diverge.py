"""BERT-diverge of *blind*: words replaced one by one by likely words of another meaning; and a fallback."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from random import Random

from assay.core import Perturbation, Record
from assay.datasets.lexicon import capitalised, jsonl_file
from assay.errors import WeightsError
from assay.models.nlp import Token, parse
from assay.perturbations.edit import Text, read

TOP = 10
FALLBACK = "words of the same kind or tag, for want of a masked language model"
_CONTINUED = re.compile(r"[^\W_]|['’-]")  # how the next token starts if it belongs to the same word
_POOL_TEXTS = 200  # of the corpus are searched for words


@dataclass(frozen=True)
class BertDiverge(Perturbation):
    """A share of the words is replaced one by one by what a masked language model expects there.

    `model` names its weights. Without one, a word is replaced by a sibling (a colour by a colour, a trade by
    a trade) or by a word of the corpus with the same tag: the grammar stays and the meaning changes, as with
    the model. The field is part of the signature, so results of the two are never mixed.
    """

    name = "bert-diverge"
    criterion = "consistency"
    level: float = 0.3
    model: str | None = None

    @property
    def method(self) -> str:
        return f"masked language model {self.model}" if self.model else FALLBACK

    def apply(self, record: Record, rng: Random) -> str | None:
        text = read(record.gold)
        count = round(self.level * len(text.tokens))
        # Not "did" in "didn't", the first part of a contraction or compound.
        places = [
            i
            for i, token in enumerate(text.tokens)
            if token.text[:1].isalpha() and (token.space or not _CONTINUED.match(text.word_at(i + 1)))
        ]
        rng.shuffle(places)
        changes: dict[int, str] = {}
        for place in places:
            if len(changes) == count:
                break
            if self.model:
                word = self._expected(text, changes, place, rng)
            else:
                word = _another(record, text.tokens[place], rng)
            if word is not None:
                changes[place] = word
        return text.replaced(changes) if changes else None

    def _expected(self, text: Text, changes: Mapping[int, str], place: int, rng: Random) -> str | None:
        """A likely word by the model, after the changes so far; None for words of several pieces."""
        import torch

        from assay.models.torch import load

        loaded = load("AutoModelForMaskedLM", str(self.model), unused=("pooler",))
        tokenizer = loaded.tokenizer
        if tokenizer.mask_token is None:
            raise WeightsError(
                f"{loaded.path} has no mask token; give a masked language model, or none at all"
            )
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


def _another(record: Record, token: Token, rng: Random) -> str | None:
    """A sibling of the word or a word with its tag; None where three draws give the word itself."""
    lower = token.text.lower()
    siblings = _siblings().get((lower, token.pos))
    choice: Sequence[str] = siblings or _words_by_tag(tuple(record.others)).get(token.tag, ())
    for _ in range(3):
        word = rng.choice(choice) if choice else lower
        if word.lower() != lower:
            return capitalised(word) if token.text[:1].isupper() else word
    return None


@lru_cache(maxsize=16)
def _words_by_tag(texts: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The words of a corpus by fine-grained tag, in order of appearance; names keep their capitals."""
    by_tag: dict[str, dict[str, None]] = {}
    for parsed in parse(texts[:_POOL_TEXTS]):
        for token in parsed.tokens:
            if token.text[:1].isalpha():
                word = token.text if token.pos == "PROPN" else token.text.lower()
                by_tag.setdefault(token.tag, {})[word] = None
    return {tag: tuple(words) for tag, words in by_tag.items()}


@cache
def _siblings() -> dict[tuple[str, str], tuple[str, ...]]:
    """(word, part of speech) to the other words of its kind; there may be none."""
    table: dict[tuple[str, str], tuple[str, ...]] = {}
    for group in jsonl_file("words", "siblings"):
        pos = "PROPN" if group["proper"] else str(group["pos"]).upper()
        terms = [term for term in group["terms"] if " " not in term]
        for term in terms:
            table[term, pos] = tuple(other for other in terms if other != term)
    return table
