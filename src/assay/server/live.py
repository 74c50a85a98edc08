"""A sentence typed into the playground to scores, explanations, and the scores of edited versions, streamed.

Edits are perturbations and identity swaps, which make it the same sentence about other people.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from threading import Lock
from typing import Any

from assay.api.scores import score
from assay.core import Measure, Perturbation, Record, Sample, SetMetric
from assay.datasets.lexicon import first_names, indefinite_article, match_case
from assay.datasets.swaps import embedded_swaps, swap_texts
from assay.datasets.templates import ATTRIBUTES, load_lexicon
from assay.engine.scoring import explain_samples, project
from assay.engine.session import Session
from assay.engine.unfold import describe_measure
from assay.errors import AuditError, SpecError
from assay.names.registry import load_class, names
from assay.perturbations.lost_word import without_a_word
from assay.reading.names import shown_name
from assay.vocabulary import Expectation

MOST_SWAPS = 12
JUDGE_CALLS = 30  # calls to LLM judges that a server makes at most
MOST_LOST = 6  # texts without one of the words, by which a lost word is priced
_NARROW = ("preschool", "school-age")  # words that fit few nouns: "preschool man"
MOST_GROUPS = 4  # groups that replace an identity word
_NEEDS_A_MODEL = ("bert-diverge", "masked-words")  # seconds per text: too slow for live use


@dataclass(frozen=True, slots=True)
class _Edit:
    """A sentence that was changed, what should happen to its score, and what it is scored with."""

    kind: str
    name: str
    words: str
    expect: Expectation
    record: Record

    @property
    def document(self) -> dict[str, Any]:
        texts = {"text": self.record.gold, "references": self.record.references}
        return {"kind": self.kind, "name": self.name, "words": self.words, "expect": self.expect, **texts}


@dataclass
class Live:
    """The metrics of a playground, loaded once; one request at a time, as models are shared."""

    given: Sequence[Measure]
    lock: Lock = field(default_factory=Lock)
    calls: int = JUDGE_CALLS  # that are left

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """Metrics by label, without those that score whole sets only."""
        return {item.label: item for item in self.given if not isinstance(item.metric, SetMetric)}

    @property
    def offered(self) -> list[dict[str, Any]]:
        """What a page shows of each metric: its name with its backbone, and the budget of an LLM judge."""
        budget = f"LLM judge, {self.calls} of {JUDGE_CALLS} calls left"
        named = {label: shown_name(label, describe_measure(item)) for label, item in self.measures.items()}
        judges = {label: budget for label, item in self.measures.items() if _is_judge(item)}
        return [{"label": label, "name": named[label], "judge": judges.get(label, "")} for label in named]

    @cached_property
    def perturbations(self) -> dict[str, Perturbation]:
        """Every perturbation at its default level."""
        table = names("perturbations")
        return {name: load_class(where)() for name, (where, _) in table.items() if name not in _NEEDS_A_MODEL}

    def stream(self, record: Record, labels: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Lines as they are known: scores of metrics without a model, the edits, then all other scores.

        A metric has a line with its score and one with the scores of the edits. An LLM judge is asked about
        the sentence alone, since every edit would cost a call.
        """
        measures = self._chosen(labels)
        yield {"metrics": [item.label for item in measures]}
        quick = [item for item in measures if _cost(item)[:2] == (False, False)]
        scored = {}
        for item in quick:
            scored[item.label] = self._scored(item, record)
            yield scored[item.label]
        with self.lock:
            edits = self._edits(record)
        yield {"edits": [edit.document for edit in edits]}
        samples = [edit.record.sample() for edit in edits]
        for item in measures:
            if item.label not in scored:
                scored[item.label] = self._scored(item, record)
                yield scored[item.label]
            if scored[item.label]["score"] is not None and samples and not _is_judge(item):
                yield {"metric": item.label, "after": self._values(item, samples)}

    def _scored(self, item: Measure, record: Record) -> dict[str, Any]:
        """The score of the sentence, and of the sentence with a word lost, or why there is none."""
        row: dict[str, Any] = {"metric": item.label, "score": None, "why": None, "explanation": None}
        lost = [replace(record, gold=text).sample() for text in texts_with_a_word_lost(record.gold)]
        samples = [record.sample(), *([] if _is_judge(item) else lost)]
        if project(item.metric, samples[0]) is None:
            return row | {"why": "needs " + ", ".join(sorted(item.metric.needs))}
        try:
            score, *lost_scores = self._values(item, samples)
        except AuditError as error:
            return row | {"why": str(error)}
        (reason,) = explain_samples(item, samples[:1])
        row |= {"score": score, "explanation": reason and asdict(reason)}
        if _is_judge(item):
            why = None if score is not None else "the judge's answer names no grade"
            return row | {"why": why, "budget": f"{self.calls} of {JUDGE_CALLS} calls left"}
        return row | {"lost": [value for value in lost_scores if value is not None]}

    def _values(self, item: Measure, samples: Sequence[Sample]) -> list[float | None]:
        with self.lock:
            session = Session.open(cache=None, max_calls=self.calls if _is_judge(item) else None)
            column = score([item], samples, session=session)[item.label]
            self.calls -= session.bill.calls
        return [None if value is None or not math.isfinite(value) else float(value) for value in column]

    def _edits(self, record: Record) -> list[_Edit]:
        """Identity swaps, which change the references too, then perturbations; each result once."""
        swaps = identity_swaps(record.gold, record.references)[:MOST_SWAPS]
        records = [(name, replace(record, gold=text, references=others)) for name, text, others in swaps]
        edits = [_Edit("identity", name, name, "same", swapped) for name, swapped in records]
        different: dict[tuple[str, tuple[str, ...]], _Edit] = {}
        for edit in (*edits, *self._perturbed(record)):
            different.setdefault((edit.record.gold, edit.record.references), edit)
        return list(different.values())

    def _chosen(self, labels: Sequence[str]) -> list[Measure]:
        """The named metrics of those the server was started with: a spec can name files, a page must not."""
        for label in labels:
            if label not in self.measures:
                raise SpecError(f"{label!r} is not served; start assay serve with -m {label}")
        return sorted([self.measures[label] for label in labels] or self.measures.values(), key=_cost)

    def _perturbed(self, record: Record) -> Iterator[_Edit]:
        """Every perturbation that applies."""
        for name, perturbation in self.perturbations.items():
            try:
                text = perturbation.perturb(record)
            except AuditError:  # weights or a language resource that is not here
                continue
            if text is not None:
                edited = replace(record, gold=text)
                words = perturbation.title or name.replace("-", " ")
                yield _Edit(perturbation.criterion, name, words, perturbation.expect, edited)


