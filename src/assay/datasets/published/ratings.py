"""Published ratings, each release recognised by what it holds: a path in, rated texts out.

The readers of summaries, dialogue turns, questions and captions are below; WMT and WebNLG, which are folders
with a layout of their own, have a file each.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.core import Sample
from assay.datasets.preferences import COLUMNS, read_preferences
from assay.datasets.published.webnlg import rating_file, read_webnlg
from assay.datasets.published.wmt import is_wmt, read_wmt
from assay.datasets.ratings import Rated, ratings, read_samples, unique
from assay.datasets.rows import SUFFIXES, Entry, Row, entries, read_json, read_object, read_rows, read_text
from assay.errors import DataError

# SummEval: the experts' ratings keep the criterion's plain name, the crowd's get a prefix (checklist fig. 5).
_ANNOTATORS = {"expert_annotations": "", "turker_annotations": "crowd:"}
# Flickr8k-Expert and Composite.
_EXPERT, _TOKENS = "ExpertAnnotations.txt", "Flickr8k.token.txt"
_COMPOSITE = re.compile(r"^(.+)_(correctness|throughness|thoroughness)\.csv$")
# USR marks its two human responses by these models' names.
_HUMAN_RESPONSES = {"Original Ground Truth", "New Human Generated"}


def read_ratings(path: Path, *, skip_missing: bool = False) -> list[Rated]:
    """Read rated texts from a file or folder, in assay's own columns or a published form."""
    if is_wmt(path):
        return read_wmt(path)
    if path.is_dir():
        return _read_folder(path)
    if path.suffix == ".json":
        return _read_document(path)
    if path.suffix in (".pkl", ".pickle"):
        raise DataError(
            f"{path} is a pickle, which can run code when read; save its content as JSON and give that file"
        )
    if path.suffix in SUFFIXES:
        rows = read_rows(path)
        columns = rows[0].values
        if "expert_annotations" in columns:
            return unique([_summeval(row) for row in rows], path)
        if all(column in columns for column in COLUMNS):
            return read_preferences(path, rows)
    return read_samples(path, skip_missing=skip_missing)


def _read_folder(path: Path) -> list[Rated]:
    webnlg = rating_file(path)
    if webnlg:
        return read_webnlg(webnlg)
    if (path / _EXPERT).is_file():
        return _flickr8k(path)
    if any(_COMPOSITE.match(file.name) for file in path.iterdir()):
        return _composite(path)
    raise DataError(
        f"{path}: no ratings are recognised in this folder; known are WMT metrics-task folders, WebNLG's "
        f"repository, Flickr8k ({_EXPERT}) and Composite (*_correctness.csv) - or give a file"
    )


def _read_document(path: Path) -> list[Rated]:
    if path.name.endswith("_humeval_data_all_teams.json"):
        return read_webnlg(path)
    value = read_json(path)
    members = list(value.values()) if isinstance(value, Mapping) else value
    first = members[0] if isinstance(members, list) and members else None
    if not isinstance(first, Mapping):
        raise DataError(f"{path}: a list or an object of rated entries is expected")
    if "human_judgement" in first and isinstance(value, Mapping):
        return _judgements(path, value)
    readers = {"system_summaries": _realsumm, "responses": _usr, "annotations": _fed, "questions": _questions}
    for column, reader in readers.items():
        if column in first:
            return unique([rated for entry in entries(value, path) for rated in reader(entry)], path)
    raise DataError(
        f"{path}: not a published form assay knows (Flickr8k or Composite, REALSumm, USR, FED, QGEval); "
        "write records as JSON Lines with hypothesis, references and human"
    )


# --- summaries ---


def _summeval(row: Row) -> Rated:
    """SummEval, model_annotations.aligned(.paired).jsonl: three experts, five crowd workers per summary."""
    doc, system = row.text("id"), row.text("model_id")
    hypothesis = row.maybe("decoded") or row.text("summary")
    references = row.texts("references") or row.texts("reference")
    human: dict[str, tuple[float, ...]] = {}
    for column, prefix in _ANNOTATORS.items():
        annotators = row.values.get(column) or []
        if not isinstance(annotators, Sequence) or not all(isinstance(one, Mapping) for one in annotators):
            raise row.fail(f"column {column!r} must be a list of objects, one per annotator")
        for criterion in dict.fromkeys(name for annotator in annotators for name in annotator):
            values = [annotator.get(criterion) for annotator in annotators]
            human[prefix + criterion] = ratings(row, criterion, values)
    sample = Sample(hypothesis, references, row.maybe("text"))
    return Rated(f"{doc}/{system}", sample, system, doc, human)


