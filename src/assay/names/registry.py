"""Names to classes: the built-ins in literal tables, plug-ins by entry point.

`bertscore-p|r|f` stands for three names of one class, each with an output of its own.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Literal

from assay.core import Audit, Perturbation
from assay.errors import SpecError, suggest

Kind = Literal["metrics", "audits", "perturbations"]

METRICS = {
    "bleu": "assay.metrics.ngram:Bleu",
    "bleu:level=corpus": "assay.metrics.corpus:CorpusBleu",
    "bleu-1|2|3|4": "assay.metrics.ngram:CocoBleu",
    "sacrebleu": "assay.metrics.ngram:SacreBleu",
    "nist": "assay.metrics.ngram:Nist",
    "meteor": "assay.metrics.meteor:Meteor",
    "rouge1": "assay.metrics.rouge:Rouge1",
    "rouge2": "assay.metrics.rouge:Rouge2",
    "rouge4": "assay.metrics.rouge:Rouge4",
    "rougeL": "assay.metrics.rouge:RougeL",
    "rougeLsum": "assay.metrics.rouge:RougeLsum",
    "rougeSU4": "assay.metrics.rouge:RougeSU4",
    "rouge-w": "assay.metrics.rouge:RougeW",
    "chrf": "assay.metrics.chrf:Chrf",
    "chrf:level=corpus": "assay.metrics.corpus:CorpusChrf",
    "chrf++": "assay.metrics.chrf:ChrfPlusPlus",
    "ter": "assay.metrics.edit:Ter",
    "ter:level=corpus": "assay.metrics.corpus:CorpusTer",
    "cider": "assay.metrics.caption:Cider",
    "cider-plain": "assay.metrics.caption:CiderPlain",
    "spice": "assay.metrics.caption:Spice",
    "rep-4gram": "assay.metrics.diversity:Rep4Gram",
    "ngram-entropy": "assay.metrics.diversity:NgramEntropy",
    "distinct-n": "assay.metrics.diversity:DistinctN",
    "qbleu": "assay.metrics.task:QBleu",
    "qrouge": "assay.metrics.task:QRouge",
    "sari": "assay.metrics.sari:Sari",
    "parent": "assay.metrics.task:Parent",
    "embedding-average": "assay.metrics.static:EmbeddingAverage",
    "vector-extrema": "assay.metrics.static:VectorExtrema",
    "greedy-matching": "assay.metrics.static:GreedyMatching",
    "wmd": "assay.metrics.static:WordMovers",
    "wmd-relaxed": "assay.metrics.static:RelaxedWordMovers",
    "sms": "assay.metrics.static:SentenceMovers",
    "bertscore-p|r|f": "assay.metrics.bertscore:BertScore",
    "moverscore": "assay.metrics.contextual:MoverScore",
    "bleurt": "assay.metrics.regression:Bleurt",
    "frugalscore": "assay.metrics.regression:FrugalScore",
    "metricx": "assay.metrics.regression:MetricX",
    "reward": "assay.metrics.regression:Reward",
    "regression": "assay.metrics.regression:Regression",
    "comet": "assay.metrics.comet:Comet",
    "comet-qe": "assay.metrics.comet:CometQe",
    "bartscore-p|r|f": "assay.metrics.generation:BartScore",
    "bartscore-faithful": "assay.metrics.generation:BartScoreFaithful",
    "prism-p|r|f": "assay.metrics.generation:Prism",
    "prism-qe": "assay.metrics.generation:PrismQe",
    "gptscore": "assay.metrics.likelihood:GptScore",
    "gptscore-faithful": "assay.metrics.likelihood:GptScoreFaithful",
    "gpt-ppl": "assay.metrics.likelihood:GptPerplexity",
    "mlm-ppl": "assay.metrics.likelihood:MlmPerplexity",
    "sentence-cosine": "assay.metrics.contextual:SentenceCosine",
    "sms-contextual": "assay.metrics.contextual:SmsContextual",
    "nli": "assay.metrics.entailment:Nli",
    "nli-p|r|f": "assay.metrics.entailment:Nli",
    "nli-faithful": "assay.metrics.entailment:NliFaithful",
    "minicheck": "assay.metrics.entailment:MiniCheck",
    "unieval-coherence|consistency|fluency|relevance|overall": "assay.metrics.entailment:UniEval",
    "supert": "assay.metrics.summary:Supert",
    "blanc": "assay.metrics.summary:Blanc",
    "gruen": "assay.metrics.summary:Gruen",
    "dialogue-relevance": "assay.metrics.summary:DialogueRelevance",
    "dialogue-model": "assay.metrics.summary:DialogueModel",
    "mauve": "assay.metrics.mauve:Mauve",
    "clipscore": "assay.metrics.clip:ClipScore",
    "refclipscore": "assay.metrics.clip:RefClipScore",
    "vilbertscore-p|r|f": "assay.metrics.clip:VilbertScore",
    "judge": "assay.metrics.judge.metric:Judge",
}
AUDITS = {
    "stereotype": "assay.audits.stereotype.audit:Stereotype",
    "human": "assay.audits.human.audit:Human",
    "association": "assay.audits.association:Association",
    "swap": "assay.audits.swap.audit:Swap",
    "caption": "assay.audits.caption.audit:Caption",
    "stress": "assay.audits.stress.audit:Stress",
    "position": "assay.audits.position:Position",
    "injection": "assay.audits.injection:InjectionAudit",
    "frequent-ngram": "assay.audits.degenerate:FrequentNgram",
    "repetition": "assay.audits.degenerate:Repetition",
    "copy-source": "assay.audits.degenerate:CopySource",
    "identity-length": "assay.audits.lengths:IdentityLength",
    "truncation-direction": "assay.audits.lengths:TruncationDirection",
    "attention": "assay.audits.attention:Attention",
    "attack": "assay.audits.attack.audit:Attack",
    "self-preference": "assay.audits.self_preference:SelfPreference",
    "checklist": "assay.audits.checklist.audit:Checklist",
    "judge-bias": "assay.audits.judge_bias.audit:JudgeBias",
}
PERTURBATIONS = {
    "truncation": "assay.perturbations.noise:Truncation",
    "article-removal": "assay.perturbations.noise:ArticleRemoval",
    "preposition-removal": "assay.perturbations.noise:PrepositionRemoval",
    "stop-word-removal": "assay.perturbations.noise:StopWordRemoval",
    "verb-lemmatisation": "assay.perturbations.noise:VerbLemmatisation",
    "token-drop": "assay.perturbations.noise:TokenDrop",
    "repeated-token": "assay.perturbations.noise:RepeatedToken",
    "local-swap": "assay.perturbations.noise:LocalSwap",
    "middle-swap": "assay.perturbations.noise:MiddleSwap",
    "noised-punctuation": "assay.perturbations.noise:NoisedPunctuation",
    "sentence-switching": "assay.perturbations.noise:SentenceSwitching",
    "sub-sentence-switching": "assay.perturbations.noise:SubSentenceSwitching",
    "token-switching": "assay.perturbations.noise:TokenSwitching",
    "noun-switching": "assay.perturbations.noise:NounSwitching",
    "verb-switching": "assay.perturbations.noise:VerbSwitching",
    "named-entity-switching": "assay.perturbations.noise:NamedEntitySwitching",
    "sentence-replacement": "assay.perturbations.noise:SentenceReplacement",
    "negation": "assay.perturbations.noise:Negation",
    "generic-named-entity": "assay.perturbations.noise:GenericNamedEntity",
    "bert-diverge": "assay.perturbations.diverge:BertDiverge",
    "repeated-ending": "assay.perturbations.degenerate:RepeatedEnding",
    "frequent-ngrams": "assay.perturbations.degenerate:FrequentNgrams",
    "copied-source": "assay.perturbations.degenerate:CopiedSource",
    "positioned-error": "assay.perturbations.degenerate:PositionedError",
    "injection": "assay.perturbations.degenerate:Injected",
    "change-nouns": "assay.perturbations.checklist.content:ChangeNouns",
    "change-verbs": "assay.perturbations.checklist.content:ChangeVerbs",
    "masked-words": "assay.perturbations.diverge:MaskedWords",
    "change-gender": "assay.perturbations.checklist.content:ChangeGender",
    "change-attributes": "assay.perturbations.checklist.content:ChangeAttributes",
    "swap-objects": "assay.perturbations.checklist.content:SwapObjects",
    "repeat-object": "assay.perturbations.checklist.content:RepeatObject",
    "contradict": "assay.perturbations.checklist.conversation:Contradict",
    "repeat-turn": "assay.perturbations.checklist.conversation:RepeatTurn",
    "back-off": "assay.perturbations.checklist.conversation:BackOff",
    "generic-reply": "assay.perturbations.checklist.conversation:GenericReply",
    "random-response": "assay.perturbations.checklist.conversation:RandomResponse",
    "drop-questions": "assay.perturbations.checklist.conversation:DropQuestions",
    "machine-talk": "assay.perturbations.checklist.conversation:MachineTalk",
    "drop-phrases": "assay.perturbations.checklist.structure:DropPhrases",
    "drop-modifiers": "assay.perturbations.checklist.structure:DropModifiers",
    "drop-objects": "assay.perturbations.checklist.structure:DropObjects",
    "drop-details": "assay.perturbations.checklist.structure:DropDetails",
    "jumble": "assay.perturbations.checklist.fluency:Jumble",
    "agreement": "assay.perturbations.checklist.fluency:Agreement",
    "drop-articles": "assay.perturbations.checklist.fluency:DropArticles",
    "drop-prepositions": "assay.perturbations.checklist.fluency:DropPrepositions",
    "drop-stop-words": "assay.perturbations.checklist.fluency:DropStopWords",
    "misplaced-punctuation": "assay.perturbations.checklist.fluency:MisplacedPunctuation",
    "synonyms": "assay.perturbations.checklist.meaning:Synonyms",
    "contractions": "assay.perturbations.checklist.invariances:Contractions",
    "expansions": "assay.perturbations.checklist.invariances:Expansions",
    "equal-phrases": "assay.perturbations.checklist.invariances:EqualPhrases",
    "spelling": "assay.perturbations.checklist.invariances:Spelling",
    "date-format": "assay.perturbations.checklist.invariances:DateFormat",
    "abbreviations": "assay.perturbations.checklist.invariances:Abbreviations",
    "quotation-style": "assay.perturbations.checklist.invariances:QuotationStyle",
    "optional-commas": "assay.perturbations.checklist.invariances:OptionalCommas",
    "optional-that": "assay.perturbations.checklist.rewordings:OptionalThat",
    "caption-form": "assay.perturbations.checklist.rewordings:CaptionForm",
    "in-or-wearing": "assay.perturbations.checklist.rewordings:InOrWearing",
    "rewording": "assay.perturbations.checklist.alternatives:Rewording",
    "alternative-reference": "assay.perturbations.checklist.alternatives:AlternativeReference",
    "negate": "assay.perturbations.checklist.meaning:Negate",
    "antonyms": "assay.perturbations.checklist.meaning:Antonyms",
    "siblings": "assay.perturbations.checklist.meaning:Siblings",
    "change-names": "assay.perturbations.checklist.facts:ChangeNames",
    "change-numbers": "assay.perturbations.checklist.facts:ChangeNumbers",
    "change-dates": "assay.perturbations.checklist.facts:ChangeDates",
    "numerals-to-words": "assay.perturbations.checklist.invariances:NumeralsToWords",
    "drop-question-word": "assay.perturbations.checklist.conversation:DropQuestionWord",
    "change-question-word": "assay.perturbations.checklist.conversation:ChangeQuestionWord",
    "question-to-statement": "assay.perturbations.checklist.conversation:QuestionToStatement",
    "nouns-to-pronouns": "assay.perturbations.checklist.facts:NounsToPronouns",
    "typo-swap": "assay.perturbations.checklist.fluency:TypoSwap",
    "typo-drop": "assay.perturbations.checklist.fluency:TypoDrop",
    "typo-double": "assay.perturbations.checklist.fluency:TypoDouble",
    "typo-neighbour": "assay.perturbations.checklist.fluency:TypoNeighbour",
    "reorder-sentences": "assay.perturbations.checklist.structure:ReorderSentences",
    "repeat-sentences": "assay.perturbations.checklist.structure:RepeatSentences",
    "repeat-phrases": "assay.perturbations.checklist.structure:RepeatPhrases",
    "add-text": "assay.perturbations.checklist.structure:AddText",
    "off-topic-sentence": "assay.perturbations.checklist.structure:OffTopicSentence",
    "random-text": "assay.perturbations.checklist.structure:RandomText",
    "add-nonsense": "assay.perturbations.checklist.structure:AddNonsense",
    "split-sentence": "assay.perturbations.checklist.structure:SplitSentence",
}
_TABLES: dict[Kind, dict[str, str]] = {"metrics": METRICS, "audits": AUDITS, "perturbations": PERTURBATIONS}


@cache
def names(kind: Kind) -> dict[str, tuple[str, str | None]]:
    """Every name of a kind: where its class is, and which output the name reads."""
    table: dict[str, tuple[str, str | None]] = {}
    plugged = {entry.name: entry.value for entry in entry_points(group=f"assay.{kind}")}
    for pattern, where in [*_TABLES[kind].items(), *plugged.items()]:
        for name, output in _expand(pattern):
            if name in table:
                raise SpecError(f"two {kind} are called {name!r}: {table[name][0]} and {where}; rename one")
            table[name] = (where, output)
    return table


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
