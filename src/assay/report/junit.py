"""Outcomes to JUnit XML, which every build server reads: a suite an audit, a case a requirement."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from assay.report.bounds import Outcome
from assay.report.words import sentence

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(outcomes: Sequence[Outcome]) -> str:
    """The document; no times in it, so that equal runs write equal bytes."""
    root = ElementTree.Element("testsuites", name="assay")
    for audit in dict.fromkeys(one.row["audit"] for one in outcomes):
        mine = [one for one in outcomes if one.row["audit"] == audit]
        failed = sum(one.problem is not None for one in mine)
        attributes = {"name": f"assay.{_clean(audit)}", "tests": str(len(mine)), "failures": str(failed)}
        suite = ElementTree.SubElement(root, "testsuite", attributes)
        for one in mine:
            name = f"{_clean(one.name)} ({_clean(one.rule)})"
            case = ElementTree.SubElement(suite, "testcase", classname=f"assay.{_clean(audit)}", name=name)
            if one.problem is not None:
                failure = ElementTree.SubElement(case, "failure", message=_clean(one.problem))
                failure.text = _clean(sentence(one.row))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    """Without characters that XML cannot carry."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
