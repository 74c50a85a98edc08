"""What attacked texts lost, beside what random noise of the same ratio costs; and who else saw the damage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from assay.audits.attack.edits import Move, Moves, core, edits_needed, free
from assay.audits.attack.search import Source, words_of
from assay.audits.slices import FEWEST
from assay.core import Case, Finding, Floats, Scored
from assay.perturbations.ratio import alignment
from assay.statistics.estimates import detectable_effect, proportion_interval, verdict
from assay.statistics.intervals import bootstrap_mean, interval_of, resampled_means
from assay.statistics.permutation import sign_flip_test
from assay.vocabulary import Rule

VOTES = 2  # held-out metrics that must fall (*blind* fig. 10)
RESAMPLES = 2000
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Losses:
    """A row a text: what the attack and what random noise took from the gold's score."""

    ids: tuple[str, ...]
    attack: Floats
    random: Floats  # mean over the draws

    @property
    def whole(self) -> Flags:
        """Rows with both."""
        return np.asarray(np.isfinite(self.attack) & np.isfinite(self.random))

    def only(self, rows: Flags) -> Losses:
        """Some of the rows."""
        ids = tuple(one for one, kept in zip(self.ids, rows, strict=True) if kept)
        return Losses(ids, self.attack[rows], self.random[rows])


@dataclass(frozen=True, slots=True)
class Gain:
    """The share of random noise's loss that the attack avoids: 0 no better than chance, 1 nothing lost."""

    value: float
    ci: tuple[float, float] | None
    p_value: float  # that the attack loses at least (1 - margin) of what random noise does
    mde: float


def losses(scored: Scored, ids: Sequence[str]) -> Losses:
    """What one metric says of some final cases; nan where it says nothing."""
    place = {case.id: number for number, case in enumerate(scored.cases)}
    rows = [place.get(one, -1) for one in ids]
    draws = [values for role, values in scored.values.items() if role.startswith("random/")]
    gold, attack = _column(scored, "gold", rows), _column(scored, "attack", rows)
    table = np.array([gold - _pick(values, rows) for values in draws]).reshape(len(draws), len(ids))
    present = np.isfinite(table)
    counts = present.sum(axis=0)
    mean = np.where(counts > 0, np.where(present, table, 0.0).sum(axis=0) / np.maximum(counts, 1), np.nan)
    return Losses(tuple(ids), gold - attack, mean)


def _column(scored: Scored, role: str, rows: Sequence[int]) -> Floats:
    return _pick(scored.values.get(role, np.full(len(scored.cases), np.nan)), rows)


def _pick(values: Floats, rows: Sequence[int]) -> Floats:
    return np.array([values[row] if row >= 0 else np.nan for row in rows], dtype=np.float64)


def gain(found: Losses, margin: float, seed: int) -> Gain | None:
    """The gain over random noise; None where random noise does not surely cost anything."""
    n = len(found.ids)
    if n < 2:
        return None
    draws = resampled_means(np.stack([found.attack, found.random], axis=1), resamples=RESAMPLES, seed=seed)
    floor = interval_of(draws[:, 1], n_clusters=n)
    if floor is None or floor.low <= 0:
        return None
    shares = 1 - draws[:, 0] / draws[:, 1]
    interval = interval_of(shares, n_clusters=n)
    test = sign_flip_test((1 - margin) * found.random - found.attack, alternative="greater", seed=seed)
    value = 1 - float(found.attack.mean() / found.random.mean())
    pair = None if interval is None else interval.pair
    return Gain(value, pair, test.p_value, detectable_effect(float(shares.std(ddof=1))))


def held_out(attacked: Scored, others: Sequence[Scored]) -> list[Scored]:
    """Metrics that share neither class nor backbone with the one attacked, and score single texts."""
    mine = attacked.about
    kept = []
    for other in others:
        about = other.about
        related = about.get("name") == mine.get("name") or (
            mine.get("backbone") is not None and about.get("backbone") == mine.get("backbone")
        )
        if other.metric != attacked.metric and not related and not about.get("set"):
            kept.append(other)
    return kept


def confirmed(judges: Sequence[Scored], ids: Sequence[str], fall: float) -> Flags:
    """Whether the damage of each text is seen: by metrics of two paradigms, or by an entailment model.

    A judge sees it where it loses at least `fall` of what random noise costs it on the same text. N-gram
    metrics fall together at any changed word, so a paradigm has one vote; or two of them would call every
    paraphrase a blind spot.
    """
    votes: dict[str, Flags] = {}
    for judge in judges:
        seen = falls(losses(judge, ids), fall)
        paradigm = str(judge.about.get("paradigm"))
        votes[paradigm] = votes.get(paradigm, np.zeros(len(ids), dtype=np.bool_)) | seen
        if entails(judge):
            votes["entailment"] = votes.get("entailment", np.zeros(len(ids), dtype=np.bool_)) | seen
    return count_votes(votes, len(ids))


