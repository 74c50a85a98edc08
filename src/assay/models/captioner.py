"""Captioners: models that write a text for an image or a source, the likeliest one or drawn ones.

A captioner reads the image or the source of a sample; the hypothesis is what it is trained to write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.core import Image, Sample
from assay.errors import DataError
from assay.models.lazy import torch, transformers
from assay.models.loading import FORMATS, image_processor, pixels, read_config, read_model
from assay.models.memory import BoundedCache
from assay.models.torch import device, load_tokenizer
from assay.models.vision import plain_processor, special_ids, train_small, word_tokenizer
from assay.models.weights import resolve
from assay.recipe import digest, generator

_LONGEST = 24  # tokens of a caption
_AT_ONCE = 256  # captions that are written in one call
_PIXELS = BoundedCache[Any](300_000_000)  # bytes; by processor and digest


@dataclass(frozen=True, slots=True)
class Captioner:
    """A model that writes captions, its tokenizer, and for models that read images their processor."""

    model: Any
    tokenizer: Any
    images: Any = None

    def sample(self, inputs: Sequence[Sample], count: int, seed: int) -> list[list[str]]:
        """`count` captions per input, drawn from the model."""
        torch.manual_seed(int(digest("sample", str(seed))[:12], 16))
        texts = self._generate(inputs, do_sample=True, top_k=0, num_return_sequences=count)
        return [texts[start : start + count] for start in range(0, len(texts), count)]

    def best(self, inputs: Sequence[Sample]) -> list[str]:
        """One caption per input, the likeliest word at a time."""
        return self._generate(inputs, do_sample=False)

    def _generate(self, inputs: Sequence[Sample], **settings: Any) -> list[str]:
        texts: list[str] = []
        for start in range(0, len(inputs), _AT_ONCE):
            given = self._read(inputs[start : start + _AT_ONCE])
            with torch.no_grad():
                ids = self.model.generate(**given, num_beams=1, max_new_tokens=_LONGEST, **settings)
            texts += self.tokenizer.batch_decode(ids, skip_special_tokens=True)
        return texts

    def log_probability(self, inputs: Sequence[Sample], texts: Sequence[str]) -> torch.Tensor:
        """The log-probability of each caption, as many per input as there are, with gradients."""
        count, config = len(texts) // len(inputs), self.model.config
        given = {name: value.repeat_interleave(count, 0) for name, value in self._read(inputs).items()}
        encoded = self.tokenizer(text_target=list(texts), return_tensors="pt", padding=True, truncation=True)
        labels, mask = (encoded[name].to(self.model.device) for name in ("input_ids", "attention_mask"))
        if config.model_type in ("blip", "git"):  # they read the caption too, and say what follows
            labels[:, 0] = int(getattr(config, "text_config", config).bos_token_id)
            whole = self.model(**given, input_ids=labels, attention_mask=mask).logits.float()
            logits, labels, mask = whole[:, -labels.shape[1] : -1], labels[:, 1:], mask[:, 1:]
        else:
            read = torch.cat([torch.ones_like(mask[:, :1]), mask[:, :-1]], 1)  # a start, and all but the last
            logits = self.model(**given, labels=labels, decoder_attention_mask=read).logits.float()
        logs = logits.gather(2, labels[..., None])[..., 0] - logits.logsumexp(-1)
        total: torch.Tensor = (logs * mask).sum(1)
        return total

    def _read(self, inputs: Sequence[Sample]) -> dict[str, torch.Tensor]:
        """Images, or sources where the model reads text, as tensors."""
        if self.images is not None:
            images = [sample.image for sample in inputs if sample.image]
            if len(images) < len(inputs):
                raise DataError("this captioner reads images, and a scene has none; give a column image")
            return {"pixel_values": self._pixels(images).to(self.model.device)}
        sources = [sample.source or "" for sample in inputs]
        given = self.tokenizer(sources, return_tensors="pt", padding=True, truncation=True)
        return {name: given[name].to(self.model.device) for name in ("input_ids", "attention_mask")}

    def _pixels(self, images: Sequence[Image]) -> torch.Tensor:
        """Images as one batch; those seen lately are not read again."""
        known = {image.digest: _PIXELS.get((id(self.images), image.digest)) for image in images}
        fresh = list({i.digest: i for i in images if known[i.digest] is None}.values())
        read = pixels(self.images, fresh)["pixel_values"] if fresh else ()
        for image, values in zip(fresh, read, strict=True):
            known[image.digest] = values
            _PIXELS.put((id(self.images), image.digest), values, values.nbytes)
        batch: Any = [known[image.digest] for image in images]
        return torch.stack(batch)


def load_captioner(name: str) -> Captioner:
    """A captioner by name or folder: sequence-to-sequence, vision-encoder-decoder, BLIP or GIT."""
    folder = resolve(name)
    kind = FORMATS["captioners"].get(str(read_config(folder).get("model_type")))
    model = read_model(kind or "AutoModelForSeq2SeqLM", folder, "float32", ("pooler",)).eval().to(device())
    return Captioner(model, load_tokenizer(folder), image_processor(folder) if kind else None)


def train_captioner(folder: Path, samples: Sequence[Sample], course: Mapping[str, Any], seed: int) -> None:
    """Train a small image encoder and a decoder of whole words on the samples' captions."""
    tokenizer = word_tokenizer((sample.hypothesis for sample in samples), longest=_LONGEST)
    ids, processor = special_ids(tokenizer), plain_processor(course["size"])

    def build() -> Any:
        vision = transformers.ViTConfig(**course["encoder"], image_size=course["size"])
        sizes = {"vocab_size": len(tokenizer), "n_positions": _LONGEST}
        text = transformers.GPT2Config(**course["decoder"], **sizes, **ids, add_cross_attention=True)
        config = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(vision, text)
        config.decoder_start_token_id, config.pad_token_id = ids["eos_token_id"], ids["pad_token_id"]
        model = transformers.VisionEncoderDecoderModel(config=config)
        model.generation_config.update(decoder_start_token_id=ids["eos_token_id"], **ids)
        return model

    def loss(model: Any, step: int) -> torch.Tensor:
        batch = generator(seed, "likelihood", str(step)).choices(list(samples), k=course["batch"])
        captioner = Captioner(model, tokenizer, processor)
        return -captioner.log_probability(batch, [sample.hypothesis for sample in batch]).mean()

    train_small(folder, seed, build, (tokenizer, processor), course, loss)
