"""`assay.wrap` and `data=` on the real packages; each test is skipped where its package is not installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import assay
from assay.engine.session import Session

TEXTS = ["the cat sat on a mat", "a dog ran"]
REFERENCES = [["the cat sat on the mat", "a cat was there"], ["the dog ran away"]]


def scores(metric: object) -> list[float]:
    return assay.score([metric], TEXTS, REFERENCES, session=Session.open(cache=None)).to_series().to_list()


def one(metric: object, references: list[str] | None = None, sources: list[str] | None = None) -> list[float]:
    """Scores with one reference for each text."""
    given = [listed[0] for listed in REFERENCES] if references is None else references
    frame = assay.score([metric], TEXTS, given or None, sources, session=Session.open(cache=None))
    return frame.to_series().to_list()


def pairs() -> list[tuple[str, str]]:
    return [(text, listed[0]) for text, listed in zip(TEXTS, REFERENCES, strict=True)]


def test_torchmetrics() -> None:
    text = pytest.importorskip("torchmetrics.text")
    for kind in (text.CHRFScore, text.BLEUScore, text.SacreBLEUScore):
        expected = [
            kind()([hypothesis], [references]).item()
            for hypothesis, references in zip(TEXTS, REFERENCES, strict=True)
        ]
        assert scores(assay.wrap(kind(), name="tool")) == pytest.approx(expected)
    rates = (
        text.WordErrorRate,
        text.CharErrorRate,
        text.MatchErrorRate,
        text.WordInfoLost,
        text.EditDistance,
    )
    for kind in (*rates, text.TranslationEditRate, text.ExtendedEditDistance):
        expected = [-kind()([hypothesis], [reference]).item() for hypothesis, reference in pairs()]
        assert one(assay.wrap(kind())) == pytest.approx(expected)
    with pytest.raises(assay.AuditError, match=r"takes one reference, the sample 0 .* has 2"):
        scores(assay.wrap(text.CharErrorRate()))
    # The package says that lower is better, and gives 1 to equal texts.
    with pytest.raises(assay.AuditError, match="makes no sense; say higher_is_better=True"):
        one(assay.wrap(text.WordInfoPreserved()))
    assert max(one(assay.wrap(text.WordInfoPreserved(), higher_is_better=True))) < 1


def test_torchmetrics_functions() -> None:
    functions = pytest.importorskip("torchmetrics.functional.text")
    expected = [-functions.char_error_rate([text], [ref]).item() for text, ref in pairs()]
    assert one(assay.wrap(functions.char_error_rate)) == pytest.approx(expected)


def test_jiwer() -> None:
    jiwer = pytest.importorskip("jiwer")
    for function, sign in (
        (jiwer.wer, -1),
        (jiwer.cer, -1),
        (jiwer.mer, -1),
        (jiwer.wil, -1),
        (jiwer.wip, 1),
    ):
        expected = [sign * function(reference=ref, hypothesis=text) for text, ref in pairs()]
        assert one(assay.wrap(function)) == pytest.approx(expected)
    expected = [-jiwer.wer(ref, text) for text, ref in pairs()]
    assert one(assay.wrap(jiwer.process_words, output="wer")) == pytest.approx(expected)
    with pytest.raises(
        assay.AuditError, match=r"process_words returns wer, mer, wil, wip, .*; choose one: output="
    ):
        one(assay.wrap(jiwer.process_words))


def test_rapidfuzz_and_other_distances() -> None:
    fuzz, distance = pytest.importorskip("rapidfuzz.fuzz"), pytest.importorskip("rapidfuzz.distance")
    assert one(assay.wrap(fuzz.token_sort_ratio)) == [fuzz.token_sort_ratio(*pair) for pair in pairs()]
    expected = [-float(distance.Levenshtein.distance(*pair)) for pair in pairs()]
    assert one(assay.wrap(distance.Levenshtein.distance)) == expected
    editdistance = pytest.importorskip("editdistance")
    with pytest.raises(assay.AuditError, match=r"is lower better\? Say higher_is_better=False"):
        one(assay.wrap(editdistance.eval))
    assert one(assay.wrap(editdistance.eval, higher_is_better=False)) == expected


def test_nltk_is_given_words_not_letters() -> None:
    bleu, meteor = (
        pytest.importorskip("nltk.translate.gleu_score"),
        pytest.importorskip("nltk.metrics.distance"),
    )
    expected = [bleu.sentence_gleu([ref.split()], text.split()) for text, ref in pairs()]
    assert one(assay.wrap(bleu.sentence_gleu)) == pytest.approx(expected)
    sentence_bleu = pytest.importorskip("nltk.translate.bleu_score").sentence_bleu
    two = {"weights": (0.5, 0.5)}
    expected = [sentence_bleu([ref.split()], text.split(), **two) for text, ref in pairs()]
    assert one(assay.wrap(sentence_bleu, **two)) == pytest.approx(expected)
    assert one(assay.wrap(meteor.edit_distance)) == [-float(meteor.edit_distance(*pair)) for pair in pairs()]


def test_rouge_score() -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rouge1", "rougeL"])
    expected = [scorer.score(ref, text)["rougeL"].recall for text, ref in pairs()]
    assert one(assay.wrap(scorer, output="rougeL.recall")) == pytest.approx(expected)
    with pytest.raises(assay.AuditError, match="RougeScorer returns rouge1, rougeL; choose one: output="):
        one(assay.wrap(scorer))


def test_textstat() -> None:
    textstat = pytest.importorskip("textstat")
    with pytest.raises(assay.AuditError, match="reads the text alone: say higher_is_better="):
        assay.wrap(textstat.lexicon_count)
    assert one(assay.wrap(textstat.lexicon_count, higher_is_better=True), []) == [6.0, 3.0]


def test_autoevals() -> None:
    autoevals = pytest.importorskip("autoevals")
    expected = [autoevals.Levenshtein()(text, ref).score for text, ref in pairs()]
    assert one(assay.wrap(autoevals.Levenshtein())) == pytest.approx(expected)


def test_inspect_ai() -> None:
    scorer = pytest.importorskip("inspect_ai.scorer")
    assert one(assay.wrap(scorer.includes()), ["cat sat", "cat"]) == [1.0, 0.0]
    assert one(assay.wrap(scorer.f1())) == pytest.approx([1.0, 0.8])


def test_deepeval() -> None:
    metrics = pytest.importorskip("deepeval.metrics")
    assert one(assay.wrap(metrics.ExactMatchMetric()), [TEXTS[0], "other"]) == [1.0, 0.0]


def test_lm_eval() -> None:
    metrics = pytest.importorskip("lm_eval.api.metrics")
    assert one(assay.wrap(metrics.chrf)) == pytest.approx(
        [metrics.chrf([(ref, text)]) for text, ref in pairs()]
    )
    assert one(assay.wrap(metrics.exact_match_hf_evaluate), [TEXTS[0], "other"]) == [1.0, 0.0]


def test_ragas() -> None:
    metrics = pytest.importorskip("ragas.metrics", exc_type=ImportError)
    sample = pytest.importorskip("ragas.dataset_schema").SingleTurnSample
    tool = metrics.NonLLMStringSimilarity()
    expected = [tool.single_turn_score(sample(response=text, reference=ref)) for text, ref in pairs()]
    assert one(assay.wrap(tool)) == pytest.approx(expected)
    newer = pytest.importorskip("ragas.metrics.collections")
    assert one(assay.wrap(newer.ExactMatch()), [TEXTS[0], "other"]) == [1.0, 0.0]


def test_sacrebleus_functions() -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    expected = [sacrebleu.sentence_chrf(*pair).score for pair in zip(TEXTS, REFERENCES, strict=True)]
    assert scores(assay.wrap(sacrebleu.sentence_chrf)) == pytest.approx(expected)
    assert scores(assay.wrap(sacrebleu.corpus_chrf)) == pytest.approx(expected)


def test_evaluate_and_single_references() -> None:
    evaluate = pytest.importorskip("evaluate")
    datasets = pytest.importorskip("datasets")

    class Cer(evaluate.Metric):
        """Like `evaluate.load("cer")`: one text for a reference, lower is better, one number for a corpus."""

        def _info(self) -> object:
            text = datasets.Value("string")
            features = datasets.Features({"predictions": text, "references": text})
            return evaluate.MetricInfo(description="", citation="", inputs_description="", features=features)

        def _compute(self, predictions: list[str], references: list[str], lang: str = "") -> float:
            assert lang == "en"
            distance = pytest.importorskip("rapidfuzz.distance").Levenshtein.distance
            edits = sum(distance(*pair) for pair in zip(predictions, references, strict=True))
            return edits / sum(map(len, references))

    expected = [-Cer().compute(predictions=[text], references=[ref], lang="en") for text, ref in pairs()]
    assert one(assay.wrap(Cer(), name="cer", higher_is_better=False, lang="en")) == pytest.approx(expected)


def test_a_sentence_encoder_and_a_pipeline(tmp_path: Path) -> None:
    package = pytest.importorskip("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    words = tiny_model(tmp_path, transformers, labels=2)
    assert words
    encoder = package.SentenceTransformer(str(tmp_path), device="cpu")
    expected = [
        max(encoder.similarity(encoder.encode([text]), encoder.encode(listed))[0].tolist())
        for text, listed in zip(TEXTS, REFERENCES, strict=True)
    ]
    assert scores(assay.wrap(encoder, name="encoder", check=False)) == pytest.approx(expected, abs=1e-5)
    pipe = transformers.pipeline("text-classification", str(tmp_path), tokenizer=str(tmp_path), device="cpu")
    given = [pipe({"text": ref, "text_pair": text}, top_k=None) for text, ref in pairs()]
    expected = [next(row["score"] for row in rows if row["label"] == "LABEL_1") for rows in given]
    metric = assay.wrap(pipe, name="pipe", output="LABEL_1", check=False)
    assert one(metric) == pytest.approx(expected, abs=1e-6)
    with pytest.raises(assay.AuditError, match="choose one: output=LABEL_"):
        one(assay.wrap(pipe, name="pipe", check=False))


def test_evaluate() -> None:
    evaluate = pytest.importorskip("evaluate")
    datasets = pytest.importorskip("datasets")

    class Overlap(evaluate.Metric):  # what `evaluate.load` gives, without the hub
        def _info(self) -> object:
            feature = datasets.Features(
                {
                    "predictions": datasets.Value("string"),
                    "references": datasets.Sequence(datasets.Value("string")),
                }
            )
            return evaluate.MetricInfo(description="", citation="", inputs_description="", features=feature)

        def _compute(self, predictions: list[str], references: list[list[str]]) -> dict[str, float]:
            words = set(predictions[0].split())
            shares = [len(words & set(reference.split())) / len(words) for reference in references[0]]
            return {"best": max(shares), "worst": min(shares)}

    module = Overlap()
    assert scores(assay.wrap(module, output="best", name="overlap")) == pytest.approx([5 / 6, 2 / 3])
    assert scores(assay.wrap(module, output="worst", name="overlap")) == pytest.approx([2 / 6, 2 / 3])


def test_evaluates_ter_and_bertscore_by_their_names_and_keywords() -> None:
    evaluate = pytest.importorskip("evaluate")
    datasets = pytest.importorskip("datasets")
    metrics = pytest.importorskip("sacrebleu.metrics")

    class Module(evaluate.Metric):  # what `evaluate.load` gives, without the hub
        def _info(self) -> object:
            text = datasets.Value("string")
            features = datasets.Features({"predictions": text, "references": datasets.Sequence(text)})
            return evaluate.MetricInfo(description="", citation="", inputs_description="", features=features)

    class Ter(Module):
        def _compute(self, predictions: list[str], references: list[list[str]]) -> dict[str, float]:
            streams = [list(stream) for stream in zip(*references, strict=True)]
            return {"score": metrics.TER().corpus_score(predictions, streams).score, "num_edits": 1.0}

    class Bertscore(Module):
        def _compute(
            self, predictions: list[str], references: list[list[str]], lang: str, model_type: str = ""
        ) -> dict[str, object]:
            assert (lang, model_type) == ("en", "tiny")
            pairs = zip(predictions, references, strict=True)
            shares = [
                len(set(text.split()) & set(refs[0].split())) / len(text.split()) for text, refs in pairs
            ]
            return {"f1": shares, "precision": [0.0] * len(shares), "hashcode": "none"}

    expected = [-metrics.TER().sentence_score(text, [ref]).score for text, ref in pairs()]
    assert one(assay.wrap(Ter(), output="score")) == pytest.approx(expected)  # an error rate, by its name
    options = {"output": "f1", "lang": "en", "model_type": "tiny"}
    assert one(assay.wrap(Bertscore(), **options)) == pytest.approx([5 / 6, 2 / 3])


def test_sacrebleu() -> None:
    metrics = pytest.importorskip("sacrebleu.metrics")
    tool = metrics.CHRF(word_order=2)
    expected = [tool.sentence_score(*pair).score for pair in zip(TEXTS, REFERENCES, strict=True)]
    assert scores(assay.wrap(tool)) == pytest.approx(expected)


def test_a_cross_encoder(tmp_path: Path) -> None:
    package = pytest.importorskip("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    tiny_model(tmp_path, transformers, labels=1)
    model = package.CrossEncoder(str(tmp_path), device="cpu")
    pairs = [
        [(reference, text) for reference in given] for text, given in zip(TEXTS, REFERENCES, strict=True)
    ]
    expected = [max(model.predict(listed).tolist()) for listed in pairs]
    assert scores(assay.wrap(model, name="cross", check=False)) == pytest.approx(expected, abs=1e-6)


def tiny_model(tmp_path: Path, transformers: Any, labels: int) -> list[str]:
    """A model of random weights, which knows the words of the texts and means nothing by its scores."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    words = sorted({word for text in [*TEXTS, *REFERENCES[0], *REFERENCES[1]] for word in text.split()})
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
    transformers.BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = transformers.BertConfig(vocab_size=5 + len(words), num_labels=labels, **sizes)
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path)
    return words


def test_a_hugging_face_dataset_and_its_splits() -> None:
    datasets = pytest.importorskip("datasets")
    rows = [{"output": text, "target": given} for text, given in zip(TEXTS, REFERENCES, strict=True)]
    data = datasets.Dataset.from_list(rows)
    session = Session.open(cache=None)
    assert assay.score(["chrf"], data=data, session=session).equals(
        assay.score(["chrf"], data=rows, session=session)
    )
    with pytest.raises(assay.errors.DataError, match="a dataset with the splits train; give one of them"):
        assay.score(["chrf"], data=datasets.DatasetDict({"train": data}), session=session)
