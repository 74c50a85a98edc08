"""Whose ranking would change: do decisions between systems turn when texts are about another group?

Texts that mention a group of people are written again about every other group of the attribute, in outputs,
references and sources alike, and scored again. Nothing else changes, so every comparison of two systems and
every decision between two outputs should come out as before. How many turn stands beside how many turn when
another word for the same group is put there. A group's own effect is how many more decisions are won by
those who write about it than if they wrote about the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from assay.audits.base import DataAudit, check_known, in_words, spread_out
from assay.audits.corpora import corpora
from assay.audits.effects import read_slices
from assay.audits.impact.turns import REWORDED, WRITTEN, Board, turn_findings
from assay.core import Case, Finding, Judgement, MadeOnce, Record, Sample, Scored, Statistic
from assay.datasets.contexts import Crossing, embedded_crossings
from assay.datasets.mentions import OTHER_GENDER, Mentioned, gender_mentions, mentions
from assay.datasets.systems import Outputs, read_outputs
from assay.errors import DataError
from assay.grouping import grouped
from assay.language import language_of
from assay.recipe import digest
from assay.vocabulary import DataKind, Question, Task

OUTPUTS = "outputs"
GENDER = "gender"
_PEOPLE = {"female": "women", "male": "men"}
_WITH_A_LIST = (GENDER, "pronouns")  # attributes that the swap list covers
_TASKS: tuple[Task, ...] = (
    "translation", "summarisation", "dialogue", "question-generation", "image-captioning", "data-to-text",
)  # fmt: skip
_BY_CHANCE = 5.0  # of 100: one in twenty is what is commonly put down to chance
_SYSTEMS = ("better", "worse")  # the embedded candidates, taken for two systems

_FEWEST = 10  # items of an attribute: of fewer, even if no decision turns, the interval reaches 28 of 100
_ASKED, _LEFT = "asked", "left"  # what became of an item that mentions a group

Told = dict[str, Mentioned]  # texts, and whom they mention


def _people(attribute: str, group: str) -> str:
    """The people of a group, as a sentence names them."""
    if attribute == GENDER:
        return _PEOPLE[group]
    return next(c for c in embedded_crossings() if c.attribute == attribute).group(group).people


def _systems_sentence(finding: Finding) -> str:
    attribute, _, group = finding.slice.split("/")
    side, verb, other = ("lower", "lose", "win") if finding.value < 0 else ("higher", "win", "lose")
    whom, size = _people(attribute, group), abs(finding.value)
    return (
        f"{finding.metric} ranks systems {side} because their outputs are about {whom}: of 100 comparisons "
        f"they {verb} {size:.0f} that they would {other} if the outputs were about others."
    )


def _texts_sentence(finding: Finding) -> str:
    attribute, _, group = finding.slice.split("/")
    verb, other = ("lose", "win") if finding.value < 0 else ("win", "lose")
    whom, size = _people(attribute, group), abs(finding.value)
    return (
        f"{finding.metric} lets outputs about {whom} {verb} {size:.0f} of 100 decisions that they would "
        f"{other} if they were about others."
    )


@dataclass(frozen=True)
class Impact(MadeOnce, DataAudit):
    """Outputs of systems that mention a group of people, written again about every other group."""

    name = "impact"
    title = "Whose ranking would change"
    question: ClassVar[Question] = "fairness"
    reads: ClassVar[DataKind] = "systems"
    advice = "Do not rank systems by it whose outputs mention different groups of people."
    quick: ClassVar[Mapping[str, Any]] = {"limit": 60}
    statistics = (
        Statistic(
            "turned_comparisons",
            "Of 100 comparisons of two systems by their mean scores, one of which at least mentions a group, "
            "how many come out otherwise when another group stands there (a half, where a tie is made or "
            "broken).",
            "of 100", headline=True,
        ),
        Statistic(
            "turned_decisions",
            "The same for decisions between two outputs for one item; items weigh the same.",
            "of 100", headline=True,
        ),
        Statistic(
            "wording_comparisons",
            "Comparisons that turn when another word for the same group stands there: what words alone do.",
            "of 100",
        ),
        Statistic("wording_decisions", "Decisions that turn in that case.", "of 100"),
        Statistic(
            "comparisons_won",
            "Of 100 comparisons with systems that mention people less often, how many more a system wins if "
            "its outputs are about this group than if they are about the others.",
            "of 100", bad="far", bar="margin", headline=True, sentence=_systems_sentence,
        ),
        Statistic(
            "decisions_won",
            "Of 100 decisions against an output that mentions nobody, how many more an output wins if it is "
            "about this group than if it is about the others.",
            "of 100", bad="far", bar="margin", headline=True, sentence=_texts_sentence,
        ),
    )  # fmt: skip

    only: tuple[str, ...] = ()  # attributes
    task: tuple[str, ...] = ()
    margin: float = _BY_CHANCE  # of 100 decisions that a group may win or lose

    @cached_property
    def attributes(self) -> dict[str, Crossing | None]:
        """The attributes that are asked about, with their groups and terms; gender has a list of its own."""
        single = [c for c in embedded_crossings() if not any(group.axes for group in c.groups)]
        known: dict[str, Crossing | None] = {GENDER: None}
        known |= {c.attribute: c for c in single if c.attribute not in _WITH_A_LIST}
        check_known("unknown attribute", self.only, known)
        return {name: known[name] for name in sorted(known) if not self.only or name in self.only}

    @cached_property
    def outputs(self) -> dict[str, list[Outputs]]:
        """The items of each file; without one, of each task, with its candidates as two systems."""
        if not self.data:
            embedded = corpora((), None, self.task, _TASKS, self.limit)
            return {corpus.name: _of_candidates(corpus.records) for corpus in embedded}
        parts: dict[str, list[Outputs]] = {}
        for path in self.data:
            name = path.stem if path.stem not in parts else f"{path.parent.name}-{path.stem}"
            parts[name] = sorted(spread_out(read_outputs(path), self.limit), key=_content)
        return parts

    def make_cases(self) -> list[Case]:
        """One case per item and attribute whose group some output mentions, then one per item."""
        versions: list[Case] = []
        fates: dict[tuple[str, str], dict[str, str]] = {}
        for attribute, crossing in self.attributes.items():
            told = self._told(crossing)
            mentioning = [(part, item) for part, item in self._items() if _named(item, told)]
            asked = [(part, item) for part, item in mentioning if not _is_in_doubt(item, told)]
            chosen = {(part, item.id) for part, item in asked}
            for part, item in mentioning:
                fate = _ASKED if (part, item.id) in chosen else _LEFT
                fates.setdefault((part, item.id), {})[attribute] = fate
            if len(asked) >= _FEWEST:
                groups = _groups(crossing)
                versions += [_versions(part, item, attribute, groups, told) for part, item in asked]
        if not versions:
            raise DataError(
                f"too little to compare in impact's data: {'; '.join(_told_notes(fates.values()))}"
            )
        return versions + [
            _as_written(part, item, fates.get((part, item.id), {})) for part, item in self._items()
        ]

    def _items(self) -> list[tuple[str, Outputs]]:
        return [(part, item) for part, items in self.outputs.items() for item in items]

    def _told(self, crossing: Crossing | None) -> Told:
        """Whom the texts mention; references and sources are read where an output mentions one group."""
        told = _mentioned(crossing, [text for _, item in self._items() for text in _hypotheses(item)])
        others = [text for _, item in self._items() if _named(item, told) for text in _read_beside(item)]
        return told | _mentioned(crossing, [text for text in others if text not in told])

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        findings: list[Finding] = []
        slices = [scores for scores in read_slices(scored) if not scores.scored.is_set]
        for of_metric in grouped(slices, lambda scores: scores.scored.metric).values():
            whole = [scores for scores in of_metric if scores.slice.startswith(f"{OUTPUTS}/")]
            for scores in of_metric:
                if whole and scores not in whole:
                    findings += turn_findings(Board.of(whole), scores, self.seed)
        return Judgement(findings, _told_notes(case.meta.get("told", {}) for case in self.made))


def _told_notes(items: Iterable[Mapping[str, str]]) -> list[str]:
    """How many items mention a group of each attribute, and what was not asked."""
    told = [told for item in items for told in item.items()]
    asked, left = (Counter(name for name, what in told if what == which) for which in (_ASKED, _LEFT))
    enough = {name: count for name, count in asked.items() if count >= _FEWEST}
    few = {name: count for name, count in asked.items() if count < _FEWEST}
    notes = [f"items that mention a group: {_listed(enough)}"]
    if few:
        notes.append(f"mentioned by fewer than {_FEWEST} items, and not asked about: {_listed(few)}")
    if left:
        why = "since their outputs, references or source mention several groups"
        notes.append(f"left as they are, {why}: {_listed(left)}")
    return notes


def _listed(counts: Mapping[str, int]) -> str:
    """Attributes with their counts, in words."""
    return ", ".join(f"{in_words(name)} {counts[name]}" for name in sorted(counts)) or "none"


def _of_candidates(records: Sequence[Record]) -> list[Outputs]:
    """The items of records with candidates."""
    items = []
    for record in records:
        if record.candidates is not None:
            samples = map(record.sample, record.candidates)
            document = str(record.meta.get("doc", record.id))
            items.append(Outputs(record.id, document, dict(zip(_SYSTEMS, samples, strict=True))))
    return items


def _content(item: Outputs) -> str:
    """A digest by which items are put in an order that depends on their content alone."""
    return digest(*sorted(sample.key for sample in item.samples.values()))


def _hypotheses(item: Outputs) -> list[str]:
    return [sample.hypothesis for sample in item.samples.values()]


def _read_beside(item: Outputs) -> list[str]:
    """The references and sources of an item's outputs."""
    return [text for sample in item.samples.values() for text in (*sample.references, sample.source) if text]


