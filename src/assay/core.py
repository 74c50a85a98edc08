"""The nouns of assay: what flows between datasets, audits, metrics and store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from assay.recipe import Recipe, digest, generator
from assay.vocabulary import Criterion, Expectation, Need, Paradigm, Question, Task

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Image:
    """An image file, known by its content."""

    path: str
    digest: str


@dataclass(frozen=True, slots=True)
class Sample:
    """Only what a metric may see; equal samples share a score, whatever messages call them (`id`)."""

    hypothesis: str
    references: tuple[str, ...] = ()
    source: str | None = None
    image: Image | None = None
    rival: str | None = None
    draw: int = 0
    id: str = field(default="", compare=False)

    @property
    def key(self) -> str:
        """Content hash: the sample's address in the cache."""
        source, rival = ("" if text is None else "=" + text for text in (self.source, self.rival))
        image = "" if self.image is None else self.image.digest
        return digest(self.hypothesis, source, rival, image, str(self.draw), *self.references)


@dataclass(frozen=True, slots=True)
class Case:
    """Samples compared with each other, by role."""

    id: str
    samples: Mapping[str, Sample]
    slice: str
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Grid:
    """Every row text as hypothesis against every column text as reference."""

    id: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    slice: str
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Content hash of rows and columns."""
        return digest(str(len(self.rows)), *self.rows, *self.columns)


@dataclass(frozen=True, slots=True)
class Scores:
    """A metric's answer with what it had to count: truncated tokens, words out of vocabulary."""

    values: Sequence[float | None] | Floats
    notes: Mapping[str, Sequence[int]] = field(default_factory=dict)


Answer = Scores | Sequence[float | None] | Floats


@dataclass(frozen=True, slots=True)
class Scored:
    """What one metric said to one audit; a set metric sees one folded case a slice."""

    metric: str
    cases: Sequence[Case]
    values: Mapping[str, Floats]  # role to a value a case; nan = absent, counted in notes
    grids: Mapping[str, Floats] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)
    # Role to (cases, draws) bootstrap values, paired between roles and equal slices.
    resamples: Mapping[str, Floats] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)  # paradigm, backbone, parameters, outputs


@dataclass(frozen=True, slots=True)
class Finding:
    """One statistic of one metric, with its uncertainty, verdict and evidence."""

    metric: str
    audit: str
    slice: str
    statistic: str
    value: float
    n: int
    versus: str | None = None
    ci: tuple[float, float] | None = None
    p_value: float | None = None
    q_value: float | None = None
    mde: float | None = None
    passed: bool | None = None
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """An item of a task corpus, as perturbations see it."""

    id: str
    gold: str
    task: Task
    references: tuple[str, ...] = ()
    source: str | None = None
    context: tuple[str, ...] = ()
    others: Sequence[str] = ()  # golds of other items of the corpus
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Content hash: seeds the item's generator."""
        return digest(self.gold, self.source or "", *self.references, *self.context)

    def sample(self, hypothesis: str | None = None) -> Sample:
        """The record as a metric sees it, with another hypothesis than the gold if given."""
        source = self.source if self.source is not None else "\n".join(self.context) or None
        return Sample(self.gold if hypothesis is None else hypothesis, self.references, source, id=self.id)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a score: which word met which, or how likely each token was."""

    kind: Literal["matching", "tokens"]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]


class _Scorer(Recipe):
    """What sample metrics and set metrics declare alike."""

    paradigm: ClassVar[Paradigm] = "other"
    one_reference: ClassVar[bool] = False  # defined for a single reference; several are an error
    range: ClassVar[tuple[float | None, float | None]] = (None, None)  # as used, higher is better
    original: ClassVar[Literal["higher", "lower"]] = "higher"  # the authors' direction; "lower" was negated
    citation: ClassVar[str] = ""
    packages: ClassVar[tuple[str, ...]] = ()  # modules outside the core dependencies
    extra: ClassVar[str | None] = None  # the extra that installs them
    weights: ClassVar[tuple[str, ...]] = ()  # fields that name weights
    outputs: ClassVar[tuple[str, ...]] = ()

    @property
    def needs(self) -> frozenset[Need]:
        """What a sample must have to be scored; a class may simply say `needs = frozenset({"source"})`."""
        return frozenset({"references"})

    @property
    def optional(self) -> frozenset[Need]:
        """What is read as well where a sample has it; overridden like `needs`."""
        return frozenset()

    @property
    def backbone(self) -> str | None:
        """The pretrained model a score rests on."""
        return str(self.model) if hasattr(self, "model") else None

    @property
    def parameter_count(self) -> int | None:
        """How many parameters the backbone has, where known without loading it."""
        return None

    @classmethod
    def absent(cls) -> str | None:
        """What no installer brings and must be put in place by hand; None where nothing is."""

    @property
    def batch(self) -> int:
        """Samples a call should hold at least: more than one where every call starts another program."""
        return 1

    def prepare(self) -> None:
        """Load what scoring needs, so that loading is not counted as scoring."""

    def fitted(self, references: Sequence[tuple[str, ...]]) -> Self:
        """With idf or document frequencies from the references of a dataset, one tuple per item."""
        return self

    def silence(self, counted: Mapping[str, int]) -> str | None:
        """Why an audit got no score at all, from what was counted (`Scored.notes`); None if unknown."""
        return None


class Metric(_Scorer, ABC):
    """Samples to scores. A subclass is a frozen dataclass whose fields are what can change a score."""

    symmetric: ClassVar[bool] = False
    identity_highest: ClassVar[bool] = False  # promises that a text scores highest against itself

    @property
    def stochastic(self) -> bool:
        """Whether a repeated call may differ, so that `draw` stays in the sample; overridden like `needs`."""
        return False

    @abstractmethod
    def score(self, samples: Sequence[Sample]) -> Answer:
        """One value per sample, None where there is none; (n, outputs) where `outputs` is given."""

    def grid(self, rows: Sequence[str], columns: Sequence[str]) -> Floats | None:
        """Every row against every column, where the metric can do better than pair by pair."""
        return None

    def explain(self, sample: Sample) -> Explanation | None:
        """Why the score, where the metric can tell."""
        return None

    def differentiable(self) -> object | None:
        """A `models.trainable.Differentiable`: the score with gradients; None if it cannot be trained."""
        return None

    @property
    def parts(self) -> tuple[Measure, ...]:
        """A hybrid's parts, scored on their own so that they share the cache (law 9)."""
        return ()

    def combine(self, parts: Floats) -> Floats:
        """A hybrid's score from its parts' scores, (n, parts) to (n,)."""
        return np.asarray(parts.mean(axis=1))


