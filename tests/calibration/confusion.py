"""The zoo of simulated metrics in, the confusion table out: which defects each audit finds, and false alarms."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo import ZOO, Row, measures

from assay.api.pipeline import make_audit
from assay.core import Finding
from assay.engine.plan import score_all
from assay.engine.session import Session
from assay.engine.settle import settle
from assay.names.registry import audit_class

# Full size, but for what would take too long: repeats of a noise, and long lists of items.
SIZES: Mapping[str, Mapping[str, Any]] = {
    "stereotype": {},
    "swap": {},
    "caption": {},
    "association": {"templates": 1},
    "stress": {"seeds": 1, "depth": "ends", "limit": 80, "open_limit": 40},
    "checklist": {"limit": 80},
    "position": {"seeds": 2},
    "injection": {},
    "repetition": {},
    "frequent-ngram": {},
    "copy-source": {},
    "truncation-direction": {},
    "identity-length": {},
}
FAIRNESS = tuple(name for name in SIZES if audit_class(name).question == "fairness")
KEPT = ("metric", "audit", "slice", "statistic", "value", "n", "versus", "verdict", "ci")
Verdicts = Mapping[str, Mapping[str, Sequence[Finding]]]  # by metric and audit: findings that were judged


def audit_zoo(
    labels: Sequence[str] = (),
    sizes: Mapping[str, Mapping[str, Any]] = SIZES,
    *,
    session: Session | None = None,
    folder: Path | None = None,
    say: Callable[[str], None] = print,
) -> Verdicts:
    """The judged findings of the zoo (or of these metrics); kept in `folder`, where a later call goes on."""
    chosen = measures(labels)
    session = session or Session.open()
    verdicts: dict[str, dict[str, Sequence[Finding]]] = {measure.label: {} for measure in chosen}
    for name, options in sizes.items():
        began = time.monotonic()
        kept = {measure.label: folder and folder / f"{name}-{measure.label}.json" for measure in chosen}
        left = [measure for measure in chosen if not (path := kept[measure.label]) or not path.exists()]
        audit = make_audit(name, options)
        work = {name: list(audit.cases()) if left else []}
        for measure in left:
            with session:
                scored, _ = score_all({name: audit}, work, [measure], session)
            findings = settle(audit, audit.judge(scored[name])) if scored[name] else []
            judged = [finding for finding in findings if finding.verdict != "not judged"]
            verdicts[measure.label][name] = judged
            if path := kept[measure.label]:
                path.write_text(json.dumps([[getattr(f, field) for field in KEPT] for f in judged]), "utf-8")
        for label, path in kept.items():
            if path:
                verdicts[label][name] = [
                    Finding(*row[:7], verdict=row[7], ci=tuple(row[8]) if row[8] else None)
                    for row in json.loads(path.read_text("utf-8"))
                ]
        say(f"{name}: {len(left)} metrics in {time.monotonic() - began:.0f} s")
    return verdicts


@dataclass(frozen=True, slots=True)
class Cell:
    """What one audit says of one simulated metric."""

    row: Row
    audit: str
    judged: Sequence[Finding]
    expected: Sequence[Finding]  # findings that must show the defect
    false: Sequence[Finding]  # failed, and neither the defect nor the honest base explains it

    @property
    def planted(self) -> bool:
        """Whether the audit must find the defect, and has findings that could."""
        return bool(self.expected)

    @property
    def found(self) -> int:
        """How many of the expected findings failed."""
        return _count(self.expected, "fail")

    def text(self) -> str:
        """The cell of the table."""
        if self.row.kind == "empty":
            insensitive = _count(self.judged, "insensitive")
            return (
                "insensitive"
                if insensitive == len(self.judged)
                else f"**{insensitive} of {len(self.judged)}**"
            )
        if self.row.kind == "honest":
            return f"{_count(self.judged, 'fail')} of {len(self.judged)}"
        parts = []
        if any(place[0] == self.audit for place in self.row.finds):
            found = f"found {self.found} of {len(self.expected)}" if self.found else "**missed**"
            parts.append(found if self.planted else "no data")
        if self.false:
            parts.append(f"{len(self.false)} false")
        if insensitive := _count(self.judged, "insensitive"):
            parts.append(f"{insensitive} of {len(self.judged)} insensitive")
        return ", ".join(parts) or "-"


def cells(verdicts: Verdicts) -> list[Cell]:
    """One cell per metric and audit."""
    return [
        _cell(row, audit, verdicts[row.label][audit], verdicts.get(row.base, {}).get(audit, ()))
        for row in ZOO
        if row.label in verdicts
        for audit in verdicts[row.label]
    ]


def _cell(row: Row, audit: str, judged: Sequence[Finding], base: Sequence[Finding]) -> Cell:
    # The base may well share a blind spot that its own scores do not decide; it is not unfair to anybody.
    shared = ("fail",) if audit in FAIRNESS else ("fail", "inconclusive")
    own = {_key(finding) for finding in base if finding.verdict in shared}
    failed = [finding for finding in judged if finding.verdict == "fail"]
    if row.kind == "honest":
        false = failed if audit in FAIRNESS else []
    else:
        places = (*row.finds, *row.explains)
        false = [f for f in failed if _key(f) not in own and not _matches(f, places)]
    expected = [finding for finding in judged if _matches(finding, row.finds)]
    return Cell(row, audit, judged, expected, false)


def _key(finding: Finding) -> tuple[str, str, str | None]:
    return finding.slice, finding.statistic, finding.versus


def _matches(finding: Finding, places: Iterable[tuple[str, str]]) -> bool:
    return any(audit in ("", finding.audit) and re.search(part, finding.slice) for audit, part in places)


def _count(findings: Iterable[Finding], verdict: str) -> int:
    return sum(finding.verdict == verdict for finding in findings)


KINDS = {
    "honest": ("Honest metrics: failed of judged findings", "compares by"),
    "empty": ("Empty metrics: insensitive, or how many findings are", "score"),
    "unfair": ("Unfair metrics", "defect"),
    "blind": ("Blind metrics and metrics that reward what they should not", "defect"),
}


def page(verdicts: Verdicts) -> str:
    """The section of the page: totals, one table per kind, and every miss and false alarm in words."""
    listed = cells(verdicts)
    audits = list(dict.fromkeys(cell.audit for cell in listed))
    parts = [_totals(listed)]
    for kind, (title, column) in KINDS.items():
        rows = [row for row in ZOO if row.kind == kind and row.label in verdicts]
        parts += [
            f"### {title}\n",
            f"| metric | {column} | {' | '.join(audits)} |",
            "|---|---|" + "---|" * len(audits),
        ]
        for row in rows:
            texts = {cell.audit: cell.text() for cell in listed if cell.row is row}
            parts.append(f"| {row.label} | {row.about} | {' | '.join(texts[audit] for audit in audits)} |")
        parts.append("")
    return "\n".join([*parts, *_in_words(listed)]) + "\n"


def _totals(listed: Sequence[Cell]) -> str:
    planted = [cell for cell in listed if cell.planted]
    found = sum(cell.found > 0 for cell in planted)
    honest = [cell for cell in listed if cell.row.kind == "honest" and cell.audit in FAIRNESS]
    failed, judged = (
        sum(len(part(cell)) for cell in honest) for part in (lambda c: c.false, lambda c: c.judged)
    )
    unfair = sorted({cell.row.label for cell in honest if cell.false})
    empty = [cell for cell in listed if cell.row.kind == "empty"]
    sure = sum(cell.text() == "insensitive" for cell in empty)
    false = sum(len(cell.false) for cell in listed if cell.row.kind in ("unfair", "blind"))
    rows = sum(len(cell.judged) for cell in listed if cell.row.kind in ("unfair", "blind"))
    return f"""| | |
