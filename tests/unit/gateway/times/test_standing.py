"""Which of several passages hold: of now, of a time gone by; and what is left alone."""

from __future__ import annotations

from datetime import date

import pytest

from sourcier.services.gateway.times.precedence import Why
from sourcier.services.gateway.times.standing import Standing, standing
from sourcier.services.gateway.times.statements import Candidate
from sourcier.services.index.times.reading import times_of

TODAY = date(2026, 11, 28)

TICKETS = (
    "# Note de service du 3 janvier 2024\nLe montant des tickets restaurant est fixé à 8,50 € par jour travaillé, dont "
    "60 % à la charge de la société.",
    "# Note de service du 12 mars 2026\nÀ compter du 1er avril 2026, le montant des tickets restaurant est porté à "
    "9,80 € par jour travaillé, dont 55 % à la charge de la société.",
    "# Compte rendu du CSE du 8 février 2026\nLa direction indique que le montant des tickets restaurant pourrait "
    "passer à 10 € si les comptes le permettent. Aucune décision n'est prise.",
)
OFFICERS = (
    "# Organigramme au 1er septembre 2022\nDirectrice : Mme Lenoir. Déléguée à la protection des données : Mme Aubin, "
    "poste 3310.",
    "# Organigramme au 1er septembre 2026\nDirecteur : M. Ferrand. Délégué à la protection des données : M. Jolivet, "
    "poste 3355.",
)
ACCESS = (
    "# Procédure d'accès au local serveur\nVersion 1.2, 14 mai 2022. L'accès au local serveur se fait avec le badge et "
    "le code à quatre chiffres.",
    "# Procédure d'accès au local serveur\nVersion 2.0, 2 février 2026. Annule et remplace la version 1.2. L'accès au "
    "local serveur se fait avec le badge et l'empreinte digitale.",
)
OPENING = (
    "# Avis du 3 mars 2020\nL'accueil est ouvert du lundi au vendredi de 9 h à 17 h.",
    "# Avis du 5 mai 2023\nL'accueil est ouvert du lundi au jeudi de 9 h à 16 h. Le présent avis annule et remplace "
    "celui du 3 mars 2020.",
)


def of(question: str, *documents: str, today: date = TODAY) -> Standing:
    candidates = []
    for number, document in enumerate(documents, start=1):
        title, _, text = document.removeprefix("# ").partition("\n")
        candidates.append(Candidate(str(number), text, title, times_of(title=title, name="", head=text)))
    return standing(question, candidates, today=today)


def aside(question: str, *documents: str) -> dict[int, tuple[int, Why]]:
    return {each.number: (each.by, each.why) for each in of(question, *documents).aside}


