"""Questions in parts: told from questions that ask one thing, cut, and their documents found by name."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from sourcier.services.gateway.answering.by_parts.cutting import cut
from sourcier.services.gateway.answering.by_parts.differing import difference
from sourcier.services.gateway.answering.by_parts.naming import parted
from sourcier.services.gateway.history import language_of
from sourcier.services.index.documents.titles import DocumentTitle


def labels(question: str) -> tuple[str, ...]:
    several = cut(question, language=language_of(question))
    return () if several is None else several.labels


@pytest.mark.parametrize(("question", "found"), [
    ("Quelle est la différence entre l'avenant 58 et le 59 ?", ("avenant 58", "avenant 59")),
    ("la différence entre l’avenant n° 58 et l’avenant n° 59 sur la prime", ("avenant 58", "avenant 59")),
    ("Quelle différence de prime entre les avenants 58 et 59 ?", ("avenant 58", "avenant 59")),
    ("Quels changements entre l'avenant 58 et l'avenant 59 ?", ("avenant 58", "avenant 59")),
    ("Qu'est-ce qui change entre la notice 2023 et la notice 2024 ?", ("notice 2023", "notice 2024")),
    ("En quoi la note A diffère-t-elle de la note B ?", ("note A", "note B")),
    ("Compare le télétravail dans la note A et la charte B", ("note A", "charte B")),
    ("Compare la note A à la charte B", ("note A", "charte B")),
    ("Peux-tu comparer l'avenant 58 avec le 59 sur la prime ?", ("avenant 58", "avenant 59")),
    ("Que disent la note A et la charte B sur le télétravail ?", ("note A", "charte B")),
    ("Que disent le règlement intérieur et le statut du personnel sur les absences ?",
     ("le règlement intérieur", "le statut du personnel")),
    ("Quel est le préavis dans l'avenant 58 et dans l'avenant 59 ?", ("avenant 58", "avenant 59")),
    ("Qui signe l'avenant 58 et le 59 ?", ("avenant 58", "avenant 59")),
    ("Quelle est la durée des avenants 58, 59 et 60 ?", ("avenant 58", "avenant 59", "avenant 60")),
    ("Quelle est la date de la note de service du 3 mai 2024 et de celle du 12 juin 2025 ?",
     ("note de service du 3 mai 2024", "note de service du 12 juin 2025")),
    ("Quels sont les horaires de la mairie et de la piscine ?", ("la mairie", "la piscine")),
    ("Quels sont les horaires de la mairie, de la piscine et de la médiathèque le dimanche ?",
     ("la mairie", "la piscine", "la médiathèque")),
    ("Combien coûtent la piscine et la médiathèque ?", ("la piscine", "la médiathèque")),
    ("Où se trouvent la mairie et la poste ?", ("la mairie", "la poste")),
    ("Quelles sont les conditions de la prime pour travaux dangereux et de la prime pour travaux insalubres ?",
     ("la prime pour travaux dangereux", "la prime pour travaux insalubres")),
    ("Quels sont les horaires de la mairie et combien coûte la piscine ?",
     ("Quels sont les horaires de la mairie ?", "Combien coûte la piscine ?")),
    ("La cantine sert-elle le mercredi et combien de jours de congés ai-je ?",
     ("La cantine sert-elle le mercredi ?", "Combien de jours de congés ai-je ?")),
    ("Le bail est-il renouvelable et quel préavis le preneur doit-il respecter ?",
     ("Le bail est-il renouvelable ?", "Quel préavis le preneur doit-il respecter ?")),
    ("Le repas est-il offert et quel est le tarif de la chambre double en 2026 ?",
     ("Le repas est-il offert ?", "Quel est le tarif de la chambre double en 2026 ?")),
    ("Combien coûte la salle et la vaisselle est-elle comprise ?",
     ("Combien coûte la salle ?", "La vaisselle est-elle comprise ?")),
    ("Is smoking allowed in the hall and how much is the deposit on a weekday?",
     ("Is smoking allowed in the hall?", "How much is the deposit on a weekday?")),
    ("Quelle est la différence entre le montant de la prime de l'avenant 58 et celui de l'avenant 59 ?",
     ("avenant 58", "avenant 59")),
    ("Quel est le montant de la prime de l'avenant 58 et de celle de l'avenant 59 ?", ("avenant 58", "avenant 59")),
    ("Qu'est-ce qui distingue la note A de la note B ?", ("note A", "note B")),
    ("Que dit la note A et que dit la note B sur le télétravail ?", ("note A", "note B")),
    ("Selon la note A et la charte B, quel est le délai ?", ("note A", "charte B")),
    ("Quels sont les horaires d'ouverture de la mairie et ceux de la piscine ?", ("la mairie", "la piscine")),
    ("According to policy A and policy B, what is the notice period?", ("policy A", "policy B")),
    ("Quel est le poste du secrétariat de la maternité et de la radiologie ?", ("la maternité", "la radiologie")),
    ("What is the difference between amendment 3 and amendment 4?", ("amendment 3", "amendment 4")),
    ("Compare remote work in policy A and policy B", ("policy A", "policy B")),
    ("What do the travel policy and the leave policy say about approval?", ("the travel policy", "the leave policy")),
    ("What are the opening hours of the pool and the library?", ("the pool", "the library")),
    ("When do the pool and the library open?", ("the pool", "the library")),
])
def test_a_question_on_several_is_cut(question: str, found: tuple[str, ...]) -> None:
    assert labels(question) == found


@pytest.mark.parametrize("question", [
    "Quels sont les droits et devoirs du salarié ?",
    "Quelles sont les conditions d'une bourse d'étude et de recherche ?",
    "Quels sont les droits et les devoirs des agents ?",
    "Qui est le maire et quand a-t-il été élu ?",
    "Quels documents faut-il et comment les envoyer ?",
    "Quelle est la relation entre la mairie et la préfecture ?",
    "Quel est le total des avenants 58 et 59 ?",
    "Quel est le montant total de la prime et de l'indemnité ?",
    "La mairie et la piscine sont-elles ouvertes le dimanche ?",
    "Quelle est la durée du congé de maternité et d'adoption ?",
    "Quels sont les horaires de la mairie ?",
    "Quel est le rôle du comité d'hygiène et de sécurité ?",
    "Faut-il l'accord du préfet et du maire ?",
    "Quel est le montant de la prime à l'article 4 et que dit-il ?",
    "Comment se passe la vente et la location ?",
    "Qui peut demander l'aide et comment la demander ?",
    "Quelle est la distance entre la gare et le stade ?",
    "Quels sont les membres de la commission de l'environnement et de l'urbanisme ?",
    "Quel est le rôle du ministère de la culture et de la communication ?",
    "Quel avenant remplace l'avenant 57 et l'avenant 58 ?",
    "Que dit la note A sur la charte B et la note C ?",
    "What are the rights and duties of employees?",
    "What is the relationship between the pool and the library?",
    "Who is the mayor and when was she elected?",
    "Quels sont les effets du décret ? Convention collective : travaux de la mer et de la pêche",
    "a et b " * 200,
])
def test_one_question_stays_one(question: str) -> None:
    assert cut(question, language=language_of(question)) is None


@pytest.mark.parametrize(("question", "asked"), [
    ("Quels sont les horaires de la mairie et de la piscine en août ?",
     ["Quels sont les horaires de la mairie en août ?", "Quels sont les horaires de la piscine en août ?"]),
    ("Quel est le coût du stade et des vestiaires ?",
     ["Quel est le coût du stade ?", "Quel est le coût des vestiaires ?"]),
    ("À quelle heure ouvrent la mairie et la poste ?",
     ["À quelle heure ouvre la mairie ?", "À quelle heure ouvre la poste ?"]),
])
def test_each_part_is_a_question(question: str, asked: list[str]) -> None:
    several = cut(question)
    assert several is not None
    assert [several.ask(label) for label in several.labels] == asked


TITLES = [
    DocumentTitle(name, title, name, {}, datetime(2026, 1, 1, tzinfo=UTC), day, day, is_read=True)
    for name, title, day in (
        ("a57", "Avenant n° 57 du 14 novembre 2023", date(2023, 11, 14)),
        ("a58", "Avenant n° 58 du 12 mars 2024", date(2024, 3, 12)),
        ("a59", "Avenant n° 59 du 5 novembre 2024", date(2024, 11, 5)),
        ("na", "Note A : organisation", None), ("cb", "Charte B du numérique", None),
        ("ri", "Règlement intérieur", None), ("sp", "Statut du personnel", None),
        ("n1", "Note de service du 3 mai 2024", date(2024, 5, 3)), ("n2", "Note de service", date(2025, 6, 12)),
    )
]


@pytest.mark.parametrize(("question", "documents"), [
    ("Quelle est la différence entre l'avenant 58 et le 59 ?", [("a58",), ("a59",)]),
    ("Quel est le préavis dans l'avenant 58 et dans l'avenant 60 ?", [("a58",), ()]),
    ("Compare la note A et la note D", [("na",), ()]),
    ("Que disent le règlement intérieur et le statut du personnel sur les absences ?", [("ri",), ("sp",)]),
    ("Quelle est la date de la note de service du 3 mai 2024 et de celle du 12 juin 2025 ?", [("n1",), ("n2",)]),
    ("Toutes les modifications de 2024", [("a58",), ("a59",)]),
    ("Qui signe les avenants ?", [("a57",), ("a58",), ("a59",)]),
    ("Que dit chaque avenant sur la prime ?", [("a57",), ("a58",), ("a59",)]),
])
def test_labels_name_documents(question: str, documents: list[tuple[str, ...]]) -> None:
    several = cut(question)
    assert several is not None
    found = parted(several, TITLES, language="fr")
    assert found is not None
    assert [part.document_ids for part in found.parts] == documents
    assert [part.missing for part in found.parts] == [not each for each in documents]


@pytest.mark.parametrize("question", [
    "Quelle est la différence entre un CDD et un CDI ?", "Quelle est la différence entre le lot 1 et le lot 2 ?",
    "Que disent le maire et le préfet sur la crue ?", "Compare le prix à Lyon et à Nantes",
    "Quelle est la différence entre l'avenant 3 et l'avenant 4 ?", "Que disent les circulaires de 2024 sur la crue ?",
])
def test_what_names_no_document_is_one_question(question: str) -> None:
    several = cut(question)
    assert several is None or parted(several, TITLES, language="fr") is None


@pytest.mark.parametrize(("question", "topic"), [
    ("Quelle est la différence de prime entre l'avenant 58 et le 59 ?", "prime"),
    ("Quelle est la différence entre le montant de la prime de l'avenant 58 et celui de l'avenant 59 ?",
     "le montant de la prime"),
    ("Selon la note A et la charte B, quel est le délai ?", "quel est le délai"),
    ("Quels sont les signataires de chaque avenant ?", "Quels sont les signataires"),
    ("Qui sont les signataires des avenants 58 et 59 ?", "Qui sont les signataires"),
])
def test_what_is_asked_of_each_document_is_told(question: str, topic: str) -> None:
    several = cut(question)
    assert several is not None
    assert several.topic == topic


def test_of_a_large_family_the_latest_are_asked() -> None:
    titles = [
        DocumentTitle(str(number), f"Avenant n° {number}", "", {}, datetime(2026, 1, 1, tzinfo=UTC),
                      date(2010 + number, 1, 1), date(2010 + number, 1, 1), is_read=True)
        for number in range(1, 11)
    ]
    several = cut("Que disent tous les avenants sur la prime ?")
    assert several is not None
    found = parted(several, titles, language="fr")
    assert found is not None
    assert [part.document_ids for part in found.parts] == [(str(number),) for number in range(5, 11)]
    assert found.left_out == 4


@pytest.mark.parametrize(("first", "second", "told"), [
    ("6,20 €", "6,80 €", "6,80\u00a0€ − 6,20\u00a0€ = 0,60\u00a0€"), ("6,20 €", "trois jours", ""),
    ("6,20 €", "6,20 €", ""), ("", "6,20 €", ""), ("environ 6 €", "7 €", ""),
])
def test_two_figures_of_one_unit_are_set_off(first: str, second: str, told: str) -> None:
    assert difference(first, second, language="fr") == told
