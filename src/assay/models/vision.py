"""Images to features: read once, remembered by content, damaged files named."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from assay.core import Image
from assay.errors import DataError, WeightsError


@cache
def image_processor(folder: Path) -> Any:
    """How the model's images are cut and scaled; the version that needs nothing but Pillow."""
    from transformers import AutoImageProcessor

    if (
        not (folder / "preprocessor_config.json").is_file()
        and not (folder / "processor_config.json").is_file()
    ):
        raise WeightsError(f"{folder} has no preprocessor_config.json; take the folder of the whole model")
    try:
        return AutoImageProcessor.from_pretrained(folder, local_files_only=True, backend="pil")
    except (OSError, ValueError, ImportError) as error:
        raise WeightsError(f"the image processor in {folder} cannot be loaded: {error}") from error


def pixels(processor: Any, images: Sequence[Image]) -> Any:
    """Images as one batch of numbers."""
    return processor(images=[open_image(image) for image in images], return_tensors="pt")


def open_image(image: Image) -> Any:
    """The picture in RGB, or an error that names the file."""
    from PIL import Image as Pillow
    from PIL import UnidentifiedImageError

    try:
        with Pillow.open(image.path) as found:
            return found.convert("RGB")
    except FileNotFoundError as error:
        raise DataError(f"no image {image.path}; check the column image and the data folder") from error
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise DataError(f"{image.path} is not an image that can be read: {error}") from error
    except Pillow.DecompressionBombError as error:
        raise DataError(f"{image.path} is too large an image: {error}") from error
