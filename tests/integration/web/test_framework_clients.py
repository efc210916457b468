"""OpenAI's dialect in the hands of frameworks, unmodified. Each is heavy, and looked for where it is installed:
`pip install langchain-openai llama-index-llms-openai-like llm`."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.web.fix_web import TENANT, Web

QUESTION = "Combien de jours de télétravail par semaine ?"
SAID = "deux jours par semaine"


def installed(module: str) -> Any:
    return pytest.importorskip(module, reason=f"{module.partition('.')[0]} is not installed")


async def test_langchain_asks_whole_in_a_stream_and_embeds(site: Web) -> None:
    langchain = installed("langchain_openai")
    told: dict[str, Any] = {"base_url": f"{site.url}/v1", "api_key": "none", "default_headers": TENANT}
    model = langchain.ChatOpenAI(model="collection/default:none", stream_usage=True, max_retries=0, **told)
    answer = await model.ainvoke(QUESTION)
    assert SAID in answer.content
    assert answer.usage_metadata["total_tokens"] == 55
    pieces = [piece async for piece in model.astream([("human", QUESTION)])]
    assert SAID in "".join(piece.content for piece in pieces)
    assert sum(piece.usage_metadata["total_tokens"] for piece in pieces if piece.usage_metadata) == 55
    embeddings = langchain.OpenAIEmbeddings(model="sourcier", check_embedding_ctx_length=False, max_retries=0, **told)
    vectors = await embeddings.aembed_documents(["Deux jours", "Trois jours"])
    assert len(vectors) == 2
    assert len(vectors[0]) == len(vectors[1]) > 0


async def test_llama_index_asks_whole_and_in_a_stream(site: Web) -> None:
    openai_like = installed("llama_index.llms.openai_like")
    model = openai_like.OpenAILike(
        model="collection/default:none", api_base=f"{site.url}/v1", api_key="none", is_chat_model=True,
        default_headers=TENANT, max_retries=0,
    )
    assert SAID in (await model.acomplete(QUESTION)).text
    stream = await model.astream_complete(QUESTION)
    assert SAID in [piece.text async for piece in stream][-1]


async def test_llm_on_the_command_line(site: Web, tmp_path: Path) -> None:
    installed("llm")
    (tmp_path / "extra-openai-models.yaml").write_text(
        f"- model_id: sourcier\n  model_name: collection/default\n  api_base: {site.url}/v1\n"
        f"  headers: {{sourcier-tenant: {dict(TENANT)['sourcier-tenant']}}}\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-W", "ignore", "-m", "llm", "-m", "sourcier", "--key", "none", QUESTION,
        env={**os.environ, "LLM_USER_PATH": str(tmp_path), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )
    said, told = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, told.decode()
    assert SAID in said.decode()
    assert "**Sources**" in said.decode()
