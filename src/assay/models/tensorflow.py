"""Read BERT from a checkpoint of TensorFlow, as Google and Zari release it, without TensorFlow.

A checkpoint is a bundle: `NAME.index` says where each tensor lies in `NAME.data-00000-of-00001`. The index is
a sorted table as LevelDB writes it: blocks of keys that share the beginning of the key before, each with
a checksum, and a footer that points to the block of blocks. Its values are protocol buffers of a few fields.
Nothing in either file can run.
"""

from __future__ import annotations

import json
import re
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path

import numpy as np
import numpy.typing as npt

from assay.errors import WeightsError

CONFIG = "bert_config.json"
_MAGIC = 0xDB4775248B80FB57  # the last eight bytes of every sorted table
_FOOTER = 48
_TRAILER = 5  # after each block: how it is compressed, and a checksum
_TYPES = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8", 19: "<f2"}  # numbers of TensorFlow's types
_FOR_TRAINING = re.compile(r"adam_[mv]$|global_step$|^_|^save_counter|\.OPTIMIZER|^beta[12]_power")
# BERT's names in TensorFlow and in transformers, in the order in which they are rewritten.
_RENAMED = (
    (r"layer_(\d+)", r"layer.\1"),
    (r"/gamma$", "/weight"), (r"/beta$", "/bias"), (r"/kernel$", "/weight"),
    (r"_embeddings$", r"\g<0>/weight"),
    (r"^cls/predictions/output_bias$", "cls/predictions/bias"),
    (r"/output_weights$", "/weight"), (r"/output_bias$", "/bias"),
    (r"/", "."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Entry:
    """Where one tensor lies among the files of data, and how its bytes are read."""

    kind: str
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int


def index_file(folder: Path) -> Path | None:
    """The index of the checkpoint in a folder, or None where the folder holds no BERT of TensorFlow."""
    found = sorted(folder.glob("*.index")) if (folder / CONFIG).is_file() else []
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise WeightsError(f"{folder} holds several checkpoints: {names}; leave one of them there")
    return found[0] if found else None


def checkpoint_files(index: Path) -> list[Path]:
    """The index and its files of data."""
    return [index, *sorted(index.parent.glob(f"{index.stem}.data-*"))]


def write_model(index: Path, target: Path) -> None:
    """Write the folder of a checkpoint as transformers reads it: settings, vocabulary and safetensors."""
    from safetensors.numpy import save_file

    target.mkdir(parents=True)
    tensors = {_renamed(name): _turned(name, tensor) for name, tensor in read_bundle(index)}
    save_file(tensors, target / "model.safetensors", metadata={"format": "pt"})
    try:
        settings = json.loads((index.parent / CONFIG).read_text("utf-8"))
        settings = {**settings, "model_type": "bert", "architectures": ["BertForPreTraining"]}
    except (OSError, ValueError, TypeError) as error:
        raise WeightsError(f"{index.parent / CONFIG} is damaged ({error}); fetch the model again") from error
    (target / "config.json").write_text(json.dumps(settings), "utf-8")
    vocabulary = index.parent / "vocab.txt"
    if not vocabulary.is_file():
        raise WeightsError(
            f"{index.parent} has no vocab.txt; put the file of the release beside the checkpoint"
        )
    shutil.copyfile(vocabulary, target / vocabulary.name)
    is_lower = "uncased" in str(index.parent.name) or not _has_capitals(vocabulary)
    tokenizer = {"tokenizer_class": "BertTokenizer", "do_lower_case": is_lower}
    (target / "tokenizer_config.json").write_text(json.dumps(tokenizer), "utf-8")


def _has_capitals(vocabulary: Path) -> bool:
    """Whether a vocabulary has a word with a capital letter; marks such as [CLS] are none."""
    words = vocabulary.read_text("utf-8").splitlines()
    return any(word != word.lower() for word in words if not word.startswith("["))


def _is_kept(name: str) -> bool:
    return _FOR_TRAINING.search(name.rpartition("/")[2]) is None


def _renamed(name: str) -> str:
    """The name of a tensor in transformers."""
    for pattern, other in _RENAMED:
        name = re.sub(pattern, other, name)
    return name


def _turned(name: str, tensor: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """The matrix of a layer the way torch keeps it: one row per output."""
    return np.ascontiguousarray(tensor.T) if name.endswith("/kernel") else tensor


def read_bundle(index: Path) -> Iterator[tuple[str, npt.NDArray[np.generic]]]:
    """The tensors of a checkpoint by name, without those that only training needs."""
    entries = dict(_table(index))
    shards = _number(_fields(entries.pop(b"", b""), index), 1, index) or 1
    for key, value in entries.items():
        name = key.decode("utf-8", "replace")
        if _is_kept(name):
            yield name, _tensor(index, _entry(value, name, index), shards)


def _tensor(index: Path, entry: _Entry, shards: int) -> npt.NDArray[np.generic]:
    """One tensor, read from its place in its file of data."""
    file = index.with_name(f"{index.stem}.data-{entry.shard:05}-of-{shards:05}")
    kind = np.dtype(entry.kind)
    if entry.size != prod(entry.shape) * kind.itemsize:
        raise _damaged(index, "the size of a tensor")
    try:
        with file.open("rb") as handle:
            handle.seek(entry.offset)
            raw = handle.read(entry.size)
    except OSError as error:
        raise WeightsError(
            f"{file} is missing: a checkpoint is its .index and all its .data files"
        ) from error
    if len(raw) < entry.size:
        raise WeightsError(f"{file} ends too early; fetch it again")
    return np.frombuffer(raw, kind).reshape(entry.shape)


def _entry(value: bytes, name: str, index: Path) -> _Entry:
    """The place of a tensor by its protocol buffer: fields 1 to 5 are type, shape, file, offset and size."""
    fields = _fields(value, index)
    kind = _TYPES.get(_number(fields, 1, index))
    if kind is None:
        raise WeightsError(f"{index}: {name} is of a type that is not read ({fields.get(1)})")
    if 7 in fields:
        raise WeightsError(f"{index}: {name} was saved in parts; save the model once more, whole")
    sides = [
        _number(_fields(side, index), 1, index) for side in _fields(fields.get(2, [b""])[0], index).get(2, ())
    ]
    shard, offset, size = (_number(fields, tag, index) for tag in (3, 4, 5))
    return _Entry(kind, tuple(sides), shard, offset, size)


def _number(fields: dict[int, list[int | bytes]], tag: int, index: Path) -> int:
    """A whole number of a protocol buffer; one that is 0 is left out there."""
    value = fields.get(tag, [0])[0]
    if isinstance(value, bytes):
        raise _damaged(index, "an entry")
    return value


def _table(index: Path) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of a sorted table, block by block."""
    try:
        raw = index.read_bytes()
    except OSError as error:
        raise WeightsError(f"{index} cannot be read: {error.strerror}") from error
    if len(raw) < _FOOTER or struct.unpack("<Q", raw[-8:])[0] != _MAGIC:
        raise WeightsError(
            f"{index} is no index of a TensorFlow checkpoint, or it is damaged; fetch it again"
        )
    footer, at = raw[-_FOOTER:], 0
    _, at = _varint(footer, at, index)  # the handle of the block of meta data, which bundles do not use
    _, at = _varint(footer, at, index)
    start, at = _varint(footer, at, index)
    size, at = _varint(footer, at, index)
    for _, handle in _block(raw, start, size, index):
        start, at = _varint(handle, 0, index)
        size, _ = _varint(handle, at, index)
        yield from _block(raw, start, size, index)


def _block(raw: bytes, start: int, size: int, index: Path) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of one block; each key gives what it shares with the one before it."""
    block, trailer = raw[start : start + size], raw[start + size : start + size + _TRAILER]
    if len(trailer) < _TRAILER or _masked(crc32c(block + trailer[:1])) != struct.unpack("<I", trailer[1:])[0]:
        raise _damaged(index, "a checksum")
    if trailer[0]:
        raise WeightsError(f"{index} is compressed; checkpoints as TensorFlow saves them are not")
    restarts = struct.unpack("<I", block[-4:])[0]
    end, at, key = len(block) - 4 * (restarts + 1), 0, b""
    while at < end:
        shared, at = _varint(block, at, index)
        added, at = _varint(block, at, index)
        length, at = _varint(block, at, index)
        key = key[:shared] + block[at : at + added]
        yield key, block[at + added : at + added + length]
        at += added + length


def _fields(message: int | bytes, index: Path) -> dict[int, list[int | bytes]]:
    """The fields of a protocol buffer by number, each with all its values."""
    fields: dict[int, list[int | bytes]] = {}
    if not isinstance(message, bytes):
        raise _damaged(index, "an entry")
    at = 0
    while at < len(message):
        key, at = _varint(message, at, index)
        tag, wire = key >> 3, key & 7
        value: int | bytes
        if wire == 0:
            value, at = _varint(message, at, index)
        elif wire in (1, 2, 5):
            length, at = _varint(message, at, index) if wire == 2 else ({1: 8, 5: 4}[wire], at)
            value, at = message[at : at + length], at + length
        else:
            raise _damaged(index, "an entry")
        fields.setdefault(tag, []).append(value)
    return fields


def _varint(raw: bytes, at: int, index: Path) -> tuple[int, int]:
    """A whole number of seven bits a byte, the lowest first, and where it ends."""
    number = 0
    for place, byte in enumerate(raw[at : at + 10]):
        number |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return number, at + place + 1
    raise _damaged(index, "a number")


def _damaged(index: Path, what: str) -> WeightsError:
    return WeightsError(f"{index} is damaged ({what}); fetch it again")


@cache
def _remainders() -> list[int]:
    """The remainders of Castagnoli's polynomial for every byte."""
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


def crc32c(raw: bytes) -> int:
    """The checksum of LevelDB's blocks, by Castagnoli's polynomial."""
    table, checksum = _remainders(), 0xFFFFFFFF
    for byte in raw:
        checksum = table[(checksum ^ byte) & 0xFF] ^ (checksum >> 8)
    return checksum ^ 0xFFFFFFFF


def _masked(checksum: int) -> int:
    """A checksum as it is stored: turned by 15 bits and moved, so that it is none of itself."""
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF
