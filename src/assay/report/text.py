"""A run as Markdown or LaTeX."""

from __future__ import annotations

from assay.results import Run

_COLUMNS = ("metric", "audit", "slice", "statistic", "value", "verdict")
_SPECIAL = {"~": r"\textasciitilde{}", "^": r"\^{}", "\\": r"\textbackslash{}"}
_LATEX = str.maketrans({mark: "\\" + mark for mark in "&%$#_{}"} | _SPECIAL)


def _rows(run: Run) -> list[tuple[str, ...]]:
    verdicts = {True: "pass", False: "FAIL", None: "-"}
    return [
        (r["metric"], r["audit"], r["slice"], r["statistic"], f"{r['value']:.4g}", verdicts[r["passed"]])
        for r in run.findings.iter_rows(named=True)
    ]


def markdown(run: Run) -> str:
    """A table of all findings."""
    lines = ["| " + " | ".join(_COLUMNS) + " |", "|" + "---|" * len(_COLUMNS)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in _rows(run)]
    return "\n".join(lines)


def latex(run: Run) -> str:
    """A tabular of all findings."""
    lines = [r"\begin{tabular}{llllrl}", " & ".join(_COLUMNS) + r" \\"]
    lines += [" & ".join(cell.translate(_LATEX) for cell in row) + r" \\" for row in _rows(run)]
    return "\n".join([*lines, r"\end{tabular}"])
