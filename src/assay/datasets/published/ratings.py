"""Ratings in every form assay knows, each recognised by what it holds: a path in, rated texts out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.core import Sample
from assay.datasets.files import read_json, read_text
from assay.datasets.published import captions, translation
from assay.datasets.published.formats import malformed, naming_nearest, published_form
from assay.datasets.published.mapped import judged_ratings, read_mapped, read_preferences
from assay.datasets.published.opened import PICKLES, Opened
from assay.datasets.ratings import Rated, by_criterion, ratings, read_samples, unique
from assay.datasets.rows import Row, below, entries
from assay.errors import DataError

RATINGS = "_humeval_data_all_teams.json"
CHOSEN_BY = ("domain", "document", "human_system")  # in `meta`, for a choice among texts
_CRITERIA = ("correctness", "data coverage", "fluency", "relevance", "text structure")


def read_annotated(opened: Opened) -> Iterator[Rated]:
    """FED and DSTC10: a turn, or a whole dialogue without a response, with `annotations` by criterion."""
    for entry in opened.records:
        context, response = _context(entry), entry.maybe("response")
        # FED writes the speaker before the response.
        turn = response.removeprefix("System:").strip() if response else context
        entry.object("annotations")  # raises where there is none
        judged = judged_ratings(entry, "annotations", only_numbers=True)
        prefix = "" if response else "dialogue:"
        human = by_criterion(entry, {prefix + name: value for name, value in judged.items()})
        references = tuple(text for text in entry.texts("reference") if text.strip() not in ("", "NO REF"))
        system = entry.maybe("system") or entry.maybe("model")
        name = f"{entry.file.stem}-{entry.line}"
        sample = Sample(turn, references, context if response else None)
        # Turns of one context are one document; without a name it is known by its source.
        yield Rated(name, sample, system, None if response else str(entry.line), human)


def _context(entry: Row) -> str:
    if "dialogue" not in entry.values:
        return "\n".join(entry.texts("context") or (entry.text("context"),)).strip()
    turns = entry.members("dialogue")
    return "\n".join(f"{turn.maybe('speaker') or '-'}: {turn.text('text').strip()}" for turn in turns)


def read_webnlg_ratings(opened: Opened) -> Iterator[Rated]:
    """The English ratings of the repository, else the Russian ones; or those of the file that is given."""
    if not opened.path.is_dir():
        return _webnlg_rated(opened.path)
    results = opened.path / "evaluation" / "human-evaluation" / "results"
    return _webnlg_rated(sorted(results.glob(f"*/*{RATINGS}"))[0])


def _webnlg_rated(path: Path) -> Iterator[Rated]:
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
        outside = f"the submission {system!r} names a file outside its folder"
        what = f"no submission {path}" if path else outside
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


RATING_READERS: Mapping[
    str, Callable[[Opened], Iterable[Rated]]
] = {  # of forms that no table of columns describes
    "wmt-folder": translation.read_folder,
    "wmt-mqm": translation.read_mqm,
    "fed": read_annotated,
    "dstc-turn": read_annotated,
    "dstc-dialogue": read_annotated,
    "webnlg-ratings": read_webnlg_ratings,
    "flickr8k-expert": captions.read_flickr8k,
    "flickr8k-cf": captions.read_flickr8k,
    "composite": captions.read_composite,
    "pascal-50s": captions.read_pascal50s,
}


@dataclass(frozen=True, slots=True)
class RatingsChoice:
    """Which of the rated texts to take, and which human translation to compare with; by default all."""

    language_pairs: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    human_systems: bool = True
    reference: str | None = None


def read_ratings(
    path: Path, *, skip_missing: bool = False, choice: RatingsChoice | None = None
) -> list[Rated]:
    """Read rated texts from a file or folder, in assay's own columns or a published form."""
    choice = choice or RatingsChoice()
    rated = _read(path, skip_missing, choice.reference)
    rated = _among(rated, "language_pair", choice.language_pairs, path)
    rated = _among(rated, "domain", choice.domains, path)
    if choice.human_systems:
        return rated
    return [item for item in rated if not item.meta.get("human_system")]


def _among(rated: list[Rated], name: str, wanted: Sequence[str], path: Path) -> list[Rated]:
    """The texts whose `meta` has one of these values; all of them where none is wanted."""
    if not wanted:
        return rated
    known = sorted({str(item.meta[name]) for item in rated if name in item.meta})
    absent = [value for value in wanted if value not in known]
    if absent:
        listed = f"there are {', '.join(known)}" if known else f"it names no {name}"
        raise DataError(f"{path}: no {name.replace('_', ' ')} {absent[0]!r}; {listed}")
    return [item for item in rated if item.meta.get(name) in wanted]


def _read(path: Path, skip_missing: bool, reference: str | None) -> list[Rated]:
    opened = Opened(path, reference)
    if path.name.endswith(translation.SCORES) and path.parent.name == "human-scores":
        return unique(translation.read_folder(opened, [path]), path)
    if path.name.endswith(RATINGS):
        return unique(read_webnlg_ratings(opened), path)
    form = published_form(opened, "ratings", "preferences")
    if form is not None and form.fields is not None:
        reader = read_preferences if form.gives == "preferences" else read_mapped
        return unique(reader(opened, form.fields), path)
    if form is not None:
        return unique(RATING_READERS[form.name](opened), path)
    if opened.layout != "table" or path.suffix in PICKLES or not opened.columns:
        raise malformed(opened, "ratings", "preferences")
    with naming_nearest(opened, "ratings", "preferences"):
        return read_samples(path, skip_missing=skip_missing)
