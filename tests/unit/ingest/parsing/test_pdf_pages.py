"""Pages whose truth is known: columns, tables, forms, what nobody sees, what runs, what is turned."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.pdf.reader import parse_pdf
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.reading_warnings import WarningCode
from tests.unit.ingest.fix_pdf_pages import PageMaker, write_pdf

WORDS = [
    "le",
    "la",
    "les",
    "des",
    "un",
    "une",
    "conseil",
    "service",
    "équipe",
    "demande",
    "dossier",
    "pièce",
    "jour",
    "semaine",
]
WORDS += [
    "heure",
    "matin",
    "soir",
    "salle",
    "porte",
    "badge",
    "accueil",
    "bureau",
    "direction",
    "agent",
    "contrat",
    "règlement",
]
WORDS += ["note", "prime", "repas", "frais", "voyage", "train", "hôtel", "plafond", "montant", "euros"]


def read(tmp_path: Path, *pages: PageMaker) -> ParsedDocument:
    return parse_pdf(Source(write_pdf(tmp_path / "a.pdf", pages), "a.pdf"))


def texts(document: ParsedDocument) -> list[str]:
    return [document.block_text(block) for block in document.blocks]


def told(document: ParsedDocument, code: WarningCode) -> int:
    return sum(warning.count for warning in document.warnings if warning.code is code)


def table(*rows: Sequence[str]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def prose(random: Random, *, sentences: int, width: int) -> list[str]:
    said = (" ".join(random.choices(WORDS, k=random.randint(6, 14))).capitalize() + "." for _ in range(sentences))
    return textwrap.wrap(" ".join(said), width)


@pytest.mark.parametrize("shift", [0, 4, 6])
@pytest.mark.parametrize("columns", [2, 3])
def test_columns_are_read_one_after_the_other(tmp_path: Path, columns: int, shift: int) -> None:
    random = Random(columns * 10 + shift)
    page = PageMaker().text(50, 60, "Bulletin", size=18, bold=True)
    written = [prose(random, sentences=9, width=90 // columns) for _ in range(columns)]
    # Line by line, as some writers do.
    for number in range(max(map(len, written))):
        for column, lines in enumerate(written):
            if number < len(lines):
                page.text(50 + column * 510 / columns, 100 + shift * column + 12 * number, lines[number], size=9)
    said = " ".join(read(tmp_path, page).text.split())
    assert said == "Bulletin " + " ".join(" ".join(lines) for lines in written)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ruled", [True, False])
def test_each_value_stays_under_its_header_and_in_its_row(tmp_path: Path, *, seed: int, ruled: bool) -> None:
    random = Random(seed)
    width = random.randint(3, 6)
    xs = [50 + 480 * number / width for number in range(width + 1)]
    header = ["Article", *(f"Mois {number}" for number in range(1, width))]
    rows = [
        [f"Produit {row}", *(f"{random.randint(1, 9999)},50" if random.random() < 0.6 else "" for _ in header[1:])]
        for row in range(random.randint(4, 12))
    ]
    page = PageMaker()
    for number, row in enumerate([header, *rows]):
        for column, cell in enumerate(row):
            # Numbers are set to the right, as sheets do.
            x = xs[column] + (40 - 5 * len(cell) if column and number else 0) + 5
            page.text(x, 100 + 18 * number, cell, bold=not number)
    if ruled:
        page.grid(xs, [86 + 18 * number for number in range(len(rows) + 2)])
    kept = [i for i in range(width) if any(row[i] for row in [header, *rows])]
    assert texts(read(tmp_path, page)) == [table(*([row[i] for i in kept] for row in [header, *rows]))]


def test_cells_of_several_lines_are_whole_without_rules(tmp_path: Path) -> None:
    page = PageMaker()
    for x, word in zip((50, 120, 380, 450), ("Réf.", "Description", "Qté", "Prix"), strict=True):
        page.text(x, 90, word, bold=True)
    for row in range(4):
        y = 110 + 34 * row
        page.text(50, y, f"R{row}").text(120, y, "Perceuse livrée dans un coffret avec").text(
            120, y + 12, "deux batteries"
        )
        page.text(380, y, str(row)).text(450, y, f"{row},00 €")
    wanted = [[f"R{n}", "Perceuse livrée dans un coffret avec deux batteries", str(n), f"{n},00 €"] for n in range(4)]
    assert texts(read(tmp_path, page)) == [table(["Réf.", "Description", "Qté", "Prix"], *wanted)]


def test_merged_header_cells_are_said_over_each_column(tmp_path: Path) -> None:
    page = PageMaker()
    for y in (80, 100, 120, 160, 180):
        page.rule(50, y, 450, y)
    for x, top in ((50, 80), (150, 80), (250, 100), (350, 80), (450, 80)):
        page.rule(x, top, x, 180)
    page.text(55, 94, "Salle").text(155, 94, "Horaires").text(355, 94, "Note").text(155, 114, "Matin")
    page.text(255, 114, "Soir").text(55, 135, "Lilas").text(155, 135, "8 h à").text(155, 147, "12 h")
    page.text(355, 135, "fermée").text(355, 147, "en août").text(55, 174, "Orme").text(255, 174, "18 h")
    assert texts(read(tmp_path, page)) == [
        table(
            ["Salle", "Horaires", "Horaires", "Note"],
            ["", "Matin", "Soir", ""],
            ["Lilas", "8 h à 12 h", "", "fermée en août"],
            ["Orme", "", "18 h", ""],
        )
    ]


def test_a_header_over_several_columns_is_said_over_each_without_rules(tmp_path: Path) -> None:
    page = PageMaker().text(225, 90, "Plein tarif", bold=True).text(425, 90, "Tarif réduit", bold=True)
    rows = [["Zone", "Semaine", "Week-end", "Semaine", "Week-end"]]
    rows += [[f"Z{row}", *(f"{row}{column},00" for column in range(4))] for row in range(4)]
    for number, row in enumerate(rows):
        for column, cell in enumerate(row):
            page.text(50 + 100 * column, 105 + 15 * number, cell, bold=not number)
    wanted = [["", "Plein tarif", "Plein tarif", "Tarif réduit", "Tarif réduit"], *rows]
    assert texts(read(tmp_path, page)) == [table(*wanted)]


def test_debit_and_credit_are_told_apart(tmp_path: Path) -> None:
    page = PageMaker()
    for x, word in zip((50, 120, 350, 450), ("Date", "Libellé", "Débit", "Crédit"), strict=True):
        page.text(x, 90, word, bold=True)
    page.text(50, 110, "02/03").text(120, 110, "Virement").text(470, 110, "2 100,00")
    page.text(50, 124, "03/03").text(120, 124, "Loyer").text(380, 124, "650,00")
    page.text(50, 138, "09/03").text(120, 138, "Remboursement").text(475, 138, "12,00")
    assert texts(read(tmp_path, page)) == [
        table(
            ["Date", "Libellé", "Débit", "Crédit"],
            ["02/03", "Virement", "", "2 100,00"],
            ["03/03", "Loyer", "650,00", ""],
            ["09/03", "Remboursement", "", "12,00"],
        )
    ]


def test_each_page_of_a_table_has_the_header_of_the_first(tmp_path: Path) -> None:
    pages = [PageMaker() for _ in range(3)]
    for x, word in zip((50, 150, 400), ("Code", "Libellé", "Prix"), strict=True):
        pages[0].text(x, 35, word, bold=True)
    for number in range(150):
        page, y = pages[number // 50], 50 + 15 * (number % 50)
        page.text(50, y, f"C{number:03}").text(150, y, f"Libellé numéro {number}").text(400, y, f"{number},50 €")
    document = read(tmp_path, *pages)
    assert [block.page for block in document.blocks] == [1, 2, 3]
    for number, said in enumerate(texts(document)):
        rows = [[f"C{n:03}", f"Libellé numéro {n}", f"{n},50 €"] for n in range(50 * number, 50 * number + 50)]
        assert said == table(["Code", "Libellé", "Prix"], *rows)


def test_a_form_is_read_with_its_values_and_boxes(tmp_path: Path) -> None:
    page = PageMaker().text(50, 100, "Nom :").field(120, 88, 300, 104, "Martin").text(320, 100, "Âge :")
    page.field(360, 88, 400, 104, "42").text(50, 130, "Oui").box(75, 132, ticked=True).text(110, 130, "Non")
    page.box(140, 132, ticked=False).box(50, 160, ticked=False).text(65, 159, "J'accepte")
    page.annotation("FreeText", 50, 280, 300, 295, "Ajout à la main").annotation(
        "Text", 400, 400, 420, 420, "À vérifier"
    )
    assert texts(read(tmp_path, page)) == [
        "Nom : Martin Âge : 42",
        "Oui ☒ Non ☐",
        "☐ J'accepte",
        "Ajout à la main",
        "À vérifier",
    ]


def test_what_nobody_sees_is_left_out_and_counted(tmp_path: Path) -> None:
    page = (
        PageMaker()
        .text(50, 60, "Visible.")
        .text(50, 90, "blanc", colour="1 1 1")
        .text(50, 110, "pâle", colour=".97 .97 .97")
    )
    page.fill(40, 140, 300, 160, "0 0 0.5").text(50, 155, "blanc sur bleu", colour="1 1 1")
    page.fill(40, 170, 300, 190, "0.9 0.9 0.9").text(50, 185, "gris", colour="0.9 0.9 0.9")
    page.text(50, 215, "petit", size=1.5).text(60, 225, "minuscule", size=0.5).text(900, 230, "dehors")
    page.text(50, 250, "dessous").picture(40, 238, 200, 256).text(60, 320, "caché").fill(50, 308, 300, 330, "1 1 1")
    page.text(50, 280, "invisible", mode=3).picture(40, 400, 300, 430).text(50, 415, "reconnu sur un scan", mode=3)
    document = read(tmp_path, page)
    assert texts(document) == ["Visible.", "blanc sur bleu", "reconnu sur un scan"]
    assert told(document, WarningCode.HIDDEN_TEXT) == 9


def test_text_below_the_picture_of_a_whole_page_is_its_text_layer(tmp_path: Path) -> None:
    page = PageMaker().text(50, 60, "Lu par un programme.").picture(0, 0, 595, 842)
    assert texts(read(tmp_path, page)) == ["Lu par un programme."]


def test_running_lines_are_left_out_and_counted(tmp_path: Path) -> None:
    random = Random(1)
    pages = []
    for number in range(1, 6):
        page = PageMaker().text(50, 40, "Rapport annuel", size=8).text(500, 40, f"Page {number}/5", size=8)
        pages.append(page.lines(50, 90, prose(random, sentences=30, width=80)[:45]).text(290, 815, str(number), size=8))
    document = read(tmp_path, *pages)
    assert "Rapport" not in document.text
    assert told(document, WarningCode.RUNNING_LINES) == 10


@pytest.mark.parametrize(
    "lines",
    [
        ["Fiche agent {n}", "Matricule : 100{n}", "Service : Voirie"],
        ["Lot {n}", "Prix de réserve : {n}00 euros", "Visite sur rendez-vous"],
        ["Cote {n}", "Étage {n}", "Porte coupe-feu"],
    ],
)
def test_lines_that_differ_in_more_than_a_page_number_are_text(tmp_path: Path, lines: list[str]) -> None:
    pages = [
        PageMaker()
        .lines(50, 50, [line.format(n=number) for line in lines], step=20)
        .text(50, 780, "Signature du responsable")
        .text(50, 800, f"Taux : 2{number} %")
        for number in range(1, 7)
    ]
    document = read(tmp_path, *pages)
    assert told(document, WarningCode.RUNNING_LINES) == 0
    for number in range(1, 7):
        for line in (*lines, "Signature du responsable", "Taux : 2{n} %"):
            assert document.text.count(line.format(n=number)) >= 1
    assert document.text.count("Signature du responsable") == 6


@pytest.mark.parametrize(("rotate", "turn"), [(90, "0 1 -1 0"), (180, "-1 0 0 -1"), (270, "0 -1 1 0"), (0, "0 1 -1 0")])
def test_turned_pages_are_read_upright(tmp_path: Path, rotate: int, turn: str) -> None:
    page = PageMaker(rotate=rotate)
    step = {"0 1 -1 0": (14, 0), "-1 0 0 -1": (0, -14), "0 -1 1 0": (-14, 0)}[turn]
    for number, line in enumerate(["Page tournée vers le côté.", "Deuxième ligne.", "Troisième ligne : 42 €."]):
        page.text(300 + step[0] * number, 400 + step[1] * number, line, turn=turn)
    said = " ".join(read(tmp_path, page).text.split())
    assert said == "Page tournée vers le côté. Deuxième ligne. Troisième ligne : 42 €."


def test_a_watermark_is_said_once_and_is_no_part_of_the_text(tmp_path: Path) -> None:
    random = Random(2)
    pages = [
        PageMaker()
        .text(150, 500, "PROJET", size=90, colour=".8 .8 .8", turn=".7 .7 -.7 .7")
        .lines(50, 90, prose(random, sentences=12, width=80))
        for _ in range(3)
    ]
    document = read(tmp_path, *pages)
    assert texts(document).count("PROJET") == 1
    assert document.text.count("PROJET") == 1
    assert document.title == "a"


@pytest.mark.parametrize(
    ("base", "width", "mark", "wanted"),
    [
        ("est de 19", 45.4, "2", "est de 19 [note 2] euros"),
        ("est de 19", 45.4, "(2)", "est de 19 [note 2] euros"),
        ("est de 19", 45.4, "*", "est de 19 [note *] euros"),
        ("sur 48 m", 43.4, "2", "sur 48 m² euros"),
        ("3 × 10", 30.6, "-3", "3 × 10⁻³ euros"),
        ("le 1", 17.7, "er", "le 1er euros"),
        ("repas", 30.0, "12", "repas [note 12] euros"),
    ],
)
def test_raised_figures_are_no_digits_of_the_word_before(
    tmp_path: Path, base: str, width: float, mark: str, wanted: str
) -> None:
    page = (
        PageMaker()
        .text(50, 60, base, size=11)
        .text(50 + width, 56, mark, size=6.5)
        .text(80 + width, 60, "euros", size=11)
    )
    page = page if mark != "er" else page.text(300, 60, ".", size=11)
    assert read(tmp_path, page).text.removesuffix(" .") == wanted


def test_lowered_figures_are_written_as_such(tmp_path: Path) -> None:
    page = PageMaker().text(50, 60, "CO", size=11).text(66.7, 62.5, "2", size=6.5).text(73, 60, "rejeté", size=11)
    assert read(tmp_path, page).text == "CO₂ rejeté"


def test_notes_stand_behind_the_paragraph_that_calls_them(tmp_path: Path) -> None:
    page = PageMaker().text(50, 60, "Le repas est de 19", size=11).text(141.8, 56, "1", size=6.5)
    page.text(50, 100, "La nuit est de 80", size=11).text(134.5, 96, "2", size=6.5).text(
        50, 140, "Fin du texte.", size=11
    )
    page.lines(50, 760, ["1 Boisson comprise.", "2 Hors Paris."], size=8)
    assert texts(read(tmp_path, page)) == [
        "Le repas est de 19 [note 1]",
        "[note 1] Boisson comprise.",
        "La nuit est de 80 [note 2]",
        "[note 2] Hors Paris.",
        "Fin du texte.",
    ]


def test_a_list_beside_another_is_no_table(tmp_path: Path) -> None:
    page = (
        PageMaker()
        .lines(50, 100, ["• badge", "• clé du casier", "• tenue"])
        .lines(300, 100, ["• gants", "• casque", "• gilet"])
    )
    document = read(tmp_path, page)
    assert texts(document) == ["• badge", "• clé du casier", "• tenue", "• gants", "• casque", "• gilet"]
    assert {block.kind for block in document.blocks} == {BlockKind.LIST_ITEM}


def test_a_page_of_very_many_pieces_is_read_in_the_time_of_its_pieces(tmp_path: Path) -> None:
    random = Random(5)
    page = PageMaker()
    for _ in range(1_000):
        page.text(
            random.uniform(0, 590), random.uniform(0, 840), str(random.randint(0, 99)), size=random.choice([4, 8, 30])
        )
        page.rule(random.uniform(0, 590), 1, random.uniform(0, 590), 1)
    assert len(read(tmp_path, page).text) > 2_000


def test_text_in_a_frame_of_its_own_colour_is_seen(tmp_path: Path) -> None:
    page = PageMaker().text(60, 100, "Encadré", colour="0.2 0.2 0.2")
    page.frame(50, 85, 150, 110, "0.2 0.2 0.2")
    assert texts(read(tmp_path, page)) == ["Encadré"]


def test_a_line_of_small_text_beside_a_larger_one_is_no_mark(tmp_path: Path) -> None:
    page = PageMaker().text(50, 100, "Spectacle", size=7).text(83, 104, "le 12 sous réserve des places", size=6)
    assert "le 12 sous réserve des places" in read(tmp_path, page).text


def test_letters_drawn_one_by_one_are_words(tmp_path: Path) -> None:
    page = PageMaker()
    for number, letter in enumerate("mmmm mmm mmmm"):
        if letter != " ":
            page.text(50 + 8.33 * number, 60, letter, size=10)
    assert read(tmp_path, page).text == "mmmm mmm mmmm"


def test_text_on_a_broad_line_is_seen(tmp_path: Path) -> None:
    page = PageMaker().broad(50, 100, 300, 100, width=20, colour="0 0 0.5").text(60, 103, "Titre", colour="1 1 1")
    page.broad(20, 30, 500, 700, width=9, colour="0.2 0.2 0.2").text(200, 300, "Sous une flèche", colour="0.2 0.2 0.2")
    assert texts(read(tmp_path, page)) == ["Titre", "Sous une flèche"]


def test_each_part_of_a_ruled_table_carries_all_rows_of_its_header(tmp_path: Path) -> None:
    def page(first: int) -> PageMaker:
        made, body = PageMaker(), [(f"Lieu {n}", f"{n}1", f"{n}2") for n in (first, first + 1)]
        for y in (80, 120, 140, 160):
            made.rule(60, y, 320, y)
        made.rule(160, 100, 320, 100).rule(240, 100, 240, 160)
        for x in (60, 160, 320):
            made.rule(x, 80, x, 160)
        for number, row in enumerate([("Site", "Énergie", ""), ("", "kWh", "euros"), *body]):
            for x, text in zip((64, 164, 244), row, strict=True):
                made.text(x, 94 + 20 * number, text)
        return made

    path = write_pdf(tmp_path / "a.pdf", [page(1), page(3)])
    header = "| Site | Énergie – kWh | Énergie – euros |\n|---|---|---|\n"
    assert parse_pdf(Source(path, "a.pdf")).text == (
        f"{header}| Lieu 1 | 11 | 12 |\n| Lieu 2 | 21 | 22 |\n\n{header}| Lieu 3 | 31 | 32 |\n| Lieu 4 | 41 | 42 |"
    )


def test_a_row_over_the_whole_table_is_its_title(tmp_path: Path) -> None:
    made = PageMaker()
    rows = (("Public", "Prix"), ("Adulte", "12"), ("Enfant", "6"))
    for y in (80, 100, 120, 140, 160):
        made.rule(60, y, 260, y)
    made.rule(60, 80, 60, 160).rule(260, 80, 260, 160).rule(160, 100, 160, 160).text(64, 94, "Tarifs 2026")
    for number, row in enumerate(rows):
        made.text(64, 114 + 20 * number, row[0]).text(164, 114 + 20 * number, row[1])
    document = parse_pdf(Source(write_pdf(tmp_path / "a.pdf", [made]), "a.pdf"))
    assert document.text == "Tarifs 2026\n\n| Public | Prix |\n|---|---|\n| Adulte | 12 |\n| Enfant | 6 |"
    assert document.blocks[0].kind is BlockKind.CAPTION


def test_of_a_list_to_choose_from_the_label_is_read_not_its_key(tmp_path: Path) -> None:
    page = PageMaker().text(60, 100, "Statut :").choice(120, 88, 240, 104, [("c1", "Cadre"), ("e2", "Employee")], "e2")
    assert parse_pdf(Source(write_pdf(tmp_path / "a.pdf", [page]), "a.pdf")).text == "Statut : Employee"
