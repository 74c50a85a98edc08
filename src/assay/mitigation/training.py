"""Counterfactual and ordinary pairs to a trained adapter: Eq. 4 plus Eq. 5 of unfair, unweighted by default.

Batches are drawn from (seed, step), so that a run that was stopped and goes on ends where it would have.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.mitigation.counterfactuals import Counterfactual, Split
from assay.mitigation.ordinary import Ordinary
from assay.models import adapters
from assay.models.trainable import Texts, Trainable
from assay.recipe import digest, generator
from assay.run.progress import Progress

if TYPE_CHECKING:
    import torch

_CHECKED = 64  # validation pairs a check
_PARTS = ("exp_avg", "exp_avg_sq")


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train; the defaults take minutes on two cores with a small encoder."""

    steps: int = 300
    batch: int = 16  # pairs a step, of each kind
    rate: float = 1e-3
    bottleneck: int = 48
    warmup: int = 20
    keep_weight: float = 1.0  # of Eq. 5 against Eq. 4; the authors sum them unweighted
    check_every: int = 50
    patience: int = 4  # checks without a better validation loss before it stops
    seed: int = 0


DEMO = Plan(steps=150, warmup=7)  # about three minutes on two idle cores


@dataclass(frozen=True, slots=True)
class Material:
    """What is trained on, checked on, and held out."""

    pairs: dict[Split, list[Counterfactual]]
    ordinary: dict[Split, list[Ordinary]]

    def digest(self) -> str:
        """Changes with any text trained on."""
        texts = [text for pair in self.pairs["train"] for text in pair.texts]
        return digest(*texts, *(pair.hypothesis + pair.reference for pair in self.ordinary["train"]))


@dataclass
class Course:
    """How far training is: what a stopped run leaves and a new one takes up."""

    step: int = 0
    best: float = math.inf
    since: int = 0  # checks without a better one
    history: list[dict[str, float]] = field(default_factory=list)


