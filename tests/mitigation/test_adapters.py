"""Adapters: placement, exactness when off, frozen base, training, round trip, resume, refusals."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from assay.core import Sample
from assay.engine.session import Progress
from assay.errors import SpecError, WeightsError
from assay.mitigation.data import Material
from assay.mitigation.train import Trainer, TrainPlan, form_of
from assay.models import adapters
from assay.names.spec import parse_spec

PLAN = TrainPlan(steps=12, batch=8, rate=5e-3, bottleneck=6, warmup=2, check_every=4)
QUIET = Progress(quiet=True)


def spec(folder: Path) -> str:
    return f"bertscore-f:model={folder},layer=2"


def trainer(tiny: Path, material: Material, folder: Path, plan: TrainPlan = PLAN) -> Trainer:
    return Trainer(form_of(parse_spec(spec(tiny))), material, plan, folder)


def save(made: Trainer, tiny: Path, folder: Path) -> None:
    places, mark = len(adapters.places(made.model)), adapters.fingerprint(made.model)
    card = adapters.Card(str(tiny), spec(tiny), ("gender",), made.plan.bottleneck, places, mark)
    adapters.write(adapters.state(made.model), folder, card)


@pytest.mark.parametrize(
    ("kind", "config", "count"),
    [
        ("BertModel", {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}, 2),
        ("RobertaModel", {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}, 2),
        ("DistilBertModel", {"dim": 16, "n_layers": 3, "n_heads": 2}, 3),
        ("GPT2LMHeadModel", {"n_embd": 16, "n_layer": 2, "n_head": 2}, 2),
        ("LlamaForCausalLM", {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}, 2),
        ("T5ForConditionalGeneration", {"d_model": 16, "num_layers": 2, "num_heads": 2, "d_kv": 8}, 4),
        (
            "BartForConditionalGeneration",
            {"d_model": 16, "encoder_layers": 2, "decoder_layers": 1, "encoder_attention_heads": 2,
             "decoder_attention_heads": 2},
            3,
        ),
    ],
)  # fmt: skip
def test_every_kind_of_backbone_has_a_place_a_layer(kind: str, config: dict[str, int], count: int) -> None:
    sizes = {"intermediate_size": 8, "d_ff": 8, "encoder_ffn_dim": 8, "decoder_ffn_dim": 8, "hidden_dim": 8}
    model_class = getattr(transformers, kind)
    ends = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    known = model_class.config_class(vocab_size=20, **{**sizes, **ends, **config})
    model = model_class(known).eval()
    ids = {"input_ids": torch.tensor([[3, 4, 5]])}
    if known.is_encoder_decoder:
        ids["decoder_input_ids"] = torch.tensor([[1, 6]])
    with torch.no_grad():
        before = model(**ids)[0]
        parameters = adapters.insert(model, 4)
        assert len(adapters.places(model)) == count == len(parameters) / 4
        assert torch.equal(model(**ids)[0], before)  # up starts at zero
        for parameter in parameters:
            parameter += torch.randn_like(parameter)
        assert not torch.allclose(model(**ids)[0], before)
        adapters.switch(model, on=False)
        assert torch.equal(model(**ids)[0], before)


def test_the_bottleneck_is_equation_3(tiny: Path) -> None:
    model = form_of(parse_spec(spec(tiny))).load_copy().model
    adapters.insert(model, 6)
    adapter = next(adapters.adapters(model))
    with torch.no_grad():
        adapter["up"].weight.fill_(0.1)
        hidden = torch.randn(1, 3, 32)
        module = adapters.places(model)[0][1]
        down = torch.nn.functional.gelu(hidden @ adapter["down"].weight.T)
        assert torch.allclose(
            adapters._apply_bottleneck(module, (), hidden), down @ adapter["up"].weight.T + hidden
        )


def test_the_differentiable_twin_scores_as_the_metric_does(tiny: Path, material: Material) -> None:
    measure = parse_spec(spec(tiny))
    pairs = [(p.first, p.reference) for p in material.pairs["train"][:10]]
    with torch.no_grad():
        form = form_of(measure)
        twin = form.score(form.load_copy(), pairs).numpy()
    own = np.array(measure.metric.score([Sample(one, (other,)) for one, other in pairs]).values)
    assert twin == pytest.approx(own, abs=1e-6)


def test_training_lowers_the_loss_and_leaves_the_base_alone(
    tiny: Path, material: Material, tmp_path: Path
) -> None:
    made = trainer(tiny, material, tmp_path)
    base = {n: t.clone() for n, t in made.model.state_dict().items() if adapters.NAME not in n}
    before = sum(made.validation_loss())
    made.step()
    assert all((p.grad is not None) == (adapters.NAME in n) for n, p in made.model.named_parameters())
    made.run(QUIET)
    assert sum(made.validation_loss()) < 0.5 * before
    after = made.model.state_dict()
    assert all(torch.equal(after[name], tensor) for name, tensor in base.items())


def test_a_saved_adapter_is_a_metric_like_any_other(tiny: Path, material: Material, tmp_path: Path) -> None:
    made = trainer(tiny, material, tmp_path)
    made.run(QUIET)
    save(made, tiny, tmp_path)
    pairs = [(p.first, p.reference) for p in material.pairs["train"][:6]]
    with torch.no_grad():
        expected = made.metric(pairs).numpy()
    plain, debiased = parse_spec(spec(tiny)), parse_spec(f"{spec(tiny)},adapter={tmp_path}")
    samples = [Sample(one, (other,)) for one, other in pairs]
    assert np.array(debiased.metric.score(samples).values) == pytest.approx(expected, abs=1e-6)
    assert np.abs(np.array(plain.metric.score(samples).values) - expected).max() > 1e-4
    assert plain.metric.signature != debiased.metric.signature
    size = sum(file.stat().st_size for file in tmp_path.glob("*.safetensors"))
    assert size < 5_000_000


def test_a_stopped_training_ends_where_it_would_have(tiny: Path, material: Material, tmp_path: Path) -> None:
    whole = trainer(tiny, material, tmp_path / "whole")
    whole.run(QUIET)
    stopped = trainer(tiny, material, tmp_path / "parts")
    for _ in range(8):
        losses = stopped.step()
        if stopped.course.step % PLAN.check_every == 0:
            stopped._check(losses, QUIET)
    taken_up = trainer(tiny, material, tmp_path / "parts")
    taken_up.run(QUIET)
    assert taken_up.course.step == PLAN.steps
    for name, tensor in adapters.state(whole.model).items():
        assert torch.allclose(tensor, adapters.state(taken_up.model)[name], atol=1e-6), name


def test_half_a_course_is_begun_anew(tiny: Path, material: Material, tmp_path: Path) -> None:
    whole = trainer(tiny, material, tmp_path / "whole")
    whole.run(QUIET)
    file = whole.scratch / "course.json"
    file.write_text(file.read_text("utf-8")[:20], "utf-8")
    again = trainer(tiny, material, tmp_path / "whole")
    again.run(QUIET)
    assert again.course.step == PLAN.steps
    assert json.loads(file.read_text("utf-8"))["step"] == PLAN.steps
    for name, tensor in adapters.state(whole.model).items():
        assert torch.allclose(tensor, adapters.state(again.model)[name], atol=1e-6), name


def test_an_adapter_of_another_model_is_refused(
    tiny: Path, stranger: Path, material: Material, tmp_path: Path
) -> None:
    made = trainer(tiny, material, tmp_path)
    save(made, tiny, tmp_path)
    with pytest.raises(WeightsError, match="was trained for"):
        parse_spec(f"bertscore-f:model={stranger},layer=2,adapter={tmp_path}").metric.prepare()
    with pytest.raises(WeightsError, match="has 2 layers, this model has 1"):
        parse_spec(f"bertscore-f:model={tiny},layer=1,adapter={tmp_path}").metric.prepare()


def test_a_damaged_folder_is_named(tiny: Path, material: Material, tmp_path: Path) -> None:
    made = trainer(tiny, material, tmp_path / "one")
    save(made, tiny, tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    (tmp_path / "two" / adapters.TENSORS).write_bytes(b"not tensors")
    with pytest.raises(WeightsError, match="damaged"):
        adapters.attach(form_of(parse_spec(spec(tiny))).load_copy().model, tmp_path / "two")
    (tmp_path / "one" / adapters.CARD).write_text(json.dumps({"model": "x"}))
    with pytest.raises(WeightsError, match="not an adapter's folder"):
        adapters.attach(form_of(parse_spec(spec(tiny))).load_copy().model, tmp_path / "one")


def test_a_metric_without_a_backbone_is_offered_other_methods() -> None:
    with pytest.raises(SpecError, match="hybrid"):
        form_of(parse_spec("bleu"))
