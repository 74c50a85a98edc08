"""Linear layers by oneDNN: the same sums, gradients as ever, and nothing where torch does not have it."""

from __future__ import annotations

from copy import deepcopy

import pytest

torch = pytest.importorskip("torch")

from assay.models import loading  # noqa: E402

needs_it = pytest.mark.skipif(loading._quick_linear() is None, reason="this processor has no such kernels")


def network() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.GELU(), torch.nn.Linear(32, 8, bias=False))


@needs_it
@pytest.mark.parametrize("shape", [(64,), (1, 64), (5, 64), (2, 7, 64), (3, 2, 4, 64), (0, 64)])
def test_shapes_and_sums_are_those_of_torch(shape: tuple[int, ...]) -> None:
    plain = network()
    quick = loading.quickened(deepcopy(plain))
    texts = torch.randn(shape)
    with torch.inference_mode():
        assert quick(texts).shape == plain(texts).shape
        assert torch.allclose(quick(texts), plain(texts), atol=1e-6)
        if len(shape) == 3:
            assert torch.allclose(quick(texts.transpose(0, 1)), plain(texts.transpose(0, 1)), atol=1e-6)
            assert torch.allclose(quick(texts[:, ::2]), plain(texts[:, ::2]), atol=1e-6)


@needs_it
def test_rounding_is_that_of_single_precision() -> None:
    torch.manual_seed(1)
    layer = torch.nn.Linear(768, 512)
    rows = torch.randn(200, 768)
    with torch.inference_mode():
        exact = torch.nn.functional.linear(rows.double(), layer.weight.double(), layer.bias.double())
        plain = (layer(rows) - exact).pow(2).mean().sqrt()
        quick = (loading.quickened(layer)(rows) - exact).pow(2).mean().sqrt()
    assert quick < 3 * plain


@needs_it
def test_gradients_other_types_and_copies_go_the_usual_way() -> None:
    quick = loading.quickened(torch.nn.Sequential(network()))
    copy = deepcopy(quick)
    copy(torch.randn(3, 64)).sum().backward()
    assert all(parameter.grad is not None for parameter in copy.parameters())
    assert all(parameter.grad is None for parameter in quick.parameters())
    with torch.inference_mode():
        assert quick.double()(torch.randn(3, 64).double()).dtype == torch.float64
    assert list(copy.state_dict()) == list(torch.nn.Sequential(network()).state_dict())


def test_a_torch_without_it_keeps_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT")
    loading._quick_linear.cache_clear()
    try:
        model = loading.quickened(network())
        assert type(model[0]) is torch.nn.Linear
    finally:
        loading._quick_linear.cache_clear()
