"""Every cell that somebody could run is run, with tiny random models of each architecture on tiny stand-in data.

The values mean nothing; specs, paths, options, slices, roles and shapes are those of the recipes.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.audits.caption.concepts import FEWEST
from assay.engine.session import Session
from assay.files import toml_file
from assay.models.weights import CARRIERS, cache_folder
from assay.papers import PublishedCell, recipes, reproduce
from assay.papers.recipes import Cell, Plan, TableRecipe

if any(importlib.util.find_spec(package) is None for package in ("torch", "transformers", "sentencepiece")):
    pytest.skip("needs the extra: pip install 'nlg-assay[neural]'", allow_module_level=True)
import layouts
import transformers
from local_hub import Hub

CELLS = [(recipe, cell) for recipe in recipes().values() for cell in recipe.runnable if not cell.of]
SENTENCE = "the cat sat on a mat and she saw the old dog near the house while he read about profit in Paris"
WORDS = SENTENCE.split()
MALE = ["A man is reading a book .", "He runs near the house .", "The boy and his dog sat ."]
NEUTRAL = ["A person is reading .", "Someone sat near the house .", "A child saw the dog ."]
SETS = {"targ1": ["he", "man", "boy"], "targ2": ["she", "girl", "woman"], "attr1": ["read", "profit", "old"],
        "attr2": ["house", "cat", "dog"]}  # fmt: skip
# Levels of noises follow the task, which short stand-ins do not show by their lengths.
STRESSED = {"cnndm": "summarisation", "wmt21_de_en": "translation", "ted_zh_en": "translation"}
JARS = ("tokenizer/stanford-corenlp-3.4.1", "meteor/meteor-1.5", "spice/spice-1.0",
        "spice/lib/stanford-corenlp-3.6.0", "spice/lib/stanford-corenlp-3.6.0-models")  # fmt: skip


def text(number: int, words: int = 12) -> str:
    picked = [WORDS[(7 * number + 5 * place + place * number) % len(WORDS)] for place in range(words)]
    return " ".join(picked).capitalize() + f" {number} ."


def wordpiece(kind: str, tokenizer: str, **settings: int) -> Callable[[Path], layouts.Tensors]:
    """A model on word pieces, deep enough for every layer that a spec names."""

    def build(folder: Path) -> layouts.Tensors:
        folder.mkdir(parents=True, exist_ok=True)
        size = layouts.word_pieces(folder, tokenizer, 128)
        return _saved(folder, kind, vocab_size=size, **settings)

    return build


def copying(folder: Path) -> layouts.Tensors:
    """A masked model that guesses words of its context, so that a summary helps: BLANC differs between texts."""
    folder.mkdir(parents=True, exist_ok=True)
    layouts.word_pieces(folder, "BertTokenizer", 128)
    pieces = (folder / "vocab.txt").read_text().split()
    words = " ".join([SENTENCE, *MALE, *NEUTRAL]).lower().split()
    vocabulary = list(dict.fromkeys([*pieces, *words]))
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    settings = transformers.BertConfig(vocab_size=len(vocabulary), **BASE, hidden_act="linear")
    model = layouts.randomised(transformers.BertForMaskedLM(settings))
    eyes = ("value.weight", "attention.output.dense.weight", "transform.dense.weight")
    for name, tensor in model.named_parameters():  # every word attends to all alike, and to nothing else
        if name.endswith(eyes):
            tensor.data.copy_(layouts.torch.eye(len(tensor)))
        elif "word_embeddings" not in name:
            tensor.data.fill_(float("LayerNorm.weight" in name))
    for weights, piece in zip(model.bert.embeddings.word_embeddings.weight.data, vocabulary, strict=True):
        weights *= 0 if piece == "[MASK]" else 5 if piece.isalpha() and len(piece) > 3 else 1
    layouts.write(folder, config=layouts.config_of(model))
    return layouts.save(folder, model)


def byte_level(kind: str, *, words: bool = False, **settings: int) -> Callable[[Path], layouts.Tensors]:
    """A model on byte-level pieces: RoBERTa, GPT-2, OPT; with `words`, pieces are whole words."""

    def build(folder: Path) -> layouts.Tensors:
        folder.mkdir(parents=True, exist_ok=True)
        names = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>",
                 "cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}  # fmt: skip
        size = layouts.byte_pairs(folder, names, model_max_length=32)
        size = _merged(folder / "tokenizer.json", list(dict.fromkeys(names.values()))) if words else size
        ids = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
        return _saved(folder, kind, vocab_size=size, **ids, **settings)

    return build


def _merged(path: Path, specials: list[str]) -> int:
    """Make the words of the stand-in texts pieces of a tokenizer: BERT-diverge replaces no word of several pieces."""
    from tokenizers import Tokenizer, pre_tokenizers, trainers

    backend = Tokenizer.from_file(str(path))
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=specials, initial_alphabet=alphabet)
    backend.train_from_iterator([*WORDS, SENTENCE, *map(str.capitalize, WORDS)] * 9, trainer)
    backend.save(str(path))
    return int(backend.get_vocab_size())


def _saved(folder: Path, kind: str, **settings: int) -> layouts.Tensors:
    model_class = getattr(transformers, kind)
    model = layouts.randomised(model_class(model_class.config_class(**settings)))
    layouts.write(folder, config=layouts.config_of(model))
    return layouts.save(folder, model)


def vilt(folder: Path) -> layouts.Tensors:
    small = {**layouts.SMALL, "image_size": 32, "patch_size": 16, "max_position_embeddings": 128}
    tensors = wordpiece("ViltModel", "BertTokenizer", **small)(folder)
    transformers.ViltImageProcessorPil(size={"shortest_edge": 32}, size_divisor=16).save_pretrained(folder)
    return tensors


SIZE = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 140}
DEEP = {"num_hidden_layers": 24, **SIZE}
BASE = {"num_hidden_layers": 12, **SIZE}
BUILDERS: dict[str, Callable[[Path], layouts.Tensors]] = {
    "bert-base-uncased": copying,
    "bert-large-uncased": wordpiece("BertModel", "BertTokenizer", **DEEP),
    "distilbert-base-uncased": wordpiece("DistilBertModel", "DistilBertTokenizer", dim=16, n_layers=6, n_heads=2, hidden_dim=16),
    "google/electra-large-discriminator": wordpiece("ElectraModel", "ElectraTokenizer", **DEEP, embedding_size=16),
    "roberta-base": byte_level("RobertaModel", **BASE),
    "roberta-large": byte_level("RobertaForMaskedLM", words=True, **DEEP),
    "gpt2": byte_level("GPT2LMHeadModel", n_embd=16, n_layer=1, n_head=2, n_positions=128),
    "facebook/opt-2.7b": byte_level("OPTForCausalLM", hidden_size=16, num_hidden_layers=1, num_attention_heads=2, ffn_dim=16, word_embed_proj_dim=16, max_position_embeddings=128),
    "facebook/bart-base": layouts.bart, "facebook/bart-large": layouts.bart,
    "lucadiliello/BLEURT-20": layouts.bleurt_20, "dandelin/vilt-b32-mlm": vilt,
}  # fmt: skip
BUILDERS |= dict.fromkeys(("gpt2-medium", "gpt2-large"), BUILDERS["gpt2"])
BUILDERS |= {f"lucadiliello/bleurt-{size}-128": layouts.bleurt_base for size in ("tiny", "base", "large")}
BUILDERS |= {f"moussaKam/frugalscore_{size}_bert-base_bert-score": layouts.frugalscore for size in ("tiny", "small", "medium")}  # fmt: skip


MADE: dict[object, tuple[Path, layouts.Tensors]] = {}


def build(folder: Path, builder: Callable[[Path], layouts.Tensors]) -> layouts.Tensors:
    """Build a model once; the next of its architecture is a copy."""
    if builder in MADE and MADE[builder][0].is_dir():
        shutil.copytree(MADE[builder][0], folder)
    else:
        MADE[builder] = folder, builder(folder)
    return MADE[builder][1]


def checkpoints() -> list[str]:
    """The models of the hub that recipes name, in their metrics and options."""
    here = PublishedCell(Path("/nowhere"))
    specs = {cell.metric for _, cell in CELLS if cell.metric}
    named = {name for spec in specs for part in here.parts(spec) for name in here.weights_of(part)}
    plans = [plan for recipe in recipes().values() for plan in recipe.runs.values()]
    named |= {str(plan.options["masked_lm"]) for plan in plans if "masked_lm" in plan.options}
    return sorted(name for name in named if not name.startswith("/") and name not in CARRIERS)


def fill_hub(hub: Hub) -> None:
    """A tiny model of its architecture under the name of every checkpoint that recipes name."""
    encoder = layouts.HUB["xlm-roberta-large"]
    hub.add("xlm-roberta-large", encoder)
    comet = {"Unbabel/wmt20-comet-da": "regression_metric", "Unbabel/wmt20-comet-qe-da": "referenceless_regression_metric"}  # fmt: skip
    for name in checkpoints():
        if name in comet:
            hub.add(name, lambda folder, kind=comet[name]: layouts.comet(folder, hub.tensors["xlm-roberta-large"], kind))  # fmt: skip
        else:
            hub.add(name, partial(build, builder=BUILDERS.get(name) or layouts.HUB[name]))


def fill_models(folder: Path, hub: Hub) -> None:
    """What specs name below the data folder: vectors, a table of baselines, converted models, adapters."""
    known = dict.fromkeys(
        [*(word.lower() for word in WORDS), *(word for words in SETS.values() for word in words)]
    )
    vectors = {word: np.random.default_rng(place).normal(size=4) for place, word in enumerate(known)}
    (folder / "vectors").mkdir()
    lines = [f"{word} {' '.join(f'{x:.3f}' for x in vector)}" for word, vector in vectors.items()]
    (folder / "vectors/glove.6B.300d.txt").write_text("\n".join(lines) + "\n")
    packed = b"".join(word.encode() + b" " + struct.pack("4f", *vector) + b"\n" for word, vector in vectors.items())  # fmt: skip
    (folder / "vectors/GoogleNews-vectors-negative300.bin").write_bytes(
        f"{len(vectors)} 4\n".encode() + packed
    )
    models = folder / "models"
    models.mkdir()
    (models / "roberta-large-baseline.tsv").write_text("LAYER,P,R,F\n" + "".join(f"{n},.1,.1,.1\n" for n in range(25)))  # fmt: skip
    for name in ("zari-dropout-bert-large", "zari-cda-bert-large"):
        build(models / name, BUILDERS["bert-large-uncased"])
    wordpiece("BertForSequenceClassification", "BertTokenizer", **SIZE, num_hidden_layers=1)(models / "deb")
    for name in ("bart-base-cnndm", "bart-large-cnndm"):
        build(models / name, layouts.bart)
    for name in ("t5-small-cnndm", "t5-base-cnndm"):
        build(models / name, layouts.unieval)
    layouts.bart(folder / "built", "bart_score.pth")
    (folder / "built" / "bart_score.pth").rename(models / "bart_score.pth")


def fill_adapters(place: PublishedCell) -> None:
    """Adapters that change nothing yet, each for the model and layer of its cell."""
    from assay.models import adapters

    for spec in {str(cell.metric) for _, cell in CELLS if "adapter=" in str(cell.metric)}:
        bare, _, name = spec.partition(",adapter={data}/models/")
        folder = place.folder / "models" / name
        loaded = place.measure(bare).metric.load_model()
        marks, count = adapters.fingerprint(loaded.model), len(adapters.places(loaded.model))
        adapters.insert(loaded.model, 2)
        folder.mkdir(exist_ok=True)
        adapters.write(adapters.state(loaded.model), folder, adapters.Card(bare, bare, ("gender",), 2, count, marks))  # fmt: skip


def rows_of(path: str, folder: Path) -> Iterator[dict[str, Any]]:
    """The rows of a stand-in file, by what the recipes read from it."""
    plans = [(cell, plan) for recipe, cell in CELLS if path in (plan := recipe.runs[cell.run]).paths]
    kind = path.partition("/")[0]
    makers = {
        "stereotype_pairs": pairs,
        "human": ratings,
        "stress": golds,
        "captions": captions,
        "outputs": outputs,
    }
    return makers["outputs" if "examples" in path else kind](path, plans, folder)


def pairs(path: str, plans: list[tuple[Cell, Plan]], folder: Path) -> Iterator[dict[str, Any]]:
    attribute = Path(path).stem
    wanted = [cell.slice for cell, _ in plans if cell.slice.startswith(f"{attribute}-")]
    released = {str(cell.released) for cell, _ in plans if cell.released}
    for place, name in enumerate(dict.fromkeys([*wanted, "one", "two", "three"])):
        scores = {metric: [0.1 * place, 0.3 + 0.2 * place] for metric in released}
        yield {"id": name, "attribute": attribute, "reference": text(place), "stereotype": f"She saw {text(place)}",
               "anti_stereotype": f"He read {text(place)}", "published": scores}  # fmt: skip


def ratings(path: str, plans: list[tuple[Cell, Plan]], folder: Path) -> Iterator[dict[str, Any]]:
    """Four systems on four documents; captions of men under references without gender."""
    labels = {part for cell, _ in plans for part in [cell.slice.split("/")[1]]}
    parts = sorted({label.partition(":")[0] for label in labels if ":" in label} - {"average"}) or [""]
    criteria = sorted({label.rpartition(":")[2] for label in labels})
    for part in parts:
        # MAUVE compares sets of texts; ten language pairs need few texts each.
        for number in range(64 if "webtext" in path else 8 if len(parts) > 1 else 16):
            human = {
                name: [1 + (number * 7 + place) % 5, 1 + number % 3] for place, name in enumerate(criteria)
            }
            row = {"id": f"{part}{number}", "doc": f"{part}d{number // 4}", "system": f"s{number % 4}",
                   "hypothesis": f"{MALE[number % 3]} {text(number, 3 + number % 4)}",
                   "references": [NEUTRAL[number % 3], f"{NEUTRAL[(number + 1) % 3]} {text(number, 3 + number % 4)}"],
                   "source": f"{text(number, 20)} {text(number + 1, 9)}", "human": human}  # fmt: skip
            if (
                "webtext" in path and number // 4 % 4 < number % 4
            ):  # MAUVE falls from the last system to the first
                row["hypothesis"] = row["references"][0]
            if "summeval" in path:  # four words in a row with the first reference, for ROUGE-4
                row["references"] = [f"{NEUTRAL[number % 3]} {text(number, 4 + number % 3)}"]
            row |= {"source": f"{MALE[number % 3]} | reads | {text(number, 3)}"} if "webnlg" in path else {}
            row |= {"image": picture(folder / "human", number)} if "images" in path or "coco" in path else {}
            yield row | ({"lp": part} if part else {})


def golds(path: str, plans: list[tuple[Cell, Plan]], folder: Path) -> Iterator[dict[str, Any]]:
    """Three sentences each, with an article, a stop word, a verb to negate and a named entity."""
    for number in range(6):
        gold = f"{text(number, 14)} Angela Merkel was in London on Monday with the {WORDS[number]} . {text(number + 3, 14)}"
        yield {"id": str(number), "gold": gold, "references": [text(number, 20), text(number + 1, 16)],
               "source": text(number + 2, 40), "task": STRESSED[Path(path).stem]}  # fmt: skip


def outputs(path: str, plans: list[tuple[Cell, Plan]], folder: Path) -> Iterator[dict[str, Any]]:
    relative = "examples" in path
    systems = ["gold", "edited"] if relative else sorted({cell.slice.partition("/")[2] for cell, _ in plans})
    for doc in range(1, 5):
        for place, system in enumerate(systems):
            yield {"id": f"{doc}/{system}", "doc": f"example-{doc}", "system": system, "hypothesis": text(doc + 3 * place),
                   "references": [text(doc, 9)], "source": text(doc, 18)}  # fmt: skip


def captions(path: str, plans: list[tuple[Cell, Plan]], folder: Path) -> Iterator[dict[str, Any]]:
    """Captions of men and women; every second one of the first captioner is wrong."""
    stem = Path(path).stem
    system = {"mle": "MLE", "rl": "RL", "rl_cider": "RL-CIDEr", "rl_both": "RL-CLIPScore+CIDEr"}
    name = system.get(stem.split("_", 2)[2], stem)
    for number in range(6 * FEWEST):  # fewer images of a concept are not counted
        group = ("man", "woman")[number % 2]
        category = ("profession", "activity", "object")[number // 2 % 3]
        named = group if "debiased" in stem or number > 3 else ("woman", "man")[number % 2]
        caption = f"a {named} who is reading in {stem.replace('_', ' ')}"
        yield {"id": str(number), "doc": str(number), "system": name, "hypothesis": caption, "group": group,
               "references": [f"a {group} who is reading", f"the {group} sat"], "image": picture(folder / "captions", number),
               "category": category, "concept": f"the {category}"}  # fmt: skip


def fill_packages(folder: Path) -> None:
    """The two lists of irregular words that py-rouge carries, and the Java programs of pycocoevalcap."""
    (folder / "rouge").mkdir(parents=True)
    for name in ("__init__.py", "wordnet_key_value.txt", "wordnet_key_value_special_cases.txt"):
        (folder / "rouge" / name).write_text("sat|sit\n" if name.endswith(".txt") else "", "utf-8")
    package = folder / "pycocoevalcap"
    for name in ("__init__.py", *(f"{jar}.jar" for jar in JARS)):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).touch()
    program = Path(__file__).parent / "checkpoints" / "java.py"
    (folder / "java").write_text(f'#!/bin/sh\nexec "{sys.executable}" -I "{program}" "$@"\n', "utf-8")
    (folder / "java").chmod(0o755)


def picture(folder: Path, number: int, name: str = "") -> str:
    from PIL import Image

    name = name or f"pictures/{number % 4}.png"
    path = folder / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        noise = np.random.default_rng(number).integers(0, 255, (40, 50, 3), dtype=np.uint8)
        Image.fromarray(noise).save(path)
    return name


def fill_data(folder: Path) -> None:
    """Every file that a recipe reads."""
    tests = {cell.slice for recipe, cell in CELLS if recipe.runs[cell.run].audit == "association"}
    for name in tests:
        sets = SETS
        if name.startswith("sent-") or name.endswith("sentence"):
            sets = {
                key: [f"This is {word} near the house ." for word in words] for key, words in sets.items()
            }
        content = {key: {"category": key, "examples": words} for key, words in sets.items()}
        (folder / "association").mkdir(exist_ok=True)
        (folder / f"association/{name}.json").write_text(json.dumps(content))
    concepts = {cell.slice for recipe, cell in CELLS if "published/pao_captions.tsv" in recipe.runs[cell.run].data and cell.slice.count("/")}  # fmt: skip
    table = ["gender\tcategory\tconcept\tn_images\treference\tgood_caption\tbad_caption"]
    for place, (category, concept, *_) in enumerate(sorted({tuple(name.split("/")[:2]) for name in concepts if not name.startswith("all")})):  # fmt: skip
        for group, other in (("man", "woman"), ("woman", "man")):
            words = [f"a photo of a {group} {concept}", f"a {group} {concept}", f"a {other} {concept}"]
            table.append("\t".join([group, category, concept, "12", *words]))
            for number in range(FEWEST):  # fewer images of a concept are too few for a verdict
                picture(folder, place % 4, f"published/pao_images/{category}/{concept}/{group}/{number}.png")
    (folder / "published/pao_captions.tsv").write_text("\n".join(table) + "\n")
    for number in (1, 2):
        paragraphs = [f"{text(3 * n + number, 16)} {text(n + 2, 14)} {text(n, 12)}" for n in range(6)]
        (folder / "stress").mkdir(exist_ok=True)
        (folder / f"stress/wikitext_{number}.txt").write_text("\n".join(paragraphs) + "\n")
    for path in {path for recipe, _ in CELLS for path in recipe.paths if path.endswith(".jsonl")}:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(row) + "\n" for row in rows_of(path, folder)]
        (folder / path).write_text("".join(lines), "utf-8")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PublishedCell]:
    """A data folder and a hub's cache, both filled with stand-ins; nothing is fetched."""
    import huggingface_hub.constants
    import torch

    torch.set_num_threads(1)
    folder, carried = tmp_path_factory.mktemp("stand-ins"), cache_folder() / "weights"
    hub = Hub(folder / "home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(hub.cache))
        patch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
        patch.setenv("HF_HUB_CACHE", str(hub.cache))
        fill_packages(folder / "packages")
        patch.syspath_prepend(str(folder / "packages"))
        patch.setenv("PATH", str(folder / "packages"), prepend=os.pathsep)
        patch.delitem(sys.modules, "pycocoevalcap", raising=False)
        patch.setenv("ASSAY_CACHE", str(folder / "assay"))
        (folder / "assay").mkdir()
        (folder / "assay" / "weights").symlink_to(carried)  # what packages carry needs no stand-in
        fill_hub(hub)
        fill_models(folder, hub)
        fill_data(folder)
        place = PublishedCell(folder, long=True)  # hours on published data are seconds here
        fill_adapters(place)
        yield place


def merged() -> Iterator[Any]:
    """The cells of all tables by the run that gives them: a metric is run once per audit, options and data."""
    cells: dict[str, dict[Cell, None]] = {}
    plans: dict[str, Plan] = {}
    for recipe, cell in CELLS:
        plan = recipe.runs[cell.run]
        plans[repr(plan)] = plan
        cells.setdefault(repr(plan), {})[replace(cell, run="run", row=f"{recipe.name} {cell.row}")] = None
    for key, plan in plans.items():
        name = f"{plan.audit} {Path(plan.paths[0]).stem}"
        yield pytest.param(TableRecipe("", name, name, tuple(cells[key]), {"run": plan}), id=name)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", list(merged()))
def test_every_cell_runs_on_stand_ins(recipe: TableRecipe, place: PublishedCell) -> None:
    for item in reproduce(recipe, place, Session.open(cache=place.folder / "scores", quiet=True)):
        if item.ours is None:
            where = f"{item.cell.row} / {item.cell.column} ({item.cell.metric})"
            pytest.fail(f"{where}: {item.kind}: {item.reason}")


def test_every_mean_is_of_cells_that_run() -> None:
    for recipe in recipes().values():
        for cell in recipe.runnable:
            beside = {other.column for other in recipe.runnable if other.row == cell.row}
            assert beside.issuperset(cell.of), f"{recipe.name}: {cell.row} / {cell.column}"


def test_every_weight_of_a_recipe_can_be_had() -> None:
    """A name of the hub or of a carrier, or a file of the data folder whose source is told."""
    here, sources = PublishedCell(Path("/nowhere")), toml_file("recipes", "sources")
    for spec in {cell.metric for _, cell in CELLS if cell.metric}:
        for part in here.parts(spec):
            for name in here.weights_of(part):
                assert not name.startswith("/nowhere/") or name.removeprefix("/nowhere/") in sources, name
