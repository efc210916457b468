"""Comparisons begun when a sentence seems to have ended: used once it has, given up where it goes on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.events import Token
from sourcier.services.gateway.evidence.citing import Citer, Strictness
from sourcier.services.gateway.evidence.markers import MarkerReader
from sourcier.services.gateway.evidence.speculation import Foreseen, foreseen_total
from sourcier.services.gateway.evidence.support import SupportScorer
from sourcier.services.gateway.peers.embedding import QueryEmbedding
from tests.unit.gateway.fix_gateway_domain import THRESHOLDS, FakePeers, passage

TEXT = "Chaque salarié dispose de deux jours de télétravail par semaine, sauf le mardi."
SENTENCE = "Les salariés ont deux jours de télétravail."


@dataclass
class _Watched(FakePeers):
    """Tells when an embedding was asked for, and keeps it until it is let go."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def embed_query(self, text: str, *, space_id: str, tenant: str, deadline: Deadline) -> QueryEmbedding:
        self.asked.set()
        await self.go.wait()
        return await super().embed_query(text, space_id=space_id, tenant=tenant, deadline=deadline)


def _citer(peers: FakePeers) -> tuple[Citer, SupportScorer]:
    scorer = SupportScorer(peers, [passage(1, TEXT)], tenant="acme", space_id="space",  # type: ignore[arg-type]
                           thresholds=THRESHOLDS)
    return Citer([passage(1, TEXT)], scorer, strictness=Strictness.WITHHOLD, language="fr",
                 deadline=Deadline.after(10)), scorer


def _outcomes() -> dict[str, float]:
    return {outcome: foreseen_total.labels(outcome)._value.get() for outcome in ("wanted", "given up")}


@pytest.mark.parametrize(("text", "sentence"), [
    ("Deux jours par semaine", ""),
    ("Deux jours par semaine.", "Deux jours par semaine."),
    ("Deux jours par semaine. ", "Deux jours par semaine."),
    ("Deux jours [1] par semaine. [", "Deux jours  par semaine."),
    ("Combien ?", "Combien ?"),
    ("Un titre\n", "Un titre"),
    ("Selon l'art.", ""),
    ("Selon M.", ""),
    ("Selon M. ", ""),
    ("Selon M. [", ""),
    ("Oui. Deux jours", ""),
])
def test_what_seems_to_be_a_sentence(text: str, sentence: str) -> None:
    reader = MarkerReader()
    list(reader.feed(text))
    assert reader.likely_sentence == sentence


async def test_a_sentence_is_compared_before_the_next_one_begins_and_once() -> None:
    peers, before = _Watched(), _outcomes()
    citer, _ = _citer(peers)
    async with citer:
        assert [event async for event in citer.feed(SENTENCE)] == []
        async with asyncio.timeout(5):
            await peers.asked.wait()
        peers.go.set()
        events = [event async for event in citer.feed(" [1] ")] + [event async for event in citer.feed("Et")]
        shown = "".join(event.text for event in events if isinstance(event, Token))
    assert shown == SENTENCE + " [1]"
    assert peers.scored == [SENTENCE]
    assert _outcomes() == before | {"wanted": before["wanted"] + 1}


async def test_a_sentence_that_goes_on_is_compared_as_a_whole() -> None:
    peers, before = _Watched(), _outcomes()
    citer, _ = _citer(peers)
    async with citer:
        assert [event async for event in citer.feed("Les salariés ont, par sem.")] == []
        async with asyncio.timeout(5):
            await peers.asked.wait()
        peers.go.set()
        for delta in (" de travail, deux jours", " de télétravail [1]."):
            assert [event async for event in citer.feed(delta)] == []
        assert [event async for event in citer.finish()]
    assert peers.scored[-1] == "Les salariés ont, par sem. de travail, deux jours de télétravail ."
    assert _outcomes()["given up"] == before["given up"] + 1


async def test_what_failed_and_was_not_wanted_is_no_failure() -> None:
    peers = FakePeers(embed_error=Unavailable("embed is away"))
    citer, scorer = _citer(peers)
    async with citer:
        await scorer.begin("Ce qui n'est pas une phrase.", deadline=Deadline.after(5))
        await asyncio.sleep(0)
    assert scorer.failed == ""


async def test_nothing_goes_on_once_an_answer_is_left() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with Foreseen[None](name="test") as foreseen:
        await foreseen.begin("text", work)
        await asyncio.sleep(0)
    assert ended.is_set()
