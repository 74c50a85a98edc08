"""One metric of a run to a page for its README: unfair to whom, blind to what, how to use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import SpecError, suggest
from assay.report.answers import Answer, Outcome, answers, failed_names, slice_outcomes
from assay.report.names import shown, shown_names
from assay.report.tables import shown_rows
from assay.report.text import in_words, interval, number, sentence
from assay.report.verdicts import (
    QUESTION_TITLES,
    AuditInfo,
    Row,
    audits_of,
    checks,
    gravest_first,
    rows_of,
)
from assay.run.results import Run
from assay.vocabulary import QUESTIONS, Question

LISTED = 6
NAMED = 12  # further failures that are named
AGREEMENTS = 4  # lines per statistic
# For failures of an audit that gives no advice of its own.
_ADVICE: dict[Question, str] = {
    "fairness": "Do not compare systems whose texts mention different groups by this score alone.",
    "robustness": "Read it beside a metric that notices what it misses; `assay panel` names one.",
    "agreement": "Do not choose systems by it alone; let people confirm the choice.",
}


@dataclass(frozen=True, slots=True)
class Card:
    """Everything a card says."""

    metric: str
    about: Mapping[str, Any]
    answers: tuple[Answer, ...]
    unfair: tuple[str, ...]
    blind: tuple[str, ...]
    over_sensitive: tuple[str, ...]
    agreement: tuple[str, ...]
    advice: tuple[str, ...]
    size: str
    version: str

    @property
    def kind(self) -> str:
        size = f" ({self.about['parameters']:,} parameters)" if self.about.get("parameters") else ""
        paradigm, model = self.about.get("paradigm", "custom"), self.about.get("backbone") or "none"
        return f"Kind of metric: {paradigm}. Pretrained model: {model}{size}."

    @property
    def parts(self) -> list[tuple[str, tuple[str, ...], str]]:
        """The sections: title, lines, and what stands there when there are none."""
        fairness, robustness, _ = self.answers
        return [
            ("Whom it is unfair to", self.unfair, _nothing(fairness, "No fairness check failed.")),
            ("What it is blind to", self.blind, _nothing(robustness, "No blind spot was found.")),
            (
                "What it is over-sensitive to", self.over_sensitive,
                _nothing(robustness, "No harmless edit moved the score.")
                if robustness.count("steady") or robustness.count("inconclusive")
                else "Not measured.",
            ),
            ("Agreement with people", self.agreement, "Not measured."),
            ("How to use it safely", self.advice, "Nothing in this run speaks against it."),
        ]  # fmt: skip


def _nothing(answer: Answer, otherwise: str) -> str:
    """What to say where no failure is listed: an insensitive metric is not praised."""
    if answer.verdict == "not measured":
        return "Not measured."
    if answer.verdict == "insensitive":
        return "Nothing is known: the metric does not tell clean from worthless texts."
    return otherwise


def make_card(run: Run, metric: str) -> Card:
    """The card of a metric of the run, by its spec or by the name shown."""
    names = shown_names(run)
    if metric not in names and metric not in names.values():
        raise SpecError(f"no metric {metric!r} in this run{suggest(metric, run.metrics)}")
    run, metric = shown(run), names.get(metric, metric)
    audits, answered = audits_of(run), answers(run)
    outcomes = slice_outcomes(run, checks(run)).get(metric, {})

    def failures(question: Question, outcome: Outcome) -> tuple[str, ...]:
        judged = (row for row in checks(run, question) if row["metric"] == metric)
        places = {place for place, known in outcomes.items() if known == outcome}
        return _failures(run, audits, [row for row in judged if (row["audit"], row["slice"]) in places])

    return Card(
        metric,
        run.about["metrics"][metric],
        tuple(answered[metric, question] for question in QUESTIONS),
        failures("fairness", "fail"),
        failures("robustness", "fail"),
        failures("robustness", "over-sensitive"),
        _agreement(run, audits, metric),
        _advice(audits, [row for row in checks(run) if row["metric"] == metric]),
        str(run.about.get("size", "full")),
        str(run.about.get("assay", "")),
    )


def _failures(run: Run, audits: Mapping[str, AuditInfo], rows: Sequence[Row]) -> tuple[str, ...]:
    """The gravest failures in words, at most two per audit; the others by name, so that none is missed."""
    chosen: list[Row] = []
    others: list[Row] = []
    for row in gravest_first(run, (row for row in rows if row["verdict"] == "fail")):
        if row["sentence"] in (known["sentence"] for known in chosen):
            continue  # two slices of which the same can be said
        room = sum(known["audit"] == row["audit"] for known in chosen) < 2 and len(chosen) < LISTED
        (chosen if room else others).append(row)
    lines = []
    for row in chosen:
        sureness = ", ".join(filter(None, (interval(row), f"n = {row['n']}")))
        lines.append(f"{sentence(audits[row['audit']], row)} ({sureness})")
    named = failed_names(run, others)
    if named:
        rest = len(named) - NAMED
        more = f" and {rest} more, which are in the report" if rest > 0 else ""
        lines.append(f"Also: {', '.join(named[:NAMED])}{more}.")
    return tuple(lines)


def _agreement(run: Run, audits: Mapping[str, AuditInfo], metric: str) -> tuple[str, ...]:
    """The headline numbers of audits of agreement."""
    lines = []
    for audit in audits.values():
        rows = [row for row in rows_of(run, audit.name) if row["metric"] == metric]
        for name in audit.headlines if audit.question == "agreement" else ():
            for row in shown_rows([row for row in rows if row["statistic"] == name])[:AGREEMENTS]:
                versus = f" against {row['versus']}" if row["versus"] else ""
                around = f" ({interval(row)})" if interval(row) else ""
                value = f"{in_words(name)} {number(row['value'])}{around}{versus}, n = {row['n']}"
                lines.append(f"{row['slice']}: {value}")
    return tuple(lines)


def _advice(audits: Mapping[str, AuditInfo], judged: Sequence[Row]) -> tuple[str, ...]:
    """What the failures of the metric ask of its user, and what this run could not say."""
    failed = [audits[name] for name in dict.fromkeys(r["audit"] for r in judged if r["verdict"] == "fail")]
    general = dict.fromkeys(_ADVICE[audit.question] for audit in failed if not audit.advice)
    titles = [audit.title if audit.title.endswith("?") else f"{audit.title}:" for audit in failed]
    own = [f"{title} {audit.advice}" for title, audit in zip(titles, failed, strict=True) if audit.advice]
    lines = [*own, *general]
    if not any(audits[row["audit"]].question == "agreement" for row in judged):
        lines.append(
            "Agreement with people was not measured: give your ratings to `assay run human --data FILE`."
        )
    unknown, insensitive = (
        sum(row["verdict"] == verdict for row in judged) for verdict in ("inconclusive", "insensitive")
    )
    if unknown:
        lines.append(f"{unknown} checks were inconclusive: `--size full` or more data settles some of them.")
    if insensitive:
        lines.append(
            f"{insensitive} checks say nothing: there the metric does not tell clean from worthless texts."
        )
    return tuple(lines)


def as_markdown(card: Card) -> str:
    """The card for a README."""
    about = card.about
    lines = [f"# Metric card: {_plain(card.metric)}", "", "| question | answer | slices |", "|---|---|---|"]
    lines += [
        f"| {QUESTION_TITLES[answer.question]} | **{answer.words}** | {answer.detail} |"
        for answer in card.answers
    ]
    lines += ["", "## What it is", "", _plain(card.kind)]
    if about.get("citation"):
        lines += ["", _plain(str(about["citation"]))]
    for title, listed, nothing in card.parts:
        lines += ["", f"## {title}", ""] + ([f"- {_plain(line)}" for line in listed] or [nothing])
    lines += ["", "## Signature", "", f"`{about.get('signature', '')}`", ""]
    lines.append(f"Measured with assay {card.version}, size {card.size}.")
    return "\n".join(lines)


def _plain(line: str) -> str:
    """Names from data cannot make markup."""
    return line.replace("<", "&lt;").replace(">", "&gt;").replace("|", "\\|")


def as_html(card: Card) -> str:
    """The card as a page of its own."""
    from markupsafe import Markup

    from assay.report.page import asset, environment

    template = environment().get_template("card.html")
    return template.render(card=card, titles=QUESTION_TITLES, style=Markup(asset("style.css")))
