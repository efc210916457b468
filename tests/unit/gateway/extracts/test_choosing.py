"""The sentence that answers a question best: whole, from the right line, row and year, or none at all."""

from __future__ import annotations

from datetime import date

import pytest

from sourcier.services.gateway.clauses.ruling import Source
from sourcier.services.gateway.extracts.choosing import choose

TODAY = date(2026, 11, 28)

TRAVEL = """Les billets de train sont réservés par l’agence Mistral, cinq jours ouvrés avant le départ.

| Ville | Hôtel, par nuit | Déjeuner |
|---|---|---|
| Paris | 165 € | 22 € |
| Lyon | 130 € | 20 € |
| Milan | 158 € | 25 € |

Un dépassement est accepté une fois par trimestre, jusqu’à 15 % du plafond."""
LEAVE = """Chaque salarié dispose de 27 jours de congés payés par an.
Les congés qui n’ont pas été pris peuvent être reportés jusqu’au 30 septembre.
Le solde est payé au départ du salarié."""
CANTEEN = """La cantine est ouverte du lundi au vendredi. Elle ne sert pas de repas le mercredi.
Un repas coûte 4,20 €. Le prix du repas doit passer à 4,60 € à compter du 1er mars 2027."""
BANNED = """Il est interdit de :
- fumer dans les ateliers ;
- laisser un véhicule plus de deux heures sur le quai ;
- entrer sans casque.
Le port de bouchons d’oreilles est conseillé."""
STAFF = """L’effectif était de 40 salariés en 2023. L’effectif était de 58 salariés en 2024."""
ENGLISH = """Visitors may park on the blue spaces for three hours. Bikes are not allowed in the basement.
The car park was opened on 3 May 2019. Claims are approved by the head of finance, Laura Kent.
The office in Leeds has 42 desks."""


def extracted(question: str, text: str, title: str = "") -> tuple[str, str]:
    chosen = choose(question, [Source(1, text, title)], today=TODAY)
    if chosen is None:
        return "", ""
    said = " … ".join(text[start:end] for start, end in chosen.sentence.spans)
    return said, "" if chosen.answer is None else text[chosen.answer[0] : chosen.answer[1]]


@pytest.mark.parametrize(("question", "text", "title", "said", "value"), [
    ("Combien de jours de congés payés a-t-on par an ?", LEAVE, "Congés",
     "Chaque salarié dispose de 27 jours de congés payés par an.", "27 jours"),
    ("Jusqu’à quelle date peut-on reporter les congés non pris ?", LEAVE, "Congés",
     "Les congés qui n’ont pas été pris peuvent être reportés jusqu’au 30 septembre.", "30 septembre"),
    ("Combien coûte un repas à la cantine ?", CANTEEN, "Cantine", "Un repas coûte 4,20 €.", "4,20 €"),
    ("Quel jour la cantine ne sert-elle pas de repas ?", CANTEEN, "Cantine",
     "La cantine est ouverte du lundi au vendredi. … Elle ne sert pas de repas le mercredi.", "mercredi"),
    ("Combien de temps peut-on laisser un véhicule sur le quai ?", BANNED, "Sécurité",
     "Il est interdit de : … - laisser un véhicule plus de deux heures sur le quai ;", ""),
    ("Quel était l’effectif en 2023 ?", STAFF, "Bilan social", "L’effectif était de 40 salariés en 2023.", ""),
    ("Combien de salariés comptait l’effectif en 2024 ?", STAFF, "Bilan social",
     "L’effectif était de 58 salariés en 2024.", "58"),
    ("How long may visitors park on the blue spaces?", ENGLISH, "Car park",
     "Visitors may park on the blue spaces for three hours.", "three hours"),
    ("When was the car park opened?", ENGLISH, "Car park", "The car park was opened on 3 May 2019.", "3 May 2019"),
    ("Who approves claims?", ENGLISH, "Expenses", "Claims are approved by the head of finance, Laura Kent.",
     "Laura Kent"),
    ("How many desks does the office in Leeds have?", ENGLISH, "Offices", "The office in Leeds has 42 desks.", "42"),
])
def test_the_sentence_and_its_value(question: str, text: str, title: str, said: str, value: str) -> None:
    assert extracted(question, text, title) == (said, value)


def test_a_row_of_a_table_is_found_by_its_name_and_its_column() -> None:
    said, value = extracted("Quel est le plafond d’une nuit d’hôtel à Lyon ?", TRAVEL, "Plafonds de remboursement")
    assert (said, value) == ("| Lyon | 130 € | 20 € |", "130 €")
    assert extracted("Quel est le plafond d’un déjeuner à Milan ?", TRAVEL, "Plafonds")[1] == "25 €"


