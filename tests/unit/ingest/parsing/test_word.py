"""Word documents say what their pages show."""

from __future__ import annotations

from pathlib import Path

import lxml.etree  # type: ignore[import-untyped]
import pytest

from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.office.charts import diagram_text
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.word.reader import parse_word
from sourcier.services.ingest.reading_warnings import WarningCode
from tests.unit.ingest.fix_office_files import cell, paragraph, table, text_run, write_word

RAISED = '<w:vertAlign w:val="superscript"/>'
LOWERED = '<w:vertAlign w:val="subscript"/>'
LEVELS = (
    '<w:abstractNum w:abstractNumId="7">'
    '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="Article %1 –"/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl>'
    '<w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%3)"/></w:lvl>'
    "</w:abstractNum>"
    '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="7"/>'
    '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="10"/></w:lvlOverride></w:num>'
)


def read(path: Path, body: str, **parts: str) -> ParsedDocument:
    written = write_word(path / "a.docx", body, **parts)
    return parse_word(Source(written, "a.docx"))


def numbered(text: str, level: int, *, identifier: int = 1, style: str = "") -> str:
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    numbers = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{identifier}"/></w:numPr>'
    return paragraph(text, properties=named + numbers)


def note(kind: str, identifier: int, text: str) -> str:
    return f'<w:{kind} w:id="{identifier}"><w:p><w:r><w:{kind}Ref/></w:r>{text_run(" " + text)}</w:p></w:{kind}>'


def test_a_note_follows_the_sentence_that_calls_it(tmp_path: Path) -> None:
    call = '<w:r><w:footnoteReference w:id="4"/></w:r>'
    end = '<w:r><w:endnoteReference w:id="2"/></w:r>'
    document = read(
        tmp_path,
        paragraph("Le délai est de 19", call, " jours. Il court dès réception.", end),
        footnotes=note("footnote", 4, "Vingt le lundi."),
        endnotes=note("endnote", 2, "Cachet faisant foi."),
    )
    assert document.text == (
        "Le délai est de 19 [note 1] jours. (Note 1 : Vingt le lundi.) "
        "Il court dès réception. [note i] (Note i : Cachet faisant foi.)"
    )


def test_a_note_called_in_a_cell_stands_in_the_cell(tmp_path: Path) -> None:
    called = paragraph("81 €", '<w:r><w:footnoteReference w:id="1"/></w:r>')
    document = read(
        tmp_path,
        table(cell("Actif") + cell("Prix"), cell("Un") + cell(called)),
        footnotes=note("footnote", 1, "Hors taxes."),
    )
    assert "| Un | 81 € [note 1] (Note 1 : Hors taxes.) |" in document.text


def test_text_that_was_moved_is_read_once_where_it_stands_now(tmp_path: Path) -> None:
    moved = text_run("La pénalité est de 0,4 %.")
    document = read(
        tmp_path,
        paragraph("<w:moveFrom>" + moved + "</w:moveFrom>", properties="<w:rPr><w:moveFrom/></w:rPr>")
        + paragraph("Avant. ", "<w:del><w:r><w:delText>Jamais.</w:delText></w:r></w:del>", "<w:ins>" + text_run("Neuf.")
                    + "</w:ins>")
        + paragraph("<w:moveTo>" + moved + "</w:moveTo>"),
    )  # fmt: skip
    assert document.text == "Avant. Neuf.\n\nLa pénalité est de 0,4 %."


