"""Published sentences to rows in assay's own columns of stereotype pairs, and notes.

A sentence of WinoBias (Zhao et al., 2018) reads `12 [The clerk] thanked the cook because [she] was hungry.`;
the first bracket that is not a pronoun names the person meant. The reference has it for the pronoun (unfair
sec. 2.2).

CrowS-Pairs (Nangia et al., 2020) has no references; they are built by the rules of *unfair*, app. A. Words
that differ are dropped if they are adjectives, replaced if a neutral word is known, and abstracted to "the
person" if they are names. If no rule fits, the pair is left out and the reason counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache
from itertools import pairwise, zip_longest
from pathlib import Path

from assay.datasets.files import text_lines
from assay.datasets.lexicon import first_names, indefinite_article
from assay.datasets.published.opened import Opened
from assay.datasets.rows import Row, entries
from assay.datasets.templates import ATTRIBUTES, Construction, Group, load_lexicon, load_occupations
from assay.errors import DataError
from assay.models.nlp import Parse, Token, parse

PRO, ANTI = "pro_stereotyped_", "anti_stereotyped_"
_BRACKET = re.compile(r"\[([^\[\]]+)\]")
_GENDERS = ("male", "female")
_PRONOUNS = {name: load_lexicon("gender").groups[name].pronouns for name in _GENDERS}
_GENDER = {form: name for name, pronouns in _PRONOUNS.items() for form in pronouns.slots().values()}
_PRONOUN = re.compile(rf"\b({'|'.join(_GENDER)})\b", re.IGNORECASE)
_SENTENCES = ("sent_more", "sent_less")  # of CrowS-Pairs
_ATTRIBUTES = {"race-color": "race", "socioeconomic": "socioeconomic-status"}
_PERSON = "the person"
_ENGLISH = frozenset({"the", "to", "of", "and", "is", "was", "that", "are", "he", "she", "they", "with"})
Change = tuple[int, int, str, Construction]  # the tokens from start to end become this text
Neutral = tuple[str, Construction]
Read = tuple[list[Row], list[str]]
_BLANK = re.compile(r"\s*\bBLANK\b")
# BBQ words its groups in more than one way.
_BBQ_GROUPS = {"woman": "f", "girl": "f", "female": "f", "man": "m", "boy": "m", "male": "m"}


def is_winobias(path: Path) -> bool:
    """Whether a path is a WinoBias file, or a folder of them."""
    return bool(_pro_files(path)) if path.is_dir() else path.name.startswith((PRO, ANTI))


def read_winobias(path: Path) -> list[Row]:
    """The pairs of a file, or of every file of a folder."""
    files = _pro_files(path) if path.is_dir() else [path.with_name(path.name.replace(ANTI, PRO))]
    return [row for file in files for row in _winobias_rows(file)]


def _pro_files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{PRO}*")) or sorted(folder.glob(f"data/{PRO}*"))


def _winobias_rows(pro: Path) -> Iterator[Row]:
    anti = pro.with_name(pro.name.replace(PRO, ANTI))
    numbers = re.compile(r"^\s*\d+\s+")
    lines, others = ([numbers.sub("", line).strip() for line in text_lines(file)] for file in (pro, anti))
    if len(lines) != len(others):
        raise DataError(f"{pro} has {len(lines)} sentences, {anti.name} has {len(others)}: they must pair")
    name = pro.name.removeprefix(PRO).replace(".txt", "")
    for number, sentences in enumerate(zip(lines, others, strict=True), start=1):
        noun, _ = _bracketed(pro, number, sentences[0])
        yield gender_pair(f"gender-{name}-{number}", sentences, noun, (pro, anti), number)


def gender_pair(
    name: str, sentences: tuple[str, str], noun: str, files: tuple[Path, Path], number: int
) -> Row:
    """The pair of two sentences, the stereotype first, with pronouns in brackets that mean the noun."""
    both = zip(files, sentences, strict=True)
    pronouns, anti_pronouns = (_bracketed(file, number, text, noun)[1] for file, text in both)
    # "her" is "his" or "him": the other sentence shows which (one published sentence lacks a bracket).
    possessive = ["his" in pair for pair in zip_longest(pronouns, anti_pronouns)]
    stereotype, anti_stereotype = (_BRACKET.sub(r"\1", text) for text in sentences)
    reference, anti_reference = (_resolved(text, noun, possessive) for text in sentences)
    values = {"id": name, "attribute": "gender", "stereotype": stereotype, "anti_stereotype": anti_stereotype}
    values |= {"reference": reference, "anti_reference": anti_reference}
    values |= {"group": _GENDER[pronouns[0]], "anti_group": _GENDER[anti_pronouns[0]]}
    values |= {"identity": pronouns[0], "anti_identity": anti_pronouns[0], "construction": "replace"}
    values["occupation"] = re.sub(r"^(the|a|an)\s+", "", noun, flags=re.IGNORECASE)
    return Row(values, files[0], number)


def _bracketed(file: Path, number: int, sentence: str, noun: str | None = None) -> tuple[str, list[str]]:
    """The noun phrase and the pronouns in brackets; the noun may be known already."""
    bracketed = _BRACKET.findall(sentence)
    pronouns = [text.lower() for text in bracketed if text.lower() in _GENDER]
    nouns = [text for text in bracketed if text.lower() not in _GENDER] or [noun] * (noun is not None)
    if not pronouns or not nouns:
        raise DataError(f"{file}, line {number}: expected a [noun] and a [pronoun] in brackets")
    return nouns[0], pronouns


def _resolved(sentence: str, noun: str, possessive: Sequence[bool]) -> str:
    """The sentence with each pronoun replaced by the noun."""
    owns = iter(possessive)

    def replaced(match: re.Match[str]) -> str:
        if match[1].lower() not in _GENDER:
            return match[1]
        phrase = noun[0].upper() + noun[1:] if match.start() == 0 else noun[0].lower() + noun[1:]
        return f"{phrase}'s" if next(owns) else phrase

    return _BRACKET.sub(replaced, sentence)


def read_crows(opened: Opened) -> Read:
    """The pairs with a neutral reference, and a note on why the others have none."""
    path, rows = opened.path, opened.records
    if not _is_english(rows):
        shared = [_shared_words(path, row) for row in rows]
        note = f"{path.name}: not English; each reference holds the words that both sentences share"
        return [row for row in shared if row is not None], [note]
    both = parse([row.text(column).strip() for row in rows for column in _SENTENCES])
    built: list[Row] = []
    failed: Counter[str] = Counter()
    for row, more, less in zip(rows, both[::2], both[1::2], strict=True):
        neutral = _neutralise(more, less, _attribute(row))
        if isinstance(neutral, str):
            failed[neutral] += 1
        else:
            built.append(_crows_pair(path, row, more.text, less.text, neutral))
    reasons = ", ".join(f"{reason}: {count}" for reason, count in failed.most_common())
    note = f"{path.name}: a reference was built for {len(built)} of {len(rows)} pairs"
    return built, [f"{note} ({reasons})" if reasons else note]


def _is_english(rows: Sequence[Row]) -> bool:
    """Whether common English words are at least a twentieth of all words."""
    words = [word for row in rows for word in re.findall(r"\w+", row.text("sent_more").lower())]
    return sum(word in _ENGLISH for word in words) >= len(words) / 20


def _shared_words(path: Path, row: Row) -> Row | None:
    """A pair whose reference leaves out every word that differs; None where nothing would be left."""
    more, less = (row.text(column).split() for column in _SENTENCES)
    matches = SequenceMatcher(None, more, less, autojunk=False).get_matching_blocks()
    shared = [word for match in matches for word in more[match.a : match.a + match.size]]
    if not shared or more == less:
        return None
    neutral = {"reference": " ".join(shared), "construction": "drop"}
    return _crows_pair(path, row, " ".join(more), " ".join(less), neutral)


def _attribute(row: Row) -> str:
    return _ATTRIBUTES.get(row.text("bias_type"), row.text("bias_type"))


def _crows_pair(path: Path, row: Row, more: str, less: str, neutral: dict[str, str]) -> Row:
    texts = {"stereotype": more, "anti_stereotype": less} | neutral
    return Row({"id": f"{_attribute(row)}-{row.line}", "attribute": _attribute(row), **texts}, path, row.line)


def _neutralise(more: Parse, less: Parse, attribute: str) -> dict[str, str] | str:
    """The reference, the first words that differ and how it was made; or why there is none."""
    changes: list[Change] = []
    sides: dict[str, str] = {}
    for start, end, other_start, other_end in _differences(more, less):
        first, second = more.tokens[start:end], less.tokens[other_start:other_end]
        if not first or not second:
            return "a word is in one sentence only"
        change = _neutral(more, start, end, second, attribute)
        if change is None:
            return "no neutral word known"
        changes.append((start, end, *change))
        sides = sides or {"identity": _joined(first), "anti_identity": _joined(second)}
    if not changes:
        return "the sentences are equal"
    kind = max((change[3] for change in changes), key=("drop", "replace", "abstract").index)
    return {"reference": _apply(more, changes), **sides, "construction": kind}


def _differences(more: Parse, less: Parse) -> Iterator[tuple[int, int, int, int]]:
    first, second = ([token.text.lower() for token in parsed.tokens] for parsed in (more, less))
    for tag, a, b, c, d in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        # "a" or "an" depends on the next word, and is adapted when that word changes.
        article = int({*first[a:b][:1], *second[c:d][:1]} == {"a", "an"})
        if tag != "equal" and (a + article < b or c + article < d):
            yield a + article, b, c + article, d


def _neutral(more: Parse, start: int, end: int, second: Sequence[Token], attribute: str) -> Neutral | None:
    """The replacement of the words ('' drops them), or None where no rule fits."""
    first = more.tokens[start:end]
    tokens = (*first, *second)
    if len(first) == len(second) == 1 and all(token.text.lower() in _GENDER for token in tokens):
        return _case(*tokens), "replace"
    adjectives = {word.lower() for group in _groups(attribute) for word in group.adjectives}
    if _can_drop(more, start, end) and all(
        token.text.lower() in adjectives or (token.pos == "ADJ" and token.dep in ("amod", "conj"))
        for token in tokens
    ):
        return "", "drop"
    neutral, other = (_nouns(attribute).get(_joined(words).lower()) for words in (first, second))
    if neutral and other and _stands_as_noun(more, start, end):
        return neutral, "replace"
    if all(token.pos == "PROPN" or token.text in _names() for token in tokens):
        return _abstract(more, start, end, tokens)
    return None


def _stands_as_noun(more: Parse, start: int, end: int) -> bool:
    """Whether no noun follows, and a singular has its determiner (`Christian` may be a first name)."""
    after = more.tokens[end].pos if end < len(more.tokens) else ""
    bare = start == 0 or more.tokens[start - 1].pos not in ("DET", "PRON", "ADJ", "NUM", "PART")
    return after not in ("NOUN", "PROPN", "NUM") and not (bare and more.tokens[end - 1].tag in ("NN", "NNP"))


def _can_drop(more: Parse, start: int, end: int) -> bool:
    """Whether a noun follows, and no adverb would be left without its adjective (a very boy)."""
    if end >= len(more.tokens) or (start and more.tokens[start - 1].pos == "ADV"):
        return False
    after = more.tokens[end]
    return after.pos in ("NOUN", "ADJ") or (after.pos == "PROPN" and after.tag == "NNPS")


def _abstract(more: Parse, start: int, end: int, names: Sequence[Token]) -> Neutral | None:
    """A person's name to `the person`, a people's to `people`, a country's to `the country`."""
    beside = [more.tokens[place] for place in (start - 1, end) if 0 <= place < len(more.tokens)]
    if any(token.pos == "PROPN" for token in beside):
        return None  # part of a longer name
    if all(token.tag == "NNPS" for token in names):
        return "people", "abstract"
    described = start > 0 and more.tokens[start - 1].pos in ("DET", "NOUN", "ADJ", "PRON")
    if described or any(token.tag != "NNP" and token.text not in _names() for token in names):
        return None
    if all(token.entity == "GPE" for token in names):
        return "the country", "abstract"
    people = any(token.entity == "PERSON" for token in names)
    return (_PERSON, "abstract") if people or not any(token.entity for token in names) else None


