"""One metric of a run to a page for its README: what it is, unfair to whom, blind to what, how to use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import SpecError, suggest
from assay.report.verdicts import Answer, Check, Row, answers, checks, margins_of, severity
from assay.report.words import audit_title, number, sentence
from assay.run.results import Run
from assay.vocabulary import Question

LISTED = 6
# What a failure of an audit asks of a user of the metric.
_ADVICE: dict[str, str] = {
    "stereotype": "Do not compare systems that speak of different groups by this score alone; measure the "
    "bias on your own pairs with `assay run stereotype --data`, or train an adapter with `assay debias`.",
    "association": "Its representation carries group associations: prefer a fairer backbone or direction "
    "where one is at hand.",
    "swap": "Score both genders' versions of a text and take the mean, or mask gender before scoring.",
    "caption": "Do not use it as a reward for caption models: it teaches them the bias. A hybrid with an "
    "n-gram metric is fairer (`assay run caption -m A+B`).",
    "stress": "Read it beside a metric that sees the noises it misses; `assay panel` names one.",
    "position": "Do not trust it on long texts whose errors may stand where it looks away.",
    "injection": "Never show it texts that want to be scored well without a second metric that is not "
    "taken in.",
    "frequent-ngram": "Do not optimise it directly: strings of frequent n-grams win.",
    "repetition": "Report a repetition rate (`rep-4gram`) beside it.",
    "copy-source": "Report the overlap with the source beside it: copying wins.",
    "identity-length": "Compare texts of like length only.",
    "truncation-direction": "Report recall beside precision or F: cut texts gain.",
    "checklist": "On the criteria it fails, let people judge or add a metric made for the criterion.",
    "human": "A baseline that compares the text with nothing agrees as well: do not choose systems by it.",
}


@dataclass(frozen=True, slots=True)
class Card:
    """Everything a card says."""

    metric: str
    about: Mapping[str, Any]
    answers: tuple[Answer, ...]
    unfair: tuple[str, ...]
    blind: tuple[str, ...]
    agreement: tuple[str, ...]
    advice: tuple[str, ...]
    size: str
    version: str


def make_card(run: Run, metric: str) -> Card:
    """The card of a metric of the run."""
    if metric not in run.metrics:
        raise SpecError(f"no metric {metric!r} in this run{suggest(metric, run.metrics)}")
    listed = [check for check in checks(run) if check.row["metric"] == metric]
    found = answers(run, listed)
    questions: tuple[Question, ...] = ("fairness", "robustness", "agreement")
    margins = margins_of(run)
    return Card(
        metric,
        run.about["metrics"][metric],
        tuple(found[metric, question] for question in questions),
        _sentences(listed, "fairness", margins),
        _sentences(listed, "robustness", margins),
        _agreement(run, metric),
        _advice(run, metric, listed),
        str(run.about.get("size", "full")),
        str(run.about.get("assay", "")),
    )


def _sentences(listed: Sequence[Check], question: Question, margins: Mapping[str, float]) -> tuple[str, ...]:
    """The gravest failures, at most two an audit, so that one audit does not fill the card."""
    failed = [check.row for check in listed if check.question == question and check.verdict == "fail"]
    failed.sort(key=lambda row: -severity(row, margins))
    chosen: list[Row] = []
    for row in failed:
        if sum(one["audit"] == row["audit"] for one in chosen) < 2 and len(chosen) < LISTED:
            chosen.append(row)
    rest = len(failed) - len(chosen)
    return (*map(sentence, chosen), *([f"{rest} more failures are in the report."] if rest else []))


def _agreement(run: Run, metric: str) -> tuple[str, ...]:
    wanted = ("spearman", "kendall_b", "pairwise_accuracy")
    mine = [
        row
        for row in run.findings.iter_rows(named=True)
        if (row["metric"], row["audit"]) == (metric, "human")
        and row["statistic"] in wanted
        and row["slice"].count("/") == 1
    ]
    lines = []
    for row in mine:
        interval = "" if row["ci_low"] is None else f" ({number(row['ci_low'])} to {number(row['ci_high'])})"
        lines.append(f"{row['slice']}: {row['statistic']} {number(row['value'])}{interval}, n = {row['n']}")
    return tuple(lines[:12])


def _advice(run: Run, metric: str, listed: Sequence[Check]) -> tuple[str, ...]:
    failed = dict.fromkeys(check.row["audit"] for check in listed if check.verdict == "fail")
    lines = [f"{audit_title(audit)}: {_ADVICE[audit]}" for audit in failed if audit in _ADVICE]
    lines += [
        f"On {row['slice']}, `{row['metric']}` carries {number(row['value'])} points less bias "
        f"than `{metric}` and tells texts apart as well."
        for row in run.findings.iter_rows(named=True)
        if row["statistic"] == "fairest_direction" and metric == row["versus"]
    ]
    if not any(check.question == "agreement" for check in listed):
        lines.append(
            "Agreement with people was not measured: give your ratings to `assay run human --data FILE`."
        )
    unclear = sum(check.verdict == "unclear" for check in listed)
    if unclear:
        lines.append(f"{unclear} checks were inconclusive: `--size full` or more data settles some of them.")
    return tuple(lines)


def as_markdown(card: Card) -> str:
    """The card for a README."""
    about = card.about
    lines = [f"# Metric card: {card.metric}", "", "| question | answer | checks |", "|---|---|---|"]
    titles = ("Is it fair?", "Does it see errors?", "Does it agree with people?")
    lines += [
        f"| {title} | **{one.words}** | {one.detail} |"
        for title, one in zip(titles, card.answers, strict=True)
    ]
    backbone = about.get("backbone") or "no pretrained model"
    size = f", {about['parameters']:,} parameters" if about.get("parameters") else ""
    lines += ["", "## What it is", "", f"A {about.get('paradigm', 'custom')} metric on {backbone}{size}."]
    if about.get("citation"):
        lines += ["", str(about["citation"])]
    for title, listed, nothing in _parts(card):
        lines += ["", f"## {title}", ""] + ([f"- {_plain(line)}" for line in listed] or [nothing])
    lines += ["", "## Signature", "", f"`{about.get('signature', '')}`", ""]
    lines.append(f"Measured with assay {card.version}, size {card.size}.")
    return "\n".join(lines)


def _parts(card: Card) -> list[tuple[str, tuple[str, ...], str]]:
    return [
        ("Whom it is unfair to", card.unfair, _nothing(card.answers[0], "No fairness check failed.")),
        ("What it is blind to", card.blind, _nothing(card.answers[1], "No blind spot was found.")),
        ("Agreement with people", card.agreement, "Not measured."),
        ("How to use it safely", card.advice, "Nothing in this run speaks against it."),
    ]


def _nothing(answer: Answer, otherwise: str) -> str:
    return otherwise if answer.total else "Not measured."


def _plain(line: str) -> str:
    """Names from data cannot make markup."""
    return line.replace("<", "&lt;").replace(">", "&gt;").replace("|", "\\|")


def as_html(card: Card) -> str:
    """The card as a page of its own."""
    from markupsafe import Markup

    from assay.report.page import asset, environment

    return environment().get_template("card.html").render(
        card=card, parts=_parts(card), style=Markup(asset("style.css")),
        titles=("Is it fair?", "Does it see errors?", "Does it agree with people?"),
    )  # fmt: skip
