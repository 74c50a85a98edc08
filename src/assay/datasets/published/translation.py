"""Rated translations: WMT metrics-task folders, MQM error tables, and people's texts as references.

Scores are higher for better translations: MQM penalties are negated. Where people judged human translations
too, one of them is the reference of the others, and none is its own reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.core import Sample
from assay.datasets.files import read_text, text_lines
from assay.datasets.published.opened import Opened
from assay.datasets.ratings import Rated
from assay.datasets.rows import Row, below
from assay.errors import DataError, suggest
from assay.files import toml_file

_Scores = dict[str, list[float | None]]  # system to one score per segment; None where nobody judged it
SCORES = ".seg.score"
_MARKS = re.compile(r"</?v>")  # MQM marks the erroneous span in the text
_HUMAN = r"(?i)^(human|ref)[-_.]?[a-z0-9]?(\.\d+)?$"
# score_mqm.py of mt-metrics-eval; the longest match of severity/category/subcategory counts.
_WEIGHTS: dict[str, float] = toml_file("columns", "columns")["mqm"]
_SEGMENTS = ("global_seg_id", "globalSegId", "seg_id", "doc_seg_id", "docSegId", "doc_id")


def check_reference(reference: str | None, names: Iterable[str], where: Path | str) -> None:
    """Fail if nobody made the reference that a user chose."""
    known = sorted(set(names))
    if reference not in (None, "all", *known):
        listed = f"; there are {', '.join(known)}" if known else ""
        raise DataError(f"{where}: no reference {reference!r}{suggest(str(reference), known)}{listed}")


def chosen_references(texts: Mapping[str, str], system: str, reference: str | None) -> tuple[str, ...]:
    """The human translations to compare a system with: the chosen or the first one, never its own."""
    others = {name: text for name, text in sorted(texts.items()) if name != system}
    if reference in (None, "all", system):
        return tuple(others.values())[: None if reference == "all" else 1]
    return (others[reference],) if reference in others else ()


def read_folder(opened: Opened, files: Sequence[Path] = ()) -> Iterator[Rated]:
    """One text per system and segment; the segment is the document, within which systems are compared."""
    folder = opened.path.parent.parent if files else opened.path
    files = files or sorted((folder / "human-scores").glob(f"*{SCORES}"))
    by_pair: dict[str, dict[str, _Scores]] = {}
    for file in files:
        pair, _, kind = file.name.removesuffix(SCORES).partition(".")
        by_pair.setdefault(pair, {})[kind] = _scores(file)
    for pair, scores in by_pair.items():
        yield from _folder_rated(opened, folder, pair, scores)


def _folder_rated(opened: Opened, folder: Path, pair: str, scores: Mapping[str, _Scores]) -> Iterator[Rated]:
    sources = _segments(folder / "sources" / f"{pair}.txt")
    files = sorted((folder / "references").glob(f"{pair}.*.txt"))
    references = {file.name.removeprefix(f"{pair}.").removesuffix(".txt"): _segments(file) for file in files}
    check_reference(opened.reference, references, f"{folder}, {pair}")
    where = _documents(folder / "documents" / f"{pair}.docs", len(sources))
    for system in dict.fromkeys(name for by_system in scores.values() for name in by_system):
        texts = _outputs(folder, pair, system, references)
        judged = {kind: by_system[system] for kind, by_system in scores.items() if system in by_system}
        files_of_lines: list[Sized] = [texts, *references.values(), *judged.values()]
        for n_lines in map(len, files_of_lines):
            if n_lines != len(sources):
                raise DataError(f"{folder}: {system} has {n_lines} lines where the source has {len(sources)}")
        by_people = _by_people(is_human=system in references)
        for n, source in enumerate(sources):
            people = {name: lines[n] for name, lines in references.items()}
            sample = Sample(texts[n], chosen_references(people, system, opened.reference), source)
            human = _judged_as(judged, n)
            meta = {"language_pair": pair, **where[n], **by_people}
            yield Rated(f"{pair}/{n}/{system}", sample, system, f"{pair}/{n}", human, meta)


def _judged_as(judged: Mapping[str, Sequence[float | None]], segment: int) -> dict[str, tuple[float, ...]]:
    """The scores of one segment by kind; a kind in which nobody judged it is left out."""
    scores = {kind: values[segment] for kind, values in judged.items()}
    return {kind: (score,) for kind, score in scores.items() if score is not None}


def _by_people(*, is_human: bool) -> dict[str, Any]:
    """What `meta` says of a text that people wrote."""
    return {"human_system": True} if is_human else {}


def _documents(path: Path, count: int) -> list[dict[str, str]]:
    """The domain and the document of each segment, where the folder has them."""
    lines = [line.split() for line in text_lines(path)] if path.is_file() else []
    if len(lines) != count:
        return [{} for _ in range(count)]
    return [{"domain": cells[0]} | {"document": cells[-1]} for cells in lines]


def _scores(path: Path) -> _Scores:
    scores: _Scores = {}
    for number, line in enumerate(_segments(path), start=1):
        try:
            system, score = line.split()[:2]
            scores.setdefault(system, []).append(None if score == "None" else float(score))
        except ValueError as error:
            raise DataError(f"{path}, line {number}: a system and a score (or None) are expected") from error
    return scores


def _outputs(folder: Path, pair: str, system: str, references: Mapping[str, list[str]]) -> list[str]:
    """A system's texts; a human translation that was judged like a system is among the references."""
    path = below(folder / "system-outputs" / pair, f"{system}.txt")
    if path is None:
        raise DataError(f"{folder}: the system {system!r} names a file outside the folder of outputs")
    return references[system] if system in references and not path.is_file() else _segments(path)


