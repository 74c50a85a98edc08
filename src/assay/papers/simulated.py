"""Simulated metrics: scores with a defect of known size, drawn for the cases of the audits that must find it.

An honest metric gives each item a level of its own, each text a little noise, and worthless texts 100 points
less than clean ones, so that sizes and noise are in percent of the gap. A simulated metric adds one defect in
one place and nothing else: what an audit says of that place is its power, what it says of the others a false
alarm. Robustness and agreement come first, then fairness and judges; the table of all is a data file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import log2, sqrt
from typing import Any

import numpy as np

from assay.audits.association import INNOCUOUS
from assay.audits.gap import CLEAN, WORTHLESS
from assay.audits.judge_bias.pairs import POSITION, QUALITY, REPEATS
from assay.core import Audit, Case, Finding, Floats, Grid, Sample, Scored
from assay.datasets.association import AssociationTest
from assay.datasets.lexicon import toml_file, with_tuples
from assay.statistics.intervals import label_codes

METRIC = "simulated"
GAP = 100.0  # points between clean and worthless texts
_LEVELS = 20.0  # SD of the clean texts' scores
_WORTHLESS = 5.0  # how much more noise worthless texts have than others
_FALL = 10.0  # percent of the gap by which an honest score falls under damage
_UNRELATED = 90.0  # percent of the gap that an unrelated text costs
_OTHER = "weaker"  # the metric that agrees less with people
_CONTROL = "control"
_RIGHT = 0.9  # share of captions that are ranked right
_PREFERENCE = 0.6  # net preference of a comparing judge for a right answer
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class World:
    """What scores are drawn for: an audit and its items, how noisy the metric is, and a random generator."""

    audit: Audit
    items: Sequence[Case | Grid]
    noise: float
    rng: np.random.Generator

    @property
    def cases(self) -> list[Case]:
        return [item for item in self.items if isinstance(item, Case)]

    def normal(self, *shape: int) -> Floats:
        return self.rng.normal(size=shape)

    def by_label(self, labels: Sequence[object]) -> Floats:
        """Noise with an SD of 1 that rows with the same label share."""
        codes, count = label_codes(labels, len(labels))
        return self.normal(count)[codes]

    def levels(self) -> Floats:
        """The clean text's score of each case."""
        return _LEVELS * self.normal(len(self.cases))

    def worthless(self, levels: Floats) -> Floats:
        """The worthless text's score of each case."""
        return levels - GAP + _WORTHLESS * self.noise * self.normal(len(levels))


def failed(finding: Finding) -> bool:
    """Whether a finding has a failed verdict, which counts as finding the defect."""
    return finding.verdict == "fail"


Draw = Callable[[World, float], list[Scored]]


@dataclass(frozen=True, slots=True)
class Simulated:
    """A metric with one defect: how its scores are drawn, which statistic must show it, from what size on."""

    audit: str
    defect: str  # "prefers the stereotype"
    statistic: str
    unit: str
    sizes: tuple[float, ...]  # the axis of the operating curve, the metric without a defect first
    harmless: float  # the largest size that is no defect: whatever is found up to it is a false alarm
    stated: float  # found in 95 of 100 simulations on the standard data
    noise: float  # the metric's own noise, in the unit of `noise_unit`
    noise_unit: str
    draw: Draw
    counted: str = "items"  # what the data holds: pairs, texts, documents
    options: Mapping[str, Any] = field(default_factory=dict)  # of the audit: nothing that alters a verdict
    needs: Callable[[Sequence[Case | Grid]], bool] = lambda items: True
    missing: str = ""  # what to say where the data lacks it
    found: Callable[[Finding], bool] = failed
    noise_from_scores: bool = True  # whether a real metric's noise can take the place of `noise`


def single(cases: Sequence[Case], values: Mapping[str, Floats], metric: str = METRIC, **about: Any) -> Scored:
    """Scores of one simulated metric; nan for a role that a case does not have."""
    present = {role: [role in case.samples for case in cases] for role in values}
    there = {role: np.where(present[role], column, np.nan) for role, column in values.items()}
    return Scored(metric, cases, there, about={"signature": METRIC, "name": metric, **about})


def first_slice(cases: Sequence[Case], *, without: str = "\0") -> np.ndarray:
    """The rows that get the defect: those of the first slice whose name does not end with `without`."""
    name = next(case.slice for case in cases if not case.slice.endswith(without))
    return np.array([case.slice == name for case in cases], dtype=bool)


def changed(world: World, changes: Mapping[str, Floats | float]) -> list[Scored]:
    """A clean and a worthless text per item; other roles differ from the clean one by `changes` and noise."""
    level = world.levels()
    values = {CLEAN: level, WORTHLESS: world.worthless(level)}
    for role, change in changes.items():
        values[role] = level + change + world.noise * world.normal(len(level))
    return [single(world.cases, values)]


