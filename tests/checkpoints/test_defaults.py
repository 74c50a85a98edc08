"""Every default loads from the layout of its public repository, through the hub's cache, and scores."""

from __future__ import annotations

import math
from pathlib import Path

import layouts
import numpy as np
import pytest
import torch
from local_hub import REVISION, Hub

from assay.core import Image, Sample
from assay.errors import WeightsError
from assay.files import file_digest
from assay.names.spec import parse_spec

SAMPLES = [
    Sample("The cat sat .", ("The dog sat . A man rose .",), source="Der Hund lief nach Hause ."),
    Sample("The shares rose .", ("The firm made a profit .", "No ."), source="Die Aktien stiegen ."),
]
DEFAULTS = {
    "bleurt": ["lucadiliello/BLEURT-20-D12"],
    "frugalscore": ["moussaKam/frugalscore_tiny_bert-base_bert-score"],
    "metricx": ["google/metricx-23-large-v2p0", "google/mt5-xl"],
    "unieval-overall": ["MingZhong/unieval-sum"],
    "unieval-data-overall": ["MingZhong/unieval-sum"],
    "unieval-dialog-overall": ["MingZhong/unieval-dialog"],
    "unieval-fact": ["MingZhong/unieval-fact"],
    "prism-f": ["facebook/m2m100_418M"],
    "bartscore-f": ["facebook/bart-large-cnn"],
    "clipscore": ["openai/clip-vit-base-patch32"],
    "refclipscore": ["openai/clip-vit-base-patch32"],
    "siglip-probability": ["google/siglip-base-patch16-224"],
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_default_scores_from_its_public_layout(name: str, hub: Hub, pictures: list[Image]) -> None:
    snapshots = [hub.add(model) for model in DEFAULTS[name]]
    measure = parse_spec(name)
    samples = [
        Sample(s.hypothesis, s.references, s.source, image)
        for s, image in zip(SAMPLES, pictures, strict=True)
    ]
    values = np.array(measure.metric.score(samples).values, dtype=float).reshape(2, -1)[:, measure.column]
    assert np.isfinite(values).all()
    assert values[0] != values[1]
    low, high = measure.metric.range
    assert all((low or -math.inf) <= value <= (high or math.inf) for value in values) or high is None
    original = snapshots[0] / "pytorch_model.bin"
    digest = f",sha256:{file_digest(original)}" if original.is_file() else ""
    assert f"revision:{REVISION}{digest}" in measure.metric.signature


@pytest.mark.parametrize("name", DEFAULTS)
def test_every_tensor_is_the_original(name: str, hub: Hub) -> None:
    for model in DEFAULTS[name]:
        hub.add(model)
    saved = hub.tensors[DEFAULTS[name][0]]
    state = parse_spec(name).metric.load_model().model.state_dict()
    if name == "bleurt":
        renamed = {"bleurt.encoder.embedding_projection.": "body.embeddings_project.",
                   "bleurt.pooler.dense.": "pooler.", "bleurt.": "body."}  # fmt: skip
        for old, new in renamed.items():
            saved = {new + key[len(old) :] if key.startswith(old) else key: v for key, v in saved.items()}
    shared = [key for key in saved if key in state]
    assert len(shared) >= 0.9 * len(state)
    assert all(torch.equal(saved[key], state[key]) for key in shared)


def test_the_conversion_is_kept(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.models import loading

    model = "moussaKam/frugalscore_tiny_bert-base_bert-score"
    snapshot = hub.add(model)
    home = loading.plain_folder(snapshot)
    assert home.is_relative_to(tmp_path / "assay" / "converted")
    assert (home / "model.safetensors").is_file()
    assert not any(path.suffix == ".bin" for path in home.iterdir())
    monkeypatch.setattr(loading, "read_pickled", lambda path: pytest.fail("read again"))
    assert loading.plain_folder(snapshot) == home


def test_bleurts_of_2020_have_word_pieces_and_lower_case(hub: Hub) -> None:
    hub.add("lucadiliello/bleurt-base-128")
    metric = parse_spec("bleurt:model=lucadiliello/bleurt-base-128").metric
    loaded = metric.load_model()
    ids = loaded.tokenizer("The cat", "sat")["input_ids"]
    assert loaded.tokenizer.convert_ids_to_tokens(ids) == ["[CLS]", "the", "cat", "[SEP]", "sat", "[SEP]"]
    assert loaded.limit == 128
    assert np.isfinite(metric.score(SAMPLES).values).all()


def test_bleurt_20_has_sentence_pieces_in_the_order_of_its_port(hub: Hub) -> None:
    import sentencepiece

    snapshot = hub.add("lucadiliello/BLEURT-20-D12")
    reader = sentencepiece.SentencePieceProcessor(model_file=str(snapshot / "spm.model"))
    loaded = parse_spec("bleurt").metric.load_model()
    encoded = loaded.tokenizer("The cat sat .", "A man .")
    first, second = (reader.encode(text) for text in ("The cat sat .", "A man ."))
    assert list(encoded["input_ids"]) == [1, *first, 2, *second, 2]
    assert list(encoded["token_type_ids"]) == [0] * (len(first) + 2) + [1] * (len(second) + 1)


def test_unieval_reads_as_many_tokens_as_its_authors(hub: Hub) -> None:
    hub.add("MingZhong/unieval-sum")
    long = " ".join(["The firm made a profit ."] * 60)
    scores = parse_spec("unieval-overall").metric.score([Sample("The cat sat .", ("No .",), source=long)])
    loaded = parse_spec("unieval-overall").metric.load_model()
    assert loaded.tokenizer.model_max_length == 512
    assert 512 < len(loaded.tokenizer(long, verbose=False)["input_ids"]) < 1000
    assert scores.notes["truncated"] == [0]


def test_siglip_reads_a_text_filled_up_to_its_limit(hub: Hub, pictures: list[Image]) -> None:
    """Its cosine and probability equal those of transformers on the input that its model card asks for."""
    import transformers
    from PIL import Image as Pillow

    snapshot = hub.add("google/siglip-base-patch16-224")
    metric = parse_spec("siglip-cosine").metric
    texts = ["The CAT sat .", "Two men , one dog ?"]
    samples = [Sample(text, (), image=image) for text, image in zip(texts, pictures, strict=True)]
    rows = np.array(metric.score(samples).values)
    model = transformers.AutoModel.from_pretrained(snapshot).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(snapshot)
    processor = transformers.AutoImageProcessor.from_pretrained(snapshot, backend="pil")
    for row, text, image in zip(rows, texts, pictures, strict=True):
        ids = tokenizer([text], padding="max_length", return_tensors="pt")["input_ids"]
        assert ids.shape == (1, 64)
        given = processor(images=[Pillow.open(image.path).convert("RGB")], return_tensors="pt")
        with torch.no_grad():
            answer = model(input_ids=ids, **given)
        cosine = float((answer.text_embeds @ answer.image_embeds.T)[0, 0])
        assert row[0] == pytest.approx(cosine, abs=1e-5)
        assert row[1] == pytest.approx(float(torch.sigmoid(answer.logits_per_image)[0, 0]), abs=1e-5)


def test_an_image_models_metric_is_told_apart(hub: Hub) -> None:
    for spec, model, other in (
        ("clipscore", "google/siglip-base-patch16-224", "siglip-cosine"),
        ("siglip-cosine", "openai/clip-vit-base-patch32", "clipscore"),
    ):
        with pytest.raises(WeightsError, match=rf"kind \w+; use {other}:model=PATH"):
            parse_spec(f"{spec}:model={hub.add(model)}").metric.prepare()


def test_unievals_intermediate_model_answers_the_questions_too(hub: Hub) -> None:
    hub.add("MingZhong/unieval-intermediate")
    metric = parse_spec("unieval-fact:model=MingZhong/unieval-intermediate").metric
    assert np.isfinite(metric.score(SAMPLES).values).all()


def test_bart_score_pth_takes_the_place_of_the_weights(hub: Hub, tmp_path: Path) -> None:
    hub.add("facebook/bart-large-cnn")
    tuned = layouts.bart(tmp_path / "built", "bart_score.pth", seed=8)
    (tmp_path / "parabank").mkdir()
    file = (tmp_path / "built" / "bart_score.pth").rename(tmp_path / "parabank" / "bart_score.pth")
    metric = parse_spec(f"bartscore-f:model={file}").metric
    state = metric.load_model().model.state_dict()
    assert all(torch.equal(value, state[key]) for key, value in tuned.items())
    assert f"sha256:{file_digest(file)}" in metric.signature
    assert not np.allclose(
        metric.score(SAMPLES).values, parse_spec("bartscore-f").metric.score(SAMPLES).values
    )


@pytest.mark.parametrize(
    ("name", "kind", "settings"),
    [
        ("comet", "regression_metric", {}),
        ("comet-qe", "referenceless_regression_metric", {}),
        ("comet-qe", "unified_metric", {"input_segments": ["mt", "src"], "sent_layer": "mix"}),
        ("comet", "xcomet_metric", {"word_layer": 2}),
        ("comet-qe", "xcomet_metric", {"word_layer": 2}),
    ],
)
def test_comets_with_a_pickled_namespace(
    name: str, kind: str, settings: dict[str, object], hub: Hub, tmp_path: Path
) -> None:
    hub.add("xlm-roberta-large")
    folder = tmp_path / "checkpoint"
    layouts.comet(folder, hub.tensors["xlm-roberta-large"], kind, **settings)
    for model in (folder, folder / "checkpoints" / "model.ckpt"):
        metric = parse_spec(f"{name}:model={model}").metric
        values = np.array(metric.score(SAMPLES).values, dtype=float)
        assert np.isfinite(values).all()
        assert values[0] != values[1]
        assert f"sha256:{file_digest(folder / 'checkpoints' / 'model.ckpt')}" in metric.signature
    explained = metric.explain(SAMPLES[0])
    assert (explained is not None) == (kind == "xcomet_metric")
    if explained is not None:
        assert explained.columns == ("no error", "minor", "major", "critical")
        assert np.allclose(np.array(explained.values).sum(axis=1), 1.0, atol=1e-4)


def test_minicheck_asks_about_each_sentence_and_piece(hub: Hub, tmp_path: Path) -> None:
    """The layout of lytang/MiniCheck-Flan-T5-Large is T5's; P(1) against P(0) at the first step."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    folder = tmp_path / "minicheck"
    layouts.unieval(folder)
    metric = parse_spec(f"minicheck:model={folder}").metric
    source = "The firm made a profit. " * 130 + "The shares rose."  # more than 500 words: two pieces
    value = metric.score([Sample("The shares rose. The cat sat.", (), source=source)]).values[0]
    from assay.metrics.entailment import whole_pieces
    from assay.models.loading import plain_folder

    pieces = whole_pieces(source, 500)
    assert [len(piece.split()) for piece in pieces] == [500, 153]
    home = plain_folder(folder)
    tokenizer, model = AutoTokenizer.from_pretrained(home), AutoModelForSeq2SeqLM.from_pretrained(home).eval()
    yes, no = (tokenizer(digit, add_special_tokens=False)["input_ids"][0] for digit in ("1", "0"))
    table = []
    for claim in ("The shares rose.", "The cat sat."):
        for piece in pieces:
            ids = tokenizer(
                f"predict: {piece}</s>{claim}", return_tensors="pt", truncation=True, max_length=2048
            )
            with torch.no_grad():
                logits = model(**ids, decoder_input_ids=torch.zeros(1, 1, dtype=torch.long)).logits[0, 0]
            table.append(float(torch.softmax(logits[[yes, no]].double(), 0)[0]))
    assert value == pytest.approx(np.array(table).reshape(2, 2).max(axis=1).mean(), abs=1e-5)
