"""A clone of an authors' repository in, a folder out that has its files under the names recipes expect.

Nothing of the clone is changed: the folder is made for one command, of links, and of tables that are written
anew where the release has another form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile, is_zipfile

from nltk.tokenize.treebank import TreebankWordDetokenizer

from assay.datasets.files import read_text
from assay.datasets.published.opened import read_pickle
from assay.datasets.published.ratings import read_ratings
from assay.datasets.ratings import Rated
from assay.datasets.rows import Row, read_rows
from assay.errors import DataError
from assay.files import toml_file

_DEPTH = 4  # folders above a released file, at most
_Release = Mapping[str, Any]  # an entry of releases.toml
# What the release of *blind* makes plain in WMT's texts before it scores them.
_PLAIN = {"\u2019t": "'t", "\u2019s": "'s", "\u201c": '"', "\u201d": '"'}
_TOKENISED = re.compile(r" [.!?]( ['\"])?$")  # a tokeniser parts the last mark from its word
_CRITERIA = ("coherence", "consistency", "fluency", "relevance", "litepyramid_recall")


@contextmanager
def under_recipe_names(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """The folder itself where it has nothing released; else one that also has releases under our names.

    With it comes what was read as what, and which released files cannot be used, with the reason.
    """
    found = {entry["becomes"]: (entry, path) for entry, path in _releases(folder)}
    if not found:
        yield folder, []
        return
    with TemporaryDirectory(prefix="assay-data-") as made:
        notes = [_place(Path(made) / name, path, entry, folder) for name, (entry, path) in found.items()]
        _link_others(folder, Path(made))
        yield Path(made), notes


def _releases(folder: Path) -> Iterator[tuple[_Release, Path]]:
    """Every released file that the folder has and that is not there under its recipe's name."""
    for entry in toml_file("recipes", "releases")["release"]:
        if not (folder / entry["becomes"]).exists():
            path = next(_search(folder, entry["found"]), None)
            if path is not None:
                yield entry, path


def _search(folder: Path, patterns: Sequence[str]) -> Iterator[Path]:
    """The files of these names in the folder or below it, the nearest first."""
    for pattern in patterns:
        for depth in range(_DEPTH):
            yield from sorted(folder.glob("*/" * depth + pattern))


def _place(target: Path, path: Path, release: _Release, folder: Path) -> str:
    """Put a release where a recipe looks for it; what was done, in a sentence."""
    target.parent.mkdir(parents=True, exist_ok=True)
    name = f"{target.parent.name}/{target.name}" if target.suffix else target.name
    try:
        _FORMS[release["form"]](path, target, release)
    except DataError as error:
        target.unlink(missing_ok=True)
        return f"{path.relative_to(folder)} cannot be used: {error}"
    return f"{path.relative_to(folder)} is read as {name}"


def _link(path: Path, target: Path, _: _Release) -> None:
    target.symlink_to(path.absolute())


def _link_folder(path: Path, target: Path, _: _Release) -> None:
    """A release that is a folder, of which one file was found."""
    target.symlink_to(path.parent.absolute())


def _link_tests(path: Path, target: Path, _: _Release) -> None:
    """Association tests, one JSON document per file, whatever its ending."""
    target.mkdir()
    for file in sorted(path.parent.glob("*.jsonl")):
        (target / f"{file.stem}.json").symlink_to(file.absolute())


