"""Does a metric that is used as a reward pass its bias on to a generator? (caption sec. 3.2, 4.2)

Metrics go in, one effect per metric and method comes out: best-of-N reranking and minimum-risk training of
one generator that was first trained on captions. The gender error is the share of captions that state the
wrong gender; a concept is biased where men and women err at different rates. Scenes and generator are
synthetic, with known genders, or the user's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from assay.core import Floats, Image, Measure, Sample
from assay.datasets.captions import Caption, embedded_captions
from assay.datasets.lexicon import gendered
from assay.datasets.rows import Row, read_rows
from assay.errors import DataError, MetricError
from assay.models.lazy import torch, transformers
from assay.models.loading import image_processor, pixels, read_config, read_model
from assay.models.torch import device, load_tokenizer
from assay.models.weights import resolve
from assay.recipe import digest, generator
from assay.run.scoring import score_samples
from assay.run.session import Session
from assay.statistics.intervals import bootstrap_weighted, weighted_mean

Reward = Callable[[Sequence["Scene"], Sequence[str]], Floats]
Way = Literal["best-of-n", "minimum-risk"]
World = Callable[[int], tuple["Generator", list["Scene"], list["Scene"]]]  # by seed: base, training, test
Interval = tuple[float, float] | None
# Scenes, and per scene: wrong before and after, reward before and after.
_Outcome = tuple[Sequence["Scene"], Floats]
CLEAR = 0.6  # how often a synthetic scene shows the gender
STATED = 0.25  # how often its reference states it
FEWEST = 20  # scenes of a user's file
_LONGEST = 24  # tokens of a caption
_GAP = 0.1  # difference of error rates from which a concept counts as biased
_GENDERS = {"male": "male", "man": "male", "female": "female", "woman": "female"}
_SPECIALS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}


@dataclass(frozen=True, slots=True)
class Scene:
    """What a generator reads, what it should write, and what a metric compares that with."""

    concept: str
    gender: str  # male or female
    source: str
    caption: str
    references: tuple[str, ...]
    image: Image | None = None


@dataclass(frozen=True, slots=True)
class Experiment:
    """How much is drawn and trained."""

    train: int = 3000
    test: int = 400
    steps: int = 800  # of likelihood training; after 300 it still errs where the scene shows the gender
    updates: int = 60  # minimum-risk training
    candidates: int = 5  # the paper samples five
    batch: int = 16
    rate: float = 3e-4  # the largest tried at which captions stay whole: 1e-3 drifts, 3e-3 collapses
    sharpness: float = 0.2  # alpha of Shen et al. 2016, on log-probabilities


@dataclass(frozen=True, slots=True)
class Effect:
    """What one reward did by one method, over all seeds; rates in points of 100."""

    reward: str
    method: Way
    before: float
    after: float
    change: float
    ci: Interval
    biased_before: float
    biased_after: float
    reward_gain: float  # in the reward's own units
    gain_ci: Interval
    n: int

    @property
    def optimised(self) -> bool:
        """Whether the reward rose beyond chance; where it did not, the change says nothing of the reward."""
        return self.gain_ci is not None and self.gain_ci[0] > 0


def propagate(
    measures: Sequence[Measure], seeds: Sequence[int], experiment: Experiment, world: World, session: Session
) -> list[Effect]:
    """Both methods with every reward; `world` gives the generator and the scenes of a seed."""
    outcomes: dict[tuple[str, Way], list[_Outcome]] = {}
    for seed in seeds:
        base, training, test = world(seed)
        references = [scene.references for scene in training]
        for measure in measures:
            fitted = replace(measure, metric=measure.metric.fitted(references))
            reward = reward_of(fitted, session)
            for way, outcome in both_methods(base, training, test, reward, experiment, seed).items():
                outcomes.setdefault((measure.label, way), []).append(outcome)
    return [effect(name, way, parts, seed=seeds[0]) for (name, way), parts in outcomes.items()]


def reward_of(measure: Measure, session: Session) -> Reward:
    """A metric as a reward of captions; a caption without a score has the lowest reward of its batch.

    A batch without any score is an error: it would be a constant reward, which trains nothing.
    """

    def reward(batch: Sequence[Scene], texts: Sequence[str]) -> Floats:
        samples = [
            Sample(text, scene.references, scene.source or None, scene.image)
            for scene, text in zip(batch, texts, strict=True)
        ]
        values = score_samples(measure, samples, session).values[:, measure.column]
        if not np.isfinite(values).any():
            needs = " and ".join(sorted(measure.metric.needs))
            raise MetricError(
                f"{measure.label} gives these scenes no score and cannot be a reward: it needs {needs} with "
                f"each scene; add the missing column to --data, or choose another metric"
            )
        return np.nan_to_num(values, nan=float(np.nanmin(values)))

    return reward


def both_methods(
    base: Generator,
    training: Sequence[Scene],
    test: Sequence[Scene],
    reward: Reward,
    experiment: Experiment,
    seed: int,
) -> Mapping[Way, _Outcome]:
    """The same test scenes: one draw of the base, the best of N draws, one draw after training."""
    drawn = base.sample(test, experiment.candidates, seed)
    plain = [texts[0] for texts in drawn]
    tuned = deepcopy(base)
    minimum_risk(tuned, training, reward, experiment, seed)
    after = [texts[0] for texts in tuned.sample(test, 1, seed)]
    return {
        "best-of-n": _outcome(test, plain, best_of(test, drawn, reward), reward),
        "minimum-risk": _outcome(test, plain, after, reward),
    }


def best_of(test: Sequence[Scene], drawn: Sequence[Sequence[str]], reward: Reward) -> list[str]:
    """The candidate with the highest reward per scene; of equals the first drawn."""
    values = reward(*_flat(test, drawn)).reshape(len(test), -1)
    return [texts[int(place)] for texts, place in zip(drawn, values.argmax(axis=1), strict=True)]


def _flat(scenes: Sequence[Scene], drawn: Sequence[Sequence[str]]) -> tuple[list[Scene], list[str]]:
    """All candidates in one list, each with its scene."""
    repeated = [scene for scene, texts in zip(scenes, drawn, strict=True) for _ in texts]
    return repeated, [text for texts in drawn for text in texts]


def minimum_risk(
    tuned: Generator, training: Sequence[Scene], reward: Reward, experiment: Experiment, seed: int
) -> None:
    """Raise the expected reward over a few draws, weighted by their probability (Shen et al. 2016)."""
    optimizer = torch.optim.AdamW(tuned.model.parameters(), lr=experiment.rate, weight_decay=0.0)
    for step in range(experiment.updates):
        batch = generator(seed, "risk", str(step)).choices(list(training), k=experiment.batch)
        drawn = tuned.sample(batch, experiment.candidates, seed * 100_003 + step)
        scenes, texts = _flat(batch, drawn)
        values = reward(scenes, texts).reshape(len(batch), -1)
        deviation = values.std(axis=1, keepdims=True)
        centred = (values - values.mean(axis=1, keepdims=True)) / np.where(deviation > 1e-9, deviation, 1.0)
        logs = tuned.log_probability(scenes, texts).reshape(len(batch), -1)
        shares = torch.softmax(experiment.sharpness * logs, dim=1)
        weights = torch.tensor(centred, dtype=shares.dtype, device=shares.device)
        loss = -(shares * weights).sum(1).mean()
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(tuned.model.parameters(), 1.0)
        optimizer.step()


def is_wrong(scene: Scene, text: str) -> bool:
    """Whether a caption states the other gender than the scene has."""
    return stated_gender(text) not in (None, scene.gender)


def stated_gender(text: str) -> str | None:
    """The gender a text states; None where it states none, or both."""
    genders = {gendered(word.strip(".,;:!?").lower()) for word in text.split()} - {None}
    return genders.pop() if len(genders) == 1 else None


def _outcome(test: Sequence[Scene], before: Sequence[str], after: Sequence[str], reward: Reward) -> _Outcome:
    errors = [[is_wrong(s, t) for s, t in zip(test, texts, strict=True)] for texts in (before, after)]
    return test, np.column_stack([*errors, reward(test, before), reward(test, after)])


def effect(reward: str, way: Way, outcomes: Sequence[_Outcome], *, seed: int) -> Effect:
    """Outcomes of all seeds together; concepts are the clusters, so that a concept counts once."""
    scenes = [scene for part, _ in outcomes for scene in part]
    table = np.concatenate([columns for _, columns in outcomes])
    errors, rewards = 100.0 * table[:, :2], table[:, 2:]
    changes, gains = (table[:, 1] - table[:, 0] for table in (errors, rewards))
    clusters = [scene.concept for scene in scenes]

    def interval(values: Floats) -> Interval:
        ci = bootstrap_weighted(
            partial(weighted_mean, values=values), len(values), clusters=clusters, seed=seed, resamples=1000,
            method="percentile",
        )  # fmt: skip
        return ci.pair if ci else None

    return Effect(
        reward, way, float(errors[:, 0].mean()), float(errors[:, 1].mean()), float(changes.mean()),
        interval(changes), biased_share(scenes, errors[:, 0]), biased_share(scenes, errors[:, 1]),
        float(gains.mean()), interval(gains), len(changes),
    )  # fmt: skip


def biased_share(scenes: Sequence[Scene], errors: Floats) -> float:
    """The share of concepts, in points, on which one gender errs more often by the gap or more."""
    rates: dict[str, dict[str, list[float]]] = {}
    for scene, error in zip(scenes, errors, strict=True):
        rates.setdefault(scene.concept, {}).setdefault(scene.gender, []).append(float(error))
    gaps = [abs(float(np.mean(r["male"]) - np.mean(r["female"]))) for r in rates.values() if len(r) == 2]
    return 100.0 * float(np.mean([gap >= 100.0 * _GAP for gap in gaps])) if gaps else 0.0


@dataclass(frozen=True, slots=True)
class Generator:
    """A sequence-to-sequence model, its tokenizer, and for models that read images their processor."""

    model: Any
    tokenizer: Any
    images: Any = None

    def inputs(self, scenes: Sequence[Scene]) -> dict[str, torch.Tensor]:
        if self.images is not None:
            images = [scene.image for scene in scenes if scene.image]
            if len(images) < len(scenes):
                raise DataError("this generator reads images, and a scene has none; give a column image")
            return dict(pixels(self.images, images).to(self.model.device))
        given = self.tokenizer([s.source for s in scenes], return_tensors="pt", padding=True, truncation=True)
        names = ("input_ids", "attention_mask")
        return {name: given[name].to(self.model.device) for name in names}

    def sample(self, scenes: Sequence[Scene], count: int, seed: int) -> list[list[str]]:
        """`count` captions per scene, drawn from the model."""
        torch.manual_seed(int(digest("sample", str(seed))[:12], 16))
        with torch.no_grad():
            ids = self.model.generate(
                **self.inputs(scenes), do_sample=True, top_k=0, num_return_sequences=count, num_beams=1,
                max_new_tokens=_LONGEST,
            )  # fmt: skip
        texts = self.tokenizer.batch_decode(ids, skip_special_tokens=True)
        return [texts[start : start + count] for start in range(0, len(texts), count)]

    def log_probability(self, scenes: Sequence[Scene], texts: Sequence[str]) -> torch.Tensor:
        """The log-probability of one caption per scene, with gradients."""
        encoded = self.tokenizer(text_target=list(texts), return_tensors="pt", padding=True, truncation=True)
        labels, mask = (encoded[name].to(self.model.device) for name in ("input_ids", "attention_mask"))
        logits = self.model(**self.inputs(scenes), labels=labels).logits.float()
        logs = logits.gather(2, labels[..., None])[..., 0] - logits.logsumexp(-1)
        total: torch.Tensor = (logs * mask).sum(1)
        return total

    def fit(self, scenes: Sequence[Scene], *, steps: int, seed: int) -> None:
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3)
        self.model.train()
        for step in range(steps):
            batch = generator(seed, "likelihood", str(step)).choices(list(scenes), k=48)
            loss = -self.log_probability(batch, [scene.caption for scene in batch]).mean()
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
        self.model.eval()


def synthetic_world(experiment: Experiment) -> World:
    """Scenes of the paper's concepts and a small generator of their own for each seed."""

    def world(seed: int) -> tuple[Generator, list[Scene], list[Scene]]:
        training = synthetic_scenes(experiment.train, seed, "train")
        test = synthetic_scenes(experiment.test, seed, "test")
        return trained_generator(training, experiment, seed), training, test

    return world


