"""Lock the packages of the Makefile's environment by hash: `make lock` writes, `make check-lock` compares.

pip resolves `.[dev]`, and what builds it, under constraints.txt and reports each file with its SHA-256. The
lock installs from a folder of wheels without a network; it holds the files of one platform and Python;
elsewhere constraints.txt alone applies.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK, CONSTRAINTS = ROOT / "requirements.lock", ROOT / "constraints.txt"
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s\\]+)", re.M)


def resolve() -> str:
    """The lock's text, from pip's report."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--dry-run",
        "--ignore-installed",
        "--report",
        "-",
    ]
    command += ["--constraint", str(CONSTRAINTS), f"{ROOT}[dev]", *build_requirements()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = {}
    for item in json.loads(done.stdout)["install"]:
        name, version = item["metadata"]["name"], item["metadata"]["version"]
        hashes = item["download_info"].get("archive_info", {}).get("hashes", {})
        if "sha256" in hashes:  # our own package has none
            lines[_plain(name)] = f"{name}=={version} \\\n    --hash=sha256:{hashes['sha256']}\n"
    head = f"# Made by `make lock` for {sys.platform}, Python {sys.version_info[0]}.{sys.version_info[1]}.\n"
    return head + "".join(lines[name] for name in sorted(lines))


def build_requirements() -> list[str]:
    """What builds the package, also in place, and packages that come as sources: needed offline."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return ["setuptools", "wheel", "editables", *project["build-system"]["requires"]]


def problems(text: str) -> list[str]:
    """What is wrong with a lock: a constraint that it breaks, a package without a hash."""
    pins = {_plain(name): version for name, version in PIN.findall(text)}
    wanted = {_plain(name): version for name, version in PIN.findall(CONSTRAINTS.read_text("utf-8"))}
    both = [name for name in sorted(pins) if pins[name].partition("+")[0] != wanted.get(name, pins[name])]
    found = [
        f"{name} is {pins[name]}, constraints.txt says {wanted[name]}" for name in both if name in wanted
    ]
    built_by = [_plain(re.match(r"[\w.-]+", name)[0]) for name in build_requirements()]  # type: ignore[index]
    found += [f"{name} builds the package and is not locked" for name in built_by if name not in pins]
    hashes = len(re.findall(r"--hash=sha256:[0-9a-f]{64}$", text, re.M))
    return [*found, *([f"{len(pins)} packages, {hashes} hashes"] if hashes != len(pins) or not pins else [])]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    if sys.argv[1:] != ["--check"]:
        LOCK.write_text(resolve(), "utf-8")
    text = LOCK.read_text("utf-8")
    wrong = problems(text)
    print("\n".join(wrong) or f"{LOCK.name}: {len(PIN.findall(text))} packages, each with a hash")
    sys.exit(bool(wrong))
