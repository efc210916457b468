"""LlamaIndex's client as its documentation writes it; prints what it was told. Run by the Python of `make clients`."""

import asyncio
import json
import sys

from llama_index.llms.openai_like import OpenAILike


async def main(url: str, question: str) -> None:
    """Ask whole and in a stream, as a text and as a chat."""
    model = OpenAILike(
        model="collection/default:none", api_base=f"{url}/v1", api_key="none", is_chat_model=True, max_retries=0,
        default_headers={"sourcier-tenant": "acme"},
    )
    whole = (await model.acomplete(question)).text
    stream = await model.astream_complete(question)
    sys.stdout.write(json.dumps({"whole": whole, "streamed": [piece.text async for piece in stream][-1]}))


asyncio.run(main(*sys.argv[1:]))
