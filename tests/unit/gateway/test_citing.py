"""Citing: markers kept, dropped or attached, sentence by sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from services.chassis.channels import Deadline
from services.chassis.errors import Unavailable
from services.gateway.citing import Citer, citations_total
from services.gateway.events import Citation, Token
from services.gateway.support import SupportScorer
from services.index.passages import Passage
from tests.unit.gateway.fix_gateway_domain import FakePeers, passage

PASSAGES = [passage(1), passage(2), passage(3)]


async def cite(
    *deltas: str, support: Mapping[str, Mapping[int, float]] | None = None, peers: FakePeers | None = None,
    passages: Sequence[Passage] = PASSAGES,
) -> tuple[str, list[Citation], Citer]:
    """Return the text shown, the citations and the citer."""
    peers = peers or FakePeers(support=support or {})
    scorer = SupportScorer(peers, passages, tenant="acme", space_id="space")  # type: ignore[arg-type]
    citer = Citer(passages, scorer, attach_threshold=0.4, deadline=Deadline.after(10))
    events: list[Any] = []
    for delta in deltas:
        events += [event async for event in citer.feed(delta)]
    events += [event async for event in citer.finish()]
    text = "".join(event.text for event in events if isinstance(event, Token))
    return text, [event for event in events if isinstance(event, Citation)], citer


async def test_the_models_marker_is_kept_and_resolved() -> None:
    text, citations, citer = await cite("Deux jours par semaine [2].")
    assert text == "Deux jours par semaine [2]."
    assert [(c.marker, c.passage.chunk_id, c.attached) for c in citations] == [(2, "chunk-2", False)]
    assert citer.supported == 1


async def test_a_citation_says_whether_the_wording_is_the_passages() -> None:
    support = {"Deux jours par semaine .": {2: 0.7}, "Trois mois en tout .": {2: 0.3}}
    _, citations, _ = await cite("Deux jours par semaine [2]. Trois mois en tout [2].", support=support)
    assert [(c.marker, c.same_wording, c.score) for c in citations] == [(2, True, 0.7), (2, False, 0.3)]


async def test_a_marker_far_from_its_sentence_becomes_that_of_the_passage_close_to_it() -> None:
    support = {"Deux jours par semaine .": {1: 0.2, 2: 0.7}}
    text, citations, citer = await cite("Deux jours par semaine [1].", support=support)
    assert text == "Deux jours par semaine [2]."
    assert [(c.marker, c.attached) for c in citations] == [(2, True)]
    assert citer.supported == 1


async def test_a_marker_that_is_nearly_as_close_as_another_stays() -> None:
    support = {"Deux jours par semaine .": {1: 0.38, 2: 0.42}}
    text, citations, _ = await cite("Deux jours par semaine [1].", support=support)
    assert text == "Deux jours par semaine [1]."
    assert [(c.marker, c.attached) for c in citations] == [(1, False)]


async def test_a_marker_whose_passage_lacks_a_figure_of_the_sentence_is_corrected() -> None:
    support = {"Le plafond est de 19 euros .": {1: 0.6, 2: 0.65}}
    passages = [passage(1, "Le plafond est fixé."), passage(2, "Le plafond est de 19 euros.")]
    text, citations, _ = await cite("Le plafond est de 19 euros [1].", support=support, passages=passages)
    assert text == "Le plafond est de 19 euros [2]."
    assert [c.passage.chunk_id for c in citations] == ["chunk-2"]


async def test_two_markers_corrected_to_one_are_shown_once() -> None:
    support = {"Deux jours par semaine .": {1: 0.1, 2: 0.7}}
    text, citations, _ = await cite("Deux jours par semaine [2][1].", support=support)
    assert text == "Deux jours par semaine [2]."
    assert [c.marker for c in citations] == [2]


@pytest.mark.parametrize("marker", ["[4]", "[0]", "[99]"])
async def test_a_marker_that_the_model_invented_is_dropped(marker: str) -> None:
    before = citations_total.labels("invalid")._value.get()
    text, citations, citer = await cite(f"Deux jours par semaine {marker}.")
    assert (text, citations, citer.supported) == ("Deux jours par semaine .", [], 0)
    assert citations_total.labels("invalid")._value.get() == before + 1


async def test_an_invented_marker_beside_a_real_one_leaves_the_real_one() -> None:
    text, citations, _ = await cite("Deux jours par semaine [9][1].")
    assert text == "Deux jours par semaine [1]."
    assert [c.marker for c in citations] == [1]


async def test_a_sentence_without_a_marker_gets_that_of_its_closest_passage() -> None:
    support = {"Deux jours par semaine.": {1: 0.3, 3: 0.8}}
    text, citations, citer = await cite("Deux jours par semaine. Le reste est à voir.", support=support)
    assert text == "Deux jours par semaine. [3] Le reste est à voir."
    assert [(c.marker, c.attached, c.same_wording, c.score) for c in citations] == [(3, True, True, 0.8)]
    assert citer.supported == 1


async def test_a_sentence_that_no_passage_is_close_to_stays_without() -> None:
    text, citations, citer = await cite("Deux jours par semaine.", support={"Deux jours par semaine.": {1: 0.39}})
    assert (text, citations, citer.supported) == ("Deux jours par semaine.", [], 0)


async def test_what_is_no_statement_is_not_scored() -> None:
    peers = FakePeers()
    await cite("Voici :\n- Oui.\n1.\nDeux jours par semaine [1].\n", peers=peers)
    assert peers.scored == ["Deux jours par semaine ."]


async def test_support_that_cannot_be_checked_is_said_and_markers_stay() -> None:
    peers = FakePeers(rerank_error=Unavailable("the rerank service cannot be reached"))
    scorer = SupportScorer(peers, PASSAGES, tenant="acme", space_id="space")  # type: ignore[arg-type]
    citer = Citer(PASSAGES, scorer, attach_threshold=0.4, deadline=Deadline.after(10))
    events = [event async for event in citer.feed("Deux jours par semaine [1]. Et le reste aussi. ")]
    events += [event async for event in citer.finish()]
    citations = [event for event in events if isinstance(event, Citation)]
    assert [(c.marker, c.score, c.same_wording) for c in citations] == [(1, None, False)]
    assert scorer.failed == "the rerank service cannot be reached"


async def test_citations_follow_their_sentence() -> None:
    peers = FakePeers()
    scorer = SupportScorer(peers, PASSAGES, tenant="acme", space_id="space")  # type: ignore[arg-type]
    citer = Citer(PASSAGES, scorer, attach_threshold=0.4, deadline=Deadline.after(10))
    events = [event async for event in citer.feed("Un deux trois [1]. Quatre cinq six [2].")]
    events += [event async for event in citer.finish()]
    shown = "".join(event.text if isinstance(event, Token) else f"<{event.marker}>" for event in events)
    assert shown == "Un deux trois [1].<1> Quatre cinq six [2].<2>"
