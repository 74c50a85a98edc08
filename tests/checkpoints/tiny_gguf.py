"""A tiny Llama in one GGUF file, with its tokenizer: what quantised models look like before they are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def gguf_model(folder: Path, seed: int = 0) -> None:
    """Write `tiny.gguf` with random weights."""
    import gguf
    from tokenizers import pre_tokenizers

    folder.mkdir(parents=True)
    tokens = ["<|endoftext|>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "ab"]
    width, inner, heads = 32, 64, 2
    writer = gguf.GGUFWriter(folder / "tiny.gguf", "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_merges(["a b"])
    writer.add_token_types([3] + [1] * (len(tokens) - 1))
    for add in (writer.add_bos_token_id, writer.add_eos_token_id, writer.add_pad_token_id):
        add(0)
    draw = np.random.default_rng(seed)
    shapes = {
        "token_embd": (len(tokens), width), "output": (len(tokens), width), "blk.0.attn_q": (width, width),
        "blk.0.attn_k": (width, width), "blk.0.attn_v": (width, width), "blk.0.attn_output": (width, width),
        "blk.0.ffn_gate": (inner, width), "blk.0.ffn_up": (inner, width), "blk.0.ffn_down": (width, inner),
    }  # fmt: skip
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", draw.normal(0, 0.3, shape).astype(np.float32))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(width, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
