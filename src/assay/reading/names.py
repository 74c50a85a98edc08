"""A run as people read it: metrics with their backbones, plug-ins by their own names.

Files, gates and JSON keep the spec that a metric was asked for by; everything that is shown uses these names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import polars as pl

from assay.reading.decisions import remember, remembered_decisions
from assay.reading.results import StoredRun

_PLUGIN = re.compile(r"[^+*]*\.py:\w+(.*)")  # FILE.py:CLASS, then its parameters


def shown_names(run: StoredRun) -> dict[str, str]:
    """The metrics' specs to the names shown; a name that two metrics would share is not used."""
    names = {metric: shown_name(metric, run.about["metrics"][metric]) for metric in run.metrics}
    counts = Counter(names.values())
    return {metric: metric if counts[name] > 1 else name for metric, name in names.items()}


def shown_name(metric: str, about: Mapping[str, Any]) -> str:
    """The spec with the backbone: `bertscore-f [minilm]`; a plug-in's own name in place of its file.

    >>> shown_name("bertscore-f", {"backbone": "org/minilm"}), shown_name("zoo.py:Hash:n=2", {"name": "h"})
    ('bertscore-f [minilm]', 'h:n=2')
    """
    plugin = _PLUGIN.fullmatch(metric)
    own = "-".join(str(about[key]) for key in ("name", "output") if about.get(key))
    name = f"{own}{plugin[1]}" if plugin and own else metric
    name += "-like" if about.get("stand_in") else ""
    backbone = PurePath(str(about.get("backbone") or "")).name
    return f"{name} [{backbone}]" if backbone and backbone not in name else name


def shown(run: StoredRun) -> StoredRun:
    """The run under the names to show."""
    names = shown_names(run)
    about = dict(run.about) | {"metrics": {names[metric]: run.about["metrics"][metric] for metric in names}}
    about["computed"] = _renamed(run.about.get("computed", {}), names)
    seconds = dict(run.about.get("seconds", {}))
    about["seconds"] = seconds | {"scoring": _renamed(seconds.get("scoring", {}), names)}
    changed = {metric: name for metric, name in names.items() if metric != name}
    if not changed:
        return replace(run, about=about)
    rows = run.findings.select("metric", "versus", "sentence").iter_rows()
    sentences = [_renamed_sentence(text, (metric, versus), changed) for metric, versus, text in rows]
    told = pl.Series("sentence", sentences, dtype=pl.String)
    findings = run.findings.with_columns(pl.col("metric", "versus").replace(changed), told)
    scores = run.scores.with_columns(pl.col("metric").replace(changed))
    reasons = [replace(reason, metric=names.get(reason.metric, reason.metric)) for reason in run.explanations]
    renamed = replace(run, about=about, findings=findings, scores=scores, explanations=reasons)
    if decisions := remembered_decisions(run):
        remember(renamed, decisions.renamed(changed))
    return renamed


def _renamed(counts: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(metric, metric): count for metric, count in counts.items()}


def _renamed_sentence(text: str | None, metrics: tuple[str, str | None], names: Mapping[str, str]) -> str:
    """A sentence with the names of the two metrics that it can speak of replaced, the longer spec first."""
    specs = sorted({spec for spec in metrics if spec and spec in names}, key=len, reverse=True)
    if not text or not specs:
        return text or ""
    pattern = "|".join(re.escape(spec) for spec in specs)
    return re.sub(rf"(?<![\w-])(?:{pattern})(?![\w-])", lambda match: names[match[0]], text)
