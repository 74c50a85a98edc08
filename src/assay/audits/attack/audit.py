"""A search for texts that are damaged and yet keep their score (*blind* app. J, made practical).

Small edits are chosen by the metric's own scores against the clean text, up to a least noise-ratio.
`attack_gain` is the share of what random noise of the same ratio costs that the search avoids: 1 means that
nothing is lost. A text counts only where other metrics notice its damage, and where they find the edits
milder than random ones, less loss is due.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.audits.attack import search as edits
from assay.audits.base import DataAudit, check_known, declared
from assay.audits.corpora import Corpus, corpora
from assay.audits.gap import RESAMPLES
from assay.audits.slices import EVIDENCE, FEWEST, grouped, interval_estimate, mean_estimate, spread_out
from assay.core import Case, Estimate, Finding, Floats, Judgement, Record, Sample, Scored
from assay.perturbations.ratio import alignment, edit_ratio
from assay.recipe import generator
from assay.statistics.estimates import detectable_effect, proportion_interval
from assay.statistics.intervals import bootstrap_mean, interval_of, ratio, resampled_means
from assay.vocabulary import Share

_SHORTEST = 4  # words: below, one edit is most of the text


@declared()
@dataclass(frozen=True)
class Attack(DataAudit):
    """Beam search over deletions, replacements, insertions and swaps of words; `beam` 1 is greedy."""

    name = "attack"
    wants = f"an item needs a gold of {_SHORTEST} words or more"

    limit: int | None = 20  # texts attacked
    only: tuple[str, ...] = ()  # kinds of edits: delete, replace, insert, swap
    task: tuple[str, ...] = ()
    queries: int = 2000  # texts tried per item, at most
    ratio: Share = 0.15  # least noise-ratio
    beam: int = 3
    draws: int = 5  # random noises per item
    embeddings: str = "glove"
    model: str | None = None  # a masked language model that proposes words too
    judges: tuple[str, ...] = ("rougeL", "greedy-matching", "gpt-ppl:scale=log")
    margin: float = 0.75  # share of random noise's cost avoided: more is a blind spot
    fall: Share = 0.25  # share of random noise's cost that a judge must lose to notice the damage

    @cached_property
    def _corpora(self) -> list[Corpus]:
        return corpora(self.data, None, self.task, ("translation",), (None, None))

    @property
    def _source(self) -> edits.Source:
        """Candidate edits; the paper only deletes and replaces."""
        check_known("unknown kind of edit", self.only, edits.KINDS)
        usual = ("delete", "replace") if self.rule == "paper" else edits.KINDS
        kinds = tuple(kind for kind in usual if not self.only or kind in self.only)
        return edits.Source(self.embeddings, model=self.model, kinds=kinds)

    @staticmethod
    def _long(corpus: Corpus) -> list[Record]:
        return [record for record in corpus.records if len(record.gold.split()) >= _SHORTEST]

    def cases(self) -> Iterable[Case]:
        """The clean texts against themselves, and with random noise at the ratio of the attack."""
        for corpus in self._corpora:
            for record in spread_out(self._long(corpus), self.limit):
                count = edits.edits_needed(record.gold.split(), self.ratio)
                samples = self._noised(record, count)
                yield Case(f"{corpus.name}:{record.id}", samples, corpus.name, {"edits": count})

    def _noised(self, record: Record, count: int) -> dict[str, Sample]:
        """The clean text and random noises of it; the clean text is the reference, as in the paper."""
        words, known = record.gold.split(), " ".join(record.others).split()
        pool = list(dict.fromkeys(word.strip(".,;:!?\"'()").lower() for word in known))
        texts = {"gold": record.gold}
        for draw in range(self.draws):
            rng = generator(self.seed, f"random-noise/{count}/{draw}", record.key)
            texts[f"random/{draw}"] = edits.apply(words, edits.random_moves(words, count, pool, rng))
        source = record.sample().source
        return {role: Sample(text, (record.gold,), source) for role, text in texts.items()}

    def more(self, scored: Scored) -> Sequence[Case]:
        """The next texts to try, of all items; a set metric cannot score one text."""
        plan = edits.Plan(1 if self.rule == "paper" else self.beam, self.queries, self._source, self.seed)
        return () if scored.is_set else edits.next_round(scored, plan)

    def panel(self) -> Sequence[str]:
        """Judges of other paradigms, so that one metric alone can be attacked."""
        return () if self.rule == "paper" else self.judges

    def final(self, scored: Sequence[Scored]) -> Sequence[Case]:
        """What each search found: every metric scores it."""
        return [
            _found_case(answer.metric, item, search, search.found[1])
            for answer in scored
            if not answer.is_set
            for item, search in edits.searches(answer).items()
            if search.found
        ]

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """Each metric on what was found against it, with the others as judges."""
        findings: list[Finding] = []
        short = {c.name: len(c.records) - len(self._long(c)) for c in self._corpora}
        unused = f"texts of fewer than {_SHORTEST} words were not attacked"
        notes = [f"{name}: {count} {unused}" for name, count in short.items() if count]
        for answer in scored:
            own = (case for case in answer.cases if case.meta.get("metric") == answer.metric)
            for slice_, cases in grouped(own, lambda case: str(case.meta["group"])).items():
                judgement = group_judgement(self, answer, slice_, cases, scored)
                findings += judgement.findings
                notes += judgement.notes
        return Judgement(findings, notes)


def _found_case(metric: str, item: str, search: edits.Search, moves: edits.Moves) -> Case:
    text, slice_ = edits.apply(search.gold.split(), moves), search.case.slice
    samples = {**search.case.samples, "attack": replace(search.case.samples["gold"], hypothesis=text)}
    ratio, changed = edit_ratio(search.gold, text), changes(search.gold, text)
    meta = {"metric": metric, "group": slice_, "queries": search.used}
    meta |= {"noise_ratio": ratio, "changed": changed}
    return Case(f"{item}/found/{metric}", samples, f"{slice_}/found", meta)


VOTES = 2  # paradigms among the other metrics that must fall (*blind* fig. 10)
_EXAMPLES = 3
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Losses:
    """Per-text score drop under the attack and under random noise (mean over its draws)."""

    ids: tuple[str, ...]
    attack: Floats
    random: Floats

    @property
    def complete(self) -> Losses:
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
    mean = ratio(np.where(present, table, 0.0).sum(axis=0), present.sum(axis=0).astype(np.float64))
    return Losses(tuple(ids), gold - column("attack"), mean)


def gain(rows: Losses, margin: float, seed: int) -> Estimate | None:
    """The share of random noise's loss that the attack avoids: 0 is no better than chance, 1 loses nothing.

    None where random noise does not surely cost anything.
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
    value = 1 - float(rows.attack.mean() / rows.random.mean())
    mde = detectable_effect(float(shares.std(ddof=1)), n_clusters=n)
    return interval_estimate(value, n, ci, p_value=ci and ci.p_value, mde=mde, paper=value <= margin)


