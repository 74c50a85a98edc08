"""Texts to perturb: DailyDialog++, WebNLG, SQuAD, newstest and WikiText to records."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from assay.core import Record
from assay.datasets import records as own
from assay.datasets.files import read_text
from assay.datasets.left_out import LeftOut
from assay.datasets.published.formats import malformed, naming_nearest, published_form
from assay.datasets.published.opened import Opened
from assay.datasets.published.ratings import texts_and_triples
from assay.datasets.rows import entries
from assay.errors import DataError
from assay.vocabulary import Task

_LONGEST = 256  # tokens of a paragraph of WikiText (blind app. B.2)


def _record(name: str, task: Task, texts: Sequence[str], source: str | None = None) -> Record:
    """The last text is perturbed and the others are its references; a text alone is its own reference."""
    return Record(name, texts[-1], task, tuple(texts[:-1]) or (texts[-1],), source)


def read_dailydialog(opened: Opened) -> Iterator[Record]:
    """DailyDialog++: the last of the good responses."""
    for row in opened.records:
        texts = row.texts("positive_responses")
        if not texts:
            raise row.fail("column 'positive_responses' must hold a response")
        name = f"{opened.path.stem}-{row.values.get('id', row.line)}"
        yield replace(_record(name, "dialogue", texts), context=row.texts("context"))


def read_squad(opened: Opened) -> Iterator[Record]:
    """SQuAD: questions on a paragraph and an answer."""
    for article in entries(opened.document, opened.path, under="data"):
        for paragraph in article.members("paragraphs"):
            for question in paragraph.members("qas"):
                answers = [answer.text("text") for answer in question.members("answers")]
                if answers:  # version 2 has questions without an answer
                    source = f"{paragraph.text('context')}\n{answers[0]}"
                    name, text = str(question.values.get("id")), question.text("question").strip()
                    yield _record(name, "question-generation", [text], source)


def read_webnlg_records(opened: Opened) -> Iterator[Record]:
    """WebNLG in JSON."""
    for number, (texts, triples) in texts_and_triples(opened.path).items():
        if texts:
            yield _record(f"{opened.path.stem}-{number}", "data-to-text", texts, triples)


def read_webnlg_xml(opened: Opened) -> Iterator[Record]:
    """WebNLG in XML."""
    for number, entry in enumerate(_xml(opened.path).iter("entry"), start=1):
        texts = [text for lex in entry.iter("lex") if (text := _words(lex))]
        triples = "\n".join(_words(triple) for triple in entry.iter("mtriple"))
        if texts:
            yield _record(f"{opened.path.stem}-{number}", "data-to-text", texts, triples)


def read_newstest(opened: Opened) -> Iterator[Record]:
    """Documents with a source and one `ref` per translator; segments are matched by their ids."""
    for place, doc in enumerate(_xml(opened.path).iter("doc")):
        name = doc.get("id") or f"{opened.path.stem}-{place}"
        sources = {seg.get("id"): _words(seg) for side in doc.iter("src") for seg in side.iter("seg")}
        references = [{seg.get("id"): _words(seg) for seg in ref.iter("seg")} for ref in doc.iter("ref")]
        for number, source in sources.items():
            if texts := [ref[number] for ref in references if ref.get(number)]:
                yield _record(f"{name}-{number}", "translation", texts, source)


def read_newstest_folder(opened: Opened) -> Iterator[Record]:
    """WMT sources and references, a line per segment."""
    for file in sorted((opened.path / "sources").glob("*.txt")):
        sources = read_text(file).split("\n")
        files = sorted((opened.path / "references").glob(f"{file.stem}.*.txt"))
        columns = [_as_many(reference, len(sources)) for reference in files]
        for number, (source, *texts) in enumerate(zip(sources, *columns, strict=True)):
            if source.strip() and texts and all(map(str.strip, texts)):
                yield _record(f"{file.stem}-{number}", "translation", texts, source)


def _as_many(path: Path, count: int) -> list[str]:
    """The lines of a file, which must be as many as the source has."""
    lines = read_text(path).split("\n")
    if len(lines) != count:
        raise DataError(f"{path} has {len(lines)} lines where the source has {count}")
    return lines


def read_wikitext(opened: Opened) -> list[Record]:
    """Paragraphs of more than 256 tokens, cleaned; every second one is in the set of references."""
    paragraphs = [line for line in read_text(opened.path).split("\n") if not line.startswith(" = ")]
    texts = [text for line in paragraphs if len(line.split()) > _LONGEST and (text := _cut(cleaned(line)))]
    references = tuple(texts[1::2])
    golds = enumerate(texts[::2])
    return [Record(f"{opened.path.stem}-{n}", text, "open-ended", references) for n, text in golds]


def cleaned(text: str) -> str:
    """A paragraph of WikiText without its artefacts, as app. B.2 of *blind* cleans it.

    >>> cleaned("The 1 @,@ 200 @-@ page book ( 1999 ) , he said , is \\" good \\" .")
    'The 1,200-page book (1999), he said, is "good".'
    """
    text = re.sub(r" @([.,-])@ ", r"\1", text)
    text = re.sub(r"\s+([.,?!:;)%]|'s\b)", r"\1", text)
    text = re.sub(r"\(\s+", "(", text)
    return re.sub(r'"\s*([^"]*?)\s*"', r'"\1"', text).strip()


def _cut(text: str) -> str:
    """The whole sentences among the first 256 tokens, or nothing."""
    start = " ".join(text.split()[:_LONGEST])
    ends = [match.end() for match in re.finditer(r"[.!?][\"')]*(?=\s|$)", start)]
    return start[: ends[-1]] if ends else ""


def _xml(path: Path) -> ElementTree.Element:
    """The document; one with a type or entities of its own is refused, which could grow without end."""
    text = read_text(path)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise DataError(f"{path}: an XML file with a DOCTYPE or entities of its own is not read; remove them")
    try:
        return ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise DataError(f"{path}: not XML ({error}); is it the whole file?") from error


def _words(element: ElementTree.Element) -> str:
    return " ".join("".join(element.itertext()).split())


RECORD_READERS: Mapping[str, Callable[[Opened], Iterable[Record]]] = {
    "dailydialog++": read_dailydialog,
    "webnlg": read_webnlg_records,
    "webnlg-xml": read_webnlg_xml,
    "squad": read_squad,
    "newstest-xml": read_newstest,
    "newstest-folder": read_newstest_folder,
    "wikitext": read_wikitext,
}


def read_records(path: Path, *, task: Task | None = None, left_out: LeftOut | None = None) -> list[Record]:
    """The records of a file or folder, in assay's own columns or a published form.

    Rows of a user's file that cannot be used are counted in `left_out`.
    """
    opened = Opened(path)
    form = published_form(opened, "records")
    if form is not None:
        listed = list(RECORD_READERS[form.name](opened))
        if not listed:
            raise DataError(f"{path}: {form.name}, but no text to perturb is in it")
        return own.among_themselves([replace(record, task=task or record.task) for record in listed])
    if opened.layout == "folder":
        raise malformed(opened, "records")
    with naming_nearest(opened, "records"):
        return own.read_record_table(path, task=task, left_out=left_out)