def _realsumm(entry: Entry) -> list[Rated]:
    """REALSumm's scores dictionary saved as JSON: documents with `ref_summ` and `system_summaries`."""
    doc = str(entry.values.get("doc_id", entry.line))
    reference = entry.text("ref_summ")
    summaries = entry.inner(entry.values.get("system_summaries"), "system_summaries")
    rated = []
    for system, value in summaries.values.items():
        summary = entry.inner(value, system)
        scores = entry.inner(summary.values.get("scores"), "scores").values
        # The release keeps metrics' own scores beside the one human score.
        criteria = [name for name in scores if name.startswith("litepyramid")]
        human = {name: ratings(entry, name, scores[name]) for name in criteria}
        sample = Sample(summary.text("system_summary"), (reference,), entry.maybe("src"))
        rated.append(Rated(f"{doc}/{system}", sample, system, doc, human))
    return rated


# --- dialogue turns and questions ---


def _usr(entry: Entry) -> list[Rated]:
    """USR: a context with `responses`, one per model, each with a list of ratings per criterion."""
    responses = entry.members("responses")
    human_texts = [r.text("response").strip() for r in responses if r.text("model") in _HUMAN_RESPONSES]
    source = "\n".join(part for part in (entry.text("context").strip(), _fact(entry)) if part)
    rated = []
    for response in responses:
        text, system = response.text("response").strip(), response.text("model")
        references = tuple(other for other in human_texts if other != text)
        human = _numbers(response, [name for name in response.values if name not in ("response", "model")])
        name = f"{entry.file.stem}-{entry.line}/{system}"
        rated.append(Rated(name, Sample(text, references, source), system, str(entry.line), human))
    return rated


def _fact(entry: Entry) -> str:
    """What the speaker knew; the release writes underscores where that is nothing."""
    fact = (entry.maybe("fact") or "").strip()
    return "" if fact.strip("_ \n") == "" or fact == "_nofact" else fact


def _fed(entry: Entry) -> list[Rated]:
    """FED: a turn (or a whole dialogue, without a response) with `annotations` by criterion."""
    context, response = entry.text("context").strip(), entry.maybe("response")
    turn = response.split(":", 1)[-1].strip() if response else context
    annotations = entry.inner(entry.values.get("annotations"), "annotations")
    human = _numbers(annotations, list(annotations.values))
    if not response:
        human = {f"dialogue:{criterion}": numbers for criterion, numbers in human.items()}
    sample = Sample(turn, (), context if response else None)
    name = f"{entry.file.stem}-{entry.line}"
    return [Rated(name, sample, entry.maybe("system"), str(entry.line), human)]


def _questions(entry: Entry) -> list[Rated]:
    """QGEval: a passage with an answer, a reference question and rated `questions`."""
    source = f"{entry.text('passage')}\n{entry.text('answer')}"
    rated = []
    for question in entry.members("questions"):
        text, system = question.text("prediction"), question.text("source").split("_", 1)[-1]
        human = _numbers(question, [name for name in question.values if name not in ("prediction", "source")])
        sample = Sample(text, entry.texts("reference"), source)
        name = f"{entry.text('id')}/{question.text('source')}"
        rated.append(Rated(name, sample, system, entry.text("id"), human))
    return rated


def _numbers(entry: Entry, criteria: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """Ratings by criterion; words among them ("N/A - Invalid") do not count."""
    human = {}
    for name in criteria:
        value = entry.values[name]
        listed = value if isinstance(value, list) else [value]
        numbers = [item for item in listed if isinstance(item, int | float) and not isinstance(item, bool)]
        human[name.strip()] = ratings(entry, name, numbers)
    return {name: numbers for name, numbers in human.items() if numbers}


# --- captions ---


def _judgements(path: Path, value: Mapping[str, object]) -> list[Rated]:
    """`{image: {ground_truth: [...], human_judgement: [{caption, rating}]}}`, joined by caption."""
    captions: dict[tuple[str, str], tuple[Entry, list[object]]] = {}
    for image, entry in zip(value, entries(value, path), strict=True):
        for judgement in entry.members("human_judgement"):
            key = (image, judgement.text("caption"))
            captions.setdefault(key, (entry, []))[1].append(judgement.values.get("rating"))
    rated = []
    for number, ((image, text), (entry, values)) in enumerate(captions.items()):
        sample = Sample(text, entry.texts("ground_truth"))
        rated.append(Rated(f"{path.stem}-{number}", sample, None, image, _overall(entry, values)))
    return rated


def _overall(row: Row, value: object) -> dict[str, tuple[float, ...]]:
    numbers = ratings(row, "overall", value)
    return {"overall": numbers} if numbers else {}


def _flickr8k(folder: Path) -> list[Rated]:
    """ExpertAnnotations.txt: image, caption id and three ratings; captions are in Flickr8k.token.txt."""
    captions = _captions(folder / _TOKENS)
    by_image: dict[str, list[str]] = {}
    for name, text in captions.items():
        by_image.setdefault(name.split("#")[0], []).append(text)
    path = folder / _EXPERT
    rated = []
    for number, line in enumerate(_lines(path), start=1):
        cells, row = line.split("\t"), Row({}, path, number)
        if len(cells) < 3 or cells[1] not in captions:
            raise row.fail(f"image, a caption id of {_TOKENS} and ratings are expected, not {line[:60]!r}")
        sample = Sample(captions[cells[1]], tuple(by_image.get(cells[0], ())))
        rated.append(Rated(f"flickr8k-{number - 1}", sample, None, cells[0], _overall(row, cells[2:])))
    return rated


def _captions(path: Path) -> dict[str, str]:
    """`image.jpg#0` to a caption."""
    pairs = [line.split("\t", 1) for line in _lines(path)]
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}


