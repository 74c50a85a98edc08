"""What attacked texts lose, compared with random noise of the same ratio, and who else notices the damage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assay.audits.gap import RESAMPLES
from assay.audits.slices import EVIDENCE, FEWEST, interval_estimate, mean_estimate
from assay.core import Case, Estimate, Finding, Floats, Judgement, Scored, Statistic
from assay.perturbations.ratio import alignment
from assay.statistics.estimates import detectable_effect, proportion_interval
from assay.statistics.intervals import interval_of, resampled_means
from assay.statistics.permutation import sign_flip_test

if TYPE_CHECKING:
    from assay.audits.attack.audit import Attack

VOTES = 2  # paradigms among the other metrics that must fall (*blind* fig. 10)
_EXAMPLES = 3
Flags = NDArray[np.bool_]


def _sentence(finding: Finding) -> str:
    kind = finding.slice.partition("/")[2]
    edits = "edits found by search" if finding.statistic == "attack_gain" else f"edits of the kind {kind}"
    if finding.value >= 1:
        return f"The score of {finding.metric} does not fall when {edits} damage a text."
    return (
        f"When {edits} damage a text, the score of {finding.metric} falls by only {1 - finding.value:.0%} of "
        "what random edits cost."
    )


STATISTICS = (
    Statistic(
        "attack_gain",
        "Share of the loss from random noise of the same size that a search for damaging edits avoids: 1 "
        "loses nothing, 0 as much as noise. Only texts that other metrics see damaged count.",
        "share of random noise's cost", "high", "margin", headline=True, sentence=_sentence,
    ),
    Statistic(
        "rule_gain", "attack_gain of one kind of edit, applied as a rule to texts the search never saw.",
        "share of random noise's cost", "high", "margin", headline=True, sentence=_sentence,
    ),
    Statistic(
        "loss_share", "What the attacked texts lose, as a share of what random noise of the same size loses.",
        "share of random noise's cost",
    ),
    Statistic(
        "hit_share",
        "Attack success rate: share of texts that keep their score and that other metrics see damaged.",
        "share",
    ),
    Statistic("noise_ratio", "Share of the words that the attack changed.", "share of words"),
    Statistic("queries", "Texts that the search tried for each item.", "texts"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Losses:
    """Per-text score drop under the attack and under random noise (mean over its draws)."""

    ids: tuple[str, ...]
    attack: Floats
    random: Floats

    @property
    def complete(self) -> Losses:
        """The rows that have both."""
        rows = np.isfinite(self.attack) & np.isfinite(self.random)
        ids = tuple(self.ids[place] for place in np.flatnonzero(rows))
        return Losses(ids, self.attack[rows], self.random[rows])

    def fooled(self, margin: float) -> Flags:
        """Which texts lose less than the margin leaves of what random noise costs."""
        return np.asarray(self.attack < (1 - margin) * self.random)


def losses(scored: Scored, ids: Sequence[str]) -> Losses:
    """What one metric says of some final cases; nan where it says nothing."""
    place = {case.id: number for number, case in enumerate(scored.cases)}
    rows = np.array([place.get(name, -1) for name in ids], dtype=np.intp)
    absent = np.full(len(scored.cases), np.nan)

    def column(role: str) -> Floats:
        return np.append(scored.values.get(role, absent), np.nan)[rows]  # row -1 is the nan at the end

    gold = column("gold")
    roles = [role for role in scored.values if role.startswith("random/")]
    table = np.array([gold - column(role) for role in roles]).reshape(len(roles), len(ids))
    present = np.isfinite(table)
    counts = present.sum(axis=0)
    mean = np.where(counts > 0, np.where(present, table, 0.0).sum(axis=0) / np.maximum(counts, 1), np.nan)
    return Losses(tuple(ids), gold - column("attack"), mean)


def gain(rows: Losses, margin: float, seed: int) -> Estimate | None:
    """The share of random noise's loss that the attack avoids: 0 is no better than chance, 1 loses nothing.

    None where random noise does not surely cost anything. The p-value is that the attack loses at least
    (1 - margin) of what random noise does.
    """
    n = len(rows.ids)
    if n < 2:
        return None
    draws = resampled_means(np.stack([rows.attack, rows.random], axis=1), resamples=RESAMPLES, seed=seed)
    floor = interval_of(draws[:, 1], n_clusters=n)
    if floor is None or floor.low <= 0:
        return None
    shares = 1 - draws[:, 0] / draws[:, 1]
    ci = interval_of(shares, n_clusters=n)
    test = sign_flip_test((1 - margin) * rows.random - rows.attack, alternative="greater", seed=seed)
    value = 1 - float(rows.attack.mean() / rows.random.mean())
    mde = detectable_effect(float(shares.std(ddof=1)), n_clusters=n)
    return Estimate(value, n, ci.pair if ci else None, test.p_value, mde, paper=value <= margin)


def held_out(attacked: Scored, others: Sequence[Scored]) -> list[Scored]:
    """Metrics that share neither class nor backbone with the one attacked, and score single texts."""
    return [other for other in others if not (other.is_set or _related(attacked, other))]


def _related(one: Scored, other: Scored) -> bool:
    backbone = one.about.get("backbone")
    shared = backbone is not None and backbone == other.about.get("backbone")
    return one.metric == other.metric or one.about.get("name") == other.about.get("name") or shared


def confirmed(judges: Sequence[Scored], ids: Sequence[str], fall: float) -> Flags:
    """Whether the damage of each text is noticed: by metrics of two paradigms, or by an entailment model.

    A judge notices it where it loses at least `fall` of what random noise costs it on the same text. N-gram
    metrics fall together at any changed word, so a paradigm has one vote; else two of them would call every
    paraphrase a blind spot. Entailment has a second vote of its own.
    """
    votes: dict[str, Flags] = {}
    for judge in judges:
        rows = losses(judge, ids)
        with np.errstate(invalid="ignore"):
            falls = (rows.attack > 0) & (rows.attack >= fall * np.maximum(rows.random, 0.0))
        for name in [str(judge.about.get("paradigm")), *(["entailment"] if _entails(judge) else [])]:
            votes[name] = votes.get(name, np.zeros(len(ids), dtype=np.bool_)) | falls
    return np.sum(list(votes.values()), axis=0) >= VOTES if votes else np.zeros(len(ids), dtype=np.bool_)


def _entails(judge: Scored) -> bool:
    return str(judge.about.get("name", "")).startswith("nli")


def _can_confirm(judges: Sequence[Scored]) -> bool:
    return len({judge.about.get("paradigm") for judge in judges}) >= VOTES or any(map(_entails, judges))


def group_judgement(
    audit: Attack, answer: Scored, slice_: str, cases: Sequence[Case], scored: Sequence[Scored]
) -> Judgement:
    """One metric on what its searches found in a dataset, or on one rule, with other metrics as judges."""
    rows = losses(answer, [case.id for case in cases]).complete
    raw = gain(rows, audit.margin, audit.seed)
    if raw is None:
        flat = Estimate(0.0, len(rows.ids), sensitive=False)
        statistic = "attack_gain" if "queries" in cases[0].meta else "rule_gain"
        note = f"{answer.metric}: {slice_}: random noise does not surely cost any score: nothing to avoid"
        judged = len(rows.ids) >= FEWEST and audit.rule != "paper"
        return Judgement([Finding.of(answer, slice_, statistic, flat, judged=judged)], [note])
    paper = audit.rule == "paper"
    judges = [] if paper else held_out(answer, scored)
    seen = confirmed(judges, rows.ids, audit.fall)
    best = _most_convincing(rows, rows.fooled(audit.margin) & (seen | (not judges)))
    is_search = "queries" in cases[0].meta
    headline = Finding.of(
        answer, slice_, "attack_gain" if is_search else "rule_gain",
        _counted(rows, raw, seen, audit) if judges else raw, versus="random noise",
        evidence=[rows.ids[place] for place in best],
        judged=raw.n >= FEWEST and (paper or _can_confirm(judges)),
    )  # fmt: skip
    if not is_search:
        return Judgement([headline])
    findings = [headline, Finding.of(answer, slice_, "loss_share", _lost(raw), versus="random noise")]
    if judges:
        names = ", ".join(judge.metric for judge in judges)
        findings.append(Finding.of(answer, slice_, "hit_share", _success(rows, seen, audit), versus=names))
    for statistic in ("noise_ratio", "queries"):
        values = np.array([case.meta[statistic] for case in cases], dtype=np.float64)
        findings.append(Finding.of(answer, slice_, statistic, mean_estimate(values, seed=0)))
    return Judgement(findings, _examples(answer.metric, cases, rows, best))


def _counted(rows: Losses, raw: Estimate, seen: Flags, audit: Attack) -> Estimate:
    """The gain where a text whose damage no judge notices counts as none.

    Judges that notice no damage do not clear the metric either, so the verdict's upper end is the raw one.
    """
    attack = np.where(seen, rows.attack, np.maximum(rows.attack, rows.random))
    counted = gain(replace(rows, attack=attack), audit.margin, audit.seed) or raw
    return replace(counted, decisive=(counted.ci[0], raw.ci[1]) if counted.ci and raw.ci else None)


def _lost(raw: Estimate) -> Estimate:
    """The loss as a share of random noise's, whether or not any judge confirms the damage."""
    ci = None if raw.ci is None else (1 - raw.ci[1], 1 - raw.ci[0])
    return Estimate(1 - raw.value, raw.n, ci, mde=raw.mde)


