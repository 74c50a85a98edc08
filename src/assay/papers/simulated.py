"""Simulated metrics: scores drawn for an audit's cases, with one defect of known size.

What an audit says where the defect is planted is its power; whatever fails without a defect is a false alarm.
Where an audit counts decisions the size is how many of 100 come out so, where it judges fairness an effect in
lost words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import pi, sin, sqrt
from typing import Any

import numpy as np
from scipy.special import ndtri

from assay.audits.association import INNOCUOUS
from assay.audits.contrast import BETTER, FAR
from assay.audits.effects import BAR, CLEAN, MARGIN, REWORDED, UNIT
from assay.audits.stereotype.audit import PAIR
from assay.audits.stereotype.crossed import LOST, TERM
from assay.audits.swap import preference
from assay.core import Audit, Case, Floats, Grid, Scored
from assay.datasets.association import AssociationTest
from assay.statistics.intervals import label_codes

METRIC = "simulated"
_LEVELS = 10.0  # SD of the scores of sound texts, in lost words: items differ far more than their versions
_SPREAD = 0.3  # SD by which a group's texts differ from context to context, as those of encoders do
_NOISE = 0.5  # SD of what is left between two texts of one context
_EDIT = 0.5  # of a lost word, by which any text scores higher as it was written than swapped
_RIGHT = 1.0  # of a lost word, by which a caption with the right group scores above one with the wrong
_SURE = 0.95  # the share of captions that an honest metric is right about
_AGREES = 0.7  # the correlation with people of an honest metric
_REDRAWN = 0.3  # the share of what a metric gets wrong that swapping genders draws again
_GRAVE = 3.0  # lost words that a wrong answer costs
_LEAN = 0.3  # SD of what is left of an association between two words
_COSTS = 4.0  # the shape of a gamma distribution: a lost word costs 1 on average, with an SD of a half


@dataclass(frozen=True, slots=True)
class World:
    """What scores are drawn for: an audit with its items, and a random generator."""

    audit: Audit
    items: Sequence[Case | Grid]
    rng: np.random.Generator

    @property
    def cases(self) -> list[Case]:
        """The items that are cases."""
        return [item for item in self.items if isinstance(item, Case)]

    @property
    def clusters(self) -> list[str]:
        """What each case belongs to."""
        return [str(case.meta.get("cluster", case.id)) for case in self.cases]

    def normal(self, *shape: int) -> Floats:
        """Noise with an SD of 1."""
        return self.rng.normal(size=shape)

    def by_label(self, labels: Sequence[object]) -> Floats:
        """Noise with an SD of 1 that rows with the same label share."""
        codes, count = label_codes(labels, len(labels))
        return self.normal(count)[codes]

    def costs(self) -> Floats:
        """What a lost word costs in each case."""
        return self.rng.gamma(_COSTS, 1 / _COSTS, size=len(self.cases))


Drawn = tuple[list[Scored], str]  # the scores, and a pattern of the slices that have the defect


@dataclass(frozen=True, slots=True)
class Simulated:
    """A metric with one defect: how its scores are drawn, and which statistic must show it."""

    audit: str
    defect: str  # "puts so many decisions in right order"
    statistic: str
    unit: str
    sizes: tuple[float, ...]  # the axis of the operating curve, the metric without a defect first
    harmless: float  # the size at the bar: whatever fails up to it is a false alarm
    stated: float  # found in 95 of 100 simulations on the standard data
    draw: Callable[[World, float], Drawn]
    needs: Callable[[Case], bool] = lambda case: True  # which cases can show it


def _has(prefix: str) -> Callable[[Case], bool]:
    """Whether a case has a text whose role begins so."""
    return lambda case: any(role.startswith(prefix) for role in case.samples)


def _is_rated(case: Case) -> bool:
    """Whether people rated the text."""
    return bool(case.meta.get("human"))


def single(cases: Sequence[Case], values: Mapping[str, Floats], metric: str = METRIC, **about: Any) -> Scored:
    """Scores of one simulated metric; nan for a role that a case does not have."""
    present = {role: [role in case.samples for case in cases] for role in values}
    there = {role: np.where(present[role], column, np.nan) for role, column in values.items()}
    return Scored(metric, cases, there, about={"signature": METRIC, "name": metric, **about})


def roles_of(cases: Sequence[Case]) -> list[str]:
    """Every role, in order of appearance."""
    return list(dict.fromkeys(role for case in cases for role in case.samples))


def decides_rightly(world: World, size: float) -> Drawn:
    """Of 100 decisions between a sound text and a worse one, `size` are right, in every slice.

    Decisions on one item are alike in part. A text that an edit left as it was scores as before.
    """
    cases = world.cases
    threshold = ndtri(size / 100)
    shared = world.by_label(world.clusters)
    values = {}
    for role in roles_of(cases):
        skill = (shared + world.normal(len(cases))) / sqrt(2)
        values[role] = np.where(_is_sound(cases, role), 0.0, np.where(skill < threshold, -1.0, 1.0))
    return [single(cases, values)], "*"


def _is_sound(cases: Sequence[Case], role: str) -> np.ndarray:
    """Whether the text of a role is as good as the clean one: the same text, a rewording, a control."""
    if role in (CLEAN, REWORDED, FAR, BETTER) or role.startswith("control"):
        return np.ones(len(cases), dtype=np.bool_)
    texts = [
        [case.samples[name].hypothesis for name in (CLEAN, role) if name in case.samples] for case in cases
    ]
    return np.array([len(both) == 2 and len(set(both)) == 1 for both in texts], dtype=np.bool_)


def _first_term(cases: Sequence[Case]) -> tuple[str, str, str]:
    """The first attribute, and the group and the word that its first context names first."""
    role = next(role for role in cases[0].samples if role.startswith(f"{TERM}/"))
    _, group, word = role.split("/", 2)
    return cases[0].slice, group, word


def _crossed(world: World, effect: Callable[[Case, str, str], float]) -> list[Scored]:
    """Scores of contexts filled with terms; `effect` is what a text gains by its group and its word."""
    cases, contexts = world.cases, world.clusters
    attribute, *_ = _first_term(cases)
    level = _LEVELS * world.by_label(contexts)
    groups = dict.fromkeys(role.split("/")[1] for role in roles_of(cases) if role.startswith(f"{TERM}/"))
    spreads = {group: _SPREAD * world.by_label(contexts) for group in groups}
    values: dict[str, Floats] = {}
    for role in roles_of(cases):
        kind, _, name = role.partition("/")
        if kind == LOST:
            values[role] = values[f"{TERM}/{name}"] - world.costs()
            continue
        values[role] = level + _NOISE * world.normal(len(cases))
        if kind == TERM:
            group, word = name.split("/", 1)
            effects = [effect(case, group, word) if case.slice == attribute else 0.0 for case in cases]
            values[role] += spreads[group] + np.array(effects)
    return [single(cases, values)]


def penalises_a_group(world: World, size: float) -> Drawn:
    """Texts about the first group lose `size`, by whatever word they name it."""
    attribute, first, _ = _first_term(world.cases)
    return _crossed(world, lambda case, group, word: -size * (group == first)), f"{attribute}/group/{first}"


def penalises_a_term(world: World, size: float) -> Drawn:
    """Texts with the first word lose `size`; the group's other words do not."""
    attribute, _, first = _first_term(world.cases)
    return _crossed(world, lambda case, group, word: -size * (word == first)), f"{attribute}/word/{first}"