class SetMetric(_Scorer, ABC):
    """Many samples to one score: corpus BLEU, MAUVE."""

    pools: ClassVar[bool] = False  # the references of all samples are one set (MAUVE), not each sample's own
    smallest: ClassVar[int] = 0  # texts per set below which no verdict is given

    @abstractmethod
    def score_set(self, samples: Sequence[Sample]) -> float:
        """One value for the whole set."""

    def statistics(self, samples: Sequence[Sample]) -> Floats | None:
        """Additive rows a sample, so that resampling is cheap; None where there are none."""
        return None

    def band(self, texts: Sequence[str]) -> tuple[float, float] | None:
        """The 95% range of scores between random halves of one set; None where it is not known."""
        return None

    def from_statistics(self, totals: Floats) -> Floats:
        """Set scores from summed statistics, (draws, columns) to (draws,)."""
        return np.asarray(totals.mean(axis=1))


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric, the output read from it, and the name people gave it."""

    label: str
    metric: Metric | SetMetric
    output: str | None = None

    @property
    def column(self) -> int:
        """Where the output stands in a row of scores."""
        return self.metric.outputs.index(self.output) if self.output else 0


class Perturbation(Recipe, ABC):
    """A text to a worse text (or an equally good one). A frozen dataclass; its level is a field."""

    criterion: ClassVar[Criterion]
    expect: ClassVar[Expectation] = "lower"
    reads: ClassVar[Literal["", "source", "references", "context", "others"]] = ""  # needed beside the gold

    @abstractmethod
    def apply(self, record: Record, rng: Random) -> str | None:
        """The changed gold, or None where it does not apply here."""

    def perturb(self, record: Record, seed: int = 0) -> str | None:
        """Apply with the item's own generator; a text left as it was, or blank, does not count as applied."""
        changed = self.apply(record, generator(seed, self.signature, record.key)) or ""
        return changed if changed.strip() and changed != record.gold else None


class Audit(Recipe, ABC):
    """A question put to metrics. A frozen dataclass; its fields are data and options."""

    question: ClassVar[Question]
    roles: ClassVar[tuple[str, ...]] = ()  # role order, for imported scores
    compares: ClassVar[bool] = False  # has no question to a metric that reads the hypothesis alone
    wants: ClassVar[str] = "check --data, --only and --limit"  # what to do where no item can be used
    needs_data: ClassVar[bool] = False  # nothing embedded will do: people's ratings are the user's to give

    @abstractmethod
    def cases(self) -> Iterable[Case | Grid]:
        """What must be scored."""

    def more(self, scored: Scored) -> Sequence[Case]:
        """The next round of a search, a metric at a time."""
        return ()

    @abstractmethod
    def judge(self, scored: Sequence[Scored]) -> list[Finding]:
        """All metrics together, so that they can be compared."""

    def notes(self) -> list[str]:
        """What a reader must know about the data: items dropped, columns unknown."""
        return []

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """Field values of `--size quick`."""
        return {}
