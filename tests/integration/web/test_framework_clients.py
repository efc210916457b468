"""OpenAI's dialect in the hands of frameworks, unmodified, each in a program of its own: `make clients`."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.integration.web.fix_web import TENANT, Web

QUESTION = "Combien de jours de télétravail par semaine ?"
SAID = "deux jours par semaine"
PYTHON = Path(__file__).parents[3] / ".venv" / "clients" / "bin" / "python"
PROGRAMS = Path(__file__).parent / "clients"

pytestmark = pytest.mark.skipif(
    not PYTHON.with_name("llm").exists(), reason="the frameworks are not installed; make clients installs and asks them"
)


async def told(*arguments: str, **variables: str) -> str:
    """Run the frameworks' Python; return what it printed."""
    process = await asyncio.create_subprocess_exec(
        PYTHON, "-W", "ignore", *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables,
    )
    said, faults = await asyncio.wait_for(process.communicate(), 100)
    assert process.returncode == 0, faults.decode()[-2_000:]
    return said.decode()


async def ran(name: str, site: Web) -> Any:
    return json.loads(await told(str(PROGRAMS / f"{name}.py"), site.url, QUESTION))


async def test_langchain_asks_whole_in_a_stream_and_embeds(site: Web) -> None:
    found = await ran("langchain", site)
    for way in ("whole", "streamed"):
        assert SAID in found[way]
        assert found[f"{way}_tokens"] == 55
    assert len(set(found["vectors"])) == 1
    assert found["vectors"][0] > 0


async def test_llama_index_asks_whole_and_in_a_stream(site: Web) -> None:
    found = await ran("llamaindex", site)
    assert SAID in found["whole"]
    assert SAID in found["streamed"]


async def test_llm_on_the_command_line(site: Web, tmp_path: Path) -> None:
    (tmp_path / "extra-openai-models.yaml").write_text(
        f"- model_id: sourcier\n  model_name: collection/default\n  api_base: {site.url}/v1\n"
        f"  headers: {{sourcier-tenant: {dict(TENANT)['sourcier-tenant']}}}\n"
    )
    said = await told("-m", "llm", "-m", "sourcier", "--key", "none", QUESTION, LLM_USER_PATH=str(tmp_path))
    assert SAID in said
    assert "**Sources**" in said
