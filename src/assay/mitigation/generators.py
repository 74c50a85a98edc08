"""Conditional generators: scenes to sampled captions, captions to log-probabilities, likelihood training.

Any sequence-to-sequence or vision-encoder-decoder model of the hub does; the small one of `world` needs none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.errors import DataError
from assay.mitigation.world import Scene
from assay.recipe import digest, generator

if TYPE_CHECKING:
    import torch

_LONGEST = 24  # tokens of a caption


@dataclass(frozen=True, slots=True)
class Generator:
    """A model, its tokenizer, and for models that read images their processor."""

    model: Any
    tokenizer: Any
    images: Any = None

    def inputs(self, scenes: Sequence[Scene]) -> dict[str, torch.Tensor]:
        """What the model reads of the scenes."""
        if self.images is not None:
            from PIL import Image

            paths = [scene.image for scene in scenes]
            if not all(paths):
                raise DataError("this generator reads images, and a scene has none; give a column image")
            opened = [Image.open(str(path)).convert("RGB") for path in paths]
            return dict(self.images(opened, return_tensors="pt"))
        given = self.tokenizer([s.source for s in scenes], return_tensors="pt", padding=True, truncation=True)
        return {"input_ids": given["input_ids"], "attention_mask": given["attention_mask"]}

    def sample(self, scenes: Sequence[Scene], count: int, seed: int) -> list[list[str]]:
        """`count` captions a scene, drawn from the model."""
        import torch

        torch.manual_seed(int(digest("sample", str(seed))[:12], 16))
        with torch.no_grad():
            ids = self.model.generate(
                **self.inputs(scenes), do_sample=True, top_k=0, num_return_sequences=count, num_beams=1,
                max_new_tokens=_LONGEST,
            )  # fmt: skip
        texts = self.tokenizer.batch_decode(ids, skip_special_tokens=True)
        return [texts[start : start + count] for start in range(0, len(texts), count)]

    def log_probability(self, scenes: Sequence[Scene], texts: Sequence[str]) -> torch.Tensor:
        """log p of a caption a scene, with gradients."""
        made = self.tokenizer(text_target=list(texts), return_tensors="pt", padding=True, truncation=True)
        labels, there = made["input_ids"], made["attention_mask"]
        logits = self.model(**self.inputs(scenes), labels=labels).logits.float()
        logs = logits.gather(2, labels[..., None])[..., 0] - logits.logsumexp(-1)
        total: torch.Tensor = (logs * there).sum(1)
        return total


def fit_likelihood(
    made: Generator, scenes: Sequence[Scene], *, steps: int, seed: int, rate: float = 3e-3
) -> float:
    """Train on captions by maximum likelihood; the last loss a caption."""
    import torch

    optimizer = torch.optim.AdamW(made.model.parameters(), lr=rate)
    made.model.train()
    last = 0.0
    for step in range(steps):
        some = generator(seed, "likelihood", str(step)).choices(list(scenes), k=48)
        loss = -made.log_probability(some, [scene.caption for scene in some]).mean()
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        last = float(loss.detach())
    made.model.eval()
    return last
