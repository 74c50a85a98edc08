"""What models look at and expect inside a text: the pictures of *blind* beside its tables.

Attention by blocks of tokens (figures 2 and 11), and the probability of each next token in strings of
frequent n-grams and in repeated endings (figures 3, 6 and 7). Both are read from models, not from scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from assay.audits.attention import Attention
from assay.audits.effects import CLEAN
from assay.core import Explanation, Measure, Metric, Sample
from assay.grouping import grouped
from assay.models.encoder import attention_blocks
from assay.papers.cells import Findings, Key, finding, mean_reading

_SHOWN, _BEFORE = 24, 6  # tokens of a text that a picture shows, and of them before its first copy
_STATIC = "static-embedding"  # word vectors: nothing attends


def attention_map(audit: Attention, measures: Sequence[Measure]) -> Findings:
    """The share of attention that each block gives to the first token, and to each block of what is left.

    Models park attention on the first token (footnote 4 of *blind*), some far more than others.
    """
    texts = [record.gold for corpus in audit.corpora for record in corpus.records]
    attending = [one for one in measures if one.metric.backbone and one.metric.paradigm != _STATIC]
    backbones = {str(one.metric.backbone): one.label for one in reversed(attending)}
    rows: dict[Key, dict[str, Any]] = {}
    for backbone, metric in backbones.items():
        shares = attention_blocks(backbone, texts, block=audit.block, length=audit.length)
        shares[:, :, 1:] /= 1 - shares[:, :, :1]
        named = [_tokens(block, audit.block) for block in range(shares.shape[1])]
        for row, column in np.ndindex(shares.shape[1:]):
            values = shares[:, row, column]
            place = f"{named[row]}/{['first token', *named][column]}"
            figure = mean_reading(pl.Series(values[np.isfinite(values)]))
            if figure is not None:
                rows[metric, place, "attention", None] = finding(figure)
    return Findings(tuple(backbones.values()), rows)


def _tokens(block: int, size: int) -> str:
    """The tokens of a block, counted from 1."""
    return f"{block * size + 1}-{(block + 1) * size}"


@dataclass(frozen=True, slots=True)
class Step:
    """One token of a text, how likely the model found it, and where it stands."""

    token: str
    probability: float
    group: int  # which n-gram of the text, or which copy of its ending; 0 is the text before the copies
    place: int  # the place of its word within the n-gram, or again the copy


def next_tokens(
    texts: Sequence[Mapping[str, Any]], runs: Mapping[str, Findings], measures: Sequence[Measure]
) -> Findings:
    """How likely a model finds each token, by its place within an n-gram or by the copy that it stands in.

    Each of `texts` names a run and a role of it, and says what the texts of that role are made of.
    """
    rows: dict[Key, Mapping[str, Any]] = {}
    drawn: list[dict[str, Any]] = []
    readers = {one.label: one.metric for one in measures if isinstance(one.metric, Metric)}
    for spec in texts:
        for label, metric in readers.items():
            read = [steps for steps in _read_texts(spec, runs, metric) if steps]
            rows |= _by_place(label, spec, read)
            drawn += _picture(spec, label, read[0]) if read else []
    return Findings(tuple(readers), rows, drawn=tuple(drawn))


def _read_texts(
    spec: Mapping[str, Any], runs: Mapping[str, Findings], metric: Metric
) -> Iterator[list[Step]]:
    """The steps of every text of a role; none of a metric that reads more than the text."""
    findings = runs.get(spec["run"])
    if findings is None or findings.run is None or metric.needs:
        return
    cases = findings.run.cases.select("case", "role", "hypothesis")
    clean = {case: text for case, role, text in cases.iter_rows() if role == CLEAN}
    chosen = cases.filter(pl.col("role").is_in([spec["role"], f"{spec['role']}/1"])).head(spec["most"])
    for case, _, text in chosen.iter_rows():
        reason = metric.explain(Sample(text))
        if reason is not None and reason.kind == "tokens":
            yield _steps(reason, spec, len(text.split()), len(clean.get(case, "").split()))


def _steps(reason: Explanation, spec: Mapping[str, Any], words: int, clean_words: int) -> list[Step]:
    """The tokens of a text with the n-gram or the copy of each; a token after a space begins a word."""
    word_numbers = np.cumsum([number > 0 and token[:1].isspace() for number, token in enumerate(reason.rows)])
    steps = []
    for token, (probability,), word in zip(reason.rows, reason.values, map(int, word_numbers), strict=True):
        if "n" in spec:
            group, place = word // spec["n"], word % spec["n"] + 1
        else:
            size = max(1, round((words - clean_words) / spec["copies"]))
            group = place = min(max(0, (word - clean_words) // size + 1), spec["copies"])
        steps.append(Step(token, probability, group, place))
    return steps


def _by_place(
    label: str, spec: Mapping[str, Any], read: Sequence[Sequence[Step]]
) -> dict[Key, dict[str, Any]]:
    """The mean probability of the tokens at each place of an n-gram, or in each copy."""
    by_place = grouped((step for steps in read for step in steps if step.place), lambda step: step.place)
    rows: dict[Key, dict[str, Any]] = {}
    for place, steps in sorted(by_place.items()):
        figure = mean_reading(pl.Series([step.probability for step in steps]))
        if figure is not None:
            rows[label, f"{spec['name']}/{place}", "probability", None] = finding(figure)
    return rows


def _picture(spec: Mapping[str, Any], label: str, steps: Sequence[Step]) -> list[dict[str, Any]]:
    """The tokens at the beginning of a text, or around its first copy, as bars of two colours in turn."""
    first_copy = next((number for number, step in enumerate(steps) if step.place), 0)
    start = max(0, first_copy - _BEFORE)
    panel, shown = f"{spec['title']}, {label}", steps[start : start + _SHOWN]
    return [
        {
            "panel": panel, "of": spec["name"], "label": f"{number} {step.token.strip()}",
            "value": step.probability, "turn": step.group % 2,
        }
        for number, step in enumerate(shown, start + 1)
    ]  # fmt: skip
