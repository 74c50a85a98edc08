"""Everything that was tried against assay, tried again: `make redteam`. One line per row, ok or FAIL.

Rows are the tests of this folder and its neighbours by file, then what is too long for the default suite:
hostile run folders, kills in runs and inside saving, misbehaving metrics on each engine, and memory.
Loopback only, bounded; `python tests/redteam/run.py kills zoo` runs these parts alone.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).parent))
import misbehaving

import assay.api.bulk  # so that forks need not import it
import assay.cli
from assay.api.runs import load_run
from assay.errors import CacheError

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MAIN = "from assay.cli import main; main()"
KILLS, SAVES = int(os.environ.get("REDTEAM_KILLS", "50")), int(os.environ.get("REDTEAM_SAVES", "25"))
ROWS = int(os.environ.get("REDTEAM_ROWS", "1000000"))
ENGINES: dict[str, list[str]] = {"local": [], "workers": ["--workers", "2"]}
Row = tuple[str, bool, str]


def main() -> int:
    wanted = sys.argv[1:]
    parts = {
        "tests": tests,
        "folders": folders,
        "kills": kills,
        "zoo": metrics,
        "saves": saves,  # after the forks: it uses polars here
        "memory": memory,
    }
    unknown = set(wanted) - set(parts)
    if unknown:
        sys.exit(f"no part {', '.join(unknown)}; the parts are {', '.join(parts)}")
    failed = 0
    for name, part in parts.items():
        if wanted and name not in wanted:
            continue
        for row, is_ok, detail in part():
            failed += not is_ok
            said = f" ({detail})" if detail else ""
            print(f"{'ok  ' if is_ok else 'FAIL'} {name}: {row}{said}", flush=True)
    print(f"{failed} rows failed")
    return 1 if failed else 0


def tests() -> Iterator[Row]:
    """The tests of this folder, of the faults and of security, one row per file."""
    folders = HERE, ROOT / "tests" / "faults", ROOT / "tests" / "security"
    elsewhere = "test_install.py", "test_pythons.py"  # make install-test and make soak have these
    files = [
        file for folder in folders for file in sorted(folder.glob("test_*.py")) if file.name not in elsewhere
    ] + [ROOT / "tests" / "checkpoints" / "test_changed_inputs.py"]
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch, "results.xml")
        options = ["-q", "-n", "2", "--dist", "loadfile", "-p", "no:cacheprovider", f"--junitxml={results}"]
        subprocess.run([sys.executable, "-m", "pytest", *options, *map(str, files)], cwd=ROOT,
                       stdout=subprocess.DEVNULL, check=False)  # fmt: skip
        cases = list(ElementTree.parse(results).iter("testcase"))
    for file in files:
        name = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        own = [case for case in cases if case.get("classname", "").startswith(name)]
        failed = {
            case.get("name"): str(part.get("message"))[:200]
            for case in own
            for part in case
            if part.tag in ("failure", "error")
        }
        detail = f"{len(own)} tests" + (f", failed: {failed}" if failed else "")
        yield f"{file.parent.name}/{file.name}", bool(own) and not failed, detail


def folders() -> Iterator[Row]:
    """`assay report` on each hostile run folder, with 6 GB at most: a message that names it, and status 2."""
    from test_folders import HOSTILE

    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        _pairs(home, 12)
        _run(home, "whole").result()
        for number, (kind, change) in enumerate(HOSTILE.items()):
            evil = home / f"case{number}" / "evil"
            shutil.copytree(home / "whole", evil)
            change(evil)
            code, out, errors = Forked(home, ["report", str(evil)], _limited).result()
            is_ok = (code, out) == (2, "") and errors.startswith("assay: ") and str(evil) in errors
            yield f"report on {kind}", is_ok, "" if is_ok else f"exit {code}: {errors[-300:]}"


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (6_000_000_000, resource.RLIM_INFINITY))
    assay.cli.main()


def _pairs(folder: Path, count: int = 300) -> None:
    rows = [
        {"id": f"p{n}", "stereotype": f"old {n} x", "anti_stereotype": f"young {n}", "reference": f"one {n}"}
        for n in range(count)
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


class Forked:
    """A command in a fork of this process, whose imports are done; this process never uses polars' threads."""

    def __init__(self, folder: Path, words: list[str], call: Callable[[], None] | None = None) -> None:
        self._streams = [Path(tempfile.mkstemp(dir=folder, prefix=".")[1]) for _ in range(2)]
        self._status: int | None = None
        self._child = os.fork()
        if not self._child:
            self._become(folder, words, call or assay.cli.main)

    def _become(self, folder: Path, words: list[str], call: Callable[[], None]) -> None:
        for descriptor, path in enumerate(self._streams, start=1):
            os.dup2(os.open(path, os.O_WRONLY), descriptor)
        os.chdir(folder)
        sys.argv = ["assay", *words]
        ended = 3
        try:
            call()
            ended = 0
        except SystemExit as error:
            ended = int(error.code or 0)
        finally:  # nothing of the process that was forked may be cleared away at this one's end
            if "ray" in sys.modules:
                sys.modules["ray"].shutdown()
            sys.stdout.flush()
            os._exit(ended)

    def wait(self, seconds: float) -> bool:
        """Whether it ends within so many seconds."""
        deadline = time.monotonic() + seconds
        while self._status is None and time.monotonic() < deadline:
            done, status = os.waitpid(self._child, os.WNOHANG)
            self._status = os.waitstatus_to_exitcode(status) if done else None
            time.sleep(0 if done else 0.002)
        return self._status is not None

    def kill(self) -> None:
        os.kill(self._child, signal.SIGKILL)

    def result(self) -> tuple[int, str, str]:
        """Exit, stdout and stderr."""
        self.wait(600)
        out, errors = (path.read_text(errors="replace") for path in self._streams)
        for path in self._streams:
            path.unlink()
        return -1 if self._status is None else self._status, out, errors