def penalises_an_intersection(world: World, size: float) -> Drawn:
    """Texts about the first intersection lose `size`; those about either of its parts do not."""
    drawn, place = penalises_a_group(world, size)
    return drawn, place.replace("/group/", "/interaction/")


def penalises_in_one_form(world: World, size: float) -> Drawn:
    """Texts about the first group lose `size` in one form of context, such as news."""
    attribute, first, _ = _first_term(world.cases)
    form = world.cases[0].meta["form"]

    def effect(case: Case, group: str, word: str) -> float:
        return -size * (group == first and case.meta["form"] == form)

    return _crossed(world, effect), f"{attribute}/group/{first}"


def penalises_in_half(world: World, size: float) -> Drawn:
    """Texts about the first group lose `size` in half of the contexts."""
    attribute, first, _ = _first_term(world.cases)
    chosen = set(list(dict.fromkeys(world.clusters))[::2])

    def effect(case: Case, group: str, word: str) -> float:
        return -size * (group == first and case.meta["cluster"] in chosen)

    return _crossed(world, effect), f"{attribute}/group/{first}"


def prefers_stereotypes(world: World, size: float) -> Drawn:
    """A text gains `size` that states a stereotype of the group it names."""
    attribute, *_ = _first_term(world.cases)
    gain = lambda case, group, word: size * (case.meta["stereotype_of"] == group)  # noqa: E731
    return _crossed(world, gain), attribute


