"""BERT-diverge of *blind*: words replaced one by one by likely words of another meaning; and a fallback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from random import Random
from typing import Any

from assay.core import Perturbation, Record
from assay.datasets.lexicon import capitalised, jsonl_file
from assay.errors import WeightsError
from assay.models.nlp import Parse, Token, parse, parse_one

TOP = 10
FALLBACK = "words of the same kind or tag, for want of a masked language model"
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
        parsed = parse_one(record.gold)
        count = round(self.level * len(parsed.tokens))
        if not count:
            return None
        tokens = enumerate(parsed.tokens)
        places = [i for i, token in tokens if token.text[:1].isalpha() and not _is_glued(parsed, i)]
        rng.shuffle(places)
        if self.model:
            return self._by_model(parsed, places, count, rng)
        return _by_tag(record, parsed, places, count, rng)

    def _by_model(self, parsed: Parse, places: list[int], count: int, rng: Random) -> str | None:
        import torch

        tokenizer, model = self._masked
        changes: dict[int, str] = {}
        for place in places:
            if len(changes) == count:
                break
            if len(tokenizer.tokenize(parsed.tokens[place].text)) > 1:
                continue  # the release skips words of several pieces
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


def _is_glued(parsed: Parse, place: int) -> bool:
    """Whether a word is the first part of a contraction or compound: "did" in "didn't"."""
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
    """A sibling of the word or a word with its tag; None where three draws give the word itself."""
    lower = token.text.lower()
    siblings = _siblings().get((lower, token.pos))
    choice: Sequence[str] = siblings or pool.get(token.tag, ())
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
    """(word, part of speech) to the other words of its kind."""
    table: dict[tuple[str, str], tuple[str, ...]] = {}
    for group in jsonl_file("words", "siblings"):
        pos = "PROPN" if group["proper"] else str(group["pos"]).upper()
        terms = [term for term in group["terms"] if " " not in term]
        for term in terms:
            table[term, pos] = tuple(other for other in terms if other != term)
    return {key: others for key, others in table.items() if others}