def held_out(attacked: Scored, others: Sequence[Scored]) -> list[Scored]:
    """Metrics that share neither class nor backbone with the one attacked, and score single texts."""
    name, backbone = attacked.about.get("name"), attacked.about.get("backbone")
    return [
        other
        for other in others
        if not (other.is_set or other.metric == attacked.metric or other.about.get("name") == name)
        and (backbone is None or other.about.get("backbone") != backbone)
    ]


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


def damage(judges: Sequence[Scored], ids: Sequence[str], fall: float, seed: int) -> tuple[float, float]:
    """What the texts lose by the other metrics, as a share of what random edits cost, and its lower end.

    A metric may rightly take less from lesser damage. Each judge counts alike, by what random edits cost it.
    Between `fall`, below which damage is not noticed, and 1: what is found may be worse than random edits.
    """
    rows = [losses(judge, ids) for judge in judges]
    costs = [float(np.nanmean(row.random)) if np.isfinite(row.random).any() else 0.0 for row in rows]
    spared = [(row.attack - row.random) / cost for row, cost in zip(rows, costs, strict=True) if cost > 0]
    known = np.array(spared)[:, np.isfinite(spared).all(axis=0)].mean(axis=0) if spared else np.zeros(0)
    interval = bootstrap_mean(known, seed=seed) if known.size > 1 else None
    ends = (0.0, 0.0) if interval is None else (float(known.mean()), interval.low)
    value, low = (min(1.0, max(fall, 1 + end)) for end in ends)
    return value, low


