"""What a sentence states and what a passage holds: figures in all their forms, names, negations, words."""

from __future__ import annotations

import pytest

from sourcier.services.gateway.evidence.checking import Evidence, Statement, Thresholds, best
from sourcier.services.gateway.evidence.negation import denies, holds_denial
from sourcier.services.gateway.evidence.wording import Wording, content_words
from sourcier.services.gateway.findings import Finding
from sourcier.services.index.language.figures import absent, held, stated
from sourcier.services.index.language.names import holds, known_words, names
from sourcier.services.index.language.numerals import written_numbers
from tests.unit.gateway.fix_gateway_domain import passage

THRESHOLDS = Thresholds(score=0.4, vectors=0.3, share=0.4)


@pytest.mark.parametrize(("text", "numbers"), [
    ("quatre-vingt-dix-huit", {98}), ("vingt et un", {21}), ("soixante-dix-sept", {77}), ("cent vingt", {120}),
    ("deux mille trois cents", {2300}), ("mille neuf cent quatre-vingt-quatre", {1984}), ("quatre-vingts", {80}),
    ("twenty-one", {21}), ("one hundred and five", {105}), ("la troisième fois", {3}), ("le XIXe siècle", {19}),
    ("Louis XIV", {14}), ("dix, vingt ou trente", {10, 20, 30}), ("50 pour cent", set()), ("septante-deux", {72}),
    ("un jour", set()), ("un pull neuf", set()), ("dix-neuf", {19}),
])
def test_numbers_in_words_are_read(text: str, numbers: set[int]) -> None:
    assert set(written_numbers(text, sure=True)) == numbers


@pytest.mark.parametrize(("sentence", "text"), [
    ("10 jours", "dix jours"), ("dix jours", "10 jours"), ("1 jour", "un jour par semaine"),
    ("1 200,50 €", "1.200,5 euros"), ("1000 euros", "1\u202f000 €"), ("mille euros", "1 000 €"),
    ("le 03/05/2020", "le 3 mai 2020"), ("2020-05-03", "3 mai 2020"), ("9h00", "9 h"), ("à 14h30", "à 14 h 30"),
    ("14,2 milliards", "14 200 000 000"), ("2 milliards", "3,7 milliards sont aux vêtements, 2 aux biens durables"),
    ("la priorité P2", "| P2 | 1 heure |"), ("la norme EN-374", "EN 374"), ("COVID-19", "covid 19"),
    ("au 19e siècle", "au XIXe siècle"), ("selon la page 12", "rien"), ("65%", "65 %"), ("2,70 €", "2.7 euros"),
    ("30 September", "30 septembre"), ("un quart", "rien"), ("3,50", "3.5"),
])
def test_a_figure_is_found_in_whatever_form_a_passage_has_it(sentence: str, text: str) -> None:
    assert absent(stated(sentence), held(text), text=text) == ()


@pytest.mark.parametrize(("sentence", "text", "lacking"), [
    ("11 jours", "dix jours", ("11",)), ("onze jours", "dix jours", ("11",)), ("2,71 €", "2,70 €", ("2.71",)),
    ("en 2004", "en 2003", ("2004",)), ("la priorité P3", "la priorité P2, 3 heures", ("p3",)),
    ("14,2 millions", "14,2 milliards", ("14.2×million",)), ("1 500 euros", "1 000 euros et 500 autres", ("1500",)),
    ("le 4 mai 2020", "le 3 mai 2020", ("4",)), ("14h45", "14 h 30", ("45",)), ("120 salariés", "2003 12", ("120",)),
])
def test_a_figure_that_a_passage_lacks_is_named(sentence: str, text: str, lacking: tuple[str, ...]) -> None:
    assert absent(stated(sentence), held(text), text=text) == lacking