def prefers_one_side(world: World, size: float) -> Drawn:
    """The first text of every pair gains `size` over the second."""
    cases = world.cases
    level, costs = _LEVELS * world.normal(len(cases)), world.costs()
    gain = size + _NOISE * world.by_label([case.meta.get("template", case.id) for case in cases])
    first, second = level + gain, level + _NOISE * world.normal(len(cases))
    sides = dict(zip(PAIR, (first, second), strict=True))
    lost = {f"{LOST}/{role}": score - costs for role, score in sides.items()}
    return [single(cases, sides | lost)], cases[0].slice


def prefers_male(world: World, size: float) -> Drawn:
    """The male version of a text scores `size` above the female one."""
    cases = world.cases
    signs = np.where([case.meta["content"] == "male" for case in cases], 1.0, -1.0)
    gain = _EDIT + signs * (size + _SPREAD * world.by_label(world.clusters))
    level = _LEVELS * world.normal(len(cases))
    versions = dict(
        zip(preference.VERSIONS, (level + gain, level + _NOISE * world.normal(len(cases))), strict=True)
    )
    lost = zip(preference.LOST_WORD, versions.values(), strict=True)
    return [
        single(cases, versions | {role: score - world.costs() for role, score in lost})
    ], "preference/both"


def loses_agreement(world: World, size: float) -> Drawn:
    """Swapped texts are scored with less regard for what people said."""
    cases = world.cases
    criterion = next(name for case in cases for name in case.meta["human"])
    human = _standardised([case.meta["human"].get(criterion, np.nan) for case in cases])
    shared, apart = world.normal(2, len(cases))
    alike = sqrt(1 - _REDRAWN**2) * shared + _REDRAWN * apart
    after = _AGREES - size
    original = _AGREES * human + sqrt(1 - _AGREES**2) * shared
    swapped = after * human + sqrt(1 - after**2) * alike
    return [
        single(cases, dict(zip(preference.VERSIONS, (original, swapped), strict=True)))
    ], f"example/{criterion}"


def _standardised(ratings: Sequence[float]) -> Floats:
    """Ratings with mean 0 and SD 1; those that are missing are put in the middle."""
    values = np.array(ratings, dtype=np.float64)
    return np.nan_to_num((values - np.nanmean(values)) / (np.nanstd(values) or 1.0))


def prefers_captions_of_a_group(world: World, size: float) -> Drawn:
    """Captions that name the first group score `size` above those that name the second."""
    cases = world.cases
    is_first = np.array([case.meta["group"] == cases[0].meta["group"] for case in cases])
    effect = size + _SPREAD * world.by_label([case.meta["concept"] for case in cases])
    good = _LEVELS * world.normal(len(cases))
    bad = good - _RIGHT - np.where(is_first, effect, -effect) + _NOISE * world.normal(len(cases))
    return [single(cases, {"good": good, "bad": bad, LOST: good - world.costs()})], "all"


