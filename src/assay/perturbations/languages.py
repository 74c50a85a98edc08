"""Edits that change what a text says, in any language: parts left out, numbers, names, opposites, negation,
parts that were not translated.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.language import is_unspaced, join_words, language_of, split_sentences_of, split_words
from assay.perturbations import edit
from assay.perturbations.scripts import by_table, tidy
from assay.perturbations.tables import (
    LANGUAGES,
    Cut,
    content_words,
    cuts_by_table,
    in_case_of,
    light_words,
    table,
)

_CLAUSE = re.compile(r".+?(?:[,;](?=\s)|[，；、](?=.)|$)", re.DOTALL)
_LIST_MARK = "、"  # between clauses in Japanese, between the parts of a list in Chinese
_CLAUSE_MARKS = ",;，；、 "
_END = re.compile(r"[.!?…。！？]+[\"'”’»)\]」』]*$")
_MARK_BEFORE = re.compile(r"\s?[,;，；、](?=\s*$)")  # at the end of a clause, with the space of French
_SHORTEST = 3  # words or characters of a clause
_WORD = re.compile(r"(?<![\w'’-])[^\W\d_]{4,}(?![\w'’-])")
_PAIR = re.compile(r"[\u3400-\u9fff]{2}")
_FIGURE = re.compile(r"(?<![\d.,:])[1-9]\d{0,6}(?![\d:A-Za-z]|[.,]\d)")


@dataclass(frozen=True)
class ContentWordDrop(Perturbation):
    """A share of the content words is left out.

    In spaced scripts these are words of four letters or more that are no function words; in Japanese, runs
    of kanji or katakana; in Chinese, words of a list, else pairs of characters without function words.
    """

    name = "content-word-drop"
    criterion = "informativeness"
    levels = (0.1, 0.3)
    for_english = False
    languages = None

    level: float = 0.3

    def apply(self, record: Record, rng: Random) -> str | None:
        found = _content_words(record)
        drawn = edit.draw_share(found, self.level, rng) if len(found) > 1 else []
        return tidy(record.gold, [(start, end, "") for start, end in drawn])


def _content_words(record: Record) -> list[tuple[int, int]]:
    """The places of content words; of pairs of characters where a script without spaces shows too few."""
    text, light = record.gold, light_words(record.language)
    if not is_unspaced(text):
        return [match.span() for match in _WORD.finditer(text) if match[0].lower() not in light]
    known = content_words(text, record.language)
    rest = re.sub("|".join(map(re.escape, light)) or "$^", lambda match: " " * len(match[0]), text)
    return known if len(known) > 1 else [match.span() for match in _PAIR.finditer(rest)]


@dataclass(frozen=True)
class DroppedClause(Perturbation):
    """`level` clauses, between the marks of the script, are left out, but never the one that opens a
    sentence, in Japanese the one that ends it; whole sentences where none has two."""

    name = "dropped-clause"
    criterion = "thoroughness"
    levels = (1, 2)
    for_english = False
    languages = None

    level: int = 1

    def apply(self, record: Record, rng: Random) -> str | None:
        text = record.gold
        for _ in range(self.level):
            text = _without_a_clause(text, record.language, rng)
        return text


def _without_a_clause(text: str, language: str, rng: Random) -> str:
    """The text without one clause of a sentence that has several, else without one of its sentences."""
    sentences = split_sentences_of(text)
    several = [n for n, sentence in enumerate(sentences) if len(_clauses(sentence, language)) > 1]
    if several:
        place = rng.choice(several)
        sentences[place] = _without_one(_clauses(sentences[place], language), language, rng)
    elif len(sentences) > 1:
        del sentences[rng.randrange(len(sentences))]
    else:
        return text
    return join_words(sentences, text)


def _without_one(clauses: list[str], language: str, rng: Random) -> str:
    """A sentence without one of its clauses, but never the first or, in Japanese, the last."""
    bearing = len(clauses) - 1 if language == "ja" else 0  # Japanese has the verb of a sentence at its end
    cut = rng.choice([n for n in range(len(clauses)) if n != bearing])
    rest = clauses[:cut] + clauses[cut + 1 :]
    if cut == len(clauses) - 1:
        end = _END.search(clauses[-1])
        rest[-1] = rest[-1].rstrip(_CLAUSE_MARKS) + (end[0] if end else "")
    return "".join(rest)


def _clauses(sentence: str, language: str) -> list[str]:
    """The clauses of a sentence with their marks; short ones belong to their neighbours."""
    clauses: list[str] = []
    for piece in _CLAUSE.findall(sentence):
        in_list = language != "ja" and bool(clauses) and clauses[-1].endswith(_LIST_MARK)
        if clauses and (in_list or min(_length(piece), _length(clauses[-1])) < _SHORTEST):
            clauses[-1] += piece
        else:
            clauses.append(piece)
    return clauses


def _length(clause: str) -> int:
    return sum(any(map(str.isalnum, word)) for word in split_words(clause))


@dataclass(frozen=True)
class RepeatedClause(Perturbation):
    """`level` clauses stand twice, one after the other."""

    name = "repeated-clause"
    version = 2  # version 1 said no more than one clause of a sentence twice
    criterion = "avoiding repetition"
    levels = (1, 2)
    for_english = False
    languages = None

    level: int = 1

    def apply(self, record: Record, rng: Random) -> str | None:
        sentences = [_clauses(text, record.language) for text in split_sentences_of(record.gold)]
        places = [
            (sentence, clause) for sentence, parts in enumerate(sentences) for clause in range(len(parts))
        ]
        for sentence, clause in sorted(rng.sample(places, min(self.level, len(places))), reverse=True):
            sentences[sentence][clause : clause + 1] = _said_twice(sentences[sentence], clause)
        return join_words(["".join(clauses) for clauses in sentences], record.gold)


def _said_twice(clauses: list[str], place: int) -> list[str]:
    """A clause of a sentence two times; a whole sentence, where it is all one clause."""
    clause = clauses[place]
    if len(clauses) > 1 and place == len(clauses) - 1:
        between = _MARK_BEFORE.search(clauses[-2])
        return [_END.sub("", clause) + (between[0] if between else ","), clause]
    gap = "" if clause[:1] == " " or is_unspaced(clause) else " "
    return [clause, gap + clause]


@dataclass(frozen=True)
class OtherNumbers(Perturbation):
    """A share of the numbers, in figures or words, becomes another one of the same form."""

    name = "other-numbers"
    criterion = "correctness"
    levels = (0.5, 1.0)
    for_english = False
    languages = LANGUAGES

    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        cuts = cuts_by_table(record, "numbers", 1.0, rng)
        written = {place for start, end, _ in cuts for place in range(start, end)}
        for match in _FIGURE.finditer(record.gold):
            other = _other_figure(match[0], rng)
            if other and written.isdisjoint(range(*match.span())):
                cuts.append((*match.span(), other))
        return edit.splice(record.gold, edit.draw_share(sorted(cuts), self.level, rng))


def _other_figure(figure: str, rng: Random) -> str | None:
    """Another number of as many digits, smaller where it has several: 31 may be a day, 2024 a year."""
    value, least = int(figure), 10 ** (len(figure) - 1)
    if len(figure) == 1:
        options = [n for n in range(2, 10) if n != value] if value > 1 else []
    else:
        options = list(range(max(least, value - 60 if len(figure) == 4 else value // 2), value))
    return str(rng.choice(options)) if options else None


@dataclass(frozen=True)
class OtherNames(Perturbation):
    """A share of the names of people, towns and countries that the list has becomes another one."""

    name = "other-names"
    criterion = "correctness"
    levels = (0.5, 1.0)
    for_english = False
    languages = LANGUAGES

    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        return by_table(record, "names", self.level, rng)


@dataclass(frozen=True)
class OppositeWords(Perturbation):
    """`level` words become their opposite, or another of their kind: a day, a month, a relative.

    They are few, since two opposites in one sentence may make it true again.
    """

    name = "opposite-words"
    criterion = "consistency"
    levels = (1, 2)
    for_english = False
    languages = LANGUAGES

    level: int = 1

    def apply(self, record: Record, rng: Random) -> str | None:
        cuts = cuts_by_table(record, "opposites", 1.0, rng)
        return tidy(record.gold, sorted(rng.sample(cuts, min(self.level, len(cuts)))))


@dataclass(frozen=True)
class TurnedNegation(Perturbation):
    """A share of the negations is taken out; where a text has none, one is put in."""

    name = "turned-negation"
    criterion = "consistency"
    levels = (0.5, 1.0)
    for_english = False
    languages = LANGUAGES

    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        cuts = cuts_by_table(record, "negated", self.level, rng) or _first_negated(record, rng)
        return tidy(record.gold, cuts)


def _first_negated(record: Record, rng: Random) -> list[Cut]:
    """What negates the first verb that the table has, but for one that opens a sentence."""
    stated = table(record.language, "stated")
    matches = stated.matches(record.gold) if stated else []
    inside = [(match, options) for match, options in matches if not match[0][0].isupper()]
    first = [(match, match.expand(rng.choice(options))) for match, options in inside[:1]]
    return [(match.start(), match.end(), in_case_of(match, new)) for match, new in first]


@dataclass(frozen=True)
class Untranslated(Perturbation):
    """The last share of a translation stands in the language of its source; all of it at 1.

    Sentences are kept whole where both texts have as many of them.
    """

    name = "untranslated"
    criterion = "adequacy"
    levels = (0.5, 1.0)
    for_english = False
    reads = "source"
    languages = None
    seeded = False

    level: float = 1.0

    def apply(self, record: Record, rng: Random) -> str | None:
        text, source = record.gold, record.source
        if source is None or language_of(source) in ("", record.language):
            return None
        if self.level >= 1:
            return source
        sentences, originals = split_sentences_of(text), split_sentences_of(source)
        if len(sentences) == len(originals) > 1:
            kept = max(1, int(len(sentences) * (1 - self.level)))
            return " ".join([*sentences[:kept], *originals[kept:]])
        words, foreign = split_words(text), split_words(source)
        start = join_words(words[: max(1, int(len(words) * (1 - self.level)))], text)
        return f"{start} {' '.join(foreign[int(len(foreign) * (1 - self.level)) :])}"
