"""Claims of a paper, each tested on the figures of this run by a rule that its data file declares.

A rule names the cells of a table (metrics by paradigm or pattern, and places), what they are compared with
(other metrics at the same place, another place of the same metric, or a number), in which direction, and how
many of the comparisons must come out: every one, most, some or none. A comparison is sure if its whole
interval lies on one side; an `exact` claim is about these items alone. A claim holds, does not hold here, or
cannot be told; then the number of items that would tell is given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from assay.errors import DataError
from assay.papers.cells import Reading
from assay.papers.tables import STAR, Table, fits, patterns_of
from assay.reading.text import number

_Holds = Literal["holds", "does not hold here", "cannot tell"]
_KEYS = frozenset(
    {"text", "where", "table", "metrics", "places", "needs"}  # what is claimed of what
    | {"than", "at_place", "than_places", "bound", "sign", "absolute"}  # and compared with what
    | {"share", "stars", "exact"}
)
_NAMED = 4  # significant figures that are named
_SHARES = ("every", "most", "some", "none")
_METRICS = {"*": "all metrics"}
# How a rule is worded by its share: whose figures, and what they do.
_HOW_MANY = {
    "every": ("every figure", "lies", "has"), "most": ("most figures", "lie", "have"),
    "some": ("some figure", "lies", "has"), "none": ("no figure", "lies", "has"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _ClaimComparison:
    """One difference that should lie above 0."""

    label: str
    difference: Reading

    @property
    def is_sure(self) -> bool | None:
        """Whether the difference surely is as claimed; None where its interval includes 0 or is not known."""
        low, high = self.difference.interval or (-math.inf, math.inf)
        if low > 0:
            return True
        return False if high <= 0 else None

    @property
    def n_needed(self) -> int | None:
        """How many items would make the interval end at 0, if the difference stayed as it is."""
        n, half, value = self.difference.n, self.difference.half, self.difference.value
        return math.ceil(n * (half / value) ** 2) if n and half is not None and value else None

    @property
    def words(self) -> str:
        low, high = self.difference.interval or (0.0, 0.0)
        ends = f" [{number(low)}, {number(high)}]" if low != high else ""
        return f"{self.label} {number(self.difference.value)}{ends}"


def judge(
    claim: Mapping[str, Any], tables: Mapping[str, Table], paradigms: Mapping[str, str]
) -> dict[str, Any]:
    """What a claim says, how it was tested, the numbers and the answer."""
    check_claim(claim)
    table = tables[claim["table"]]
    compared = comparisons(claim, table, paradigms)
    tested = {"text": claim["text"], "where": claim["where"], "rule": _rule_in_words(claim, table)}
    if not compared:
        why = claim.get("needs") or table.why_empty or "no such metric was given"
        return {**tested, "answer": "cannot tell", "number": "-", "why": f"not measured: {why}"}
    answer, why = _answer(compared, claim.get("share", "every"))
    figures = _starred_labels(compared) if claim.get("stars") else _numbers(compared)
    return {**tested, "answer": answer, "number": figures, "why": why}


def blind_spot_catalogue(
    spots: Sequence[Mapping[str, Any]], tables: Mapping[str, Table]
) -> dict[str, dict[str, _Holds]]:
    """By blind spot and metric whether the worse text surely scores no lower: holds where it is confirmed."""
    answers: dict[str, dict[str, _Holds]] = {}
    for spot in spots:
        table, rule = tables[spot["table"]], {key: spot[key] for key in spot.keys() & _KEYS}
        for metric in table.ours:
            compared = comparisons(rule | {"metrics": metric}, table, {})
            if compared:
                answers.setdefault(spot["name"], {})[metric] = _answer(compared, "some")[0]
    return answers


def check_claim(claim: Mapping[str, Any]) -> None:
    """Raise where a claim of a data file has a key or a share that no rule knows."""
    if unknown := claim.keys() - _KEYS:
        raise DataError(f"the claim {claim['text']!r} has unknown keys: {', '.join(unknown)}")
    if claim.get("share", "every") not in _SHARES:
        raise DataError(f"the claim {claim['text']!r}: share is one of {', '.join(_SHARES)}")


def comparisons(
    claim: Mapping[str, Any], table: Table, paradigms: Mapping[str, str]
) -> list[_ClaimComparison]:
    """The comparisons of a claim: at each place and of each metric that it names."""
    chosen = _chosen(table, claim.get("metrics", "*"), paradigms)
    if "than_places" in claim:
        return [_by_stars(metric, figures, claim, table) for metric, figures in chosen.items()]
    others = _chosen(table, claim["than"], paradigms) if "than" in claim else None
    compared = []
    for place in _places(table, claim.get("places", "*")):
        figures = {metric: line[place] for metric, line in chosen.items() if place in line}
        for metric, figure in figures.items():
            base = _base(claim, place, others, chosen.get(metric, {}))
            if base is not None:
                label = f"{metric}, {place}" if len(table.places) > 1 else metric
                compared.append(_comparison(label, figure, base, claim))
    return compared


def _by_stars(
    metric: str, figures: Mapping[str, Reading], claim: Mapping[str, Any], table: Table
) -> _ClaimComparison:
    """How much larger the share of significant figures is at some places than at others."""
    shares = []
    for wanted in (claim["places"], claim["than_places"]):
        here = [figures[place] for place in _places(table, wanted) if place in figures]
        shares.append(fmean(map(_is_starred, here)) if here else 0.0)
    label = f"{metric}: {shares[0]:.0%} against {shares[1]:.0%},"
    return _exactly(label, shares[0] - shares[1], len(figures))


def _exactly(label: str, value: float, n: int | None) -> _ClaimComparison:
    """A comparison that speaks of these items alone, and has nothing uncertain."""
    return _ClaimComparison(label, Reading(value, value, value, n))


def _is_starred(figure: Reading) -> bool:
    """Whether the paper would mark a figure as significant."""
    return figure.p_value is not None and figure.p_value <= STAR


def _chosen(
    table: Table, wanted: str | Sequence[str], paradigms: Mapping[str, str]
) -> dict[str, Mapping[str, Reading]]:
    """The metrics of a table that a claim speaks of, by paradigm or by pattern of their specs."""
    return {
        metric: figures
        for metric, figures in table.ours.items()
        if fits(metric, wanted) or fits(paradigms.get(metric, ""), wanted)
    }


def _places(table: Table, wanted: str | Sequence[str]) -> list[str]:
    return [place.label for place in table.places if fits(place.label, wanted)]


def _base(
    claim: Mapping[str, Any],
    place: str,
    others: Mapping[str, Mapping[str, Reading]] | None,
    own: Mapping[str, Reading],
) -> Reading | None:
    """What a figure is compared with; None where that was not measured."""
    bound = Reading(float(claim.get("bound", 0.0)))
    if others is not None:
        figures = [line[place] for line in others.values() if place in line]
        return _pooled(figures).plus(bound.value) if figures else None
    if "at_place" in claim:
        beside = own.get(claim["at_place"])
        return beside.plus(bound.value) if beside else None
    return bound


def _pooled(figures: Sequence[Reading]) -> Reading:
    """The mean over metrics, which are fixed: its interval comes from those of the items."""
    mean, halves = fmean(figure.value for figure in figures), [figure.half for figure in figures]
    n = min((figure.n for figure in figures if figure.n is not None), default=None)
    known = [half for half in halves if half is not None]
    if len(known) < len(figures):
        return Reading(mean, n=n)
    half = fmean(known)  # the metrics read the same items, so that their errors may go together
    return Reading(mean, mean - half, mean + half, n)


def _comparison(label: str, figure: Reading, base: Reading, claim: Mapping[str, Any]) -> _ClaimComparison:
    """How far a figure lies on the side that the claim names, in the unit of the table."""
    if claim.get("stars"):  # a claim about significance: the p-value decides
        return _exactly(label, 1.0 if _is_starred(figure) else -1.0, figure.n)
    if claim.get("absolute"):
        figure, base = figure.absolute(), base.absolute()
    sign = -1.0 if claim.get("sign") == "<" else 1.0
    value = sign * (figure.value - base.value)
    if claim.get("exact"):
        return _exactly(label, value, figure.n)
    if figure.interval is None and base.interval is None:
        return _ClaimComparison(label, Reading(value, n=figure.n))
    # The distances of the two intervals' ends, added as those of independent figures.
    below, above = (math.hypot(*distances) for distances in zip(figure.reach, base.reach[::-1], strict=True))
    if sign < 0:
        below, above = above, below
    return _ClaimComparison(label, Reading(value, value - below, value + above, figure.n))


def _answer(compared: Sequence[_ClaimComparison], share: str) -> tuple[_Holds, str]:
    """Every, most, some or none of the comparisons must be sure."""
    sure = sum(one.is_sure is True for one in compared)
    open_ = [one for one in compared if one.is_sure is None]
    counted = f"{sure} of {len(compared)} as said, {len(compared) - sure - len(open_)} against it"
    counted = f"{sure} of {len(compared)} significant" if share == "none" else counted
    counted += f", {len(open_)} undecided" if open_ else ""
    worst, best = sorted(
        (_is_enough(sure, len(compared), share), _is_enough(sure + len(open_), len(compared), share))
    )
    if worst:
        return "holds", counted
    if not best:
        return "does not hold here", counted
    needed = [n for one in open_ if (n := one.n_needed) is not None]
    more = f"; about {max(needed):,} items would tell" if needed else ""
    return "cannot tell", counted + more


def _is_enough(sure: int, total: int, share: str) -> bool:
    """Whether so many comparisons are as many as a claim asks for."""
    enough = {"every": sure == total, "most": 2 * sure > total, "some": sure > 0, "none": sure == 0}
    return enough[share]


def _starred_labels(compared: Sequence[_ClaimComparison]) -> str:
    """The figures that are significant, by name; of many the first few."""
    labels = [one.label for one in compared if one.is_sure]
    more = f" and {len(labels) - _NAMED} more" if len(labels) > _NAMED else ""
    return f"significant: {'; '.join(labels[:_NAMED]) or 'none'}{more}"


def _numbers(compared: Sequence[_ClaimComparison]) -> str:
    """The comparison least as claimed and the one most as claimed."""
    ordered = sorted(compared, key=lambda one: one.difference.value)
    ends = ordered if len(ordered) <= 2 else [ordered[0], ordered[-1]]
    return " to ".join(one.words for one in ends)


def _rule_in_words(claim: Mapping[str, Any], table: Table) -> str:
    """How the claim is tested."""
    whose = ", ".join(_METRICS.get(name, name) for name in patterns_of(claim.get("metrics", "*")))
    if "than_places" in claim:
        places = f"at {claim['places']} than at {claim['than_places']}"
        return f"{table.name}: the share of figures of {whose} with p <= {STAR} is larger {places}"
    many, lies, has = _HOW_MANY[claim.get("share", "every")]
    if claim.get("stars"):
        return f"{table.name}: {many} of {whose} {has} p <= {STAR}"
    side = "below" if claim.get("sign") == "<" else "above"
    base = f"that at {claim['at_place']}" if "at_place" in claim else number(float(claim.get("bound", 0.0)))
    if "than" in claim:
        base = f"the mean of {', '.join(patterns_of(claim['than']))} at the same place"
    return f"{table.name}: {many} of {whose} {lies} surely {side} {base}"
