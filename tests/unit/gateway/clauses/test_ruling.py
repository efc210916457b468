"""What clauses say to yes/no questions: the word is the clause's, and where it is not sure the clause is quoted."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest

from eval.sentences.yes_no import WORDS, ruled
from sourcier.services.gateway.clauses.questions import asked
from sourcier.services.gateway.clauses.ruling import Decision, Ruling, Source, ruling

TODAY = date(2026, 11, 28)


def rule(question: str, *texts: str, title: str = "") -> Ruling | None:
    """Return the ruling over texts of one title."""
    return ruling(question, [Source(number, text, title) for number, text in enumerate(texts, 1)], today=TODAY)


def decision(question: str, *texts: str, title: str = "") -> Decision | None:
    found = rule(question, *texts, title=title)
    return None if found is None else found.decision


@pytest.mark.parametrize("question", [
    "La cantine sert-elle le mercredi ?", "Est-ce que la cantine sert le mercredi ?", "Peut-on fumer ?",
    "Y a-t-il une limite ?", "Bonjour ! Le télétravail est-il permis ?", "Faut-il un badge ?",
    "La cantine est ouverte le mercredi ?", "Is the canteen open?", "Does it serve lunch?", "Can visitors park here?",
    "Le parking est-il gratuit ou non ?",
])
def test_a_question_for_yes_or_no_is_told(question: str) -> None:
    assert asked(question, today=TODAY) is not None


@pytest.mark.parametrize("question", [
    "Combien de jours peut-on poser ?", "Quand la cantine est-elle ouverte ?", "Qu'est-ce que le RTT ?",
    "Où peut-on fumer ?", "À quelle heure ouvre-t-elle ?", "Pouvez-vous me dire si c'est ouvert ?", "Qui est-ce ?",
    "What is the fee?", "How can I park?", "Can you explain the rule?", "Le montant du ticket ?", "", " ?", "Bonjour.",
    "Quelle est la règle si la salle est-elle ouverte ?",
])
def test_other_questions_are_left_alone(question: str) -> None:
    assert asked(question, today=TODAY) is None
    assert rule(question, "La cantine est ouverte le mercredi.") is None


@pytest.mark.parametrize(("question", "text", "expected"), [
    # The opposite of each gets the opposite word.
    ("Le fauteuil est-il fourni ?", "Le bureau est fourni ; le fauteuil ne l'est pas.", Decision.NO),
    ("La sono est-elle comprise ?", "La vaisselle est comprise. La sono ne l'est pas.", Decision.NO),
    ("Les ruches sont-elles admises ?", "Les poules ne sont pas admises ; les ruches le sont.", Decision.YES),
    ("Is the projector included?", "The kitchen is included; the projector is not.", Decision.NO),
    ("Le stade est-il gratuit ?", "Le parc est gratuit. Le hall est ouvert. Le stade ne l'est pas.", Decision.QUOTED),
    ("Le dépôt est-il ouvert le samedi ?", "Le dépôt n'est pas ouvert le samedi.", Decision.NO),
    ("Le dépôt est-il fermé le samedi ?", "Le dépôt n'est pas ouvert le samedi.", Decision.YES),
    ("Est-il interdit de fumer dans les caves ?", "On ne peut pas fumer dans les caves.", Decision.YES),
    ("Peut-on fumer dans les caves ?", "Il est interdit de fumer dans les caves.", Decision.NO),
    ("Peut-on fumer dans les caves ?", "Rien n'interdit de fumer dans les caves.", Decision.YES),
    ("La réservation est-elle obligatoire ?", "La réservation est facultative.", Decision.NO),
    ("Le tarif baisse-t-il ?", "Le tarif n'augmente pas.", Decision.QUOTED),
    # Days between two, and every day but one.
    ("Le dépôt est-il ouvert le mercredi ?", "Le dépôt est ouvert du lundi au vendredi.", Decision.YES),
    ("Le dépôt est-il ouvert le lundi ?", "Le dépôt est ouvert tous les jours, sauf le dimanche.",
     Decision.YES_WITH_EXCEPTION),
    ("Le dépôt est-il ouvert le dimanche ?", "Le dépôt est ouvert tous les jours, sauf le dimanche.", Decision.NO),
    # Less is said than is asked, or of somebody else.
    ("Les visiteurs sont-ils admis ?", "Les visiteurs extérieurs ne sont pas admis.", Decision.QUOTED),
    ("Les animaux sont-ils admis ?", "Les animaux sont admis dans la cour.", Decision.QUOTED),
    ("Tous les agents ont-ils un badge ?", "Les agents ont un badge.", Decision.QUOTED),
    ("Peut-on prendre plus de deux jours ?", "On peut prendre deux jours.", Decision.QUOTED),
    ("Le chef valide-t-il les congés de l'agent ?", "L'agent valide les congés du chef.", Decision.QUOTED),
    ("La cantine sert-elle le jeudi ?", "La cantine ne sert pas le mercredi.", Decision.UNTOLD),
    ("La salle de réunion B est-elle ouverte ?", "La salle de réunion A est ouverte.", Decision.UNTOLD),
    ("La salle de réunion C2 est-elle ouverte ?", "La salle de réunion B2 est ouverte.", Decision.UNTOLD),
    # A duty is not a fact, and who need not may.
    ("Le portail est-il fermé à clé ?", "Le portail doit être fermé à clé.", Decision.QUOTED),
    ("Les agents peuvent-ils payer en espèces ?", "Les agents n'ont pas à payer en espèces.", Decision.QUOTED),
    ("Can visitors pay cash?", "Visitors do not have to pay cash.", Decision.QUOTED),
    ("Le chef peut-il accepter une demande ?", "Le chef peut refuser une demande.", Decision.QUOTED),
    # What is denied beside what is said.
    ("Les chats sont-ils admis ?", "Les chats sont admis mais pas les chiens.", Decision.YES),
    ("Les chiens sont-ils admis ?", "Les chats sont admis mais pas les chiens.", Decision.NO),
    ("Le prêt est-il accordé aux agents ?", "Le prêt est accordé aux agents, jamais aux stagiaires.", Decision.YES),
    ("Le médecin vient-il le mardi ?", "Le médecin vient le mardi et non le jeudi.", Decision.YES),
    ("La réunion est-elle reportée ?", "La réunion n'est pas annulée ni reportée.", Decision.QUOTED),
    ("Les agents logés paient-ils l'eau ?", "Les agents logés paient l'eau, contrairement aux autres agents.",
     Decision.QUOTED),
    # No word answers these without doubt.
    ("La cantine ne sert-elle pas le mercredi ?", "La cantine ne sert pas le mercredi.", Decision.QUOTED),
    ("Le parking est-il ouvert ou fermé ?", "Le parking est ouvert.", Decision.QUOTED),
    # Conditions that the question names, and others.
    ("La garantie est-elle nulle si l'appareil est ouvert ?", "La garantie est nulle si l'appareil est ouvert.",
     Decision.YES),
    ("La garantie est-elle nulle ?", "La garantie est nulle si l'appareil est ouvert.", Decision.CONDITIONAL),
    ("Les conteneurs sont-ils acceptés ?", "Seuls les conteneurs verts sont acceptés.", Decision.RESTRICTED),
    # Not so, or not yet.
    ("La salle est-elle climatisée ?", "La climatisation de la salle est prévue en 2028.", Decision.PLANNED),
    ("La climatisation de la salle est-elle prévue en 2028 ?", "La climatisation de la salle est prévue en 2028.",
     Decision.YES),
    ("La navette est-elle supprimée ?", "La suppression de la navette est envisagée.", Decision.UNDECIDED),
    ("La prime est-elle versée ?", "Selon le syndicat, la prime est versée.", Decision.UNDECIDED),
    ("Le site ferme-t-il ?", "La proposition de fermer le site est rejetée.", Decision.REJECTED),
    ("Le musée est-il gratuit ?", "Le musée était gratuit.", Decision.PAST),
    ("Are dogs allowed in the park?", "Dogs are not allowed in the park.", Decision.NO),
    ("Is parking included?", "Parking is included, except on Sundays.", Decision.YES_WITH_EXCEPTION),
])
def test_the_word_is_the_clauses(question: str, text: str, expected: Decision) -> None:
    assert decision(question, text) is expected


def test_two_clauses_that_disagree_are_both_quoted() -> None:
    texts = ("Le guichet est ouvert le vendredi.", "Le guichet est fermé le vendredi.")
    found = rule("Le guichet est-il ouvert le vendredi ?", *texts)
    assert found is not None
    assert found.decision is Decision.QUOTED
    assert {place.number for place in found.places} == {1, 2}
    assert decision("Le guichet est-il ouvert le vendredi ?", texts[0], texts[0]) is Decision.YES
    # What holds in part only speaks against it too.
    limited = ("La piscine est ouverte le dimanche. Elle est fermée le dimanche en août.",)
    assert decision("La piscine est-elle ouverte le dimanche ?", *limited) is Decision.QUOTED


def test_an_item_is_read_with_the_line_that_leads_in_to_it() -> None:
    text = "Il est interdit de :\n- fumer dans les caves ;\n- courir dans le hall."
    found = rule("Peut-on courir dans le hall ?", text)
    assert found is not None
    assert found.decision is Decision.NO
    assert found.places[0].lead == (0, text.index(":") + 1)


def test_title_and_headings_help_a_clause_that_has_no_other_subject() -> None:
    question = "L'usure est-elle couverte par la garantie ?"
    assert decision(question, "L'usure est exclue.", title="Garantie") is Decision.NO
    # The clause speaks of somebody else.
    text = "Le restaurant du port accepte les chèques."
    assert decision("La cantine accepte-t-elle les chèques ?", text, title="La cantine") is Decision.QUOTED


def test_what_a_draft_says_is_quoted() -> None:
    text, question = "Le parking est payant.", "Le parking est-il payant ?"
    assert decision(question, text, title="Règlement") is Decision.YES
    assert decision(question, text, title="Projet de règlement") is Decision.QUOTED


def test_of_the_questions_of_the_set_nearly_none_gets_a_wrong_word() -> None:
    """The figures are in docs/measured/quality.md; always yes, and always no, would be wrong for a third."""
    answers = list(ruled())
    counted = Counter(each.outcome for each in answers)
    assert counted["wrong"] <= len(answers) * 0.02
    assert counted["right"] >= len(answers) * 0.8
    for word in ("yes", "no"):
        of_word = [each for each in answers if each.answer == word]
        assert len(of_word) >= len(answers) / 3
        assert sum(each.decision in WORDS[word] for each in of_word) >= len(of_word) * 0.8
