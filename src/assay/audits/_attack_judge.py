"""What attacked texts lost, beside what random noise of the same ratio costs; and who else saw the damage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.core import Floats, Scored
from assay.statistics.bootstrap import interval_of, resampled_means
from assay.statistics.permutation import sign_flip_test
from assay.statistics.power import detectable_effect

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
