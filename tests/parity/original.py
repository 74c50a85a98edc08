"""Scores of an original package, run in a process of its own: a job as JSON on stdin, scores as JSON on stdout.

The first argument is the folder that the package is installed in, the second its name.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any


def unbabel_comet(job: dict[str, Any]) -> list[float]:
    import torch
    from comet.models import load_from_checkpoint

    model = load_from_checkpoint(job["checkpoint"], local_files_only=True).eval()
    rows = [
        {
            "src": row["source"],
            "mt": row["hypothesis"],
            **({} if job["qe"] else {"ref": row["references"][0]}),
        }
        for row in job["samples"]
    ]
    scores = []
    for row in rows:  # one by one: older versions normalise over a whole batch
        with torch.no_grad():
            scores.append(
                float(model.predict_step(model.prepare_sample([row], stage="predict"))["scores"][0])
            )
    return scores


def sentence_transformers(job: dict[str, Any]) -> list[float]:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(job["checkpoint"], device="cpu")
    scores = []
    for row in job["samples"]:
        one, other = model.encode([row["hypothesis"], row["references"][0]], normalize_embeddings=True)
        scores.append(float(one @ other))
    return scores


def bert_score(job: dict[str, Any]) -> list[float]:
    from bert_score import BERTScorer

    scorer = BERTScorer(model_type=job["checkpoint"], num_layers=job["layer"], device="cpu", nthreads=0)
    hypotheses = [row["hypothesis"] for row in job["samples"]]
    references = [row["references"][0] for row in job["samples"]]
    return [float(value) for value in scorer.score(hypotheses, references, batch_size=1)[2]]


def mauve_text(job: dict[str, Any]) -> list[float]:
    import mauve
    import numpy as np

    p, q = np.array(job["p"]), np.array(job["q"])
    return [float(mauve.compute_mauve(p_features=p, q_features=q, verbose=False, seed=0).mauve)]


def sacrebleu(job: dict[str, Any]) -> list[float]:
    from sacrebleu.metrics import BLEU, CHRF, TER

    metrics = {
        "sacrebleu": BLEU(effective_order=True),
        "sacrebleu:smooth=floor,smooth_value=0.5": BLEU(
            effective_order=True, smooth_method="floor", smooth_value=0.5
        ),
        "chrf": CHRF(),
        "chrf++": CHRF(word_order=2),
        "ter": TER(),
        "ter:case_sensitive=true,normalized=true,no_punct=true": TER(
            case_sensitive=True, normalized=True, no_punct=True
        ),
    }
    metric = metrics[job["metric"]]
    return [metric.sentence_score(row["hypothesis"], row["references"]).score for row in job["samples"]]


def rouge_score(job: dict[str, Any]) -> list[float]:
    from rouge_score.rouge_scorer import RougeScorer

    name, _, part = job["metric"].partition("-")
    attribute = {"": "fmeasure", "p": "precision", "r": "recall"}[part]
    scorer = RougeScorer([name])
    found = [scorer.score_multi(row["references"], row["hypothesis"])[name] for row in job["samples"]]
    return [getattr(score, attribute) for score in found]


def nltk(job: dict[str, Any]) -> list[float]:
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
    from nltk.translate.chrf_score import sentence_chrf
    from nltk.translate.nist_score import sentence_nist

    scores = []
    for row in job["samples"]:
        hypothesis, references = row["hypothesis"].split(), [text.split() for text in row["references"]]
        if job["metric"] == "bleu":
            smooth = SmoothingFunction().method1
            scores.append(float(sentence_bleu(references, hypothesis, smoothing_function=smooth)))
        elif job["metric"] == "nist:n=3":
            scores.append(float(sentence_nist(references, hypothesis, n=3)))
        else:
            scores.append(max(float(sentence_chrf(text, row["hypothesis"])) for text in row["references"]))
    return scores


def bleurt_pytorch(job: dict[str, Any]) -> list[float]:
    import torch
    from bleurt_pytorch import BleurtForSequenceClassification, BleurtTokenizer

    model = BleurtForSequenceClassification.from_pretrained(job["checkpoint"]).eval()
    tokenizer = BleurtTokenizer.from_pretrained(job["checkpoint"])
    scores = []
    for row in job["samples"]:
        batch = tokenizer(row["references"][0], row["hypothesis"], return_tensors="pt")
        with torch.no_grad():
            scores.append(float(model(**batch).logits.flatten()[0]))
    return scores


def moverscore(job: dict[str, Any]) -> list[float]:
    """Version 2 as it is on the index: it names a model, a GPU and things that numpy and transformers have dropped."""
    import types
    from collections import defaultdict

    import numpy as np
    import torch
    import transformers

    names = ("DistilBertConfig", "DistilBertTokenizer", "DistilBertModel")
    shim = types.ModuleType("transformers")
    shim.__all__ = list(names)  # type: ignore[attr-defined]
    for name in names:
        read = getattr(transformers, name).from_pretrained
        tuples = {"return_dict": False, "attn_implementation": "eager"} if name == "DistilBertConfig" else {}
        if job["double"] and name == "DistilBertModel":
            tuples = {"torch_dtype": torch.float64}
        setattr(shim, name, types.SimpleNamespace(
            from_pretrained=lambda _, read=read, more=tuples, **given: read(job["checkpoint"], **given, **more)
        ))  # fmt: skip
    sys.modules["transformers"] = shim
    transformers.DistilBertTokenizer.max_len = 128
    np.float = float
    torch.set_default_dtype(torch.float64 if job["double"] else torch.float32)
    torch.nn.Module.to = lambda self, *args, **kwargs: self
    tensor_to = torch.Tensor.to
    torch.Tensor.to = lambda self, *args, **kwargs: (
        self if "device" in kwargs else tensor_to(self, *args, **kwargs)
    )
    plot = types.ModuleType("matplotlib")
    sys.modules |= {"matplotlib": plot, "matplotlib.pyplot": plot}
    plot.pyplot = plot  # type: ignore[attr-defined]
    import moverscore_v2

    ones: Any = defaultdict(lambda: 1.0)
    pairs = [(row["references"][0], row["hypothesis"]) for row in job["samples"]]
    scores = [float(moverscore_v2.word_mover_score([one], [other], ones, ones)[0]) for one, other in pairs]
    return [1 / (2 - score) for score in scores]  # this release gives 1 - distance, others 1 / (1 + distance)


def torchmetrics(job: dict[str, Any]) -> list[float]:
    import torch
    from torchmetrics.functional import text
    from torchmetrics.functional.multimodal import clip_score
    from transformers import CLIPModel

    for name in ("get_image_features", "get_text_features"):  # it expects tensors, as transformers 4 gave
        method = getattr(CLIPModel, name)
        setattr(CLIPModel, name, lambda *a, method=method, **k: method(*a, **k).pooler_output)

    def one(place: int, row: dict[str, Any]) -> float:
        if job["metric"] == "ter":
            return float(text.translation_edit_rate([row["hypothesis"]], [row["references"]])) * 100
        picture = torch.tensor(job["images"][place], dtype=torch.uint8).permute(2, 0, 1)
        return float(clip_score(picture, row["hypothesis"], job["checkpoint"])) / 100

    return [one(place, row) for place, row in enumerate(job["samples"])]


def pycocoevalcap(job: dict[str, Any]) -> list[float]:
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    if job["metric"] == "ptb":
        texts = {str(place): [{"caption": text}] for place, text in enumerate(job["texts"])}
        tokens = [words for (words,) in PTBTokenizer().tokenize(texts).values()]
        differing = [ours != theirs for ours, theirs in zip(job["tokens"], tokens, strict=True)]
        return [sum(differing) / len(differing)]
    references = {str(place): row["references"] for place, row in enumerate(job["samples"])}
    hypotheses = {str(place): [row["hypothesis"]] for place, row in enumerate(job["samples"])}
    return [float(value) for value in Cider().compute_score(references, hypotheses)[1]]


def wefe(job: dict[str, Any]) -> list[float]:
    import numpy as np
    from gensim.models import KeyedVectors
    from wefe.metrics import WEAT
    from wefe.query import Query
    from wefe.word_embedding_model import WordEmbeddingModel

    words = [f"w{place}" for place in range(len(job["vectors"]))]
    vectors = KeyedVectors(len(job["vectors"][0]))
    vectors.add_vectors(words, np.array(job["vectors"]))
    query = Query([words[:8], words[8:16]], [words[16:22], words[22:]])
    result = WEAT().run_query(query, WordEmbeddingModel(vectors))
    return [float(result[job["what"]])]


def adapters(job: dict[str, Any]) -> list[float]:
    """Its bottleneck after the last layer norm of a block, as in Eq. 3 of the paper."""
    import adapters
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(job["checkpoint"]).eval()
    adapters.init(model)
    model.add_adapter("debias", config=adapters.BnConfig(
        mh_adapter=False, output_adapter=True, reduction_factor=model.config.hidden_size / 4,
        non_linearity="gelu", original_ln_before=True, original_ln_after=False, residual_before_ln=False,
    ))  # fmt: skip
    model.set_active_adapters("debias")
    model.eval()
    own = [parameter for name, parameter in model.named_parameters() if ".adapters.debias." in name]
    with torch.no_grad():
        for parameter, values in zip(own, job["weights"], strict=True):
            parameter.copy_(torch.tensor(values))
        states = model(input_ids=torch.tensor(job["ids"])).last_hidden_state
    return [float(value) for value in states.flatten()]


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    warnings.simplefilter("ignore")
    print(json.dumps(globals()[sys.argv[2].replace("-", "_")](json.load(sys.stdin))))
