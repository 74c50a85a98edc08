"""The nouns of assay: what flows between datasets, audits, metrics and store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from random import Random
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from assay.language import language_of
from assay.recipe import Recipe, digest, generator
from assay.vocabulary import (
    Aspect,
    CostClass,
    Criterion,
    DataKind,
    Expectation,
    Need,
    Paradigm,
    Question,
    Task,
    Verdict,
    aspect_of,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Image:
    """An image file, known by its content."""

    path: str
    digest: str


@dataclass(frozen=True, slots=True)
class Sample:
    """What a metric may see of an item. Equal samples share one score; `id` is for messages alone."""

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
    """Samples that are compared with each other, by role."""

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
    """A metric's scores, with counts of what it could not read: truncated tokens, words out of vocabulary."""

    values: Sequence[float | None] | Floats
    notes: Mapping[str, Sequence[int]] = field(default_factory=dict)


ScoreAnswer = Scores | Sequence[float | None] | Floats


@dataclass(frozen=True, slots=True)
class Scored:
    """One metric's scores of one audit's cases; of a set metric, one case per slice with all its texts."""

    metric: str
    cases: Sequence[Case]
    values: Mapping[str, Floats]  # one value per case, by role; nan = absent, counted in notes
    grids: Mapping[str, Floats] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)
    # Role to (cases, draws) bootstrap values, paired between roles and equal slices.
    resamples: Mapping[str, Floats] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)  # paradigm, backbone, parameters, outputs

    @property
    def is_set(self) -> bool:
        """Whether one score stands for a whole set of texts."""
        return bool(self.about.get("set"))

    @property
    def is_of_model(self) -> bool:
        """Whether a model computed the scores: in single precision, and by batches that round differently."""
        return bool(self.about.get("backbone"))


Limits = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its uncertainty, before it is judged."""

    value: float
    n: int = 0
    ci: Limits | None = None
    p_value: float | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One statistic of one metric, with its uncertainty, verdict and evidence.

    Audits build findings with `Finding.of`; engine/settle.py fills in q-values, verdicts and sentences.
    """

    metric: str
    audit: str
    slice: str
    statistic: str
    value: float
    n: int
    versus: str | None = None
    ci: Limits | None = None
    p_value: float | None = None
    q_value: float | None = None
    settles: int | None = None  # of an inconclusive finding: how many items would settle it
    because: str = ""  # what explains the effect of a group's words: letters, frequency or neither
    named_by: str = ""  # the words that name the group, where the finding is about one
    evidence: tuple[str, ...] = ()
    verdict: Verdict = "not judged"
    sentence: str = ""  # a failed finding in words

    @classmethod
    def of(
        cls,
        scored: Scored | str,
        slice_: str,
        statistic: str,
        estimate: Estimate | float,
        *,
        n: int | None = None,
        versus: str | None = None,
        because: str = "",
        named_by: str = "",
        evidence: Sequence[str] = (),
    ) -> Finding:
        """An estimate as a finding that has no verdict yet; settling fills in the audit's name.

        `scored` is what the metric scored, or the metric's name. Without an interval there is no verdict.
        Evidence is case ids, most telling first.
        """
        number = estimate if isinstance(estimate, Estimate) else Estimate(float(estimate))
        return cls(
            scored if isinstance(scored, str) else scored.metric, "", slice_, statistic, number.value,
            number.n if n is None else n, versus, number.ci, number.p_value,
            because=because, named_by=named_by, evidence=tuple(evidence),
        )  # fmt: skip

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Finding:
        """Read a settled finding from a row of a run's table."""
        ci = None if row["ci_low"] is None else (row["ci_low"], row["ci_high"])
        stored = {each.name: row[each.name] for each in fields(cls) if each.name in row}
        return cls(**stored | {"ci": ci, "evidence": tuple(row["evidence"] or ())})


