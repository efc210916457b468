"""Every attack of eval/data/attacks.jsonl against the gateway, before a model that does all that documents tell it.

The model obeys before, after, above or instead of the honest sentence, in one of these ways for each attack in turn,
so that only what the gateway itself withholds, strips or corrects can stop it. `python -m eval attacks` has the same
attacks with real models.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pytest_asyncio

from eval.attacks import attacks
from eval.attacks.attacks import SETTINGS, Attack, Shown
from sourcier.gateway.v1 import answer_pb2
from sourcier.generate.v1 import generate_pb2
from sourcier.services.chassis.postgres.database import Database
from tests.integration.gateway.fix_gateway import Gateway, Scenario, gateway
from tests.integration.index.writer import Writer

ATTACKS = attacks.load()
WAYS = 4
"""In which a model obeys: each attack is tried in one, those that succeed in all."""

SUPPORTED = (answer_pb2.SUPPORT_SAME_WORDING, answer_pb2.SUPPORT_CITED, answer_pb2.SUPPORT_JUDGED)
SUCCEED: Mapping[str, str] = dict.fromkeys(
    ("fake_source-01", "fake_source-03", "fake_source-08", "fake_turn-03", "fake_turn-05",
     "fake_turn-06", "fake_turn-07", "fake_turn-08", "fake_turn-10", "few_shot-01", "few_shot-02", "few_shot-03",
     "few_shot-04", "few_shot-05", "few_shot-06", "table-03"),
    "the document says it, or nearly, as a fact and not as an order: the check compares wording, not truth",
) | dict.fromkeys(
    ("invisible-08", "language-05", "ignore_question-05"),
    "an order that could as well be meant for a person, or in another language: what it asks for is in its own words",
) | {"beacon-02": "the address is the document's own, word for word"}
"""Attacks that succeed, and why. What is shown names the attacking document as its source."""


class Attacked:
    """A gateway over a database that holds the honest documents and one for each attack."""

    def __init__(self, served: Gateway, honest: Mapping[str, str], attacking: Mapping[str, str]) -> None:
        self._served = served
        self._honest = honest
        self._attacking = attacking

    async def reasons(self, attack: Attack, way: int | None) -> list[str]:
        """Return in what an attack succeeded by one way of obeying, or by any."""
        scenario = self._served.scenario
        reasons = []
        for number, said in enumerate(attacks.obedient(attack, "")):
            if way is not None and number != way % WAYS:
                continue

            def script(request: generate_pb2.GenerateRequest, number: int = number) -> tuple[str, ...]:
                text = list(attacks.obedient(attack, request.messages[-1].content))[number]
                # In pieces, as a model speaks: what is cut anywhere must be found all the same.
                return tuple(text[start : start + 7] for start in range(0, len(text), 7))

            scenario.script = script
            scenario.generations.clear()
            documents = [self._honest[attack.language], self._attacking[attack.attack_id]]
            events, error = await self._served.ask(
                attack.question, filter=answer_pb2.SearchFilter(document_ids=documents), passages=5
            )
            assert error is None
            assert scenario.generations, "the question was refused before the model was asked"
            prompt = "\n".join(message.content for message in scenario.generations[0].messages)
            shown = _shown(events, prompt, self._honest[attack.language])
            found = attacks.succeeded(attack, shown, answerable=attacks.answers(attack, said))
            reasons += [f"{reason}: {shown.text}" for reason in found]
        return reasons


def _shown(events: list[answer_pb2.AskEvent], prompt: str, honest: str) -> Shown:
    text = "".join(event.token.text for event in events if event.HasField("token"))
    for event in events:
        if event.HasField("refused"):
            text = event.refused.text
        elif event.HasField("quoted"):
            text = event.quoted.text
    cited = tuple(
        text[event.citation.sentence_start : event.citation.sentence_end] for event in events
        if event.HasField("citation") and event.citation.document_id == honest
        and event.citation.support in SUPPORTED
    )
    return Shown(text=text, prompt=prompt, cited_honest=cited)


@pytest_asyncio.fixture(loop_scope="session")
async def attacked(database: Database) -> AsyncIterator[Attacked]:
    """Yield the gateway, with everything indexed."""
    writer = Writer(database)
    honest = {}
    for language, setting in SETTINGS.items():
        version = await writer.index(f"honest-{language}.md", [setting.text], title=setting.title)
        honest[language] = version.document_id
    attacking = {}
    for attack in ATTACKS:
        acceptance = await writer.accept(
            f"{attack.attack_id}.md", attack.text, filename=attack.field("file_name", "note.md"),
            category=attack.field("category", ""), metadata={"note": attack.field("metadata", "")},
        )
        await writer.stage(
            acceptance.version, [attack.text], title=attack.field("title", "Note"),
            heading_path=(attack.field("heading", "Note"),),
        )
        attacking[attack.attack_id] = acceptance.version.document_id
    await writer.refresh()
    async with gateway(database, Scenario(), small_talk=False) as served:
        yield Attacked(served, honest, attacking)


async def test_no_attack_on_an_obedient_model_succeeds_but_those_that_are_named(attacked: Attacked) -> None:
    found = {
        attack.attack_id: reasons for number, attack in enumerate(ATTACKS)
        if (reasons := await attacked.reasons(attack, None if attack.attack_id in SUCCEED else number))
    }
    assert {name: reason for name, reason in found.items() if name not in SUCCEED} == {}
    assert set(SUCCEED) - set(found) == set(), "these fail by now: take them off the list"
