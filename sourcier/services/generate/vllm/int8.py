"""Products of int8 weights in vLLM on x86-64 without VNNI or AMX, where its own are slow and wrong.

vLLM 0.32 has oneDNN multiply. Without VNNI that packs the weights anew at each call, which takes twenty times the
product of one token, and adds pairs of products up in 16 bits, which overflow. FBGEMM, which comes with torch 2.13,
packs them once. It adds up the same pairs, so each channel's weights are made as much smaller as its largest pair asks,
and nothing overflows (docs/measured/history/generation.md has the figures). Imported by vLLM's core process
alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import Any

import torch
from vllm.model_executor.kernels import linear
from vllm.model_executor.kernels.linear.scaled_mm.ScaledMMLinearKernel import Int8ScaledMMLinearKernel
from vllm.platforms.interface import PlatformEnum

from sourcier.services.chassis.models.processor import without_int8_products

INT8_MAX = 127
ZERO_POINT = 128
"""What stands for 0 in activations: FBGEMM takes them without a sign."""
PAIR_MAX = 127
"""Two products fit 16 bits while their weights add up to 128 (255 times 128 is 32,640); rounding may add the one."""
TINY = 1e-9
"""A token of zeros is divided by this."""
ROWS = 4096
"""As many channels are made smaller at once: an output head whole would take a gigabyte."""

_packed: list[Any] = []
"""The weights of each layer as FBGEMM wants them; a layer knows its number. vLLM never lets go of a layer."""

_library = torch.library.Library("sourcier", "DEF")  # Kept: what it defines goes with it.
_library.define("int8_linear(Tensor activations, int weights, int channels) -> Tensor")


def prefer(flags: Collection[str], *, architecture: str) -> None:
    """Have vLLM take this kernel for int8 weights where the processor, of these features, has no product for them."""
    able = "fbgemm" in torch.backends.quantized.supported_engines
    if able and without_int8_products(flags, architecture=architecture):
        linear._POSSIBLE_INT8_KERNELS[PlatformEnum.CPU].insert(0, PackedInt8LinearKernel)


class PackedInt8LinearKernel(Int8ScaledMMLinearKernel):  # type: ignore[misc]  # vLLM has no types that mypy may follow
    """Weights by channel, activations by token at run time, both symmetric: as `models fetch --int8` writes them."""

    @classmethod
    def is_supported(cls, compute_capability: int | None = None) -> tuple[bool, str | None]:
        """Whether this machine can; `prefer` has asked."""
        return True, None

    @classmethod
    def can_implement(cls, config: Any) -> tuple[bool, str | None]:
        """Whether it multiplies weights of this kind; vLLM takes its own kernel for others."""
        if config.is_channelwise and config.input_symmetric and not config.is_static_input_scheme:
            return True, None
        return False, "takes weights by channel and activations by token, both symmetric"

    def process_weights_after_loading(self, layer: torch.nn.Module) -> None:
        """Pack the layer's weights, and let go of them as they were."""
        weight_name, scale_name = self.layer_param_names[:2]
        stored, scale = getattr(layer, weight_name).data, getattr(layer, scale_name).data
        weights, scales = without_overflow(stored, scale.reshape(-1))
        with warnings.catch_warnings():
            # That torch may lose them one day, which the next version of vLLM would have to be looked at for anyway.
            warnings.filterwarnings("ignore", message="torch.quantize_per_tensor", category=UserWarning)
            quantised = torch._make_per_channel_quantized_tensor(
                weights, scales.double(), torch.zeros(len(weights), dtype=torch.int64), 0,
            )
        self._channels = len(weights)
        self._number = len(_packed)
        _packed.append(torch.ops.quantized.linear_prepack(quantised, None))
        setattr(layer, weight_name, None)

    def apply_weights(self, layer: torch.nn.Module, x: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
        """Return the product in the type of `x`, [..., inputs], as [..., channels]."""
        product = torch.ops.sourcier.int8_linear(x.reshape(-1, x.shape[-1]), self._number, self._channels)
        return (product if bias is None else product + bias).reshape(*x.shape[:-1], self._channels)


def without_overflow(weights: torch.Tensor, scales: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return int8 weights, [channels, inputs], and their scales, [channels], so that no pair of products overflows.

    The processor adds neighbours up two by two. Channels whose pairs fit stay as they are. Half of the range would do
    for all of them, and lose more: SmolLM2 has a perplexity of 21.5 with it on French prompts, 20.7 with this.
    """
    smaller, larger = torch.empty_like(weights), torch.empty_like(scales)
    for first in range(0, len(weights), ROWS):
        rows = weights[first : first + ROWS]
        even = torch.nn.functional.pad(rows, (0, rows.shape[1] % 2)).to(torch.int16)
        pairs = even.reshape(len(rows), -1, 2).sum(dim=2).abs().amax(dim=1)
        factors = (pairs.float() / PAIR_MAX).clamp_(min=1.0)
        smaller[first : first + ROWS] = (rows.float() / factors[:, None]).round_().to(torch.int8)
        larger[first : first + ROWS] = scales[first : first + ROWS] * factors
    return smaller, larger


def _int8_linear(activations: torch.Tensor, weights: int, channels: int) -> torch.Tensor:
    plain = activations.float()
    if len(plain) == 1:
        # By tensor is by token here, and one step instead of four: it counts for the small products of one token.
        return torch.ops.quantized.linear_dynamic(plain, _packed[weights]).to(activations.dtype)
    scales = torch.linalg.vector_norm(plain, ord=torch.inf, dim=1, keepdim=True).clamp_(min=TINY).div_(INT8_MAX)
    product = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(
        plain / scales, 1.0, ZERO_POINT, _packed[weights],
    )
    return product.mul_(scales).to(activations.dtype)


def _shape(activations: torch.Tensor, weights: int, channels: int) -> torch.Tensor:
    return activations.new_empty(activations.shape[0], channels)


_library.impl("int8_linear", _int8_linear, "CPU")
torch.library.register_fake("sourcier::int8_linear", _shape, lib=_library)
