"""Weights from elsewhere or damaged in the cache: no code of theirs is run, no question is put, none is used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.errors import WeightsError
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


def test_a_folder_of_an_earlier_version_gets_its_list(tmp_path: Path) -> None:
    _build(tmp_path / "home")
    weights.build_folder(tmp_path / "home", _build)
    (tmp_path / "home" / "config.json").write_text("[]")
    with pytest.raises(WeightsError, match="is damaged"):
        weights.build_folder(tmp_path / "home", _build)


def test_doctor_computes_what_it_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.cli.inspect import health

    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    monkeypatch.setattr("assay.cli.inspect._score_golden", lambda spec, known: known["scores"][spec][0])
    home = weights.CARRIERS["minilm"].home
    weights.build_folder(home, _build)
    state = {check["what"]: check for check in health()}
    assert state["weights minilm"]["state"] == "ok"
    (home / "config.json").write_text("[]")
    state = {check["what"]: check for check in health()}
    assert state["weights minilm"]["state"] == "wrong"
    assert "is damaged" in state["weights minilm"]["detail"]
