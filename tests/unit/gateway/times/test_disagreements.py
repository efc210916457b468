"""Passages that say the same of another value are told with which one holds; those of something else are not."""

from __future__ import annotations

from datetime import date
from itertools import combinations

import pytest

from sourcier.services.gateway.times.disagreements import Disagreement, disagreements
from sourcier.services.gateway.times.precedence import Why
from sourcier.services.gateway.times.statements import Candidate
from sourcier.services.index.times.reading import times_of
from sourcier.services.index.times.relations import Said

TODAY = date(2026, 11, 28)


def candidate(title: str, text: str, **more: str) -> Candidate:
    return Candidate(title + text, text, title, times_of(title=title, name="", head=text, metadata=more))


def found(*candidates: Candidate, said: Said | None = None) -> list[Disagreement]:
    pairs = list(combinations(range(len(candidates)), 2))
    return disagreements(candidates, pairs, today=TODAY, said=said or Said())


@pytest.mark.parametrize(("first", "second", "why", "holds"), [
    (("Note du 3 janvier 2024", "Le montant des tickets restaurant est fixé à 8,50 € par jour, dont 60 % à sa charge."),
     ("Note du 12 mars 2026", "À compter du 1er avril 2026, le montant des tickets restaurant est porté à 9,80 € par "
      "jour, dont 55 % à sa charge."), Why.LATER, 1),
    (("Règlement 2025", "Le délai de préavis des agents est de deux mois."),
     ("Règlement 2022", "Le délai de préavis des agents est de 3 mois."), Why.LATER, 0),
    (("Accueil", "La caisse du musée ferme à 18 h."), ("Horaires", "La caisse du musée ferme à 19 h."), None, 0),
    (("Charte", "La date limite de dépôt des candidatures est le 3 mars 2027."),
     ("Guide", "La date limite de dépôt des candidatures est le 5 mai 2027."), None, 0),
    (("Tarifs 2026", "The annual parking permit costs 60 euros."),
     ("Tarifs 2024", "The annual parking permit costs 45 euros."), Why.LATER, 0),
    (("Note du 5 mai 2022", "La cantine est ouverte le mercredi."),
     ("Note du 8 mai 2025", "La cantine n'est pas ouverte le mercredi."), Why.LATER, 1),
    (("Accueil", "Le parking visiteurs est gratuit."), ("Horaires", "Le parking visiteurs est payant."), None, 0),
    (("Règlement", "Les vélos sont autorisés dans le hall."), ("Livret", "Les vélos sont interdits dans le hall."),
     None, 0),
    (("Rules of 2023", "Dogs are not allowed in the garden."), ("Rules of 2026", "Dogs are allowed in the garden."),
     Why.LATER, 1),
    (("Contact", "Le standard répond de 8 h 30 à 12 h."), ("Page", "Le standard répond de 9 h à 12 h."), None, 0),
    (("Procédure", "Version 2.0. Annule et remplace la version 1.2. Le code d'accès compte 6 chiffres."),
     ("Procédure", "Version 1.2. Le code d'accès compte 4 chiffres."), Why.REPLACED, 0),
])
def test_what_says_the_same_of_another_value_is_told(
    first: tuple[str, str], second: tuple[str, str], why: Why | None, holds: int
) -> None:
    [each] = found(candidate(*first), candidate(*second))
    assert (each.why, each.holds) == (why, holds)


@pytest.mark.parametrize(("first", "second"), [
    ("La salle A accueille 20 personnes.", "La salle B accueille 30 personnes."),
    ("La taxe foncière est de 120 €.", "La taxe de séjour est de 2 €."),
    ("Le délai de préavis est de deux mois.", "Le délai de préavis est de 2 mois."),
    ("M. Dupont dispose de 12 jours de congé.", "Mme Durand dispose de 15 jours de congé."),
    ("Le tarif pourrait passer à 10 € par jour.", "Le tarif est de 9 € par jour."),
    ("Article 5", "Article 6"),
    ("Le tarif est de 9 € par jour.", "Le tarif est de 9 € par jour. Le tarif réduit est de 6 € par jour."),
    ("Le télétravail est ouvert aux agents.", "Le télétravail n'est pas fermé aux agents."),
    ("Les chiens sont admis dans le parc, sauf le dimanche.", "Les chiens ne sont pas admis dans le parc."),
    ("Les chiens sont admis dans le parc s'ils sont tenus en laisse.", "Les chiens ne sont pas admis dans le parc."),
    ("Les vélos sont admis dans la cour.", "Les vélos ne sont pas admis dans la cour A."),
    ("Le parking du site de Brest est gratuit.", "Le parking du site de Quimper est payant."),
    ("Le grand marché du lundi accueille 20 stands.", "Le grand marché du mardi accueille 30 stands."),
    ("Le marché du lundi ouvre à 8 h.", "Le marché du mardi ouvre à 9 h."),
])
def test_what_is_of_something_else_is_not(first: str, second: str) -> None:
    assert found(candidate("Note de 2024", first), candidate("Mémo de 2026", second)) == []


@pytest.mark.parametrize(("first", "second"), [
    # Documents of one form about two subjects: none of them replaces the other.
    (("Accès au site de Nantes, 2024", "Il compte 210 postes de travail."),
     ("Accès au site de Rennes, 2025", "Il compte 95 postes de travail.")),
    (("Offre de 2025 : comptable", "Le salaire brut est de 2 300 € par mois."),
     ("Offre de 2026 : juriste", "Le salaire brut est de 2 600 € par mois.")),
])
def test_documents_of_two_subjects_do_not_disagree(first: tuple[str, str], second: tuple[str, str]) -> None:
    assert found(candidate(*first), candidate(*second)) == []


def test_what_people_say_decides() -> None:
    older = candidate("Note de 2024", "La prime de fin d'année est de 500 €.")
    newer = candidate("Note de 2026", "La prime de fin d'année est de 300 €.")
    [each] = found(older, newer, said=Said(replaces=frozenset({(older.document, newer.document)})))
    assert (each.why, each.holds) == (Why.REPLACED, 0)
    [each] = found(older, newer)
    assert (each.why, each.holds) == (Why.LATER, 1)


@pytest.mark.parametrize(("more", "why", "holds"), [
    ({"date_fin": "2025-12-31"}, Why.ENDED, 0), ({"date_effet": "2027-01-01"}, Why.NOT_YET, 0), ({}, None, 0),
])
def test_what_no_longer_or_not_yet_holds_gives_way(more: dict[str, str], why: Why | None, holds: int) -> None:
    first = candidate("Accueil", "La caisse du musée ferme à 18 h.")
    second = candidate("Horaires", "La caisse du musée ferme à 19 h.", **more)
    [each] = found(first, second)
    assert (each.why, each.holds) == (why, holds)