@pytest.mark.parametrize(("question", "documents", "expected"), [
    ("Quel est le montant d'un ticket restaurant ?", TICKETS, {1: (2, Why.LATER), 3: (2, Why.NOT_DECIDED)}),
    ("Le ticket restaurant est-il à 10 € ?", TICKETS, {1: (2, Why.LATER), 3: (2, Why.NOT_DECIDED)}),
    ("Quel était le montant du ticket restaurant en 2025 ?", TICKETS,
     {2: (1, Why.NOT_YET), 3: (1, Why.NOT_DECIDED)}),
    ("Qui est le délégué à la protection des données ?", OFFICERS, {1: (2, Why.LATER)}),
    ("Qui était délégué à la protection des données en 2023 ?", OFFICERS, {2: (1, Why.NOT_YET)}),
    ("Comment accède-t-on au local serveur ?", ACCESS, {1: (2, Why.REPLACED)}),
    ("Quels sont les horaires de l'accueil ?", OPENING, {1: (2, Why.REPLACED)}),
    ("L'accueil est-il ouvert le vendredi ?", OPENING, {1: (2, Why.REPLACED)}),
    ("When does the gym close?", (
        "# Notice of 3 March 2020\nThe gym pass costs 20 pounds. The gym closes at 9 pm.",
        "# Notice of 5 May 2023\nThe gym pass costs 26 pounds. The gym closes at 10 pm.",
    ), {1: (2, Why.LATER)}),
    ("What is the parking fee?", (
        "# Notice of 3 March 2020\nThe parking fee is 10 euros a month.",
        "# Notice of 5 May 2023\nThe parking fee is 12 euros a month.",
    ), {1: (2, Why.LATER)}),
    ("Combien de jours de télétravail par semaine ?", (
        "# Charte du télétravail 2021\nLe télétravail est limité à un jour par semaine.",
        "# Charte du télétravail 2024\nLe télétravail est limité à deux jours par semaine.",
        "# Compte rendu du bureau du 4 juin 2026\nLa proposition de porter le télétravail à trois jours par semaine "
        "est rejetée par 9 voix contre 4.",
    ), {1: (2, Why.LATER), 3: (2, Why.NOT_DECIDED)}),
    # A later yes after a no, a day, a figure of which one part is the same.
    ("La cantine est-elle ouverte le mercredi ?", (
        "# Note du 5 mai 2022\nLa cantine est ouverte le mercredi.",
        "# Note du 8 mai 2025\nLa cantine n'est pas ouverte le mercredi.",
    ), {1: (2, Why.LATER)}),
    ("La cantine était-elle ouverte le mercredi en 2023 ?", (
        "# Note du 5 mai 2022\nLa cantine est ouverte le mercredi.",
        "# Note du 8 mai 2025\nLa cantine n'est pas ouverte le mercredi.",
    ), {2: (1, Why.NOT_YET)}),
    # What replaces a document may word it anew, and the question may be worded after what is replaced.
    ("L'accès au parking se fait-il par code ?", (
        "# Note n° 12 du 4 avril 2022\nL'accès au parking se fait par code.",
        "# Note n° 31 du 9 octobre 2025\nLa présente note annule et remplace la note n° 12 du 4 avril 2022. L'accès au "
        "parking se fait par badge.",
    ), {1: (2, Why.REPLACED)}),
    ("Comment accédait-on au parking en 2023 ?", (
        "# Note n° 12 du 4 avril 2022\nL'accès au parking se fait par code.",
        "# Note n° 31 du 9 octobre 2025\nLa présente note annule et remplace la note n° 12 du 4 avril 2022. L'accès au "
        "parking se fait par badge.",
    ), {2: (1, Why.NOT_YET)}),
    ("Le loyer du garage est-il de 60 € ?", (
        "# Barème du garage du 3 mars 2020\nLe loyer du garage est de 60 €.",
        "# Décision du 5 mai 2024\nLa présente décision remplace le document « barème du garage » du 3 mars 2020 : le "
        "loyer du garage est désormais, charges comprises, de 75 €.",
    ), {1: (2, Why.REPLACED)}),
    ("Quelle est la vitesse maximale rue Haute ?", (
        "# Arrêté temporaire 14\nDu fait des travaux, la vitesse maximale rue Haute est de 30 km/h jusqu'au 31 mars "
        "2025.",
        "# Arrêté permanent 2\nLa vitesse maximale rue Haute est de 50 km/h.",
    ), {1: (2, Why.ENDED)}),
    ("Quelle est la vitesse autorisée rue Basse ?", (
        "# Arrêté 14\nLa vitesse autorisée rue Basse est de 30 km/h jusqu'au 31 mars 2025.",
        "# Arrêté 15\nLa vitesse autorisée rue Basse est de 50 km/h.",
    ), {1: (2, Why.ENDED)}),
])
def test_what_does_not_hold_is_put_aside(
    question: str, documents: tuple[str, ...], expected: dict[int, tuple[int, Why]]
) -> None:
    assert aside(question, *documents) == expected


@pytest.mark.parametrize(("question", "documents"), [
    # Another scope, another subject, and words that the question does not choose between.
    ("Quel est le préavis ?", ("# Accord du 3 mars 2020\nLe préavis est de trois mois pour les cadres.",
                               "# Accord du 5 mai 2023\nLe préavis est d'un mois pour les employés.")),
    ("Quel est le taux de la taxe ?", ("# Délibération 2022\nLe taux de la taxe foncière est de 12 %.",
                                       "# Délibération 2025\nLe taux de la taxe de séjour est de 3 %.")),
    ("Quel est le budget de la fête ?", ("# CR du 3 mars 2020\nLe budget de la fête est fixé à 300 €.",
                                         "# CR du 5 mai 2023\nLe budget de la kermesse est fixé à 500 €.")),
    # Nothing is told of when.
    ("Quelle est la température de la salle serveur ?",
     ("# Guide\nLa température de la salle serveur est de 19 degrés.",
      "# Fiche\nLa température de la salle serveur est de 22 degrés.")),
    # A later document that says the same takes nothing away.
    ("Où se trouve le défibrillateur ?", ("# Note du 3 mars 2020\nLe défibrillateur se trouve dans le hall.",
                                          "# Guide du 5 mai 2023\nLe défibrillateur se trouve dans le hall.")),
    # The same in both: nothing is superseded, whatever else the later one changes.
    ("Les chèques sont-ils acceptés ?", ("# Note du 5 mai 2022\nLa caisse ouvre à 8 h. Les chèques sont acceptés.",
                                         "# Note du 8 mai 2025\nLa caisse ouvre à 9 h. Les chèques sont acceptés.")),
    # Two documents of one form, each of its own subject, which the title alone tells.
    ("Combien de postes compte le site de Nantes ?",
     ("# Accès au site de Nantes, 2024\nLe site ouvre à 7 h. Il compte 210 postes.",
      "# Accès au site de Rennes, 2025\nLe site ouvre à 8 h. Il compte 95 postes.")),
    ("À quelle heure ouvre le site ?",
     ("# Avis du 3 mars 2024\nLe site de Nantes ouvre à 7 h.",
      "# Avis du 4 mai 2025\nLe site de Rennes ouvre à 8 h.")),
    ("À quelle heure ouvre le marché ?",
     ("# Avis du 3 mars 2024\nLe marché du lundi ouvre à 7 h.",
      "# Avis du 4 mai 2025\nLe marché du mardi ouvre à 8 h.")),
    ("Combien coûte le lot ?", ("# Avis du 3 mars 2024\nLe lot 1 coûte 50 €.",
                                "# Avis du 4 mai 2025\nLe lot 2 coûte 60 €.")),
    ("Quel est le prix ?", ("# Avis du 3 mars 2024\nPour 2 personnes, le prix est de 10 €.",
                            "# Avis du 4 mai 2025\nPour 4 personnes, le prix est de 18 €.")),
    ("When does the office open?", ("# Notice of 3 March 2024\nThe London office opens at 8 am.",
                                    "# Notice of 4 May 2025\nThe Leeds office opens at 9 am.")),
    ("Le parking est-il gratuit ?",
     ("# Avis du 3 mars 2024\nLe parking de Brest est gratuit.",
      "# Avis du 4 mai 2025\nLe parking de Quimper est payant.")),
    ("Les chiens sont-ils admis dans le parc ?",
     ("# Avis du 3 mars 2024\nLes chiens sont admis dans le parc.",
      "# Avis du 4 mai 2025\nLes chiens sont admis dans le parc, sauf le dimanche.")),
    # Another note of the day is replaced.
    ("Quel est le loyer de la cave ?", (
        "# Note du 3 mars 2020 sur la cave\nLe loyer de la cave est de 20 €.",
        "# Décision du 5 mai 2024\nLa présente décision annule la note du 3 mars 2020 sur le garage. Le loyer de la "
        "cave et du garage est, charges comprises, de 75 €.",
    )),
    # The question wants both, or the older one.
    ("Comment le montant du ticket restaurant a-t-il évolué ?", TICKETS),
    ("Que dit la note du 3 janvier 2024 du ticket restaurant ?", TICKETS),
    ("Qui était directrice en 2022 ?", OFFICERS[:1]),
])
def test_what_cannot_be_told_is_left_alone(question: str, documents: tuple[str, ...]) -> None:
    assert aside(question, *documents) == {}


