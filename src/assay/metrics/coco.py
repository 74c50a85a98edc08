"""The Java tools of pycocoevalcap as subprocesses: Treebank tokens, METEOR 1.5 and SPICE.

The jars are read where the `coco` extra installed them; nothing is written there and nothing downloaded.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from assay.core import Sample
from assay.errors import MetricError, install
from assay.metrics.ptb import PUNCTUATION
from assay.metrics.text import Tokenize, distinct_texts, with_texts

JAVA_BATCH = 4096  # samples per call: a virtual machine takes about a second to start


class JavaBacked:
    """A metric that may leave its tokens, or all of its work, to Java, which wants large batches."""

    tokenize: Tokenize
    backend: Literal["own", "coco"]

    @property
    def batch(self) -> int:
        return JAVA_BATCH if self.backend == "coco" else 1

    def prepared(self, samples: Sequence[Sample]) -> tuple[Sequence[Sample], Tokenize]:
        """Return the samples and their tokeniser; texts that Java has tokenised are split at spaces."""
        if self.backend == "own":
            return samples, self.tokenize
        texts = distinct_texts(samples)
        return with_texts(samples, dict(zip(texts, java_ptb(texts), strict=True))), "split"


def jar(path: str) -> Path:
    """Return the path of a file of pycocoevalcap, or raise an error that says how to get it."""
    package = importlib.util.find_spec("pycocoevalcap")
    if package is None or not package.submodule_search_locations:
        raise MetricError(f"this needs pycocoevalcap: {install('coco')}")
    if shutil.which("java") is None:
        raise MetricError("this needs Java; install a Java runtime (8 or later) so that `java` is found")
    return Path(package.submodule_search_locations[0], path)


def spice_state() -> str | None:
    """Say what SPICE still needs that no installer brings; None where it is ready."""
    try:
        absent = absent_parser(jar("spice/lib"))
    except MetricError as error:
        return str(error)
    return "no package brings Stanford CoreNLP 3.6.0 into pycocoevalcap/spice/lib" if absent else None


def run_java(arguments: Sequence[str], lines: Sequence[str], folder: Path) -> list[str]:
    """Run Java in a folder with lines as input; return the lines it prints."""
    command, text = ["java", "-Dfile.encoding=UTF-8", *arguments], "".join(f"{line}\n" for line in lines)
    done = subprocess.run(command, input=text, capture_output=True, encoding="utf-8", cwd=folder, check=False)
    if done.returncode:
        raise MetricError(f"java {' '.join(arguments)} failed: {done.stderr.strip()[-400:]}")
    return done.stdout.splitlines()


def java_ptb(texts: Sequence[str]) -> list[str]:
    """Return texts as pycocoevalcap's PTBTokenizer: lower-cased tokens without punctuation."""
    tokenizer = jar("tokenizer/stanford-corenlp-3.4.1.jar")
    # Texts are separated by line ends, of which Java knows more than Python: any white space becomes a space.
    program = ["-cp", tokenizer.name, "edu.stanford.nlp.process.PTBTokenizer"]
    plain = [" ".join(text.split()) for text in texts]
    lines = run_java([*program, "-preserveLines", "-lowerCase"], plain, tokenizer.parent)
    if len(lines) != len(texts):
        raise MetricError(
            f"the Java tokeniser gave {len(lines)} lines for {len(texts)} texts; use backend=own"
        )
    return [" ".join(word for word in line.split() if word not in PUNCTUATION) for line in lines]


def java_meteor(samples: Sequence[Sample], *options: str) -> list[float]:
    """Return METEOR 1.5 for English, per sample; pycocoevalcap runs it on its tokens, with -norm."""
    program = jar("meteor/meteor-1.5.jar")
    command = ["-Xmx2G", "-jar", program.name, "-", "-", "-stdio", "-l", "en", *options]
    texts = ([*sample.references, sample.hypothesis] for sample in samples)
    lines = [" ||| ".join(["SCORE", *(text.replace("|||", "") for text in some)]) for some in texts]
    statistics = run_java(command, lines, program.parent)
    # One EVAL line gives one score per sample and then the score of all.
    scores = run_java(command, [" ||| ".join(["EVAL", *statistics])], program.parent)
    if len(scores) != len(samples) + 1:
        raise MetricError(f"Java METEOR gave {len(scores) - 1} scores for {len(samples)} samples")
    return [float(score) for score in scores[:-1]]


def absent_parser(home: Path) -> list[str]:
    """Return the files of Stanford's parser that a folder lacks; no package brings them."""
    parser = [f"stanford-corenlp-3.6.0{part}.jar" for part in ("", "-models")]
    return [name for name in parser if not (home / name).exists()]


def java_spice(samples: Sequence[Sample]) -> list[float | None]:
    """Return SPICE's F over scene graphs per sample, None where neither text has one."""
    program = jar("spice/spice-1.0.jar")
    absent = absent_parser(program.parent / "lib")
    if absent:
        raise MetricError(
            f"spice needs Stanford's parser: put {' and '.join(absent)} (Stanford CoreNLP 3.6.0) into "
            f"{program.parent / 'lib'}, or leave spice out"
        )
    numbered = enumerate(samples)
    tasks = [{"image_id": at, "test": s.hypothesis, "refs": list(s.references)} for at, s in numbered]
    with tempfile.TemporaryDirectory() as folder:
        question, answer = Path(folder, "in.json"), Path(folder, "out.json")
        question.write_text(json.dumps(tasks), encoding="utf-8")
        command = ["-Xmx8G", "-jar", program.name, str(question), "-out", str(answer), "-subset", "-silent"]
        run_java(command, (), program.parent)
        rows = json.loads(answer.read_text("utf-8"))
    scores = {row["image_id"]: row["scores"]["All"]["f"] for row in rows}
    values = (scores[at] for at in range(len(samples)))
    return [float(v) if isinstance(v, int | float) and v == v else None for v in values]