def _success(rows: Losses, seen: Flags, audit: Attack) -> Estimate:
    hits, n = int((rows.fooled(audit.margin) & seen).sum()), len(rows.ids)
    return interval_estimate(hits / n, n, proportion_interval(hits, n))


def _most_convincing(rows: Losses, hits: Flags) -> list[int]:
    """The texts that fool the metric and are confirmed, least lost first."""
    places = np.flatnonzero(hits)
    order = np.argsort(rows.attack[places] / rows.random[places], kind="stable")
    return [int(place) for place in places[order][:EVIDENCE]]


def _examples(metric: str, cases: Sequence[Case], rows: Losses, best: Sequence[int]) -> list[str]:
    """What changed in the most convincing texts, and what it cost."""
    changed = {case.id: case.meta["changed"] for case in cases}
    return [
        f"{metric}: {changed[rows.ids[place]]} costs {rows.attack[place]:.3g}, "
        f"random noise {rows.random[place]:.3g} ({rows.ids[place]})"
        for place in best[:_EXAMPLES]
    ]


def changes(gold: str, text: str) -> str:
    """What changed between two texts, in words.

    >>> changes("he went to the office", "they went to office")
    'he → they; the → ∅'
    """
    return "; ".join(f"{edit.before or '∅'} → {edit.after or '∅'}" for edit in alignment(gold, text))
