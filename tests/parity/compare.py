"""Compare ours with original packages on the same tiny checkpoints and texts, and write docs/parity.md.

Each package is installed into a folder of its own (packages.toml) and run in a process of its own. What does not
install or run is listed with its error. `make parity` calls this; it needs the index that pip uses. With names of
packages only these are compared, and the other rows stay. ASSAY_PARITY_TEXTS names a folder of JSONL files with real
texts, of which 10,000 sentences are tokenised.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import venv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "checkpoints"))
import layouts  # noqa: E402
import local_hub  # noqa: E402
import numpy as np  # noqa: E402

from assay.core import Sample  # noqa: E402
from assay.datasets.records import embedded_records  # noqa: E402
from assay.metrics.ptb import ptb_tokens  # noqa: E402
from assay.names.spec import parse_spec  # noqa: E402
from assay.vocabulary import Task  # noqa: E402

HOMES = Path(os.environ.get("PARITY_HOME", HERE.parents[1] / "build" / "parity"))
PAGE = HERE.parents[1] / "docs" / "parity.md"
SAMPLES = [
    Sample("The cat sat .", ("The dog sat . A man rose .",), source="Der Hund lief nach Hause ."),
    Sample("The shares rose , twice .", ("The firm made a profit .",), source="Die Aktien stiegen ."),
    Sample("A man said no .", ("A man said no .",), source="Der Mann und die Frau ."),
]
HEAD = """# Parity with original packages

Written by `make parity`: ours and the original package score the same texts with the same tiny random checkpoints,
each package in an environment of its own. The figure is the largest difference.

| package | what | texts | largest difference | allowed |
|---|---|---|---|---|
"""
NOTES = """
The release of moverscore takes distances in single precision, as the root of |x|^2 + |y|^2 - 2xy. For two equal tokens
that difference is not 0 but a rounding error of about 1e-7, and its root about 3e-4: even a text and itself are that
far apart (`moverscore_v2.py`, `batched_cdist_l2`). The same code in double precision gives what ours gives.

WEAT's effect size is a difference divided by a standard deviation. The paper and we divide by that of a sample (ddof 1), wefe by
that of a population (ddof 0), so that wefe's is larger by sqrt(n / (n - 1)) for n target words: 3.3% for 16. The row compares
wefe's with ours times that factor.

rougeLsum takes lines for sentences in rouge-score, in Hugging Face's evaluate and here. rouge-score's `split_summaries=True` finds
sentences by NLTK's model, which no package brings; `rougeLsum:split=sentences` finds them by spaCy's, and the two need not agree.

Treebank tokens are compared as pycocoevalcap makes them: Stanford's PTBTokenizer 3.4.1 in Java, lower case, without its list of
punctuation. The figure is the share of sentences in which any token differs. What differs is mostly an initial at the end of a
text: Java sees the next text after it.
"""
REAL = 10_000  # sentences that are tokenised


@dataclass(frozen=True)
class Job:
    """One comparison: what the original reads, and our scores."""

    what: str
    given: dict[str, Any]
    ours: list[float]
    allowed: float | None = None  # None: as packages.toml says
    texts: int | None = None  # that were compared, where that is not the number of scores


def rows() -> list[dict[str, Any]]:
    return [
        {"hypothesis": s.hypothesis, "references": list(s.references), "source": s.source} for s in SAMPLES
    ]


def scores(spec: str, samples: Sequence[Sample] = SAMPLES) -> list[float]:
    measure = parse_spec(spec)
    answer = measure.metric.score(samples)
    table = np.array(getattr(answer, "values", answer), dtype=float).reshape(len(samples), -1)
    return [float(value) for value in table[:, measure.column]]


def comet_jobs(root: Path, hub: local_hub.Hub) -> Iterator[Job]:
    hub.add("xlm-roberta-large")
    kinds = [
        ("comet", "regression_metric", {}),
        ("comet-qe", "referenceless_regression_metric", {}),
        (
            "comet-qe",
            "unified_metric",
            {"input_segments": ["mt", "src"], "sent_layer": "mix", "word_layer": 2},
        ),
        ("comet", "unified_metric", {"sent_layer": "mix", "word_layer": 2}),
        ("comet", "xcomet_metric", {"sent_layer": "mix", "word_layer": 2}),
        ("comet-qe", "xcomet_metric", {"sent_layer": "mix", "word_layer": 2}),
    ]
    for number, (name, kind, settings) in enumerate(kinds):
        folder = root / f"comet-{number}"
        layouts.comet(
            folder, hub.tensors["xlm-roberta-large"], kind, lightning=True, hidden_sizes=[12, 8], **settings
        )
        given = {
            "checkpoint": str(folder / "checkpoints" / "model.ckpt"),
            "qe": name == "comet-qe",
            "samples": rows(),
        }
        yield Job(f"{name}: {kind}", given, scores(f"{name}:model={folder}"))
        if number == 0:
            file = root / "their_comet.py"
            file.write_text(THEIR_COMET.format(given["checkpoint"]), "utf-8")
            elsewhere = scores(f"env:{python_with(HOMES / 'unbabel-comet')}:{file}:model:check=false")
            yield Job(f"{name}: {kind}, in another environment (env:)", given, elsewhere)


THEIR_COMET = """
from comet.models import load_from_checkpoint
model = load_from_checkpoint({!r}, local_files_only=True).eval()
"""


def python_with(home: Path) -> Path:
    """The Python of an environment that has a package of `homes`, and this environment's for the rest."""
    folder = home.with_name(f"{home.name}-python")
    venv.create(folder, symlinks=True, clear=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "home.pth").write_text(f"{home}\n{sysconfig.get_path('purelib')}\n", "utf-8")
    return folder / "bin" / "python"


