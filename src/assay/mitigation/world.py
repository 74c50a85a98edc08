"""A controlled world for propagation: scenes whose gender is known and whose text tells it only now and then.

Concepts, and how often each gender is seen with them, are those of *caption* (tables 11-13). A generator
reads what the scene shows, and writes a caption; references mostly do not tell the gender, so that a
reward which prefers one gender for a concept can lead the generator astray.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from assay.datasets.captions import Caption, embedded_captions
from assay.datasets.lexicon import gendered
from assay.recipe import generator

CLEAR = 0.6  # how often a scene shows the gender
TOLD = 0.25  # how often a reference tells it
_UNCLEAR = "unclear"
_SPECIALS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}


@dataclass(frozen=True, slots=True)
class Scene:
    """What a generator reads, what it should write, and what a metric compares that with."""

    concept: str
    gender: str  # male or female
    source: str
    caption: str
    references: tuple[str, ...]
    image: str | None = None


def scenes(count: int, seed: int, part: str) -> list[Scene]:
    """Scenes drawn from the concepts; `part` keeps training and testing draws apart."""
    rng = generator(seed, "world", part)
    rows = embedded_captions()
    by_concept: dict[str, list[Caption]] = {}
    for row in rows:
        if told_gender(row.concept):  # waiter: the concept tells a gender itself
            continue
        by_concept.setdefault(f"{row.category}/{row.concept}", []).append(row)
    names = sorted(by_concept)
    return [_scene(rng.choice(names), by_concept, rng) for _ in range(count)]


def _scene(concept: str, rows: dict[str, list[Caption]], rng: Random) -> Scene:
    both = rows[concept]
    chosen = rng.choices(both, weights=[row.count for row in both])[0]
    phrase = chosen.good.partition(f"a {chosen.group} ")[2]
    shown = chosen.group if rng.random() < CLEAR else _UNCLEAR
    reference = chosen.references[0] if rng.random() < TOLD else f"a photo {_bare(phrase)}"
    gender = "male" if chosen.group == "man" else "female"
    return Scene(concept, gender, f"{phrase} {shown}", chosen.good, (reference,))


def _bare(phrase: str) -> str:
    """`who is a baker` without the one who is: `of a baker`."""
    return "of " + phrase.removeprefix("who is ").removeprefix("with ")


def told_gender(text: str) -> str | None:
    """The gender a text tells; None where it tells none, or both."""
    found = {gendered(word.strip(".,;:!?").lower()) for word in text.split()} - {None}
    return found.pop() if len(found) == 1 else None


def small_generator(texts: Sequence[str], seed: int) -> tuple[Any, Any]:
    """An untrained sequence-to-sequence model of one layer each, and its tokenizer of whole words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast

    words = sorted({word for text in texts for word in text.split()})
    vocabulary = {word: place for place, word in enumerate([*_SPECIALS.values(), *words])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", vocabulary["<s>"]), ("</s>", vocabulary["</s>"])]
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=64, **_SPECIALS)
    torch.manual_seed(seed)
    ids = {
        name: vocabulary[_SPECIALS[name.replace("_id", "")]]
        for name in ("bos_token_id", "eos_token_id", "pad_token_id")
    }
    config = BartConfig(
        vocab_size=len(vocabulary), d_model=64, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=128,
        decoder_ffn_dim=128, encoder_attention_heads=4, decoder_attention_heads=4, dropout=0.0,
        max_position_embeddings=64, decoder_start_token_id=ids["eos_token_id"],
        forced_eos_token_id=None, **ids,
    )  # fmt: skip
    return BartForConditionalGeneration(config), tokenizer