def count_votes(votes: Mapping[str, Flags], size: int) -> Flags:
    """Two paradigms, or entailment alone (it votes under its own name too)."""
    total = np.zeros(size, dtype=np.int64)
    for seen in votes.values():
        total += seen
    return np.asarray(total >= VOTES)


def entails(judge: Scored) -> bool:
    """Whether a metric is an entailment model."""
    return str(judge.about.get("name", "")).startswith("nli")


def falls(found: Losses, fall: float) -> Flags:
    """Which texts a judge marks down."""
    with np.errstate(invalid="ignore"):
        return np.asarray((found.attack > 0) & (found.attack >= fall * np.maximum(found.random, 0.0)))


EVIDENCE = 5
_EXAMPLES = 3


class Options(Protocol):
    """What of the audit decides a verdict."""

    @property
    def rule(self) -> Rule: ...
    @property
    def seed(self) -> int: ...
    @property
    def fall(self) -> float: ...
    @property
    def margin(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Group:
    """Final cases of one metric: what its searches found in a dataset, or one rule."""

    slice: str
    answer: Scored
    cases: Sequence[Case]

    @property
    def is_search(self) -> bool:
        """Whether these texts were searched for, rather than made by a rule."""
        return "queries" in self.cases[0].meta


@dataclass(frozen=True, slots=True)
class Judged:
    """Findings and the texts that show them best."""

    findings: list[Finding] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)


def group_findings(options: Options, group: Group, scored: Sequence[Scored]) -> Judged:
    """The findings of a group; none where random noise costs the metric nothing."""
    metric = group.answer.metric
    every = losses(group.answer, [case.id for case in group.cases])
    found = every.only(every.whole)
    raw = gain(found, options.margin, options.seed)
    if raw is None:
        return Judged([], [f"{metric}: {group.slice}: random noise costs no score: nothing to avoid"])
    judges = [] if options.rule == "paper" else held_out(group.answer, scored)
    seen = confirmed(judges, found.ids, options.fall)
    best = _best(found, seen if judges else np.ones(len(found.ids), dtype=np.bool_), options.margin)
    headline = _headline(options, group, found, judges, seen, best)
    if headline.passed and verdict(raw.ci, options.margin) is not True:
        headline = replace(headline, passed=None)  # judges that see no damage do not clear the metric
    if not group.is_search:
        return Judged([headline])
    beside = [_loss_share(group, found, raw), *_hits(options, group, found, seen, judges), *_effort(group)]
    return Judged([headline, *beside], _told(group, found, best))


def _headline(
    options: Options, group: Group, found: Losses, judges: Sequence[Scored], seen: Flags, best: list[int]
) -> Finding:
    """The gain that carries the verdict: a text whose damage nobody else sees counts as no gain."""
    careful = options.rule == "careful" and bool(judges)
    attack = np.where(seen, found.attack, np.maximum(found.attack, found.random)) if careful else found.attack
    value = gain(Losses(found.ids, attack, found.random), options.margin, options.seed)
    n = len(found.ids)
    judged = n >= FEWEST and (options.rule == "paper" or _able(judges))
    passed = verdict(value.ci, options.margin) if value and judged else None
    evidence = tuple(found.ids[place] for place in best)
    statistic = "attack_gain" if group.is_search else "rule_gain"
    return _finding(group, statistic, value, n, passed, evidence if passed is not True else ())


def _able(judges: Sequence[Scored]) -> bool:
    """Whether the judges could confirm anything at all."""
    return len({judge.about.get("paradigm") for judge in judges}) >= VOTES or any(map(entails, judges))


def _finding(
    group: Group, statistic: str, value: Gain | None, n: int, passed: bool | None, evidence: tuple[str, ...]
) -> Finding:
    where = (group.answer.metric, "attack", group.slice, statistic)
    if value is None:
        return Finding(*where, 0.0, n, "random noise")
    return Finding(
        *where, value.value, n, "random noise", value.ci, value.p_value, None, value.mde, passed, evidence
    )


def _loss_share(group: Group, found: Losses, raw: Gain) -> Finding:
    """What the texts lose, as a share of random noise's cost, whether or not anyone confirms them."""
    ci = None if raw.ci is None else (1 - raw.ci[1], 1 - raw.ci[0])
    where = (group.answer.metric, "attack", group.slice, "loss_share")
    return Finding(*where, 1 - raw.value, len(found.ids), "random noise", ci, mde=raw.mde)


