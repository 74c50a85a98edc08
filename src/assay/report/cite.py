"""A run to BibTeX: assay, the papers of its metrics and audits, and the user's data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath

from assay.files import toml_file
from assay.reading.results import StoredRun
from assay.report.plain import as_latex

# "Papineni et al. 2002, BLEU: a Method ..., P02-1040": what stands last may be an address or a venue.
_CITATION = re.compile(
    r"(?:as in )?(?P<author>\D+?) (?P<year>\d{4}), (?P<title>.+?)(?:, (?P<where>(?:arXiv|[A-Z\d])[^,]*))?"
)
_ANTHOLOGY = re.compile(r"[A-Z]\d\d-\d{4}|\d{4}\.[\w-]+\.\d+")
_ARXIV = re.compile(r"arXiv[: ](\S+)")


def bibtex(run: StoredRun) -> str:
    """The entries, each once, with a comment that says what it is cited for."""
    papers = toml_file("report", "papers")
    entries: dict[str, tuple[Mapping[str, str], list[str]]] = {}
    own = papers["papers"]["assay"] | {"version": str(run.about.get("assay", ""))}
    cited = [("assay", own, "this run")]
    for audit in run.about["audits"]:
        cited += [(name, papers["papers"][name], audit) for name in papers["audits"].get(audit, ())]
    for metric, about in run.about["metrics"].items():
        cited += [(key, fields, metric) for key, fields in _parsed(str(about.get("citation") or ""))]
    for path, digest in run.about.get("data", {}).items():
        name = PurePath(path).name
        fields = {"title": as_latex(name), "note": f"digest {digest}"}
        cited.append((f"data-{name}", fields, "the data of this run"))
    for key, fields, use in cited:
        entries.setdefault(_key(key), (fields, []))[1].append(use)
    return "\n".join(_entry(key, *entry) for key, entry in entries.items())


def _key(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _parsed(citation: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The fields of each paper that a metric's citation names."""
    for part in citation.split("; "):
        match = _CITATION.fullmatch(part.strip())
        if match is None or _ANTHOLOGY.fullmatch(match["title"]):
            if part.strip():
                yield part, {"title": as_latex(part.strip())}
            continue
        author = match["author"].replace(" & ", " and ").replace(" et al.", " and others")
        title = as_latex(match["title"])
        fields = {"author": author, "title": f"{{{title}}}", "year": match["year"]}
        where = match["where"] or ""
        if address := _ARXIV.fullmatch(where):
            fields |= {"eprint": address[1], "archiveprefix": "arXiv"}
        elif _ANTHOLOGY.fullmatch(where):
            fields["url"] = f"https://aclanthology.org/{where}"
        elif where:
            fields["booktitle"] = where
        yield f"{match['author'].split()[0]}{match['year']}{match['title'].split()[0]}", fields


def _entry(key: str, fields: Mapping[str, str], uses: list[str]) -> str:
    kind = fields.get("kind") or ("inproceedings" if "booktitle" in fields else "misc")
    plain = ("url", "eprint", "author", "title")  # braces in the last two are ours
    lines = [
        f"  {name} = {{{value if name in plain else as_latex(value)}}},"
        for name, value in fields.items()
        if name != "kind" and value
    ]
    return "\n".join([f"% for {', '.join(dict.fromkeys(uses))}", f"@{kind}{{{key},", *lines, "}", ""])
