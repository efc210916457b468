"""What each process loads before it does anything: nothing that it does not use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODEL_ENGINES = {"openvino", "onnxruntime", "torch", "vllm", "transformers", "huggingface_hub", "onnx", "nncf"}
PARSERS = {"docling", "docling_core", "pandas", "pypdfium2", "lxml", "openpyxl", "PIL"}
TERMINAL = {"rich", "click"}
TRACING = {"opentelemetry", "requests", "urllib3"}
"""Only where SOURCIER_TRACES_URL is set."""
NEVER = MODEL_ENGINES | PARSERS | TERMINAL | TRACING | {"scipy", "sklearn", "pytest"}

NOT_USED = {
    "sourcier.services.gateway.__main__": NEVER | {"tokenizers", "obstore", "aiohttp"},
    "sourcier.services.ingest.__main__": NEVER | {"aiohttp"},
    "sourcier.services.embed.__main__": NEVER | {
        "psycopg", "obstore", "aiohttp", "sourcier.services.index", "sourcier.services.ingest",
    },
    "sourcier.services.rerank.__main__": NEVER | {
        "psycopg", "obstore", "nats", "aiohttp", "tokenizers", "sourcier.events",
    },
    "sourcier.services.generate.__main__": NEVER | {
        "psycopg", "obstore", "nats", "aiohttp", "tokenizers", "numpy", "sourcier.events",
    },
    # The supervisor of the stack, and what answers `sourcier status`.
    "sourcier.services.stack.terminal.foreground": (NEVER - TERMINAL) | {
        "numpy", "nats", "aiohttp", "tokenizers", "sourcier.gateway",
    },
    "sourcier.services.stack.terminal.standing": (NEVER - {"rich"}) | {
        "grpc", "pydantic", "psycopg", "psutil", "asyncio", "numpy",
    },
    # `sourcier --help`, and the commands that call the gateway.
    "sourcier.cli.main": (NEVER - {"click"}) | {"grpc", "google", "asyncio", "sourcier.services"},
    "sourcier.client": NEVER | {"numpy", "pydantic", "sourcier.services"},
}


@pytest.mark.parametrize("module", NOT_USED)
def test_a_process_loads_nothing_that_it_does_not_use(module: str) -> None:
    loaded = loaded_by(f"import {module}")
    assert module in loaded
    assert sorted(name for name in NOT_USED[module] if name in loaded) == []


def test_the_parsers_load_no_model() -> None:
    loaded = loaded_by("import sourcier.services.ingest.parsing.dispatch")
    assert "pypdfium2" in loaded
    assert sorted(name for name in MODEL_ENGINES - {"huggingface_hub"} if name in loaded) == []


def loaded_by(statement: str) -> set[str]:
    """Return the modules that an interpreter of its own has loaded after a statement."""
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=ROOT, capture_output=True, text=True,
                           timeout=60, check=True)
    return set(found.stdout.splitlines())
