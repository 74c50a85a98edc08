"""run.json: everything that is needed to trust a run and to repeat it."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from assay import __version__
from assay.core import Audit, Measure, Scored
from assay.datasets.columns import table_of
from assay.engine.session import Session
from assay.engine.settle import describe
from assay.files import file_digest, toml_file
from assay.models.weights import CARRIERS, present
from assay.recipe import digest

_PROGRAMS = ("assay", "assay.exe", "__main__.py")


def describe_run(
    audits: Mapping[str, Audit],
    measures: Sequence[Measure],
    scored: Mapping[str, Sequence[Scored]],
    session: Session,
    size: str,
) -> dict[str, Any]:
    """run.json: everything needed to trust and repeat the run."""
    metrics = {answer.metric: dict(answer.about) for answers in scored.values() for answer in answers}
    order = [label for label in dict.fromkeys([*(m.label for m in measures), *metrics]) if label in metrics]
    specs = {given.label: {"spec": given.spec} for given in measures if given.spec}
    return {
        **_provenance(),
        "size": size,
        "metrics": {label: metrics[label] | specs.get(label, {}) for label in order},
        "audits": {name: describe(chosen) for name, chosen in audits.items()},
        "data": data_digests(audits),
        "seconds": {"scoring": dict(session.seconds)},
        "computed": dict(session.computed),
    }


def _provenance() -> dict[str, Any]:
    """The first entries of run.json: date, command, machine, and every version that can change a number.

    Packages and weights that are not installed are left out.
    """
    program = Path(sys.argv[0]).name if sys.argv else ""
    command = shlex.join(["assay", *sys.argv[1:]]) if program in _PROGRAMS else "a Python program"
    weights = [carrier for carrier in CARRIERS.values() if present(carrier.name)]
    return {
        "assay": __version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "python": platform.python_version(),
        "packages": {
            name: number for name in toml_file("run", "run")["packages"] if (number := version_of(name))
        },
        "weights": {each.name: f"{each.packages[0][0]} sha256:{each.pin}" for each in weights},
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
    }


def version_of(package: str) -> str:
    """The installed version of a package; empty where there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def data_digests(audits: Mapping[str, Audit]) -> dict[str, str]:
    """Each file of a run, or table in memory, with the digest of its content."""
    digests = {}
    for path in (path for audit in audits.values() for path in getattr(audit, "data", ())):
        if (table := table_of(path)) is not None:
            digests[str(path)] = digest(*map(repr, table))
        elif path.is_file():
            digests[str(path)] = file_digest(path)
    return digests