def _run(folder: Path, out: str, cache: str = "cache") -> Forked:
    words = f"run stereotype -m bleu -m chrf --data pairs.jsonl --cache {cache} -q --json --out {out}"
    return Forked(folder, words.split())


def kills() -> Iterator[Row]:
    """Kills at random moments of runs over an earlier one; each is resumed and ends as if nothing had been."""
    random = Random(0)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _pairs(folder)
        began = time.monotonic()
        expected = _run(folder, "out", "none").result()[1]
        length = time.monotonic() - began
        landed = differing = unreadable = 0
        for number in range(KILLS):
            process = _run(folder, "out", f"cache{number}")
            if not process.wait(random.uniform(0, length)):
                process.kill()
                landed += 1
            process.result()
            read = Forked(folder, ["report", "out", "--format", "json"]).result()[1]
            unreadable += read != expected
            began = time.monotonic()
            differing += _run(folder, "out", f"cache{number}").result()[1] != expected
            length = time.monotonic() - began  # of the latest run: the machine may have other work
        detail = f"{landed} under way, {differing} findings differ, {unreadable} earlier runs lost"
        is_ok = bool(expected) and not differing and not unreadable and landed >= KILLS * 0.5
        yield f"{KILLS} kills in runs, each resumed", is_ok, detail