def errs_on_one_group(world: World, size: float) -> Drawn:
    """Of 100 captions of the second group, `size` fewer are ranked right than of the first."""
    cases = world.cases
    is_second = np.array([case.meta["group"] != cases[0].meta["group"] for case in cases])
    is_right = world.rng.random(len(cases)) < _SURE - size / 100 * is_second
    values = {"good": np.where(is_right, 1.0, -1.0), "bad": np.zeros(len(cases)), LOST: np.zeros(len(cases))}
    return [single(cases, values)], "all"


def prefers_its_own(world: World, size: float) -> Drawn:
    """The first system's own model lets it win `size` of 100 decisions; a neutral metric tosses a coin."""
    cases = world.cases
    own, *others = roles_of(cases)
    answers = []
    for metric, share, about in ((METRIC, size, {"backbone": own}), ("neutral", 50.0, {})):
        wins = {other: world.rng.random(len(cases)) < share / 100 for other in others}
        values = {other: np.where(is_won, -1.0, 1.0) for other, is_won in wins.items()}
        answers.append(single(cases, {own: np.zeros(len(cases)), **values}, metric, **about))
    return answers, own


def grades_what_must_not_matter(world: World, size: float) -> Drawn:
    """A judge whose grades rise by `size` with anything that is said beside an answer."""
    cases = world.cases
    level = _LEVELS * world.by_label([case.meta["item"] for case in cases])
    shifts = {"changed": np.full(len(cases), size), "wrong": np.full(len(cases), -_GRAVE)}
    values = {}
    for role in roles_of(cases):
        lost = world.costs() if role.startswith("lost") else 0.0
        noise = _NOISE * world.normal(len(cases)) if role in ("changed", "wrong") else 0.0
        values[role] = level + shifts.get(role, 0.0) - lost + noise
    return [single(cases, values)], "*"


def agrees_so_often(world: World, size: float) -> Drawn:
    """Of 100 decisions between texts that people rate differently, `size` are people's."""
    cases = world.cases
    criterion = next(name for case in cases for name in case.meta["human"])
    human = _standardised([float(np.mean(case.meta["human"].get(criterion) or np.nan)) for case in cases])
    agreement = sin(pi * (size / 100 - 0.5))  # of two normal variables, Pearson's r from Kendall's tau
    values = agreement * human + sqrt(1 - agreement**2) * world.normal(len(cases))
    return [single(cases, {"hypothesis": values})], f"example/{criterion}"


def associates(world: World, size: float) -> Drawn:
    """The first test's targets lean to its attributes; words lean by chance, their sentences as they do."""
    grids: dict[str, Floats] = {}
    lean = size / sqrt(1 - (size / 2) ** 2) / 2  # d divides by the SD of both sets together
    tests: list[AssociationTest] = list(world.audit.tests)  # type: ignore[attr-defined]
    # Tests without a verdict (flowers and insects) are last, so that they get no defect.
    ordered = sorted(tests, key=lambda test: test.label in INNOCUOUS)
    for number, test in enumerate(ordered):
        units = [(side, unit) for side in ("targ1", "targ2") for _, unit in getattr(test, side).items]
        sides = np.array([1.0 if side == "targ1" else -1.0 for side, _ in units])
        n_a, n_b = len(test.attr1.items), len(test.attr2.items)
        leaning = world.by_label(units) + (lean * sides if number == 0 else 0.0)
        contrast = np.concatenate([np.full(n_a, 0.5), np.full(n_b, -0.5)])
        cells = leaning[:, None] * contrast + _LEAN * world.normal(len(units), n_a + n_b)
        grids |= {test.name: cells, f"{test.name}/reverse": cells.T}
    return [replace(single(world.cases, {}), grids=grids)], ordered[0].name


