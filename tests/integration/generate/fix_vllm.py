"""vLLM's environment, for tests that start processes in it."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PYTHON = ROOT / ".venv" / "generate" / "bin" / "python"

needs_vllm = pytest.mark.skipif(
    not PYTHON.exists(), reason=f"{PYTHON} is not there: python3 requirements/install.py generate"
)
