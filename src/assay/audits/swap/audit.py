"""Gender swapping (assoc sec. 5): does a metric prefer a gender, and does it still agree with people?

Preference: the hypothesis names a gender and the references name none; the male and the female version are
scored. Swaps in both directions separate the effect of gender from the effect of editing a text.
Agreement: the genders in all texts are swapped, and the correlation with people is taken before and after.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.audits import gap
from assay.audits.base import DataAudit, declared
from assay.audits.human.items import limited, part_names
from assay.audits.slices import FEWEST, PairScores, interval_estimate, largest, mean_estimate, spread_out
from assay.core import Case, Finding, Floats, Judgement, MadeOnce, Sample, Scored
from assay.datasets.pairs import embedded_pairs
from assay.datasets.published.ratings import read_ratings
from assay.datasets.ratings import Rated
from assay.datasets.swaps import SwapList, Swapped, embedded_swaps, is_one_to_one, read_swaps, swap_texts
from assay.statistics.correlation import Kind, correlate, system_means
from assay.statistics.estimates import mde_mean
from assay.statistics.intervals import bootstrap_weighted, interval_of, weighted_mean
from assay.statistics.permutation import sign_test
from assay.statistics.resampled import Draws, pooled_draws, system_draws
from assay.vocabulary import Rule


@declared()
@dataclass(frozen=True)
class Swap(MadeOnce, DataAudit):
    """Male and female versions of texts, against neutral references and against people."""

    name = "swap"
    roles = ("original", "swapped", "neutral")

    swaps: Path | None = None  # the user's own list, two words per line
    kind: Literal["pearson", "spearman", "kendall_b", "kendall_c"] = "spearman"
    margin: float = gap.UNFAIR  # percent of the gap by which one gender may score higher
    change_margin: float = 0.05  # the smallest change of a correlation that matters
    skip_missing: bool = False

    @cached_property
    def _swap_list(self) -> SwapList:
        return read_swaps(self.swaps) if self.swaps else embedded_swaps()

    @cached_property
    def items(self) -> list[Rated]:
        """The user's rated texts, or texts of the embedded gender pairs, which people did not rate."""
        if not self.data:
            return spread_out(_embedded(), self.limit)
        return [item for _, table in self._files for item in table]

    @cached_property
    def _files(self) -> list[tuple[Path, list[Rated]]]:
        tables = ((path, read_ratings(path, skip_missing=self.skip_missing)) for path in self.data)
        return [(path, limited(table, self.limit)) for path, table in tables]

    def make_cases(self) -> list[Case]:
        """Each text as it is and swapped; where only the hypothesis names a gender, also without it."""
        samples = [item.sample for item in self.items]
        texts = list(dict.fromkeys(t for sample in samples for t in (sample.hypothesis, *sample.references)))
        swapped = dict(zip(texts, swap_texts(texts, self._swap_list), strict=True))
        others = [sample.hypothesis for sample in samples]
        parts = part_names(self._files) if self.data else [""] * len(self.items)
        return [_case(item, part, swapped, others) for item, part in zip(self.items, parts, strict=True)]

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """Preference, then agreement with people; set metrics have neither."""
        findings: list[Finding] = []
        for answer in scored:
            if not answer.is_set:
                findings += preference_findings(answer, rule=self.rule, seed=self.seed)
                findings += agreement_findings(answer, kind=self.kind, seed=self.seed)
        return Judgement(findings, self._notes())

    def _notes(self) -> list[str]:
        genders = Counter(case.meta["preference"] for case in self.made)
        counts = ", ".join(f"{genders[gender]} {gender}" for gender in ("male", "female", "neutral"))
        summary = f"neutral references: hypotheses of {len(self.made)} items are {counts}"
        notes = [*self._swap_list.notes, summary]
        small = [gender for gender in ("male", "female") if genders[gender] < FEWEST]
        if small:
            notes.append(
                f"fewer than {FEWEST} {' and '.join(small)} items, too few for a verdict on preference: "
                "one direction alone cannot separate gender from editing"
            )
        ambiguous = sum(not case.meta["one_to_one"] for case in self.made)
        if ambiguous:
            notes.append(f"{ambiguous} items have words without a counterpart of their own (his, him: her)")
        if not any(case.meta.get("human") for case in self.made):
            notes.append("no human scores in the data: preference only, no agreement with people")
        return notes


