"""A search for texts that are damaged and yet keep their score (*blind* app. J, made practical).

Small edits are chosen by the metric's own scores against the clean text, up to a least noise-ratio.
`attack_gain` is the share of what random noise of the same ratio costs that the search avoids: 1 means that
nothing is lost. A text counts only where other metrics notice its damage; then each kind of edit that worked
is tried as a rule on text that no search has seen (`rule_gain`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from assay.audits.attack import search as edits
from assay.audits.attack.judge import STATISTICS, changes, group_judgement
from assay.audits.attack.search import (
    KINDS,
    EditRule,
    Moves,
    Plan,
    Search,
    Source,
    apply,
    next_round,
    searches,
)
from assay.audits.corpora import Corpus, corpora
from assay.audits.slices import spread_out
from assay.core import Audit, Case, Finding, Judgement, Record, Sample, Scored, Statistic
from assay.errors import DataError, suggest
from assay.perturbations.ratio import edit_ratio
from assay.recipe import generator
from assay.vocabulary import NonNegative, Question, Rule, Share

_SHORTEST = 4  # words: below, one edit is most of the text
_RULES = 8
_RULE_DRAWS = 3


@dataclass(frozen=True)
class Attack(Audit):
    """Beam search over deletions, replacements, insertions and swaps of words; `beam` 1 is greedy."""

    name: ClassVar[str] = "attack"
    question: ClassVar[Question] = "robustness"
    title: ClassVar[str] = "Adversarial search for damage that goes unnoticed"
    statistics: ClassVar[tuple[Statistic, ...]] = STATISTICS
    advice: ClassVar[str] = "Do not optimise it directly: small damaging edits keep its score."
    wants: ClassVar[str] = f"an item needs a gold of {_SHORTEST} words or more"

    data: tuple[Path, ...] = ()
    rule: Rule = "careful"
    seed: NonNegative = 0
    limit: int | None = 20  # texts attacked; rules are tried on the others
    only: tuple[str, ...] = ()  # kinds of edits: delete, replace, insert, swap
    task: tuple[str, ...] = ()
    queries: int = 2000  # texts tried per item, at most
    ratio: Share = 0.15  # least noise-ratio
    beam: int = 3
    draws: int = 5  # random noises per item
    embeddings: str = "glove"
    model: str | None = None  # a masked language model that proposes words too
    judges: tuple[str, ...] = ("rougeL", "greedy-matching", "gpt-ppl:scale=log")
    margin: float = 0.75  # share of random noise's cost avoided: more is a blind spot
    fall: Share = 0.25  # share of random noise's cost that a judge must lose to notice the damage
    support: int = 3  # texts fooled by a kind of edit, for it to be tried as a rule
    held_out: int = 40  # texts a rule is tried on

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        return {"skip": True}  # a search takes too long

    @cached_property
    def _corpora(self) -> list[Corpus]:
        return corpora(self.data, None, self.task, ("translation",), (None, None))

    @property
    def _source(self) -> Source:
        """Candidate edits; the paper only deletes and replaces."""
        for wrong in set(self.only) - set(KINDS):
            raise DataError(f"unknown kind of edit {wrong!r}{suggest(wrong, KINDS)}")
        usual = ("delete", "replace") if self.rule == "paper" else KINDS
        kinds = tuple(kind for kind in usual if not self.only or kind in self.only)
        return Source(self.embeddings, model=self.model, kinds=kinds)

    @staticmethod
    def _long(corpus: Corpus) -> list[Record]:
        return [record for record in corpus.records if len(record.gold.split()) >= _SHORTEST]

    def _attacked(self, corpus: Corpus) -> list[Record]:
        """At most half of a corpus, so that rules have text of their own."""
        long = self._long(corpus)
        most = max(1, (len(long) + 1) // 2)
        return spread_out(long, most if self.limit is None else min(self.limit, most))

    def _unseen(self, corpus: Corpus) -> list[Record]:
        """The texts that rules are tried on."""
        attacked = {record.gold for record in self._attacked(corpus)}
        return spread_out([r for r in self._long(corpus) if r.gold not in attacked], self.held_out)

    def cases(self) -> Iterable[Case]:
        """The clean texts against themselves, and with random noise at the ratio of the attack."""
        for corpus in self._corpora:
            for record in self._attacked(corpus):
                count = edits.edits_needed(record.gold.split(), self.ratio)
                samples = self._noised(record, count, self.draws)
                yield Case(f"{corpus.name}:{record.id}", samples, corpus.name, {"edits": count})

    def _noised(self, record: Record, count: int, draws: int) -> dict[str, Sample]:
        """The clean text and random noises of it; the clean text is the reference, as in the paper."""
        words, pool = record.gold.split(), _vocabulary(record.others)
        texts = {"gold": record.gold}
        for draw in range(draws):
            rng = generator(self.seed, f"random-noise/{count}/{draw}", record.key)
            texts[f"random/{draw}"] = apply(words, edits.random_moves(words, count, pool, rng))
        source = record.sample().source
        return {role: Sample(text, (record.gold,), source) for role, text in texts.items()}

    def more(self, scored: Scored) -> Sequence[Case]:
        """The next texts to try, of all items; a set metric cannot score one text."""
        beam = 1 if self.rule == "paper" else self.beam
        plan = Plan(beam, self.queries, self._source, self.seed)
        return () if scored.is_set else next_round(scored, plan)

    def panel(self) -> Sequence[str]:
        """Judges of other paradigms, so that one metric alone can be attacked."""
        return () if self.rule == "paper" else self.judges

    def final(self, scored: Sequence[Scored]) -> Sequence[Case]:
        """What each search found, and the rules drawn from it on other text: every metric scores both."""
        cases: list[Case] = []
        for answer in scored:
            state = {} if answer.is_set else searches(answer)
            for item, search in state.items():
                if search.found:
                    cases.append(_found_case(answer.metric, item, search, search.found[1]))
            for corpus in self._corpora if state else ():
                for rule in edits.rules(self._successes(answer, corpus.name, state), self.support, _RULES):
                    cases += self._rule_cases(answer.metric, corpus, rule)
        return cases

    def _successes(
        self, answer: Scored, dataset: str, state: Mapping[str, Search]
    ) -> list[tuple[str, Moves]]:
        """Texts whose score fell by less than the margin leaves of what random noise costs them."""
        fooled = []
        for place, case in enumerate(answer.cases):
            search = state.get(case.id)
            if search is None or search.found is None or case.slice != dataset:
                continue
            gold = answer.values["gold"][place]
            draws = [gold - answer.values[role][place] for role in case.samples if role.startswith("random/")]
            if gold - search.found[0] < (1 - self.margin) * np.mean(draws):
                fooled.append((search.gold, search.found[1]))
        return fooled

    def _rule_cases(self, metric: str, corpus: Corpus, rule: EditRule) -> list[Case]:
        cases, slice_ = [], f"{corpus.name}/{rule.kind}"
        for record in self._unseen(corpus):
            rng = generator(self.seed, f"rule/{rule.kind}", record.key)
            moves = rule.moves(record.gold, self._source, self.ratio, rng)
            text = apply(record.gold.split(), moves)
            if moves and text:
                samples = self._noised(record, len(moves), _RULE_DRAWS)
                samples["attack"] = replace(samples["gold"], hypothesis=text)
                meta = {"metric": metric, "group": slice_, "changed": changes(record.gold, text)}
                cases.append(Case(f"{slice_}:{record.id}/{metric}", samples, slice_, meta))
        return cases

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """Each metric on what was found against it, with the others as judges."""
        findings: list[Finding] = []
        notes = self._data_notes()
        for answer in scored:
            groups: dict[str, list[Case]] = {}
            for case in answer.cases:
                if case.meta.get("metric") == answer.metric:
                    groups.setdefault(case.meta["group"], []).append(case)
            for slice_, cases in groups.items():
                judgement = group_judgement(self, answer, slice_, cases, scored)
                findings += judgement.findings
                notes += judgement.notes
        return Judgement(findings, notes)

    def _data_notes(self) -> list[str]:
        notes = []
        for corpus in self._corpora:
            short = len(corpus.records) - len(self._long(corpus))
            if short:
                notes.append(
                    f"{corpus.name}: {short} texts of fewer than {_SHORTEST} words were not attacked"
                )
            if not self._unseen(corpus):
                notes.append(f"{corpus.name}: no text is left to try rules on; give more than one")
        return notes


def _found_case(metric: str, item: str, search: Search, moves: Moves) -> Case:
    text, slice_ = apply(search.gold.split(), moves), search.case.slice
    samples = {**search.case.samples, "attack": replace(search.case.samples["gold"], hypothesis=text)}
    ratio, changed = edit_ratio(search.gold, text), changes(search.gold, text)
    meta = {
        "metric": metric,
        "group": slice_,
        "queries": search.used,
        "noise_ratio": ratio,
        "changed": changed,
    }
    return Case(f"{item}/found/{metric}", samples, f"{slice_}/found", meta)


def _vocabulary(texts: Iterable[str]) -> list[str]:
    """The words of some texts, each once, in order."""
    return list(dict.fromkeys(word.strip(".,;:!?\"'()").lower() for text in texts for word in text.split()))