def _write_rows(target: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Rows as lines of JSON; a release without a row is refused."""
    lines = [json.dumps(row) for row in rows]
    if not lines:
        raise DataError("nothing in it can be read")
    target.write_text("\n".join(lines) + "\n", "utf-8")


def _write_ratings(path: Path, target: Path, release: _Release) -> None:
    """Rated texts of a published folder, `folders_up` above the file that was found."""
    folder = path.parents[release.get("folders_up", 0)]
    rated = [item for item in read_ratings(folder) if fnmatchcase(item.id, release.get("only", "*"))]
    _write_rows(target, (_rated_row(item, release) for item in rated))


def _rated_row(item: Rated, release: _Release) -> dict[str, Any]:
    """A rated text in assay's own columns, its criteria under the names that recipes give them."""
    criteria: Mapping[str, Sequence[str]] = release.get("criteria", {})
    human = {
        name: item.human[given]
        for name, candidates in criteria.items()
        if (given := next((one for one in candidates if one in item.human), None)) is not None
    }
    row = {
        "id": item.id, "doc": item.doc, "system": item.system, "lp": item.meta.get("language_pair"),
        "hypothesis": item.sample.hypothesis, "references": item.sample.references,
        "source": item.sample.source, "human": human if criteria else item.human,
    }  # fmt: skip
    return {name: value for name, value in row.items() if value is not None}


def _write_rated_summaries(path: Path, target: Path, _: _Release) -> None:
    """Summaries as BARTScore's authors hand them on: a dictionary by document, each with its systems."""
    rows = []
    for name, document in read_pickle(path).items():
        references = document.get("ref_summs") or [document["ref_summ"]]
        for system, output in document["sys_summs"].items():
            scores = {criterion: output["scores"].get(criterion) for criterion in _CRITERIA}
            human = {criterion: score for criterion, score in scores.items() if score is not None}
            row = {"id": f"{name}/{system}", "doc": name, "system": system, "hypothesis": output["sys_summ"]}
            rows.append({**row, "references": references, "human": human})
    _write_rows(target, rows)


def _write_summaries(path: Path, target: Path, release: _Release) -> None:
    """Summaries with the ten references that were written for them, one file beside the other."""
    written = {str(row.values["seg_id"]): row.texts("refs") for row in read_rows(path)}
    documents = next(_search(path.parents[release["folders_up"]], release["beside"]), None)
    if documents is None:
        raise DataError(f"{' or '.join(release['beside'])} is not beside it")
    rows = []
    for name, document in read_pickle(documents).items():
        references = written.get(name.rpartition("-")[2])
        if references:
            texts = {"source": document["src"], "gold": _untokenised(document["ref_summ"])}
            rows.append({"id": name, **texts, "references": references})
    _write_rows(target, rows)


def _untokenised(text: str) -> str:
    """A text without the spaces of a tokeniser."""
    return TreebankWordDetokenizer().detokenize(text.split()) if _TOKENISED.search(text) else text


def _write_translations(path: Path, target: Path, release: _Release) -> None:
    """Lists of lines that torch saved: sources, gold translations (ref-A) and references (ref-B)."""
    lists = _read_saved(path, target)
    lacking = [name for name in ("src", "ref-A", "ref-B") if name not in lists]
    if lacking:
        raise DataError(f"it has no {' and no '.join(lacking)}")
    made_plain = _plain if release["plain"] else str
    rows = zip(*(lists[name] for name in ("src", "ref-A", "ref-B")), strict=True)
    _write_rows(
        target,
        (
            {
                "id": f"{release['name']}-{number}", "source": source, "gold": made_plain(gold),
                "references": [made_plain(reference)],
            }
            for number, (source, gold, reference) in enumerate(rows)
        ),
    )  # fmt: skip


def _read_saved(path: Path, target: Path) -> Any:
    """What torch saved, if it is containers and texts: a pickle within an archive."""
    if not is_zipfile(path):
        raise DataError("it is not saved as torch saves since version 1.6")
    with ZipFile(path) as archive:
        name = next((name for name in archive.namelist() if name.endswith("/data.pkl")), None)
        if name is None:
            raise DataError("it holds no data.pkl")
        scratch = target.with_suffix(".pkl")
        scratch.write_bytes(archive.read(name))
    try:
        return read_pickle(scratch)
    finally:
        scratch.unlink()


def _plain(text: str) -> str:
    for mark, plain in _PLAIN.items():
        text = text.replace(mark, plain)
    return text


def _write_references(path: Path, target: Path, release: _Release) -> None:
    """Texts that templates were applied to: the paper compares each edited text with the text itself."""
    rows = (
        {"id": row.label("id") or str(row.line), "gold": text, "references": [text]}
        for row in read_rows(path)
        if (text := " ".join(row.texts("references")).strip())
    )
    _write_rows(target, ({**row, "task": release["task"]} for row in rows))


def _write_edits(path: Path, target: Path, _: _Release) -> None:
    """Texts with what each template made of them: JSON objects in a row, with or without line breaks."""
    decoder = json.JSONDecoder()
    edits: dict[tuple[str, str], str] = {}
    for file in sorted(path.parent.glob("*.jsonl")):
        text, at = read_text(file), 0
        while at < len(text.rstrip()):
            try:
                edit, at = decoder.raw_decode(text, at)
                edits.setdefault((edit["type"], edit["reference"]), edit["perturbed"])
            except (ValueError, KeyError, TypeError) as error:
                raise DataError(
                    f"{file.name}, character {at}: type, reference and perturbed expected"
                ) from error
            at += len(text[at:]) - len(text[at:].lstrip())
    _write_rows(
        target,
        (
            {"good": good, "bad": bad, "references": [good], "kind": kind.replace("_", "-")}
            for (kind, good), bad in edits.items()
        ),
    )


def _write_pairs(path: Path, target: Path, _: _Release) -> None:
    """Pairs of two lines each, the stereotype first, with the authors' scores in columns."""
    rows = read_rows(path)
    lacking = [name for name in ("candidate", "reference") if name not in rows[0].values]
    if lacking:
        raise DataError(f"{path}: it has no column {' and no column '.join(lacking)}")
    if len(rows) % 2:
        raise DataError(f"{path}: {len(rows)} lines, but a pair is two lines (stereotype, anti-stereotype)")
    metrics = [name for name in rows[0].values if name and _is_score(rows[0], name)]
    pairs = zip(rows[::2], rows[1::2], strict=True)
    _write_rows(target, (_pair(target.stem, place, pair, metrics) for place, pair in enumerate(pairs)))


def _is_score(row: Row, name: str) -> bool:
    """Whether a column holds numbers; others, such as a comment, are not scores."""
    with suppress(DataError):
        return name not in ("candidate", "reference") and row.number(name) is not None
    return False


def _pair(attribute: str, place: int, pair: tuple[Row, Row], metrics: Sequence[str]) -> dict[str, Any]:
    """One pair as the pairs of recipes are written."""
    stereotype, other = pair
    references = [row.text("reference") for row in pair]
    texts = {"stereotype": stereotype.text("candidate"), "anti_stereotype": other.text("candidate")}
    apart = {"anti_reference": references[1]} if references[0] != references[1] else {}
    scores = {name: [row.number(name) for row in pair] for name in metrics}
    names = {"id": f"{attribute}-{place}", "attribute": attribute, "reference": references[0]}
    return {**names, **texts, **apart, "published": scores}


_FORMS: Mapping[str, Callable[[Path, Path, _Release], None]] = {
    "link": _link, "folder": _link_folder, "tests": _link_tests, "pairs": _write_pairs,
    "ratings": _write_ratings, "rated summaries": _write_rated_summaries, "summaries": _write_summaries,
    "translations": _write_translations, "references": _write_references, "edits": _write_edits,
}  # fmt: skip


def _link_others(folder: Path, made: Path) -> None:
    """Everything else that the folder has, beside what was put there."""
    for path in folder.iterdir():
        target = made / path.name
        if not target.exists():
            _link(path, target, {})
        elif path.is_dir():
            _link_others(path, target)
