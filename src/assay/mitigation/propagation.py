"""Does a reward pass its bias on? (caption sec. 3.2, 4.2) Best-of-N reranking and minimum-risk training.

Both start from one generator trained on captions; the gender error is the share of captions that tell the
wrong gender, a concept is biased when men and women err at different rates. Scenes stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from assay.core import Floats, Measure, Sample
from assay.mitigation.generators import Generator, fit_likelihood
from assay.mitigation.world import Scene, scenes, small_generator, told_gender
from assay.recipe import generator
from assay.run.scoring import score_samples
from assay.run.session import Session
from assay.statistics.intervals import bootstrap_weighted

Reward = Callable[[Sequence[Scene], Sequence[str]], Floats]
Road = Literal["best-of-n", "minimum-risk"]
Setting = Callable[[int], tuple[Generator, list[Scene], list[Scene]]]  # seed -> base, trained on, tested on
Interval = tuple[float, float] | None
_GAP = 0.1  # difference of error rates from which a concept counts as biased


@dataclass(frozen=True, slots=True)
class Course:
    """How much is drawn and trained."""

    train: int = 3000
    test: int = 400
    steps: int = (
        800  # likelihood training; after 300 it still errs at random where the scene shows the gender
    )
    updates: int = 60  # minimum-risk training
    candidates: int = 5  # the paper samples five
    batch: int = 16
    rate: float = 3e-4  # the largest tried at which captions stay whole: 1e-3 drifts, 3e-3 collapses
    sharpness: float = 0.2  # alpha of Shen et al. 2016, on log-probabilities


@dataclass(frozen=True, slots=True)
class Effect:
    """What one reward did by one road, over all seeds; rates in points of 100."""

    reward: str
    road: Road
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


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Per scene: errors before and after, reward before and after."""

    scenes: tuple[Scene, ...]
    errors: Floats  # (n, 2)
    rewards: Floats  # (n, 2)


def reward_of(measure: Measure, settings: Session) -> Reward:
    """A metric as a reward of captions."""

    def reward(some: Sequence[Scene], texts: Sequence[str]) -> Floats:
        samples = [Sample(text, scene.references) for scene, text in zip(some, texts, strict=True)]
        values = score_samples(measure, samples, settings).values[:, measure.column]
        return np.nan_to_num(values, nan=float(np.nanmin(values)) if np.isfinite(values).any() else 0.0)

    return reward


def controlled(course: Course) -> Setting:
    """The controlled world: scenes and a small generator of their own a seed."""

    def setting(seed: int) -> tuple[Generator, list[Scene], list[Scene]]:
        trained, tested = scenes(course.train, seed, "train"), scenes(course.test, seed, "test")
        return fitted(trained, course, seed), trained, tested

    return setting


def propagate(
    measures: Sequence[Measure], seeds: Sequence[int], course: Course, setting: Setting, settings: Session
) -> list[Effect]:
    """Both roads with every reward; `setting` gives the generator and the scenes of a seed."""
    found: dict[tuple[str, Road], list[_Outcome]] = {}
    for seed in seeds:
        base, trained, tested = setting(seed)
        for measure in measures:
            reward = reward_of(_fitted(measure, trained), settings)
            for road, outcome in both_roads(base, trained, tested, reward, course, seed).items():
                found.setdefault((measure.label, road), []).append(outcome)
    return [effect(label, road, outcomes, seed=seeds[0]) for (label, road), outcomes in found.items()]


def _fitted(measure: Measure, trained: Sequence[Scene]) -> Measure:
    return replace(measure, metric=measure.metric.fitted([scene.references for scene in trained]))


def fitted(trained: Sequence[Scene], course: Course, seed: int) -> Generator:
    """The small generator, trained on the captions of a world."""
    texts = [text for scene in trained for text in (scene.source, scene.caption, *scene.references)]
    made = Generator(*small_generator(texts, seed))
    fit_likelihood(made, trained, steps=course.steps, seed=seed)
    return made


def both_roads(
    base: Generator,
    trained: Sequence[Scene],
    tested: Sequence[Scene],
    reward: Reward,
    course: Course,
    seed: int,
) -> Mapping[Road, _Outcome]:
    """The same test scenes: one draw of the base, the best of N draws, one draw after training."""
    drawn = base.sample(tested, course.candidates, seed)
    plain = [texts[0] for texts in drawn]
    tuned = deepcopy(base)
    minimum_risk(tuned, trained, reward, course, seed)
    after = [texts[0] for texts in tuned.sample(tested, 1, seed)]
    return {
        "best-of-n": _outcome(tested, plain, best_of(tested, drawn, reward), reward),
        "minimum-risk": _outcome(tested, plain, after, reward),
    }