@dataclass(frozen=True, slots=True)
class Statistic:
    """What a number means: declared once, by the audit that computes it."""

    name: str
    meaning: str  # one plain sentence, shown in the report and in the reference
    unit: str = ""  # "% right", "of a lost word", "share"
    bad: Literal["high", "low", "far"] | None = None  # which side is worse; None: descriptive, never judged
    bar: str | float | None = None  # where the bad side begins: the audit's field or a number
    centre: float = 0.0  # where there is no effect, for `bad="far"`: 0.5 for a share of two
    headline: bool = False  # shown in tables and on the first screen
    sentence: Callable[[Finding], str] | None = None  # a failed finding in words


@dataclass(frozen=True, slots=True)
class Chart:
    """How the report draws findings; without one, headline statistics are drawn as bars with intervals."""

    # cases: one point per case, whose `meta["at"]` has its place on the axis by slice, against its score
    kind: Literal["bars", "curve", "scatter", "cases"]
    value: str  # the statistic on the value axis
    title: str = ""
    x: str | None = None  # curve: the statistic across; None reads the number in the slice's last part
    colour: str | None = None  # the statistic whose verdict colours the marks; None: that of `value`
    depth: int = 1  # how many parts of a slice name one panel


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an audit concludes: findings without verdicts, and notes for the reader."""

    findings: Sequence[Finding] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class NearWrong:
    """A text that differs from a sound one in few words and says something false."""

    text: str
    kind: (
        str  # what is wrong: entity, number, negation, role, relation, time, place, hallucination or omission
    )
    severity: Literal["minor", "major", "critical"]


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
    reworded: tuple[str, ...] = ()  # as good as the gold, in other words: the nearest first
    wrong: NearWrong | None = None  # nearly the gold, and false
    candidates: tuple[str, str] | None = None  # two imperfect texts, the better one first

    @property
    def key(self) -> str:
        """Content hash: seeds the item's generator."""
        return digest(self.gold, self.source or "", *self.references, *self.context)

    @property
    def language(self) -> str:
        """The language of the gold or, if that is too short to tell, of the texts around it; or ''."""
        own = language_of(self.gold)
        return own or language_of(" ".join((*self.references[:3], *self.context[-3:], *self.others[:10])))

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

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Explanation:
        """The explanation from its fields as JSON has them."""
        values = tuple(map(tuple, fields["values"]))
        return cls(fields["kind"], tuple(fields["rows"]), tuple(fields["columns"]), values)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a judge would be asked to score some samples: questions, and tokens read and written."""

    questions: int
    read: int
    written: int
    is_paid: bool = False

    def __add__(self, other: Asked) -> Asked:
        """The sum of two requests."""
        is_paid = self.is_paid or other.is_paid
        sums = (self.questions + other.questions, self.read + other.read, self.written + other.written)
        return Asked(*sums, is_paid=is_paid)


class _Scorer(Recipe):
    """What sample metrics and set metrics have in common."""

    paradigm: ClassVar[Paradigm] = "other"
    one_reference: ClassVar[bool] = False  # defined for a single reference; several are an error
    made_for: ClassVar[tuple[str, ...]] = ()  # its authors' tasks, where it means nothing elsewhere; (): any
    range: ClassVar[tuple[float | None, float | None]] = (None, None)  # as used, higher is better
    original: ClassVar[Literal["higher", "lower"]] = "higher"  # the authors' direction; "lower" was negated
    citation: ClassVar[str] = ""
    packages: ClassVar[tuple[str, ...]] = ()  # modules outside the core dependencies
    extra: ClassVar[str | None] = None  # the extra that installs them
    weights: ClassVar[tuple[str, ...]] = ()  # fields that name weights
    outputs: ClassVar[tuple[str, ...]] = ()
    languages: ClassVar[frozenset[str] | None] = None  # that it reads; None: any, or those of its models

    @property
    def needs(self) -> frozenset[Need]:
        """What a sample must have to be scored; a class may simply say `needs = frozenset({"source"})`."""
        return frozenset({"references"})

    @property
    def optional(self) -> frozenset[Need]:
        """What is read as well where a sample has it; overridden like `needs`."""
        return frozenset()

    @property
    def cost(self) -> CostClass:
        """How much work one text is; a metric that does not say is taken for an encoder."""
        if self.paradigm in ("likelihood", "generation", "judge") and self.backbone is not None:
            return "causal"
        return "encoder" if self.backbone is not None or self.origin is not None else "words"

    @property
    def backbone(self) -> str | None:
        """The pretrained model a score rests on."""
        return str(self.model) if hasattr(self, "model") else None

    @property
    def parameter_count(self) -> int | None:
        """How many parameters the backbone has, where known without loading it."""
        return None

    @property
    def quick_questions(self) -> int | None:
        """How many questions `assay audit` asks a judge at `--size quick`; None for other metrics."""
        return None

    @classmethod
    def absent(cls) -> str | None:
        """What has to be installed by hand; None if nothing has."""

    @property
    def batch(self) -> int:
        """The smallest batch worth a call: more than one where every call starts another program."""
        return 1

    def prepare(self) -> None:
        """Load what scoring needs, so that loading time is not counted as scoring time."""

    def fitted(self, references: Sequence[tuple[str, ...]]) -> Self:
        """The metric with idf or document frequencies from a dataset's references, one tuple per item."""
        return self

    def silence(self, counted: Mapping[str, int]) -> str | None:
        """Why an audit got no score at all, from what was counted (`Scored.notes`); None if unknown."""
        return None


