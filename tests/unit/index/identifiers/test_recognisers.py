"""Each recogniser's own examples, and random identifiers: all ways of writing one are alike, others never are."""

from __future__ import annotations

import itertools
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcier.services.index.identifiers.checksums import gtin, luhn, mod_97
from sourcier.services.index.identifiers.identifier import Identifier, normal_form
from sourcier.services.index.identifiers.recognisers import RECOGNISERS, Recogniser
from sourcier.services.index.identifiers.recognition import identifiers
from sourcier.services.index.identifiers.terms import PART, WHOLE, lookup, passage_terms, shown, standing_of

EXAMPLES = [
    pytest.param(recogniser, ways, id=f"{recogniser.kind}: {ways[0]}")
    for recogniser in RECOGNISERS for ways in recogniser.examples
]
DIGITS = st.text(string.digits, min_size=1, max_size=4)
LETTERS = st.text(string.ascii_uppercase, min_size=2, max_size=3)


def only(text: str, *, question: bool = False) -> Identifier:
    """Return the one identifier of a text."""
    found = identifiers(text, question=question)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(("recogniser", "ways"), EXAMPLES)
def test_all_ways_of_writing_have_a_form_in_common(recogniser: Recogniser, ways: tuple[str, ...]) -> None:
    read = [set(only(way, question=recogniser.question_only).forms) for way in ways]
    assert set.intersection(*read)


def test_different_identifiers_have_no_form_in_common() -> None:
    for recogniser in RECOGNISERS:
        for one, other in itertools.combinations(recogniser.examples, 2):
            forms = [
                set(only(ways[0], question=recogniser.question_only).forms) for ways in (one, other)
            ]
            assert not forms[0] & forms[1], (one, other)


@pytest.mark.parametrize(
    ("recogniser", "text"), [(each, text) for each in RECOGNISERS for text in each.counter_examples]
)
def test_what_looks_alike_is_none(recogniser: Recogniser, text: str) -> None:
    assert identifiers(text, question=recogniser.question_only) == ()


@given(
    letter=st.sampled_from(["L", "R", "D", "LO"]),
    numbers=st.lists(st.integers(1, 9_999).map(str), min_size=2, max_size=4),
)
def test_articles_are_told_from_all_others(letter: str, numbers: list[str]) -> None:
    number = "-".join(numbers)
    if len(number) < 4:
        number = "1" + number.rjust(4, "1")
    form = (f"{letter.lower()}-{number}",)
    ways = (
        f"{letter}{number}", f"{letter}. {number}", f"{letter}.{number}", f"{letter} {number}",
        f"art. {letter} {number}", f"Que dit l'article {letter}.{number} du code du travail ?",
        f"l'art {letter}. {number.replace('-', chr(0x2011))}",
    )
    assert {only(way, question=True).forms for way in ways} == {form}
    for near in (f"{letter}{number}-1", f"{letter}{number}1", f"{letter}1{number}"):
        near_forms = {each for found in identifiers(near) for each in found.forms}
        assert not near_forms & {*form, number}


@given(digits=st.text(string.digits, min_size=8, max_size=8), first=st.integers(1, 9))
def test_a_phone_is_one_however_it_is_grouped(digits: str, first: int) -> None:
    whole = f"0{first}{digits}"
    pairs = [whole[place : place + 2] for place in range(0, 10, 2)]
    ways = [sign.join(pairs) for sign in (" ", ".", "-", "", "\u00a0")]
    ways += [f"+33 {first} " + " ".join(pairs[1:]), f"0033{first}{digits}", f"+33 (0){first}{digits}"]
    assert all(whole in only(way).forms for way in ways)


@given(letters=LETTERS, number=st.text(string.digits, min_size=3, max_size=5), end=st.sampled_from("ABCDZ"))
def test_a_reference_is_one_with_and_without_signs(letters: str, number: str, end: str) -> None:
    forms = {normal_form(f"{letters}-{number}/{end}")}
    ways = (f"{letters}-{number}/{end}", f"{letters}{number}{end}", f"{letters}{number}{end}".lower(),
            f"{letters}_{number}.{end}")
    for way in ways:
        for text in (way, f"la pièce ({way}), en stock", f"« {way} » ?"):
            assert {form for found in identifiers(text, question=True) for form in found.forms} == forms


@given(number=st.text(string.digits, min_size=14, max_size=14))
def test_a_siret_is_one_joined_and_grouped_and_has_its_siren(number: str) -> None:
    grouped = f"{number[:3]} {number[3:6]} {number[6:9]} {number[9:]}"
    assert number in only(grouped).forms
    assert number in only(number).forms
    assert f"{PART}{number[:9]}" in passage_terms("", (), f"SIRET {grouped}.")


