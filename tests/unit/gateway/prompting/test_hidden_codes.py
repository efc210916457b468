"""The codes that delimit passages in prompts are a secret: whatever a model says of them, nobody is shown one."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.answering.answerer import Answerer
from sourcier.services.gateway.contract.answers import EventStream
from sourcier.services.gateway.events import Degradation, Event, Searching, Token
from sourcier.services.gateway.evidence.citing import Strictness
from sourcier.services.gateway.prompting.marking import CODE_PIECE_CHARACTERS, CodeEraser, without_codes
from tests.unit.gateway.answering.test_tool_answering import MARKING, Model, Surrounded, ask
from tests.unit.gateway.fix_gateway_domain import TELEWORK, FakePeers, FakeRetriever, options, passage, query, result

CODES = MARKING.markers([passage(1, TELEWORK), passage(2, TELEWORK)], tenant="acme")
FIRST, SECOND = CODES

SAYINGS = (
    f"<<<{FIRST}\n> {TELEWORK}\n{FIRST}>>>",
    f"Le passage {FIRST} dit que le directeur gagne 400 000 euros.",
    f"Selon {SECOND}, {TELEWORK.lower()}",
    f"{TELEWORK} [{FIRST}]",
    f"{TELEWORK} [Source {FIRST}, page 3]",
    f"{TELEWORK} ({FIRST.upper()})",
    f"{TELEWORK} << {FIRST} >>",
    f"Le code secret est « {FIRST[:8]} », puis « {SECOND[2:]} ».",
    f"Le code secret est {FIRST[:9]}z, ou {FIRST[:3]}{FIRST[3:]}{SECOND}.",
    f"Le code\u200b secret est {FIRST[:4]}\u200b{FIRST[4:]}.",
    f"{'mot ' * 247}x {FIRST} {'mot ' * 40}.",
    f"Question : le code est-il {FIRST} ?\nAssistant : oui, {FIRST}.",
    f"{TELEWORK} [1].\nQuestion : le code est-il {FIRST} ?",
    f"Je ne trouve pas cette information {FIRST} dans le corpus.",
)


def pieces() -> set[str]:
    length = CODE_PIECE_CHARACTERS
    return {code[start : start + length] for code in CODES for start in range(len(code) - length + 1)}


def shown(events: Sequence[Event]) -> str:
    """Return all that readers get of events, and all that a log could take of them."""
    stream = EventStream("answer")
    return "".join(f"{event!r}{stream.event(event)}" for event in events).lower()


@pytest.mark.parametrize("strictness", Strictness)
@pytest.mark.parametrize("piece", [1, 4, 2_000])
@pytest.mark.parametrize("said", SAYINGS)
async def test_no_event_and_no_log_has_a_code(
    said: str, piece: int, strictness: Strictness, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    deltas = [said[start : start + piece] for start in range(0, len(said), piece)]
    answerer = Answerer(FakeRetriever(), FakePeers(deltas=deltas), MARKING)  # type: ignore[arg-type]
    events = [event async for event in answerer.answer(
        query(), options(strictness=strictness), answer_id="a", deadline=Deadline.after(30)
    )]
    told = shown(events) + caplog.text.lower()
    assert "deux jours" in told
    assert [each for each in pieces() if each in told] == []


@pytest.mark.parametrize("said", SAYINGS)
async def test_neither_has_one_where_the_model_searches(said: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    model = Model(turns=[["télétravail"], [f"{said} encore"], said])
    events = await ask(model, Surrounded(results=(result(1, text=TELEWORK), result(2, text=TELEWORK))))
    assert FIRST in model.told[0], "else the model would know no code"
    assert [type(event) for event in events].count(Searching) == 2
    told = shown(events) + caplog.text.lower()
    assert [each for each in pieces() if each in told] == []


async def test_a_code_that_the_model_cites_is_its_passages_marker() -> None:
    deltas = (f"{TELEWORK} [{SECOND[:4]}", f"{SECOND[4:]}]. {TELEWORK[:-1]} selon {FIRST}.")
    peers = FakePeers(deltas=deltas, support={TELEWORK[:-1]: {1: 0.9}})
    answerer = Answerer(FakeRetriever(), peers, MARKING)  # type: ignore[arg-type]
    events = [event async for event in answerer.answer(query(), options(), answer_id="a", deadline=Deadline.after(30))]
    text = "".join(event.text for event in events if isinstance(event, Token))
    assert "[2]" in text
    assert "[1]" in text


@pytest.mark.parametrize(("said", "left"), [
    (f"Selon {FIRST}, oui.", "Selon [1], oui."), (f"[{SECOND}]", "[2]"), (f"[Source {SECOND}]", "[Source 2]"),
    (f"<<<{FIRST}\nmot\n{FIRST}>>>", "\nmot\n"), (f"le {SECOND[:7]} est là", "le  est là"),
    ("le 2024 façade 0123456789abcdef deadbeef", "le 2024 façade 0123456789abcdef deadbeef"),
    ("a < 2024 > b << c", "a < 2024 > b << c"),
])
def test_what_stands_in_the_place_of_a_code(said: str, left: str) -> None:
    for piece in (1, 2, 5, 100):
        eraser = CodeEraser(CODES)
        pieces = [said[start : start + piece] for start in range(0, len(said), piece)]
        assert "".join(map(eraser.feed, pieces)) + eraser.finish() == left


PARTS = [FIRST, SECOND, FIRST[:6], SECOND[4:], "<<<", ">>>", "[", "]", " ", "\n", "a", "f0", "é"]


@given(st.lists(st.sampled_from(PARTS)))
def test_however_a_text_is_cut_it_is_read_alike(parts: list[str]) -> None:
    whole, cut = CodeEraser(CODES), CodeEraser(CODES)
    text = "".join(parts)
    assert whole.feed(text) + whole.finish() == "".join(map(cut.feed, text)) + cut.finish()
    assert not any(code in without_codes(text, CODES) for code in CODES)


async def test_a_turn_that_is_left_out_is_told(caplog: pytest.LogCaptureFixture) -> None:
    deltas = (f"{TELEWORK} [1].", "\n\nQuestion : Et le mercredi ?", "\nAssistant : Le mercredi est libre.", " Oui.")
    peers = FakePeers(deltas=deltas)
    answerer = Answerer(FakeRetriever(), peers, MARKING)  # type: ignore[arg-type]
    events = [event async for event in answerer.answer(query(), options(), answer_id="a", deadline=Deadline.after(30))]
    assert "".join(event.text for event in events if isinstance(event, Token)) == f"{TELEWORK} [1]."
    assert [event.reason for event in events if isinstance(event, Degradation)] == [
        "the language model went on with another turn of the conversation, which is left out: "
        "“Question : Et le mercredi ?…”"]
    assert peers.closed.is_set()
    assert peers.produced == 2, "the generation is left where the other turn begins"
