"""The choice of an engine and of its settings by what the machine can do."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcier.services.chassis.models.gpu import gpu_present
from sourcier.services.embed.engines import choose
from sourcier.services.embed.openvino_engine import precision_hint


@pytest.mark.parametrize(("flags", "hint"), [
    (frozenset({"avx512_vnni", "avx512_bf16"}), {"INFERENCE_PRECISION_HINT": "f32"}),
    (frozenset({"avx512_vnni", "amx_int8", "amx_bf16"}), {}),
    (frozenset(), {"INFERENCE_PRECISION_HINT": "f32"}),
])
def test_bfloat16_is_left_to_processors_with_amx(flags: frozenset[str], hint: dict[str, str]) -> None:
    assert precision_hint(flags) == hint


@pytest.mark.parametrize(("variants", "precision", "architecture", "flags", "engine"), [
    (("fp32", "int8"), "", "x86_64", {"avx2", "avx512f", "avx512_vnni"}, "openvino-int8"),
    (("fp32", "int8"), "", "x86_64", {"avx2", "avx_vnni"}, "openvino-int8"),
    (("fp32", "int8"), "", "x86_64", {"avx2", "avx512f"}, "onnxruntime-int8"),
    (("fp32", "int8"), "", "x86_64", set(), "onnxruntime-int8"),
    (("fp32", "int8"), "", "aarch64", {"asimddp"}, "onnxruntime-int8"),
    (("fp32", "int8"), "fp32", "x86_64", {"avx512_vnni"}, "onnxruntime-fp32"),
    (("fp32",), "", "x86_64", {"avx512_vnni"}, "onnxruntime-fp32"),
])
def test_a_processor_runs_int8_where_the_model_has_it(
    variants: tuple[str, ...], precision: str, architecture: str, flags: set[str], engine: str
) -> None:
    assert choose(variants, precision=precision, architecture=architecture, flags=flags) == engine


def test_no_gpu_is_seen_without_its_device(tmp_path: Path) -> None:
    assert not gpu_present(tmp_path / "nvidiactl")