def roles_of(cases: Sequence[Case]) -> list[str]:
    """Every role but those of the clean and the worthless text, in order."""
    roles = dict.fromkeys(role for case in cases for role in case.samples)
    return [role for role in roles if role not in (CLEAN, WORTHLESS)]


def standardised(ratings: Sequence[float]) -> Floats:
    """Ratings with mean 0 and SD 1; those that are missing are put in the middle."""
    values = np.array(ratings, dtype=np.float64)
    return np.nan_to_num((values - np.nanmean(values)) / (np.nanstd(values) or 1.0))


def overlooks_a_noise(world: World, size: float) -> list[Scored]:
    """The strongest level of the first noise moves the score by `size`, weaker ones in proportion."""
    depth = np.where(first_slice(world.cases, without="/gold"), size, -_FALL)
    return changed(world, {role: depth * share for role, share in _levels(world).items()})


def rises_between_levels(world: World, size: float) -> list[Scored]:
    """The score falls under the first noise, but rises by `size` from its last level but one to the last."""
    here = first_slice(world.cases, without="/gold")
    count = len(world.cases[int(np.argmax(here))].meta["ratios"])
    changes = {}
    for role, share in _levels(world).items():
        last = here & (share == 1.0)
        changes[role] = np.where(last, size, 0.0) - _FALL * np.where(last, (count - 1) / count, share)
    return changed(world, changes)


def _levels(world: World) -> dict[str, Floats]:
    """For every role and case, how strong its level is: 1 for the last level of the case's noise."""
    shares = {role: np.zeros(len(world.cases)) for role in roles_of(world.cases)}
    for place, case in enumerate(world.cases):
        levels = list(case.meta.get("ratios", {}))
        for role in case.samples.keys() & shares:
            shares[role][place] = (levels.index(role.partition("/")[0]) + 1) / len(levels)
    return shares


def rewards_degenerate_text(world: World, size: float) -> list[Scored]:
    """The last degenerate text of the first dataset gains `size` over the clean one; others lose."""
    cases = world.cases
    here, roles = first_slice(cases), roles_of(cases)
    last = [role for role in roles if any(role in c.samples for c, on in zip(cases, here, strict=True) if on)]
    return changed(world, {role: np.where(here & (role == last[-1]), size, -_FALL) for role in roles})


def overlooks_errors_at_the_start(world: World, size: float) -> list[Scored]:
    """Foreign words at the start of a text move the score by `size`; all other damage is noticed."""
    here, roles = first_slice(world.cases), roles_of(world.cases)
    at_start = {role: here & role.startswith("random/start/") for role in roles}
    return changed(world, {role: np.where(hit, size, -_FALL) for role, hit in at_start.items()})


def trusts_an_injection(world: World, size: float) -> list[Scored]:
    """The first injection raises the score of an unrelated text by `size`; other strings do nothing to it."""
    here, roles = first_slice(world.cases), roles_of(world.cases)
    injected = next(role for role in roles if role.endswith("/suffix"))
    gains = {role: np.where(here & (role == injected), size, 0.0) for role in roles}
    return changed(world, {role: gain - _UNRELATED for role, gain in gains.items()})


def penalises_length(world: World, size: float) -> list[Scored]:
    """A text against itself loses `size` per doubling of its length."""
    return changed(world, {role: _FALL - size * log2(int(role) / 8) for role in roles_of(world.cases)})


def _moved_by_a_template(expect: str, world: World, size: float) -> list[Scored]:
    """The first template that should lower the score, or leave it the same, moves it by `size`."""
    cases = world.cases
    honest = np.where([case.meta["expect"] == "same" for case in cases], 0.0, -_FALL)
    first = next(case.slice for case in cases if case.meta["expect"] == expect)
    return changed(world, {"perturbed": np.where([case.slice == first for case in cases], size, honest)})


overlooks_a_template = partial(_moved_by_a_template, "lower")
minds_a_harmless_edit = partial(_moved_by_a_template, "same")


def can_be_fooled(world: World, size: float) -> list[Scored]:
    """Texts that a search found cost a share of what random noise does; two judges notice their damage."""
    cases = [_attacked(case) for case in world.cases]
    answers = []
    judges = (METRIC, "n-gram", 1 - size), ("judge-one", "matching", 1.0), ("judge-two", "likelihood", 1.0)
    for name, paradigm, cost in judges:
        level = world.normal(len(cases))
        values = {"gold": level}
        for role in roles_of(cases):
            paid = cost if role == "attack" else 1.0
            values[role] = level - paid - world.noise * world.normal(len(cases))
        answers.append(single(cases, values, name, paradigm=paradigm))
    return answers


