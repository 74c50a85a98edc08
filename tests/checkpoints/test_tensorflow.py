"""BERT of TensorFlow: bundles written here as TensorFlow writes them, read without it."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

torch = pytest.importorskip("torch", reason="needs the extra: pip install 'nlg-assay[neural]'")
transformers = pytest.importorskip("transformers")

from assay.cli import app  # noqa: E402
from assay.core import Sample  # noqa: E402
from assay.errors import WeightsError  # noqa: E402
from assay.models.loading import convert_path  # noqa: E402
from assay.models.tensorflow import crc32c, read_bundle  # noqa: E402
from assay.names.spec import measure  # noqa: E402

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "nurse", "said", "he", "she", "was", "late"]
SIZES = {"vocab_size": len(WORDS), "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
         "intermediate_size": 24, "max_position_embeddings": 20, "type_vocab_size": 2}  # fmt: skip


def varint(number: int) -> bytes:
    bytes_ = bytearray()
    while number > 0x7F:
        bytes_.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*bytes_, number])


def field(tag: int, value: int | bytes) -> bytes:
    """A field of a protocol buffer: a whole number or a message."""
    if isinstance(value, int):
        return varint(tag << 3) + varint(value)
    return varint(tag << 3 | 2) + varint(len(value)) + value


def block(entries: Iterable[tuple[bytes, bytes]], interval: int) -> bytes:
    """Keys share what they have in common with the key before, but for every `interval`th, a restart."""
    raw, restarts, before = b"", [], b""
    for number, (key, value) in enumerate(entries):
        shared = 0
        if number % interval:
            while shared < min(len(key), len(before)) and key[shared] == before[shared]:
                shared += 1
        else:
            restarts.append(len(raw))
        raw += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        before = key
    raw += b"".join(struct.pack("<I", place) for place in restarts or [0])
    return raw + struct.pack("<I", max(len(restarts), 1))


def sealed(content: bytes) -> bytes:
    """A block with the mark "not compressed" and its masked checksum."""
    checksum = crc32c(content + b"\0")
    masked = ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF
    return content + b"\0" + struct.pack("<I", masked)


def write_bundle(prefix: Path, tensors: dict[str, np.ndarray], per_block: int = 5) -> None:
    """NAME.index and NAME.data-00000-of-00001 of these tensors, in sorted order, over several blocks."""
    types, data, entries = {"float32": 1, "int64": 9}, b"", []
    for name, tensor in sorted(tensors.items()):
        raw = tensor.tobytes()
        shape = b"".join(field(2, field(1, side)) for side in tensor.shape)
        place = field(4, len(data)) if data else b""  # a field that is 0 is left out
        entries.append(
            (name.encode(), field(1, types[str(tensor.dtype)]) + field(2, shape) + place + field(5, len(raw))
             + b"\x35" + struct.pack("<I", crc32c(raw)))
        )  # fmt: skip
        data += raw
    entries.insert(0, (b"", field(1, 1) + field(3, field(1, 1))))
    table, handles = b"", []
    for start in range(0, len(entries), per_block):
        part = entries[start : start + per_block]
        content = block(part, 16)
        handles.append((part[-1][0], varint(len(table)) + varint(len(content))))
        table += sealed(content)
    meta, index = block([], 16), block(handles, 1)
    footer = varint(len(table)) + varint(len(meta))
    footer += varint(len(table) + len(meta) + 5) + varint(len(index))
    table += sealed(meta) + sealed(index) + footer.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)
    Path(f"{prefix}.index").write_bytes(table)
    Path(f"{prefix}.data-00000-of-00001").write_bytes(data)


def tensorflow_names(model: transformers.BertForPreTraining) -> dict[str, np.ndarray]:
    """The tensors of a model under the names of Google's BERT, matrices of layers turned."""
    tensors = {}
    for name, tensor in model.state_dict().items():
        if name in ("cls.predictions.decoder.weight", "cls.predictions.decoder.bias"):
            continue  # tied to the embeddings and to the bias
        values = tensor.numpy()
        name = name.replace("layer.", "layer_").replace(".", "/")
        if "LayerNorm" in name:
            name = name.replace("/weight", "/gamma").replace("/bias", "/beta")
        elif "embeddings" in name:
            name = name.removesuffix("/weight")
        elif name == "cls/predictions/bias":
            name = "cls/predictions/output_bias"
        elif name.startswith("cls/seq_relationship"):
            name = name.replace("/weight", "/output_weights").replace("/bias", "/output_bias")
        elif name.endswith("/weight"):
            name, values = name.replace("/weight", "/kernel"), values.T
        tensors[name] = np.ascontiguousarray(values)
    return tensors


