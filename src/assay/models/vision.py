"""Images known by their content, their embeddings kept on disk, and a small CLIP trained on pictures.

A file's digest is kept under its path, size and time of change, and a vector under the image's digest and the
model's, in one SQLite file of the cache: a folder of images is hashed and embedded once.
"""

from __future__ import annotations

import hashlib
import sqlite3
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.core import Image
from assay.errors import DataError
from assay.files import file_digest
from assay.models import weights
from assay.models.lazy import torch, transformers
from assay.models.loading import open_image
from assay.recipe import digest

_CHECK = 16  # bytes of SHA-256 before every value
_AT_ONCE = 500  # keys per query
_T = TypeVar("_T")
SPECIALS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}


def _connect() -> sqlite3.Connection:
    path = weights.cache_folder() / "images.sqlite"
    path.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(2):
        store = sqlite3.connect(path, timeout=60, isolation_level=None)
        try:
            store.execute("PRAGMA journal_mode=WAL")
            store.execute("PRAGMA synchronous=OFF")  # a lost value is computed again
            store.execute("CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID")
            return store
        except sqlite3.DatabaseError as error:
            store.close()
            if isinstance(error, sqlite3.OperationalError):
                raise
            warnings.warn(f"{path} is damaged and was made anew", stacklevel=2)
            path.unlink(missing_ok=True)
    return sqlite3.connect(":memory:")


def recall(keys: Iterable[str]) -> dict[str, bytes]:
    """The values kept under these keys; a damaged one counts as absent."""
    wanted = list(dict.fromkeys(keys))
    known: dict[str, bytes] = {}
    with suppress(sqlite3.Error), closing(_connect()) as store:
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            known |= dict(store.execute(f"SELECT key, value FROM kept WHERE key IN ({marks})", some))
    whole = ((key, value[:_CHECK], value[_CHECK:]) for key, value in known.items())
    return {key: value for key, check, value in whole if check == _check(value)}


def keep(values: Mapping[str, bytes]) -> None:
    """Keep values under their keys; a cache that cannot be written keeps nothing."""
    rows = [(key, _check(value) + value) for key, value in values.items()]
    with suppress(sqlite3.Error, OSError), closing(_connect()) as store, store:
        store.execute("BEGIN")
        store.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?)", rows)


def _check(value: bytes) -> bytes:
    return hashlib.sha256(value).digest()[:_CHECK]


def _kept(things: Mapping[str, _T], describe: Callable[[_T], str]) -> dict[str, str]:
    """What is said of each thing, by its key; what was not kept before is found out and kept."""
    known = {key: value.decode() for key, value in recall(things).items()}
    fresh = {key: describe(thing) for key, thing in things.items() if key not in known}
    if fresh:
        keep({key: text.encode() for key, text in fresh.items()})
    return known | fresh


def images_at(paths: Sequence[Path]) -> list[Image]:
    """Image files by their content; a file that has not changed is not read again."""
    stats = [(path, path.stat()) for path in paths]
    stamps = [f"file:{digest(str(p.resolve()), str(s.st_size), str(s.st_mtime_ns))}" for p, s in stats]
    digests = _kept(dict(zip(stamps, paths, strict=True)), file_digest)
    return [Image(str(path), digests[stamp]) for stamp, path in zip(stamps, paths, strict=True)]


def unreadable(images: Sequence[Image]) -> dict[str, str]:
    """Why an image cannot be read, by its path; each content is tried once."""
    # Of several files of one content the first is tried.
    reasons = _kept({f"read:{image.digest}": image for image in reversed(images)}, _reason)
    return {i.path: reason for i in images if (reason := reasons[f"read:{i.digest}"])}


def _reason(image: Image) -> str:
    try:
        open_image(image)
    except DataError as error:
        return str(error).removeprefix(image.path).strip()
    return ""