@pytest.mark.parametrize(("sentence", "found"), [
    ("Le siège est à Nantes.", ("Nantes",)), ("Marie Curie est née à Varsovie.", ("Marie", "Curie", "Varsovie")),
    ("Böhme est né ici.", ()), ("INSEE publie ce taux.", ("INSEE",)),
    ("Près d'Angers, il y a L'Oréal.", ("Angers", "Oréal")), ("Il a dit : Le mardi est férié.", ()),
    ("Malgré Paris, rien.", ("Paris",)),
    ("Le directeur est M. Kraken.", ("Kraken",)), ("Il cite l'art. Kraken de J. Martin.", ("Kraken", "Martin")),
    ("Il prend de la vitamine C. Le jus est bon.", ()),
    ("On va à Saint-Étienne ou Aix-en-Provence.", ("Saint", "Étienne", "Aix", "Provence")),
])
def test_names_are_capitalised_words_that_do_not_only_begin_a_sentence(sentence: str, found: tuple[str, ...]) -> None:
    assert names(sentence) == found


def test_a_name_is_held_in_whatever_case_accents_or_ending() -> None:
    words = known_words("Les élèves français de SAINT-ETIENNE.")
    assert all(holds(name, words) for name in ("Français", "Française", "Étienne", "Saint"))
    assert not holds("Lyon", words)


@pytest.mark.parametrize(("sentence", "expected"), [
    ("Le repas n'est pas remboursé.", True), ("Aucun message n’est envoyé.", True), ("Il y va sans badge.", True),
    ("It is not allowed.", True), ("They don't work.", True), ("Il est remboursé.", False),
    ("Il n'y a que deux jours.", False), ("Le passage est long.", False), ("Notre site est à Nantes.", False),
])
def test_what_denies(sentence: str, expected: bool) -> None:
    assert denies(sentence) is expected


def test_a_word_that_says_no_holds_a_denial() -> None:
    assert holds_denial("Les gants sont interdits près des machines.")
    assert not holds_denial("Les gants sont obligatoires.")


def test_the_best_span_is_the_shortest_that_holds_most_words() -> None:
    text = "Le mardi est commun. Chaque salarié a deux jours de télétravail.\nLa cantine sert midi. Le badge est perdu."
    span = Wording(text).best_span(content_words("Un salarié peut faire du télétravail."))
    assert text[span.start : span.end] == "Chaque salarié a deux jours de télétravail." == span.text
    nothing = Wording(text).best_span(content_words("Zanzibar exporte."))
    assert (nothing.start, nothing.end) == (0, len(text))


@pytest.mark.parametrize(("sentence", "late_interaction", "finding"), [
    ("Chaque salarié a deux jours de télétravail.", 0.5, Finding.SUPPORTED),
    ("Chaque salarié a trois jours de télétravail.", 0.5, Finding.FIGURE_ABSENT),
    ("Chaque salarié de Lyon a deux jours de télétravail.", 0.5, Finding.NAME_ABSENT),
    ("Chaque salarié n'a pas deux jours de télétravail.", 0.5, Finding.NEGATION_ADDED),
    ("La cantine sert des repas végétariens.", 0.2, Finding.OFF_TOPIC),
    ("La cantine sert 200 repas.", 0.2, Finding.OFF_TOPIC),
    ("Chaque salarié a deux jours de télétravail.", None, Finding.UNCHECKED),
    ("La cantine sert des repas végétariens.", None, Finding.OFF_TOPIC),
    ("Every employee of this company has two days of it.", 0.35, Finding.SUPPORTED),
    ("Every employee of this company has two days of it.", 0.25, Finding.OFF_TOPIC),
])
def test_a_verdict_follows_from_words_figures_names_and_negations(
    sentence: str, late_interaction: float | None, finding: Finding
) -> None:
    evidence = Evidence([passage(1, "Chaque salarié a deux jours de télétravail par semaine dans cette société.")])
    assert Statement(sentence).against(evidence, late_interaction, THRESHOLDS).finding is finding


def test_the_best_passage_has_the_best_finding_then_the_highest_score() -> None:
    evidence = [Evidence([passage(number, text)]) for number, text in enumerate(
        ("Trois jours de télétravail.", "Deux jours de télétravail.", "Deux jours de télétravail."), start=1)]
    statement = Statement("Deux jours de télétravail.")
    verdicts = {
        number: statement.against(each, score, THRESHOLDS)
        for number, (each, score) in enumerate(zip(evidence, (0.9, 0.5, 0.6), strict=True), start=1)
    }
    assert best(verdicts) == 3
    assert best({}) == 0
