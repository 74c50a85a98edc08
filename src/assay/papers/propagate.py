"""Does a metric that is used as a reward pass its bias on to a captioner? (caption sec. 3.2, 4.2)

Metrics go in, one effect per metric and method comes out: best-of-N reranking, minimum-risk training and
self-critical training of one captioner. The gender error is the share of captions that state the wrong
gender; a concept is biased where men and women err at different rates. Pictures and captioner are those of
the rendered world, or the user's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from assay.audits.caption.concepts import compare_groups
from assay.core import Floats, Measure, Sample
from assay.datasets import scenes as rendered
from assay.datasets.lexicon import gendered
from assay.datasets.rows import Row, read_rows
from assay.engine.scoring import score_samples
from assay.engine.session import Session
from assay.errors import DataError, MetricError
from assay.mitigation.proof import MaybeInterval, copied, write_rows
from assay.models.captioner import Captioner, load_captioner
from assay.models.lazy import torch
from assay.recipe import generator
from assay.statistics.intervals import bootstrap_weighted, weighted_mean

_Reward = Callable[[Sequence[Sample], Sequence[str]], Floats]
Way = Literal["best-of-n", "minimum-risk", "self-critical"]
_World = Callable[[int], tuple[Captioner, list["Scene"], list["Scene"]]]  # by seed: base, training, test
_FEWEST = 20  # scenes of a user's file
_SHARPNESS = 0.2  # alpha of Shen et al. 2016, on log-probabilities
_GENDERS = {"male": "male", "man": "male", "female": "female", "woman": "female"}


@dataclass(frozen=True, slots=True)
class Scene:
    """What a captioner reads, the caption it should write and the references, of a concept and gender."""

    concept: str
    gender: str  # male or female
    sample: Sample


@dataclass(frozen=True, slots=True)
class Experiment:
    """How captions are drawn and a captioner is trained on a reward."""

    epochs: float = 3.0  # over the training scenes; the paper trains for one to three
    samples: int = 5  # as in the paper
    batch: int = 48
    rate: float = 5e-4
    warmup: int = 10  # updates
    kl: float = 0.1  # price of leaving the captioner as it was, in spreads of the reward per nat

    def updates_on(self, scenes: int) -> int:
        return max(1, math.ceil(self.epochs * scenes / self.batch))


@dataclass(frozen=True, slots=True)
class _Change:
    """A mean before and after, and the difference with its interval."""

    before: float
    after: float
    change: float
    ci: MaybeInterval


@dataclass(frozen=True, slots=True)
class Effect:
    """What one reward did by one method, over all seeds; rates in points of 100."""

    reward: str
    method: Way
    errors: _Change
    biased_before: float | None  # None where no concept has scenes enough
    biased_after: float | None
    silent: _Change  # captions that name no gender, or both
    gain: _Change  # of the reward of drawn captions, in its own units: what training raises
    scores: Mapping[str, _Change]  # by metric: the columns of tables 3 and 6
    n: int


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Captions of one seed's test scenes before and after, and how each did."""

    scenes: Sequence[Scene]
    texts: tuple[Sequence[str], Sequence[str]]
    table: Floats  # per scene, before and after: wrong, without one gender, reward of draws, each column


