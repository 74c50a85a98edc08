"""`assay debias`: a metric, attributes and texts in; a trained adapter, its card and its proof out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.core import Measure
from assay.datasets.pairs import Pair, read_pair_files
from assay.datasets.templates import ATTRIBUTES
from assay.errors import DataError, SpecError
from assay.mitigation.counterfactuals import (
    Counterfactual,
    Split,
    check_attribute,
    counterfactuals,
    is_held_out,
)
from assay.mitigation.differentiable import form_of, trainable
from assay.mitigation.evaluation import Evaluation, evaluate, read_people
from assay.mitigation.ordinary import ordinary_pairs
from assay.mitigation.sources import Found, read_sources
from assay.mitigation.training import Material, Plan, Trainer
from assay.models import adapters
from assay.names.spec import parse
from assay.run.progress import Progress
from assay.run.results import check_writable
from assay.run.session import Session

FEWEST = 100  # pairs below which nothing general can be learnt
HELD_OUT, NEW_WORDS = "held-out templates", "held-out templates and words"
_OWN = (
    "; for an attribute of your own give its pairs with --data FILE (stereotype, anti_stereotype, reference)"
)


@dataclass(frozen=True, slots=True)
class Job:
    """What is asked for."""

    spec: str
    attributes: tuple[str, ...]
    out: Path
    plan: Plan = field(default_factory=Plan)
    data: tuple[Path, ...] = ()  # more to train on
    test: tuple[Path, ...] = ()  # pairs to prove it on, never trained on
    human: tuple[Path, ...] = ()  # ratings, to prove that agreement stays


@dataclass(frozen=True, slots=True)
class Debiased:
    """The adapter's folder, the spec that uses it, and the proof."""

    spec: str
    folder: Path
    history: tuple[dict[str, float], ...]
    tested: Evaluation


def debias(job: Job, settings: Session, progress: Progress) -> Debiased:
    """Train an adapter, save it, and measure the metric with and without it."""
    measure = parse(job.spec)
    form_of(measure)
    check_writable(job.out, mark=adapters.CARD)
    own, rated = read_own(job), read_people(job.human)  # what was asked for, before minutes of work
    tests = proof_sets(job)
    material = gather(job, own, tests)
    metric = trainable(measure)
    progress.say(
        f"{len(material.pairs['train'])} counterfactual and {len(material.ordinary['train'])} ordinary pairs"
    )
    trainer = Trainer(metric, material, job.plan, job.out)
    course = trainer.run(progress)
    card = _card(job, measure, trainer, material)
    adapters.save(trainer.model, job.out, card)
    trainer.finish()
    spec = with_adapter(job.spec, job.out)
    tested = evaluate([measure, parse(spec)], tests, rated, settings, seed=job.plan.seed)
    results = {"label": tested.labels[spec], "figures": [asdict(f) for f in tested.figures]}
    adapters.save(trainer.model, job.out, replace(card, results=results))
    return Debiased(spec, job.out, tuple(course.history), tested)


def with_adapter(spec: str, folder: Path) -> str:
    """The spec of the metric with the adapter switched on."""
    return f"{spec},adapter={folder}" if ":" in spec else f"{spec}:adapter={folder}"


def read_own(job: Job) -> list[Found]:
    """The user's files; an attribute is one that assay has words for, or one that these have pairs of."""
    unknown = [name for name in job.attributes if name not in ATTRIBUTES]
    if unknown and not job.data:
        check_attribute(unknown[0], _OWN)
    own = [read_sources(path, job.attributes) for path in job.data]
    named = {pair.attribute for pairs, _ in own for found in pairs.values() for pair in found}
    for name in unknown:
        if name not in named:
            check_attribute(name, f"; {', '.join(map(str, job.data))} has no pair of it{_OWN}")
    return own


