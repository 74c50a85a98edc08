"""Analyse English text with spaCy: tags, parses, entities and sentences, each text analysed once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from typing import Any

from assay.models.memory import BoundedCache
from assay.models.weights import resolve

_LONGEST = 10_000_000  # characters that the sentencizer may read at once
# What the parser reads at once, which takes 3.5 kB per character: up to the end of a sentence or a word.
_PIECE = re.compile(r"(?s).{1,50000}\Z|.{1,50000}(?<=[.!?])\s+|.{1,50000}\s+|.{1,50000}")
_SURROGATE = re.compile("[\ud800-\udfff]")  # spaCy cannot encode half of a pair


@dataclass(frozen=True, slots=True)
class Token:
    """A word as the parser sees it; `head` is the index of its governor, `entity` its label or ''."""

    text: str
    space: str  # the white space that follows it
    lemma: str
    pos: str
    tag: str
    dep: str
    head: int
    entity: str
    start: int  # character offset
    morph: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Span:
    """Tokens from start to end (exclusive)."""

    start: int
    end: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class Parse:
    """An analysed text; `sentences`, `chunks` (noun phrases) and `entities` are spans of tokens."""

    text: str
    tokens: tuple[Token, ...]
    sentences: tuple[Span, ...]
    chunks: tuple[Span, ...]
    entities: tuple[Span, ...]

    def piece(self, span: Span) -> str:
        """Return the text of a span, without the space after it."""
        return self.text[self.tokens[span.start].start : self.tokens[span.end - 1].end]

    def sentence_texts(self) -> list[str]:
        return [self.piece(span).strip() for span in self.sentences]

    def replaced(self, changes: dict[int, str]) -> str:
        """Return the text with the words at these indices replaced; '' drops a word and one space with it."""
        out: list[str] = [self.text[: self.tokens[0].start] if self.tokens else ""]
        for index, token in enumerate(self.tokens):
            word = changes.get(index, token.text)
            if word or index not in changes:
                out.append(word + token.space)
            elif token.space:
                out[-1] += token.space if out[-1][-1:].isalnum() else ""  # (can)not swim: can swim
            elif index + 1 == len(self.tokens) or self._clings(index + 1, changes):
                out[-1] = out[-1].rstrip(" ")
        return "".join(out)

    def _clings(self, index: int, changes: dict[int, str]) -> bool:
        """Whether the word here is a mark or the end of a contraction, which takes no space before it."""
        word = changes.get(index, self.tokens[index].text)
        return word != "" and not word[0].isalnum()


_PARSES = BoundedCache[Parse](50_000)  # texts


def parse(texts: Sequence[str]) -> list[Parse]:
    """Analyse texts; those analysed lately are not analysed again."""
    distinct = dict.fromkeys(texts)
    known = {text: parsed for text in distinct if (parsed := _PARSES.get(text))}
    missing = [text for text in distinct if text not in known]
    if missing:
        pieces = [_PIECE.findall(_SURROGATE.sub("\ufffd", text)) or [""] for text in missing]
        together = 64 if max(map(len, pieces)) == 1 else 1
        docs = _pipeline().pipe((piece for listed in pieces for piece in listed), batch_size=together)
        for text, listed in zip(missing, pieces, strict=True):
            known[text] = _parsed(text, islice(docs, len(listed)))
            _PARSES.put(text, known[text])
    return [known[text] for text in texts]


def _parsed(text: str, docs: Iterable[Any]) -> Parse:
    """The parse of a text from those of its pieces; nearly every text has one."""
    tokens: list[Token] = []
    sentences: list[Span] = []
    chunks: list[Span] = []
    entities: list[Span] = []
    start = 0
    for doc in docs:
        first = len(tokens)
        for t in doc:
            words = (t.text, t.whitespace_, t.lemma_, t.pos_, t.tag_, t.dep_)
            tokens.append(Token(*words, first + t.head.i, t.ent_type_, start + t.idx, str(t.morph)))
        sentences += [Span(first + s.start, first + s.end) for s in doc.sents]
        chunks += [Span(first + c.start, first + c.end) for c in doc.noun_chunks]
        entities += [Span(first + e.start, first + e.end, e.label_) for e in doc.ents]
        start += len(doc.text)
    return Parse(text, tuple(tokens), tuple(sentences), tuple(chunks), tuple(entities))


def parse_one(text: str) -> Parse:
    """Analyse one text."""
    return _PARSES.get(text) or parse([text])[0]


@cache
def _pipeline() -> Any:
    import warnings

    config = min(resolve("spacy-en").rglob("config.cfg"), key=lambda path: len(path.parts))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations inside spaCy's own dependencies
        import spacy

        return spacy.load(config.parent)


@cache
def _sentencizer() -> Any:
    import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    pipeline.max_length = _LONGEST
    return pipeline


@cache
def spacy_stop_words() -> frozenset[str]:
    """spaCy's English stop words, the ends of contractions among them."""
    from spacy.lang.en.stop_words import STOP_WORDS

    return frozenset(STOP_WORDS)


@lru_cache(maxsize=20_000)
def split_sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text, stripped, by punctuation rules alone; line ends part sentences too."""
    spans = (span for line in text.splitlines() if line.strip() for span in _sentencizer()(line).sents)
    return tuple(sentence for span in spans if (sentence := span.text.strip()))