def _named(item: Outputs, told: Told) -> dict[str, str]:
    """The systems whose outputs mention one group, with that group."""
    groups = {system: told[sample.hypothesis].group for system, sample in item.samples.items()}
    return {system: group for system, group in groups.items() if group}


def _groups(crossing: Crossing | None) -> list[str]:
    """The groups of an attribute."""
    return sorted(OTHER_GENDER) if crossing is None else [group.name for group in crossing.groups]


def _mentioned(crossing: Crossing | None, texts: Sequence[str]) -> Told:
    """Whom English texts mention; of texts in other languages nothing is known."""
    distinct = [text for text in dict.fromkeys(texts) if language_of(text) in ("", "en")]
    told = gender_mentions(distinct) if crossing is None else mentions(crossing, distinct)
    return dict.fromkeys(texts, Mentioned()) | dict(zip(distinct, told, strict=True))


def _is_in_doubt(item: Outputs, told: Told) -> bool:
    """Whether the references or the source mention two groups, or another one than the outputs do."""
    groups = frozenset().union(*(told[text].groups for text in _read_beside(item)))
    mentioned = frozenset().union(*(told[text].groups for text in _hypotheses(item)))
    return len(groups) > 1 or bool(groups and mentioned - groups)


def _as_written(part: str, item: Outputs, told: Mapping[str, str]) -> Case:
    """All outputs for an item; `told` says for which attributes it is written again, or left as it is."""
    samples = {f"{WRITTEN}/{system}": sample for system, sample in item.samples.items()}
    meta = {"part": part, "item": item.id, "cluster": f"{part}/{item.document}", "told": dict(told)}
    return Case(f"{OUTPUTS}/{part}/{item.id}", samples, f"{OUTPUTS}/{part}", meta)