def texts_with_a_word_lost(text: str) -> list[str]:
    """The text without one of its content words, in some ways; what that costs is the unit of effects."""
    shorter = (without_a_word(text, key=f"{number}") for number in range(4 * MOST_LOST))
    return list(dict.fromkeys(each for each in shorter if each is not None))[:MOST_LOST]


def _cost(item: Measure) -> tuple[bool, bool, int]:
    """Metrics without a pretrained model first, then by its size, judges last."""
    return _is_judge(item), item.metric.backbone is not None, item.metric.parameter_count or 0


def _is_judge(item: Measure) -> bool:
    return item.metric.paradigm == "judge"


_Swap = tuple[str, str, tuple[str, ...]]  # what was done, the new text, the new references


def identity_swaps(text: str, references: Sequence[str] = ()) -> list[_Swap]:
    """The other gender, another name, then other groups of each attribute in the text.

    The references are changed alike: where they name the person too, a metric is right to mind that only the
    text was changed.
    """
    gendered, *others = swap_texts([text, *references], embedded_swaps())
    gender = ("other gender", gendered.text, tuple(other.text for other in others))
    attributes = sorted(set(ATTRIBUTES) - {"gender"})
    changes = [*_names(text), *(change for attribute in attributes for change in _groups(attribute, text))]
    return ([gender] if gendered.turned else []) + [
        (name, _replaced(text, old, new), tuple(_replaced(each, old, new) for each in references))
        for name, old, new in changes
    ]


def _names(text: str) -> list[tuple[str, str, str]]:
    """The first given name of the text, to one name of the same gender from each other region."""
    known = first_names()
    old = next((known[word] for word in re.findall(r"\w+", text) if word in known), None)
    if old is None:
        return []
    others = {name.region: name for name in known.values() if name.gender == old.gender}
    others.pop(old.region, None)
    chosen = [new.name for new in list(others.values())[:MOST_GROUPS]]
    return [(f"name: {old.name} to {new}", old.name, new) for new in chosen]


def _groups(attribute: str, text: str) -> list[tuple[str, str, str]]:
    """The first identity word of the text, to a word of each other group of its attribute.

    The new word has as many parts: a metric that counts words is right to mind "middle-aged" for "old".
    """
    words = _adjectives(attribute)
    group, word = next((pair for pair in words if _pattern(pair[1]).search(text)), ("", ""))
    parts = len(re.findall(r"\w+", word))
    fitting = [pair for pair in words if pair[1] not in _NARROW and len(re.findall(r"\w+", pair[1])) == parts]
    others = {name: other for name, other in fitting if word and name != group}
    return [(f"{attribute}: {word} to {new}", word, new) for new in list(others.values())[:MOST_GROUPS]]


@cache
def _adjectives(attribute: str) -> tuple[tuple[str, str], ...]:
    """(group, identity adjective), longest first so that a phrase wins over its part."""
    groups = load_lexicon(attribute).groups
    pairs = [(name, word) for name, group in groups.items() for word in group.adjectives]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[1])))


def _pattern(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:(an?)(\s+))?({re.escape(word)})(?!\w)", re.IGNORECASE)


def _replaced(text: str, old: str, new: str) -> str:
    """Replace a word, adapting its article and its capital."""

    def written(match: re.Match[str]) -> str:
        article = match_case(indefinite_article(new), match[1]) + match[2] if match[1] else ""
        return article + match_case(new, match[3])

    return _pattern(old).sub(written, text)