def check_enough(job: Job, own: list[Found], left: int, tests: dict[str, list[Pair]]) -> None:
    """Refuse what nothing general can be learnt from, or nothing proved on."""
    names = [name for name in job.attributes if name not in ATTRIBUTES]
    given = sum(len(some) for pairs, _ in own for some in pairs.values())
    if left < FEWEST:
        more = (
            f"give more pairs of {' and '.join(names)}: sentences help only {', '.join(ATTRIBUTES)}"
            if names
            else "add pairs or sentences with --data, or another attribute"
        )
        raise DataError(
            f"{left} counterfactual pairs to train on, {FEWEST} are the fewest; --data gave {given}, "
            f"less three in ten to validate and test, and any that --test has; {more}"
        )
    if not tests:
        raise SpecError(f"nothing to prove {' and '.join(names)} on: give other pairs of it with --test FILE")


def gather(job: Job, own: list[Found], tests: dict[str, list[Pair]]) -> Material:
    """Embedded and the user's texts, by split; whatever is tested on is left out of training."""
    embedded = [name for name in job.attributes if name in ATTRIBUTES]
    pairs = counterfactuals(embedded, job.plan.seed)
    for part in pairs:
        pairs[part] += [pair for more, _ in own for pair in more[part]]
    tested = {text for found in tests.values() for p in found for text in (p.stereotype, p.anti_stereotype)}
    learnt: tuple[Split, ...] = ("train", "validation")
    for part in learnt:
        pairs[part] = [pair for pair in pairs[part] if not tested & {pair.first, pair.second}]
    check_enough(job, own, len(pairs["train"]), tests)
    ordinary = ordinary_pairs(job.plan.seed)
    for part in ordinary:
        ordinary[part] += [pair for _, kept in own for pair in kept[part]]
    return Material(pairs, ordinary)


def proof_sets(job: Job) -> dict[str, list[Pair]]:
    """The files asked for, an attribute each, then the embedded pairs that are held out."""
    found: dict[str, list[Pair]] = {}
    for path in job.test:
        for pair in read_pair_files([path])[0]:
            found.setdefault(f"{path.stem}/{pair.attribute}", []).append(pair)
    for name in job.attributes:
        if name not in ATTRIBUTES:
            continue
        held = counterfactuals([name], job.plan.seed)["test"]
        fresh = [pair for pair in held if pair.words and all(is_held_out(w, name) for w in pair.words)]
        for title, some in ((HELD_OUT, held), (NEW_WORDS, fresh)):
            if some:
                found[f"{name}, {title}"] = [as_pair(one, n) for n, one in enumerate(some)]
    return found


def as_pair(one: Counterfactual, number: int) -> Pair:
    """A counterfactual as a pair to be measured."""
    meta: dict[str, Any] = {"template": one.template}
    reference = (one.reference,)
    return Pair(
        f"{one.template}-{number}", one.attribute, one.first, one.second, reference, reference, meta=meta
    )


def _card(job: Job, measure: Measure, trainer: Trainer, material: Material) -> adapters.Card:
    metric: Any = measure.metric
    base = trainer.model
    training = {
        "plan": asdict(job.plan),
        "steps": trainer.course.step,
        "history": trainer.course.history,
        "pairs": {part: len(found) for part, found in material.pairs.items()},
        "ordinary": {part: len(found) for part, found in material.ordinary.items()},
        "data": [path.name for path in job.data],
        "material": material.digest(),
        "parameters": sum(parameter.numel() for parameter in trainer.parameters),
        "losses": "Eq. 4 + Eq. 5 of Sun et al. 2022",
        "limits": "English; trained for the attributes named; others may change and are to be measured",
    }
    return adapters.Card(
        str(metric.model), measure.label, job.attributes, job.plan.bottleneck, len(adapters.places(base)),
        adapters.fingerprint(base), training,
    )  # fmt: skip


def document(done: Debiased) -> str:
    """What `--json` prints."""
    tested = done.tested
    rows: Sequence[dict[str, Any]] = [asdict(figure) for figure in tested.figures]
    return json.dumps(
        {
            "spec": done.spec,
            "label": tested.labels[done.spec],
            "figures": rows,
            "history": list(done.history),
        },
        indent=1,
        ensure_ascii=False,
    )