class Metric(_Scorer, ABC):
    """Samples to scores. A subclass is a frozen dataclass whose fields are what can change a score."""

    symmetric: ClassVar[bool] = False
    identity_highest: ClassVar[bool] = False  # promises that a text scores highest against itself

    @property
    def cost(self) -> CostClass:
        """How much work one text is; a hybrid costs as much as its most expensive part."""
        costs = [super().cost, *(part.metric.cost for part in self.parts)]
        return max(costs, key=get_args(CostClass).index)

    @property
    def stochastic(self) -> bool:
        """Whether a repeated call may differ, so that `draw` stays in the sample; overridden like `needs`."""
        return False

    @abstractmethod
    def score(self, samples: Sequence[Sample]) -> ScoreAnswer:
        """One value per sample, None where there is none; (n, outputs) where `outputs` is given."""

    def asked(self, samples: Sequence[Sample]) -> Asked | None:
        """What a model would be asked in order to score the samples; None if the metric asks no model."""
        return None

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
        """A hybrid's parts, scored on their own so that they share the cache."""
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
        """Counts per sample, from whose sum a set's score is computed; None if there are none."""
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
    spec: str = field(default="", repr=False, compare=False)  # how to ask for it, where `label` is a name

    @property
    def column(self) -> int:
        """Where the output stands in a row of scores."""
        return self.metric.outputs.index(self.output) if self.output else 0


class Perturbation(Recipe, ABC):
    """A text to a worse text (or an equally good one). A frozen dataclass; its level is a field.

    `assay run stress` asks metrics about it at its `levels`, `assay run checklist` for its `tasks`.
    """

    criterion: ClassVar[Criterion]
    expect: ClassVar[Expectation] = "lower"
    title: ClassVar[str] = ""  # what the changed text has, as a noun phrase; the name in words, if empty
    levels: ClassVar[tuple[float, ...]] = ()  # of the field `level` in the stress tests, weakest first
    for_english: ClassVar[bool] = True  # whether the stress tests use it on English texts unasked
    tasks: ClassVar[tuple[Task, ...]] = ()  # of the checklist, where it harms the criterion (or keeps it)
    severity: ClassVar[float] = 5.0  # how much people should mind, from 0 to 10
    reads: ClassVar[Literal["", "source", "references", "context", "others"]] = ""  # needed beside the gold
    languages: ClassVar[frozenset[str] | None] = frozenset({"en"})  # None: any language
    seeded: ClassVar[bool] = True  # another seed may give another text
    switched: ClassVar[bool] = False  # words change places only, which the noise-ratio counts twice

    @property
    def aspect(self) -> Aspect:
        """Whether it changes what a text means, or its form; by its criterion, unless a class says more."""
        return aspect_of(self.criterion)

    @property
    def method(self) -> str | None:
        """How words are chosen, where there is more than one way; None where there is one."""
        return None

    @abstractmethod
    def apply(self, record: Record, rng: Random) -> str | None:
        """The changed gold, or None where it does not apply here."""

    def understands(self, record: Record) -> bool:
        """Whether the record is in a language of the perturbation, or in none that can be told."""
        return self.languages is None or record.language in ("", *self.languages)

    def perturb(self, record: Record, seed: int = 0) -> str | None:
        """Apply with the item's own generator; a text left as it was, or blank, does not count as applied.

        Nor is a text of another language changed: see `understands`.
        """
        if not self.understands(record):
            return None
        changed = self.apply(record, generator(seed, self.signature, record.key)) or ""
        return changed if changed.strip() and changed != record.gold else None


