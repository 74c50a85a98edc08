"""Ratings in every form assay knows, each recognised by what it holds: a path in, rated texts out.

WMT metrics-task folders have the layout of mt-metrics-eval: sources, references, outputs and human scores.
Give a score file (`wmt22/human-scores/en-de.mqm.seg.score`), or the year's folder if it has one language
pair. MQM scores there are already negated penalties: higher is better. WebNLG 2020 is a copy of the
challenge's repository; its ratings are joined with the submissions and references.

Pairwise preferences are read as ratings: a text's ratings are the outcomes of its comparisons, 1 for a win,
1/2 for a tie and 0 for a loss. Columns: `system_a, system_b, hypothesis_a, hypothesis_b, preference, doc?,
references?, source?`, where `preference` is "a", "b" or "tie", or a number (above 0 for a, as on a Likert
scale), or an object of these by criterion.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from assay.core import Sample
from assay.datasets.ratings import RIVALS, Rated, by_criterion, ratings, read_samples, unique
from assay.datasets.rows import Entry, Row, below, entries, read_json, read_rows, read_text, text_lines
from assay.errors import DataError

# SummEval: the experts' ratings keep the criterion's plain name, the crowd's get a prefix (checklist fig. 5).
_ANNOTATORS = {"expert_annotations": "", "turker_annotations": "crowd:"}
# Flickr8k-Expert and Composite.
_EXPERT, _TOKENS = "ExpertAnnotations.txt", "Flickr8k.token.txt"
_COMPOSITE = re.compile(r"^(.+)_(correctness|throughness|thoroughness)\.csv$")
# USR marks its two human responses by these models' names.
_HUMAN_RESPONSES = {"Original Ground Truth", "New Human Generated"}
_COMPARED = ("system_a", "system_b", "hypothesis_a", "hypothesis_b", "preference")
_WMT_SCORES = ".seg.score"
_WEBNLG_RATINGS = "_humeval_data_all_teams.json"
_WEBNLG_CRITERIA = {
    "Correctness": "correctness",
    "DataCoverage": "data coverage",
    "Fluency": "fluency",
    "Relevance": "relevance",
    "TextStructure": "text structure",
}


def read_ratings(path: Path, *, skip_missing: bool = False) -> list[Rated]:
    """Read rated texts from a file or folder, in assay's own columns or a published form."""
    if path.is_dir():
        return _read_folder(path)
    if path.name.endswith(_WMT_SCORES) and path.parent.name == "human-scores":
        return _wmt(path.parent.parent, [path])
    if path.suffix == ".json":
        return _read_document(path)
    if path.suffix in (".pkl", ".pickle"):
        raise DataError(
            f"{path} is a pickle, which can run code when read; save its content as JSON and give that file"
        )
    rows = read_rows(path)
    columns = rows[0].values
    if "expert_annotations" in columns:
        return unique(map(_summeval, rows), path)
    if all(column in columns for column in _COMPARED):
        return list(_preferences(path, rows))
    return read_samples(path, skip_missing=skip_missing)


def _read_folder(path: Path) -> list[Rated]:
    if (path / "human-scores").is_dir() and (path / "system-outputs").is_dir():
        return _wmt(path, sorted((path / "human-scores").glob(f"*{_WMT_SCORES}")))
    for language, code in (("english", "en"), ("russian", "ru")):
        file = path.joinpath("evaluation", "human-evaluation", "results", code, language + _WEBNLG_RATINGS)
        if file.is_file():
            return unique(_webnlg(file), file)
    if (path / _EXPERT).is_file():
        return list(_flickr8k(path))
    if any(_COMPOSITE.match(file.name) for file in path.iterdir()):
        return _composite(path)
    raise DataError(
        f"{path}: no ratings are recognised in this folder; known are WMT metrics-task folders, WebNLG's "
        f"repository, Flickr8k ({_EXPERT}) and Composite (*_correctness.csv) - or give a file"
    )