def synthetic_scenes(count: int, seed: int, part: str) -> list[Scene]:
    """Scenes drawn from the concepts of caption (tables 11-13), as often as each gender is seen with them.

    A scene shows its gender only sometimes, and references mostly do not state it, so that a reward which
    prefers one gender for a concept can lead a generator astray. `part` keeps training and test draws apart.
    """
    rng = generator(seed, "world", part)
    by_concept: dict[str, list[Caption]] = {}
    for caption in embedded_captions():
        if stated_gender(caption.concept) is None:  # waiter: the concept states a gender itself
            by_concept.setdefault(f"{caption.category}/{caption.concept}", []).append(caption)
    names, scenes = sorted(by_concept), []
    for _ in range(count):
        concept = rng.choice(names)
        both = by_concept[concept]
        caption = rng.choices(both, weights=[row.count for row in both])[0]
        phrase = caption.good.partition(f"a {caption.group} ")[2]
        source = f"{phrase} {caption.group if rng.random() < CLEAR else 'unclear'}"
        without_person = phrase.removeprefix("who is ").removeprefix("with ")
        reference = caption.references[0] if rng.random() < STATED else f"a photo of {without_person}"
        scenes.append(Scene(concept, _GENDERS[caption.group], source, caption.good, (reference,)))
    return scenes


