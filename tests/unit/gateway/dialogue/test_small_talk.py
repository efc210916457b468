"""Which messages are searched for: the table of cases of SPEC A7."""

from __future__ import annotations

import pytest

from sourcier.services.gateway.dialogue.small_talk import Reason, complexity, decide

pytestmark = pytest.mark.unit

SEARCHED = [
    # A question, whatever stands before or after it.
    ("Combien de jours de congé ?", Reason.QUESTION),
    ("Bonjour, combien de jours de congé ?", Reason.QUESTION),
    ("Bonjour ! Le télétravail est-il permis ?", Reason.QUESTION),
    ("Merci, et à Lyon ?", Reason.QUESTION),
    ("Ça va coûter combien ?", Reason.QUESTION),
    ("Hello, how many days of leave?", Reason.QUESTION),
    ("Thanks! And in Lyon?", Reason.QUESTION),
    ("Qui es-tu ?", Reason.QUESTION),
    ("Ça marche ?", Reason.QUESTION),  # may ask after anything
    ("C'est clair ?", Reason.QUESTION),
    ("?", Reason.QUESTION),
    # An analysis, an explanation.
    ("Compare les deux mutuelles", Reason.ANALYSIS),
    ("Analyse la charte", Reason.ANALYSIS),
    ("Résume le livret d'accueil", Reason.ANALYSIS),
    ("Bonjour, liste les sites", Reason.ANALYSIS),
    ("Summarise the handbook", Reason.ANALYSIS),
    ("Explique le télétravail", Reason.EXPLANATION),
    ("Décris la procédure", Reason.EXPLANATION),
    ("Bonjour, montre-moi les horaires", Reason.EXPLANATION),
    ("Explain the notice period", Reason.EXPLANATION),
    ("Pourquoi", Reason.EXPLANATION),
    # A technical word.
    ("Merci pour le document", Reason.KEYWORD),
    ("Merci pour ces fichiers", Reason.KEYWORD),
    ("ok, l'API", Reason.DOUBT),  # « l'api » is one word; it is searched for all the same
    ("ok, API", Reason.KEYWORD),
    ("code", Reason.KEYWORD),
    ("data", Reason.KEYWORD),
    # Long messages.
    ("Bonjour bonsoir salut coucou merci merci merci merci merci merci merci merci merci", Reason.COMPLEXITY),
    # Doubt: a search.
    ("congés payés", Reason.DOUBT),
    ("Nice", Reason.DOUBT),
    ("Merci Paul", Reason.DOUBT),
    ("Bonjour Lyon", Reason.DOUBT),
    ("merci de me donner les horaires", Reason.DOUBT),
    ("Bonjour, je cherche la charte", Reason.DOUBT),
    ("oui", Reason.DOUBT),
    ("👋", Reason.DOUBT),
    ("bonjournée", Reason.DOUBT),
    ("salutations distinguées", Reason.DOUBT),
    ("hi-fi", Reason.DOUBT),
    ("bye-laws", Reason.DOUBT),
]

SMALL_TALK = [
    ("Bonjour", Reason.GREETING, "fr"),
    ("bonjour !", Reason.GREETING, "fr"),
    ("BONSOIR", Reason.GREETING, "fr"),
    ("Salut à tous", Reason.GREETING, "fr"),
    ("Bonjour madame,", Reason.GREETING, "fr"),
    ("Bonjour 👋", Reason.GREETING, "fr"),
    ("Coucou Sourcier !", Reason.GREETING, "fr"),
    ("Comment ça va ?", Reason.WELLBEING, "fr"),
    ("Ca va ?", Reason.WELLBEING, "fr"),
    ("Bonjour, comment allez-vous ?", Reason.WELLBEING, "fr"),
    ("Merci beaucoup !", Reason.THANKS, "fr"),
    ("Merci pour votre aide.", Reason.THANKS, "fr"),
    ("Parfait, merci", Reason.THANKS, "fr"),
    ("Merci d’avance", Reason.THANKS, "fr"),
    ("D'accord", Reason.ACKNOWLEDGEMENT, "fr"),
    ("C'est noté.", Reason.ACKNOWLEDGEMENT, "fr"),
    ("Merci, au revoir", Reason.FAREWELL, "fr"),
    ("Bonne journée", Reason.FAREWELL, "fr"),
    ("Bonne journée à vous !", Reason.FAREWELL, "fr"),
    ("Hi", Reason.GREETING, "en"),
    ("Hello there!", Reason.GREETING, "en"),
    ("Good morning everyone", Reason.GREETING, "en"),
    ("How are you?", Reason.WELLBEING, "en"),
    ("Hi, how's it going?", Reason.WELLBEING, "en"),
    ("Thank you so much", Reason.THANKS, "en"),
    ("OK, thanks", Reason.THANKS, "en"),
    ("Got it", Reason.ACKNOWLEDGEMENT, "en"),
    ("Thanks, bye!", Reason.FAREWELL, "en"),
    ("Have a nice day", Reason.FAREWELL, "en"),
]


@pytest.mark.parametrize(("message", "reason"), SEARCHED)
def test_searched_for(message: str, reason: Reason) -> None:
    decision = decide(message)
    assert (decision.search, decision.reason, decision.reply) == (True, reason, "")


@pytest.mark.parametrize(("message", "reason", "language"), SMALL_TALK)
def test_small_talk(message: str, reason: Reason, language: str) -> None:
    decision = decide(message)
    assert (decision.search, decision.reason, decision.language) == (False, reason, language)
    assert len(decision.reply) > 10


def test_the_reply_is_in_the_language_of_the_message() -> None:
    assert decide("Merci").reply == "Je vous en prie. Avez-vous une autre question sur vos documents ?"
    assert decide("Thanks").reply == "You are welcome. Do you have another question about your documents?"


@pytest.mark.parametrize(("language", "spoken"), [("fr", "fr"), ("en", "en"), ("", "fr")])
def test_words_of_both_languages_are_answered_in_the_conversations(language: str, spoken: str) -> None:
    assert decide("OK !", language=language).language == spoken
    assert decide("Hello", language=language).language == spoken
    assert decide("Thanks, super", language=language).language == "en"


def test_the_words_that_always_mean_a_search_can_be_set() -> None:
    assert decide("merci", keywords=("merci",)).reason is Reason.KEYWORD
    assert not decide("merci", keywords=()).search
    assert decide("code", keywords=()).reason is Reason.DOUBT


def test_the_complexity_from_which_everything_is_searched_for_can_be_set() -> None:
    assert complexity(["mot"] * 12) == pytest.approx(0.6)
    assert complexity(["mot"] * 40) == 1.0
    assert decide("merci beaucoup", complexity_min=0.05).reason is Reason.COMPLEXITY
