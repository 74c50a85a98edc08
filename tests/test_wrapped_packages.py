"""`assay.wrap` and `data=` on the real packages; each test is skipped where its package is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from assay.engine.session import Session

TEXTS = ["the cat sat on a mat", "a dog ran"]
REFERENCES = [["the cat sat on the mat", "a cat was there"], ["the dog ran away"]]


def scores(metric: object) -> list[float]:
    return assay.score([metric], TEXTS, REFERENCES, session=Session.open(cache=None)).to_series().to_list()


def test_torchmetrics() -> None:
    text = pytest.importorskip("torchmetrics.text")
    expected = [
        text.CHRFScore()([hypothesis], [references]).item()
        for hypothesis, references in zip(TEXTS, REFERENCES, strict=True)
    ]
    assert scores(assay.wrap(text.CHRFScore(), name="chrf-tool")) == pytest.approx(expected)
    errors = assay.wrap(text.TranslationEditRate(), name="ter-tool")
    assert max(scores(errors)) < 0  # the package says that lower is better


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


def test_sacrebleu() -> None:
    metrics = pytest.importorskip("sacrebleu.metrics")
    tool = metrics.CHRF(word_order=2)
    expected = [tool.sentence_score(*pair).score for pair in zip(TEXTS, REFERENCES, strict=True)]
    assert scores(assay.wrap(tool)) == pytest.approx(expected)


def test_a_cross_encoder(tmp_path: Path) -> None:
    package = pytest.importorskip("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    words = sorted({word for text in [*TEXTS, *REFERENCES[0], *REFERENCES[1]] for word in text.split()})
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
    transformers.BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = transformers.BertConfig(vocab_size=5 + len(words), num_labels=1, **sizes)
    transformers.BertForSequenceClassification(config).save_pretrained(tmp_path)
    model = package.CrossEncoder(str(tmp_path), device="cpu")
    pairs = [
        [(reference, text) for reference in given] for text, given in zip(TEXTS, REFERENCES, strict=True)
    ]
    expected = [max(model.predict(listed).tolist()) for listed in pairs]
    assert scores(assay.wrap(model, name="cross")) == pytest.approx(expected, abs=1e-6)


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
