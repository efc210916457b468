"""Sums of whole tables: rows that sum others up are no data, and words that only some rows tell leave only these."""

from __future__ import annotations

import pytest

from sourcier.services.gateway.computing.results import Doubt
from tests.unit.gateway.computing.test_computation import result

ROWS = "| Judo | 12 € |\n| Chorale | 8 € |\n| Danse | 7 € |"


@pytest.mark.parametrize("name", [
    "Total", "**Total**", "*Total*", "__Total__", "Total :", "TOTAL*", "Somme", "Montant global", "Net à payer",
    "T O T A L", "Total général", "Grand total", "Coût total", "Cumul 2024", "Toutes disciplines",
])
def test_a_row_of_sums_is_no_data_however_it_is_spelled(name: str) -> None:
    text = f"| Club | Subvention |\n|---|---|\n{ROWS}\n| {name} | 27 € |"
    assert result("Quel est le total des subventions ?", text) == "27 €"
    # A total that is not that of its rows is no data either.
    assert result("Quel est le total des subventions ?", text.replace("27", "31")) is Doubt.CONFLICT


@pytest.mark.parametrize("row", ["|  | 27 € |", "| – | 27 € |", "| Sous\u2011total | 20 € |", "| s/total | 27 € |",
                                 "| Divers | 27 € |", "| Clubs de Lyon | 15 € |", "| TVA | 5 € |", "| Reste | 3 € |"])
def test_a_row_that_may_be_a_sum_is_doubted(row: str) -> None:
    text = f"| Club | Subvention |\n|---|---|\n{ROWS}\n{row}"
    assert result("Quel est le total des subventions ?", text) is Doubt.AMBIGUOUS


def test_rows_of_sections_are_not_counted_twice() -> None:
    rows = "| Sport | 20 € |\n| Judo | 12 € |\n| Danse | 8 € |\n| Culture | 9 € |\n| Chorale | 5 € |\n| Livre | 4 € |"
    text = f"| Poste | Subvention |\n|---|---|\n{rows}"
    assert result("Quel est le total des subventions ?", text) is Doubt.AMBIGUOUS


TRAINING = (
    "| Formation | Site | Année | Coût |\n|---|---|---|---|\n| Excel | Lyon | 2023 | 500 € |\n"
    "| Word | Lyon | 2024 | 300 € |\n| Secourisme | Nantes | 2024 | 250 € |\n| Conduite | Nantes | 2023 | 90 € |"
)


@pytest.mark.parametrize(("question", "title", "expected"), [
    ("Quel est le coût total des formations ?", "", "1140 €"),
    ("Quel est le coût total des formations de Lyon ?", "", "800 €"),
    ("Quel est le coût total des formations de Lyon ?", "Formations de Lyon et de Nantes", "800 €"),
    ("Quel est le coût total des formations en 2024 ?", "Formations de 2023 à 2024", "550 €"),
    ("Quel est le coût moyen des formations de Nantes ?", "", "170 €"),
    ("Quelle formation de Nantes a le coût le plus élevé ?", "", "Secourisme – Nantes – 2024"),
    ("Quel est le coût total des formations de Rennes ?", "", None),
    ("Quel est le coût total des formations du site ?", "Formations du site", Doubt.AMBIGUOUS),
])
def test_rows_are_restricted_by_a_value(question: str, title: str, expected: object) -> None:
    assert result(question, TRAINING, title=title) == expected


@pytest.mark.parametrize(("question", "rows", "expected"), [
    ("Quel est le montant total des factures payées ?", "| F1 | Payée | 5 € |\n| F2 | Non payée | 7 € |\n"
     "| F3 | Payée | 4 € |", Doubt.AMBIGUOUS),
    ("Quel est le montant total des factures payées ?", "| F1 | Payée | 5 € |\n| F2 | En attente | 7 € |\n"
     "| F3 | Payée | 4 € |", "9 €"),
    ("Quel est le montant total des factures de Lyon ?", "| F1 | Lyon Nord | 5 € |\n| F2 | Lyon Sud | 7 € |\n"
     "| F3 | Nantes | 4 € |", Doubt.AMBIGUOUS),
])
def test_two_values_that_tell_a_word_are_doubted(question: str, rows: str, expected: object) -> None:
    text = f"| Facture | Statut | Montant |\n|---|---|---|\n{rows}"
    assert result(question, text, title="Factures payées ou non, Lyon et Nantes") == expected


@pytest.mark.parametrize(("question", "text", "expected"), [
    ("Quel est le club le plus grand ?", f"| Club | Subvention |\n|---|---|\n{ROWS}", None),
    ("Quel club a la subvention la plus grande ?", f"| Club | Subvention |\n|---|---|\n{ROWS}", "Judo"),
    ("Quelle est la note moyenne ?", "| Épreuve | Note | Coefficient |\n|---|---|---|\n| Oral | 12 | 1 |\n"
     "| Écrit | 8 | 3 |", Doubt.AMBIGUOUS),
    ("Quel est le coût total des travaux ?", "| Travaux | Coût (€) |\n|---|---|\n| Toit | 2000 |\n| Mur | 1950 |\n"
     "| Sol | 300 |", "4250 €"),
])
def test_the_column_is_the_one_that_is_measured(question: str, text: str, expected: object) -> None:
    assert result(question, text) == expected