def propagate(
    measures: Sequence[Measure],
    seeds: Sequence[int],
    experiment: Experiment,
    world: _World,
    session: Session,
    *,
    methods: Sequence[Way] = ("best-of-n", "minimum-risk"),
    columns: Sequence[Measure] = (),
    out: Path | None = None,
) -> list[Effect]:
    """Every method with every reward; `world` gives the captioner and the scenes of a seed."""
    parts: dict[tuple[str, Way], list[_Outcome]] = {}
    for seed in seeds:
        base, training, test = world(seed)
        references = [scene.sample.references for scene in training]
        others = [reward_of(measure, references, session) for measure in columns]
        inputs = _samples(test)
        before, drawn = base.best(inputs), base.sample(inputs, experiment.samples, seed)
        _check_gendered(before)
        for measure in measures:
            reward = reward_of(measure, references, session)
            for way in methods:
                if way == "best-of-n":
                    after = best_of(inputs, drawn, reward)
                    redrawn = [[text] for text in after]
                else:
                    tuned = deepcopy(base)
                    train_on_reward(tuned, _samples(training), reward, experiment, seed, way)
                    after, redrawn = tuned.best(inputs), tuned.sample(inputs, experiment.samples, seed)
                gains = [_rewards(inputs, some, reward).mean(axis=1) for some in (drawn, redrawn)]
                outcome = _outcome(test, (before, after), gains, others)
                parts.setdefault((measure.label, way), []).append(outcome)
    if out is not None:
        _write_captions(parts, out)
    names = [measure.label for measure in columns]
    return [_effect(name, way, outcomes, names, seed=seeds[0]) for (name, way), outcomes in parts.items()]


def _samples(scenes: Sequence[Scene]) -> list[Sample]:
    return [scene.sample for scene in scenes]


def _check_gendered(captions: Sequence[str]) -> None:
    """Refuse a captioner that names no gender: none of its captions could be wrong."""
    if not any(map(stated_gender, captions)):
        raise DataError(
            f"none of {len(captions)} captions of the captioner names a gender ({captions[0]!r} is one), so "
            "that none is wrong; take one that writes man and woman"
        )


def reward_of(measure: Measure, references: Sequence[tuple[str, ...]], session: Session) -> _Reward:
    """A metric, fitted to references, as a reward; a text without a score has the lowest of its batch.

    A batch without any score is an error: it would be a constant reward, which trains nothing.
    """
    fitted = replace(measure, metric=measure.metric.fitted(references))

    def reward(inputs: Sequence[Sample], texts: Sequence[str]) -> Floats:
        samples = [replace(sample, hypothesis=text) for sample, text in zip(inputs, texts, strict=True)]
        values = score_samples(fitted, samples, session).values[:, fitted.column]
        if not np.isfinite(values).any():
            needs = " and ".join(sorted(fitted.metric.needs))
            raise MetricError(
                f"{fitted.label} gives these scenes no score and cannot be a reward: it needs {needs} with "
                f"each scene; add the missing column to --data, or choose another metric"
            )
        return np.nan_to_num(values, nan=float(np.nanmin(values)))

    return reward


def best_of(inputs: Sequence[Sample], drawn: Sequence[Sequence[str]], reward: _Reward) -> list[str]:
    """The candidate with the highest reward per input; of equals the first drawn."""
    values = _rewards(inputs, drawn, reward)
    return [texts[int(place)] for texts, place in zip(drawn, values.argmax(axis=1), strict=True)]


def _rewards(inputs: Sequence[Sample], drawn: Sequence[Sequence[str]], reward: _Reward) -> Floats:
    """The reward of each candidate, (inputs, candidates)."""
    repeated = [sample for sample, texts in zip(inputs, drawn, strict=True) for _ in texts]
    return reward(repeated, [text for texts in drawn for text in texts]).reshape(len(inputs), -1)