_ORDERS = (95.0, 85.0, 75.0, 65.0, 60.0, 55.0, 50.0, 25.0)
_EFFECTS = (0.0, 0.125, 0.25, 0.375, 0.5, 0.75, 1.0)
_FOUND = 0.5  # of a lost word: the effect that must be found
_ORDERED = (
    "stress", "checklist", "contrast", "sanity", "position", "injection", "repetition", "frequent-ngram",
    "copy-source", "truncation-direction",
)  # fmt: skip


def _unfair(
    defect: str, draw: Callable[[World, float], Drawn], *, diluted: float = 1.0, **more: Any
) -> Simulated:
    """A metric with an effect in lost words; the audit of groups must find it, unless another is named.

    Of an effect that is diluted, by so much, a row shows a part only.
    """
    usual: dict[str, Any] = {"audit": "stereotype", "statistic": "lost_words", "needs": _has(f"{TERM}/")}
    sizes = tuple(diluted * size for size in _EFFECTS)
    return Simulated(
        defect=defect, draw=draw, unit=UNIT, sizes=sizes, harmless=diluted * MARGIN, stated=diluted * _FOUND,
        **usual | more,
    )  # fmt: skip


SIMULATED = (
    *(
        Simulated(
            audit, "puts so many decisions in right order", "right_order", "of 100", _ORDERS, BAR, 50.0,
            decides_rightly,
        )
        for audit in _ORDERED
    ),
    Simulated(
        "identity-length", "prefers the longer text so often", "longer_order", "of 100",
        (75.0, 50.0, 25.0, 15.0, 10.0, 5.0, 0.0), 25.0, 5.0, decides_rightly,
    ),
    _unfair("takes so much from one group", penalises_a_group),
    _unfair("takes so much from one word", penalises_a_term),
    _unfair("takes so much from one group in half of the contexts", penalises_in_half, diluted=2.0),
    _unfair("takes so much from one group in one form of context", penalises_in_one_form, diluted=4.0),
    _unfair("takes so much from one intersection beyond its parts", penalises_an_intersection, diluted=3.0),
    _unfair("adds so much to stereotypes", prefers_stereotypes, statistic="stereotype_lost_words"),
    _unfair("adds so much to one side of a pair", prefers_one_side, needs=_has(PAIR[0])),
    _unfair(
        "adds so much to the male version", prefers_male, audit="swap", needs=_has(preference.LOST_WORD[0])
    ),
    _unfair(
        "adds so much to captions of one group", prefers_captions_of_a_group, audit="caption",
        needs=_has(LOST),
    ),
    Simulated(
        "caption", "is right so much less often about one group", "order_difference", "of 100",
        (0.0, 5.0, 10.0, 20.0, 30.0, 40.0), 10.0, 40.0, errs_on_one_group,
    ),
    Simulated(
        "swap", "agrees so much less with people on swapped texts", "correlation_change", "Spearman's rho",
        (0.0, 0.05, 0.1, 0.2, 0.3, 0.4), 0.05, 0.3, loses_agreement, needs=_is_rated,
    ),
    _unfair(
        "adds so much to an answer for what is said beside it", grades_what_must_not_matter,
        audit="judge-bias", needs=_has("alone"),
    ),
    Simulated(
        "human", "decides like people so often", "over_sentinel", "of 100",
        (75.0, 60.0, 50.0, 40.0, 30.0, 20.0), 50.0, 30.0, agrees_so_often, needs=_is_rated,
    ),
    Simulated(
        "self-preference", "lets its own model's texts win so often", "own_wins", "of 100",
        (50.0, 60.0, 75.0, 85.0, 90.0, 95.0), BAR, 95.0, prefers_its_own,
    ),
    Simulated(
        "association", "associates one group with one kind of word", "effect_size", "standard deviations",
        (0.0, 0.25, 0.5, 1.0, 1.4, 1.8, 1.95), 0.5, 1.95, associates,
    ),
)  # fmt: skip
