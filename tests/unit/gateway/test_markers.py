"""Markers and sentences, read from a stream that may be cut anywhere."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from services.gateway.markers import SENTENCE_CHARACTERS_MAX, Marker, MarkerReader, Part, SentenceEnd, Text


def read(*deltas: str) -> list[Part]:
    """Return the parts of a stream, neighbouring texts joined: where they are cut says nothing."""
    reader = MarkerReader()
    parts: list[Part] = []
    for part in [part for delta in deltas for part in reader.feed(delta)] + list(reader.finish()):
        if isinstance(part, Text) and parts and isinstance(parts[-1], Text):
            parts[-1] = Text(parts[-1].text + part.text)
        else:
            parts.append(part)
    return parts


def sentences(parts: Sequence[Part]) -> list[tuple[str, tuple[int, ...]]]:
    return [(part.sentence, part.markers) for part in parts if isinstance(part, SentenceEnd)]


def shown(parts: Sequence[Part]) -> str:
    return "".join(
        part.text if isinstance(part, Text) else f"[{part.number}]" for part in parts
        if not isinstance(part, SentenceEnd)
    )


FRAGMENTS = st.sampled_from([
    "Deux jours", " par semaine", ".", ". ", " [1]", "[2]", "[1, 3]", "[Source 2]", " [extrait 4].", "[", "]", "[x",
    "\n", "\n- ", "3.5", " art. 3", "M. Dupont", "!", "?", "…", " « oui. »", ".»", "[12", "1]", "[note]", " ", "\u00a0",
    "L'été", "[1][2]", "[ 7 ]", "etc.", "1. ", "**gras**", "[1;2]", "[1 et 2]", "[voir la page suivante du document]",
])


@settings(max_examples=150)
@given(st.lists(FRAGMENTS, max_size=12).map("".join), st.data())
@example("Deux jours. [", None)
@example("Deux jours. [1", None)
@example("Deux jours. [note", None)
@example("Voir [art. 3]. Et [", None)
def test_a_stream_cut_anywhere_gives_the_same_parts(text: str, data: st.DataObject | None) -> None:
    whole = read(text)
    assert read(*text) == whole
    if data is not None and len(text) > 1:
        cuts = sorted(data.draw(st.sets(st.integers(1, len(text) - 1), max_size=4)))
        assert read(*(text[start:end] for start, end in zip([0, *cuts], [*cuts, None], strict=True))) == whole


@settings(max_examples=150)
@given(st.lists(FRAGMENTS, max_size=12).map("".join))
def test_nothing_but_the_form_of_markers_changes(text: str) -> None:
    without_brackets = "".join(part.text for part in read(text) if isinstance(part, Text))
    position = 0
    for letter in without_brackets:
        position = text.find(letter, position) + 1
        assert position > 0
    if "[" not in text:
        assert without_brackets == text


@given(st.text(alphabet="a.[1]? \n", max_size=30))
@settings(max_examples=150)
def test_every_marker_belongs_to_one_sentence(text: str) -> None:
    parts = read(text)
    assert {marker for _, markers in sentences(parts) for marker in markers} == {
        part.number for part in parts if isinstance(part, Marker)
    }
    assert not parts or not isinstance(parts[-1], Marker)


@pytest.mark.parametrize(("text", "expected"), [
    ("Deux jours par semaine [1].", [("Deux jours par semaine .", (1,))]),
    ("Deux jours. [1] Trois mois [2].", [("Deux jours.", (1,)), ("Trois mois .", (2,))]),
    ("Deux jours.[1]", [("Deux jours.", (1,))]),
    ("Deux jours [1][3].", [("Deux jours .", (1, 3))]),
    ("Deux jours [1, 3 et 2].", [("Deux jours .", (1, 3, 2))]),
    ("Deux jours [Source 2].", [("Deux jours .", (2,))]),
    ("Deux jours [1] et [1].", [("Deux jours  et .", (1,))]),
    ("Sans marqueur", [("Sans marqueur", ())]),
    ("Un ! Deux ? Trois…", [("Un !", ()), ("Deux ?", ()), ("Trois…", ())]),
    ("", []),
    ("[1]", [("", (1,))]),
])
def test_sentences_end_with_their_markers(text: str, expected: list[tuple[str, tuple[int, ...]]]) -> None:
    assert sentences(read(text)) == expected


@pytest.mark.parametrize("text", [
    "Selon l'art. 3 du code, oui.", "Le taux est de 3.5 % par an.", "C'est 19.50 euros.", "Voir p. ex. la charte.",
])
def test_a_full_stop_within_a_sentence_does_not_end_it(text: str) -> None:
    assert sentences(read(text)) == [(text, ())]


def test_items_of_a_list_are_sentences() -> None:
    parts = read("Il faut :\n- un accord [1]\n- un poste [2]\n")
    assert sentences(parts) == [("Il faut :", ()), ("- un accord", (1,)), ("- un poste", (2,))]
    assert shown(parts) == "Il faut :\n- un accord [1]\n- un poste [2]\n"


def test_a_closing_quotation_mark_belongs_to_its_sentence() -> None:
    parts = read("Il dit : « Deux jours. » [1] Puis rien.")
    assert sentences(parts) == [("Il dit : « Deux jours. »", (1,)), ("Puis rien.", ())]


@pytest.mark.parametrize("text", ["[note]", "[a b c]", "[2024]", "[1", "a [", "[]", "tableau[i]", "[1-3]"])
def test_brackets_that_are_no_marker_stay(text: str) -> None:
    assert shown(read(text)) == text


@pytest.mark.parametrize("text", ["[page 12]", "[art. 3]", "[Annexe 2]", "[étape 1]"])
def test_a_number_that_is_something_elses_is_no_marker(text: str) -> None:
    assert shown(read(f"Voir {text}.")) == f"Voir {text}."
    assert sentences(read(f"Voir {text}.")) == [(f"Voir {text}.", ())]


def test_text_comes_as_soon_as_it_is_certain() -> None:
    reader = MarkerReader()
    assert list(reader.feed("Deux jours ")) == [Text("Deux jours ")]
    assert list(reader.feed("[")) == []
    assert list(reader.feed("1")) == []
    assert list(reader.feed("]")) == [Marker(1)]
    assert list(reader.feed(" par")) == [Text(" par")]


def test_a_sentence_without_an_end_is_cut() -> None:
    reader = MarkerReader()
    parts = [part for _ in range(300) for part in reader.feed("mot mot ")]
    ends = [part for part in parts if isinstance(part, SentenceEnd)]
    assert [len(end.sentence) <= SENTENCE_CHARACTERS_MAX + 8 for end in ends] == [True, True]
    assert "".join(part.text for part in parts if isinstance(part, Text)) == "mot mot " * 300
