"""One law: change a byte of anything that can change a score, and the score is computed again, or the file refused.

Every kind of input is built small; each of its files is changed in one byte, its size and time of change set back
to what they were. The law holds where the metric's signature, under which scores are kept, is another one, or the
file is refused by name. Then every file that was derived on the way is changed, and must be refused or made anew.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import layouts
import numpy as np
import polars as pl
import pytest
from tiny_gguf import gguf_model

from assay.core import Metric, Sample
from assay.datasets.ratings import stream_samples
from assay.engine.scoring import score_samples
from assay.engine.session import Session
from assay.errors import AuditError, WeightsError
from assay.models import torch as models
from assay.models import weights
from assay.models.estimator import _load_estimator
from assay.models.vectors import _embeddings
from assay.names.spec import measure, parse_spec

SAMPLES = [Sample(f"a cat sat {n}", (f"the dog sat {n}",), source="a man") for n in range(3)]


@dataclass(frozen=True)
class Kind:
    """A kind of input: what builds it in a folder, and the spec of a metric that reads it there."""

    build: Callable[[Path], object]
    spec: str


def _encoder(folder: Path) -> None:
    layouts.sentence_encoder(folder, "mean_tokens", dense=True)
    layouts.write(folder, config_sentence_transformers={"prompts": {"q": "a "}, "default_prompt_name": "q"})


def _vectors(folder: Path) -> None:
    folder.mkdir()
    words = ["a", "cat", "sat", "the", "dog"]
    np.save(folder / "vectors.npy", np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32))
    pl.DataFrame({"index": words}).write_parquet(folder / "words.parquet")


def _glove(folder: Path) -> None:
    folder.mkdir()
    (folder / "glove.txt").write_text("a 1 0\ncat 0 1\nsat 1 1\nthe 1 2\ndog 2 1\n")


def _comet(folder: Path) -> None:
    encoder = layouts.xlm_roberta(folder.with_name("xlm"))
    layouts.comet(folder, encoder)
    shutil.copytree(folder.with_name("xlm"), folder / "encoder")


def _adapter(folder: Path) -> None:
    from assay.models.adapters import Card, fingerprint, insert, places, state, write

    layouts.sentence_encoder(folder / "model", "mean_tokens", dense=False)
    model = models.load("AutoModel", str(folder / "model"), unused=("pooler",)).model
    sizes, count = fingerprint(model), len(places(model))
    insert(model, 4)
    (folder / "adapter").mkdir()
    write(state(model), folder / "adapter", Card("tiny", "sentence-cosine", ("gender",), 4, count, sizes))


def _baseline(folder: Path) -> None:
    layouts.sentence_encoder(folder / "model", "mean_tokens", dense=False)
    (folder / "baseline.csv").write_text("LAYER,P,R,F\n0,.1,.1,.1\n1,.2,.2,.2\n2,.3,.3,.3\n")


def _plugin(folder: Path) -> None:
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "__init__.py").write_text("")
    (folder / "inner" / "deep.py").write_text("WEIGHT = 1.5\n")
    (folder / "helper_of_plugin.py").write_text("from inner.deep import WEIGHT\n")
    (folder / "table.json").write_text('{"cat": 1.0, "dog": 2.0}')
    (folder / "metric.py").write_text(
        "import json\nfrom dataclasses import dataclass\nfrom pathlib import Path\nfrom assay.core import Metric\n"
        "from helper_of_plugin import WEIGHT\n"
        "TABLE = json.loads(Path(__file__).with_name('table.json').read_text())\n"
        "@dataclass(frozen=True)\nclass Mine(Metric):\n    name = 'mine'\n"
        "    def score(self, samples):\n"
        "        return [WEIGHT * sum(TABLE.get(w, 0.0) for w in s.hypothesis.split()) for s in samples]\n"
    )


KINDS = {
    "a sentence encoder": Kind(_encoder, "sentence-cosine:model={}"),
    "pickled weights": Kind(lambda folder: layouts.bert(folder), "bertscore-f:model={},layer=2"),
    "a pickled file": Kind(
        lambda folder: layouts.bert(folder), "bertscore-f:model={}/pytorch_model.bin,layer=2"
    ),
    "a safetensors file": Kind(_encoder, "sentence-cosine:model={}/model.safetensors"),
    "a GGUF file": Kind(gguf_model, "gpt-ppl:model={}"),
    "sentence pieces": Kind(lambda folder: layouts.unieval(folder), "bartscore-f:model={}"),
    "word vectors": Kind(_vectors, "embedding-average:model={}"),
    "published word vectors": Kind(_glove, "embedding-average:model={}"),
    "a COMET checkpoint": Kind(_comet, "comet:model={}"),
    "an adapter": Kind(_adapter, "sentence-cosine:model={0}/model,adapter={0}/adapter"),
    "a table of baselines": Kind(_baseline, "bertscore-f:model={0}/model,layer=2,rescale={0}/baseline.csv"),
    "a plug-in": Kind(_plugin, "{}/metric.py:Mine"),
}
# What nothing is computed from: an adapter's card says how it was trained; the rest is what trainers leave.
NOTHING = ("card.json", "*.md", "*.pyc", *weights.NOT_MODELS)


@pytest.fixture(params=KINDS)
def built(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Path, str]]:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    kind = KINDS[request.param]
    before = set(sys.modules)
    kind.build(tmp_path / "input")
    yield tmp_path, kind.spec.format(tmp_path / "input")
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


def _forget() -> None:
    """What a new process does not know."""
    for cached in (models._load, models._load_tokenizer, _embeddings, _load_estimator):
        cached.cache_clear()
    weights._digest_at.cache_clear()
    for name in [name for name in sys.modules if name.startswith(("assay_plugin_", "helper_of", "inner"))]:
        del sys.modules[name]


def _changed(path: Path) -> Iterator[bytes]:
    """The file with one byte changed where it matters, as a stranger would: its size and times as they were."""
    content, status = path.read_bytes(), path.stat()
    places = {len(content) // 2, len(content) - 2, 0}
    for place in sorted(places & set(range(len(content)))):
        other = bytearray(content)
        other[place] ^= 0x01
        path.write_bytes(bytes(other))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        yield bytes(other)
        path.write_bytes(content)


def _metric(spec: str) -> Metric:
    metric = parse_spec(spec).metric
    assert isinstance(metric, Metric)
    return metric


def test_a_byte_of_an_input_that_changes_changes_the_signature(built: tuple[Path, str], monkeypatch) -> None:
    folder, spec = built
    monkeypatch.syspath_prepend(str(folder / "input"))
    before = _metric(spec).signature
    assert _metric(spec).cacheable
    files = [path for path in sorted((folder / "input").rglob("*")) if path.is_file() and path.stat().st_size]
    files = [path for path in files if not any(path.match(pattern) for pattern in NOTHING)]
    assert files
    for path in files:
        for _ in _changed(path):
            _forget()
            try:
                assert _metric(spec).signature != before, path
            except AuditError as error:
                assert str(path.parent) in str(error) or "input" in str(error)
        path.touch()
    _forget()
    assert _metric(spec).signature == before


def test_a_model_that_changes_while_a_process_runs_is_loaded_anew(
    built: tuple[Path, str], monkeypatch
) -> None:
    """Its weights are replaced by those of another model of the same shape: never the old numbers."""
    folder, spec = built
    monkeypatch.syspath_prepend(str(folder / "input"))
    metric = _metric(spec)
    if not metric.weights:
        pytest.skip("a plug-in is read once per process")
    session = Session.open(cache=folder / "scores")
    first = score_samples(measure(metric), SAMPLES, session).values
    adapter = folder / "input" / "adapter"  # it fits no other model than its own
    for path in sorted((adapter if adapter.is_dir() else folder / "input").rglob("*")):
        if path.match("glove.txt") or (path.suffix in _OTHERS and weights._is_model(path)):
            _scale(path)
    second = score_samples(measure(_metric(spec)), SAMPLES, Session.open(cache=folder / "scores")).values
    assert session.computed
    assert not np.array_equal(first, second, equal_nan=True)


_OTHERS = (".safetensors", ".bin", ".ckpt", ".npy", ".gguf")


def _scale(path: Path) -> None:
    """Other numbers in the same layout."""
    import torch
    from safetensors.torch import load_file, save_file

    def other(values):
        if not isinstance(values, torch.Tensor):
            return values
        return values * 1.5 + 0.1 * torch.arange(values.numel()).reshape(values.shape).cos()

    if path.suffix == ".safetensors":
        save_file({key: other(value) for key, value in load_file(path).items()}, path, {"format": "pt"})
    elif path.suffix in (".bin", ".ckpt"):
        whole = torch.load(path, weights_only=False)
        inner = whole.get("state_dict", whole)
        for key in list(inner):
            inner[key] = other(inner[key])
        torch.save(whole, path)
    elif path.suffix == ".npy":
        np.save(path, np.roll(np.load(path), 1))
    elif path.suffix == ".gguf":
        path.unlink()
        path.parent.rmdir()
        gguf_model(path.parent, seed=1)
    else:
        path.write_text(path.read_text().replace("cat 0 1", "cat 5 1"))


def test_a_derived_file_that_changes_is_refused_and_one_without_its_list_is_made_anew(
    built: tuple[Path, str], monkeypatch
) -> None:
    folder, spec = built
    monkeypatch.syspath_prepend(str(folder / "input"))
    expected = np.array(_metric(spec).score(SAMPLES).values if _metric(spec).weights else [0.0], dtype=float)
    derived = [path for path in sorted((folder / "cache").rglob("*")) if path.is_file()]
    lists = [path for path in derived if path.name == "digests.list"]
    assert len(lists) == len({path.parent for path in derived if (path.parent / "digests.list").is_file()})
    assert all(any(list_.parent in path.parents for list_ in lists) for path in derived)
    for path in derived:
        for _ in _changed(path):
            _forget()
            with pytest.raises(WeightsError, match=r"is damaged|neither fetched nor made"):
                _metric(spec).score(SAMPLES)
        if path.name != "digests.list":  # without the list nothing says that it was changed: it is made again
            content = path.read_bytes()
            path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
            (path.parent / "digests.list").unlink()
            _forget()
            assert np.array_equal(np.array(_metric(spec).score(SAMPLES).values, dtype=float), expected)
            assert path.read_bytes() == content


def test_every_metric_that_reads_weights_names_them_in_its_signature() -> None:
    from assay.names.registry import find, names

    for name in names("metrics"):
        metric = find("metrics", name)[0]
        assert not metric.weights or metric.pins is not Metric.pins, name


def test_a_row_that_changes_is_scored_again_and_no_other(tmp_path: Path) -> None:
    rows = [{"hypothesis": f"a cat {n}", "references": ["the cat"]} for n in range(5)]
    data = tmp_path / "rows.jsonl"

    def computed() -> int:
        data.write_text("".join(json.dumps(row) + "\n" for row in rows))
        samples = [item.sample for chunk in stream_samples(data, skip_missing=False) for item in chunk]
        session = Session.open(cache=tmp_path / "cache")
        score_samples(parse_spec("bleu"), samples, session)
        return sum(session.computed.values())

    assert [computed(), computed()] == [5, 0]
    rows[3]["references"] = ["the Cat"]
    assert [computed(), computed()] == [1, 0]
