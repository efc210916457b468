"""The rules that make the reader's material: what they change, what they leave alone, and what is never trained on."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from sourcier.models.train import changes
from sourcier.models.train.measuring import auroc, table
from sourcier.models.train.pairs import CONTRADICTED, NOT_CONTRADICTED, NOT_TOLD, SUPPORTED, Pair, Pairs
from sourcier.models.train.sources import Sources, Text, is_held, read_sources

OPENING = "La bibliothèque est ouverte le lundi à 9 heures pour les cadres."


def always(rule: changes.Change, sentence: str, around: str = "") -> set[str | None]:
    """Return what a rule makes of a sentence, whatever is drawn."""
    return {rule(sentence, around, Random(seed)) for seed in range(60)}


@pytest.mark.parametrize(("sentence", "denied"), [
    ("Cette règle s'applique à tous.", "Cette règle ne s'applique {} à tous."),
    ("Le salarié lui verse une somme.", "Le salarié ne lui verse {} une somme."),
    ("Ce congé est payé.", "Ce congé n'est {} payé."),
])
def test_a_verb_is_denied_before_its_pronouns(sentence: str, denied: str) -> None:
    assert always(changes.denied, sentence) == {denied.format(word) for word in ("pas", "plus", "jamais")}


@pytest.mark.parametrize("sentence", [
    "Le compte de la société.",  # a noun, not the verb
    "Il n'est pas ouvert.",
    "Aucun salarié ne peut partir.",
    "Tarifs pour 2024",
])
def test_what_has_no_verb_or_is_denied_already_is_not_denied(sentence: str) -> None:
    assert always(changes.denied, sentence) == {None}


@pytest.mark.parametrize(("sentence", "affirmed"), [
    ("Le chien n'est pas admis.", "Le chien est admis."),
    ("Cela ne s'applique plus aux cadres.", "Cela s'applique aux cadres."),
    ("Aucun accord ne prévoit ce congé.", "Un accord prévoit ce congé."),
    ("Le chien est admis.", None),
])
def test_a_denial_is_taken_away(sentence: str, affirmed: str | None) -> None:
    assert always(changes.affirmed, sentence) == {affirmed}


def test_what_is_becomes_what_will_be_or_was() -> None:
    plans = always(changes.planned, OPENING)
    assert "D'ici 2028, la bibliothèque sera ouverte le lundi à 9 heures pour les cadres." in plans
    assert all("est ouverte" not in str(plan) for plan in plans)
    pasts = always(changes.past, OPENING)
    assert "Autrefois, la bibliothèque était ouverte le lundi à 9 heures pour les cadres." in pasts


def test_another_figure_comes_from_the_text_around_or_is_near() -> None:
    made = always(changes.other_figure, "Le délai est de 30 jours.", "Le délai est de 30 jours, de 45 pour les cadres.")
    assert "Le délai est de 45 jours." in made
    assert "Le délai est de 30 jours." not in made
    assert always(changes.other_figure, "Le délai est long.") == {None}


def test_a_word_gives_way_to_another_of_its_kind() -> None:
    made = always(changes.of_another_kind, OPENING)
    assert "La bibliothèque est ouverte le mardi à 9 heures pour les cadres." in made
    assert all(text != OPENING for text in made)


def test_words_of_one_form_are_replaced_whole() -> None:
    assert always(changes.opposed, "Les avants-postes.") == {None}
    assert "l'patron" not in {changes.reworded("Il paie l'employeur.", Random(seed)) for seed in range(40)}


TEXT = Text("Règlement", (
    "La bibliothèque est ouverte le lundi à 9 heures pour les cadres.", "Le délai est de 30 jours au moins.",
    "Les chiens ne sont pas admis dans la salle de lecture.", "Le prêt est gratuit pour tous les habitants.",
    "Un livre perdu est remplacé par son emprunteur.", "Le salarié perçoit une prime de 200 euros en juin.",
    "La salle peut recevoir 80 personnes le samedi.",
), (("Quel est le délai ?", "30 jours"), ("Combien de personnes ?", "80 personnes")))
WRITTEN = {"premise": "Le bar est clos.", "hypothesis": "Le bar est ouvert.", "label": "contradiction", "id": "1"}


def made_pairs(count: int, seed: int = 3) -> list[Pair]:
    return list(islice(Pairs(Sources([TEXT], [WRITTEN]), Random(seed)), count))


def test_pairs_are_the_same_for_one_seed_and_of_every_label() -> None:
    pairs = made_pairs(400)
    assert pairs == made_pairs(400)
    assert {pair.label for pair in pairs} == {SUPPORTED, NOT_TOLD, CONTRADICTED}


def test_what_stands_in_the_window_word_for_word_is_supported_and_what_is_nowhere_is_not() -> None:
    for pair in made_pairs(600):
        if pair.kind == "elsewhere":
            assert pair.label == NOT_TOLD
            assert pair.sentence not in pair.window
        # A question of yes or no, or the answer to another question, can stand in the window and be false.
        elif pair.sentence in pair.window and not pair.question and len(pair.sentence.split()) > 4:
            assert pair.label == SUPPORTED, pair


def test_a_changed_window_supports_the_changed_sentence_and_contradicts_the_first() -> None:
    pairs = made_pairs(800)
    both = [pair for pair in pairs if pair.kind.startswith("both ")]
    window = [pair for pair in pairs if pair.kind.startswith("window ")]
    assert {pair.label for pair in both} == {SUPPORTED}
    assert {pair.label for pair in window} == {CONTRADICTED}
    assert all(pair.sentence not in pair.window for pair in window if pair.sentence in TEXT.sentences)


def write_set(folder: Path, titles: list[str]) -> None:
    folder.mkdir(parents=True)
    rows, asked = [], []
    for at, title in enumerate(titles):
        rows.append({"_id": f"p{at}", "title": title, "text": f"{title} est ouvert le lundi matin."})
        asked.append({"_id": f"q{at}", "text": f"Quand ouvre {title} ?", "metadata": {"answers": ["lundi"]}})
    for name, lines in (("corpus", rows), ("queries", asked)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    (folder / "qrels.tsv").write_text("".join(f"q{at}\tp{at}\t1\n" for at in range(len(titles))), "utf-8")


def test_no_text_of_a_measured_half_is_trained_on(tmp_path: Path) -> None:
    titles = [f"Le lieu {number}" for number in range(40)]
    write_set(tmp_path / "retrieval" / "one", titles)
    write_set(tmp_path / "retrieval" / "conventions-articles", [])
    (tmp_path / "sentences").mkdir()
    for name in ("siblings", "daccord-odd", "rte3-fr-dev"):
        pair = {"premise": "a", "hypothesis": "b", "label": "supported"}
        rows = [pair | {"id": f"{name}{number:04}-1"} for number in range(40)]
        (tmp_path / "sentences" / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    trained, held = (read_sources(tmp_path, sets=["one"], held=each) for each in (False, True))
    assert {text.title for text in trained.texts} == {title for title in titles if not is_held(title)}
    assert {text.title for text in trained.texts} | {text.title for text in held.texts} == set(titles)
    assert len(trained.pairs) + len(held.pairs) == 120
    assert trained.pairs
    assert not {row["id"] for row in trained.pairs} & {row["id"] for row in held.pairs}
    assert trained.texts[0].asked


def test_an_area_of_one_tells_apart_and_one_half_does_not() -> None:
    assert auroc([0.9, 0.8], [0.1, 0.2]) == 1.0
    assert auroc([0.5], [0.5]) == 0.5
    pairs = [Pair("w", "", "s", SUPPORTED, "told"), Pair("w", "", "s", CONTRADICTED, "denied"),
             Pair("w", "", "s", NOT_CONTRADICTED, "written")]
    shown = table(pairs, [[0.9, 0.05, 0.05], [0.1, 0.1, 0.8], [0.2, 0.2, 0.6]])
    assert "| denied | 1 | 1.000 | 1.00 | 1.00 |" in shown
    assert "written" not in shown
