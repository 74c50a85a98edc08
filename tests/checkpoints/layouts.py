"""Tiny random models in the layouts of public repositories: the same files, config keys, tensor names, tokenizers.

Each builder fills a folder and returns the tensors it saved. What trainers leave in a repository (pickled
settings, optimizers, random states) is imitated too: none of it may be read.
"""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the extra: pip install 'nlg-assay[neural]'")
transformers = pytest.importorskip("transformers")
sentencepiece = pytest.importorskip("sentencepiece")

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,?!:'-"
WORDS = ["the", "cat", "dog", "sat", "a", "man", "yes", "no", "firm", "profit", "shares", "rose"]
TEXTS = [
    "The firm made a profit , and the shares rose .", "A dog sat on the mat . The cat ran home .",
    "question: Is this a coherent summary to the document? Yes No", "candidate: source: reference: claim:",
    "The man and the woman said no , twice .", "Die Aktien stiegen . Der Hund lief nach Hause .",
] * 3  # fmt: skip
SMALL = {"num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "hidden_size": 32}
Tensors = dict[str, Any]
LONG = 1000000000000000019884624838656  # what tokenizers without a limit say


class TrainingArguments:
    """Stands for the pickled settings of a trainer, which nobody may unpickle."""


def write(folder: Path, **files: object) -> None:
    """Write JSON files; `tokenizer_config={...}` becomes tokenizer_config.json."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content, indent=2), "utf-8")


def randomised(model: Any, seed: int = 7) -> Any:
    torch.manual_seed(seed)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model.eval()


def config_of(model: Any, **changed: object) -> dict[str, Any]:
    return {**model.config.to_dict(), "architectures": [type(model).__name__], "dtype": None, **changed}


def save(folder: Path, model: Any, extra: Tensors | None = None, name: str = "pytorch_model.bin") -> Tensors:
    tensors = {**model.state_dict(), **(extra or {})}
    torch.save(tensors, folder / name)
    return {key: value.clone() for key, value in tensors.items()}


def pieces(folder: Path, name: str, size: int = 90, **settings: object) -> list[str]:
    """Train a model of sentence pieces, and return its pieces."""
    content = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS), model_writer=content, vocab_size=size, hard_vocab_limit=False,
        minloglevel=2, **settings,
    )  # fmt: skip
    (folder / name).write_bytes(content.getvalue())
    reader = sentencepiece.SentencePieceProcessor(model_proto=content.getvalue())
    return [reader.id_to_piece(number) for number in range(reader.get_piece_size())]


def word_pieces(folder: Path, kind: str, limit: int) -> int:
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    vocabulary += [*LETTERS, *("##" + letter for letter in LETTERS)]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", "utf-8")
    marks = {"cls_token": "[CLS]", "mask_token": "[MASK]", "pad_token": "[PAD]", "sep_token": "[SEP]", "unk_token": "[UNK]"}  # fmt: skip
    settings = {"do_lower_case": True, "do_basic_tokenize": True, "never_split": None, "strip_accents": None,
                "tokenize_chinese_chars": True, "model_max_length": limit}  # fmt: skip
    write(folder, special_tokens_map=marks, tokenizer_config={**settings, **marks, "tokenizer_class": kind})
    return len(vocabulary)


def frugalscore(folder: Path) -> Tensors:
    folder.mkdir(parents=True)
    size = word_pieces(folder, "BertTokenizer", 512)
    config = transformers.BertConfig(vocab_size=size, num_labels=1, **SMALL)
    model = randomised(transformers.BertForSequenceClassification(config))
    write(folder, config=config_of(model), all_results={"epoch": 3.0}, trainer_state={"epoch": 3.0})
    torch.save(TrainingArguments(), folder / "training_args.bin")
    return save(folder, model, {"bert.embeddings.position_ids": torch.arange(512)[None]})


def _bleurt(folder: Path, size: int, narrow: int | None) -> Tensors:
    settings = {**SMALL, "vocab_size": size, "hidden_act": "gelu", "max_position_embeddings": 128,
                "type_vocab_size": 2, "layer_norm_eps": 1e-12, "pad_token_id": 0}  # fmt: skip
    body = randomised(transformers.ElectraModel(
        transformers.ElectraConfig(**settings, embedding_size=narrow or 32)
    ))  # fmt: skip
    pooler, last = torch.nn.Linear(32, 32), torch.nn.Linear(32, 1)
    tensors = {"bleurt.embeddings.position_ids": torch.arange(128)[None]}
    for key, value in body.state_dict().items():
        name = key.replace("embeddings_project.", "encoder.embedding_projection.")
        if not name.endswith("_ids"):
            tensors[f"bleurt.{name}"] = value
    tensors |= {f"bleurt.pooler.dense.{key}": value for key, value in pooler.state_dict().items()}
    tensors |= {f"classifier.{key}": value for key, value in last.state_dict().items()}
    more = {"architectures": ["BleurtForSequenceClassification"], "attention_probs_dropout_prob": 0,
            "classifier_dropout": None, "embedding_dropout_prob": 0, "hidden_dropout_prob": 0,
            "embedding_size": narrow, "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0},
            "initializer_range": 0.02, "model_type": "bleurt", "output_embedding_size": 2048,
            "position_embedding_type": "absolute", "tie_word_embeddings": False, "torch_dtype": "float32",
            "transformers_version": "4.25.1", "use_cache": False}  # fmt: skip
    write(folder, config={**settings, **more})
    torch.save(tensors, folder / "pytorch_model.bin")
    return tensors


def bleurt_base(folder: Path) -> Tensors:
    folder.mkdir(parents=True)
    return _bleurt(folder, word_pieces(folder, "BleurtTokenizer", LONG), None)


def bleurt_20(folder: Path) -> Tensors:
    folder.mkdir(parents=True)
    known = pieces(
        folder, "spm.model", pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]",
        eos_piece="[SEP]", unk_piece="[UNK]", control_symbols=["[MASK]"],
    )  # fmt: skip
    marks = {"bos_token": "[CLS]", "cls_token": "[CLS]", "eos_token": "[SEP]", "mask_token": "[MASK]",
             "pad_token": "[PAD]", "sep_token": "[SEP]", "unk_token": "[UNK]"}  # fmt: skip
    settings = {**marks, "do_lower_case": False, "model_max_length": LONG, "name_or_path": "BLEURT-20",
                "sp_model_kwargs": {}, "special_tokens_map_file": "BLEURT-20/special_tokens_map.json",
                "split_by_punct": False, "tokenizer_class": "BleurtSPTokenizer"}  # fmt: skip
    write(folder, tokenizer_config=settings, special_tokens_map=marks)
    return _bleurt(folder, len(known), 16)


def _t5(folder: Path, model: Any, **changed: object) -> Tensors:
    write(folder, config=config_of(model, **changed))
    shared = model.state_dict()["shared.weight"]
    return save(folder, model, {"encoder.embed_tokens.weight": shared, "decoder.embed_tokens.weight": shared})


def t5_pieces(folder: Path, extra: int) -> int:
    marks = {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    words = ["▁Yes", "▁No"]
    known = pieces(
        folder, "spiece.model", pad_id=0, eos_id=1, unk_id=2, bos_id=-1, user_defined_symbols=words
    )
    more = {"additional_special_tokens": [f"<extra_id_{number}>" for number in range(extra)]} if extra else {}
    settings = {
        **marks,
        **more,
        "extra_ids": extra,
        "model_max_length": 512,
        "tokenizer_class": "T5Tokenizer",
    }
    write(folder, tokenizer_config=settings, special_tokens_map={**marks, **more})
    return len(known) + extra


def unieval(folder: Path) -> Tensors:
    folder.mkdir(parents=True)
    size = t5_pieces(folder, 100)
    config = transformers.T5Config(
        vocab_size=size + 28, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1, tie_word_embeddings=False,
    )  # fmt: skip
    model = randomised(transformers.T5ForConditionalGeneration(config))
    for name in ("optimizer.pt", "rng_state_0.pth", "rng_state_1.pth", "scheduler.pt", "training_args.bin"):
        torch.save(TrainingArguments(), folder / name)
    (folder / "latest").write_text("global_step1", "utf-8")
    return _t5(folder, model)


def mt5_tokenizer(folder: Path) -> Tensors:
    """The repository of mT5, of which only the tokenizer is fetched."""
    folder.mkdir(parents=True)
    t5_pieces(folder, 0)
    write(
        folder,
        config={"model_type": "mt5", "architectures": ["MT5ForConditionalGeneration"], "vocab_size": 250112},
    )
    return {}


def metricx(folder: Path) -> Tensors:
    """No tokenizer; the score is the logit of <extra_id_10>, number 250089."""
    folder.mkdir(parents=True)
    config = transformers.MT5Config(
        vocab_size=250112, d_model=8, d_kv=4, d_ff=16, num_layers=1, num_heads=2, tie_word_embeddings=False,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    model = randomised(transformers.MT5ForConditionalGeneration(config))
    return _t5(folder, model, architectures=["MT5ForRegression"])


def m2m100(folder: Path) -> Tensors:
    folder.mkdir(parents=True)
    known = pieces(folder, "sentencepiece.bpe.model", model_type="bpe")
    vocabulary = dict.fromkeys(["<s>", "<pad>", "</s>", "<unk>", *known])
    write(folder, vocab={piece: place for place, piece in enumerate(vocabulary)})
    languages = transformers.models.m2m_100.tokenization_m2m_100.FAIRSEQ_LANGUAGE_CODES["m2m100"]
    marks = {"bos_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}  # fmt: skip
    more = {"additional_special_tokens": [f"__{language}__" for language in languages]}
    write(folder, special_tokens_map={**marks, **more}, generation_config={"num_beams": 5, "max_length": 200},
          tokenizer_config={**marks, **more, "src_lang": None, "tgt_lang": None, "language_codes": "m2m100",
                            "model_max_length": 1024, "tokenizer_class": "M2M100Tokenizer", "num_madeup_words": 8})  # fmt: skip
    config = transformers.M2M100Config(
        vocab_size=len(vocabulary) + len(languages) + 8, d_model=32, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48,
        max_position_embeddings=128,
    )  # fmt: skip
    return _seq2seq(folder, randomised(transformers.M2M100ForConditionalGeneration(config)))


def _seq2seq(folder: Path, model: Any) -> Tensors:
    write(folder, config=config_of(model))
    return save(folder, model)


def byte_pairs(folder: Path, specials: dict[str, str], **settings: object) -> int:
    """Byte-level BPE without merges: vocab.json, merges.txt and, as published, tokenizer.json."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    tokens = [*dict.fromkeys(specials.values()), *sorted(pre_tokenizers.ByteLevel.alphabet())]
    backend = Tokenizer(models.BPE({token: place for place, token in enumerate(tokens)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    start, end = specials["bos_token"], specials["eos_token"]
    backend.post_processor = processors.RobertaProcessing(
        (end, tokens.index(end)), (start, tokens.index(start)), trim_offsets=False, add_prefix_space=False
    )
    backend.save(str(folder / "tokenizer.json"))
    (folder / "merges.txt").write_text("#version: 0.2\n", "utf-8")
    write(folder, vocab={token: place for place, token in enumerate(tokens)}, special_tokens_map=specials,
          tokenizer_config={**specials, **settings})  # fmt: skip
    return len(tokens)


def clip(folder: Path) -> Tensors:
    folder.mkdir(parents=True)
    specials = {"bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>",
                "unk_token": "<|endoftext|>"}  # fmt: skip
    size = byte_pairs(folder, specials, model_max_length=77, do_lower_case=True)
    text = {**SMALL, "vocab_size": size, "max_position_embeddings": 77, "bos_token_id": 0, "eos_token_id": 1,
            "pad_token_id": 1}  # fmt: skip
    config = transformers.CLIPConfig(
        text_config=text, vision_config={**SMALL, "image_size": 32, "patch_size": 8}, projection_dim=16
    )
    model = randomised(transformers.CLIPModel(config), 6)  # with this seed captions fit their images
    write(folder, config=config_of(model, text_config_dict=None, vision_config_dict=None),
          preprocessor_config={"crop_size": 32, "do_center_crop": True, "do_normalize": True, "do_resize": True,
                               "feature_extractor_type": "CLIPFeatureExtractor", "resample": 3, "size": 32,
                               "image_mean": [0.48, 0.46, 0.41], "image_std": [0.27, 0.26, 0.28]})  # fmt: skip
    (folder / "tf_model.h5").write_bytes(b"another framework")
    positions = {"text_model.embeddings.position_ids": torch.arange(77)[None],
                 "vision_model.embeddings.position_ids": torch.arange(17)[None]}  # fmt: skip
    return save(folder, model, positions)


def siglip(folder: Path) -> Tensors:
    """google/siglip-base-patch16-224: sentence pieces, the end of a text as padding, 64 places, safetensors."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    known = pieces(folder, "spiece.model", pad_id=-1, eos_id=1, unk_id=2, bos_id=0)
    marks = {"eos_token": "</s>", "pad_token": "</s>", "unk_token": "<unk>"}
    settings = {**marks, "additional_special_tokens": [], "clean_up_tokenization_spaces": True, "do_lower_case": True,
                "model_input_names": ["input_ids"], "model_max_length": 64, "processor_class": "SiglipProcessor",
                "sp_model_kwargs": {}, "tokenizer_class": "SiglipTokenizer"}  # fmt: skip
    text = {**SMALL, "vocab_size": len(known), "max_position_embeddings": 64, "projection_size": 32,
            "pad_token_id": 1, "eos_token_id": 1, "bos_token_id": 0}  # fmt: skip
    config = transformers.SiglipConfig(
        text_config=text, vision_config={**SMALL, "image_size": 32, "patch_size": 8}
    )
    model = randomised(transformers.SiglipModel(config))
    image = {"do_rescale": True, "do_normalize": True, "do_resize": True, "resample": 3, "rescale_factor": 1 / 255,
             "image_processor_type": "SiglipImageProcessor", "size": {"height": 32, "width": 32},
             "image_mean": [0.5] * 3, "image_std": [0.5] * 3, "processor_class": "SiglipProcessor"}  # fmt: skip
    write(
        folder,
        config=config_of(model),
        tokenizer_config=settings,
        special_tokens_map=marks,
        preprocessor_config=image,
    )
    save_file(model.state_dict(), folder / "model.safetensors", {"format": "pt"})
    return {key: value.clone() for key, value in model.state_dict().items()}


def bart(folder: Path, name: str = "pytorch_model.bin", seed: int = 7) -> Tensors:
    folder.mkdir(parents=True, exist_ok=True)
    specials = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    size = byte_pairs(folder, specials, model_max_length=128)
    config = transformers.BartConfig(
        vocab_size=size, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=128,
        bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2,
    )  # fmt: skip
    model = randomised(transformers.BartForConditionalGeneration(config), seed)
    write(folder, config=config_of(model))
    return save(folder, model, name=name)


def xlm_roberta(folder: Path) -> Tensors:
    folder.mkdir(parents=True)
    known = pieces(folder, "sentencepiece.bpe.model")
    marks = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "unk_token": "<unk>",
             "pad_token": "<pad>", "mask_token": "<mask>"}  # fmt: skip
    write(
        folder, tokenizer_config={**marks, "model_max_length": 512, "tokenizer_class": "XLMRobertaTokenizer"}
    )
    config = transformers.XLMRobertaConfig(
        vocab_size=len(known) + 10, max_position_embeddings=514, type_vocab_size=1, pad_token_id=1, bos_token_id=0,
        eos_token_id=2, layer_norm_eps=1e-5, **SMALL,
    )  # fmt: skip
    model = randomised(transformers.XLMRobertaModel(config, add_pooling_layer=False))
    write(folder, config=config_of(model))
    return dict(model.state_dict())


def comet(
    folder: Path,
    encoder: Tensors,
    kind: str = "regression_metric",
    *,
    lightning: bool = False,
    **settings: object,
) -> Tensors:
    """Unbabel's layout; trainers of 2020 kept their settings as a pickled Namespace."""
    parts = {"regression_metric": 6, "referenceless_regression_metric": 4}.get(kind, 1)
    torch.manual_seed(5)
    tensors = {f"encoder.model.{key}": value for key, value in encoder.items()}
    for layer in range(3):
        tensors[f"layerwise_attention.scalar_parameters.{layer}"] = torch.randn(1)
    tensors["layerwise_attention.gamma"] = torch.ones(1)
    for place, (wide, narrow) in zip((0, 3, 6), ((32 * parts, 12), (12, 8), (8, 1)), strict=True):
        tensors[f"estimator.ff.{place}.weight"] = torch.randn(narrow, wide) / wide**0.5
        tensors[f"estimator.ff.{place}.bias"] = torch.randn(narrow)
    if kind == "xcomet_metric":
        tensors["hidden2tag.weight"], tensors["hidden2tag.bias"] = torch.randn(4, 32) / 4, torch.randn(4) / 4
    hparams = {"class_identifier": kind, "activations": "Tanh", "encoder_model": "XLM-RoBERTa",
               "pretrained_model": "xlm-roberta-large", "layer": "mix", "pool": "avg", **settings}  # fmt: skip
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "hparams.yaml").write_text(
        "".join(f"{key}: {json.dumps(value)}\n" for key, value in hparams.items())
    )
    kept: Any = argparse.Namespace(**hparams)
    if lightning:  # as Lightning wants it today
        kept = {key: value for key, value in hparams.items() if key != "class_identifier"}
    whole = {"epoch": 1, "global_step": 10, "state_dict": tensors, "hyper_parameters": kept,
             "pytorch-lightning_version": "2.0.0"}  # fmt: skip
    torch.save(whole, folder / "checkpoints" / "model.ckpt")
    return tensors


def bert(folder: Path, kind: str = "BertModel") -> Tensors:
    folder.mkdir(parents=True, exist_ok=True)
    size = word_pieces(folder, "BertTokenizer", 128)
    model = randomised(getattr(transformers, kind)(transformers.BertConfig(vocab_size=size, **SMALL)))
    write(folder, config=config_of(model))
    return save(folder, model)


def distilbert(folder: Path) -> Tensors:
    folder.mkdir(parents=True)
    size = word_pieces(folder, "DistilBertTokenizer", 128)
    config = transformers.DistilBertConfig(vocab_size=size, dim=32, n_layers=2, n_heads=4, hidden_dim=48)
    model = randomised(transformers.DistilBertModel(config))
    write(folder, config=config_of(model))
    return save(folder, model)


def gpt2(folder: Path, kind: str = "GPT2LMHeadModel") -> Tensors:
    """A causal model with a chat template; as a classifier it has one output, as reward models do."""
    folder.mkdir(parents=True)
    specials = dict.fromkeys(("bos_token", "eos_token", "unk_token", "pad_token"), "<|endoftext|>")
    template = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}"
    size = byte_pairs(folder, specials, model_max_length=512, chat_template=template)
    config = transformers.GPT2Config(
        vocab_size=size, n_embd=32, n_layer=2, n_head=4, n_positions=512, bos_token_id=0, eos_token_id=0,
        pad_token_id=0, num_labels=1,
    )  # fmt: skip
    model = randomised(getattr(transformers, kind)(config))
    write(folder, config=config_of(model))
    return save(folder, model)


def vilt(folder: Path) -> Tensors:
    folder.mkdir(parents=True)
    size = word_pieces(folder, "BertTokenizer", 40)
    model = randomised(transformers.ViltModel(transformers.ViltConfig(vocab_size=size, image_size=32, patch_size=16, **SMALL)))  # fmt: skip
    image = {"image_processor_type": "ViltImageProcessor", "size": {"shortest_edge": 32}, "size_divisor": 16,
             "do_resize": True, "do_pad": True, "do_normalize": True, "do_rescale": True, "resample": 3,
             "image_mean": [0.5] * 3, "image_std": [0.5] * 3, "rescale_factor": 1 / 255}  # fmt: skip
    write(folder, config=config_of(model), preprocessor_config=image)
    return save(folder, model)


def sentence_encoder(folder: Path, mode: str, *, dense: bool) -> None:
    """The layout of sentence-transformers, in safetensors; LaBSE has a linear layer after its pooling."""
    from safetensors.torch import save_file

    tensors = bert(folder)
    (folder / "pytorch_model.bin").unlink()
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    modes = (
        "cls_token",
        "mean_tokens",
        "max_tokens",
        "mean_sqrt_len_tokens",
        "weightedmean_tokens",
        "lasttoken",
    )
    chosen = {f"pooling_mode_{name}": name == mode for name in modes}
    write(folder / "1_Pooling", config={"word_embedding_dimension": 32, **chosen})
    kinds = ["Transformer", "Pooling", *(["Dense"] if dense else []), "Normalize"]
    write(folder, modules=[
        {"idx": place, "name": str(place), "path": f"{place}_{kind}" if place else "",
         "type": f"sentence_transformers.models.{kind}"}
        for place, kind in enumerate(kinds)
    ], sentence_bert_config={"max_seq_length": 128, "do_lower_case": False})  # fmt: skip
    if dense:
        settings = {"in_features": 32, "out_features": 8, "bias": True,
                    "activation_function": "torch.nn.modules.activation.Tanh"}  # fmt: skip
        write(folder / "2_Dense", config=settings)
        torch.manual_seed(11)
        layer = torch.nn.Linear(32, 8)
        save_file({f"linear.{key}": value.detach() for key, value in layer.state_dict().items()},
                  folder / "2_Dense" / "model.safetensors")  # fmt: skip


Builder = Callable[[Path], Tensors]
HUB: dict[str, Builder] = {
    "moussaKam/frugalscore_tiny_bert-base_bert-score": frugalscore,
    "lucadiliello/bleurt-base-128": bleurt_base,
    "lucadiliello/BLEURT-20-D12": bleurt_20,
    "MingZhong/unieval-sum": unieval,
    "MingZhong/unieval-dialog": unieval,
    "MingZhong/unieval-fact": unieval,
    "MingZhong/unieval-intermediate": unieval,
    "google/siglip-base-patch16-224": siglip,
    "google/mt5-xl": mt5_tokenizer,
    "google/metricx-23-large-v2p0": metricx,
    "facebook/m2m100_418M": m2m100,
    "openai/clip-vit-base-patch32": clip,
    "facebook/bart-large-cnn": bart,
    "xlm-roberta-large": xlm_roberta,
}
