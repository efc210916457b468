"""The HTTP rows: texts, conversations as events, embeddings and ranking in three dialects, health."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from sourcier.embed.v1 import embed_pb2
from tests.integration.index.writer import DIMENSION
from tests.integration.web.fix_web import TENANT, Web

QUESTION = "Combien de jours de télétravail par semaine ?"


async def post(site: Web, path: str, **body: Any) -> Any:
    return await site.http.post(path, json=body, headers=TENANT)


def events(text: str) -> list[tuple[str, str, Any]]:
    found = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            found.append((fields.get("event", ""), fields.get("id", ""), json.loads(fields["data"])))
    return found


async def test_health(site: Web) -> None:
    assert (await site.http.get("/health")).json() == {"status": "ok", "gateway": "serving"}


async def test_a_conversation_streams_events_and_is_read_on(site: Web) -> None:
    made = (await post(site, "/api/conversations", title="Congés")).json()
    path = f"/api/conversations/{made['id']}/messages"
    answer = await post(site, path, content=QUESTION, reranking_enabled=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    told = events(answer.text)
    kinds = [kind for kind, _, _ in told]
    assert (kinds[0], kinds[-1]) == ("started", "finished")
    assert [int(number) for _, number, _ in told] == list(range(1, len(told) + 1))
    assert told[-1][2]["finished"]["message_id"]
    kept = await site.connect("ConversationService/ListMessages", {"conversationId": made["id"]})
    assert [message["role"] for message in kept.json()["messages"]] == ["ROLE_USER", "ROLE_ASSISTANT"]


async def test_an_answer_in_one_piece_and_ragfabs_path(site: Web) -> None:
    for path, body in (("/api/chat", {"message": QUESTION}), ("/api/chat", {"question": QUESTION, "stream": False})):
        told = (await post(site, path, **body)).json()
        assert "deux jours" in told["answer"]
        assert told["outcome"] == "answered"
        [source] = told["sources"]
        assert source["title"] == "Télétravail"
        assert source["content"].startswith("Le télétravail")


async def first_events(site: Web, request: Any, *, count: int) -> list[tuple[str, str, Any]]:
    """Return the first events of a stream, and leave it."""
    text = ""
    async with request as answer:
        assert answer.status_code == 200
        async for piece in answer.aiter_text():
            text += piece
            if text.count("\n\n") >= count:
                break
    return events(text[:text.rindex("\n\n")])[:count]


async def test_whoever_leaves_a_conversation_reads_on(site: Web) -> None:
    site.scenario.hang = True
    made = (await post(site, "/api/conversations")).json()
    path = f"/api/conversations/{made['id']}/messages"
    told = await first_events(
        site, site.http.stream("POST", path, json={"content": QUESTION}, headers=TENANT), count=4
    )
    answer_id = told[0][2]["answer_id"]
    for url, headers in ((f"/api/answers/{answer_id}?after=2", TENANT),
                         (f"/api/answers/{answer_id}", {**TENANT, "last-event-id": "2"})):
        rest = await first_events(site, site.http.stream("GET", url, headers=headers), count=2)
        assert rest == told[2:]
    other = await site.http.get(f"/api/answers/{answer_id}", headers={"sourcier-tenant": "other"})
    assert other.status_code == 404
    wrong = await site.http.get(f"/api/answers/{answer_id}?after=two", headers=TENANT)
    assert wrong.json()["error"]["field"] == "after"
    stopped = await site.connect("AnswerService/Cancel", {"answerId": answer_id})
    assert stopped.json() == {"stopped": True}, "it was still being made"


@pytest.mark.parametrize(("path", "body", "field"), [
    ("/api/chat", {}, "content"), ("/api/chat", {"message": " "}, "content"), ("/api/chat", {"message": 3}, "content"),
    ("/api/chat", {"message": "a", "conversation_id": 3}, "conversation_id"),
    ("/api/chat", {"message": "a", "reranking_enabled": "yes"}, "reranking_enabled"),
    ("/api/chat", {"message": "\ud800"}, "body"),
    ("/embed", {}, "text"), ("/embed", {"text": ["a"]}, "text"), ("/embed", {"inputs": []}, "inputs"),
    ("/embed", {"text": "a", "input_type": "song"}, "input_type"), ("/embed", {"text": "a", "model": 3}, "model"),
    ("/embed_batch", {"texts": "a"}, "texts"), ("/embed_batch", {"texts": ["a", ""]}, "texts[1]"),
    ("/embed_batch", {"texts": ["a"] * 3000}, "texts"),
    ("/rerank", {"documents": ["a"]}, "query"), ("/rerank", {"query": "a"}, "documents"),
    ("/rerank", {"query": "a", "documents": [{"chunk_id": "1"}]}, "documents[0]"),
    ("/rerank", {"query": "a", "documents": ["a"], "top_k": 0}, "top_k"),
    ("/rerank", {"query": "a", "documents": ["a"] * 101}, "documents"),
    ("/rerank", {"query": "a", "texts": ["a", 3]}, "texts[1]"),
    ("/api/documents/text", {}, "text"), ("/api/documents/text", {"text": "a", "sorce": "b"}, "sorce"),
    ("/api/documents/text", {"text": "a", "metadata": [1]}, "metadata"),
])
async def test_bodies_that_are_refused(site: Web, path: str, body: Any, field: str) -> None:
    headers = {**TENANT, "content-type": "application/json"}
    answer = await site.http.post(path, content=json.dumps(body), headers=headers)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["field"] == field


async def test_a_body_that_is_no_object_is_refused(site: Web) -> None:
    for body in (b"", b"[]", b"3", b"{", b"\xff", b"[" * 100_000):
        for path in ("/embed", "/rerank", "/api/chat", "/v1/embeddings", "/v1/chat/completions", "/api/documents/text"):
            answer = await site.http.post(path, content=body)
            assert answer.status_code == 400, (path, body[:10], answer.text)


async def test_embeddings_in_the_forms_of_ragfab_and_tei(site: Web) -> None:
    one = (await post(site, "/embed", text="Deux jours")).json()
    assert (len(one["embedding"]), one["dimension"], one["model"]) == (DIMENSION, DIMENSION, "maker/fake-model")
    many = (await post(site, "/embed_batch", texts=["Deux jours", "Trois"])).json()
    assert (many["count"], many["embeddings"][0]) == (2, one["embedding"])
    tei = (await post(site, "/embed", inputs=["Deux jours", "Trois"])).json()
    assert tei == many["embeddings"]
    assert (await post(site, "/embed", inputs="Deux jours")).json() == [one["embedding"]]


async def test_a_prefix_that_the_caller_put_is_not_put_twice(site: Web) -> None:
    site.scenario.embedded.clear()
    site.scenario.roles.clear()
    answer = await post(site, "/embed_batch", texts=["query: Combien ?", "passage: Deux.", "query: ", "Trois"])
    assert answer.json()["count"] == 4
    assert dict(zip(site.scenario.embedded, site.scenario.roles, strict=True)) == {
        "Combien ?": embed_pb2.TEXT_ROLE_QUERY, "query: ": embed_pb2.TEXT_ROLE_QUERY,
        "Deux.": embed_pb2.TEXT_ROLE_PASSAGE, "Trois": embed_pb2.TEXT_ROLE_PASSAGE,
    }


async def test_more_texts_than_one_call_takes(site: Web) -> None:
    texts = [f"text {number}" for number in range(600)]
    many = (await post(site, "/embed_batch", texts=texts)).json()
    assert many["count"] == 600
    for place in (0, 255, 256, 599):
        assert many["embeddings"][place] == (await post(site, "/embed", text=texts[place])).json()["embedding"]


async def test_embeddings_by_openais_client(site: Web) -> None:
    async with AsyncOpenAI(base_url=f"{site.url}/v1", api_key="none", default_headers=TENANT, max_retries=0) as client:
        for model in ("sourcier", "fake-model", "maker/fake-model", "collection/default"):
            found = await client.embeddings.create(model=model, input=["Deux jours", "Trois"])
            assert [each.index for each in found.data] == [0, 1]
            assert found.usage.prompt_tokens == 2 * DIMENSION
        plain = await client.embeddings.create(model="sourcier", input="Deux jours", encoding_format="float")
        assert plain.data[0].embedding == found.data[0].embedding
        for bad in ({"model": "ada"}, {"model": "collection/none"}):
            with pytest.raises(openai.NotFoundError):
                await client.embeddings.create(input="a", **bad)
        with pytest.raises(openai.BadRequestError, match="check_embedding_ctx_length"):
            await client.embeddings.create(model="sourcier", input=[[1, 2, 3]])
        with pytest.raises(openai.BadRequestError, match="dimensions"):
            await client.embeddings.create(model="sourcier", input="a", dimensions=5)
    raw = (await post(site, "/v1/embeddings", model="sourcier", input="Deux jours", encoding_format="base64")).json()
    packed = base64.b64decode(raw["data"][0]["embedding"])
    assert list(struct.unpack(f"<{DIMENSION}f", packed)) == plain.data[0].embedding


async def test_ranking_in_three_dialects(site: Web) -> None:
    texts = ["Les repas sont remboursés.", "Le télétravail est possible deux jours par semaine."]
    question = "Combien de jours de télétravail ?"
    tei = (await post(site, "/rerank", query=question, texts=texts, return_text=True)).json()
    assert [(each["index"], each["text"]) for each in tei] == [(1, texts[1]), (0, texts[0])]
    assert tei[0]["score"] > tei[1]["score"]
    cohere = (await post(site, "/v2/rerank", model="any", query=question, documents=texts, top_n=1)).json()
    [best] = cohere["results"]
    assert best == {"index": 1, "relevance_score": tei[0]["score"]}
    jina = (await post(site, "/v1/rerank", query=question, documents=[{"text": text} for text in texts],
                       return_documents=True)).json()
    assert jina["results"][0]["document"] == {"text": texts[1]}
    ragfab = (await post(site, "/rerank", query=question, top_k=1, documents=[
        {"chunk_id": f"c{place}", "content": text, "page": place} for place, text in enumerate(texts)
    ])).json()
    [first] = ragfab["results"]
    assert (first["chunk_id"], first["page"], first["rank"], first["score"]) == ("c1", 1, 1, tei[0]["score"])