@given(number=st.text(string.digits, min_size=25, max_size=25), tail=st.sampled_from(["", " et le BIC", ".", " 12"]))
def test_an_iban_ends_where_its_country_says(number: str, tail: str) -> None:
    whole = f"FR{number}"
    grouped = " ".join(whole[place : place + 4] for place in range(0, 27, 4))
    ways = {identifiers(f"Compte {way}{tail}")[0].forms for way in (whole, grouped, whole.lower())}
    assert len(ways) == 1


@given(st.lists(st.lists(st.one_of(DIGITS, LETTERS), min_size=2, max_size=5), min_size=2, max_size=2))
def test_normal_forms_keep_where_runs_end(codes: list[list[str]]) -> None:
    one, other = ("-".join(runs) for runs in codes)
    assert (normal_form(one) == normal_form(other)) == (one == other)


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    for found in identifiers(text, question=True):
        assert found.forms
        assert all(form and "\0" not in form and not any(map(str.isspace, form)) for form in found.forms)


def test_several_identifiers_of_a_passage_are_all_found() -> None:
    text = (
        "Pompe, référence PX-1200/B, code-barres 8401916146100. Lot n° 2022-58645.\nTéléphone 02 30 76 66 19, "
        "courriel h.moreau12@fournisseur22.example, SIRET 345 145 061 23100. Véhicule DC-529-GB. Compte "
        "FR66 3049 4032 6991 0237 4095 461."
    )
    forms = {form for found in identifiers(text) for form in found.forms}
    assert forms == {
        "px-1200-b", "8401916146100", "2022-58645", "0230766619", "h.moreau12@fournisseur22.example",
        "34514506123100", "dc-529-gb", "fr-6630494032699102374095461",
    }


@pytest.mark.parametrize("question", [
    "Combien de jours de congés par an ?", "Que s'est-il passé en 2024 ?", "Entre 2016 et 2017, combien de salariés ?",
    "Un loyer de 1 200 € pour 35 m² en 2023-2024", "À 14h30 ou 9h ?", "les 3 premiers et le 2e", "plus de 1500 euros",
])
def test_plain_questions_have_none(question: str) -> None:
    assert not [found for found in identifiers(question, question=True) if found.sure]


def test_the_number_alone_finds_an_article_and_near_ones_do_not() -> None:
    terms = set(passage_terms("Article L1121-1 du code du travail", (), "Nul ne peut…"))
    assert terms & set(lookup(only("1121-1")).exact)
    assert terms & set(lookup(only("art. L. 1121-1")).exact)
    for near in ("L1121-2", "1121-2", "L1121-1-1", "R1121-1", "L. 112-11", "L1121"):
        for text in passage_terms("", (), near):
            assert text.startswith(("!", PART)) or text not in terms, text
        assert not terms & set(lookup(only(near, question=True)).exact), near


def test_joined_codes_find_those_whose_runs_cannot_be_told() -> None:
    for written, asked in (("FOR-RH-012", "forrh012"), ("forrh012", "FOR-RH-012"), ("2022-58645", "202258645")):
        wanted = lookup(only(asked, question=True))
        terms = set(passage_terms("", (), f"Voir {written}."))
        assert terms & {*wanted.exact, *wanted.otherwise}


def test_the_beginning_of_a_reference_is_none_of_the_longer_ones() -> None:
    wanted = lookup(only("PX-1200", question=True))
    terms = passage_terms("", (), "PX-1200/B et PX-12001")
    assert not set(terms) & set(wanted.exact)
    assert [term for term in terms if term.startswith(wanted.beginnings)] == [f"{WHOLE}px-1200-b"]


def test_passages_without_terms_are_read() -> None:
    asked = only("art. L 1121-1")
    assert standing_of(asked, title="Article L1121-1", headings=(), text="Nul ne…") == (True, False)
    assert standing_of(asked, title="Congés", headings=(), text="(L. 1121-1)") == (False, True)
    assert standing_of(asked, title="Congés", headings=("L. 1121-2",), text="L. 1121-11") == (False, False)


def test_terms_are_shown_as_people_write() -> None:
    assert [shown(term) for term in ("=l-1121-1", "~1121-1", "=px-1200-b", "=a@b.example")] == [
        "L1121-1", "1121-1", "PX-1200-B", "a@b.example",
    ]


def test_check_digits() -> None:
    assert luhn("732829320")
    assert not luhn("732829321")
    assert mod_97("FR7630006000011234567890189")
    assert not mod_97("FR7630006000011234567890188")
    assert gtin("3017620422003")
    assert not gtin("3017620422004")
