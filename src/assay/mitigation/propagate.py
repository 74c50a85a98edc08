"""Does a metric that is used as a reward pass its bias on to a generator? (caption sec. 3.2, 4.2)

Metrics go in, one effect per metric and method comes out: best-of-N reranking, minimum-risk training and
self-critical training of one generator that was first trained on captions. The gender error is the share of
captions that state the wrong gender; a concept is biased where men and women err at different rates. Pictures
and captioner are those of the rendered world, or the user's own.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from assay.audits.caption.concepts import compare_groups
from assay.core import Floats, Image, Measure, Sample
from assay.datasets import scenes as rendered
from assay.datasets.lexicon import gendered, toml_file
from assay.datasets.rows import Row, read_rows
from assay.errors import DataError, MetricError
from assay.models.lazy import torch, transformers
from assay.models.loading import image_processor, pixels, read_config, read_model
from assay.models.memory import BoundedCache
from assay.models.torch import device, load_tokenizer
from assay.models.vision import plain_processor, special_ids, word_tokenizer
from assay.models.weights import resolve
from assay.recipe import digest, generator
from assay.run.scoring import score_samples
from assay.run.session import Session
from assay.statistics.intervals import bootstrap_weighted, weighted_mean

Reward = Callable[[Sequence["Scene"], Sequence[str]], Floats]
Way = Literal["best-of-n", "minimum-risk", "self-critical"]
World = Callable[[int], tuple["Generator", list["Scene"], list["Scene"]]]  # by seed: base, training, test
Interval = tuple[float, float] | None
FEWEST = 20  # scenes of a user's file
_LONGEST = 24  # tokens of a caption
_FIT_RATE = 4e-3  # of likelihood training, at its highest
_AT_ONCE = 256  # scenes whose captions are written in one call
_PIXELS = BoundedCache[Any](300_000_000)  # bytes; by processor and digest
_GENDERS = {"male": "male", "man": "male", "female": "female", "woman": "female"}
# Classes of transformers by model_type; any other model is read as a sequence-to-sequence one.
_CAPTIONERS = {
    "vision-encoder-decoder": "VisionEncoderDecoderModel",
    "blip": "BlipForConditionalGeneration",
    "git": "GitForCausalLM",
}


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

    train: int = 2500
    test: int = 832  # the rendered world has as many of either gender of each concept
    steps: int = 500  # of likelihood training
    updates: int = 80
    epochs: float | None = None  # over the training scenes, in place of `updates`
    samples: int = 5  # as in the paper
    batch: int = 24
    rate: float = 3e-4  # at 1e-3 the reward itself fell
    sharpness: float = 0.2  # alpha of Shen et al. 2016, on log-probabilities

    def updates_on(self, scenes: int) -> int:
        return self.updates if self.epochs is None else max(1, math.ceil(self.epochs * scenes / self.batch))


@dataclass(frozen=True, slots=True)
class Change:
    """A mean before and after, and the difference with its interval."""

    before: float
    after: float
    change: float
    ci: Interval

    @property
    def rose(self) -> bool:
        """Whether it rose beyond chance."""
        return self.ci is not None and self.ci[0] > 0


@dataclass(frozen=True, slots=True)
class Effect:
    """What one reward did by one method, over all seeds; rates in points of 100."""

    reward: str
    method: Way
    errors: Change
    biased_before: float | None  # None where no concept has scenes enough
    biased_after: float | None
    gain: Change  # of the reward of drawn captions, in its own units: what training raises
    scores: Mapping[str, Change]  # by metric: the columns of tables 3 and 6
    n: int


@dataclass(frozen=True, slots=True)
class Written:
    """Captions of the same test scenes, before and after: the likeliest, and one draw."""

    scenes: Sequence[Scene]
    before: Sequence[str]
    after: Sequence[str]
    drawn: tuple[Sequence[str], Sequence[str]]


def propagate(
    measures: Sequence[Measure],
    seeds: Sequence[int],
    experiment: Experiment,
    world: World,
    session: Session,
    *,
    methods: Sequence[Way] = ("best-of-n", "minimum-risk"),
    columns: Sequence[Measure] = (),
    out: Path | None = None,
) -> list[Effect]:
    """Every method with every reward; `world` gives the generator and the scenes of a seed."""
    parts: dict[tuple[str, Way], list[tuple[Written, Floats]]] = {}
    for seed in seeds:
        base, training, test = world(seed)
        references = [scene.references for scene in training]
        others = [reward_of(_fitted(measure, references), session) for measure in columns]
        plain, drawn = base.best(test), base.sample(test, experiment.samples, seed)
        _check_gendered(plain)
        for measure in measures:
            reward = reward_of(_fitted(measure, references), session)
            for way in methods:
                first = [texts[0] for texts in drawn]
                if way == "best-of-n":
                    best = best_of(test, drawn, reward)
                    written = Written(test, first, best, (first, best))
                else:
                    tuned = deepcopy(base)
                    train_on_reward(tuned, training, reward, experiment, seed, way)
                    after = [texts[0] for texts in tuned.sample(test, 1, seed)]
                    written = Written(test, plain, tuned.best(test), (first, after))
                table = outcome_table(written, [reward, *others])
                parts.setdefault((measure.label, way), []).append((written, table))
    if out is not None:
        _write_captions(parts, out)
    names = [measure.label for measure in columns]
    return [effect(name, way, rows, names, seed=seeds[0]) for (name, way), rows in parts.items()]


def _fitted(measure: Measure, references: Sequence[tuple[str, ...]]) -> Measure:
    return replace(measure, metric=measure.metric.fitted(references))


def _check_gendered(texts: Sequence[str]) -> None:
    if not any(stated_gender(text) for text in texts):
        raise DataError(
            f"none of {len(texts)} captions of the generator names a gender ({texts[0]!r} is one), so that "
            "none is wrong; take one that writes man and woman"
        )


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


def best_of(test: Sequence[Scene], drawn: Sequence[Sequence[str]], reward: Reward) -> list[str]:
    """The candidate with the highest reward per scene; of equals the first drawn."""
    values = reward(*_flat(test, drawn)).reshape(len(test), -1)
    return [texts[int(place)] for texts, place in zip(drawn, values.argmax(axis=1), strict=True)]


def _flat(scenes: Sequence[Scene], drawn: Sequence[Sequence[str]]) -> tuple[list[Scene], list[str]]:
    """All candidates in one list, each with its scene."""
    repeated = [scene for scene, texts in zip(scenes, drawn, strict=True) for _ in texts]
    return repeated, [text for texts in drawn for text in texts]


def train_on_reward(
    tuned: Generator, training: Sequence[Scene], reward: Reward, experiment: Experiment, seed: int, way: Way
) -> None:
    """Raise the expected reward of a few draws.

    Minimum risk weighs them by their probability (Shen et al. 2016); self-critical training follows the
    gradient of each and takes the reward of the likeliest caption as the baseline (Rennie et al. 2017).
    """
    optimizer = torch.optim.AdamW(tuned.model.parameters(), lr=experiment.rate, weight_decay=0.0)
    for step in range(experiment.updates_on(len(training))):
        batch = generator(seed, "risk", str(step)).choices(list(training), k=experiment.batch)
        drawn = tuned.sample(batch, experiment.samples, seed * 100_003 + step)
        scenes, texts = _flat(batch, drawn)
        values = reward(scenes, texts).reshape(len(batch), -1)
        critical = way == "self-critical"
        baseline = reward(batch, tuned.best(batch))[:, None] if critical else values.mean(1, keepdims=True)
        deviation = values.std(axis=1, keepdims=True)
        centred = (values - baseline) / np.where(deviation > 1e-9, deviation, 1.0)
        logs = tuned.log_probability(batch, texts).reshape(len(batch), -1)
        shares = logs / logs.shape[1] if critical else torch.softmax(experiment.sharpness * logs, dim=1)
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


def outcome_table(written: Written, rewards: Sequence[Reward]) -> Floats:
    """Per scene: wrong before and after, the first reward of the draws, then each other reward."""
    texts = (written.before, written.after)
    errors = [[is_wrong(s, t) for s, t in zip(written.scenes, side, strict=True)] for side in texts]
    gains = [rewards[0](written.scenes, side) for side in written.drawn]
    scores = gains + [reward(written.scenes, side) for reward in rewards[1:] for side in texts]
    return np.column_stack([*errors, *scores]).astype(np.float64)


def effect(
    reward: str, way: Way, parts: Sequence[tuple[Written, Floats]], columns: Sequence[str], *, seed: int
) -> Effect:
    """Outcomes of all seeds together; concepts are the clusters, so that a concept counts once."""
    scenes = [scene for written, _ in parts for scene in written.scenes]
    table = np.concatenate([rows for _, rows in parts])
    clusters = [scene.concept for scene in scenes]

    def change(place: int, scale: float = 1.0) -> Change:
        before, after = scale * table[:, 2 * place], scale * table[:, 2 * place + 1]
        ci = bootstrap_weighted(
            partial(weighted_mean, values=after - before), len(table), clusters=clusters, seed=seed,
            resamples=1000, method="percentile",
        )  # fmt: skip
        means = float(before.mean()), float(after.mean())
        return Change(*means, means[1] - means[0], ci.pair if ci else None)

    before, after = (biased_share(scenes, table[:, side], seed) for side in (0, 1))
    scores = {name: change(place) for place, name in enumerate(columns, start=2)}
    return Effect(reward, way, change(0, 100.0), before, after, change(1), scores, len(table))


def biased_share(scenes: Sequence[Scene], errors: Floats, seed: int = 0) -> float | None:
    """The share of concepts, in points, on which men and women err at significantly different rates."""
    paths = [(category, name) for category, _, name in (scene.concept.rpartition("/") for scene in scenes)]
    groups = [scene.gender for scene in scenes]
    listed = compare_groups(paths, groups, 1.0 - errors, ("male", "female"), seed)
    biased = [concept.is_biased(0.0, "paper") for concept in listed if concept.has_enough]
    return 100.0 * float(np.mean(biased)) if biased else None


def _write_captions(parts: Mapping[tuple[str, Way], Sequence[tuple[Written, Floats]]], out: Path) -> None:
    """The captions before and after as files that the caption audit reads, with copies of the images."""
    folder = out / "images"
    folder.mkdir(parents=True, exist_ok=True)
    for (reward, way), seeds in parts.items():
        name = "".join(letter if letter.isalnum() else "-" for letter in f"{reward}-{way}")
        for side in ("before", "after"):
            lines = [
                json.dumps(_row(scene, text, f"{seed}/{number}", folder))
                for seed, (written, _) in enumerate(seeds)
                for number, (scene, text) in enumerate(
                    zip(written.scenes, getattr(written, side), strict=True)
                )
            ]
            (out / f"{name}-{side}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def _row(scene: Scene, text: str, name: str, folder: Path) -> dict[str, Any]:
    category, _, concept = scene.concept.rpartition("/")
    row = {
        "id": name, "hypothesis": text, "references": scene.references, "group": scene.gender,
        "category": category or "all", "concept": concept,
    }  # fmt: skip
    if scene.image is None:
        return row
    copy = folder / f"{scene.image.digest[:32]}{Path(scene.image.path).suffix}"
    if not copy.is_file():
        shutil.copyfile(scene.image.path, copy)
    return {**row, "image": f"{folder.name}/{copy.name}"}


@dataclass(frozen=True, slots=True)
class Generator:
    """A model that writes captions, its tokenizer, and for models that read images their processor."""

    model: Any
    tokenizer: Any
    images: Any = None

    @property
    def first_id(self) -> int | None:
        """The id that BLIP and GIT start a caption with; None for an encoder and a decoder."""
        config = self.model.config
        if config.model_type not in ("blip", "git"):
            return None
        return int(getattr(config, "text_config", config).bos_token_id)

    def inputs(self, scenes: Sequence[Scene]) -> dict[str, torch.Tensor]:
        if self.images is not None:
            images = [scene.image for scene in scenes if scene.image]
            if len(images) < len(scenes):
                raise DataError("this generator reads images, and a scene has none; give a column image")
            return {"pixel_values": self._pixels(images).to(self.model.device)}
        given = self.tokenizer([s.source for s in scenes], return_tensors="pt", padding=True, truncation=True)
        names = ("input_ids", "attention_mask")
        return {name: given[name].to(self.model.device) for name in names}

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

    def sample(self, scenes: Sequence[Scene], count: int, seed: int) -> list[list[str]]:
        """`count` captions per scene, drawn from the model."""
        torch.manual_seed(int(digest("sample", str(seed))[:12], 16))
        texts = self._generate(scenes, do_sample=True, top_k=0, num_return_sequences=count)
        return [texts[start : start + count] for start in range(0, len(texts), count)]

    def best(self, scenes: Sequence[Scene]) -> list[str]:
        """One caption per scene, the likeliest word at a time."""
        return self._generate(scenes, do_sample=False)

    def _generate(self, scenes: Sequence[Scene], **settings: Any) -> list[str]:
        texts: list[str] = []
        for start in range(0, len(scenes), _AT_ONCE):
            with torch.no_grad():
                ids = self.model.generate(
                    **self.inputs(scenes[start : start + _AT_ONCE]), num_beams=1, max_new_tokens=_LONGEST,
                    **settings,
                )  # fmt: skip
            texts += self.tokenizer.batch_decode(ids, skip_special_tokens=True)
        return texts

    def log_probability(self, scenes: Sequence[Scene], texts: Sequence[str]) -> torch.Tensor:
        """The log-probability of each caption, as many per scene as there are, with gradients."""
        count, first = len(texts) // len(scenes), self.first_id
        given = {name: value.repeat_interleave(count, 0) for name, value in self.inputs(scenes).items()}
        encoded = self.tokenizer(text_target=list(texts), return_tensors="pt", padding=True, truncation=True)
        labels, mask = (encoded[name].to(self.model.device) for name in ("input_ids", "attention_mask"))
        if first is None:
            read = torch.cat([torch.ones_like(mask[:, :1]), mask[:, :-1]], 1)  # a start, and all but the last
            logits = self.model(**given, labels=labels, decoder_attention_mask=read).logits.float()
        else:  # they read the caption after the image, and say after each word what follows
            labels[:, 0] = first
            whole = self.model(**given, input_ids=labels, attention_mask=mask).logits.float()
            logits, labels, mask = whole[:, -labels.shape[1] : -1], labels[:, 1:], mask[:, 1:]
        logs = logits.gather(2, labels[..., None])[..., 0] - logits.logsumexp(-1)
        total: torch.Tensor = (logs * mask).sum(1)
        return total

    def fit(self, scenes: Sequence[Scene], *, steps: int, seed: int) -> None:
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=_FIT_RATE)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _FIT_RATE, total_steps=steps, pct_start=0.1)
        self.model.train()
        for step in range(steps):
            batch = generator(seed, "likelihood", str(step)).choices(list(scenes), k=48)
            loss = -self.log_probability(batch, [scene.caption for scene in batch]).mean()
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
        self.model.eval()


def rendered_world(experiment: Experiment) -> World:
    """Pictures of the rendered world and a small captioner of their own for each seed.

    Both genders are equally frequent with every concept, so that only the reward can teach the captioner to
    guess the gender from the concept.
    """

    def world(seed: int) -> tuple[Generator, list[Scene], list[Scene]]:
        training = rendered_scenes(rendered.draw_scenes(experiment.train, seed, "train", "balanced"))
        cells = 2 * len(rendered.concept_captions())
        test = rendered_scenes(rendered.even_scenes(max(1, experiment.test // cells), seed))
        return trained_captioner(training, experiment, seed), training, test

    return world


def rendered_scenes(scenes: Sequence[rendered.Scene]) -> list[Scene]:
    """Scenes with their pictures, the paper's captions and references."""
    pictures = zip(scenes, rendered.rendered(scenes), strict=True)
    return [
        Scene(s.path, _GENDERS[s.caption.group], "", s.caption.good, s.caption.references, image)
        for s, image in pictures
    ]


