"""How to call the objects of other libraries, which are recognised by their methods and modules.

Nothing is imported but what the object's own library has imported already.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from assay.errors import SpecError
from assay.names.calls import Argument, Call, Form, Role, by_signature
from assay.names.environment import Remote
from assay.vocabulary import Need

_PAIR, _PAIRS = Form("pair", False), Form("pair", True)
_BATCH, _BATCHES = Form("batch", False), Form("batch", True)
_CORPUS, _CORPORA = Form("corpus", False), Form("corpus", True)
_ROLES: tuple[Role, ...] = ("hypothesis", "references", "source")
_HYPOTHESIS, _REFERENCES, _SOURCE = map(Argument, _ROLES)
# An annotation of lists of lists: the references of torchmetrics' BLEU, but not of its word error rate.
_NESTED = re.compile(r"(sequence|list)\[(union\[str, ?)?(sequence|list)\[", re.IGNORECASE)


class Arguments(NamedTuple):
    """What the user says to `wrap` that decides how an object is called."""

    needs: Sequence[Need] | None
    one_reference: bool | None
    output: str | None
    extra: Mapping[str, Any]


def call_of(thing: Any, given: Arguments) -> Call:
    """How to call an object: as its library wants it, else by the names of its arguments."""
    for recognised, adapter in _LIBRARIES:
        if recognised(thing):
            return adapter(thing, given)
    for method in () if _is_function(thing) else ("score", "ascore", "measure", "evaluate"):
        inner = getattr(thing, method, None)
        if callable(inner) and _takes_texts(inner):
            return by_signature(inner, given.needs, given.extra, given.one_reference)
    if not callable(thing):
        raise SpecError(
            f"{type(thing).__name__} is no metric assay knows how to call; give a function "
            "score(hypotheses, references) that returns one number per text"
        )
    return by_signature(thing, given.needs, given.extra, given.one_reference)


def _takes_texts(method: Callable[..., Any]) -> bool:
    """Whether a method has any argument by name or place; `score(**columns)` tells nothing."""
    return any(each.kind is not each.VAR_KEYWORD for each in inspect.signature(method).parameters.values())


def _has(*names: str) -> Callable[[Any], bool]:
    return lambda thing: all(callable(getattr(thing, name, None)) for name in names)


def _by_role(given: Arguments, usual: Sequence[Need]) -> tuple[Argument, ...]:
    """The text, and what the user (else the library) wants beside it, by the names of their roles."""
    roles = ("hypothesis", *(usual if given.needs is None else given.needs))
    return tuple(Argument(role, role) for role in _ROLES if role in roles)


def _module(thing: Any) -> str:
    """The module that an object is from, here or in another environment."""
    if isinstance(thing, Remote):
        return thing.library
    return getattr(thing, "__module__", None) or type(thing).__module__


def _is_function(thing: Any) -> bool:
    return thing.is_function if isinstance(thing, Remote) else inspect.isroutine(thing)


def _imported(thing: Any, module: str, name: str) -> Any:
    """A class of the object's own library."""
    if isinstance(thing, Remote):
        raise SpecError(
            f"{thing.name} is given objects of its own library; wrap a function of that environment that "
            "takes texts and makes them"
        )
    return getattr(importlib.import_module(module), name)


# --- sacrebleu, nltk, lm-eval: functions with an order or a form of their own ---


def _is_sacrebleu_corpus(thing: Any) -> bool:
    name = getattr(thing, "name" if isinstance(thing, Remote) else "__name__", "")
    return _is_function(thing) and _module(thing).startswith("sacrebleu") and name.startswith("corpus_")


def _sacrebleu(thing: Any, given: Arguments) -> Call:
    return Call(thing.sentence_score, forms=(_PAIRS,), extra=given.extra)


def _sacrebleu_corpus(thing: Any, given: Arguments) -> Call:
    def score(texts: Sequence[str], references: Sequence[Sequence[str]], **extra: Any) -> Any:
        return thing(texts, [list(stream) for stream in zip(*references, strict=True)], **extra)

    return Call(score, forms=(_CORPORA,), extra=given.extra)


