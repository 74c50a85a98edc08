"""`assay debias`: a metric, attributes and texts in; a trained adapter with its card and its proof out.

The loss is Eq. 4 plus Eq. 5 of unfair, unweighted by default. Batches are drawn from (seed, step), so that a
training that was stopped and resumed ends where it would have ended.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from assay.core import Measure, Metric
from assay.datasets.pairs import StereotypePair
from assay.datasets.templates import ATTRIBUTES
from assay.engine.session import Progress, Session
from assay.errors import DataError, SpecError
from assay.grouping import grouped
from assay.mitigation import data
from assay.mitigation.proof import Proof, Sets, check_ratings, prove, read_test_pairs
from assay.models import adapters
from assay.models.encoder import Differentiable, Texts
from assay.models.lazy import torch
from assay.models.loading import read_tensors, write_tensors
from assay.names.spec import parse_spec
from assay.reading.results import check_writable, write_text
from assay.recipe import digest, generator

FEWEST_REQUESTS = 100  # pairs below which nothing general can be learnt
HELD_OUT = "held-out templates"
_OWN = (
    "; for an attribute of your own give its pairs with --data FILE (stereotype, anti_stereotype, reference)"
)
_CHECKED = 64  # validation pairs per check
_PARTS = ("exp_avg", "exp_avg_sq")


@dataclass(frozen=True, slots=True)
class TrainPlan:
    """How to train; the defaults take minutes on two cores with a small encoder."""

    steps: int = 300
    batch: int = 16  # pairs per step and loss
    rate: float = 1e-3
    bottleneck: int = 48
    warmup: int = 20
    keep_weight: float = 1.0  # of Eq. 5 against Eq. 4; the authors sum them unweighted
    check_every: int = 50
    patience: int = 4  # checks without a better validation loss before it stops
    seed: int = 0


DEMO = TrainPlan(steps=150, warmup=7)  # about three minutes on two idle cores


@dataclass(frozen=True, slots=True)
class Job:
    """What to train and to prove."""

    spec: str
    attributes: tuple[str, ...]
    out: Path
    plan: TrainPlan = field(default_factory=TrainPlan)
    data: tuple[Path, ...] = ()  # more to train on
    test: tuple[Path, ...] = ()  # pairs to prove it on, never trained on
    human: tuple[Path, ...] = ()  # ratings, to prove that agreement stays


@dataclass(frozen=True, slots=True)
class Debiased:
    """The spec that uses the adapter, the history of its training, and the proof."""

    spec: str
    history: tuple[dict[str, float], ...]
    proof: Proof


def debias(job: Job, session: Session) -> Debiased:
    """Train an adapter, save it, and run the audits with and without it."""
    measure = parse_spec(job.spec)
    form = form_of(measure)
    # Everything that can be refused is refused before minutes of work.
    check_writable(job.out, mark=adapters.CARD)
    run_folder = job.out / "run"
    check_writable(run_folder)
    own = read_own(job)
    check_ratings(job.human)
    tests = proof_sets(job)
    material = gather(job, own, tests)
    sizes = len(material.pairs["train"]), len(material.ordinary["train"])
    session.progress.say(f"{sizes[0]} counterfactual and {sizes[1]} ordinary pairs")
    trainer = Trainer(form, material, job.plan, job.out)
    course = trainer.run(session.progress)
    card = _card(job, measure, trainer)
    adapters.write(adapters.state(trainer.model), job.out, card)
    shutil.rmtree(trainer.scratch, ignore_errors=True)
    spec = with_key(job.spec, "adapter", job.out)
    proof = prove([measure, parse_spec(spec)], tests, job.human, run_folder, session, seed=job.plan.seed)
    results = {"label": proof.labels[spec], "figures": [asdict(figure) for figure in proof.figures]}
    adapters.write(adapters.state(trainer.model), job.out, replace(card, results=results))
    return Debiased(spec, tuple(course.history), proof)


def with_key(spec: str, key: str, value: object) -> str:
    """The spec with a key set, whatever it was before; with `adapter` it is the debiased metric."""
    name, _, tail = spec.partition(":")
    others = [pair for pair in tail.split(",") if pair and pair.partition("=")[0] != key]
    return f"{name}:{','.join([*others, f'{key}={value}'])}"


def read_own(job: Job) -> list[data.Material]:
    """The user's files; an attribute is one that assay has words for, or one that these have pairs of."""
    unknown = [name for name in job.attributes if name not in ATTRIBUTES]
    if unknown and not job.data:
        data.check_attribute(unknown[0], _OWN)
    own = [data.read_material(path, job.attributes) for path in job.data]
    named = {pair.attribute for material in own for pairs in material.pairs.values() for pair in pairs}
    for name in unknown:
        if name not in named:
            data.check_attribute(name, f"; {', '.join(map(str, job.data))} has no pair of it{_OWN}")
    return own