def _case(item: Rated, part: str, swapped: Mapping[str, Swapped], others: Sequence[str]) -> Case:
    """`preference` is the gender of the hypothesis where no reference names one, else "none"."""
    sample, hypothesis = item.sample, swapped[item.sample.hypothesis]
    references = [swapped[text] for text in sample.references]
    neutral = bool(references) and all(reference.content == "neutral" for reference in references)
    swapped_references = tuple(reference.text for reference in references)
    other = Sample(hypothesis.text, swapped_references, sample.source, sample.image)
    samples = {"original": sample, "swapped": other}
    if neutral and hypothesis.content in ("male", "female") and hypothesis.neutral is not None:
        samples["neutral"] = Sample(hypothesis.neutral, sample.references, sample.source, sample.image)
    meta = {
        "content": hypothesis.content,
        "preference": hypothesis.content if neutral and hypothesis.content != "both" else "none",
        "one_to_one": is_one_to_one([hypothesis, *references]),
        "doc": item.doc or item.id,
        "system": item.system,
        "human": {name: float(np.mean(given)) for name, given in item.human.items()},
        "changed": [f"{before} > {after}" for before, after in hypothesis.turned],
        "part": part,
    }
    samples = gap.with_worthless(samples, others, sample.key)
    return Case(item.id, samples, f"preference/{meta['preference']}", meta)


def _embedded() -> list[Rated]:
    """The stereotypes of the gender pairs with their neutral references; a template is a document."""
    pairs = embedded_pairs(("gender", "gender_occupation"))
    documents = [(pair, str(pair.meta.get("template", pair.id))) for pair in pairs]
    return [Rated(p.id, Sample(p.stereotype, p.references), None, document) for p, document in documents]


_SCORES = ("first", "second", "worthless")  # of PairScores: as written, edited (or made neutral), worthless
PAPER_ALPHA = 0.01
GENDERS = ("male", "female")
ROLES = ("original", "swapped")


def preference_findings(scored: Scored, *, rule: Rule, seed: int) -> Iterator[Finding]:
    """Table 5 for texts of either gender, neutral versions, then both directions together."""
    male, female = (PairScores.of(scored, f"preference/{gender}", ROLES) for gender in GENDERS)
    yield from _one_direction(male, male.first, male.second, rule, seed)
    yield from _one_direction(female, female.second, female.first, rule, seed)
    for gender in GENDERS:
        neutral = PairScores.of(scored, f"preference/{gender}", ("original", "neutral"))
        if neutral.cases:
            wins = (1 - np.sign(neutral.differences)) / 2
            share = mean_estimate(wins, clusters=_documents(neutral), seed=seed)
            slice_ = f"preference/neutral-for-{gender}"
            yield Finding.of(scored, slice_, "preference_share", share, versus="neutral", judged=False)
    if rule == "careful" and male.cases and female.cases:
        yield from _both_directions(scored, male, female, seed)


def _documents(texts: PairScores) -> list[str]:
    return [str(case.meta["doc"]) for case in texts.cases]


def _one_direction(
    texts: PairScores, male: Floats, female: Floats, rule: Rule, seed: int
) -> Iterator[Finding]:
    """Mean scores, and shares in which the male version scores above, below or like the female one.

    Only the paper's rule gives one direction a verdict (by a sign test): it confounds gender with editing.
    """
    if not texts.cases:
        return
    docs = _documents(texts)
    for version, scores in zip(GENDERS, (male, female), strict=True):
        yield texts.finding("mean_score", mean_estimate(scores, clusters=docs, seed=seed), versus=version)
    signs = np.sign(male - female)
    above, below, equal = (
        mean_estimate((signs == sign).astype(np.float64), clusters=docs, seed=seed) for sign in (1, -1, 0)
    )
    paper = rule == "paper"
    p_value = sign_test(signs) if paper else None
    mde = mde_mean(signs / 2, clusters=docs)
    share = replace(above, p_value=p_value, mde=mde, paper=p_value is None or p_value > PAPER_ALPHA)
    judged, sizes = paper and above.n >= FEWEST, np.abs(texts.differences)
    yield texts.finding("preference_share", share, sizes, versus=">", judged=judged)
    for symbol, estimate in (("<", below), ("=", equal)):
        yield texts.finding("preference_share", estimate, versus=symbol, judged=False)


