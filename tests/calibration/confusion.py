"""The zoo of simulated metrics in, the confusion table out: which defects each audit finds, and false alarms."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from zoo import ZOO, Place, Row, measures

from assay.api.pipeline import make_audit
from assay.core import Finding
from assay.engine.plan import score_all
from assay.engine.session import Session
from assay.engine.settle import settle

FAIRNESS = {"stereotype": {}, "swap": {}, "caption": {}}
# As many items as the quick size gives a model, and of repeats one.
ROBUSTNESS = {
    "stress": {"seeds": 1, "depth": "ends", "limit": 60},
    "checklist": {"limit": 60},
    "position": {"seeds": 1, "limit": 60},
    "injection": {"limit": 60},
    "repetition": {"limit": 60},
    "copy-source": {"limit": 60},
    "truncation-direction": {"limit": 60},
}
READ = {"unfair": FAIRNESS, "blind": ROBUSTNESS}  # audits by kind of metric; the others meet both
Options = Mapping[str, Mapping[str, object]]
Verdicts = Mapping[str, Sequence[Finding]]  # by metric: findings that were judged


def audit_zoo(
    labels: Sequence[str] = (), sizes: Options | None = None, session: Session | None = None
) -> Verdicts:
    """The judged findings of the zoo, or of these metrics."""
    session = session or Session.open()
    verdicts: dict[str, list[Finding]] = {measure.label: [] for measure in measures(labels)}
    for name, options in (sizes or {**FAIRNESS, **ROBUSTNESS}).items():
        chosen = [row.label for row in ZOO if row.label in verdicts and name in READ.get(row.kind, (name,))]
        audit = make_audit(name, options)
        with session:
            scored, *_ = score_all({name: audit}, {name: list(audit.cases())}, measures(chosen), session)
        for finding in settle(audit, audit.judge(scored[name])):
            if finding.verdict != "not judged":
                verdicts[finding.metric].append(finding)
        print(f"{name}: {len(chosen)} metrics", file=sys.stderr, flush=True)
    return verdicts


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the audits say of one simulated metric."""

    row: Row
    judged: Sequence[Finding]
    base: Sequence[Finding]  # on the honest metric that it is made from

    @property
    def planted(self) -> list[Finding]:
        """The findings that must show the defect."""
        return [finding for finding in self.judged if _matches(finding, self.row.finds)]

    @property
    def failed(self) -> list[Finding]:
        """Every failed finding."""
        return [finding for finding in self.judged if finding.verdict == "fail"]

    @property
    def false(self) -> list[Finding]:
        """Failed findings that neither the defect nor the honest metric explains."""
        shared = {_key(finding) for finding in self.base if finding.verdict != "pass"}
        places = (*self.row.finds, *self.row.explains)
        return [f for f in self.failed if _key(f) not in shared and not _matches(f, places)]


def outcomes(verdicts: Verdicts, kind: str) -> list[Outcome]:
    """What the audits say of the metrics of one kind."""
    rows = [row for row in ZOO if row.kind == kind and row.label in verdicts]
    return [Outcome(row, verdicts[row.label], verdicts.get(row.base, ())) for row in rows]


def _key(finding: Finding) -> tuple[str, str, str, str | None]:
    return finding.audit, finding.slice, finding.statistic, finding.versus


def _matches(finding: Finding, places: Iterable[Place]) -> bool:
    return any(audit in ("", finding.audit) and re.search(part, finding.slice) for audit, part in places)


def counted(findings: Sequence[Finding], verdict: str = "fail") -> str:
    """So many of so many."""
    return f"{sum(finding.verdict == verdict for finding in findings)} of {len(findings)}"


def explained(outcome: Outcome) -> list[Finding]:
    """Failed findings of fairness that say that letters or frequency are why."""
    return [finding for finding in outcome.failed if finding.because in ("letters", "frequency")]


def page(verdicts: Verdicts) -> str:
    """The section of the page: one table per kind of metric."""
    return "\n".join((*_honest_rows(verdicts), *_unfair_rows(verdicts), *_blind_rows(verdicts))) + "\n"


def _honest_rows(verdicts: Verdicts) -> Iterator[str]:
    """What fails of metrics without a defect."""
    yield from ("### Honest and empty metrics", "")
    yield "| metric | score | failed in fairness | of them by letters or frequency | failed in robustness |"
    yield "|---|---|---|---|---|"
    for outcome in (*outcomes(verdicts, "honest"), *outcomes(verdicts, "empty")):
        fair = [finding for finding in outcome.judged if finding.audit in FAIRNESS]
        rest = [finding for finding in outcome.judged if finding.audit not in FAIRNESS]
        because = str(len(explained(outcome)))
        yield _line(outcome.row.label, outcome.row.about, counted(fair), because, counted(rest))


def _unfair_rows(verdicts: Verdicts) -> Iterator[str]:
    """What was planted in metrics that are unfair, and what the audit found."""
    yield from ("", "### Unfair metrics", "")
    yield "| metric | defect | without it | planted | measured | verdict |"
    yield "|---|---|---|---|---|---|"
    for outcome in outcomes(verdicts, "unfair"):
        label, about = outcome.row.label, outcome.row.about
        if len(outcome.planted) == 1:
            (found,) = outcome.planted
            plain = [finding.value for finding in outcome.base if _key(finding) == _key(found)]
            before = f"{plain[0]:.2f}" if plain else ""
            yield _line(label, about, before, f"{outcome.row.effect:.2f}", _figure(found), found.verdict)
            continue
        because = len([finding for finding in outcome.planted if finding in explained(outcome)])
        failed = f"{counted(outcome.planted)} words fail"
        yield _line(label, about, "", "", f"{because} of them explained so", failed)


def _blind_rows(verdicts: Verdicts) -> Iterator[str]:
    """Where metrics that do not read something must fail, and what they decide there."""
    yield from ("", "### Blind metrics", "")
    yield "| metric | defect | must fail | mean order there | without the defect | others failed |"
    yield "|---|---|---|---|---|---|"
    for outcome in outcomes(verdicts, "blind"):
        shown = outcome.planted or [f for f in outcome.judged if _matches(f, outcome.row.explains)]
        keys = {_key(finding) for finding in shown}
        plain = [finding for finding in outcome.base if _key(finding) in keys]
        fails = counted(outcome.planted) if outcome.planted else "-"
        others = str(len(outcome.false))
        yield _line(outcome.row.label, outcome.row.about, fails, _mean(shown), _mean(plain), others)


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _mean(findings: Sequence[Finding]) -> str:
    return f"{sum(finding.value for finding in findings) / max(1, len(findings)):.0f}"


def _figure(finding: Finding) -> str:
    low, high = finding.ci or (float("nan"), float("nan"))
    return f"{finding.value:.2f} [{low:.2f}, {high:.2f}]"
