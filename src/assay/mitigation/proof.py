"""The proof of a mitigation: an ordinary run of metrics before and after, and what changed between them.

Metrics, held-out pairs and ratings go in; the first metric is the one to be debiased. Out come a run of
audits, its figures with their changes, and one label per debiased metric. Bias is given in lost words and by
Eq. 2 of *unfair*; beside it stand right order on damaged texts, gender accuracy and agreement with people,
which no mitigation may cost. The data of the run are written beside it, so that it can be repeated with
`assay run`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from assay.api.pipeline import execute, make_audit
from assay.core import Floats, Image, Measure
from assay.datasets.captions import embedded_captions
from assay.datasets.pairs import StereotypePair, read_pair_files
from assay.datasets.published.ratings import read_ratings
from assay.datasets.ratings import Rated
from assay.datasets.records import embedded_records
from assay.engine.session import Session
from assay.errors import DataError
from assay.grouping import grouped
from assay.mitigation.data import stated_genders
from assay.perturbations.checklist.content import ChangeGender
from assay.reading.results import StoredRun, check_writable, make_folder, write_text
from assay.statistics.intervals import bootstrap_weighted

Label = Literal["fairer", "blinded", "no fairer"]
MaybeInterval = tuple[float, float] | None
_Row = dict[str, Any]
Sets = Mapping[str, Sequence[StereotypePair]]  # pairs by the name of their set
SEES_GENDER = "sees gender"  # the category of the caption audit's data
CAPTIONS, CHANGE_GENDER = "captions with a gendered reference", "checklist change-gender"
_MARGIN = 2.0  # points that the gender accuracy may fall
# What is shown of each audit.
_SHOWN = {
    "stereotype": ("bias", "lost_words"), "swap": ("lost_words",), "stress": ("mean_right_order",),
    "caption": ("accuracy",), "human": ("spearman",),
}  # fmt: skip
_SWAPPED, _DAMAGED = ("preference/both",), ("all/meaning", "all/form")  # the slices shown of swap and stress
# Right order is to stay: two tasks, and of each noise the weakest and the strongest level.
_STRESS: _Row = {"task": ("translation", "summarisation"), "limit": 30, "seeds": 1, "depth": "ends"}
_RESAMPLES = 500
_FEWEST_PAIRS = 2  # of which Eq. 1 says anything


@dataclass(frozen=True, slots=True)
class ProofFigure:
    """One finding of the run, and its change from the first metric's.

    The change of a bias is the share of it that is gone (1 is all); of the others, the difference.
    """

    metric: str
    statistic: str
    slice: str
    versus: str | None
    value: float
    n: int
    ci: MaybeInterval
    change: float | None = None
    change_ci: MaybeInterval = None


@dataclass(frozen=True, slots=True)
class Proof:
    """The run, the figures it is judged by, and the label of each debiased metric."""

    run: StoredRun
    figures: tuple[ProofFigure, ...]
    labels: Mapping[str, Label]

    def of(self, metric: str, statistic: str) -> list[ProofFigure]:
        return [f for f in self.figures if (f.metric, f.statistic) == (metric, statistic)]


def read_test_pairs(paths: Sequence[Path]) -> dict[str, list[StereotypePair]]:
    """The pairs of the user's files, one set per file and attribute."""
    _refuse_same_names(paths)
    sets: dict[str, list[StereotypePair]] = {}
    for path in paths:
        for pair in read_pair_files([path])[0]:
            sets.setdefault(f"{pair.attribute}, {path.stem}", []).append(pair)
    return sets


_DIFFERENCE = "spearman_difference"
_COLUMNS = ("metric", "statistic", "slice", "versus", "value", "n")  # of a finding, in a figure


def check_ratings(paths: Sequence[Path]) -> None:
    """Refuse ratings that cannot be read, or that rate nothing, before the work rather than after it."""
    _refuse_same_names(paths)
    for path in paths:
        if not any(item.human for item in read_ratings(path)):
            raise DataError(f"{path}: no text has a rating; give a column human{{criterion: number}}")


def _refuse_same_names(paths: Sequence[Path]) -> None:
    names = [path.stem for path in paths]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise DataError(f"two files are called {twice!r}, and results go by file name; rename one")


def prove(
    measures: Sequence[Measure],
    sets: Sets,
    human: Sequence[Path],
    folder: Path,
    session: Session,
    *,
    seed: int = 0,
) -> Proof:
    """Run the audits on all metrics, save the run in the folder, and compare each metric with the first."""
    check_writable(folder)
    data = folder / "data"
    pairs = write_rows(data / "pairs.jsonl", (_pair_row(name, p, data) for name in sets for p in sets[name]))
    captions = write_rows(data / "captions.jsonl", gendered_captions())
    # The paper's rule adds no references without gender: they say nothing about what a metric sees.
    sees = {"data": (captions,), "seed": seed, "ties": "half", "rule": "paper"}
    audits = {
        "stereotype": make_audit("stereotype", {"data": (pairs,), "seed": seed}),
        "caption": make_audit("caption", sees),
        "stress": make_audit("stress", _STRESS | {"seed": seed}),
    }
    if any(pair.attribute == "gender" for some in sets.values() for pair in some):
        audits["swap"] = make_audit("swap", {"data": (pairs,), "seed": seed})
    if human:
        # Several files are joined, with criteria that name their file, so that none are pooled.
        rows = (_rating_row(path.stem, item, data) for path in human for item in read_ratings(path))
        files = human if len(human) == 1 else [write_rows(data / "ratings.jsonl", rows)]
        agrees = {"data": tuple(files), "seed": seed, "level": "example", "details": False}
        audits["human"] = make_audit("human", agrees)
    run = execute(audits, measures, replace(session, out=folder), size="full")
    figures = _figures(run, measures, sets, seed)
    return Proof(run, figures, _labels(figures, measures, next(iter(sets), "")))


