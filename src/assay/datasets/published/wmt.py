"""WMT metrics-task folders in the layout of mt-metrics-eval: sources, references, outputs and human scores.

Give a score file (`wmt22/human-scores/en-de.mqm.seg.score`), or the year's folder if it has one language
pair. MQM scores there are already negated penalties: higher is better.
"""

from __future__ import annotations

from pathlib import Path

from assay.core import Sample
from assay.datasets.ratings import Rated, unique
from assay.datasets.rows import below, read_text
from assay.errors import DataError

SUFFIX = ".seg.score"


def is_wmt(path: Path) -> bool:
    """Whether the path is a folder of this layout, or a score file in one."""
    if path.is_dir():
        return (path / "human-scores").is_dir() and (path / "system-outputs").is_dir()
    return path.name.endswith(SUFFIX) and path.parent.name == "human-scores"


def read_wmt(path: Path) -> list[Rated]:
    """One text per system and segment; the segment is the document, within which systems are compared."""
    folder = path if path.is_dir() else path.parent.parent
    files = sorted((folder / "human-scores").glob(f"*{SUFFIX}")) if path.is_dir() else [path]
    pairs = sorted({file.name.split(".", 1)[0] for file in files})
    if len(pairs) != 1:
        names = ", ".join(file.name for file in files) or "no score files"
        raise DataError(f"{folder} holds {len(pairs)} language pairs; give one file of human-scores: {names}")
    scores = {file.name.split(".", 1)[1].removesuffix(SUFFIX): _scores(file) for file in files}
    return unique(_rated(folder, pairs[0], scores), path)


def _scores(path: Path) -> dict[str, list[float | None]]:
    """System to one score per segment; `None` where nobody judged it."""
    scores: dict[str, list[float | None]] = {}
    for number, line in enumerate(_lines(path), start=1):
        cells = line.split()
        try:
            system, score = cells[0], cells[1]
            scores.setdefault(system, []).append(None if score == "None" else float(score))
        except (IndexError, ValueError) as error:
            raise DataError(f"{path}, line {number}: a system and a score (or None) are expected") from error
    return scores


def _rated(folder: Path, pair: str, scores: dict[str, dict[str, list[float | None]]]) -> list[Rated]:
    sources = _lines(folder / "sources" / f"{pair}.txt")
    references = {
        file.name.removeprefix(f"{pair}.").removesuffix(".txt"): _lines(file)
        for file in sorted((folder / "references").glob(f"{pair}.*.txt"))
    }
    documents = _documents(folder / "documents" / f"{pair}.docs", len(sources))
    rated = []
    for system in dict.fromkeys(name for by_system in scores.values() for name in by_system):
        texts = _outputs(folder, pair, system, references)
        others = [lines for name, lines in references.items() if name != system][:1]
        judged = {kind: by_system[system] for kind, by_system in scores.items() if system in by_system}
        for count in (len(texts), *map(len, others), *map(len, judged.values())):
            _check_length(folder, system, len(sources), count)
        for n, source in enumerate(sources):
            human = {kind: (value,) for kind, values in judged.items() if (value := values[n]) is not None}
            sample = Sample(texts[n], tuple(lines[n] for lines in others), source)
            meta = {"document": documents[n]} if documents else {}
            rated.append(Rated(f"{pair}/{n}/{system}", sample, system, f"{pair}/{n}", human, meta))
    return rated


def _outputs(folder: Path, pair: str, system: str, references: dict[str, list[str]]) -> list[str]:
    """A system's texts; a human translation that was judged like a system is among the references."""
    path = below(folder / "system-outputs" / pair, f"{system}.txt")
    if path is None:
        raise DataError(f"{folder}: the system {system!r} names a file outside the folder of outputs")
    return references[system] if system in references and not path.is_file() else _lines(path)


def _documents(path: Path, size: int) -> list[str]:
    lines = [line.split()[-1] for line in _lines(path) if line.strip()] if path.is_file() else []
    return lines if len(lines) == size else []


def _check_length(folder: Path, system: str, sources: int, lines: int) -> None:
    if lines != sources:
        raise DataError(f"{folder}: {system} has {lines} lines where the source has {sources}")


def _lines(path: Path) -> list[str]:
    lines = read_text(path).split("\n")
    return lines[:-1] if lines and not lines[-1] else lines