def sentence_jobs(root: Path, hub: local_hub.Hub) -> Iterator[Job]:
    for mode in ("cls_token", "mean_tokens", "max_tokens", "lasttoken"):
        folder = root / f"sentence-{mode}"
        layouts.sentence_encoder(folder, mode, dense=mode == "cls_token")
        given = {"checkpoint": str(folder), "samples": rows()}
        yield Job(f"sentence-cosine: {mode}", given, scores(f"sentence-cosine:model={folder}"))


def bert_jobs(root: Path, hub: local_hub.Hub) -> Iterator[Job]:
    folder = root / "bert"
    layouts.bert(folder)
    given = {"checkpoint": str(folder), "layer": 2, "samples": rows()}
    yield Job("bertscore-f", given, scores(f"bertscore-f:model={folder},layer=2"))


def mover_jobs(root: Path, hub: local_hub.Hub) -> Iterator[Job]:
    folder = root / "distilbert"
    layouts.distilbert(folder)
    ours = scores(f"moverscore:model={folder},idf=false")
    for precision, allowed in (("double", None), ("single", 1e-3)):
        given = {"checkpoint": str(folder), "samples": rows(), "double": precision == "double"}
        yield Job(f"moverscore, without idf, the original in {precision} precision", given, ours, allowed)


def bleurt_jobs(root: Path, hub: local_hub.Hub) -> Iterator[Job]:
    for what, build in (("bleurt-base", layouts.bleurt_base), ("BLEURT-20", layouts.bleurt_20)):
        folder = root / what
        build(folder)
        given = {"checkpoint": str(folder), "samples": rows()}
        yield Job(f"bleurt: {what}", given, scores(f"bleurt:model={folder}"))


def mauve_jobs(root: Path, hub: local_hub.Hub) -> Iterator[Job]:
    from assay.metrics.corpus import Mauve

    rng = np.random.default_rng(0)
    p, q = rng.normal(size=(200, 8)), rng.normal(0.3, 1, size=(200, 8))
    yield Job(
        "mauve, on features", {"p": p.tolist(), "q": q.tolist()}, [float(Mauve(seeds=1).between(p, q)[0])]
    )


def torchmetrics_jobs(root: Path, hub: local_hub.Hub) -> Iterator[Job]:
    yield Job("ter, by sentence", {"metric": "ter", "samples": rows()}, [-value for value in scores("ter")])
    from PIL import Image as Picture

    from assay.core import Image
    from assay.files import file_digest

    name = "openai/clip-vit-base-patch32"  # it takes a model by its public name only
    hub.add(name)
    pictures = [
        np.random.default_rng(seed).integers(0, 256, (32, 32, 3), dtype=np.uint8) for seed in range(3)
    ]
    samples = []
    for place, (sample, picture) in enumerate(zip(SAMPLES, pictures, strict=True)):
        file = root / f"{place}.png"
        Picture.fromarray(picture).save(file)
        samples.append(Sample(sample.hypothesis, image=Image(str(file), file_digest(file))))
    ours = [float(value) / 2.5 for value in parse_spec("clipscore").metric.score(samples).values]
    given: dict[str, Any] = {"metric": "clip", "checkpoint": name, "images": [p.tolist() for p in pictures]}
    given["samples"] = [{"hypothesis": f"A photo depicts {s.hypothesis}"} for s in SAMPLES]
    yield Job("clipscore, without its factor of 2.5", given, ours)


