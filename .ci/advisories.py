"""Known vulnerabilities of the locked packages, by pip-audit: `make advisories`.

Exit 1 where there are some. Where no service answers, or none that knows any of the packages, nothing is
known, which is said.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

LOCK = Path(__file__).resolve().parents[1] / "requirements.lock"
SERVICES = ("pypi", "osv")
SECONDS = 120  # for one service


def asked(service: str) -> list[dict[str, Any]]:
    """The packages that one service knows, each with its vulnerabilities; none where it does not answer."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(LOCK), "--disable-pip"]
    command += ["--vulnerability-service", service, "--format", "json", "--progress-spinner", "off"]
    try:
        done = subprocess.run(
            [*command, "--timeout", "15"], capture_output=True, text=True, check=False, timeout=SECONDS
        )
        packages = json.loads(done.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        return []
    return [package for package in packages if "vulns" in package]  # others were skipped


def locked() -> int:
    """How many packages the lock has."""
    return LOCK.read_text("utf-8").count("==")


def main() -> int:
    """Ask one service after the other; returns the exit status."""
    for service in SERVICES:
        packages = asked(service)
        if packages:
            found = [(package, weakness) for package in packages for weakness in package["vulns"]]
            for package, weakness in found:
                mended = ", ".join(weakness["fix_versions"]) or "no version"
                print(f"{package['name']} {package['version']}: {weakness['id']}, mended in {mended}")
            known = f"{len(packages)} of {locked()} packages"
            print(f"{service} knows {known} and {len(found)} vulnerabilities of them")
            return int(bool(found))
    services = ", ".join(SERVICES)
    print(
        f"not checked: none of {services} knows these packages from here, so nothing is known of {LOCK.name}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