def _is_nltk(thing: Any) -> bool:
    return _is_function(thing) and _module(thing).startswith("nltk.translate")


def _nltk(thing: Any, given: Arguments) -> Call:
    """nltk's metrics take lists of words; a text would be taken for a list of letters."""
    takes_lists = "references" in inspect.signature(thing).parameters

    def score(hypothesis: str, references: list[str] | str, **extra: Any) -> Any:
        words = [text.split() for text in references] if takes_lists else str(references).split()
        return thing(words, hypothesis.split(), **extra)

    return Call(score, forms=(_PAIRS if takes_lists else _PAIR,), extra=given.extra)


def _takes_items(thing: Any) -> bool:
    return _is_function(thing) and _module(thing).startswith("lm_eval")


def _lm_eval(thing: Any, given: Arguments) -> Call:
    """Aggregations of lm-eval take pairs of reference and text."""
    if "items" not in inspect.signature(thing).parameters:
        keywords = (Argument("hypothesis", "predictions"), Argument("references", "references"))
        return Call(thing, keywords, (_CORPUS,), extra=given.extra)
    return Call(
        lambda texts, refs: thing([*zip(refs, texts, strict=True)]), forms=(_CORPUS,), extra=given.extra
    )


# --- torchmetrics, evaluate: one number for a corpus ---


def _torchmetrics(thing: Any, given: Arguments) -> Call:
    """They average over what they have seen since they were reset."""

    def score(texts: Sequence[str], references: Sequence[Any]) -> Any:
        thing.reset()
        thing.update(texts, references)
        value = thing.compute()
        thing.reset()
        return value

    annotation = str(list(inspect.signature(thing.update).parameters.values())[-1].annotation)
    plain = re.sub(r"(typing|collections\.abc)\.", "", annotation)
    takes_one = "[" in plain and not _NESTED.search(plain)
    higher = getattr(thing, "higher_is_better", None)
    return Call(score, forms=(_CORPUS if takes_one else _CORPORA,), higher=higher, extra=given.extra)


def _evaluate(thing: Any, given: Arguments) -> Call:
    """Modules of evaluate name their columns; lists of references go where they are taken."""
    schemas = _schemas(thing)
    columns = [*schemas[0]] if schemas else ["predictions", "references"]
    unknown = [name for name in columns if name not in _COLUMNS and name not in given.extra]
    if unknown:
        raise SpecError(f"{thing.name} reads {', '.join(unknown)}, which no text of ours is; wrap a function")
    takes_lists = not schemas or any(map(_lists_references, schemas))
    return Call(
        _computed(thing, given.output),
        tuple(Argument(_COLUMNS[name], name) for name in columns if name in _COLUMNS),
        (Form("batch", takes_lists), Form("corpus", takes_lists)),
        extra={name: value for name, value in given.extra.items() if name not in columns},
    )


_COLUMNS: dict[str, Role] = {"predictions": "hypothesis", "references": "references", "sources": "source"}


def _schemas(thing: Any) -> list[Mapping[str, Any]]:
    """The columns that a module of evaluate may be given, in one form or in several."""
    told = getattr(thing, "features", None) or []
    return told if isinstance(told, list) else [told]


def _lists_references(schema: Mapping[str, Any]) -> bool:
    """Whether references come as lists."""
    feature = schema.get("references")
    return isinstance(feature, list) or type(feature).__name__ in ("Sequence", "List", "LargeList")


def _computed(thing: Any, output: str | None) -> Callable[..., Any]:
    """A module's answer: the number that has its name, unless the user names another."""
    called = output or getattr(thing, "name", None)

    def compute(**columns: Any) -> Any:
        answer = thing.compute(**columns)
        is_named = not output and isinstance(answer, Mapping) and called in answer
        return answer[called] if is_named else answer

    return compute