def proof_sets(job: Job) -> dict[str, list[StereotypePair]]:
    """The pairs of `--test` by attribute, then the embedded pairs that are held out."""
    sets = read_test_pairs(job.test)
    for name in job.attributes:
        if name in ATTRIBUTES:
            held_out = data.counterfactuals([name], job.plan.seed)["test"]
            fresh = [p for p in held_out if p.words and all(data.is_held_out(w, name) for w in p.words)]
            for title, pairs in ((HELD_OUT, held_out), (f"{HELD_OUT} and words", fresh)):
                if pairs:
                    sets[f"{name}, {title}"] = [pair.as_pair(n) for n, pair in enumerate(pairs)]
    return sets


def gather(job: Job, own: Sequence[data.Material], tests: Sets) -> data.Material:
    """Embedded and the user's texts by split; whatever is tested on is left out of training."""
    pairs = data.counterfactuals([name for name in job.attributes if name in ATTRIBUTES], job.plan.seed)
    for material in own:
        for split in pairs:
            pairs[split] += material.pairs[split]
    tested = {text for some in tests.values() for p in some for text in (p.stereotype, p.anti_stereotype)}
    untested: dict[data.Split, list[data.Counterfactual]] = {
        split: [pair for pair in listed if split == "test" or not tested & {pair.first, pair.second}]
        for split, listed in pairs.items()
    }
    check_enough(job, own, len(untested["train"]), tests)
    ordinary = data.ordinary_pairs(job.plan.seed)
    for material in own:
        for split in ordinary:
            ordinary[split] += material.ordinary[split]
    return data.Material(untested, ordinary)


def check_enough(job: Job, own: Sequence[data.Material], left: int, tests: Sets) -> None:
    """Refuse what nothing general can be learnt from, or nothing proved on."""
    names = [name for name in job.attributes if name not in ATTRIBUTES]
    given = sum(len(pairs) for material in own for pairs in material.pairs.values())
    if left < FEWEST_REQUESTS:
        own_only = f"give more pairs of {' and '.join(names)}: sentences help only {', '.join(ATTRIBUTES)}"
        more = own_only if names else "add pairs or sentences with --data, or another attribute"
        raise DataError(
            f"{left} counterfactual pairs to train on, {FEWEST_REQUESTS} are the fewest; "
            f"--data gave {given}, less three in ten to validate and test, and any that --test has; {more}"
        )
    if not tests:
        raise SpecError(f"nothing to prove {' and '.join(names)} on: give other pairs of it with --test FILE")


def _card(job: Job, measure: Measure, trainer: Trainer) -> adapters.Card:
    metric: Any = measure.metric
    material, course = trainer.material, trainer.course
    training = {"plan": asdict(job.plan), "steps": course.step, "history": course.history}
    training |= {"pairs": {split: len(pairs) for split, pairs in material.pairs.items()}}
    training |= {"ordinary": {split: len(pairs) for split, pairs in material.ordinary.items()}}
    training |= {"data": [path.name for path in job.data], "material": material.digest()}
    training |= {
        "parameters": sum(parameter.numel() for parameter in trainer.parameters),
        "losses": "Eq. 4 + Eq. 5 of Sun et al. 2022",
        "limits": "English; trained for the attributes named; others may change and are to be measured",
    }
    return adapters.Card(
        str(metric.model), measure.label, job.attributes, job.plan.bottleneck,
        len(adapters.places(trainer.model)), adapters.fingerprint(trainer.model), training,
    )  # fmt: skip


