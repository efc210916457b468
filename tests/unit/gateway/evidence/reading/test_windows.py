"""The windows that a reader is shown: where the passage speaks of the same, with the line above tables and lists."""

from __future__ import annotations

from itertools import pairwise

from sourcier.services.gateway.evidence.reading.windows import CHARACTERS_MIN, PIECES_MAX, WINDOWS_MAX, Windows
from sourcier.services.gateway.evidence.wording import Wording

FILLER = "Le courrier est distribué le matin. Les bureaux sont nettoyés le soir. "
CANTEEN = "La cantine sert le mardi. Elle ne sert pas le mercredi."
TABLE = (
    "Tarifs de la salle.\n\n| Salle | Demi-journée | Journée |\n| --- | --- | --- |\n| Jean Moulin | 40 € | 70 € |\n"
    "| Simone Veil | 55 € | 90 € |\n\nLes tarifs sont révisés en janvier."
)
LIST = (
    "Le badge ouvre :\n- le hall ;\n- la salle des archives ;\n- le parking.\n\nIl n'ouvre pas :\n"
    "1. la salle des serveurs ;\n2. le toit.\n\nPerdu, il est remplacé."
)


def windows(
    text: str, sentence: str, question: str = "", *, tokens_max: int = 128, context: str = ""
) -> list[str]:
    return [each.text for each in Windows(Wording(text, context)).of(sentence, question, tokens_max=tokens_max)]


def test_the_closest_sentences_come_first_with_their_neighbours() -> None:
    text = FILLER * 6 + CANTEEN + " " + FILLER * 6
    alone, first, *_ = windows(text, "La cantine sert le mercredi.")
    # The denial stands beside the words that are the same.
    assert "Elle ne sert pas le mercredi." in first
    assert "La cantine sert le mardi." in first
    assert len(first) < len(text) / 2
    # And the closest sentence is read alone, too.
    assert alone in ("La cantine sert le mardi.", "Elle ne sert pas le mercredi.")


def test_the_question_tells_where_to_look_when_the_sentence_does_not() -> None:
    text = FILLER * 6 + CANTEEN + " " + FILLER * 6
    assert "cantine" in windows(text, "Oui, tous les jours.", "La cantine est-elle ouverte ?")[0]
    assert "cantine" not in windows(text, "Le courrier est distribué le matin.", "À quelle heure ?")[0]


def test_the_sentences_own_words_count_more_than_the_questions() -> None:
    text = "Le préavis du cadre est de trois mois. " + FILLER * 5 + "La prime est versée en juin."
    assert "prime" in windows(text, "La prime est versée en juin.", "Quel est le préavis ?", tokens_max=60)[0]


def test_a_row_of_a_table_comes_with_the_names_of_its_columns_and_no_other_row() -> None:
    first = windows(TABLE, "La salle Simone Veil coûte 90 € la journée.")[0]
    assert first.splitlines() == ["| Salle | Demi-journée | Journée |", "| Simone Veil | 55 € | 90 € |"]


def test_an_item_of_a_list_comes_with_the_line_that_leads_in_to_it() -> None:
    assert windows(LIST, "Le badge ouvre la salle des archives.")[0].startswith("Le badge ouvre :\n")
    closest = windows(LIST, "Le badge ouvre la salle des serveurs.")
    assert any(each.startswith("Il n'ouvre pas :\n") and "serveurs" in each for each in closest)


def test_what_stands_below_a_list_is_none_of_its_items() -> None:
    assert "ouvre" not in next(each for each in windows(LIST, "Un badge perdu est remplacé.") if "Perdu" in each)


def test_title_and_headings_are_read_where_they_say_what_the_window_does_not() -> None:
    text, context = "Il est possible deux jours par semaine.", "Guide du salarié\nTélétravail"
    assert windows(text, "Le télétravail est possible deux jours.", context=context) == [f"{context}\n{text}"]
    assert windows(text, "C'est possible deux jours.", context=context) == [text]
    held = "Le télétravail est possible deux jours par semaine."
    assert windows(held, "Le télétravail est possible deux jours.", context=context) == [held]
    assert windows(TABLE, "Le guide donne 90 € pour Simone Veil.", context="Guide")[0].startswith("Guide\n| Salle |")


def test_windows_are_few_and_do_not_overlap() -> None:
    text = " ".join(f"La salle {number} est ouverte le matin." for number in range(40))
    found = Windows(Wording(text)).of("La salle est ouverte le matin.", tokens_max=128)
    assert len(found) == WINDOWS_MAX
    alone, closest, _ = found
    assert closest.start <= alone.start < alone.end <= closest.end
    spans = sorted((each.start, each.end) for each in found[1:])
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert all(text[each.start : each.end] == each.text for each in found)
    assert all(each.text.count(".") <= PIECES_MAX for each in found)


def test_a_window_leaves_room_for_question_and_sentence() -> None:
    text = "Le courrier est distribué le matin par une personne du service intérieur, étage par étage. " * 10
    short = windows(text, "Le courrier est distribué le matin.", tokens_max=128)[1]
    long = windows(text, "Le courrier est distribué le matin." + " Et voilà" * 30, "Quand ?" * 20, tokens_max=60)[0]
    assert len(long) <= CHARACTERS_MIN < len(short)


def test_a_passage_without_a_word_of_the_sentence_is_read_at_its_beginning() -> None:
    assert windows(CANTEEN, "Xylophone.")[0].startswith("La cantine sert")


def test_a_passage_of_white_space_has_no_window() -> None:
    assert windows(" \n", "Le courrier.") == []
