"""What texts and titles spell out, by the table of examples."""

from __future__ import annotations

import pytest

from sourcier.services.index.acronyms import matching
from sourcier.services.index.acronyms.asking import _is_pronounceable, _shorts
from sourcier.services.index.acronyms.examples import COUNTER_EXAMPLES, EXAMPLES
from sourcier.services.index.acronyms.forms import long_key, short_key
from sourcier.services.index.acronyms.recognition import Budget, definitions
from sourcier.services.index.acronyms.titles import initialisms
from sourcier.services.index.language.analyser import analyse_passage, analyse_question


@pytest.mark.parametrize(("text", "expected"), EXAMPLES)
def test_what_a_text_spells_out_is_read(text: str, expected: tuple[tuple[str, str], ...]) -> None:
    assert tuple((each.short, each.long) for each in definitions(text)) == expected
    # Within a longer text, and with the fixed spaces of French typography.
    around = f"Il est dit ici que ceci vaut. {text.replace(' :', chr(160) + ':')}\n\nAutre chose suit."
    assert tuple((each.short, each.long) for each in definitions(around)) == expected


@pytest.mark.parametrize("text", COUNTER_EXAMPLES)
def test_what_looks_alike_is_read_as_nothing(text: str) -> None:
    assert definitions(text) == ()


@pytest.mark.parametrize(("title", "expected"), [
    ("Règlement professionnel du notariat", ["RPN"]), ("Le règlement professionnel du notariat : 2024", ["RPN"]),
    ("reglement_professionnel_du_notariat.pdf", ["RPN"]), ("Note de service", []), ("Rapport annuel", []),
    ("Compte rendu – comité de pilotage numérique", ["CPN"]),
])
def test_a_title_has_an_acronym_where_it_is_of_three_words_and_more(title: str, expected: list[str]) -> None:
    assert [each.short for each in initialisms(title)] == expected


def test_ways_of_writing_are_one() -> None:
    assert {short_key(each) for each in ("C.S.S.C.T.", "CSSCT", "cssct", "C.S.S.C.T")} == {"cssct"}
    assert len({long_key(each) for each in (
        "Comité social et économique", "comités sociaux et économiques", "le comite social et economique",
    )}) == 1
    for dotted in ("R.T.T.", "r.t.t.", "R.T.T"):
        assert analyse_question(f"les {dotted} ?") == analyse_question("les RTT ?"), dotted
        assert "rtt" in analyse_passage(f"Il a {dotted}, selon lui.").frequencies


def test_small_letters_are_an_acronym_where_they_are_no_word() -> None:
    assert [word for word in ("cse", "rtt", "cssct", "rpn", "vie", "age", "contrat", "plan", "structure")
            if not _is_pronounceable(word)] == ["cse", "rtt", "cssct", "rpn"]
    assert _shorts("c'est quoi le rpn ?")["rpn"] == ("rpn", False)
    assert _shorts("C'est quoi la VIE")["vie"] == ("VIE", False)
    assert _shorts("une assurance vie")["vie"] == ("vie", True)
    assert "de" not in _shorts("le prix de la R.T.T.")


def test_each_place_with_the_letters_left_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0
    taken = matching._taken

    def counted(word: str, letters: str, freely: bool) -> list[tuple[int, str, float]]:
        nonlocal looked
        looked += 1
        return taken(word, letters, freely)

    monkeypatch.setattr(matching, "_taken", counted)
    assert matching.before(("aaaabcde",) * 13, "aaaaaaaaaaaz", freely=True) is None
    assert looked < 13 * 13 * 4


def test_a_document_has_so_many_candidates_compared() -> None:
    budget = Budget(2)
    texts = ("le comité social et économique (CSE)", "XY et ZW", "la direction des ressources humaines (DRH)")
    assert [[each.short for each in definitions(text, budget)] for text in texts] == [["CSE"], [], []]
