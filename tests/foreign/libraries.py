"""The tests of `assay.wrap` with the libraries themselves: `make libraries`.

Each set of libraries that can be installed together has an environment of its own over this one; it needs the
index that pip uses. `python tests/foreign/libraries.py deepeval` tries the set with that library alone.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests" / "test_wrapped_packages.py"
SETS = (
    (
        "sentence-transformers==6.2.0", "torchmetrics==1.9.0", "evaluate==0.4.6", "datasets==5.2.0", "jiwer==4.0.0",
        "editdistance==0.8.1", "textstat==0.7.13", "autoevals==0.4.1", "inspect_ai==0.3.285", "lm-eval==0.4.13",
    ),
    ("deepeval==4.3.1",),
    ("ragas==0.4.3", "langchain-community<0.4"),
)  # fmt: skip


def environment(folder: Path, requirements: tuple[str, ...]) -> Path:
    """Make an environment with these requirements over the packages of this one; return its Python."""
    venv.create(folder, with_pip=True)
    paths = {"base": str(folder), "platbase": str(folder)}
    Path(sysconfig.get_path("purelib", "venv", paths), "shared.pth").write_text(sysconfig.get_path("purelib"))
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
    return python


def main() -> None:
    """Run the tests in each environment; exit 1 where one fails."""
    wanted = sys.argv[1:]
    failed = False
    for number, requirements in enumerate(SETS):
        if wanted and not any(line.startswith(name) for line in requirements for name in wanted):
            continue
        print(f"with {', '.join(requirements)}", flush=True)
        with tempfile.TemporaryDirectory() as home:
            python = environment(Path(home, str(number)), requirements)
            command = [python, "-m", "pytest", "-p", "no:cacheprovider", "-W", "ignore", "-rs", TESTS]
            failed |= bool(subprocess.run(command, cwd=ROOT, check=False).returncode)
    sys.exit(failed)


if __name__ == "__main__":
    main()
