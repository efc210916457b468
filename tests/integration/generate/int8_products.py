"""Products of the int8 kernel that the generate service gives vLLM, told as JSON: runs in vLLM's environment."""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
from vllm.model_executor.kernels import linear

from sourcier.services.generate.vllm import int8 as vllm_int8

LARGEST = 127


def main() -> None:
    """Write what the tests assert."""
    chosen = {"before": choice()}
    for name, flags, architecture in (
        ("vnni", {"avx2", "avx512_vnni"}, "x86_64"), ("arm", {"asimddp"}, "aarch64"), ("avx2", {"avx2"}, "x86_64"),
    ):
        vllm_int8.prefer(flags, architecture=architecture)
        chosen[name] = choice()
    sys.stdout.write(json.dumps({
        "chosen": chosen,
        "asymmetric": choice(input_symmetric=False),
        "extreme": [extreme(sign=sign, tokens=tokens) for sign in (1, -1) for tokens in (1, 3)],
        "random": [worst(tokens=tokens, inputs=inputs) for tokens in (1, 2, 300) for inputs in (64, 97, 1536)],
        "bfloat16": worst(tokens=3, inputs=256, dtype=torch.bfloat16),
        "zeros": float(product(torch.full((5, 8), LARGEST), torch.zeros(2, 8)).abs().max()),
        "shape": list(product(torch.full((5, 8), LARGEST), torch.zeros(2, 3, 8)).shape),
        "compiled": compiled(),
    }) + "\n")


def choice(*, input_symmetric: bool = True) -> str:
    """Return the kernel that vLLM takes for weights by channel and activations by token."""
    return type(_kernel(input_symmetric=input_symmetric)).__name__


def extreme(*, sign: int, tokens: int) -> float:
    """Return the product of the largest weights and activations there are, by what it should be."""
    found = product(torch.full((3, 64), sign * LARGEST), torch.ones(tokens, 64))
    return float((found / (sign * LARGEST * 64)).min())


def worst(*, tokens: int, inputs: int, dtype: torch.dtype = torch.float32) -> float:
    """Return the error of a product with a bias, of weights as large as they come, relative to the exact one's norm."""
    generator = torch.Generator().manual_seed(7)
    weights = torch.randint(-LARGEST, LARGEST + 1, (40, inputs), generator=generator)
    activations = torch.randn(tokens, inputs, generator=generator).to(dtype)
    bias = torch.randn(40, generator=generator).to(dtype)
    exact = activations.double() @ weights.double().T + bias.double()
    found = product(weights, activations, bias)
    assert found.dtype == dtype
    return float((found.double() - exact).norm() / exact.norm())


def compiled() -> float:
    """Return how far a compiled product is from a plain one."""
    kernel, layer = packed(torch.full((5, 8), LARGEST))
    activations = torch.arange(24.0).reshape(3, 8)
    whole = torch.compile(lambda x: kernel.apply_weights(layer, x), fullgraph=True, backend="eager")
    return float((whole(activations) - kernel.apply_weights(layer, activations)).abs().max())


def product(weights: torch.Tensor, activations: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Multiply by the kernel, as vLLM does."""
    kernel, layer = packed(weights)
    return kernel.apply_weights(layer, activations, bias)


def packed(weights: torch.Tensor) -> tuple[Any, torch.nn.Module]:
    """Return a layer of these weights, each channel with a scale of 1, and its kernel."""
    kernel = _kernel(input_symmetric=True)
    layer = torch.nn.Module()
    layer.weight = torch.nn.Parameter(weights.to(torch.int8), requires_grad=False)
    layer.weight_scale = torch.nn.Parameter(torch.ones(len(weights), 1), requires_grad=False)
    kernel.process_weights_after_loading(layer)
    assert layer.weight is None
    return kernel, layer


def _kernel(*, input_symmetric: bool) -> Any:
    return linear.init_int8_linear_kernel(
        is_channelwise=True, is_static_input_scheme=False, input_symmetric=input_symmetric, module_name="test",
    )


if __name__ == "__main__":
    main()
