"""Write docs/metrics.md from the code and names/checkpoints.toml: metrics on models, what each needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.files import toml_file
from assay.names.registry import load_class, names

FOLDER = Path(__file__).parent
INTRODUCTION = """# Metrics on pretrained models

Written by `python docs/make_metrics.py`.

Each row is a metric with its default checkpoint. A carried name (`minilm`, `smollm2`, `glove`) comes from a
package on the index that pip uses; any other comes from the hub at first use. `model=` takes another name of
the hub, a folder, or a file. Pickled weights (`.bin`, `.pt`, `.pth`, `.ckpt`) are converted to safetensors
once, without running anything in them: tensors and `argparse.Namespace` are read, any other class is refused
by name. A folder with BERT of TensorFlow (`bert_config.json`, `vocab.txt`, `*.index`, `*.data-*`), as
Google and Zari release it, is converted too. `assay convert` does it beforehand. A file of static vectors
may be GloVe's (`.txt`), fastText's (`.vec`) or word2vec's (`.bin`). `assay list metrics` says for every
metric whether it runs now, after which command, or never here and why (no package carries its weights and
the hub does not answer, no Java).

*Checked* says what ours was compared with. No weights of the hub were at hand: "its layout" means tiny random
models saved with the files, config keys, tensor names and tokenizers of the public repository
(`tests/checkpoints`). Sizes and licences are those that the public page of a repository gives; what could not
be checked there says so. "None stated": the page names no licence, so ask before you rely on one.

| metric | shown as | default checkpoint | files read | size | licence | reference implementation | checked |
|---|---|---|---|---|---|---|---|
"""


def families() -> dict[str, tuple[list[str], Any]]:
    """Metrics that name weights: by their class's name, all names they are called by, and the class."""
    found: dict[str, tuple[list[str], Any]] = {}
    for name, (where, _) in names("metrics").items():
        metric = load_class(where)
        if metric.weights:
            found.setdefault(metric.name, ([], metric))[0].append(name)
    return found


def page() -> str:
    """The whole page."""
    known = toml_file("names", "checkpoints")
    lines = []
    for name, (called, metric) in sorted(families().items()):
        checkpoint = str(getattr(metric, metric.weights[0]))
        shown = metric().shown if hasattr(metric, "shown") else name
        cells = [", ".join(f"`{word}`" for word in called), shown, f"`{checkpoint}`"]
        cells += [*known["checkpoints"][checkpoint], *known["metrics"][name]]
        lines.append(f"| {' | '.join(cells)} |\n")
    return INTRODUCTION + "".join(lines)


if __name__ == "__main__":
    (FOLDER / "metrics.md").write_text(page(), "utf-8")