@pytest.mark.parametrize(("question", "text", "title"), [
    ("Quel était l’effectif en 2022 ?", STAFF, "Bilan social"),
    ("Quel est le plafond d’une nuit d’hôtel à Marseille ?", TRAVEL, "Plafonds de remboursement"),
    ("Qui a fondé l’entreprise ?", LEAVE, "Congés"),
    ("Combien de places compte la cantine ?", CANTEEN, "Cantine"),
    ("How many desks does the office in York have?", ENGLISH, "Offices"),
    ("Quelle est la recette de la tarte Tatin ?", CANTEEN, "Cantine"),
    ("Quel est le prix d’un repas le mercredi soir à Lyon ?", CANTEEN, "Cantine"),
    ("", LEAVE, "Congés"), ("Combien ?", LEAVE, "Congés"), ("Quand est payé le solde du CET ?", LEAVE, "Congés"),
    ("Pourquoi les congés sont-ils reportés jusqu’au 30 septembre ?", LEAVE, "Congés"),
    ("Quel est le dernier repas servi à la cantine ?", CANTEEN, "Cantine"),
    ("Combien de jours le véhicule reste-t-il ?", "véhicule reste cinq jours au plus sur le quai.", "Sécurité"),
])
def test_where_no_sentence_answers_there_is_none(question: str, text: str, title: str) -> None:
    assert extracted(question, text, title) == ("", "")


@pytest.mark.parametrize(("question", "text", "title", "whole"), [
    ("Quand le parking sera-t-il agrandi ?",
     "L’agrandissement du parking est prévu au second semestre 2027, sous réserve du permis.", "Travaux",
     "sous réserve du permis"),
    ("Quels chiens sont admis ?", "Les chiens ne sont pas admis ; seuls les chiens guides le sont.", "Accueil",
     "ne sont pas admis ; seuls les chiens guides"),
    ("Quel montant est remboursé pour un fauteuil ?",
     "Le fauteuil n’est pas remboursé au-delà de 180 €, sauf avis médical.", "Télétravail", "sauf avis médical"),
])
def test_what_is_denied_planned_or_excepted_is_quoted_whole(question: str, text: str, title: str, whole: str) -> None:
    assert whole in extracted(question, text, title)[0]


SALES = """| Agence | 2023 | 2024 |
|---|---|---|
| Lille | 120 k€ | 134 k€ |
| Lyon | 200 k€ | 210 k€ |"""


@pytest.mark.parametrize(("question", "text", "title", "sure"), [
    ("Combien de jours de télétravail par semaine ?",
     "La proposition de porter le télétravail à trois jours par semaine est rejetée.\n"
     "Le télétravail est limité à deux jours par semaine.", "Télétravail", "deux jours"),
    ("Quel est le chiffre d’affaires 2024 de l’agence de Lille ?", SALES, "Chiffre d’affaires par agence", "134 k€"),
    ("Quel est le taux de cotisation salariale en 2025 ?",
     "Le taux de cotisation salariale était de 6,8 % en 2024.\n"
     "Le taux de cotisation salariale est de 7,1 % en 2025.", "Cotisations", "7,1 %"),
    ("Quel est le montant de la prime de Noël ?", "Le syndicat demande une prime de Noël de 500 €.", "Primes", ""),
    ("Quel est le montant de la prime de vacances ?", "La prime de vacances pourrait passer à 500 €.", "Primes", ""),
    ("Quel est le préavis des cadres en cas de démission ?",
     "En cas de démission, le préavis est de trois mois pour les cadres et d’un mois pour les employés.", "Préavis",
     ""),
])
def test_only_a_plain_fact_with_one_value_and_all_words_may_be_the_answer(
    question: str, text: str, title: str, sure: str
) -> None:
    chosen = choose(question, [Source(1, text, title)], today=TODAY)
    if sure:
        assert chosen is not None
        assert chosen.answer is not None
        assert (chosen.is_sure, text[chosen.answer[0] : chosen.answer[1]]) == (True, sure)
    else:
        assert chosen is None or not chosen.is_sure


def test_of_a_question_about_others_it_is_never_the_answer() -> None:
    text = "Full-time employees get 25 days of leave. Part-time employees get leave in proportion to their hours."
    chosen = choose("How many days of leave do part-time employees get?", [Source(1, text, "Leave")], today=TODAY)
    assert chosen is None or not chosen.is_sure