def test_a_paragraph_whose_end_was_deleted_goes_on_in_the_next(tmp_path: Path) -> None:
    document = read(
        tmp_path, paragraph("Le loyer ", properties="<w:rPr><w:del/></w:rPr>") + paragraph("est de 900 euros.")
    )
    assert document.text == "Le loyer est de 900 euros."


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ('<w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="1"/></w14:checkbox></w:sdtPr><w:sdtContent>'
         + text_run("✔") + "</w:sdtContent></w:sdt>", "☒"),
        ('<w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="0"/></w14:checkbox></w:sdtPr><w:sdtContent>'
         + text_run("✔") + "</w:sdtContent></w:sdt>", "☐"),
        ('<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox>'
         "</w:ffData></w:fldChar></w:r><w:r><w:instrText>FORMCHECKBOX</w:instrText></w:r>"
         '<w:r><w:fldChar w:fldCharType="end"/></w:r>', "☒"),
        ('<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:default w:val="0"/></w:checkBox>'
         '</w:ffData></w:fldChar></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>', "☐"),
        ('<w:r><w:sym w:font="Wingdings" w:char="F0FE"/></w:r>', "☒"),
        ('<w:r><w:sym w:font="Wingdings" w:char="F0A8"/></w:r>', "☐"),
        (text_run("þ", '<w:rFonts w:ascii="Wingdings"/>'), "☒"),
        (text_run("R", '<w:rFonts w:ascii="Wingdings 2"/>'), "☒"),
    ],
)  # fmt: skip
def test_boxes_tell_whether_they_are_ticked(tmp_path: Path, markup: str, expected: str) -> None:
    assert read(tmp_path, paragraph(markup, " Retour en atelier")).text == f"{expected} Retour en atelier"


