"""Gold text to text that drifts away word by word: BERT-diverge of *blind*, and its labelled fallback."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from random import Random
from typing import Any

from assay.core import Perturbation, Record
from assay.errors import WeightsError
from assay.models.nlp import Parse, Token, parse, parse_one

TOP = 10
FALLBACK = "words of the same kind or tag, for want of a masked language model"
_POOL_TEXTS = 200


@dataclass(frozen=True)
class BertDiverge(Perturbation):
    """A share of the words is replaced one by one by what a masked language model expects there.

    `model` names its weights. Without one, a word gives way to a sibling (colour for colour, trade for
    trade) or to a word of the same tag from the corpus: the grammar stays and the meaning drifts, as with
    the model. The field stays in the signature, so the two are never mixed up.
    """

    name = "bert-diverge"
    criterion = "consistency"
    level: float = 0.3
    model: str | None = None

    @property
    def method(self) -> str:
        """How words are found, for reports."""
        return f"masked language model {self.model}" if self.model else FALLBACK

    def apply(self, record: Record, rng: Random) -> str | None:
        """Replace words at random places, in turn."""
        parsed = parse_one(record.gold)
        count = round(self.level * len(parsed.tokens))
        if not count:
            return None
        places = [
            i for i, token in enumerate(parsed.tokens) if token.text[:1].isalpha() and not _glued(parsed, i)
        ]
        rng.shuffle(places)
        return (
            self._by_model(parsed, places, count, rng)
            if self.model
            else _by_tag(record, parsed, places, count, rng)
        )

    def _by_model(self, parsed: Parse, places: list[int], count: int, rng: Random) -> str | None:
        import torch

        tokenizer, model = self._masked
        changes: dict[int, str] = {}
        for place in places:
            if len(changes) == count:
                break
            if len(tokenizer.tokenize(parsed.tokens[place].text)) > 1:
                continue  # the release leaves words of several pieces alone
            masked = parsed.replaced(changes | {place: tokenizer.mask_token})
            inputs = tokenizer(masked, return_tensors="pt", truncation=True)
            with torch.inference_mode():
                scores = model(**inputs).logits[0]
            spots = (inputs["input_ids"][0] == tokenizer.mask_token_id).nonzero()
            if len(spots):
                best = scores[spots[0, 0]].softmax(-1).topk(TOP)
                drawn = rng.choices(best.indices.tolist(), best.values.tolist())[0]
                changes[place] = tokenizer.decode([drawn]).strip() or parsed.tokens[place].text
        return parsed.replaced(changes) if changes else None

    @cached_property
    def _masked(self) -> tuple[Any, Any]:
        from transformers import AutoModelForMaskedLM, AutoTokenizer

        from assay.models.weights import resolve

        home = resolve(str(self.model))
        try:
            model, info = AutoModelForMaskedLM.from_pretrained(
                home, use_safetensors=True, local_files_only=True, output_loading_info=True
            )
            tokenizer = AutoTokenizer.from_pretrained(home, local_files_only=True)
        except (OSError, ValueError) as error:
            raise WeightsError(f"{home} cannot be loaded as a masked language model: {error}") from error
        if info["missing_keys"] or tokenizer.mask_token is None:
            raise WeightsError(f"{home} has no masked-language-model head; give another, or none at all")
        return tokenizer, model.eval()


def _glued(parsed: Parse, place: int) -> bool:
    """Part of a contraction or compound: "did" in "didn't"."""
    tokens = parsed.tokens
    after = tokens[place + 1].text if place + 1 < len(tokens) and not tokens[place].space else ""
    return after != "" and (after[0].isalnum() or after[0] in "'’-")


def _by_tag(record: Record, parsed: Parse, places: list[int], count: int, rng: Random) -> str | None:
    pool = _words_by_tag(tuple(record.others))
    changes: dict[int, str] = {}
    for place in places:
        if len(changes) == count:
            break
        word = _another(parsed.tokens[place], pool, rng)
        if word is not None:
            changes[place] = word
    return parsed.replaced(changes) if changes else None


def _another(token: Token, pool: dict[str, tuple[str, ...]], rng: Random) -> str | None:
    """A sibling of the word, or a word of its tag; never the word itself."""
    lower = token.text.lower()
    siblings = _siblings().get((lower, token.pos))
    choice: Sequence[str] = siblings or pool.get(token.tag, ())
    for _ in range(3):
        word = rng.choice(choice) if choice else lower
        if word.lower() != lower:
            return word[:1].upper() + word[1:] if token.text[:1].isupper() else word
    return None


@lru_cache(maxsize=16)
def _words_by_tag(texts: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The words of a corpus by fine tag, names apart from other words, in order of appearance."""
    found: dict[str, dict[str, None]] = {}
    for parsed in parse(texts[:_POOL_TEXTS]):
        for token in parsed.tokens:
            if token.text[:1].isalpha():
                word = token.text if token.pos == "PROPN" else token.text.lower()
                found.setdefault(token.tag, {})[word] = None
    return {tag: tuple(words) for tag, words in found.items()}


@cache
def _siblings() -> dict[tuple[str, str], tuple[str, ...]]:
    """A word and its part of speech to the other words of its kind."""
    lines = (files("assay.data") / "words" / "siblings.jsonl").read_text("utf-8").splitlines()
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for group in map(json.loads, lines):
        pos = "PROPN" if group["proper"] else str(group["pos"]).upper()
        terms = [term for term in group["terms"] if " " not in term]
        for term in terms:
            found[term, pos] = tuple(other for other in terms if other != term)
    return {key: others for key, others in found.items() if others}
