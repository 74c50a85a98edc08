"""Whatever stands in a file, a loader reads it or says what is wrong: it never falls over.

Some thousands of inputs by default; 100,000 a loader with ASSAY_SOAK=1 (`make soak`).
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from random import Random

import pytest
from mutations import mutate
from seeds import TARGETS

from assay.errors import AuditError

INPUTS = 100_000 if os.environ.get("ASSAY_SOAK") else 1_000
_SLOW = {"pairs-parquet": 10, "association": 10}  # so many times fewer


@pytest.mark.parametrize("name", TARGETS)
def test_valid_data_is_read(name: str, tmp_path: Path) -> None:
    files, read = TARGETS[name]
    _write(tmp_path, dict(files))
    assert read(tmp_path)


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_makes_a_loader_fall_over(name: str, tmp_path: Path) -> None:
    files, read = TARGETS[name]
    rng = Random(zlib.crc32(name.encode()))
    current = dict(files)
    _write(tmp_path, current)
    refused = 0
    for _ in range(INPUTS // _SLOW.get(name, 1)):
        changed = rng.choice(list(files))
        body = mutate(files[changed], rng)
        (tmp_path / changed).write_bytes(body)
        try:
            read(tmp_path)
        except AuditError as error:
            refused += 1
            assert str(error)
        except Exception as error:
            error.add_note(f"{name}: {changed}: {body!r}")
            raise
        if body != files[changed] and len(files) > 1:
            (tmp_path / changed).write_bytes(files[changed])
    assert refused, "no input was refused: the mutations do nothing"


def _write(folder: Path, files: dict[str, bytes]) -> None:
    for name, body in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(body)