def coco_jobs(root: Path, hub: local_hub.Hub) -> Iterator[Job]:
    plain = [
        Sample(
            s.hypothesis.lower().replace(" .", ""), tuple(t.lower().replace(" .", "") for t in s.references)
        )
        for s in SAMPLES
    ]
    given = [{"hypothesis": s.hypothesis, "references": list(s.references)} for s in plain]
    metric = parse_spec("cider:tokenize=split").metric.fitted([s.references for s in plain])
    yield Job(
        "cider, tokens given", {"metric": "cider", "samples": given}, [float(v) for v in metric.score(plain)]
    )
    for name, texts in sentences().items():
        words = [" ".join(ptb_tokens(text)) for text in texts]
        given = {"metric": "ptb", "texts": texts, "tokens": words}
        yield Job(f"Treebank tokens of {name}: share that differs", given, [0.0], 0.005, len(texts))


def sentences() -> dict[str, list[str]]:
    """Sentences of the embedded texts, and of the folder of real ones where it is given."""
    embedded = [record.gold for task in get_args(Task) for record in embedded_records(task)]
    parts = {"embedded sentences": _split(embedded)}
    if folder := os.environ.get("ASSAY_PARITY_TEXTS"):
        lines = [
            line for file in sorted(Path(folder).rglob("*.jsonl")) for line in file.open(encoding="utf-8")
        ]
        texts = [text for line in lines for text in _texts_in(json.loads(line))]
        real = _split(texts)
        random.Random(0).shuffle(real)
        parts["real sentences"] = real[:REAL]
    return parts


