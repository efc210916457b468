"""Amounts in texts: value, sign and unit, in digits and words; and what looks like one."""

from __future__ import annotations

import pytest

from sourcier.services.gateway.figures.quantities import quantities_in


@pytest.mark.parametrize(("text", "expected"), [
    ("2 400 € par mois", "2400 €/mois"), ("1,5 million d'euros", "1500000 €"), ("58 k€", "58 k€"),
    ("£84,000", "84000 £"),
    ("−12,5 %", "-12.5 %"), ("Solde : -120 €", "-120 €"), ("vingt-cinq pour cent", "25 %"), ("deux mois", "2 mois"),
    ("30 jours ouvrés", "30 jours ouvrés"), ("8 jours calendaires", "8 jours calendaires"), ("1 200 € HT", "1200 € HT"),
    ("3 milliards d'euros", "3000000000 €"), ("120 m²", "120 m²"), ("0,125 kg", "0.125 kg"), ("1.250 €", "1250 €"),
    ("six heures", "6 heures"), ("4,2 t", "4.2 tonnes"), ("12 000", "12000"), ("quinze jours", "15 jours"),
    ("un million d'euros", "1000000 €"), ("$1.5bn", "1500000000 $"), ("$15k", "15000 $"), ("£2.5m", "2500000 £"),
    ("58 mille euros", "58000 €"), ("150 €/mois", "150 €/mois"), ("12 €/m²", "12 €/m²"), ("150 €HT", "150 € HT"),
    ("90 km/h", "90 km/h"), ("12 € par enfant", "12 €/enfant"), ("12 € la séance", "12 €/seance"),
    ("soixante-dix ans", "70 ans"), ("6,1 l/100 km", "6.1 l/100 km"),
])
def test_an_amount_is_read(text: str, expected: str) -> None:
    language = "en" if text[0] in "£$" else "fr"
    [found] = quantities_in(text, language=language)
    assert f"{found.value.normalize():f} {found.unit.shown}".strip() == expected
    assert found.exact
    assert text[found.start : found.end] in text


@pytest.mark.parametrize("text", [
    "14 mars 2024", "PX-100", "de 8 h 30 à 17 h 15", "article 12", "lot 1", "2024", "n° 118", "01 41 22", "- 2e étage",
])
def test_what_is_no_amount_is_left(text: str) -> None:
    assert [each for each in quantities_in(text) if each.unit.symbol] == []


@pytest.mark.parametrize("text", [
    "environ 58 €", "jusqu'à 58 €", "au moins 58 €", "58 € maximum", "de deux à trois semaines", "entre 2 et 3 jours",
    "une heure et demie", "5 ans et 6 mois", "1/2 journée", "à partir de 12 €", "dès 12 €", "15 €*", "15x",
    "5 ans et demi", "deux millions cinq cent mille euros", "2 millions 500 000 euros",
    "plus de 58 €", "2 à 3 jours", "près de 58 €", "~58 €", "about 58 €", "moins de 58 €",
])
def test_a_bound_is_not_exact(text: str) -> None:
    assert not any(each.exact for each in quantities_in(text, language="en" if "about" in text else "fr"))


def test_a_number_of_very_many_digits_is_left() -> None:
    assert quantities_in("1" * 5_000 + " €") == quantities_in("1234567890123456 €") == []
