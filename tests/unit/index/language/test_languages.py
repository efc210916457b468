"""Which language a text is in: French and English are told, and neighbours are not taken for them."""

from __future__ import annotations

import json

import pytest

from eval import own_texts, shared_sets
from eval.sets import handbook
from sourcier.services.index.language.recognition import detect, recognise


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Combien de jours de congé a-t-on pour un déménagement ?", "fr"),
        ("Où travaille-t-il ?", "fr"),
        ("D'où vient Luis Suárez Miramontes ?", "fr"),
        ("Où se situe Este ?", "fr"),
        ("la date de la bataille de Marignan", "fr"),
        ("Tu es en retard, que fais-tu ?", "fr"),
        ("Le séjour à São Paulo et à Málaga est remboursé à hauteur de 150 € par nuit.", "fr"),
        ("On le nomme « el capitán » dans toute la région de Cádiz.", "fr"),
        ("How many days of leave do I have?", "en"),
        ("What is the name of the bridge in San José?", "en"),
        ("Who was in charge of the hotel in Düsseldorf?", "en"),
        ("¿Cuántos días de permiso se tienen por una mudanza?", "es"),
        ("¿En qué zonas es obligatorio llevar protección auditiva?", "es"),
        ("cuantos dias de vacaciones tiene un empleado con contrato parcial", "es"),
        ("La empresa reembolsa el transporte de los empleados que viven en la ciudad.", "es"),
        ("Quantos dias de férias tem um funcionário por ano e como são pagos?", "pt"),
        ("Quanti giorni di ferie ha un dipendente e come sono pagati nella nostra azienda?", "it"),
        ("Wie viele Tage Urlaub haben die Mitarbeiter im Jahr?", "de"),
        ("Muss man für die Homeoffice-Tage eine Genehmigung haben?", "de"),
        ("Hoeveel vakantiedagen heeft een medewerker en wanneer moet je ze opnemen?", "nl"),
        ("Congés payés : 25 jours", ""),
        ("12 34 56", ""),
        ("", ""),
    ],
)
def test_a_language_is_recognised_and_only_the_analysers_are_detected(text: str, language: str) -> None:
    assert recognise(text) == language
    assert detect(text) == (language if language in ("fr", "en") else "")


@pytest.mark.parametrize(
    ("name", "language", "share_min"),
    [("piaf-shared", "fr", 0.99), ("cranfield", "en", 0.93), ("cisi", "en", 0.95), ("xquad-es", "", 0.99),
     ("xquad-de", "", 0.98)],
)
def test_questions_of_whole_sets(name: str, language: str, share_min: float) -> None:
    wanted = f"{shared_sets.RETRIEVAL}/{name}"
    folder = shared_sets.find(wanted)
    if folder is None:
        pytest.skip(shared_sets.absent(wanted))
    texts = [json.loads(line)["text"] for line in (folder / "queries.jsonl").read_text("utf-8").splitlines()]
    assert sum(detect(text) == language for text in texts) >= share_min * len(texts)


@pytest.mark.parametrize(("spoken", "language", "share_min"), [
    ("fr", "fr", 0.95), ("en", "en", 0.95), ("es", "es", 0.9), ("de", "de", 0.9),
])
def test_questions_and_passages_of_the_project_s_own(spoken: str, language: str, share_min: float) -> None:
    texts = [question for question, written in handbook.translated() if written == spoken]
    if spoken == "fr":
        texts = [*own_texts.questions(40), *own_texts.passages(100)]
    elif spoken == "en":
        texts += own_texts.english()
    assert len(texts) > 20
    assert sum(recognise(text) == language for text in texts) >= share_min * len(texts)


def test_a_long_text_is_known_by_its_own_words_whatever_it_quotes() -> None:
    french = "Le contrat est signé par les deux parties et il prend effet à la date qui est indiquée dans l'annexe. "
    assert detect(french * 20 + "¿Qué tal está el señor García?") == "fr"
    spanish = "El contrato se firma por las dos partes y entra en vigor en la fecha que se indica en el anexo. "
    assert (detect(spanish * 20), recognise(spanish * 20)) == ("", "es")
