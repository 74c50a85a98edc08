"""Gender swapping (assoc sec. 5): does a metric prefer a gender, and does it still agree with people?

Preference: the references tell no gender, the hypothesis tells one; both versions are scored. Original
against edited is confounded with male against female, so swaps in both directions separate the two.
Performance: all texts are swapped, and the correlation with people is taken before and after; a change on
items whose words have one counterpart each is not due to two words (his, him) becoming one (her).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from assay.audits.slices import spread_out
from assay.audits.swap.agreement import Agreement
from assay.audits.swap.preference import Judge
from assay.core import Audit, Case, Finding, Sample, Scored
from assay.datasets.pairs import embedded_pairs
from assay.datasets.published.ratings import read_ratings
from assay.datasets.ratings import Rated
from assay.datasets.swaps import SwapList, Swapped, embedded_swaps, is_one_to_one, read_swaps, swap_texts
from assay.vocabulary import Question, Rule

FEWEST = 10


@dataclass(frozen=True)
class Swap(Audit):
    """Male and female versions of texts, against neutral references and against people."""

    name: ClassVar[str] = "swap"
    question: ClassVar[Question] = "fairness"
    roles: ClassVar[tuple[str, ...]] = ("original", "swapped", "neutral")

    data: tuple[Path, ...] = ()
    rule: Rule = "careful"
    seed: int = 0
    limit: int | None = None
    swaps: Path | None = None  # a list of one's own, two words a line
    kind: Literal["pearson", "spearman", "kendall_b", "kendall_c"] = "spearman"
    margin: float = 0.1  # how far from one half a share of preferences matters
    change_margin: float = 0.05  # the smallest change of a correlation that matters
    skip_missing: bool = False

    @classmethod
    def quick(cls) -> Mapping[str, Any]:
        """Eighty texts."""
        return {"limit": 80}

    @cached_property
    def _list(self) -> SwapList:
        return read_swaps(self.swaps) if self.swaps else embedded_swaps()

    @cached_property
    def items(self) -> list[Rated]:
        """The user's rated texts, or texts of the embedded gender pairs, which people did not rate."""
        if not self.data:
            return spread_out(_embedded(), self.limit)
        found = [
            spread_out(read_ratings(path, skip_missing=self.skip_missing), self.limit) for path in self.data
        ]
        return [item for items in found for item in items]

    @cached_property
    def _cases(self) -> list[Case]:
        texts = dict.fromkeys(
            t for item in self.items for t in (item.sample.hypothesis, *item.sample.references)
        )
        swapped = dict(zip(texts, swap_texts(list(texts), self._list), strict=True))
        return [_case(item, swapped) for item in self.items]

    def cases(self) -> Iterable[Case]:
        """Each text as it is and swapped; where only the hypothesis tells a gender, also without it."""
        return self._cases

    def judge(self, scored: Sequence[Scored]) -> list[Finding]:
        """Preference, then performance."""
        preference = Judge(self.margin, FEWEST, self.seed, self.rule)
        agreement = Agreement(self.kind, self.change_margin, FEWEST, self.seed)
        found: list[Finding] = []
        for one in scored:
            if one.about.get("set"):
                continue
            known = one.values["original"][np.isfinite(one.values["original"])]
            spread = float(known.std(ddof=1)) if known.size > 1 else 0.0
            found += [*preference.findings(one, spread), *agreement.findings(one)]
        return found

    def notes(self) -> list[str]:
        """How many items each analysis has, and what it cannot tell."""
        kinds = Counter(case.meta["preference"] for case in self._cases)
        parts = ", ".join(f"{kinds[kind]} {kind}" for kind in ("male", "female", "neutral"))
        notes = [*self._list.notes, f"neutral references: hypotheses of {len(self._cases)} items are {parts}"]
        small = [kind for kind in ("male", "female") if kinds[kind] < FEWEST]
        if small:
            notes.append(
                f"fewer than {FEWEST} {' and '.join(small)} items, too few for a verdict on preference: "
                "one direction alone cannot tell gender from edit"
            )
        broken = sum(not case.meta["one_to_one"] for case in self._cases)
        if broken:
            notes.append(f"{broken} items have words without a counterpart of their own (his, him: her)")
        if not any(case.meta.get("human") for case in self._cases):
            notes.append("no human scores in the data: preference only, no performance")
        return notes


def _case(item: Rated, swapped: Mapping[str, Swapped]) -> Case:
    """`preference` is the hypothesis's gender where no reference tells one, else 'none'."""
    sample = item.sample
    hypothesis = swapped[sample.hypothesis]
    references = [swapped[text] for text in sample.references]
    blind = bool(references) and all(one.content == "neutral" for one in references)
    content = hypothesis.content
    samples = {
        "original": sample,
        "swapped": Sample(
            hypothesis.text, tuple(one.text for one in references), sample.source, sample.image
        ),
    }
    if blind and content in ("male", "female") and hypothesis.neutral is not None:
        samples["neutral"] = Sample(hypothesis.neutral, sample.references, sample.source, sample.image)
    meta = {
        "content": content,
        "preference": content if blind and content != "both" else "none",
        "one_to_one": is_one_to_one([hypothesis, *references]),
        "doc": item.doc or item.id,
        "system": item.system,
        "human": {name: float(np.mean(given)) for name, given in item.human.items()},
        "changed": [f"{one} > {two}" for one, two in hypothesis.turned],
    }
    return Case(item.id, samples, f"preference/{meta['preference']}", meta)


def _embedded() -> list[Rated]:
    """The gender pairs, one text of each with its neutral reference; a template is its document."""
    return [
        Rated(
            pair.id, Sample(pair.stereotype, pair.references), None, str(pair.meta.get("template", pair.id))
        )
        for pair in embedded_pairs(("gender", "gender_occupation"))
    ]