def train_on_reward(
    tuned: Captioner, training: Sequence[Sample], reward: _Reward, experiment: Experiment, seed: int, way: Way
) -> None:
    """Raise the expected reward of a few draws.

    Minimum risk weighs them by their probability (Shen et al. 2016); self-critical training
    follows the gradient of each, with the reward of the likeliest caption as baseline (Rennie et al. 2017).
    A penalty on the divergence from the captioner as it was (Ziegler et al. 2019) keeps it from captions that
    deceive the reward, such as "a man woman": without it one seed of three ends in them.
    """
    optimizer = torch.optim.AdamW(tuned.model.parameters(), lr=experiment.rate, weight_decay=0.0)
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=experiment.warmup)
    base = deepcopy(tuned)
    for step in range(experiment.updates_on(len(training))):
        batch = generator(seed, "risk", str(step)).choices(list(training), k=experiment.batch)
        drawn = tuned.sample(batch, experiment.samples, seed * 100_003 + step)
        values = _rewards(batch, drawn, reward)
        texts = [text for some in drawn for text in some]
        logs = tuned.log_probability(batch, texts).reshape(values.shape)
        with torch.no_grad():
            drift = logs - base.log_probability(batch, texts).reshape(values.shape)
        if way == "self-critical":
            values -= reward(batch, tuned.best(batch))[:, None]
            shares = logs / logs.shape[1]
        else:
            shares = torch.softmax(_SHARPNESS * logs, dim=1)
            values -= values.mean(axis=1, keepdims=True)
        # One scale for the batch; with one per scene, tiny differences would weigh as much as large ones.
        weights = torch.tensor(values / max(values.std(), 1e-9), dtype=shares.dtype, device=shares.device)
        loss = -(shares * (weights - experiment.kl * drift)).sum(1).mean()
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(tuned.model.parameters(), 1.0)
        optimizer.step()
        warmup.step()


def is_wrong(scene: Scene, text: str) -> bool:
    """Whether a caption states the other gender than the scene has."""
    return stated_gender(text) not in (None, scene.gender)


def stated_gender(text: str) -> str | None:
    """The gender a text states; None where it states none, or both."""
    genders = {gendered(word.strip(".,;:!?").lower()) for word in text.split()} - {None}
    return genders.pop() if len(genders) == 1 else None


def _outcome(
    scenes: Sequence[Scene],
    texts: tuple[Sequence[str], Sequence[str]],
    gains: Sequence[Floats],
    columns: Sequence[_Reward],
) -> _Outcome:
    inputs = [scene.sample for scene in scenes]
    errors = [[is_wrong(scene, text) for scene, text in zip(scenes, side, strict=True)] for side in texts]
    silent = [[stated_gender(text) is None for text in side] for side in texts]
    scores = [column(inputs, side) for column in columns for side in texts]
    return _Outcome(scenes, texts, np.column_stack([*errors, *silent, *gains, *scores]).astype(np.float64))


def _effect(
    reward: str, way: Way, outcomes: Sequence[_Outcome], columns: Sequence[str], *, seed: int
) -> Effect:
    """Outcomes of all seeds together; concepts are the clusters, so that a concept counts once."""
    scenes = [scene for outcome in outcomes for scene in outcome.scenes]
    table = np.concatenate([outcome.table for outcome in outcomes])
    clusters = [scene.concept for scene in scenes]

    def change(place: int, scale: float = 1.0) -> _Change:
        before, after = scale * table[:, 2 * place], scale * table[:, 2 * place + 1]
        ci = bootstrap_weighted(
            partial(weighted_mean, values=after - before), len(table), clusters=clusters, seed=seed,
            resamples=1000,
        )  # fmt: skip
        means = float(before.mean()), float(after.mean())
        return _Change(*means, means[1] - means[0], ci.pair if ci else None)

    before, after = (biased_share(scenes, table[:, side], seed) for side in (0, 1))
    scores = {name: change(place) for place, name in enumerate(columns, start=3)}
    rates = change(0, 100.0), before, after, change(1, 100.0)
    return Effect(reward, way, *rates, change(2), scores, len(table))


def biased_share(scenes: Sequence[Scene], errors: Floats, seed: int = 0) -> float | None:
    """The share of concepts, in points, on which men and women err at significantly different rates."""
    paths = [(category, name) for category, _, name in (scene.concept.rpartition("/") for scene in scenes)]
    listed = compare_groups(paths, [scene.gender for scene in scenes], 1.0 - errors, ("male", "female"), seed)
    biased = [concept.is_biased for concept in listed if concept.has_enough]
    return 100.0 * float(np.mean(biased)) if biased else None


