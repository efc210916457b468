"""Int8 weights in vLLM on processors without VNNI: who multiplies them, and that nothing overflows."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.integration.generate.fix_vllm import PYTHON, ROOT, needs_vllm

VLLM = "CPUInt8ScaledMMLinearKernel"
ROUNDING = 0.013
"""The activations' 8 bits give about 0.008; pairs that overflow give 0.06 and more."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), needs_vllm]


@pytest.fixture(scope="module")
def products() -> dict[str, Any]:
    """What `int8_products.py` found in vLLM's environment."""
    done = subprocess.run([PYTHON, "-m", "tests.integration.generate.int8_products"], cwd=ROOT, capture_output=True,
                          text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def test_the_kernel_is_taken_where_the_processor_has_no_product_of_int8(products: dict[str, Any]) -> None:
    assert products["chosen"] == {"before": VLLM, "vnni": VLLM, "arm": VLLM, "avx2": "PackedInt8LinearKernel"}


def test_weights_that_it_cannot_multiply_are_left_to_vllm(products: dict[str, Any]) -> None:
    assert products["asymmetric"] == VLLM


def test_the_largest_weights_and_activations_do_not_overflow(products: dict[str, Any]) -> None:
    assert products["extreme"] == pytest.approx([1.0] * 4, abs=0.01)


def test_products_are_exact_but_for_the_rounding_to_int8(products: dict[str, Any]) -> None:
    errors = [*products["random"], products["bfloat16"]]
    assert max(errors) < ROUNDING, errors


def test_a_token_of_zeros_stays_zero_and_shapes_are_kept(products: dict[str, Any]) -> None:
    assert products["zeros"] == 0.0
    assert products["shape"] == [2, 3, 5]


def test_a_compiled_model_can_hold_it(products: dict[str, Any]) -> None:
    assert products["compiled"] == 0.0
