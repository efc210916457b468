"""Slips of typing: which words are looked up for what is typed, and which of them is taken."""

from __future__ import annotations

import pytest

from sourcier.services.index.language.analyser import analyse_passage
from sourcier.services.index.slips.choosing import candidates, confirmed, two_slips_away, words_by_stem
from sourcier.services.index.slips.forms import SLIPS_MAX, distance, near_stems, one_slip, replaces_two
from sourcier.services.index.slips.reading import Typing, forms_of, joined_ones, unknown

TEXT = (
    "Le licenciement est notifié par lettre recommandée. La nationalisation du télétravail, l'indemnité de congés "
    "payés, la démission et la décision du conseil. Une décision est une décision. Le passeport de Dupond est national."
)


def _counts(text: str = TEXT) -> dict[str, int]:
    return dict(analyse_passage(text, language="fr").frequencies)


def _taken(question: str) -> dict[str, str]:
    """Return what each word of a question is taken for, as `asking` puts it together."""
    counts, typing = _counts(), Typing.of(question)
    found = {each.written: "+" for each in joined_ones(typing, counts)}
    for typed in unknown(typing, counts, joined=joined_ones(typing, counts)):
        for slips, forms in ((1, candidates(forms_of(typed), counts)), (SLIPS_MAX, two_slips_away(typed, counts))):
            words = words_by_stem([(TEXT, "fr")], {stem for form in forms for stem in form.stems})
            chosen = confirmed(typed, forms, words, slips_max=slips)
            if chosen:
                found.setdefault(typed.written, ", ".join(each.shown for each in chosen))
    return found


@pytest.mark.parametrize(("question", "taken"), [
    ("le licenciemnet du conseil", {"licenciemnet": "licenciement"}),
    ("le licencient du conseil", {"licencient": "licenciement"}),
    ("lettre recomandée", {"recomandée": "recommandée"}),
    ("une démision du conseil", {"démision": "démission, décision"}),
    ("la nationalsation", {"nationalsation": "nationalisation"}),
    ("le liceceiment du conseil", {"liceceiment": "licenciement"}),
    ("la ntionalistion", {"ntionalistion": "nationalisation"}),
    ("les congespayés", {"congespayés": "congés payés"}),
    ("le télé travail du conseil", {"télé travail": "+"}),
    ("le passe port du conseil", {"passe port": "+"}),
])
def test_a_slip_is_taken_for_the_word_that_passages_hold(question: str, taken: dict[str, str]) -> None:
    assert _taken(question) == taken


@pytest.mark.parametrize("question", [
    "le licenciement et la démission", "la lettre du conseil", "lettre recommandèe", "la girafe du conseil",
    "Was ist der Kündigungsschutz bei Entlassung?", "what is the notice for dismissal letters", "",
    "la lettre CONGSE du conseil", "la lettre A-1234 du conseil", "x" * 500, "la " * 20_000,
])
def test_words_that_are_known_or_near_nothing_stay_as_they_are(question: str) -> None:
    assert _taken(question) == {}


def test_identifiers_and_acronyms_are_kept() -> None:
    def words(*kept: str) -> list[str]:
        return [each.written for each in Typing.of("lettre recomandée selon la réf. lettrf", kept=kept).words]

    assert words() == ["lettre", "recomandée", "lettrf"]
    assert words("recomandée", "réf. lettrf") == ["lettre"]


@pytest.mark.parametrize(("one", "other", "slips"), [
    ("conges", "conges", 0), ("conges", "conge", 1), ("conges", "cnoges", 1), ("conges", "cogen", 2),
    ("conges", "marche", 3), ("a", "abcdef", 3),
])
def test_the_distance_of_two_words(one: str, other: str, slips: int) -> None:
    assert distance(one, other) == distance(other, one) == slips


@pytest.mark.parametrize(("one", "other", "both"), [
    ("societe", "sociale", True), ("concession", "conclusion", True), ("conges", "congas", False),
    ("liceceiment", "licenciement", False), ("conges", "ocngas", False), ("conges", "cnogse", False),
    ("conges", "songe", False), ("conges", "marche", False),
])
def test_two_letters_that_are_both_other_ones_are_told_apart(one: str, other: str, both: bool) -> None:
    assert replaces_two(one, other) == replaces_two(other, one) == both


def test_a_word_that_no_passage_holds_is_not_taken_for_another_one() -> None:
    text = "Le dialogue social est secret. Les partenaires sociaux gardent le secret de la protection sociale."
    counts, typing = _counts(text), Typing.of("le dialogue de la société")
    typed = next(each for each in unknown(typing, counts, joined=()) if each.written == "société")
    found = two_slips_away(typed, counts)
    words = words_by_stem([(text, "fr")], {stem for form in found for stem in form.stems})
    assert {form.words for form in found} == {("social",), ("secret",)}, "both are near enough to be looked at"
    assert confirmed(typed, found, words, slips_max=SLIPS_MAX) == ()


def test_one_slip_finds_what_the_distance_says() -> None:
    forms = one_slip("conges")
    assert all(distance("conges", form) == 1 for form in forms)
    assert {"conge", "cnoges", "congges", "xonges", "congesx", "onges"} <= forms.keys()
    assert forms["cnoges"] < forms["cxnges"] < forms["xonges"]


def test_stems_near_a_word_are_those_of_words_near_it() -> None:
    stems = ["licenci", "telegraph", "national", "pass"]
    assert near_stems("lciencieent", stems) == {"licenci": 2}
    assert near_stems("liceceiment", stems) == {"licenci": 2}
    assert near_stems("anything", []) == {}
