"""Names to classes: the built-ins in tables, plug-ins by entry point.

`bertscore-p|r|f` stands for three names of one class, each with an output of its own.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Literal

from assay.core import Audit, Perturbation
from assay.errors import SpecError, suggest

Kind = Literal["metrics", "audits", "perturbations"]

# One line per module of assay.metrics, assay.audits or assay.perturbations, with the names of its classes.
# In the order of `assay list`. A class is called as its name (local-swap: LocalSwap), or as `=` says.
_TABLES: dict[Kind, str] = {
    "metrics": """
        ngram: bleu bleu-1|2|3|4=CocoBleu sacrebleu=SacreBleu nist
        corpus: bleu:level=corpus=CorpusBleu chrf:level=corpus=CorpusChrf
            ter:level=corpus=CorpusTer
        meteor: meteor
        rouge: rouge1 rouge2 rouge4 rougeL rougeLsum rougeSU4 rouge-w
        chrf: chrf chrf++=ChrfPlusPlus
        edit: ter
        caption: cider cider-plain spice
        diversity: rep-4gram=Rep4Gram ngram-entropy distinct-n
        task: qbleu=QBleu qrouge=QRouge sari parent
        static: embedding-average vector-extrema greedy-matching wmd=WordMovers
            wmd-relaxed=RelaxedWordMovers sms=SentenceMovers
        bertscore: bertscore-p|r|f=BertScore
        contextual: moverscore=MoverScore sentence-cosine sms-contextual
        regression: bleurt frugalscore=FrugalScore metricx=MetricX reward regression
        comet: comet comet-qe
        generation: bartscore-p|r|f=BartScore bartscore-faithful=BartScoreFaithful
            prism-p|r|f=Prism prism-qe
        likelihood: gptscore=GptScore gptscore-faithful=GptScoreFaithful gpt-ppl=GptPerplexity
            mlm-ppl=MlmPerplexity
        entailment: nli nli-p|r|f=Nli nli-faithful minicheck=MiniCheck
            unieval-coherence|consistency|fluency|relevance|overall=UniEval
        summary: supert blanc gruen dialogue-relevance dialogue-model
        mauve: mauve
        clip: clipscore=ClipScore refclipscore=RefClipScore vilbertscore-p|r|f=VilbertScore
        judge.metric: judge
    """,
    "audits": """
        stereotype.audit: stereotype
        human.audit: human
        association: association
        swap.audit: swap
        caption.audit: caption
        stress.audit: stress
        position: position
        injection: injection=InjectionAudit
        degenerate: frequent-ngram repetition copy-source
        lengths: identity-length truncation-direction
        attention: attention
        attack.audit: attack
        self_preference: self-preference
        checklist.audit: checklist
        judge_bias.audit: judge-bias
    """,
    "perturbations": """
        noise: truncation article-removal preposition-removal stop-word-removal
            verb-lemmatisation token-drop repeated-token local-swap middle-swap
            noised-punctuation sentence-switching sub-sentence-switching token-switching
            noun-switching verb-switching named-entity-switching sentence-replacement
            negation generic-named-entity
        diverge: bert-diverge
        degenerate: repeated-ending frequent-ngrams copied-source positioned-error
            injection=Injected
        checklist.content: change-nouns change-verbs
        diverge: masked-words
        checklist.content: change-gender change-attributes swap-objects repeat-object
        checklist.conversation: contradict repeat-turn back-off generic-reply
            random-response drop-questions machine-talk
        checklist.structure: drop-phrases drop-modifiers drop-objects drop-details
        checklist.fluency: jumble agreement drop-articles drop-prepositions drop-stop-words
            misplaced-punctuation
        checklist.meaning: synonyms
        checklist.invariances: contractions expansions equal-phrases spelling date-format
            abbreviations quotation-style optional-commas
        checklist.rewordings: optional-that caption-form in-or-wearing
        checklist.alternatives: rewording alternative-reference
        checklist.meaning: negate antonyms siblings
        checklist.facts: change-names change-numbers change-dates
        checklist.invariances: numerals-to-words
        checklist.conversation: drop-question-word change-question-word
            question-to-statement
        checklist.facts: nouns-to-pronouns
        checklist.fluency: typo-swap typo-drop typo-double typo-neighbour
        checklist.structure: reorder-sentences repeat-sentences repeat-phrases add-text
            off-topic-sentence random-text add-nonsense split-sentence
    """,
}


@cache
def names(kind: Kind) -> dict[str, tuple[str, str | None]]:
    """Every name of a kind: where its class is, and which output the name reads."""
    table: dict[str, tuple[str, str | None]] = {}
    plugged = {entry.name: entry.value for entry in entry_points(group=f"assay.{kind}")}
    for pattern, where in [*_built_in(kind), *plugged.items()]:
        for name, output in _expand(pattern):
            if name in table:
                raise SpecError(f"two {kind} are called {name!r}: {table[name][0]} and {where}; rename one")
            table[name] = (where, output)
    return table


def _built_in(kind: Kind) -> Iterator[tuple[str, str]]:
    module = ""
    for word in _TABLES[kind].split():
        if word.endswith(":"):
            module = word[:-1]
            continue
        name, _, given = word.rpartition("=")
        own = "".join(part[:1].upper() + part[1:] for part in word.split("-"))
        yield name or word, f"assay.{kind}.{module}:{given if name else own}"


def _expand(pattern: str) -> list[tuple[str, str | None]]:
    """`bertscore-p|r` to (bertscore-p, p) and (bertscore-r, r)."""
    if "|" not in pattern:
        return [(pattern, None)]
    stem, _, outputs = pattern.rpartition("-")
    return [(f"{stem}-{output}", output) for output in outputs.split("|")]


def find(kind: Kind, name: str) -> tuple[type[Any], str | None]:
    """The class behind a name, and the output the name reads."""
    known = names(kind)
    if name not in known:
        raise SpecError(f"unknown {kind[:-1]} {name!r}{suggest(name, known)}")
    where, output = known[name]
    return load(where), output


@cache
def load(where: str) -> type[Any]:
    """`package.module:Class` to the class."""
    module, _, attribute = where.partition(":")
    return getattr(importlib.import_module(module), attribute)  # type: ignore[no-any-return]


def audit_class(name: str) -> type[Audit]:
    """The audit of that name."""
    return find("audits", name)[0]


def perturbation_class(name: str) -> type[Perturbation]:
    """The perturbation of that name."""
    return find("perturbations", name)[0]