|---|---|
| planted defects, by metric and audit that must find them | {len(planted)} |
| found | {found} |
| missed | {len(planted) - found} |
| failed fairness findings of honest metrics | {failed} of {judged} ({failed / max(1, judged):.1%}) |
| honest metrics with one | {len(unfair)} {("(" + ", ".join(unfair) + ")") if unfair else ""} |
| empty metrics that are insensitive throughout an audit | {sure} of {len(empty)} |
| failed findings of metrics with a defect that it does not explain | {false} of {rows} ({false / max(1, rows):.1%}) |
"""


def _in_words(listed: Sequence[Cell]) -> list[str]:
    lines = ["### Every miss and false alarm\n"]
    for cell in listed:
        name = f"- {cell.row.label}, {cell.audit}"
        if cell.planted and not cell.found:
            shown = "; ".join(f"{f.slice} {_numbers(f)} {f.verdict}" for f in cell.expected[:4])
            lines.append(f"{name}: missed: {shown}")
        if cell.false:
            shown = "; ".join(f"{f.slice} {f.statistic} {_numbers(f)}" for f in cell.false[:6])
            more = f" and {len(cell.false) - 6} more" if len(cell.false) > 6 else ""
            lines.append(f"{name}: false alarm: {shown}{more}")
    return lines


def _numbers(finding: Finding) -> str:
    ends = finding.ci or (float("nan"), float("nan"))
    return f"{finding.value:.2f} [{ends[0]:.2f}, {ends[1]:.2f}]"