@pytest.fixture
def model() -> transformers.BertForPreTraining:
    torch.manual_seed(3)
    return transformers.BertForPreTraining(transformers.BertConfig(**SIZES)).eval()


@pytest.fixture
def release(model: transformers.BertForPreTraining, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as Zari publishes it, with what the training left in the checkpoint."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "assay"))
    folder = tmp_path / "bert-cda-large-uncased"
    folder.mkdir()
    (folder / "bert_config.json").write_text(json.dumps(SIZES), "utf-8")
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", "utf-8")
    (folder / "model.ckpt.meta").write_bytes(b"the graph, which is not read")
    tensors = tensorflow_names(model)
    left = {"bert/pooler/dense/bias/adam_m": np.zeros(16, np.float32), "global_step": np.array(7, np.int64)}
    write_bundle(folder / "model.ckpt", {**tensors, **left})
    return folder


def test_checksum_is_castagnolis() -> None:
    """The check value of the polynomial's definition."""
    assert crc32c(b"123456789") == 0xE3069283


def test_a_bundle_gives_its_tensors(tmp_path: Path) -> None:
    planted = {f"layer/{n}": np.arange(n * 6, dtype=np.float32).reshape(n, 6) for n in range(1, 40)}
    write_bundle(tmp_path / "model", {**planted, "scalar": np.array(2.5, np.float32)})
    found = dict(read_bundle(tmp_path / "model.index"))
    assert found.keys() == {*planted, "scalar"}
    assert found["scalar"] == np.float32(2.5)
    for name, tensor in planted.items():
        np.testing.assert_array_equal(found[name], tensor)


def test_a_released_checkpoint_scores_as_the_model_it_was_saved_from(
    release: Path, model: transformers.BertForPreTraining
) -> None:
    again = transformers.BertForPreTraining.from_pretrained(convert_path(release))
    tokenizer = transformers.AutoTokenizer.from_pretrained(convert_path(release))
    batch = tokenizer(["The nurse said she was late"], return_tensors="pt")
    assert batch["input_ids"].tolist() == [[2, 5, 6, 7, 9, 10, 11, 3]]
    with torch.no_grad():
        for mine, theirs in zip(again(**batch)[:2], model(**batch)[:2], strict=True):
            torch.testing.assert_close(mine, theirs)


def test_convert_and_score(release: Path, tmp_path: Path) -> None:
    """A metric reads the release as it is, and as `assay convert` writes it."""
    done = CliRunner().invoke(app, ["convert", str(release), "--out", str(tmp_path / "zari")])
    assert done.exit_code == 0
    pair = [Sample("she said", ("he said",))]
    as_it_is, converted = (
        measure(f"bertscore-f:model={folder},layer=2").metric.score(pair).values
        for folder in (release, tmp_path / "zari")
    )
    np.testing.assert_array_equal(as_it_is, converted)
    assert 0 < np.min(as_it_is) <= np.max(as_it_is) < 1


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "is no index of a TensorFlow checkpoint"),
        (lambda path: path.write_bytes(b"\7" + path.read_bytes()[1:]), "is damaged .a checksum."),
        (lambda path: path.with_suffix(".data-00000-of-00001").unlink(), "is missing: a checkpoint is"),
        (lambda path: path.with_suffix(".data-00000-of-00001").write_bytes(b"short"), "ends too early"),
        (lambda path: (path.parent / "vocab.txt").unlink(), "has no vocab.txt"),
        (lambda path: (path.parent / "bert_config.json").write_text("{"), "bert_config.json is damaged"),
        (lambda path: (path.parent / "other.index").write_bytes(b""), "several checkpoints"),
    ],
)  # fmt: skip
def test_a_damaged_checkpoint_is_refused_by_name(release: Path, damage: object, message: str) -> None:
    damage(release / "model.ckpt.index")  # type: ignore[operator]
    with pytest.raises(WeightsError, match=message):
        convert_path(release)