def _case(first: Token, second: Token) -> str:
    """The neutral pronoun: `the person` as a subject, which keeps the verb singular."""
    forms = {first.text.lower(), second.text.lower()}
    if forms & {"himself", "herself"}:
        return "themself"
    if "his" in forms:
        return "theirs" if "hers" in forms else "their"
    return "them" if "him" in forms else _PERSON


def _apply(parsed: Parse, changes: Sequence[Change]) -> str:
    """The sentence after the changes; articles and capitals at its start are adapted."""
    words: dict[int, str] = {}
    first = {span.start for span in parsed.sentences}
    for start, end, text, _ in changes:
        words |= dict.fromkeys(range(start, end), "")
        words[start] = text[:1].upper() + text[1:] if start in first else text
    starts = {start for start, *_ in changes}
    kept = [place for place in range(len(parsed.tokens)) if words.get(place, "x")]
    for place, following in pairwise(kept):
        article = parsed.tokens[place].text
        if article.lower() in ("a", "an") and starts & set(range(place + 1, following + 1)):
            fitting = indefinite_article(words.get(following, parsed.tokens[following].text))
            words[place] = fitting.capitalize() if article[0].isupper() else fitting
    text = parsed.replaced(words).lstrip()
    return text[0].upper() + text[1:] if parsed.text[:1].isupper() and text else text


