"""Descriptions by an endpoint: what it is sent, what it may answer, and how it can fail."""

from __future__ import annotations

import asyncio
import base64
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.ingest.parsing.limits import MEBIBYTE
from sourcier.services.ingest.parsing.pictures.described import Description
from sourcier.services.ingest.stages.by_parts import vision_endpoint
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


@pytest.mark.parametrize(("status", "refused"), [(400, True), (413, True), (500, False), (503, False)])
async def test_a_picture_that_is_refused_is_told_and_an_endpoint_that_fails_is_asked_again(
    status: int, refused: bool
) -> None:
    async with describing() as endpoint, asking(endpoint.url) as asked:
        endpoint.status, endpoint.answer = status, {"error": "trop grand"}
        if refused:
            # Readers see it, and the answer may hold what is none of their business.
            expected = Description(error=f"refused: the vision endpoint answered {status}")
            assert await asked.describe(b"jpeg") == expected
            return
        with pytest.raises(Unavailable, match=str(status)):
            await asked.describe(b"jpeg")
        assert str(status) in asked.trouble
        assert not asked.is_left_alone


@pytest.mark.parametrize("status", [307, 401, 403, 404])
async def test_a_wrong_address_key_or_model_is_told_once_and_not_tried_again(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with describing() as endpoint, asking(endpoint.url, concurrency=1) as asked:
        endpoint.status = status
        errors = await asyncio.gather(*(asked.describe(b"jpeg") for _ in range(3)), return_exceptions=True)
        assert [type(error) for error in errors] == [Unavailable] * 3
        assert (asked.is_left_alone, len(endpoint.sent)) == (True, 1)
        (line,) = [record.getMessage() for record in caplog.records if record.name == vision_endpoint.__name__]
        assert f"answered {status}: check SOURCIER_INGEST_VISION_URL, _API_KEY and _MODEL" in line
        assert "SOURCIER" not in asked.trouble  # readers see it


async def test_a_busy_endpoint_is_asked_again_when_it_says_so() -> None:
    async with describing() as endpoint, asking(endpoint.url) as asked:
        endpoint.headers, endpoint.statuses = {"Retry-After": "0"}, [429, 429]
        assert (await asked.describe(b"jpeg")).text
        assert (len(endpoint.sent), asked.is_left_alone) == (3, False)
        endpoint.status = 429
        with pytest.raises(Unavailable, match="429"):
            await asked.describe(b"jpeg")
        assert (len(endpoint.sent), asked.is_left_alone) == (6, False)


async def test_an_endpoint_that_sends_everybody_away_for_long_is_left_alone_for_so_long() -> None:
    async with describing() as endpoint, asking(endpoint.url) as asked:
        endpoint.headers, endpoint.status = {"Retry-After": "120"}, 429
        with pytest.raises(Unavailable, match="asked again in 120 s"):
            await asked.describe(b"jpeg")
        asked.leave_alone()  # as who was refused does
        assert (len(endpoint.sent), asked.is_left_alone) == (1, True)
        assert asked._left_alone_until - time.monotonic() <= 120


@pytest.mark.parametrize(("header", "seconds"), [
    ("7", 7), ("0.2", 1), ("-3", 0), ("Sat, 28 Nov 2026 10:00:30 GMT", 30), ("Sat, 28 Nov 2026 09:00:00 GMT", 0),
    ("", 5), ("soon", 5), ("nan", 5), ("inf", 5), ("Sat, 28 Nov 2026 10:00:30 -0000", 5),
])
def test_when_to_ask_again_is_a_number_or_a_date(header: str, seconds: int) -> None:
    now = datetime(2026, 11, 28, 10, tzinfo=UTC)
    assert vision_endpoint.retry_seconds(header, now=now) == seconds


async def test_an_answer_without_an_end_is_not_kept() -> None:
    async with describing() as endpoint, asking(endpoint.url) as asked:
        endpoint.answer = said("a" * 2 * MEBIBYTE)
        with pytest.raises(Unavailable, match="more than 1,048,576 bytes"):
            await asked.describe(b"jpeg")


async def test_an_address_that_is_none_is_an_endpoint_that_does_not_answer() -> None:
    async with asking("http://[::1/v1") as asked:
        with pytest.raises(Unavailable, match="does not answer"):
            await asked.describe(b"jpeg")


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
