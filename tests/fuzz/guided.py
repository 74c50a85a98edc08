"""Coverage-guided fuzzing of one target: `python guided.py TARGET -atheris_runs=N`, by `make soak`.

A target is the spec parser or a form of data; whatever comes, it is read or refused with an `AuditError`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["assay"]):
    from seeds import TARGETS

    import assay.names.spec
    from assay.errors import AuditError

SPEC = "spec"


def _spec(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    if ".py" not in text:  # a spec may name a file of the user's, and that is then run
        assay.names.spec.parse_spec(text)


def main() -> None:
    """Fuzz until the runs are up; anything but an `AuditError` ends the process with its traceback."""
    name = sys.argv.pop(1)
    files, read = ({}, None) if name == SPEC else TARGETS[name]
    folder = Path(tempfile.mkdtemp(prefix="assay-guided-"))
    for file, body in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(body)
    first = next(iter(files), None)

    def target(data: bytes) -> None:
        try:
            if read is None or first is None:
                _spec(data)
            else:
                (folder / first).write_bytes(data)
                read(folder)
        except AuditError:
            pass

    corpus = folder / "corpus"
    corpus.mkdir()
    (corpus / "seed").write_bytes(files[first] if first else b"bleu:tokenize=13a+0.3*chrf")
    atheris.Setup([sys.argv[0], *sys.argv[1:], str(corpus)], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
