"""Local models that write: prompts to continuations, masked places to words, a model to a tuned copy."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

from assay.errors import WeightsError
from assay.models.weights import cache_folder, pin
from assay.recipe import digest

TUNED = "tuned"
_LAYERS = 6  # trained; the layers below stay as they are, so that tuning takes minutes
_RATE = 3e-4
_PIECE = 96  # tokens a training text is cut to


def continuations(name: str, prompts: Sequence[str], *, tokens: int, top_k: int, seed: int) -> list[str]:
    """What a causal model writes after each prompt, by top-k sampling (Fan et al. 2018, as in *blind*)."""
    import torch

    loaded = _causal(name)
    tokenizer = loaded.tokenizer
    texts = []
    with torch.random.fork_rng(devices=[]), torch.inference_mode():
        for prompt in prompts:
            # A seed a prompt: neither the others asked for nor where the model lies may change an answer.
            torch.manual_seed(int(digest(str(seed), Path(name).name, prompt)[:12], 16))
            given = torch.tensor([_ids(loaded, prompt)], device=loaded.device)
            written = loaded.model.generate(
                given,
                attention_mask=torch.ones_like(given),
                max_new_tokens=tokens,
                min_new_tokens=min(tokens, 8),
                do_sample=True,
                top_k=top_k,
                top_p=1.0,
                temperature=1.0,
                pad_token_id=loaded.pad,
            )[0, given.shape[1] :]
            texts.append(str(tokenizer.decode(written, skip_special_tokens=True)).strip())
    return texts


def tuned_copy(name: str, texts: Sequence[str], *, epochs: int, seed: int) -> Path:
    """A copy of a causal model, its last layers trained on some texts; made once, kept in the cache."""
    recipe = digest(pin(name), str(epochs), str(seed), str(_LAYERS), str(_RATE), str(_PIECE), *texts)
    home = cache_folder() / "generators" / recipe[:12] / f"{Path(name).name}-{TUNED}"
    if not home.is_dir():
        home.parent.mkdir(parents=True, exist_ok=True)
        loaded = _causal(name)
        model = _trained(loaded, texts, epochs, seed)
        with tempfile.TemporaryDirectory(dir=home.parent, prefix=".tune-") as scratch:
            made = Path(scratch) / "model"
            model.save_pretrained(made)
            loaded.tokenizer.save_pretrained(made)
            _publish(made, home)
    return home


def _publish(made: Path, home: Path) -> None:
    """Atomic: two runs may tune at once, the first one in place wins."""
    try:
        made.rename(home)
    except OSError:
        if not home.is_dir():
            raise


def _trained(loaded: Any, texts: Sequence[str], epochs: int, seed: int) -> Any:
    import torch

    model = deepcopy(loaded.model)
    parameters = [p for layer in _layers(model)[-_LAYERS:] for p in layer.parameters()]
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


def _layers(model: Any) -> Any:
    from assay.models.loading import layer_list

    holder, name = layer_list(model.base_model)
    return getattr(holder, name)


def _causal(name: str) -> Any:
    from assay.models.torch import load

    return load("AutoModelForCausalLM", name)


def _ids(loaded: Any, text: str) -> list[int]:
    from assay.metrics.likelihood import start_id
    from assay.models.torch import content_ids

    return [start_id(loaded), *content_ids(loaded, [text])[0]]


def masked_words(name: str, text: str, count: int) -> list[tuple[str, ...]]:
    """For each word between spaces, the words that a masked model expects in its place."""
    import torch

    tokenizer, model = _masked(name)
    words = text.split()
    found: list[tuple[str, ...]] = []
    for place in range(len(words)):
        masked = " ".join([*words[:place], tokenizer.mask_token, *words[place + 1 :]])
        inputs = tokenizer(masked, return_tensors="pt", truncation=True)
        spots = (inputs["input_ids"][0] == tokenizer.mask_token_id).nonzero()
        if not len(spots):  # behind the model's limit
            found.append(())
            continue
        with torch.inference_mode():
            scores = model(**inputs).logits[0, spots[0, 0]]
        likely = [str(tokenizer.decode([one])).strip() for one in scores.topk(count).indices.tolist()]
        found.append(tuple(word for word in likely if word.isalnum()))
    return found


@lru_cache(maxsize=1)
def _masked(name: str) -> tuple[Any, Any]:
    from assay.models.torch import load

    loaded = load("AutoModelForMaskedLM", name, unused=("pooler",))
    if loaded.tokenizer.mask_token is None:
        raise WeightsError(f"{loaded.path} has no mask token; give a masked language model, or none")
    return loaded.tokenizer, loaded.model