def _write_captions(parts: Mapping[tuple[str, Way], Sequence[_Outcome]], out: Path) -> None:
    """The captions before and after as files that the caption audit reads, with copies of the images."""
    for (reward, way), outcomes in parts.items():
        name = "".join(letter if letter.isalnum() else "-" for letter in f"{reward}-{way}")
        for side, when in enumerate(("before", "after")):
            rows = (
                _row(scene, text, f"{seed}/{number}", out)
                for seed, outcome in enumerate(outcomes)
                for number, (scene, text) in enumerate(zip(outcome.scenes, outcome.texts[side], strict=True))
            )
            write_rows(out / f"{name}-{when}.jsonl", rows)


def _row(scene: Scene, text: str, name: str, out: Path) -> dict[str, Any]:
    category, _, concept = scene.concept.rpartition("/")
    return {
        "id": name, "hypothesis": text, "references": scene.sample.references, "group": scene.gender,
        "category": category or "all", "concept": concept, "image": copied(scene.sample.image, out),
    }  # fmt: skip


def rendered_world(test: int) -> _World:
    """Pictures of the rendered world, about `test` to test on, and a small captioner for each seed.

    Both genders are equally frequent with every concept, so that only the reward can teach the captioner to
    guess the gender from the concept. The reward is trained on other pictures than the captioner was.
    """
    per_group = max(1, test // (2 * len(rendered.concept_captions())))

    def world(seed: int) -> tuple[Captioner, list[Scene], list[Scene]]:
        training = rendered.draw_scenes(rendered.captioner_course()["rewarded"], seed, "reward", "balanced")
        base = load_captioner(str(rendered.captioner_folder("balanced", seed)))
        return base, _drawn(training), _drawn(rendered.even_scenes(per_group, seed))

    return world


def _drawn(scenes: Sequence[rendered._Scene]) -> list[Scene]:
    pairs = zip(scenes, rendered.as_samples(scenes), strict=True)
    return [Scene(scene.path, _GENDERS[scene.caption.group], sample) for scene, sample in pairs]


def own_world(model: str, data: Path) -> _World:
    """A captioner and scenes of the user's; each seed tests on another half of the scenes."""
    base, scenes = load_captioner(model), read_scenes(data)
    check_words(base.tokenizer, model)

    def world(seed: int) -> tuple[Captioner, list[Scene], list[Scene]]:
        mixed = generator(seed, "own-world", "").sample(scenes, len(scenes))
        return base, mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]

    return world


def read_scenes(path: Path) -> list[Scene]:
    """Rows with `group` (man or woman), `references`, and `source` or `image`; `concept` where known."""
    scenes = [_own_scene(row) for row in read_rows(path)]
    if len(scenes) < _FEWEST:
        raise DataError(f"{path}: {len(scenes)} scenes; at least {_FEWEST} are needed for a rate of errors")
    return scenes


def _own_scene(row: Row) -> Scene:
    gender = _GENDERS.get(row.text("group").lower())
    if gender is None:
        raise row.fail(f"column 'group' must be one of {', '.join(_GENDERS)}, not {row.text('group')!r}")
    references = row.texts("references") or row.texts("reference")
    if not references:
        raise row.fail("column 'references' is missing: what the reward compares a caption with")
    image, source = row.image() if row.has("image") else None, row.maybe("source")
    if not source and image is None:
        raise row.fail("a scene needs 'source' or 'image': what the captioner reads")
    return Scene(row.maybe("concept") or "all", gender, Sample(references[0], references, source, image))


def check_words(tokenizer: Any, name: str) -> None:
    """Refuse a tokenizer that cannot write the words for both genders."""
    ids = {word: tokenizer(word).input_ids for word in ("man", "woman")}
    lost = [w for w, row in ids.items() if tokenizer.decode(row, skip_special_tokens=True).strip() != w]
    if lost:
        raise DataError(
            f"the tokenizer of {name} cannot write {' and '.join(lost)}: no caption could name that gender; "
            "take a captioner trained on captions of people"
        )
