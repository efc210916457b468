"""LangChain's client as its documentation writes it; prints what it was told. Run by the Python of `make clients`."""

import asyncio
import json
import sys

from langchain_openai import ChatOpenAI, OpenAIEmbeddings


async def main(url: str, question: str) -> None:
    """Ask whole and in a stream, and embed."""
    told = {
        "base_url": f"{url}/v1", "api_key": "none", "default_headers": {"sourcier-tenant": "acme"}, "max_retries": 0,
    }
    model = ChatOpenAI(model="collection/default:none", stream_usage=True, **told)
    answer = await model.ainvoke(question)
    pieces = [piece async for piece in model.astream([("human", question)])]
    embeddings = OpenAIEmbeddings(model="sourcier", check_embedding_ctx_length=False, **told)
    vectors = await embeddings.aembed_documents(["Deux jours", "Trois jours"])
    sys.stdout.write(json.dumps({
        "whole": answer.content, "whole_tokens": answer.usage_metadata["total_tokens"],
        "streamed": "".join(piece.content for piece in pieces),
        "streamed_tokens": sum(piece.usage_metadata["total_tokens"] for piece in pieces if piece.usage_metadata),
        "vectors": [len(vector) for vector in vectors],
    }))


asyncio.run(main(*sys.argv[1:]))
