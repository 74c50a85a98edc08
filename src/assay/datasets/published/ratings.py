"""Ratings in every form assay knows, each recognised by what it holds: a path in, rated texts out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.core import Sample
from assay.datasets.published import translation, webnlg
from assay.datasets.published.formats import malformed, naming_nearest, recognise
from assay.datasets.published.mapped import read_mapped
from assay.datasets.published.opened import PICKLES, Opened
from assay.datasets.published.preferences import read_preferences
from assay.datasets.ratings import Rated, by_criterion, read_samples, unique
from assay.datasets.rows import Row
from assay.errors import DataError


def read_annotated(opened: Opened) -> Iterator[Rated]:
    """FED and DSTC10: a turn, or a whole dialogue without a response, with `annotations` by criterion."""
    for entry in opened.records:
        context, response = _context(entry), entry.maybe("response")
        # FED writes the speaker before the response.
        turn = response.removeprefix("System:").strip() if response else context
        human = _numbers(entry.object("annotations"))
        if not response:
            human = {f"dialogue:{criterion}": numbers for criterion, numbers in human.items()}
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


def _numbers(entry: Row) -> dict[str, tuple[float, ...]]:
    """Ratings by criterion; words among them ("N/A - Invalid") do not count."""
    human = {}
    for name, value in entry.values.items():
        listed = value if isinstance(value, list) else [value]
        human[name.strip()] = [item for item in listed if type(item) in (int, float)]
    return by_criterion(entry, human)


CHOSEN_BY = ("domain", "document", "human_system")  # in `meta`, for a choice among texts


@dataclass(frozen=True, slots=True)
class Choice:
    """Which of the rated texts to take, and which human translation to compare with; by default all."""

    language_pairs: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    human_systems: bool = True
    reference: str | None = None


def read_ratings(path: Path, *, skip_missing: bool = False, choice: Choice | None = None) -> list[Rated]:
    """Read rated texts from a file or folder, in assay's own columns or a published form."""
    choice = choice or Choice()
    return _chosen(path, _read(path, skip_missing, choice.reference), choice)


def _read(path: Path, skip_missing: bool, reference: str | None) -> list[Rated]:
    opened = Opened(path, reference)
    if path.name.endswith(translation.SCORES) and path.parent.name == "human-scores":
        return unique(translation.read_folder(opened, [path]), path)
    if path.name.endswith(webnlg.RATINGS):
        return unique(webnlg.read_webnlg(opened), path)
    form = recognise(opened, "ratings", "preferences")
    if form is not None and form.reader:
        return unique(form.read(opened), path)
    if form is not None:
        reader = read_preferences if form.gives == "preferences" else read_mapped
        return unique(reader(opened, form.fields), path)
    if opened.layout != "table" or path.suffix in PICKLES or not opened.columns:
        raise malformed(opened, "ratings", "preferences")
    with naming_nearest(opened, "ratings", "preferences"):
        return read_samples(path, skip_missing=skip_missing)


def _chosen(path: Path, rated: list[Rated], choice: Choice) -> list[Rated]:
    for name, wanted in (("language_pair", choice.language_pairs), ("domain", choice.domains)):
        known = sorted({str(item.meta[name]) for item in rated if name in item.meta})
        for value in wanted:
            if value not in known:
                listed = f"; there are {', '.join(known)}" if known else f"; it names no {name}"
                raise DataError(f"{path}: no {name.replace('_', ' ')} {value!r}{listed}")
        rated = [item for item in rated if not wanted or item.meta.get(name) in wanted]
    return [item for item in rated if choice.human_systems or not item.meta.get("human_system")]