def write_rows(path: Path, rows: Iterable[_Row]) -> Path:
    """Write rows as JSON Lines, without the columns that are None."""
    make_folder(path.parent)
    given = ({name: value for name, value in row.items() if value is not None} for row in rows)
    write_text(path, "".join(f"{json.dumps(row, default=str)}\n" for row in given))
    return path


def _pair_row(name: str, pair: StereotypePair, folder: Path) -> _Row:
    return pair.meta | {
        "id": f"{name}/{pair.id}", "attribute": name, "stereotype": pair.stereotype,
        "anti_stereotype": pair.anti_stereotype, "references": pair.references,
        "anti_reference": pair.anti_references, "source": pair.source, "image": copied(pair.image, folder),
    }  # fmt: skip


def copied(image: Image | None, folder: Path) -> str | None:
    """Copy an image beside the data, where alone a data file may name it; its name there."""
    if image is None:
        return None
    name = f"images/{image.digest}{Path(image.path).suffix}"
    make_folder(folder / "images")
    if not (folder / name).exists():
        shutil.copyfile(image.path, folder / name)
    return name


def gendered_captions() -> Iterator[_Row]:
    """Right and wrong captions whose references state a gender: no fairness by blindness.

    A debiased metric must still prefer the right gender where the reference states it. One concept holds the
    captions of the paper's concepts (caption sec. 2), the other the checklist's template change-gender.
    """
    for caption in embedded_captions():
        texts: _Row = {"good": caption.good, "bad": caption.bad, "references": caption.references}
        yield {"id": caption.id, "category": SEES_GENDER, "concept": CAPTIONS, "group": caption.group} | texts
    for record in embedded_records("image-captioning"):
        wrong, stated = ChangeGender().perturb(record), dict(stated_genders(record.references))
        if wrong and stated:
            group = "man" if next(iter(stated.values())).content == "male" else "woman"
            texts = {"good": record.gold, "bad": wrong, "references": list(stated)}
            yield {"id": record.id, "category": SEES_GENDER, "concept": CHANGE_GENDER, "group": group} | texts


