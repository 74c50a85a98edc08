"""Claims of a paper, each tested on the figures of this run by a rule that its data file declares.

A rule names the cells of a table (metrics by paradigm or pattern, and places), what they are compared with
(other metrics at the same place, the same metric without an option or at another place, or a number), in
which direction or `within` which margin, and how many of the comparisons must come out: every one, most,
some, none or a share. A comparison is sure if its whole interval lies on one side; an `exact` claim is about
these items alone, a `significant` one asks whether the interval excludes 0. A claim holds, does not hold
here, or cannot be told; then the number of items that would tell is given.
"""

from __future__ import annotations

import math
from collections import defaultdict
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
    {"text", "where", "table", "metrics", "except", "places", "any_place", "needs"}  # what is claimed of what
    | {"than", "than_without", "than_backbones", "at_place", "than_sum"}  # and compared with what
    | {"than_places", "star_share", "bound", "within", "sign", "absolute"}
    | {"share", "stars", "significant", "exact"}
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
    by_significance = claim.get("stars") or claim.get("significant")
    figures = _significant_labels(compared) if by_significance else _numbers(compared)
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
    share = claim.get("share", "every")
    if share not in _SHARES and not (isinstance(share, float) and 0 < share < 1):
        raise DataError(
            f"the claim {claim['text']!r}: share is one of {', '.join(_SHARES)}, or between 0 and 1"
        )


def comparisons(
    claim: Mapping[str, Any], table: Table, paradigms: Mapping[str, str]
) -> list[_ClaimComparison]:
    """The comparisons of a claim: at each place and of each metric that it names."""
    chosen = {
        metric: figures
        for metric, figures in _chosen(table, claim.get("metrics", "*"), paradigms).items()
        if not fits(metric, claim.get("except", ()))
    }
    if claim.get("than_backbones"):
        places = _places(table, claim["places"])
        return [one for place in places for one in _by_backbone(chosen, place, paradigms)]
    compared = []
    for metric, figures in chosen.items():
        if "than_places" in claim or "star_share" in claim:
            compared += _by_stars(metric, figures, claim, table)
        elif "than_sum" in claim:
            compared += _by_sums(metric, figures, claim, table)
        else:
            compared += _at_places(metric, figures, _others(metric, claim, table, paradigms), claim, table)
    return compared


def _at_places(
    metric: str,
    figures: Mapping[str, Reading],
    others: Mapping[str, Mapping[str, Reading]] | None,
    claim: Mapping[str, Any],
    table: Table,
) -> list[_ClaimComparison]:
    """The comparisons of one metric: one at each place, or the one that is most as claimed (`any_place`)."""
    compared = []
    for place in _places(table, claim.get("places", "*")):
        if place not in figures:
            continue
        base = _base(claim, place, others, figures)
        if base is not None:
            label = f"{metric}, {place}" if len(table.places) > 1 else metric
            compared.append(_comparison(label, figures[place], base, claim))
    return [max(compared, key=_as_claimed)] if compared and claim.get("any_place") else compared


def _as_claimed(compared: _ClaimComparison) -> tuple[int, float]:
    """Orders comparisons: refuted, undecided, sure; then by the difference."""
    return {False: 0, None: 1, True: 2}[compared.is_sure], compared.difference.value


def _by_stars(
    metric: str, figures: Mapping[str, Reading], claim: Mapping[str, Any], table: Table
) -> list[_ClaimComparison]:
    """How much larger the share of significant figures is at some places than at others, or than a number."""
    wanted = [claim["places"], *([claim["than_places"]] if "than_places" in claim else [])]
    groups = [[figures[place] for place in _places(table, group) if place in figures] for group in wanted]
    if not all(groups):
        return []
    shares = [fmean(map(_is_starred, group)) for group in groups]
    here, base = shares[0], shares[1] if len(shares) > 1 else claim["star_share"]
    return [_exactly(f"{metric}: {here:.0%} against {base:.0%},", here - base, len(figures))]


def _by_sums(
    metric: str, figures: Mapping[str, Reading], claim: Mapping[str, Any], table: Table
) -> list[_ClaimComparison]:
    """How much larger the figures at some places are together than those at others together."""
    groups = [
        [figures[place] for place in _places(table, claim[key]) if place in figures]
        for key in ("places", "than_sum")
    ]
    if not all(groups):
        return []
    return [_comparison(metric, _total(groups[0]), _total(groups[1]), claim)]


def _total(figures: Sequence[Reading]) -> Reading:
    """The sum of figures of the same items, whose errors may go together: their halves are added."""
    total = sum(figure.value for figure in figures)
    halves = [figure.half for figure in figures if figure.half is not None]
    if len(halves) < len(figures):
        return Reading(total, n=figures[0].n)
    return Reading(total, total - sum(halves), total + sum(halves), figures[0].n)


def _by_backbone(
    chosen: Mapping[str, Mapping[str, Reading]], place: str, paradigms: Mapping[str, str]
) -> list[_ClaimComparison]:
    """How much further the means of paradigms lie apart than the backbones of one metric, which are fixed.

    It takes two paradigms, and a metric on two backbones.
    """
    by_paradigm, by_name = defaultdict(list), defaultdict(list)
    for metric, figures in chosen.items():
        if place in figures:
            by_paradigm[paradigms.get(metric, "")].append(figures[place].value)
            by_name[metric.partition(":")[0]].append(figures[place].value)
    several = [max(values) - min(values) for values in by_name.values() if len(values) > 1]
    if len(by_paradigm) < 2 or not several:
        return []
    means = [fmean(values) for values in by_paradigm.values()]
    between, within = max(means) - min(means), fmean(several)
    label = f"paradigms lie {number(between)} apart, backbones of one metric {number(within)}: difference"
    return [_exactly(label, between - within, None)]