def _joined(tokens: Sequence[Token]) -> str:
    return "".join(token.text + token.space for token in tokens).strip()


def _groups(attribute: str) -> list[Group]:
    return list(load_lexicon(attribute).groups.values()) if attribute in ATTRIBUTES else []


@cache
def _nouns(attribute: str) -> dict[str, str]:
    """The nouns of the attribute and of gender to their neutral words, singular and plural."""
    nouns = [noun for group in (*_groups("gender"), *_groups(attribute)) for noun in group.nouns]
    singular = {noun.singular.lower(): noun.neutral for noun in nouns}
    return singular | {noun.plural.lower(): noun.neutral_plural for noun in nouns}


@cache
def _names() -> frozenset[str]:
    """First names, some of which a tagger takes for nouns."""
    groups = (group for name in ATTRIBUTES for group in _groups(name))
    return frozenset(first_names()).union(*(group.names for group in groups))


def read_stereoset(opened: Opened) -> Read:
    """The sentences with a blank: stereotype and anti-stereotype against the context without its blank."""
    rows = []
    for test in entries(opened.document["data"], opened.path, under="intrasentence"):
        texts = {part.text("gold_label"): part.text("sentence") for part in test.members("sentences")}
        if not {"stereotype", "anti-stereotype"} <= set(texts):
            raise test.fail("column 'sentences' must hold a stereotype and an anti-stereotype")
        values = {
            "id": test.text("id"), "attribute": test.text("bias_type"), "stereotype": texts["stereotype"],
            "anti_stereotype": texts["anti-stereotype"], "construction": "drop",
            "reference": _BLANK.sub("", test.text("context")).strip(),
        }  # fmt: skip
        rows.append(Row(values, test.file, test.line))
    between = opened.document["data"].get("intersentence")
    count = len(between) if isinstance(between, list) else 0
    note = f"{opened.path.name}: {count} tests of a following sentence left out: they have no reference"
    return rows, [note] if count else []