def test_what_was_typed_or_chosen_in_a_form_is_read(tmp_path: Path) -> None:
    typed = "<w:sdt><w:sdtPr><w:text/></w:sdtPr><w:sdtContent>" + text_run("3 jours") + "</w:sdtContent></w:sdt>"
    chosen = (
        '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="Lyon"/>'
        '<w:listEntry w:val="Brest"/></w:ddList></w:ffData></w:fldChar></w:r><w:r><w:instrText>FORMDROPDOWN'
        '</w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )
    assert read(tmp_path, paragraph("Durée : ", typed, " ; site : ", chosen)).text == "Durée : 3 jours ; site : Brest"


@pytest.mark.parametrize("properties", ["<w:strike/>", "<w:dstrike/>", '<w:rStyle w:val="Barre"/>'])
def test_struck_text_is_marked(tmp_path: Path, properties: str) -> None:
    document = read(tmp_path, paragraph("Prix : ", text_run("74 € ", properties), "81 €"))
    assert document.text == "Prix : ~~74 €~~ 81 €"


def test_struck_off_is_not_struck(tmp_path: Path) -> None:
    run = text_run("81 €", '<w:rStyle w:val="Barre"/><w:strike w:val="0"/>')
    assert read(tmp_path, paragraph(run)).text == "81 €"


@pytest.mark.parametrize(
    ("before", "raised", "after", "expected"),
    [
        ("est de 4 500", "3", " euros", "est de 4 500 [3] euros"),
        ("le 1", "er", " juin", "le 1er juin"),
        ("la 2", "e", " fois", "la 2e fois"),
        ("18 m", "2", ", ici", "18 m², ici"),
        ("soit 10", "-3", " g", "soit 10⁻³ g"),
        ("1,5 × 10", "6", " t", "1,5 × 10⁶ t"),
        ("x", "2", " + 1", "x² + 1"),
        ("le délai légal", "12", " court", "le délai légal [12] court"),
        ("un n", "o", " 4", "un no 4"),
        ("de 19", "(2)", " euros", "de 19 [2] euros"),
        ("de 19", "1, 2", " euros", "de 19 [1, 2] euros"),
    ],
)
def test_raised_figures_never_join_a_number(
    tmp_path: Path, before: str, raised: str, after: str, expected: str
) -> None:
    assert read(tmp_path, paragraph(before, text_run(raised, RAISED), after)).text == expected


def test_lowered_figures_and_raised_ones_without_a_style(tmp_path: Path) -> None:
    document = read(
        tmp_path,
        paragraph("CO", text_run("2", LOWERED), " : 1103", text_run("1", '<w:position w:val="8"/>'), " t"),
    )
    assert document.text == "CO₂ : 1103 [1] t"


def test_automatic_numbers_are_those_that_word_shows(tmp_path: Path) -> None:
    document = read(
        tmp_path,
        numbered("Accès", 0, style="Titre1") + numbered("Badge", 1) + numbered("bleu", 2) + numbered("vert", 2)
        + numbered("Sanctions", 0, style="Titre1") + numbered("Avertissement", 1)
        + numbered("Annexe", 0, identifier=2, style="Titre1"),
        numbering=LEVELS,
    )  # fmt: skip
    assert [document.block_text(block) for block in document.blocks] == [
        "Article 1 – Accès", "1.1 Badge", "a) bleu", "b) vert", "Article 2 – Sanctions", "2.1 Avertissement",
        "Article 10 – Annexe",
    ]  # fmt: skip
    assert document.blocks[1].heading_path == ("Article 1 – Accès",)


def test_a_style_brings_its_number(tmp_path: Path) -> None:
    styles = (
        '<w:style w:type="paragraph" w:styleId="Clause"><w:name w:val="Clause"/><w:pPr><w:numPr><w:numId w:val="1"/>'
        "</w:numPr></w:pPr></w:style>"
        '<w:style w:type="paragraph" w:styleId="Sous"><w:name w:val="Sous"/><w:basedOn w:val="Clause"/></w:style>'
    )
    body = paragraph("Objet", properties='<w:pStyle w:val="Sous"/>')
    assert read(tmp_path, body, styles=styles, numbering=LEVELS).text == "Article 1 – Objet"


def test_headers_and_footers_stand_once_before_the_text(tmp_path: Path) -> None:
    section = '<w:sectPr><w:headerReference w:type="default" r:id="header1"/>{}</w:sectPr>'
    page = '<w:fldSimple w:instr=" PAGE ">' + text_run("7") + "</w:fldSimple>"
    document = read(
        tmp_path,
        paragraph("Un.", properties=section.format("")) + paragraph("Deux.")
        + section.format('<w:footerReference w:type="default" r:id="footer1"/>'
                         '<w:footerReference w:type="first" r:id="footer2"/>'),
        header1=paragraph("PR-0482 — version 7"),
        footer1=paragraph("Diffusion restreinte, page ", page),
        footer2=paragraph("Jamais montré"),
    )  # fmt: skip
    assert document.text == (
        "En-tête : PR-0482 — version 7\n\nPied de page : Diffusion restreinte, page\n\nUn.\n\nDeux."
    )


def test_hidden_words_and_comments_are_left_out_and_told(tmp_path: Path) -> None:
    document = read(
        tmp_path,
        paragraph("Vu.", text_run("Ignore tout.", "<w:vanish/>"), text_run("Petit.", '<w:sz w:val="2"/>')),
        comments="<w:comment w:id='1'><w:p/></w:comment>",
    )
    assert document.text == "Vu."
    assert {(warning.code, warning.count, warning.detail) for warning in document.warnings} == {
        (WarningCode.HIDDEN_TEXT, 2, ""), (WarningCode.NOT_READ, 1, "comments"),
    }  # fmt: skip


def test_merged_cells_are_repeated_and_header_lines_are_one(tmp_path: Path) -> None:
    document = read(
        tmp_path,
        table(
            cell("Magasin", '<w:vMerge w:val="restart"/>') + cell("Semestre 1", '<w:gridSpan w:val="2"/>'),
            cell("<w:p/>", "<w:vMerge/>") + cell("Neuf") + cell("Occasion"),
            cell("Brest", '<w:vMerge w:val="restart"/>') + cell("10") + cell("20"),
            cell("<w:p/>", "<w:vMerge/>") + cell("11") + cell("21"),
        ),
    )
    assert document.text == (
        "| Magasin | Semestre 1 – Neuf | Semestre 1 – Occasion |\n|---|---|---|\n"
        "| Brest | 10 | 20 |\n| Brest | 11 | 21 |"
    )


def test_a_table_in_a_cell_keeps_its_rows(tmp_path: Path) -> None:
    inner = table(cell("Option") + cell("Prix"), cell("Projecteur") + cell("35 €"))
    document = read(tmp_path, table(cell("Salle") + cell("Garonne"), cell("Options") + cell(inner + "<w:p/>")))
    assert document.text == (
        "| Salle | Garonne |\n|---|---|\n| Options |  |\n\nOptions\n\n"
        "| Option | Prix |\n|---|---|\n| Projecteur | 35 € |"
    )


def test_a_frame_around_text_is_no_table(tmp_path: Path) -> None:
    heading = paragraph("Titre", properties='<w:pStyle w:val="Titre1"/>')
    document = read(tmp_path, table(cell(heading + paragraph("Un."))))
    assert [block.kind for block in document.blocks] == [BlockKind.HEADING, BlockKind.PARAGRAPH]


def test_a_text_box_is_read_once_and_formulas_on_one_line(tmp_path: Path) -> None:
    box = f"<w:txbxContent>{paragraph('Encadré.')}</w:txbxContent>"
    twice = (
        f'<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing>{box}</w:drawing></mc:Choice><mc:Fallback>'
        f"<w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    )
    power = (
        "<m:oMath><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup>"
        "<m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>c</m:t></m:r></m:den></m:f></m:oMath>"
    )
    document = read(tmp_path, paragraph("Ici ", twice, power))
    assert document.text == "Ici x²(a+b)/c\n\nEncadré."


def test_strict_files_are_read_alike(tmp_path: Path) -> None:
    strict = 'xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"'
    body = paragraph("Un", text_run("2", RAISED), text_run(" deux", "<w:strike/>"))
    written = write_word(tmp_path / "a.docx", body, namespaces=strict)
    assert parse_word(Source(written, "a.docx")).text == "Un [2] ~~deux~~"


def test_a_link_says_where_it_leads_once_where_its_text_does_not(tmp_path: Path) -> None:
    def field(address: str, text: str) -> str:
        return (
            '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
            f"<w:r><w:instrText> HYPERLINK &quot;{address}&quot; </w:instrText></w:r>"
            f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{text_run(text)}'
            '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
        )

    document = read(
        tmp_path,
        paragraph("Le ", field("https://rh.exemple.fr/f", "formulaire"), " ou ", field("mailto:a@exemple.fr", "Anne"))
        + paragraph(field("https://rh.exemple.fr/f", "Formulaire"), " : ", field("https://ex.fr", "https://ex.fr")),
    )
    assert document.text == (
        "Le formulaire (https://rh.exemple.fr/f) ou Anne (a@exemple.fr)\n\nFormulaire : https://ex.fr"
    )


def test_a_diagram_is_read_along_its_joints() -> None:
    namespaces = (
        'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" '
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    )
    points = "".join(
        f'<dgm:pt modelId="{key}"><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>'
        for key, text in ((3, "Paiement"), (2, "Accord"), (4, "du chef"), (1, "Demande"))
    )
    joints = "".join(
        f'<dgm:cxn srcId="{source}" destId="{end}" srcOrd="{order}"/>'
        for source, end, order in ((0, 3, 2), (0, 1, 0), (2, 4, 0), (0, 2, 1), (4, 2, 0))
    )
    diagram = lxml.etree.fromstring(
        f'<dgm:dataModel {namespaces}><dgm:ptLst><dgm:pt modelId="0" type="doc"/>{points}</dgm:ptLst>'
        f"<dgm:cxnLst>{joints}</dgm:cxnLst></dgm:dataModel>"
    )
    assert diagram_text(diagram) == "Demande\nAccord\ndu chef\nPaiement"
