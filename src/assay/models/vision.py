"""Read images as a model's processor wants them; errors name the damaged file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from assay.core import Image
from assay.errors import DataError, WeightsError


@cache
def image_processor(folder: Path) -> Any:
    """Load what crops and scales a model's images, in the version that needs nothing but Pillow."""
    from transformers import AutoImageProcessor

    settings = (folder / "preprocessor_config.json", folder / "processor_config.json")
    if not any(path.is_file() for path in settings):
        raise WeightsError(f"{folder} has no preprocessor_config.json; take the folder of the whole model")
    try:
        return AutoImageProcessor.from_pretrained(folder, local_files_only=True, backend="pil")
    except (OSError, ValueError, ImportError) as error:
        raise WeightsError(f"the image processor in {folder} cannot be loaded: {error}") from error


def pixels(processor: Any, images: Sequence[Image]) -> Any:
    """Return images as one batch of tensors."""
    return processor(images=[open_image(image) for image in images], return_tensors="pt")


def open_image(image: Image) -> Any:
    """Read the picture in RGB, or raise an error that names the file."""
    from PIL import Image as Pillow
    from PIL import UnidentifiedImageError

    try:
        with Pillow.open(image.path) as picture:
            return picture.convert("RGB")
    except FileNotFoundError as error:
        raise DataError(f"no image {image.path}; check the column image and the data folder") from error
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise DataError(f"{image.path} is not an image that can be read: {error}") from error
    except Pillow.DecompressionBombError as error:
        raise DataError(f"{image.path} is too large an image: {error}") from error
