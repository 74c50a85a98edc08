"""Known vulnerabilities of the locked packages, by pip-audit: `make advisories`.

Exit 1 where there are some. Where none of pip-audit's services answers, nothing is known, which is said.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).resolve().parents[1] / "requirements.lock"
SERVICES = ("pypi", "osv")
SECONDS = 120  # for one service


def asked(service: str) -> subprocess.CompletedProcess[str] | None:
    """What one service says of the lock; None where it does not answer."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(LOCK), "--disable-pip"]
    command += ["--vulnerability-service", service, "--progress-spinner", "off", "--timeout", "15"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None
    said = done.stdout + done.stderr
    answered = "known vulnerabilit" in said  # "No known vulnerabilities found", or how many there are
    return done if answered else None


def main() -> int:
    """Ask one service after the other; returns the exit status."""
    for service in SERVICES:
        done = asked(service)
        if done is not None:
            print(done.stdout + done.stderr)
            return done.returncode
    services = ", ".join(SERVICES)
    print(f"not checked: none of {services} answers from here, so nothing is known of {LOCK.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
