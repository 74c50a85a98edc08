"""The user's data in a run: which audit takes which file, and the notes that say so."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain
from pathlib import Path
from typing import Any, get_args

from assay.core import Audit, Measure, Sample
from assay.datasets.columns import as_data, parse_map
from assay.datasets.fresh import fresh_files
from assay.datasets.imported import ImportedScores
from assay.datasets.kinds import Described, describe_data
from assay.datasets.ratings import read_samples
from assay.datasets.rows import first_rows
from assay.errors import DataError, SpecError, suggest
from assay.language import language_name, language_of
from assay.names.registry import audit_class, names
from assay.names.spec import Specifiable, measure
from assay.vocabulary import Language


def resolved(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with `data` as paths, in which `map` has given the columns their names.

    `fresh` stands for the files of texts made anew (`datasets.fresh`).
    """
    given = dict(options)
    columns = parse_map(given.pop("map", None) or {})
    fresh = given.pop("fresh", None)
    if fresh is not None:
        if given.get("data"):
            raise SpecError("--fresh and --data both say which texts are read: give one of them")
        given["data"] = fresh_files(str(fresh))
    given["data"] = as_data(given.get("data"), columns)
    if columns and not given["data"]:
        raise SpecError("--map names columns of a file: give it with --data FILE")
    return {name: value for name, value in given.items() if name != "data" or value}


def metric_list(
    metrics: Specifiable | Sequence[Specifiable] | Mapping[str, Specifiable],
) -> Sequence[Specifiable]:
    """Metrics as a sequence; one of them may stand alone, and a mapping gives them names."""
    if isinstance(metrics, Mapping):
        given = {name: measure(metric) for name, metric in metrics.items()}
        return [replace(metric, label=name, spec=metric.label) for name, metric in given.items()]
    return metrics if isinstance(metrics, list | tuple) else [metrics]  # type: ignore[list-item]


def need_images(measures: Sequence[Measure]) -> bool:
    """Whether any of the metrics looks at images."""
    return any("image" in measure.metric.needs | measure.metric.optional for measure in measures)


def samples_of(
    samples: Any, references: Any, sources: Any, data: Any, columns: Any, *, images: bool
) -> Sequence[Sample]:
    """Samples from what `assay.score` takes: samples, columns of texts, or data."""
    if (samples is None) == (data is None):
        raise SpecError("score needs texts: give samples, hypotheses and references, or data=")
    if isinstance(samples, list | tuple) and all(isinstance(sample, Sample) for sample in samples):
        return samples
    if data is None and (references is not None or _is_texts(samples)):
        return _zipped(samples, references, sources)
    files = as_data(samples if data is None else data, parse_map(columns or {}))
    read = [read_samples(file, skip_missing=not images, rated=False) for file in files]
    return [item.sample for item in chain.from_iterable(read)]


def _zipped(hypotheses: Any, references: Any, sources: Any) -> list[Sample]:
    """Samples from columns of equal length; a reference is a text or a list of texts."""
    columns = {"hypotheses": hypotheses, "references": references, "sources": sources}
    texts = {name: _column(name, column) for name, column in columns.items() if column is not None}
    counts = {name: len(column) for name, column in texts.items()}
    if len(set(counts.values())) > 1:
        sizes = ", ".join(f"{count} {name}" for name, count in counts.items())
        raise DataError(f"{sizes}: give one of each per text, and several references as a list")
    count = counts["hypotheses"]
    several = [_as_texts(given) for given in texts.get("references", [()] * count)]
    origins = texts.get("sources", [None] * count)
    rows = zip(texts["hypotheses"], several, origins, strict=True)
    return [Sample(*cells, id=str(number)) for number, cells in enumerate(rows)]


