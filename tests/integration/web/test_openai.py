"""OpenAI's dialect, by the unmodified client and by hand: models, streams, usage, stops, citations, errors."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
import pytest_asyncio
from google.rpc import code_pb2, status_pb2
from openai import AsyncOpenAI

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.errors import DailyLimitReached, ResourceExhausted, Unavailable
from sourcier.services.web import events
from sourcier.services.web.openai.errors import error_response
from sourcier.services.web.openai.sources import Sources
from sourcier.services.web.refusals import Refusal
from tests.integration.web.fix_web import TENANT, Web

QUESTION = [{"role": "user", "content": "Combien de jours de télétravail par semaine ?"}]
CHAT = "/v1/chat/completions"
OPEN_WEBUI_TITLE = """### Task:
Generate a concise, 3-5 word title with an emoji summarizing the chat history.
### Output:
JSON format: { "title": "your concise title here" }
### Chat History:
<chat_history>
USER: Combien de jours de télétravail par semaine ?
ASSISTANT: Deux jours. [1]
</chat_history>"""


@pytest_asyncio.fixture(loop_scope="session")
async def client(site: Web) -> Any:
    async with AsyncOpenAI(base_url=f"{site.url}/v1", api_key="none", default_headers=TENANT, max_retries=0) as opened:
        yield opened


async def post(site: Web, **body: Any) -> Any:
    return await site.http.post(CHAT, json={"model": "sourcier", "messages": QUESTION} | body, headers=TENANT)


def pieces(text: str) -> list[Any]:
    assert text.endswith("data: [DONE]\n\n"), text[-200:]
    return [json.loads(line.removeprefix("data: ")) for line in text.splitlines()
            if line.startswith("data: {")]


async def test_the_models_are_collections_agents_and_deployments(site: Web, client: AsyncOpenAI) -> None:
    made = await site.connect("CurationService/CreateAgent", {"name": "RH", "collection": "default"})
    assert made.status_code == 200, made.text
    made = await site.connect("CurationService/CreateDeployment", {"name": "intranet", "agent": "RH"})
    assert made.status_code == 200, made.text
    found = [model.id async for model in client.models.list()]
    assert found == ["collection/default", "agent/RH", "deployment/intranet"]
    one = await client.models.retrieve("agent/RH")
    assert (one.id, one.owned_by) == ("agent/RH", "sourcier")
    # Whatever can be asked can be looked up, as it is named.
    for name in ("sourcier", "default", "collection/default:none", "sourcier:annotations"):
        assert (await client.models.retrieve(name)).id == name
    for name in ("agent/none", "gpt-4o", "default:nothing"):
        with pytest.raises(openai.NotFoundError):
            await client.models.retrieve(name)
    for model in found:
        answer = await client.chat.completions.create(model=model, messages=QUESTION)  # type: ignore[arg-type]
        assert "deux jours" in (answer.choices[0].message.content or "")
        assert answer.model == model


async def test_an_answer_in_one_piece(client: AsyncOpenAI) -> None:
    answer = await client.chat.completions.create(model="sourcier", messages=QUESTION)  # type: ignore[arg-type]
    [choice] = answer.choices
    assert choice.finish_reason == "stop"
    assert choice.index == 0
    text = choice.message.content or ""
    assert "deux jours par semaine" in text
    assert text.count("**Sources**") == 1
    assert "[1] [Télétravail" in text
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (50, 5, 55)
    extra = answer.model_extra["sourcier"]  # type: ignore[index]
    assert extra["outcome"] == "answered"
    assert extra["sources"][0]["text"].startswith("Le télétravail est possible deux jours")


async def test_a_question_is_narrowed_as_json_and_as_an_expression(site: Web) -> None:
    for narrowed, outcome in (
        ("category = finance", "refused"), ({"field": "team", "exists": True}, "refused"),
        ("category != finance", "answered"), ({"field": "team", "exists": False}, "answered"),
    ):
        for where in ({}, {"all_collections": True}, {"collections": ["default"]}):
            answer = await post(site, filter=narrowed, **where)
            assert answer.status_code == 200, answer.text
            assert answer.json()["sourcier"]["outcome"] == outcome, (narrowed, where)


async def test_an_answer_in_a_stream(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(
        model="collection/default:none", messages=QUESTION, stream=True,  # type: ignore[arg-type]
        stream_options={"include_usage": True},
    )
    chunks = [chunk async for chunk in stream]
    assert len({chunk.id for chunk in chunks}) == 1
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert "deux jours par semaine" in text
    assert "Sources" not in text
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 55


async def test_sources_in_three_forms(site: Web) -> None:
    annotated = (await post(site, model="sourcier:annotations")).json()["choices"][0]["message"]
    [note] = annotated["annotations"]
    cited = note["url_citation"]
    assert note["type"] == "url_citation"
    assert cited["title"].startswith("Télétravail")
    assert annotated["content"][cited["start_index"]:cited["end_index"]].startswith("Le télétravail")
    assert "Sources" not in annotated["content"]
    told = pieces((await post(site, model="sourcier:events", stream=True)).text)
    [event] = [chunk["event"] for chunk in told if "event" in chunk]
    assert event["type"] == "source"
    assert event["data"]["document"][0].startswith("Le télétravail")
    assert all(chunk["choices"] for chunk in told), "Open WebUI drops a chunk without choices"
    streamed = pieces((await post(site, model="sourcier:annotations", stream=True)).text)
    assert [len(chunk["choices"][0]["delta"].get("annotations", [])) for chunk in streamed][-1] == 1


@pytest.mark.parametrize(("stop", "shown"), [
    ("semaine", "Le télétravail est possible deux jours par "), (["jamais", "possible deux"], "Le télétravail est "),
    ("e deux j", "Le télétravail est possibl"), (["L"], ""),
])
async def test_a_stop_ends_it_even_across_pieces(site: Web, stop: Any, shown: str) -> None:
    for stream in (False, True):
        answer = await post(site, stop=stop, stream=stream)
        text = "".join(
            chunk["choices"][0]["delta"].get("content", "") for chunk in pieces(answer.text)
        ) if stream else answer.json()["choices"][0]["message"]["content"]
        assert text == shown


async def test_what_was_said_before_goes_with_the_question(site: Web) -> None:
    site.scenario.generations.clear()
    answer = await post(site, messages=[
        {"role": "system", "content": "You are a pirate."},
        {"role": "user", "content": "Combien de jours de télétravail par semaine ?"},
        {"role": "assistant", "content": "Deux jours. [1]\n\n---\n**Sources**\n- [1] [UNIQUE](http://x)\n"},
        {"role": "user", "content": [{"type": "text", "text": "Et les frais de repas ?"},
                                     {"type": "image_url", "image_url": {"url": "data:,"}}]},
    ])
    assert answer.status_code == 200, answer.text
    prompts = "\n".join(message.content for each in site.scenario.generations for message in each.messages)
    assert "Deux jours." in prompts
    assert "UNIQUE" not in prompts, "the list of sources is ours, not part of what was said"
    assert "pirate" not in prompts


@pytest.mark.parametrize(("body", "param"), [
    ({"messages": []}, "messages"), ({"messages": "hello"}, "messages"), ({"messages": [{"role": "user"}]}, "messages"),
    ({"messages": [{"role": "king", "content": "x"}]}, "messages[0].role"),
    ({"messages": [*QUESTION, {"role": "assistant", "content": "x"}]}, "messages"),
    ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages"),
    ({"messages": [{"role": "user", "content": [{"type": "text", "text": 3}]}]}, "messages[0].content"),
    ({"model": ""}, "model"), ({"model": 3}, "model"), ({"model": "x" * 400}, "model"),
    ({"n": 2}, "n"), ({"stream": "yes"}, "stream"), ({"stop": [""]}, "stop"), ({"stop": ["a"] * 5}, "stop"),
    ({"stop": {"a": 1}}, "stop"), ({"temperature": 3}, "temperature"), ({"temperature": True}, "temperature"),
    ({"max_tokens": 0}, "max_tokens"), ({"max_tokens": "many"}, "max_tokens"), ({"seed": 2**70}, "seed"),
    ({"tool_choice": "required"}, "tool_choice"), ({"response_format": {"type": "json_object"}}, "response_format"),
    ({"logprobs": True}, "logprobs"), ({"stream_options": 3}, "stream_options"),
    ({"messages": [{"role": "user", "content": "x" * 9000}]}, "question"),
    ({"filter": "team ="}, "filter"), ({"filter": 3}, "filter"), ({"filter": {"fild": 1}}, "filter"),
    ({"filter": "taem = paie"}, "filter.where"), ({"collections": "default"}, "collections"),
    ({"collections": [3]}, "collections"), ({"all_collections": 1}, "all_collections"),
    ({"model": "collection/other", "all_collections": True}, "filter.all_collections"),
])
async def test_requests_that_are_refused(site: Web, body: dict[str, Any], param: str) -> None:
    for stream in ({}, {"stream": True}):
        answer = await post(site, **(stream | body))
        assert answer.status_code == 400, answer.text
        told = answer.json()["error"]
        assert (told["type"], told["param"]) == ("invalid_request_error", param)


async def test_the_list_of_models_refuses_in_openais_words_too(site: Web) -> None:
    for path in ("/v1/models", "/v1/models/sourcier"):
        refused = await site.http.get(path, headers={"authorization": "Bearer " + "x" * 9_000})
        assert refused.status_code == 400
        assert refused.json()["error"]["type"] == "invalid_request_error"


async def test_what_is_not_there_is_told_as_the_client_reads_it(site: Web, client: AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="/v1/chat/completions") as responses:
        await client.responses.create(model="sourcier", input="Bonjour")
    assert responses.value.code == "unknown_url"
    with pytest.raises(openai.NotFoundError):
        await client.completions.create(model="sourcier", prompt="Bonjour")
    with pytest.raises(openai.NotFoundError):
        await client.files.list()
    for method, path in (("DELETE", "/v1/models/sourcier"), ("GET", CHAT), ("GET", "/v1")):
        answer = await site.http.request(method, path)
        assert (answer.status_code, answer.json()["error"]["type"]) == (404, "invalid_request_error"), (method, path)


async def test_a_limit_of_the_day_is_told_as_a_quota(site: Web, client: AsyncOpenAI) -> None:
    site.scenario.generate_error = DailyLimitReached("today's limit is reached", retry_after_seconds=7_200)
    site.scenario.deltas = ()
    with pytest.raises(openai.RateLimitError) as reached:
        await client.chat.completions.create(model="sourcier", messages=QUESTION)  # type: ignore[arg-type]
    assert reached.value.code == "insufficient_quota"


async def test_errors_have_the_classes_that_the_client_knows(site: Web, client: AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as missing:
        await client.chat.completions.create(model="nothing", messages=QUESTION)  # type: ignore[arg-type]
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError):
        await client.chat.completions.create(model="sourcier", messages=[])
    site.scenario.generate_error = ResourceExhausted("full", retry_after_seconds=3)
    site.scenario.deltas = ()
    with pytest.raises(openai.RateLimitError) as full:
        await client.chat.completions.create(model="sourcier", messages=QUESTION)  # type: ignore[arg-type]
    assert full.value.code == "rate_limit_exceeded"
    broken = await site.http.post(CHAT, content=b"{", headers={"content-type": "application/json"})
    assert broken.status_code == 400
    assert broken.json()["error"]["type"] == "invalid_request_error"


async def test_an_error_in_the_middle_of_a_stream_is_raised(site: Web, client: AsyncOpenAI) -> None:
    site.scenario.generate_error = Unavailable("the language model is gone")
    stream = await client.chat.completions.create(
        model="sourcier", messages=QUESTION, stream=True,  # type: ignore[arg-type]
    )
    with pytest.raises(openai.APIError, match="language model"):
        async for _ in stream:
            pass


async def test_a_sign_of_life_while_nothing_comes(site: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events.with_pings, "__kwdefaults__", {"seconds": 0.05})
    site.scenario.pace_seconds = 0.3
    answer = await post(site, stream=True)
    assert ": ping\n\n" in answer.text
    assert "deux jours" in "".join(
        chunk["choices"][0]["delta"].get("content", "") for chunk in pieces(answer.text)
    )


async def test_a_client_that_leaves_stops_the_language_model(site: Web) -> None:
    site.scenario.hang = True
    # A sentence is shown once the next one begins.
    site.scenario.deltas = ("Le télétravail est possible deux jours par semaine [1]. ", "La demande se fait ", "par")
    async with site.http.stream(
        "POST", CHAT, json={"model": "sourcier", "messages": QUESTION, "stream": True}, headers=TENANT
    ) as answer:
        async for line in answer.aiter_lines():
            if "télétravail" in line:
                break
        site.scenario.generation_ended.clear()  # one of the test before may have ended late
    await site.scenario.generation_ended.wait()


@pytest.mark.parametrize(("prompt", "answered"), [
    (OPEN_WEBUI_TITLE, '{"title": "Combien de jours de télétravail par semaine ?"}'),
    (OPEN_WEBUI_TITLE.replace('"title": "your', '"tags": ["your'), '{"tags": []}'),
    (OPEN_WEBUI_TITLE.replace('"title": "your', '"follow_ups": ["your'), '{"follow_ups": []}'),
    ("Provide a concise, 5-word-or-less title for the conversation, using title case.\n\nConversation:\n"
     "User: Combien de jours ?\nAI: Deux.", "Combien de jours ?"),
])
async def test_prompts_of_the_clients_themselves_search_nothing(site: Web, prompt: str, answered: str) -> None:
    site.scenario.embedded.clear()
    answer = await post(site, messages=[{"role": "user", "content": prompt}])
    assert answer.json()["choices"][0]["message"]["content"] == answered
    assert not site.scenario.embedded


@pytest.mark.parametrize("prompt", [
    "### Task: quel est le plafond ?", "Generate a title for télétravail",
    OPEN_WEBUI_TITLE.replace("<chat_history>", ""), "Question: " + OPEN_WEBUI_TITLE,
])
async def test_a_question_that_only_looks_like_one_is_searched_for(site: Web, prompt: str) -> None:
    site.scenario.embedded.clear()
    await post(site, messages=[{"role": "user", "content": prompt}])
    assert site.scenario.embedded


async def test_a_title_of_a_document_formats_nothing() -> None:
    sources = Sources("http://localhost")
    evil = "](javascript:alert(1)) <img src=x onerror=alert(1)> ![x](http://evil)\n\n# H"
    sources.take(answer_pb2.AskEvent(citation=answer_pb2.Citation(
        marker=1, title=evil, source="javascript:alert(1)", document_id="../../x?y",
    )))
    [line] = [line for line in sources.markdown().splitlines() if line.startswith("- ")]
    assert "](javascript" not in line
    assert "<img" not in line.replace(r"\<img", "")
    assert "![" not in line.replace(r"\!\[", "")
    assert line.endswith("](http://localhost/#/documents/..%2F..%2Fx%3Fy)")


@pytest.mark.parametrize(("code", "status", "kind", "name"), [
    (code_pb2.UNAUTHENTICATED, 401, "authentication_error", "invalid_api_key"),
    (code_pb2.PERMISSION_DENIED, 403, "permission_error", "permission_denied"),
    (code_pb2.RESOURCE_EXHAUSTED, 429, "rate_limit_error", "rate_limit_exceeded"),
    (code_pb2.UNAVAILABLE, 503, "server_error", "unavailable"), (code_pb2.INTERNAL, 500, "server_error", "internal"),
    (code_pb2.DEADLINE_EXCEEDED, 504, "server_error", "deadline_exceeded"),
])
def test_each_status_of_the_gateway_has_its_error(code: int, status: int, kind: str, name: str) -> None:
    answer = error_response(Refusal(status_pb2.Status(code=code, message="no")))
    told = json.loads(bytes(answer.body))["error"]
    assert (answer.status_code, told["type"], told["code"], told["message"]) == (status, kind, name, "no")
    assert ("www-authenticate" in answer.headers) == (status == 401)
    assert ("retry-after" in answer.headers) == (status in {429, 503})
