"""Gender swapping (assoc sec. 5): does a metric prefer a gender, and does it still agree with people?

Preference: the hypothesis names a gender and the references name none; the male and the female version are
scored. Swaps in both directions separate the effect of gender from the effect of editing a text.
Agreement: the genders in all texts are swapped, and the correlation with people is taken before and after.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from assay.audits.gap import UNFAIR, WORTHLESS, worthless_text
from assay.audits.human.items import limited, part_names
from assay.audits.slices import FEWEST, spread_out
from assay.audits.swap import agreement, preference
from assay.core import Audit, Case, Finding, Judgement, Sample, Scored, Statistic
from assay.datasets.pairs import embedded_pairs
from assay.datasets.published.ratings import read_ratings
from assay.datasets.ratings import Rated
from assay.datasets.swaps import SwapList, Swapped, embedded_swaps, is_one_to_one, read_swaps, swap_texts
from assay.vocabulary import NonNegative, Question, Rule


@dataclass(frozen=True)
class Swap(Audit):
    """Male and female versions of texts, against neutral references and against people."""

    name: ClassVar[str] = "swap"
    question: ClassVar[Question] = "fairness"
    title: ClassVar[str] = "Gender swapping"
    advice: ClassVar[str] = (
        "Score both genders' versions of a text and take the mean, or mask gender before scoring."
    )
    statistics: ClassVar[tuple[Statistic, ...]] = (*preference.STATISTICS, *agreement.STATISTICS)
    roles: ClassVar[tuple[str, ...]] = ("original", "swapped", "neutral")

    data: tuple[Path, ...] = ()
    rule: Rule = "careful"
    seed: NonNegative = 0
    limit: int | None = None
    swaps: Path | None = None  # the user's own list, two words per line
    kind: Literal["pearson", "spearman", "kendall_b", "kendall_c"] = "spearman"
    margin: float = UNFAIR  # percent of the gap by which one gender may score higher
    change_margin: float = 0.05  # the smallest change of a correlation that matters
    skip_missing: bool = False

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        return {"limit": 80}

    @cached_property
    def _swap_list(self) -> SwapList:
        return read_swaps(self.swaps) if self.swaps else embedded_swaps()

    @cached_property
    def items(self) -> list[Rated]:
        """The user's rated texts, or texts of the embedded gender pairs, which people did not rate."""
        if not self.data:
            return spread_out(_embedded(), self.limit)
        return [item for _, table in self._files for item in table]

    @cached_property
    def _files(self) -> list[tuple[Path, list[Rated]]]:
        return [
            (path, limited(read_ratings(path, skip_missing=self.skip_missing), self.limit))
            for path in self.data
        ]

    @cached_property
    def _cases(self) -> list[Case]:
        samples = [item.sample for item in self.items]
        texts = list(dict.fromkeys(t for sample in samples for t in (sample.hypothesis, *sample.references)))
        swapped = dict(zip(texts, swap_texts(texts, self._swap_list), strict=True))
        others = [sample.hypothesis for sample in samples]
        parts = part_names(self._files) if self.data else [""] * len(self.items)
        cases = [_case(item, swapped, others) for item in self.items]
        return [
            replace(case, meta={**case.meta, "part": part}) for case, part in zip(cases, parts, strict=True)
        ]

    def cases(self) -> Iterable[Case]:
        """Each text as it is and swapped; where only the hypothesis names a gender, also without it."""
        return self._cases

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """Preference, then agreement with people; set metrics have neither."""
        findings: list[Finding] = []
        for answer in scored:
            if not answer.is_set:
                findings += preference.preference_findings(answer, rule=self.rule, seed=self.seed)
                findings += agreement.agreement_findings(answer, kind=self.kind, seed=self.seed)
        return Judgement(findings, self._notes())

    def _notes(self) -> list[str]:
        genders = Counter(case.meta["preference"] for case in self._cases)
        counts = ", ".join(f"{genders[gender]} {gender}" for gender in ("male", "female", "neutral"))
        notes = [
            *self._swap_list.notes,
            f"neutral references: hypotheses of {len(self._cases)} items are {counts}",
        ]
        small = [gender for gender in ("male", "female") if genders[gender] < FEWEST]
        if small:
            notes.append(
                f"fewer than {FEWEST} {' and '.join(small)} items, too few for a verdict on preference: "
                "one direction alone cannot separate gender from editing"
            )
        ambiguous = sum(not case.meta["one_to_one"] for case in self._cases)
        if ambiguous:
            notes.append(f"{ambiguous} items have words without a counterpart of their own (his, him: her)")
        if not any(case.meta.get("human") for case in self._cases):
            notes.append("no human scores in the data: preference only, no agreement with people")
        return notes


def _case(item: Rated, swapped: Mapping[str, Swapped], others: Sequence[str]) -> Case:
    """`preference` is the gender of the hypothesis where no reference names one, else "none"."""
    sample, hypothesis = item.sample, swapped[item.sample.hypothesis]
    references = [swapped[text] for text in sample.references]
    neutral = bool(references) and all(reference.content == "neutral" for reference in references)
    swapped_references = tuple(reference.text for reference in references)
    other = Sample(hypothesis.text, swapped_references, sample.source, sample.image)
    samples = {"original": sample, "swapped": other}
    if neutral and hypothesis.content in ("male", "female") and hypothesis.neutral is not None:
        samples["neutral"] = Sample(hypothesis.neutral, sample.references, sample.source, sample.image)
    worthless = worthless_text(sample.hypothesis, others, sample.key)
    if worthless is not None:
        samples[WORTHLESS] = replace(sample, hypothesis=worthless)
    meta = {
        "content": hypothesis.content,
        "preference": hypothesis.content if neutral and hypothesis.content != "both" else "none",
        "one_to_one": is_one_to_one([hypothesis, *references]),
        "doc": item.doc or item.id,
        "system": item.system,
        "human": {name: float(np.mean(given)) for name, given in item.human.items()},
        "changed": [f"{before} > {after}" for before, after in hypothesis.turned],
    }
    return Case(item.id, samples, f"preference/{meta['preference']}", meta)


def _embedded() -> list[Rated]:
    """The stereotypes of the gender pairs with their neutral references; a template is a document."""
    pairs = embedded_pairs(("gender", "gender_occupation"))
    return [
        Rated(
            pair.id, Sample(pair.stereotype, pair.references), None, str(pair.meta.get("template", pair.id))
        )
        for pair in pairs
    ]