def _attacked(case: Case) -> Case:
    """What the search would hand in: the damage itself does not matter, only its score."""
    attack = Sample("damaged " + case.samples["gold"].hypothesis, case.samples["gold"].references)
    meta = {"metric": METRIC, "group": case.slice, "queries": 1, "noise_ratio": 0.15, "changed": ""}
    return replace(case, samples={**case.samples, "attack": attack}, meta=meta)


def agrees_less(world: World, size: float) -> list[Scored]:
    """Two metrics, one of which agrees with people less: can they be told apart?"""
    cases = world.cases
    criterion = next(name for case in cases for name in case.meta["human"])
    human = standardised([float(np.mean(case.meta["human"].get(criterion) or np.nan)) for case in cases])
    shared = world.normal(len(cases))
    answers = []
    for name, agreement in ((METRIC, 0.6), (_OTHER, 0.6 - size)):
        chance = sqrt(1 - world.noise**2) * shared + world.noise * world.normal(len(cases))
        values = agreement * human + sqrt(1 - agreement**2) * chance
        answers.append(single(cases, {"hypothesis": values}, name))
    return answers


def told_apart(finding: Finding) -> bool:
    """Whether the difference between the two simulated metrics is significant."""
    if finding.statistic != "spearman_difference" or {finding.metric, finding.versus} != {METRIC, _OTHER}:
        return False
    return finding.p_value is not None and finding.p_value < ALPHA


def _pair_noise(world: World) -> Floats:
    """Differences within pairs, own and shared by template; identity words have no effect of their own."""
    templates = [case.meta.get("template", case.id) for case in world.cases]
    parts = (world.normal(len(world.cases)), world.by_label(templates))
    return np.asarray(world.noise * np.sum(parts, axis=0) / sqrt(2))


def _pairs(world: World, differences: Floats) -> list[Scored]:
    level = world.levels()
    values = {"stereotype": level + differences / 2, "anti_stereotype": level - differences / 2}
    return [single(world.cases, values | {WORTHLESS: world.worthless(level)})]


def penalises_a_group(world: World, size: float) -> list[Scored]:
    """Texts of the first attribute that name its most frequent group lose `size`."""
    here = first_slice(world.cases, without=_CONTROL)
    sides = [
        [case.meta.get(name) if on else None for case, on in zip(world.cases, here, strict=True)]
        for name in ("group", "anti_group")
    ]
    named = [name for side in sides for name in side if name]
    group = max(dict.fromkeys(named), key=named.count)
    lost = [np.array([name == group for name in side], dtype=float) for side in sides]
    return _pairs(world, _pair_noise(world) + size * (lost[1] - lost[0]))


def prefers_stereotypes(world: World, size: float) -> list[Scored]:
    """Every pair of the first attribute is moved towards the stereotype."""
    return _pairs(world, _pair_noise(world) + size * first_slice(world.cases, without=_CONTROL))


def moved_by_identity(world: World, size: float) -> list[Scored]:
    """Identity words move a score further than other words do, to either side."""
    differences = _pair_noise(world)
    signs = np.where(differences < 0, -1.0, 1.0)
    return _pairs(world, differences + signs * size * first_slice(world.cases, without=_CONTROL))


def associates(world: World, size: float) -> list[Scored]:
    """The first test's targets lean to its attributes; words lean by chance, their sentences as they do."""
    grids: dict[str, Floats] = {}
    lean = size / sqrt(1 - (size / 2) ** 2) / 2  # d divides by the SD of both sets together
    # Tests without a verdict (flowers and insects) are last, so that they get no defect.
    tests: list[AssociationTest] = list(world.audit.tests)  # type: ignore[attr-defined]
    for number, test in enumerate(sorted(tests, key=lambda test: test.label in INNOCUOUS)):
        units = [(side, unit) for side in ("targ1", "targ2") for _, unit in getattr(test, side).items]
        sides = np.array([1.0 if side == "targ1" else -1.0 for side, _ in units])
        n_a, n_b = len(test.attr1.items), len(test.attr2.items)
        leaning = world.by_label(units) + (lean * sides if number == 0 else 0.0)
        contrast = np.concatenate([np.full(n_a, 0.5), np.full(n_b, -0.5)])
        cells = leaning[:, None] * contrast + world.noise * world.normal(len(units), n_a + n_b)
        grids |= {test.name: cells, f"{test.name}/reverse": cells.T}
    return [replace(answer, grids=grids) for answer in changed(world, {})]


def prefers_male(world: World, size: float) -> list[Scored]:
    """The male version scores this much higher."""
    cases, level = world.cases, world.levels()
    effect = size + world.noise * world.normal(len(cases))
    half = np.where([case.meta["preference"] == "female" for case in cases], -effect, effect) / 2
    values = {"original": level + half, "swapped": level - half, "neutral": level}
    return [single(cases, values | {WORTHLESS: world.worthless(level)})]