MEAL, MEETING = "Quel est le prix du repas enfant à la cantine ?", "Quand a lieu la réunion du comité de pilotage ?"
SAID = "Le prix du repas enfant à la cantine est de 5 €"


@pytest.mark.parametrize(("question", "text"), [
    (MEAL, "Le repas enfant à la cantine ne coûte pas 5 €."), (MEAL, f"Il est faux que {SAID.lower()}."),
    (MEAL, f"{SAID} si le quotient est bas."), (MEAL, f"{SAID} au plus."), (MEAL, f"{SAID}, sauf le vendredi."),
    (MEAL, "Le prix du repas enfant à la cantine est inférieur à 5 €."),
    (MEAL, "Le prix du repas enfant à la cantine est augmenté de 2 €."),
    (MEAL, "La subvention sur le prix du repas enfant à la cantine est de 2 €."),
    (MEAL, "La part de la ville dans le prix du repas enfant à la cantine est de 2 €."),
    (MEAL, f"{SAID} sur présentation de la carte."), (MEAL, f"{SAID} : ce tarif est supprimé."),
    ("Quel est le prix du repas enfant à la cantine le vendredi ?", f"{SAID} sauf le vendredi."),
    (MEETING, "La réunion du comité de pilotage n'est plus le 3 mai 2025."),
    (MEETING, "La réunion du comité de pilotage du 3 mai 2025 est annulée."),
    ("Combien d'agents de nuit compte le dépôt ?", "Le dépôt compte 12 agents ; personne ne travaille la nuit."),
    ("Combien d'agents de nuit le dépôt de Lyon compte-t-il ?",
     "Le dépôt de Lyon compte 12 agents ; aucun agent n'est de nuit."),
    ("Quel est le tarif adulte de la piscine le dimanche ?",
     "| Public | Tarif |\n|---|---|\n| adulte, sauf le dimanche | 5 € |\n| enfant | 3 € |"),
    ("Quel est le tarif adulte plein de la piscine ?",
     "| Public | Tarif plein |\n|---|---|\n| adulte | < 5 € |\n| enfant | 3 € |"),
    ("What is the price of a child's meal at the canteen?",
     "The price of a child's meal at the canteen isn't 5 euros."),
    ("What is the price of a child's meal at the canteen?",
     "The price of a child's meal at the canteen is 5 euros unless you subscribe."),
])
def test_a_value_that_its_sentence_takes_back_or_bounds_is_not_marked(question: str, text: str) -> None:
    chosen = choose(question, [Source(1, text, "Cantine et piscine")], today=TODAY)
    assert chosen is None or (chosen.answer, chosen.is_sure) == (None, False)


@pytest.mark.parametrize(("question", "text", "value"), [
    (MEAL, f"{SAID}.", "5 €"), (MEAL, "Le repas enfant à la cantine ne coûte que 5 €.", "5 €"),
    (MEETING, "La réunion du comité de pilotage est le 3 mai 2025.", "3 mai 2025"),
    ("Quand la réunion du comité de pilotage est-elle reportée ?",
     "La réunion du comité de pilotage est reportée au 3 mai 2025.", "3 mai 2025"),
    ("Quel est le préavis des cadres en cas de démission ?",
     "En cas de démission, le préavis des cadres est de trois mois.", "trois mois"),
    ("Quel est le montant de la remise sur le repas enfant ?", "La remise sur le repas enfant est de 2 €.", "2 €"),
])
def test_what_the_question_itself_asks_for_casts_no_doubt(question: str, text: str, value: str) -> None:
    chosen = choose(question, [Source(1, text, "Cantine")], today=TODAY)
    assert chosen is not None
    assert chosen.answer is not None
    assert (text[chosen.answer[0] : chosen.answer[1]], chosen.is_sure) == (value, True)


@pytest.mark.parametrize(("other", "sure"), [
    ("Le prix du repas enfant à la cantine est de 6 €.", False), (f"{SAID[:-3]}5,00 euros.", True),
    ("Le repas enfant à la cantine ne coûte plus 5 €.", False), ("La piscine est ouverte le lundi.", True),
    ("| Repas | Prix à la cantine |\n|---|---|\n| enfant | 7 € |\n| adulte | 9 € |", False),
])
def test_another_value_in_another_passage_is_a_rival(other: str, sure: bool) -> None:
    for texts in ((f"{SAID}.", other), (other, f"{SAID}.")):
        sources = [Source(number, text, "Cantine : repas") for number, text in enumerate(texts, start=1)]
        chosen = choose(MEAL, sources, today=TODAY)
        assert (chosen is not None and chosen.is_sure) is sure
