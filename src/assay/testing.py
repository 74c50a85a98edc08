"""For the test suites of metrics' authors: an assertion, and a pytest plug-in around it.

    from assay.testing import assert_metric_passes

    def test_my_metric_is_fair_to_women():
        assert_metric_passes(MyMetric(), audit="stereotype", attribute="gender")

The plug-in (on by itself once assay is installed) adds the options `--assay-size` and `--assay-cache`, and
the fixture `metric_passes`, which is the assertion with those options filled in.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

    from assay.names.spec import Specifiable
    from assay.run.results import Run

SHOWN = 10


def assert_metric_passes(
    metric: Specifiable,
    *,
    audit: str,
    attribute: str | None = None,
    statistic: str | None = None,
    size: str = "quick",
    cache: Path | None = None,
    allow: tuple[str, ...] = (),
    **options: Any,
) -> Run:
    """Run one audit on a metric and raise AssertionError, with the failures in words, if any check fails.

    `attribute` (or the audit's own `only=...`) narrows the audit, `statistic` the checks; `allow` names
    slices whose failure is accepted. Inconclusive checks do not fail. Returns the run.
    """
    from assay.run.pipeline import Options, run

    asked = {"only": (attribute,)} | options if attribute else options
    done = run(audit, [metric], options=Options(None, cache), size=size, **asked)
    problems = _problems(done, statistic, allow)
    if problems:
        rest = f"\n... and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        raise AssertionError(
            f"{len(problems)} checks of {audit} failed:\n" + "\n".join(problems[:SHOWN]) + rest
        )
    return done


def _problems(done: Run, statistic: str | None, allow: tuple[str, ...]) -> list[str]:
    from assay.report.words import number, sentence

    lines = []
    for row in done.findings.iter_rows(named=True):
        if row["passed"] is False and row["slice"] not in allow and statistic in (None, row["statistic"]):
            low, high = number(row["ci_low"]), number(row["ci_high"])
            interval = f", 95% CI {low} to {high}" if low else ""
            lines.append(
                f"- {sentence(row)} [{row['statistic']} {number(row['value'])}{interval}, n = {row['n']}]"
            )
    return lines


def pytest_addoption(parser: pytest.Parser) -> None:
    """The plug-in's options."""
    group = parser.getgroup("assay", "audits of metrics")
    group.addoption("--assay-size", default="quick", choices=("quick", "full"), help="How much is measured.")
    group.addoption("--assay-cache", default=None, help="Folder of the score cache; none by default.")


def pytest_configure(config: pytest.Config) -> None:
    """Offer the fixture where pytest itself is running."""
    import pytest

    class Fixtures:
        @pytest.fixture
        def metric_passes(self, request: pytest.FixtureRequest) -> Callable[..., Run]:
            """`assert_metric_passes` with the size and cache of the command line."""
            given = request.config.getoption("--assay-cache")
            defaults = {
                "size": request.config.getoption("--assay-size"),
                "cache": Path(given) if given else None,
            }
            return lambda metric, **asked: assert_metric_passes(metric, **(defaults | asked))

    config.pluginmanager.register(Fixtures(), "assay-fixtures")
