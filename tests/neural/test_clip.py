"""CLIPScore by transformers' own cosine; images missing, damaged, and cached by content."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from assay.api.pipeline import run
from assay.core import Image, Sample
from assay.engine.session import Session
from assay.errors import DataError
from assay.files import file_digest
from assay.metrics.caption import ClipScore, RefClipScore, VilbertScore, image_vectors, text_vectors
from assay.models.memory import BoundedCache
from assay.models.vision import plain_processor


def unit_features(folder: Path, picture: Image, texts: list[str]) -> tuple[Any, list[Any]]:
    """By CLIPModel's own forward pass: unit image and text embeddings."""
    from PIL import Image as Pillow
    from transformers import AutoTokenizer, CLIPImageProcessorPil, CLIPModel

    model = CLIPModel.from_pretrained(folder).eval()
    pixels = CLIPImageProcessorPil.from_pretrained(folder)(Pillow.open(picture.path), return_tensors="pt")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    found = []
    for text in texts:
        with torch.no_grad():
            out = model(**tokenizer(text, return_tensors="pt"), pixel_values=pixels["pixel_values"])
        found.append(out.text_embeds[0].numpy())
    return out.image_embeds[0].numpy(), found


def test_clipscore_and_refclipscore_by_hand(clip: Path, pictures: list[Image]) -> None:
    captions = ["a cat", "a man on a mat"]
    references = ("the dog", "a cat sat")
    for picture in pictures:
        texts = [f"A photo depicts {text}" for text in (*captions, *references)]
        image, vectors = unit_features(clip, picture, texts)
        samples = [Sample(text, references, image=picture) for text in captions]
        plain = [2.5 * max(float(v @ image), 0) for v in vectors[:2]]
        near = [max(max(float(v @ w) for w in vectors[2:]), 0) for v in vectors[:2]]
        expected = [2 * a * b / (a + b) if a + b else 0.0 for a, b in zip(plain, near, strict=True)]
        assert np.allclose(ClipScore(model=str(clip)).score(samples).values, plain, rtol=0, atol=1e-5)
        assert np.allclose(RefClipScore(model=str(clip)).score(samples).values, expected, rtol=0, atol=1e-5)


def test_scores_are_the_formula_on_the_same_embeddings(clip: Path, pictures: list[Image]) -> None:
    captions, references = ["a cat", "a man on a mat", "dog"], ("the dog", "a cat sat")
    plain, with_references = ClipScore(model=str(clip)), RefClipScore(model=str(clip))
    loaded = plain.load_model()
    images = image_vectors(loaded, pictures)
    texts, _ = text_vectors(loaded, [f"A photo depicts {text}" for text in (*captions, *references)], "warn")
    for picture in pictures:
        image = images[picture.digest]
        for caption in captions:
            vector, *near = (texts[f"A photo depicts {text}"] for text in (caption, *references))
            fit = 2.5 * max(float(vector @ image), 0.0)
            best = max(max(float(vector @ other) for other in near), 0.0)
            sample = [Sample(caption, references, image=picture)]
            assert plain.score(sample).values == pytest.approx([fit], rel=0, abs=1e-6)
            harmonic = 2 * fit * best / (fit + best) if fit + best else 0.0
            assert with_references.score(sample).values == pytest.approx([harmonic], rel=0, abs=1e-6)


def test_a_second_run_reads_no_image(
    clip: Path, pictures: list[Image], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    rows, folder = [], tmp_path / "images"
    for group, other, picture in zip(("man", "woman"), ("woman", "man"), pictures, strict=False):
        (folder / "all" / "cat" / group).mkdir(parents=True)
        shutil.copy(picture.path, folder / "all" / "cat" / group / "0.png")
        texts = {"good": f"a {group}", "bad": f"a {other}", "references": [f"a {group}"]}
        rows.append({"group": group, "category": "all", "concept": "cat", **texts})
    data = tmp_path / "captions.jsonl"
    data.write_text("\n".join(map(json.dumps, rows)))

    def values() -> list[float]:
        monkeypatch.setattr("assay.models.encoder.MEMORY", BoundedCache(1_000_000))  # as in a new process
        asked = {"data": (data,), "images": folder}
        done = run("caption", [f"clipscore:model={clip}"], session=Session.open(cache=None), **asked)
        return done.scores.sort("case", "role")["score"].to_list()

    first = values()

    def refuse(path: object, *_: object) -> None:
        raise AssertionError(f"{path} is read again")

    monkeypatch.setattr("PIL.Image.open", refuse)
    monkeypatch.setattr(
        "assay.models.vision.file_digest",
        lambda path: refuse(path) if folder in path.parents else file_digest(path),
    )
    assert values() == first


def test_images_are_read_once(clip: Path, pictures: list[Image], tmp_path: Path) -> None:
    metric = ClipScore(model=str(clip))
    copy = tmp_path / "copy.png"
    shutil.copy(pictures[0].path, copy)
    first = metric.score([Sample("a cat", image=Image(str(copy), pictures[0].digest))]).values
    copy.unlink()  # remembered by content, not by path
    again = metric.score([Sample("a cat", image=Image(str(copy), pictures[0].digest))]).values
    assert first == again


def test_long_captions_are_counted(clip: Path, pictures: list[Image]) -> None:
    found = ClipScore(model=str(clip)).score([Sample("x" * 60, image=pictures[0])])
    assert found.notes["truncated"] == [len("A photo depicts ") + 60 - 46]


def test_missing_and_corrupt_images_are_named(clip: Path, tmp_path: Path) -> None:
    metric = ClipScore(model=str(clip))
    with pytest.raises(DataError, match=r"no image .*gone\.png"):
        metric.score([Sample("a", image=Image(str(tmp_path / "gone.png"), "d1"))])
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"\x89PNG\r\n\x1a\nnot an image")
    with pytest.raises(DataError, match=r"broken\.png is not an image"):
        metric.score([Sample("a", image=Image(str(broken), "d2"))])


@pytest.fixture(scope="module")
def vilt(home: Path, bert: Callable[..., Path]) -> Path:
    from transformers import AutoTokenizer, ViltConfig, ViltImageProcessorPil, ViltModel

    folder = home / "vilt"
    tokenizer = AutoTokenizer.from_pretrained(bert())
    torch.manual_seed(7)
    config = ViltConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=48, max_position_embeddings=64, image_size=32, patch_size=16, initializer_range=0.3,
    )  # fmt: skip
    ViltModel(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    ViltImageProcessorPil(size={"shortest_edge": 32}, size_divisor=16).save_pretrained(folder)
    return folder


def test_vilbertscore_matches_tokens_read_with_the_image(vilt: Path, pictures: list[Image]) -> None:
    metric = VilbertScore(model=str(vilt))
    same, other = metric.score(
        [
            Sample("the cat sat", ("the cat sat",), image=pictures[0]),
            Sample("the cat sat", ("a dog ran", "no"), image=pictures[0]),
        ]
    ).values
    assert np.allclose(same, 1, atol=1e-5)
    assert other[2] < 0.99
    elsewhere = metric.score([Sample("the cat sat", ("a dog ran", "no"), image=pictures[1])]).values[0]
    assert elsewhere != pytest.approx(other, abs=1e-6)


def test_pictures_of_any_size_are_read_by_a_miniature() -> None:
    from PIL import Image as Pillow

    square, wide = (Pillow.new("RGB", size, "red") for size in ((32, 32), (50, 40)))
    batch = plain_processor(32)(images=[square, wide], return_tensors="pt")["pixel_values"]
    assert batch.shape == (2, 3, 32, 32)
    assert np.allclose(batch[0], batch[1])