def word_tokenizer(texts: Iterable[str], *, longest: int) -> Any:
    """A tokenizer of whole words in lower case, for small models trained here."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = sorted({word for text in texts for word in text.lower().split()})
    vocabulary = {word: place for place, word in enumerate([*SPECIALS.values(), *words])}
    splitter = Tokenizer(models.WordLevel(vocabulary, unk_token=SPECIALS["unk_token"]))
    splitter.normalizer = normalizers.Lowercase()
    splitter.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    splitter.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[(name, vocabulary[name]) for name in ("<s>", "</s>")]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=splitter, model_max_length=longest, **SPECIALS
    )


def special_ids(tokenizer: Any) -> dict[str, int]:
    """The ids that a model's configuration names."""
    return {f"{name}_id": getattr(tokenizer, f"{name}_id") for name in list(SPECIALS)[:3]}


def plain_processor(size: int) -> Any:
    """An image processor that scales pixels to -1..1, and pictures of other sizes to a square of `size`."""
    half, square = [0.5] * 3, {"height": size, "width": size}
    sizes = {"size": {"shortest_edge": size}, "crop_size": square}
    return transformers.CLIPImageProcessorPil(**sizes, image_mean=half, image_std=half)


def train_small(
    folder: Path, seed: int, build: Callable[[], Any], parts: Sequence[Any], course: Mapping[str, Any],
    loss: Callable[[Any, int], torch.Tensor],
) -> None:  # fmt: skip
    """Build a model, minimise a loss, and save it with its other parts, as the hub has them."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the same seed gives the same weights
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = build().train()
            optimizer = torch.optim.AdamW(model.parameters(), lr=course["rate"])
            rates = {"max_lr": course["rate"], "total_steps": course["steps"], "pct_start": 0.1}
            schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, **rates)
            for step in range(course["steps"]):
                optimizer.zero_grad()
                torch.autograd.backward(loss(model, step))
                optimizer.step()
                schedule.step()
    finally:
        torch.set_num_threads(threads)
    for part in (model.eval(), *parts):
        part.save_pretrained(folder)


def train_clip(
    folder: Path,
    pictures: NDArray[np.uint8],
    classes: NDArray[np.int64],
    wordings: Callable[[Random], list[str]],
    course: Mapping[str, Any],
) -> None:
    """Train a CLIP on pictures: pull each to its caption, and each caption to its pictures.

    `wordings` gives one caption of every class. Each picture is contrasted with one caption of every class,
    not with those of the batch: negatives drawn as often as captions occur would teach the ratio of a
    caption's probability given the picture to its frequency (Oord et al. 2018), in which how often a gender
    is seen with a concept cancels out.
    """
    rng, longest = Random(0), course["text"]["max_position_embeddings"]
    tokenizer = word_tokenizer((text for _ in range(60) for text in wordings(rng)), longest=longest)
    size, labels = pictures.shape[1], torch.tensor(classes)
    inputs = (torch.tensor(pictures).permute(0, 3, 1, 2).float() / 255 - 0.5) / 0.5

    def build() -> Any:
        text = course["text"] | special_ids(tokenizer) | {"vocab_size": len(tokenizer)}
        vision, width = course["vision"] | {"image_size": size}, text["projection_dim"]
        config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=width)
        return transformers.CLIPModel(config)

    def loss(model: Any, _: int) -> torch.Tensor:
        rows = torch.tensor(rng.sample(range(len(inputs)), min(course["batch"], len(inputs))))
        texts = tokenizer(wordings(rng), return_tensors="pt", padding=True)
        given = {name: texts[name] for name in ("input_ids", "attention_mask")}
        logits = model(**given, pixel_values=inputs[rows]).logits_per_image
        is_pair = torch.nn.functional.one_hot(labels[rows], logits.shape[1]).float()
        per_caption = is_pair.sum(0)
        shares = (torch.log_softmax(logits, 0) * is_pair).sum(0)[per_caption > 0]
        by_image = torch.nn.functional.cross_entropy(logits, labels[rows])
        return by_image - (shares / per_caption[per_caption > 0]).mean()

    train_small(folder, 0, build, (tokenizer, plain_processor(size)), course, loss)
