"""Weights from elsewhere or damaged in the cache: no code of theirs is run, no question is put, none is used."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from peaks import memory_within

from assay.errors import WeightsError
from assay.files import file_digest
from assay.models import weights

pytest.importorskip("transformers")
CODE = "from pathlib import Path\nPath(__file__).with_name('CODE_RAN').touch()\nraise SystemExit\n"


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A model of an unknown type that names its own code for every part."""
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    parts = ("AutoConfig", "AutoModel", "AutoTokenizer", "AutoImageProcessor", "AutoModelForCausalLM")
    code = {"auto_map": dict.fromkeys(parts, "modeling_evil.Evil"), "model_type": "evil"}
    for name in ("config.json", "tokenizer_config.json", "preprocessor_config.json"):
        (tmp_path / name).write_text(
            json.dumps(code | {"tokenizer_class": "Evil", "image_processor_type": "Evil"})
        )
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "vocab.txt").write_text("a\n")
    (tmp_path / "modeling_evil.py").write_text(CODE)
    save_file({"a": torch.zeros(1)}, tmp_path / "model.safetensors")
    return tmp_path


@pytest.mark.parametrize("part", ["model", "tokenizer", "image"])
def test_code_beside_a_model_is_not_run_and_nobody_is_asked(
    part: str, evil: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.models import loading
    from assay.models.torch import load_tokenizer

    asked: list[str] = []

    def answer(question: str = "") -> str:
        asked.append(question)
        return "y"

    monkeypatch.setattr("builtins.input", answer)
    load: dict[str, Any] = {
        "model": lambda: loading.read_model("AutoModel", evil, "float32", ()),
        "tokenizer": lambda: load_tokenizer(evil),
        "image": lambda: loading.image_processor(evil),
    }
    with pytest.raises(WeightsError):
        load[part]()
    assert not asked
    assert not (evil / "CODE_RAN").exists()


def _build(folder: Path) -> None:
    folder.mkdir()
    (folder / "inner").mkdir()
    (folder / "inner" / "model.safetensors").write_bytes(b"weights")
    (folder / "config.json").write_text("{}")


@pytest.mark.parametrize("damage", ["inner/model.safetensors", "config.json", "digests.list"])
def test_files_of_the_cache_that_have_changed_are_not_used(damage: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert weights.build_folder(home, _build) == home
    assert weights.build_folder(home, _build) == home
    (home / damage).write_bytes(b"Weights")
    with pytest.raises(WeightsError, match=f"{damage} is damaged.*remove"):
        weights.build_folder(home, _build)


def test_a_file_of_the_cache_that_is_gone_is_told(tmp_path: Path) -> None:
    home = weights.build_folder(tmp_path / "home", _build)
    (home / "config.json").unlink()
    with pytest.raises(WeightsError, match=r"config\.json is damaged"):
        weights.build_folder(home, _build)


def test_a_list_that_is_deleted_blesses_nothing(tmp_path: Path) -> None:
    """Neither what was changed nor what was added before the list went."""
    home = weights.build_folder(tmp_path / "home", _build)
    (home / "config.json").write_text("[]")
    (home / "special_tokens_map.json").write_text("{}")
    (home / "digests.list").unlink()
    assert weights.build_folder(home, _build) == home
    assert (home / "config.json").read_text() == "{}"
    assert not (home / "special_tokens_map.json").exists()


def test_a_file_that_was_added_to_the_cache_is_refused(tmp_path: Path) -> None:
    home = weights.build_folder(tmp_path / "home", _build)
    (home / "inner" / "special_tokens_map.json").write_text("{}")
    with pytest.raises(WeightsError, match=r"special_tokens_map\.json was neither fetched nor made by assay"):
        weights.build_folder(home, _build)


def _carrier(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A carrier of weights as it is unpacked, with pinned digests of its own."""
    _build(folder / "unpacked")
    files = {
        path: file_digest(folder / "unpacked" / path) for path in ("config.json", "inner/model.safetensors")
    }
    carrier = replace(weights.CARRIERS["minilm"], files=files, folder="inner")
    monkeypatch.setitem(weights.CARRIERS, "minilm", carrier)
    monkeypatch.setenv("ASSAY_CACHE", str(folder / "cache"))
    monkeypatch.setattr(weights, "_fetch", lambda carrier, scratch: _build(scratch))
    weights.resolve("minilm")
    return carrier.home


@pytest.mark.parametrize("keeps_list", ["kept", "deleted", "forged"])
def test_weights_are_checked_against_the_package_whatever_their_list_says(
    keeps_list: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.cli.inspect import health

    monkeypatch.setattr("assay.cli.inspect._score_golden", lambda spec, known: known["scores"][spec][0])
    home = _carrier(tmp_path, monkeypatch)
    assert {check["what"]: check["state"] for check in health()}["weights minilm"] == "ok"
    (home / "inner" / "model.safetensors").write_bytes(b"Weights")
    if keeps_list != "kept":
        (home / "digests.list").unlink()
    if keeps_list == "forged":
        weights._list_digests(home)
    with pytest.raises(WeightsError, match=r"model\.safetensors is damaged.*remove"):
        weights.resolve("minilm")
    check = {check["what"]: check for check in health()}["weights minilm"]
    assert check["state"] == "wrong"
    assert "is damaged" in check["detail"]


def test_every_carrier_states_its_origin_its_licence_and_all_its_files() -> None:
    for carrier in weights.CARRIERS.values():
        assert carrier.origin, carrier.name
        assert carrier.licence, carrier.name
        assert len(carrier.files) > 3, carrier.name
        assert (
            any(digest == carrier.pin for digest in carrier.files.values())
            or carrier.pin == carrier.packages[0][1]
        )
        if carrier.home.is_dir():  # those of this machine are those of the package
            weights.check_folder(carrier.home, carrier.files)


@pytest.mark.parametrize("kind", ["sha256", "git"])
def test_a_changed_file_of_the_hubs_cache_is_refused(kind: str, tmp_path: Path) -> None:
    """Its name says what it holds: the SHA-256 of large files, Git's digest of small ones."""
    content = b'{"model_type": "bert"}'
    git = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    blob = tmp_path / "blobs" / (git if kind == "git" else hashlib.sha256(content).hexdigest())
    snapshot = tmp_path / "snapshots" / "0123456789abcdef0123456789abcdef01234567"
    snapshot.mkdir(parents=True)
    blob.parent.mkdir()
    blob.write_bytes(content)
    (snapshot / "config.json").symlink_to(blob)
    assert weights.pin(str(snapshot)) == f"revision:{snapshot.name}"
    blob.write_bytes(content.replace(b"bert", b"gpt2"))
    with pytest.raises(WeightsError, match=f"{blob.name} is damaged"):
        weights.pin(str(snapshot))
    (snapshot / "config.json").unlink()
    (snapshot / "config.json").write_bytes(content)  # the hub says nothing about a plain file
    assert (
        weights.pin(str(snapshot)) == f"revision:{snapshot.name},sha256:{hashlib.sha256(content).hexdigest()}"
    )


CONFIGS = {
    "deep": '{"a": ' * 100_000 + "1" + "}" * 100_000,
    "layers": '{"model_type": "bert", "num_hidden_layers": 200000}',
    "layers of a part": '{"model_type": "clip", "text_config": {"num_hidden_layers": 1000000}}',
    "labels": '{"model_type": "bert", "num_labels": 1000000000}',
    "words": '{"model_type": "bert", "vocab_size": 1000000000, "hidden_size": 12}',
    "width": '{"model_type": "bert", "hidden_size": 120000, "intermediate_size": 120000}',
    "places": '{"model_type": "bert", "hidden_size": 12, "max_position_embeddings": 10000000000}',
    "a list": "[]",
}


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_config_that_describes_an_impossible_model_builds_nothing(kind: str, evil: Path) -> None:
    from assay.models import loading

    (evil / "config.json").write_text(CONFIGS[kind])
    with memory_within(500_000_000), pytest.raises(WeightsError, match=r"config\.json|cannot be loaded"):
        loading.read_model("AutoModel", evil, "float32", ())


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null"])
def test_a_device_is_no_model(path: str) -> None:
    with pytest.raises(WeightsError, match="is a pipe or a device"):
        weights.pin(path)
