"""A clone of an authors' repository in, a folder out that has its files under the names recipes expect.

Nothing of the clone is changed: the folder is made for one command, of links, and of tables that are written
anew where the release has another form.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assay.datasets.rows import Row, read_rows
from assay.errors import DataError
from assay.files import toml_file

_DEPTH = 4  # folders above a released file, at most


@contextmanager
def under_recipe_names(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """The folder itself where it has nothing released; else one that also has releases under our names.

    With it comes what was read as what, and which released files cannot be used, with the reason.
    """
    found = {entry["becomes"]: (path, entry["form"]) for entry, path in _releases(folder)}
    if not found:
        yield folder, []
        return
    with TemporaryDirectory(prefix="assay-data-") as made:
        notes = [_place(Path(made) / name, path, form, folder) for name, (path, form) in found.items()]
        _link_others(folder, Path(made))
        yield Path(made), notes


def _releases(folder: Path) -> Iterator[tuple[Mapping[str, Any], Path]]:
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


def _place(target: Path, path: Path, form: str, folder: Path) -> str:
    """Put a release where a recipe looks for it; what was done, in a sentence."""
    target.parent.mkdir(parents=True, exist_ok=True)
    name = f"{target.parent.name}/{target.name}" if target.suffix else target.name
    try:
        _FORMS[form](path, target)
    except DataError as error:
        return f"{path.relative_to(folder)} cannot be used: {error}"
    return f"{path.relative_to(folder)} is read as {name}"


def _link(path: Path, target: Path) -> None:
    target.symlink_to(path.absolute())


def _link_folder(path: Path, target: Path) -> None:
    """A release that is a folder, of which one file was found."""
    target.symlink_to(path.parent.absolute())


def _link_tests(path: Path, target: Path) -> None:
    """Association tests, one JSON document per file, whatever its ending."""
    target.mkdir()
    for file in sorted(path.parent.glob("*.jsonl")):
        (target / f"{file.stem}.json").symlink_to(file.absolute())


def _write_pairs(path: Path, target: Path) -> None:
    """Pairs of two lines each, the stereotype first, with the authors' scores in columns."""
    rows = read_rows(path)
    if len(rows) % 2:
        raise DataError(f"{path}: {len(rows)} lines, but a pair is two lines (stereotype, anti-stereotype)")
    metrics = [name for name in rows[0].values if name and _is_score(rows[0], name)]
    pairs = zip(rows[::2], rows[1::2], strict=True)
    lines = [_pair(target.stem, place, pair, metrics) for place, pair in enumerate(pairs)]
    target.write_text("\n".join(json.dumps(line) for line in lines) + "\n", "utf-8")


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


_FORMS: Mapping[str, Callable[[Path, Path], None]] = {
    "link": _link, "folder": _link_folder, "tests": _link_tests, "pairs": _write_pairs,
}  # fmt: skip


def _link_others(folder: Path, made: Path) -> None:
    """Everything else that the folder has, beside what was put there."""
    for path in folder.iterdir():
        target = made / path.name
        if not target.exists():
            _link(path, target)
        elif path.is_dir():
            _link_others(path, target)