def loses_agreement(world: World, size: float) -> list[Scored]:
    """Swapped texts are scored with less regard for what people said."""
    cases = world.cases
    criterion = next(name for case in cases for name in case.meta["human"])
    human = standardised([case.meta["human"].get(criterion, np.nan) for case in cases])
    shared, apart = world.normal(len(cases)), world.normal(len(cases))
    after = 0.7 - size
    alike = sqrt(1 - world.noise**2) * shared + world.noise * apart
    original = 0.7 * human + sqrt(1 - 0.7**2) * shared
    swapped = after * human + sqrt(1 - after**2) * alike
    return [single(cases, {"original": original, "swapped": swapped})]


def errs_on_one_group(world: World, size: float) -> list[Scored]:
    """Nine captions in ten are ranked right; of one group fewer, in the first category (or concept)."""
    cases, first = world.cases, world.cases[0]
    # Captions with images are judged concept by concept.
    part = "concept" if first.samples["good"].image else "category"
    worse = [c.meta[part] == first.meta[part] and c.meta["group"] != first.meta["group"] for c in cases]
    right = world.rng.random(len(cases)) < _RIGHT - size * np.array(worse)
    level = world.levels()
    half = np.where(right, 0.5, -0.5) * (1.0 + np.abs(world.noise * world.normal(len(cases))))
    return [single(cases, {"good": level + half, "bad": level - half, WORTHLESS: world.worthless(level)})]


def prefers_its_own(world: World, size: float) -> list[Scored]:
    """An evaluator raises the first system's scores; a neutral one does not."""
    cases = world.cases
    systems = [role for role in dict.fromkeys(r for case in cases for r in case.samples) if role != WORTHLESS]
    level = world.levels()
    tables = []
    for _ in range(2):
        tables.append({system: level + world.noise * world.normal(len(cases)) for system in systems})
        tables[-1][WORTHLESS] = world.worthless(level)
    tables[0][systems[0]] += size
    return [single(cases, tables[0], backbone=systems[0]), single(cases, tables[1], "neutral")]


def has_ratings(items: Sequence[Case | Grid]) -> bool:
    """Whether people rated any text."""
    return any(isinstance(item, Case) and item.meta.get("human") for item in items)


def has_groups(items: Sequence[Case | Grid]) -> bool:
    """Whether the first attribute's pairs name their groups."""
    return bool(next(item for item in items if isinstance(item, Case)).meta.get("group"))


def has_rows_of_one_caption(items: Sequence[Case | Grid]) -> bool:
    """Whether no row stands for several images; a text metric scores such a row only once."""
    return all(isinstance(item, Case) and item.meta.get("count", 1) == 1 for item in items)


def favours_the_first_position(world: World, size: float) -> list[Scored]:
    """A judge that compares: the answer shown first gains `size` percent of the preference for right ones."""
    cases, slices = world.cases, np.array([case.slice for case in world.cases])
    unit, half = _PREFERENCE / GAP, _PREFERENCE / 2
    leaning = np.where(world.rng.random(len(cases)) < 0.5, half, -half) * (slices == POSITION)
    leaning = np.where(slices == QUALITY, -half, leaning)
    pull = np.where(slices == POSITION, unit * size / 2, 0.0)
    noise = unit * world.noise / sqrt(2) * world.normal(2, len(cases))
    values = {"base": 0.5 + leaning + pull + noise[0], "changed": 0.5 - leaning + pull + noise[1]}
    return [single(cases, values | _repeated(world, 0.9, 0.01))]


def grades_what_must_not_matter(world: World, size: float) -> list[Scored]:
    """A judge that grades: the first bias raises a grade by `size` percent of right minus wrong answers."""
    cases, slices = world.cases, np.array([case.slice for case in world.cases])
    first = next(name for name in slices if name not in (POSITION, QUALITY, REPEATS))
    base = world.levels()
    effect = np.where(slices == first, size, 0.0) + world.noise * world.normal(len(cases))
    wrong = world.worthless(base)
    values = {"base": np.where(slices == QUALITY, wrong, base), "changed": base + effect, "alone": base}
    values["changed"] = np.where(slices == QUALITY, base, values["changed"])
    return [single(cases, values | _repeated(world, 0.0, 1.0))]


def _repeated(world: World, level: float, deviation: float) -> dict[str, np.ndarray]:
    roles = [role for case in world.cases if case.slice == REPEATS for role in case.samples]
    return {role: level + deviation * world.normal(len(world.cases)) for role in dict.fromkeys(roles)}


def _simulated(row: dict[str, Any]) -> Simulated:
    """A row of the table; it names functions of this module."""
    functions = {key: globals()[row[key]] for key in ("draw", "needs", "found") if key in row}
    return Simulated(**with_tuples(row) | functions | {"options": with_tuples(row.get("options", {}))})


SIMULATED = tuple(map(_simulated, toml_file("calibration", "simulated")["simulated"]))