def _read_document(path: Path) -> list[Rated]:
    if path.name.endswith(_WEBNLG_RATINGS):
        return unique(_webnlg(path), path)
    value = read_json(path)
    members = list(value.values()) if isinstance(value, Mapping) else value
    first = members[0] if isinstance(members, list) and members else None
    if not isinstance(first, Mapping):
        raise DataError(f"{path}: a list or an object of rated entries is expected")
    if "human_judgement" in first and isinstance(value, Mapping):
        return list(_judgements(path, value))
    readers = {"system_summaries": _realsumm, "responses": _usr, "annotations": _fed, "questions": _questions}
    for column, reader in readers.items():
        if column in first:
            return unique((rated for entry in entries(value, path) for rated in reader(entry)), path)
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
        if not isinstance(annotators, Sequence) or not all(isinstance(item, Mapping) for item in annotators):
            raise row.fail(f"column {column!r} must be a list of objects, one per annotator")
        for criterion in dict.fromkeys(name for annotator in annotators for name in annotator):
            values = [annotator.get(criterion) for annotator in annotators]
            human[prefix + criterion] = ratings(row, criterion, values)
    sample = Sample(hypothesis, references, row.maybe("text"))
    return Rated(f"{doc}/{system}", sample, system, doc, human)


def _realsumm(entry: Entry) -> Iterator[Rated]:
    """REALSumm's scores dictionary saved as JSON: documents with `ref_summ` and `system_summaries`."""
    doc = str(entry.values.get("doc_id", entry.line))
    reference = entry.text("ref_summ")
    summaries = entry.inner(entry.values.get("system_summaries"), "system_summaries")
    for system, value in summaries.values.items():
        summary = entry.inner(value, system)
        scores = entry.inner(summary.values.get("scores"), "scores").values
        # The release keeps metrics' own scores beside the one human score.
        criteria = [name for name in scores if name.startswith("litepyramid")]
        human = {name: ratings(entry, name, scores[name]) for name in criteria}
        sample = Sample(summary.text("system_summary"), (reference,), entry.maybe("src"))
        yield Rated(f"{doc}/{system}", sample, system, doc, human)


# --- dialogue turns and questions ---


def _usr(entry: Entry) -> Iterator[Rated]:
    """USR: a context with `responses`, one per model, each with a list of ratings per criterion."""
    responses = entry.members("responses")
    human_texts = [r.text("response").strip() for r in responses if r.text("model") in _HUMAN_RESPONSES]
    source = "\n".join(part for part in (entry.text("context").strip(), _fact(entry)) if part)
    for response in responses:
        text, system = response.text("response").strip(), response.text("model")
        references = tuple(other for other in human_texts if other != text)
        human = _numbers(response, "response", "model")
        name = f"{entry.file.stem}-{entry.line}/{system}"
        yield Rated(name, Sample(text, references, source), system, str(entry.line), human)


def _fact(entry: Entry) -> str:
    """What the speaker knew; the release writes underscores where that is nothing."""
    fact = (entry.maybe("fact") or "").strip()
    return "" if fact.strip("_ \n") == "" or fact == "_nofact" else fact


def _fed(entry: Entry) -> Iterator[Rated]:
    """FED: a turn (or a whole dialogue, without a response) with `annotations` by criterion."""
    context, response = entry.text("context").strip(), entry.maybe("response")
    turn = response.split(":", 1)[-1].strip() if response else context
    annotations = entry.inner(entry.values.get("annotations"), "annotations")
    human = _numbers(annotations)
    if not response:
        human = {f"dialogue:{criterion}": numbers for criterion, numbers in human.items()}
    sample = Sample(turn, (), context if response else None)
    name = f"{entry.file.stem}-{entry.line}"
    yield Rated(name, sample, entry.maybe("system"), str(entry.line), human)


def _questions(entry: Entry) -> Iterator[Rated]:
    """QGEval: a passage with an answer, a reference question and rated `questions`."""
    source = f"{entry.text('passage')}\n{entry.text('answer')}"
    for question in entry.members("questions"):
        text, system = question.text("prediction"), question.text("source").split("_", 1)[-1]
        human = _numbers(question, "prediction", "source")
        sample = Sample(text, entry.texts("reference"), source)
        name = f"{entry.text('id')}/{question.text('source')}"
        yield Rated(name, sample, system, entry.text("id"), human)