def _segments(path: Path) -> list[str]:
    lines = read_text(path).split("\n")
    return lines if lines[-1] else lines[:-1]


def read_mqm(opened: Opened) -> Iterator[Rated]:
    """One rating per rater: the negated sum of the weights of the errors that the rater marked."""
    texts: dict[tuple[str, str], Rated] = {}
    penalties: dict[tuple[str, str], dict[str, float]] = {}
    first = opened.records[0]
    column = next((name for name in _SEGMENTS if name in first.values), None)
    if column is None:
        raise first.fail(f"a column that numbers the segments is missing: one of {', '.join(_SEGMENTS)}")
    for row in opened.records:
        system, doc, rater = row.text("system"), row.text("doc"), row.text("rater")
        key = segment, _ = f"{doc}/{row.text(column)}", system
        source, text = (_MARKS.sub("", row.text(name)).strip() for name in ("source", "target"))
        sample, meta = Sample(text, (), source), {"document": doc}
        texts.setdefault(key, Rated(f"{segment}/{system}", sample, system, segment, {}, meta))
        by_rater = penalties.setdefault(key, {})
        by_rater[rater] = by_rater.get(rater, 0.0) + _weight(row)
    ratings = {key: tuple(0.0 - penalty for penalty in given.values()) for key, given in penalties.items()}
    rated = (replace(item, human={"mqm": ratings[key]}) for key, item in texts.items())
    return with_people(opened, rated, _HUMAN)


def _weight(row: Row) -> float:
    severity = row.text("severity").strip().lower()
    if severity not in _WEIGHTS:
        known = ", ".join(name for name in _WEIGHTS if "/" not in name)
        raise row.fail(f"column 'severity' is {severity!r}; known are {known}")
    names = [severity, *row.text("category").strip().lower().split("/")]
    keys = ("/".join(names[:count]) for count in range(len(names), 0, -1))
    return next(_WEIGHTS[key] for key in keys if key in _WEIGHTS)


def with_people(
    opened: Opened, rated: Iterable[Rated], people: str, reference: str | None = None
) -> Iterator[Rated]:
    """The texts, with those of people on the same document as references; `people` matches their names."""
    items = list(rated)
    texts: dict[str | None, dict[str, str]] = {}
    for item in items:
        if item.system and re.match(people, item.system):
            texts.setdefault(item.doc, {})[item.system] = item.sample.hypothesis
    check_reference(opened.reference, (name for by_name in texts.values() for name in by_name), opened.path)
    for item in items:
        of_people = texts.get(item.doc, {})
        compared = chosen_references(of_people, item.system or "", opened.reference or reference)
        meta = {**item.meta, **_by_people(is_human=item.system in of_people)}
        yield replace(item, sample=replace(item.sample, references=compared), meta=meta)
