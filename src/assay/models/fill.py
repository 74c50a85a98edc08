"""Text from local models: likely words in the place of others, continuations, fine-tuned copies of models.

For likely words, one forward pass per text gives the next words that the model expects at every place. A
second pass rescores the best of them, and the word itself, with what follows. Both are remembered by text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import WeightsError, install
from assay.models.lazy import torch
from assay.models.likelihood import TokenRow, causal, start_id
from assay.models.loading import layer_list
from assay.models.memory import BoundedCache
from assay.models.torch import COUNTER, Loaded, content_ids, load
from assay.models.weights import CARRIERS, build_folder, cache_folder, pin, present, resolve
from assay.recipe import digest

MODEL = "smollm2"
_EXPECTED = 60  # next words looked at per place, before the caller's choice
_RESCORED = 3  # words per place that are read with what follows
_FOLLOWING = 3  # tokens behind the place that are read with each word,
_SHORT, _FOLLOWING_SHORT = 40, 6  # or so many in a text of few tokens, which is read quickly
_LONGEST = 400  # tokens of a text that are read

Fits = Callable[[int, str], bool]  # place, word


@dataclass(frozen=True, slots=True)
class MaskedPlace:
    """A word of a text by its characters, from start to end (exclusive)."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Choices:
    """Words that may stand at a place, likeliest first, and how much likelier than the old word each is."""

    words: tuple[str, ...]
    gains: tuple[float, ...]


def missing() -> str | None:
    """Why words cannot be filled in here, and how to mend it; None where they can."""
    if find_spec("torch") is None or find_spec("transformers") is None:
        return f"it needs the extra: {install('neural')}"
    if not present(MODEL):
        return f"the weights {MODEL} ({CARRIERS[MODEL].megabytes:.0f} MB) are not here"
    return None


def fetch() -> str | None:
    """Fetch the weights that fill words in; returns why they cannot be had, or None."""
    if find_spec("torch") is not None and not present(MODEL):
        try:
            resolve(MODEL)
        except WeightsError as error:
            return f"the weights {MODEL} cannot be fetched: {error}"
    return missing()


_CHOICES = BoundedCache[dict[MaskedPlace, Choices]](5_000)  # texts


def likely_words(text: str, places: Sequence[MaskedPlace], fits: Fits) -> Mapping[MaskedPlace, Choices]:
    """The words that fit each place, by the model; places without any are left out."""
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        return {}  # half of a character: no tokenizer reads it
    key = (text, tuple(places))
    known = _CHOICES.get(key)
    if known is None:
        known = _choose(load("AutoModelForCausalLM", MODEL), text, places, fits)
        _CHOICES.put(key, known)
    return known


def _choose(
    loaded: Loaded, text: str, places: Sequence[MaskedPlace], fits: Fits
) -> dict[MaskedPlace, Choices]:
    ids = content_ids(loaded, [text])[0][:_LONGEST]
    spans = _spans_of_tokens(loaded, text, places, ids)
    if not spans:
        return {}
    expected = _expected(loaded, ids, [span.start for span in spans.values()])
    following = _FOLLOWING_SHORT if len(ids) <= _SHORT else _FOLLOWING
    rows: list[TokenRow] = []
    chosen: dict[MaskedPlace, list[str]] = {}
    for (number, span), tokens in zip(spans.items(), expected, strict=True):
        fitting = {word: token for token, word in tokens if fits(number, word)}
        words = list(fitting)[:_RESCORED]
        if words:
            chosen[places[number]] = words
            before, follow = (start_id(loaded), *ids[: span.start]), ids[span.stop : span.stop + following]
            rows.append((before, (*ids[span.start : span.stop], *follow)))
            rows += [(before, (fitting[word], *follow)) for word in words]
    logs = iter([float(values.sum()) for values in causal(loaded, rows)] if rows else ())
    return {
        place: _ranked(next(logs), {word: next(logs) for word in words}) for place, words in chosen.items()
    }


def _spans_of_tokens(
    loaded: Loaded, text: str, places: Sequence[MaskedPlace], ids: Sequence[int]
) -> dict[int, range]:
    """The tokens of each place, by its number; places that do not begin and end with a token are left out.

    Byte-level tokenizers part a text at its spaces: a beginning has the ids that the text begins with.
    """
    starts = content_ids(loaded, [text[: place.start].rstrip(" ") for place in places])
    ends = content_ids(loaded, [text[: place.end] for place in places])
    spans = {}
    for number, (first, last) in enumerate(zip(starts, ends, strict=True)):
        is_aligned = list(ids[: len(last)]) == last and last[: len(first)] == first
        if is_aligned and 0 < len(first) < len(last):
            spans[number] = range(len(first), len(last))
    return spans


def _ranked(own: float, logs: Mapping[str, float]) -> Choices:
    """The words by their log-probabilities, compared with that of the word itself."""
    ranked = sorted(logs, key=lambda word: -logs[word])
    return Choices(tuple(ranked), tuple(logs[word] - own for word in ranked))


def _expected(loaded: Loaded, ids: Sequence[int], at: Sequence[int]) -> list[list[tuple[int, str]]]:
    """The words that the model expects at these positions, likeliest first."""
    words = _whole_words(loaded)
    listed = torch.tensor(list(words), device=loaded.device)
    COUNTER.forward_tokens += len(ids) + 1
    with torch.inference_mode():
        tokens = torch.tensor([[start_id(loaded), *ids]], device=loaded.device)
        hidden = loaded.model.get_decoder()(input_ids=tokens, use_cache=False).last_hidden_state[0]
        logits: torch.Tensor = loaded.model.get_output_embeddings()(hidden[list(at)])
        best = logits[:, listed].float().topk(min(_EXPECTED, len(words)), dim=-1).indices
    chosen = listed[best].cpu().numpy()
    return [[(int(token), words[int(token)]) for token in np.atleast_1d(row)] for row in chosen]