def _numbers(entry: Entry, *left_out: str) -> dict[str, tuple[float, ...]]:
    """Ratings by criterion; words among them ("N/A - Invalid") do not count."""
    human = {}
    for name, value in entry.values.items():
        if name not in left_out:
            listed = value if isinstance(value, list) else [value]
            human[name.strip()] = [item for item in listed if type(item) in (int, float)]
    return by_criterion(entry, human)


# --- captions ---


def _judgements(path: Path, value: Mapping[str, object]) -> Iterator[Rated]:
    """`{image: {ground_truth: [...], human_judgement: [{caption, rating}]}}`, joined by caption."""
    captions: dict[tuple[str, str], tuple[Entry, list[object]]] = {}
    for image, entry in zip(value, entries(value, path), strict=True):
        for judgement in entry.members("human_judgement"):
            key = (image, judgement.text("caption"))
            captions.setdefault(key, (entry, []))[1].append(judgement.values.get("rating"))
    for number, ((image, text), (entry, values)) in enumerate(captions.items()):
        sample = Sample(text, entry.texts("ground_truth"))
        yield Rated(f"{path.stem}-{number}", sample, None, image, by_criterion(entry, {"overall": values}))


def _flickr8k(folder: Path) -> Iterator[Rated]:
    """ExpertAnnotations.txt: image, caption id and three ratings; captions are in Flickr8k.token.txt."""
    captions = _captions(folder / _TOKENS)
    by_image: dict[str, list[str]] = {}
    for name, text in captions.items():
        by_image.setdefault(name.split("#")[0], []).append(text)
    path = folder / _EXPERT
    for number, line in enumerate(text_lines(path), start=1):
        cells, row = line.split("\t"), Row({}, path, number)
        if len(cells) < 3 or cells[1] not in captions:
            raise row.fail(f"image, a caption id of {_TOKENS} and ratings are expected, not {line[:60]!r}")
        sample = Sample(captions[cells[1]], tuple(by_image.get(cells[0], ())))
        human = by_criterion(row, {"overall": cells[2:]})
        yield Rated(f"flickr8k-{number - 1}", sample, None, cells[0], human)


def _captions(path: Path) -> dict[str, str]:
    """`image.jpg#0` to a caption."""
    pairs = [line.split("\t", 1) for line in text_lines(path)]
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
                before = merged[rated.id].human if rated.id in merged else {}
                merged[rated.id] = replace(rated, human={**before, **rated.human})
    return list(merged.values())


def _composite_table(
    path: Path, dataset: str, criterion: str, references: Mapping[str, tuple[str, ...]]
) -> Iterator[Rated]:
    try:
        table = list(csv.reader(io.StringIO(read_text(path)), delimiter=";")) or [[]]
    except csv.Error as error:
        raise DataError(f"{path}: not a table ({error})") from error
    inputs = [n for n, name in enumerate(table[0]) if name.startswith("Input.")]
    answers = [n for n, name in enumerate(table[0]) if name.startswith("Answer.")]
    if len(inputs) < 2 or len(answers) < len(inputs) - 1:
        raise DataError(f"{path}: columns Input.* (image, captions) and as many Answer.* are expected")
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
            yield Rated(name, Sample(cells[text], texts), str(place), f"{dataset}/{image}", human)


def _composite_references(folder: Path) -> dict[str, tuple[str, ...]]:
    references: dict[str, list[str]] = {}
    if (folder / _TOKENS).is_file():
        for name, text in _captions(folder / _TOKENS).items():
            references.setdefault(_image_key(name.split("#")[0]), []).append(text)
    for path in sorted(folder.glob("dataset_*.json")):
        for entry in entries(read_json(path), path, under="images"):
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


# --- translations: WMT ---