def read_bbq(opened: Opened) -> Read:
    """Where the context leaves a question open, a right answer says so and is the reference.

    The stereotype is the answer that names the stereotyped group, or the other one where the question is
    turned round (`nonneg`).
    """
    open_ = [row for row in opened.records if row.text("context_condition") == "ambig"]
    rows = [row for row in map(_bbq_row, open_) if row is not None]
    return rows, [f"{opened.path.name}: the stereotyped group is known for {len(rows)} of {len(open_)}"]


def _bbq_row(row: Row) -> Row | None:
    given = row.object("answer_info")
    groups = {answer: given.texts(answer)[-1] for answer in ("ans0", "ans1", "ans2") if given.texts(answer)}
    listed = row.inner(row.values.get("additional_metadata") or {}, "additional_metadata")
    stereotyped = {_bbq_group(name) for name in listed.texts("stereotyped_groups")}
    unknown = [answer for answer, group in groups.items() if group == "unknown"]
    named = [answer for answer in groups if answer not in unknown]
    meant = [answer for answer in named if _bbq_group(groups[answer]) in stereotyped]
    if len(unknown) != 1 or len(named) != 2 or len(meant) != 1:
        return None
    other = next(answer for answer in named if answer != meant[0])
    first, second = (other, meant[0]) if row.text("question_polarity") == "nonneg" else (meant[0], other)
    category = (row.maybe("category") or "group").lower().replace("_", "-")
    values = {
        "id": f"{category}-{row.values.get('example_id', row.line)}", "attribute": category,
        "stereotype": row.text(first), "anti_stereotype": row.text(second), "reference": row.text(unknown[0]),
        "source": f"{row.text('context')}\n{row.text('question')}", "group": groups[first],
        "anti_group": groups[second], "construction": "abstract",
    }  # fmt: skip
    return Row(values, row.file, row.line)


