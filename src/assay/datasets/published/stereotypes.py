"""StereoSet, BBQ, HolisticBias and WinoMT: rows in assay's own columns of stereotype pairs, and notes."""

from __future__ import annotations

import re
from itertools import pairwise

from assay.datasets.files import text_lines
from assay.datasets.lexicon import indefinite_article
from assay.datasets.published.opened import Opened
from assay.datasets.published.pairs import gender_pair
from assay.datasets.rows import Row, entries
from assay.datasets.templates import load_occupations

Read = tuple[list[Row], list[str]]
_BLANK = re.compile(r"\s*\bBLANK\b")
_PRONOUN = re.compile(r"\b(he|him|his|himself|she|her|hers|herself)\b", re.IGNORECASE)
# BBQ words its groups in more than one way.
_GROUPS = {"woman": "f", "girl": "f", "female": "f", "man": "m", "boy": "m", "male": "m"}


def _note(opened: Opened, what: str, count: int, of: int) -> list[str]:
    return [f"{opened.path.name}: {what} for {count} of {of}"]


def read_stereoset(opened: Opened) -> Read:
    """The sentences with a blank: stereotype and anti-stereotype against the context without its blank."""
    tests = entries(opened.document["data"], opened.path, under="intrasentence")
    rows = []
    for test in tests:
        texts = {part.text("gold_label"): part.text("sentence") for part in test.members("sentences")}
        if not {"stereotype", "anti-stereotype"} <= set(texts):
            raise test.fail("column 'sentences' must hold a stereotype and an anti-stereotype")
        values = {
            "id": test.text("id"), "attribute": test.text("bias_type"), "stereotype": texts["stereotype"],
            "anti_stereotype": texts["anti-stereotype"], "construction": "drop",
            "reference": _BLANK.sub("", test.text("context")).strip(),
        }  # fmt: skip
        rows.append(Row(values, test.file, test.line))
    between = opened.document["data"].get("intersentence")
    count = len(between) if isinstance(between, list) else 0
    note = f"{opened.path.name}: {count} tests of a following sentence left out: they have no reference"
    return rows, [note] if count else []


def read_bbq(opened: Opened) -> Read:
    """Where the context leaves a question open, a right answer says so and is the reference.

    The stereotype is the answer that names the stereotyped group, or the other one where the question is
    turned round (`nonneg`).
    """
    open_ = [row for row in opened.records if row.text("context_condition") == "ambig"]
    rows = [row for row in map(_bbq_row, open_) if row is not None]
    return rows, _note(opened, "the stereotyped group is known", len(rows), len(open_))


def _bbq_row(row: Row) -> Row | None:
    given = row.object("answer_info")
    groups = {answer: given.texts(answer)[-1] for answer in ("ans0", "ans1", "ans2") if given.texts(answer)}
    listed = row.inner(row.values.get("additional_metadata") or {}, "additional_metadata")
    stereotyped = {_group(name) for name in listed.texts("stereotyped_groups")}
    unknown = [answer for answer, group in groups.items() if group == "unknown"]
    named = [answer for answer in groups if answer not in unknown]
    meant = [answer for answer in named if _group(groups[answer]) in stereotyped]
    if len(unknown) != 1 or len(named) != 2 or len(meant) != 1:
        return None
    other = next(answer for answer in named if answer != meant[0])
    turned = row.text("question_polarity") == "nonneg"
    first, second = (other, meant[0]) if turned else (meant[0], other)
    category = (row.maybe("category") or "group").lower().replace("_", "-")
    values = {
        "id": f"{category}-{row.values.get('example_id', row.line)}", "attribute": category,
        "stereotype": row.text(first), "anti_stereotype": row.text(second), "reference": row.text(unknown[0]),
        "source": f"{row.text('context')}\n{row.text('question')}", "group": groups[first],
        "anti_group": groups[second], "construction": "abstract",
    }  # fmt: skip
    return Row(values, row.file, row.line)


def _group(name: str) -> str:
    plain = re.sub(r"^[fm]-", "", name.lower()).replace(" ", "")
    return _GROUPS.get(plain, plain)


def read_holisticbias(opened: Opened) -> Read:
    """Neighbouring descriptors of one axis in one template; the noun alone is the reference."""
    by_frame: dict[tuple[str, str, str], dict[str, Row]] = {}
    for row in opened.records:
        frame = (row.text("axis"), row.text("template"), row.text("noun"))
        if row.has("descriptor") and row.has("noun"):
            by_frame.setdefault(frame, {}).setdefault(row.text("descriptor"), row)
    rows = []
    for (axis, template, noun), described in by_frame.items():
        items = list(described.items())
        for (descriptor, row), (other, second) in list(pairwise(items))[::2]:
            plain = template.replace("{noun_phrase}", f"{indefinite_article(noun)} {noun}")
            plain = plain.replace("{plural_noun_phrase}", row.text("plural_noun"))
            if "{" in plain:
                continue
            values = {
                "id": f"{axis}-{row.line}", "attribute": axis, "stereotype": row.text("text"),
                "anti_stereotype": second.text("text"), "reference": plain[:1].upper() + plain[1:],
                "identity": descriptor, "anti_identity": other, "template": template, "construction": "drop",
            }  # fmt: skip
            rows.append(Row(values, row.file, row.line))
    note = "neither descriptor is the stereotype; only the size of a difference means something, not its sign"
    return rows, [f"{opened.path.name}: {note}"]


def read_winomt(opened: Opened) -> Read:
    """Sentences that differ in the pronoun's gender only; the reference names the occupation instead."""
    beside = opened.path.with_name("en_pro.txt")
    lines = text_lines(beside) if beside.is_file() else []
    pro = {line.split("\t")[2] for line in lines if line.count("\t") > 2}
    usual = {job.name: job.stereotype for job in load_occupations()}
    both: dict[tuple[str, str], dict[str, tuple[str, int]]] = {}
    for number, line in enumerate(text_lines(opened.path), start=1):
        cells = line.strip().split("\t")
        if len(cells) < 4:
            raise Row({}, opened.path, number).fail("gender, position, sentence and occupation are expected")
        key = (_PRONOUN.sub("_", cells[2]), cells[3])
        both.setdefault(key, {})[cells[0]] = (cells[2], number)
    rows = []
    for (_, occupation), sides in both.items():
        if not {"male", "female"} <= set(sides):
            continue
        known = [gender for gender in ("male", "female") if sides[gender][0] in pro]
        gender = known[0] if len(known) == 1 else usual.get(occupation)
        if gender in ("male", "female"):
            (text, number), (other, _) = sides[gender], sides["female" if gender == "male" else "male"]
            sentences = (_PRONOUN.sub(r"[\1]", text), _PRONOUN.sub(r"[\1]", other))
            files = (opened.path, opened.path)
            rows.append(gender_pair(f"gender-{number}", sentences, f"the {occupation}", files, number))
    note = "a sentence of either gender and the stereotype are known"
    return rows, _note(opened, note, len(rows), len(both))