def _wmt(folder: Path, files: Sequence[Path]) -> list[Rated]:
    """One text per system and segment; the segment is the document, within which systems are compared."""
    pairs = sorted({file.name.split(".", 1)[0] for file in files})
    if len(pairs) != 1:
        names = ", ".join(file.name for file in files) or "no score files"
        raise DataError(f"{folder} holds {len(pairs)} language pairs; give one file of human-scores: {names}")
    scores = {file.name.split(".", 1)[1].removesuffix(_WMT_SCORES): _wmt_scores(file) for file in files}
    return list(_wmt_rated(folder, pairs[0], scores))


def _wmt_rated(
    folder: Path, pair: str, scores: Mapping[str, dict[str, list[float | None]]]
) -> Iterator[Rated]:
    sources = _segments(folder / "sources" / f"{pair}.txt")
    references = {
        file.name.removeprefix(f"{pair}.").removesuffix(".txt"): _segments(file)
        for file in sorted((folder / "references").glob(f"{pair}.*.txt"))
    }
    path = folder / "documents" / f"{pair}.docs"
    documents = [line.split()[-1] for line in text_lines(path)] if path.is_file() else []
    for system in dict.fromkeys(name for by_system in scores.values() for name in by_system):
        texts = _wmt_outputs(folder, pair, system, references)
        others = [lines for name, lines in references.items() if name != system][:1]
        judged = {kind: by_system[system] for kind, by_system in scores.items() if system in by_system}
        for count in (len(texts), *map(len, others), *map(len, judged.values())):
            if count != len(sources):
                raise DataError(f"{folder}: {system} has {count} lines where the source has {len(sources)}")
        for n, source in enumerate(sources):
            human = {kind: (value,) for kind, values in judged.items() if (value := values[n]) is not None}
            sample = Sample(texts[n], tuple(lines[n] for lines in others), source)
            meta = {"document": documents[n]} if len(documents) == len(sources) else {}
            yield Rated(f"{pair}/{n}/{system}", sample, system, f"{pair}/{n}", human, meta)


def _wmt_scores(path: Path) -> dict[str, list[float | None]]:
    """System to one score per segment; `None` where nobody judged it."""
    scores: dict[str, list[float | None]] = {}
    for number, line in enumerate(_segments(path), start=1):
        try:
            system, score = line.split()[:2]
            scores.setdefault(system, []).append(None if score == "None" else float(score))
        except ValueError as error:
            raise DataError(f"{path}, line {number}: a system and a score (or None) are expected") from error
    return scores


def _wmt_outputs(folder: Path, pair: str, system: str, references: Mapping[str, list[str]]) -> list[str]:
    """A system's texts; a human translation that was judged like a system is among the references."""
    path = below(folder / "system-outputs" / pair, f"{system}.txt")
    if path is None:
        raise DataError(f"{folder}: the system {system!r} names a file outside the folder of outputs")
    return references[system] if system in references and not path.is_file() else _segments(path)


def _segments(path: Path) -> list[str]:
    lines = read_text(path).split("\n")
    return lines if lines[-1] else lines[:-1]


# --- data to text: WebNLG ---


def _webnlg(path: Path) -> Iterator[Rated]:
    """Read ratings with their texts, which are line `sample_id` of the system's `primary` file."""
    root, code = path.parents[4], path.parent.name
    references = _webnlg_references(root / "evaluation" / "references" / f"references-{code}.json")
    texts: dict[str, list[str]] = {}
    for entry in entries(read_json(path), path):
        system, number = entry.text("submission_id"), entry.text("sample_id")
        if system not in texts:
            texts[system] = _webnlg_submission(root, code, system, len(references))
        # At most nine digits: int() refuses thousands of them, and isdigit() accepts "²".
        if not number.isdecimal() or len(number) > 9 or not 0 < int(number) <= len(texts[system]):
            raise entry.fail(f"sample {number[:40]!r} is not a line of {system}'s submission")
        texts_of_people, triples = references.get(number, ((), None))
        sample = Sample(texts[system][int(number) - 1], texts_of_people, triples)
        human = {
            name: ratings(entry, name, entry.values.get(column)) for column, name in _WEBNLG_CRITERIA.items()
        }
        meta = {key: entry.values[key] for key in ("category", "size", "domain") if key in entry.values}
        yield Rated(f"{number}/{system}", sample, system, number, human, meta)