def trained_captioner(training: Sequence[Scene], experiment: Experiment, seed: int) -> Generator:
    """A small image encoder and a decoder of whole words, trained on the captions of scenes."""
    table, size = toml_file("scenes", "scenes")["captioner"], toml_file("scenes", "scenes")["size"]
    tokenizer = word_tokenizer((scene.caption for scene in training), longest=_LONGEST)
    ids = special_ids(tokenizer)
    torch.manual_seed(seed)
    vision = transformers.ViTConfig(**table["encoder"], image_size=size)
    text = transformers.GPT2Config(
        **table["decoder"], vocab_size=len(tokenizer), n_positions=_LONGEST, add_cross_attention=True, **ids
    )
    config = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(vision, text)
    config.decoder_start_token_id, config.pad_token_id = ids["eos_token_id"], ids["pad_token_id"]
    model = transformers.VisionEncoderDecoderModel(config=config)
    model.generation_config.update(decoder_start_token_id=ids["eos_token_id"], **ids)
    small = Generator(model.to(device()), tokenizer, plain_processor(size))
    small.fit(training, steps=experiment.steps, seed=seed)
    return small


def own_world(model: str, data: Path) -> World:
    """A generator and scenes of the user's; each seed tests on another half of the scenes."""
    base, scenes = load_generator(model), read_scenes(data)
    check_words(base.tokenizer, model)
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


def check_words(tokenizer: Any, name: str) -> None:
    """Refuse a tokenizer that cannot write the words for both genders."""
    words = ("man", "woman")
    lost = [
        word
        for word in words
        if tokenizer.decode(tokenizer(word).input_ids, skip_special_tokens=True).strip() != word
    ]
    if lost:
        raise DataError(
            f"the tokenizer of {name} cannot write {' and '.join(lost)}: no caption could name that gender; "
            "take a generator trained on captions of people"
        )


def load_generator(name: str) -> Generator:
    """A generator by name or folder: sequence-to-sequence, vision-encoder-decoder, BLIP or GIT."""
    folder = resolve(name)
    kind = _CAPTIONERS.get(str(read_config(folder).get("model_type")))
    model = read_model(kind or "AutoModelForSeq2SeqLM", folder, "float32", ("pooler",)).eval().to(device())
    return Generator(model, load_tokenizer(folder), image_processor(folder) if kind else None)