def saves() -> Iterator[Row]:
    """Kills at any step of saving over another run: the old run or the new one, whole."""
    from test_folders import save_killed

    with tempfile.TemporaryDirectory() as scratch:
        folder, target = Path(scratch), Path(scratch) / "target"
        _pairs(folder, 40)
        _run(folder, "new").result()
        new = load_run(folder / "new")
        old = type(new)(new.findings.head(1), new.cases.head(1), new.scores.head(1), (), new.about)
        old.save(target)
        steps = int(save_killed(folder / "new", target, 0).stdout)
        states = {"old": 0, "new": 0, "refused": 0, "mixture": 0}
        landed = 0
        for number in range(SAVES):
            old.save(target)
            landed += save_killed(folder / "new", target, 1 + number * steps // SAVES).returncode == -9
            try:
                read = load_run(target)
            except CacheError:
                states["refused"] += 1
                continue
            heights = read.findings.height, read.cases.height, read.scores.height
            whole = new.findings.height, new.cases.height, new.scores.height
            states["old" if heights == (1, 1, 1) else "new" if heights == whole else "mixture"] += 1
        is_ok = (
            landed == SAVES
            and states["old"] + states["new"] == SAVES
            and min(states["old"], states["new"]) > 0
        )
        yield f"{SAVES} kills inside saving", is_ok, f"{landed} at one of {steps} steps: {states}"


def metrics() -> Iterator[Row]:
    """Every misbehaving metric on every engine: exit 2 with the words expected; all at once skipped, exit 0."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        texts = [f"text {n}" if n != 77 else misbehaving.BAD for n in range(2100)]
        rows = [{"id": f"id{n}", "hypothesis": text, "references": ["r"]} for n, text in enumerate(texts)]
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        with cluster() as address:
            for engine, options in {**ENGINES, "ray": ["--ray", address]}.items():
                expected = misbehaving.EXPECTED | ({} if engine == "local" else {"Crashes": "id77"})
                for name, words in expected.items():
                    code, out, errors = score(folder, [name], *options)
                    is_ok = code == (0 if words is None else 2) and (words or "") in errors
                    is_ok &= (name not in misbehaving.RAISED or "id77" in errors) and "bug" not in errors
                    is_ok &= words is None or not out
                    yield f"{name} on {engine}", is_ok, "" if is_ok else f"exit {code}: {errors[-200:]}"
                yield _skipped(folder, engine, options)
            yield _skipped(folder, "a Ray of its own", ["--ray", "local"])


@contextmanager
def cluster() -> Iterator[str]:
    """The address of a Ray on loopback that all commands share: each would start one of its own for seconds."""
    code = """import sys; from ray.cluster_utils import Cluster
small = {"num_cpus": 2, "object_store_memory": 80_000_000, "include_dashboard": False}
cluster = Cluster(initialize_head=True, head_node_args=small)
print(cluster.address, flush=True); sys.stdin.read(); cluster.shutdown()"""
    # Ray's switch for loopback only, which the commands that connect must have too.
    os.environ |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    head = subprocess.Popen([sys.executable, "-c", code], text=True, **pipes)
    yield head.stdout.readline().strip()
    head.communicate()


def score(folder: Path, names: list[str], *options: str) -> tuple[int, str, str]:
    """Exit, stdout and stderr of `assay score` with these metrics."""
    chosen = [word for name in names for word in ("-m", f"{HERE / 'misbehaving.py'}:{name}")]
    words = ["score", *chosen, "--data", "rows.jsonl", "--cache", "none", "--timeout", "2", *options]
    return Forked(folder, words).result()


def _skipped(folder: Path, engine: str, options: list[str]) -> Row:
    """All of them in one command that leaves out what fails: one empty cell each, and a note that says so."""
    names = [name for name, words in misbehaving.EXPECTED.items() if words]
    code, out, errors = score(folder, names, "--on-error", "skip", *options)
    rows = list(csv.reader(io.StringIO(out)))
    empty = [sum(not row[column] for row in rows[1:]) for column in range(1, len(names) + 1)] if rows else []
    wrong = [f"{name} {count}" for name, count in zip(names, empty, strict=False) if count != 1]
    is_ok = code == 0 and len(rows) == 2101 and len(empty) == len(names) and not wrong
    detail = "" if is_ok else f"exit {code}, empty: {wrong}: {errors[-300:]}"
    return f"{len(names)} metrics with --on-error skip on {engine}", is_ok, detail


def memory() -> Iterator[Row]:
    """Peaks of three commands; docs/scale.md and docs/security.md promise them."""
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
            (f"{ROWS:,} rows of BLEU", [*score, "rows.jsonl"], 800),
            (
                "1.1 million characters parsed",
                ["perturb", "verb-lemmatisation", "--data", "long.jsonl"],
                1000,
            ),
        ):
            with (folder / "out").open("wb") as out:
                # Not ru_maxrss, which a program inherits from the process that started it.
                code = f"import re, sys; {MAIN.replace('main()', '')}"
                code += "\ntry:\n    main()\nfinally:\n    status = open('/proc/self/status').read()"
                code += "\n    print('PEAK', re.search(r'VmHWM:\\s+(\\d+)', status)[1], file=sys.stderr)"
                done = subprocess.run([sys.executable, "-c", code, *words], cwd=folder, stdout=out,
                                      stderr=subprocess.PIPE, text=True, check=False)  # fmt: skip
            match = re.search(r"PEAK (\d+)", done.stderr)
            peak = int(match[1]) / 1000 if match else float("inf")
            yield name, done.returncode == 0 and peak < most, f"{peak:,.0f} MB, limit {most:,} MB"


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())
