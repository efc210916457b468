"""Files that were once read wrongly: what each has to say, and what it must not."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.pdf.reader import parse_pdf
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.reading_warnings import ReadingWarning, WarningCode

CASES = Path(__file__).parent / "pdf_cases"


def read(name: str) -> ParsedDocument:
    return parse_pdf(Source(CASES / f"{name}.pdf", f"{name}.pdf"))


def paragraphs(document: ParsedDocument) -> list[str]:
    return [document.block_text(block) for block in document.blocks]


def warning(document: ParsedDocument, code: WarningCode) -> ReadingWarning:
    return next(warning for warning in document.warnings if warning.code is code)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("pdf-releve-de-compteurs-quatre-pages", [f"| Compteur {n:03} | " for n in range(1, 171)]),
        ("pdf-fiches-une-par-page", [f"Pression de service : {2 + 3 * n} bars." for n in range(1, 8)]),
        ("pdf-fiches-une-par-page", ["Vidange tous les 160 jours. Le graissage se fait à froid."]),
        (
            "pdf-tableau-sur-trois-pages",
            [f"| P-{n:03} | Raccord coudé de type {n} pour canalisation en cuivre recuit | " for n in range(1, 71)],
        ),
        ("pdf-tableau-sur-trois-pages", ["cuivre recuit | 68 | 26,54 € |"]),
        (
            "pdf-appels-de-notes-colles",
            ["repas est de 19 [note 2]. Elle", "atteint 110 [note 3] en province et 140 [note 4] à Paris", "35 m² est"],
        ),
        ("pdf-appels-de-notes-colles", ["depuis le 1er mars.", "[note 2] En euros, hors frais de boisson."]),
        (
            "pdf-exposants-dans-le-texte",
            ["s'élève à 360 [note 5] euros par an", "mesure 48 m². Elle", "aux 17 [note 6] s"],
        ),
        (
            "pdf-formulaire-rempli",
            ["Date du sinistre : 18 février 2026", "Montant estimé : 3 870 euros", "Expert demandé ☒"],
        ),
        ("pdf-formulaire-adhesion-rempli", ["Cotisation : 132 euros", "Droit a l'image ☐"]),
        (
            "pdf-annotations",
            ["Modifié en mai 2026 : rassemblement sur la pelouse du bassin.", "remplacé par un modèle"],
        ),
        (
            "pdf-deux-colonnes-ligne-par-ligne",
            ["Un badge perdu est remplacé contre douze euros.", "Le prix du repas comprend une entrée, un plat"],
        ),
        (
            "pdf-bulletin-deux-colonnes",
            [
                "L'entrée passe à 4,20 euros et la carte de dix à 36 euros.",
                "branchement coûte 11 euros par jour de marché",
            ],
        ),
        (
            "pdf-tableau-cellules-vides",
            ["| Salle | Lundi | Mardi | Mercredi | Jeudi | Vendredi |", "| Mimosa |  |  |  | 10 h–16 h |  |"],
        ),
        ("pdf-options-cochees", ["| Fourgon 3 | X |  | X |", "| Fourgon 7 |  | X |  |", "| Berline 2 |  |  | X |"]),
        ("pdf-astreintes-cellules-vides", ["| Charlie |  |  | jour |  |"]),
        ("pdf-facture-etiquette-valeur", ["Total TTC 2 208,00 €"]),
        (
            "pdf-fiche-valeur-absente",
            ["Constructeur Atelier Nord", "Puissance 7,5 kW", "Dernière révision 8 janvier 2026"],
        ),
        ("pdf-texte-blanc-et-couche-ocr", ["Temps de prise : 25 minutes à 20 °C."]),
        ("pdf-filigrane-et-espaces-fines", ["1\u202f284\u202f560,75 € pour l'exercice 2026"]),
        ("pdf-cesures-entre-pages", ["poste de commandement", "Les sous-traitants", "semi-remorques"]),
        ("pdf-lettrine-et-lettres-espacees", ["RÈGLEMENT INTÉRIEUR", "Les vestiaires sont nettoyés"]),
        ("pdf-etiquettes-de-pages", ["Assurance. La franchise en cas de dégât des eaux est de 230 euros."]),
        ("pdf-sans-tounicode", ["Le code de la barri\ufffdre est 7731"]),
    ],
)
def test_what_the_page_says_is_read(name: str, wanted: list[str]) -> None:
    text = read(name).text
    assert [piece for piece in wanted if piece not in text] == []


def test_a_label_without_a_value_takes_none() -> None:
    assert "Année" in paragraphs(read("pdf-fiche-valeur-absente"))


def test_hidden_text_is_left_out_and_told() -> None:
    document = read("pdf-texte-blanc-et-couche-ocr")
    assert "3 minutes" not in document.text
    assert warning(document, WarningCode.HIDDEN_TEXT).places == ("1",)


def test_scanned_pages_are_told_with_their_numbers() -> None:
    document = read("pdf-une-page-texte-deux-pages-scannees")
    assert warning(document, WarningCode.PAGES_WITHOUT_TEXT) == ReadingWarning(
        WarningCode.PAGES_WITHOUT_TEXT, count=2, places=("2", "3")
    )


def test_a_watermark_is_neither_title_nor_heading_nor_part_of_a_paragraph() -> None:
    document = read("pdf-filigrane-et-espaces-fines")
    assert document.title != "BROUILLON"
    assert all("BROUILLON" not in block.heading_path for block in document.blocks)
    assert paragraphs(document)[-1] == "BROUILLON"


def test_roman_page_numbers_are_running_lines_and_counted() -> None:
    document = read("pdf-etiquettes-de-pages")
    assert len(document.blocks) == 6
    assert warning(document, WarningCode.RUNNING_LINES).count == 12


def test_a_character_without_mapping_is_told() -> None:
    assert warning(read("pdf-sans-tounicode"), WarningCode.UNMAPPED_CHARACTERS).count == 1


def test_each_page_of_a_long_table_has_its_header() -> None:
    document = read("pdf-releve-de-compteurs-quatre-pages")
    tables = [document.block_text(block) for block in document.blocks if block.kind is BlockKind.TABLE]
    assert len(tables) == 5
    assert {table.split("\n", 1)[0] for table in tables} == {"| Compteur | Relevé | Consommation |"}