def _entails(judge: Scored) -> bool:
    return str(judge.about.get("name", "")).startswith("nli")


def group_judgement(
    audit: Attack, answer: Scored, slice_: str, cases: Sequence[Case], scored: Sequence[Scored]
) -> Judgement:
    """One metric on what its searches found in a dataset, with other metrics as judges."""
    rows = losses(answer, [case.id for case in cases]).complete
    raw = gain(rows, audit.margin, audit.seed)
    paper = audit.rule == "paper"
    if raw is None:
        flat = Estimate(0.0, len(rows.ids), sensitive=False)
        note = f"{answer.metric}: {slice_}: random noise does not surely cost any score: nothing to avoid"
        judged = len(rows.ids) >= FEWEST and not paper
        return Judgement([Finding.of(answer, slice_, "attack_gain", flat, judged=judged)], [note])
    judges = [] if paper else held_out(answer, scored)
    seen = confirmed(judges, rows.ids, audit.fall)
    share = damage(judges, rows.ids, audit.fall, audit.seed)
    due = replace(rows, random=share[0] * rows.random)
    best = _most_convincing(rows, due.fooled(audit.margin) & (seen | (not judges)))
    can_confirm = len({judge.about.get("paradigm") for judge in judges}) >= VOTES or any(
        map(_entails, judges)
    )
    headline = Finding.of(
        answer, slice_, "attack_gain",
        _counted(due, raw, seen, share[0] / share[1], audit) if judges else raw, versus="random noise",
        evidence=[rows.ids[place] for place in best],
        judged=raw.n >= FEWEST and (paper or can_confirm),
    )  # fmt: skip
    # The loss as a share of random noise's, whether or not any judge confirms the damage.
    lost = Estimate(1 - raw.value, raw.n, raw.ci and (1 - raw.ci[1], 1 - raw.ci[0]), mde=raw.mde)
    findings = [headline, Finding.of(answer, slice_, "loss_share", lost, versus="random noise")]
    if judges:
        names = ", ".join(judge.metric for judge in judges)
        hits, n = int((due.fooled(audit.margin) & seen).sum()), len(due.ids)
        success = interval_estimate(hits / n, n, proportion_interval(hits, n))
        findings.append(Finding.of(answer, slice_, "hit_share", success, versus=names))
    for name in ("noise_ratio", "queries"):
        values = np.array([case.meta[name] for case in cases], dtype=np.float64)
        findings.append(Finding.of(answer, slice_, name, mean_estimate(values, seed=0)))
    return Judgement(findings, _examples(answer.metric, cases, rows, best))


def _counted(due: Losses, raw: Estimate, seen: Flags, doubt: float, audit: Attack) -> Estimate:
    """The gain over the loss that is due to the damage; a text whose damage no judge notices has none.

    `doubt` is the damage that the judges see over the least that they may see.
    """
    attack = np.where(seen, due.attack, np.maximum(due.attack, due.random))
    counted = gain(replace(due, attack=attack), audit.margin, audit.seed) or raw
    # Judges that notice no damage do not clear the metric either: the verdict's upper end is the raw one.
    decisive = (1 - doubt * (1 - counted.ci[0]), raw.ci[1]) if counted.ci and raw.ci else None
    return replace(counted, decisive=decisive)


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