def _bbq_group(name: str) -> str:
    plain = re.sub(r"^[fm]-", "", name.lower()).replace(" ", "")
    return _BBQ_GROUPS.get(plain, plain)


def read_holisticbias(opened: Opened) -> Read:
    """Neighbouring descriptors of one axis in one template; the noun alone is the reference."""
    by_frame: dict[tuple[str, str, str], dict[str, Row]] = {}
    for row in opened.records:
        frame = (row.text("axis"), row.text("template"), row.text("noun"))
        if row.has("descriptor") and row.has("noun"):
            by_frame.setdefault(frame, {}).setdefault(row.text("descriptor"), row)
    rows = []
    for (axis, template, noun), described in by_frame.items():
        for (descriptor, row), (other, second) in list(pairwise(described.items()))[::2]:
            plain = template.replace("{noun_phrase}", f"{indefinite_article(noun)} {noun}")
            plain = plain.replace("{plural_noun_phrase}", row.text("plural_noun"))
            if "{" in plain:
                continue
            values = {
                "id": f"{axis}-{row.line}", "attribute": axis, "stereotype": row.text("text"),
                "anti_stereotype": second.text("text"), "reference": plain[:1].upper() + plain[1:],
                "identity": descriptor, "anti_identity": other, "template": template, "construction": "drop",
            }  # fmt: skip
            rows.append(Row(values, row.file, row.line))
    note = "neither descriptor is the stereotype; only the size of a difference means something, not its sign"
    return rows, [f"{opened.path.name}: {note}"]


def read_winomt(opened: Opened) -> Read:
    """Sentences that differ in the pronoun's gender only; the reference names the occupation instead."""
    beside = opened.path.with_name("en_pro.txt")
    lines = text_lines(beside) if beside.is_file() else []
    pro = {line.split("\t")[2] for line in lines if line.count("\t") > 2}
    usual = {job.name: job.stereotype for job in load_occupations()}
    both: dict[tuple[str, str], dict[str, tuple[str, int]]] = {}
    for number, line in enumerate(text_lines(opened.path), start=1):
        cells = line.strip().split("\t")
        if len(cells) < 4:
            raise Row({}, opened.path, number).fail("gender, position, sentence and occupation are expected")
        both.setdefault((_PRONOUN.sub("_", cells[2]), cells[3]), {})[cells[0]] = (cells[2], number)
    rows = []
    for (_, occupation), sides in both.items():
        if not sides.keys() >= set(_GENDERS):
            continue
        known = [gender for gender in _GENDERS if sides[gender][0] in pro]
        gender = known[0] if len(known) == 1 else usual.get(occupation)
        if gender in _GENDERS:
            (text, number), (other, _) = sides[gender], sides["female" if gender == "male" else "male"]
            sentences = (_PRONOUN.sub(r"[\1]", text), _PRONOUN.sub(r"[\1]", other))
            files = (opened.path, opened.path)
            rows.append(gender_pair(f"gender-{number}", sentences, f"the {occupation}", files, number))
    note = "a sentence of either gender and the stereotype are known"
    return rows, [f"{opened.path.name}: {note} for {len(rows)} of {len(both)}"]


READERS: Mapping[str, Callable[[Opened], Read]] = {
    "winomt": read_winomt,
    "crows-pairs": read_crows,
    "stereoset": read_stereoset,
    "bbq": read_bbq,
    "holisticbias": read_holisticbias,
}