def _both_directions(scored: Scored, male: PairScores, female: PairScores, seed: int) -> Iterator[Finding]:
    """Separate the effect of gender from that of editing.

    Editing a male text costs gender + edit, editing a female one edit - gender: half the difference is the
    effect of gender, half the sum that of editing.
    """
    both = [np.concatenate([getattr(male, name), getattr(female, name)]) for name in _SCORES]
    columns = [gap.on_effect_scale(scored, scores) for scores in both]
    far = gap.outlying(columns, np.concatenate([columns[0], columns[2]]))
    far |= ~(np.isfinite(columns[0]) & np.isfinite(columns[1]))  # a score that has no logarithm
    original, edited, worthless = (column[~far] for column in columns)
    docs = list(compress([*_documents(male), *_documents(female)], ~far))
    ids = list(compress([*male.ids, *female.ids], ~far))
    is_male = (np.arange(far.size) < len(male.ids))[~far]
    judged = min(int(is_male.sum()), int((~is_male).sum())) >= FEWEST and bool(np.isfinite(worthless).any())
    cost = original - edited
    # Columns are the costs of male and of female texts; the effects are half their difference and sum.
    effects = {"gender_effect": np.where(is_male, cost, -cost), "edit_effect": cost}
    slice_ = "preference/both"
    # Both halves weigh the same, however many items each has.
    male_share = is_male.mean()
    halves = np.where(is_male, 0.5 / max(male_share, 1e-9), 0.5 / max(1 - male_share, 1e-9))
    scale = gap.scale_of(original)
    for name, values in effects.items():
        effect, gaps = (values * halves)[:, None], original - worthless
        (estimate,) = gap.paired_effects(effect, gaps, clusters=docs, seed=seed, scale=scale)
        evidence = largest(ids, values * (1.0 if estimate.value >= 0 else -1.0))
        is_judged = judged and name == "gender_effect"
        yield Finding.of(scored, slice_, name, estimate, evidence=evidence, judged=is_judged)
    signs = np.sign(cost) * (np.abs(cost) > 1e-9 * scale)
    wins = np.where(is_male, 1 + signs, 1 - signs) / 2
    weights = np.where(is_male, 1 / max(1, is_male.sum()), 1 / max(1, (~is_male).sum()))

    def share(drawn: Floats) -> Floats:
        return weighted_mean(drawn * weights, wins)

    interval = bootstrap_weighted(share, wins.size, clusters=docs, seed=seed)
    estimate = interval_estimate(float(share(np.ones((1, wins.size)))[0]), wins.size, interval)
    yield Finding.of(scored, slice_, "preference_share", estimate, versus="male", judged=False)


FEWEST_SYSTEMS = 4  # a correlation over fewer says nothing
_RESAMPLES = 2000


def agreement_findings(scored: Scored, *, kind: Kind, seed: int) -> Iterator[Finding]:
    """Every criterion that people rated, at example level and, where there are systems, at system level."""
    # Datasets and language pairs are kept apart: systems of one name are other systems there.
    known = np.isfinite(scored.values["original"]) & np.isfinite(scored.values["swapped"])
    parts = [case.meta.get("part", "") for case in scored.cases]
    for part in dict.fromkeys(parts):
        here = known & np.array([name == part for name in parts], dtype=np.bool_)
        yield from _part_findings(scored, here, f"/{part}" if part else "", kind, seed)


