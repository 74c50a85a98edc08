"""A file or folder as it lies on disk: its records, its document or its layout, read once.

Readers of published forms take an `Opened`. Records of tables, JSON Lines and JSON documents look alike, so
that a release is recognised by its columns whatever file carries it. A pickle is read by an unpickler that
builds containers, text and numbers only: a class or a function in it is an error, and nothing is run.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Literal

from assay.core import Image
from assay.datasets.columns import table_of
from assay.datasets.files import read_json
from assay.datasets.rows import Row, below, entries, first_rows, read_rows
from assay.errors import DataError
from assay.files import file_digest

Layout = Literal["folder", "table", "matlab", "lines"]
PICKLES = (".pkl", ".pickle")
_LARGEST_INTEGER = 10**18  # of a number in a pickle
# Where releases keep their images, beside the file that names them.
IMAGE_FOLDERS = ("", "images", "Flicker8k_Dataset", "Flickr8k_Dataset", "val2014", "train2014")


@dataclass(frozen=True)
class Opened:
    """A path and what it holds; `reference` is the human translation that a user chose, or "all"."""

    path: Path
    reference: str | None = None

    @property
    def layout(self) -> Layout:
        if self.path.is_dir():
            return "folder"
        if self.path.suffix == ".mat":
            return "matlab"
        is_text = self.path.suffix in ("", ".txt", ".raw", ".tokens", ".xml")
        return "lines" if is_text and table_of(self.path) is None else "table"

    @cached_property
    def document(self) -> Any:
        return read_pickle(self.path) if self.path.suffix in PICKLES else read_json(self.path)

    @cached_property
    def records(self) -> list[Row]:
        return entries(self.document, self.path) if self.path.suffix in PICKLES else read_rows(self.path)

    @cached_property
    def columns(self) -> frozenset[str]:
        """The columns of the first record; none where a document is no collection of entries."""
        if self._is_document:
            members = self.document.values() if isinstance(self.document, Mapping) else self.document
            if not isinstance(members, Iterable) or not all(isinstance(m, Mapping) for m in members):
                return frozenset()
            return frozenset(self.records[0].values)
        return frozenset(first_rows(self.path)[0].values)

    @property
    def _is_document(self) -> bool:
        return self.path.suffix in (".json", *PICKLES)

    @property
    def names(self) -> list[str]:
        """The keys of the entries of a document, else the numbers of the records."""
        is_named = self._is_document and isinstance(self.document, Mapping)
        return [str(name) for name in (self.document if is_named else (row.line for row in self.records))]

    @cached_property
    def matlab(self) -> Mapping[str, Any]:
        from scipy.io import loadmat

        try:
            variables: Mapping[str, Any] = loadmat(self.path)
        except (OSError, ValueError, NotImplementedError, TypeError) as error:
            raise DataError(f"cannot read {self.path}: {error}; is it a whole Matlab file?") from error
        return variables

    def image(self, name: object) -> Image | None:
        """The image of that name (or NAME.jpg) below the data folder, or None where it is not there."""
        if not name:
            return None
        root = self.path if self.path.is_dir() else self.path.parent
        for file, folder in product((str(name), f"{name}.jpg"), IMAGE_FOLDERS):
            path = below(root, folder, file)
            if path is not None and path.is_file():
                return Image(str(path), file_digest(path))
        return None


class _Number:
    """A number of numpy's: its type, filled in while the file is read, and its bytes."""

    def __init__(self, code: object = "", *_: object) -> None:
        self.code, self.order = code, "<"

    def __setstate__(self, state: object) -> None:
        if isinstance(state, tuple) and len(state) > 1 and state[1] in ("<", ">"):
            self.order = state[1]


def _scalar(kind: object, raw: object) -> int | float:
    codes = {"f8": "d", "f4": "f", "i8": "q", "i4": "i"}
    if not isinstance(kind, _Number) or not isinstance(raw, bytes) or kind.code not in codes:
        raise pickle.UnpicklingError(f"it holds a numpy value of type {getattr(kind, 'code', None)!r}")
    number: int | float = struct.unpack(kind.order + codes[kind.code], raw)[0]
    return number


class _Plain(pickle.Unpickler):
    """Builds containers, text and numbers; any other class or function is refused before it is looked up."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        # Fresh at each call: a pickle may set attributes of what it names.
        plain: dict[tuple[str, str], Any] = {
            ("builtins", "set"): lambda items=(): set(items),
            ("builtins", "frozenset"): lambda items=(): frozenset(items),
            ("collections", "OrderedDict"): lambda *_: {},
            ("_codecs", "encode"): lambda text, _: text.encode("latin-1"),  # bytes, in protocols 0 to 2
            ("numpy", "dtype"): lambda *given: _Number(*given),
            ("numpy.core.multiarray", "scalar"): lambda kind, raw=None: _scalar(kind, raw),
        }
        module = module_name.replace("__builtin__", "builtins").replace("numpy._core", "numpy.core")
        if (module, global_name) not in plain:
            raise pickle.UnpicklingError(f"it names {module_name}.{global_name}")
        return plain[module, global_name]


def read_pickle(path: Path) -> Any:
    """The content of a pickle that holds containers, text and numbers only; nothing else is ever built."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}; check the path") from error
    try:
        # Items shared within the file could multiply without end; an honest file has fewer items than bytes.
        return _plain(_Plain(io.BytesIO(raw)).load(), iter(range(10 * len(raw))))
    except (
        pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError,
        RecursionError, MemoryError, OverflowError, struct.error,
    ) as error:  # fmt: skip
        raise DataError(
            f"{path}: a pickle that cannot be read safely ({error}); only containers, text and numbers are; "
            "save its content as JSON and give that file"
        ) from error


def _plain(value: Any, budget: Iterator[int]) -> Any:
    """The value with text for keys and lists for tuples and sets, as JSON would have it."""
    if next(budget, None) is None:
        raise ValueError("it repeats its items without end")
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return value if abs(value) < _LARGEST_INTEGER else None  # nan and inf are no ratings
    if isinstance(value, dict):
        return {str(key): _plain(inner, budget) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner, budget) for inner in value]
    raise ValueError(f"it holds a {type(value).__name__}")