# --- models ---


def _is_comet(thing: Any) -> bool:
    return callable(getattr(thing, "predict", None)) and any(
        hasattr(thing, name) for name in ("requires_references", "predict_step")
    )


def _comet(model: Any, given: Arguments) -> Call:
    """A COMET model reads sources, and references unless it estimates quality without them."""
    requires = getattr(model, "requires_references", None)
    texts = {"mt": _HYPOTHESIS, "ref": _REFERENCES, "src": _SOURCE}
    if requires is not None and not requires():
        del texts["ref"]
    extra = {"batch_size": 8, "gpus": 0} | dict(given.extra)

    def score(*columns: Sequence[str], **extra: Any) -> Any:
        rows = [dict(zip(texts, row, strict=True)) for row in zip(*columns, strict=True)]
        predicted = model.predict(rows, **extra)
        return predicted["scores"] if isinstance(predicted, Mapping) else predicted.scores

    return Call(score, tuple(texts.values()), (_BATCH,), higher=True, extra=extra)


def _is_cross_encoder(thing: Any) -> bool:
    return callable(getattr(thing, "predict", None)) and (
        hasattr(thing, "rank") or "CrossEncoder" in type(thing).__name__
    )


def _cross_encoder(model: Any, given: Arguments) -> Call:
    """A cross-encoder reads (reference, text), the best of several references; or (source, text)."""

    def score(texts: Sequence[str], others: Sequence[Any], **extra: Any) -> list[float]:
        groups = _groups(others)
        pairs = [(other, text) for text, group in zip(texts, groups, strict=True) for other in group]
        values = map(float, model.predict(pairs, **extra))
        return [max(islice(values, len(group))) for group in groups]

    return Call(score, _compared(given), (_BATCHES,), higher=True, extra=given.extra)


def _groups(others: Sequence[Any]) -> list[list[str]]:
    """The references of each text, or its source, as a list."""
    return [[other] if isinstance(other, str) else list(other) for other in others]


def _sentence_encoder(model: Any, given: Arguments) -> Call:
    """A sentence encoder: the cosine of text and reference, the highest of several references."""

    def score(texts: Sequence[str], others: Sequence[Any], **extra: Any) -> list[float]:
        import numpy as np

        groups = _groups(others)
        flat = [*texts, *chain.from_iterable(groups)]
        vectors = np.asarray(model.encode(flat, show_progress_bar=False, **extra), dtype=np.float64)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        rest = iter(vectors[len(texts) :])
        near = zip(vectors, ([*islice(rest, len(group))] for group in groups), strict=False)
        return [float(max(np.stack(group) @ vector)) for vector, group in near]

    return Call(score, _compared(given), (_BATCHES,), higher=True, extra=given.extra)


def _is_pipeline(thing: Any) -> bool:
    return hasattr(thing, "task") and callable(getattr(thing, "preprocess", None)) and callable(thing)


def _pipeline(pipe: Any, given: Arguments) -> Call:
    """A classifier of pairs, text after reference; `output` names the label to read."""
    if pipe.task != "text-classification":
        raise SpecError(f"a pipeline of {pipe.task} gives no scores; wrap a function that calls it")

    def score(texts: Sequence[str], others: Sequence[str], **extra: Any) -> Any:
        pairs = [{"text": other, "text_pair": text} for text, other in zip(texts, others, strict=True)]
        return [pipe(pair, top_k=None, **extra) for pair in pairs]

    return Call(score, _compared(given), (_BATCH,), extra=given.extra)


def _compared(given: Arguments) -> tuple[Argument, Argument]:
    """The text, and what it is compared with: its source where the user asks for that alone."""
    return _HYPOTHESIS, _SOURCE if tuple(given.needs or ()) == ("source",) else _REFERENCES


# --- judges of language-model applications ---


def _is_deepeval(thing: Any) -> bool:
    return _module(thing).startswith("deepeval") and callable(getattr(thing, "measure", None))


