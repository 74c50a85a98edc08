"""Likely words in the place of others, by a causal language model: texts and places to words with weights.

One forward pass per text gives the next words that the model expects at every place. A second pass rescores
the best of them, and the word itself, with what follows. Both are remembered by text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from assay.models.likelihood import Row, causal, start_id
from assay.models.memory import BoundedCache
from assay.models.torch import COUNTER, Loaded, content_ids, load
from assay.models.weights import CARRIERS, present

if TYPE_CHECKING:
    import torch

MODEL = "smollm2"
_EXPECTED = 60  # next words looked at per place, before the caller's choice
_RESCORED = 3  # words per place that are read with what follows
_FOLLOWING = 3  # tokens behind the place that are read with each word,
_SHORT, _FOLLOWING_SHORT = 40, 6  # or so many in a text of few tokens, which is read quickly
_LONGEST = 400  # tokens of a text that are read

Fits = Callable[[int, str], bool]  # place, word


@dataclass(frozen=True, slots=True)
class Place:
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
        return "it needs the extra: pip install 'assay[neural]'"
    if not present(MODEL):
        size = f"{CARRIERS[MODEL].megabytes:.0f} MB"
        return f"the weights {MODEL} ({size}) are not here: an audit with -m gpt-ppl fetches them"
    return None


_CHOICES = BoundedCache[dict[Place, Choices]](5_000)  # texts


def likely_words(text: str, places: Sequence[Place], fits: Fits) -> Mapping[Place, Choices]:
    """The words that fit each place, by the model; places without any are left out."""
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        return {}  # half of a character: no tokenizer reads it
    key = (text, tuple(places))
    known = _CHOICES.get(key)
    if known is None:
        known = _choose(load("AutoModelForCausalLM", MODEL), text, places, fits)
        _CHOICES.put(key, known)
    return known


def _choose(loaded: Loaded, text: str, places: Sequence[Place], fits: Fits) -> dict[Place, Choices]:
    ids = content_ids(loaded, [text])[0][:_LONGEST]
    # Byte-level tokenizers part a text at its spaces: a beginning has the ids that the text begins with.
    starts = content_ids(loaded, [text[: place.start].rstrip(" ") for place in places])
    ends = content_ids(loaded, [text[: place.end] for place in places])
    at: dict[int, tuple[int, int]] = {}
    for number, (first, last) in enumerate(zip(starts, ends, strict=True)):
        aligned = ids[: len(last)] == last and last[: len(first)] == first
        if first and aligned and len(first) < len(last):
            at[number] = (len(first), len(last))
    if not at:
        return {}
    expected = _expected(loaded, ids, [before for before, _ in at.values()])
    following = _FOLLOWING_SHORT if len(ids) <= _SHORT else _FOLLOWING
    rows: list[Row] = []
    owners: list[tuple[int, str]] = []
    for (number, (before, through)), tokens in zip(at.items(), expected, strict=True):
        words = [(token, word) for token, word in tokens if fits(number, word)][:_RESCORED]
        given, follow = (start_id(loaded), *ids[:before]), tuple(ids[through : through + following])
        if words:
            rows.append((given, (*ids[before:through], *follow)))
            owners.append((number, ""))
        for token, word in words:
            rows.append((given, (token, *follow)))
            owners.append((number, word))
    logs = causal(loaded, rows) if rows else []
    return _ranked(places, owners, [float(values.sum()) for values in logs])


def _ranked(
    places: Sequence[Place], owners: Sequence[tuple[int, str]], logs: Sequence[float]
) -> dict[Place, Choices]:
    by_place: dict[int, dict[str, float]] = {}
    for (number, word), value in zip(owners, logs, strict=True):
        by_place.setdefault(number, {})[word] = value
    choices = {}
    for number, values in by_place.items():
        own = values.pop("")
        ranked = sorted(values, key=lambda word: -values[word])
        choices[places[number]] = Choices(tuple(ranked), tuple(values[word] - own for word in ranked))
    return choices


def _expected(loaded: Loaded, ids: Sequence[int], at: Sequence[int]) -> list[list[tuple[int, str]]]:
    """The words that the model expects at these positions, likeliest first."""
    import torch

    words = _whole_words(loaded.serial, loaded)
    listed = torch.tensor(list(words), device=loaded.device)
    COUNTER.forward_tokens += len(ids) + 1
    with torch.inference_mode():
        tokens = torch.tensor([[start_id(loaded), *ids]], device=loaded.device)
        hidden = loaded.model.get_decoder()(input_ids=tokens, use_cache=False).last_hidden_state[0]
        logits: torch.Tensor = loaded.model.get_output_embeddings()(hidden[list(at)])
        best = logits[:, listed].float().topk(min(_EXPECTED, len(words)), dim=-1).indices
    chosen = listed[best].cpu().numpy()
    return [[(int(token), words[int(token)]) for token in np.atleast_1d(row)] for row in chosen]


@cache
def _whole_words(serial: int, loaded: Loaded) -> dict[int, str]:
    """The ids of the vocabulary that are one whole word in lower case with a space before it."""
    vocabulary = loaded.tokenizer.get_vocab()
    pairs = ((token, text[1:]) for text, token in vocabulary.items() if text[:1] in ("Ġ", "▁"))
    return {
        token: word
        for token, word in pairs
        if len(word) > 2 and word.isascii() and word.isalpha() and word.islower()
    }