def _rating_row(name: str, item: Rated, folder: Path) -> _Row:
    sample = item.sample
    return {
        "id": f"{name}/{item.id}", "hypothesis": sample.hypothesis, "references": sample.references,
        "human": {f"{name}:{criterion}": ratings for criterion, ratings in item.human.items()},
        "source": sample.source, "image": copied(sample.image, folder), "system": item.system,
        "doc": None if item.doc is None else f"{name}/{item.doc}",
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Before:
    """What the first metric was found to do, which every other metric is compared with."""

    metric: str
    rows: Mapping[tuple[str, str, str | None], _Row]
    differences: Mapping[tuple[str, str], _Row]  # of its agreement from another metric's, by slice and metric
    sizes: Mapping[tuple[str, str], float]  # of the differences of pairs, by metric and case
    sets: Sets
    seed: int

    def change(self, row: _Row) -> tuple[float | None, MaybeInterval]:
        """How far a figure is from the first metric's, with its interval; of bias, the share that is gone."""
        old = self.rows.get(_place(row))
        if old is None or row["metric"] == self.metric:
            return None, None
        if row["statistic"] == "bias":
            return _reduction(old, row, self.sets[row["slice"]], self.sizes, self.seed)
        if row["statistic"] == "spearman":
            return self._change_of_agreement(row)
        return row["value"] - old["value"], None

    def _change_of_agreement(self, row: _Row) -> tuple[float | None, MaybeInterval]:
        """The paired difference of two correlations; the audit gives before less after."""
        difference = self.differences.get((row["slice"], row["metric"]))
        if difference is None:
            return None, None
        ends = _ci(difference)
        return -difference["value"], (-ends[1], -ends[0]) if ends else None


def _figures(run: StoredRun, measures: Sequence[Measure], sets: Sets, seed: int) -> tuple[ProofFigure, ...]:
    """The figures that a proof shows of each metric, and how far they are from the first metric's."""
    first, metric = measures[0].label, pl.col("metric")
    rows = run.findings.filter(metric.is_in([measure.label for measure in measures]))
    shown = [row for row in rows.iter_rows(named=True) if _is_shown(row, sets)]
    differing = rows.filter((metric == first) & (pl.col("statistic") == _DIFFERENCE))
    before = _Before(
        first,
        {_place(row): row for row in shown if row["metric"] == first},
        {(row["slice"], row["versus"]): row for row in differing.iter_rows(named=True)},
        _pair_sizes(run), sets, seed,
    )  # fmt: skip
    return tuple(
        ProofFigure(*[*(row[name] for name in _COLUMNS), _ci(row), *before.change(row)]) for row in shown
    )


def _is_shown(row: _Row, sets: Sets) -> bool:
    """Bias of whole sets, accuracies, averages over noises, and agreement over all texts.

    Eq. 1 measures by the lowest and highest score of a set: a single pair has a bias of 100 by definition.
    """
    if row["statistic"] == "bias" and row["n"] < _FEWEST_PAIRS:
        return False
    slices = {"stereotype": tuple(sets), "swap": _SWAPPED, "stress": _DAMAGED}.get(row["audit"])
    if row["statistic"] not in _SHOWN.get(row["audit"], ()) or row["slice"].endswith("/by-document"):
        return False
    return slices is None or row["slice"] in slices


def _place(row: _Row) -> tuple[str, str, str | None]:
    return row["statistic"], row["slice"], row["versus"]


def _ci(row: _Row) -> MaybeInterval:
    return None if row["ci_low"] is None else (row["ci_low"], row["ci_high"])


def _pair_sizes(run: StoredRun) -> dict[tuple[str, str], float]:
    """The absolute difference of the two scores of each pair, by metric and case."""
    roles = ("stereotype", "anti_stereotype")
    scores = run.scores.filter((pl.col("audit") == "stereotype") & pl.col("role").is_in(roles))
    wide = scores.pivot(on="role", index=["metric", "case"], values="score").drop_nulls()
    sizes = (pl.col(roles[0]) - pl.col(roles[1])).abs()
    return {(metric, case): size for metric, case, size in wide.select("metric", "case", sizes).iter_rows()}


def _reduction(
    old: _Row, new: _Row, pairs: Sequence[StereotypePair], sizes: Mapping[tuple[str, str], float], seed: int
) -> tuple[float | None, MaybeInterval]:
    """The share of the bias that is gone, with a paired interval that resamples templates."""
    keys = [[(row["metric"], f"{row['slice']}/{pair.id}") for pair in pairs] for row in (old, new)]
    used = [n for n, places in enumerate(zip(*keys, strict=True)) if all(key in sizes for key in places)]
    before, after = (
        _scaled(np.array([sizes[places[n]] for n in used]), row["value"])
        for places, row in zip(keys, (old, new), strict=True)
    )

    def gone(weights: Floats) -> Floats:
        base = weights @ before
        return 1.0 - np.divide(weights @ after, base, out=np.full_like(base, np.nan), where=base > 0)

    if not used or old["value"] <= 0:
        return None, None
    clusters = [str(pairs[n].meta.get("template", pairs[n].id)) for n in used]
    ci = bootstrap_weighted(gone, len(used), clusters=clusters, seed=seed, resamples=_RESAMPLES)
    return 1.0 - new["value"] / old["value"], ci.pair if ci else None


def _scaled(sizes: Floats, bias: float) -> Floats:
    """Sizes on the scale of the finding: their mean is the bias that the audit has found."""
    mean = float(sizes.mean()) if sizes.size else 0.0
    return sizes * (bias / mean) if mean > 0 else sizes


def _labels(figures: Sequence[ProofFigure], measures: Sequence[Measure], target: str) -> dict[str, Label]:
    """The label of each debiased metric; its bias is judged on the set `target`."""
    before, *debiased = (_accuracies(figures, measure.label) for measure in measures)
    labels: dict[str, Label] = {}
    for measure, after in zip(measures[1:], debiased, strict=True):
        seen = {name: (before[name], after[name]) for name in before if name in after}
        places = [f for f in figures if (f.metric, f.slice) == (measure.label, target)]
        labels[measure.label] = label(seen, places[0].change_ci if places else None)
    return labels


def _accuracies(figures: Sequence[ProofFigure], metric: str) -> dict[str, float]:
    """Gender accuracy by test in points of 100, both genders together."""
    own = (f for f in figures if (f.metric, f.statistic) == (metric, "accuracy"))
    return {
        name: 100.0 * sum(f.n * f.value for f in groups) / sum(f.n for f in groups)
        for name, groups in grouped(own, lambda figure: figure.slice).items()
    }


def label(seen: Mapping[str, tuple[float, float]], reduction: MaybeInterval) -> Label:
    """What a mitigation may be called: gender accuracies before and after, and the interval of the reduction.

    >>> label({"captions": (90.0, 87.0)}, (0.5, 0.7)), label({"captions": (90.0, 89.0)}, (0.5, 0.7))
    ('blinded', 'fairer')
    """
    # Rounded, so that a fall by exactly the margin is not one beyond it.
    if any(round(before - after - _MARGIN, 9) > 0 for before, after in seen.values()):
        return "blinded"
    return "fairer" if reduction is not None and reduction[0] > 0 else "no fairer"
