"""What the language model reads of passages: the pieces close to the question, by words and by meaning."""

from __future__ import annotations

import numpy as np
import pytest

from sourcier.services.gateway.evidence.reading.abridging import LEFT_OUT, OVERHEAD_CHARACTERS, abridged, closest_part
from sourcier.services.gateway.peers.embedding import QueryEmbedding
from sourcier.services.index.search.passages import FAQ_KIND, Passage
from tests.unit.gateway.fix_gateway_domain import EMBEDDING, passage

DIMENSION = 64
FILLER = "Le courrier est distribué le matin. Les bureaux sont nettoyés le soir. "
CANTEEN = "La cantine sert le mardi. Elle ne sert pas le mercredi."
QUESTION = "La cantine sert-elle le mercredi ?"
TABLE = (
    "Tarifs de la salle.\n\n| Salle | Demi-journée | Journée |\n| --- | --- | --- |\n"
    + "".join(f"| Salle {number} | {number} € | {number}0 € |\n" for number in range(20, 50))
    + "| Simone Veil | 55 € | 90 € |"
)


def read(*passages: Passage, question: str = QUESTION, embedding: QueryEmbedding = EMBEDDING, most: int) -> list[str]:
    return [each.text for each in abridged(passages, question, embedding, characters_max=most)]


def test_passages_for_which_there_is_room_are_whole() -> None:
    texts = [FILLER, CANTEEN]
    room = sum(map(len, texts)) + 2 * OVERHEAD_CHARACTERS
    assert read(*map(passage, (1, 2), texts), most=room) == texts


def test_the_sentences_that_hold_the_words_are_read_with_what_stands_beside_them() -> None:
    text = FILLER * 8 + CANTEEN + " " + FILLER * 8
    [found] = read(passage(1, text), most=400)
    assert CANTEEN in found
    assert LEFT_OUT in found
    assert len(found) <= 400


def test_a_row_comes_with_the_names_of_its_columns() -> None:
    [found] = read(passage(1, TABLE), question="Quel est le tarif de la salle Simone Veil ?", most=300)
    assert "| Salle | Demi-journée | Journée |" in found
    assert "| Simone Veil | 55 € | 90 € |" in found
    assert len(found) < len(TABLE) / 2


def test_a_passage_that_says_nothing_of_it_is_not_read_and_the_best_one_always_is() -> None:
    asked = passage(3, FILLER * 20, question="Quand vient le courrier ?", answer="Le matin.")
    found = read(passage(1, FILLER * 20), passage(2, "Rien. " * 200), asked, passage(4, CANTEEN * 9), most=500)
    assert [bool(text) for text in found] == [True, False, True, True]


def test_a_validated_answer_is_read_whole() -> None:
    answer = FILLER * 4
    found = read(passage(1, FILLER * 20), passage(2, answer, kind=FAQ_KIND), most=600)
    assert found[1] == answer


def test_what_is_close_in_meaning_is_read_though_it_has_no_word_of_the_question() -> None:
    wanted = "Le plafond est de cent trente euros."
    sentences = ["Le courrier arrive tôt.", "La peinture sèche vite.", wanted, "Le jardin reste ouvert."]
    text = " ".join(each for sentence in sentences for each in [sentence] * 4)
    vector = np.ones(DIMENSION, np.float32) / np.sqrt(np.float32(DIMENSION))
    # One code a word, as the encoder has one for each token that tells something: those of the sentence are close.
    words = [word for word in text.replace(".", "").split() if word.lower() not in ("le", "la", "est", "de")]
    close = {"plafond", "cent", "trente", "euros"}
    codes = b"".join((b"\xff" if word in close else b"\x0f") * (DIMENSION // 8) for word in words)
    embedding = QueryEmbedding("space", vector, vector.tobytes(), (1.0,))
    question = "Wie viel höchstens?"
    [found] = read(passage(1, text, token_codes=codes), question=question, embedding=embedding, most=260)
    assert wanted in found
    [without] = read(passage(1, text, token_codes=b""), question=question, embedding=embedding, most=260)
    assert wanted not in without


@pytest.mark.parametrize("question", ["?", "Combien ?", ""])
def test_a_question_without_words_reads_what_the_search_found_first(question: str) -> None:
    first, second = read(passage(1, FILLER * 20), passage(2, FILLER * 20), question=question, most=400)
    assert first.startswith("Le courrier")
    assert len(first) + len(second) <= 400


def test_what_is_quoted_begins_with_the_closest_sentence_of_all_passages() -> None:
    text = FILLER * 8 + CANTEEN + " " + FILLER * 8
    number, start = closest_part(
        [passage(1, FILLER * 9), passage(2, text)], QUESTION, EMBEDDING, characters_max=300
    )
    assert number == 1
    assert text[start:].startswith(("La cantine", "Elle ne sert"))


def test_what_is_quoted_of_a_long_table_begins_with_the_closest_row() -> None:
    _, start = closest_part(
        [passage(1, TABLE)], "Combien coûte une demi-journée, Simone Veil ?", EMBEDDING, characters_max=300
    )
    assert "| Simone Veil |" in TABLE[start : start + 300]
