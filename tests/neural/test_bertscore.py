"""BERTScore, MoverScore and sentence encoders against packages and step-by-step computations."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from assay.core import Sample
from assay.errors import DataError, MetricError
from assay.files import toml_file
from assay.metrics.bertscore import BertScore, unrelated_pairs
from assay.metrics.contextual import MoverScore, SentenceCosine
from assay.models import encoder as _encoder
from assay.models.memory import BoundedCache
from assay.models.torch import COUNTER, load

WORDS = [
    "the",
    "cat",
    "dog",
    "sat",
    "man",
    "woman",
    "on",
    "a",
    "mat,",
    "ran",
    "home.",
    "firm",
    "profit",
    "shares",
    "rose",
    "12",
    "times",
]


def sentences_of(count: int, seed: int = 0) -> list[str]:
    rng = Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, 14))) for _ in range(count)]


@pytest.fixture(scope="module")
def minilm() -> str:
    from assay.errors import WeightsError
    from assay.models.weights import resolve

    try:
        return str(resolve("minilm"))
    except WeightsError as error:
        pytest.skip(f"minilm cannot be fetched: {error}")


def package_scores(
    model: str, layer: int, hyps: list[str], refs: Sequence[object], **idf: object
) -> np.ndarray:
    pytest.importorskip("bert_score", reason="the bench extra has the reference package")
    from bert_score import BERTScorer

    scorer = BERTScorer(model_type=model, num_layers=layer, device="cpu", nthreads=0, **idf)
    # A pair at a time: in a batch the package lets padding, of cosine 0, win over negative cosines.
    return np.stack([column.numpy() for column in scorer.score(hyps, list(refs), batch_size=1)], axis=1)


@pytest.mark.filterwarnings("ignore")  # bert-score's own imports warn
def test_equals_the_package_on_minilm(minilm: str) -> None:
    hyps, refs = sentences_of(200, 1), sentences_of(200, 2)
    ours = BertScore(model=minilm, layer=6).score([Sample(h, (r,)) for h, r in zip(hyps, refs, strict=True)])
    assert np.abs(np.array(ours.values) - package_scores(minilm, 6, hyps, refs)).max() < 1e-5


@pytest.mark.filterwarnings("ignore")
def test_equals_the_package_with_idf_layers_and_several_references(bert: Callable[..., Path]) -> None:
    model = str(bert())
    hyps = sentences_of(40, 3)
    refs = [tuple(sentences_of(3, seed)) for seed in range(40)]
    flat = [text for item in refs for text in item]
    metric = BertScore(model=model, layer=2, idf=True).fitted(refs)
    ours = metric.score([Sample(h, r) for h, r in zip(hyps, refs, strict=True)])
    theirs = package_scores(model, 2, hyps, [list(r) for r in refs], idf=True, idf_sents=flat)
    assert np.abs(np.array(ours.values) - theirs).max() < 1e-5
    with pytest.raises(MetricError, match="fitted"):
        BertScore(model=model, layer=3, idf=True).score([Sample("a", ("b",))])


@pytest.mark.filterwarnings("ignore")
def test_roberta_with_and_without_the_space_before_the_first_word(tmp_path: Path) -> None:
    import torch
    import transformers
    from tokenizers import pre_tokenizers

    tokens = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    vocabulary = {token: place for place, token in enumerate(tokens)}
    transformers.RobertaTokenizer(vocab=vocabulary, merges=[], model_max_length=126).save_pretrained(tmp_path)
    torch.manual_seed(0)
    transformers.RobertaModel(
        transformers.RobertaConfig(
            vocab_size=len(tokens), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=40, max_position_embeddings=128, initializer_range=0.5,
        )
    ).save_pretrained(tmp_path)  # fmt: skip
    hyps, refs = sentences_of(5, 1), sentences_of(5, 2)
    samples = [Sample(h, (r,)) for h, r in zip(hyps, refs, strict=True)]
    model = str(tmp_path)
    plain = BertScore(model=model, layer=2, prefix_space=False).score(samples)
    assert np.abs(np.array(plain.values) - package_scores(model, 2, hyps, refs)).max() < 1e-5
    loaded = BertScore(model=model, layer=2).load_model()
    assert loaded.limit == 126
    spaced = _encoder.embed(loaded, [" cat"], "warn")[" cat"]
    assert [loaded.tokenizer.decode([token]) for token in spaced.ids[1:3]] == [" ", "c"]
    assert not np.allclose(BertScore(model=model, layer=2).score(samples).values, plain.values, atol=1e-3)


@pytest.mark.shared
def test_gender_bias_of_minilm(minilm: str) -> None:
    import json

    file = Path(__file__).parents[3] / "shared/data/stereotype_pairs/gender.jsonl"
    if not file.is_file():
        pytest.skip("the published data folder is not here")
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()][:120]
    samples = [Sample(r[side], (r["reference"],)) for r in rows for side in ("stereotype", "anti_stereotype")]
    values = np.array(BertScore(model=minilm, layer=6).score(samples).values)[:, 2].reshape(-1, 2)
    scaled = 100 * (values - values.min()) / np.ptp(values)
    assert 10 < np.abs(scaled[:, 0] - scaled[:, 1]).mean() < 20  # 14.5 over all 396 pairs


@pytest.mark.parametrize(
    ("model", "layer"),
    [
        ("roberta-large", 17),
        ("FacebookAI/roberta-large", 17),
        ("google-bert/bert-base-uncased", 9),
        ("distilbert/distilbert-base-uncased", 5),
        ("microsoft/deberta-xlarge-mnli", 40),
        ("minilm", 6),
    ],
)
def test_the_layer_does_not_depend_on_how_the_model_is_spelt(model: str, layer: int) -> None:
    assert BertScore(model=model).layer == layer


@pytest.mark.filterwarnings("ignore")
def test_the_layers_are_those_of_the_package() -> None:
    table = pytest.importorskip("bert_score.utils", reason="the bench extra has the reference package")
    tuned = toml_file("names", "bertscore_layers")["tuned"]
    assert tuned == {name: table.model2layers[name] for name in tuned}


def folder_with(folder: Path, **config: object) -> str:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    return str(folder)


def test_a_folder_has_the_layer_of_the_model_that_it_names_or_has_the_shape_of(tmp_path: Path) -> None:
    base = {"model_type": "roberta", "num_hidden_layers": 24, "hidden_size": 1024, "vocab_size": 50265}
    named = folder_with(tmp_path / "named", **base, _name_or_path="FacebookAI/roberta-large-mnli")
    shaped = folder_with(tmp_path / "shaped", **base, architectures=["RobertaForMaskedLM"])
    assert BertScore(model=named).layers == 19
    assert BertScore(model=shaped).layers == 17
    assert "layer:None@17" in BertScore(model=shaped).signature
    assert "layer:12" in BertScore(model=shaped, layer=12).signature


def test_a_model_that_nobody_tuned_is_refused_without_a_layer(
    bert: Callable[..., Path], tmp_path: Path
) -> None:
    from assay.errors import WeightsError

    with pytest.raises(WeightsError, match=r"no layer is known for .*give layer=N, 1 to 3"):
        BertScore(model=str(bert())).prepare()
    tuned = {"model_type": "roberta", "num_hidden_layers": 24, "hidden_size": 1024, "vocab_size": 50265}
    classifier = folder_with(tmp_path / "nli", **tuned, architectures=["RobertaForSequenceClassification"])
    with pytest.raises(WeightsError, match="give layer=N, 1 to 24"):
        BertScore(model=classifier).prepare()


def test_grid_equals_score(bert: Callable[..., Path]) -> None:
    metric = BertScore(model=str(bert()), layer=3)
    rows, columns = [*sentences_of(12, 5), ""], sentences_of(9, 6)
    grid = metric.grid(rows, columns)
    pairs = metric.score([Sample(r, (c,)) for r in rows for c in columns])
    assert np.abs(grid - np.array(pairs.values).reshape(13, 9, 3)).max() < 1e-6
    assert (grid[-1] == 0).all()  # an empty text scores 0, as in the package


def test_order_and_company_do_not_matter(bert: Callable[..., Path]) -> None:
    metric = BertScore(model=str(bert()), layer=3)
    samples = [Sample(h, (r,)) for h, r in zip(sentences_of(30, 7), sentences_of(30, 8), strict=True)]
    together = np.array(metric.score(samples).values)
    _encoder.MEMORY.clear()
    alone = np.array([metric.score([sample]).values[0] for sample in reversed(samples)])[::-1]
    assert np.abs(together - alone).max() < 1e-6


def test_each_text_is_encoded_once_and_memory_is_bounded(bert: Callable[..., Path]) -> None:
    metric = BertScore(model=str(bert()), layer=1)
    loaded = metric.load_model()
    before = COUNTER.forward_tokens
    metric.score([Sample("the cat", ("the dog",)), Sample("the dog", ("the cat",))])
    assert COUNTER.forward_tokens - before == 8  # two texts of two words and two specials
    memory = BoundedCache[_encoder.Embedded](budget=5000)
    embedded = _encoder.embed(loaded, ["the cat sat"], "warn")["the cat sat"]
    for number in range(100):
        memory.put((number,), embedded, embedded.vectors.nbytes)
        memory.get((0,))  # what is used stays, the oldest of the rest goes
    assert memory._size <= 5000
    assert memory.get((1,)) is None
    assert memory.get((0,)) is memory.get((99,)) is embedded


def test_rescaling_moves_the_zero(bert: Callable[..., Path], tmp_path: Path) -> None:
    table = tmp_path / "base.tsv"
    table.write_text("LAYER,P,R,F\n0,0,0,0\n3,0.5,0.25,0.4\n", "utf-8")
    plain = BertScore(model=str(bert()), layer=3)
    sample = Sample("the cat sat", ("a dog sat",))
    raw = np.array(plain.score([sample]).values[0])
    base = np.array([0.5, 0.25, 0.4])
    rescaled = replace(plain, rescale=str(table))
    assert np.allclose(rescaled.score([sample]).values[0], (raw - base) / (1 - base))
    assert rescaled.signature != plain.signature


def test_unrelated_texts_of_the_package_score_zero(bert: Callable[..., Path]) -> None:
    plain = BertScore(model=str(bert()), layer=3)
    pairs = unrelated_pairs()
    base = np.mean(plain.score(pairs).values, axis=0)
    rescaled = replace(plain, rescale="embedded")
    assert np.allclose(rescaled.baseline(), base)
    assert np.allclose(np.mean(rescaled.score(pairs).values, axis=0), 0, atol=1e-6)
    assert rescaled.score([Sample("the cat sat", ("the cat sat",))]).values[0] == pytest.approx(
        [1, 1, 1], abs=1e-5
    )
    assert "rescale:embedded@" in rescaled.signature  # the digest of the texts, beside the model's
    with pytest.raises(DataError, match=r"no baseline file none\.tsv; .* or rescale=embedded"):
        replace(plain, rescale="none.tsv").prepare()


def test_explains_who_met_whom(bert: Callable[..., Path]) -> None:
    metric = BertScore(model=str(bert()), layer=3)
    found = metric.explain(Sample("the cat sat", ("no", "the cat sat")))
    assert found is not None
    assert found.rows == found.columns == ("the", "cat", "sat")
    assert np.allclose(np.diag(np.array(found.values)), 1, atol=1e-5)


def test_windows_cover_every_token(bert: Callable[..., Path]) -> None:
    folder = bert(name="bert-short", limit=16)
    text = " ".join(["cat", "dog", "man"] * 15)
    sample = Sample(text, (text,))
    cut = BertScore(model=str(folder), layer=3).score([sample])
    assert cut.notes["truncated"] == [2 * (45 - 14)]
    whole = BertScore(model=str(folder), layer=3, overlong="window")
    assert whole.score([sample]).notes["truncated"] == [0]
    embedded = _encoder.embed(whole.load_model(), [text], "window")[text]
    assert len(embedded.ids) == 47
    assert embedded.vectors.shape == (47, 32)
    with pytest.raises(MetricError, match="overlong"):
        BertScore(model=str(folder), layer=3, overlong="error").score([sample])


def mover_by_hand(model: str, one: str, other: str, weight: Callable[[str], float]) -> float:
    """Unit vectors of the last layer without punctuation and continued word pieces, a linear program."""
    import torch
    from scipy.optimize import linprog
    from transformers import AutoModel, AutoTokenizer

    tokenizer, network = AutoTokenizer.from_pretrained(model), AutoModel.from_pretrained(model).eval()
    clouds, shares = [], []
    for text in (one, other):
        batch = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            states = network(**batch, output_hidden_states=True).hidden_states[-1][0].double().numpy()
        tokens = tokenizer.convert_ids_to_tokens(batch["input_ids"][0])
        places = [i for i, t in enumerate(tokens) if t not in (",", ".") and "##" not in t]
        clouds.append(states[places] / np.linalg.norm(states[places], axis=1, keepdims=True))
        weights = np.array([weight(tokens[i]) for i in places])
        shares.append(weights / weights.sum())
    a, b = clouds
    cost = np.linalg.norm(a[:, None] - b[None], axis=-1)
    rows = np.kron(np.eye(len(a)), np.ones(len(b)))
    columns = np.kron(np.ones(len(a)), np.eye(len(b)))
    solution = linprog(cost.ravel(), A_eq=np.concatenate([rows, columns]), b_eq=np.concatenate(shares))
    return 1 / (1 + solution.fun)


def test_moverscore_equals_a_linear_program(bert: Callable[..., Path]) -> None:
    model = str(bert())
    pairs = [("the cat sat on a mat, home.", "a dog ran."), ("cat", "the man rose"), ("dog 12", "dog 12")]
    ours = MoverScore(model=model).score([Sample(one, (other,)) for one, other in pairs])
    # Without idf the authors' second version gives every token the weight 1, start and end included.
    by_hand = [mover_by_hand(model, *pair, lambda token: 1.0) for pair in pairs]
    assert np.abs(np.array(ours.values) - by_hand).max() < 1e-5
    assert MoverScore(model=model).score([Sample("...", ("cat",))]).values == [None]


def test_moverscore_with_idf_gives_start_and_end_no_weight(bert: Callable[..., Path]) -> None:
    model = str(bert())
    documents = ["the cat sat", "the dog", "a man rose", "the cat"]
    metric = MoverScore(model=model).fitted([(text,) for text in documents])

    def idf(token: str) -> float:
        return float(np.log(5 / (1 + sum(token in f"[CLS] {text} [SEP]".split() for text in documents))))

    pair = ("the cat sat, man", "a dog rose.")
    value = metric.score([Sample(pair[0], (pair[1],))]).values[0]
    assert value == pytest.approx(mover_by_hand(model, *pair, idf), abs=1e-5)
    assert idf("[CLS]") == 0


@pytest.mark.parametrize(("model", "layer"), [("distilbert-base-uncased", 5), ("bert-base-uncased", 9)])
def test_moverscore_reads_the_last_layer(model: str, layer: int) -> None:
    assert MoverScore(model=model).layers is None  # all layers are computed, and the last is read
    assert MoverScore(model="minilm").layer == 6  # the last of six
    assert BertScore(model=model).layer == layer  # tuned for BERTScore, not for MoverScore


def test_moverscore_bigrams_and_idf_by_hand(bert: Callable[..., Path]) -> None:
    metric = MoverScore(model=str(bert()), n=2).fitted([("the cat sat",), ("the dog",)])
    loaded = metric.load_model()
    known = _encoder.embed(loaded, ["cat sat dog", "dog"], "warn")
    idf = {"cat": np.log(3 / 2), "sat": np.log(3 / 2), "dog": np.log(3 / 2), "the": 0.0}
    assert metric.table is not None
    ids = loaded.tokenizer.convert_tokens_to_ids(["cat", "the", "man"])
    assert [metric.table.values.get(i, metric.table.unseen) for i in ids] == pytest.approx(
        [idf["cat"], 0.0, np.log(3)]
    )
    mine = known["cat sat dog"].vectors[1:-1]
    bigrams = (mine[:-1] + mine[1:]) / 2
    distance = np.linalg.norm(bigrams - known["dog"].vectors[1], axis=1).mean()
    assert metric.score([Sample("cat sat dog", ("dog",))]).values[0] == pytest.approx(
        1 / (1 + distance), abs=1e-6
    )


def test_sentence_vectors_equal_mean_pooling(bert: Callable[..., Path]) -> None:
    import torch

    loaded = load("AutoModel", str(bert()), unused=("pooler",))
    vectors = []
    for text in ("the cat sat", "a dog ran home"):
        with torch.no_grad():
            states = loaded.model(**loaded.tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0)
        vectors.append((states / states.norm()).numpy())
    metric = SentenceCosine(model=str(bert()))
    expected = float(vectors[0] @ vectors[1])
    assert metric.score([Sample("the cat sat", ("a dog ran home",))]).values[0] == pytest.approx(
        expected, abs=1e-5
    )
    assert metric.grid(["the cat sat"], ["a dog ran home"])[0, 0] == pytest.approx(expected, abs=1e-5)


def sentence_encoder(folder: Path, source: Path, *modules: str, mode: str = "", **prompts: object) -> str:
    """A copy of a model in the layout of sentence-transformers."""
    import shutil

    import torch

    shutil.copytree(source, folder)
    rows = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
    for number, kind in enumerate(modules, start=1):
        home = folder / f"{number}_{kind}"
        home.mkdir()
        rows.append({"idx": number, "name": str(number), "path": home.name,
                     "type": f"sentence_transformers.models.{kind}"})  # fmt: skip
        if kind == "Pooling":
            modes = {f"pooling_mode_{name}": name == mode for name in
                     ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "lasttoken")}  # fmt: skip
            (home / "config.json").write_text(json.dumps({"word_embedding_dimension": 32, **modes}), "utf-8")
        if kind == "Dense":
            settings = {"in_features": 32, "out_features": 8, "bias": True,
                        "activation_function": "torch.nn.modules.activation.Tanh"}  # fmt: skip
            (home / "config.json").write_text(json.dumps(settings), "utf-8")
            torch.manual_seed(11)
            layer = torch.nn.Linear(32, 8)
            state = {f"linear.{key}": value for key, value in layer.state_dict().items()}
            torch.save(state, home / "pytorch_model.bin")
    (folder / "modules.json").write_text(json.dumps(rows), "utf-8")
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts), "utf-8")
    return str(folder)


def states_of(folder: Path, text: str) -> np.ndarray:
    import torch
    from transformers import AutoModel, AutoTokenizer

    batch = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    with torch.no_grad():
        return np.asarray(AutoModel.from_pretrained(folder).eval()(**batch).last_hidden_state[0])


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


@pytest.mark.parametrize(
    ("mode", "pool"),
    [
        ("cls_token", lambda states: states[0]),
        ("mean_tokens", lambda states: states.mean(0)),
        ("max_tokens", lambda states: states.max(0)),
        ("lasttoken", lambda states: states[-1]),
    ],
)
def test_a_sentence_encoder_pools_as_its_own_files_say(
    bert: Callable[..., Path], tmp_path: Path, mode: str, pool: Callable[[np.ndarray], np.ndarray]
) -> None:
    model = sentence_encoder(tmp_path / mode, bert(), "Pooling", "Normalize", mode=mode)
    one, other = "the cat sat", "a dog"
    expected = cosine(*(pool(states_of(bert(), text)) for text in (one, other)))
    metric = SentenceCosine(model=model)
    assert metric.score([Sample(one, (other,)), Sample(other, (other,))]).values[0] == pytest.approx(
        expected, abs=1e-5
    )
    form = metric.differentiable()
    assert float(form.score(form.load_copy(), [(one, other)])[0, 0]) == pytest.approx(expected, abs=1e-5)


def test_labse_has_a_linear_layer_after_its_first_token(
    bert: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))

    model = sentence_encoder(tmp_path / "labse", bert(), "Pooling", "Dense", "Normalize", mode="cls_token")
    state = torch.load(Path(model) / "2_Dense" / "pytorch_model.bin", weights_only=True)
    weight, bias = state["linear.weight"].numpy(), state["linear.bias"].numpy()
    vectors = [np.tanh(weight @ states_of(bert(), text)[0] + bias) for text in ("the cat sat", "a dog")]
    score = SentenceCosine(model=model).score([Sample("the cat sat", ("a dog",))]).values[0]
    assert score == pytest.approx(cosine(*vectors), abs=1e-5)


def test_the_default_prompt_stands_before_a_text(bert: Callable[..., Path], tmp_path: Path) -> None:
    prompts = {"query": "the firm ", "passage": "no "}
    model = sentence_encoder(
        tmp_path / "prompted",
        bert(),
        "Pooling",
        mode="cls_token",
        prompts=prompts,
        default_prompt_name="query",
    )
    texts = ("the cat sat", "a dog")

    def expected(prefix: str) -> float:
        return cosine(*(states_of(bert(), prefix + text)[0] for text in texts))

    sample = Sample(texts[0], (texts[1],))
    assert SentenceCosine(model=model).score([sample]).values[0] == pytest.approx(
        expected("the firm "), abs=1e-5
    )
    plain = SentenceCosine(model=model, prefix="")
    assert plain.score([sample]).values[0] == pytest.approx(expected(""), abs=1e-5)


def test_e5_has_the_prompt_that_its_files_lack() -> None:
    from assay.models.encoder import prompt_by_name

    assert (
        prompt_by_name("intfloat/multilingual-e5-base") == prompt_by_name("intfloat/e5-small-v2") == "query: "
    )
    assert prompt_by_name("intfloat/multilingual-e5-large-instruct") is None
    assert prompt_by_name("BAAI/bge-base-en-v1.5") is None


def test_an_unknown_pooling_is_refused(bert: Callable[..., Path], tmp_path: Path) -> None:
    from assay.errors import WeightsError

    model = sentence_encoder(tmp_path / "sqrt", bert(), "Pooling", mode="mean_sqrt_len_tokens")
    with pytest.raises(WeightsError, match=r"pools by mean_sqrt_len_tokens; supported is one of cls_token"):
        SentenceCosine(model=model).score([Sample("a", ("b",))])


@pytest.mark.parametrize("beta", [0.5, 2.0])
def test_beta_weighs_recall_in_f(bert: Callable[..., Path], beta: float) -> None:
    metric = BertScore(model=str(bert()), layer=2, beta=beta)
    rows, columns = sentences_of(4, 1), sentences_of(3, 2)
    p, r, f = np.array(metric.score([Sample(a, (b,)) for a in rows for b in columns]).values).T
    assert np.allclose(f, (1 + beta**2) * p * r / (beta**2 * p + r))
    assert np.allclose(metric.grid(rows, columns)[..., 2].ravel(), f, atol=1e-6)
    form = metric.differentiable()
    trained = form.score(form.load_copy(), [(a, b) for a in rows for b in columns])
    assert np.allclose(trained[:, 2].detach().numpy(), f, atol=1e-5)
    assert metric.signature != BertScore(model=str(bert()), layer=2).signature


def test_beta_is_positive() -> None:
    from assay.errors import SpecError

    with pytest.raises(SpecError, match="beta=0: more than 0 is needed"):
        BertScore(beta=0)
