"""A search for texts that are damaged and yet keep their score (*blind* app. J, made practical).

Small edits are chosen by the metric's own scores against the gold, to a least noise-ratio. `attack_gain` is
the share of what random noise of the same ratio costs that the search avoids: 1 means that nothing is lost.
A text counts only where other metrics see its damage; then each kind of edit that worked is tried as a rule
on text no search has seen (`rule_gain`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from assay.audits.attack.edits import KINDS, Moves, apply, edit_ratio, edits_needed, random_moves
from assay.audits.attack.judge import EditRule, Group, group_findings, rules, shown
from assay.audits.attack.search import Plan, Search, Source, next_round, searches
from assay.audits.corpora import Corpus, corpora
from assay.audits.slices import spread_out
from assay.core import Audit, Case, Finding, Record, Sample, Scored
from assay.errors import DataError, suggest
from assay.recipe import generator
from assay.vocabulary import Question, Rule

_SHORTEST = 4  # words: below, one edit is most of the text
_RULES = 8
_RULE_DRAWS = 3


@dataclass(frozen=True)
class Attack(Audit):
    """Beam search over deletions, replacements, insertions and swaps of words; `beam` 1 is greedy."""

    name: ClassVar[str] = "attack"
    question: ClassVar[Question] = "robustness"
    wants: ClassVar[str] = f"an item needs a gold of {_SHORTEST} words or more"

    data: tuple[Path, ...] = ()
    rule: Rule = "careful"
    seed: int = 0
    limit: int | None = 20  # texts attacked; the others are what rules are tried on
    only: tuple[str, ...] = ()  # kinds of edits: delete, replace, insert, swap
    task: tuple[str, ...] = ()
    queries: int = 2000  # texts tried an item, at most
    ratio: float = 0.15  # least noise-ratio
    beam: int = 3
    draws: int = 5  # random noises an item
    embeddings: str = "glove"
    model: str | None = None  # a masked language model that proposes words too
    judges: tuple[str, ...] = ("rougeL", "greedy-matching", "gpt-ppl:scale=log")
    margin: float = 0.75  # of random noise's cost avoided: more is a blind spot
    fall: float = 0.25  # of random noise's cost: what a metric must not avoid is what a judge must lose
    support: int = 3  # fooled texts with a kind of edit, for it to be tried as a rule
    held_out: int = 40  # texts a rule is tried on

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """A search has no place in minutes."""
        return {"skip": True}

    @cached_property
    def _corpora(self) -> list[Corpus]:
        return corpora(self.data, None, self.task, ("translation",), (None, None))

    @property
    def _plan(self) -> Plan:
        beam = 1 if self.rule == "paper" else self.beam
        return Plan(beam, self.queries, self._source, self.seed)

    @property
    def _source(self) -> Source:
        """Candidates; the paper deletes and replaces, greedily, without insertions and swaps."""
        for wrong in set(self.only) - set(KINDS):
            raise DataError(f"unknown kind of edit {wrong!r}{suggest(wrong, KINDS)}")
        usual = ("delete", "replace") if self.rule == "paper" else KINDS
        kinds = tuple(kind for kind in usual if not self.only or kind in self.only)
        return Source(self.embeddings, model=self.model, kinds=kinds)

    def _attacked(self, corpus: Corpus) -> list[Record]:
        """At most half of a corpus, so that rules have text of their own."""
        long = [record for record in corpus.records if len(record.gold.split()) >= _SHORTEST]
        most = max(1, (len(long) + 1) // 2)
        return spread_out(long, most if self.limit is None else min(self.limit, most))

    def _kept_apart(self, corpus: Corpus) -> list[Record]:
        attacked = {record.gold for record in self._attacked(corpus)}
        apart = [r for r in corpus.records if r.gold not in attacked and len(r.gold.split()) >= _SHORTEST]
        return spread_out(apart, self.held_out)

    def cases(self) -> Iterable[Case]:
        """The golds against themselves, and with random noise at the ratio of the attack."""
        for corpus in self._corpora:
            for record in self._attacked(corpus):
                count = edits_needed(record.gold.split(), self.ratio)
                samples = self._noised(record, count, self.draws)
                yield Case(f"{corpus.name}:{record.id}", samples, corpus.name, {"edits": count})

    def _noised(self, record: Record, count: int, draws: int) -> dict[str, Sample]:
        """The gold and its random noises; the gold is the reference, as in the paper."""
        words = record.gold.split()
        pool = _words(tuple(record.others))
        texts = {"gold": record.gold}
        for draw in range(draws):
            rng = generator(self.seed, f"random-noise/{count}/{draw}", record.key)
            texts[f"random/{draw}"] = apply(words, random_moves(words, count, pool, rng))
        source = record.sample().source
        return {role: Sample(text, (record.gold,), source) for role, text in texts.items()}

    def more(self, scored: Scored) -> Sequence[Case]:
        """The next texts to try, of all items; a metric of sets cannot be asked about one text."""
        return () if scored.about.get("set") else next_round(scored, self._plan)

    def panel(self) -> Sequence[str]:
        """Judges of other paradigms, so that one metric alone can be attacked."""
        return () if self.rule == "paper" else self.judges

    def final(self, scored: Sequence[Scored]) -> Sequence[Case]:
        """What each search found, and the rules drawn from it on other text: every metric sees both."""
        cases: list[Case] = []
        for answer in scored:
            if answer.about.get("set"):
                continue
            state = searches(answer)
            cases += [
                self._found(answer.metric, item, search) for item, search in state.items() if search.found
            ]
            for corpus in self._corpora:
                for one in rules(self._successes(answer, corpus.name, state), self.support, _RULES):
                    cases += self._rule_cases(answer.metric, corpus, one)
        return cases

    def _found(self, metric: str, item: str, search: Search) -> Case:
        moves: Moves = search.found[1] if search.found else ()
        text = apply(search.gold.split(), moves)
        samples = {**search.case.samples, "attack": replace(search.case.samples["gold"], hypothesis=text)}
        ratio = edit_ratio(search.gold, text)
        meta = {
            "metric": metric, "group": search.case.slice, "queries": search.used, "noise_ratio": ratio,
            "changed": shown(search.gold, text),
        }  # fmt: skip
        return Case(f"{item}/found/{metric}", samples, f"{search.case.slice}/found", meta)

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

    def _rule_cases(self, metric: str, corpus: Corpus, one: EditRule) -> list[Case]:
        cases = []
        for record in self._kept_apart(corpus):
            rng = generator(self.seed, f"rule/{one.kind}", record.key)
            moves = one.moves(record.gold, self._source, self.ratio, rng)
            text = apply(record.gold.split(), moves)
            if not moves or not text:
                continue
            samples = self._noised(record, len(moves), _RULE_DRAWS)
            samples["attack"] = replace(samples["gold"], hypothesis=text)
            slice_ = f"{corpus.name}/{one.kind}"
            meta = {"metric": metric, "group": slice_, "changed": shown(record.gold, text)}
            cases.append(Case(f"{slice_}:{record.id}/{metric}", samples, slice_, meta))
        return cases

    def judge(self, scored: Sequence[Scored]) -> list[Finding]:
        """Each metric on what was found against it, the others as judges."""
        self._examples.clear()
        found: list[Finding] = []
        for answer in scored:
            groups: dict[str, list[Case]] = {}
            for case in answer.cases:
                if case.meta.get("metric") == answer.metric:
                    groups.setdefault(case.meta["group"], []).append(case)
            for slice_, cases in groups.items():
                judged = group_findings(self, Group(slice_, answer, cases), scored)
                found += judged.findings
                self._examples.extend(judged.examples)
        return found

    @cached_property
    def _examples(self) -> list[str]:
        return []

    def notes(self) -> list[str]:
        """What was left out, and the texts that fooled a metric most."""
        notes = []
        for corpus in self._corpora:
            short = sum(len(record.gold.split()) < _SHORTEST for record in corpus.records)
            if short:
                notes.append(
                    f"{corpus.name}: {short} texts of fewer than {_SHORTEST} words were not attacked"
                )
            if not self._kept_apart(corpus):
                notes.append(f"{corpus.name}: no text is left to try rules on; give more than one")
        return notes + list(self._examples)


def _words(texts: tuple[str, ...]) -> list[str]:
    """The words of a corpus, each once, in order."""
    return list(dict.fromkeys(word.strip(".,;:!?\"'()").lower() for text in texts for word in text.split()))
