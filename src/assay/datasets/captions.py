"""Captions with the right and the wrong gender: embedded, a user's table, or the published PAO form."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.core import Image
from assay.datasets.lexicon import toml_file
from assay.datasets.rows import Row, below, read_rows
from assay.errors import DataError
from assay.models.weights import file_digest

PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif")
_PERSON = re.compile(r"\b(?:man|woman)\b")


@dataclass(frozen=True, slots=True)
class Caption:
    """A caption with the right gender and one with the wrong one; `count` is the number of images like it."""

    id: str
    group: str
    category: str
    concept: str
    good: str
    bad: str
    references: tuple[str, ...]
    count: int = 1
    image: Image | None = None

    @property
    def neutral_references(self) -> tuple[str, ...]:
        """The references without gender, so that neither caption is better."""
        return tuple(_PERSON.sub("person", text) for text in self.references)


def imbalanced_concepts() -> frozenset[str]:
    """The concepts that appendix A of *caption* leaves out of its check."""
    table = toml_file("caption_concepts", "concepts")
    listed = (entry for category in table["patterns"] for entry in table[category])
    return frozenset(entry["word"] for entry in listed if entry.get("imbalanced"))


def embedded_captions() -> list[Caption]:
    """One caption per concept of the paper and gender; a profession with two names counts once."""
    table = toml_file("caption_concepts", "concepts")
    return [
        _embedded(category, pattern, entry, group)
        for category, pattern in table["patterns"].items()
        for entry in table[category]
        if "same_as" not in entry
        for group in ("man", "woman")
    ]


def _embedded(category: str, pattern: Mapping[str, str], entry: Mapping[str, Any], group: str) -> Caption:
    other, count = ("woman", entry["men"]) if group == "man" else ("man", entry["women"])
    phrase = entry["phrase"]
    return Caption(
        f"{category}/{entry['word']}/{group}", group, category, entry["word"],
        pattern["candidate"].format(gender=group, phrase=phrase),
        pattern["candidate"].format(gender=other, phrase=phrase),
        (pattern["reference"].format(gender=group, phrase=phrase),), count,
    )  # fmt: skip


def read_captions(path: Path, *, skip_missing: bool = False) -> tuple[list[Caption], list[str]]:
    """Read a table of captions; also returns notes on missing images."""
    rows = read_rows(path)
    missing = [row for row in rows if row.has("image") and row.lacks_image()]
    if missing and not skip_missing:
        names = ", ".join(str(row.values["image"]) for row in missing[:5])
        raise DataError(
            f"{path}: {len(missing)} of {len(rows)} images are missing ({names}); put them beside the file "
            "or leave these rows out with --skip-missing"
        )
    skipped = {row.line for row in missing}
    usable = [row for row in rows if row.line not in skipped]
    notes = [f"{path.name}: {len(missing)} rows left out, image missing"] if missing else []
    return _with_ids([_caption(row) for row in usable]), notes


def _caption(row: Row) -> Caption:
    """The published file calls its columns gender, good_caption, bad_caption and n_images."""
    count = row.number(_either(row, "count", "n_images"))
    if count is not None and (count < 1 or count != int(count)):
        raise row.fail(f"a count of images must be a whole number of at least 1, not {count:g}")
    references = row.texts("references") or row.texts("reference")
    if not references and not row.has("image"):
        raise row.fail("column 'references' (or an image) is missing: what the captions are compared with")
    named = row.values.get("id")
    return Caption(
        "" if named is None else str(named),
        row.text(_either(row, "group", "gender")),
        row.maybe("category") or "all",
        row.text("concept"),
        row.text(_either(row, "good", "good_caption")),
        row.text(_either(row, "bad", "bad_caption")),
        references,
        1 if count is None else int(count),
        row.image() if row.has("image") else None,
    )


def _either(row: Row, name: str, published: str) -> str:
    return published if name not in row.values and published in row.values else name


def _with_ids(captions: Sequence[Caption]) -> list[Caption]:
    """Give each caption an id of its own: category, concept and group, numbered where they repeat."""
    seen: Counter[str] = Counter()
    named = []
    for caption in captions:
        path = caption.id or f"{caption.category}/{caption.concept}/{caption.group}"
        seen[path] += 1
        named.append(replace(caption, id=path if seen[path] == 1 else f"{path}/{seen[path]}"))
    return named


def with_images(
    captions: Sequence[Caption], folder: Path, *, skip_missing: bool = False
) -> tuple[list[Caption], list[str]]:
    """Pair each caption with every image in CATEGORY/CONCEPT/GROUP; also returns a note on missing ones."""
    paired: list[Caption] = []
    missing: list[str] = []
    for caption in captions:
        place = below(folder, caption.category, caption.concept, caption.group)
        images = list(_images(place)) if place else []
        if not images:
            missing.append(f"{caption.category}/{caption.concept}/{caption.group}")
        paired += [
            replace(caption, id=f"{caption.id}/{Path(image.path).name}", image=image, count=1)
            for image in images
        ]
    if missing and (not skip_missing or not paired):
        otherwise = "" if skip_missing else ", or leave these out with --skip-missing"
        raise DataError(
            f"{folder}: no images for {len(missing)} of {len(captions)} captions ({', '.join(missing[:5])}); "
            f"expected CATEGORY/CONCEPT/GROUP/*.jpg{otherwise}"
        )
    listed = f"{len(missing)} captions left out, no images: {', '.join(missing)}"
    return paired, [listed] if missing else []


def _images(folder: Path) -> Iterator[Image]:
    if folder.is_dir():
        for path in sorted(folder.iterdir()):
            if path.suffix.lower() in PICTURES:
                yield Image(str(path), file_digest(path))
