"""The analyser: one form for what a reader takes to be the same word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcier.services.index.language.analyser import analyse_passage, analyse_question
from sourcier.services.index.language.recognition import detect
from sourcier.services.index.language.words import split_words


def found(question: str, passage: str, *, language: str = "") -> bool:
    """Return whether any stem of the question occurs in the passage."""
    return bool(set(analyse_question(question)) & set(analyse_passage(passage, language=language).frequencies))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("L'école d’été", ["école", "été"]),
        ("Qu'il s'agisse d'un n'importe quoi", ["il", "agisse", "un", "importe", "quoi"]),
        ("jusqu'à lorsqu'elle quelqu'un", ["à", "elle", "un"]),
        ("m'a t'il j'ai c'est", ["a", "il", "ai", "est"]),
        ("L`arbre, lʼhomme", ["arbre", "homme"]),
        ("14 500 000 €, 100\u202f000 et 1\u00a0234", ["14500000", "100000", "et", "1234"]),
        ("en 2003 120 voix", ["en", "2003", "120", "voix"]),
        ("Modèle A-12/b du 12/03/2024", ["modèle", "a-12/b", "a", "12", "b", "du", "12/03/2024", "12", "03", "2024"]),
        ("14,2 % ; 3.11", ["14,2", "14", "2", "3.11", "3", "11"]),
        ("porte-parole", ["porte", "parole"]),
        ("cœur, œuvre, ex æquo", ["coeur", "oeuvre", "ex", "aequo"]),
        ("", []),
        ("… ?! «»", []),
    ],
)
def test_words_numbers_and_codes(text: str, words: list[str]) -> None:
    assert list(split_words(text)) == words


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("teletravail", "Le télétravail est possible."),
        ("TÉLÉTRAVAIL", "du télétravail"),
        ("l'ecole", "Les écoles sont ouvertes."),
        ("employees", "The employee signs the form."),
        ("congé", "Congés payés : 25 jours"),
        ("les congés payés", "Congés payés : 25 jours"),
        ("How do I report expenses?", "Expense report"),
        ("journee", "Les journées sont longues."),
    ],
)
def test_forms_of_a_word_meet(question: str, passage: str) -> None:
    assert found(question, passage)


@pytest.mark.parametrize(
    ("question", "passage"),
    [("le la les des", "Le chat et les chiens de la maison."), ("12/04/2024", "le 13/05/2023"), ("chat", "chien")],
)
def test_what_differs_does_not_meet(question: str, passage: str) -> None:
    assert not found(question, passage)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Combien de jours de télétravail sont permis ?", "fr"),
        ("combien de jours de conges", "fr"),
        ("How many days of leave do I have?", "en"),
        ("Congés payés : 25 jours", ""),
        ("Die Mitarbeiter haben Anspruch auf dreißig Tage Urlaub im Jahr und eine Woche Sonderurlaub.", ""),
        ("Los empleados tienen derecho a treinta días de vacaciones al año y una semana adicional.", ""),
        ("", ""),
        ("12 34 56", ""),
    ],
)
def test_languages(text: str, language: str) -> None:
    assert detect(text) == language


def test_a_language_that_was_told_is_trusted() -> None:
    assert analyse_passage("Congés payés", language="fr").language == "fr"
    assert analyse_passage("Les congés sont payés dans le mois", language="de").language == "fr"


@given(st.text(max_size=300))
def test_any_text_is_analysed(text: str) -> None:
    analysis = analyse_passage(text)
    assert analysis.length <= sum(analysis.frequencies.values())
    assert all(stem and len(stem) <= 256 for stem in analysis.frequencies)


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Z"]), max_size=120))
def test_a_passage_is_found_by_its_own_words(text: str) -> None:
    passage = analyse_passage(text)
    # Told the same language, a question's stems are among those of the same text.
    assert set(analyse_question(text)) <= set(passage.frequencies)


@given(st.lists(st.one_of(
    st.text(max_size=8),
    st.sampled_from(["14", "500", " ", "\u00a0", "\u202f", "l’", "e\u0301", "\u0301", "´", "½", "ﬁ"]),
)).map("".join), st.text(max_size=8))
def test_a_title_and_a_text_give_the_same_words_apart_as_together(text: str, title: str) -> None:
    together = split_words(f"{title}\n{text}")
    assert [*split_words(title), *split_words(text)] == together
    assert analyse_passage(title, text) == analyse_passage(f"{title}\n{text}")
    together.append("changed")
    assert split_words(f"{title}\n{text}") != together
