"""Passages that say nearly the same of many people: does the one that holds the name asked for reach the re-ranker?

Reciprocal ranks reward what is in both lists. Where passages differ in a name alone, dense search ranks them nearly at
random, full text puts the right one first, and dozens that are mediocre in both pass it by.
"""

from __future__ import annotations

import random

from eval.sets.datasets import Dataset, Passage, Question

PEOPLE = 300
QUESTIONS = 100
_SYLLABLES = ("ba", "ber", "bon", "cha", "cor", "da", "del", "dur", "fa", "fer", "gar", "gou", "ha", "jac", "ka", "lam",
              "le", "lo", "mar", "mel", "mo", "nar", "ni", "pas", "per", "qui", "ra", "ro", "sa", "ser", "tan", "val",
              "ver", "vi", "wil", "za")
_ENDINGS = ("ard", "aud", "eau", "el", "er", "et", "ier", "in", "ois", "on", "ot", "oux")
_BODY = (
    "La commission du personnel s'est réunie en séance ordinaire sous la présidence du directeur des services, en "
    "présence des représentants élus et du médecin de prévention. Après lecture du procès-verbal de la séance "
    "précédente, approuvé à l'unanimité, elle a examiné les demandes de mutation dans l'ordre de leur dépôt. Chaque"
    " demande a été instruite par le bureau de la gestion des carrières, qui a recueilli les observations du chef "
    "de service d'origine et du chef de service d'accueil, ainsi que les souhaits exprimés lors de l'entretien "
    "annuel. Dossier de {name}. L'avis rendu est {opinion}, et la décision prend effet le premier jour du mois de "
    "{month}. Elle est notifiée par courrier recommandé ; elle peut être contestée dans un délai de deux mois "
    "devant la même commission, puis devant le tribunal. Les frais de déménagement sont remboursés sur "
    "justificatifs, dans la limite du barème en vigueur, et le logement de fonction est libéré dans les trente "
    "jours qui suivent la prise de poste."
)
_OPINIONS = ("favorable", "défavorable", "réservé")
_MONTHS = ("janvier", "février", "mars", "avril", "mai", "juin", "septembre", "octobre", "novembre", "décembre")
_QUESTION = "Quel avis la commission a-t-elle rendu sur la demande de mutation de {name} ?"


def rare_names(seed: int = 0) -> Dataset:
    """Return letters about people of made-up names, and questions that name one each."""
    generator = random.Random(seed)
    names: dict[str, None] = {}
    while len(names) < PEOPLE:
        names["".join(generator.choices(_SYLLABLES, k=2)).capitalize() + generator.choice(_ENDINGS)] = None
    passages = tuple(
        Passage(f"name-{number}", "Mutations", _BODY.format(
            name=name, opinion=generator.choice(_OPINIONS), month=generator.choice(_MONTHS)
        ))
        for number, name in enumerate(names)
    )
    asked = list(enumerate(names))[:: PEOPLE // QUESTIONS]
    questions = tuple(
        Question(f"question-{number}", _QUESTION.format(name=name), {f"name-{number}": 1}) for number, name in asked
    )
    return Dataset("rare-names", passages, questions)
