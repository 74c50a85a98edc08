"""Fluency templates: word order, agreement, function words, punctuation and spelling (checklist, table 5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from random import Random

from assay.core import Perturbation, Record
from assay.files import toml_file, word_set
from assay.models.nlp import Token
from assay.perturbations import edit
from assay.perturbations.checklist.frames import stands_in, words_in
from assay.perturbations.edit import ParseEdit, Text
from assay.vocabulary import CHECKLIST_TASKS

_OTHER_NUMBER = {"is": "are", "are": "is", "am": "is", "was": "were", "were": "was"}
_OTHER_NUMBER |= {"'s": " are", "'re": " is", "'m": " is", "'ve": " has"}
_WRONG_ALREADY = {"NN": "VBP", "NNS": "VBZ"}  # technology that cause: the tag of a noun to that of its verb
_PLAIN_WORD = re.compile(r"(?<!\S)\w+([-'’]\w+)*(?!\S)")  # touches no mark
_FEWEST = 4  # words that are missed as a sentence: "Ok, just leave." is good English
_TRIES = 8  # at misspelling a word so that it is not another word


@dataclass(frozen=True)
class Jumble(Perturbation):
    """The words of each sentence in another order; words that touch a mark, and the first, stay.

    Whole written words move, so that the bag of words stays the same.
    """

    name = "jumble"
    criterion = "fluency"
    title = "jumbled words"
    tasks = CHECKLIST_TASKS

    def apply(self, record: Record, rng: Random) -> str | None:
        parse = edit.read(record.gold)
        cuts = []
        for sentence in reversed(parse.sentences):
            start = parse.tokens[sentence.start].start
            free = list(_PLAIN_WORD.finditer(parse.piece(sentence), 1))
            order = _in_another_order([match[0] for match in free], rng)
            if len(free) >= 3:
                moved = zip(free, order, strict=True)
                cuts += [(start + match.start(), start + match.end(), word) for match, word in moved]
        return edit.splice(parse.text, sorted(cuts))


def _in_another_order(words: list[str], rng: Random) -> list[str]:
    """The words shuffled until their order is another one, if there is another."""
    order = list(words)
    while order == words and len(set(words)) > 1:
        rng.shuffle(order)
    return order


@dataclass(frozen=True)
class Agreement(ParseEdit):
    """Every verb in the present tense, and was and were, disagree with their subject."""

    name = "agreement"
    criterion = "fluency"
    title = "verbs that disagree with their subjects"
    tasks = CHECKLIST_TASKS

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        certain = [i for i in words_in("finite-verb", parse) if _has_certain_number(parse, i)]
        return {i: other for i in certain if (other := _other_number(parse.tokens[i]))}


def _other_number(token: Token) -> str | None:
    """A finite verb in the other number, or None for forms that show no number."""
    word = token.text.lower().replace("’", "'")
    if word in _OTHER_NUMBER:
        return _OTHER_NUMBER[word]
    if token.tag == "VBD" or not word.isalpha():
        return None
    return edit.inflect(edit.lemma_of(word, "verb"), "VBP" if token.tag == "VBZ" else "VBZ")


def _has_certain_number(parse: Text, index: int) -> bool:
    """Whether a finite verb has a subject, and only one number is right for it."""
    token = parse.tokens[index]
    head = token.head if token.dep in ("aux", "auxpass") else index
    governor, subject = parse.tokens[head], parse.child(head, *edit.SUBJECTS)
    if not stands_in("certain-number", parse, head):
        return False
    if subject is None:
        return governor.dep == "conj" and governor.head < head and _has_certain_number(parse, governor.head)
    noun = parse.tokens[governor.head if parse.tokens[subject].tag == "WDT" else subject]
    return token.tag != _WRONG_ALREADY.get(noun.tag)


@dataclass(frozen=True)
class DropArticles(ParseEdit):
    """Articles left out, where one of them is missed."""

    name = "drop-articles"
    criterion = "fluency"
    title = "missing articles"
    tasks = CHECKLIST_TASKS

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        return _without_missed(parse, word_set("words", "articles"), "loose-article", "missed-article")


def _without_missed(parse: Text, words: Container[str], loose: str, missed: str) -> Mapping[int, str]:
    """The words of a list that stand in a frame left out, where one of them is missed."""
    listed = [i for i in range(len(parse.tokens)) if parse.word_at(i) in words]
    places = words_in(loose, parse, listed)
    is_missed = bool(words_in(missed, parse, places))
    return edit.dropped(words_in("alone", parse, places)) if is_missed else {}


@dataclass(frozen=True)
class DropPrepositions(ParseEdit):
    """Prepositions left out, where one of them is missed."""

    name = "drop-prepositions"
    criterion = "fluency"
    title = "missing prepositions"
    tasks = CHECKLIST_TASKS

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        known = word_set("words", "prepositions")
        return _without_missed(parse, known, "loose-preposition", "needed-preposition")


@dataclass(frozen=True)
class DropStopWords(ParseEdit):
    """Function words left out; in a question the question word goes too (table 5, answerability).

    Words that deny stay, don't among them: without them the text would say the contrary, which is no error
    of fluency. So does a name: The Copper Kettle, Mark Can.
    """

    name = "drop-stop-words"
    criterion = "fluency"
    title = "missing function words"
    tasks = CHECKLIST_TASKS

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        targets = set(words_in("loose-stop-word", parse))
        for end in words_in("contraction-end", parse):  # goes with its stem
            targets |= {end} if end - 1 in targets else set()
        rest = set(parse.word_indices()) - targets
        return edit.dropped(targets) if len(rest) >= _FEWEST and not edit.APART.search(parse.text) else {}


@dataclass(frozen=True)
class MisplacedPunctuation(ParseEdit):
    """Commas dropped, question marks turned into full stops, and commas where none belongs."""

    name = "misplaced-punctuation"
    criterion = "fluency"
    title = "misplaced punctuation"
    tasks = CHECKLIST_TASKS

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        changes: dict[int, str] = {}
        for sentence in parse.sentences:
            wrong = words_in("inseparable", parse, range(sentence.start, sentence.end - 1))
            changes |= {i: f"{parse.tokens[i].text}," for i in edit.draw_share(wrong, 0.15, rng)}
        changes |= dict.fromkeys(words_in("asks-or-exclaims", parse), ".")
        commas = words_in("parting-comma", parse) if len(parse.tokens) > 4 else []  # not: Mostly, yes.
        return changes | edit.dropped(commas)


def _misspelt(
    parse: Text, share: float, rng: Random, misspell: Callable[[str, int], str], shortest: int = 4
) -> dict[int, str]:
    """A share of the longer words misspelt, at a place inside the word; none becomes another word."""
    long_words = parse.where(lambda token: len(token.text) >= shortest and token.text.isascii())
    drawn = edit.draw_share(words_in("shows-slips", parse, long_words), share, rng)
    slips = {index: _slip(parse.tokens[index].text, misspell, rng) for index in drawn}
    return {index: slip for index, slip in slips.items() if slip}


def _slip(word: str, misspell: Callable[[str, int], str], rng: Random) -> str | None:
    """A word misspelt so that it is not another word; None where that does not come off in some tries."""
    for _ in range(_TRIES):
        wrong = misspell(word, rng.randrange(1, len(word) - 1))
        is_word = edit.known_classes(wrong) or wrong.lower() in word_set("words", "stop_words")
        if wrong != word and not is_word:
            return wrong
    return None


@dataclass(frozen=True)
class TypoSwap(ParseEdit):
    """Two letters change places: frist."""

    name = "typo-swap"
    criterion = "fluency"
    title = "swapped letters"
    tasks = CHECKLIST_TASKS

    share: float = 0.15

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        return _misspelt(
            parse, self.share, rng, lambda word, at: word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        )


@dataclass(frozen=True)
class TypoDrop(ParseEdit):
    """A letter is left out: evry."""

    name = "typo-drop"
    criterion = "fluency"
    title = "missing letters"
    tasks = CHECKLIST_TASKS

    share: float = 0.15

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        # Too many strings of three letters are words: boat, bot.
        return _misspelt(parse, self.share, rng, lambda word, at: word[:at] + word[at + 1 :], shortest=5)


@dataclass(frozen=True)
class TypoDouble(ParseEdit):
    """A letter is typed twice: everry."""

    name = "typo-double"
    criterion = "fluency"
    title = "doubled letters"
    tasks = CHECKLIST_TASKS

    share: float = 0.15

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        return _misspelt(parse, self.share, rng, lambda word, at: word[: at + 1] + word[at:])


@dataclass(frozen=True)
class TypoNeighbour(ParseEdit):
    """The key beside the right one is hit: ebery."""

    name = "typo-neighbour"
    criterion = "fluency"
    title = "mistyped letters"
    tasks = CHECKLIST_TASKS

    share: float = 0.15

    def changes(self, parse: Text, rng: Random) -> Mapping[int, str]:
        neighbours: dict[str, str] = toml_file("words", "typos")["neighbours"]

        def misspell(word: str, at: int) -> str:
            beside = rng.choice(neighbours[word[at].lower()])
            return word[:at] + (beside.upper() if word[at].isupper() else beside) + word[at + 1 :]

        return _misspelt(parse, self.share, rng, misspell)