def _texts_in(value: Any) -> Iterator[str]:
    """Every text in a row of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(item)


def _split(texts: Iterable[str]) -> list[str]:
    """Distinct sentences of four words or more, in Latin letters for the most part."""
    parts = [part.strip() for text in dict.fromkeys(texts) for part in re.split(_END, text)]
    return [part for part in dict.fromkeys(parts) if len(part.split()) >= 4 and _is_latin(part)]


_END = r"\n|(?<=[.!?])\s+(?=[A-Z\"'])"


def _is_latin(text: str) -> bool:
    latin = sum(letter.isascii() and letter.isalpha() for letter in text)
    return 2 * latin > sum(map(str.isalpha, text))


def wefe_jobs(root: Path, hub: local_hub.Hub) -> Iterator[Job]:
    from assay.statistics.association import partition_test, target_associations

    rng = np.random.default_rng(2)
    vectors = rng.normal(size=(28, 12))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    r = target_associations(unit[:16] @ unit[16:].T, 6)
    both = partition_test(r[:8], r[8:], seed=0)
    factor = math.sqrt(len(r) / (len(r) - 1))
    effect = [both.effect_size * factor]
    given = {"vectors": vectors.tolist()}
    yield Job("WEAT: statistic", given | {"what": "weat"}, [both.statistic])
    yield Job(
        f"WEAT: effect size, ours (ddof 1) times {factor:.4f} for wefe's ddof 0",
        given | {"what": "effect_size"},
        effect,
    )


def adapter_jobs(root: Path, hub: local_hub.Hub) -> Iterator[Job]:
    import torch
    import transformers

    from assay.models.adapters import insert

    folder = root / "bert-adapter"
    layouts.bert(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    torch.manual_seed(5)
    parameters = insert(model, 4)
    for parameter in parameters:
        torch.nn.init.normal_(parameter, std=0.3)
    ids = [[2, 7, 9, 11, 3], [2, 8, 6, 5, 3]]
    with torch.no_grad():
        states = model(input_ids=torch.tensor(ids)).last_hidden_state
    given = {"checkpoint": str(folder), "ids": ids, "weights": [p.detach().tolist() for p in parameters]}
    yield Job("adapter after the feed-forward sub-layer: states", given, states.flatten().tolist())


def overlap_jobs(*specs: str) -> Callable[[Path, local_hub.Hub], Iterator[Job]]:
    def jobs(root: Path, hub: local_hub.Hub) -> Iterator[Job]:
        lines = [{**row, "hypothesis": row["hypothesis"].replace(" , ", "\n")} for row in rows()]
        samples = [Sample(row["hypothesis"], tuple(row["references"])) for row in lines]
        for spec in specs:
            sign = 1 if parse_spec(spec).metric.original == "higher" else -1
            ours = [sign * value for value in scores(spec, samples)]
            yield Job(spec, {"metric": spec, "samples": lines}, ours)

    return jobs


JOBS: dict[str, Callable[[Path, local_hub.Hub], Iterator[Job]]] = {
    "unbabel-comet": comet_jobs,
    "sentence-transformers": sentence_jobs,
    "bert-score": bert_jobs,
    "mauve-text": mauve_jobs,
    "sacrebleu": overlap_jobs(
        "sacrebleu",
        "sacrebleu:smooth=floor,smooth_value=0.5",
        "chrf",
        "chrf++",
        "ter",
        "ter:case_sensitive=true,normalized=true,no_punct=true",
    ),
    "rouge-score": overlap_jobs(
        "rouge1",
        "rouge1-p",
        "rouge1-r",
        "rouge2",
        "rougeL",
        "rougeL-p",
        "rougeL-r",
        "rougeLsum",
    ),
    "nltk": overlap_jobs("bleu", "nist:n=3", "chrf:backend=nltk"),
    "moverscore": mover_jobs,
    "bleurt-pytorch": bleurt_jobs,
    "torchmetrics": torchmetrics_jobs,
    "pycocoevalcap": coco_jobs,
    "wefe": wefe_jobs,
    "adapters": adapter_jobs,
}


def installed(name: str, requirements: list[str], homes: Path) -> Path:
    """Return the folder that a package is installed in."""
    home = homes / name
    if not (home / ".complete").is_file():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(home)]
        done = subprocess.run([*command, *requirements], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
        (home / ".complete").touch()
    return home


def original(name: str, home: Path, job: Job, hub: local_hub.Hub) -> list[float]:
    """Return the original package's scores."""
    environment = {**os.environ, "HF_HUB_CACHE": str(hub.cache), "HF_HUB_OFFLINE": "1", "PYTHONPATH": ""}
    done = subprocess.run(
        [sys.executable, str(HERE / "original.py"), str(home), name], input=json.dumps(job.given),
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
    answer: list[float] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def package_lines(
    name: str, settings: dict[str, Any], root: Path, homes: Path, hub: local_hub.Hub
) -> Iterator[str]:
    """Rows of the table for one package."""
    try:
        if name not in JOBS:
            installed(name, settings["requirements"], homes)
            raise RuntimeError(settings["why_not"])
        home = installed(name, settings["requirements"], homes)
        release = settings["requirements"][0]
        for job in JOBS[name](root, hub):
            gap = max(abs(a - b) for a, b in zip(job.ours, original(name, home, job, hub), strict=True))
            allowed = job.allowed or settings["tolerance"]
            verdict = "" if gap <= allowed else " **too large**"
            texts = f"{job.texts or len(job.ours):,}"
            yield f"| {release} | {job.what} | {texts} | {gap:.1e}{verdict} | {allowed:g} |\n"
    except RuntimeError as error:
        yield f"| {name} | not compared: {str(error)[:160].replace('|', '/')} | | | |\n"


def rows_of(name: str) -> list[str]:
    """What the page says of a package that is not compared now."""
    lines = PAGE.read_text("utf-8").splitlines(keepends=True)
    return [line for line in lines if re.match(rf"\| {re.escape(name)}(==| )", line)]


def main() -> None:
    """Compare everything and write the page; exit 1 where a difference is too large."""
    packages = tomllib.loads((HERE / "packages.toml").read_text("utf-8"))
    chosen = sys.argv[1:] or list(packages)
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        os.environ["ASSAY_CACHE"] = str(root / "assay")
        import huggingface_hub.constants

        hub = local_hub.Hub(root)
        huggingface_hub.constants.HF_HUB_CACHE = str(hub.cache)
        huggingface_hub.constants.HF_HUB_OFFLINE = True
        os.environ |= {"HF_HUB_CACHE": str(hub.cache), "HF_HUB_OFFLINE": "1"}  # of other environments
        lines = []
        for name in packages:
            if name not in chosen:
                lines += rows_of(name)
                continue
            for line in package_lines(name, packages[name], root, HOMES, hub):
                print(line, end="", flush=True)
                lines.append(line)
    ours = ", ".join(f"{package} {version(package)}" for package in ("torch", "transformers"))
    PAGE.write_text(f"{HEAD}{''.join(lines)}{NOTES}\nOurs ran on {ours}.\n", "utf-8")
    sys.exit(any("too large" in line for line in lines))


if __name__ == "__main__":
    main()