def best_of(tested: Sequence[Scene], drawn: Sequence[Sequence[str]], reward: Reward) -> list[str]:
    """The candidate with the highest reward a scene; of equals the first drawn."""
    flat = [(scene, text) for scene, texts in zip(tested, drawn, strict=True) for text in texts]
    values = reward([scene for scene, _ in flat], [text for _, text in flat]).reshape(len(tested), -1)
    return [texts[int(place)] for texts, place in zip(drawn, values.argmax(axis=1), strict=True)]


def minimum_risk(
    made: Generator, trained: Sequence[Scene], reward: Reward, course: Course, seed: int
) -> list[float]:
    """Shen et al. 2016: raise the expected reward over a few draws, weighted by their probability."""
    import torch

    optimizer = torch.optim.AdamW(made.model.parameters(), lr=course.rate, weight_decay=0.0)
    history = []
    for step in range(course.updates):
        some = generator(seed, "risk", str(step)).choices(list(trained), k=course.batch)
        drawn = made.sample(some, course.candidates, seed * 100_003 + step)
        flat = [(scene, text) for scene, texts in zip(some, drawn, strict=True) for text in texts]
        people, texts = [scene for scene, _ in flat], [text for _, text in flat]
        values = reward(people, texts).reshape(len(some), -1)
        spread = values.std(axis=1, keepdims=True)
        centred = (values - values.mean(axis=1, keepdims=True)) / np.where(spread > 1e-9, spread, 1.0)
        logs = made.log_probability(people, texts).reshape(len(some), -1)
        shares = torch.softmax(course.sharpness * logs, dim=1)
        loss = -(shares * torch.tensor(centred, dtype=shares.dtype)).sum(1).mean()
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(made.model.parameters(), 1.0)
        optimizer.step()
        history.append(float(values.mean()))
    return history


def is_wrong(scene: Scene, text: str) -> bool:
    """Whether a caption tells the other gender than the scene has."""
    told = told_gender(text)
    return told is not None and told != scene.gender


def _outcome(
    tested: Sequence[Scene], before: Sequence[str], after: Sequence[str], reward: Reward
) -> _Outcome:
    columns = [
        [float(is_wrong(s, t)) for s, t in zip(tested, texts, strict=True)] for texts in (before, after)
    ]
    rewards = [reward(tested, texts) for texts in (before, after)]
    return _Outcome(tuple(tested), np.array(columns).T, np.stack(rewards, axis=1))


def effect(label: str, road: Road, outcomes: Sequence[_Outcome], *, seed: int) -> Effect:
    """Outcomes of all seeds together; concepts are the clusters, so that a concept counts once."""
    people = [scene for one in outcomes for scene in one.scenes]
    errors = 100.0 * np.concatenate([one.errors for one in outcomes])
    rewards = np.concatenate([one.rewards for one in outcomes])
    moved, gained = (table[:, 1] - table[:, 0] for table in (errors, rewards))
    clusters: list[Hashable] = [scene.concept for scene in people]
    ci, gain_ci = (_mean_interval(values, clusters, seed) for values in (moved, gained))
    before, after = (float(value) for value in errors.mean(axis=0))
    one, two = (biased_share(people, errors[:, column]) for column in (0, 1))
    gain = float(gained.mean())
    return Effect(label, road, before, after, float(moved.mean()), ci, one, two, gain, gain_ci, len(moved))


def _mean_interval(values: Floats, clusters: Sequence[Hashable], seed: int) -> Interval:
    def mean(weights: Floats) -> Floats:
        return np.asarray((weights @ values) / np.maximum(weights.sum(axis=1), 1e-12))

    found = bootstrap_weighted(
        mean, len(values), clusters=list(clusters), seed=seed, resamples=1000, method="percentile"
    )
    return found.pair if found else None


def biased_share(people: Sequence[Scene], errors: Floats) -> float:
    """The share of concepts, in points, on which one gender errs more often by the gap or more."""
    rates: dict[str, dict[str, list[float]]] = {}
    for scene, error in zip(people, errors, strict=True):
        rates.setdefault(scene.concept, {}).setdefault(scene.gender, []).append(float(error))
    gaps = [abs(float(np.mean(r["male"]) - np.mean(r["female"]))) for r in rates.values() if len(r) == 2]
    return 100.0 * float(np.mean([gap >= 100.0 * _GAP for gap in gaps])) if gaps else 0.0
