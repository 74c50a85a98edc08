"""A search for texts that are damaged and yet keep their score (*blind* app. J, made practical).

Small edits are chosen by the metric's own scores of the text against the clean one, up to a least
noise-ratio. Against the item's reference, which the search has not seen, the metric must then score the clean
text higher than the one that was found. By the paper's rule the clean text is the reference all along, and
the mean must fall.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from assay.audits.attack import search as edits
from assay.audits.base import DataAudit, check_known, in_words, order_in_words, spread_out
from assay.audits.corpora import MEAN_CHANGE, Corpus, corpora, mean_change, right_order_statistic
from assay.audits.effects import BAR, CLEAN, AlignedScores, read_slices
from assay.core import Case, Finding, Judgement, Record, Sample, Scored, Statistic
from assay.perturbations.ratio import alignment, edit_ratio
from assay.recipe import generator
from assay.vocabulary import DataKind, Question, Share

RANDOM = "random/"  # how the roles of random edits begin
FOUND = "/found"  # how the slices of found texts end
_SHORTEST = 4  # words: below, one edit is most of the text
_EXAMPLES = 3


def _sentence(finding: Finding) -> str:
    clean = f"a clean text ({in_words(finding.slice)})"
    return order_in_words(finding, clean, "one that was damaged by search")


@dataclass(frozen=True)
class Attack(DataAudit):
    """Beam search over deletions, replacements, insertions and swaps of words; `beam` 1 is greedy."""

    name = "attack"
    title = "Adversarial search for damage that goes unnoticed"
    question: ClassVar[Question] = "robustness"
    advice = "Do not optimise it directly: small damaging edits keep its score."
    reads: ClassVar[DataKind] = "records"
    wants = f"an item needs a gold of {_SHORTEST} words or more"
    quick: ClassVar[Mapping[str, Any]] = {"skip": True}  # a search takes too long
    statistics = (
        right_order_statistic(
            "a clean text and one damaged by edits that a search chose to cost the metric least", "",
            sentence=_sentence,
        ),
        Statistic(
            "right_order_random",
            "The same with as many random edits: what the metric notices where nobody searches.",
            "of 100",
        ),
        Statistic("noise_ratio", "Share of the words that the attack changed.", "share of words"),
        Statistic("queries", "Texts that the search tried for each item.", "texts"),
        MEAN_CHANGE,
    )  # fmt: skip

    limit: int | None = 20  # texts attacked
    only: tuple[str, ...] = ()  # kinds of edits: delete, replace, insert, swap
    task: tuple[str, ...] = ()
    queries: int = 2000  # texts tried per item, at most
    ratio: Share = 0.15  # least noise-ratio
    beam: int = 3
    draws: int = 5  # texts with random edits per item
    embeddings: str = "glove"
    model: str | None = None  # a masked language model that proposes words too
    bar: float = BAR

    @cached_property
    def _corpora(self) -> list[Corpus]:
        return corpora(self.data, None, self.task, ("translation",), None, rule=self.rule)

    @property
    def _source(self) -> edits.Source:
        """Candidate edits; the paper only deletes and replaces."""
        check_known("unknown kind of edit", self.only, edits.ATTACK_KINDS)
        usual = ("delete", "replace") if self.rule == "paper" else edits.ATTACK_KINDS
        kinds = tuple(kind for kind in usual if not self.only or kind in self.only)
        return edits.Source(self.embeddings, model=self.model, kinds=kinds)

    @staticmethod
    def _long(corpus: Corpus) -> list[Record]:
        return [record for record in corpus.records if len(record.gold.split()) >= _SHORTEST]

    @cached_property
    def _attacked(self) -> dict[str, tuple[str, Record]]:
        """The texts that are attacked, each with its dataset, by the id of their case."""
        return {
            f"{corpus.name}:{record.id}": (corpus.name, record)
            for corpus in self._corpora
            for record in spread_out(self._long(corpus), self.limit)
        }

    def cases(self) -> Iterable[Case]:
        """The clean texts, each against itself: a search that saw the references would walk towards them."""
        for item, (dataset, record) in self._attacked.items():
            sample = Sample(record.gold, (record.gold,), record.sample().source)
            meta = {"edits": edits.edits_needed(record.gold.split(), self.ratio)}
            yield Case(item, {CLEAN: sample}, dataset, meta)

    def more(self, scored: Scored) -> Sequence[Case]:
        """The next texts to try, of all items, and at last what was found; a set metric cannot score one
        text."""
        if scored.is_set:
            return ()
        plan = edits.AttackPlan(
            1 if self.rule == "paper" else self.beam, self.queries, self._source, self.seed
        )
        tries = edits.next_round(scored, plan)
        if tries or any(case.slice.endswith(FOUND) for case in scored.cases):
            return tries
        found = [(item, s, s.found[1]) for item, s in edits.searches(scored).items() if s.found]
        return [self._found_case(scored.metric, *each) for each in found]

    def _found_case(self, metric: str, item: str, search: edits.Search, moves: edits.Moves) -> Case:
        """The found text, the clean one and random edits against the reference, which the search has not
        seen.

        The reference is the clean text in the paper, and where an item has no other.
        """
        dataset, record = self._attacked[item]
        text = edits.apply(record.gold.split(), moves)
        references = () if self.rule == "paper" else record.references
        texts = {CLEAN: record.gold, edits.ATTACK: text, **self._noised(record, search.target)}
        shown = Sample(text, references or (record.gold,), record.sample().source)
        samples = {role: replace(shown, hypothesis=hypothesis) for role, hypothesis in texts.items()}
        meta = {
            "queries": search.used, "noise_ratio": edit_ratio(record.gold, text),
            "changed": changes(record.gold, text), "cluster": str(record.meta.get("doc", record.id)),
        }  # fmt: skip
        return Case(f"{item}/found/{metric}", samples, f"{dataset}{FOUND}", meta)

    def _noised(self, record: Record, count: int) -> dict[str, str]:
        """The text under so many random edits, several times."""
        words, known = record.gold.split(), " ".join(record.others).split()
        pool = list(dict.fromkeys(word.strip(".,;:!?\"'()").lower() for word in known))
        texts = {}
        for draw in range(self.draws):
            rng = generator(self.seed, f"random-noise/{count}/{draw}", record.key)
            texts[f"{RANDOM}{draw}"] = edits.apply(words, edits.random_moves(words, count, pool, rng))
        return texts

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """Findings for each metric on the texts that its searches found."""
        found = [scores for scores in read_slices(scored) if scores.slice.endswith(FOUND)]
        findings = [finding for scores in found for finding in self._findings(scores)]
        short = {c.name: len(c.records) - len(self._long(c)) for c in self._corpora}
        unused = f"texts of fewer than {_SHORTEST} words were not attacked"
        notes = [f"{name}: {count} {unused}" for name, count in short.items() if count]
        return Judgement(findings, notes + [note for scores in found for note in _examples(scores)])

    def _findings(self, scores: AlignedScores) -> Iterator[Finding]:
        """Findings for one metric on the texts that its searches found in one dataset."""
        slice_ = scores.slice.removesuffix(FOUND)
        for name in ("noise_ratio", "queries"):
            mean = float(np.mean([case.meta[name] for case in scores.cases]))
            yield Finding.of(scores.scored, slice_, name, mean, n=scores.n)
        if self.rule == "paper":
            yield mean_change(scores, slice_, [edits.ATTACK])
            return
        noised = scores.right_order([CLEAN], scores.roles(RANDOM))
        yield Finding.of(scores.scored, slice_, "right_order_random", noised, versus=CLEAN)
        order = scores.right_order([CLEAN], [edits.ATTACK])
        evidence = scores.largest(1 - scores.decisions([CLEAN], [edits.ATTACK]))
        yield Finding.of(scores.scored, slice_, "right_order", order, versus=CLEAN, evidence=evidence)


def _examples(scores: AlignedScores) -> list[str]:
    """What changed in the texts that fool the metric most."""
    changed = {case.id: case.meta["changed"] for case in scores.cases}
    fooled = scores.largest(scores.columns[edits.ATTACK] - scores.columns[CLEAN])
    return [f"{scores.scored.metric} is fooled by {changed[id_]} ({id_})" for id_ in fooled[:_EXAMPLES]]


def changes(gold: str, text: str) -> str:
    """What changed between two texts, in words.

    >>> changes("he went to the office", "they went to office")
    'he → they; the → ∅'
    """
    return "; ".join(f"{edit.before or '∅'} → {edit.after or '∅'}" for edit in alignment(gold, text))