def _composite(folder: Path) -> list[Rated]:
    """Composite (Aditya et al.): one table per dataset and criterion; `Input.*` texts and `Answer.*` ratings.

    References come from Flickr8k.token.txt or `dataset_*.json` (Karpathy's splits) in the same folder.
    """
    references = _composite_references(folder)
    merged: dict[str, Rated] = {}
    for path in sorted(folder.iterdir()):
        match = _COMPOSITE.match(path.name)
        if match:
            for rated in _composite_table(path, match[1], match[2], references):
                known = merged.get(rated.id)
                joined = {**known.human, **rated.human} if known else rated.human
                merged[rated.id] = Rated(rated.id, rated.sample, rated.system, rated.doc, joined)
    return unique(list(merged.values()), folder)


def _composite_table(
    path: Path, dataset: str, criterion: str, references: Mapping[str, tuple[str, ...]]
) -> list[Rated]:
    try:
        table = list(csv.reader(io.StringIO(read_text(path)), delimiter=";")) or [[]]
    except csv.Error as error:
        raise DataError(f"{path}: not a table ({error})") from error
    inputs = [n for n, name in enumerate(table[0]) if name.startswith("Input.")]
    answers = [n for n, name in enumerate(table[0]) if name.startswith("Answer.")]
    if len(inputs) < 2 or len(answers) < len(inputs) - 1:
        raise DataError(f"{path}: columns Input.* (image, captions) and as many Answer.* are expected")
    rated = []
    for number, cells in enumerate(table[1:], start=2):
        row = Row({}, path, number)
        if len(cells) <= max(inputs + answers):
            raise row.fail("not as many cells as the header has columns")
        image = cells[inputs[0]].rsplit("/", 1)[-1]
        texts = references.get(_image_key(image))
        if not image or texts is None:
            continue  # the release has rows without an image
        for place, (text, answer) in enumerate(zip(inputs[1:], answers, strict=False)):
            human = {criterion: ratings(row, criterion, cells[answer])} if cells[answer] else {}
            name = f"{dataset}/{number}/{place}"
            rated.append(Rated(name, Sample(cells[text], texts), str(place), f"{dataset}/{image}", human))
    return rated


def _composite_references(folder: Path) -> dict[str, tuple[str, ...]]:
    references: dict[str, list[str]] = {}
    if (folder / _TOKENS).is_file():
        for name, text in _captions(folder / _TOKENS).items():
            references.setdefault(_image_key(name.split("#")[0]), []).append(text)
    for path in sorted(folder.glob("dataset_*.json")):
        for entry in entries(read_object(path).get("images"), path):
            texts = [sentence.text("raw") for sentence in entry.members("sentences")]
            references.setdefault(_image_key(entry.text("filename")), []).extend(texts)
    if not references:
        raise DataError(f"{folder}: no references; put {_TOKENS} or dataset_coco.json beside the tables")
    return {image: tuple(texts) for image, texts in references.items()}


def _image_key(filename: str) -> str:
    """COCO_val2014_000000123.jpg and 123.jpg are one image; 99_ab12.jpg is known by its number."""
    stem = filename.rsplit(".", 1)[0]
    number = stem.rsplit("_", 1)[-1] if stem.startswith("COCO_") else stem.split("_", 1)[0]
    return number.lstrip("0") or number


def _lines(path: Path) -> list[str]:
    return [line for line in read_text(path).split("\n") if line.strip()]
