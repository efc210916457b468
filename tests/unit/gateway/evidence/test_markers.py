"""Markers and sentences, read from a stream that may be cut anywhere."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sourcier.services.gateway.evidence.markers import (
    MARKER_CHARACTERS_MAX,
    SENTENCE_CHARACTERS_MAX,
    Marker,
    MarkerReader,
    Part,
    SentenceEnd,
    Text,
)
from sourcier.services.index.language.abbreviations import WORD_CHARACTERS_MAX


def read(*deltas: str, passages: int | None = None) -> list[Part]:
    """Return the parts of a stream, neighbouring texts joined: where they are cut says nothing."""
    reader = MarkerReader(passages=passages)
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
    "[1-3]", "[2-9]", "[Sources 1-2]", "[^1]", "【1】", "【1†source】", "[Source 1, page 2]", "【", "】", "![",
    "![logo](x)", "M. Le Goff", " J. ", "Le ", "vitamine C.", "art. L. 3121", "lesquelles", "[Source 1, Source 2]",
    "677640d69a", "†",
])


@settings(max_examples=150)
@given(st.lists(FRAGMENTS, max_size=12).map("".join), st.data())
@example("Deux jours. [", None)
@example("Deux jours. [1", None)
@example("Deux jours. [note", None)
@example("Voir [art. 3]. Et [", None)
@example("La vitamine C. Le", None)
@example("La vitamine C. L'orange. Oui ![", None)
@example("Voir [Source 1, Source 2, Source 3, Source 4, Source 5, Source 6, Source 7]. Oui.", None)
@example("Oui![Source 1, page 12]. Non![note](a). 【1†L12-L15】", None)
def test_a_stream_cut_anywhere_gives_the_same_parts(text: str, data: st.DataObject | None) -> None:
    whole = read(text, passages=3)
    assert read(*text, passages=3) == whole
    if data is not None and len(text) > 1:
        cuts = sorted(data.draw(st.sets(st.integers(1, len(text) - 1), max_size=4)))
        deltas = [text[start:end] for start, end in zip([0, *cuts], [*cuts, None], strict=True)]
        assert read(*deltas, passages=3) == whole


@settings(max_examples=150)
@given(st.lists(FRAGMENTS, max_size=12).map("".join))
def test_nothing_but_the_form_of_markers_changes(text: str) -> None:
    without_brackets = "".join(part.text for part in read(text) if isinstance(part, Text))
    position = 0
    for letter in without_brackets:
        position = text.find(letter, position) + 1
        assert position > 0
    if "[" not in text and "【" not in text:
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


@pytest.mark.parametrize("text", [
    "Le directeur est M. Martin.", "Il cite MM. Martin et Dupont.", "Le siège appartient à Mme. Le Goff.",
    "Selon l'art. L. 3121-27 du code, oui.", "Le rapport de J. R. R. Tolkien est là.", "Il est dirigé par J. Le Goff.",
    "L'ingénieur A. Martin est là.", "Dr. Martin works here.", "Martin et al. Nature l'a publié.",
    "J.-C. Martin est là.", "Voir cf. Annexe 3.",
])
def test_a_name_behind_an_abbreviation_is_not_cut_off(text: str) -> None:
    assert sentences(read(text)) == [(text, ())]
    assert sentences(read(*text)) == [(text, ())]


@pytest.mark.parametrize(("first", "second"), [
    ("Il prend de la vitamine C.", "Le médecin est là."), ("On passe au plan B.", "L'équipe suit."),
    ("Il fait 20 °C.", "Le matin est frais."), ("C'est une règle de l'U.E.", "Les États suivent."),
    ("Il appelle SAM.", "Martin vient."), ("Voir l'album.", "Martin chante."),
    ("Le directeur est M.\n", "Martin vient."),
])
def test_a_letter_that_ends_a_sentence_ends_it(first: str, second: str) -> None:
    for parts in (read(f"{first} {second}"), read(*f"{first} {second}")):
        assert sentences(parts) == [(first.strip(), ()), (second, ())]


def test_a_marker_behind_an_abbreviation_ends_the_sentence() -> None:
    assert sentences(read("La vitamine C. [1] Boire de l'eau.")) == [("La vitamine C.", (1,)), ("Boire de l'eau.", ())]


@pytest.mark.parametrize("text", ["Le directeur est M.", "Le directeur est M. ", "Par J. M", "Par J. Le"])
def test_a_stream_that_ends_behind_an_abbreviation_ends(text: str) -> None:
    assert sentences(read(*text)) == [(text.strip(), ())]


def test_what_follows_a_letter_is_waited_for_no_longer_than_a_word() -> None:
    reader = MarkerReader()
    list(reader.feed("La vitamine C. "))
    assert list(reader.feed("L")) == []
    assert [part for part in reader.feed("e ") if isinstance(part, SentenceEnd)] == [SentenceEnd("La vitamine C.", ())]
    reader = MarkerReader()
    list(reader.feed("La vitamine C. "))
    assert list(reader.feed("A" * WORD_CHARACTERS_MAX))


@pytest.mark.parametrize(("text", "numbers"), [
    ("[Source 1, Source 2]", (1, 2)), ("[Source 1, page 3]", (1,)), ("[Source 1, p. 3 ; Source 2, p. 4-5]", (1, 2)),
    ("[^1]", (1,)), ("【1】", (1,)), ("【2†source】", (2,)), ("【1†L12-L15】", (1,)), ("[Sources 1-3]", (1, 2, 3)),
    ("[Source 1–2]", (1, 2)), ("[1-3]", (1, 2, 3)), ("[1, 2-3]", (1, 2, 3)), ("[Source 4]", (4,)),
    ("[Source 1, Source 2, Source 3, Source 4, Source 5]", (1, 2, 3, 4, 5)),
])
def test_other_forms_of_markers_are_read(text: str, numbers: tuple[int, ...]) -> None:
    for parts in (read(f"Oui {text}.", passages=3), read(*f"Oui {text}.", passages=3)):
        assert sentences(parts) == [("Oui .", numbers)]


@pytest.mark.parametrize("text", [
    "[1-4]", "[0-2]", "[3-1]", "[2-2]", "[1-2024]", "[art. 3]", "[2024]", "[Sources 1-300]", "[page 1]", "【重要】",
    "[^note]", "[1-3 jours]", "[Source]",
])
def test_ranges_beyond_the_passages_and_other_brackets_stay(text: str) -> None:
    for parts in (read(f"Oui {text}.", passages=3), read(*f"Oui {text}.", passages=3)):
        assert sentences(parts) == [(f"Oui {text}.", ())]


def test_a_bracket_is_waited_for_no_longer_than_a_marker_is() -> None:
    for bracket in ("[voir ", "[3 jours ", "[" + "1," * MARKER_CHARACTERS_MAX):
        reader = MarkerReader()
        assert "".join(part.text for part in reader.feed(bracket) if isinstance(part, Text)) == bracket


@pytest.mark.parametrize(("text", "expected"), [
    ("Oui ![logo](https://a.example/p.png) ici.", [("Oui ![logo](https://a.example/p.png) ici.", ())]),
    ("Deux jours![1] Oui.", [("Deux jours!", (1,)), ("Oui.", ())]),
    ("Deux jours ! [1]", [("Deux jours !", (1,))]),
    ("Attention ![note", [("Attention ![note", ())]),
    ("![a [1]](//b)", [("![a ](//b)", (1,))]),
])
def test_an_image_is_read_whole_and_a_marker_behind_an_exclamation_is_one(
    text: str, expected: list[tuple[str, tuple[int, ...]]]
) -> None:
    assert sentences(read(text)) == expected
    assert sentences(read(*text)) == expected


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
