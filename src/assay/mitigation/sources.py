"""Files to train on: pairs of assay's own form, plain sentences, MultiNLI, STS-B and StereoSet as published.

Sentences are turned into counterfactual pairs (CDA) by the swap list for gender, and by identity adjectives
before a person for every other attribute, as the embedded corpora are.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from assay.datasets.pairs import read_pair_files
from assay.datasets.rows import SUFFIXES, read_rows, read_text
from assay.datasets.templates import ATTRIBUTES, load_lexicon
from assay.errors import DataError
from assay.mitigation.counterfactuals import (
    Counterfactual,
    Split,
    inserted_pairs,
    names_winobias,
    split_of,
    split_of_template,
    swapped_pairs,
)
from assay.mitigation.ordinary import Ordinary

Found = tuple[dict[Split, list[Counterfactual]], dict[Split, list[Ordinary]]]
_SENTENCES = ("sentence1", "sentence2")  # MultiNLI and STS-B
_PAIRS = " (columns stereotype, anti_stereotype, reference)"
_EXPECTED = (
    f"give pairs{_PAIRS}, sentence1 and sentence2 as in MultiNLI and STS-B, StereoSet's dev.json, "
    f"or sentences, one a line, in a .txt file"
)
_LONGEST = 60  # words


def read_sources(path: Path, attributes: Sequence[str]) -> Found:
    """Counterfactual and ordinary pairs of a file, by split."""
    text = read_text(path)
    if not text.strip():
        raise DataError(f"{path} is empty; {_EXPECTED}")
    pairs: list[Counterfactual] = []
    ordinary: list[Ordinary] = []
    if _is_pairs(text):
        pairs = [_own(pair) for pair in read_pair_files([path])[0]]
    elif path.suffix == ".json":
        pairs = _cda(_stereoset(path, text, attributes), attributes)
    elif _is_sentence_pairs(text):
        both = list(_sentence_pairs(path, text))
        pairs = _cda([(t, i) for i, one, two in both for t in (one, two)], attributes)
        ordinary = [Ordinary(one, two, item) for item, one, two in both]
    elif path.suffix in SUFFIXES:
        raise _not_known(path)
    else:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        pairs = _cda([(line, f"{path.stem}-{n}") for n, line in enumerate(lines)], attributes)
    if not pairs and not ordinary:
        raise _nothing(path, attributes)
    return _split(pairs, ordinary)


def _not_known(path: Path) -> DataError:
    columns = ", ".join(read_rows(path)[0].values)
    return DataError(f"{path} has the columns {columns}; {_EXPECTED}")


def _nothing(path: Path, attributes: Sequence[str]) -> DataError:
    wanted = " or ".join(attributes)
    if not set(attributes) & set(ATTRIBUTES):
        known = ", ".join(ATTRIBUTES)
        return DataError(f"{path}: sentences help only {known}; give pairs of {wanted}{_PAIRS}")
    return DataError(f"{path}: no sentence names {wanted}; nothing to train on")


def _is_pairs(text: str) -> bool:
    head = text.lstrip()[:2000].splitlines()[0] if text.strip() else ""
    return "anti_stereotype" in head or "sent_more" in head


def _is_sentence_pairs(text: str) -> bool:
    head = text.split("\n", 1)[0]
    return all(name in head for name in _SENTENCES)


def _own(pair: Any) -> Counterfactual:
    unit = str(pair.meta.get("template", pair.id))
    return Counterfactual(
        pair.attribute, pair.stereotype, pair.anti_stereotype, pair.references[0], f"own-{unit}"
    )


def _sentence_pairs(path: Path, text: str) -> Iterator[tuple[str, str, str]]:
    """(item, sentence1, sentence2) of JSON Lines or a tab-separated table with a header."""
    if text.lstrip().startswith("{"):
        rows: Iterator[dict[str, Any]] = (json.loads(line) for line in text.splitlines() if line.strip())
    else:
        # MultiNLI and STS-B are written without quoting: a quotation mark is a character like any other.
        rows = iter(csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))
    for number, row in enumerate(rows):
        one, two = (str(row.get(name) or "").strip() for name in _SENTENCES)
        if one and two and max(len(one.split()), len(two.split())) <= _LONGEST:
            yield f"{path.stem}-{number}", one, two


def _stereoset(path: Path, text: str, attributes: Sequence[str]) -> list[tuple[str, str]]:
    """The sentences of StereoSet's context association tests on these attributes, nonsense left out."""
    try:
        parts = json.loads(text)["data"]
        tests = [test for part in ("intrasentence", "intersentence") for test in parts.get(part, [])]
        return [
            (sentence["sentence"], f"{path.stem}-{test['id']}")
            for test in tests
            if test["bias_type"] in attributes
            for sentence in test["sentences"]
            if sentence["gold_label"] != "unrelated"
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} is not StereoSet ({error!r}); give its dev.json, or JSON Lines") from error


def _cda(texts: Sequence[tuple[str, str]], attributes: Sequence[str]) -> list[Counterfactual]:
    """Counterfactuals of sentences for every attribute that has a lexicon."""
    found: list[Counterfactual] = []
    for name in attributes:
        if name == "gender":
            found += swapped_pairs(texts)
        elif name in ATTRIBUTES:
            found += inserted_pairs(texts, load_lexicon(name))
    return found


def _split(pairs: Sequence[Counterfactual], ordinary: Sequence[Ordinary]) -> Found:
    made: Found = ({"train": [], "validation": [], "test": []}, {"train": [], "validation": [], "test": []})
    for pair in pairs:
        part = split_of(pair)
        if part:
            made[0][part].append(pair)
    for one in ordinary:
        if not names_winobias(one.hypothesis, one.reference):
            made[1][split_of_template(one.item)].append(one)
    return made