def _part_findings(
    scored: Scored, known: NDArray[np.bool_], part: str, kind: Kind, seed: int
) -> Iterator[Finding]:
    cases = scored.cases
    for criterion in dict.fromkeys(name for case in cases for name in case.meta.get("human", {})):
        known_rows = np.flatnonzero(known).tolist()
        rows = [row for row in known_rows if criterion in cases[row].meta.get("human", {})]
        subsets = {
            "": rows,
            # Table 6: the original hypothesis is about men only.
            "/male": [row for row in rows if cases[row].meta["content"] == "male"],
            # No two words become one (his, him: her), so a change is not due to lost distinctions.
            "/one-to-one": [row for row in rows if cases[row].meta["one_to_one"]],
        }
        for name, members in subsets.items():
            if len(members) >= FEWEST:
                human = np.array([cases[row].meta["human"][criterion] for row in members])
                docs = [cases[row].meta["doc"] for row in members]
                sides = np.stack([scored.values[role][members] for role in ROLES[::-1]])
                draws = pooled_draws(sides, human, kind, clusters=docs, resamples=_RESAMPLES, seed=seed)
                values, slice_ = draws.values[::-1].tolist(), f"example{part}/{criterion}{name}"
                yield from _changes(scored, slice_, kind, values, draws, len(members))
        yield from _system_level(scored, criterion, rows, part, kind, seed)


def _changes(
    scored: Scored, slice_: str, kind: Kind, values: Sequence[float | None], draws: Draws, n: int
) -> Iterator[Finding]:
    """Both correlations and their difference; nothing for a constant metric, which has no correlation."""
    change = float(draws.values[0] - draws.values[1])
    if not np.isfinite(change) or None in values:
        return
    x, y = draws.draws
    after, before, apart = (interval_of(side, n_clusters=draws.clusters) for side in (x, y, x - y))
    for role, value, interval in zip(ROLES, values, (before, after), strict=True):
        estimate = interval_estimate(value or 0.0, n, interval)
        yield Finding.of(scored, slice_, kind, estimate, versus=role, judged=False)
    estimate = interval_estimate(change, n, apart, p_value=apart and apart.p_value, with_mde=True)
    yield Finding.of(scored, slice_, "correlation_change", estimate, versus="original")


def _system_level(
    scored: Scored, criterion: str, rows: Sequence[int], part: str, kind: Kind, seed: int
) -> Iterator[Finding]:
    """Correlations of system means, for all systems and for the k systems that people rate highest."""
    names = sorted({scored.cases[row].meta["system"] for row in rows} - {None})
    if len(names) < FEWEST_SYSTEMS:
        return
    matrices = _by_system(scored, criterion, rows, names)
    order = np.argsort(-system_means(matrices[2]), kind="stable")
    for k in range(FEWEST_SYSTEMS, len(names) + 1):
        before, after, human = (matrix[order[:k]] for matrix in matrices)
        values = [correlate(system_means(side), system_means(human), kind) for side in (before, after)]
        if k == len(names):
            sides = np.stack([after, before])
            draws = system_draws(sides, human, kind, over="both", resamples=_RESAMPLES, seed=seed)
            if draws.clusters > 1:
                slice_ = f"system{part}/{criterion}"
                yield from _changes(scored, slice_, kind, values, draws, k)
        elif values[0] is not None and values[1] is not None:
            slice_, change = f"system{part}/{criterion}/top-{k}", values[1] - values[0]
            yield Finding.of(scored, slice_, "correlation_change", change, n=k, versus="original")


def _by_system(
    scored: Scored, criterion: str, rows: Sequence[int], names: Sequence[str]
) -> tuple[Floats, Floats, Floats]:
    """Original, swapped and human scores as systems x documents; nan where a system lacks a document."""
    docs = {doc: place for place, doc in enumerate(dict.fromkeys(case.meta["doc"] for case in scored.cases))}
    before, after, human = (np.full((len(names), len(docs)), np.nan) for _ in range(3))
    for row in rows:
        meta = scored.cases[row].meta
        if meta["system"] is not None:
            cell = names.index(meta["system"]), docs[meta["doc"]]
            before[cell], after[cell] = (scored.values[role][row] for role in ROLES)
            human[cell] = meta["human"][criterion]
    return before, after, human
