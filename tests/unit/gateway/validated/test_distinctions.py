"""What tells two questions apart that an embedding takes for one."""

from __future__ import annotations

import pytest

from sourcier.services.gateway.validated.distinctions import distinctions, same_distinctions

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("asked", "known"), [
    ("Quels sont les horaires d'ouverture à Lyon ?", "Quelles sont les heures d'ouverture à Lyon ?"),
    ("Quand est-il né à Paris ?", "Quand il est né à Paris ?"),
    ("Quel plan pour 2010-2015 ?", "Quel plan pour 2010 à 2015 ?"),
    ("Quels sont les horaires ?", "Bonjour, quels sont les horaires, merci ?"),
    ("quelle est la capitale de l'italie", "Quelle est la capitale de l'Italie ?"),
    ("QUELS SONT LES HORAIRES", "Quels sont les horaires ?"),
    ("Combien coûtent 1 200 unités ?", "Combien coûtent 1200 unités ?"),
    ("Faut-il trois jours ?", "Faut-il 3 jours ?"),
    ("Où est né Louis XIV ?", "Où est né Louis XIV"),
    ("Quel est l’âge de la retraite ?", "Quel est l'âge de la retraite ?"),
    ("Where is the Eiffel Tower?", "Where is the Eiffel tower?"),
    ("Qui a écrit Les Misérables ?", "qui a ecrit les miserables"),
])
def test_the_same_question_written_otherwise(asked: str, known: str) -> None:
    assert same_distinctions(asked, known), (distinctions(asked), distinctions(known))
    assert same_distinctions(known, asked)


@pytest.mark.parametrize(("asked", "known"), [
    ("Combien d'habitants en 1999 ?", "Combien d'habitants en 2009 ?"),
    ("Combien d'habitants ?", "Combien d'habitants en 2009 ?"),
    ("Quel taux au-delà de 10,5 % ?", "Quel taux au-delà de 105 % ?"),
    ("Quel est le carré de 10² ?", "Quel est le carré de 102 ?"),
    ("Quel budget de -5 % ?", "Quel budget de 5 % ?"),
    ("Combien coûte le forfait à 20 € ?", "Combien coûte le forfait à 20 $ ?"),
    ("Faut-il deux jours ?", "Faut-il trois jours ?"),
    ("Qui fut le premier président ?", "Qui fut le deuxième président ?"),
    ("Quelle est la capitale de l'Italie ?", "Quelle est la capitale de la France ?"),
    ("quelle est la capitale de la france", "Quelle est la capitale de l'Italie ?"),
    ("quelle est la capitale de la france", "quelle est la capitale de l'italie"),
    ("QUELLE EST LA CAPITALE DE LA FRANCE", "QUELLE EST LA CAPITALE DE L'ITALIE"),
    ("Quelle est la capitale de la france ?", "Quelle est la capitale de l'italie ?"),
    ("Quels sont les horaires à lyon ?", "Quels sont les horaires ?"),
    ("Quel est le tarif adulte ?", "Quel est le tarif enfant ?"),
    ("Quels sont les horaires d'ouverture ?", "Quelles sont les heures d'ouverture ?"),
    ("Qui a battu Nadal contre Federer ?", "Qui a battu Federer contre Nadal ?"),
    ("Quelle distance de Paris à Lyon ?", "Quelle distance de Lyon à Paris ?"),
    ("Où est né Louis XIV ?", "Où est né Louis XV ?"),
    ("Napoléon est-il né en Corse ?", "Joséphine est-elle née en Corse ?"),
    ("Que fait l'iPhone ?", "Que fait l'iPad ?"),
    ("Qu'est-ce que le plan A-12 ?", "Qu'est-ce que le plan A-13 ?"),
    ("Quel est le prix en janvier ?", "Quel est le prix en février ?"),
    ("Peut-on fumer ?", "Ne peut-on pas fumer ?"),
    ("Quel est le minimum ?", "Quel est le maximum ?"),
    ("Peut-on partir avant la fin ?", "Peut-on partir après la fin ?"),
    ("Quels sont les horaires à Lyon ?", "Quels sont les horaires ?"),
    ("Quel est l'autre nom de l'élément 120 ?", "Quel est le nom de l'élément 120 ?"),
    ("quels sont les horaires à lyon", "Quels sont les horaires ?"),
])
def test_another_question(asked: str, known: str) -> None:
    assert not same_distinctions(asked, known), (distinctions(asked), distinctions(known))
    assert not same_distinctions(known, asked)


def test_a_question_without_words_is_only_itself() -> None:
    assert distinctions("?") == ()
    assert not same_distinctions("?", "Combien en 1999 ?")
