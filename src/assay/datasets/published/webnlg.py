"""WebNLG 2020, a copy of its repository: the ratings joined with the submissions and references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from assay.core import Sample
from assay.datasets.files import read_json, read_text
from assay.datasets.published.opened import Opened
from assay.datasets.ratings import Rated, ratings
from assay.datasets.rows import Row, below, entries
from assay.errors import DataError

RATINGS = "_humeval_data_all_teams.json"
_CRITERIA = ("correctness", "data coverage", "fluency", "relevance", "text structure")


def read_webnlg(opened: Opened) -> Iterator[Rated]:
    """The English ratings of the repository, else the Russian ones; or those of the file that is given."""
    if not opened.path.is_dir():
        return _rated(opened.path)
    results = opened.path / "evaluation" / "human-evaluation" / "results"
    return _rated(sorted(results.glob(f"*/*{RATINGS}"))[0])


def _rated(path: Path) -> Iterator[Rated]:
    """Read ratings with their texts, which are line `sample_id` of the system's `primary` file."""
    root, code = path.parents[4], path.parent.name
    references = texts_and_triples(root / "evaluation" / "references" / f"references-{code}.json")
    texts: dict[str, list[str]] = {}
    for entry in entries(read_json(path), path):
        system, number = entry.text("submission_id"), entry.text("sample_id")
        if system not in texts:
            texts[system] = _submission(root, code, system, len(references))
        # At most nine digits: int() refuses thousands of them, and isdigit() accepts "²".
        if not number.isdecimal() or len(number) > 9 or not 0 < int(number) <= len(texts[system]):
            raise entry.fail(f"sample {number[:40]!r} is not a line of {system}'s submission")
        texts_of_people, triples = references.get(number, ((), None))
        sample = Sample(texts[system][int(number) - 1], texts_of_people, triples)
        # "data coverage" is the column DataCoverage.
        columns = {name: entry.values.get(name.title().replace(" ", "")) for name in _CRITERIA}
        human = {name: ratings(entry, name, value) for name, value in columns.items()}
        meta = {key: entry.values[key] for key in ("category", "size", "domain") if key in entry.values}
        yield Rated(f"{number}/{system}", sample, system, number, human, meta)


def _submission(root: Path, code: str, system: str, count: int) -> list[str]:
    """A system's texts, one per reference; empty lines at the end of the file do not count."""
    path = below(root / "submissions" / "rdf2text" / code, system, f"primary.{code}")
    if path is None or not path.is_file():
        what = (
            f"no submission {path}" if path else f"the submission {system!r} names a file outside its folder"
        )
        raise DataError(f"{what}; keep the folders of the challenge's repository together")
    lines = read_text(path).removesuffix("\n").split("\n")
    while len(lines) > count and not lines[-1].strip():
        lines.pop()
    if len(lines) != count:
        raise DataError(
            f"{path} has {len(lines)} texts where the references have {count}; one per line is needed"
        )
    return lines


def texts_and_triples(path: Path) -> dict[str, tuple[tuple[str, ...], str]]:
    """Sample id to its references and its triples, one triple per line."""
    references = {}
    for numbered in entries(read_json(path), path, under="entries"):
        for number, value in numbered.values.items():
            entry = numbered.inner(value, number)
            parts, triples = ("subject", "property", "object"), entry.members("modifiedtripleset")
            lines = [" | ".join(triple.text(part) for part in parts) for triple in triples]
            references[number] = (tuple(map(_lex, entry.members("lexicalisations"))), "\n".join(lines))
    return references


def _lex(entry: Row) -> str:
    inner = next((v for v in entry.values.values() if isinstance(v, Mapping)), None)  # {"1": {"lex": ...}}
    return entry.text("lex") if inner is None else entry.inner(inner, "lexicalisations").text("lex")