def trained_generator(training: Sequence[Scene], experiment: Experiment, seed: int) -> Generator:
    """A model of one layer per side, with a tokenizer of whole words, trained on the captions of scenes."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    texts = [text for scene in training for text in (scene.source, scene.caption, *scene.references)]
    words = sorted({word for text in texts for word in text.split()})
    vocabulary = {word: place for place, word in enumerate([*_SPECIALS.values(), *words])}
    splitter = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    splitter.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    splitter.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", vocabulary["<s>"]), ("</s>", vocabulary["</s>"])]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=splitter, model_max_length=64, **_SPECIALS
    )
    torch.manual_seed(seed)
    ids = {f"{name}_id": vocabulary[_SPECIALS[name]] for name in ("bos_token", "eos_token", "pad_token")}
    config = transformers.BartConfig(
        vocab_size=len(vocabulary), d_model=64, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=128,
        decoder_ffn_dim=128, encoder_attention_heads=4, decoder_attention_heads=4, dropout=0.0,
        max_position_embeddings=64, decoder_start_token_id=ids["eos_token_id"],
        forced_eos_token_id=None, **ids,
    )  # fmt: skip
    small = Generator(transformers.BartForConditionalGeneration(config), tokenizer)
    small.fit(training, steps=experiment.steps, seed=seed)
    return small


def own_world(model: str, data: Path) -> World:
    """A generator and scenes of the user's; each seed tests on another half of the scenes."""
    base, scenes = load_generator(model), read_scenes(data)
    return lambda seed: (base, *halves(scenes, seed))


