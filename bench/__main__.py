"""All races, one after the other in one process tree; a table, the bars, and JSON of the ratios.

With `--busy N`, each race is run once more beside N processes that never rest, and its figures are called
`beside_load_...`; races of models wait for threads, which is dear on a machine that does other work.

Run: python -m bench [NAME ...] [--busy N] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from assay.models.lazy import wait_passively


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
         "perturbations", "engine", "growth", "bulk", "ratings", "audit")  # fmt: skip
BARS = (
    Bar("ngrams", "ratio_bleu", 3.0),
    Bar("ngrams", "ratio_sacrebleu", 3.0),
    Bar("ngrams", "ratio_chrf", 3.0),
    Bar("ngrams", "ratio", 3.0),
    Bar("ngrams", "max_difference", 1e-9, most=True),
    Bar("bertscore", "times", 3.0),
    Bar("bertscore", "beside_load_times", 2.5),
    Bar("bertscore", "largest_difference", 1e-5, most=True),
    Bar("wmd", "ratio", 5.0),
    Bar("moverscore", "times", 1.0),
    Bar("ppl", "times", 6.0),
    Bar("ppl", "beside_load_times", 4.0),
    Bar("mauve", "times_careful", 2.0),
    Bar("perturbations", "all_noises", 2000.0),
    Bar("association", "times_faster", 500.0),
    Bar("significance", "times_faster_than_plain_scipy", 100.0),
    # By the processor, which is the wall on a machine at rest and does not count our neighbours.
    Bar("engine", "trivial_cold_cpu_microseconds", 15.0, most=True),
    Bar("engine", "trivial_peak_megabytes", 2000.0, most=True),
    Bar("engine", "bleu_peak_megabytes", 2000.0, most=True),
    Bar("bulk", "peak_megabytes", 1000.0, most=True),
    Bar("bulk", "times_two_workers", 1.7),
    Bar("engine", "bertscore_times", 50.0),
    Bar("engine", "bertscore_forward_share", 0.75),
    Bar("growth", "microseconds_growth", 1.1, most=True),
    Bar("growth", "judging_microseconds_growth", 1.1, most=True),
    Bar("growth", "bytes_growth", 1.2, most=True),
    Bar("ratings", "whole_peak_megabytes", 3000.0, most=True),
    Bar("ratings", "growth", 1.1, most=True),
    Bar("audit", "cold_seconds", 110.0, most=True),
    Bar("audit", "warm_seconds", 12.0, most=True),
    Bar("audit", "scoring_times", 50.0),
)


def race(name: str) -> dict[str, float]:
    """One race in a process of its own, so that no race finds what another left in memory."""
    code = f"import json, bench.{name} as race; print(); print(json.dumps(race.main()))"
    wait_passively()  # as the command line does, before numpy is loaded
    quiet = os.environ | {"TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=quiet, check=True
    )
    return {key: float(value) for key, value in json.loads(done.stdout.splitlines()[-1]).items()}


def race_beside_load(name: str, busy: int) -> dict[str, float]:
    """The same race while so many processes use all the time they can get."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
    try:
        return {f"beside_load_{key}": value for key, value in race(name).items()}
    finally:
        for other in others:
            other.kill()
            other.wait()


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
    options.add_argument("--busy", type=int, default=0, help="run each race again beside so many processes")
    options.add_argument("--json", type=Path, help="write the figures here too")
    asked = options.parse_args()
    unknown = sorted({*asked.races} - {*RACES})
    if unknown:
        options.error(f"unknown race: {', '.join(unknown)}; known: {', '.join(RACES)}")
    found: dict[str, dict[str, float]] = {}
    for name in asked.races or RACES:
        found[name] = race(name) | (race_beside_load(name, asked.busy) if asked.busy else {})
        show(name, found[name])
    text = json.dumps(found, indent=1)
    print("\n" + text)
    if asked.json:
        asked.json.write_text(text + "\n", "utf-8")
    known = [(bar, found[bar.race][bar.figure]) for bar in BARS if bar.figure in found.get(bar.race, {})]
    missed = [bar for bar, value in known if not bar.passed(value)]
    for bar in missed:
        print(f"missed: {bar.race} {bar.figure}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
