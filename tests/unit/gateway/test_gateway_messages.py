"""What the gateway says and asks: languages, refusals, and the prompt."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from services.gateway.history import HistoryMessage, language_of
from services.gateway.marking import Marking
from services.gateway.messages import ENGLISH, FRENCH, Messages, folded, is_refusal, may_become_refusal, messages_in
from services.gateway.prompt import Prompt, build_prompt
from services.gateway.support import is_statement
from services.index.passages import Passage
from tests.unit.gateway.fix_gateway_domain import passage


@pytest.mark.parametrize(("question", "expected"), [
    ("Combien de jours de télétravail sont possibles par semaine ?", FRENCH),
    ("How many days of remote work are allowed each week?", ENGLISH),
    ("???", FRENCH),
    ("SLA P1", FRENCH),
    # Neither: who asks in another language reads English rather than French.
    ("Wie viele Tage Urlaub gibt es im Jahr?", ENGLISH),
    ("¿Cuánto dura el permiso de paternidad?", ENGLISH),
    ("Quanto dura il congedo parentale?", ENGLISH),
    # Two names and an article are too few to tell.
    ("La maison d'Este", FRENCH),
    ("Renouveler la carte Vitale", FRENCH),
])
def test_people_are_answered_in_their_language(question: str, expected: Messages) -> None:
    assert messages_in(language_of(question)) is expected


ASKED_IN_ENGLISH = HistoryMessage("user", "How many days of remote work are allowed each week?")


@pytest.mark.parametrize(("question", "history", "expected"), [
    ("Parental leave?", (), FRENCH),
    ("Parental leave?", (ASKED_IN_ENGLISH,), ENGLISH),
    ("Und danach?", (HistoryMessage("user", "Wie viele Tage Urlaub gibt es im Jahr?"),), ENGLISH),
    ("Combien de jours de télétravail sont possibles par semaine ?", (ASKED_IN_ENGLISH,), FRENCH),
])
def test_a_question_that_tells_no_language_has_its_conversations(
    question: str, history: tuple[HistoryMessage, ...], expected: Messages
) -> None:
    assert messages_in(language_of(question, history)) is expected


@pytest.mark.parametrize(("question", "expected"), [
    ("Parental leave", ENGLISH), ("SLA P1", ENGLISH), ("Combien de jours ?", FRENCH),
])
def test_what_tells_no_language_has_the_services(question: str, expected: Messages) -> None:
    assert messages_in(language_of(question, default="en")) is expected


@pytest.mark.parametrize(("text", "messages", "expected"), [
    ("Je ne trouve pas cette information dans le corpus.", FRENCH, True),
    ("  je ne   TROUVE pas\ncette information", FRENCH, True),
    ("Les extraits ne contiennent pas la réponse.", FRENCH, True),
    ("Cette information n’est pas dans les extraits", FRENCH, True),
    ("Deux jours. Je ne trouve pas le reste.", FRENCH, False),
    ("Je trouve deux jours.", FRENCH, False),
    ("I cannot find this information in the corpus.", ENGLISH, True),
    ("I can’t find it.", ENGLISH, True),
    ("", FRENCH, False),
])
def test_a_refusal_is_known_by_its_opening(text: str, messages: Messages, expected: bool) -> None:
    assert is_refusal(text, messages) is expected


@pytest.mark.parametrize("messages", [FRENCH, ENGLISH])
def test_every_beginning_of_a_refusal_is_held_back(messages: Messages) -> None:
    for refusal in (messages.refusal, *messages.refusal_openings):
        for end in range(len(refusal) + 1):
            assert may_become_refusal(refusal[:end], messages)


@pytest.mark.parametrize("text", ["Deux", "Je pense", "Les extraits disent", "Le"])
def test_an_answer_is_not_held_back_longer_than_it_could_be_a_refusal(text: str) -> None:
    assert not may_become_refusal(text, FRENCH) or any(
        folded(opening).startswith(folded(text)) for opening in FRENCH.refusal_openings
    )
    assert not may_become_refusal(f"{text} que deux jours", FRENCH)


MARKING = Marking("a server's secret")


def prompt_of(question: str, passages: Sequence[Passage]) -> Prompt:
    return build_prompt(question, passages, FRENCH, refusal="Non.", marking=MARKING, tenant="acme")


def test_the_prompt_begins_with_what_never_changes() -> None:
    passages = [passage(1, "Deux jours."), passage(2, "Trois mois.")]
    first, second = (prompt_of(question, passages) for question in ("Un ?", "Deux ?"))
    assert first.system == second.system
    assert first.user.removesuffix("Un ?") == second.user.removesuffix("Deux ?")
    assert first.system.endswith("écris seulement : Non.")


def test_the_prompt_numbers_the_passages_and_says_where_they_stand() -> None:
    passages = [
        passage(4, "  Deux jours.\n", title="Charte", heading_path=("Télétravail", "Durée"), category="RH"),
        passage(0, "Rien {ici}.", title="", page=0),
    ]
    prompt = prompt_of("Combien ? {x}", passages)
    first, second = (
        MARKING.code(tenant="acme", chunk_id=each.chunk_id, text=each.text) for each in passages
    )
    assert prompt.user == (
        f"Sources :\n\n[Source 1] [RH] - Charte > Télétravail > Durée (page 4)\n<<<{first}\n> Deux jours.\n"
        f"{first}>>>\n\n[Source 2] - Document\n<<<{second}\n> Rien {{ici}}.\n{second}>>>\n\n"
        "Question : Combien ? {x}"
    )


@pytest.mark.parametrize(("sentence", "expected"), [
    ("Deux jours par semaine.", True), ("Voici la réponse détaillée :", False), ("1.", False), ("Oui.", False),
    ("42 €.", True),
    ("L'accord écrit suffit.", True), ("", False), ("**", False),
])
def test_only_statements_need_support(sentence: str, expected: bool) -> None:
    assert is_statement(sentence) is expected
