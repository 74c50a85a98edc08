"""All races, one after the other in one process tree; a table, the bars, and JSON of the ratios.

Run: python -m bench [NAME ...] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure of a race and where it must lie."""

    race: str
    figure: str
    bound: float
    most: bool = False  # the bound is an upper one

    def passed(self, value: float) -> bool:
        """Whether the value is on the right side."""
        return value <= self.bound if self.most else value >= self.bound


RACES = ("ngrams", "bertscore", "wmd", "moverscore", "ppl", "mauve", "association", "significance",
         "perturbations", "engine", "growth", "audit")  # fmt: skip
BARS = (
    Bar("ngrams", "ratio", 3.0),
    Bar("bertscore", "times", 3.0),
    Bar("bertscore", "largest_difference", 1e-5, most=True),
    Bar("wmd", "ratio", 5.0),
    Bar("moverscore", "times", 1.0),
    Bar("ppl", "times", 3.0),
    Bar("mauve", "times", 2.0),
    Bar("perturbations", "all_noises", 2000.0),
    Bar("association", "times_faster", 500.0),
    Bar("significance", "times_faster_than_plain_scipy", 100.0),
    # By the processor, which is the wall on a machine at rest and does not count our neighbours.
    Bar("engine", "trivial_cold_cpu_microseconds", 15.0, most=True),
    Bar("engine", "trivial_peak_megabytes", 2000.0, most=True),
    Bar("engine", "bleu_peak_megabytes", 2000.0, most=True),
    Bar("engine", "bertscore_times", 50.0),
    Bar("engine", "bertscore_forward_share", 0.75),
    Bar("growth", "microseconds_growth", 1.2, most=True),
    Bar("growth", "bytes_growth", 1.2, most=True),
    Bar("audit", "cold_seconds", 360.0, most=True),
    Bar("audit", "scoring_times", 50.0),
)


def race(name: str) -> dict[str, float]:
    """One race in a process of its own, so that no race finds what another left in memory."""
    code = f"import json, bench.{name} as race; print(); print(json.dumps(race.main()))"
    quiet = os.environ | {"TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=quiet, check=True
    )
    return {key: float(value) for key, value in json.loads(done.stdout.splitlines()[-1]).items()}


def show(name: str, figures: dict[str, float]) -> None:
    """A line a figure, with its bar where there is one."""
    print(f"\n{name}")
    for key, value in figures.items():
        bars = [bar for bar in BARS if (bar.race, bar.figure) == (name, key)]
        said = "".join(
            f"   {'at most' if bar.most else 'at least'} {bar.bound:g}: "
            f"{'met' if bar.passed(value) else 'MISSED'}"
            for bar in bars
        )
        print(f"  {key:38} {value:14,.4g}{said}", flush=True)


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m bench")
    options.add_argument("races", nargs="*", metavar="NAME", help=", ".join(RACES))
    options.add_argument("--json", type=Path, help="write the figures here too")
    asked = options.parse_args()
    unknown = sorted({*asked.races} - {*RACES})
    if unknown:
        options.error(f"unknown race: {', '.join(unknown)}; known: {', '.join(RACES)}")
    found: dict[str, dict[str, float]] = {}
    for name in asked.races or RACES:
        found[name] = race(name)
        show(name, found[name])
    text = json.dumps(found, indent=1)
    print("\n" + text)
    if asked.json:
        asked.json.write_text(text + "\n", "utf-8")
    missed = [bar for bar in BARS if bar.race in found and not bar.passed(found[bar.race][bar.figure])]
    for bar in missed:
        print(f"missed: {bar.race} {bar.figure}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