def _deepeval(thing: Any, given: Arguments) -> Call:
    """deepeval's metrics measure a test case; those that read an expected output can do without an input."""
    test_case = _imported(thing, "deepeval.test_case", "LLMTestCase")
    required = {str(getattr(each, "value", each)) for each in getattr(thing, "_required_params", None) or ()}
    reads_source_alone = "expected_output" not in required and not required.isdisjoint(_DEEPEVAL_SOURCES)

    def score(hypothesis: str, references: str = "", source: str = "") -> Any:
        case = test_case(
            input=source, actual_output=hypothesis, expected_output=references,
            context=[source], retrieval_context=[source],
        )  # fmt: skip
        quiet = "_show_indicator" in inspect.signature(thing.measure).parameters
        thing.measure(case, **({"_show_indicator": False} if quiet else {}))
        return thing.score

    return Call(score, _by_role(given, ["source"] if reads_source_alone else ["references"]), (_PAIR,))


_DEEPEVAL_SOURCES = ("input", "context", "retrieval_context")


def _is_ragas(thing: Any) -> bool:
    return callable(getattr(thing, "single_turn_score", None))


def _ragas(thing: Any, given: Arguments) -> Call:
    sample = _imported(thing, "ragas.dataset_schema", "SingleTurnSample")
    required = set().union(*getattr(thing, "required_columns", {}).values())
    usual = [need for need, columns in _RAGAS_COLUMNS.items() if not required.isdisjoint(columns)]

    def score(hypothesis: str, references: str | None = None, source: str | None = None) -> Any:
        contexts = None if source is None else [source]
        return thing.single_turn_score(
            sample(response=hypothesis, reference=references, user_input=source, retrieved_contexts=contexts)
        )

    return Call(score, _by_role(given, usual), (_PAIR,))


_RAGAS_COLUMNS: dict[Need, tuple[str, ...]] = {
    "references": ("reference",),
    "source": ("user_input", "retrieved_contexts"),
}


def _is_inspect(thing: Any) -> bool:
    return inspect.iscoroutinefunction(thing) and list(inspect.signature(thing).parameters)[:2] == [
        "state",
        "target",
    ]


def _inspect(thing: Any, given: Arguments) -> Call:
    """inspect_ai's scorers are given a task's state and target, and answer C, P, I, N or a number."""
    state, target = (
        _imported(thing, *name)
        for name in (("inspect_ai.solver", "TaskState"), ("inspect_ai.scorer", "Target"))
    )
    output = _imported(thing, "inspect_ai.model", "ModelOutput")
    as_number = _imported(thing, "inspect_ai.scorer", "value_to_float")()

    async def score(hypothesis: str, references: list[str], source: str = "") -> Any:
        made = state(
            model="none/none", sample_id="0", epoch=1, input=source, messages=[],
            output=output.from_content("none/none", hypothesis),
        )  # fmt: skip
        answer = await thing(made, target(references))
        if isinstance(answer.value, Mapping):
            return {name: as_number(value) for name, value in answer.value.items()}
        return as_number(answer.value)

    return Call(score, _by_role(given, ["references"]), (_PAIRS,), higher=True)


_LIBRARIES: tuple[tuple[Callable[[Any], bool], Callable[[Any, Arguments], Call]], ...] = (
    (_has("sentence_score", "corpus_score"), _sacrebleu),
    (_is_sacrebleu_corpus, _sacrebleu_corpus),
    (_is_nltk, _nltk),
    (_takes_items, _lm_eval),
    (_has("compute", "update", "reset"), _torchmetrics),
    (_is_deepeval, _deepeval),
    (_is_ragas, _ragas),
    (_is_inspect, _inspect),
    (_has("compute"), _evaluate),
    (_is_comet, _comet),
    (_is_pipeline, _pipeline),
    (_is_cross_encoder, _cross_encoder),
    (_has("encode", "similarity"), _sentence_encoder),
)
