"""Agreement with people: how far, on which criterion, and is one metric really better than another?

Slices: `example/CRITERION` (all texts), `example/CRITERION/by-document` (mean over documents, which are the
texts of one source), `system/CRITERION` (systems' means), `system/CRITERION/top-K`, `criteria/CRITERION`,
`annotators/CRITERION`, `mean/CRITERION`. Where the data holds several datasets or language pairs, each has
slices of its own, `system/PART:CRITERION`, and `system/average:CRITERION` is their average. Agreement in
order is given in percent; correlations and shares as they are.

Every table also holds sentinels: baselines that compare the text with nothing. Only `over_sentinel` carries a
verdict: a metric fails where its agreement surely lies below that of the best sentinel, and passes above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import compress
from sys import intern
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from assay.audits.base import DataAudit, check_known
from assay.audits.human import compare, levels, people, sentinels, use
from assay.audits.human.items import PART_COLUMNS, Items, limited, mean_rating, part_names
from assay.audits.human.levels import ORDER, LevelAgreement, Study
from assay.core import Case, Chart, Finding, Floats, Judgement, Scored, Statistic
from assay.datasets.published.ratings import CHOSEN_BY, RatingsChoice, read_ratings
from assay.errors import DataError
from assay.statistics.correlation import system_means
from assay.statistics.resampled import Over
from assay.vocabulary import DataKind, Question, Range

ROLE = "hypothesis"
_ALL = "all"  # the slice of texts that no system is named for
_MOST_DRAWN, _FEWEST_DRAWS = 20_000_000, 100  # texts drawn in all resamples together, and resamples
FEWEST_RATED = 3  # texts below which nothing is correlated


def _over_sentinel(finding: Finding) -> str:
    """How far a metric lies below the best baseline, in words."""
    less = "less than" if finding.value < 0 else "hardly more than"
    baseline = finding.versus or compare.BASELINES
    if baseline == sentinels.CONSTANT:
        baseline = "a constant score would"
    elif baseline in sentinels.SENTINELS:
        baseline += ", a baseline that compares the text with nothing"
    criterion = finding.slice.split("/")[1]
    return (
        f"{finding.metric} agrees with people on {criterion} {less} {baseline} "
        f"({finding.value:+.2g} decisions of 100)."
    )


def _difference(statistic: str, unit: str) -> Statistic:
    """The declaration of the difference between two metrics."""
    return Statistic(
        statistic + compare.DIFFERENCE,
        f"This metric's {statistic.replace('_', ' ')} minus the other metric's; where the interval excludes "
        "0 the two are told apart. p: that the two metrics could be exchanged.",
        unit,
    )


_CORRELATION = "correlation"


@dataclass(frozen=True)
class Human(DataAudit):
    """Rated texts, one case each; a set metric scores the texts of a system as one set."""

    name = "human"
    title = "Agreement with people"
    question: ClassVar[Question] = "agreement"
    advice = "A baseline that compares the text with nothing agrees as well: do not choose systems by it."
    reads: ClassVar[DataKind] = "ratings"
    roles = (ROLE,)
    needs_data = True  # assay carries no ratings
    # Left out of `assay audit` where there are no ratings.
    quick: ClassVar[Mapping[str, Any]] = {"skip": True, "resamples": 300}
    statistics = (
        Statistic(
            ORDER,
            "Of 100 pairs of texts that people rate differently (or of systems), how many the metric orders "
            "as they do; scores that tie are half right. 50 is a coin.",
            "of 100", headline=True,
        ),
        Statistic(
            "over_sentinel",
            "Agreement in order minus that of the best baseline which compares the text with nothing, and at "
            "least 50, which is the agreement of a constant.",
            "of 100", bad="low", bar="sentinel_margin", headline=True, sentence=_over_sentinel,
        ),
        Statistic(
            "pearson",
            "Linear correlation of scores with mean ratings, -1 to 1; under `criteria`, of people's ratings "
            "on two criteria.",
            _CORRELATION,
        ),
        Statistic("spearman", "Rank correlation of scores with mean ratings, -1 to 1.", _CORRELATION),
        Statistic(
            "kendall_b",
            "Kendall's tau-b of scores with mean ratings: agreement on pairs, adjusted for ties; under "
            "`criteria`, of people's ratings on two criteria.",
            _CORRELATION,
        ),
        Statistic(
            "kendall_c",
            "Kendall's tau-c of scores with mean ratings: agreement on pairs, for scales of few steps.",
            _CORRELATION,
        ),
        Statistic(
            "pairwise_accuracy",
            "Share of pairs of texts that the metric orders as people do, where a tie is right if people tie "
            "(acc-eq of the WMT metrics task); how near two scores must be to tie is found on these data "
            "(Deutsch et al., 2023).",
            "share",
        ),
        Statistic(
            "soft_pairwise_accuracy",
            "Pairwise accuracy of systems that counts how sure the metric and people are of each pair "
            "(Thompson et al., 2024).",
            "share",
        ),
        _difference(ORDER, "of 100"),
        *(_difference(name, _CORRELATION) for name in ("spearman", "kendall_b", "kendall_c")),
        Statistic("cluster", "Rank group by agreement in order: 1 is the best, and metrics of one group "
            "cannot be told apart.", "rank"),
        Statistic(
            "soft_cluster",
            "Rank group by soft pairwise accuracy as the WMT metrics task forms it, for these systems and "
            "texts alone: 1 is the best.",
            "rank",
        ),
        Statistic(
            "ppi_mean",
            "People's mean rating of all texts, estimated from the rated texts and the metric's scores of "
            "all texts (prediction-powered inference).",
            "points of the rating scale",
        ),
        Statistic(
            "label_gain",
            "Effective sample size ratio: how many ratings one rating is worth when the metric's scores of "
            "unrated texts are used too.",
            "ratio",
        ),
        Statistic("krippendorff_alpha", "Agreement among annotators: 1 is perfect, 0 is by chance.", "alpha"),
        Statistic(
            "cohen_kappa", "Mean agreement of two annotators beyond chance (quadratic weights).", "kappa"
        ),
        Statistic(
            "split_half_kendall",
            "Kendall's tau-b of the mean ratings by two random halves of the annotators.",
            _CORRELATION,
        ),
    )  # fmt: skip
    charts = (
        Chart("cases", ORDER, title="Ratings by people", colour="over_sentinel"),
        *(
            Chart("curve", name, title="Agreement on the best systems", depth=2)
            for name in ("spearman", "kendall_b", "kendall_c")
        ),
    )

    limit: int | None = None  # texts per file, in whole documents at even distances
    only: tuple[str, ...] = ()  # criteria
    skip_missing: bool = False
    level: Literal["example", "system"] | None = None  # both by default
    # Both by default; beside agreement in order metrics are then compared by Spearman, else by tau.
    tau: Literal["b", "c"] | None = None
    each_judgement: bool = False  # one row per single rating (caption table 7), at the level of all texts
    drop_self_references: bool = False  # leave out texts that are among their own references
    language_pair: tuple[str, ...] = ()  # of translations; all by default
    domain: tuple[str, ...] = ()  # of translations; all by default
    reference: str | None = None  # the human translation to compare with, or "all"; the first by default
    human_systems: bool = True  # also judge human translations
    over: Over = "both"  # what is resampled: documents, systems or both (Deutsch, Dror & Roth, 2021)
    resamples: Annotated[int, Range(40)] = 1000
    sentinel_margin: float = 0.0  # decisions of 100 by which agreement must exceed the best sentinel's
    details: bool = True  # top-k curves, prediction-powered means

    @cached_property
    def _read(self) -> Items:
        if not self.data:
            raise DataError("human needs ratings: give --data FILE with a column rating or --map human=NAME")
        choice = RatingsChoice(self.language_pair, self.domain, self.human_systems, self.reference)
        read = partial(read_ratings, skip_missing=self.skip_missing, choice=choice)
        files = [(path, limited(read(path), self.limit)) for path in self.data]
        rated = [item for _, listed in files for item in listed]
        if len({item.id for item in rated}) < len(rated):
            raise DataError("two data files share ids; join them into one file with ids of their own")
        parts = tuple(part_names(files))
        # A system of the same name in another part is another system.
        for places in Items(tuple(rated), parts).places.values():
            for place, item in zip(places, people.with_strengths([rated[n] for n in places]), strict=True):
                rated[place] = item
        return Items(tuple(rated), parts)

    @cached_property
    def items(self) -> Items:
        read = self._read
        texts = [item.sample for item in read.rated]
        own = [text.hypothesis.strip() in map(str.strip, text.references) for text in texts]
        used = [not (self.drop_self_references and same) for same in own]
        items = Items(tuple(compress(read.rated, used)), tuple(compress(read.parts, used)))
        if not items.criteria:
            raise DataError(
                f"{self.data[0]}: no text has a rating; give a column rating, or --map human=COLUMN"
                + _unused(items, "; columns not used: ")
            )
        return items

    @cached_property
    def criteria(self) -> list[str]:
        check_known("nobody judged", self.only, self.items.criteria)
        return list(self.only or self.items.criteria)

    @property
    def agreements(self) -> tuple[str, ...]:
        """The statistics of agreement that are reported of texts and of systems."""
        taus = {"b": ("kendall_b",), "c": ("kendall_c",)}
        return (ORDER, "pearson", "spearman", *taus.get(self.tau or "", ("kendall_b", "kendall_c")))

    @property
    def correlation(self) -> str:
        """The correlation that metrics are compared by, beside agreement in order."""
        return "spearman" if self.tau is None else f"kendall_{self.tau}"

    @property
    def drawing(self) -> dict[str, Any]:
        """How resampling functions draw, as keyword arguments; intervals of many texts need fewer draws."""
        fewer = max(_FEWEST_DRAWS, _MOST_DRAWN // len(self.items))
        return {"resamples": min(self.resamples, fewer), "seed": self.seed}

    def cases(self) -> Iterable[Case]:
        labels = {
            part: {name: f"example/{levels.labelled(part, name)}" for name in self.criteria}
            for part in self.items.places
        }

        @lru_cache(10_000)  # a million texts share a few hundred ratings
        def mean_ratings(part: str, human: tuple[tuple[str, tuple[float, ...]], ...]) -> Mapping[str, float]:
            given = dict(human)
            named = labels[part].items()
            return {label: mean_rating(given[name]) for name, label in named if name in given}

        for item, part in zip(self.items.rated, self.items.parts, strict=True):
            at = mean_ratings(part, tuple(item.human.items()))
            slice_ = intern(levels.system_slice(part, item.system or _ALL))
            yield Case(item.id, {ROLE: item.sample}, slice_, {"doc": item.doc, "human": item.human, "at": at})

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """All criteria: metrics and sentinels against people and each other, and people among themselves."""
        findings: list[Finding] = []
        notes = self._data_notes()
        metrics, scores = self._scores(scored)
        sets = tuple(answer for answer in scored if answer.is_set)
        for criterion in self.criteria:
            studies = [
                Study(self, criterion, metrics, scores[:, places], self.items.by_part[part], sets, part)
                for part, places in self.items.places.items()
            ]
            for study in studies:
                judgement = self._judge_criterion(study)
                findings += judgement.findings
                notes += judgement.notes
            if len(studies) > 1:
                findings += compare.average_findings(findings, list(self.items.places), criterion)
            if self.details and self.level != "example":
                findings += compare.soft_cluster_findings(studies)
        notes += compare.agreement_notes(findings)
        between: list[Finding] = []
        for part, items in self.items.by_part.items():
            for criterion in self.criteria:
                findings += people.annotator_findings(self, items, part, criterion)
            between += people.criteria_findings(self, items, part)
        notes += people.criteria_notes(between)
        return Judgement(findings + between, list(dict.fromkeys(notes)))

    def _scores(self, scored: Sequence[Scored]) -> tuple[tuple[str, ...], Floats]:
        """Names of the sample metrics, and their scores as metrics x texts."""
        place = {item.id: index for index, item in enumerate(self.items.rated)}
        single = [answer for answer in scored if not answer.is_set]
        scores = np.full((len(single), len(self.items)), np.nan)
        for row, answer in zip(scores, single, strict=True):
            row[[place[case.id] for case in answer.cases]] = answer.values[ROLE]
        return tuple(answer.metric for answer in single), scores

    def _judge_criterion(self, study: Study) -> Judgement:
        problem = _unusable(study)
        if problem:
            return Judgement([], [problem])
        baselines = sentinels.sentinel_scores(study.items, study.criterion)
        scores = np.vstack([study.scores, *baselines.values()])
        full = replace(study, metrics=(*study.metrics, *baselines), scores=scores)
        findings: list[Finding] = []
        notes: list[str] = []
        if self.level != "system":
            findings += self._agreement_findings(full, levels.example_agreements(full), notes)
        if self.level != "example":
            agreements = list(levels.system_agreements(full))
            findings += self._agreement_findings(full, agreements, notes)
            if not agreements:
                rated = int(np.isfinite(system_means(study.human_table)).sum())
                notes.append(
                    f"system/{study.label}: {rated} systems; at least {levels.FEWEST_SYSTEMS} that people "
                    "judged are needed (column 'system')"
                )
            elif self.details:
                findings += use.top_findings(full)
        return Judgement(findings + (use.label_findings(study) if self.details else []), notes)

    def _agreement_findings(
        self, study: Study, agreements: Iterable[LevelAgreement], notes: list[str]
    ) -> Iterator[Finding]:
        """The agreement of every metric, and comparisons of metrics with baselines and each other."""
        for agreement in map(sentinels.without_constants, agreements):
            yield from levels.level_findings(study, agreement)
            if agreement.statistic == ORDER and self.rule == "careful":
                yield from sentinels.sentinel_findings(agreement, self.sentinel_margin)
            if agreement.statistic in (ORDER, self.correlation):
                yield from compare.comparison_findings(study, agreement)
            if agreement.statistic == self.correlation:
                notes += _flat_notes(agreement)

    def _data_notes(self) -> list[str]:
        """What was dropped, averaged or taken for granted in the data."""
        items, notes = self.items, []
        dropped = len(self._read) - len(items)
        if dropped:
            notes.append(f"{dropped} texts that are among their own references were dropped")
        for criterion in self.criteria:
            notes += _rating_notes(items, criterion)
        if len(items.places) > 1:
            notes.append(f"kept apart, and averaged: {', '.join(items.places)}")
        repeated = sum(part.repeated for part in items.by_part.values())
        if repeated:
            notes.append(f"{repeated} texts repeat a (doc, system): averaged at the level of systems")
        if 1 < min(len(part.system_names) for part in items.by_part.values()) < levels.CROSSED_SYSTEMS:
            few = f"fewer than {levels.CROSSED_SYSTEMS} systems"
            notes.append(f"{few}: intervals and verdicts speak of these systems alone")
        if (drawn := self.drawing["resamples"]) < self.resamples:
            notes.append(
                f"intervals rest on {drawn} resamples, not {self.resamples}: there are {len(items):,} texts"
            )
        if all(item.doc is None for item in items.rated):
            notes.append("no column 'doc': texts that share a source or references are taken as one document")
        if unused := _unused(items, "columns not used: "):
            notes.append(unused)
        return notes


def _flat_notes(agreement: LevelAgreement) -> Iterator[str]:
    for metric, value in zip(agreement.metrics, agreement.draws.values, strict=True):
        if not np.isfinite(value) and metric not in sentinels.SENTINELS:
            yield f"{agreement.slice}: {metric} does not vary there, so it has no correlation"


def _unused(items: Items, title: str) -> str:
    names = sorted({column for item in items.rated for column in item.meta} - {*PART_COLUMNS, *CHOSEN_BY})
    return title + ", ".join(names) if names else ""


def _rating_notes(items: Items, criterion: str) -> list[str]:
    counts = [len(item.human.get(criterion, ())) for item in items.rated]
    notes = []
    missing = counts.count(0)
    if missing:
        notes.append(f"{criterion}: {missing} of {len(counts)} texts have no rating")
    given = {count for count in counts if count}
    if len(given) > 1:
        notes.append(f"{criterion}: {min(given)} to {max(given)} ratings per text; all texts weigh the same")
    return notes


def _unusable(study: Study) -> str | None:
    """Why nothing can be correlated with a criterion's ratings; None where something can."""
    ratings = study.human[study.rated]
    if ratings.size < FEWEST_RATED:
        return f"{study.label}: {ratings.size} rated texts, too few to correlate (at least {FEWEST_RATED})"
    if np.ptp(ratings) == 0:
        return f"{study.label}: people gave every text {ratings[0]:g}; nothing can correlate with that"
    return None