def _hits(
    options: Options, group: Group, found: Losses, seen: Flags, judges: Sequence[Scored]
) -> list[Finding]:
    """The share of texts that fool the metric and that the judges see through."""
    if not judges:
        return []
    hits = int((_fooled(found, options.margin) & seen).sum())
    interval = proportion_interval(hits, len(found.ids))
    ci = None if interval is None else interval.pair
    names = ", ".join(judge.metric for judge in judges)
    where = (group.answer.metric, "attack", group.slice, "hit_share")
    return [Finding(*where, hits / len(found.ids), len(found.ids), names, ci)]


def _effort(group: Group) -> list[Finding]:
    """The noise-ratio reached and the texts tried, means over items."""
    out = []
    for statistic, key in (("noise_ratio", "noise_ratio"), ("queries", "queries")):
        values = np.array([float(case.meta[key]) for case in group.cases])
        ci = bootstrap_mean(values, seed=0)
        where = (group.answer.metric, "attack", group.slice, statistic)
        out.append(Finding(*where, float(values.mean()), values.size, ci=None if ci is None else ci.pair))
    return out


def _fooled(found: Losses, margin: float) -> Flags:
    return np.asarray(found.attack < (1 - margin) * found.random)


def _best(found: Losses, seen: Flags, margin: float) -> list[int]:
    """The most convincing texts: fooled and confirmed, least lost first."""
    hits = np.flatnonzero(_fooled(found, margin) & seen)
    share = found.attack[hits] / found.random[hits]
    return [int(place) for place in hits[np.argsort(share, kind="stable")][:EVIDENCE]]


def _told(group: Group, found: Losses, best: Sequence[int]) -> list[str]:
    """Examples as a reader takes them in: what changed, and what it cost."""
    changed = {case.id: case.meta["changed"] for case in group.cases}
    return [
        f"{group.answer.metric}: {changed[found.ids[place]]} costs {found.attack[place]:.3g}, "
        f"random noise {found.random[place]:.3g} ({found.ids[place]})"
        for place in best[:_EXAMPLES]
    ]


def shown(gold: str, text: str) -> str:
    """What changed between two texts, in words.

    >>> shown("he went to the office", "they went to office")
    'he → they; the → ∅'
    """
    edits = alignment(gold, text)
    return "; ".join(f"{edit.before or '∅'} → {edit.after or '∅'}" for edit in edits)


@dataclass(frozen=True, slots=True)
class EditRule:
    """A kind of edit, and the substitutions of that kind which worked."""

    kind: str
    pairs: dict[str, tuple[str, ...]]

    def moves(self, text: str, source: Source, ratio: float, rng: Random) -> Moves:
        """Edits of this kind at random places of a text, at most as many as reach the noise-ratio."""
        by_place: dict[int, list[Move]] = {}
        for move in source.moves(text):
            if kind_of(text, move) == self.kind:
                by_place.setdefault(move.place, []).append(move)
        places = sorted(by_place)
        rng.shuffle(places)
        chosen: list[Move] = []
        for place in places:
            move = self._choice(words_of(text)[place].text, by_place[place], rng)
            if len(chosen) < edits_needed(text.split(), ratio) and free(chosen, move):
                chosen.append(move)
        return tuple(sorted(chosen))

    def _choice(self, old: str, moves: Sequence[Move], rng: Random) -> Move:
        """A substitution that worked, where the word is one of them."""
        known = self.pairs.get(core(old), ())
        return rng.choice([move for move in moves if core(move.word) in known] or list(moves))


def kind_of(text: str, move: Move) -> str:
    """The kind of an edit as a path: `article/delete`, `number/replace`, `order/swap`.

    A word said twice is `repetition/insert`, a negation put in `negation/insert`.
    """
    word = words_of(text)[move.place]
    if move.kind == "swap":
        return "order/swap"
    if move.kind == "insert":
        return "repetition/insert" if core(move.word) == core(word.text) else "negation/insert"
    return f"{word.category}/{move.kind}"


def rules(successes: Iterable[tuple[str, Moves]], support: int, most: int) -> list[EditRule]:
    """The kinds of edits in at least `support` of the texts that fooled a metric, commonest first."""
    seen: Counter[str] = Counter()
    pairs: dict[str, dict[str, list[str]]] = {}
    for text, moves in successes:
        kinds = {move: kind_of(text, move) for move in moves}
        seen.update(set(kinds.values()))
        for move, kind in kinds.items():
            old = core(words_of(text)[move.place].text)
            pairs.setdefault(kind, {}).setdefault(old, []).append(core(move.word))
    common = sorted(seen, key=lambda kind: (-seen[kind], kind))
    return [
        EditRule(kind, {old: tuple(new) for old, new in pairs[kind].items()})
        for kind in common[:most]
        if seen[kind] >= support
    ]