def _as_texts(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _column(name: str, given: Any) -> list[Any]:
    """A column of texts, or of references; a cell that holds neither is an error."""
    column = [given] if isinstance(given, str) else list(given)
    for row, cell in enumerate(column, start=1):
        if not isinstance(cell, str) and not (name == "references" and _is_texts(cell)):
            raise DataError(f"{name}, row {row}: {cell!r} is no text; fill it in, or leave the row out")
    return column


def _is_texts(given: Any) -> bool:
    return isinstance(given, list | tuple) and all(isinstance(text, str) for text in given)


def scores_in(audit: Audit, columns: Sequence[str]) -> ImportedScores:
    """Columns of a file of rated texts as the scores of metrics; a cell without a number is absent."""
    items, path = getattr(audit, "items", None), next(iter(getattr(audit, "data", ())), None)
    if items is None or path is None:
        raise SpecError(
            f"--scores-from reads columns beside ratings: assay run human takes it, {audit.name} does not"
        )
    known = sorted({name for item in items.rated for name in item.meta})
    table: dict[str, dict[tuple[str, str | int], float]] = {}
    for name in columns:
        if name not in known:
            raise DataError(
                f"{path}: there is no column {name!r} beside its texts and ratings{suggest(name, known)}"
            )
        scores = [
            (item.id, _score(item.meta.get(name), f"{path}, {item.id}: column {name!r}"))
            for item in items.rated
        ]
        table[name] = {(item, "hypothesis"): score for item, score in scores if score is not None}
    return ImportedScores(path, table)


def _score(value: Any, where: str) -> float | None:
    try:
        number = math.nan if value in (None, "") else float(value)
    except (TypeError, ValueError) as error:
        raise DataError(f"{where} holds {value!r}, not a number") from error
    if math.isinf(number):
        raise DataError(f"{where} is infinite; write nothing where there is no score")
    return None if math.isnan(number) else number


def describe_all(options: Mapping[str, Any]) -> list[Described]:
    """The files of a run with several audits; a pair of text files serves audits of clean texts alone."""
    if options.get("references") is not None:
        return [Described(path, frozenset({"records"})) for path in options.get("data", ())]
    return [describe_data(path) for path in options.get("data", ())]


def files_for(
    kind: type[Audit], described: Sequence[Described], options: Mapping[str, Any]
) -> tuple[Path, ...]:
    """The files that an audit can use."""
    takes_texts = "references" in {field.name for field in fields(kind)}  # type: ignore[arg-type]
    if options.get("references") is not None and not takes_texts:
        return ()
    return tuple(file.path for file in described if kind.reads in file.kinds)


def with_language(options: Mapping[str, Any], described: Sequence[Described]) -> dict[str, Any]:
    """The options with the language of the embedded texts: the one asked for, or that of the user's files."""
    if "language" in options:
        return dict(options)
    texts = [text for file in described for text in _first_texts(file)]
    spoken = language_of(" ".join(texts))
    return {**options, "language": spoken} if spoken in get_args(Language) else dict(options)


def _first_texts(file: Described) -> Iterator[str]:
    """The texts to be judged in the first rows of a table; none of other files."""
    columns = {file.aliases.get(name, name) for name in ("gold", "references", "hypothesis")}
    if not columns.intersection(file.columns):
        return
    for row in first_rows(file.path):
        for column in columns.intersection(row.values):
            yield from row.texts(column)[:1]


def speaks(kind: type[Audit], language: str) -> bool:
    """Whether an audit has embedded texts in a language."""
    return language == "en" or "language" in {field.name for field in fields(kind)}  # type: ignore[arg-type]


def language_of_run(audits: Mapping[str, Audit]) -> str:
    """The language of the embedded texts of a run: another one than English where any audit has it."""
    spoken = (getattr(audit, "language", "en") for audit in audits.values())
    return next((language for language in spoken if language != "en"), "en")


def english_alone(audits: Mapping[str, Audit]) -> list[str]:
    """A note on the audits that a run in another language does without, since their texts are English."""
    language = language_of_run(audits)
    others = [name for name in names("audits") if name not in audits and _is_embedded(audit_class(name))]
    absent = [name for name in others if not speaks(audit_class(name), language)]
    if not absent:
        return []
    spoken = language_name(language)
    return [
        f"left out of a run in {spoken}: {', '.join(absent)}, whose texts are English (--only NAME runs one)"
    ]


def _is_embedded(kind: type[Audit]) -> bool:
    """Whether any run has this audit, with embedded texts where a user has none."""
    is_special = kind.needs_data or kind.needs_fresh or kind.of_judges
    return not is_special and not kind.quick.get("skip", False)


def check_used(described: Sequence[Described], audits: Mapping[str, Audit]) -> None:
    """Refuse a file that no audit of the run can use."""
    used = [path for audit in audits.values() for path in getattr(audit, "data", ())]
    for file in described:
        if file.path not in used:
            listed = f" with the columns {', '.join(file.columns)}" if file.columns else ""
            raise DataError(
                f"{file.path}: no audit of this run can use a file{listed}; it needs references (stress, "
                "checklist), hypothesis and human (agreement) or stereotype and anti_stereotype (pairs): "
                "name its columns with --map FIELD=COLUMN"
            )
