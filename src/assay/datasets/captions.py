"""Captions with the right and the wrong gender: embedded, a user's table, or the published PAO form."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from assay.core import Image
from assay.datasets.rows import Row, below, read_rows, with_aliases, with_their_images
from assay.errors import DataError
from assay.files import toml_file
from assay.models.vision import images_at, unreadable

PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif")


@dataclass(frozen=True, slots=True)
class CaptionPair:
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
    frame: str = ""  # which of several wordings

    @property
    def place(self) -> str:
        """Category, concept and group, as folders of images are called."""
        return f"{self.category}/{self.concept}/{self.group}"

    @property
    def neutral_references(self) -> tuple[str, ...]:
        """The references without gender, so that neither caption is better."""
        table = toml_file("caption_concepts", "concepts")["words"]  # a man's to a woman's and one for either
        neutral = {word: either for man, (woman, either) in table.items() for word in (man, woman)}
        pattern = re.compile(rf"\b(an? )?({'|'.join(neutral)})\b")
        texts = self.references
        return tuple(pattern.sub(lambda m: ("a " if m[1] else "") + neutral[m[2]], text) for text in texts)


_Read = tuple[list[CaptionPair], list[str]]  # captions, and notes on those left out


def imbalanced_concepts() -> frozenset[str]:
    """The concepts that appendix A of *caption* leaves out of its check."""
    table = toml_file("caption_concepts", "concepts")
    listed = (entry for category in table["patterns"] for entry in table[category])
    return frozenset(entry["word"] for entry in listed if entry.get("imbalanced"))


def embedded_captions(*, frames: bool = False) -> list[CaptionPair]:
    """One caption per concept and gender, or per wording (`frames`); a profession with two names is one."""
    table = toml_file("caption_concepts", "concepts")
    captions = []
    for category, pattern in table["patterns"].items():
        first = {"man": "man", **pattern}
        entries = [entry for entry in table[category] if "same_as" not in entry]
        for entry, group in product(entries, ("man", "woman")):
            if frames:
                numbered = enumerate([first, *pattern["frames"]], start=1)
                worded = [(_worded(category, entry, group, frame), str(number)) for number, frame in numbered]
                captions += [replace(one, id=f"{one.id}/{n}", count=1, frame=n) for one, n in worded]
            else:
                captions.append(_worded(category, entry, group, first))
    return captions


def _worded(category: str, entry: Mapping[str, Any], group: str, wording: Mapping[str, str]) -> CaptionPair:
    """The captions of one concept with a man or a woman in it, in one wording."""
    man = wording["man"]
    woman, _ = toml_file("caption_concepts", "concepts")["words"][man]
    right, wrong = (man, woman) if group == "man" else (woman, man)
    word, phrase, count = entry["word"], entry["phrase"], entry["men" if group == "man" else "women"]
    good, bad = (wording["candidate"].format(gender=person, phrase=phrase) for person in (right, wrong))
    references = (wording["reference"].format(gender=right, phrase=phrase),)
    return CaptionPair(f"{category}/{word}/{group}", group, category, word, good, bad, references, count)


def read_captions(path: Path, *, skip_missing: bool = False) -> _Read:
    """Read a table of captions; also returns notes on missing images."""
    rows = with_aliases(read_rows(path), ("references",))
    rows, notes = with_their_images(rows, path, skip_missing=skip_missing)
    captions = _with_ids(list(map(_caption, rows)))
    captions, more = _readable(captions, path, skip_missing=skip_missing)
    return captions, [*notes, *more]


def _readable(captions: list[CaptionPair], place: Path, *, skip_missing: bool) -> _Read:
    """The captions whose image can be read; the others are refused, or left out and counted in a note."""
    broken = unreadable([caption.image for caption in captions if caption.image])
    if not broken:
        return captions, []
    named = ", ".join(f"{Path(path).name} ({reason})" for path, reason in list(broken.items())[:5])
    if not skip_missing:
        raise DataError(
            f"{place}: {len(broken)} images cannot be read ({named}); replace them or leave them out with "
            "--skip-missing"
        )
    readable = [caption for caption in captions if not caption.image or caption.image.path not in broken]
    return readable, [f"{place.name}: {len(broken)} images left out, cannot be read: {named}"]


def _caption(row: Row) -> CaptionPair:
    """The published file calls its columns gender, good_caption, bad_caption and n_images."""
    count = row.number(_either(row, "count", "n_images"))
    count = 1.0 if count is None else count
    if count < 1 or not count.is_integer():
        raise row.fail(f"a count of images must be a whole number of at least 1, not {count:g}")
    references, image = row.texts("references"), row.image() if row.has("image") else None
    if not references and image is None:
        raise row.fail("column 'references' (or an image) is missing: what the captions are compared with")
    group, category = row.text(_either(row, "group", "gender")), row.maybe("category") or "all"
    good, bad = (row.text(_either(row, side, f"{side}_caption")) for side in ("good", "bad"))
    name, concept = row.label("id") or "", row.text("concept")
    return CaptionPair(name, group, category, concept, good, bad, references, int(count), image)


def _either(row: Row, name: str, published: str) -> str:
    return published if name not in row.values and published in row.values else name


def _with_ids(captions: Sequence[CaptionPair]) -> list[CaptionPair]:
    """Give each caption an id of its own: category, concept and group, numbered where they repeat."""
    seen: Counter[str] = Counter()
    named = []
    for caption in captions:
        path = caption.id or caption.place
        seen[path] += 1
        named.append(replace(caption, id=path if seen[path] == 1 else f"{path}/{seen[path]}"))
    return named


def with_images(captions: Sequence[CaptionPair], folder: Path, *, skip_missing: bool = False) -> _Read:
    """Pair each caption with every image in CATEGORY/CONCEPT/GROUP; also returns a note on missing ones."""
    paired: list[CaptionPair] = []
    missing: list[str] = []
    for caption in captions:
        pictures = _pictures(folder, caption.place)
        missing += [] if pictures else [caption.place]
        for path, image in zip(pictures, images_at(pictures), strict=True):
            paired.append(replace(caption, id=f"{caption.id}/{path.name}", image=image, count=1))
    if missing and not (skip_missing and paired):
        otherwise = "" if skip_missing else ", or leave these out with --skip-missing"
        raise DataError(
            f"{folder}: no images for {len(missing)} of {len(captions)} captions ({', '.join(missing[:5])}); "
            f"expected CATEGORY/CONCEPT/GROUP/*.jpg{otherwise}"
        )
    listed = [f"{len(missing)} captions left out, no images: {', '.join(missing)}"] if missing else []
    paired, more = _readable(paired, folder, skip_missing=skip_missing)
    return paired, [*listed, *more]


def _pictures(folder: Path, place: str) -> list[Path]:
    """The pictures of a folder below another; none where there is no such folder."""
    inner = below(folder, place)
    files = sorted(inner.iterdir()) if inner and inner.is_dir() else []
    return [path for path in files if path.suffix.lower() in PICTURES]
