"""Which questions refer to what was said before: the table of cases of SPEC A4."""

from __future__ import annotations

import unicodedata

import pytest

from sourcier.services.gateway.dialogue.follow_ups import refers_back, split_words

pytestmark = pytest.mark.unit

# A question, and the word or phrase whose rule fires; an empty one where no rule does.
FRENCH = [
    # celle, celui, celles, ceux: in questions of any length.
    ("Et celle de Lyon ?", "celle"),
    ("Celle de Paris est-elle ouverte ?", "celle"),
    ("Quel est le montant de celui dont nous avons parlé la semaine dernière en réunion ?", "celui"),
    ("Quelles sont les conditions de celles qui concernent les salariés à temps partiel ?", "celles"),
    ("Que se passe-t-il pour ceux qui n'ont pas encore signé la charte informatique ?", "ceux"),
    ("CELUI DE LYON ?", "celui"),
    # celle-ci, celui-là and the like are forms of them, whatever the hyphen.
    ("Celle-ci est-elle remboursée ?", "celle"),
    ("Quelle est la durée de validité de celui-là pour un salarié en contrat court ?", "celui"),
    ("Quelle est la durée de validité de celui-la pour un salarié en contrat court ?", "celui"),
    ("Comment ceux‑ci sont-ils remboursés lorsque le trajet dépasse cent kilomètres ?", "ceux"),
    ("Pourquoi celles-là ne sont-elles pas prises en charge par la mutuelle de l'entreprise ?", "celles"),
    # ça, cela, ce, cette, ces: in questions of fewer than eight words.
    ("Comment ça marche ?", "ça"),
    ("Ça marche comment ?", "ça"),
    ("ca marche comment ?", "ça"),
    ("Pourquoi cela ?", "cela"),
    ("Qui a signé ce document ?", "ce"),
    ("Où trouver cette procédure ?", "cette"),
    ("Quand ces jours sont-ils payés ?", "ces"),
    ("Combien coûte cette mutuelle pour un célibataire ?", "cette"),  # seven words
    ("Combien coûte cette mutuelle pour un salarié célibataire ?", ""),  # eight
    ("Combien coûte-t-elle, cette mutuelle, pour un salarié célibataire !", ""),
    ("Qui doit signer ce formulaire avant le départ du salarié en mission ?", ""),
    ("Quelle est la procédure à suivre pour que cela soit validé par la direction ?", ""),
    ("Est-ce que ce badge ouvre la porte du parking ?", ""),
    ("Que dit ce texte ? ! …", "ce"),  # punctuation is no word
    # est-ce and c'est never count, whatever the apostrophe or the hyphen.
    ("Est-ce que le télétravail est permis ?", ""),
    ("Est‑ce permis ?", ""),
    ("Qu'est-ce que le RTT ?", ""),
    ("Qu’est-ce qu’un RTT ?", ""),
    ("C'est combien ?", ""),
    ("C’est où ?", ""),
    ("N'est-ce pas interdit ?", ""),
    ("Combien est-ce ?", ""),
    ("Quel jour était-ce ?", ""),
    # il, elle, ils, elles, y, en: as the first word only.
    ("Il s'applique aussi aux stagiaires qui travaillent à temps partiel dans les agences ?", "il"),
    ("Elle ouvre à quelle heure ?", "elle"),
    ("Ils sont payés quand ?", "ils"),
    ("Elles durent combien de temps ?", "elles"),
    ("Y a-t-il une limite ?", "y"),
    ("En ai-je besoin ?", "en"),
    ("« Elle ouvre quand ? »", "elle"),
    ("Quand ouvre-t-elle ?", ""),
    ("Combien en reste-t-il ?", ""),
    ("Comment y aller ?", ""),
    ("Le directeur, il est là quand ?", ""),
    ("Qu'en est-il des stagiaires ?", ""),
    ("S'il pleut, que faire ?", ""),
    ("J'y vais quand ?", ""),
    # et celle, et celui, et ça: at the beginning, in questions of any length.
    ("Et ça, est-ce que c'est remboursé aussi pour les salariés des filiales étrangères ?", "et ça"),
    ("Et ça ?", "et ça"),
    ("Et celui de Lyon ?", "celui"),
    ("Et ceux de Lyon ?", "ceux"),
    ("Le dossier et ça suffisent-ils pour ouvrir un compte auprès du service du personnel ?", ""),
    # Articles never count.
    ("Le télétravail est-il permis ?", ""),
    ("La charte ?", ""),
    ("Les horaires ?", ""),
    ("Combien de jours de congé par an ?", ""),
    ("Et à Lyon ?", ""),
    # What only looks alike.
    ("Quel est le CA ?", ""),
    ("Quel est le cas des ceps ?", ""),
    ("Que contient l'excellent dossier ?", ""),
    ("Combien de parcelles ?", ""),
    ("Quelle ficelle ?", ""),
    ("Quel est cet horaire ?", ""),  # « cet » is not in the list of SPEC A4
    ("", ""),
    ("?", ""),
]

ENGLISH = [
    ("What about that one?", "that one"),
    ("How long is this one valid for an employee who works part time in the agency?", "this one"),
    ("And the ones in Lyon?", "the ones"),
    ("Does the latter apply to trainees who work at the headquarters during the summer?", "the latter"),
    ("What about those ones?", "those ones"),
    ("And that, is it paid back to the employees of the foreign subsidiaries as well?", "and that"),
    ("And these?", "and these"),
    ("What about it when the employee has already left the company at the end of June?", "what about it"),
    ("How does that work?", "that"),
    ("Who signs this?", "this"),
    ("When are these days paid?", "these"),
    ("Who decides that employees may work from home for more than two days a week?", ""),
    ("What does this policy say of employees who work abroad?", ""),
    ("Does it apply on Mondays?", "it"),
    ("When do they open?", "they"),
    ("She left when?", "she"),
    ("They are paid when?", "they"),
    ("Would he be paid?", "he"),
    ("Is it possible to work from home?", ""),
    ("What is it that employees must sign before they leave?", ""),
    ("That's how much?", ""),
    ("It's how much?", ""),
    ("What is the notice period?", ""),
    ("The notice period?", ""),
    ("How many days of leave do employees have?", ""),
    ("Can an employee carry it over?", ""),
    ("Who is in the item list?", ""),
]


@pytest.mark.parametrize(("question", "fired"), FRENCH)
def test_french(question: str, fired: str) -> None:
    assert refers_back(question, language="fr") == fired


@pytest.mark.parametrize(("question", "fired"), ENGLISH)
def test_english(question: str, fired: str) -> None:
    assert refers_back(question, language="en") == fired


@pytest.mark.parametrize(("question", "fired"), FRENCH)
def test_letters_with_separate_accents_are_the_same(question: str, fired: str) -> None:
    assert refers_back(unicodedata.normalize("NFD", question), language="fr") == fired


@pytest.mark.parametrize(("question", "fired"), [
    ("Celui-ci ?", "celui"), ("That one?", "that one"), ("Lyon ?", ""), ("Les tarifs ?", ""),
])
def test_a_question_in_no_certain_language_is_tried_in_both(question: str, fired: str) -> None:
    assert refers_back(question, language="") == fired


def test_a_word_keeps_its_elisions_and_hyphens() -> None:
    assert split_words("« Qu’est‑ce que c'est, l'aujourd’hui ? » — 19 euros") == [
        "qu'est-ce", "que", "c'est", "l'aujourd'hui", "19", "euros",
    ]