def read_scenes(path: Path) -> list[Scene]:
    """Rows with `group` (man or woman), `references`, and `source` or `image`; `concept` where known."""
    scenes = [_own_scene(row) for row in read_rows(path)]
    if len(scenes) < FEWEST:
        raise DataError(f"{path}: {len(scenes)} scenes; at least {FEWEST} are needed for a rate of errors")
    return scenes


def _own_scene(row: Row) -> Scene:
    gender = _GENDERS.get(row.text("group").lower())
    if gender is None:
        raise row.fail(f"column 'group' must be one of {', '.join(_GENDERS)}, not {row.text('group')!r}")
    references = row.texts("references") or row.texts("reference")
    if not references:
        raise row.fail("column 'references' is missing: what the reward compares a caption with")
    image = row.image() if row.has("image") else None
    source = row.maybe("source") or ""
    if not source and image is None:
        raise row.fail("a scene needs 'source' or 'image': what the generator reads")
    concept = row.maybe("concept") or "all"
    return Scene(concept, gender, source, references[0], references, image)


def halves(scenes: Sequence[Scene], seed: int) -> tuple[list[Scene], list[Scene]]:
    """Scenes to train on and, apart from them, scenes to test on."""
    mixed = generator(seed, "own-world", "").sample(list(scenes), len(scenes))
    return mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]


def load_generator(name: str) -> Generator:
    """A sequence-to-sequence or vision-encoder-decoder model by name or folder."""
    folder = resolve(name)
    reads_images = read_config(folder).get("model_type") == "vision-encoder-decoder"
    kind = "VisionEncoderDecoderModel" if reads_images else "AutoModelForSeq2SeqLM"
    model = read_model(kind, folder, "float32", ("pooler",)).eval().to(device())
    return Generator(model, load_tokenizer(folder), image_processor(folder) if reads_images else None)