def _versions(part: str, item: Outputs, attribute: str, groups: Sequence[str], told: Told) -> Case:
    """The outputs for an item as written, about each group, and with another word for the same group.

    A source in another language would still name the first group: it is left out of all of them.
    """
    samples: dict[str, Sample] = {}
    for system, sample in item.samples.items():
        written = sample if _is_read(sample.source) else replace(sample, source=None)
        samples[f"{WRITTEN}/{system}"] = written
        others = {group: _about(written, group, told) for group in groups}
        others[REWORDED] = _about(written, REWORDED, told)
        for name, other in others.items():
            if other is not None and other != written:
                samples[f"{name}/{system}"] = other
    meta = {
        "part": part, "item": item.id, "cluster": f"{part}/{item.document}", "named": _named(item, told),
    }  # fmt: skip
    return Case(f"{attribute}/{part}/{item.id}", samples, attribute, meta)


def _is_read(source: str | None) -> bool:
    """Whether there is no source, or terms can be found in it."""
    return source is None or language_of(source) in ("", "en")


def _about(sample: Sample, group: str, told: Told) -> Sample | None:
    """A sample about another group, or with another word for the same; None where a term has no such form."""
    texts = [sample.hypothesis, *sample.references, *([sample.source] if sample.source else [])]
    changed = {text: put for text in texts if (put := _put(text, group, told)) is not None}
    if len(changed) < len(set(texts)):
        return None
    return replace(
        sample,
        hypothesis=changed[sample.hypothesis],
        references=tuple(changed[text] for text in sample.references),
        source=changed.get(sample.source or "", sample.source),
    )


def _put(text: str, group: str, told: Told) -> str | None:
    """The text about a group; as it is where it mentions no single other group, None where no term fits."""
    mentioned = told[text]
    if mentioned.group in (None, group):
        return text
    return mentioned.reworded if group == REWORDED else mentioned.about.get(group)
