"""Gender swapping (assoc sec. 5): does a metric prefer a gender, and does it still agree with people?

Preference: the hypothesis names a gender and the references name none; the male and the female version are
scored. Swaps in both directions separate the effect of gender from the effect of editing a text, and the same
texts without a word give the unit. Agreement: the genders in all texts are swapped, and the correlation with
people is taken before and after.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from assay.audits.base import DataAudit, spread_out, without_a_unit
from assay.audits.effects import MARGIN, UNIT, read_slices
from assay.audits.human.items import limited, part_names
from assay.audits.swap.agreement import agreement_findings
from assay.audits.swap.preference import GENDERS, LOST_WORD, NEUTRAL, SLICE, VERSIONS, preference_findings
from assay.audits.wording import reason
from assay.core import Case, Finding, Judgement, MadeOnce, Sample, Scored, Statistic
from assay.datasets.kinds import describe_data
from assay.datasets.pairs import StereotypePair, embedded_pairs, read_pair_files
from assay.datasets.published.ratings import read_ratings
from assay.datasets.ratings import Rated
from assay.datasets.swaps import SwapList, Swapped, embedded_swaps, is_one_to_one, read_swaps, swap_texts
from assay.perturbations.lost_word import without_a_word
from assay.recipe import digest
from assay.vocabulary import Question

_RATED = "rated"  # the slice of the texts that show no preference, and are scored for agreement alone
_PAPER_ALPHA = 0.01  # the level of the paper's tables


def _prefers(finding: Finding) -> str:
    """Which version a metric scores higher, and by how much."""
    size = f"{abs(finding.value):.2f} {UNIT}"
    *kind, name = finding.slice.split("/")
    male, female = name.split("-", 1) if "word" in kind else GENDERS
    higher, lower = (male, female) if finding.value > 0 else (female, male)
    texts = f"the {higher} version of a text {size} above the {lower} one"
    if "word" in kind:
        texts = f"a text with “{higher}” {size} above the same text with “{lower}”"
    return f"{finding.metric} scores {texts}{reason(finding)}."


def _prefers_by_sign(finding: Finding) -> str:
    gender = finding.slice.rpartition("/")[2]
    return (
        f"{finding.metric} scores one gender's version above the other's more often than chance would, of "
        f"{finding.n} texts about {'men' if gender == 'male' else 'women'} (p = {finding.value:.2g})."
    )


def _agrees_otherwise(finding: Finding) -> str:
    change = "rises" if finding.value > 0 else "falls"
    return (
        f"The correlation of {finding.metric} with people ({finding.slice}) {change} by "
        f"{abs(finding.value):.2g} when the genders in all texts are swapped."
    )


def _correlation(kind: str) -> Statistic:
    meaning = f"Correlation with people ({kind}, -1 to 1) of the original or the swapped texts."
    return Statistic(kind, meaning, "correlation")


@dataclass(frozen=True)
class Swap(MadeOnce, DataAudit):
    """Male and female versions of texts, against neutral references and against people."""

    name = "swap"
    title = "Gender swapping"
    question: ClassVar[Question] = "fairness"
    advice = "Score both genders' versions of a text and take the mean, or mask gender before scoring."
    wants = "an item needs a text that names one gender, with references that name none, or ratings of people"
    roles = (*VERSIONS, NEUTRAL)
    quick_items = 120  # about 60 texts of either gender
    statistics = (
        Statistic(
            "lost_words",
            "How much higher male versions score than female ones, with the effect of editing removed, in "
            "lost words: 1 is what the loss of one content word costs in the same texts.",
            UNIT, bad="far", bar="margin", headline=True, sentence=_prefers,
        ),
        Statistic(
            "flipped_decisions",
            "Of 100 decisions between a whole text about one gender and its version about the other with a "
            "word lost, how many more come out in favour of the male version than of the female one.",
            "of 100",
        ),
        Statistic(
            "edit_lost_words",
            "How much higher texts score as they were written than swapped, whatever their gender.",
            UNIT,
        ),
        Statistic("mean_score", "Mean score of the male or of the female versions.", "score"),
        Statistic(
            "preference_share",
            "Share of texts whose version with one gender scores higher than the other version, or than a "
            "version without gender. It counts differences of any size.",
            "share",
        ),
        Statistic(
            "preference_p_value",
            "By the paper's rule: the sign test of whether either version scores higher equally often; below "
            "0.01 a metric prefers one.",
            "p", bad="low", bar=_PAPER_ALPHA, sentence=_prefers_by_sign,
        ),
        Statistic(
            "correlation_change",
            "Change of the correlation with people when the genders in all texts are swapped.",
            "correlation", bad="far", bar="change_margin", headline=True, sentence=_agrees_otherwise,
        ),
        *map(_correlation, ("pearson", "spearman", "kendall_b", "kendall_c")),
    )  # fmt: skip

    swaps: Path | None = None  # the user's own list, two words per line
    kind: Literal["pearson", "spearman", "kendall_b", "kendall_c"] = "spearman"
    margin: float = MARGIN  # of a lost word by which one gender may score higher
    change_margin: float = 0.05  # the smallest change of a correlation that matters
    skip_missing: bool = False

    @cached_property
    def _swap_list(self) -> SwapList:
        return read_swaps(self.swaps) if self.swaps else embedded_swaps()

    @cached_property
    def items(self) -> list[Rated]:
        """The user's texts, or texts of the embedded gender pairs, which people did not rate."""
        if not self.data:
            return spread_out(_as_rated(embedded_pairs(("gender", "gender_occupation"))), self.limit)
        return [item for _, table in self._files for item in table]

    @cached_property
    def _files(self) -> list[tuple[Path, list[Rated]]]:
        return [(path, limited(self._read(path), self.limit)) for path in self.data]

    def _read(self, path: Path) -> list[Rated]:
        """The texts of a file: rated ones, or those of pairs that differ in gender."""
        if "pairs" in describe_data(path).kinds:
            return _as_rated(read_pair_files([path], skip_missing=self.skip_missing)[0])
        return read_ratings(path, skip_missing=self.skip_missing)

    def make_cases(self) -> list[Case]:
        """Each text as it is and swapped; where only the hypothesis names a gender, also without it."""
        parts = part_names(self._files) if self.data else [""] * len(self.items)
        swapped = self._swapped()
        cases = [_case(item, part, swapped) for item, part in zip(self.items, parts, strict=True)]
        told = [case for case in cases if case.slice == SLICE or case.meta["human"]]
        # Any beginning of the cases is a fair sample, in whole documents.
        return sorted(told, key=_content) if self.rule == "careful" else told

    def _swapped(self) -> dict[str, Swapped]:
        """Every text and reference with its genders swapped."""
        samples = [item.sample for item in self.items]
        texts = dict.fromkeys(text for sample in samples for text in (sample.hypothesis, *sample.references))
        return dict(zip(texts, swap_texts(list(texts), self._swap_list), strict=True))

    def judge(self, scored: Sequence[Scored]) -> Judgement:
        """Preference, then agreement with people; set metrics have neither."""
        answers = [answer for answer in scored if not answer.is_set]
        findings: list[Finding] = []
        for scores in read_slices(answers):
            if scores.slice == SLICE:
                findings += preference_findings(scores, rule=self.rule, seed=self.seed)
        for answer in answers:
            findings += agreement_findings(answer, kind=self.kind, rule=self.rule, seed=self.seed)
        return Judgement(findings, [*self._notes(), *without_a_unit(findings)])

    def _notes(self) -> list[str]:
        told = [case for case in self.made if case.slice == SLICE]
        genders = Counter(case.meta["content"] for case in told)
        documents = {(case.meta["content"], case.meta["cluster"]) for case in told}
        varied = Counter(content for content, _ in documents)
        counts = " and ".join(f"{genders[gender]} {gender} texts" for gender in GENDERS)
        notes = [*self._swap_list.notes, f"{counts} have references that name no gender"]
        few = [gender for gender in GENDERS if varied[gender] < 2]
        ambiguous = sum(not case.meta["one_to_one"] for case in self.made)
        is_rated = any(case.meta["human"] for case in self.made)
        remarks = {
            f"too few {' and '.join(few)} texts of different documents for a verdict on preference: one "
            "direction alone cannot separate gender from editing": bool(few),
            f"{ambiguous} items have words without a counterpart of their own (his, him: her)": ambiguous > 0,
            "no human scores in the data: preference only, no agreement with people": not is_rated,
        }
        return [*notes, *(remark for remark, holds in remarks.items() if holds)]


