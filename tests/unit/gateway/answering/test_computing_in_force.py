"""Computed answers beside passages that do not say the same: the conflict is told, what is disputed not computed."""

from __future__ import annotations

from contextlib import aclosing

import pytest

from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.answering import answerer as answerer_module
from sourcier.services.gateway.answering.answerer import Answerer
from sourcier.services.gateway.answering.in_force import InForce
from sourcier.services.gateway.events import Conflict, ConflictSide, Event, Token
from sourcier.services.gateway.prompting.marking import Marking
from sourcier.services.gateway.retrieval.query import Found
from sourcier.services.index.search.search import SearchResult
from tests.unit.gateway.fix_gateway_domain import FakePeers, FakeRetriever, options, passage, query

ASKED = "Quelle est la différence entre le prix du repas de Lyon et celui de Nantes ?"
PRICES = "Le prix du repas de Lyon est de 58 €. Le prix du repas de Nantes est de 41 €."
OTHERWISE = "Le prix du repas de Lyon est de 60 €."


async def told() -> list[Event]:
    """Return the events of an answer from two passages."""
    results = [SearchResult(passage=passage(number, text), score=0.03, similarity=0.9)
               for number, text in enumerate((PRICES, OTHERWISE), start=1)]
    answerer = Answerer(_Retriever(results=results), FakePeers(), Marking())  # type: ignore[arg-type]
    async with aclosing(
        answerer.answer(query(ASKED), options(), answer_id="a", deadline=Deadline.after(30))
    ) as events:
        return [event async for event in events]


class _Retriever(FakeRetriever):
    async def beside(self, *_: object, **__: object) -> dict[str, object]:  # type: ignore[override]
        """Return no chunk beside any."""
        return {}


@pytest.mark.parametrize(("reason", "computed"), [("", False), ("later", True)])
async def test_conflicts_come_before_what_is_computed(
    reason: str, computed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def judged(found: Found, *_: object, **__: object) -> InForce:
        one, other = (ConflictSide(number, entry.passage, entry.passage.text, None)
                      for number, entry in enumerate(found.passages, start=1))
        return InForce(found, found.passages, (Conflict(one, other, reason, "Ils ne disent pas de même."),))

    monkeypatch.setattr(answerer_module, "in_force", judged)
    events = await told()
    places = {kind: next((place for place, event in enumerate(events) if isinstance(event, kind)), -1)
              for kind in (Conflict, Token)}
    assert ("17" in "".join(event.text for event in events if isinstance(event, Token))) is computed
    assert places[Conflict] >= 0
    assert places[Token] == -1 or places[Conflict] < places[Token]
