"""Descriptions by an endpoint: what it is sent, what it may answer, and how it can fail."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.ingest.parsing.pictures.described import Description
from tests.integration.ingest.fix_vision_endpoint import asking, describing, said


async def test_a_picture_is_sent_as_a_data_uri_with_a_french_question() -> None:
    async with describing() as endpoint, asking(endpoint.url, key="secret") as asked:
        assert await asked.describe(b"jpeg") == Description("Un plan d'évacuation du rez-de-chaussée.")
        (sent,) = endpoint.sent
        question, picture = sent["messages"][0]["content"]
        assert question["text"].startswith("Décris cette image en français")
        assert picture["image_url"]["url"] == f"data:image/jpeg;base64,{base64.b64encode(b'jpeg').decode()}"
        assert (sent["model"], endpoint.keys) == ("voit", ["Bearer secret"])


@pytest.mark.parametrize(("answer", "description"), [
    (said("DÉCORATIVE"), Description(decorative=True)),
    (said(" « Décorative. » "), Description(decorative=True)),
    (said("Décorative au premier regard, la frise donne pourtant les dates des travaux."),
     Description("Décorative au premier regard, la frise donne pourtant les dates des travaux.")),
    (said("<think>Un graphe ?</think>\n\nUn  histogramme."), Description("Un histogramme.")),
    (said("a " * 5_000), Description("a " * 1_000)),
    (said(None, refusal="Je ne peux pas."), Description(error="refused: Je ne peux pas.")),
    ({"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]},
     Description(error="refused: content filter")),
])
async def test_answers_are_taken_for_what_they_are(answer: Any, description: Description) -> None:
    async with describing() as endpoint, asking(endpoint.url) as asked:
        endpoint.answer = answer
        assert await asked.describe(b"jpeg") == description


@pytest.mark.parametrize("answer", [
    said(""), said("…!"), said(None), {}, {"choices": []}, [], "texte", {"choices": [{"message": {"content": [1]}}]},
])
async def test_nonsense_is_no_description(answer: Any) -> None:
    async with describing() as endpoint, asking(endpoint.url) as asked:
        endpoint.answer = answer
        with pytest.raises(Unavailable, match="no description; SOURCIER_INGEST_VISION_URL"):
            await asked.describe(b"jpeg")


@pytest.mark.parametrize(("status", "refused"), [(400, True), (413, True), (401, False), (429, False), (500, False)])
async def test_a_picture_that_is_refused_is_told_and_an_endpoint_that_fails_is_asked_again(
    status: int, refused: bool
) -> None:
    async with describing() as endpoint, asking(endpoint.url) as asked:
        endpoint.status, endpoint.answer = status, {"error": "trop grand"}
        if refused:
            assert "trop grand" in (await asked.describe(b"jpeg")).error
            return
        with pytest.raises(Unavailable, match=str(status)):
            await asked.describe(b"jpeg")
        assert str(status) in asked.trouble


async def test_an_endpoint_that_hangs_or_is_not_there_costs_a_bounded_time() -> None:
    async with describing() as endpoint, asking(endpoint.url, seconds_max=0.1) as asked:
        endpoint.gate.clear()
        with pytest.raises(Unavailable, match="does not answer"):
            await asked.describe(b"jpeg")
    async with asking(endpoint.url) as asked:
        with pytest.raises(Unavailable, match="does not answer"):
            await asked.describe(b"jpeg")


async def test_few_pictures_are_on_their_way_at_once() -> None:
    async with describing() as endpoint, asking(endpoint.url, concurrency=2) as asked:
        endpoint.gate.clear()
        calls = [asyncio.create_task(asked.describe(b"jpeg")) for _ in range(6)]
        while endpoint.at_once < 2:
            await asyncio.sleep(0)
        endpoint.gate.set()
        await asyncio.gather(*calls)
        assert (endpoint.most_at_once, len(endpoint.sent)) == (2, 6)