def _others(
    metric: str, claim: Mapping[str, Any], table: Table, paradigms: Mapping[str, str]
) -> Mapping[str, Mapping[str, Reading]] | None:
    """The metrics that a metric is compared with at the same place; None where it is with none."""
    if "than" in claim:
        return _chosen(table, claim["than"], paradigms)
    if "than_without" not in claim:
        return None
    plain = _without_option(metric, claim["than_without"])
    return {name: figures for name, figures in table.ours.items() if name == plain}


def _without_option(spec: str, option: str) -> str:
    """A spec without one of its options: `bertscore-f:adapter=fair,model=a` is `bertscore-f:model=a`."""
    name, _, options = spec.partition(":")
    kept = [one for one in options.split(",") if one and not one.startswith(f"{option}=")]
    return f"{name}:{','.join(kept)}" if kept else name


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
    if claim.get("significant"):
        return _by_interval(label, figure)
    if claim.get("absolute"):
        figure, base = figure.absolute(), base.absolute()
    difference = _difference(figure, base)
    if "within" in claim:
        label = f"{label}: {number(difference.value)}, left of the margin"
        difference = difference.absolute().times(-1.0).plus(claim["within"])
    elif claim.get("sign") == "<":
        difference = difference.times(-1.0)
    if claim.get("exact"):
        return _exactly(label, difference.value, figure.n)
    return _ClaimComparison(label, difference)


def _by_interval(label: str, figure: Reading) -> _ClaimComparison:
    """Whether a figure differs significantly from 0: an interval that includes 0 says that it does not."""
    if figure.interval is None and figure.value:
        return _ClaimComparison(label, Reading(figure.value, n=figure.n))
    low, high = figure.interval or (0.0, 0.0)
    is_significant = low > 0 or high < 0
    return _exactly(_ClaimComparison(label, figure).words, 1.0 if is_significant else -1.0, figure.n)


def _difference(figure: Reading, base: Reading) -> Reading:
    """A figure less another; the distances of the intervals' ends add up as those of independent figures."""
    value = figure.value - base.value
    if figure.interval is None and base.interval is None:
        return Reading(value, n=figure.n)
    below, above = (math.hypot(*ends) for ends in zip(figure.reach, base.reach[::-1], strict=True))
    return Reading(value, value - below, value + above, figure.n)


def _answer(compared: Sequence[_ClaimComparison], share: str | float) -> tuple[_Holds, str]:
    """Every, most, some or none of the comparisons, or a share of them, must be sure."""
    sure = sum(one.is_sure is True for one in compared)
    open_ = [one for one in compared if one.is_sure is None]
    counted = f"{sure} of {len(compared)} as said, {len(compared) - sure - len(open_)} against it"
    counted = f"{sure} of {len(compared)} do" if share == "none" else counted
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


def _is_enough(sure: int, total: int, share: str | float) -> bool:
    """Whether so many comparisons are as many as a claim asks for."""
    if isinstance(share, float):
        return sure >= share * total
    enough = {"every": sure == total, "most": 2 * sure > total, "some": sure > 0, "none": sure == 0}
    return enough[share]


def _significant_labels(compared: Sequence[_ClaimComparison]) -> str:
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
    whose = _named(claim.get("metrics", "*"))
    whose += f" (not {_named(claim['except'])})" if "except" in claim else ""
    if claim.get("than_backbones"):
        return f"{table.name}: paradigms lie further apart than the backbones of a metric, of {whose}"
    if "than_places" in claim or "star_share" in claim:
        more = (
            f"at {_named(claim['than_places'])}" if "than_places" in claim else f"{claim['star_share']:.0%}"
        )
        at = _named(claim["places"])
        return f"{table.name}: the share of figures of {whose} with p <= {STAR} is larger at {at} than {more}"
    whose += f" at {_named(claim['places'])}" if "places" in claim else ""
    share = claim.get("share", "every")
    many, lies, has = _HOW_MANY.get(share) or (f"at least {share:.0%} of the figures", "lie", "have")
    if claim.get("stars"):
        return f"{table.name}: {many} of {whose} {has} p <= {STAR}"
    if claim.get("significant"):
        return f"{table.name}: {many} of {whose} {has} an interval without 0"
    where = " at one place at least" if claim.get("any_place") else ""
    side = "below" if claim.get("sign") == "<" else "above"
    side = f"within {number(claim['within'])} of" if "within" in claim else side
    return f"{table.name}: {many} of {whose} {lies}{where} surely {side} {_base_in_words(claim)}"


def _base_in_words(claim: Mapping[str, Any]) -> str:
    """What the figures of a claim are compared with."""
    bound = float(claim.get("bound", 0.0))
    if "than" in claim:
        base = f"the mean of {_named(claim['than'])} at the same place"
    elif "than_without" in claim:
        base = f"that of the same metric without {claim['than_without']}"
    elif "than_sum" in claim:
        base = f"those at {_named(claim['than_sum'])} together"
    elif "at_place" in claim:
        base = f"that at {claim['at_place']}"
    else:
        return number(bound)
    return f"{base} {'plus' if bound > 0 else 'less'} {number(abs(bound))}" if bound else base


def _named(wanted: str | Sequence[str]) -> str:
    """The metrics or places that a rule names."""
    return ", ".join(_METRICS.get(name, name) for name in patterns_of(wanted))