class Trainer:
    """One training run: a model with adapters, its data, and a folder for what must survive a stop."""

    def __init__(self, metric: Trainable, material: Material, plan: Plan, folder: Path) -> None:
        import torch

        self.metric, self.material, self.plan = metric, material, plan
        self.model = metric.loaded.model
        self.scratch = folder / ".training"
        torch.manual_seed(plan.seed)
        self.parameters = adapters.insert(self.model, plan.bottleneck)
        self.optimizer = torch.optim.AdamW(self.parameters, lr=plan.rate, weight_decay=0.01)
        self.course = Course()
        self.kept: dict[tuple[str, str], torch.Tensor] = {}  # original scores of ordinary pairs
        self._by_attribute: dict[str, list[Counterfactual]] = {}
        for pair in material.pairs["train"]:
            self._by_attribute.setdefault(pair.attribute, []).append(pair)

    def run(self, progress: Progress) -> Course:
        """Train to the end, or until the validation loss no longer falls; the best adapter stays."""
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
        """One update; the two losses before it."""
        import torch

        self.model.eval()  # dropout would make the two texts of a pair differ by chance
        for group in self.optimizer.param_groups:
            group["lr"] = self.plan.rate * self._share(self.course.step)
        self.optimizer.zero_grad(set_to_none=True)
        pairs, ordinary = self._drawn(self.course.step)
        fair, kept = self._fair_loss(pairs), self._keep_loss(ordinary)
        torch.autograd.backward(fair + self.plan.keep_weight * kept)
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.optimizer.step()
        self.course.step += 1
        return float(fair.detach()), float(kept.detach())

    def _share(self, step: int) -> float:
        """Warm-up, then down along a cosine to a tenth."""
        if step < self.plan.warmup:
            return (step + 1) / self.plan.warmup
        done = (step - self.plan.warmup) / max(1, self.plan.steps - self.plan.warmup)
        return 0.1 + 0.9 * (1 + math.cos(math.pi * done)) / 2

    def _drawn(self, step: int) -> tuple[list[Counterfactual], list[Ordinary]]:
        """A batch of each kind; attributes take turns."""
        rng = generator(self.plan.seed, "batch", str(step))
        groups = list(self._by_attribute.values())
        pairs = [rng.choice(groups[place % len(groups)]) for place in range(self.plan.batch)]
        return pairs, rng.choices(self.material.ordinary["train"], k=self.plan.batch)

    def _fair_loss(self, pairs: Sequence[Counterfactual]) -> torch.Tensor:
        """Eq. 4: both texts of a pair score the same against the neutral reference."""
        texts = [(p.first, p.reference) for p in pairs] + [(p.second, p.reference) for p in pairs]
        scores = self.metric(texts)
        return (scores[: len(pairs)] - scores[len(pairs) :]).square().sum(1).mean()

    def _keep_loss(self, pairs: Sequence[Ordinary]) -> torch.Tensor:
        """Eq. 5: ordinary pairs keep the score of the model without adapters."""
        texts = [(pair.hypothesis, pair.reference) for pair in pairs]
        return (self.metric(texts) - self._original(texts)).square().sum(1).mean()

    def _original(self, texts: Texts) -> torch.Tensor:
        import torch

        missing = [pair for pair in dict.fromkeys(texts) if pair not in self.kept]
        if missing:
            adapters.switch(self.model, on=False)
            with torch.no_grad():
                found = self.metric(missing)
            adapters.switch(self.model, on=True)
            self.kept |= dict(zip(missing, found, strict=True))
        return torch.stack([self.kept[pair] for pair in texts])

    def validation_loss(self) -> tuple[float, float]:
        """Both losses on pairs whose templates are not trained on; always the same ones."""
        import torch

        rng = generator(self.plan.seed, "validation", "")
        pairs, ordinary = self.material.pairs["validation"], self.material.ordinary["validation"]
        some = (
            rng.sample(pairs, min(_CHECKED, len(pairs))),
            rng.sample(ordinary, min(_CHECKED, len(ordinary))),
        )
        with torch.no_grad():
            fair = float(self._fair_loss(some[0])) if some[0] else 0.0
            return fair, float(self._keep_loss(some[1])) if some[1] else 0.0

    def _check(self, losses: tuple[float, float], progress: Progress) -> None:
        fair, kept = self.validation_loss()
        total = fair + self.plan.keep_weight * kept
        row = {"step": self.course.step, "fair": losses[0], "kept": losses[1]}
        self.course.history.append(row | {"validation_fair": fair, "validation_kept": kept})
        better = total < self.course.best
        self.course.since = 0 if better else self.course.since + 1
        if better:
            self.course.best = total
        self._save(better)
        progress.say(f"step {self.course.step}: validation fair {fair:.2e}, kept {kept:.2e}")

    def _save(self, better: bool) -> None:
        """What a stopped run needs: adapters, moments, course. Tensors only, never pickle."""
        from safetensors.torch import save_file

        self.scratch.mkdir(parents=True, exist_ok=True)
        if better:
            save_file(adapters.state(self.model), self.scratch / "best.safetensors")
        tensors = dict(adapters.state(self.model))
        for number, parameter in enumerate(self.parameters):
            kept = self.optimizer.state[parameter]
            tensors |= {f"moment.{number}.{part}": kept[part].contiguous() for part in _PARTS}
        file = self.scratch / "last.safetensors"
        save_file(tensors, file.with_suffix(".new"))
        file.with_suffix(".new").replace(file)
        course = asdict(self.course) | {"best": min(self.course.best, 1e30), "plan": self._name()}
        (self.scratch / "course.json").write_text(json.dumps(course), "utf-8")

    def _name(self) -> str:
        """What must be equal for a stopped run to be taken up."""
        return digest(json.dumps(asdict(self.plan)), self.material.digest(), str(self.metric.loaded.path))

    def _resume(self, progress: Progress) -> None:
        found = self.scratch / "course.json"
        if not found.is_file():
            return
        course: dict[str, Any] = json.loads(found.read_text("utf-8"))
        if course.pop("plan") != self._name():
            progress.say("an unfinished training with other settings is here; it starts anew")
            shutil.rmtree(self.scratch)
            return
        from safetensors.torch import load_file

        tensors = load_file(self.scratch / "last.safetensors")
        self.model.load_state_dict({k: t for k, t in tensors.items() if adapters.NAME in k}, strict=False)
        self.course = Course(**course)
        self._restore_moments(tensors)
        progress.say(f"going on from step {self.course.step}")

    def _restore_moments(self, tensors: dict[str, torch.Tensor]) -> None:
        import torch

        for number, parameter in enumerate(self.parameters):
            kept: dict[str, Any] = {part: tensors[f"moment.{number}.{part}"] for part in _PARTS}
            self.optimizer.state[parameter] = kept | {"step": torch.tensor(float(self.course.step))}

    def finish(self) -> None:
        """Remove what only a stopped run needs."""
        shutil.rmtree(self.scratch, ignore_errors=True)