def test_a_plan_is_kept_for_who_asks_for_plans() -> None:
    assert 3 not in aside("Que propose la direction pour le montant du ticket restaurant ?", *TICKETS)


def test_two_that_disagree_without_a_date_are_told() -> None:
    stands = of("Quelle est la température de la salle serveur ?",
                "# Guide\nLa température de la salle serveur est de 19 degrés.",
                "# Fiche\nLa température de la salle serveur est de 22 degrés.")
    assert [(each.number, each.by) for each in stands.unsettled] == [(2, 1)]


@pytest.mark.parametrize(("question", "first", "second", "told"), [
    ("Les vélos sont-ils autorisés dans le hall ?", "Les vélos sont autorisés dans le hall.",
     "Les vélos sont interdits dans le hall.", True),
    ("Quand le standard répond-il ?", "Le standard répond de 8 h 30 à 12 h.", "Le standard répond de 9 h à 12 h.",
     True),
    # One says more, and none says otherwise.
    ("Quand le standard répond-il ?", "Le standard répond de 8 h à 12 h.",
     "Le standard répond de 8 h à 12 h et de 14 h à 17 h.", False),
    ("Quand la bibliothèque ouvre-t-elle ?", "La bibliothèque est ouverte le lundi.",
     "La bibliothèque est ouverte le mardi.", False),
    # What is numbered is no value, and each has a rule of its own.
    ("Les congés pour événements familiaux", "Accord sur les congés pour événements familiaux, article 2",
     "Accord sur les congés pour événements familiaux, article 1er", False),
    ("Quelle est la durée du préavis de démission ?",
     "L'agent qui donne sa démission est tenu de respecter un préavis dont la durée est de 2 mois.",
     "Le cadre qui donne sa démission est tenu de respecter un préavis dont la durée est de 3 mois.", False),
    # They disagree on what was not asked for.
    ("Où est l'extincteur de la salle serveur ?",
     "La température de la salle serveur est de 19 degrés. L'extincteur est à l'entrée.",
     "La température de la salle serveur est de 22 degrés.", False),
])
def test_what_nothing_settles_is_told(question: str, first: str, second: str, told: bool) -> None:
    stands = of(question, f"# Guide de la salle serveur\n{first}", f"# Guide de la salle serveur\n{second}")
    assert [(each.number, each.by) for each in stands.unsettled] == ([(2, 1)] if told else [])
    assert stands.aside == ()


def test_what_begins_later_does_not_hold_yet() -> None:
    documents = ("# Note du 3 mars 2026\nLe badge coûte 5 € par an.",
                 "# Note du 2 novembre 2026\nÀ compter du 1er janvier 2027, le badge coûte 8 € par an.")
    assert aside("Combien coûte le badge ?", *documents) == {2: (1, Why.NOT_YET)}
    later = of("Combien coûte le badge ?", *documents, today=date(2027, 2, 1))
    assert {each.number: each.why for each in later.aside} == {1: Why.LATER}


def test_a_chain_ends_at_what_holds() -> None:
    documents = tuple(
        f"# Tarif du 3 mars {year}\nLe tarif du badge est de {price} €."
        for year, price in ((2020, 4), (2022, 5), (2024, 6))
    )
    assert aside("Quel est le tarif du badge ?", *documents) == {1: (3, Why.LATER), 2: (3, Why.LATER)}
