"""A user's own world for propagation: a generator of the hub and a file of scenes with known gender."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from assay.datasets.rows import Row, read_rows
from assay.errors import DataError, WeightsError
from assay.mitigation.generators import Generator
from assay.mitigation.world import Scene
from assay.models import weights
from assay.recipe import generator

_GENDERS = {"male": "male", "man": "male", "female": "female", "woman": "female"}
FEWEST = 20


def read_scenes(path: Path) -> list[Scene]:
    """Rows with `group` (man or woman), `references`, and `source` or `image`; `concept` where known."""
    found = [_scene(row) for row in read_rows(path)]
    if len(found) < FEWEST:
        raise DataError(f"{path}: {len(found)} scenes; at least {FEWEST} are needed for a rate of errors")
    return found


def _scene(row: Row) -> Scene:
    gender = _GENDERS.get(row.text("group").lower())
    if gender is None:
        raise row.fail(f"column 'group' must be one of {', '.join(_GENDERS)}, not {row.text('group')!r}")
    references = row.texts("references") or row.texts("reference")
    if not references:
        raise row.fail("column 'references' is missing: what the reward compares a caption with")
    image = row.image() if row.has("image") else None
    source = row.maybe("source") or ""
    if not source and image is None:
        raise row.fail("a scene needs 'source' or 'image': what the generator reads")
    concept = row.maybe("concept") or "all"
    return Scene(concept, gender, source, references[0], references, image.path if image else None)


def halves(scenes: Sequence[Scene], seed: int) -> tuple[list[Scene], list[Scene]]:
    """Scenes to train on and, apart from them, scenes to test on."""
    mixed = generator(seed, "own-world", "").sample(list(scenes), len(scenes))
    return mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]


def load_generator(name: str) -> Generator:
    """A sequence-to-sequence or vision-encoder-decoder model by name or folder."""
    import transformers

    folder = weights.resolve(name)
    config = folder / "config.json"
    if not config.is_file():
        raise WeightsError(f"{folder} has no config.json; give the folder of a saved generator")
    sees = json.loads(config.read_text("utf-8")).get("model_type") == "vision-encoder-decoder"
    kind = "VisionEncoderDecoderModel" if sees else "AutoModelForSeq2SeqLM"
    try:
        model = getattr(transformers, kind).from_pretrained(
            folder, use_safetensors=True, local_files_only=True
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        images = transformers.AutoImageProcessor.from_pretrained(folder) if sees else None
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise WeightsError(f"{folder} cannot be loaded as a generator ({kind}): {error}") from error
    return Generator(model.eval(), tokenizer, images)