class Audit(Recipe, ABC):
    """A question put to metrics. A frozen dataclass; its fields are data and options."""

    question: ClassVar[Question]
    title: ClassVar[str] = ""  # the heading in reports; the name, if empty
    statistics: ClassVar[tuple[Statistic, ...]] = ()  # everything `judge` may emit
    charts: ClassVar[tuple[Chart, ...]] = ()
    advice: ClassVar[str] = ""  # what a failure asks of a user of the metric, for its card
    roles: ClassVar[tuple[str, ...]] = ()  # role order, for imported scores
    compares: ClassVar[bool] = False  # does not apply to a metric that reads the hypothesis alone
    wants: ClassVar[str] = "check --data, --only and --limit"  # what to do when there is nothing to score
    reads: ClassVar[DataKind | None] = None  # which data of a user's it takes in a run of several audits
    needs_data: ClassVar[bool] = False  # there is no embedded data: ratings come from the user
    needs_fresh: ClassVar[bool] = False  # compares embedded texts with fresh ones: a run that has those
    of_judges: ClassVar[bool] = False  # asks what only judges have; no other metric is put to it
    quick: ClassVar[Mapping[str, Any]] = {}  # field values of `--size quick`
    quick_items: ClassVar[int] = 60  # cases of a slice that a model reads at `--size quick`

    def fetch(self) -> str | None:
        """Fetch what making the cases needs beyond this package; returns what cannot be had here, and why.

        It is called before `cases`, so that a first run asks what a second one asks.
        """
        return None

    @abstractmethod
    def cases(self) -> Iterable[Case | Grid]:
        """The texts that must be scored."""

    def more(self, scored: Scored) -> Sequence[Case]:
        """The next round of a search, for one metric at a time; empty when the search is over."""
        return ()

    def foreseen(self, about: Mapping[str, Any]) -> Sequence[Case]:
        """What `more` will surely ask of a metric with these facts, so that its cost is known before."""
        return ()

    @property
    def subjects(self) -> Mapping[str, str]:
        """What the last part of a slice means, in words, where its name alone says too little."""
        return {}

    def panel(self) -> Sequence[str]:
        """Specs of further metrics that score this audit's cases, beside those asked for."""
        return ()

    def companions(self, measures: Sequence[Measure]) -> Sequence[str]:
        """Specs of metrics that answer what those asked for cannot; they score `companion_cases`."""
        return ()

    def companion_cases(self, cases: Sequence[Case | Grid]) -> Sequence[Case | Grid]:
        """The part of the cases that companions score."""
        return cases

    def final(self, scored: Sequence[Scored]) -> Sequence[Case]:
        """Cases that every metric scores after all searches have ended."""
        return ()

    @abstractmethod
    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """Findings and notes from all metrics together, so that they can be compared."""


class MadeOnce(Audit):
    """An audit that takes long to make its cases; `judge` may look at them again.

    A run keeps them for later ones where they come from this package alone.
    """

    @abstractmethod
    def make_cases(self) -> list[Case]:
        """Make what must be scored."""

    @cached_property
    def made(self) -> list[Case]:
        """The cases, in the order they were made."""
        return self.make_cases()

    def recall(self, cases: list[Case]) -> None:
        """Take the cases that an equal audit made."""
        vars(self)["made"] = cases

    def cases(self) -> Iterable[Case]:
        return self.made

    @property
    def is_own(self) -> bool:
        """Whether no field names a file: texts and word lists are this package's."""
        values = [getattr(self, each.name) for each in fields(self)]  # type: ignore[arg-type]
        listed = [item for value in values for item in (value if isinstance(value, tuple) else [value])]
        return all(item is None or isinstance(item, str | int | float) for item in listed)