def training_page(debiased: Debiased) -> str:
    """What `--json` prints; no times in it."""
    proof = debiased.proof
    content = {
        "spec": debiased.spec,
        "label": proof.labels[debiased.spec],
        "figures": [asdict(figure) for figure in proof.figures],
        "history": list(debiased.history),
    }
    return json.dumps(content, indent=1, ensure_ascii=False)


@dataclass
class Course:
    """How far training is: what a stopped run leaves and a new one resumes from."""

    step: int = 0
    best: float = math.inf
    since: int = 0  # checks without a better one
    history: list[dict[str, float]] = field(default_factory=list)


class Trainer:
    """One training: a model with adapters, its data, and a folder for what must survive a stop."""

    def __init__(self, form: Differentiable, material: data.Material, plan: TrainPlan, folder: Path) -> None:
        self.loaded, self.material, self.plan = form.load_copy(), material, plan
        self.model = self.loaded.model
        self.metric = partial(form.score, self.loaded)  # scores of pairs, with gradients
        self.scratch = folder / ".training"
        torch.manual_seed(plan.seed)
        self.parameters = adapters.insert(self.model, plan.bottleneck)
        self.optimizer = torch.optim.AdamW(self.parameters, lr=plan.rate, weight_decay=0.01)
        self.course = Course()
        self.originals: dict[tuple[str, str], torch.Tensor] = {}  # scores of ordinary pairs without adapters
        self._by_attribute = grouped(material.pairs["train"], lambda pair: pair.attribute)

    def run(self, progress: Progress) -> Course:
        """Train to the end, or until the validation loss stops falling; the model keeps the best adapter."""
        self._resume(progress)
        with progress.task("training", self.plan.steps) as counter:
            counter.advance(self.course.step)
            while self.course.step < self.plan.steps and self.course.since < self.plan.patience:
                losses = self.step()
                counter.advance(1)
                if self.course.step % self.plan.check_every == 0 or self.course.step == self.plan.steps:
                    self._check(losses, progress)
        adapters.restore(self.model, self.scratch / "best.safetensors")
        self.model.eval()
        return self.course

    def step(self) -> tuple[float, float]:
        self.model.eval()  # dropout would make the two texts of a pair differ by chance
        for group in self.optimizer.param_groups:
            group["lr"] = self.plan.rate * self._share(self.course.step)
        self.optimizer.zero_grad(set_to_none=True)
        rng = generator(self.plan.seed, "batch", str(self.course.step))
        groups = list(self._by_attribute.values())  # attributes take turns
        pairs = [rng.choice(groups[place % len(groups)]) for place in range(self.plan.batch)]
        ordinary = rng.choices(self.material.ordinary["train"], k=self.plan.batch)
        fair, keep = self._fair_loss(pairs), self._keep_loss(ordinary)
        torch.autograd.backward(fair + self.plan.keep_weight * keep)
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()
        self.course.step += 1
        return float(fair.detach()), float(keep.detach())

    def _share(self, step: int) -> float:
        """Warm-up, then down along a cosine to a tenth."""
        if step < self.plan.warmup:
            return (step + 1) / self.plan.warmup
        done = (step - self.plan.warmup) / max(1, self.plan.steps - self.plan.warmup)
        return 0.1 + 0.9 * (1 + math.cos(math.pi * done)) / 2

    def _fair_loss(self, pairs: Sequence[data.Counterfactual]) -> torch.Tensor:
        """Eq. 4: both texts of a pair score the same against the neutral reference."""
        texts = [(p.first, p.reference) for p in pairs] + [(p.second, p.reference) for p in pairs]
        scores = self.metric(texts)
        return (scores[: len(pairs)] - scores[len(pairs) :]).square().sum(1).mean()

    def _keep_loss(self, pairs: Sequence[data.Ordinary]) -> torch.Tensor:
        """Eq. 5: ordinary pairs keep the score of the model without adapters."""
        texts: Texts = [pair.texts for pair in pairs]
        missing = [pair for pair in dict.fromkeys(texts) if pair not in self.originals]
        if missing:
            adapters.switch(self.model, on=False)
            with torch.no_grad():
                scores = self.metric(missing)
            adapters.switch(self.model, on=True)
            self.originals |= dict(zip(missing, scores, strict=True))
        originals = torch.stack([self.originals[pair] for pair in texts])
        return (self.metric(texts) - originals).square().sum(1).mean()

    def validation_loss(self) -> tuple[float, float]:
        """Both losses on pairs whose templates are not trained on; always the same ones."""
        rng = generator(self.plan.seed, "validation", "")
        pairs, ordinary = self.material.pairs["validation"], self.material.ordinary["validation"]
        pairs = rng.sample(pairs, min(_CHECKED, len(pairs)))
        ordinary = rng.sample(ordinary, min(_CHECKED, len(ordinary)))
        with torch.no_grad():
            fair = float(self._fair_loss(pairs)) if pairs else 0.0
            return fair, float(self._keep_loss(ordinary)) if ordinary else 0.0

    def _check(self, losses: tuple[float, float], progress: Progress) -> None:
        fair, keep = self.validation_loss()
        course, total = self.course, fair + self.plan.keep_weight * keep
        row = {"step": course.step, "fair": losses[0], "kept": losses[1]}
        course.history.append(row | {"validation_fair": fair, "validation_kept": keep})
        better = total < course.best
        course.best, course.since = (total, 0) if better else (course.best, course.since + 1)
        self._save(better)
        progress.say(f"step {course.step}: validation fair {fair:.2e}, kept {keep:.2e}")

    def _save(self, better: bool) -> None:
        """Write what a stopped training needs: adapters, moments, course. Tensors only, never pickle."""
        state = adapters.state(self.model)
        if better:
            write_tensors(state, self.scratch / "best.safetensors")
        for number, parameter in enumerate(self.parameters):
            moments = self.optimizer.state[parameter]
            state |= {f"moment.{number}.{part}": moments[part].contiguous() for part in _PARTS}
        write_tensors(state, self.scratch / "last.safetensors")
        course = asdict(self.course) | {"best": min(self.course.best, 1e30), "plan": self._name()}
        write_text(self.scratch / "course.json", json.dumps(course))

    def _name(self) -> str:
        """What must be equal for a stopped training to be resumed."""
        return digest(json.dumps(asdict(self.plan)), self.material.digest(), str(self.loaded.path))

    def _resume(self, progress: Progress) -> None:
        file = self.scratch / "course.json"
        if not file.is_file():
            return
        try:
            course: dict[str, Any] = json.loads(file.read_text("utf-8"))
        except ValueError:  # half a file
            course = {}
        if course.pop("plan", None) != self._name():
            progress.say("Found a checkpoint that is damaged or has different settings; restarting")
            shutil.rmtree(self.scratch)
            return
        self.course = Course(**course)
        tensors = read_tensors(self.scratch / "last.safetensors", f"remove {self.scratch} to start anew")
        self.model.load_state_dict({k: t for k, t in tensors.items() if adapters.NAME in k}, strict=False)
        for number, parameter in enumerate(self.parameters):
            moments: dict[str, Any] = {part: tensors[f"moment.{number}.{part}"] for part in _PARTS}
            self.optimizer.state[parameter] = moments | {"step": torch.tensor(float(self.course.step))}
        progress.say(f"Resuming from step {self.course.step}")


def form_of(measure: Measure) -> Differentiable:
    """Return how the metric is loaded and scores with gradients; raises where no adapter can be trained."""
    metric = measure.metric
    form = metric.differentiable() if isinstance(metric, Metric) else None
    if not isinstance(form, Differentiable):
        raise SpecError(
            f"{measure.label} has no backbone that an adapter can be trained in; try another model=, layer= "
            f"or output, a hybrid ({measure.label}+0.5*chrf) or averaging over gender swaps (assay mitigate "
            "compare)"
        )
    if getattr(metric, "adapter", None):
        raise SpecError(f"{measure.label} has an adapter already; train from the plain metric")
    return form