@lru_cache(maxsize=4)
def _whole_words(loaded: Loaded) -> dict[int, str]:
    """The ids of the vocabulary that are one whole word in lower case with a space before it."""
    vocabulary = loaded.tokenizer.get_vocab()
    pairs = ((token, text[1:]) for text, token in vocabulary.items() if text[:1] in ("Ġ", "▁"))
    return {token: word for token, word in pairs if re.fullmatch("[a-z]{3,}", word)}


_LAYERS = 6  # layers trained; those below stay as they are, so that tuning takes minutes
_RATE = 3e-4
_PIECE = 96  # tokens a training text is cut to


def continuations(name: str, prompts: Sequence[str], *, tokens: int, top_k: int, seed: int) -> list[str]:
    """Continue each prompt with a causal model, by top-k sampling (Fan et al. 2018, as in *blind*)."""
    loaded = load("AutoModelForCausalLM", name)
    texts = []
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        for prompt in prompts:
            # One seed per prompt: neither the other prompts nor the model's folder may change an answer.
            torch.manual_seed(int(digest(str(seed), Path(name).name, prompt)[:12], 16))
            given = torch.tensor([_ids(loaded, prompt)], device=loaded.device)
            written = loaded.model.generate(
                given, attention_mask=torch.ones_like(given), max_new_tokens=tokens,
                min_new_tokens=min(tokens, 8), do_sample=True, top_k=top_k, top_p=1.0, temperature=1.0,
                pad_token_id=loaded.pad,
            )[0, given.shape[1] :]  # fmt: skip
            texts.append(str(loaded.tokenizer.decode(written, skip_special_tokens=True)).strip())
    return texts


def tuned_copy(name: str, texts: Sequence[str], *, epochs: int, seed: int) -> Path:
    """Return a copy of a causal model whose last layers are trained on texts; it is kept in the cache."""
    recipe = digest(pin(name), str(epochs), str(seed), str(_LAYERS), str(_RATE), str(_PIECE), *texts)
    home = cache_folder() / "generators" / recipe[:12] / f"{Path(name).name}-tuned"

    def train(folder: Path) -> None:
        loaded = load("AutoModelForCausalLM", name)
        _trained(loaded, texts, epochs, seed).save_pretrained(folder)
        loaded.tokenizer.save_pretrained(folder)

    return build_folder(home, train)


def _trained(loaded: Loaded, texts: Sequence[str], epochs: int, seed: int) -> Any:
    model = deepcopy(loaded.model)
    holder, name = layer_list(model.base_model)
    parameters = [p for layer in getattr(holder, name)[-_LAYERS:] for p in layer.parameters()]
    for parameter in parameters:
        parameter.requires_grad_(True)
    optimizer = torch.optim.AdamW(parameters, lr=_RATE)
    rows = [torch.tensor([_ids(loaded, text)[:_PIECE]], device=loaded.device) for text in texts]
    order = torch.Generator().manual_seed(seed)
    model.train()
    for _ in range(epochs):
        for place in torch.randperm(len(rows), generator=order).tolist():
            loss = model(input_ids=rows[place], labels=rows[place]).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            optimizer.zero_grad()
    return model.eval().requires_grad_(False)


def _ids(loaded: Loaded, text: str) -> list[int]:
    return [start_id(loaded), *content_ids(loaded, [text])[0]]


def expected_words(
    name: str, write: Callable[[str], str], count: int, *, instead_of: str = ""
) -> list[tuple[str, float]]:
    """The words that a masked model expects at the mask in a text, with their probabilities.

    `write` gives the text with this mask in it. None beyond the model's limit, nor, as in the release of
    *blind*, instead of a word that its tokenizer has no single piece for.
    """
    loaded = load("AutoModelForMaskedLM", name, unused=("pooler",))
    tokenizer = loaded.tokenizer
    if tokenizer.mask_token is None:
        raise WeightsError(f"{loaded.path} has no mask token; give a masked language model, or none at all")
    if len(tokenizer.tokenize(instead_of)) > 1:
        return []
    inputs = tokenizer(write(tokenizer.mask_token), return_tensors="pt", truncation=True)
    ids = inputs["input_ids"][0].tolist()
    if tokenizer.mask_token_id not in ids:
        return []
    with torch.inference_mode():
        scores = loaded.model(**inputs.to(loaded.device)).logits[0, ids.index(tokenizer.mask_token_id)]
    best = scores.softmax(-1).topk(count)
    words = (str(tokenizer.decode([token])).strip() for token in best.indices.tolist())
    return list(zip(words, best.values.tolist(), strict=True))


def masked_words(name: str, text: str, count: int) -> list[tuple[str, ...]]:
    """Return, for each word between spaces, the words that a masked model expects in its place."""
    words = text.split()

    def expected(place: int) -> list[tuple[str, float]]:
        return expected_words(name, lambda mask: " ".join([*words[:place], mask, *words[place + 1 :]]), count)

    return [tuple(word for word, _ in expected(place) if word.isalnum()) for place in range(len(words))]
