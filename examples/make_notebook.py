"""Write example.ipynb, or the file that is named: run the cells and keep their outputs."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent
CELLS = (
    ("markdown", """# assay in a notebook

Does a metric notice errors, and does it agree with people? N-gram metrics only: this takes seconds."""),
    ("code", """import assay
from length_ratio import LengthRatio"""),
    ("markdown", "## Scores"),
    ("code", """samples = [
    assay.Sample("The ferry was late.", ("The ferry left late.",)),
    assay.Sample("The bridge will close.", ("The bridge will close.",)),
]
assay.score(["bleu", "chrf", LengthRatio()], samples)"""),
    ("markdown", """## Does it notice errors?

The last words are repeated ten to thirty times. `value` is *right order*: of 100 decisions between a clean
text and such a one, how many the metric gets right. 50 is a coin."""),
    ("code", """run = assay.run("repetition", ["bleu", "chrf", LengthRatio()], limit=12, task=["translation"])
judged = run.findings.filter(run.findings["verdict"] != "not judged")
judged.select("metric", "slice", "value", "ci_low", "ci_high", "verdict")"""),
    ("markdown", """## Does it agree with people?

24 short translations, rated from 1 to 5."""),
    ("code", """from pathlib import Path

human = assay.run("human", ["bleu", "chrf"], data=[Path("rated.csv")])
spearman = human.findings.filter(human.findings["statistic"] == "spearman")
spearman.select("metric", "slice", "value", "ci_low", "ci_high", "n")"""),
)  # fmt: skip


def notebook() -> nbformat.NotebookNode:
    """The notebook with its outputs."""
    document = nbformat.v4.new_notebook()
    for number, (kind, source) in enumerate(CELLS):
        make = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
        document.cells.append(make(source, id=f"cell-{number}"))
    document.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    place = {"metadata": {"path": FOLDER}}
    NotebookClient(document, timeout=300, record_timing=False, resources=place).execute()
    document.metadata.pop("language_info", None)  # the version of Python
    return document


if __name__ == "__main__":
    nbformat.write(notebook(), Path(*sys.argv[1:2]) if sys.argv[1:] else FOLDER / "example.ipynb")