def _as_rated(pairs: Sequence[StereotypePair]) -> list[Rated]:
    """The first texts of pairs with their neutral references; a template is a document."""
    documents = [str(pair.meta.get("template", pair.id)) for pair in pairs]
    samples = [Sample(pair.stereotype, pair.references, pair.source, pair.image) for pair in pairs]
    return [
        Rated(pair.id, sample, None, document)
        for pair, sample, document in zip(pairs, samples, documents, strict=True)
    ]


def _document(item: Rated) -> str:
    return item.doc or item.id


def _content(case: Case) -> str:
    """What orders cases by their content: that of the document where people rated it."""
    return digest(case.meta["cluster"]) if case.meta["human"] else case.samples[VERSIONS[0]].key


def _case(item: Rated, part: str, swapped: Mapping[str, Swapped]) -> Case:
    """One text in both versions; also without a word, if it shows which version a metric prefers."""
    sample, hypothesis = item.sample, swapped[item.sample.hypothesis]
    references = [swapped[text] for text in sample.references]
    other = _with(sample, hypothesis.text, tuple(reference.text for reference in references))
    samples = dict(zip(VERSIONS, (sample, other), strict=True))
    is_neutral = bool(references) and all(reference.content == "neutral" for reference in references)
    shows_preference = is_neutral and hypothesis.content in GENDERS
    if shows_preference:
        samples |= _without_a_word(samples, hypothesis, sample.key)
        if hypothesis.neutral is not None:
            samples[NEUTRAL] = _with(sample, hypothesis.neutral)
    meta = {
        "content": hypothesis.content,
        "one_to_one": is_one_to_one([hypothesis, *references]),
        "cluster": _document(item),
        "system": item.system,
        "human": {name: float(np.mean(ratings)) for name, ratings in item.human.items()},
        "changed": [f"{before} > {after}" for before, after in hypothesis.turned],
        "words": _words(hypothesis),
        "part": part,
    }
    return Case(item.id, samples, SLICE if shows_preference else _RATED, meta)


def _with(sample: Sample, hypothesis: str, references: tuple[str, ...] | None = None) -> Sample:
    """The sample with another hypothesis, and with other references if any are named."""
    kept = sample.references if references is None else references
    return Sample(hypothesis, kept, sample.source, sample.image)


def _without_a_word(versions: Mapping[str, Sample], hypothesis: Swapped, key: str) -> dict[str, Sample]:
    """Both versions without the same content word, which is none of those that were swapped."""
    gendered = " ".join(word for turned in hypothesis.turned for word in turned)
    samples = {}
    for role, lost_role in zip(VERSIONS, LOST_WORD, strict=True):
        lost = without_a_word(versions[role].hypothesis, keep=gendered, key=key)
        if lost is not None:
            samples[lost_role] = _with(versions[role], lost)
    return samples


def _words(hypothesis: Swapped) -> list[str]:
    """The words that were swapped, as MALE-FEMALE."""
    is_male = hypothesis.content == "male"
    pairs = [turned if is_male else turned[::-1] for turned in hypothesis.turned]
    return list(dict.fromkeys("-".join(pair) for pair in pairs))
