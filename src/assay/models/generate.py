"""Generate text with local models: continuations, words for masked places, fine-tuned copies of models."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from assay.errors import WeightsError
from assay.models.likelihood import start_id
from assay.models.loading import layer_list
from assay.models.torch import Loaded, content_ids, load
from assay.models.weights import build_folder, cache_folder, pin
from assay.recipe import digest

_LAYERS = 6  # layers trained; those below stay as they are, so that tuning takes minutes
_RATE = 3e-4
_PIECE = 96  # tokens a training text is cut to


def continuations(name: str, prompts: Sequence[str], *, tokens: int, top_k: int, seed: int) -> list[str]:
    """Continue each prompt with a causal model, by top-k sampling (Fan et al. 2018, as in *blind*)."""
    import torch

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
    import torch

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


def masked_words(name: str, text: str, count: int) -> list[tuple[str, ...]]:
    """Return, for each word between spaces, the words that a masked model expects in its place."""
    import torch

    loaded = load("AutoModelForMaskedLM", name, unused=("pooler",))
    tokenizer = loaded.tokenizer
    if tokenizer.mask_token is None:
        raise WeightsError(f"{loaded.path} has no mask token; give a masked language model, or none")
    words = text.split()
    candidates: list[tuple[str, ...]] = []
    for place in range(len(words)):
        masked = " ".join([*words[:place], tokenizer.mask_token, *words[place + 1 :]])
        inputs = tokenizer(masked, return_tensors="pt", truncation=True)
        ids = inputs["input_ids"][0].tolist()
        if tokenizer.mask_token_id not in ids:  # beyond the model's limit
            candidates.append(())
            continue
        with torch.inference_mode():
            logits = loaded.model(**inputs.to(loaded.device)).logits
        scores = logits[0, ids.index(tokenizer.mask_token_id)]
        likely = [str(tokenizer.decode([token])).strip() for token in scores.topk(count).indices.tolist()]
        candidates.append(tuple(word for word in likely if word.isalnum()))
    return candidates
