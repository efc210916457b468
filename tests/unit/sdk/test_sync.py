"""The client that waits: every call of the asynchronous one, in a thread without a loop and beside one that runs."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from sourcier import client as asynchronous
from sourcier import errors, sync

pytestmark = pytest.mark.unit


def test_it_has_every_call_of_the_other_one() -> None:
    calls = {name for name, _ in inspect.getmembers(asynchronous.Client, inspect.isfunction) if name[0] != "_"}
    own = {name for name, _ in inspect.getmembers(sync.Client, inspect.isfunction) if name[0] != "_"}
    assert own - {"close"} == calls


async def test_calls_and_streams_are_waited_for(address: str) -> None:
    def use() -> tuple[str, list[str], list[str]]:
        with sync.Client(address) as client:
            answer = client.answer("Combien de jours de télétravail ?")
            kinds = [event.WhichOneof("event") or "" for event in client.ask("Combien de jours de télétravail ?")]
            for event in client.ask("Combien de jours de télétravail ?"):
                if event.WhichOneof("event") == "token":
                    break
            titles = [passage.title for passage in client.search("télétravail", limit=1).passages]
            return answer.text, kinds, titles

    text, kinds, titles = await asyncio.to_thread(use)
    assert text == "Deux jours par semaine [1]."
    assert kinds[-1] == "finished"
    assert titles == ["Charte du télétravail"]


async def test_errors_are_the_clients_own(address: str) -> None:
    def use() -> None:
        with sync.Client(address) as client:
            client.answer("Combien ?", collection="inconnue")

    with pytest.raises(errors.NotFound, match="inconnue"):
        await asyncio.to_thread(use)
