"""Cases kept from one run to the next, where an audit makes them from this package's own texts.

Parsing and editing thousands of texts takes longer than looking up their scores. The cases of an audit with
its options are one row of the score cache, good for the code, data and models they were made with. A user's
texts are never kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import assay
from assay.core import Audit, Case, Grid, MadeOnce, Sample
from assay.engine.cache import ScoreCache
from assay.errors import DataError
from assay.models.fill import missing
from assay.models.weights import CARRIERS

_KEY = b"cases"
_EDITORS = ("spacy", "lemminflect", "torch", "transformers")  # packages that can change an edit


def cases_of(audit: Audit, scores: ScoreCache) -> list[Case | Grid]:
    """The cases of an audit, made now or kept from an earlier run."""
    if isinstance(audit, MadeOnce) and audit.is_own and scores.keeps and "made" not in vars(audit):
        signature = f"cases of {audit.signature}"
        kept = json.loads(scores.get_text(signature, _KEY) or "{}")
        if kept.get("made by") == _maker():
            audit.recall(list(_unpacked(kept)))
        else:
            packed = {"made by": _maker(), **_packed(audit.made)}
            text = json.dumps(packed, ensure_ascii=False, default=str)
            if list(_unpacked(json.loads(text))) == audit.made:  # else JSON cannot hold what is in `meta`
                scores.put_text(signature, _KEY, text)
    cases = list(audit.cases())
    if not cases:
        raise DataError(f"{audit.name} found nothing to score in its data; {audit.wants}")
    return cases


def _packed(cases: Sequence[Case]) -> dict[str, Any]:
    """The cases as JSON holds them: every text once, and samples by the numbers of their texts."""
    numbers: dict[str, int] = {}

    def number(text: str | None) -> int | None:
        return None if text is None else numbers.setdefault(text, len(numbers))

    rows = []
    for case in cases:
        numbered = {
            role: [number(s.hypothesis), [number(text) for text in s.references], number(s.source), s.id]
            for role, s in case.samples.items()
        }
        rows.append([case.id, numbered, case.slice, case.meta])
    return {"cases": rows, "texts": list(numbers)}


def _unpacked(kept: Mapping[str, Any]) -> Iterator[Case]:
    texts = dict(enumerate(kept["texts"]))

    def sample(hypothesis: int, references: Sequence[int], source: int | None, id_: str) -> Sample:
        told = None if source is None else texts[source]
        return Sample(texts[hypothesis], tuple(texts[number] for number in references), told, id=id_)

    for id_, numbered, slice_, meta in kept["cases"]:
        yield Case(id_, {role: sample(*numbers) for role, numbers in numbered.items()}, slice_, meta)


@cache
def _maker() -> str:
    """What the cases depend on: every file of this package, the models that edit, and what runs them."""
    home = Path(assay.__file__).parent
    files = sorted(path for path in home.rglob("*") if path.suffix not in (".pyc", "") and path.is_file())
    content = hashlib.blake2b(digest_size=16)
    for path in files:
        content.update(f"{path.relative_to(home)} {path.stat().st_size}\n".encode() + path.read_bytes())
    pins = [carrier.pin for carrier in CARRIERS.values()]
    return " ".join([content.hexdigest(), *pins, *map(_version, _EDITORS), missing() or ""])


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
