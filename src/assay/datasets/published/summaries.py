"""Rated summaries as released: SummEval's annotations and REALSumm's scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.core import Sample
from assay.datasets.ratings import Rated, ratings, unique
from assay.datasets.rows import Entry, Row, entries

# Experts' ratings keep the criterion's plain name; the crowd's are a group of their own (checklist fig. 5).
_ANNOTATORS = {"expert_annotations": "", "turker_annotations": "crowd:"}


def read_summeval(path: Path, rows: Sequence[Row]) -> list[Rated]:
    """model_annotations.aligned(.paired).jsonl: three experts and five crowd workers a summary."""
    return unique([_summeval(row) for row in rows], path)


def _summeval(row: Row) -> Rated:
    doc, system = row.text("id"), row.text("model_id")
    hypothesis = row.maybe("decoded") or row.text("summary")
    references = row.texts("references") or row.texts("reference")
    human: dict[str, tuple[float, ...]] = {}
    for column, group in _ANNOTATORS.items():
        given = row.values.get(column) or []
        if not isinstance(given, Sequence) or not all(isinstance(one, Mapping) for one in given):
            raise row.fail(f"column {column!r} must be a list of objects, one an annotator")
        for criterion in dict.fromkeys(name for one in given for name in one):
            human[group + criterion] = ratings(row, criterion, [one.get(criterion) for one in given])
    sample = Sample(hypothesis, references, row.maybe("text"))
    return Rated(f"{doc}/{system}", sample, system, doc, human)


def read_realsumm(path: Path, value: object) -> list[Rated]:
    """REALSumm's scores dictionary saved as JSON: documents with `ref_summ` and `system_summaries`."""
    return unique([rated for entry in entries(value, path) for rated in _realsumm(entry)], path)


def _realsumm(entry: Entry) -> list[Rated]:
    doc = str(entry.values.get("doc_id", entry.line))
    reference = entry.text("ref_summ")
    summaries = entry.inner(entry.values.get("system_summaries"), "system_summaries")
    found = []
    for system, given in summaries.values.items():
        summary = entry.inner(given, system)
        scores = entry.inner(summary.values.get("scores"), "scores").values
        # The release keeps metrics' own scores beside the one human one.
        human = {
            name: ratings(entry, name, scores[name]) for name in scores if name.startswith("litepyramid")
        }
        sample = Sample(summary.text("system_summary"), (reference,), entry.maybe("src"))
        found.append(Rated(f"{doc}/{system}", sample, system, doc, human))
    return found
