"""The red team's table, run again: `make redteam`. One line per row, ok or FAIL; loopback only, bounded.

Rows are the tests of this folder by file and name, then what is too long for the default suite: kills in runs
and inside saving, the zoo of metrics on each engine, and memory.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parent))
import misbehaving

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MAIN = "from assay.cli import main; main()"
COMMAND = [sys.executable, "-c", MAIN]
KILLS, SAVES = int(os.environ.get("REDTEAM_KILLS", "50")), int(os.environ.get("REDTEAM_SAVES", "25"))
ROWS = int(os.environ.get("REDTEAM_ROWS", "1000000"))
ENGINES = {"local": [], "workers": ["--workers", "2"], "ray": ["--ray", "local"]}
Row = tuple[str, bool, str]


def main() -> int:
    wanted = sys.argv[1:]
    parts = {"tests": tests, "kills": kills, "saves": saves, "zoo": metrics, "memory": memory}
    failed = 0
    for name, part in parts.items():
        if wanted and name not in wanted:
            continue
        for row, is_ok, detail in part():
            failed += not is_ok
            print(
                f"{'ok  ' if is_ok else 'FAIL'} {name}: {row}{f' ({detail})' if detail else ''}", flush=True
            )
    print(f"{failed} rows failed")
    return 1 if failed else 0


def tests() -> Iterator[Row]:
    """The tests of this folder and of the faults, one row per file."""
    files = [*sorted(HERE.glob("test_*.py")), *sorted((ROOT / "tests" / "faults").glob("test_*.py"))]
    for file in files:
        if file.name in ("test_install.py", "test_pythons.py"):  # make install-test and make soak have these
            continue
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr[-200:]
        yield f"{file.parent.name}/{file.name}", done.returncode == 0, "" if done.returncode == 0 else last


def _pairs(folder: Path, count: int = 300) -> None:
    rows = [
        {"id": f"p{n}", "stereotype": f"old {n} x", "anti_stereotype": f"young {n}", "reference": f"one {n}"}
        for n in range(count)
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _run(folder: Path, out: str, *more: str) -> subprocess.Popen[bytes]:
    words = [
        "run",
        "stereotype",
        "-m",
        "bleu",
        "-m",
        "chrf",
        "--data",
        "pairs.jsonl",
        "--cache",
        "cache",
        "-q",
    ]
    return subprocess.Popen(
        [*COMMAND, *words, "--out", out, "--json", *more],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def kills() -> Iterator[Row]:
    """Kills at random moments of a run, then one run to the end: the same findings as an undisturbed one."""
    random = Random(0)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _pairs(folder)
        began = time.monotonic()
        expected = _run(folder, "whole", "--cache", "none").communicate()[0]
        length = time.monotonic() - began
        differing = 0
        for _ in range(KILLS):
            process = _run(folder, "out")
            try:
                process.wait(random.uniform(0, length))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
            process.communicate()
        resumed = _run(folder, "out").communicate()[0]
        differing += resumed != expected
        yield f"{KILLS} kills in runs, then resumed", not differing, f"{differing} findings differ"


def saves() -> Iterator[Row]:
    """Kills inside saving over another run: the old run, the new one or a message, never a mixture."""
    from test_folders import SAVES as CODE

    from assay.errors import CacheError
    from assay.run.results import load_run

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _pairs(folder, 40)
        _run(folder, "new").communicate()
        new = load_run(folder / "new")
        states = {"old": 0, "new": 0, "refused": 0, "mixture": 0}
        for number in range(SAVES):
            target = folder / "target"
            old = type(new)(new.findings.head(1), new.cases.head(1), new.scores.head(1), (), new.about)
            old.save(target)
            code = [sys.executable, "-c", CODE, str(folder / "new"), str(target), str(number % 5 + 1)]
            subprocess.run(code, check=False)
            try:
                read = load_run(target)
            except CacheError:
                states["refused"] += 1
                continue
            heights = read.findings.height, read.cases.height, read.scores.height
            whole = new.findings.height, new.cases.height, new.scores.height
            states["old" if heights == (1, 1, 1) else "new" if heights == whole else "mixture"] += 1
        yield f"{SAVES} kills inside saving", not states["mixture"], str(states)


def metrics() -> Iterator[Row]:
    """Every metric of the zoo on every engine: exit 2 with the words expected; skipped, exit 0."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        texts = [f"text {n}" if n != 77 else misbehaving.BAD for n in range(2100)]
        rows = [{"id": f"id{n}", "hypothesis": text, "references": ["r"]} for n, text in enumerate(texts)]
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        for engine, options in ENGINES.items():
            for name, words in {**misbehaving.EXPECTED, "Crashes": "id77"}.items():
                if name == "Crashes" and engine == "local":
                    continue
                plug_in = [
                    "-m",
                    f"{HERE / 'misbehaving.py'}:{name}",
                    "--data",
                    "rows.jsonl",
                    "--cache",
                    "none",
                ]
                command = [*COMMAND, "score", *plug_in, "--timeout", "2", *options]
                done = subprocess.run(
                    command, cwd=folder, capture_output=True, text=True, check=False, timeout=300
                )
                is_ok = done.returncode == (0 if words is None else 2) and (words or "") in done.stderr
                detail = "" if is_ok else f"exit {done.returncode}: {done.stderr.strip()[-200:]}"
                yield f"{name} on {engine}", is_ok, detail


def memory() -> Iterator[Row]:
    """Peaks of three commands; the limits are those of docs/security.md."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with (folder / "rows.jsonl").open("w") as file:
            for n in range(ROWS):
                text = f"the {n} cats sat on the mat of number {n * 7919 % 1000003}"
                file.write(json.dumps({"hypothesis": text, "references": [f"{text} again"]}) + "\n")
        with (folder / "large.jsonl").open("w") as file:
            for n in range(1000):
                file.write(json.dumps({"hypothesis": "word " * 200_000, "references": [str(n)]}) + "\n")
        long = "The cat sat on the mat and it was happy. " * 27_000
        (folder / "long.jsonl").write_text(json.dumps({"id": "a", "gold": long, "references": ["x"]}) + "\n")
        score = ["score", "-m", "bleu", "--cache", "none", "-q", "--data"]
        for name, words, most in (
            ("5 rows of a file of 1 GB", [*score, "large.jsonl", "--limit", "5"], 400),
            (f"{ROWS:,} rows of BLEU", [*score, "rows.jsonl"], 1500),
            (
                "a text of 1.1 million characters perturbed",
                ["perturb", "token-drop", "--data", "long.jsonl"],
                4500,
            ),
        ):
            with (folder / "out").open("wb") as out:
                code = f"import resource, sys; {MAIN.replace('main()', '')}"
                code += "\ntry:\n    main()\nfinally:\n    print('PEAK', resource.getrusage(0).ru_maxrss, file=sys.stderr)"
                done = subprocess.run([sys.executable, "-c", code, *words], cwd=folder, stdout=out,
                                      stderr=subprocess.PIPE, text=True, check=False)  # fmt: skip
            match = re.search(r"PEAK (\d+)", done.stderr)
            peak = int(match[1]) / 1000 if match else float("inf")
            yield name, done.returncode == 0 and peak < most, f"{peak:,.0f} MB, limit {most:,} MB"


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())
