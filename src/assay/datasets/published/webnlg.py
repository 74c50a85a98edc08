"""WebNLG 2020: data-to-text ratings, joined with the submissions and references of the challenge."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from assay.core import Sample
from assay.datasets.ratings import Rated, ratings, unique
from assay.datasets.rows import Entry, below, entries, read_json, read_object, read_text
from assay.errors import DataError

CRITERIA = {
    "Correctness": "correctness",
    "DataCoverage": "data coverage",
    "Fluency": "fluency",
    "Relevance": "relevance",
    "TextStructure": "text structure",
}
LANGUAGES = {"english": "en", "russian": "ru"}
_RESULTS = ("evaluation", "human-evaluation", "results")


def rating_file(folder: Path) -> Path | None:
    """The ratings in a copy of the challenge's repository (English, else Russian), or None."""
    for language, code in LANGUAGES.items():
        path = folder.joinpath(*_RESULTS, code, f"{language}_humeval_data_all_teams.json")
        if path.is_file():
            return path
    return None


def read_webnlg(path: Path) -> list[Rated]:
    """Read ratings with their texts, which are line `sample_id` of the system's `primary` file."""
    root, code = path.parents[4], path.parent.name
    references = _references(root / "evaluation" / "references" / f"references-{code}.json")
    texts: dict[str, list[str]] = {}
    rated = []
    for entry in entries(read_json(path), path):
        system, number = entry.text("submission_id"), entry.text("sample_id")
        if system not in texts:
            texts[system] = _submission(root, code, system, len(references))
        # At most nine digits: int() refuses thousands of them, and isdigit() accepts "²".
        if not number.isdecimal() or len(number) > 9 or not 0 < int(number) <= len(texts[system]):
            raise entry.fail(f"sample {number[:40]!r} is not a line of {system}'s submission")
        texts_of_people, triples = references.get(number, ((), None))
        sample = Sample(texts[system][int(number) - 1], texts_of_people, triples)
        human = {name: ratings(entry, name, entry.values.get(column)) for column, name in CRITERIA.items()}
        meta = {key: entry.values[key] for key in ("category", "size", "domain") if key in entry.values}
        rated.append(Rated(f"{number}/{system}", sample, system, number, human, meta))
    return unique(rated, path)


def _submission(root: Path, code: str, system: str, count: int) -> list[str]:
    """A system's texts, one per reference; empty lines at the end of the file do not count."""
    path = below(root / "submissions" / "rdf2text" / code, system, f"primary.{code}")
    if path is None:
        raise DataError(f"the submission {system!r} names a file outside the folder of submissions")
    if not path.is_file():
        raise DataError(f"no submission {path}; keep the folders of the challenge's repository together")
    lines = read_text(path).removesuffix("\n").split("\n")
    while len(lines) > count and not lines[-1].strip():
        lines.pop()
    if len(lines) != count:
        raise DataError(
            f"{path} has {len(lines)} texts where the references have {count}; one per line is needed"
        )
    return lines


def _references(path: Path) -> dict[str, tuple[tuple[str, ...], str]]:
    """Sample id to its references and its triples, one triple per line."""
    references = {}
    for numbered in entries(read_object(path).get("entries"), path):
        for number, value in numbered.values.items():
            entry = numbered.inner(value, number)
            texts = tuple(map(_lex, entry.members("lexicalisations")))
            references[number] = (texts, "\n".join(map(_triple, entry.members("modifiedtripleset"))))
    return references


def _lex(entry: Entry) -> str:
    inner = next((v for v in entry.values.values() if isinstance(v, Mapping)), None)  # {"1": {"lex": ...}}
    return entry.text("lex") if inner is None else entry.inner(inner, "lexicalisations").text("lex")


def _triple(entry: Entry) -> str:
    return " | ".join(entry.text(part) for part in ("subject", "property", "object"))
