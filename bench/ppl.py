"""gpt-ppl on perturbed versions of texts, against a loop of one text at a time through transformers.

Run: python -m bench.ppl [references] [versions]
"""

from __future__ import annotations

import sys
import time

import numpy as np
from bench.perturbed import references, versions

from assay.core import Sample
from assay.metrics.likelihood import GptPerplexity
from assay.models import likelihood as _likelihood
from assay.models.loading import plain_folder
from assay.models.torch import COUNTER


def main(count: int = 8, each: int = 12) -> dict[str, float]:
    import torch
    import transformers

    texts = [text for reference in references(count) for text in (reference, *versions(reference, each))]
    metric = GptPerplexity(scale="log")
    metric.prepare()
    metric.score([Sample("warm up")])
    before = COUNTER.forward_tokens
    began = time.perf_counter()
    ours = np.array(metric.score([Sample(text) for text in texts]).values)
    mine = time.perf_counter() - began
    tokens = COUNTER.forward_tokens - before

    loaded = metric.load_model()
    start = _likelihood.start_id(loaded)
    model = transformers.AutoModelForCausalLM.from_pretrained(plain_folder(loaded.path)).eval()
    loop, read = [], 0
    began = time.perf_counter()
    with torch.inference_mode():
        for text in texts:
            ids = torch.tensor([[start, *loaded.tokenizer(text, add_special_tokens=False)["input_ids"]]])
            loop.append(-float(model(input_ids=ids, labels=ids).loss))
            read += ids.shape[1]
    theirs = time.perf_counter() - began
    return {
        "texts": float(len(texts)),
        "ours_seconds": mine,
        "loop_seconds": theirs,
        "times": theirs / mine,
        "largest_difference": float(np.abs(ours - np.array(loop)).max()),
        "forward_tokens": float(tokens),
        "loop_tokens": float(read),
    }


if __name__ == "__main__":
    for name, value in main(*map(int, sys.argv[1:])).items():
        print(f"{name:20} {value:,.6g}")
