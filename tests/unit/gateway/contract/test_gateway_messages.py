"""What the gateway says and asks: languages, refusals, and the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from sourcier.services.gateway.chat import Prompt
from sourcier.services.gateway.evidence.support import is_statement
from sourcier.services.gateway.history import HistoryMessage, language_of
from sourcier.services.gateway.phrases import (
    ENGLISH,
    FRENCH,
    Messages,
    folded,
    is_refusal,
    may_become_refusal,
    messages_in,
)
from sourcier.services.gateway.prompting.marking import Marking
from sourcier.services.gateway.prompting.prompt import build_prompt
from sourcier.services.index.search.passages import Passage
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


DRESSED = [
    ("« Je ne trouve pas cette information dans le corpus. »", FRENCH),
    ("«\u202fJe ne trouve pas cette information dans le corpus.\u202f»", FRENCH),
    ("**Je ne trouve pas cette information dans le corpus.**", FRENCH),
    (" - Je ne trouve pas cette information dans le corpus.", FRENCH),
    ("> _Je ne trouve pas cette information_", FRENCH),
    ("Désolé, je ne trouve pas cette information dans le corpus.", FRENCH),
    ("**Je suis désolée, mais je ne trouve pas** la réponse.", FRENCH),
    ("Je n’ai pas trouvé cette information dans les sources.", FRENCH),
    ("Aucune source ne mentionne la cantine.", FRENCH),
    ("Aucune des sources fournies n’indique les horaires.", FRENCH),
    ("Les sources fournies ne contiennent pas cette information.", FRENCH),
    ("Les sources ne mentionnent pas la cantine.", FRENCH),
    ("“I cannot find this information in the corpus.”", ENGLISH),
    ("Sorry, I cannot find this information.", ENGLISH),
    ("I’m sorry, but I couldn’t find it.", ENGLISH),
    ("None of the sources mention the canteen.", ENGLISH),
    ("The provided sources do not mention the canteen.", ENGLISH),
    ("The sources do not mention the canteen.", ENGLISH),
]


@pytest.mark.parametrize(("text", "messages"), DRESSED)
def test_a_refusal_in_other_dress_is_one_whole_and_at_each_letter(text: str, messages: Messages) -> None:
    assert is_refusal(text, messages)
    for end in range(len(text)):
        assert is_refusal(text[:end], messages) or may_become_refusal(text[:end], messages), text[:end]


@pytest.mark.parametrize(("text", "messages"), [
    ("Aucune source ne doit rester allumée la nuit.", FRENCH),
    ("Les sources lumineuses s'éteignent à 20 heures.", FRENCH),
    ("Désolé, deux jours seulement.", FRENCH),
    ("« Deux jours », dit la charte.", FRENCH),
    ("- Deux jours", FRENCH),
    ("-5 °C au moins.", FRENCH),
    ("None of the sources may be left switched on.", ENGLISH),
    ("Sorry, two days only.", ENGLISH),
])
def test_an_answer_that_begins_like_a_refusal_is_none(text: str, messages: Messages) -> None:
    assert not is_refusal(text, messages)
    assert not may_become_refusal(text, messages)


def test_a_configured_refusal_is_known_by_its_words_alone() -> None:
    quoted = replace(FRENCH, refusal="« Voyez le service du personnel. »")
    assert is_refusal("Voyez le service du personnel.", quoted)
    # One without words says nothing that could be recognised.
    assert not is_refusal("Deux jours.", replace(FRENCH, refusal="--"))


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
