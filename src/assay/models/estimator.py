"""Unbabel's COMET checkpoints in plain torch: encoder, mix of its layers, pooling, feed-forward estimator.

A folder holds `hparams.yaml` and the tensors: `model.safetensors`, or `checkpoints/model.ckpt`, which is
converted (models/loading.py). Config and tokenizer of the encoder lie in `encoder/`, or are found by the name
that hparams gives.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from assay.core import Floats
from assay.errors import WeightsError
from assay.models import weights
from assay.models.encoder import Pool, pool_states
from assay.models.lazy import torch, transformers
from assay.models.loading import SAFE, check_complete, convert_file, folder_of, read_config, read_tensors
from assay.models.sizes import check_model
from assay.models.torch import Loaded, Overlong, content_ids, forward_rows, framing, load_tokenizer, within
from assay.recipe import digest

_DEFAULTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_POOLS: dict[str, Pool] = {"cls": "first", "max": "max"}  # all others are the mean


@dataclass(frozen=True, slots=True)
class Estimator:
    """An encoder with the layers that turn its states into a score."""

    encoder: Loaded
    head: Any
    tagger: Any  # the linear layer that labels tokens as errors; None where the checkpoint has none
    mix: torch.Tensor | None  # the layers' weights, which sum to 1
    gamma: float
    kind: str
    settings: dict[str, Any]

    @property
    def reads_jointly(self) -> bool:
        return self.kind in ("unified_metric", "xcomet_metric")

    @property
    def reads_reference(self) -> bool:
        return "ref" in self.segments if self.reads_jointly else self.kind == "regression_metric"

    @property
    def reads_source_alone(self) -> bool:
        return "src" in self.segments if self.reads_jointly else self.kind != "regression_metric"

    @property
    def segments(self) -> tuple[str, ...]:
        """Which of hypothesis (mt), source (src) and reference (ref) a joint sequence may hold."""
        return tuple(self.settings["input_segments"])

    def _mixed(self, states: Sequence[torch.Tensor], mask: torch.Tensor) -> torch.Tensor:
        """Return the weighted mix of the encoder's layers, (n, length, dimensions)."""
        if self.mix is None:
            return states[int(self.settings.get("sent_layer", self.settings.get("layer", -1)))]
        chosen = [_normed(state, mask) if self.settings["layer_norm"] else state for state in states]
        weighted = (share * state for share, state in zip(self.mix, chosen, strict=True))
        return self.gamma * sum(weighted)  # type: ignore[no-any-return]

    def _states(self, ids: torch.Tensor, mask: torch.Tensor) -> Sequence[torch.Tensor]:
        answer = self.encoder.model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        return answer.hidden_states  # type: ignore[no-any-return]

    def pooled(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states = self._mixed(self._states(ids, mask), mask)
        return pool_states(states, mask, _POOLS.get(self.settings.get("pool", "avg"), "mean"))

    def read_jointly(self, ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return a score per sequence from its first state, and the labels' probabilities of each token."""
        states = self._states(ids, mask)
        scores = self.head(self._mixed(states, mask)[:, 0])[:, 0]
        if self.tagger is None:
            return scores, None
        return scores, torch.softmax(self.tagger(states[int(self.settings["word_layer"])]), dim=-1)


def _normed(state: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Scale to zero mean and unit variance over a text's real tokens and all dimensions together."""
    real = mask[..., None].to(state.dtype)
    count = mask.sum(1).to(state.dtype)[:, None, None] * state.shape[-1]
    mean = (state * real).sum((1, 2), keepdim=True) / count
    variance = (((state * real - mean) * real) ** 2).sum((1, 2), keepdim=True) / count
    return (state - mean) / torch.sqrt(variance + 1e-12)


def load_estimator(name: str, place: str) -> Estimator:
    """Load the checkpoint of that name or folder onto a device."""
    return _load_estimator(name, place, checkpoint_digest(name))


@lru_cache(maxsize=2)
def _load_estimator(name: str, place: str, content: str) -> Estimator:
    folder = folder_of(weights.resolve(name))
    settings = _settings(folder)
    kind = str(settings.get("class_identifier", "regression_metric"))
    if kind not in _DEFAULTS:
        raise WeightsError(f"{folder} is a {kind}; give one of {', '.join(_DEFAULTS)}")
    settings = {**_DEFAULTS[kind], **settings}
    file = _original(folder)
    tensors = read_tensors(convert_file(file) if file.suffix in weights.PICKLED else file)
    encoder = _encoder(folder, settings, tensors, place, file)
    head = _head(tensors, settings).to(place).eval().requires_grad_(False)
    scalars = [key for key in tensors if key.startswith("layerwise_attention.scalar_parameters.")]
    mix = None
    if scalars:
        scalars.sort(key=lambda key: int(key.rsplit(".", 1)[1]))
        shares = torch.cat([tensors[key].float().reshape(1) for key in scalars])
        sparse = settings["layer_transformation"] == "sparsemax"  # "sparsemax_patch" is softmax (their #244)
        mix = (_sparsemax(shares) if sparse else torch.softmax(shares, dim=0)).to(place)
    gamma = float(tensors.get("layerwise_attention.gamma", torch.ones(1))[0])
    tagger = _linear(tensors, "hidden2tag")
    ready = None if tagger is None else tagger.to(place).eval().requires_grad_(False)
    return Estimator(encoder, head, ready, mix, gamma, kind, settings)


def _settings(folder: Path) -> dict[str, Any]:
    import yaml  # type: ignore[import-untyped]

    for name, parse in (("hparams.yaml", yaml.safe_load), ("hparams.json", json.loads)):
        if (folder / name).is_file():
            try:
                return dict(parse((folder / name).read_text("utf-8")))
            except (OSError, ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
                reason = str(error).splitlines()[0]
                raise WeightsError(f"{folder / name} is damaged ({reason}); fetch it again") from error
    raise WeightsError(f"{folder} has no hparams.yaml; give the folder of a COMET checkpoint")


def _original(folder: Path) -> Path:
    """Return the file that holds a checkpoint's tensors, as it was published."""
    for file in (folder / "model.safetensors", folder / "checkpoints" / "model.ckpt", folder / "model.ckpt"):
        if file.is_file():
            return file
    raise WeightsError(
        f"{folder} has neither model.safetensors nor checkpoints/model.ckpt; fetch the checkpoint again"
    )


def checkpoint_digest(name: str) -> str:
    """Return the digest of a checkpoint's settings and tensors, for signatures."""
    folder = folder_of(weights.resolve(name))
    stated = _settings(folder)
    settings = digest(json.dumps(stated, default=str, sort_keys=True))
    encoder = weights.tokenizer_pin(str(_encoder_home(folder, stated)))
    return f"sha256:{weights.stamped_digest(_original(folder))},settings:{settings[:12]},encoder:{encoder}"


def _encoder_home(folder: Path, settings: Mapping[str, Any]) -> Path | str:
    """Return where the encoder's config and tokenizer lie: beside the checkpoint, else under its name."""
    beside = folder / "encoder"
    return beside if (beside / "config.json").is_file() else str(settings.get("pretrained_model", ""))


def _encoder(
    folder: Path, settings: dict[str, Any], tensors: dict[str, Any], place: str, file: Path
) -> Loaded:
    """Load the encoder: its shape from its own config, its tensors from the checkpoint."""
    home = weights.resolve_tokenizer(str(_encoder_home(folder, settings)))
    read_config(home)  # refuses one that is damaged, or describes a model that cannot be
    config = transformers.AutoConfig.from_pretrained(home, **SAFE)

    def build() -> Any:
        return transformers.AutoModel.from_config(config, trust_remote_code=False)

    check_model(build, home, [file])
    body = build()
    prefix = "encoder.model."
    state = {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}
    missing, _ = body.load_state_dict(state, strict=False)
    check_complete([k for k in missing if not k.endswith("_ids")], type(body).__name__, folder, ("pooler",))
    tokenizer = load_tokenizer(home)
    limit = min(int(tokenizer.model_max_length), 512)
    body = body.to(place).eval().requires_grad_(False)
    return Loaded(body, tokenizer, folder, place, limit, framing(tokenizer), -1)


def _head(tensors: dict[str, Any], settings: dict[str, Any]) -> Any:
    """Build the feed-forward estimator; its linear layers are numbered as in the checkpoint."""
    names = [key for key in tensors if key.startswith("estimator.ff.") and key.endswith("weight")]
    numbers = sorted({int(key.split(".")[2]) for key in names})
    if not numbers:
        raise WeightsError("the checkpoint has no estimator.ff.*: it is not a COMET metric")
    activation = getattr(torch.nn, settings.get("activations", "Tanh"))
    steps: list[Any] = []
    for number in numbers:
        steps += [_linear(tensors, f"estimator.ff.{number}"), activation()]
    final = settings.get("final_activation")
    return torch.nn.Sequential(*steps[:-1], *([getattr(torch.nn, final)()] if final else []))


def _linear(tensors: dict[str, Any], name: str) -> Any:
    """Build a linear layer from its tensors; None where there are none."""
    if f"{name}.weight" not in tensors:
        return None
    weight, bias = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
    linear = torch.nn.Linear(weight.shape[1], weight.shape[0])
    linear.load_state_dict({"weight": weight, "bias": bias})
    return linear


def _sparsemax(scores: torch.Tensor) -> torch.Tensor:
    """Project the scores onto the simplex (Martins & Astudillo 2016)."""
    ordered = scores.sort(descending=True).values
    total = ordered.cumsum(0) - 1
    support = int((ordered * torch.arange(1, len(scores) + 1) > total).sum())
    return (scores - total[support - 1] / support).clamp_min(0)


@dataclass(frozen=True, slots=True)
class EstimatorOutput:
    """One joint reading of some texts: its score, and the labels' probabilities of the hypothesis' tokens."""

    score: float
    labels: Floats | None
    ids: tuple[int, ...]
    cut: int


def read_groups(
    estimator: Estimator, groups: Sequence[Sequence[str]], overlong: Overlong
) -> list[EstimatorOutput]:
    """Read each group of texts, the hypothesis first, as one sequence joined as the tokenizer joins pairs."""
    encoder = estimator.encoder
    # What the tokenizer puts between two texts, found out on one word.
    word, pair = content_ids(encoder, ["a"])[0], list(encoder.tokenizer("a", "a")["input_ids"])
    start = len(encoder.framing.prefix) + len(word)
    between = pair[start : len(pair) - len(encoder.framing.suffix) - len(word)]
    texts = list(dict.fromkeys(text for group in groups for text in group))
    known = dict(zip(texts, content_ids(encoder, texts), strict=True))
    rows, cuts, heads = [], [], []
    for group in groups:
        joined = list(known[group[0]])
        for text in group[1:]:
            joined += [*between, *known[text]]
        # What does not fit is cut at the end, as Unbabel's code does.
        inner, cut = within(encoder, joined, encoder.room, overlong, group[0])
        rows.append(encoder.framed(inner))
        cuts.append(cut)
        heads.append(len(encoder.framing.prefix) + len(known[group[0]]) + len(encoder.framing.suffix))

    def forward(ids: torch.Tensor, mask: torch.Tensor) -> list[tuple[float, Floats | None]]:
        scores, labels = estimator.read_jointly(ids, mask)
        tables = [None] * len(ids) if labels is None else list(labels.double().cpu().numpy())
        return list(zip(scores.double().tolist(), tables, strict=True))

    answers = forward_rows(encoder, rows, forward)
    return [
        EstimatorOutput(
            score, None if table is None else table[: min(head, len(row))], tuple(row[:head]), cut
        )
        for (score, table), row, head, cut in zip(answers, rows, heads, cuts, strict=True)
    ]
