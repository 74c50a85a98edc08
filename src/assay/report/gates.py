"""Checked requirements as files for a build: JUnit XML, and a summary for the page of a job."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from assay.grouping import grouped
from assay.reading.gate import GateOutcome
from assay.reading.results import StoredRun
from assay.reading.text import sentence
from assay.report.plain import markdown_table, summary

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(outcomes: Sequence[GateOutcome]) -> str:
    """JUnit XML, which every build server reads: one suite per audit, one case per requirement.

    There are no times in it, so that equal runs write equal bytes.
    """
    root = ElementTree.Element("testsuites", name="assay")
    for audit, listed in grouped(outcomes, lambda outcome: outcome.row["audit"]).items():
        failed = sum(outcome.is_broken for outcome in listed)
        attributes = {"name": f"assay.{_clean(audit)}", "tests": str(len(listed)), "failures": str(failed)}
        suite = ElementTree.SubElement(root, "testsuite", attributes)
        for outcome in listed:
            name = f"{_clean(outcome.name)} ({_clean(outcome.rule)})"
            case = ElementTree.SubElement(suite, "testcase", classname=f"assay.{_clean(audit)}", name=name)
            if outcome.known:
                ElementTree.SubElement(case, "skipped", message=_clean(f"known: {outcome.problem}"))
            elif outcome.problem is not None:
                failure = ElementTree.SubElement(case, "failure", message=_clean(outcome.problem))
                failure.text = _clean(sentence(outcome.row))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def job_summary(run: StoredRun, checked: Sequence[GateOutcome]) -> str:
    """Markdown for the page of a job: the answers, then the requirements that failed."""
    broken = [outcome for outcome in checked if outcome.is_broken]
    known = sum(outcome.known for outcome in checked)
    more = f"; {known} more are known" if known else ""
    rows = [(each.row["audit"], each.name, each.problem or "", sentence(each.row)) for each in broken]
    table = markdown_table(("audit", "what", "problem", "in words"), rows) if rows else []
    head = f"## assay: {len(broken)} of {len(checked)} requirements failed{more}"
    return "\n".join([head, "", summary(run), *table, ""])


def _clean(text: str) -> str:
    """Without characters that XML cannot carry."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