def _webnlg_submission(root: Path, code: str, system: str, count: int) -> list[str]:
    """A system's texts, one per reference; empty lines at the end of the file do not count."""
    path = below(root / "submissions" / "rdf2text" / code, system, f"primary.{code}")
    if path is None:
        raise DataError(f"the submission {system!r} names a file outside the folder of submissions")
    if not path.is_file():
        raise DataError(f"no submission {path}; keep the folders of the challenge's repository together")
    lines = read_text(path).removesuffix("\n").split("\n")
    while len(lines) > count and not lines[-1].strip():
        lines.pop()
    if len(lines) != count:
        raise DataError(
            f"{path} has {len(lines)} texts where the references have {count}; one per line is needed"
        )
    return lines


def _webnlg_references(path: Path) -> dict[str, tuple[tuple[str, ...], str]]:
    """Sample id to its references and its triples, one triple per line."""
    references = {}
    for numbered in entries(read_json(path), path, under="entries"):
        for number, value in numbered.values.items():
            entry = numbered.inner(value, number)
            texts = tuple(map(_lex, entry.members("lexicalisations")))
            triples = [
                " | ".join(triple.text(part) for part in ("subject", "property", "object"))
                for triple in entry.members("modifiedtripleset")
            ]
            references[number] = (texts, "\n".join(triples))
    return references


def _lex(entry: Entry) -> str:
    inner = next((v for v in entry.values.values() if isinstance(v, Mapping)), None)  # {"1": {"lex": ...}}
    return entry.text("lex") if inner is None else entry.inner(inner, "lexicalisations").text("lex")


# --- preferences ---


def _preferences(path: Path, rows: Sequence[Row]) -> Iterator[Rated]:
    """Every text that was compared, once, with all its outcomes."""
    # (doc, system, hypothesis) to the text and, by criterion, its outcomes with the rivals' names.
    texts: dict[tuple[str, str, str], tuple[Sample, dict[str, list[tuple[float, str]]]]] = {}
    for number, row in enumerate(rows):
        doc = str(number if row.values.get("doc") is None else row.values["doc"])
        sides = []
        for side in ("a", "b"):
            system, hypothesis = row.text(f"system_{side}"), row.text(f"hypothesis_{side}")
            sample = Sample(hypothesis, row.texts("references"), row.maybe("source"))
            sides.append((system, texts.setdefault((doc, system, hypothesis), (sample, {}))[1]))
        (first, outcomes), (second, other_outcomes) = sides
        for criterion, share in _shares(row).items():
            outcomes.setdefault(criterion, []).append((share, second))
            other_outcomes.setdefault(criterion, []).append((1.0 - share, first))
    for number, ((doc, system, _), (sample, outcomes)) in enumerate(texts.items()):
        human = {criterion: tuple(share for share, _ in met) for criterion, met in outcomes.items()}
        rivals = {criterion: [rival for _, rival in met] for criterion, met in outcomes.items()}
        yield Rated(f"{path.stem}-{number}", sample, system, doc, human, {RIVALS: rivals})


def _shares(row: Row) -> dict[str, float]:
    """The outcome for `a` by criterion."""
    given = row.values.get("preference")
    named = given if isinstance(given, Mapping) else {str(row.values.get("criterion") or "overall"): given}
    return {name: _share(row, value) for name, value in named.items() if value not in (None, "")}


def _share(row: Row, value: object) -> float:
    text = str(value).strip().lower()
    shares = {"a": 1.0, "b": 0.0, "tie": 0.5}
    if text in shares:
        return shares[text]
    try:
        number = float(text)
    except ValueError as error:
        raise row.fail(f"column 'preference' must be a, b, tie or a number, not {value!r}") from error
    return 0.5 + 0.5 * ((number > 0) - (number < 0))
