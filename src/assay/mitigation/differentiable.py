"""Metrics as differentiable functions: pairs of texts to a tensor of scores, for training adapters.

Each follows its metric exactly, up to rounding (tests hold them together); several references do not occur.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from assay.core import Measure
from assay.errors import SpecError

if TYPE_CHECKING:
    import torch

    from assay.models.torch import Loaded

Texts = Sequence[tuple[str, str]]  # hypothesis, reference
Form = Callable[["Loaded", Texts], "torch.Tensor"]  # (n, outputs)


@dataclass(frozen=True, slots=True)
class Trainable:
    """A model of its own, apart from the one that scores, and how it scores pairs."""

    loaded: Loaded
    score: Form

    def __call__(self, pairs: Texts) -> torch.Tensor:
        """Scores of pairs, with gradients."""
        return self.score(self.loaded, pairs)


def trainable(measure: Measure) -> Trainable:
    """The metric's differentiable twin on a copy of its model."""
    form, loader = form_of(measure)
    found = _load(measure.metric, loader)
    return Trainable(replace(found, model=deepcopy(found.model)), form)


def form_of(measure: Measure) -> tuple[Form, str]:
    """How a metric scores, and what loads its model; refuses one that an adapter cannot be trained for."""
    metric: Any = measure.metric
    forms: dict[str, tuple[Form, str]] = {
        "bertscore": (_bertscore, "_loaded"),
        "moverscore": (
            _bertscore,
            "_loaded",
        ),  # its transport is not differentiable; the matching it relaxes is
        "sentence-cosine": (_cosine, "encoder"),
        "bleurt": (_regression(True), "regressor"),
        "frugalscore": (_regression(False), "regressor"),
        "regression": (_regression(getattr(metric, "first", "reference") == "reference"), "regressor"),
        "bartscore": (_rewriting, "_loaded"),
    }
    if metric.name not in forms or not hasattr(metric, "adapter"):
        raise SpecError(
            f"{measure.label} has no backbone that an adapter can be trained in; roads that do apply: "
            f"{', '.join(other_roads(measure))} (see assay mitigate compare)"
        )
    if metric.adapter:
        raise SpecError(f"{measure.label} has an adapter already; train from the plain metric")
    return forms[metric.name]


def other_roads(measure: Measure) -> list[str]:
    """What can be tried with a metric that takes no adapter."""
    found = [f"a hybrid ({measure.label}+0.5*chrf)", "averaging over gender swaps"]
    if hasattr(measure.metric, "model"):
        found.append("another backbone (model=)")
    if hasattr(measure.metric, "layer"):
        found.append("another layer (layer=)")
    if measure.metric.outputs:
        found.append(f"another direction ({', '.join(measure.metric.outputs)})")
    return found


def _load(metric: Any, loader: str) -> Loaded:
    if loader == "encoder":
        from assay.metrics.contextual import encoder

        return encoder(metric.model, metric.precision, None)
    if loader == "regressor":
        from assay.metrics.regression import regressor

        return regressor(metric.model, metric.precision, None)
    loaded: Loaded = metric._loaded()
    return loaded


def _rows(loaded: Loaded, texts: Sequence[str]) -> list[list[int]]:
    """Texts to framed ids, cut at the model's limit."""
    from assay.models.torch import content_ids

    room = loaded.limit - loaded.framing.size
    return [
        [*loaded.framing.prefix, *ids[:room], *loaded.framing.suffix] for ids in content_ids(loaded, texts)
    ]


def _states(loaded: Loaded, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """(texts, length, width) states of distinct texts and their mask."""
    from assay.models.torch import padded

    ids, mask = padded(_rows(loaded, texts), loaded.pad, loaded.device)
    return loaded.model(input_ids=ids, attention_mask=mask)[0].float(), mask


def _encoded(loaded: Loaded, pairs: Texts) -> tuple[torch.Tensor, torch.Tensor, list[int], list[int]]:
    """Each distinct text once, and where the two sides of the pairs stand."""
    from assay.metrics.bertscore import _clean

    clean = [(_clean(one, loaded), _clean(other, loaded)) for one, other in pairs]
    place = {text: index for index, text in enumerate(dict.fromkeys(t for pair in clean for t in pair))}
    states, mask = _states(loaded, list(place))
    return states, mask, [place[one] for one, _ in clean], [place[other] for _, other in clean]


def _bertscore(loaded: Loaded, pairs: Texts) -> torch.Tensor:
    """P, R and F; start and end may be matched but carry no weight."""
    import torch

    states, mask, ones, others = _encoded(loaded, pairs)
    unit = torch.nn.functional.normalize(states, dim=-1)
    cosines = unit[ones] @ unit[others].transpose(1, 2)
    absent = -2.0  # below any cosine
    weights = _inner(mask, loaded)
    seen = cosines.masked_fill(mask[others][:, None, :] == 0, absent).amax(2)
    precision = (seen * weights[ones]).sum(1) / weights[ones].sum(1)
    seen = cosines.masked_fill(mask[ones][:, :, None] == 0, absent).amax(1)
    recall = (seen * weights[others]).sum(1) / weights[others].sum(1)
    f = 2 * precision * recall / (precision + recall)
    return torch.stack([precision, recall, f], dim=1)


def _inner(mask: torch.Tensor, loaded: Loaded) -> torch.Tensor:
    """1 where a text's own tokens stand, 0 at specials and padding."""
    inner = mask.clone().float()
    inner[:, : len(loaded.framing.prefix)] = 0
    last = mask.sum(1)
    for back in range(1, len(loaded.framing.suffix) + 1):
        inner[range(len(inner)), last - back] = 0
    return inner


def _cosine(loaded: Loaded, pairs: Texts) -> torch.Tensor:
    import torch

    states, mask, ones, others = _encoded(loaded, pairs)
    pooled = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    unit = torch.nn.functional.normalize(pooled, dim=-1)
    return (unit[ones] * unit[others]).sum(1, keepdim=True)


def _regression(reference_first: bool) -> Callable[[Loaded, Texts], torch.Tensor]:
    def score(loaded: Loaded, pairs: Texts) -> torch.Tensor:
        order = [(other, one) for one, other in pairs] if reference_first else list(pairs)
        given = loaded.tokenizer(
            [one for one, _ in order], [other for _, other in order],
            truncation=True, max_length=loaded.limit, padding=True, return_tensors="pt",
        ).to(loaded.device)  # fmt: skip
        logits: torch.Tensor = loaded.model(**given).logits
        return logits[:, :1].float()

    return score


def _rewriting(loaded: Loaded, pairs: Texts) -> torch.Tensor:
    """log p a token both ways, and their mean."""
    import torch

    forth = _log_likelihood(loaded, [(reference, hypothesis) for hypothesis, reference in pairs])
    back = _log_likelihood(loaded, list(pairs))
    return torch.stack([forth, back, (forth + back) / 2], dim=1)


def _log_likelihood(loaded: Loaded, pairs: Texts) -> torch.Tensor:
    """The mean log p of a target's tokens, given the source."""
    from assay.models.torch import padded

    sides = [
        loaded.tokenizer(list(side), truncation=True, max_length=loaded.limit)["input_ids"]
        for side in zip(*pairs, strict=True)
    ]
    ids, mask = padded(sides[0], loaded.pad, loaded.device)
    labels, there = padded(sides[1], loaded.pad, loaded.device)
    logits = loaded.model(input_ids=ids, attention_mask=mask, labels=labels).logits.float()
    logs = logits.gather(2, labels[..., None])[..., 0] - logits.logsumexp(-1)
    means: torch.Tensor = (logs * there).sum(1) / there.sum(1)
    return means
